"""Decompresses bodies incrementally, in pieces of bounded size."""

import zlib
from collections.abc import AsyncIterable, Iterator, Mapping
from typing import Self

MAX_PIECE_BYTES = 256 * 1024
"""The largest decompressed piece, so that a limit on a body can stop a decompression bomb."""

_GZIP = frozenset({"gzip", "x-gzip"})
_KNOWN = _GZIP | {"deflate"}
_COMPRESSIONS = _KNOWN | {
    "br",
    "zstd",
    "compress",
    "x-compress",
    "dcb",
    "dcz",
    "exi",
    "pack200-gzip",
}
"""Those among the content codings that IANA has registered (RFC 9110, 16.6.1)."""


def compression_of(headers: Mapping[str, str]) -> str:
    """Return how a body with *headers* is compressed, such as `gzip`; empty if it is not.

    Names of other things than compressions are left out, as browsers and other clients do: servers
    state `identity` beside another name, or the charset.
    """
    listed = headers.get("content-encoding")
    if not listed:
        return ""
    named = (name.strip() for name in listed.lower().split(","))
    return ", ".join(name for name in named if name in _COMPRESSIONS)


class Inflated:
    """Iterates over *body*, decompressed. Raises ValueError if it is damaged.

    An empty body is valid. After an error, iteration only drains *body*, so that the generators
    below it can run to their end.
    """

    def __init__(self, body: AsyncIterable[bytes], encoding: str) -> None:
        self._body = aiter(body)
        self._inflater = _Inflater(encoding)
        self._decompressed: Iterator[bytes] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while (text := next(self._decompressed, None)) is None:
            try:
                piece = await anext(self._body)
            except StopAsyncIteration:
                self._inflater.end()
                raise
            self._decompressed = self._inflater.feed(piece)
        return text


class _Inflater:
    """Decompresses one body. A gzip body may have several members (RFC 1952, 2.2)."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._member: zlib._Decompress | None = None
        self._began = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress *data*, piece by piece."""
        more = bool(data)
        while more:
            member = self._member = self._member or self._new_member(data)
            try:
                text = member.decompress(data, MAX_PIECE_BYTES)
            except zlib.error as error:
                raise ValueError(f"the compressed body is damaged: {error}") from error
            if text:
                yield text
            data = member.unused_data if member.eof else member.unconsumed_tail
            more = bool(data) or (len(text) == MAX_PIECE_BYTES and not member.eof)
            if member.eof:
                self._member = None

    def end(self) -> None:
        """Raise ValueError if the compressed body is incomplete."""
        if self._member is not None:
            raise ValueError("the compressed body is incomplete")

    def _new_member(self, data: bytes) -> "zlib._Decompress":
        if self._encoding not in _KNOWN:
            raise ValueError(
                f"the body has the content encoding {self._encoding!r}, which was not requested"
            )
        if self._began and self._encoding not in _GZIP:
            raise ValueError("there are bytes after the end of the compressed body")
        self._began = True
        if self._encoding in _GZIP:
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        # Some servers omit zlib's header, whose first byte has the method (8) in its low bits.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
