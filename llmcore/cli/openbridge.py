"""The program `openbridge` and its commands, imported once Ctrl-C is handled."""

import argparse
from collections.abc import Sequence
from typing import Final

from llmcore.cli import start

_ABOUT: Final = "Any client of an LLM API in front of any provider."
COMMANDS: Final = {
    "serve": ("gateway:add_serve_options", "run the gateway until a signal stops it"),
    "run": (
        "gateway:add_run_options",
        "run a program, such as claude or codex, with a gateway of its own",
    ),
    "replay": ("gateway:add_replay_options", "run recorded requests and print their events"),
    "config": ("gateway_config", "check, show or begin openbridge.toml"),
    "keys": (
        "gateway_accounts:add_keys_options",
        "create, list, show, change, revoke and rotate keys",
    ),
    "usage": ("gateway_accounts:add_usage_options", "show what responses used and cost"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `openbridge` and return its exit code."""

    def parser() -> argparse.ArgumentParser:
        from llmcore.cli.commands import parser_of

        return parser_of("openbridge", _ABOUT, COMMANDS, argv)

    return start(parser, argv)
