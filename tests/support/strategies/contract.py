"""Hypothesis strategies for entries, deltas, valid streams of deltas and valid runs."""

from collections.abc import Sequence
from functools import cache

from attrs import evolve
from hypothesis import strategies as st

from llmcore.sessions.contract import deltas as d
from llmcore.sessions.contract import entries as e
from tests.support.strategies.requests import (
    counts,
    ids,
    json_objects,
    maybe,
    texts,
    tool_names,
    tuples_of,
)
from tests.support.strategies.values import interleavings, tool_inputs

RUN = "run-1"
NOON = "2026-11-22T12:00:00Z"

# -- deltas


def deltas_of(payloads: Sequence[d.DeltaPayload]) -> list[d.MessageDelta]:
    """Return *payloads* as one stream of deltas, numbered from 1."""
    return [
        d.MessageDelta(run_id=RUN, seq=seq, payload=payload, timestamp=NOON)
        for seq, payload in enumerate(payloads, 1)
    ]


@cache
def usage_payloads() -> st.SearchStrategy[d.DeltaUsage]:
    """Tokens, of which some are not known."""
    return st.builds(
        d.DeltaUsage,
        input_tokens=maybe(counts()),
        output_tokens=maybe(counts()),
        total_tokens=maybe(counts()),
        cost=maybe(st.floats(0, 100)),
    )


@cache
def payloads() -> st.SearchStrategy[d.DeltaPayload]:
    """Any payload by itself."""
    return st.one_of(
        st.builds(d.DeltaStart, texts(), ids()),
        st.builds(d.DeltaText, texts()),
        st.builds(d.DeltaThinking, texts()),
        st.builds(d.DeltaToolCallStart, ids(), tool_names()),
        st.builds(d.DeltaToolCallArgs, ids(), texts()),
        st.builds(d.DeltaToolCallEnd, ids()),
        usage_payloads(),
        st.builds(d.DeltaDone, texts()),
        st.builds(d.DeltaError, texts(), maybe(texts()), maybe(st.booleans())),
    )


@cache
def single_deltas() -> st.SearchStrategy[d.MessageDelta]:
    """Any delta by itself."""
    return st.builds(
        d.MessageDelta,
        run_id=ids(),
        seq=st.integers(),
        payload=payloads(),
        timestamp=texts(),
        provider_raw=maybe(json_objects()),
    )


@st.composite
def delta_streams(draw: st.DrawFn, *, calls: int = 0) -> list[d.MessageDelta]:
    """Draw a valid stream that ends with `done`, with at least so many *calls*.

    Deltas of its calls mix with one another and with text; `seq` has gaps.
    """
    names = draw(st.lists(ids(), min_size=calls, max_size=3, unique=True))
    pieces: list[list[d.DeltaPayload]] = [_call(draw, name) for name in names]
    words = st.builds(d.DeltaText, texts()) | st.builds(d.DeltaThinking, texts())
    pieces.append(draw(st.lists(words, max_size=5)))
    pieces.append(draw(st.lists(usage_payloads(), max_size=2)))
    inner = draw(interleavings(pieces))
    whole = deltas_of([d.DeltaStart("m-1", "req-1"), *inner, d.DeltaDone("stop")])
    gaps = draw(st.lists(st.integers(1, 5), min_size=len(whole), max_size=len(whole)))
    return [evolve(delta, seq=sum(gaps[: n + 1])) for n, delta in enumerate(whole)]


def _call(draw: st.DrawFn, id_: str) -> list[d.DeltaPayload]:
    text = draw(tool_inputs())
    cut = draw(st.integers(0, len(text)))
    return [
        d.DeltaToolCallStart(id_, draw(tool_names())),
        *(d.DeltaToolCallArgs(id_, piece) for piece in (text[:cut], text[cut:])),
        d.DeltaToolCallEnd(id_),
    ]


# -- entries


@cache
def entry_texts() -> st.SearchStrategy[e.EntryText]:
    """Text parts."""
    return st.builds(e.EntryText, texts())


@cache
def result_parts() -> st.SearchStrategy[e.ResultPart]:
    """Parts that tool results can hold."""
    images = st.builds(e.EntryImage, mime_type=texts(), url=st.just("https://x/y.png"))
    inline = st.builds(e.EntryImage, mime_type=texts(), data=st.sampled_from(["", "AAAA"]))
    files = st.builds(
        e.EntryFileRef, texts(), mime_type=maybe(texts()), size=maybe(st.integers(0, 9))
    )
    thoughts = st.builds(e.EntryThinking, texts())
    return st.one_of(entry_texts(), thoughts, images, inline, files)


def entry_tool_calls(
    names: st.SearchStrategy[str] | None = None,
) -> st.SearchStrategy[e.EntryToolCall]:
    """Tool calls, whole and broken."""
    return st.builds(
        e.EntryToolCall,
        ids() if names is None else names,
        tool_names(),
        json_objects(),
        raw_args_text=maybe(texts()),
    )


def entry_tool_results(
    names: st.SearchStrategy[str] | None = None,
) -> st.SearchStrategy[e.EntryToolResult]:
    """Results as text, as an object, as parts."""
    content = st.one_of(texts(), json_objects(), tuples_of(result_parts()))
    return st.builds(
        e.EntryToolResult, ids() if names is None else names, content, is_error=st.booleans()
    )


def entry(role: e.EntryRole, *parts: e.EntryPart, run_id: str = RUN) -> e.MessageEntry:
    """Build an entry of the run, at noon."""
    return e.MessageEntry(run_id=run_id, role=role, parts=parts, timestamp=NOON)


@cache
def single_entries() -> st.SearchStrategy[e.MessageEntry]:
    """Any entry by itself."""
    thoughts = st.builds(e.EntryThinking, texts())
    parts: dict[e.EntryRole, st.SearchStrategy[tuple[e.EntryPart, ...]]] = {
        "system": tuples_of(entry_texts() | thoughts),
        "user": tuples_of(result_parts().filter(lambda part: part.kind != "thinking")),
        "assistant": tuples_of(entry_texts() | thoughts | entry_tool_calls()),
        "tool": st.tuples(entry_tool_results()),
    }
    roles: list[e.EntryRole] = [*parts]
    return st.sampled_from(roles).flatmap(
        lambda role: st.builds(
            e.MessageEntry,
            run_id=ids(),
            role=st.just(role),
            parts=parts[role],
            timestamp=texts(),
            meta=json_objects(),
        )
    )


@st.composite
def runs(draw: st.DrawFn, *, calls: int = 0) -> list[e.MessageEntry]:
    """Draw the entries of a valid run, with at least so many *calls*, all of them answered.

    Results come in any order, and some only after more has been said.
    """
    names = draw(st.lists(ids(), min_size=calls, max_size=4, unique=True))
    made: list[e.MessageEntry] = [entry("system", e.EntryText("Be brief."))]
    waiting: list[str] = []
    for name in names:
        made.append(entry("user", e.EntryText(draw(texts()))))
        made.append(entry("assistant", draw(entry_tool_calls(st.just(name)))))
        waiting.append(name)
        if draw(st.booleans()):
            made += _results(draw, waiting)
    made += _results(draw, waiting)
    return [*made, entry("assistant", e.EntryText(draw(texts())))]


def _results(draw: st.DrawFn, waiting: list[str]) -> list[e.MessageEntry]:
    order = draw(st.permutations(waiting))
    waiting.clear()
    return [entry("tool", draw(entry_tool_results(st.just(name)))) for name in order]
