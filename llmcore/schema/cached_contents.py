"""Contents that a provider keeps processed, so that many requests begin with them."""

from datetime import datetime

from attrs import field

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.pydantic_hooks import for_pydantic


@for_pydantic
@frozen(kw_only=True)
class CachedContent:
    """Messages, instructions and tools that a provider keeps for one model, and whose they are.

    `cache=CachePolicy(content=...)` begins a request with them. To another provider, account or
    model such a request is an InvalidRequestError before it is sent.
    """

    name: str
    """The name that requests refer to it by, such as `cachedContents/abc`."""
    provider: str
    """The provider that keeps it."""
    model: str
    """The id of the only model that can use it."""
    account: str | None = None
    """A digest of the address and the credentials, at Vertex AI of the project and the location,
    that it was created with; None for other credentials that are fetched. Not secret."""
    display_name: str | None = None
    """The name for people."""
    total_tokens: int | None = None
    """The number of its tokens."""
    created_at: datetime | None = None
    """When it was created, in UTC."""
    expires_at: datetime | None = None
    """When the provider deletes it, in UTC."""
    diagnostics: tuple[Diagnostic, ...] = field(default=(), eq=False)
    """Everything of the request that was left out when it was created, or changed."""
    raw: JsonObject = field(factory=dict, eq=False, repr=False)
    """The provider's own description."""

    def check_use(self, provider: str, model: str) -> None:
        """Raise InvalidRequestError if requests to *model* of *provider* cannot refer to it."""
        for owner, used in ((self.provider, provider), (_bare(self.model), _bare(model))):
            if owner != used:
                raise InvalidRequestError(
                    f"the cached content {self.name!r} belongs to {owner} and cannot be used with "
                    f"{used}: create one there",
                    provider=provider,
                )


def _bare(model: str) -> str:
    """Return the id at the end of the name of a resource, such as `models/gemini-2.5-flash`."""
    return model.rpartition("/")[2]
