"""The command line: `llmcore ask`, `prepare`, `providers`, `models`, `login`, `local`, `sessions`.

`main` parses and dispatches; each command is a module with `add_parser(commands)` and `run(args)`,
which returns the exit code. `exit_codes` says which code means what.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from llmcore.cli import ask, local, login, models, prepare, providers, sessions
from llmcore.cli.exit_codes import exit_code, explain
from llmcore.schema.errors import LLMError
from llmcore.version import VERSION

_INTERRUPTED = 130
"""What shells report for a program that Ctrl-C ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character shows its number
            stream.reconfigure(errors="backslashreplace")
    args = _parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except LLMError as error:
        print(f"llmcore: {explain(error)}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llmcore", description="Ask any LLM provider through one functional core."
    )
    parser.add_argument("--version", action="version", version=f"llmcore {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (ask, prepare, providers, models, login, local, sessions):
        command.add_parser(commands)
    return parser
