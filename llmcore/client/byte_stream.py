"""The content of a response while it arrives, such as a recording that is played meanwhile."""

import math
from typing import Self

import anyio

from llmcore.client.error_responses import redact_error
from llmcore.client.loop_task import current_time, new_scope
from llmcore.client.transport import Exchange
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, StreamError


class ByteStream:
    """The content of a successful response, in the pieces in which it arrives.

    Iterating raises LLMError where the content breaks off, stalls, takes longer than its time
    limits allow, or is too large, and where there is none. Leaving its context closes the
    connection; so does reading to the end.
    """

    def __init__(
        self,
        exchange: Exchange,
        *,
        provider: str,
        diagnostics: tuple[Diagnostic, ...],
        limits: Timeouts,
        started: float,
        most: int,
        secrets: tuple[str, ...],
    ) -> None:
        self.provider = provider
        """The provider's id."""
        self.media_type: str | None = exchange.headers.get("content-type")
        """The type of the content, such as `audio/mpeg`, if it is stated."""
        self.diagnostics = diagnostics
        """Everything that was left out or changed of the request."""
        self._exchange = exchange
        self._chunks = exchange.chunks()
        self._limits = limits
        self._end_name, seconds = limits.shortest("total", "step")
        self._end = started + seconds
        self._most = self._left = most
        self._secrets = secrets

    def __repr__(self) -> str:
        return f"ByteStream(provider={self.provider!r}, media_type={self.media_type!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._next_chunk()
        except StopAsyncIteration:
            await self.aclose()
            if self._left == self._most:
                message = "the response has no content"
                raise StreamError(message, provider=self.provider, retryable=False) from None
            raise
        except LLMError as error:
            error.provider = error.provider or self.provider
            redact_error(error, self._secrets)
            await self.aclose()
            raise
        self._left -= len(chunk)
        if self._left < 0:
            await self.aclose()
            message = "the content is larger than max_response_bytes of the route allows"
            raise StreamError(message, provider=self.provider, retryable=False)
        return chunk

    async def _next_chunk(self) -> bytes:
        """Return the next piece; RequestTimeoutError if it takes too long, or all of them do."""
        now, idle = current_time(), self._limits.idle
        next_end = math.inf if idle is None else now + idle
        if now < self._end:
            with new_scope(min(next_end, self._end)):
                return await anext(self._chunks)
        raise self._limits.expired(self._end_name if self._end <= next_end else "idle")

    async def aclose(self) -> None:
        """Close the connection at any point of the content. Idempotent."""
        with anyio.CancelScope(shield=True):
            await self._chunks.aclose()
            await self._exchange.aclose()
