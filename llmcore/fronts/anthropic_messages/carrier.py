"""Which parts of a message are sealed, and in which of its blocks.

A client sends a message back as it saw it. What it did not see is sealed (`opaque_state`) in the
`signature` of the next thinking, or in a block of its own:

    {"type": "redacted_thinking", "data": "b2IxLkFCQ0Q="}
"""

from collections.abc import Mapping
from typing import Final

from llmcore.fronts.opaque_state import rest_key
from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.sealer import as_base64
from llmcore.schema.changed import changed
from llmcore.schema.content import ContentPart, TextPart

_PLACE: Final = frozenset({"id", "part", "index"})
"""Metadata that only states where a part was among the items of a response. Many servers take
encrypted thinking back with the items after it alone; without thinking, the places can be left
out. OpenAI's also takes it without places, as where a response ends with a text."""
_USUAL: Final[Mapping[str, object]] = {"phase": "final_answer", "caller": {"type": "direct"}}
"""Values that a provider assumes for missing metadata."""


class StateCarrier:
    """The parts of one response, and what of them is still to be sealed."""

    def __init__(self, record: ResponseRecord) -> None:
        self.record = record
        self.hidden = False
        """Whether there is unsealed state that the client's echo would not bring back."""
        self.text_says_more = False
        """Whether there is such state of texts alone, or of thoughts after them."""
        self.text_is_signed = False
        """Whether it is more than the place of a text."""
        self._in_place = False
        """Whether thinking was shown that its provider takes only with the items after it."""
        self._thought_at = 0
        """The number of parts up to the last thinking."""
        self._carried = False
        """Whether a block without thinking carries state of the parts after it."""
        self._called: list[str] = []
        """The keys of the calls since the last thinking."""
        self._rest: Mapping[str, str] = {}
        """The state after the last thinking, which some clients leave out, by those calls."""

    def show(self, part: ContentPart | None, echoed: ContentPart | None) -> None:
        """Add a part to the response; the client's echo of it is read as *echoed*."""
        if part is None:
            return
        self.record.show(part, echoed)
        if echoed is None:
            self.hidden = True
        elif part is not echoed and part != echoed:
            same = changed(part, provider_metadata=echoed.provider_metadata) == echoed
            if same and isinstance(part, TextPart):
                self.text_says_more = self.text_says_more or _says_more(part, self._in_place)
                self.text_is_signed = self.text_is_signed or _says_more(part, False)
            else:
                self.hidden = self.hidden or not same or _says_more(part, self._in_place)

    def add_with_text(self, part: ContentPart | None) -> None:
        """Add a part that is not shown, and whose state may be lost where no call needs it."""
        self.record.show(part)
        self.text_says_more = self.text_is_signed = True

    def add_thinking(self, part: ContentPart | None) -> None:
        """Add thinking, before it is shown or sealed."""
        self.record.show(part)
        metadata = {} if part is None else part.provider_metadata
        self._in_place |= any(not _PLACE.isdisjoint(data) for data in metadata.values())

    def add_call(self, key: str) -> None:
        """Add a call of the client's tools by its `call_key`."""
        self._called.append(key)

    def seal_thinking(self) -> str:
        """Return the state of all parts that are not sealed yet, for a block of thinking."""
        self._called.clear()
        self._thought_at, self._carried = len(self.record.shown), False
        return self._seal()

    def seal_apart(self) -> str:
        """Return the same state for a block of its own."""
        self._carried = True
        return self._seal()

    def _seal(self) -> str:
        self.hidden = self.text_says_more = self.text_is_signed = False
        return as_base64(str(self.record.seal()["encrypted_content"]))

    def end(self) -> None:
        """Keep the state after the last thinking for the calls there, if a block carries it."""
        if self._carried and self._called:
            state = self.record.sealed_from(self._thought_at)
            self._rest = dict.fromkeys(map(rest_key, self._called), state)

    def sealed_calls(self) -> Mapping[str, str]:
        """Return the state of the whole response, and that of its last block by a `rest_key`."""
        return {**self.record.sealed_calls(), **self._rest}


def _says_more(part: ContentPart, places: bool) -> bool:
    """Return whether *part* has metadata that must be sent back; *places* are, if that is True."""
    return any(
        places if name in _PLACE else _USUAL.get(name) != value
        for data in part.provider_metadata.values()
        for name, value in data.items()
    )
