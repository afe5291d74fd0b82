"""Bedrock Converse: where the prompt is cached.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html, read November
2026. A cache point stands after the prefix that it ends: among the tools, the system prompt or a
message's content. There are at most four, the longer-lived before the shorter-lived. Which
sections take them depends on the model; the service refuses them after reasoning and, for Claude,
directly after documents that it must convert, for Amazon Nova after anything but text.

The caller's own come first. What room they leave is filled, in this order, with the end of the
conversation, of the system prompt, of the tools, and of the user's turn before the last (which
the request before this one wrote).
"""

from collections.abc import Iterator
from typing import Any, Final, Literal

from attrs import evolve, frozen

from llmcore.protocols.bedrock_converse.models import ModelRules, Section
from llmcore.protocols.bedrock_converse.parts import Block
from llmcore.protocols.bedrock_converse.tools import cache_point
from llmcore.protocols.notes import Notes
from llmcore.schema.options import CachePolicy

MAX_CACHE_POINTS: Final = 4

Ttl = Literal["5m", "1h"]
Place = tuple[int, int]
"""After which item of which list."""


@frozen
class Items:
    """A list in which cache points can stand, without them."""

    section: Section
    path: str
    items: list[Block]
    takes_points: bool


@frozen
class Point:
    """A cache point."""

    place: Place
    ttl: Ttl | None
    """None leaves it to what stands around it."""


def place_points(
    body: dict[str, Any], policy: CachePolicy, rules: ModelRules, *, automatic: bool, notes: Notes
) -> None:
    """Put the cache points of *body* where they belong: the caller's, and automatic ones.

    *body* has its lists `tools`, `system` and `messages`, which change in place.
    """
    lists = list(_lists(body, rules))
    own = [point for number, one in enumerate(lists) for point in _own(number, one, rules, notes)]
    if policy.mode == "off":
        for point in own:
            _dropped(point, lists, "caching is off for this request", notes)
        own = []
    points = _ordered(_kept(own, lists, notes), lists, rules, notes)
    if policy.mode == "auto" and automatic and rules.auto_cache:
        for place in _candidates(lists, rules):
            if len(points) < MAX_CACHE_POINTS and place not in (p.place for p in points):
                points.append(Point(place, None))
    points.sort(key=lambda point: point.place)
    wanted: Ttl = "1h" if policy.ttl == "1h" and rules.long_cache else "5m"
    if policy.ttl == "1h" != wanted:
        why = "the model keeps a prefix for five minutes only"
        notes.changed("cache-ttl-shortened", "cache.ttl", why)
    for point in reversed(_lifetimes(points, wanted)):
        number, index = point.place
        lists[number].items.insert(index + 1, cache_point(point.ttl))


# -- the places


def _lists(body: dict[str, Any], rules: ModelRules) -> Iterator[Items]:
    """Yield the lists of *body* in the order in which the model reads them."""
    takes = rules.cache_points
    yield Items("tools", "tools", body["tools"], "tools" in takes)
    yield Items("system", "system", body["system"], "system" in takes)
    for index, message in enumerate(body["messages"]):
        path = f"messages[{index}].content"
        yield Items("messages", path, message["content"], "messages" in takes)


def _may_follow(block: Block, section: Section, rules: ModelRules) -> bool:
    """Return whether a cache point may stand directly after *block*."""
    if section != "messages":
        return True
    if rules.family == "nova":
        return "text" in block
    document = block.get("document")
    if isinstance(document, dict):
        return document.get("format") == "pdf"
    return "reasoningContent" not in block


def _last_place(number: int, one: Items, end: int, rules: ModelRules) -> Place | None:
    """Return the last place before item *end* of a list where a point may stand."""
    for index in range(end - 1, -1, -1):
        if _may_follow(one.items[index], one.section, rules):
            return number, index
    return None


def _candidates(lists: list[Items], rules: ModelRules) -> Iterator[Place]:
    """Yield where automatic cache points go, most useful first."""
    talk = [number for number, one in enumerate(lists) if one.section == "messages"]
    users = talk[::2] if len(talk) % 2 else talk[1::2]  # the last message's side
    order = [*talk[-1:], 1, 0, *users[-2:-1]]
    for number in order:
        one = lists[number]
        place = _last_place(number, one, len(one.items), rules) if one.takes_points else None
        if place is not None:
            yield place


# -- the caller's own


def _own(number: int, one: Items, rules: ModelRules, notes: Notes) -> Iterator[Point]:
    """Take the cache points out of a list, and yield them with the places they can have."""
    items, taken = list(one.items), set[Place]()
    one.items.clear()
    for block in items:
        mark = block.get("cachePoint")
        if not isinstance(mark, dict):
            one.items.append(block)
            continue
        wished = (number, len(one.items) - 1)
        point = Point(wished, "1h" if mark.get("ttl") == "1h" else "5m")
        if not one.takes_points:
            _dropped(point, [one], f"the model takes no cache points in {one.section}", notes)
            continue
        place = _last_place(number, one, len(one.items), rules)
        if place is None:
            _dropped(point, [one], "it cannot be the end of a cached prefix", notes)
        elif place not in taken:
            taken.add(place)
            if place != wished:
                why = "no cache point may stand after what it followed; it moved before that"
                notes.changed("cache-breakpoint-moved", f"{one.path}[{wished[1]}]", why)
            yield evolve(point, place=place)


def _kept(own: list[Point], lists: list[Items], notes: Notes) -> list[Point]:
    """Return as many of the caller's as there may be: the last of each section, then the latest."""
    last = {lists[point.place[0]].section: point for point in own}
    preferred = [last[s] for s in ("messages", "system", "tools") if s in last]
    rest = [point for point in reversed(own) if point not in preferred]
    kept = [*preferred, *rest][:MAX_CACHE_POINTS]
    for point in own:
        if point not in kept:
            why = f"a request has at most {MAX_CACHE_POINTS} cache points"
            _dropped(point, lists, why, notes)
    return [point for point in own if point in kept]


def _ordered(own: list[Point], lists: list[Items], rules: ModelRules, notes: Notes) -> list[Point]:
    """Return the caller's points; none outlives one before it, nor what the model can."""
    ordered: list[Point] = []
    short = not rules.long_cache
    for point in own:
        if short and point.ttl == "1h":
            notes.changed(
                "cache-ttl-shortened",
                _path(point, lists),
                "the model keeps prefixes for five minutes only"
                if not rules.long_cache
                else "a prefix kept for an hour may not follow one kept for five minutes",
            )
        short = short or point.ttl == "5m"
        ordered.append(evolve(point, ttl="5m" if short else "1h"))
    return ordered


def _dropped(point: Point, lists: list[Items], why: str, notes: Notes) -> None:
    notes.dropped("cache-breakpoint-dropped", _path(point, lists), why)


def _path(point: Point, lists: list[Items]) -> str:
    number, index = point.place
    one = lists[number] if number < len(lists) else lists[0]
    return f"{one.path}[{max(index, 0)}]"


# -- all of them


def _lifetimes(points: list[Point], wanted: Ttl) -> list[Point]:
    """Return *points*, in order, with lifetimes for the automatic ones that fit those around."""
    timed: list[Point] = []
    for number, point in enumerate(points):
        before = [p.ttl for p in timed]
        after = [p.ttl for p in points[number:]]
        ttl = point.ttl
        if ttl is None:
            ttl = "1h" if "1h" in after else "5m" if "5m" in before else wanted
        timed.append(evolve(point, ttl=ttl))
    return timed
