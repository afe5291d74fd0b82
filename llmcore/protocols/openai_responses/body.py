"""OpenAI Responses: building the request body.

Source: https://developers.openai.com/api/reference/resources/responses/methods/create, read
November 2026.
"""

from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import Any, Final, cast

from attrs import evolve

from llmcore.protocols import forced_format, lowering
from llmcore.protocols.caching import openai_cache_fields
from llmcore.protocols.openai_responses import names
from llmcore.protocols.openai_responses.continuation import chains, continued, digests, note_lost
from llmcore.protocols.openai_responses.messages import (
    ResponsesTarget,
    has_agents,
    lower_messages,
    target_of,
)
from llmcore.protocols.openai_responses.models import SAMPLING, ResponsesDialect
from llmcore.protocols.openai_responses.names import METADATA_KEY, ResponsesBody
from llmcore.protocols.openai_responses.tools import lower_tools
from llmcore.protocols.protocol import Built, collect_diagnostics
from llmcore.protocols.tools import with_functions
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject, NativeObject, present, without
from llmcore.schema.options import GenerationOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.schema.tools import HostedTool

COUNTED: Final = (
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning",
    "text", "truncation", "previous_response_id", "conversation",
)  # fmt: skip
"""Fields of the body that `POST /responses/input_tokens` takes."""


def from_request(
    request: LLMRequest, stream: bool, dialect: ResponsesDialect
) -> Result[Built[ResponsesBody], LLMError]:
    """Return the body of *request*; whether to *stream* makes no other difference."""
    built = collect_diagnostics(
        lambda diagnostics: cast("ResponsesBody", _lower(request, stream, dialect, diagnostics))
    )
    if not has_agents(request.options_for(METADATA_KEY, request.provider_id)):
        return built
    return built.map(lambda made: evolve(made, headers=names.MULTI_AGENT_HEADERS))


def _lower(
    request: LLMRequest, stream: bool, dialect: ResponsesDialect, diagnostics: Diagnostics
) -> NativeObject:
    request = _with_known_tools(request, dialect, diagnostics)
    request = lowering.with_accepted_effort(request, dialect.efforts, diagnostics)
    if dialect.efforts:
        request = _with_effort_to_search(request, diagnostics)
    given = request.options_for(METADATA_KEY, request.provider_id)
    chained, options = _chain_of(given)
    memory = {"store": True} if chained else lower_memory(options)
    stateless = chained or memory.get("store") is False
    context = target_of(request, options, dialect, stateless=stateless)
    words, items = lower_messages(request, context, diagnostics)
    text, format_words = lower_text(request.response_format, diagnostics)
    instructions = "\n\n".join(filter(None, (words, format_words)))
    body: NativeObject = {
        "model": request.model_id,
        **({"instructions": instructions} if instructions else {}),
        "input": items,
        **lower_tools(request, context.keys, diagnostics),
        **lower_generation(request, diagnostics),
        **lower_reasoning(request, dialect, diagnostics),
        **text,
        **lower_caching(request, items, context, diagnostics),
    }
    if request.metadata:
        body["metadata"] = dict(request.metadata)
    body |= memory
    if chained and not note_lost(given, diagnostics):
        body |= continued(items, request.messages, context.policy, diagnostics)
    json_mode = request.response_format is not None and request.response_format.type == "json"
    if json_mode and "text" not in dialect.unsupported:
        _name_json(body, request, diagnostics, moves=_STORED.isdisjoint(given) and not chained)
    included = lower_include(request, context, diagnostics)
    if included:
        body["include"] = included
    return _with_options(_supported(body, request, dialect, diagnostics), options, stream=stream)


def _with_known_tools(
    request: LLMRequest, dialect: ResponsesDialect, diagnostics: Diagnostics
) -> LLMRequest:
    return request if dialect.custom_tools else with_functions(request, diagnostics)


def _with_options(body: NativeObject, options: JsonObject, *, stream: bool) -> NativeObject:
    """Return *body* with the caller's native fields; whether to stream is not theirs to set.

    The caller's `include` is added to the protocol's own.
    """
    included = options.get("include")
    if isinstance(included, list):
        included_by_both = [*body.get("include", ()), *included]
        options = {**options, "include": list(dict.fromkeys(map(str, included_by_both)))}
    return lowering.with_stream_options(body, options, stream=stream)


# -- the provider's store


def _chain_of(options: JsonObject) -> tuple[bool, JsonObject]:
    """Return whether stored responses are continued, and the other options.

    All items go back as to a server that stores nothing, so that the whole conversation can be
    sent wherever the stored response is missing.
    """
    if not chains(options):
        return False, options
    rest = without(options, "previous_response_id")
    return options.get("store") is not False, rest


def input_digest(request: LLMRequest, dialect: ResponsesDialect) -> bytes | None:
    """Return the digest of the input of *request*; None unless responses are continued."""
    chained, options = _chain_of(request.options_for(METADATA_KEY, request.provider_id))
    if not chained:
        return None
    context = target_of(request, options, dialect, stateless=True)
    request = _with_known_tools(request, dialect, Diagnostics())
    _, items = lower_messages(request, context, Diagnostics())
    return digests(items)[-1]


def lower_memory(options: JsonObject) -> NativeObject:
    """Return `store`: false, unless the caller sets it or uses what the provider stores.

    Background responses, conversations and chains of responses live in the provider's store,
    whose own default is to keep them.
    """
    if "store" in options:
        return {"store": options["store"]}
    if any(map(options.get, names.PROVIDER_MEMORY)):
        return {}
    return {"store": False}


def lower_include(
    request: LLMRequest, context: ResponsesTarget, diagnostics: Diagnostics
) -> list[str]:
    """Return `include`: encrypted reasoning where nothing is stored, and log probabilities.

    Whether an effort is set does not matter: models that reason do so by default.
    """
    included: list[str] = []
    if context.stateless and context.dialect.encrypts_reasoning(request.model_id):
        included.append("reasoning.encrypted_content")
    if not (request.generation.logprobs or request.generation.top_logprobs):
        return included
    effort = request.reasoning.effort if request.reasoning else None
    if context.dialect.fixed_sampling.rejects(request.model_id, effort):
        why = f"{request.model_id} does not support log probabilities"
        diagnostics.at("generation.logprobs").unsupported(why)
        return included
    return [*included, "message.output_text.logprobs"]


# -- the format of the response


def lower_text(
    response_format: ResponseFormat | None, diagnostics: Diagnostics
) -> tuple[NativeObject, str]:
    """Return `text`, whose verbosity is a provider option, and a format as instructions."""
    if response_format is None or response_format.type == "text":
        return {}, ""
    if response_format.type == "json":
        return {"text": {"format": {"type": "json_object"}}}, ""
    if not forced_format.allows_object(response_format):
        return {}, forced_format.format_in_words(
            response_format, forced_format.NO_OBJECT, diagnostics
        )
    schema = forced_format.lower_openai_schema(response_format, diagnostics)
    return {"text": {"format": {"type": "json_schema", **schema}}}, ""


def _name_json(
    body: NativeObject, request: LLMRequest, diagnostics: Diagnostics, *, moves: bool
) -> None:
    """Begin the input with a message that names JSON, as it must: the instructions do not count.

    They become that message if they name it and may move. "Response input messages must contain the
    word 'json' in some form to use 'text.format' of type 'json_object'."
    """
    parts = list(chain.from_iterable(turn.content for turn in request.messages))
    instructions = TextPart(body.get("instructions", ""))
    named = not forced_format.words_of_json_mode([instructions], Diagnostics())
    if moves and named and forced_format.words_of_json_mode(parts, Diagnostics()):
        words = body.pop("instructions")
    else:
        words = forced_format.words_of_json_mode(parts, diagnostics)
    if words:
        message = {"type": "message", "role": "system", "content": words}
        body["input"] = [message, *body["input"]]


_STORED: Final = frozenset({"conversation", "previous_response_id"})
"""Options that continue what the server stores: it would store the message, too."""


# -- parameters


_read_options: Final[Callable[[GenerationOptions], tuple[Any, ...]]] = attrgetter(*names.PARAMETERS)


def lower_generation(request: LLMRequest, diagnostics: Diagnostics) -> NativeObject:
    """Return sampling and limits."""
    options = request.generation
    if lowering.is_unset(options):
        return {}
    lowering.check_least(options, names.LEAST)
    lowering.note_missing(options, names.MISSING_PARAMETERS, diagnostics, "the Responses API")
    values = zip(names.PARAMETERS.values(), _read_options(options), strict=True)
    return {name: value for name, value in values if value is not None}


def lower_caching(
    request: LLMRequest,
    items: list[NativeObject],
    context: ResponsesTarget,
    diagnostics: Diagnostics,
) -> NativeObject:
    """Return the parameters of the prompt cache; *items* may hold the caller's breakpoints.

    Source: https://developers.openai.com/api/docs/guides/prompt-caching
    """
    cache = request.cache
    fields = openai_cache_fields(request, items, diagnostics, takes_breakpoints=context.breakpoints)
    if cache.mode == "off":
        return fields
    if cache.ttl is not None:
        why = "the provider places its own breakpoints: set cache.retention instead"
        diagnostics.at("cache.ttl").unsupported(why)
    return fields


_OURS: Final = frozenset({"store", "include"})
"""Parameters that the caller did not ask for: leaving them out loses nothing of the request."""


def _supported(
    body: NativeObject, request: LLMRequest, dialect: ResponsesDialect, diagnostics: Diagnostics
) -> NativeObject:
    """Return *body* without what the server or the model rejects."""
    effort = request.reasoning.effort if request.reasoning else None
    rejected = dialect.unsupported
    if dialect.fixed_sampling.rejects(request.model_id, effort):
        rejected |= SAMPLING
    if body.get("temperature") == 1:
        rejected -= {"temperature"}  # the one value that every model takes
    if rejected.isdisjoint(body):
        return body
    for name in body:
        if name in rejected and name not in _OURS:
            why = f"{request.model_id} does not take {name}"
            diagnostics.at(names.REQUEST_PATHS.get(name, name)).unsupported(why)
    return without(body, *rejected)


# -- how much to think


def _with_effort_to_search(request: LLMRequest, diagnostics: Diagnostics) -> LLMRequest:
    """Return *request* with an effort with which the model can search the web.

    "The following tools cannot be used with reasoning.effort 'minimal': web_search." Source:
    https://developers.openai.com/api/docs/guides/tools-web-search, read November 2026.
    """
    reasoning = request.reasoning
    if reasoning is None or reasoning.effort != "minimal":
        return request
    hosted = [tool for tool in request.tools if isinstance(tool, HostedTool)]
    kinds = [str(tool.options.get("type") if tool.kind == "raw" else tool.kind) for tool in hosted]
    if not any(kind.startswith("web_search") for kind in kinds):
        return request
    why = "web search cannot be used with the effort 'minimal', which became 'low'"
    diagnostics.at("reasoning.effort").changed("reasoning-effort-changed", why)
    return evolve(request, reasoning=evolve(reasoning, effort="low"))


def lower_reasoning(
    request: LLMRequest, dialect: ResponsesDialect, diagnostics: Diagnostics
) -> NativeObject:
    """Return `reasoning`."""
    reasoning = request.reasoning
    if reasoning is None:
        return {}
    if reasoning.budget_tokens is not None:
        why = "the Responses API accepts an effort, not a number of tokens"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
    summary = None if reasoning.summary == "none" else reasoning.summary  # none is the default
    if summary == "concise" and not dialect.takes_concise(request.model_id):
        why = f"{request.model_id} has no concise summaries: 'auto' is sent"
        diagnostics.at("reasoning.summary").changed("reasoning-summary-changed", why)
        summary = "auto"
    fields = {"effort": reasoning.effort, "summary": summary}
    given = present(fields)
    return {"reasoning": given} if given else {}
