"""OpenAI Chat Completions: building the request body.

Source: https://platform.openai.com/docs/api-reference/chat/create, read November 2026, and for what
other servers take instead, their documents, named in the dialects and beside the rule.
"""

from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import Any, Final, cast

from llmcore.protocols import forced_format, lowering
from llmcore.protocols.caching import cache_mark, openai_cache_fields
from llmcore.protocols.openai_chat import names
from llmcore.protocols.openai_chat.messages import ChatTarget, lower_messages, target_of
from llmcore.protocols.openai_chat.models import SAMPLING, ChatDialect, forces_call_by_schema
from llmcore.protocols.openai_chat.names import METADATA_KEY, ChatBody
from llmcore.protocols.openai_chat.tools import lower_forced_call, lower_tools
from llmcore.protocols.protocol import Built, collect_diagnostics
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import NativeObject, present, without
from llmcore.schema.options import GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result


def from_request(
    request: LLMRequest, stream: bool, dialect: ChatDialect
) -> Result[Built[ChatBody], LLMError]:
    """Return the body of *request*; whether to *stream* makes no other difference."""
    return collect_diagnostics(
        lambda diagnostics: cast("ChatBody", _lower(request, stream, dialect, diagnostics))
    )


def _lower(
    request: LLMRequest, stream: bool, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    request = lowering.with_accepted_effort(request, dialect.efforts, diagnostics)
    context = target_of(request, dialect)
    fields, words = _lower_asked(request, context, diagnostics)
    messages = lower_messages(request, context, words, diagnostics)
    body: NativeObject = {
        "model": request.model_id,
        "messages": messages,
        **fields,
        **lower_generation(request, dialect),
        **lower_reasoning(request, dialect, diagnostics),
        **lower_caching(request, messages, context, diagnostics),
    }
    tier = lowering.lower_service_tier(request, dict(dialect.service_tiers), diagnostics)
    if tier is not None:
        body["service_tier"] = tier
    if request.metadata:
        body["metadata"] = dict(request.metadata)
    body = _supported(body, request, dialect, diagnostics)
    if stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    options = request.options_for(METADATA_KEY, request.provider_id)
    return lowering.with_stream_options(body, options, stream=stream)


def _lower_asked(
    request: LLMRequest, context: ChatTarget, diagnostics: Diagnostics
) -> tuple[NativeObject, list[str]]:
    """Return tools and the response's format, and instructions that describe them."""
    dialect = context.dialect
    if forces_call_by_schema(request, dialect):
        if request.response_format is not None and request.response_format.type != "text":
            why = "the response must be a tool call, which replaces its format"
            diagnostics.at("response_format").unsupported(why)
        response_format, words = lower_forced_call(request, dialect, diagnostics)
        return {"response_format": response_format}, [words]
    fields = lower_tools(request, dialect, context.keys, diagnostics)
    response_format, words = lower_response_format(request.response_format, dialect, diagnostics)
    if response_format:
        fields["response_format"] = response_format
        if response_format["type"] == "json_object":
            contents = chain(request.system, *(message.content for message in request.messages))
            words = words or forced_format.words_of_json_mode(contents, diagnostics)
    return fields, [words] if words else []


# -- the format of the response


def lower_response_format(
    response_format: ResponseFormat | None, dialect: ChatDialect, diagnostics: Diagnostics
) -> tuple[NativeObject, str]:
    """Return `response_format`, and instructions for a format that the server does not enforce."""
    if response_format is None or response_format.type == "text":
        return {}, ""
    of_object = forced_format.allows_object(response_format)
    knows_schemas = "json_schema" in dialect.response_formats
    if response_format.type == "json_schema" and knows_schemas and of_object:
        has_strict = dialect.strict_schemas
        schema = forced_format.lower_openai_schema(
            response_format, diagnostics, has_strict=has_strict
        )
        return {"type": "json_schema", "json_schema": schema}, ""
    enforced = "json" in dialect.response_formats and of_object
    if response_format.type == "json" and enforced:
        return {"type": "json_object"}, ""
    unenforced = f"the server does not enforce {response_format.type!r}"
    why = forced_format.NO_OBJECT if knows_schemas and not of_object else unenforced
    words = forced_format.format_in_words(response_format, why, diagnostics)
    return {"type": "json_object"} if enforced else {}, words


# -- parameters


_read_options: Final[Callable[[GenerationOptions], tuple[Any, ...]]] = attrgetter(*names.PARAMETERS)
_UNSET: Final = _read_options(GenerationOptions())


def lower_generation(request: LLMRequest, dialect: ChatDialect) -> NativeObject:
    """Return sampling and limits."""
    options = request.generation
    limit = dialect.limit_field(request.model_id)
    values = _read_options(options)
    if values == _UNSET:  # as of many requests
        return present({limit: dialect.default_max_tokens})
    lowering.check_least(options, names.LEAST)
    native = {**names.PARAMETERS, "max_tokens": limit, "seed": dialect.seed_field}
    fields = dict(zip(native.values(), values, strict=True))
    if options.max_tokens is None:
        fields[limit] = dialect.default_max_tokens
    fields["stop"] = list(options.stop) or None
    if options.logprobs is None and options.top_logprobs:
        fields["logprobs"] = True
    if dialect.logprob_count:
        has_logprobs = options.logprobs or options.top_logprobs
        fields |= {"logprobs": (options.top_logprobs or 1) if has_logprobs else None}
        fields |= {"top_logprobs": None}
    return present(fields)


def lower_caching(
    request: LLMRequest, messages: list[NativeObject], context: ChatTarget, diagnostics: Diagnostics
) -> NativeObject:
    """Return the parameters of the prompt cache; *messages* may hold the caller's breakpoints.

    Most servers cache without being asked; OpenRouter has `cache_control` on the request.
    """
    cache, dialect = request.cache, context.dialect
    fields: NativeObject = {}
    if dialect.prompt_cache_key:
        fields = openai_cache_fields(
            request,
            messages,
            diagnostics,
            takes_breakpoints=context.breakpoints,
            lifetimes=names.LIFETIMES,
        )
    if cache.mode == "off":
        return fields
    for name, value in (("key", cache.key), ("retention", cache.retention)):
        if value is not None and not dialect.prompt_cache_key:
            diagnostics.at(f"cache.{name}").unsupported(f"the server has no cache {name}")
    if dialect.caches_on_request(request.model_id) and cache.mode == "auto":
        fields["cache_control"] = cache_mark(cache.ttl)
    elif cache.ttl is not None and not dialect.cache_control:
        diagnostics.at("cache.ttl").unsupported("the server decides how long it caches")
    return fields


def _supported(
    body: NativeObject, request: LLMRequest, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    """Return *body* without the parameters that the server or the model rejects."""
    effort = request.reasoning.effort if request.reasoning else None
    rejected = dialect.unsupported
    if dialect.fixed_sampling.rejects(request.model_id, body.get("reasoning_effort", effort)):
        rejected |= SAMPLING
    if dialect.rejects_stop(request.model_id):
        rejected |= {"stop"}
    if body.get("temperature") == 1:
        rejected -= {"temperature"}  # the one value that every model takes
    if rejected.isdisjoint(body):
        return body
    for name in body:
        if name in rejected:
            why = f"{request.model_id} does not take {name}"
            diagnostics.at(names.REQUEST_PATHS.get(name, f"generation.{name}")).unsupported(why)
    return without(body, *rejected)


# -- how much to think


def lower_reasoning(
    request: LLMRequest, dialect: ChatDialect, diagnostics: Diagnostics
) -> NativeObject:
    """Return the parameters of reasoning, in the dialect's form."""
    reasoning = _reasoning_beside_tools(request, dialect, diagnostics)
    if reasoning is None:
        return {}
    given = {"effort": reasoning.effort, "budget_tokens": reasoning.budget_tokens}
    given["summary"] = reasoning.summary
    fields, taken = _REASONING_FORMS[dialect.reasoning_control(request.model_id)](reasoning)
    for name, value in given.items():
        if value is not None and name not in taken:
            why = f"the server does not support a reasoning {name}, or not beside the others"
            diagnostics.at(f"reasoning.{name}").unsupported(why)
    return fields


def _reasoning_beside_tools(
    request: LLMRequest, dialect: ChatDialect, diagnostics: Diagnostics
) -> ReasoningOptions | None:
    """Return how to think; some models must not while tools are offered or forced on them.

    The servers' own words: "Thinking mode does not support this tool_choice" (DeepSeek,
    https://github.com/deepseek-ai/DeepSeek-V3/issues/1376), "tool_choice 'specified' is
    incompatible with thinking enabled" (Moonshot).
    """
    reasoning, choice, model = request.reasoning, request.tool_choice, request.model_id
    effort = reasoning.effort if reasoning else None
    forced = choice is not None and choice.mode in ("required", "named")
    if effort != "none" and forced and dialect.thinks_not_when_forced(model):
        why = f"{model} can be forced to call a tool only while it does not think"
    elif request.tools and dialect.thinks_not_beside_tools(model, effort):
        why = f"{model} supports tools over Chat Completions only without reasoning"
    else:
        return reasoning
    diagnostics.at("reasoning").changed("reasoning-turned-off", why)
    return ReasoningOptions(effort="none")


def _effort(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    fields = {} if reasoning.effort is None else {"reasoning_effort": reasoning.effort}
    return fields, {"effort"}


def _effort_or_off(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return Together's effort, and its switch that turns reasoning off.

    Source: https://docs.together.ai/reference/chat-completions (`reasoning`)
    """
    if reasoning.effort == "none":
        return {"reasoning": {"enabled": False}}, {"effort"}
    return _effort(reasoning)


def _effort_or_budget(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return Fireworks' effort, which may be the most tokens of thinking.

    Source: https://docs.fireworks.ai/guides/reasoning
    """
    if reasoning.budget_tokens is None or reasoning.effort == "none":
        return _effort(reasoning)
    return {"reasoning_effort": reasoning.budget_tokens}, {"budget_tokens"}


def _openrouter(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return OpenRouter's object: an effort or a budget, never both.

    Sources: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens,
    https://openrouter.ai/docs/client-sdks/typescript/models/chatrequestreasoning (`summary`)
    """
    shown: NativeObject = {} if reasoning.summary is None else {"summary": reasoning.summary}
    if reasoning.summary == "none":
        shown = {"exclude": True}
    if reasoning.budget_tokens is not None:
        amount: NativeObject = {"max_tokens": reasoning.budget_tokens}
        return {"reasoning": amount | shown}, {"budget_tokens", "summary"}
    amount = {"enabled": True} if reasoning.effort is None else {"effort": reasoning.effort}
    return {"reasoning": amount | shown}, {"effort", "summary"}


def _switch(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return a switch without an effort.

    Sources: https://docs.z.ai/guides/capabilities/thinking-mode,
    https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
    """
    off = reasoning.effort == "none"
    return {"thinking": {"type": "disabled" if off else "enabled"}}, {"effort"} if off else set()


def _switch_and_effort(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return DeepSeek's switch and effort (https://api-docs.deepseek.com/guides/thinking_mode)."""
    fields, _ = _switch(reasoning)
    if reasoning.effort not in (None, "none"):
        fields["reasoning_effort"] = reasoning.effort
    return fields, {"effort"}


def _switch_and_budget(reasoning: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return Alibaba's switch and budget.

    Source: https://www.alibabacloud.com/help/en/model-studio/deep-thinking
    """
    if reasoning.effort == "none":
        return {"enable_thinking": False}, {"effort"}
    fields: NativeObject = {"enable_thinking": True}
    if reasoning.budget_tokens is not None:
        fields["thinking_budget"] = reasoning.budget_tokens
    return fields, {"budget_tokens"}


_REASONING_FORMS: Final[dict[str, Callable[[ReasoningOptions], tuple[NativeObject, set[str]]]]] = {
    "reasoning_effort": _effort,
    "effort_or_off": _effort_or_off,
    "effort_or_budget": _effort_or_budget,
    "reasoning": _openrouter,
    "thinking": _switch,
    "thinking_effort": _switch_and_effort,
    "enable_thinking": _switch_and_budget,
    "none": lambda _: ({}, set()),
}
