"""The options of the commands of `openbridge`, without an import of the gateway."""

import argparse
from pathlib import Path
from typing import Final

from llmcore.cli.program import add_command, command, decimal_number, whole_number

_KEY_ACTIONS: Final = (
    ("create", "print a new key; its limits are options"),
    ("list", "print all keys"),
    ("show", "print a key's limits, and what it used"),
    ("update", "change a key's limits"),
    ("revoke", "revoke a key permanently"),
    ("rotate", "print a new text for a key"),
)
PERIODS: Final = ("day", "week", "month", "total")
REMOVABLE: Final = (
    "models",
    "expires",
    "requests-per-minute",
    "tokens-per-minute",
    "budget-usd",
    "budget-tokens",
)
GROUPS: Final = "key, owner, model, provider, upstream, target, outcome, day, month"
_BY: Final = f"what makes a row, comma-separated: {GROUPS}; key,model if not set"


def add_serve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `openbridge serve`."""
    add = parser.add_argument
    add("--host", metavar="ADDRESS", help="the address to listen on (OPENBRIDGE_HOST)")
    add("--port", metavar="N", help="the port; 0 takes a free one (OPENBRIDGE_PORT)")
    add("--workers", metavar="N", help="how many processes serve (OPENBRIDGE_WORKERS)")
    _add_common(parser)
    parser.set_defaults(run=command("gateway:serve"))


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `openbridge run`."""
    add = parser.add_argument
    add("--model", metavar="NAME", help="the model that the program is to ask for")
    _add_common(parser)
    add("words", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...")
    parser.set_defaults(run=command("gateway:run_program"))


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Add the options of `openbridge replay`."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="a request's JSON body, or a cassette of requests")
    add(
        "--responses",
        type=Path,
        metavar="CASSETTE",
        help="answer from this cassette instead of an upstream",
    )
    _add_common(parser)
    parser.set_defaults(run=command("gateway:replay"))


def add_config(config: argparse.ArgumentParser) -> None:
    """Add the actions of `openbridge config`."""
    actions = config.add_subparsers(required=True, metavar="ACTION")
    check = add_command(actions, "check", "check everything that is configured")
    _add_common(check)
    check.set_defaults(run=command("gateway_config:check"))
    show = add_command(actions, "show", "print the effective settings, without secrets")
    _add_common(show)
    show.set_defaults(run=command("gateway_config:show"))
    init = add_command(actions, "init", "write a commented example of the configuration file")
    init.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("openbridge.toml"),
        help="openbridge.toml if not set",
    )
    init.add_argument("--force", action="store_true", help="replace an existing file")
    init.set_defaults(run=command("gateway_config:init"))


def add_keys(keys: argparse.ArgumentParser) -> None:
    """Add the actions of `openbridge keys`."""
    actions = keys.add_subparsers(required=True, metavar="ACTION")
    for name, about in _KEY_ACTIONS:
        parser = add_command(actions, name, about)
        parser.set_defaults(run=command("gateway_accounts:run"), action=name)
        if name not in ("create", "list"):
            parser.add_argument("id", help="the id of the key")
        if name in ("create", "update"):
            _add_limits(parser)
        if name == "update":
            parser.add_argument(
                "--remove",
                action="append",
                default=[],
                choices=REMOVABLE,
                metavar="LIMIT",
                help=f"remove a limit, repeatable: {', '.join(REMOVABLE)}",
            )
        if name == "rotate":
            parser.add_argument(
                "--overlap", default="0h", metavar="TIME", help="how long the old one is valid, 24h"
            )
        parser.add_argument("--json", action="store_true", help="print JSON")
        _add_common(parser)


def add_usage(usage: argparse.ArgumentParser) -> None:
    """Add the options of `openbridge usage`."""
    add = usage.add_argument
    usage.set_defaults(run=command("gateway_accounts:run"), action="usage")
    add("--by", default="key,model", metavar="FIELDS", help=_BY)
    add("--since", default="30d", metavar="TIME", help="7d, 24h, 2w or a date; by default 30d")
    add("--until", metavar="TIME", help="a date, or how long ago; by default now")
    add("--format", choices=("table", "csv", "json"), default="table", help="table if not set")
    add("--json", dest="format", action="store_const", const="json", help="as `--format json`")
    _add_common(usage)


# -- shared


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--name", help="the holder of the key, or its purpose")
    add("--owner", help="the person or team that spend is attributed to")
    add("--models", metavar="NAMES", help="comma-separated names; one may end with *")
    add("--expires", metavar="TIME", help="in 30d, 12h or 4w, or a date")
    add("--requests-per-minute", type=whole_number, metavar="N", help="the most requests")
    add("--tokens-per-minute", type=whole_number, metavar="N", help="the most tokens")
    add("--budget-usd", type=decimal_number, metavar="USD", help="US dollars of each period")
    add("--budget-tokens", type=whole_number, metavar="N", help="tokens of each period")
    add(
        "--period",
        choices=PERIODS,
        metavar="PERIOD",
        help=f"of the budgets: {', '.join(PERIODS)}; month if not set",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    add = parser.add_argument
    add("--upstream", metavar="PROVIDER", help="what requests are sent to (OPENBRIDGE_UPSTREAM)")
    add("--model-map", metavar="FILE", help="JSON with names of models (OPENBRIDGE_MODEL_MAP_PATH)")
    add("--config", metavar="FILE", help="instead of openbridge.toml (OPENBRIDGE_CONFIG)")
    add("--env-file", metavar="FILE", help="instead of .env (OPENBRIDGE_ENV_FILE)")
