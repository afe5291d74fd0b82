"""Counts of tokens: from the upstream where it can count, else an estimate, each kept for a while.

Editors count the same conversation dozens of times at their start. Requests of the same body cost
the upstream one count, also those that come at the same time.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from llmcore.bridge.http.logs import log
from llmcore.bridge.upstream import Upstreams
from llmcore.fronts.errors import from_llm_error
from llmcore.schema import json
from llmcore.schema.errors import ContextLengthError, InvalidRequestError, LLMError, NotFoundError
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import TokenCount, estimated_tokens

_KEPT: Final = 2048
"""How many counts are kept; of more, the one that was used longest ago is removed."""
_FAULTS_OF_THE_REQUEST: Final = (InvalidRequestError, NotFoundError, ContextLengthError)


class TokenCounter:
    """Counts tokens for all fronts. Safe for concurrent use."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._kept: OrderedDict[bytes, TokenCount] = OrderedDict()
        self._counting: dict[bytes, anyio.Lock] = {}

    async def count(
        self,
        body: JsonObject,
        model: str,
        read: Callable[[], Awaitable[LLMRequest]],
        relayed: LLMRequest | None = None,
    ) -> TokenCount:
        """Return the tokens of a request of *body* for *model*.

        *read* reads it, if it was not counted yet; *relayed* is the request as the upstream gets it
        where its body passes as it came. Raises FrontError for an invalid request.
        """
        whole = f"{model}\n{json.canonical(body)}".encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(whole, digest_size=20).digest()
        if (kept := self._get(key)) is not None:
            return kept
        lock = self._counting.setdefault(key, anyio.Lock())
        try:
            async with lock:
                if (kept := self._get(key)) is None:
                    kept = self._kept[key] = await self._counted(read, relayed)
        finally:
            if not lock.statistics().tasks_waiting:
                self._counting.pop(key, None)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return kept

    def _get(self, key: bytes) -> TokenCount | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    async def _counted(
        self, read: Callable[[], Awaitable[LLMRequest]], relayed: LLMRequest | None
    ) -> TokenCount:
        try:
            count = await self._upstreams.count_tokens(relayed or await read())
        except _FAULTS_OF_THE_REQUEST as error:
            raise from_llm_error(error) from error
        except LLMError as error:
            log(logging.WARNING, "count_failed", provider=error.provider, error=str(error))
            return TokenCount(tokens=estimated_tokens(await read()), estimated=True)
        if count.estimated and relayed is not None:  # the relayed request is not the translated one
            return TokenCount(tokens=estimated_tokens(await read()), estimated=True)
        return count
