"""The content of a response as a front writes it: texts, thinking, calls, files."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from llmcore.fronts.response_record import ResponseRecord
from llmcore.fronts.segment_order import SegmentOrder
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import NativeObject

if TYPE_CHECKING:
    from llmcore.fronts.front import ResponseIdentity, Upstream


class OutputWriter:
    """Writes the content of one response: the part of a `FrontWriter` that differs most by API.

    In the subclass of a front, the method `_on_<type>` handles events of that type, such as
    `_on_text_delta`; events of types without one write nothing.
    """

    has_one_order: ClassVar[bool] = True
    """Whether all segments are shown one after another. Else each field has an order of its own."""
    _handlers: ClassVar[Mapping[type, Callable[[Any, Any], None]]]

    def __init_subclass__(cls) -> None:
        names = {kind: "_on_" + kind.type.replace("-", "_") for kind in get_args(LLMEvent)}
        cls._handlers = {
            kind: getattr(cls, name) for kind, name in names.items() if hasattr(cls, name)
        }

    def __init__(
        self, info: "ResponseIdentity", upstream: "Upstream", *, sealing: bool = True
    ) -> None:
        self.record = ResponseRecord(info, upstream, sealing=sealing)
        self.events: list[NativeObject] = []
        """The events of the response that were not handed out yet."""
        self.diagnostics = Diagnostics()
        self.order = SegmentOrder()
        self.called = False
        """Whether a call was written that the client has to run."""

    def delta_of_live(self, kind: str, event: Any) -> Sequence[NativeObject] | None:
        """Return the events of a delta that only continues the open segment: the per-token path.

        None for another one, which is handled like all other events.
        """
        raise NotImplementedError

    def sealed_calls(self) -> Mapping[str, str]:
        """Return the sealed state of the response by a key of each call."""
        return self.record.sealed_calls()

    def handle(self, event: LLMEvent) -> None:
        """Write *event*, whose turn it is."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(self, event)

    def end_step(self) -> None:
        """Write all that waits for the end of another segment."""
        for ordered in self.order.end():
            self.handle(ordered)
