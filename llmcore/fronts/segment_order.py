"""Orders segments one after another, as they began.

Upstreams write parallel calls, and even text, interleaved; a Responses stream shows one item at a
time. So events of the first open segment pass, and those of later ones wait for its end.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import define, field

from llmcore.schema.events import (
    SEGMENT_DELTAS,
    SEGMENT_ENDS,
    SEGMENT_STARTS,
    DeltaEvent,
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningEnd,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolInputStart,
    ToolResult,
)

Key: TypeAlias = tuple[str, str]
"""The kind of the segment, and its id."""

_LATER: Final[Mapping[type, str]] = {**SEGMENT_DELTAS, **SEGMENT_ENDS, ToolCall: "tool"}
"""The kinds of segments by the events that come after their start."""
_ENDS: Final = (TextEnd, ReasoningEnd, ToolCall)
_DRAWS: Final = "image_generation"


@define
class _Segment:
    """A segment that waits, or the one whose events pass."""

    key: Key | None
    hosted: ToolInputStart | None = None
    """Its start, if the provider runs the tool: it then ends with its result."""
    waiting: list[LLMEvent] = field(factory=list)
    called: bool = False
    ended: bool = False


class SegmentOrder:
    """Puts the events of one step in order."""

    def __init__(self) -> None:
        self._queue: deque[_Segment] = deque()
        self._open: dict[Key, _Segment] = {}
        self._awaiting_results: list[_Segment] = []
        """Calls of the provider's tools that are whole."""
        self.live: Key | None = None
        """The segment whose deltas pass."""

    def add(self, event: LLMEvent) -> list[LLMEvent]:
        """Return what can be shown now that *event* came. A source never waits."""
        kind = type(event)
        of_segment: Any = event
        if kind in SEGMENT_STARTS:
            return self._start(event, (SEGMENT_STARTS[kind], of_segment.id))
        if kind in _LATER:
            return self._go_on(event, (_LATER[kind], of_segment.id))
        if isinstance(event, ToolResult):
            return self._result(event)
        if isinstance(event, File) and (segment := self._drawing()) is not None:
            return self._put(segment, event)
        if isinstance(event, File | ProviderEvent):
            return self._alone(event)
        return [event]

    def end(self) -> list[LLMEvent]:
        """Return all that still waits, now that the step is over."""
        for segment in self._queue:
            segment.ended = True
        return self._advance()

    # -- segments

    def _start(self, event: LLMEvent, key: Key) -> list[LLMEvent]:
        hosted = event if isinstance(event, ToolInputStart) and event.provider_executed else None
        segment = _Segment(key, hosted=hosted)
        if hosted is None:
            self._stop_waiting_for_results()
        self._open[key] = segment
        self._queue.append(segment)
        return [*self._advance(), *self._put(segment, event)]

    def _stop_waiting_for_results(self) -> None:
        """Let calls of the provider's tools end without their results, which come too late."""
        for segment in self._awaiting_results:
            segment.ended = True
        self._awaiting_results.clear()

    def _go_on(self, event: LLMEvent, key: Key) -> list[LLMEvent]:
        segment = self._open.get(key)
        if segment is None:
            return []
        if isinstance(event, _ENDS):
            segment.called = True
            segment.ended = segment.hosted is None
            if not segment.ended:
                self._awaiting_results.append(segment)
        return self._put(segment, event)

    def _result(self, event: ToolResult) -> list[LLMEvent]:
        segment = self._open.get(("tool", event.tool_call_id))
        if segment is None or segment.hosted is None:
            return self._alone(event)
        segment.ended = True
        return self._put(segment, event)

    def _drawing(self) -> _Segment | None:
        """Return the open call that draws images."""
        for segment in self._queue:
            if segment.hosted is not None and segment.hosted.name == _DRAWS and segment.called:
                return segment
        return None

    def _alone(self, event: LLMEvent) -> list[LLMEvent]:
        """Queue *event* as a segment of its own."""
        self._stop_waiting_for_results()
        segment = _Segment(None, waiting=[event], ended=True)
        self._queue.append(segment)
        return self._advance()

    # -- the order

    def _put(self, segment: _Segment, event: LLMEvent) -> list[LLMEvent]:
        if self._queue and segment is self._queue[0]:
            self.live = segment.key
            return [event, *(self._advance() if segment.ended else ())]
        segment.waiting.append(event)
        return []

    def _advance(self) -> list[LLMEvent]:
        """Return the waiting events up to the first segment that is still open, that included."""
        passed: list[LLMEvent] = []
        while self._queue:
            segment = self._queue[0]
            if segment.waiting:
                passed += joined(segment.waiting)
                segment.waiting = []
            if not segment.ended:
                self.live = segment.key
                return passed
            self._queue.popleft()
            if segment.key is not None:
                self._open.pop(segment.key, None)
        self.live = None
        return passed


def joined(events: Sequence[LLMEvent]) -> Iterator[LLMEvent]:
    """Yield *events*, deltas in a row as one."""
    run: list[DeltaEvent] = []
    for event in events:
        if isinstance(event, DeltaEvent):
            run.append(event)
            continue
        yield from _one(run)
        run = []
        yield event
    yield from _one(run)


def _one(run: Sequence[DeltaEvent]) -> Iterator[LLMEvent]:
    if not run:
        return
    text = "".join(delta.text for delta in run)
    first = run[0]
    if isinstance(first, TextDelta):
        tokens = tuple(t for delta in run if isinstance(delta, TextDelta) for t in delta.logprobs)
        yield TextDelta(first.id, text, tokens)
    else:
        yield type(first)(first.id, text)
