"""State that a server kept of responses, where the messages that came back lack it.

A server keeps the `sealed_calls` of the responses that it writes; any call of a response finds its
state. Calls of the form before tools, `function_call`, have no ids: these are found by their place.

    {"role": "assistant", "content": "Reading.", "tool_calls": [{"id": "call_1", ...}]}
    -> Message.assistant(ReasoningPart("Need two files.", signature="EqQB"), TextPart("Reading."),
                         ToolCallPart("call_1", "read_file", {"path": "a.py"}), origin=...)
"""

from collections.abc import Collection, Mapping, Sequence

from attrs import evolve

from llmcore.fronts.front import Upstream
from llmcore.fronts.opaque_state import KeptState, call_key
from llmcore.fronts.openai_chat.carrier import StateReader
from llmcore.fronts.openai_chat.messages import with_id
from llmcore.fronts.places import Places, kept_at
from llmcore.schema.content import ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.messages import Message


def with_kept_state(
    messages: tuple[Message, ...],
    upstream: Upstream,
    diagnostics: Diagnostics,
    unnamed: Collection[str] = frozenset(),
) -> tuple[Message, ...]:
    """Return *messages* with the kept state of responses that came back without it.

    State that is missing or unreadable changes nothing. Some clients send the text of a response
    and each of its calls as messages of their own, with results between them (pipecat): these
    become one message again, before its results. Calls whose ids are *unnamed* are found by their
    place in the conversation.
    """
    kept_state = upstream.kept_state
    if kept_state is None or not any(map(_is_bare, messages)):
        return messages
    states = StateReader(upstream.sealer)
    kept = _KeptStates(kept_state, messages, unnamed)
    seals = [kept.of(index) for index in range(len(messages))]
    made: list[Message] = []
    found: dict[str, str] = {}
    index = 0
    while index < len(messages):
        sealed, end = seals[index], index + 1
        if sealed is None:
            made.append(messages[index])
        else:
            end = _end_of_response(messages, seals, index)
            before = [made.pop()] if made and _begins(made[-1], sealed, states) else []
            pieces = [*before, *map(kept.as_sent, messages[index:end])]
            restored = _restored(pieces, sealed, states, diagnostics.at(f"messages[{index}]"))
            if restored is None:
                restored = (*before, *messages[index:end])
            for one, call in zip(messages[index].tool_calls, restored[0].tool_calls, strict=False):
                found |= {one.id: call.id} if one.id in unnamed else {}
            made += restored
        index = end
    return tuple(_answering(message, found) for message in made) if found else tuple(made)


class _KeptStates:
    """The states that a server kept of the responses among *messages*."""

    def __init__(
        self, kept_state: KeptState, messages: Sequence[Message], unnamed: Collection[str]
    ) -> None:
        self._kept_state = kept_state
        self._messages = messages
        self._unnamed = unnamed
        self._places = Places()

    def of(self, index: int) -> str | None:
        """Return the state of the response that a message is a part of."""
        message = self._messages[index]
        if not _is_bare(message):
            return None
        kept_state, sent = self._kept_state, self.as_sent(message)
        if sent is not message:
            kept_state = kept_at(kept_state, self._places, self._messages[:index])
        return next(filter(None, (kept_state(call_key(call)) for call in sent.tool_calls)), None)

    def as_sent(self, message: Message) -> Message:
        """Return *message* without the ids that were made for its calls."""
        if not any(call.id in self._unnamed for call in message.tool_calls):
            return message
        return evolve(message, content=tuple(with_id("", part) for part in message.content))


def _answering(message: Message, found: Mapping[str, str]) -> Message:
    """Return *message* with its results for the calls whose ids were *found*."""
    if message.role != "tool":
        return message
    parts = (
        evolve(part, tool_call_id=found.get(part.tool_call_id, part.tool_call_id))
        if isinstance(part, ToolResultPart)
        else part
        for part in message.content
    )
    return evolve(message, content=tuple(parts))


def _is_bare(message: Message) -> bool:
    return message.role == "assistant" and message.origin is None and bool(message.tool_calls)


def _end_of_response(messages: Sequence[Message], seals: Sequence[str | None], start: int) -> int:
    """Return the index behind the last message of the response that begins at *start*."""
    end = start + 1
    for index in range(start + 1, len(messages)):
        if seals[index] == seals[start]:
            end = index + 1
        elif messages[index].role != "tool":
            break
    return end


def _begins(message: Message, sealed: str, states: StateReader) -> bool:
    """Return whether *message* has texts alone, of the response whose state is *sealed*."""
    is_plain = message.role == "assistant" and message.origin is None
    return is_plain and not message.tool_calls and states.names(sealed, message.content)


def _restored(
    pieces: Sequence[Message], sealed: str, states: StateReader, diagnostics: Diagnostics
) -> Sequence[Message] | None:
    """Return the response in *pieces* as one message, then the results among them.

    None if its state cannot be read.
    """
    said = [message for message in pieces if message.role == "assistant"]
    results = [message for message in pieces if message.role != "assistant"]
    state = states.restored([sealed], [p for one in said for p in one.content], diagnostics)
    if state is None:
        return None
    return [evolve(said[-1], origin=state[0], content=state[1]), *results]
