"""The commands of `llmcore`."""

import argparse

from llmcore.cli import ask, local, login, models, prepare, providers, sessions
from llmcore.cli.program import Parser, ShowVersion


def parser() -> argparse.ArgumentParser:
    """Return the argument parser of `llmcore`."""
    parser_ = Parser(
        prog="llmcore", description="Ask any LLM provider through one functional core."
    )
    parser_.add_argument("--version", action=ShowVersion)
    commands = parser_.add_subparsers(required=True, metavar="COMMAND")
    for command in (ask, prepare, providers, models, login, local, sessions):
        command.add_parser(commands)
    return parser_
