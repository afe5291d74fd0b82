"""Gemini: reading the answer.

Source: https://ai.google.dev/api/generate-content#GenerateContentResponse, read November 2026.

A stream is a row of such responses, each with the next parts; there is no end sentinel, but a
whole answer says why it finished. A body that was not streamed is read as one chunk, so both
give the same events by construction.

Text segments end with the answer: which of their words cite what comes in the last chunk.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from llmcore.protocols.answering import (
    StreamContext,
    empty_response,
    finish_events,
    invalid_value_error,
    truncated,
)
from llmcore.protocols.errors import error_from_body
from llmcore.protocols.gemini.content import (
    on_file_uri,
    on_media,
    on_text,
    on_unknown,
    read_logprobs,
    without,
)
from llmcore.protocols.gemini.continuing import (
    Continuation,
    as_chunk,
    continued,
    read_continuation,
)
from llmcore.protocols.gemini.envelope import (
    map_reason,
    on_candidate_envelope,
    on_envelope,
    on_start,
)
from llmcore.protocols.gemini.function_calls import end_call, on_function_call
from llmcore.protocols.gemini.grounding import cite, on_grounding
from llmcore.protocols.gemini.server_tools import (
    on_code,
    on_code_result,
    on_tool_call,
    on_tool_response,
)
from llmcore.protocols.gemini.state import Answer, Chunk, State, change, close_segment, metadata_of
from llmcore.protocols.gemini.usage import map_usage
from llmcore.protocols.native_json import object_or_empty, objects
from llmcore.protocols.protocol import Frame
from llmcore.protocols.tools import freeform_tools
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import (
    ErrorEvent,
    LLMEvent,
    ProviderEvent,
    TextEnd,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest

# -- frames -------------------------------------------------------------------------------

Event: TypeAlias = Continuation | Chunk | list[Chunk]
"""A chunk; or several in one frame, which is how errors come before a stream of JSON."""


def decode(frame: Frame) -> Event | None:
    """Read one frame; None for pings. ValueError if it is not JSON."""
    name, data = frame
    if data[:1] != b"{":
        data = data.strip()
        if not data or data == b"[DONE]":  # some gateways add OpenAI's sentinel
            return None
    elif name != "error" and (continuation := read_continuation(data)) is not None:
        return continuation
    chunk = json.loads(data)
    if isinstance(chunk, dict):
        return {"error": chunk} if name == "error" and not chunk.get("error") else chunk
    if isinstance(chunk, list):
        return objects(chunk)
    return None if chunk is None else {"error": {"message": f"a chunk is {chunk!r}"[:200]}}


def terminal(_event: Event) -> bool:
    """Return False: nothing that comes says that nothing follows."""
    return False


# -- state --------------------------------------------------------------------------------

Step: TypeAlias = tuple[State, Sequence[LLMEvent]]
Handler: TypeAlias = Callable[[State, Chunk, list[LLMEvent]], State]
"""Takes a part; adds to the events."""


def initial(request: LLMRequest) -> State:
    """Return the state before the first chunk."""
    context = StreamContext(
        provider=request.provider_id,
        model=request.model_id,
        turn=len(request.messages),
        freeform=freeform_tools(request),
    )
    return State(Answer(context=context))


# -- stepping -----------------------------------------------------------------------------


def step(state: State, event: Event) -> Step:
    """Translate one frame."""
    if isinstance(event, Continuation):
        more = continued(state, event)
        if more is not None:
            return more
        event = as_chunk(event)
    if isinstance(event, list):
        return _steps(state, event)
    try:
        return _step(state, event)
    except InvalidRequestError as error:  # values refuse what is nested too deeply
        return state, (invalid_value_error(error, event),)


def _steps(state: State, chunks: list[Chunk]) -> Step:
    events: list[LLMEvent] = []
    for chunk in chunks:
        state, more = step(state, chunk)
        events += more
        if events and type(events[-1]) is ErrorEvent:
            break
    return state, events


def _step(state: State, chunk: Chunk) -> Step:
    if _is_error(chunk):
        return state, (_error(state, chunk),)
    events: list[LLMEvent] = []
    state = on_start(state, chunk, events)
    for candidate in objects(chunk.get("candidates")):
        if candidate.get("index") in (0, None):
            state = _on_candidate(state, candidate, events)
        else:
            events.append(ProviderEvent(state.answer.context.provider, {"candidate": candidate}))
    return on_envelope(state, chunk), events


def _is_error(chunk: Chunk) -> bool:
    """Return whether *chunk* is an error body: Google's, or a gateway's."""
    if chunk.get("error"):
        return True
    if chunk.get("candidates") or "promptFeedback" in chunk or "usageMetadata" in chunk:
        return False
    return "message" in chunk or "detail" in chunk


def _error(state: State, chunk: Chunk) -> ErrorEvent:
    return ErrorEvent(error_from_body(provider=state.answer.context.provider or None, body=chunk))


def _on_candidate(state: State, candidate: Chunk, events: list[LLMEvent]) -> State:
    logprobs = read_logprobs(candidate)
    for part in objects(object_or_empty(candidate.get("content")).get("parts")):
        if isinstance(part.get("text"), str) or not part.keys() - _BESIDES:
            said = {name: part[name] for name in part if name not in _KINDS}
            state = on_text(state, said, logprobs, events)
            logprobs = () if said.get("text") and not said.get("thought") else logprobs
            part = without(part, "text") if part.keys() & _KINDS.keys() else {}  # noqa: PLW2901
        if part:
            state = _on_part(state, part, events)
    state = on_grounding(state, candidate, events)
    unsaid = {"logprobsResult": candidate["logprobsResult"]} if logprobs else {}
    return on_candidate_envelope(state, candidate, unsaid)


def _on_part(state: State, part: Chunk, events: list[LLMEvent]) -> State:
    """Take a part that holds anything but text."""
    for name, handler in _KINDS.items():
        if part.get(name) is not None:
            return handler(state, part, events)
    return on_unknown(state, part, events)


_KINDS: Final[dict[str, Handler]] = {
    "functionCall": on_function_call,
    "executableCode": on_code,
    "codeExecutionResult": on_code_result,
    "toolCall": on_tool_call,
    "toolResponse": on_tool_response,
    "inlineData": on_media,
    "fileData": on_file_uri,
}
"""What a part can be besides text. What is not here has no neutral form."""
_BESIDES: Final = frozenset({"text", "thought", "thoughtSignature"})


# -- the end


def halt(state: State) -> Sequence[LLMEvent]:
    """Finish the answer if it said why it ended, or that the prompt was blocked."""
    if state.answer.reason is None and state.answer.blocked is None:
        return (truncated("finishReason"),)
    try:
        return _finish(state)
    except InvalidRequestError as error:
        return (invalid_value_error(error, None),)


def _finish(state: State) -> Sequence[LLMEvent]:
    events: list[LLMEvent] = []
    state = end_call(close_segment(state, events), events, cut=True)
    answer = state.answer
    citations = cite(answer.texts, answer.groundings, answer.quotations)
    for text, cited in zip(answer.texts, citations, strict=True):
        events.append(TextEnd(text.id, citations=cited, provider_metadata=metadata_of(text.own)))
    reason = map_reason(answer.reason, answer.blocked, called=answer.calls > 0)
    usage = None if state.usage is None else map_usage(state.usage)
    silent = reason.reason == "stop" and not answer.segments and not answer.ids
    notes = (_NOTHING_SAID,) if silent else ()
    return (*events, *finish_events(reason, usage, metadata_of(answer.metadata), answer.raw, notes))


_NOTHING_SAID: Final = Diagnostic(
    "empty-answer",
    "message.content",
    action="noted",
    message="the model stopped of itself without a word or a call",
)


# -- a whole body


def whole(document: JsonValue, request: LLMRequest) -> Iterable[LLMEvent]:
    """Return the events of a `GenerateContentResponse`, or of a list of its pieces."""
    chunks = objects(document) if isinstance(document, list) else [document]
    if not chunks or not all(isinstance(chunk, dict) for chunk in chunks):
        return (empty_response("is not an object", document),)
    state = change(initial(request), raw=document)
    state, events = _steps(state, chunks)  # type: ignore[arg-type]
    if any(type(event) is ErrorEvent for event in events):
        return events
    said = any(objects(object_or_empty(chunk).get("candidates")) for chunk in chunks)
    if not said and state.answer.blocked is None:
        return (empty_response("has no candidates", document),)
    if state.answer.reason is None and state.answer.blocked is None:
        state = change(state, reason="")  # a whole body is whole, whatever it says
    return (*events, *halt(state))
