"""Which parts of a message are sealed, and in which of its blocks.

A client sends a message back as it saw it. What it did not see is sealed (`opaque_state`) in the
`signature` of the next thinking, or in a block of its own:

    {"type": "redacted_thinking", "data": "b2IxLkFCQ0Q="}
"""

from collections.abc import Mapping
from typing import Final

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

    def seal(self) -> str:
        """Return the state of all parts that are not sealed yet, for a block."""
        self.hidden = self.text_says_more = self.text_is_signed = False
        return as_base64(str(self.record.seal()["encrypted_content"]))


def _says_more(part: ContentPart, places: bool) -> bool:
    """Return whether *part* has metadata that must be sent back; *places* are, if that is True."""
    return any(
        places if name in _PLACE else _USUAL.get(name) != value
        for data in part.provider_metadata.values()
        for name, value in data.items()
    )
