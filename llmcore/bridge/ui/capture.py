"""Adds every operation to the feed and, if recording is on, what was sent and received."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

from llmcore.bridge.http.access import caller_of
from llmcore.bridge.http.asgi import ASGIApp, Message, Receive, Scope, Send
from llmcore.bridge.http.logs import REQUEST_ID
from llmcore.bridge.http.observability import log_fields
from llmcore.bridge.model_map import UpstreamModel
from llmcore.bridge.response_run import SentResponse, response_of
from llmcore.bridge.ui.feed import Feed, FeedEntry, FeedRecording
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.schema.changed import changed
from llmcore.schema.response import LLMResponse

CostOf: TypeAlias = Callable[[UpstreamModel, LLMResponse], float | None]
"""Returns the cost of the response of a target in US dollars; None if it is unknown."""

MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of a response that are recorded."""
_MAX_ERROR_BYTES: Final = 2000
_MAX_NAME: Final = 200

_WATCHED = "openbridge.ui.watched"
_SHOWN_HEADERS = frozenset({"content-type", "retry-after", "x-openbridge-diagnostics"})


def note_request(scope: Scope, request: ClientRequest, size: int) -> None:
    """Show the model of the request that was read, and keep the request, for the feed.

    Its body came in *size* bytes.
    """
    watched: _Watched | None = scope.get(_WATCHED)
    if watched is not None:
        watched.asked(request, size)


def note_run(scope: Scope, run: SentResponse) -> None:
    """Keep the response under way, for the feed."""
    watched: _Watched | None = scope.get(_WATCHED)
    if watched is not None:
        watched.run = run


class CaptureMiddleware:
    """Writes the requests for responses to a feed."""

    def __init__(self, app: ASGIApp, feed: Feed, cost_of: CostOf, *, record: bool) -> None:
        self._app = app
        self._feed = feed
        self._cost_of = cost_of
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application for one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        caller = caller_of(scope)
        entry = FeedEntry(
            id=REQUEST_ID.get() or f"req_{time.time_ns():x}",
            at=time.time(),
            owner=caller.owner,
            key_name=caller.name if caller.key is None else caller.key.limits.name,
            method=scope["method"],
            path=scope["path"][:200],
            recording=FeedRecording() if self._record else None,
        )
        scope[_WATCHED] = watched = _Watched(entry, send, self._cost_of, self._feed)
        self._feed.put(entry)
        try:
            await self._app(scope, receive, watched.send)
        finally:
            del scope[_WATCHED]  # which the server's `send` refers to: a reference cycle
            watched.end(scope)
            self._feed.put(entry)


class _Watched:
    """Measures one response on its way out."""

    def __init__(self, entry: FeedEntry, send: Send, cost_of: CostOf, feed: Feed) -> None:
        self.run: SentResponse | None = None
        """The response under way."""
        self._entry = entry
        self._send = send
        self._cost_of = cost_of
        self._feed = feed
        self._started = self._last = time.monotonic()
        self._refusal = b""  # the beginning of the body of an error
        self._notes_body = True
        """Whether further bytes of the body are noted, as those after the first often are not."""

    def asked(self, request: ClientRequest, size: int) -> None:
        """Note the request that was read, so that its model is shown before its response."""
        named = request.body.get("model")
        if named is None:  # in Gemini's API the path has it
            named = request.path.rpartition("/models/")[2].rpartition(":")[0]
        self._entry.model = named[:_MAX_NAME] if isinstance(named, str) else ""
        if self._entry.recording is not None:
            self._entry.recording.asked = request
            self._entry.recording.asked_size = size
        self._feed.put(self._entry)

    def send(self, message: Message) -> Awaitable[None]:
        """Pass *message* on, and note it."""
        if message["type"] == "http.response.start":
            self._entry.status = message["status"]
            self._head(message)
        elif self._notes_body and message["type"] == "http.response.body" and message.get("body"):
            self._body(message["body"])
        return self._send(message)

    def _head(self, message: Message) -> None:
        recording = self._entry.recording
        if recording is not None:
            recording.status = message["status"]
            headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
            recording.headers = {n: v for n, v in headers.items() if n.lower() in _SHOWN_HEADERS}

    def _body(self, data: bytes) -> None:
        now = time.monotonic()
        if self._entry.first_s is None:
            self._entry.first_s = now - self._started
        is_refused = (self._entry.status or 0) >= 400
        if is_refused:
            self._refusal += data[: _MAX_ERROR_BYTES - len(self._refusal)]
        recording = self._entry.recording
        if recording is None or recording.cut:
            self._notes_body = is_refused
            return
        if recording.size + len(data) > MAX_RESPONSE_BYTES:
            recording.cut = True
            return
        recording.pieces.append((bytes(data), (now - self._last) * 1000))
        recording.size += len(data)
        self._last = now

    def end(self, scope: Scope) -> None:
        """Set the fields that are known at the end of the response."""
        entry, fields = self._entry, log_fields(scope)
        entry.seconds = time.monotonic() - self._started
        entry.model = str(fields.get("model") or entry.model)
        entry.provider = str(fields.get("provider") or "")
        error = fields.get("error") or self._refusal.decode("utf-8", "replace")
        entry.error = str(error)[:_MAX_ERROR_BYTES] or None
        entry.diagnostics = str(fields.get("diagnostics") or "") or None
        failed = entry.error is not None or entry.status is None or entry.status >= 400
        entry.state = "failed" if failed else "done"
        run = self.run
        if run is None:
            return
        entry.tried = run.info.tried
        if not run.calls:
            return
        response = response_of(run.calls)
        entry.price = partial(self._cost_of, run.info.upstream)
        entry.read(response)
        if entry.recording is not None:
            entry.recording.response = changed(response, cost=entry.cost)
            with suppress(FrontError):  # relayed, and it cannot be read
                entry.recording.request = run.calls[0].request()
