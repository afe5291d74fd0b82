"""Which model, and the way to it."""

from typing import Protocol

from attrs import field, frozen


class ConfiguredRoute(Protocol):
    """What the schema needs to know of a route; `llmcore.routes.Route` is one."""

    @property
    def id(self) -> str:
        """The route's own id, such as `openai-chat`."""
        ...

    @property
    def provider(self) -> str:
        """The provider's id, such as `openai`."""
        ...


@frozen
class Model:
    """A model id, its provider's id, and the configured route that reaches it.

    The route holds credentials, so it is no part of the value's JSON, repr or equality;
    a model read back from JSON is resolved by the client's configured providers.
    """

    id: str
    provider: str
    route: ConfiguredRoute | None = field(default=None, eq=False, repr=False, kw_only=True)
