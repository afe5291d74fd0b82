"""`llmcore inspect`: writes a page that shows a recorded exchange, session or stream."""

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path

from llmcore.cli.program import say
from llmcore.inspector.files import difference, read_document
from llmcore.inspector.page import page
from llmcore.schema.errors import InvalidRequestError


def run(args: argparse.Namespace) -> int:
    """Write the page, and print where it is. Raises InvalidRequestError."""
    document = read_document(args.file, args.protocol)
    if args.diff:
        other = read_document(args.diff, args.protocol)
        document = {
            **document,
            "title": f"{document['title']} and {other['title']}",
            "differences": difference(document, other),
        }
    text = page(document)
    if args.output == "-":
        sys.stdout.write(text)
        return 0
    path = Path(args.output) if args.output else _new_file(Path(args.file).stem)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise InvalidRequestError(message, cause=error) from error
    say(str(path))
    if args.open:
        webbrowser.open(path.resolve().as_uri())
    return 0


def _new_file(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="llmcore-inspect-"))  # mode 0700
    return folder / f"{name}.html"
