"""Where JSON goes out and comes in: as UTF-8, whatever the terminal speaks."""

import sys
from io import TextIOWrapper
from typing import TextIO


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
