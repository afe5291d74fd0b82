"""Whether a request is the one that was recorded, and if not, how it differs."""

import difflib
import json
from itertools import pairwise

from llmcore.schema.json import JsonValue, canonical, loads_exact
from llmcore.testing.cassette import RecordedRequest

_CONTEXT_LINES = 3
_LONGEST_LINE = 160


def same(recorded: RecordedRequest, sent: RecordedRequest) -> bool:
    """Return whether the two agree in method, URL, headers and canonical JSON body."""
    return (
        recorded.method == sent.method
        and recorded.url == sent.url
        and recorded.headers == sent.headers
        and _canonical(recorded.body) == _canonical(sent.body)
    )


def difference(recorded: RecordedRequest, sent: RecordedRequest) -> str:
    """Return a unified diff of the two, bodies as indented JSON with sorted keys."""
    lines = difflib.unified_diff(
        _lines(recorded), _lines(sent), "recorded", "sent", n=_CONTEXT_LINES, lineterm=""
    )
    return "\n".join(_clipped(list(lines)))


def similarity(recorded: RecordedRequest, sent: RecordedRequest) -> float:
    """Return how much the two have in common, from 0 to 1."""
    return difflib.SequenceMatcher(None, _lines(recorded), _lines(sent), autojunk=False).ratio()


def common_length(first: str, second: str) -> int:
    """Return how many characters the two have in common at their beginnings."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (mine, other) in pairs if mine != other), min(len(first), len(second)))


def _canonical(body: bytes) -> str | bytes:
    value = _json(body)
    return body if value is None else canonical(value)


def _json(body: bytes) -> JsonValue:
    """Return the JSON value of *body*; None if it is not JSON (or null)."""
    try:
        return loads_exact(body.decode())
    except ValueError:
        return None


def _lines(request: RecordedRequest) -> list[str]:
    """Return *request* as text, one fact a line."""
    headers = [f"{name}: {value}" for name, value in sorted(request.headers.items())]
    value = _json(request.body)
    if value is None:
        text = request.body.decode("utf-8", "backslashreplace")
    else:
        text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    return [f"{request.method} {request.url}", *headers, "", *text.split("\n")]


def _clipped(lines: list[str]) -> list[str]:
    """Return the diff's *lines*, of long ones (images) the part where they differ."""
    starts = {}
    for at, (before, after) in enumerate(pairwise(lines)):
        if before[:1] == "-" and after[:1] == "+":
            starts[at] = starts[at + 1] = common_length(before[1:], after[1:])
    return [_clip(line, starts.get(at, 0)) for at, line in enumerate(lines)]


def _clip(line: str, at: int) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    start = max(1, min(at - _LONGEST_LINE // 4, len(line) - _LONGEST_LINE))
    end = start + _LONGEST_LINE
    skipped = f"[{start - 1} characters]..." if start > 1 else ""
    rest = f"...[{len(line) - end} more]" if end < len(line) else ""
    return f"{line[0]}{skipped}{line[start:end]}{rest}"
