"""The client of calls that name none: made from the environment when it is first needed.

A client keeps one connection pool for each event loop, so that this one serves
`asyncio.run` again and again, threads, and trio alike.
"""

from typing import Final

from llmcore.client.client import Client
from llmcore.forking import ForkSafeLock

_lock: Final = ForkSafeLock()
_client: Client | None = None


def set_default_client(client: Client | None) -> None:
    """Let calls that name no client use *client*; None makes a new one when it is needed.

    The one before stays its owner's to close.
    """
    global _client  # noqa: PLW0603  (the one thing here that is meant to be global)
    with _lock.held():
        _client = client


def default_client() -> Client:
    """Return the client that was set, or else one of the environment's providers."""
    global _client  # noqa: PLW0603
    with _lock.held():
        if _client is None:
            _client = Client.from_env()
        return _client
