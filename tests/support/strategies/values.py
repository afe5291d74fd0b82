"""Hypothesis strategies for every public value, and for event streams that obey the grammar.

Every function returns a strategy. `bare_streams()` gives what a protocol emits: deltas passed
through, ends with or without their text, segments left open for the end of the step;
`streams()` gives the same, completed, as everyone after the fold sees it.
"""

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from attrs import frozen
from hypothesis import strategies as st

from llmcore.folds.segments import complete_segments
from llmcore.schema import events
from llmcore.schema.events import LLMEvent, ToolResult
from llmcore.schema.json import ProviderMetadata
from tests.support.strategies.requests import (
    assistant_messages,
    audio_parts,
    cache_policies,
    call_kinds,
    citations,
    content_parts,
    counts,
    custom_tools,
    document_parts,
    finite_floats,
    generation_options,
    hosted_tools,
    http_overlays,
    ids,
    image_parts,
    json_objects,
    json_values,
    logprobs,
    maybe,
    media_sources,
    messages,
    models,
    origins,
    output_parts,
    parameter_schemas,
    provider_metadata,
    provider_parts,
    reasoning_options,
    reasoning_parts,
    refusal_parts,
    requests,
    response_formats,
    string_maps,
    text_parts,
    texts,
    tool_call_parts,
    tool_choices,
    tool_definitions,
    tool_names,
    tool_outputs,
    tool_result_parts,
    tool_specs,
    tuples_of,
)
from tests.support.strategies.responses import (
    diagnostics,
    files,
    finish_reasons,
    finishes,
    llm_errors,
    moments,
    provider_events,
    rate_limits,
    responses,
    single_events,
    sources,
    step_finishes,
    stream_starts,
    text_ends,
    tool_calls,
    tool_results,
    usages,
)

_T = TypeVar("_T")

# -- streams

SegmentKind: TypeAlias = Literal["text", "refusal", "reasoning", "function", "custom", "executed"]
SegmentStyle: TypeAlias = Literal["deltas", "done", "both", "rest", "open"]

SEGMENT_STYLES: Final[tuple[SegmentStyle, ...]] = ("deltas", "done", "both", "rest", "open")
"""How servers spell one and the same segment: only deltas, only the whole text at the end,
both, deltas and a whole text that says more, or deltas and no end at all."""


@frozen
class Segment:
    """One segment of a stream, and the ways to spell it."""

    kind: SegmentKind
    id: str
    text: str
    chunks: tuple[str, ...]
    """The text cut anywhere, also between the halves of a surrogate pair."""
    metadata: ProviderMetadata

    def bare(self, style: SegmentStyle) -> list[LLMEvent]:
        """Return the segment's events as a protocol would emit them."""
        spelled = {"done": 0, "rest": max(len(self.chunks) - 1, 0)}
        deltas = [self._delta(chunk) for chunk in self.chunks[: spelled.get(style)]]
        if style == "open":
            return [self._start(), *deltas]
        return [self._start(), *deltas, self._end("" if style == "deltas" else self.text)]

    def _start(self) -> LLMEvent:
        match self.kind:
            case "text" | "refusal":
                return events.TextStart(self.id, refusal=self.kind == "refusal")
            case "reasoning":
                return events.ReasoningStart(self.id)
            case _:
                return events.ToolInputStart(
                    self.id,
                    "look_up",
                    kind="custom" if self.kind == "custom" else "function",
                    provider_executed=self.kind == "executed",
                )

    def _delta(self, chunk: str) -> LLMEvent:
        match self.kind:
            case "text" | "refusal":
                return events.TextDelta(self.id, chunk)
            case "reasoning":
                return events.ReasoningDelta(self.id, chunk)
            case _:
                return events.ToolInputDelta(self.id, chunk)

    def _end(self, text: str) -> LLMEvent:
        match self.kind:
            case "text" | "refusal":
                return events.TextEnd(self.id, text, provider_metadata=self.metadata)
            case "reasoning":
                return events.ReasoningEnd(self.id, text, provider_metadata=self.metadata)
            case _:
                return events.ToolInputEnd(self.id, text, provider_metadata=self.metadata)


def code_units(text: str) -> str:
    """Return *text* with every character beyond U+FFFF as two surrogates, as UTF-16 has it."""
    data = text.encode("utf-16-be")
    units = (int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    return "".join(map(chr, units))


@st.composite
def chunkings(draw: st.DrawFn, text: str) -> tuple[str, ...]:
    """Draw a way to cut *text* into deltas, between any two UTF-16 code units."""
    units = code_units(text)
    cuts = sorted(draw(st.lists(st.integers(0, len(units)), max_size=6)))
    edges = [0, *cuts, len(units)]
    return tuple(units[start:end] for start, end in pairwise(edges))


@cache
def tool_inputs() -> st.SearchStrategy[str]:
    """Draw what a model writes for a tool: mostly JSON objects, also broken ones."""
    objects = json_objects().map(json.dumps)
    broken = objects.map(lambda text: text[:-1])
    others = st.sampled_from(["", " ", "null", "{}", '"{\\"a\\": 1}"', "[1]", '{"a": NaN}', "3"])
    return st.one_of(objects, objects.map(json.dumps), broken, others, texts())


_KINDS: st.SearchStrategy[SegmentKind] = st.sampled_from(get_args(SegmentKind))
_STYLES = st.sampled_from(SEGMENT_STYLES)


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Draw a segment. Its id is unique among segments that are drawn together by `unique_by`."""
    kind = draw(_KINDS)
    text = draw(tool_inputs() if kind in {"function", "executed"} else texts(0, 20))
    return Segment(
        kind, draw(ids()), text, draw(chunkings(text)), {} if draw(st.booleans()) else {"acme": {}}
    )


@cache
def segment_lists(max_size: int = 4) -> st.SearchStrategy[list[Segment]]:
    """Several segments with different ids."""
    return st.lists(segments(), max_size=max_size, unique_by=lambda segment: segment.id)


@st.composite
def interleavings(draw: st.DrawFn, lists: Sequence[Sequence[_T]]) -> list[_T]:
    """Draw a merge of *lists* that keeps the order of each."""
    turns = draw(st.permutations([n for n, events in enumerate(lists) for _ in events]))
    following = [iter(events) for events in lists]
    return [next(following[n]) for n in turns]


def framed(
    inner: Sequence[LLMEvent],
    *,
    start: events.StreamStart | None = None,
    step_finish: events.StepFinish | None = None,
    finish: events.Finish | None = None,
) -> list[LLMEvent]:
    """Return *inner* as the one step of a stream that ends well."""
    reason = events.FinishReason("stop", "end")
    return [
        start or events.StreamStart(provider="acme", model="roadrunner"),
        events.StepStart(),
        *inner,
        step_finish or events.StepFinish(finish_reason=reason),
        finish or events.Finish(finish_reason=reason),
    ]


@cache
def _asides() -> st.SearchStrategy[LLMEvent]:
    """Events that belong to no segment."""
    return st.one_of(
        sources(),
        files(),
        provider_events(),
        tool_results(st.just(True)),
        tool_calls().map(_with_an_id_of_its_own),
    )


def _with_an_id_of_its_own(call: events.ToolCall) -> events.ToolCall:
    """Give a call that comes whole an id that no segment has; drawn lists hold at most one."""
    return events.ToolCall(
        "whole call",
        call.name,
        call.arguments,
        kind=call.kind,
        provider_executed=call.provider_executed,
    )


@st.composite
def bare_streams(draw: st.DrawFn, *, may_fail: bool = True) -> list[LLMEvent]:
    """Draw the events of one response as a protocol emits them.

    With *may_fail*, some break off anywhere with an `ErrorEvent`.
    """
    spelled = [segment.bare(draw(_STYLES)) for segment in draw(segment_lists())]
    asides = draw(st.lists(_asides(), max_size=3, unique_by=_aside_key))
    inner = draw(interleavings([*spelled, asides]))
    stream = framed(
        inner,
        start=draw(stream_starts()),
        step_finish=draw(step_finishes()),
        finish=draw(finishes()),
    )
    if not (may_fail and draw(st.booleans())):
        return stream
    broken = stream[: draw(st.integers(0, len(stream) - 1))]
    return [*broken, events.ErrorEvent(draw(llm_errors(partial=False)))]


def _aside_key(event: LLMEvent) -> object:
    return "call" if isinstance(event, events.ToolCall) else id(event)


def streams(*, may_fail: bool = True) -> st.SearchStrategy[list[LLMEvent]]:
    """Draw the events of one response, completed: what a user of the library sees."""
    return bare_streams(may_fail=may_fail).map(complete_segments)


def network_streams(*, may_fail: bool = True) -> st.SearchStrategy[list[LLMEvent]]:
    """Streams as the network brings them: no result of a hosted tool names a local file."""
    return streams(may_fail=may_fail).map(
        lambda events: [event for event in events if not _names_file(event)]
    )


def _names_file(event: LLMEvent) -> bool:
    content = event.content if isinstance(event, ToolResult) else ()
    parts = content if isinstance(content, tuple) else ()
    return any(getattr(part, "path", None) is not None for part in parts)


__all__ = [
    "SEGMENT_STYLES",
    "Segment",
    "SegmentKind",
    "SegmentStyle",
    "assistant_messages",
    "audio_parts",
    "bare_streams",
    "cache_policies",
    "call_kinds",
    "chunkings",
    "citations",
    "code_units",
    "content_parts",
    "counts",
    "custom_tools",
    "diagnostics",
    "document_parts",
    "files",
    "finish_reasons",
    "finishes",
    "finite_floats",
    "framed",
    "generation_options",
    "hosted_tools",
    "http_overlays",
    "ids",
    "image_parts",
    "interleavings",
    "json_objects",
    "json_values",
    "llm_errors",
    "logprobs",
    "maybe",
    "media_sources",
    "messages",
    "models",
    "moments",
    "network_streams",
    "origins",
    "output_parts",
    "parameter_schemas",
    "provider_events",
    "provider_metadata",
    "provider_parts",
    "rate_limits",
    "reasoning_options",
    "reasoning_parts",
    "refusal_parts",
    "requests",
    "response_formats",
    "responses",
    "segment_lists",
    "segments",
    "single_events",
    "sources",
    "step_finishes",
    "stream_starts",
    "streams",
    "string_maps",
    "text_ends",
    "text_parts",
    "texts",
    "tool_call_parts",
    "tool_calls",
    "tool_choices",
    "tool_definitions",
    "tool_inputs",
    "tool_names",
    "tool_outputs",
    "tool_result_parts",
    "tool_results",
    "tool_specs",
    "tuples_of",
    "usages",
]
