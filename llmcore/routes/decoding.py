"""Decodes the bytes of one response to events: framing, protocol and folds in sequence.

The client, the cassettes and `decode_recorded` all read responses with `ResponseDecoder`. While a
stream is one text, as most are to their end, `routes.one_text` turns its frames into complete
events, without states and without `SegmentFold`. After that, a streamed byte takes one of two
paths, nearly always the fast one:

    chunk ──▶ framing.feed ──▶ frames ──▶ FastReader.read ──▶ texts ──▶ texts of the segment, deltas
                                 │          │ the first one that may do more
                                 │          ▼
                                 └────▶ decode ─▶ step ─▶ SegmentFold.feed ─────▶ events
                                        native    events   joined text,              │
                                        event     of the   ToolCall,                 ▼
                                                  protocol closed segments  Accumulator.feed
                                                                            (not for deltas: it
                                                                            shares their list)

After each step, the state machine may return a `FastReader` for its new state. It reads the frames
that only continue the open segment; the state after them is computed when another frame needs it.
A step whose one event is an ordinary delta takes `SegmentFold.append`, and nothing after it.
`halt` returns the last events after the terminal native event or the last byte. Any failure becomes
one `ErrorEvent`, after which nothing is read. A response that was not streamed goes through
`Protocol.whole` instead of framing, `decode` and `step`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.folds.response import Accumulator
from llmcore.folds.segments import SegmentFold, deltas
from llmcore.protocols.failures.errors import error_from_response
from llmcore.protocols.protocol import FastReader, Frame, Protocol
from llmcore.protocols.response_parts import CompleteEvents
from llmcore.protocols.tools import fit_tool_names
from llmcore.routes.framing import FrameDecoder, Framing, is_streamed
from llmcore.routes.one_text import OneText
from llmcore.routes.response_facts import FILLED, ResponseContext, ResponseFacts
from llmcore.routes.unreadable_bytes import (
    QUOTED_BYTES,
    is_plain_text,
    looks_streamed,
    unreadable_error,
)
from llmcore.schema import json
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.event_base import attach_native
from llmcore.schema.events import (
    SEGMENT_DELTAS,
    SEGMENT_STARTS,
    ErrorEvent,
    Finish,
    LLMEvent,
    TextDelta,
    TextStart,
)
from llmcore.schema.json import JsonValue, ProviderMetadata
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.tracebacks import remove_own_frames

_UNREPRESENTABLE: Final = (LLMError, RecursionError)
"""Raised for JSON that no value can hold, such as excessive nesting."""

_AT_ONCE = 64
"""So many frames at most are copied for a `FastReader`, which may read only the first."""


class ResponseDecoder:
    """Decodes one response. The events of any input end with exactly one terminal event."""

    def __init__(
        self,
        protocol: Protocol[Any, Any, Any],
        framing: Framing,
        request: LLMRequest,
        context: ResponseContext | None = None,
        accumulator: Accumulator | None = None,
        *,
        raw: bool = False,
    ) -> None:
        """Prepare to decode the response to *request*.

        With *raw*, each event has its native frame, and the response its native document, or the
        list of its frames if it was streamed.
        """
        self._machine = protocol.stream
        self._whole = protocol.whole
        self._framing = framing
        self._native: list[JsonValue] | None = [] if raw else None
        """The native frames so far; None unless *raw*."""
        fitted = fit_tool_names(request, protocol.tool_names)
        self._request = fitted.request
        self._facts = ResponseFacts(
            request, fitted.originals, context or ResponseContext(), self._native
        )
        self._begun = False
        """Whether the first bytes of a stream have arrived."""
        self._text: OneText | None = None
        """Reads a stream as long as it is one text; None once the state machine reads it."""
        self._state: Any = None
        """The state of the state machine, once it reads the stream."""
        self._frames: FrameDecoder
        """Splits the bytes of a stream into frames; set when the first bytes arrive."""
        self._head = b""
        """The first bytes of a stream, until it has a frame."""
        self._last: Frame | None = None
        """The last frame with content."""
        self._segments = SegmentFold()
        self._run: tuple[FastReader, list[str]] | None = None
        """The reader of frames that only continue an open segment, and that segment's chunks."""
        self.accumulator = accumulator or Accumulator()
        """The response so far."""
        self.ended = False
        """Whether the terminal event was returned; nothing is read after it."""
        self.until_delta = False
        """Whether `feed` returns at the first delta; the next call reads what came with it. The
        beginning of a stream often comes in one chunk with more of it, even all."""
        self._kept: Sequence[Frame] = ()
        """The frames after the first delta, until `feed` is called again."""

    @property
    def cursor(self) -> ProviderMetadata:
        """The position from which the server can stream the rest of the response, or empty."""
        if self._machine.cursor is None or self._last is None:
            return {}
        self._take_over()
        if self._state is None:  # of a stream that is one text, and complete
            return {}
        return self._machine.cursor(self._state, self._machine.decode(self._last))

    def resume(self, framing: Framing) -> None:
        """Continue a response that was cut with the bytes of its rest, in the same fold."""
        self._framing = framing
        self._frames = framing.new_decoder()
        self.accumulator.resume()
        self.ended = False

    @property
    def finished(self) -> bool:
        """Whether the response is complete and without an error."""
        return self.ended and self.accumulator.finished

    @property
    def partial(self) -> LLMResponse:
        """The response so far."""
        return self.accumulator.partial

    def feed(self, chunk: bytes) -> list[LLMEvent]:
        """Return the events that *chunk* completes."""
        if not self._begun:
            self._begin()
        if self._last is None and len(self._head) < QUOTED_BYTES:
            self._head += chunk[:QUOTED_BYTES]
        try:
            frames: Sequence[Frame] = self._frames.feed(chunk) if chunk else ()
        except LLMError as error:
            return self.fail(error)
        if self._native is not None:
            return self._read_raw(frames, self._native)
        if self._kept:
            frames, self._kept = (*self._kept, *frames), ()
        return self._read_to_delta(frames) if self.until_delta else self._read(frames)

    @property
    def keeps_frames(self) -> bool:
        """Whether `feed` has kept frames, which it reads with the next chunk, even an empty one."""
        return bool(self._kept)

    def end(self) -> list[LLMEvent]:
        """Return the last events, after the last byte."""
        if self.ended:
            return []
        if not self._begun:
            self._begin()
        try:
            frames = self._frames.close()
            native = self._native
            events = self._read(frames) if native is None else self._read_raw(frames, native)
        except LLMError as error:
            return self.fail(error)
        if not self.ended and self._last is None and is_plain_text(self._head, self._framing):
            events += self.fail(unreadable_error(self._head, ValueError("there are no events")))
        if not self.ended:
            events += self._halted()
        if not self.ended:
            events += self.fail(StreamError("the stream ended before the response was complete"))
        return events

    def _begin(self) -> None:
        self._begun = True
        self._frames = self._framing.new_decoder()
        one_text = self._machine.one_text
        if one_text is None or self._native is not None:
            self._state = self._machine.initial(self._request)
        else:
            self._text = OneText(one_text, self._request)

    def whole(self, body: bytes) -> list[LLMEvent]:
        """Return the events of a response that was not streamed.

        Some servers stream with the content type of JSON, in events or in lines, or end a document
        with `data: [DONE]`.
        """
        try:
            document = json.loads(body)
        except ValueError as error:
            if (valid := self._as_utf8(body)) is not None:
                return self.whole(valid)
            if looks_streamed(body, self._framing):
                return [*self.feed(body), *self.end()]
            return self.fail(unreadable_error(body, error))
        try:
            bare = self._whole(document, self._request)
            if isinstance(bare, CompleteEvents):
                events = self._collected(bare)
            else:
                events = self._completed(bare)
        except _UNREPRESENTABLE as error:
            events = self.fail(unreadable_error(body, error))
        if not self.ended:
            events += self.fail(StreamError("the body holds no response", raw=document))
        if self._native is not None:
            attach_native(events, document)
        return events

    def keep_usage(self) -> None:
        """Keep the tokens that the server has counted so far, if the end has not come."""
        if self.ended or not self._begun or self._machine.usage is None:
            return
        self._update_state()
        self.accumulator.keep_usage(self._machine.usage(self._state))

    def fail(self, error: LLMError) -> list[LLMEvent]:
        """End the stream with *error*, whose `partial` is set to the response so far."""
        remove_own_frames(error)  # they hold the response, of which the error becomes a part
        return [] if self.ended else self._completed((ErrorEvent(error),))

    def _read_raw(self, frames: Sequence[Frame], seen: list[JsonValue]) -> list[LLMEvent]:
        """Return the events of *frames*, each with its native frame."""
        events: list[LLMEvent] = []
        for frame in frames:
            if self.ended:
                break
            native = self._framing.native(frame)
            seen.append(native)
            read = self._read((frame,))
            attach_native(read, native)
            events += read
        return events

    def _read_to_delta(self, frames: Sequence[Frame]) -> list[LLMEvent]:
        """Return the events of *frames* up to the first delta, and keep the others."""
        events: list[LLMEvent] = []
        for number, frame in enumerate(frames, 1):
            read: list[LLMEvent] = []
            if self._run is None and not self.ended:  # as of the frames that begin a response
                self._read_frame(frame, read)
            else:
                read = self._read((frame,))
            events += read
            if not SEGMENT_DELTAS.keys().isdisjoint(map(type, read)):
                self.until_delta = False
                self._kept = frames[number:]
                break
        return events

    def _read(self, frames: Sequence[Frame]) -> list[LLMEvent]:
        events: list[LLMEvent] = []
        at, end = 0, len(frames)
        while at < end and not self.ended:
            if self._run is not None:
                some = frames[at : at + _AT_ONCE] if at or end > _AT_ONCE else frames
                count = self._read_run(*self._run, some, events)
                at += count
                if count == len(some):
                    continue
            self._read_frame(frames[at], events)
            at += 1
        return events

    def _read_frame(self, frame: Frame, events: list[LLMEvent]) -> None:
        """Add the events of *frame* to *events*."""
        if self._text is not None:
            # Pings come between the frames of a text. No other frame is decoded twice.
            if frame[0] == "ping" and self._machine.decode(frame) is None:
                return
            plain = self._text.read(frame)
            if plain is not None:
                self._add_plain(plain, self._text, events)
                self._last = frame
                return
            self._take_over()
        try:
            event = self._machine.decode(frame)
            if event is None:
                return
            self._state, bare = self._machine.step(self._state, event)
            self._last = frame
        except (ValueError, *_UNREPRESENTABLE) as error:
            if (valid := self._as_utf8(frame[1])) is not None:
                self._read_frame((frame[0], valid), events)
            else:
                events += self.fail(unreadable_error(frame[1], error))
            return
        if len(bare) == 1 and type(bare[0]) in SEGMENT_DELTAS and self._segments.append(bare[0]):  # type: ignore[arg-type]
            events.append(bare[0])
        else:
            self._add_completed(bare, events)
            if not self.ended and self._machine.terminal(event):
                events += self._halted()
        self._run = self._new_run()

    def _add_plain(self, plain: Iterable[LLMEvent], text: OneText, events: list[LLMEvent]) -> None:
        """Add the complete events of a stream that is one text to *events*."""
        for event in plain:
            kind = type(event)
            done = self._facts.filled(event) if kind in FILLED else event
            events.append(done)
            if kind is not TextDelta:
                self.accumulator.feed(done)
            if isinstance(done, TextStart):
                self.accumulator.share_chunks(("text", done.id), text.chunks)
            self.ended = kind is Finish
        self._run = text.run()
        if self.ended:
            self._text = None

    def _update_state(self) -> None:
        """Bring the state machine to the state after everything that was read."""
        self._take_over()
        if self._run is not None and self._run[0].after is not None:
            self._state = self._run[0].after()

    def _take_over(self) -> None:
        """Let the state machine read on, from the state after the frames so far, if it does not."""
        text, self._text = self._text, None
        if text is None:
            return
        self._state = self._machine.initial(self._request)
        self._step_through(text.opening)
        if text.reader is not None:
            key = "text", text.reader.segment
            chunks = self._segments.chunks(key)
            if chunks is not None:
                chunks[:] = text.deltas
            if text.reader.after is not None:
                self._state = text.reader.after()
            self._step_through(text.closing)
            if chunks is not None and self._segments.chunks(key) is not None:
                self.accumulator.share_chunks(key, chunks)
        self._run = self._new_run()

    def _step_through(self, frames: Iterable[Frame]) -> None:
        """Bring the state machine and the segments past *frames*, whose events were returned."""
        for frame in frames:
            self._state, bare = self._machine.step(self._state, self._machine.decode(frame))
            for event in bare:
                self._segments.feed(event)

    def _as_utf8(self, data: bytes) -> bytes | None:
        """Return *data* with U+FFFD for bytes that are not UTF-8; None if all are.

        So do browsers and the JavaScript SDKs: https://html.spec.whatwg.org/#parsing-an-event-stream
        """
        valid = data.decode("utf-8", "replace").encode()
        if valid == data:
            return None
        self._facts.was_replaced = True
        return valid

    def _new_run(self) -> tuple[FastReader, list[str]] | None:
        """Return how frames that only continue what is open now are read; None if none do."""
        fast_reader = self._machine.fast_reader
        reader = None if fast_reader is None else fast_reader(self._state)
        if reader is None:
            return None
        chunks = self._segments.plain_chunks(reader.kind, reader.segment)
        return None if chunks is None else (reader, chunks)

    def _read_run(
        self, reader: FastReader, chunks: list[str], frames: Sequence[Frame], events: list[LLMEvent]
    ) -> int:
        """Read *frames* as far as they only continue the segment; return how many did."""
        texts = reader.read(frames)
        count = len(texts)
        if count:
            self._last = frames[count - 1]
        if count < len(frames) and reader.after is not None:
            self._state = reader.after()
        if not all(texts):
            texts = [text for text in texts if text]
        chunks += texts
        events += deltas(reader.kind, reader.segment, texts)
        return count

    def _halted(self) -> list[LLMEvent]:
        """Return the last events of the machine; a StreamError if its state is invalid."""
        if self._text is not None:
            events: list[LLMEvent] = []
            plain = self._text.read(None)
            if plain is not None:
                self._add_plain(plain, self._text, events)
                return events
        self._update_state()
        try:
            return self._completed(self._machine.halt(self._state))
        except _UNREPRESENTABLE as error:  # joined pieces can be nested too deeply
            return self.fail(unreadable_error(b"" if self._last is None else self._last[1], error))

    def _completed(self, bare: Iterable[LLMEvent]) -> list[LLMEvent]:
        events: list[LLMEvent] = []
        self._add_completed(bare, events)
        return events

    def _collected(self, complete: CompleteEvents) -> list[LLMEvent]:
        """Return the events of a whole response that need no fold."""
        filled: Any = self._facts.filled
        start, step_start, text_start, delta, text_end, step_finish, finish = complete
        start = filled(start)
        if self._facts.concern_end:
            step_finish, finish = filled(step_finish), filled(finish)
        self.accumulator.feed_text(start, text_end, step_finish, finish)
        self.ended = True
        return [start, step_start, text_start, delta, text_end, step_finish, finish]

    def _add_completed(self, bare: Iterable[LLMEvent], events: list[LLMEvent]) -> None:
        """Add the protocol's *bare* events, completed, to *events*, up to the terminal one.

        The accumulator shares the text of open segments, and so needs no deltas.
        """
        for event in bare:
            if self.ended:
                return
            kind = type(event)
            filled = self._facts.filled(event) if kind in FILLED else event
            for done in (event,) if kind is ErrorEvent else self._segments.feed(filled):
                kind = type(done)
                events.append(done)
                if kind in SEGMENT_DELTAS:
                    continue
                if isinstance(done, ErrorEvent):
                    self.keep_usage()
                    self._facts.fill_error(done.error)
                    if done.error.partial is None:
                        done.error.partial = self._resumable_partial()
                self.accumulator.feed(done)
                if kind in SEGMENT_STARTS:
                    key = SEGMENT_STARTS[kind], str(done.id)  # type: ignore[union-attr]
                    chunks = self._segments.chunks(key)
                    if chunks is not None:
                        self.accumulator.share_chunks(key, chunks)
                self.ended = kind is Finish or kind is ErrorEvent

    def _resumable_partial(self) -> LLMResponse:
        """Return the response so far, with the position from which its rest can be streamed."""
        partial = self.accumulator.partial
        metadata = {**partial.provider_metadata}
        for key, data in self.cursor.items():
            metadata[key] = {**metadata.get(key, {}), **data}
        return evolve(partial, provider_metadata=metadata)


def decode_response(
    protocol: Protocol[Any, Any, Any],
    framing: Framing,
    request: LLMRequest,
    *,
    status: int,
    headers: Mapping[str, str],
    chunks: Sequence[bytes],
    streaming: bool,
    raw: bool = False,
) -> list[LLMEvent]:
    """Return the events of a complete response: what the client does, without I/O."""
    if status >= 400:
        error = error_from_response(
            provider=request.provider_id, status=status, headers=headers, body=b"".join(chunks)
        )
        return [ErrorEvent(error)]
    decoder = ResponseDecoder(protocol, framing, request, raw=raw)
    if not is_streamed(framing, headers, requested=streaming):
        return decoder.whole(b"".join(chunks))
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.end()
