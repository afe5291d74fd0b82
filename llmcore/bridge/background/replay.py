"""The events of a background response as a stream, which can begin after any of them.

A client that lost its stream asks for `GET /v1/responses/{id}?stream=true&starting_after=41`, where
41 is the `sequence_number` of the last event that it has, and gets the events from 42 on. Where the
response is made by another process, its events are read from the store.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import anyio

from llmcore.bridge.background.event_log import Piece, piece_name
from llmcore.bridge.background.lifecycle import is_finished
from llmcore.bridge.background.responses import BackgroundResponses
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import CallRecord, ErrorForm, RunLabels
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.fronts.encoding import COMMENT, EVENT_STREAM, named_event
from llmcore.fronts.errors import FrontError, invalid, state_unavailable
from llmcore.fronts.front import Event, FailureResponse
from llmcore.fronts.openai_responses.errors import error_fields
from llmcore.fronts.openai_responses.state import Record
from llmcore.protocols.openai_responses.names import TERMINAL_EVENTS
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty

_POLL_S: Final = 0.5


class ReplayRun:
    """A stream of the events of a background response that follow the event *after*.

    The response continues when the stream is closed.
    """

    calls: Sequence[CallRecord] = ()
    failed_calls: Sequence[CallRecord] = ()
    error: LLMError | None = None
    diagnostics: Sequence[Diagnostic] = ()
    content_type = EVENT_STREAM
    headers: Mapping[str, str] = {}

    def __init__(
        self, responses: BackgroundResponses, record: Record, after: int, form: ErrorForm
    ) -> None:
        model = str(record.response.get("model"))
        self.info = RunLabels(
            id=record.id,
            model=model,
            provider="stored",
            upstream=UpstreamModel("stored", ""),
            streamed=True,
        )
        self._responses = responses
        self._record = record
        self._next = after + 1
        """The sequence number of the next event."""
        self._piece: int | None = None
        """The number of the next piece to be read; None before the first."""
        self._form = form
        self._begun = self._ended = False
        self._is_logged = False
        """Whether any piece was found."""

    def error_response(self, error: FrontError) -> FailureResponse:
        """Return the response of an *error* that comes before anything was sent."""
        return self._form(error)

    async def next_bytes(self) -> bytes:
        """Return the next events; empty after the last. FrontError if they are not kept."""
        try:
            while not self._ended:
                lines = await self._next_lines()
                self._next += len(lines)
                if lines:
                    self._begun = True
                    return b"".join(map(self._encoded, lines))
        except StateUnavailableError as error:
            raise state_unavailable() from error
        if self._begun:
            return b""
        self._begun = True
        return COMMENT  # a stream without events is one all the same

    def _encoded(self, line: bytes) -> bytes:
        event = _event(line)
        self._ended = self._ended or _is_terminal(event)
        return named_event(event)

    async def keep_alive(self) -> bytes:
        """Return a heartbeat."""
        return COMMENT

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return nothing: the stream is cut without *error*, and the client can resume it."""
        self._ended = True
        return b""

    async def aclose(self) -> None:
        """End the stream; the response continues."""
        self._ended = True

    # -- reading

    async def _next_lines(self) -> Sequence[bytes]:
        """Return further events; none if there may be some later."""
        response = self._responses.local(self._record.id)
        if response is not None:
            changed = response.log.changed
            lines = response.log.since(self._next)
            if lines is None:
                found = await self._from_store()
                if found is not None:
                    return found
            if not lines:
                await changed.wait()
            return lines or ()
        if (found := await self._from_store()) is not None:
            return found
        record = await self._responses.current(self._record)
        if not is_finished(record):
            await anyio.sleep(_POLL_S)
            return ()
        if (found := await self._from_store()) is not None:  # written since the last look
            return found
        return self._last_lines(record)

    async def _from_store(self) -> Sequence[bytes] | None:
        """Return the events of the next piece that are new; None if there is no such piece."""
        store, name = self._responses.store, self._record.id
        first = 0
        if self._piece is None or await store.value(piece_name(name, self._piece)) is None:
            first = await self._responses.lifecycle.first_piece(name)
        self._piece = max(self._piece or 0, first)
        data = await store.value(piece_name(name, self._piece))
        if data is None:
            return None
        piece = Piece.unpacked(data)
        if piece.first > self._next:
            raise _not_kept(self._next)
        self._piece += 1
        self._is_logged = True
        lines = piece.lines[self._next - piece.first :]
        if not lines:  # the client may have all events
            self._ended = _is_terminal(_event(piece.lines[-1]))
        return lines

    def _last_lines(self, record: Record) -> Sequence[bytes]:
        """Return the last events of a response whose log does not have them.

        Those of responses that were cancelled, or whose process is gone, do not.
        """
        self._ended = True
        status = record.response.get("status")
        if not self._is_logged and status in ("completed", "incomplete"):
            raise _not_kept(self._next)
        events: list[JsonObject] = [{"type": f"response.{status}", "response": record.response}]
        if status == "failed":
            error = error_fields(object_or_empty(record.response.get("error")))
            events.insert(0, {"type": "error", **error})
        numbered = enumerate(events, self._next)
        return [json.dumps({**event, "sequence_number": number}) for number, event in numbered]


def _event(line: bytes) -> Event:
    return object_or_empty(json.loads(line))


def _is_terminal(event: Event) -> bool:
    return event["type"] in TERMINAL_EVENTS - {"error"}  # which `response.failed` follows


def _not_kept(number: int) -> FrontError:
    return invalid(
        f"the event {number} is not kept: leave out stream=true to retrieve the response",
        "starting_after",
    )
