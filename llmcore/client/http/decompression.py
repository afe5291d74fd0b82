"""Compressed bodies, read as they come: never much more at once than was asked for."""

import zlib
from collections.abc import AsyncIterable, Iterator
from typing import Self

MAX_PIECE_BYTES = 256 * 1024
"""Pieces are no larger, so that whoever limits a body can stop in the middle of a piece of it."""

_GZIP = frozenset({"gzip", "x-gzip"})
_KNOWN = _GZIP | {"deflate"}


class Inflated:
    """*body*, decompressed: each piece as soon as it can be read. ValueError for what it cannot be.

    An empty body is nothing, compressed or not. After an error, reading on reads the rest of *body*
    alone, so that the generators below it can be run to their end.
    """

    def __init__(self, body: AsyncIterable[bytes], encoding: str) -> None:
        self._body = aiter(body)
        self._inflater = _Inflater(encoding)
        self._texts: Iterator[bytes] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while (text := next(self._texts, None)) is None:
            try:
                piece = await anext(self._body)
            except StopAsyncIteration:
                self._inflater.end()
                raise
            self._texts = self._inflater.texts(piece)
        return text


class _Inflater:
    """What a compressed body says. One of gzip may have several members (RFC 1952, 2.2)."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._member: zlib._Decompress | None = None
        self._began = False

    def texts(self, data: bytes) -> Iterator[bytes]:
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
        """Raise ValueError if the body should have gone on."""
        if self._member is not None:
            raise ValueError("the compressed body ends too early")

    def _new_member(self, data: bytes) -> "zlib._Decompress":
        if self._encoding not in _KNOWN:
            raise ValueError(f"the body is compressed by {self._encoding!r}, not asked for")
        if self._began and self._encoding not in _GZIP:
            raise ValueError("there is more after the end of the compressed body")
        self._began = True
        if self._encoding in _GZIP:
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        # Some servers leave out zlib's header, whose first byte names the method, 8.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)
