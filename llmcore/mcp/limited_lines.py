"""The messages of a program, one in a line of its stdout, each within a limit of bytes.

The SDK joins all that arrived of a line with each further piece of it, and has no limit. So the
bytes are given to it by lines, through the encoding that it decodes them with: one whose decoder
returns whole lines. In place of a line that is too large it returns an error for the request that
the line responds to, whose id is at the line's beginning or end.
"""

import codecs
import json
import re
from typing import Final

_NAME: Final = "llmcore_lines_of_"
_EDGE_BYTES: Final = 512
"""How much of both ends of a line is searched for the id."""
_ID: Final = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")'
_ID_FIRST: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_ID_LAST: Final = re.compile(rb',\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*\}\s*$")
_INTERNAL_ERROR: Final = -32603


def encoding_of_lines(max_bytes: int) -> str:
    """Return the name of UTF-8 whose incremental decoder returns lines up to *max_bytes*."""
    return f"{_NAME}{max_bytes}"


class LineDecoder(codecs.IncrementalDecoder):
    """Decodes UTF-8 into whole lines."""

    def __init__(self, max_bytes: int, errors: str = "strict") -> None:
        super().__init__(errors)
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        """The beginning of a line; of one that is too large, its last bytes."""
        self._size = 0
        self._head = b""
        """The first bytes of a line that is too large."""
        self._is_answered = False
        """Whether an error was returned for it already."""

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
        """Return the lines that *data* completes."""
        *lines, rest = data.split(b"\n")
        texts = [self._added(line) + self._ended() for line in lines]
        texts.append(self._added(rest))
        if final and self._size:  # else each read at the end would return a line
            texts.append(self._ended())
        return "".join(texts)

    def reset(self) -> None:
        """Forget the beginning of a line."""
        self._parts, self._size, self._head, self._is_answered = [], 0, b"", False

    def _added(self, data: bytes) -> str:
        """Keep *data* of the current line; return an error once the line is too large."""
        self._size += len(data)
        self._parts.append(data)
        if self._size <= self._max_bytes:
            return ""
        kept = b"".join(self._parts)
        self._head = self._head or kept[:_EDGE_BYTES]
        self._parts = [kept[-_EDGE_BYTES:]]
        return "" if self._is_answered else self._error(_ID_FIRST.match(self._head))

    def _ended(self) -> str:
        line = b"".join(self._parts)
        too_large, answered = self._size > self._max_bytes, self._is_answered
        text = ""
        if not too_large:
            text = line.decode("utf-8", self.errors) + "\n"
        elif not answered:
            text = self._error(_ID_LAST.search(line))
        self.reset()
        return text

    def _error(self, found: re.Match[bytes] | None) -> str:
        """Return a line with the error of the request whose id was *found*."""
        if found is None:
            return ""
        self._is_answered = True
        message = f"the message of the server is larger than the limit of {self._max_bytes} bytes"
        error = {"code": _INTERNAL_ERROR, "message": message}
        response = {"jsonrpc": "2.0", "id": json.loads(found[1]), "error": error}
        return json.dumps(response) + "\n"


def _codec_of(name: str) -> codecs.CodecInfo | None:
    """Return the codec of a *name* that `encoding_of_lines` made."""
    found = re.fullmatch(rf"{_NAME}(\d+)", name)
    if found is None:
        return None
    max_bytes, utf_8 = int(found[1]), codecs.lookup("utf-8")

    class Decoder(LineDecoder):
        def __init__(self, errors: str = "strict") -> None:
            super().__init__(max_bytes, errors)

    return codecs.CodecInfo(utf_8.encode, utf_8.decode, incrementaldecoder=Decoder, name=name)


codecs.register(_codec_of)
