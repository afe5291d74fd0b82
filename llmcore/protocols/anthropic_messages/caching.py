"""Anthropic Messages: `cache_control` on the blocks that end a cached prefix.

    {"system": [{"type": "text", "text": "...", "cache_control": {"type": "ephemeral"}}], ...}

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, read November 2026.
There are at most four breakpoints, the longer-lived before the shorter-lived, none of them on
thinking or on empty text. `llmcore.protocols.caching` shows where they are.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from llmcore.protocols import caching
from llmcore.protocols.anthropic_messages.names import (
    RESULT_SUFFIX,
    THINKING_BLOCKS,
    Block,
    MessagesBody,
)
from llmcore.schema.content import CacheTtl
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.options import CachePolicy

MAX_BREAKPOINTS: Final = 4

_MARKABLE: Final = frozenset(
    {"text", "image", "document", "search_result", "tool_use", "tool_result", "server_tool_use"}
    | {"mcp_tool_use", "container_upload", "compaction"}
)


def place_breakpoints(
    body: dict[str, Any], policy: CachePolicy, *, automatic: bool, diagnostics: Diagnostics
) -> bool:
    """Put the breakpoints of *body* where they belong: the caller's, and automatic ones.

    `cache_control` of the body as a whole is one too: the provider places it at the end. Returns
    whether the body has any breakpoint, native data included.
    """
    items = _items(body)
    marked = [
        _candidate(*found) for found in items.items() if found[1].get("cache_control") is not None
    ]
    if policy.mode == "off":
        body.pop("cache_control", None)
        caching.drop_breakpoints(marked, "caching is off for this request", diagnostics)
        chosen: dict[caching.Position, CacheTtl] = {}
    else:
        whole = object_or_empty(body.get("cache_control"))
        limits = caching.CacheLimits(
            slots=MAX_BREAKPOINTS - bool(whole),
            maximum=MAX_BREAKPOINTS,
            long_lived_end=whole.get("ttl") == "1h",
        )
        fills = policy.mode == "auto" and automatic
        places = _automatic(body, items, at_end=not whole) if fills else ()
        chosen = caching.choose_breakpoints(marked, places, limits, policy.ttl or "5m", diagnostics)
    for item in items.values():
        item.pop("cache_control", None)
    for position, ttl in chosen.items():
        items[position]["cache_control"] = caching.cache_mark(ttl)
    return bool(chosen) or _is_cached_elsewhere(body, items.values())


_Places: TypeAlias = list[tuple[caching.Position, Block]]


def _items(body: Mapping[str, Any]) -> dict[caching.Position, Block]:
    """Return the tools, system texts and blocks of *body*, in the order of the prompt."""
    items: dict[caching.Position, Block] = {}
    for number, section in enumerate(caching.SECTIONS[:2]):
        if section in body:
            for index, item in enumerate(objects(body[section])):
                items[number, index, 0] = item
    for index, message in enumerate(objects(body.get("messages"))):
        for number, block in enumerate(objects(message.get("content"))):
            items[2, index, number] = block
    return items


def _candidate(position: caching.Position, item: Block) -> caching.CacheCandidate:
    number, index, block = position
    path = f"{caching.SECTIONS[number]}[{index}]" + (f".content[{block}]" if number == 2 else "")
    return caching.CacheCandidate(position, path, _takes_mark(position, item), _ttl(item))


def _ttl(item: Block) -> CacheTtl | None:
    mark = item.get("cache_control")
    if mark is None:
        return None
    return "1h" if object_or_empty(mark).get("ttl") == "1h" else "5m"


def _takes_mark(position: caching.Position, item: Block) -> bool:
    """Return whether *item* can be marked; an unknown type only if its author marked it."""
    if caching.SECTIONS[position[0]] == "tools":
        return not item.get("defer_loading")
    kind = str(item.get("type"))
    if kind in THINKING_BLOCKS:
        return False
    if kind == "text":
        return bool(str(item.get("text")).strip())
    return kind in _MARKABLE or kind.endswith(RESULT_SUFFIX) or "cache_control" in item


def _automatic(
    body: Mapping[str, Any], items: dict[caching.Position, Block], *, at_end: bool
) -> Iterator[caching.Position]:
    """Yield where automatic breakpoints go, most useful first."""
    sections: tuple[_Places, _Places, _Places] = ([], [], [])
    for found in reversed(items.items()):
        sections[found[0][0]].append(found)
    tools, system, talk = sections
    if at_end:
        yield from _first_place(talk)
    if system:
        yield from _first_place(system)
    if tools:
        yield from _first_place(tools)
    roles = [message.get("role") for message in objects(body.get("messages"))]
    if "assistant" in roles:
        last = len(roles) - 1 - roles[::-1].index("assistant")
        yield from _first_place(found for found in talk if found[0][1] < last)


def _first_place(items: Iterable[tuple[caching.Position, Block]]) -> tuple[caching.Position, ...]:
    """Return the first of *items* that can be marked, if there is one."""
    for position, item in items:
        if _takes_mark(position, item):
            return (position,)
    return ()


def _is_cached_elsewhere(body: Mapping[str, Any], items: Iterable[Block]) -> bool:
    """Return whether *body* has a breakpoint beside those of *items*: native data may have."""
    if body.get("cache_control"):
        return True
    results = (objects(item.get("content")) for item in items if "content" in item)
    if any(_ttl(inner) is not None for content in results for inner in content):
        return True
    known = MessagesBody.__annotations__
    return any(_is_marked(value) for name, value in body.items() if name not in known)


def _is_marked(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value.get("cache_control")) or any(map(_is_marked, value.values()))
    return isinstance(value, list) and any(map(_is_marked, value))
