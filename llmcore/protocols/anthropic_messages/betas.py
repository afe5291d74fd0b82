"""Anthropic Messages: the beta features that a body uses, as its header names them.

Source: https://platform.claude.com/docs/en/api/beta-headers, read November 2026. Features that a
body certainly needs are named by themselves; the caller names others in the provider options
`beta_headers`, `beta_features` or `betas`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from llmcore.protocols.anthropic_messages.caching import is_cached
from llmcore.protocols.anthropic_messages.types import Request
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject

OPTION_NAMES: Final = ("beta_headers", "beta_features", "betas")

HEADER: Final = "anthropic-beta"
PROMPT_CACHING: Final = "prompt-caching-2024-07-31"
_BY_FIELD: Final = {
    "mcp_servers": "mcp-client-2025-11-20",
    "context_management": "context-management-2025-06-27",
    "compaction": "compact-2026-09-04",
}
_BY_EDIT: Final = {"compact_20260112": "compact-2026-01-12"}


def headers(body: Request, betas: Iterable[str], options: JsonObject) -> Mapping[str, str]:
    """Return the header that names the beta features of *body*; empty if it uses none."""
    wanted = [*_of_body(body), *betas, *_of_options(options)]
    names = ",".join(dict.fromkeys(wanted))
    return {HEADER: names} if names else {}


def _of_body(body: Request) -> Iterator[str]:
    if is_cached(body):
        yield PROMPT_CACHING
    fields = body.extra_fields
    for field, beta in _BY_FIELD.items():
        if fields.get(field):
            yield beta
    management = fields.get("context_management")
    edits = management.get("edits") if isinstance(management, Mapping) else None
    for edit in edits if isinstance(edits, list) else ():
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if isinstance(kind, str) and kind in _BY_EDIT:
            yield _BY_EDIT[kind]


def _of_options(options: JsonObject) -> Iterator[str]:
    for name in OPTION_NAMES:
        given = options.get(name)
        items = [given] if isinstance(given, str) else given or []
        for item in items if isinstance(items, list | tuple) else [items]:
            if not isinstance(item, str):
                raise InvalidRequestError(
                    f"provider_options {name} is a list of names, not {item!r}"
                )
            yield from filter(None, (part.strip() for part in item.split(",")))
