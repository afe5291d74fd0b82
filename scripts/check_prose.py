"""Check the English of docstrings, comments and messages: part of `make lint`.

The patterns are those that slow a reader down or read as a translation. A room in `NOT_YET` is
counted and not checked: clean it, then take it out. No room is ever added.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

NOT_YET = {
    "llmcore/protocols",
}

ANYWHERE = {
    r"(?<!there )\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more|better|worse|of))": (
        "is not a ..., or has no ..."
    ),
    r"\b(?:nobody|somebody|whoever)\b": "name who it is: the caller, the server, another task",
    r"\bfor ever\b": "forever, or without a limit",
    r"\bof one's own\b": "own, or separate",
    r"\bsays? (?:nothing|so|that much)\b": "state it, or name what holds",
    r"\bis (?:said|told|asked|had)\b": "name who does it, and what is done",
    r"\bminds\b": "raises, rejects, is affected",
    r"\bgo(?:es)? on with\b": "continues with",
}
"""Patterns of all prose, with what to write instead."""

OPENINGS = {
    r"What\b": "name the thing: 'The state ...', 'Returns ...'",
    r"Take\b": "state the effect: 'Emits ...', 'Adds ...'",
    r"Who\b": "name the thing",
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
    for line, text, is_docstring in sorted(_prose(source)):
        if is_docstring:
            first = text.strip().partition("\n")[0]
            for pattern, advice in OPENINGS.items():
                if re.match(pattern, first):
                    yield Fault(path, line, first, advice)
        for offset, row in enumerate(text.split("\n")):
            for pattern, advice in ANYWHERE.items():
                for found in re.finditer(pattern, row):
                    yield Fault(path, line + offset, found[0], advice)


def _prose(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each docstring, message and comment: its line, its text, whether it is a docstring."""
    docstrings: set[ast.AST] = set()
    nodes = [*ast.walk(ast.parse(source))]
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(node.value)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value, node in docstrings
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node in docstrings:
            yield node.lineno, node.value, True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def room_of(path: str) -> str:
    """Return the room of a module, such as `llmcore/client`."""
    return "/".join(path.split("/")[:2])


def main() -> int:
    """Print the faults of all rooms that are checked; with `--all`, of the others too."""
    everything = "--all" in sys.argv[1:]
    waiting: Counter[str] = Counter()
    found = 0
    for module in sorted((ROOT / "llmcore").rglob("*.py")):
        path = module.relative_to(ROOT).as_posix()
        for fault in faults_of(path, module.read_text(encoding="utf-8")):
            if room_of(path) in NOT_YET:
                waiting[room_of(path)] += 1
            else:
                found += 1
            if everything or room_of(path) not in NOT_YET:
                print(fault)
    clean = sorted(NOT_YET - waiting.keys())
    for room in clean:
        print(f"{room} is clean: take it out of NOT_YET in scripts/check_prose.py")
    if waiting:
        print("not checked yet:", ", ".join(f"{room} {n}" for room, n in sorted(waiting.items())))
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
