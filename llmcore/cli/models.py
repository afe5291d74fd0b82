"""`llmcore models`: lists the models of the catalog."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from llmcore.catalog.lookup import misspelt_model
from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.records import catalog, model_from
from llmcore.cli.options import CAPABILITIES
from llmcore.cli.program import nearest_hint, note, print_json, say, terminal_width
from llmcore.schema.errors import InvalidRequestError

_HEADS = ("MODEL", "RELEASED", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M", "CAPABILITIES")
_CAPABILITIES: Final = 6
_LEFT_OUT_FIRST: Final = (_CAPABILITIES, 3, 1, 2)
"""The columns without which a terminal that is too narrow gets the table, in this order."""


def run(args: argparse.Namespace) -> int:
    """Print a line for each matching model; the exit code is 1 if none matches."""
    _check_provider(args.provider)
    records = _matching(args)
    if not records:
        near = misspelt_model(" ".join(args.words))
        hint = f"did you mean {near.id}?" if near is not None else "`llmcore models` lists all"
        note(f"no model in the catalog matches ({hint})")
        return 1
    if args.json:
        for record in records:
            print_json(record)
    else:
        _print_table([_HEADS, *(_row(model_from(record)) for record in records)])
    return 0


def _matching(args: argparse.Namespace) -> list[Mapping[str, Any]]:
    """Return the models that *args* select, by provider, the newest first."""
    records = [
        record
        for record in catalog().records
        if args.provider in (None, record["provider"])
        and all(record.get(f"supports_{name}") for name in args.capability)
        and _has_words(record, args.words)
    ]
    records.sort(key=_newest_first)
    if not args.latest:
        return records
    newest: dict[object, Mapping[str, Any]] = {}
    for record in records:
        newest.setdefault(record["provider"], record)
    return list(newest.values())


def _check_provider(provider: str | None) -> None:
    """Raise InvalidRequestError for a provider without models in the catalog."""
    known = {record["provider"] for record in catalog().records}
    if provider is not None and provider not in known:
        hint = nearest_hint(provider, sorted(known))
        raise InvalidRequestError(f"the catalog has no provider {provider!r}{hint}")


def _has_words(record: Mapping[str, Any], words: Sequence[str]) -> bool:
    text = f"{record['provider']}:{record['id']} {record.get('display_name') or ''}".casefold()
    return all(word.casefold() in text for word in words)


def _newest_first(record: Mapping[str, Any]) -> tuple[str, bool, int]:
    """Return a key that sorts by provider, then those still offered, then by date backwards.

    Models without a date come last.
    """
    released = record.get("release_date")
    day = 0 if released is None else date.fromisoformat(released).toordinal()
    return record["provider"], bool(record.get("deprecated")), -day


def _row(model: ModelInfo) -> tuple[str, ...]:
    capabilities = [name for name in CAPABILITIES if getattr(model, f"supports_{name}") is True]
    return (
        f"{model.provider}:{model.id}",
        str(model.release_date or "?"),
        _tokens(model.context_window),
        _tokens(model.max_output),
        _dollars(model.input_price),
        _dollars(model.output_price),
        ", ".join(capabilities) + (" (deprecated)" if model.deprecated else ""),
    )


def _tokens(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _dollars(price: float | None) -> str:
    return "?" if price is None else f"{price:g}"


def _print_table(rows: list[tuple[str, ...]]) -> None:
    """Print *rows*; in a terminal, without the columns that would make them wrap."""
    kept, left_out = list(range(len(_HEADS))), list[str]()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = terminal_width()
    for column in _LEFT_OUT_FIRST:
        if room is None or sum(widths[number] + 2 for number in kept) - 2 <= room:
            break
        kept.remove(column)
        left_out.append(_HEADS[column])
    for row in rows:
        cells = [row[number].rjust(widths[number]) for number in kept[1:]]
        if kept[-1] == _CAPABILITIES:
            cells[-1] = row[-1]
        say("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    if left_out:
        note(f"({', '.join(left_out)}: in a wider terminal, a pipe, or with --json)")
