"""The command lines `llmcore`, also as `python -m llmcore`, and `openbridge`.

`main` is the entry point of `llmcore`; it imports nothing before it can handle Ctrl-C, which ends
the process at once until the module of the command is there. In reading
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
    from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* of `llmcore` and return its exit code."""

    def parser() -> "argparse.ArgumentParser":
        from llmcore.cli import commands

        return commands.parser(argv)

    return start(parser, argv)


def start(parser: "Callable[[], argparse.ArgumentParser]", argv: Sequence[str] | None) -> int:
    """Run the command line *argv* with what *parser* imports and returns."""
    try:
        with ExitOnInterrupt():
            from llmcore.cli.program import run

            made = parser()
    except KeyboardInterrupt:  # before the handler was set
        return 130
    atexit.register(gc.freeze)  # or a process that ends searches all its modules for cycles
    code = run(made, argv)
    if argv is None:  # the process ends now
        ExitOnInterrupt().__enter__()
    return code


class ExitOnInterrupt:
    """A context in which Ctrl-C ends the process at once, for imports and the end of a program.

    A KeyboardInterrupt can be lost there with a traceback on stderr: callbacks of weak references
    and of the interpreter's end print exceptions, and `__set_name__` makes a RuntimeError of them.
    Nothing changes in an application that handles or ignores Ctrl-C, nor outside the main thread.

    Meanwhile each object is searched for garbage once, while it is new, and afterwards no more.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> None:
        import signal

        gc.set_threshold(2_000, 1_000_000)
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, _exit)
            except ValueError:  # not the main thread
                return
            self._before = before

    def __exit__(self, *_: object) -> None:
        import signal

        gc.freeze()
        gc.set_threshold(*self._thresholds)
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def _exit(*_: object) -> None:
    import os  # the interpreter has loaded it

    os._exit(130)
