"""`llmcore models`: lists the models of the catalog."""

import argparse
from typing import get_args

from llmcore.catalog.lookup import Capability
from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.records import catalog, model_from
from llmcore.cli.program import json_output, json_text, note, say

_HEADS = ("MODEL", "RELEASED", "CONTEXT", "OUTPUT", "IN $/M", "OUT $/M", "CAN")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `models` command."""
    parser = commands.add_parser(
        "models", help="list known models with their capabilities and prices"
    )
    parser.add_argument("--provider", metavar="ID", help="only models of this provider")
    parser.add_argument(
        "--capability",
        action="append",
        default=[],
        choices=get_args(Capability),
        help="only models with this capability; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print a line for each matching model; the exit code is 1 if none matches."""
    records = [
        record
        for record in catalog().records
        if args.provider in (None, record["provider"])
        and all(record.get(f"supports_{name}") for name in args.capability)
    ]
    if not records:
        note("no model in the catalog matches")
        return 1
    if args.json:
        for record in records:
            print(json_text(record), file=json_output())
    else:
        _print_table([_HEADS, *(_row(model_from(record)) for record in records)])
    return 0


def _row(model: ModelInfo) -> tuple[str, ...]:
    capabilities = [
        name for name in get_args(Capability) if getattr(model, f"supports_{name}") is True
    ]
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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *rest, last in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:-1], strict=True))
        say(f"{name:{widths[0]}}  {'  '.join(cells)}  {last}".rstrip())
