"""OpenAI Chat Completions: reading the response.

    data: {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": "Hel"}}]}
    data: {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    data: [DONE]

Source: https://platform.openai.com/docs/api-reference/chat-streaming (read November 2026), and
the documents of the servers that imitate it, named where a rule is theirs.

A body that was not streamed is read as one chunk whose delta is the whole message, so
both give the same events by construction.

Deltas that only continue a segment, which nearly all events are, take the per-token path at the end
of this module.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import GenericAlias
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from llmcore.folds.grammar import has_content
from llmcore.protocols.failures.error_body import foreign_document
from llmcore.protocols.openai_chat import calls, content, executed, finish, names
from llmcore.protocols.openai_chat.content import new_in_message
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.state import (
    MAX_FIELDS,
    Arguments,
    ChatCall,
    ChatState,
    Shape,
    add_fragment,
    close_last_segment,
)
from llmcore.protocols.protocol import DeltaForm, FastReader, Frame, TextReader
from llmcore.protocols.response_parts import (
    Events,
    empty_response,
    server_error,
    truncated,
    until_error,
)
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
)
from llmcore.schema.json import JsonValue, NativeObject, json_or_text
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.persistent import with_entries
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------

_DONE: Final[NativeObject] = {"done": True}
"""The sentinel `data: [DONE]`."""


def decode(frame: Frame) -> NativeObject | None:
    """Return the chunk in a frame; None for pings. ValueError if it is not JSON."""
    name, data = frame
    if data[:1] != b"{":
        data = data.strip()
        if not data:
            return None
        if data.startswith(b"[DONE]"):  # as OpenAI's SDK compares
            return _DONE
    if name == "error":
        return _error_frame(data)
    chunk = _single(json.loads(data))
    if isinstance(chunk, dict):
        return finish.unwrapped(chunk)
    return None if chunk is None else {"error": {"message": f"a chunk is {chunk!r}"[:200]}}


def _error_frame(data: bytes) -> NativeObject:
    """Return a frame whose name is `error` as a chunk with an error."""
    chunk = json_or_text(data)
    if isinstance(chunk, dict) and chunk.get("error"):
        return chunk
    return {"error": chunk or {"message": "the server sent an error event without a message"}}


def _single(document: Any) -> Any:
    """Return the only item of a list: errors of Google's endpoint come as one."""
    return document[0] if isinstance(document, list) and len(document) == 1 else document


def is_own(document: NativeObject) -> bool:
    """Return whether a chunk or a body is certainly one of this API."""
    kind = document.get("object")
    if isinstance(kind, str) and kind.startswith("chat.completion"):
        return True
    choices = document.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def terminal(chunk: NativeObject) -> bool:
    """Return whether this is the end sentinel."""
    return chunk is _DONE


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[ChatState, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[ChatState, NativeObject, NativeObject, Events], ChatState]
"""Emits its fields of a delta, given the choice around it."""


def initial(request: LLMRequest, dialect: ChatDialect) -> ChatState:
    """Return the state before the first chunk."""
    return ChatState(context=finish.context_of(request, dialect))


# -- stepping -----------------------------------------------------------------------------


def step(state: ChatState, chunk: NativeObject) -> Step:
    """Return the state after *chunk*, and the events to emit."""
    if chunk is _DONE:
        return replace(state, info=replace(state.info, done=True)), ()
    if not (state.info.started or "choices" in chunk or chunk.get("error") or is_own(chunk)):
        foreign = foreign_document(chunk, names.API_NAME)
        if foreign is not None:
            return state, (ErrorEvent(foreign),)
    if finish.is_error(chunk):
        return finish.on_error(state, chunk, ()), (server_error(state.context, chunk),)
    events: Events = []
    state = finish.on_start(state, chunk, events)
    choices = objects(chunk.get("choices"))
    if state.choice is None and choices:
        state = replace(state, choice=min(map(content.number_of, choices)))
    only = len(choices) == 1 and not state.context.several_choices
    for choice in choices:
        if choice.get("error"):
            events.append(server_error(state.context, choice))
            return finish.on_error(state, chunk, choices), events
        is_same = only or content.number_of(choice) == state.choice
        if is_same or content.is_rest(state, choice, choices[0]):
            state = _on_choice(state, choice, events)
        else:
            events.append(ProviderEvent(state.context.provider, {"choice": choice}))
    state = executed.announce_pages(state, chunk, names.PAGES_BESIDE_CHOICES, events)
    if "x_groq" in chunk and (stopped := object_or_empty(chunk["x_groq"]).get("error")):
        # Groq's reason why it ends the stream early
        events.append(server_error(state.context, {"error": stopped}))
    return finish.on_info(state, chunk, choices), until_error(events)


def _on_choice(state: ChatState, choice: NativeObject, events: Events) -> ChatState:
    message = choice.get("message")
    delta = content.delta_of(choice)
    if choice.get("logprobs") is not None:
        choice = content.with_token_logprobs(choice)
    content.on_token_fields(state, choice, events)
    if delta or not isinstance(message, dict):
        state = _on_delta(state, delta, choice, events)
    if isinstance(message, dict) and not content.is_copy(message, delta):
        rest = {**choice, "logprobs": None} if delta else choice  # which the delta has brought
        state = _on_message(state, message, rest, events)
    for number, message in enumerate(objects(choice.get("messages"))):
        state = _on_delta(state, {**message, "index": number}, {}, events)
    reason = finish.reason_of(choice)
    if reason is not None and reason != state.info.reason:
        state = replace(state, fast_field="", info=replace(state.info, reason=reason))
    return state


def _on_delta(
    state: ChatState, delta: NativeObject, choice: NativeObject, events: Events
) -> ChatState:
    if executed.is_of_several(delta):
        state, delta = executed.on_several(state, delta, events)
    logprobs = object_or_empty(choice.get("logprobs"))
    given = {name for name, value in delta.items() if value and name != "role"}
    if logprobs:
        given.update(name for name in ("content", "refusal") if logprobs.get(name))
    if state.calls.pending and given.isdisjoint(("tool_calls", "function_call")):
        state = calls.begin_named(state, events)
    if not given:  # as in the first delta, and in the last one
        return state
    for number in sorted({_NUMBERS[name] for name in given if name in _NUMBERS}):
        state = _HANDLERS[number][1](state, delta, choice, events)
    if not _NUMBERS.keys() >= given:
        unknown = {name: delta[name] for name in delta if name in given and name not in _NUMBERS}
        events.append(ProviderEvent(state.context.provider, {"delta": unknown}))
    new = [name for name in given if name not in state.fields]
    return replace(state, fields=with_entries(state.fields, dict.fromkeys(new))) if new else state


def _on_message(
    state: ChatState, message: NativeObject, choice: NativeObject, events: Events
) -> ChatState:
    """Read a whole message: all of a body that was not streamed, or a repetition after deltas.

    As OpenAI's JavaScript SDK takes it (`ChatCompletionStream`, fields of a choice beside
    `delta`), its words are the last ones; what the deltas have not brought is new.
    """
    repeated = state.fields
    state = _on_delta(state, new_in_message(message, repeated.keys()), choice, events)
    text = message.get("content") if "content" in repeated and state.texts == 1 else None
    if isinstance(text, str) and state.mode == "text" and not state.context.think_tag:
        state = replace(state, text=text, fast_field="")
    return calls.on_whole_calls(state, message, events)


_HANDLERS: Final[tuple[tuple[frozenset[str], Handler], ...]] = (
    (frozenset({*names.REASONING_FIELDS, *names.BLOCK_FIELDS, "signature"}), content.on_reasoning),
    (frozenset({"content"}), content.on_content),
    (frozenset({"refusal"}), content.on_refusal),
    (frozenset({"audio", "images"}), executed.on_media),
    (frozenset({"annotations"}), executed.on_annotations),
    (frozenset(names.PAGES_IN_MESSAGES), executed.on_pages),
    (frozenset({"tool_calls", "function_call"}), calls.on_tool_calls),
    (frozenset({"executed_tools"}), executed.on_executed_tools),
    (frozenset({"encrypted_content", "reasoning_opaque", *names.CALL_FIELDS}), content.on_extra),
)
"""Which handler reads which fields of a delta, in this order. Others have no neutral form."""
_NUMBERS: Final = {name: at for at, (names, _) in enumerate(_HANDLERS) for name in names}


# -- the end ------------------------------------------------------------------------------


def halt(state: ChatState) -> Sequence[LLMEvent]:
    """Return the end of the response, if the server stated that it is whole.

    Not every server sends `[DONE]`; a finish reason without it is an end. `[DONE]` without a
    finish reason is one only after the final usage: a stream that is cut has none, according to
    https://platform.openai.com/docs/api-reference/chat/create (`stream_options.include_usage`).
    """
    info = state.info
    if info.reason is None:
        if executed.audio_is_complete(state):
            state = replace(state, info=replace(info, reason="stop"))
        elif not (info.done and info.final_usage_seen):
            return (*content.held_back(state), truncated("finish_reason"))
    events: Events = []
    state = calls.begin_named(executed.end_several(state, events), events)
    if state.calls.pending:
        return (ErrorEvent(StreamError("a tool call has no name", raw=state.calls.pending[0].id)),)
    state = close_last_segment(content.flush_partial_tag(state, events), events)
    diagnostics: tuple[Diagnostic, ...] = ()
    if state.context.constrained:
        state = calls.forced_call(state, events)
        diagnostics = () if state.calls.calls else (names.NO_CALL,)
    if state.lost_places:
        diagnostics += (executed.NO_PLACES,)
    if state.calls.calls:
        diagnostics += calls.end_calls(state.calls, events)
    executed.flush_audio(state, events)
    content.emit_extra(state, events)
    end = finish.end_events(state.info, diagnostics, called=bool(state.calls.calls))
    return (*events, *end)


# -- a whole body -------------------------------------------------------------------------


def whole(document: JsonValue, request: LLMRequest, dialect: ChatDialect) -> Iterable[LLMEvent]:
    """Return the events of a `chat.completion`."""
    document = _single(document)
    if not isinstance(document, dict):
        return (empty_response("is not an object", document),)
    text = finish.only_text(document, request, dialect)
    if text is not None:
        return text
    start = initial(request, dialect)
    start = replace(start, info=replace(start.info, raw=document))
    document = finish.unwrapped(document)
    if not objects(document.get("choices")):
        return (_error_without_choices(start, document),)
    state, events = step(start, document)
    if any(type(event) is ErrorEvent for event in events):
        return events
    if state.info.reason is None:  # a whole body is complete without a reason
        if not has_content(events):
            return (empty_response("has neither content nor a finish_reason", document),)
        state = replace(state, info=replace(state.info, reason=""))
    return (*events, *halt(state))


def _error_without_choices(state: ChatState, document: NativeObject) -> ErrorEvent:
    foreign = None if document.get("error") else foreign_document(document, names.API_NAME)
    if foreign is not None:
        return ErrorEvent(foreign)
    if finish.is_error(document):
        return server_error(state.context, document)
    return empty_response("has no choices", document)


# -- the per-token path -------------------------------------------------------------------
# Most chunks only continue the open segment or call. Those are read without building the whole
# chunk: `step` would give the same event, at several times the cost. They are decoded into types
# that have the fields of the chunks before, in their order, and no place for anything else.


class _Function(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    arguments: str
    name: str | None = None


class _Fragment(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    function: _Function
    index: int | None = None
    id: str | None = None
    type: str | None = None


_USUAL: Final = dict.fromkeys(
    ("id", "object", "created", "model", "service_tier", "system_fingerprint", "obfuscation", "p"),
    Any,
)
"""The fields of a chunk that may have values; others are null, as long as they have been."""
_IN_CHOICE: Final = {"index": Literal[0] | None}
_IN_DELTA: Final = {"role": Literal["assistant", ""] | None}
_EMPTY: Final = Literal[""] | tuple[()] | None
"""The kind of the other fields of a delta."""
_UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""Raised by a chunk of another shape: `step` reads it."""


def _only(name: str, kind: Any, names: Iterable[str], kinds: Any, other: Any = None) -> Any:
    """Return a type with the fields *names* alone, in which that called *name* is `held`."""
    fields = [
        ("held", kind, msgspec.field(name=name))
        if each == name
        else (f"field{at}", kinds.get(each, other), msgspec.field(name=each, default=None))
        for at, each in enumerate(names)
    ]
    return msgspec.defstruct("Only", fields, kw_only=True, gc=False, forbid_unknown_fields=True)


@lru_cache(maxsize=128)
def _strict_reader(
    field: str, shape: Shape, stated: frozenset[str] = frozenset()
) -> Callable[[bytes], Any]:
    """Return a decoder of chunks with the fields of *shape* whose deltas have this *field* alone.

    Fields beside the choices that were *stated* before may have values.
    """
    in_chunk, in_choice, in_delta = shape
    kind = tuple[_Fragment] if field == "tool_calls" else str
    delta = _only(field, kind, in_delta, _IN_DELTA, _EMPTY)
    given = dict.fromkeys(stated, Any)
    choice = _only("delta", delta, in_choice, given | _IN_CHOICE)
    chunk = _only("choices", GenericAlias(tuple, (choice,)), in_chunk, given | _USUAL)
    return msgspec.json.Decoder(chunk).decode


def fast_reader(state: ChatState) -> FastReader | None:
    """Return how to read the chunks that only continue the open segment or call."""
    field, call, info = state.fast_field, state.calls.current, state.info
    few = max(map(len, info.shape)) <= MAX_FIELDS
    if state.choice or field not in info.shape[2] or not few:
        return None
    stated = frozenset(info.metadata.keys() - finish.READ_FIELDS)
    strict = _strict_reader(field, info.shape, stated)
    if field == "tool_calls":
        return None if call is None else _arguments_reader(state, call, strict)
    kind = TextDelta if field == "content" else ReasoningDelta
    return FastReader(kind, state.segment, _texts_reader(strict))


def plain_texts_reader() -> Callable[[Iterable[Frame]], list[str]]:
    """Return how to read the chunks of a stream that is one text."""
    return _texts_reader(_strict_reader("content", finish.PLAIN_SHAPE))


def _texts_reader(strict: Callable[[bytes], Any]) -> Callable[[Iterable[Frame]], list[str]]:
    def read(frames: Iterable[Frame]) -> list[str]:
        texts: list[str] = []
        for name, data in frames:
            try:
                text = strict(data).held[0].held.held
            except _UNREADABLE:
                break
            if not text or name == "error":
                break
            texts.append(text)
        return texts

    return read


def _arguments_reader(
    state: ChatState, call: ChatCall, strict: Callable[[bytes], Any]
) -> FastReader:
    index, wire_id, name_ = call.index, call.wire_id, call.name
    so_far = state.calls.arguments.get(call.id, Arguments())
    are_deltas = so_far.form == "deltas"

    def read(frames: Iterable[Frame]) -> list[str]:
        nonlocal so_far, are_deltas
        texts: list[str] = []
        for name, data in frames:
            try:
                (fragment,) = strict(data).held[0].held.held
            except _UNREADABLE:
                break
            id_, called, text = fragment.id, fragment.function.name, fragment.function.arguments
            if fragment.index != index or (id_ and id_ != wire_id) or not text or name == "error":
                break
            if called and (called != name_ or not id_):
                break
            if not are_deltas:
                arguments, new = add_fragment(so_far, text)
                if new != text:
                    break
                so_far, are_deltas = arguments, arguments.form == "deltas"
            elif text[-1] == "}" and text[0] == "{":  # the arguments may come again
                break
            texts.append(text)
        return texts

    after = None if are_deltas else lambda: calls.with_arguments(state, call, so_far)
    return FastReader(ToolInputDelta, call.id, read, after)


# -- chunks that only continue a text or a call, which a relay passes on unread

_TEXTS: Final = frozenset({"content", "refusal", *names.REASONING_FIELDS})
_NULL: Final = [(name, None, None) for name in finish.READ_FIELDS.difference(("delta", "index"))]
_CHOICE: Final = msgspec.defstruct(
    "Choice", [("delta", dict[str, Any]), ("index", Literal[0] | None, None), *_NULL], gc=False
)
_CHUNK: Final = msgspec.defstruct(
    "Chunk", [("choices", GenericAlias(tuple, (_CHOICE,))), *_NULL], gc=False
)
_read: Callable[[bytes], Any] = msgspec.json.Decoder(_CHUNK).decode
_OTHER_SHAPES: Final = (*_UNREADABLE, LookupError, TypeError, AttributeError)


def text_reader(data: bytes) -> TextReader | None:
    """Return a reader of chunks that continue the same text or call as the one in *data*."""
    try:
        ((field, value),) = _given(_read(data).choices[0].delta)
        index = _continued_call(value) if field == "tool_calls" else None
    except _OTHER_SHAPES:
        return None
    if field not in _TEXTS and index is None:
        return None

    def read(data: bytes) -> str | None:
        try:
            delta = _read(data).choices[0].delta
            text = delta[field]
            if index is not None:
                same = _continued_call(text) == index
                text = text[0]["function"]["arguments"] if same else None
        except _OTHER_SHAPES:
            return None
        alone = len(delta) == 1 or len(_given(delta)) == 1
        return text if type(text) is str and alone else None

    return read


def _given(delta: NativeObject) -> list[tuple[str, Any]]:
    """Return the fields of *delta* that have content; some servers repeat the role in each."""
    return [(name, value) for name, value in delta.items() if value and name != "role"]


def _continued_call(fragments: Any) -> int | None:
    """Return the index of the call that one fragment continues; None if it may begin one."""
    (fragment,) = fragments
    if fragment.get("id") or fragment["function"].get("name"):
        return None
    return fragment["index"]  # type: ignore[no-any-return]


def _with_text(chunk: NativeObject, text: str) -> None:
    delta = chunk["choices"][0]["delta"]
    ((field, value),) = _given(delta)
    if field == "tool_calls":
        value[0]["function"]["arguments"] = text
    else:
        delta[field] = text


DELTAS: Final = DeltaForm(reader=text_reader, with_text=_with_text)
