"""The command lines `llmcore` (and `python -m llmcore.cli`: `__main__`) and `openbridge`.

`main` is the entry point of `llmcore`; it imports nothing before it can handle Ctrl-C. In reading
order: `commands` (all commands of `llmcore`), each a module with `add_parser(commands)` and
`run(args)`, which returns the exit code: `ask`, `prepare`, `providers`, `models`, `login`, `local`
and `sessions`; `request_options` (the options of `ask` and `prepare`), `conversation` (the history
of `ask --session`); `openbridge`, `gateway` and `gateway_clients` (the other program); `program`
(shared by all: streams, exit codes, and how a program ends).
"""

from collections.abc import Sequence
from importlib import import_module


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `llmcore` and return its exit code."""
    return start("llmcore.cli.commands", argv)


def start(module: str, argv: Sequence[str] | None) -> int:
    """Import *module*, whose `parser()` has the commands, and run the command line *argv*."""
    try:
        from llmcore.cli.program import run

        parser = import_module(module).parser()
    except KeyboardInterrupt:  # importing takes half a second
        return 130
    return run(parser, argv)
