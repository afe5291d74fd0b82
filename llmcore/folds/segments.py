"""Completes the segments of all protocols' event streams.

Protocols pass deltas through and emit the ends of segments. This fold joins the deltas, sets the
complete value on the end event, parses tool input and emits the `ToolCall`, and closes open
segments when a step finishes. Servers that send only deltas, only complete values, or both give
the same events: text of an end event that was in no delta is emitted as one more delta, and a
`ToolCall` without preceding `ToolInput...` events is preceded by a synthesised start, delta and
end. Reasoning tokens are estimated where the provider shows reasoning and does not count it
(`Usage.reasoning_estimated`).

from a protocol                          from this fold
TextStart("0")                           TextStart("0")
TextDelta("0", "Hel")                    TextDelta("0", "Hel")
TextEnd("0", "Hello")                    TextDelta("0", "lo"), TextEnd("0", "Hello")
ToolCall("c", "f", {"a": 1})             ToolInputStart("c", "f"), ToolInputDelta("c", '{"a":1}'),
ToolInputEnd("c", '{"a":1}'), ToolCall("c", "f", {"a": 1})
StepFinish(...)                          StepFinish(...)

All emitted text can be encoded: the first half of a surrogate pair that a server cut in two is
held until the second arrives, and a half without the other becomes U+FFFD, which is reported.

The state is mutable, since it is updated once per token. It is private to one response.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, get_args

from attrs import define, field

from llmcore.schema.changed import changed, copying, thawed
from llmcore.schema.content import TokenLogprob
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    DeltaEvent,
    ErrorEvent,
    Finish,
    LLMEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.json import (
    JsonValue,
    parse_arguments,
    plain_metadata,
    replace_lone_surrogates,
    text_or_json,
)
from llmcore.schema.usage import Usage, estimated_tokens

SEGMENT_TEXT_CHANGED: Final = "segment-text-changed"
"""The code of the Diagnostic for an end event whose text differs from its deltas."""

LONE_SURROGATES_REPLACED: Final = "lone-surrogates-replaced"
"""The code of the Diagnostic for a segment with half a surrogate pair; also of requests."""

MAX_PARTS: Final = 10_000
"""More parts in one step than this are an error: what a response costs to read stays bounded."""

_Start: TypeAlias = TextStart | ReasoningStart | ToolInputStart
_Handler: TypeAlias = Callable[[Any, Any], Sequence[LLMEvent]]

_DELTA_OF: Final[Mapping[str, type]] = {kind: delta for delta, kind in SEGMENT_DELTAS.items()}


def complete_segments(events: Iterable[LLMEvent]) -> list[LLMEvent]:
    """Return the *events* of a protocol with all segments completed."""
    fold = SegmentFold()
    return [done for event in events for done in fold.feed(event)]


@define
class _Open:
    """A segment that has started and not ended."""

    start: _Start
    place: str
    """Its path in the response, for diagnostics."""
    chunks: list[str] = field(factory=list)
    half: str = ""
    """The first half of a surrogate pair, not emitted yet."""
    is_repaired: bool = False
    """Whether a half without the other was replaced."""
    logprobs: list[TokenLogprob] = field(factory=list)

    def whole(self, text: str) -> str:
        """Return *text* with pairs joined, and U+FFFD for each half without the other."""
        whole = replace_lone_surrogates(text)
        if whole is not text and whole.count("\ufffd") > text.count("\ufffd"):
            self.is_repaired = True
        return whole

    def join(self, given: str, diagnostics: list[Diagnostic]) -> tuple[str, str]:
        """Return the complete text of the segment, and the end of it that was in no delta.

        *given* is the text of its end event, which takes precedence if not empty.
        """
        streamed = "".join(self.chunks)
        if given:
            complete = self.whole(given)
        else:
            complete = streamed + self.whole(self.half) if self.half else streamed
        if self.is_repaired:
            why = "halves of surrogate pairs without the other were read as U+FFFD"
            diagnostics.append(
                Diagnostic(LONE_SURROGATES_REPLACED, self.place, action="changed", message=why)
            )
        if complete.startswith(streamed):
            return complete, complete[len(streamed) :]
        why = "the segment's final text differs from its deltas; the final text is kept"
        diagnostics.append(
            Diagnostic(SEGMENT_TEXT_CHANGED, self.place, action="changed", message=why)
        )
        return complete, ""


class SegmentFold:
    """Completes the segments of one response, event by event.

    A delta or an end outside its segment, or a segment that starts twice in a step, ends the
    stream with an `ErrorEvent`; later events are discarded.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Open] = {}
        self._started: set[tuple[str, str]] = set()
        self._diagnostics: list[Diagnostic] = []
        self._calls = 0
        self._last_call: ToolCall | None = None
        self._reasoning = 0
        """The number of characters of reasoning in this step."""
        self._step_usage: Usage | None = None
        self._handlers = self._HANDLERS
        self._plain: dict[type[DeltaEvent], dict[str, list[str]]] = {
            TextDelta: {},
            ReasoningDelta: {},
            ToolInputDelta: {},
        }
        """The chunks of each open segment, unless it holds half a surrogate pair."""

    def plain_chunks(self, kind: type[DeltaEvent], id_: str) -> list[str] | None:
        """Return the list to which whole characters of an open segment may be added as they are.

        None for a segment that is not open, or whose next text must go through `feed`.
        """
        return self._plain[kind].get(id_)

    def append(self, delta: DeltaEvent) -> bool:
        """Add *delta* if it needs no change, as nearly all deltas.

        Returns False, without adding it, for a delta that must go through `feed`.
        """
        chunks = self._plain[type(delta)].get(delta.id)
        text = delta.text
        if chunks is None or not text.isascii() or (type(delta) is TextDelta and delta.logprobs):
            return False
        chunks.append(text)
        return True

    def feed(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """Return the events to emit for *event*: itself, completed, and those it implies."""
        handler = self._handlers.get(type(event))
        return (event,) if handler is None else handler(self, event)

    def chunks(self, key: tuple[str, str]) -> list[str] | None:
        """Return the list of texts of the open segment *key* (kind, id); None once it is closed."""
        opened = self._open.get(key)
        return None if opened is None else opened.chunks

    # -- deltas: the per-token path

    def _delta(self, event: DeltaEvent) -> Sequence[LLMEvent]:
        if self.append(event):
            return (event,)
        kind = SEGMENT_DELTAS[type(event)]
        opened = self._open.get((kind, event.id))
        if opened is None:
            return self._misplaced(event)
        if isinstance(event, TextDelta) and event.logprobs:
            opened.logprobs.extend(event.logprobs)
        done = _with_whole_characters(opened, event)
        if opened.half:  # the next delta must be joined with it, even an ASCII one
            self._plain[type(event)].pop(event.id, None)
        else:
            self._plain[type(event)][event.id] = opened.chunks
        return done

    # -- starts

    def _start_step(self, event: StepStart) -> Sequence[LLMEvent]:
        self._started.clear()
        self._reasoning = 0
        return (event,)

    def _start_visible(self, event: TextStart | ReasoningStart) -> Sequence[LLMEvent]:
        kind = "text" if isinstance(event, TextStart) else "reasoning"
        return self._begin(event, kind, f"{kind}[{event.id}]")

    def _start_tool(self, event: ToolInputStart) -> Sequence[LLMEvent]:
        if event.provider_executed:
            return self._begin(event, "tool", f"provider_executed[{event.id}]")
        place = f"tool_calls[{self._calls}]"
        self._calls += 1
        return self._begin(event, "tool", place)

    def _begin(self, event: _Start, kind: str, place: str) -> Sequence[LLMEvent]:
        key = kind, event.id
        if key in self._started:
            return self._misplaced(event)
        if len(self._started) >= MAX_PARTS:
            return self._ended(f"the response has more than {MAX_PARTS} parts")
        self._started.add(key)
        opened = self._open[key] = _Open(event, place)
        self._plain[_DELTA_OF[kind]][event.id] = opened.chunks
        return (event,)

    # -- ends

    def _close(self, kind: str, id_: str) -> _Open | None:
        self._plain[_DELTA_OF[kind]].pop(id_, None)
        return self._open.pop((kind, id_), None)

    def _end_text(self, event: TextEnd) -> Sequence[LLMEvent]:
        opened = self._close("text", event.id)
        if opened is None:
            return self._misplaced(event)
        text, rest = opened.join(event.text, self._diagnostics)
        completed = _with_text(
            event,
            text,
            event.logprobs or tuple(opened.logprobs),
            event.refusal or (isinstance(opened.start, TextStart) and opened.start.refusal),
        )
        # Of a text that came as a whole, all tokens are those of its only delta.
        tokens = event.logprobs if rest == text and not opened.logprobs else ()
        return (TextDelta(event.id, rest, tokens), completed) if rest else (completed,)

    def _end_reasoning(self, event: ReasoningEnd) -> Sequence[LLMEvent]:
        opened = self._close("reasoning", event.id)
        if opened is None:
            return self._misplaced(event)
        text, rest = opened.join(event.text, self._diagnostics)
        self._reasoning += len(text)
        completed = changed(event, text=text)
        return (ReasoningDelta(event.id, rest), completed) if rest else (completed,)

    def _end_tool(self, event: ToolInputEnd, *, written: bool = True) -> Sequence[LLMEvent]:
        """Complete a tool's input; *written* is True if the model wrote its text."""
        opened = self._close("tool", event.id)
        if opened is None or not isinstance(opened.start, ToolInputStart):
            return self._misplaced(event)
        start = opened.start
        text, rest = opened.join(event.text, self._diagnostics)
        call = _call(
            _EMPTY_CALL,
            event.id,
            start.name,
            _arguments(opened.place, start, text, self._diagnostics),
            start.kind,
            start.provider_executed,
            plain_metadata(event.provider_metadata),
            text if start.kind == "function" and written else None,
        )
        self._last_call = call
        end = changed(event, text=text)
        return (ToolInputDelta(event.id, rest), end, call) if rest else (end, call)

    def _call(self, event: ToolCall) -> Sequence[LLMEvent]:
        """Emit the input events of a call that arrived without them, then the call."""
        if event == self._last_call:
            return ()  # already emitted at the end of its input
        if ("tool", event.id) in self._started:
            return self._misplaced(event)
        start = ToolInputStart(
            event.id, event.name, kind=event.kind, provider_executed=event.provider_executed
        )
        raw = event.raw_arguments
        text = text_or_json(event.arguments) if raw is None else raw
        end = ToolInputEnd(event.id, text, provider_metadata=event.provider_metadata)
        return (*self._start_tool(start), *self._end_tool(end, written=raw is not None))

    def _finish_step(self, event: StepFinish) -> Sequence[LLMEvent]:
        closed: list[LLMEvent] = []
        for kind, id_ in list(self._open):
            closed.extend(self.feed(_END[kind](id_)))
        self._step_usage = event.usage
        usage = self._with_reasoning(event.usage)
        return (*closed, event if usage is event.usage else changed(event, usage=usage))

    def _finish(self, event: Finish) -> Sequence[LLMEvent]:
        usage = event.usage
        if usage is self._step_usage or usage == self._step_usage:
            usage = self._with_reasoning(usage)  # that of several steps is estimated already
        if usage is not event.usage:
            event = changed(event, usage=usage)
        if not self._diagnostics:
            return (event,)
        return (changed(event, diagnostics=(*event.diagnostics, *self._diagnostics)),)

    def _with_reasoning(self, usage: Usage | None) -> Usage | None:
        """Return *usage* with an estimate of reasoning tokens, if they were not counted."""
        if usage is None or usage.reasoning_tokens is not None or not self._reasoning:
            return usage
        tokens = estimated_tokens(self._reasoning)
        if usage.output_tokens is not None:
            tokens = min(tokens, usage.output_tokens)
        return changed(usage, reasoning_tokens=tokens, reasoning_estimated=True)

    def _misplaced(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """End the stream: continuing would lose text, or add it to another segment."""
        id_ = getattr(event, "id", "")
        return self._ended(f"{event.type} of {id_!r} is out of order in the stream")

    def _ended(self, message: str) -> Sequence[LLMEvent]:
        self._handlers = _DISCARD_ALL
        for segments in self._plain.values():
            segments.clear()
        return (ErrorEvent(StreamError(message)),)

    _HANDLERS: ClassVar[Mapping[type, _Handler]] = {
        TextDelta: _delta,
        ReasoningDelta: _delta,
        ToolInputDelta: _delta,
        StepStart: _start_step,
        TextStart: _start_visible,
        ReasoningStart: _start_visible,
        ToolInputStart: _start_tool,
        TextEnd: _end_text,
        ReasoningEnd: _end_reasoning,
        ToolInputEnd: _end_tool,
        ToolCall: _call,
        StepFinish: _finish_step,
        Finish: _finish,
    }


_with_text: Final = copying(TextEnd, "text", "logprobs", "refusal")
_EMPTY_CALL: Final = ToolCall("", "", {})
_call: Final = copying(
    ToolCall,
    *("id", "name", "arguments", "kind", "provider_executed", "provider_metadata"),
    "raw_arguments",
)
"""Unchecked: the arguments were just read from text, as JSON that a value may hold, and the rest is
from events."""

_DISCARD_ALL: Mapping[type, _Handler] = dict.fromkeys(get_args(LLMEvent), lambda _fold, _event: ())


def _arguments(
    place: str, start: ToolInputStart, text: str, diagnostics: list[Diagnostic]
) -> JsonValue:
    """Return the arguments of a call: *text* parsed, or as it is where it is not JSON."""
    if start.kind == "custom":
        return text
    arguments, problem = parse_arguments(text)
    if problem is not None:
        why = f"the arguments of {start.name} are {problem}; kept as the raw string"
        diagnostics.append(
            Diagnostic("invalid-tool-arguments", f"{place}.arguments", action="noted", message=why)
        )
    return arguments


def _with_whole_characters(opened: _Open, event: DeltaEvent) -> Sequence[LLMEvent]:
    """Return *event* with complete characters only; a trailing half is held in *opened*."""
    text = opened.half + event.text
    opened.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    text = opened.whole(text.removesuffix(opened.half))
    opened.chunks.append(text)
    if text == event.text:
        return (event,)
    kept = text or (isinstance(event, TextDelta) and event.logprobs)
    return (changed(event, text=text),) if kept else ()


_END: dict[str, Callable[[str], LLMEvent]] = {
    "text": TextEnd,
    "reasoning": ReasoningEnd,
    "tool": ToolInputEnd,
}


# -- deltas

_ThawedText: Final = thawed(TextDelta)
_THAWED: Final[Mapping[type[DeltaEvent], Callable[[], Any]]] = {
    kind: thawed(kind) for kind in (ReasoningDelta, ToolInputDelta)
}


def deltas(kind: type[DeltaEvent], id_: str, texts: Iterable[str]) -> list[LLMEvent]:
    """Return a delta of *kind* and segment *id_* for each of *texts*.

    There is one for each token, so that they are made without the constructor, which costs more.
    """
    made: list[LLMEvent] = []
    if kind is TextDelta:
        for text in texts:
            delta = _ThawedText()
            delta.id = id_
            delta.text = text
            delta.logprobs = ()
            delta.__class__ = TextDelta
            made.append(delta)
        return made
    new = _THAWED[kind]
    for text in texts:
        delta = new()
        delta.id = id_
        delta.text = text
        delta.__class__ = kind
        made.append(delta)
    return made
