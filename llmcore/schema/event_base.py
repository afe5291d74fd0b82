"""The base class of all events, which have the native frame that they were read from.

The classes are in `llmcore.schema.events`.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from attrs import evolve

from llmcore.schema.json import JsonValue
from llmcore.schema.pydantic_hooks import for_pydantic


@for_pydantic
class EventBase:
    """The base class of events. Its slot is not an attrs field, so that constructors ignore it."""

    __slots__ = ("_native",)

    @property
    def native(self) -> JsonValue:
        """The native frame that the event was read from; None unless `raw=True` was set.

        A frame can produce several events, or none. A body that was not streamed is the frame of
        all its events. Not compared, and not part of the JSON.
        """
        frame: JsonValue = getattr(self, "_native", None)
        return frame


def attach_native(events: Iterable[EventBase], frame: JsonValue) -> None:
    """Set the `native` frame of newly made *events*."""
    for event in events:
        object.__setattr__(event, "_native", frame)


_Event = TypeVar("_Event", bound=EventBase)


def with_fields(event: _Event, **changes: Any) -> _Event:
    """Return *event* with *changes* and the same native frame."""
    copy: _Event = evolve(event, **changes)  # type: ignore[misc]  # each subclass is frozen
    object.__setattr__(copy, "_native", event.native)
    return copy
