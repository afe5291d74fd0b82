"""Reading a request's body: within limits, decompressed, as a JSON object."""

import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import nullcontext
from functools import partial

import anyio
import msgspec
import orjson

from llmcore.client.large_requests import run_in_thread_if
from llmcore.fronts.errors import FrontError, invalid, overloaded
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

_THREAD_ABOVE_BYTES = 1024 * 1024
"""Larger bodies are parsed in a thread, as compressed ones are, so that streams are not held up."""
_THREAD_ABOVE_VALUES = 20_000
"""Bodies with more values than this are parsed in a thread, too."""
_UNCOUNTED_BYTES = 200 * 1024
"""Smaller bodies are parsed within a few milliseconds, whatever they hold."""

LEAST_BYTES_PER_S = 8 * 1024
"""A body that comes more slowly is given up, as by the MinRate of Apache's RequestReadTimeout."""

_MAX_WINDOW_BYTES = 64 * 1024 * 1024
"""Memory that a zstd frame may ask for."""

_MAX_CONTAINERS = 250_000
"""The most objects and lists in a body. An empty one takes two bytes there, sixty in memory."""
_MAX_VALUES = 2_000_000
"""Members of all of them together, which take two bytes each, and up to thirty times the memory."""

_ENCODINGS = ("gzip", "deflate", "zstd")


class BodyBytes:
    """Counts the bytes of bodies that are being received or answered, of each caller and of all.

    All together may hold 32 of the largest bodies, and one caller a quarter of that, so that no
    caller uses the others' memory, or all of the machine's with well-compressed bodies.
    """

    def __init__(self, max_body_bytes: int) -> None:
        self._most = 32 * max_body_bytes
        self._most_of_one = 8 * max_body_bytes
        self._total = 0
        self._of: dict[str, int] = {}

    def of(self, caller: str) -> "HeldBytes":
        """Return the count of the bytes of one request of *caller*."""
        return HeldBytes(self, caller)

    def add(self, caller: str, count: int) -> None:
        """Count further bytes of *caller*; FrontError, 503, where it is too much."""
        self._total += count
        mine = self._of[caller] = self._of.get(caller, 0) + count
        if mine > self._most_of_one or self._total > self._most:
            raise overloaded("too many large requests are under way")

    def release(self, caller: str, count: int) -> None:
        """Stop counting so many bytes of *caller*."""
        self._total -= count
        remaining = self._of.pop(caller, 0) - count
        if remaining:
            self._of[caller] = remaining


class HeldBytes:
    """The bytes of one request, which are counted until they are released."""

    def __init__(self, all_bytes: BodyBytes, caller: str) -> None:
        self._all = all_bytes
        self._caller = caller
        self.count = 0
        """How many there are, decompressed."""
        self._counted = 0

    def __enter__(self) -> Callable[[int], None]:
        return self.add

    def __exit__(self, *_exc: object) -> None:
        self.release()

    def release(self) -> None:
        """Stop counting the bytes. Idempotent."""
        self._all.release(self._caller, self._counted)
        self._counted = 0

    def add(self, count: int) -> None:
        """Count further bytes; FrontError, 503, where it is too much."""
        self.count += count
        self._counted += count
        self._all.add(self._caller, count)


async def read_object(
    chunks: AsyncIterator[bytes],
    headers: Mapping[str, str],
    *,
    limit: int,
    seconds: float | None,
    received: Callable[[int], None],
    threads: anyio.CapacityLimiter | None = None,
) -> JsonObject:
    """Return the JSON object that the body spells, telling *received* of its bytes.

    *threads* limits how many large bodies are read at once. Without *seconds* it may take any time
    to arrive, as where it has arrived already.

    Raises FrontError: 408 if it takes more than *seconds* to arrive, and one more for each 8 KiB
    that have arrived, 413 if it is larger than *limit* bytes (also decompressed), 415 for a content
    type or coding that we do not read, 400 for anything but a JSON object.
    """
    encodings = _encodings(headers)
    _check_type(headers)
    data = await _received(chunks, headers, limit, seconds, received)
    if encodings:
        packed = data
        data = await run_in_thread_if(
            partial(_decompressed, packed, encodings, limit), large=True, limiter=threads
        )
        received(max(0, len(data) - len(packed)))
    return await run_in_thread_if(partial(_parsed, data), large=_is_long(data), limiter=threads)


async def parsed_message(text: str | None) -> JsonObject:
    """Return the JSON object that a message of a WebSocket spells; None is a binary message.

    Raises FrontError, 400 or 413, for anything else.
    """
    if text is None:
        raise invalid("messages must be text, and this one is binary", code="invalid_json")
    data = text.encode()
    return await run_in_thread_if(partial(_parsed, data), large=_is_long(data))


def _is_long(data: bytes) -> bool:
    """Return whether parsing *data* takes more than a few milliseconds."""
    return len(data) > _THREAD_ABOVE_BYTES or (
        len(data) > _UNCOUNTED_BYTES and data.count(b",") > _THREAD_ABOVE_VALUES
    )


def _check_type(headers: Mapping[str, str]) -> None:
    given = headers.get("content-type", "")
    if given == "application/json":
        return
    kind = given.partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        instead = f"not {kind[:80]!r}" if kind else "which was not given"
        raise FrontError(
            status=415,
            code="unsupported_content_type",
            message=f"the content type must be application/json, {instead}: send the header "
            "content-type: application/json",
        )


def _encodings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings in the order in which they were applied."""
    header = headers.get("content-encoding")
    if header is None:
        return ()
    listed = header.lower().split(",")
    names = tuple(name.strip().removeprefix("x-") for name in listed)
    encodings = tuple(name for name in names if name not in ("", "identity"))
    if unknown := [name for name in encodings if name not in _ENCODINGS]:
        message = f"content-encoding {unknown[0][:40]!r} is not one of {', '.join(_ENCODINGS)}"
    elif len(encodings) > 2:
        message = "more than two content codings"
    else:
        return encodings
    raise FrontError(status=415, code="unsupported_content_encoding", message=message)


async def _received(
    chunks: AsyncIterator[bytes],
    headers: Mapping[str, str],
    limit: int,
    seconds: float | None,
    received: Callable[[int], None],
) -> bytes:
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    with nullcontext() if seconds is None else anyio.move_on_after(seconds) as scope:
        async for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if scope is not None:
                scope.deadline += len(chunk) / LEAST_BYTES_PER_S
            received(len(chunk))
            if size > limit:
                raise _too_large(limit)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    raise FrontError(
        status=408,
        code="request_timeout",
        message=f"the body did not arrive in time: {size} bytes of it came, and {seconds:g} "
        "seconds are allowed, with one more for each 8 KiB",
    )


def _decompressed(data: bytes, encodings: tuple[str, ...], limit: int) -> bytes:
    for encoding in reversed(encodings):
        data = _without(data, encoding, limit)
    return data


def _without(data: bytes, encoding: str, limit: int) -> bytes:
    """Return *data* without its coding; never more than *limit* bytes of it are made."""
    try:
        plain = _unzstd(data, limit) if encoding == "zstd" else _inflate(data, encoding, limit)
    except (zlib.error, EOFError, ValueError) as error:
        message = f"the body is not {encoding} data: {error}"
        raise invalid(message, code="invalid_compression") from error
    if len(plain) > limit:
        raise _too_large(limit)
    return plain


def _inflate(data: bytes, encoding: str, limit: int) -> bytes:
    """Undo gzip, or deflate in either of the forms that clients send (RFC 9110, 8.4.1.2)."""
    if encoding == "gzip":
        window = 16 + zlib.MAX_WBITS
    else:
        zlib_form = len(data) > 1 and data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
        window = zlib.MAX_WBITS if zlib_form else -zlib.MAX_WBITS
    machine = zlib.decompressobj(window)
    plain = machine.decompress(data, limit + 1)
    if not machine.eof and len(plain) <= limit:
        raise EOFError("it ends too early")
    if machine.unused_data:
        raise ValueError("something follows it")
    return plain


def _unzstd(data: bytes, limit: int) -> bytes:
    import zstandard

    machine = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    try:
        with machine.stream_reader(data, read_across_frames=True) as reader:
            plain = reader.read(limit + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if not plain and data:
        raise EOFError("it ends too early")
    return plain


def _parsed(data: bytes) -> JsonObject:
    if len(data) > _MAX_CONTAINERS:  # fewer bytes hold fewer of each
        brackets = data.count(b"[") + data.count(b"{")
        _check_count(brackets, _MAX_CONTAINERS, "objects and lists", "brackets")
        _check_count(data.count(b","), _MAX_VALUES, "values", "commas")
    try:
        value = _strictly(data)
    except ValueError as error:
        raise _not_json(data, error) from error
    if not isinstance(value, dict):
        raise invalid("the body must be a JSON object", code="invalid_json")
    return value


def _check_count(count: int, limit: int, things: str, signs: str) -> None:
    if count > limit:
        raise FrontError(
            status=413,
            code="body_too_large",
            message=f"the body has more than {limit} {things}, counting the {signs} in its texts; "
            "that is the limit here",
        )


def _strictly(data: bytes) -> JsonValue:
    """Return the JSON in *data*; ValueError for NaN and infinities, which are not JSON."""
    try:
        value: JsonValue = msgspec.json.decode(data)
    except (ValueError, RecursionError):  # also for halves of emoji, and long integers
        value = json.loads_exact(data.decode("utf-8-sig"))
    return value


def _not_json(data: bytes, error: ValueError) -> FrontError:
    """Return the error of a body that is not JSON, with the byte where it stops being that."""
    position, reason = _first_fault(data, error)
    return invalid(f"the body is not JSON at byte {position}: {reason}", code="invalid_json")


def _first_fault(data: bytes, error: ValueError) -> tuple[int, str]:
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return fault.start, "not UTF-8"
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        return len(fault.doc[: fault.pos].encode()), fault.msg
    return 0, str(error)


def _too_large(limit: int) -> FrontError:
    return FrontError(
        status=413,
        code="body_too_large",
        message=f"the body is larger than {limit} bytes, which is the limit here",
    )
