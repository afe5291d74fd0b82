"""The commands of `llmcore`."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from llmcore.cli.program import Parser, ShowVersion

COMMANDS: Final = {
    "ask": ("ask", "ask a model and print its answer as it arrives"),
    "chat": ("chat", "talk to a model"),
    "prepare": ("prepare", "print the native request without sending it"),
    "providers": ("providers", "list providers and whether they are configured"),
    "models": ("models", "list known models with their capabilities and prices"),
    "config": ("config", "show and set defaults, aliases and templates"),
    "keys": ("keys", "store, list and remove API keys"),
    "login": ("login", "log in to GitHub Copilot, by a code in a browser"),
    "logout": ("login:add_logout_options", "remove a stored login"),
    "local": ("local", "install, check or remove the embedded model"),
    "logs": ("logs", "print and search what was asked and answered"),
    "sessions": ("sessions", "list, show, export and import stored conversations"),
    "inspect": ("inspect", "show a cassette, session or recorded stream as a page"),
    "doctor": ("doctor", "check keys, network, packages and files"),
    "completion": ("completion", "print the completion script of a shell"),
}
"""The module of each command in `llmcore.cli`, whose `add_options` (or the function named) adds
its options, and what `--help` prints of it."""


def parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the argument parser of `llmcore` for the command line *argv*.

    Only the module of the command in *argv* is imported: all of them take more than half a second.
    """
    words = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in words if not word.startswith("-")), None)
    parser_ = complete_parser({chosen} if chosen is not None else set())
    if chosen is not None and chosen not in COMMANDS:
        near = difflib.get_close_matches(chosen, COMMANDS, 1)
        hint = f": did you mean {near[0]!r}?" if near else f"; there are: {', '.join(COMMANDS)}"
        parser_.error(f"there is no command {chosen!r}{hint}")
    return parser_


def complete_parser(chosen: "set[str] | None" = None) -> argparse.ArgumentParser:
    """Return the parser with the options of the commands *chosen*; None for those of all."""
    parser_ = Parser(
        prog="llmcore",
        description="Ask any LLM provider through one functional core.",
        allow_abbrev=False,
    )
    parser_.add_argument("--version", action=ShowVersion)
    commands = parser_.add_subparsers(required=True, metavar="COMMAND")
    for name, (home, about) in COMMANDS.items():
        added = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        if chosen is None or name in chosen:
            module, _, function = home.partition(":")
            add_options = getattr(import_module(f"llmcore.cli.{module}"), function or "add_options")
            add_options(added)
    return parser_
