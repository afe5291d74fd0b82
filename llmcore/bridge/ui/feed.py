"""The last requests of this process, for its page.

Every change of a request gets the next number. The page polls with the last number that it has seen
and receives the requests that changed after it.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from attrs import Factory, define

from llmcore.catalog.cost import response_cost
from llmcore.fronts.front import ClientRequest
from llmcore.schema.changed import changed
from llmcore.schema.codec import to_json
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

MAX_REQUESTS: Final = 500
MAX_RECORDED_BYTES: Final = 64 * 1024 * 1024
"""The size of all recorded requests and responses; beyond it the oldest are deleted."""

_NO_CONTENT: Final = Message.assistant("")


@define
class FeedRecording:
    """One exchange in full, without credentials."""

    asked: ClientRequest | None = None
    asked_size: int = 0
    request: LLMRequest | None = None
    """The client's request as it was read."""
    response: LLMResponse | None = None
    """The upstream's response as it was read."""
    status: int = 200
    headers: dict[str, str] = Factory(dict)
    pieces: list[tuple[bytes, float]] = Factory(list)
    """The body that the client was sent, each piece with its delay in milliseconds."""
    size: int = 0
    cut: bool = False
    """Whether the response was too large to be kept whole."""
    counted: int = 0
    """The bytes that the feed has counted for it, once it has ended."""


class FeedEntry(msgspec.Struct, kw_only=True):
    """One request. Times are in seconds, `at` since 1970."""

    id: str
    at: float
    owner: str
    """A digest of the caller's key, or the id of an issued one."""
    key_name: str = ""
    """The name of an issued key."""
    method: str
    path: str
    seq: int = 0
    state: str = "running"
    """`running`, `done` or `failed`."""
    model: str = ""
    provider: str = ""
    status: int | None = None
    seconds: float | None = None
    first_s: float | None = None
    """From the request to the first byte of the response's body."""
    response: LLMResponse | None = None
    """The response of the upstream, without its content."""
    price: Callable[[LLMResponse], float | None] = response_cost
    """Returns the cost of a response whose provider states none."""
    error: str | None = None
    diagnostics: str | None = None
    tried: tuple[str, ...] = ()
    """Targets that failed before the one that responded, each with the reason."""
    recording: FeedRecording | None = None

    def read(self, response: LLMResponse) -> None:
        """Set tokens and cost to those of the upstream's response."""
        if response.message.content or response.sources or response.raw is not None:
            response = changed(response, message=_NO_CONTENT, sources=(), raw=None)
        self.response = response

    @property
    def usage(self) -> Usage | None:
        """The tokens of the response."""
        return None if self.response is None else self.response.usage

    @property
    def cost(self) -> float | None:
        """The cost of the response, which is computed when it is shown."""
        response = self.response
        if response is None or response.cost is not None:
            return None if response is None else response.cost
        return self.price(response)

    def as_json(self) -> dict[str, Any]:
        """Return what the page lists; texts that look like credentials are replaced."""
        from llmcore.inspector.redaction import safe_text  # loads what finds credentials

        shown = ("id", "at", "method", "path", "state", "model", "provider", "status", "seconds")
        more = ("first_s", "cost")
        return {
            **{name: getattr(self, name) for name in (*shown, *more)},
            "usage": {} if self.usage is None else to_json(self.usage),
            "key": self.owner.removeprefix("key:")[:16],
            "key_name": self.key_name,
            "error": None if self.error is None else safe_text(self.error),
            "diagnostics": self.diagnostics,
            "tried": list(self.tried),
            "recorded": self.recording is not None and self.state != "running",
        }


class Feed:
    """The last requests, by their ids."""

    def __init__(
        self, max_requests: int = MAX_REQUESTS, max_bytes: int = MAX_RECORDED_BYTES
    ) -> None:
        self.process = secrets.token_hex(4)
        """Names the process among those that serve one address."""
        self.seq = 0
        """The number of the last change."""
        self._entries: OrderedDict[str, FeedEntry] = OrderedDict()
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._bytes = 0

    def put(self, entry: FeedEntry) -> None:
        """Add *entry*, or note that it has changed; the oldest are dropped."""
        self.seq += 1
        entry.seq = self.seq
        self._entries.setdefault(entry.id, entry)
        recording = entry.recording
        if entry.state != "running" and recording is not None and not recording.counted:
            recording.counted = recording.size + recording.asked_size
            self._bytes += recording.counted
        while len(self._entries) > self._max_requests:
            _, dropped = self._entries.popitem(last=False)
            self._drop_recording(dropped)
        if self._bytes > self._max_bytes:
            self._drop_recordings()

    def _drop_recordings(self) -> None:
        """Drop the oldest recordings until the others have few enough bytes."""
        for old in self._entries.values():
            if self._bytes <= self._max_bytes:
                return
            self._drop_recording(old)

    def _drop_recording(self, entry: FeedEntry) -> None:
        if entry.recording is not None and entry.state != "running":
            self._bytes -= entry.recording.counted
            entry.recording = None

    def since(self, seq: int, owner: str | None) -> Sequence[FeedEntry]:
        """Return the requests that changed after the number *seq*, oldest first.

        They are those of *owner*; None means all.
        """
        changed = (entry for entry in self._entries.values() if entry.seq > seq)
        return [entry for entry in changed if owner in (None, entry.owner)]

    def find(self, entry_id: str, owner: str | None) -> FeedEntry | None:
        """Return a request of *owner*; None for an unknown one, and for another's."""
        entry = self._entries.get(entry_id)
        return entry if entry is not None and owner in (None, entry.owner) else None
