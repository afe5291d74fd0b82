"""Contents that Gemini and Vertex AI keep processed, for requests that begin with them.

    contents = CachedContents(client)
    made = await contents.create(request(model=model, messages=[book]), ttl=timedelta(hours=2))
    asked = request(model=model, prompt="Who?", cache=CachePolicy(content=made.unwrap()))

The bodies and paths are in `llmcore.protocols.files`.
"""

from datetime import timedelta
from typing import Any

from attrs import evolve

from llmcore.client.accounts import account_at, check_account
from llmcore.client.client import Client
from llmcore.protocols.files import (
    CACHE_CREATING,
    CACHE_DELETING,
    CACHE_LISTING,
    CACHE_READING,
    CACHE_UPDATING,
    CachedContentRequest,
)
from llmcore.protocols.protocol import Request, Response_co, UnaryProtocol
from llmcore.routes.route import Route, route_of
from llmcore.routes.unary import UnaryRoute, missing, rebased
from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success


@with_settings_in_repr
class CachedContents:
    """The cached contents of the accounts of *client*, at the Gemini API and Vertex AI.

    With any other provider, the results are ConfigurationErrors. Middleware is not run. *model* is
    the configured model, where the client has no provider that makes one.
    """

    def __init__(self, client: Client, model: Model | None = None) -> None:
        self._client = client
        self._model = model

    async def create(
        self, request: LLMRequest, *, ttl: timedelta | None = None, display_name: str | None = None
    ) -> Result[CachedContent, LLMError]:
        """Keep the messages, the system prompt and the tools of *request* for its model.

        What cannot be kept, such as options of generation, is left out with a Diagnostic. The
        provider bills the tokens once as input, and their storage by the hour.
        """
        try:
            if request.cache.content is not None:
                raise InvalidRequestError("a cached content cannot contain another one")
            model = self._client.resolve(request).unwrap()
            route = _checked(route_of(model))
            ready = self._client.prepare(evolve(request, model=model, provider=None)).unwrap()
            content_request = CachedContentRequest(
                url=ready.http.url,
                body=ready.body,
                ttl=ttl,
                display_name=display_name,
                diagnostics=ready.diagnostics,
                strict=request.strict,
            )
            made = await self._call(route, CACHE_CREATING, content_request)
            return Success(self._owned(evolve(made, model=model.id), route))
        except LLMError as error:
            return Failure(error)

    async def list(
        self, provider: str | None = None
    ) -> Result[tuple[CachedContent, ...], LLMError]:
        """Return the cached contents of the account at *provider*, or the default provider."""
        try:
            route = self._route(provider)
            items = await self._client.unary.all_pages(UnaryRoute.beside(route, CACHE_LISTING))
            return Success(tuple(self._owned(item, route) for item in items))
        except LLMError as error:
            return Failure(error)

    async def get(self, name: str, provider: str | None = None) -> Result[CachedContent, LLMError]:
        """Return the cached content *name* of *provider*, or of the default provider."""
        try:
            route = self._route(provider)
            return Success(self._owned(await self._call(route, CACHE_READING, name, name), route))
        except LLMError as error:
            return Failure(error)

    async def update(
        self, content: CachedContent, *, ttl: timedelta
    ) -> Result[CachedContent, LLMError]:
        """Keep *content* for *ttl* from now on, and return it as it is then."""
        try:
            route = self._owner(content)
            request = CachedContentRequest(name=content.name, ttl=ttl)
            kept = await self._call(route, CACHE_UPDATING, request, content.name)
            return Success(self._owned(evolve(kept, model=content.model), route))
        except LLMError as error:
            return Failure(error)

    async def delete(self, content: CachedContent) -> Result[None, LLMError]:
        """Delete *content*; InvalidRequestError, before sending, if it is another account's."""
        try:
            route = self._owner(content)
            await self._call(route, CACHE_DELETING, content.name, content.name)
            return Success(None)
        except LLMError as error:
            return Failure(error)

    # -- routes and owners

    def _route(self, provider: str | None) -> Route[Any]:
        """Return the route to *provider*; raises ConfigurationError if it keeps no contents."""
        named = provider or self._client.default_provider
        request = LLMRequest(model="any", provider=named, messages=())
        return _checked(route_of(self._model or self._client.resolve(request).unwrap()))

    def _owner(self, content: CachedContent) -> Route[Any]:
        route = self._route(content.provider)
        content.check_use(route.provider, content.model)
        what, mine = f"the cached content {content.name!r}", self._account(route)
        check_account(what, content.account, mine, route)
        return route

    def _account(self, route: Route[Any]) -> str | None:
        return account_at(route, self._client.environ)

    def _owned(self, content: CachedContent, route: Route[Any]) -> CachedContent:
        return evolve(content, provider=route.provider, account=self._account(route))

    async def _call(
        self,
        route: Route[Any],
        protocol: UnaryProtocol[Request, Response_co],
        request: Request,
        name: str = "",
    ) -> Response_co:
        """Return the response; the names of Vertex AI begin with the project, as its URLs do."""
        base = rebased(route, _above_project) if name.startswith("projects/") else None
        return await self._client.unary.call(UnaryRoute.beside(route, protocol, base), request)


def _checked(route: Route[Any]) -> Route[Any]:
    if route.protocol.family != "google":
        raise missing(route, "cached contents")
    return route


def _above_project(base_url: str) -> str:
    return base_url.partition("/projects/")[0]
