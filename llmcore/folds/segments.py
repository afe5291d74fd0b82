"""The one fold that completes segments, for all protocols.

Protocols pass deltas through and say when a segment ends. This fold joins the deltas,
puts the whole value on the end event, parses tool input and emits the `ToolCall`, and
closes what is still open when a step finishes. It also makes servers that send only
deltas, only whole values, or both look alike: where an end event brings a text of its
own, what the deltas have not said of it yet is delivered as one more delta, and a
`ToolCall` that comes by itself gets the input it was made from. Reasoning that the provider
shows and does not count is estimated (`Usage.reasoning_estimated`).

Text that is delivered can always be encoded: halves of a surrogate pair that a server
cut in two wait for each other, and one that stays alone becomes U+FFFD.

The state is a private builder that lives as long as one response; style over purity
here, since it runs once per token.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, get_args

from attrs import define, field

from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.content import TokenLogprob, ToolCallKind, parse_arguments
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import StreamError
from llmcore.schema.events import (
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
from llmcore.schema.json import JsonValue
from llmcore.schema.usage import Usage, estimated_tokens

SEGMENT_TEXT_CHANGED: Final = "segment-text-changed"
"""The code of the Diagnostic for an end event whose text is not what the deltas said."""

_Start: TypeAlias = TextStart | ReasoningStart | ToolInputStart
_Delta: TypeAlias = TextDelta | ReasoningDelta | ToolInputDelta
_Handler: TypeAlias = Callable[[Any, Any], Sequence[LLMEvent]]

_DELTA_OF: Final[Mapping[str, type]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "tool": ToolInputDelta,
}
_KIND_OF: Final[Mapping[type, str]] = {delta: kind for kind, delta in _DELTA_OF.items()}


def complete_segments(events: Iterable[LLMEvent]) -> list[LLMEvent]:
    """Return *events*, as a protocol emits them, with every segment whole."""
    fold = SegmentFold()
    return [done for event in events for done in fold.process(event)]


@define
class _Open:
    """A segment that has started and not ended."""

    start: _Start
    place: str
    """Where it stands in the response, for diagnostics."""
    chunks: list[str] = field(factory=list)
    half: str = ""
    """The first half of a surrogate pair, not delivered yet."""
    logprobs: list[TokenLogprob] = field(factory=list)


class SegmentFold:
    """Completes the segments of one response, event by event.

    A delta or an end outside its segment, and a segment that starts twice in a step, end
    the stream with an `ErrorEvent`; nothing comes after it.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Open] = {}
        self._started: set[tuple[str, str]] = set()
        self._diagnostics: list[Diagnostic] = []
        self._calls = 0
        self._last_call: ToolCall | None = None
        self._reasoning = 0
        """Characters of reasoning in this step."""
        self._step_usage: Usage | None = None
        self._handlers = self._HANDLERS
        self._plain: dict[type, dict[str, Callable[[str], None]]] = {
            TextDelta: {},
            ReasoningDelta: {},
            ToolInputDelta: {},
        }
        """How to append to each open segment that holds no half a character."""

    def append(self, delta: _Delta) -> bool:
        """Take *delta* if it goes through unchanged, as nearly all do: the per-token path.

        False for one that `process` has to look at.
        """
        add = self._plain[type(delta)].get(delta.id)
        text = delta.text
        if add is None or not text.isascii() or (type(delta) is TextDelta and delta.logprobs):
            return False
        add(text)
        return True

    def process(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """Return what *event* amounts to: itself, completed, and what goes with it."""
        handler = self._handlers.get(type(event))
        return (event,) if handler is None else handler(self, event)

    def chunks(self, key: tuple[str, str]) -> list[str] | None:
        """Return the growing text of segment *key* (kind, id); None once it is closed."""
        opened = self._open.get(key)
        return None if opened is None else opened.chunks

    # -- deltas: the per-token path

    def _delta(self, event: _Delta) -> Sequence[LLMEvent]:
        if self.append(event):
            return (event,)
        kind = _KIND_OF[type(event)]
        opened = self._open.get((kind, event.id))
        if opened is None:
            return self._misplaced(event)
        if isinstance(event, TextDelta) and event.logprobs:
            opened.logprobs.extend(event.logprobs)
        done = _mended_delta(opened, event)
        if opened.half:  # what comes next is the other half, whatever it looks like
            self._plain[type(event)].pop(event.id, None)
        else:
            self._plain[type(event)][event.id] = opened.chunks.append
        return done

    # -- starts

    def _start_step(self, event: StepStart) -> Sequence[LLMEvent]:
        self._started.clear()
        self._reasoning = 0
        return (event,)

    def _start_text(self, event: TextStart) -> Sequence[LLMEvent]:
        return self._begin(event, "text", f"text[{event.id}]")

    def _start_reasoning(self, event: ReasoningStart) -> Sequence[LLMEvent]:
        return self._begin(event, "reasoning", f"reasoning[{event.id}]")

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
        self._started.add(key)
        opened = self._open[key] = _Open(event, place)
        self._plain[_DELTA_OF[kind]][event.id] = opened.chunks.append
        return (event,)

    # -- ends

    def _close(self, kind: str, id_: str) -> _Open | None:
        self._plain[_DELTA_OF[kind]].pop(id_, None)
        return self._open.pop((kind, id_), None)

    def _end_text(self, event: TextEnd) -> Sequence[LLMEvent]:
        opened = self._close("text", event.id)
        if opened is None:
            return self._misplaced(event)
        text, rest = self._join(opened, event.text)
        whole = changed(
            event,
            text=text,
            logprobs=event.logprobs or tuple(opened.logprobs),
            refusal=event.refusal or (isinstance(opened.start, TextStart) and opened.start.refusal),
        )
        return (TextDelta(event.id, rest), whole) if rest else (whole,)

    def _end_reasoning(self, event: ReasoningEnd) -> Sequence[LLMEvent]:
        opened = self._close("reasoning", event.id)
        if opened is None:
            return self._misplaced(event)
        text, rest = self._join(opened, event.text)
        self._reasoning += len(text)
        whole = changed(event, text=text)
        return (ReasoningDelta(event.id, rest), whole) if rest else (whole,)

    def _end_tool(self, event: ToolInputEnd, *, written: bool = True) -> Sequence[LLMEvent]:
        """Complete a tool's input; *written* says that its text is the model's own."""
        opened = self._close("tool", event.id)
        if opened is None or not isinstance(opened.start, ToolInputStart):
            return self._misplaced(event)
        start = opened.start
        text, rest = self._join(opened, event.text)
        call = ToolCall(
            event.id,
            start.name,
            self._arguments(opened.place, start.name, text, start.kind),
            kind=start.kind,
            provider_executed=start.provider_executed,
            provider_metadata=event.provider_metadata,
            raw_arguments=text if start.kind == "function" and written else None,
        )
        self._last_call = call
        end = changed(event, text=text)
        return (ToolInputDelta(event.id, rest), end, call) if rest else (end, call)

    def _call(self, event: ToolCall) -> Sequence[LLMEvent]:
        """Give a call that comes by itself the input that it was made from."""
        if event == self._last_call:
            return ()  # it has been delivered, at the end of its input
        if ("tool", event.id) in self._started:
            return self._misplaced(event)
        start = ToolInputStart(
            event.id, event.name, kind=event.kind, provider_executed=event.provider_executed
        )
        raw = event.raw_arguments
        text = _input_text(event.arguments) if raw is None else raw
        end = ToolInputEnd(event.id, text, provider_metadata=event.provider_metadata)
        return (*self._start_tool(start), *self._end_tool(end, written=raw is not None))

    def _finish_step(self, event: StepFinish) -> Sequence[LLMEvent]:
        closed: list[LLMEvent] = []
        for kind, id_ in list(self._open):
            closed.extend(self.process(_END[kind](id_)))
        self._step_usage = event.usage
        usage = self._with_reasoning(event.usage)
        return (*closed, event if usage is event.usage else changed(event, usage=usage))

    def _finish(self, event: Finish) -> Sequence[LLMEvent]:
        if event.usage == self._step_usage:  # of several steps, each was estimated already
            event = changed(event, usage=self._with_reasoning(event.usage))
        if not self._diagnostics:
            return (event,)
        return (changed(event, diagnostics=(*event.diagnostics, *self._diagnostics)),)

    def _with_reasoning(self, usage: Usage | None) -> Usage | None:
        """Return *usage* with an estimate of the reasoning, if it was shown and not counted."""
        if usage is None or usage.reasoning_tokens is not None or not self._reasoning:
            return usage
        tokens = estimated_tokens(self._reasoning)
        if usage.output_tokens is not None:
            tokens = min(tokens, usage.output_tokens)
        return changed(usage, reasoning_tokens=tokens, reasoning_estimated=True)

    # -- what segments are made of

    def _join(self, opened: _Open, given: str) -> tuple[str, str]:
        """Return the whole text of a segment, and what of it no delta has said.

        The text that its end brought, if any, is the provider's last word.
        """
        said = "".join(opened.chunks)
        whole = _mend(given) or said + _mend(opened.half)
        if whole.startswith(said):
            return whole, whole[len(said) :]
        self._diagnostics.append(
            Diagnostic(
                SEGMENT_TEXT_CHANGED,
                opened.place,
                action="changed",
                message="the segment ended with another text than its deltas said; it is kept",
            )
        )
        return whole, ""

    def _arguments(self, place: str, name: str, text: str, kind: ToolCallKind) -> JsonValue:
        if kind == "custom":
            return text
        arguments, problem = parse_arguments(text)
        if problem is not None:
            self._diagnostics.append(
                Diagnostic(
                    "invalid-tool-arguments",
                    f"{place}.arguments",
                    action="noted",
                    message=f"the arguments of {name} are {problem}; kept as the raw string",
                )
            )
        return arguments

    def _misplaced(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """End the stream: going on would lose text, or give it to another segment."""
        self._handlers = _SILENCE
        for appends in self._plain.values():
            appends.clear()
        id_ = getattr(event, "id", "")
        return (ErrorEvent(StreamError(f"{event.type} of {id_!r} is out of place in the stream")),)

    _HANDLERS: ClassVar[Mapping[type, _Handler]] = {
        TextDelta: _delta,
        ReasoningDelta: _delta,
        ToolInputDelta: _delta,
        StepStart: _start_step,
        TextStart: _start_text,
        ReasoningStart: _start_reasoning,
        ToolInputStart: _start_tool,
        TextEnd: _end_text,
        ReasoningEnd: _end_reasoning,
        ToolInputEnd: _end_tool,
        ToolCall: _call,
        StepFinish: _finish_step,
        Finish: _finish,
    }


def _silent(_fold: SegmentFold, _event: LLMEvent) -> Sequence[LLMEvent]:
    return ()


_SILENCE: Mapping[type, _Handler] = dict.fromkeys(get_args(LLMEvent), _silent)


def _input_text(arguments: JsonValue) -> str:
    """Return the text that a model would have written to give *arguments*."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments).decode()


def _mended_delta(opened: _Open, event: _Delta) -> Sequence[LLMEvent]:
    """Take a delta that may hold half a surrogate pair, and deliver whole characters."""
    text = opened.half + event.text
    opened.half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    text = _mend(text.removesuffix(opened.half))
    opened.chunks.append(text)
    if text == event.text:
        return (event,)
    kept = text or (isinstance(event, TextDelta) and event.logprobs)
    return (changed(event, text=text),) if kept else ()


def _mend(text: str) -> str:
    """Join the halves of surrogate pairs; one that stands alone becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


_END: dict[str, Callable[[str], LLMEvent]] = {
    "text": TextEnd,
    "reasoning": ReasoningEnd,
    "tool": ToolInputEnd,
}
