"""OpenAI Chat Completions: building the request body.

Source: https://platform.openai.com/docs/api-reference/chat/create, read November 2026, and for what
other servers take instead, their documents, named in the dialects and beside the rule.
"""

from typing import Final, cast

from llmcore.protocols.answer_format import format_in_words
from llmcore.protocols.diagnostics import Notes, collect_diagnostics
from llmcore.protocols.openai_chat.messages import Target, lower_messages, target_of
from llmcore.protocols.openai_chat.models import SAMPLING, ChatDialect, constrains
from llmcore.protocols.openai_chat.names import METADATA_KEY, PROTOCOL_ID, ChatBody, NativeObject
from llmcore.protocols.openai_chat.parts import cache_mark
from llmcore.protocols.openai_chat.reasoning import lower_reasoning
from llmcore.protocols.openai_chat.tools import lower_constrained, lower_tools
from llmcore.protocols.protocol import Built
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema.errors import LLMError
from llmcore.schema.options import ResponseFormat, merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result

OPTIONAL: Final = frozenset({"stream_options"})
"""It only asks for usage; servers that do not know it answer 400 or 422, and name it."""


def from_request(
    request: LLMRequest, stream: bool, dialect: ChatDialect
) -> Result[Built[ChatBody], LLMError]:
    """Build the body of *request*; streamed and whole ones differ only in how they say so."""
    return collect_diagnostics(
        lambda notes: cast("ChatBody", _lower(request, stream, dialect, notes))
    )


def _lower(request: LLMRequest, stream: bool, dialect: ChatDialect, notes: Notes) -> NativeObject:
    target = target_of(request, dialect, protocol=PROTOCOL_ID, metadata_key=METADATA_KEY)
    asked, words = _lower_asked(request, target, notes)
    body: NativeObject = {
        "model": request.model_id,
        "messages": lower_messages(request, target, words, notes),
        **asked,
        **lower_generation(request, dialect),
        **lower_reasoning(request, dialect, notes),
        **lower_caching(request, dialect, notes),
    }
    if request.metadata:
        body["metadata"] = dict(request.metadata)
    body = _supported(body, request, dialect, notes)
    if stream and dialect.stream_usage:
        body["stream_options"] = {"include_usage": True}
    return _with_options(body, request, stream)


def _lower_asked(
    request: LLMRequest, target: Target, notes: Notes
) -> tuple[NativeObject, list[str]]:
    """Return tools and the answer's format, and the words that go with them."""
    dialect = target.dialect
    if constrains(request, dialect):
        if request.response_format is not None and request.response_format.type != "text":
            why = "the answer's format is taken by the tool call that it must be"
            notes.dropped("unsupported-parameter", "response_format", why)
        wanted, words = lower_constrained(request, dialect, notes)
        return {"response_format": wanted}, [words]
    asked = lower_tools(request, dialect, target.keys, notes)
    wanted, words = lower_response_format(request.response_format, dialect, notes)
    if wanted:
        asked["response_format"] = wanted
    return asked, [words] if words else []


def _with_options(body: NativeObject, request: LLMRequest, stream: bool) -> NativeObject:
    """Lay the caller's native fields over *body*; only we know whether it is to be streamed."""
    options = request.options_for(METADATA_KEY, request.provider_id)
    merged = {**merge_json(body, options), "stream": True}
    if not stream:
        merged = {k: v for k, v in merged.items() if k not in ("stream", "stream_options")}
    return merged


# -- the shape of the answer


def lower_response_format(
    wanted: ResponseFormat | None, dialect: ChatDialect, notes: Notes
) -> tuple[NativeObject, str]:
    """Return `response_format`, and words for what the server does not enforce."""
    if wanted is None or wanted.type == "text":
        return {}, ""
    if wanted.type == "json_schema" and "json_schema" in dialect.response_formats:
        return _lower_schema(wanted, dialect, notes), ""
    enforced = "json" in dialect.response_formats
    if wanted.type == "json" and enforced:
        return {"type": "json_object"}, ""
    why = f"the server does not enforce {wanted.type!r}"
    words = format_in_words(wanted, why, notes)
    return {"type": "json_object"} if enforced else {}, words


def _lower_schema(wanted: ResponseFormat, dialect: ChatDialect, notes: Notes) -> NativeObject:
    strict = dialect.strict_schemas and wanted.strict is not False
    target = SchemaTarget.OPENAI_STRICT if strict else SchemaTarget.OPENAI_LOOSE
    projected = project(wanted.schema or {}, target, "response_format.schema")
    notes.extend(projected.diagnostics)
    schema: NativeObject = {"name": wanted.name}
    if wanted.description:
        schema["description"] = wanted.description
    schema["schema"] = projected.schema
    if dialect.strict_schemas:
        schema["strict"] = projected.strict
    elif wanted.strict:
        why = "the server has no strict mode for schemas"
        notes.dropped("unsupported-parameter", "response_format.strict", why)
    return {"type": "json_schema", "json_schema": schema}


# -- parameters


def lower_generation(request: LLMRequest, dialect: ChatDialect) -> NativeObject:
    """Return sampling and limits."""
    options = request.generation
    limit = dialect.default_max_tokens if options.max_tokens is None else options.max_tokens
    fields = {
        dialect.max_tokens_field: limit,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "stop": list(options.stop) or None,
        dialect.seed_field: options.seed,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        "logprobs": True if options.logprobs is None and options.top_logprobs else options.logprobs,
        "top_logprobs": options.top_logprobs,
    }
    if dialect.logprob_count:
        wanted = options.logprobs or options.top_logprobs
        fields |= {"logprobs": (options.top_logprobs or 1) if wanted else None}
        fields |= {"top_logprobs": None}
    return {name: value for name, value in fields.items() if value is not None}


def lower_caching(request: LLMRequest, dialect: ChatDialect, notes: Notes) -> NativeObject:
    """Return what the body as a whole says of prompt caching.

    Most servers cache by themselves; OpenRouter's `cache_control` on the request asks for it.
    """
    cache = request.cache
    fields: NativeObject = {}
    if cache.mode == "off":
        return fields
    for name, value in (("key", cache.key), ("retention", cache.retention)):
        if value is None:
            continue
        if dialect.prompt_cache_key:
            fields[f"prompt_cache_{name}"] = value
        else:
            notes.dropped(
                "unsupported-parameter",
                f"cache.{name}",
                f"the server has no cache {name}",
            )
    if dialect.caches_on_request(request.model_id) and cache.mode == "auto":
        fields["cache_control"] = cache_mark(cache.ttl)
    elif cache.ttl is not None and not dialect.cache_control:
        notes.dropped("unsupported-parameter", "cache.ttl", "the server decides how long it caches")
    return fields


_PATHS: Final = {
    "metadata": "metadata",
    "prompt_cache_retention": "cache.retention",
    "random_seed": "generation.seed",
    "reasoning_effort": "reasoning.effort",
}


def _supported(
    body: NativeObject, request: LLMRequest, dialect: ChatDialect, notes: Notes
) -> NativeObject:
    """Return *body* without what the server or the model rejects."""
    asked = request.reasoning.effort if request.reasoning else None
    rejected = dialect.unsupported
    if dialect.fixed_sampling.rejects(request.model_id, body.get("reasoning_effort", asked)):
        rejected |= SAMPLING
    if dialect.rejects_stop(request.model_id):
        rejected |= {"stop"}
    if body.get("temperature") == 1:
        rejected -= {"temperature"}  # the one value that every model takes
    for name in body:
        if name in rejected:
            notes.dropped(
                "unsupported-parameter",
                _PATHS.get(name, f"generation.{name}"),
                f"{request.model_id} does not take {name}",
            )
    return {name: value for name, value in body.items() if name not in rejected}
