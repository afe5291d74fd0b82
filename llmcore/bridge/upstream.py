"""Calls of upstream providers that generate nothing: counting tokens, listing models."""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field

from llmcore.bridge.pools.keys import RotatingKey
from llmcore.client.client import Client
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure
from llmcore.schema.token_estimate import TokenCount

_TIMEOUTS: Final = Timeouts(total=30.0)
"""The time limit of counting and listing."""


@frozen
class Upstreams:
    """A client of every configured provider, which also counts tokens and lists models."""

    client: Client
    timeouts: Mapping[str, Timeouts] = field(factory=dict)
    """The time limits of upstreams that have their own."""
    keys: Mapping[str, RotatingKey] = field(factory=dict)
    """The keys of upstreams that have their own."""

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()

    async def count_tokens(self, request: LLMRequest) -> TokenCount:
        """Return the input tokens of *request*, as its upstream counts them, or else estimated.

        Raises LLMError if the upstream can count and the call fails.
        """
        return (await self.client.count_tokens(request, timeouts=_TIMEOUTS)).unwrap()

    async def models(self, provider: str) -> Sequence[str]:
        """Return the ids of the models that *provider* lists; empty if its API has no list.

        Raises LLMError if the call fails.
        """
        if provider not in self.client.providers:
            return ()
        listed = await self.client.list_models(provider, timeouts=_TIMEOUTS)
        if isinstance(listed, Failure) and isinstance(listed.error, ConfigurationError):
            return ()
        return tuple(model.id for model in listed.unwrap())
