"""Numbering: events from 0, items in the order they begin, one open at a time."""

from typing import Any

Event = dict[str, Any]


class EventWriter:
    """Collects the events of one response, and the items that are done."""

    def __init__(self) -> None:
        self.sequence = 0
        """The number of the next event."""
        self.index = 0
        """The number of the open item, or else of the next."""
        self.output: list[dict[str, Any]] = []
        """Items that are done, as the client saw them."""
        self.stored: list[dict[str, Any]] = []
        """The same with their sealed state, also where the client does not see it."""
        self._events: list[Event] = []

    def write(self, type_: str, **fields: Any) -> None:
        """Add an event."""
        self._events.append({"type": type_, "sequence_number": self.sequence, **fields})
        self.sequence += 1

    def take(self) -> list[Event]:
        """Return the events since the last time."""
        events, self._events = self._events, []
        return events

    def item_added(self, item: dict[str, Any]) -> None:
        """Begin an item."""
        self.write("response.output_item.added", output_index=self.index, item=item)

    def item_done(self, item: dict[str, Any], stored: dict[str, Any] | None = None) -> None:
        """End the open item."""
        self.write("response.output_item.done", output_index=self.index, item=item)
        self.output.append(item)
        self.stored.append(item if stored is None else stored)
        self.index += 1
