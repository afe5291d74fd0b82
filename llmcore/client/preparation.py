"""Makes requests ready for sending: their files, credentials, native bodies and transports."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio.to_thread
from attrs import define, field

from llmcore.client.accounts import with_checked_accounts
from llmcore.client.call import RoutedRequest
from llmcore.client.counting import with_overflow_note
from llmcore.client.credentials import Credentials
from llmcore.client.large_requests import is_large
from llmcore.client.media_files import load_files, names_files
from llmcore.client.transport_selection import Transports
from llmcore.protocols.failures.errors import rejected_field
from llmcore.routes.auth import AuthContext
from llmcore.routes.endpoint import BaseUrlOf
from llmcore.routes.route import PreparedRequest, Route, route_of
from llmcore.schema.changed import changed, copying
from llmcore.schema.errors import LLMError
from llmcore.schema.json import ProviderMetadata
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo

_at: Final = copying(AuthContext, "now", "token")
_Server: TypeAlias = tuple[str, str | BaseUrlOf | None]


@define(eq=False)
class PendingRequest:
    """The request of one call."""

    request: LLMRequest
    """Replaced if the server rejects it and the protocol has an alternative."""
    model: Result[Model, LLMError]
    """Its configured model, or the error that states why there is none."""
    streaming: bool = field(kw_only=True)
    models: "Sequence[ModelInfo]" = field(kw_only=True)
    """Models whose facts take precedence over the catalog's."""


@define(eq=False)
class Preparation:
    """Prepares the requests of a client, and remembers what servers have rejected."""

    _credentials: Credentials
    _transports: Transports
    _environ: Mapping[str, str]
    _rejected: dict[_Server, frozenset[str]] = field(factory=dict, init=False)
    """Optional fields of bodies that a server has rejected."""
    _signing: AuthContext = field(init=False)
    """The context of each signature, without time and token."""

    def __attrs_post_init__(self) -> None:
        self._signing = AuthContext(environ=self._environ)

    def context(self, token: str | None) -> AuthContext:
        """Return the context that requests are signed with now."""
        return _at(self._signing, datetime.now(UTC), token)

    async def ready(
        self, pending: PendingRequest, cursor: ProviderMetadata | None
    ) -> Result[RoutedRequest, LLMError]:
        """Return the request prepared for sending, with its token fetched and its files read.

        With a *cursor*, it is the request for the rest of the response.
        """
        if isinstance(pending.model, Failure):
            return pending.model
        model = pending.model.value
        route = route_of(model)
        token = await self._credentials.token(route.auth, self._environ)
        if names_files(pending.request):
            pending.request = await anyio.to_thread.run_sync(load_files, pending.request)
        # Auths that repeat themselves need no time.
        needs_none = token is None and route.auth.repeats
        context = self._signing if needs_none else self.context(token)
        step = partial(
            native_request,
            pending.request,
            model,
            streaming=pending.streaming,
            context=context,
            rejected=self._rejected.get(_server(route), frozenset()) if self._rejected else (),
            models=pending.models,
        )
        large = is_large(pending.request)
        prepared = await anyio.to_thread.run_sync(step) if large else step()
        if cursor is not None:
            prepared = prepared.bind(lambda whole: route.resume(whole, cursor, context))
        if isinstance(prepared, Failure):
            return prepared
        transport, addressed = await self._transports.ready(route, prepared.value)
        return Success(
            RoutedRequest(
                prepared=addressed,
                route=route,
                transport=transport,
                renew_credentials=partial(self._credentials.refused, route.auth, token),
                retry_without_field=partial(self._learn_rejected, pending, addressed, route),
            )
        )

    def _learn_rejected(
        self, pending: PendingRequest, prepared: PreparedRequest, route: Route, error: LLMError
    ) -> bool:
        """Return whether to send the request again, without what the server rejects.

        An optional field that it rejects is remembered for later requests.
        """
        instead = route.protocol.body.instead
        other = None if instead is None else instead(prepared.request, error)
        if other is not None:
            pending.request = other
            return True
        options = prepared.request.options_for(route.protocol.metadata_key, route.provider)
        optional = route.protocol.body.optional - options.keys()
        name = rejected_field(error, prepared.body, optional) if optional else None
        if name is None:
            return False
        server = _server(route)
        self._rejected[server] = self._rejected.get(server, frozenset()) | {name}
        return True


def _server(route: Route) -> _Server:
    return route.provider, route.endpoint.base_url


def native_request(
    request: LLMRequest,
    model: Model,
    *,
    streaming: bool,
    context: AuthContext,
    rejected: Collection[str] = (),
    models: "Sequence[ModelInfo]",
) -> Result[PreparedRequest, LLMError]:
    """Return the native request of *request*, whose model is resolved and files are loaded."""
    known = request.model is model and request.provider is None
    resolved = request if known else changed(request, model=model, provider=None)
    route = route_of(model)
    prepared = route.prepare(resolved, streaming=streaming, context=context, rejected=rejected)
    if isinstance(prepared, Failure):
        return prepared
    checked = with_checked_accounts(prepared.value, route)
    if isinstance(checked, Failure):
        return checked
    noted = with_overflow_note(checked.value, models)
    return checked if noted is checked.value else Success(noted)
