"""Rows of spend added up by key, model, day and more, as a table, CSV or JSON."""

import csv
import io
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import zip_longest
from typing import Final

from attrs import define

from llmcore.bridge.spend.row import LOST, SpendRow, unpacked_row
from llmcore.bridge.state.ledger import NANO, Ledger
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject

_GROUPS: Final[Mapping[str, Callable[[SpendRow], str]]] = {
    "key": lambda row: row.key,
    "owner": lambda row: row.owner,
    "model": lambda row: row.model,
    "provider": lambda row: row.provider,
    "upstream": lambda row: row.upstream or row.provider,
    "target": lambda row: f"{row.upstream or row.provider}/{row.target}",
    "outcome": lambda row: row.outcome,
}
_TIMES: Final = {"day": "%Y-%m-%d", "month": "%Y-%m"}
GROUPS: Final = (*_GROUPS, *_TIMES)
"""The fields that rows can be added up by."""

_AGO: Final = re.compile(r"(?P<count>\d{1,6})(?P<unit>[hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


@define
class UsageTotal:
    """The sum of some rows."""

    responses: int = 0
    failed: int = 0
    """How many of them failed, were cancelled or lost."""
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nano: int = 0
    unpriced: int = 0
    """Responses whose cost is unknown, which is not in the sum."""

    def add(self, row: SpendRow) -> None:
        """Add one row."""
        self.responses += 1
        self.failed += row.outcome in ("failed", "cancelled", LOST)
        self.input_tokens += row.input_tokens
        self.cache_read_tokens += row.cache_read_tokens
        self.cache_write_tokens += row.cache_write_tokens
        self.output_tokens += row.output_tokens
        self.reasoning_tokens += row.reasoning_tokens
        self.cost_nano += row.cost_nano or 0
        self.unpriced += row.cost_nano is None

    def shown(self) -> JsonObject:
        """Return the sums; the cost in US dollars."""
        return {
            "responses": self.responses,
            "failed": self.failed,
            "input_tokens": self.input_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "cost_usd": self.cost_nano / NANO,
            "unpriced": self.unpriced,
        }


def spend_rows(ledger: Ledger, since: float, until: float) -> Iterator[SpendRow]:
    """Yield the rows from *since* on and before *until*, the oldest first, a page at a time."""
    after = (since, "")
    while page := ledger.rows(since, until, after):
        yield from map(unpacked_row, page)
        after = (page[-1].at, page[-1].id)


def usage_report(rows: Iterator[SpendRow], by: Sequence[str], zone: tzinfo) -> list[JsonObject]:
    """Return the sums of *rows* for each combination of the fields *by*, in their order.

    Days and months are those of *zone*. Raises InvalidRequestError for a field that rows cannot be
    added up by.
    """
    if unknown := [name for name in by if name not in GROUPS]:
        known = ", ".join(GROUPS)
        raise InvalidRequestError(f"usage cannot be shown by {', '.join(unknown)} (known: {known})")
    values = [_GROUPS.get(name) or partial(_time, _TIMES[name], zone) for name in by]
    totals: dict[tuple[str, ...], UsageTotal] = {}
    for row in rows:
        totals.setdefault(tuple(value(row) for value in values), UsageTotal()).add(row)
    return [
        {**dict(zip(by, group, strict=True)), **total.shown()}
        for group, total in sorted(totals.items())
    ]


def _time(form: str, zone: tzinfo, row: SpendRow) -> str:
    return datetime.fromtimestamp(row.at, zone).strftime(form)


def moment(text: str, now: float, zone: tzinfo = UTC) -> float:
    """Return the time that *text* means: `7d`, `24h` and `2w` ago, a date or a time of *zone*."""
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return now - timedelta(**{_UNITS[ago["unit"]]: int(ago["count"])}).total_seconds()
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError as error:
        message = f"{text!r} is neither a time, such as 2026-11-01, nor how long ago, such as 7d"
        raise InvalidRequestError(message, cause=error) from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).timestamp()


def as_csv(report: Sequence[JsonObject]) -> str:
    """Return *report* as CSV, with a line of names first."""
    if not report:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, report[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(line) for line in report)
    return text.getvalue()


_COLUMNS: Final = {
    "responses": "responses",
    "failed": "failed",
    "input_tokens": "input",
    "cache_read_tokens": "cached",
    "output_tokens": "output",
    "cost_usd": "USD",
}
"""The sums that the table has room for."""


def as_table(report: Sequence[JsonObject], by: Sequence[str], width: int | None) -> str:
    """Return *report* as lines for people, of at most *width* characters where that is possible."""
    head = [*by, *_COLUMNS.values()]
    lines = [
        [*(str(line[name]) for name in by), *(_cell(line[name]) for name in _COLUMNS)]
        for line in report
    ]
    return "\n".join(aligned([head, *lines], texts=len(by), width=width))


_LEAST_WIDTH: Final = 12
"""To how few characters a column of texts is narrowed."""


def aligned(
    rows: Sequence[Sequence[str]], texts: int | None = None, width: int | None = None
) -> Iterator[str]:
    """Yield *rows* as lines whose columns are as wide as their longest cells.

    The first *texts* columns (all of them without it) begin at the left, others end at the right.
    Where a line would have more than *width* characters, long texts continue on further lines.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = len(widths) if texts is None else texts
    if width is not None:
        _narrow(widths, left, width)
    for row in rows:
        folded = [
            textwrap.wrap(cell, size) if number < left else [cell]
            for number, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        for cells in zip_longest(*folded, fillvalue=""):
            yield "  ".join(
                cell.ljust(size) if number < left else cell.rjust(size)
                for number, (cell, size) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()


def _narrow(widths: list[int], left: int, width: int) -> None:
    """Narrow the first *left* columns, the widest first, until a line fits into *width*."""
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    while excess > 0 and left:
        widest = max(range(left), key=widths.__getitem__)
        if widths[widest] <= _LEAST_WIDTH:
            return
        widths[widest] -= 1
        excess -= 1


def _cell(value: object) -> str:
    return f"{value:,.6f}" if isinstance(value, float) else f"{value:,}"
