"""The parts of one response: what the client sees of them, and what is sealed for it to carry."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from llmcore.folds import parts
from llmcore.fronts.opaque_state import ShownPart, call_key, needs_state, sealed_state
from llmcore.protocols.openai_responses.names import CALL_IDS
from llmcore.protocols.tools import CallIdRule
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message, Origin

if TYPE_CHECKING:
    from llmcore.fronts.front import ResponseIdentity, Upstream


def shown_part(
    event: LLMEvent, ids: CallIdRule = CALL_IDS, *, provider: str | None = None
) -> ContentPart | None:
    """Return the part that *event* is on its own, as the client sees it; None for other events.

    Call ids are those that the client sees, which *ids* allows. Log probabilities are left out:
    nothing reads them again. The ids of files belong to *provider*.
    """
    match parts.part_of(event, provider):
        case TextPart() as part if part.logprobs:
            return evolve(part, logprobs=())
        case ToolCallPart() as part:
            return evolve(part, id=ids.fit(part.id))
        case ToolResultPart() as part:
            return evolve(part, tool_call_id=ids.fit(part.tool_call_id))
        case part:
            return part


NO_ORIGIN: Final = Origin(provider="", model="")
"""That of a response before its first event."""


class ResponseRecord:
    """The parts of a response in their order, and which of them are sealed already."""

    def __init__(
        self, info: "ResponseIdentity", upstream: "Upstream", *, sealing: bool = True
    ) -> None:
        self.origin = NO_ORIGIN
        self._response_id = info.id
        self._sealer = upstream.sealer
        self._sealing = sealing
        self.compares = sealing or upstream.kept_state is not None
        """Whether its state is sealed. Only then it matters how a client reads its parts."""
        self._parts: list[ContentPart] = []
        self.shown: list[ShownPart] = []
        """The parts as they were added, if its state is sealed."""
        self._sealed = 0
        """How many of them are sealed."""
        self.needs_opaque_item = False
        """Whether something is still to be sealed that a client's echo would not bring back."""

    def add(self, shown: ShownPart) -> None:
        """Add the next parts."""
        self._parts.extend(shown.parts)
        if self.compares:
            self.shown.append(shown)
        if self._sealing:
            self.needs_opaque_item = self.needs_opaque_item or needs_state(shown)

    def show(self, part: ContentPart | None, as_read_by_client: ContentPart | None = None) -> None:
        """Add one part that the client sees as *as_read_by_client*, or not at all."""
        if part is not None:
            self.add(ShownPart(parts=(part,), as_read_by_client=as_read_by_client))

    def part_of(self, event: LLMEvent) -> ContentPart | None:
        """Return `shown_part` of *event*, with the response's provider as the owner of file ids."""
        return shown_part(event, provider=self.origin.provider or None)

    @property
    def message(self) -> Message:
        """The response as a message."""
        return Message.assistant(tuple(self._parts), origin=self.origin)

    def seal(self) -> Mapping[str, Any]:
        """Return `encrypted_content` for all that is not sealed yet; empty if it is not kept."""
        if not self._sealing:
            return {}
        start, self._sealed = self._sealed, len(self.shown)
        self.needs_opaque_item = False
        return {"encrypted_content": self.sealed_from(start)}

    def sealed_from(self, start: int, *, after: int = 0, texts: bool = False) -> str:
        """Return the state of `shown` from *start* on; see `sealed_state` for the others."""
        return sealed_state(
            self.shown[start:],
            origin=self.origin,
            response_id=self._response_id,
            sealer=self._sealer,
            after=after,
            texts=texts,
        )

    def sealed_calls(self) -> Mapping[str, str]:
        """Return the state of the whole response by the `call_key` of each call, for a server.

        It is empty if the calls and texts that the client sends back are all of the response.
        """
        seen = (shown.as_read_by_client for shown in self.shown)
        calls = [call_key(part) for part in seen if isinstance(part, ToolCallPart)]
        if not calls:
            return {}
        needed = any(map(needs_state, self.shown))
        return dict.fromkeys(calls, self.sealed_from(0, texts=True) if needed else "")
