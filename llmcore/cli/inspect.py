"""`llmcore inspect`: writes a page that shows a recorded exchange, session or stream."""

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path

from llmcore.cli.failures import UsageError
from llmcore.cli.program import say
from llmcore.inspector.exchange import Document
from llmcore.inspector.files import difference, read_document, read_stdin_document
from llmcore.inspector.page import page
from llmcore.schema.errors import InvalidRequestError


def run(args: argparse.Namespace) -> int:
    """Write the page, and print where it is. Raises InvalidRequestError."""
    if args.file == args.diff == "-":
        raise UsageError("both files are -, but stdin has one: name one of them")
    document = _document(args.file, args.protocol)
    if args.diff:
        other = _document(args.diff, args.protocol)
        document = {
            **document,
            "title": f"{document['title']} and {other['title']}",
            "differences": difference(document, other),
        }
    text = page(document)
    if args.output == "-":
        sys.stdout.write(text)
        return 0
    path = Path(args.output) if args.output else _new_file(_stem(args.file))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise InvalidRequestError(message, cause=error) from error
    say(str(path))
    if args.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def _document(source: str, protocol: str | None) -> Document:
    if source == "-":
        return read_stdin_document(sys.stdin.buffer, protocol)
    return read_document(source, protocol)


def _stem(source: str) -> str:
    return "stdin" if source == "-" else Path(source).stem


def _new_file(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="llmcore-inspect-"))  # mode 0700
    return folder / f"{name}.html"
