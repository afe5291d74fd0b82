"""Which prefixes of a prompt are cached: one algorithm for the APIs that take breakpoints.

A breakpoint ends a prefix that is written to the cache, and read from it by later requests that
begin with the same prefix. The model reads tools, system prompt and messages in this order:

    tools            system       messages
    t t t *|         s s *|       u   a   u *|   a   u *|
           3              2                 4          1

A request has few breakpoints. The caller's own come first. The others are filled in the order of
the numbers: the end of the conversation, of the system prompt, of the tools, and the end of the
user's turn before the last response. The request that got this response ended there, so the prefix
that it wrote is found again however long the response was.

Each protocol finds the candidates in its own body and writes the chosen breakpoints to it.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

import msgspec

from llmcore.schema.content import CacheTtl, ContentPart, ToolResultPart, cache_ttl
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest

Section: TypeAlias = Literal["tools", "system", "messages"]
SECTIONS: Final[tuple[Section, ...]] = ("tools", "system", "messages")
"""In the order in which the model reads them."""

Position: TypeAlias = tuple[int, int, int]
"""Index of the section in `SECTIONS`, of the item in it, and of the block in a message."""


class CacheCandidate(msgspec.Struct, frozen=True):
    """A tool, a text or a block: a place where a breakpoint may be."""

    position: Position
    path: str
    """The place as a Diagnostic names it."""
    allowed: bool
    """Whether the API accepts a breakpoint here."""
    ttl: CacheTtl | None = None
    """How long the prefix that ends here is to be kept; None without a breakpoint."""

    @property
    def section(self) -> Section:
        """The part of the prompt that it belongs to."""
        return SECTIONS[self.position[0]]


class CacheLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The breakpoints that an API and its model accept."""

    slots: int
    """How many breakpoints this request may still have."""
    maximum: int
    """How many breakpoints a request may have."""
    noun: str = "breakpoints"
    """The API's word for them, for diagnostics."""
    long_lived: bool = True
    """Whether a prefix can be kept for an hour."""
    long_lived_end: bool = False
    """Whether the end of the whole prompt is cached for an hour without an added breakpoint."""


def choose_breakpoints(
    marked: Sequence[CacheCandidate],
    automatic: Iterable[Position],
    limits: CacheLimits,
    ttl: CacheTtl,
    diagnostics: Diagnostics,
) -> dict[Position, CacheTtl]:
    """Return the breakpoints of a request with their lifetimes, in the order of the prompt.

    *marked* are the caller's own, in the order of the prompt; *automatic* are places for the
    rest, the most useful first, whose lifetime is *ttl* where those around them permit it.
    """
    chosen: dict[Position, CacheTtl | None] = {}
    if marked:
        chosen.update(_ordered(_remaining(marked, limits, diagnostics), limits, diagnostics))
    for position in automatic:
        if len(chosen) < limits.slots:
            chosen.setdefault(position, None)
    if not marked:  # as nearly always: all have one lifetime
        return dict.fromkeys(sorted(chosen), "1h" if limits.long_lived_end else ttl)
    return _with_lifetimes(dict(sorted(chosen.items())), limits, ttl)


def cache_mark(ttl: str | None) -> dict[str, str]:
    """Return Anthropic's `cache_control`; five minutes are the default and are not written."""
    return {"type": "ephemeral", "ttl": "1h"} if ttl == "1h" else {"type": "ephemeral"}


def drop_breakpoints(marked: Iterable[CacheCandidate], why: str, diagnostics: Diagnostics) -> None:
    """Report breakpoints of the caller that are not sent."""
    for candidate in marked:
        diagnostics.at(candidate.path).dropped("cache-breakpoint-dropped", why)


def note_cache_options(request: LLMRequest, diagnostics: Diagnostics) -> None:
    """Report the options of the cache that APIs with breakpoints do not have."""
    for name in ("key", "retention"):
        if getattr(request.cache, name) is not None:
            diagnostics.at(f"cache.{name}").unsupported(f"the API has no cache {name}")


def _remaining(
    marked: Sequence[CacheCandidate], limits: CacheLimits, diagnostics: Diagnostics
) -> list[CacheCandidate]:
    """Return the caller's breakpoints that fit: the last of each section, then the latest."""
    refused = [candidate for candidate in marked if not candidate.allowed]
    drop_breakpoints(refused, "it cannot be the end of a cached prefix", diagnostics)
    usable = [candidate for candidate in marked if candidate.allowed]
    last = {candidate.section: candidate for candidate in usable}
    preferred = [last[section] for section in reversed(SECTIONS) if section in last]
    rest = [candidate for candidate in reversed(usable) if candidate not in preferred]
    fitting = [*preferred, *rest][: limits.slots]
    excess = [candidate for candidate in usable if candidate not in fitting]
    drop_breakpoints(excess, f"a request has at most {limits.maximum} {limits.noun}", diagnostics)
    return [candidate for candidate in usable if candidate in fitting]


def _ordered(
    marked: Iterable[CacheCandidate], limits: CacheLimits, diagnostics: Diagnostics
) -> Iterable[tuple[Position, CacheTtl]]:
    """Yield the caller's breakpoints with lifetimes; none outlives one before it."""
    short = not limits.long_lived
    why = (
        "a prefix cached for an hour cannot follow one cached for five minutes"
        if limits.long_lived
        else "the model keeps prefixes for five minutes only"
    )
    for candidate in marked:
        if short and candidate.ttl == "1h":
            diagnostics.at(candidate.path).changed("cache-ttl-shortened", why)
        short = short or candidate.ttl == "5m"
        yield candidate.position, "5m" if short else "1h"


def _with_lifetimes(
    chosen: dict[Position, CacheTtl | None], limits: CacheLimits, preferred: CacheTtl
) -> dict[Position, CacheTtl]:
    """Return *chosen* with lifetimes for the automatic ones: the longer-lived are first."""
    lifetimes: dict[Position, CacheTtl] = {}
    given = list(chosen.values())
    for number, (position, ttl) in enumerate(chosen.items()):
        before, after = lifetimes.values(), given[number:]
        if ttl is not None:
            lifetimes[position] = ttl
        elif "1h" in after or (limits.long_lived_end and "5m" not in before):
            lifetimes[position] = "1h"
        else:
            lifetimes[position] = "5m" if "5m" in before else preferred
    return lifetimes


# -- OpenAI's prompt cache

OPENAI_BREAKPOINT_MODELS: Final = r"gpt-5\.([6-9]|\d\d).*|gpt-([6-9]|\d\d)([.-].*)?"
"""Models (a pattern for the whole id) that take explicit breakpoints of the prompt cache.

Source: https://developers.openai.com/api/docs/guides/prompt-caching ("GPT-5.6 models and later
model families"), read November 2026.
"""
OPENAI_BREAKPOINT: Final = "prompt_cache_breakpoint"
"""The field of a content part that ends a cached prefix."""
OPENAI_LIFETIMES: Final = ("30m", "12h")
"""Lifetimes of breakpoints: retentions that are values of `prompt_cache_options`, not of
`prompt_cache_retention`."""
_NO_BREAKPOINTS: Final = "the model takes no breakpoints of the prompt cache"


def mark_breakpoint(
    natives: Sequence[dict[str, Any]], part: ContentPart, diagnostics: Diagnostics, *, taken: bool
) -> None:
    """Mark the last of *natives*, what *part* was lowered to, if the caller marked *part*.

    Nothing is marked where breakpoints are not *taken*. The mark's own lifetime is native metadata:
    `{"openai": {"prompt_cache_breakpoint": {"ttl": "12h"}}}`; otherwise it is that of the request.
    """
    if not natives or not part.provider_metadata or cache_ttl(part) is None:
        return
    metadata = part.provider_metadata.get("openai", {})
    own = object_or_empty(metadata.get(OPENAI_BREAKPOINT)).get("ttl")
    if taken:
        natives[-1][OPENAI_BREAKPOINT] = {"mode": "explicit", **({"ttl": own} if own else {})}
    elif own is not None:
        why = _NO_BREAKPOINTS
        diagnostics.at(f"{OPENAI_BREAKPOINT}.ttl").unsupported(why)


def openai_cache_fields(
    request: LLMRequest,
    natives: Iterable[dict[str, Any]],
    diagnostics: Diagnostics,
    *,
    takes_breakpoints: bool,
    lifetimes: Collection[str] = OPENAI_LIFETIMES,
) -> dict[str, Any]:
    """Return OpenAI's parameters of the prompt cache.

    *lifetimes* are those that the API takes for the breakpoints of a request.

    By default OpenAI places a breakpoint at the end of the newest message. This is switched off
    where the caller places them, or wants none, unless one of the caller's marks is not in
    *natives*, the messages or items: the prompt would then be cached nowhere.
    """
    cache = request.cache
    options: dict[str, Any] = {}
    if takes_breakpoints and (
        cache.mode == "off" or (cache.mode == "manual" and _marks(request) == _written(natives))
    ):
        options["mode"] = "explicit"
    if cache.mode == "off":
        return {"prompt_cache_options": options} if options else {}
    fields: dict[str, Any] = {} if cache.key is None else {"prompt_cache_key": cache.key}
    if cache.retention in OPENAI_LIFETIMES:
        if takes_breakpoints and cache.retention in lifetimes:
            options["ttl"] = cache.retention
        else:
            why = f"the API keeps breakpoints for {', '.join(lifetimes)}"
            why = why if takes_breakpoints else _NO_BREAKPOINTS
            diagnostics.at("cache.retention").unsupported(why)
    elif cache.retention is not None:
        fields["prompt_cache_retention"] = cache.retention
    return {**fields, "prompt_cache_options": options} if options else fields


def _marks(request: LLMRequest) -> int:
    """Return how many breakpoints the caller has set."""
    count = sum(getattr(tool, "cache", None) is not None for tool in request.tools)
    for part in chain(request.system, *(message.content for message in request.messages)):
        inner = part.content if isinstance(part, ToolResultPart) else ()
        parts = (part, *inner) if isinstance(inner, tuple) else (part,)
        count += sum(cache_ttl(holder) is not None for holder in parts)
    return count


def _written(natives: Iterable[dict[str, Any]]) -> int:
    """Return how many breakpoints are in native messages or items."""
    contents = (native.get("content") or native.get("output") for native in natives)
    parts = chain.from_iterable(content for content in contents if isinstance(content, list))
    return sum(OPENAI_BREAKPOINT in part for part in parts)
