"""OpenAI Chat Completions: the response as a whole: context, beginning, finish reason and usage.

    {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4.1", "choices": [
     {"index": 0, "delta": {}, "finish_reason": "stop"}]}
    {"id": "chatcmpl-1", ..., "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat-streaming; usage in
odd places: https://console.groq.com/docs/api-reference (`x_groq`),
https://platform.moonshot.ai/docs (in the choice); finish reasons of others:
https://docs.mistral.ai/api, https://docs.z.ai/api-reference,
https://api-docs.deepseek.com/api/create-chat-completion.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import replace

from llmcore.protocols.failures.error_body import has_error_fields, states_failure
from llmcore.protocols.openai_chat import names
from llmcore.protocols.openai_chat.executed import audio_type
from llmcore.protocols.openai_chat.models import (
    ChatDialect,
    forces_call_by_schema,
    freeform_functions,
)
from llmcore.protocols.openai_chat.names import METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.openai_chat.state import ChatInfo, ChatState, ChatStreamContext, with_fields
from llmcore.protocols.protocol import FastReader, Frame, TextFrames, TextSoFar
from llmcore.protocols.response_parts import (
    CompleteEvents,
    Ends,
    Events,
    counts_reader,
    finish_events,
    finish_reason,
    inclusive_usage,
    only_object,
    read_cost,
    served_tier,
    skimmed,
    start_events,
    text_delta,
    text_end,
    text_response,
    text_start,
)
from llmcore.protocols.tools import are_plain_arguments
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason, LLMEvent, StepStart, StreamStart, TextDelta
from llmcore.schema.json import JsonObject, JsonValue, NativeObject, present
from llmcore.schema.native_json import (
    all_objects,
    has_only,
    index_or_none,
    object_or_empty,
    objects,
    str_or_none,
)
from llmcore.schema.persistent import with_entries
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool
from llmcore.schema.usage import Usage

# -- what the request states about its response


def context_of(request: LLMRequest, dialect: ChatDialect) -> ChatStreamContext:
    """Return the facts of *request* that reading its response needs."""
    functions = [tool.name for tool in request.tools if not isinstance(tool, HostedTool)]
    provider, model = request.provider_id, request.model_id
    options = request.options_for(METADATA_KEY, provider)
    return ChatStreamContext(
        dialect=dialect,
        provider=provider,
        model=model,
        turn=len(request.messages),
        freeform=freeform_functions(request, dialect),
        constrained=forces_call_by_schema(request, dialect),
        tools=frozenset(functions),
        several_choices=_asks_for_several(request, options),
        think_tag=dialect.think_tag(model),
        audio_type=audio_type(options),
    )


def _asks_for_several(request: LLMRequest, options: JsonObject) -> bool:
    """Return whether *request*, which has those provider *options*, asks for several choices.

    Otherwise the only choice of a chunk is the response: servers have numbered the chunks in its
    place. Sources: https://github.com/huggingface/text-generation-inference/pull/1648,
    https://github.com/microsoft/foundry-local/issues/263.
    """
    number = request.http.body.get("n", options.get("n"))
    return number is not None and (index_or_none(number) or 1) > 1


# -- the beginning, and what is beside the choices


def unwrapped(document: NativeObject) -> NativeObject:
    """Return the chunk or the body in *document*, which is one itself but with a few servers.

    Cline sends whole bodies as `{"data": {"choices": [...]}, "success": true}`, Cloudflare's
    `/ai/run` as `{"result": ..., "success": true}`. Sources:
    https://github.com/cline/cline/issues/12647,
    https://developers.cloudflare.com/workers-ai/get-started/rest-api
    """
    if document.get("choices"):  # as nearly always
        return document
    inner = document.get("data") or document.get("result")
    return inner if isinstance(inner, dict) and objects(inner.get("choices")) else document


def is_error(chunk: NativeObject) -> bool:
    """Return whether *chunk* is an error body, with or without an `error`."""
    if chunk.get("error") or states_failure(chunk):
        return True
    if chunk.get("choices") or chunk.get("usage"):
        return False
    return has_error_fields(chunk)


_BEGINNINGS: Final = ("choices", "usage", "id", "citations", "search_results")


def on_start(state: ChatState, chunk: NativeObject, events: Events) -> ChatState:
    """Emit the start of the stream at the first chunk of the response itself.

    Azure's first chunk holds only filter results, with an empty id and no choices.
    """
    info = state.info
    if info.started or not any(map(chunk.get, _BEGINNINGS)):
        return state
    context = state.context
    response_id = str_or_none(chunk.get("id"))
    model = str_or_none(chunk.get("model")) or context.model
    events.append(
        StreamStart(provider=context.provider, model=model, id=response_id, protocol=PROTOCOL_ID)
    )
    events.append(StepStart())
    return replace(state, info=replace(info, started=True, response_id=response_id))


_NO_METADATA: Final = frozenset(
    {"id", "object", "created", "model", "choices", "usage"}
    | {"citations", "search_results", "error"}
    | {"obfuscation", "p"}  # random letters against guesses from the length: OpenAI, Mistral
)
_NO_CHOICE_METADATA: Final = frozenset(
    {"index", "delta", "message", "messages", "finish_reason", "logprobs", "top_logprobs"}
).union({"usage", "text"}, names.OF_TOKENS)
READ_FIELDS: Final = _NO_CHOICE_METADATA.union({"error", "x_groq"}, names.PAGES_BESIDE_CHOICES)
"""Fields of chunks and choices that may bring more than metadata."""


def on_info(state: ChatState, chunk: NativeObject, choices: Sequence[NativeObject]) -> ChatState:
    """Keep usage and metadata of *chunk* and its *choices*; later chunks replace earlier ones."""
    info = state.info
    usage = _usage_in(chunk, choices)
    if usage is not None:
        is_final = chunk.get("choices") == [] or (info.usage is None and _is_end(choices, usage))
        info = replace(
            info,
            usage=_latest_usage(info.usage, usage),
            final_usage_seen=info.final_usage_seen or is_final,
        )
    known, choice = info.metadata, choices[0] if choices else {}
    metadata = _metadata_in(chunk, _NO_METADATA, known)
    metadata |= _metadata_in(choice, _NO_CHOICE_METADATA, known)
    if metadata:
        info = replace(info, metadata=with_entries(known, metadata))
    shape = with_fields(info.shape, chunk, choice, object_or_empty(choice.get("delta")))
    if shape != info.shape:
        info = replace(info, shape=shape)
    return state if info is state.info else replace(state, info=info)


def _is_end(choices: Sequence[NativeObject], usage: NativeObject) -> bool:
    """Return whether *usage*, the first that came, is of all: its chunk has nothing but it.

    iFlytek's Spark ends so, without a finish reason. Servers that count all the time begin with 0.
    Source: https://www.xfyun.cn/doc/spark/HTTP%E8%B0%83%E7%94%A8%E6%96%87%E6%A1%A3.html
    """
    deltas = [object_or_empty(choice.get("delta")) for choice in choices]
    has_content = any(value for one in deltas for name, value in one.items() if name != "role")
    return not has_content and bool(_counts_of(usage)["output_tokens"])


def on_error(state: ChatState, chunk: NativeObject, choices: Sequence[NativeObject]) -> ChatState:
    """Return *state* with the usage of a chunk that has an error, which is the last one."""
    return on_info(state, {**chunk, "choices": []}, choices)


def _latest_usage(before: JsonObject | None, usage: NativeObject) -> JsonObject:
    """Return the fields of *usage*, and those that only the one *before* had."""
    counts = (count for count in usage.values() if isinstance(count, int | float))
    if before and not any(counts):  # servers that count earlier may end with zeros
        return before
    return {**(before or {}), **present(usage)}


def _usage_in(chunk: NativeObject, choices: Iterable[NativeObject]) -> NativeObject | None:
    """Return the chunk's usage: beside the choices, in `x_groq`, or in the choice (Moonshot)."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict) and "x_groq" in chunk:
        usage = object_or_empty(chunk["x_groq"]).get("usage")
    for choice in choices:
        if not isinstance(usage, dict):
            usage = choice.get("usage")
    return usage if isinstance(usage, dict) else None


def _metadata_in(holder: NativeObject, others: frozenset[str], known: JsonObject) -> NativeObject:
    """Return the fields that are new, and neither content nor usage.

    Such as service tier, fingerprint, filter results.
    """
    if others.issuperset(holder):  # as nearly always
        return {}
    found: NativeObject = {}
    for name, value in holder.items():
        if name not in others and value is not None and known.get(name) != value:
            found[name] = value
    return found


def reason_of(choice: NativeObject) -> str | None:
    """Return why *choice* ended; None before it does, as which KoboldCpp has sent a word.

    Source: https://github.com/PowerShell/AIShell/issues/350.
    """
    raw = str_or_none(choice.get("finish_reason"))
    return None if raw == "null" else raw


@lru_cache(maxsize=64)
def map_reason(raw: str, *, called: bool) -> FinishReason:
    """Return the finish reason; many servers send `stop` even if tools were called.

    Calls beside a word that is not listed are the caller's to run too, as the loop of OpenAI's SDK
    (`runTools`) runs all calls of a message, whatever its finish reason.
    """
    word = raw.lower().rpartition(": ")[2].replace("-", "_")
    reason = names.FINISH_REASONS.get(word)
    if reason is None:
        reason = next((kind for words, kind in names.FINISH_WORDS if re.search(words, word)), None)
    if called and (reason is None or reason == "stop"):
        reason = "tool_calls"
    return finish_reason(reason or "other", raw or None)


# -- usage: `prompt_tokens` includes cached tokens, `completion_tokens` reasoning


_counts_of: Final = counts_reader(names.USAGE_FIELDS)


def map_usage(usage: Mapping[str, Any], tier: object = None) -> Usage:
    """Return a server's usage object by the inclusive contract.

    *tier* is the `service_tier` beside it; Mistral's is in the object.
    """
    counts = _counts_of(usage)
    if _counts_reasoning_apart(counts):
        counts["output_tokens"] = (counts["output_tokens"] or 0) + (counts["reasoning_tokens"] or 0)
        counts["total_tokens"] = None  # which may leave the reasoning out
    details = object_or_empty(usage.get("prompt_tokens_details"))  # parts of the prompt
    make = inclusive_usage if details else Usage.make
    cost, served = read_cost(usage), served_tier(tier or usage.get("service_tier"))
    return make(**counts, cost_usd=cost, service_tier=served, raw=dict(usage))


def _final_usage(info: ChatInfo) -> Usage | None:
    """Return the tokens of a complete response; None if the server has not counted them."""
    return None if info.usage is None else map_usage(info.usage, info.metadata.get("service_tier"))


def stated_usage(state: ChatState) -> Usage | None:
    """Return the tokens that the server has counted so far; None if it has not."""
    usage, info = _final_usage(state.info), state.info
    if usage is None or info.final_usage_seen or info.reason is not None:
        return usage
    return changed(usage, estimated=True)


def _counts_reasoning_apart(counts: Mapping[str, int | None]) -> bool:
    """Return whether reasoning is counted beside the completion, as xAI and Perplexity do.

    The total then exceeds prompt and completion by just the reasoning (xAI), or there is more of
    it than of the completion (https://docs.perplexity.ai/docs/sonar/models/sonar-deep-research).
    """
    prompt, completion = counts["input_tokens"], counts["output_tokens"]
    reasoning, total = counts["reasoning_tokens"], counts["total_tokens"]
    if not reasoning or prompt is None or completion is None:
        return False
    return reasoning > completion or total == prompt + completion + reasoning


# -- the end


def end_events(
    info: ChatInfo, diagnostics: Sequence[Diagnostic] = (), *, called: bool
) -> Sequence[LLMEvent]:
    """Return the end of a complete response; *called* is whether it has calls."""
    reason = map_reason(info.reason or "", called=called)
    metadata = {METADATA_KEY: dict(info.metadata)} if info.metadata else {}
    return finish_events(reason, _final_usage(info), metadata, info.raw, diagnostics)


# -- a whole body without its content

_PLAIN_OBJECT: Final = "chat.completion"
_NOT_PLAIN: Final = frozenset(
    {"error", "type", "candidates", "x_groq", *names.PAGES_BESIDE_CHOICES}
)
_PLAIN_MESSAGE: Final = frozenset({"role", "content", *names.REASONING_FIELDS})


def skim(document: JsonValue, request: LLMRequest) -> Ends | None:
    """Return the beginning and the end of a plain `chat.completion`; None for any other body."""
    if not isinstance(document, dict) or document.get("object") != _PLAIN_OBJECT:
        return None
    choices = all_objects(document.get("choices"))
    usage = None if choices is None else _usage_in(document, choices)
    if usage is None or choices is None or len(choices) != 1:
        return None
    if not _NOT_PLAIN.isdisjoint(document) and any(map(document.get, _NOT_PLAIN)):
        return None
    choice = choices[0]
    message = choice.get("message")
    if choice.get("error") or choice.get("delta") or choice.get("index") not in (0, None):
        return None
    if any(map(choice.get, names.OF_TOKENS)):
        return None
    if not isinstance(message, dict) or not _is_plain(message):
        return None
    raw = reason_of(choice) or ""
    metadata = _metadata_in(document, _NO_METADATA, {})
    metadata |= _metadata_in(choice, _NO_CHOICE_METADATA, {})
    stated = present(usage)
    return skimmed(
        PROTOCOL_ID,
        request,
        document,
        model=document.get("model"),
        response_id=document.get("id"),
        reason=map_reason(raw, called=bool(message.get("tool_calls"))),
        usage=map_usage(stated, metadata.get("service_tier")),
        metadata={METADATA_KEY: metadata} if metadata else {},
        reasoned=any(map(message.get, names.REASONING_FIELDS)),
    )


def only_text(
    document: NativeObject, request: LLMRequest, dialect: ChatDialect
) -> CompleteEvents | None:
    """Return the events of a `chat.completion` that is one text; None for any other body."""
    choice = only_object(document.get("choices"))
    if choice is None:
        return None
    message = choice.get("message")
    if type(message) is not dict or choice.get("logprobs") is not None or choice.get("messages"):
        return None
    text = message.get("content")
    if type(text) is not str or not text:
        return None
    if any(value for name, value in message.items() if name not in _ONLY_TEXT):
        return None
    if dialect.think_tag(request.model_id) or forces_call_by_schema(request, dialect):
        return None
    return text_response(skim(document, request), "text_0", text)


_ONLY_TEXT: Final = ("role", "content")


def _is_plain(message: NativeObject) -> bool:
    """Return whether a message has texts and calls of functions, and nothing else."""
    for name, value in message.items():
        if not value or (name in _PLAIN_MESSAGE and type(value) is str):
            continue
        calls = all_objects(value) if name == "tool_calls" else None
        if calls is None or not all(map(_is_call, calls)):
            return False
    return True


def _is_call(native: NativeObject) -> bool:
    if not has_only(native, ("function", "index")):
        return False
    function = native.get("function")
    if not (isinstance(function, dict) and str_or_none(native.get("id")) and has_only(function)):
        return False
    named = native.get("type") == "function" and str_or_none(function.get("name")) is not None
    return named and are_plain_arguments(function.get("arguments"))


# -- a stream that is one text: see `routes.one_text`


class _PlainDelta(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: None = None
    reasoning_content: None = None
    reasoning: None = None
    tool_calls: None = None
    function_call: None = None


class _PlainChoice(msgspec.Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    index: Literal[0] | None = None
    delta: _PlainDelta
    logprobs: None = None
    finish_reason: str | None = None


class _PlainChunk(msgspec.Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    id: str | None = None
    object: Literal["chat.completion.chunk"] | None = None
    created: int | None = None
    model: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    choices: Annotated[list[_PlainChoice], msgspec.Meta(max_length=1)]
    usage: dict[str, Any] | None = None
    obfuscation: str | None = None
    p: str | None = None


_read_plain: Final = msgspec.json.Decoder(_PlainChunk).decode
_PLAIN_TYPES: Final = (_PlainChunk, _PlainChoice, _PlainDelta)
PLAIN_SHAPE: Final = tuple(kind.__struct_fields__ for kind in _PLAIN_TYPES)


def _plain_chunk(frame: Frame | None) -> _PlainChunk | None:
    """Return the chunk in *frame*; None if it may do more than such a stream's."""
    if frame is None:
        return None
    try:
        chunk = _read_plain(frame[1])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if frame[0] or not (chunk.choices or chunk.usage) else chunk


def one_text(
    request: LLMRequest,
    text: TextSoFar,
    dialect: ChatDialect,
    read: Callable[[Iterable[Frame]], list[str]],
) -> TextFrames:
    """Read a stream that is one text; *read* reads its deltas."""
    if dialect.think_tag(request.model_id) or forces_call_by_schema(request, dialect):
        return
    if _asks_for_several(request, request.options_for(METADATA_KEY, request.provider_id)):
        return
    chunk = _plain_chunk((yield ()))
    if chunk is None or not chunk.choices:
        return
    reason: str | None = None
    usage: JsonObject | None = None
    metadata: NativeObject = {}
    events: Sequence[LLMEvent]
    events = start_events(PROTOCOL_ID, request, chunk.model, chunk.id)
    while chunk is not None:
        content = chunk.choices[0].delta.content if chunk.choices else None
        ended = chunk.choices[0].finish_reason if chunk.choices else None
        if ended and ended != "null":
            reason = ended
        if chunk.usage is not None:
            usage = _latest_usage(usage, chunk.usage)
        if chunk.service_tier is not None:
            metadata["service_tier"] = chunk.service_tier
        if chunk.system_fingerprint is not None:
            metadata["system_fingerprint"] = chunk.system_fingerprint
        if content:
            if text.reader is not None or reason is not None:
                return
            text.reader = FastReader(TextDelta, _SEGMENT, read)
            text.chunks.append(content)
            events = (*events, text_start(_SEGMENT), text_delta(_SEGMENT, content))
        frame = yield events
        events = ()
        if frame is None or frame == ("", b"[DONE]"):
            break
        chunk = _plain_chunk(frame)
    if chunk is not None and text.reader is not None and reason is not None:
        info = ChatInfo(reason=reason, usage=usage, metadata=metadata)
        yield (text_end(_SEGMENT, "".join(text.chunks)), *end_events(info, called=False))


_SEGMENT: Final = "text_0"
