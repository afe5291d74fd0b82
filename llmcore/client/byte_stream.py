"""The content of a response while it arrives, such as a recording that is played meanwhile."""

from typing import Self

import anyio

from llmcore.client.call import redact_error
from llmcore.client.transport import Exchange
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError, StreamError


class ByteStream:
    """The content of a successful response, in the pieces in which it arrives.

    Iterating raises LLMError where the content breaks off, stalls or is too large. Leaving its
    context closes the connection; so does reading to the end.
    """

    def __init__(
        self,
        exchange: Exchange,
        *,
        provider: str,
        diagnostics: tuple[Diagnostic, ...],
        limits: Timeouts,
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
        self._left = most
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
            with anyio.fail_after(self._limits.idle):
                chunk = await anext(self._chunks)
        except StopAsyncIteration:
            await self.aclose()
            raise
        except TimeoutError as error:
            await self.aclose()
            raise self._limits.expired("idle", self.provider, error) from error
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

    async def aclose(self) -> None:
        """Close the connection at any point of the content. Idempotent."""
        with anyio.CancelScope(shield=True):
            await self._chunks.aclose()
            await self._exchange.aclose()
