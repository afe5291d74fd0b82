"""Anthropic Messages: where the prompt is cached.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, read November 2026. A
breakpoint ends a prefix that is written to the cache, and read from it by requests that
begin alike. There are at most four, the longer-lived before the shorter-lived, none of
them on thinking or on empty text.

The caller's own breakpoints come first. What room they leave is filled, in this order,
with the end of the conversation, of the system prompt, of the tools, and of what stood
before the last answer: the request that got it ended there, so what that one wrote is found
again however long the answer was.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from attrs import evolve, frozen

from llmcore.protocols.anthropic_messages.tools import cache_mark
from llmcore.protocols.anthropic_messages.types import CacheControl, Raw, Request, blocks
from llmcore.protocols.anthropic_messages.types.tools import AnyTool
from llmcore.protocols.notes import Notes
from llmcore.schema.options import CachePolicy

MAX_BREAKPOINTS: Final = 4

Section: TypeAlias = Literal["tools", "system", "messages"]
Place: TypeAlias = tuple[Section, int, int]
"""Where a breakpoint can stand: the section, the item in it, and of a message the block."""

_MARKABLE: Final = frozenset(
    {"text", "image", "document", "search_result", "tool_use", "tool_result", "server_tool_use"}
    | {"mcp_tool_use", "container_upload", "compaction"}
)


@frozen
class Spot:
    """A block or tool, in the order in which the provider reads the prompt."""

    place: Place
    takes_mark: bool
    ttl: str | None
    """How long the caller wants the prefix kept that ends here; None if it is unmarked."""


def place_breakpoints(
    body: Request, policy: CachePolicy, *, automatic: bool, notes: Notes
) -> Request:
    """Return *body* with its breakpoints: the caller's, and automatic ones beside them.

    `cache_control` of the body as a whole is one too: the provider places it at the end.
    """
    spots = list(_spots(body))
    if policy.mode == "off":
        return _without_marks(body, spots, notes)
    slots = MAX_BREAKPOINTS - (body.cache_control is not None)
    own = _kept([spot for spot in spots if spot.ttl is not None], slots, notes)
    marks = _ordered(own, notes)
    if policy.mode == "auto" and automatic:
        for spot in _candidates(body, spots):
            if len(marks) < slots and spot.place not in marks:
                marks[spot.place] = ""
    return _marked(body, spots, _lifetimes(marks, spots, body, policy.ttl or "5m"))


def is_cached(body: Request) -> bool:
    """Return whether *body* has a breakpoint anywhere, native data included."""
    if body.cache_control is not None or any(spot.ttl is not None for spot in _spots(body)):
        return True
    results = (
        block.content
        for message in body.messages
        for block in message.content
        if isinstance(block, blocks.ToolResultBlock) and isinstance(block.content, tuple)
    )
    return _is_marked(body.extra_fields) or any(
        _ttl(item) is not None for content in results for item in content
    )


def _is_marked(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value.get("cache_control")) or any(map(_is_marked, value.values()))
    return isinstance(value, list) and any(map(_is_marked, value))


# -- the places


def _spots(body: Request) -> Iterator[Spot]:
    for index, tool in enumerate(body.tools or ()):
        yield Spot(("tools", index, 0), not _is_deferred(tool), _ttl(tool))
    if not isinstance(body.system, str):
        for index, block in enumerate(body.system or ()):
            yield Spot(("system", index, 0), _takes_mark(block), _ttl(block))
    for index, message in enumerate(body.messages):
        if not isinstance(message.content, str):
            for number, one in enumerate(message.content):
                yield Spot(("messages", index, number), _takes_mark(one), _ttl(one))


def _ttl(item: object) -> str | None:
    mark = item.data.get("cache_control") if isinstance(item, Raw) else _mark(item)
    if mark is None:
        return None
    ttl = mark.ttl if isinstance(mark, CacheControl) else mark.get("ttl")  # type: ignore[union-attr]
    return "1h" if ttl == "1h" else "5m"


def _mark(item: object) -> CacheControl | None:
    mark: CacheControl | None = getattr(item, "cache_control", None)
    return mark


def _is_deferred(tool: AnyTool) -> bool:
    """Return whether the model is not shown *tool* at first: it is then no part of the prefix."""
    if isinstance(tool, Raw):
        return bool(tool.data.get("defer_loading"))
    return bool(getattr(tool, "defer_loading", False))


def _takes_mark(block: blocks.ContentBlock) -> bool:
    if isinstance(block, blocks.ThinkingBlock | blocks.RedactedThinkingBlock):
        return False
    if isinstance(block, blocks.TextBlock):
        return bool(block.text.strip())
    if isinstance(block, Raw):
        kind = str(block.data.get("type"))
        if kind in ("thinking", "redacted_thinking"):
            return False
        known = kind in _MARKABLE or kind.endswith("_tool_result")
        return known or "cache_control" in block.data  # of others, only their author knows
    return True


def _candidates(body: Request, spots: Sequence[Spot]) -> Iterator[Spot]:
    """Yield where automatic breakpoints go, most useful first."""
    takers = [spot for spot in spots if spot.takes_mark]
    talk = [spot for spot in takers if spot.place[0] == "messages"]
    if body.cache_control is None:
        yield from talk[-1:]
    for section in ("system", "tools"):
        yield from [spot for spot in takers if spot.place[0] == section][-1:]
    answers = [index for index, said in enumerate(body.messages) if said.role == "assistant"]
    if answers:
        yield from [spot for spot in talk if spot.place[1] < answers[-1]][-1:]


# -- the caller's own


def _kept(own: list[Spot], slots: int, notes: Notes) -> list[Spot]:
    """Return at most *slots* of the caller's breakpoints, in the order of the prompt.

    The last of each section first, then the latest.
    """
    usable = [spot for spot in own if spot.takes_mark]
    for spot in own:
        if not spot.takes_mark:
            _dropped(spot, "it cannot be the end of a cached prefix", notes)
    last = {spot.place[0]: spot for spot in usable}
    preferred = [last[s] for s in ("messages", "system", "tools") if s in last]
    rest = [spot for spot in reversed(usable) if spot not in preferred]
    kept = [*preferred, *rest][:slots]
    for spot in usable:
        if spot not in kept:
            _dropped(spot, f"a request has at most {MAX_BREAKPOINTS} breakpoints", notes)
    return [spot for spot in usable if spot in kept]


def _ordered(own: list[Spot], notes: Notes) -> dict[Place, str]:
    """Return the lifetimes of the caller's breakpoints; none outlives one before it."""
    marks: dict[Place, str] = {}
    shortened = False
    for spot in own:
        if shortened and spot.ttl == "1h":
            notes.changed(
                "cache-ttl-shortened",
                _path(spot.place),
                "a prefix kept for an hour may not follow one kept for five minutes",
            )
        shortened = shortened or spot.ttl == "5m"
        marks[spot.place] = "5m" if shortened else "1h"
    return marks


def _dropped(spot: Spot, why: str, notes: Notes) -> None:
    notes.dropped("cache-breakpoint-dropped", _path(spot.place), why)


def _path(place: Place) -> str:
    section, item, block = place
    return f"{section}[{item}].content[{block}]" if section == "messages" else f"{section}[{item}]"


# -- all of them


def _lifetimes(
    marks: dict[Place, str], spots: Sequence[Spot], body: Request, wanted: str
) -> dict[Place, str]:
    """Return *marks* with lifetimes for the automatic ones, which fit those around them."""
    order = [spot.place for spot in spots if spot.place in marks]
    whole = body.cache_control is not None and body.cache_control.ttl == "1h"
    lifetimes: dict[Place, str] = {}
    for number, place in enumerate(order):
        before = [marks[p] for p in order[:number]]
        after = [marks[p] for p in order[number:]]
        if marks[place]:
            lifetimes[place] = marks[place]
        elif "1h" in after or (whole and "5m" not in before):
            lifetimes[place] = "1h"
        else:
            lifetimes[place] = "5m" if "5m" in before else wanted
    return lifetimes


def _marked(body: Request, spots: Sequence[Spot], marks: dict[Place, str]) -> Request:
    """Return *body* with just the breakpoints in *marks*."""
    changed = {
        spot.place: cache_mark(marks[spot.place]) if spot.place in marks else None
        for spot in spots
        if spot.place in marks or spot.ttl is not None
    }
    tools = _rewritten(body.tools, "tools", changed)
    system = body.system
    if not isinstance(system, str):
        system = _rewritten(system, "system", changed)
    messages = list(body.messages)
    for index in sorted({item for section, item, _ in changed if section == "messages"}):
        content: list[Any] = list(messages[index].content)
        for number, block in enumerate(content):
            if ("messages", index, number) in changed:
                content[number] = _with_mark(block, changed["messages", index, number])
        messages[index] = evolve(messages[index], content=tuple(content))
    return evolve(body, tools=tools, system=system, messages=tuple(messages))


def _rewritten(items: Any, section: Section, changed: dict[Place, CacheControl | None]) -> Any:
    if items is None:
        return None
    return tuple(
        _with_mark(item, changed[section, index, 0]) if (section, index, 0) in changed else item
        for index, item in enumerate(items)
    )


def _with_mark(item: Any, mark: CacheControl | None) -> Any:
    if not isinstance(item, Raw):
        return evolve(item, cache_control=mark)
    data = {name: value for name, value in item.data.items() if name != "cache_control"}
    if mark is not None:
        ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
        data["cache_control"] = {"type": "ephemeral", **ttl}
    return Raw(data)


def _without_marks(body: Request, spots: Sequence[Spot], notes: Notes) -> Request:
    for spot in spots:
        if spot.ttl is not None:
            _dropped(spot, "caching is off for this request", notes)
    return _marked(evolve(body, cache_control=None), spots, {})
