"""Contents that Gemini and Vertex AI keep processed, blocking."""

from datetime import timedelta

from llmcore.client import cached_contents as asynchronous
from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.errors import LLMError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.sync.background import background
from llmcore.sync.client import Client


class CachedContents:
    """The cached contents of the accounts of *client*: `client.cached_contents`, blocking."""

    def __init__(self, client: Client, model: Model | None = None) -> None:
        self.asynchronous = asynchronous.CachedContents(client.asynchronous, model)
        """The asynchronous ones behind these."""

    def create(
        self,
        request: LLMRequest,
        *,
        ttl: timedelta | None = None,
        display_name: str | None = None,
    ) -> Result[CachedContent, LLMError]:
        """Keep the messages, the system prompt and the tools of *request* for its model."""
        return background().run(
            lambda: self.asynchronous.create(request, ttl=ttl, display_name=display_name)
        )

    def list(self, provider: str | None = None) -> Result[tuple[CachedContent, ...], LLMError]:
        """Return the cached contents of the account at *provider*."""
        return background().run(lambda: self.asynchronous.list(provider))

    def get(self, name: str, provider: str | None = None) -> Result[CachedContent, LLMError]:
        """Return the cached content *name* of *provider*."""
        return background().run(lambda: self.asynchronous.get(name, provider))

    def update(self, content: CachedContent, *, ttl: timedelta) -> Result[CachedContent, LLMError]:
        """Keep *content* for *ttl* from now on, and return it as it is then."""
        return background().run(lambda: self.asynchronous.update(content, ttl=ttl))

    def delete(self, content: CachedContent) -> Result[None, LLMError]:
        """Delete *content*."""
        return background().run(lambda: self.asynchronous.delete(content))
