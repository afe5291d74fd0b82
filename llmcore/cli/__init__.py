"""The command lines `llmcore`, also as `python -m llmcore`, and `openbridge`.

`main` is the entry point of `llmcore`; it imports nothing before it can handle Ctrl-C. In reading
order: `commands` (all commands of `llmcore`, and the parser of both programs), `options` (those of
commands that use the library), and a module for each command with `run(args)`, which returns the
exit code, and `add_options(parser)` if that is not in `options`: `ask`, `chat`, `batch`, `media`
(`image`, `speak` and `transcribe`), `prepare`, `providers`, `models`, `config`, `keys`, `login`,
`local`, `logs`, `sessions`, `inspect` and `doctor`. `ask` and `chat` share `request_options`,
`attachments` (files, schemas and functions that options name), `approval` (of calls),
`conversation` (stored conversations), `printing`, `user_config` and `stored_keys`; `chat` has
`chat_input` and `markdown_printer` too. `openbridge` (its commands), `gateway_options`, `gateway`,
`gateway_clients`, `gateway_config` and `gateway_accounts` are the other program (with `options`
for `completion`); `program`
(streams, and how a program ends) and `failures` (exit codes) are shared by all.
"""

import atexit
import gc
from collections.abc import Callable, Sequence

TYPE_CHECKING = False  # neither typing nor argparse is loaded before Ctrl-C is handled
if TYPE_CHECKING:
    import argparse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `llmcore` and return its exit code."""

    def parser() -> "argparse.ArgumentParser":
        from llmcore.cli import commands

        return commands.parser(argv)

    return start(parser, argv)


def start(parser: "Callable[[], argparse.ArgumentParser]", argv: Sequence[str] | None) -> int:
    """Run the command line *argv* with what *parser* imports and returns."""
    try:
        from llmcore.cli.program import run

        made = parser()
    except KeyboardInterrupt:  # importing takes half a second
        return 130
    atexit.register(gc.freeze)  # or a process that ends searches all its modules for cycles
    return run(made, argv)
