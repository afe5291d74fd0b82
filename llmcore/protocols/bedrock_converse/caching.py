"""Bedrock Converse: cache points, which are after the prefix that they end.

    {"system": [{"text": "..."}, {"cachePoint": {"type": "default"}}], ...}

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html, read November
2026. There are at most four, the longer-lived before the shorter-lived. The sections that accept
them depend on the model; the service refuses them after reasoning and, for Claude, directly after
documents that it must convert, for Amazon Nova after anything but text.
`llmcore.protocols.caching` shows where they are.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from llmcore.protocols import caching
from llmcore.protocols.bedrock_converse.models import ConverseRules
from llmcore.protocols.bedrock_converse.names import Block
from llmcore.protocols.caching import CacheCandidate
from llmcore.schema.content import CacheTtl
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.options import CachePolicy

MAX_CACHE_POINTS: Final = 4


def cache_point(ttl: CacheTtl | None) -> Block:
    """Return a cache point; five minutes are the default and are not written."""
    return {"cachePoint": {"type": "default", **({"ttl": "1h"} if ttl == "1h" else {})}}


class _BlockList(msgspec.Struct, frozen=True):
    """A list that can have cache points, without them."""

    section: caching.Section
    index: int
    """The number of the message whose content it is; 0 for tools and the system."""
    path: str
    items: list[Block]
    takes_points: bool

    def position(self, item: int) -> caching.Position:
        """Return the place after *item*."""
        return caching.SECTIONS.index(self.section), self.index, item


def place_points(
    body: dict[str, Any],
    policy: CachePolicy,
    rules: ConverseRules,
    *,
    automatic: bool,
    diagnostics: Diagnostics,
) -> None:
    """Put the cache points of *body* where they belong: the caller's, and automatic ones.

    *body* has its lists `tools`, `system` and `messages`, which change in place.
    """
    lists = list(_lists(body, rules))
    marked = [
        candidate
        for items in lists
        if items.items
        for candidate in _remove_points(items, rules, diagnostics)
    ]
    wanted: CacheTtl = "1h" if policy.ttl == "1h" and rules.long_cache else "5m"
    chosen: dict[caching.Position, CacheTtl] = {}
    if policy.mode == "off":
        caching.drop_breakpoints(marked, "caching is off for this request", diagnostics)
    else:
        limits = caching.CacheLimits(
            slots=MAX_CACHE_POINTS,
            maximum=MAX_CACHE_POINTS,
            noun="cache points",
            long_lived=rules.long_cache,
        )
        fills = policy.mode == "auto" and automatic and rules.auto_cache
        places = _automatic_places(lists, rules) if fills else ()
        chosen = caching.choose_breakpoints(marked, places, limits, wanted, diagnostics)
    if policy.ttl == "1h" != wanted:
        why = "the model keeps a prefix for five minutes only"
        diagnostics.at("cache.ttl").changed("cache-ttl-shortened", why)
    if not chosen:
        return
    by_list = {items.position(0)[:2]: items.items for items in lists}
    for position, ttl in reversed(chosen.items()):
        by_list[position[:2]].insert(position[2] + 1, cache_point(ttl))


def _lists(body: dict[str, Any], rules: ConverseRules) -> Iterator[_BlockList]:
    """Yield the lists of *body* in the order in which the model reads them."""
    takes = rules.cache_points
    yield _BlockList("tools", 0, "tools", body["tools"], "tools" in takes)
    yield _BlockList("system", 0, "system", body["system"], "system" in takes)
    for index, message in enumerate(body["messages"]):
        path = f"messages[{index}].content"
        yield _BlockList("messages", index, path, message["content"], "messages" in takes)


def _may_follow(block: Block, section: caching.Section, rules: ConverseRules) -> bool:
    """Return whether a cache point may come directly after *block*."""
    if section != "messages":
        return True
    if rules.family == "nova":
        return "text" in block
    document = block.get("document")
    if isinstance(document, dict):
        return document.get("format") == "pdf"
    return "reasoningContent" not in block


def _last_place(items: _BlockList, rules: ConverseRules) -> int | None:
    """Return the last item after which a point may come."""
    for index in range(len(items.items) - 1, -1, -1):
        if _may_follow(items.items[index], items.section, rules):
            return index
    return None


def _automatic_places(lists: list[_BlockList], rules: ConverseRules) -> Iterator[caching.Position]:
    """Yield where automatic cache points go, most useful first."""
    tools, system, *turns = lists
    same_side = turns[::2] if len(turns) % 2 else turns[1::2]  # the side of the last message
    for items in (*turns[-1:], system, tools, *same_side[-2:-1]):
        place = _last_place(items, rules) if items.takes_points else None
        if place is not None:
            yield items.position(place)


def _remove_points(
    blocks: _BlockList, rules: ConverseRules, diagnostics: Diagnostics
) -> Iterator[CacheCandidate]:
    """Remove the caller's cache points from a list, and yield where they may be in it."""
    items, used_places = list(blocks.items), set[int]()
    blocks.items.clear()
    for block in items:
        mark = block.get("cachePoint")
        if not isinstance(mark, dict):
            blocks.items.append(block)
            continue
        asked_place = len(blocks.items) - 1
        ttl: CacheTtl = "1h" if mark.get("ttl") == "1h" else "5m"
        path = f"{blocks.path}[{max(asked_place, 0)}]"
        point = CacheCandidate(blocks.position(asked_place), path, allowed=True, ttl=ttl)
        if not blocks.takes_points:
            why = f"the model accepts no cache points in {blocks.section}"
            caching.drop_breakpoints([point], why, diagnostics)
            continue
        place = _last_place(blocks, rules)
        if place is None:
            caching.drop_breakpoints(
                [point], "it cannot be the end of a cached prefix", diagnostics
            )
        elif place not in used_places:
            used_places.add(place)
            if place != asked_place:
                why = "a cache point is not allowed after this block; it is moved before it"
                diagnostics.at(f"{blocks.path}[{asked_place}]").changed(
                    "cache-breakpoint-moved", why
                )
            path = f"{blocks.path}[{max(place, 0)}]"
            yield replace(point, position=blocks.position(place), path=path)
