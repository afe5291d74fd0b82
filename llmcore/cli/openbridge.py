"""The program `openbridge` and its commands, imported once Ctrl-C is handled."""

from collections.abc import Sequence

from llmcore.cli import start

TYPE_CHECKING = False  # neither typing nor argparse is loaded before Ctrl-C is handled
if TYPE_CHECKING:
    import argparse
    from typing import Final

    from llmcore.cli.commands import Program

COMMANDS: "Final" = {
    "serve": ("gateway_options:add_serve", "run the gateway until a signal stops it"),
    "run": (
        "gateway_options:add_run",
        "run a program, such as claude or codex, with a gateway of its own",
    ),
    "replay": ("gateway_options:add_replay", "run recorded requests and print their events"),
    "config": ("gateway_options:add_config", "check, show or begin openbridge.toml"),
    "keys": ("gateway_options:add_keys", "create, list, show, change, revoke and rotate keys"),
    "usage": ("gateway_options:add_usage", "show what responses used and cost"),
    "completion": ("options:add_completion", "print the completion script of a shell"),
}
_INSTEAD: "Final" = {
    **dict.fromkeys(("start", "server", "up"), "openbridge serve"),
    **dict.fromkeys(("init", "check", "show"), "openbridge config"),
    **dict.fromkeys(("spend", "budget", "budgets"), "openbridge usage"),
    "doctor": "openbridge config check",
    "version": "openbridge --version",
}
"""Commands that people look for, and those that do it."""


def _program() -> "Program":
    from llmcore.cli.commands import Program

    about = "Any client of an LLM API in front of any provider."
    return Program("openbridge", about, COMMANDS, _INSTEAD)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `openbridge` and return its exit code."""

    def parser() -> "argparse.ArgumentParser":
        from llmcore.cli.commands import parser_of

        return parser_of(_program(), argv)

    return start(parser, argv)


def print_completion(args: "argparse.Namespace") -> int:
    """Print the completion script of `openbridge` for a shell."""
    from llmcore.cli.commands import print_script

    return print_script(_program(), args.shell)
