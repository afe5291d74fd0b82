"""Compressed bodies of responses."""

import gzip
import zlib
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.client.http.decompression import MAX_PIECE_BYTES, Inflated
from tests.support.strategies.examples import costly

TEXT = b"It was a bright cold day in April. " * 40


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


BODIES = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "gzip in two members": ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
    "x-gzip": ("x-gzip", gzip.compress(TEXT)),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate without zlib's header": ("deflate", raw_deflate(TEXT)),
}


def inflate(pieces: Sequence[bytes], encoding: str) -> list[bytes]:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def collected() -> list[bytes]:
        return [text async for text in Inflated(body(), encoding)]

    return anyio.run(collected)


@pytest.mark.parametrize("name", BODIES)
@costly
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_where_the_network_cuts_never_shows(name: str, cuts: list[int]) -> None:
    """The text is the same, piece by piece, byte by byte, empty pieces included."""
    encoding, data = BODIES[name]
    edges = sorted([0, *cuts, len(data)])

    assert b"".join(inflate([data[a:b] for a, b in pairwise(edges)], encoding)) == TEXT


def test_no_piece_is_large() -> None:
    """A few bytes that stand for very many come out a little at a time, and all of them."""
    size = 8 * MAX_PIECE_BYTES + 1
    pieces = inflate([gzip.compress(bytes(size))], "gzip")

    assert max(map(len, pieces)) == MAX_PIECE_BYTES
    assert sum(map(len, pieces)) == size


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_empty_body_with_a_coding_is_empty(encoding: str) -> None:
    """Errors often have a header for compression and no body."""
    assert inflate([], encoding) == []
    assert inflate([b""], encoding) == []


@pytest.mark.parametrize(
    ("encoding", "data", "said"),
    [
        ("br", b"x", "'br', which was not requested"),
        ("gzip", b"no gzip at all", "damaged"),
        ("gzip", gzip.compress(TEXT)[:-3], "is incomplete"),
        ("gzip", gzip.compress(TEXT) + b"more", "damaged"),
        ("deflate", zlib.compress(TEXT) + b"more", "bytes after the end"),
    ],
    ids=["another encoding", "not gzip", "cut gzip", "more than gzip", "more than deflate"],
)
def test_what_cannot_be_read(encoding: str, data: bytes, said: str) -> None:
    """It is a ValueError, which the transport makes a NetworkError."""
    with pytest.raises(ValueError, match=said):
        inflate([data], encoding)
