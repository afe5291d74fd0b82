"""What an answer is made of, recorded while it is shown."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from llmcore.bridge.fronts.opaque_state import Shown, needs_state, sealed_state
from llmcore.bridge.state.signer import Sealer
from llmcore.folds.response import Accumulator
from llmcore.protocols.call_ids import OPENAI_RESPONSES, fit
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message, Origin


def part_of(event: LLMEvent) -> ContentPart | None:
    """Return the part that a whole segment, a call, a result or a file is; None for no part.

    Call ids are those that the client sees. Log probabilities are left out: nothing reads them
    again.
    """
    accumulator = Accumulator()
    accumulator.process(event)
    content = accumulator.partial.message.content
    part = content[0] if content else None
    match part:
        case TextPart() if part.logprobs:
            return evolve(part, logprobs=())
        case ToolCallPart():
            return evolve(part, id=shown_call_id(part.id))
        case ToolResultPart():
            return evolve(part, tool_call_id=shown_call_id(part.tool_call_id))
        case _:
            return part


def shown_call_id(call_id: str) -> str:
    """Return *call_id* in a length that every client takes."""
    return fit(call_id, OPENAI_RESPONSES)


class AnswerRecord:
    """The parts of an answer in their order, and which of them are sealed already."""

    def __init__(self, response_id: str, sealer: Sealer, *, sealing: bool) -> None:
        self.origin = Origin(provider="", model="")
        self._response_id = response_id
        self._sealer = sealer
        self._sealing = sealing
        self._parts: list[ContentPart] = []
        self._unsealed: list[Shown] = []

    def add(self, shown: Shown) -> None:
        """Take the next parts."""
        self._parts.extend(shown.parts)
        self._unsealed.append(shown)

    def show(self, part: ContentPart | None, read_back: ContentPart | None = None) -> None:
        """Take one part that the client sees as *read_back*, or not at all."""
        if part is not None:
            self.add(Shown(parts=(part,), read_back=read_back))

    @property
    def message(self) -> Message:
        """The answer as a message."""
        return Message.assistant(tuple(self._parts), origin=self.origin)

    @property
    def needs_carrier(self) -> bool:
        """Whether something is still to be sealed that a client's echo would not bring back."""
        return self._sealing and any(map(needs_state, self._unsealed))

    def seal(self) -> Mapping[str, Any]:
        """Return `encrypted_content` for all that is not sealed yet; nothing if nobody keeps it."""
        if not self._sealing:
            return {}
        unsealed, self._unsealed = self._unsealed, []
        text = sealed_state(
            unsealed, origin=self.origin, response_id=self._response_id, sealer=self._sealer
        )
        return {"encrypted_content": text}
