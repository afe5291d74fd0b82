"""A row of spend: what one response used, and what it cost."""

from typing import Final

import msgspec

from llmcore.bridge.state.ledger import StoredRow

LOST: Final = "lost"
"""The outcome of a response whose gateway was killed while it ran."""


class SpendRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One response, however it ended."""

    id: str
    at: float
    """When it ended, in seconds since 1970."""
    key: str
    """The id of the issued key, the name of the client, the digest of a configured key, or
    `anybody`."""
    owner: str = ""
    model: str
    """The model's name as the client wrote it."""
    provider: str
    upstream: str = ""
    """The upstream of the configuration file; empty is the provider itself."""
    target: str
    """The upstream's id of the model."""
    outcome: str
    """`completed`, `incomplete`, `failed`, `cancelled`; `lost` if its gateway was killed before."""
    error: str | None = None
    """The code of a failure."""
    streamed: bool = False
    input_tokens: int = 0
    """All tokens of the input, cached ones included."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """All tokens of the output, reasoning included."""
    reasoning_tokens: int = 0
    estimated: bool = False
    """Whether tokens are an estimate, because the response ended before its upstream sent them."""
    cost_nano: int | None = None
    """The cost in nano-dollars; None if no price is known."""
    first_event_s: float | None = None
    """Seconds from sending the upstream's request to its first event."""
    seconds: float = 0.0
    """Seconds from the client's request to the end of the response."""
    upstream_request_id: str | None = None


def packed_row(row: SpendRow) -> bytes:
    """Return *row* as it is stored."""
    return msgspec.json.encode(row)


def unpacked_row(stored: StoredRow) -> SpendRow:
    """Return the row in *stored*."""
    return msgspec.json.decode(stored.data, type=SpendRow)
