"""The client of calls that name none: set by the program, or made from the environment.

It is made on first use, and shared by blocking and asynchronous calls.
"""

from typing import Any, Final, Protocol, TypeAlias, Union

from llmcore.client.client import Client
from llmcore.forking import ForkSafeLock
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.hints import shown_kind


class BlockingClient(Protocol):
    """A blocking view of a client: `llmcore.sync.Client`."""

    @property
    def asynchronous(self) -> Client:
        """The client behind it."""
        ...


AnyClient: TypeAlias = Union[Client, BlockingClient]


def client_behind(given: Any) -> Client | None:
    """Return the asynchronous client of *given*, a client of either kind or None."""
    behind: Client | None = getattr(given, "asynchronous", given)
    return behind


_lock: Final = ForkSafeLock()
_client: Client | None = None


def set_default_client(client: AnyClient | None) -> None:
    """Set the client of calls that name none, blocking and asynchronous ones alike.

    None makes a new client when it is needed. The previous client is not closed. Raises
    ConfigurationError for a value that is not a client.
    """
    global _client  # noqa: PLW0603  (the one thing here that is meant to be global)
    made = client_behind(client)
    if not isinstance(made, Client | None):
        kind = made.__name__ if isinstance(made, type) else shown_kind(made)
        raise ConfigurationError(
            f"the default client must be a Client, not {kind}: write Client.from_env()"
        )
    with _lock.held():
        _client = made


def client_or_default(given: AnyClient | None) -> Client:
    """Return the client *given*, or the default one."""
    return client_behind(given) or default_client()


def default_client() -> Client:
    """Return the client that was set, or one made from the environment."""
    global _client  # noqa: PLW0603
    with _lock.held():
        if _client is None:
            _client = Client.from_env()
        return _client
