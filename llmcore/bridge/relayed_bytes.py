"""The bytes of a relayed response: forwarded to the client, while a copy is read as events.

    upstream ──▶ whole frames ──▶ the client
                      │
                      ├──▶ a run of deltas of one text ──▶ joined, one event ──┐
                      └──▶ all other frames ──────────────────────────────────▶ the call

Nearly all events of a stream only add text to an open segment. Once the call has read one such
event, those that extend the same text are forwarded without being decoded. Their texts are
collected, and before the next other frame the call reads one event with all of them, so that its
response is the same in the end. Only whole frames are forwarded, so that an error or a heartbeat
can be sent between two of them.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self, TypeAlias

import msgspec
from attrs import define, field

from llmcore.client.transport import Chunks, Exchange, WrappedExchange
from llmcore.protocols.protocol import DeltaForm, TextReader
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import SEGMENT_DELTAS, LLMEvent

_BLANK_LINES: Final = (b"\n\n", b"\n\r\n", b"\r\r")
"""How a frame ends: with two line ends, each LF, CRLF or CR."""
_EDGE: Final = 2
"""How many bytes of a blank line may have come before its last one."""
_LF: Final = ord("\n")
"""An integer, for `b"\\n" in payload` raises and clears an exception inside."""
_FIRST_ERROR: Final = 300
_SHOWN: Final = re.compile(
    r"(anthropic-ratelimit-.+|x-ratelimit-.+|retry-after(-ms)?|x-should-retry"
    r"|openai-(processing-ms|version))$"
)
"""Headers that a client of the same API can use."""


Renamed: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Returns an event or a whole response with the client's name of the model, None for one without
a name."""

# -- runs of deltas


@define(eq=False)
class _Run:
    """Consecutive frames that extend one text."""

    form: DeltaForm
    prefix: bytes
    """The bytes of each frame before its payload."""
    end: bytes
    """The blank line that ends each frame."""
    read: TextReader
    last: bytes
    """The payload of the last frame."""
    texts: list[str] = field(factory=list)
    """The texts that the call has not read yet."""

    def take(self, frames: bytes) -> int:
        """Collect the texts of the first *frames*, up to one of another kind; return their size."""
        prefix, end = self.prefix, self.end
        start, stop = len(prefix), len(frames) - len(end)
        if frames[:start] != prefix or frames[stop:] != end:
            return 0
        payloads = frames[start:stop].split(end + prefix)
        read, texts = self.read, self.texts
        taken = 0
        for payload in payloads:
            text = None if _LF in payload else read(payload)
            if not text:
                break
            texts.append(text)
            self.last = payload
            taken += 1
        if taken == len(payloads):
            return len(frames)
        return taken * (len(prefix) + len(end)) + len(b"".join(payloads[:taken]))

    def joined(self) -> bytes:
        """Return one frame with all collected texts, and drop these; empty if there are none."""
        if not self.texts:
            return b""
        event: Any = json.loads(self.last)
        self.form.with_text(event, "".join(self.texts))
        self.texts = []
        return self.prefix + json.dumps(event) + self.end


def _run_after(frames: bytes, form: DeltaForm) -> _Run | None:
    """Return the run that the last of *frames* begins; None if it is not a delta."""
    end = _blank_line_of(frames)
    if not frames.endswith(end):
        return None
    before = frames.rfind(end, 0, -len(end))
    frame = frames[0 if before < 0 else before + len(end) : -len(end)]
    head, mark, payload = frame.partition(b"data: ")
    read = form.reader(payload) if mark and _LF not in payload else None
    return None if read is None else _Run(form, head + mark, end, read, payload)


def _blank_line_of(frames: bytes) -> bytes:
    """Return how the last of *frames* ends, if it ends as those of nearly all servers."""
    return b"\r\n\r\n" if frames.endswith(b"\r\n\r\n") else b"\n\n"


# -- frames of usage

_NO_CHOICES: Final = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_FRAME: Final = re.compile(rb".+?(?:\n\n|\n\r\n|\r\r|\Z)", re.DOTALL)


def _is_usage(frame: bytes) -> bool:
    """Return whether a chunk of Chat Completions has the usage of the stream, and no choice."""
    chunk = object_in(_data_of(frame))
    return chunk.get("choices") == [] and isinstance(chunk.get("usage"), Mapping)


def _data_of(frame: bytes) -> bytes:
    return frame.partition(b"data:")[2]


def object_in(data: bytes) -> dict[str, Any]:
    """Return the JSON object that *data* is; an empty one for data of another form."""
    try:
        document = json.loads(data)
    except ValueError:  # the client gets it as it is
        return {}
    return document if isinstance(document, dict) else {}


# -- the bytes


class RelayedBytes:
    """The bytes of one response, as they are read, for the client and for the call."""

    _next_chunk: Callable[[], Awaitable[bytes]]

    def __init__(
        self,
        route: Route[Any],
        *,
        streamed: bool,
        hides_usage: bool = False,
        renamed: Renamed | None = None,
        encode: Callable[[dict[str, Any]], bytes] = json.dumps,
    ) -> None:
        """With *hides_usage*, frames of nothing but a chat's usage are not for the client.

        The first event of which *renamed* returns another one is sent as that, as *encode* does.
        """
        self._hides_usage = hides_usage
        self._renamed = renamed
        self._encode = encode
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.exhausted = False
        """Whether the upstream has sent all bytes."""
        self._streamed = streamed
        framing = route.framing
        self._form = route.protocol.stream.deltas if framing.id == "sse" else None
        self._max_frame_bytes = framing.max_frame_bytes
        self._max_bytes = route.defaults.max_response_bytes
        self._request: HttpRequest | None = None
        """The request of an error response, which may quote it."""
        self._begin()

    def _begin(self) -> None:
        self.exhausted = False
        self._renames = self._renamed if self._streamed else None
        """Renames the model of an event; None once that is done, or where no event is renamed."""
        self._received = 0
        self._cuts = False
        """Whether the bytes are cut into whole frames."""
        self._held = bytearray()
        """The beginning of a frame that is not complete yet."""
        self._unsent: list[bytes] = []
        self._unread: list[tuple[bytes, bytes]] = []
        """Bytes that the call reads before further chunks, each with the bytes for the client."""
        self._failure: LLMError | None = None
        self.run: _Run | None = None
        """The run whose frames are forwarded undecoded; None while the call reads all frames."""
        self._seeks_delta = self._streamed and self._form is not None
        """Whether nothing with content was sent yet."""
        self._limited = False
        """Whether the transport applies the time limit of each read, instead of the call."""

    def of(self, exchange: Exchange, request: HttpRequest) -> Exchange:
        """Return an exchange that reads *exchange* and keeps its bytes here."""
        self._begin()
        self.status, self.headers = exchange.status, exchange.headers
        self._cuts = self._streamed and self.status < _FIRST_ERROR
        self._request = request if self.status >= _FIRST_ERROR else None
        return _CopiedExchange(exchange, self)

    # -- for the client

    def take(self) -> bytes:
        """Return the bytes that were read since the last call; of a stream, whole frames."""
        if len(self._unsent) == 1:
            return self._unsent.pop()
        data, self._unsent = b"".join(self._unsent), []
        return data

    def take_last(self) -> bytes:
        """Return what `take` returns, followed by an incomplete frame."""
        held, self._held = self._shown(bytes(self._held)), bytearray()
        return self.take() + held

    def discard(self) -> None:
        """Free the bytes that were not sent: a failure's traceback may keep this for a while."""
        self._held, self._unsent, self._unread = bytearray(), [], []

    def _shown(self, frames: bytes) -> bytes:
        """Return *frames* as they are for the client, without those that are not."""
        if self._renames is not None and self._cuts:
            frames = b"".join(map(self._with_name, _FRAME.findall(frames)))
        if not self._hides_usage or _NO_CHOICES.search(frames) is None:
            return frames
        return b"".join(frame for frame in _FRAME.findall(frames) if not _is_usage(frame))

    def _with_name(self, frame: bytes) -> bytes:
        """Return *frame*, with the client's name of the model if it is the first that has one."""
        if self._renames is None:
            return frame
        renamed = self._renames(object_in(_data_of(frame)))
        if renamed is None:
            return frame
        self._renames = None
        return self._encode(renamed)

    def take_error(self) -> bytes:
        """Return the body of an error, without the gateway's credentials if it quotes them."""
        data = self.take_last()
        for secret in () if self._request is None else self._request.secrets:
            data = data.replace(secret.encode(), b"[redacted]")
        return data

    @property
    def content_type(self) -> str:
        """The content type of the response."""
        return self.headers.get("content-type", "application/octet-stream")

    @property
    def shown_headers(self) -> Mapping[str, str]:
        """The headers that a client of the same API can use."""
        return {name: value for name, value in self.headers.items() if _SHOWN.match(name)}

    # -- frames that are forwarded undecoded

    def follow(self, sent: bytes, last: LLMEvent) -> None:
        """Begin a run if *last*, the event of the last frame of *sent*, is a delta."""
        form, self._seeks_delta = self._form, False
        is_next = not (self._unread or self.exhausted)
        begins = form is not None and is_next and self._limited and type(last) in SEGMENT_DELTAS
        self.run = _run_after(sent, form) if form is not None and begins else None

    async def pass_on(self) -> bytes:
        """Return the next frames that belong to the run; the call reads the frames after them.

        Empty without a run, at the end, after a failure, and if none of the frames belongs to it.
        """
        run = self.run
        if run is None:
            return b""
        try:
            frames = self._frames(await self._next_chunk())
        except StopAsyncIteration:
            frames = self._rest()
        except LLMError as error:
            self._failure = error
            frames = b""
        size = run.take(frames)
        if frames and size == len(frames):
            return frames
        rest = frames[size:]
        self._unread.append((run.joined() + rest, b"" if self.exhausted else rest))
        self.run = None
        return frames[:size]

    def flush_run(self) -> bool:
        """Have the call read next what has come of texts; return whether it has not read all."""
        if self.run is not None and (joined := self.run.joined()):
            self._unread.append((joined, b""))
        return any(self._delta_in(data) is not None for data, _ in self._unread)

    # -- for the call

    def limited(self, limited: bool) -> bool:
        """Record whether the transport limits each read, and return it."""
        self._limited = limited
        return limited

    def copied(self, chunks: Chunks) -> Chunks:
        """Return an iterator over the bytes that the call reads, from *chunks* and runs."""
        self._next_chunk = chunks.__anext__
        return _CopiedChunks(self, chunks)

    @property
    def holds_nothing(self) -> bool:
        """Whether the call has read everything that was received."""
        return not (self._unread or self._held)

    async def next_read(self) -> bytes:
        """Return the next bytes that the call reads; StopAsyncIteration after the last."""
        if self._unread:
            data, sent = self._unread.pop(0)
            self._unsent.append(self._shown(sent))
            return data
        if self._failure is not None:
            raise self._failure
        if self.exhausted:
            raise StopAsyncIteration
        try:
            data = self._frames(await self._next_chunk())
        except StopAsyncIteration:
            if rest := self._rest():
                return rest
            raise
        if self._seeks_delta and (size := self._delta_in(data)) is not None:
            self._seeks_delta = False
            if rest := data[size:]:
                self._unread.append((rest, rest))
                data = data[:size]
        self._unsent.append(self._shown(data))
        return data  # even if empty: the call limits the time of a frame that never ends

    def _delta_in(self, frames: bytes) -> int | None:
        """Return how many bytes of *frames* end with the first delta; None without a delta.

        It is sent before what came with it is read, which can be the rest of the stream.
        """
        form, blank, begin = self._form, _blank_line_of(frames), 0
        while form is not None and (end := frames.find(blank, begin)) >= 0:
            payload = frames[begin:end].partition(b"data: ")[2]
            begin = end + len(blank)
            if payload and _LF not in payload and form.reader(payload) is not None:
                return begin
        return None

    def _rest(self) -> bytes:
        """Return the incomplete frame at the end of the bytes; `take_last` returns it, too."""
        self.exhausted = True
        return bytes(self._held)

    def _frames(self, chunk: bytes) -> bytes:
        """Return the frames that *chunk* completes; StreamError once there are too many bytes."""
        self._received += len(chunk)
        if self._received > self._max_bytes:
            message = f"the response is larger than {self._max_bytes} bytes"
            raise StreamError(message, retryable=False)
        held = self._held
        if not (self._cuts and (held or not chunk.endswith(_BLANK_LINES))):
            return chunk
        searched = max(len(held) - _EDGE, 0)
        held += chunk
        places = [(held.rfind(mark, searched), len(mark)) for mark in _BLANK_LINES]
        end = max(place + size if place >= 0 else 0 for place, size in places)
        if not end and len(held) > self._max_frame_bytes:
            message = f"a server-sent event has more than {self._max_frame_bytes} bytes"
            raise StreamError(message, retryable=False)
        frames = bytes(held[:end])
        del held[:end]
        return frames


class _CopiedChunks(msgspec.Struct, frozen=True):
    """The chunks of a response, whose bytes are kept as they are read."""

    copy: RelayedBytes
    inner: Chunks

    def __aiter__(self) -> Self:
        return self

    def at_end(self) -> bool:
        """Return whether the next read ends the iteration, without a wait."""
        at_end = getattr(self.inner, "at_end", None)
        return at_end is not None and self.copy.holds_nothing and bool(at_end())

    async def __anext__(self) -> bytes:
        return await self.copy.next_read()

    async def aclose(self) -> None:
        await self.inner.aclose()


class _CopiedExchange(WrappedExchange):
    """An exchange whose bytes are kept as they are read."""

    def __init__(self, inner: Exchange, copy: RelayedBytes) -> None:
        super().__init__(inner)
        self._copy = copy

    def limit_reads(self, seconds: float | None, /) -> bool:
        return self._copy.limited(super().limit_reads(seconds))

    def chunks(self) -> Chunks:
        return self._copy.copied(super().chunks())
