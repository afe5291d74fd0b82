"""Bodies: sizes, codings, and bytes that are not a JSON object."""

import gzip
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, aclosing

import anyio
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.api import LARGEST_SMALL_BODY, Caller, OperationRequest
from llmcore.bridge.http.request_body import BodyBytes, read_object
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.schema.json import JsonObject
from tests.support.waiting import pass_time

BODY = b'{"model":"m","input":"Hi"}'
VALUE = {"model": "m", "input": "Hi"}
JSON = {"content-type": "application/json"}


async def chunks(pieces: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for piece in pieces:
        yield piece


def uncounted(_count: int) -> None:
    """Let any number of bytes be received."""


async def read(data: bytes, *, limit: int = 1 << 20, **headers: str) -> JsonObject:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with aclosing(chunks([data])) as pieces:
        return await read_object(
            pieces, {**JSON, **named}, limit=limit, seconds=5, received=uncounted
        )


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-15)
    return machine.compress(data) + machine.flush()


CODED = {
    "gzip": gzip.compress(BODY, mtime=0),
    "x-gzip": gzip.compress(BODY, mtime=0),
    "deflate": zlib.compress(BODY),
    "Deflate": raw_deflate(BODY),
    "zstd": zstandard.compress(BODY),
    "identity": BODY,
    "gzip, zstd": zstandard.compress(gzip.compress(BODY, mtime=0)),
}


@pytest.mark.anyio
@pytest.mark.parametrize("encoding", CODED)
async def test_content_codings_of_a_body_are_decoded(encoding: str) -> None:
    """gzip, both forms of deflate, zstd, and two on top of each other."""
    assert await read(CODED[encoding], content_encoding=encoding) == VALUE


@pytest.mark.anyio
@pytest.mark.parametrize("size", [10, 300_000])
async def test_large_bodies_are_read_like_small_ones(size: int) -> None:
    """They go through a thread."""
    body = b'{"input":"' + b"x" * size + b'"}'

    assert await read(body) == {"input": "x" * size}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("data", "headers", "status", "says"),
    [
        (b"{", {}, 400, "byte 1"),
        ('{"é": nope}'.encode(), {}, 400, "byte 7"),
        (b'{"a": "\xff"}', {}, 400, "byte 7: not UTF-8"),
        (b"[1]", {}, 400, "must be a JSON object"),
        (b"", {}, 400, "byte 0"),
        (b"x" * 2000, {}, 413, "1000 bytes"),
        (BODY, {"content_length": "1001"}, 413, "1000 bytes"),
        (BODY, {"content_length": "9" * 5000}, 413, "1000 bytes"),
        (b"x" * 2000, {"content_length": "\u00b2"}, 413, "1000 bytes"),
        (gzip.compress(b" " * 100_000, mtime=0), {"content_encoding": "gzip"}, 413, "1000 bytes"),
        (zlib.compress(b" " * 100_000), {"content_encoding": "deflate"}, 413, "1000"),
        (zstandard.compress(b" " * 100_000), {"content_encoding": "zstd"}, 413, "1000"),
        (b"junk", {"content_encoding": "gzip"}, 400, "not gzip data"),
        (gzip.compress(BODY, mtime=0)[:-9], {"content_encoding": "gzip"}, 400, "too early"),
        (gzip.compress(BODY, mtime=0) + b"x", {"content_encoding": "gzip"}, 400, "follows"),
        (b"junk", {"content_encoding": "deflate"}, 400, "not deflate data"),
        (b"junkjunk", {"content_encoding": "zstd"}, 400, "not zstd data"),
        (zstandard.compress(BODY)[:6], {"content_encoding": "zstd"}, 400, "too early"),
        (BODY, {"content_encoding": "br"}, 415, "'br'"),
        (b'{"temperature": NaN}', {}, 400, "at byte 16"),
        (b'{"temperature": -Infinity}', {}, 400, "not JSON"),
        (b'{"temperature": 1e999}', {}, 400, "not JSON"),
        ('{"input": "x"}'.encode("utf-16"), {}, 400, "not UTF-8"),
        (BODY, {"content_encoding": "gzip, gzip, gzip"}, 415, "more than two"),
        (BODY, {"content_type": "text/plain"}, 415, "text/plain"),
        (BODY, {"content_type": ""}, 415, "not given"),
    ],
)
async def test_invalid_bodies_are_refused_with_their_status_and_place(
    data: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    """With the status that says whose fault it is, and where."""
    with pytest.raises(FrontError, match=says) as caught:
        await read(data, limit=1000, **headers)

    assert caught.value.status == status


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        (
            b'{"half": "\\ud83d", "NaN": "Infinity 1e999"}',
            {"half": "\ud83d", "NaN": "Infinity 1e999"},
        ),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('{"a": "é✓😀"}'.encode(), {"a": "é✓😀"}),
    ],
)
async def test_what_is_unusual_and_json(data: bytes, expected: object) -> None:
    """Long integers keep their digits, lone surrogates stay; a byte order mark is ignored."""
    assert await read(data, limit=1000) == expected


@pytest.mark.anyio
async def test_a_body_that_is_there_has_no_time_limit() -> None:
    received: list[int] = []
    body = await read_object(
        chunks([b'{"model":', b'"m"}']), JSON, limit=1000, seconds=None, received=received.append
    )
    assert body == {"model": "m"}
    assert received == [9, 4]


@pytest.mark.anyio
async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    """408 once its time has run out."""

    async def stalled() -> AsyncGenerator[bytes, None]:
        yield b"{"
        await anyio.sleep(60)

    with pytest.raises(FrontError, match=r"0\.05 seconds are allowed") as caught:
        await read_object(stalled(), JSON, limit=1000, seconds=0.05, received=uncounted)

    assert caught.value.status == 408


@pytest.mark.anyio
async def test_a_large_body_has_longer_to_arrive() -> None:
    """A slow line is waited for: each 8 KiB that arrive add a second."""

    async def slow() -> AsyncGenerator[bytes, None]:
        yield b'{"a": "' + b"x" * 2**20
        pass_time(150)
        await anyio.sleep(0.01)
        yield b'"}'

    body = await read_object(slow(), JSON, limit=2**21, seconds=100, received=uncounted)

    assert body == {"a": "x" * 2**20}


@pytest.mark.parametrize(
    ("size", "large"), [(LARGEST_SMALL_BODY, False), (LARGEST_SMALL_BODY + 1, True)]
)
def test_a_body_of_few_bytes_is_small_without_a_look_at_its_values(size: int, large: bool) -> None:
    """A larger one is counted, as is one of which the size is unknown."""
    request = ClientRequest(body={"input": ["x"] * LARGEST_SMALL_BODY})
    caller = Caller(owner="o", counted_as="o")

    assert OperationRequest(caller=caller, request=request, body_bytes=size).is_large is large
    assert OperationRequest(caller=caller, request=request).is_large


def test_bodies_under_way_are_bounded_for_each_caller_and_for_all() -> None:
    """A caller's share is given back at the end of its response, and never taken from others."""
    bodies = BodyBytes(max_body_bytes=10)
    with bodies.of("a") as first:
        first(80)
        with bodies.of("a") as second, pytest.raises(FrontError, match="large requests") as caught:
            second(1)
        assert caught.value.status == 503
        with ExitStack() as others:
            for name in "bcd":
                others.enter_context(bodies.of(name))(80)
            with bodies.of("e") as last, pytest.raises(FrontError):
                last(1)
    with bodies.of("a") as again:
        again(80)


@pytest.mark.anyio
async def test_what_a_body_unpacks_to_counts() -> None:
    """A small body may be a large one."""
    counted: list[int] = []
    body = b'{"a": "' + b"x" * 100_000 + b'"}'
    await read_object(
        chunks([gzip.compress(body)]),
        {**JSON, "content-encoding": "gzip"},
        limit=1 << 20,
        seconds=5,
        received=counted.append,
    )

    assert sum(counted) == len(body)


@pytest.mark.anyio
async def test_millions_of_values_are_refused() -> None:
    """Each takes two bytes of a body."""
    with pytest.raises(FrontError, match="values") as caught:
        await read(b'{"input": [' + b"1," * 2_000_001 + b"1]}", limit=1 << 24)

    assert caught.value.status == 413


@given(data=st.binary(max_size=200), encoding=st.sampled_from(["", "gzip", "deflate", "zstd"]))
def test_no_bytes_break_the_reader(data: bytes, encoding: str) -> None:
    """Whatever comes is an object or an error of the client's."""

    async def attempt() -> None:
        statuses: list[int] = []
        try:
            await read(data, content_encoding=encoding)
        except FrontError as error:
            statuses.append(error.status)
        assert statuses in ([], [400])

    anyio.run(attempt)
