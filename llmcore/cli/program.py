"""What all commands share: standard streams, exit codes, and how a program runs and ends.

Text that comes from a model or a server is written by `say` and `note`, without control
characters: in a terminal they could move the cursor, set the clipboard or hide what was said.
That holds for pipes too, since many of them end in a terminal. JSON has all characters, those of
control as escapes.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Final, TextIO

from llmcore.schema import errors
from llmcore.sessions.contract.errors import ContractError

INTERRUPTED: Final = 130
"""What shells report for a program that Ctrl-C ended."""

EXIT_CODES: Final[tuple[tuple[type[errors.LLMError], int], ...]] = (
    (errors.AuthenticationError, 3),
    (errors.AccessDeniedError, 3),
    (errors.RateLimitError, 4),
    (errors.QuotaExceededError, 4),
    (errors.ContextLengthError, 5),
    (errors.NotFoundError, 5),
    (errors.InvalidRequestError, 5),
    (errors.UnsupportedToolChoiceError, 5),
    (errors.ContentFilterError, 6),
    (errors.RequestTimeoutError, 7),
    (errors.NetworkError, 7),
    (errors.StreamError, 7),
    (errors.ServerError, 8),
    (errors.ConfigurationError, 9),
    (ContractError, 5),
)
"""The first class that fits decides; anything else is 1. 2 is wrong usage, 130 is Ctrl-C."""


def exit_code(error: errors.LLMError) -> int:
    """Return the exit code of *error*."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def explain(error: errors.LLMError) -> str:
    """Return *error* for a person, with what could be done about it."""
    text = f"{type(error).__name__}: {error}"
    if error.retry_after is not None:
        text += f" — try again in {error.retry_after:g} s"
    if error.request_id:
        text += f" [request {error.request_id}]"
    return text


# -- running


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run the command that *argv* names and return the exit code."""
    _open_streams()
    try:
        code = _dispatch(parser, argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has left
        _discard_output()
        return 0
    except OSError as error:  # such as a full disk behind our output
        _discard_output()
        note(f"{parser.prog}: {error.strerror or error}")
        return 1
    return code


def _dispatch(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    args = parser.parse_args(argv)
    try:
        code: int = args.run(args)
    except errors.LLMError as error:
        note(f"{parser.prog}: {explain(error)}")
        return exit_code(error)
    return code


def _open_streams() -> None:
    """Make the standard streams usable: closed ones are empty, and no character is too much."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell or a supervisor
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character shows its number
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Let nothing that is still buffered be written when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- text

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BEYOND_ASCII_CONTROLS = re.compile("[\x7f-\x9f]")  # json.dumps escapes the others


def printable(text: str) -> str:
    """Return *text* without control characters, but for line ends and tabs."""
    return _CONTROLS.sub("", text)


def say(text: str) -> None:
    """Print *text* to standard output, without control characters."""
    print(printable(text))


def note(text: str) -> None:
    """Print *text* to standard error, without control characters."""
    with suppress(OSError):  # it cannot be written, and this could not be either
        print(printable(text), file=sys.stderr)


# -- JSON


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return *value* as JSON, every control character escaped."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """Return the JSON document *text* with escapes for the control characters it may hold."""
    return _BEYOND_ASCII_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_output() -> TextIO:
    """Return stdout, in UTF-8; half a surrogate pair becomes the escape that JSON has for it."""
    return _as_utf8(sys.stdout, errors="backslashreplace")


def json_input() -> TextIO:
    """Return stdin, in UTF-8; reading raises UnicodeDecodeError for anything else."""
    return _as_utf8(sys.stdin, errors="strict")


def _as_utf8(stream: TextIO, *, errors: str) -> TextIO:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors=errors)
    return stream
