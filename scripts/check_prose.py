"""Check the English of docstrings, comments and messages: part of `make lint`.

The patterns are those that slow a reader down or read as a translation. Every module of llmcore is
checked, and the docstrings and comments of its tests, whose other strings are data.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

ANYWHERE = {
    r"(?<![Tt]here )\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more|better|worse|of))": (
        "is not a ..., or has no ..."
    ),
    r"\b(?:nobody|somebody|whoever)\b": "name who it is: the caller, the server, another task",
    r"\bfor ever\b": "forever, or without a limit",
    r"\bof one's own\b": "own, or separate",
    r"\bsays? (?:nothing|so|that much)\b": "state it, or name what holds",
    r"\bis (?:said|told|asked|had)\b": "name who does it, and what is done",
    r"\bminds\b": "raises, rejects, is affected",
    r"\bgo(?:es)? on with\b": "continues with",
    r"\bto be had\b": "is available, can be fetched",
    r"\bmakes? no sense\b": "is invalid",
    r"\bif need be\b": "if necessary",
    r"\bas they want (?:it|them)\b": "as they require",
    r"\bJSON can(?:not)? say\b": "JSON can represent",
    r"\bknows? no\b": "has no ..., does not support ...",
    r"\bgood-bye\b": "name the message that is sent",
    r"\bsay out loud|said out loud\b": "reported",
    r"\bas far as one can tell\b": "if known",
    r"\b(?:is|are) nobody's\b": "name what happens to it",
    r"\bof no more use\b": "must not be reused",
}
"""Patterns of all prose, with what to write instead."""

IN_LIBRARY = {
    r"\bsays?\b(?!\()": "states, contains, is; or name the event or field",
    r"\bsaid\b": "the text, the message, the field; or stated, sent",
    r"\btold\b": "stated, described, configured",
    r"\bpictures?\b": "image",
    r"\bhang up\b": "close the call or the connection",
    r"\bwhat is so anyway\b": "values equal to the default",
    r"\bof ours\b": "of llmcore, of the gateway; or what makes it so",
    r"\bfor good\b": "permanently",
    r"\banew\b": "again, or for each ...",
    r"\bin the place of\b": "in place of, or after",
}
"""Patterns of the prose of llmcore alone."""

OPENINGS = {
    r"What\b": "name the thing: 'The state ...', 'Returns ...'",
    r"Take\b": "state the effect: 'Emits ...', 'Adds ...'",
    r"Who\b": "name the thing",
    r"Returns? what (?:reads|writes|stores|makes|changes|copies|iterates|collects)\b": (
        "name it: a function that ..., a reader of ..."
    ),
    r"\w+\.?$": "one word does not describe anything",
}
"""Patterns of the first line of a docstring."""


class Fault(NamedTuple):
    """A place where the prose is to be rewritten."""

    path: str
    line: int
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text!r}: {self.advice}"


def faults_of(path: str, source: str) -> Iterator[Fault]:
    """Yield the faults of the module *source*, in the order of the file."""
    in_library = path.startswith("llmcore/")
    patterns = ANYWHERE | (IN_LIBRARY if in_library else {})
    for line, text, is_docstring in sorted(_prose(source, messages=not path.startswith("tests/"))):
        if is_docstring:
            first = text.strip().partition("\n")[0]
            for pattern, advice in OPENINGS.items():
                if re.match(pattern, first):
                    yield Fault(path, line, first, advice)
        for offset, row in enumerate(text.split("\n")):
            for pattern, advice in patterns.items():
                for found in re.finditer(pattern, row):
                    yield Fault(path, line + offset, found[0], advice)


def _prose(source: str, *, messages: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield each docstring, comment and, if asked, message: line, text, whether a docstring."""
    docstrings: set[ast.AST] = set()
    nodes = [*ast.walk(ast.parse(source))]
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(node.value)
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if node in docstrings or (messages and " " in node.value):
            yield node.lineno, node.value, node in docstrings
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def main() -> int:
    """Print all faults; return 1 if there are any."""
    modules = [
        *sorted((ROOT / "llmcore").rglob("*.py")),
        *sorted((ROOT / "tests").rglob("*.py")),
        ROOT / "scripts" / "diagnostic_codes.py",
    ]
    found = [
        fault
        for module in modules
        if "node_modules" not in module.parts
        for fault in faults_of(
            module.relative_to(ROOT).as_posix(), module.read_text(encoding="utf-8")
        )
    ]
    for fault in found:
        print(fault)
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
