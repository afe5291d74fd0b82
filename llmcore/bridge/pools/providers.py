"""The configured upstreams: a provider for each, with its own key, address and time limits."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from attrs import evolve

from llmcore.bridge.configuration.reading import COMPATIBLE
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.configuration.tables import UpstreamSettings
from llmcore.bridge.model_map import ModelMap
from llmcore.bridge.pools.keys import RotatingKey
from llmcore.bridge.upstream import Upstreams
from llmcore.client.accounts import base_url_of
from llmcore.client.client import Client
from llmcore.client.environment import provider_entries, unknown_provider
from llmcore.client.middleware.telemetry import Telemetry
from llmcore.client.transport import Transport
from llmcore.routes.auth import Auth, AuthContext, CredentialSource, always
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.providers import ModelSource, ProviderEntry
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model
from llmcore.schema.options import HttpOverlay
from llmcore.schema.result import Failure, Result

_KEY: Final = "OPENBRIDGE_KEY_OF_UPSTREAM"
"""The variable from which a compatible server's key is read; it is never in an environment."""
_BASE_URL: Final = "OPENBRIDGE_BASE_URL_OF_UPSTREAM"
_ANY_MODEL: Final = "model"
"""A name for which a provider makes a route, whatever models it has."""
_LATER: Final = "[read when a request is sent]"
"""Replaces a key where its presence is checked."""


def upstreams_from(
    settings: GatewaySettings, model_map: ModelMap, *, transport: Transport | None = None
) -> Upstreams:
    """Return a client of every upstream that *model_map* names.

    *transport*, such as recorded responses, takes the place of the network. Raises
    ConfigurationError for a provider that is not configured, or whose address is not complete,
    naming the variables.
    """
    named = {upstream.name: upstream for upstream in settings.tables.upstreams}
    limits = settings.limits
    timeouts = Timeouts(first_event=limits.first_event_s, idle=limits.idle_s, total=limits.total_s)
    sources = {
        name: _upstream(named[name], settings) if name in named else _provider(name, settings)
        for name in sorted(model_map.providers)
    }
    for name, source in sources.items():
        _check_address(name, source, named.get(name), settings.environ)
    client = Client(
        providers=sources,
        transport=transport,
        timeouts=timeouts,
        environ=settings.environ,
        middleware=(Telemetry(),) if settings.telemetry else (),
    )
    own = {name: _timeouts(upstream, timeouts) for name, upstream in named.items()}
    keys = {
        name: found.key
        for name, found in sources.items()
        if isinstance(found, UpstreamSource) and found.key is not None
    }
    return Upstreams(client, timeouts=own, keys=keys)


def _timeouts(upstream: UpstreamSettings, default: Timeouts) -> Timeouts:
    return evolve(
        default,
        first_event=upstream.first_event_seconds or default.first_event,
        idle=upstream.idle_seconds or default.idle,
    )


def _check_address(
    name: str, source: ModelSource, upstream: UpstreamSettings | None, environ: Mapping[str, str]
) -> None:
    """Raise ConfigurationError if the address of *source* lacks a part, such as a resource."""
    route = source.model(_ANY_MODEL).route
    address = base_url_of(route, environ) if isinstance(route, Route) else None
    if isinstance(address, Failure):
        message = address.error.message
        if upstream is not None:
            raise _fault(upstream, f"{message} (`variables` of the upstream may have them)")
        raise ConfigurationError(f"the provider {name!r}: {message}")


# -- an upstream of the configuration file


@frozen
class UpstreamSource:
    """A provider whose requests are made as the configuration file states for one upstream."""

    source: ModelSource
    variable: str
    """The variable from which the provider's auth takes its key."""
    variables: Mapping[str, str]
    """The upstream's own variables, which take precedence over those of the process."""
    key: RotatingKey | None
    """The upstream's own key, with which requests are signed."""
    overlay: HttpOverlay | None
    """Headers, and fields of bodies."""

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*."""
        model = self.source.model(model_id)
        route = model.route
        if not isinstance(route, Route):
            return model
        route = _with_variables(route, self.variables) if self.variables else route
        if self.key is not None:
            sign = partial(_sign, route.auth, self.variable, self.key)
            auth = evolve(route.auth, sign=sign, fetch=self.key, fetch_when=always)
            route = route.with_(auth=auth)
        if self.overlay is not None:
            http = self.overlay.over(route.defaults.http)
            route = route.with_(defaults=evolve(route.defaults, http=http))
        return Model(model.id, model.provider, route=route)


def _with_variables(route: Route[Any], variables: Mapping[str, str]) -> Route[Any]:
    """Return *route*, whose address and credentials are those of *variables* where they have any.

    A provider reads some of its variables, such as its region, when a request is prepared.
    """
    auth, endpoint = route.auth, route.endpoint

    def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
        return auth.sign(request, evolve(context, environ={**context.environ, **variables}))

    def needs_token(environ: Mapping[str, str]) -> bool:
        return auth.fetch_when({**environ, **variables})

    if callable(made := endpoint.base_url):
        endpoint = evolve(endpoint, base_url=lambda environ: made({**environ, **variables}))
    source = auth.fetch
    fetch = source.named_by(variables) if isinstance(source, CredentialSource) else source
    own_auth = evolve(auth, sign=sign, fetch=fetch, fetch_when=needs_token)
    return route.with_(auth=own_auth, endpoint=endpoint)


def _sign(
    auth: Auth, variable: str, key: RotatingKey, request: HttpRequest, context: AuthContext
) -> Result[HttpRequest, LLMError]:
    """Sign as *auth* does, with the key as if it were in its variable."""
    text = key.current if context.shown else context.token
    environ = {**context.environ, variable: text or ""}
    return auth.sign(request, evolve(context, environ=environ))


def _upstream(upstream: UpstreamSettings, settings: GatewaySettings) -> ModelSource:
    variables = _own_variables(upstream)
    environ = {**settings.environ, **variables}
    overlay = _overlay(upstream)
    if upstream.provider == "local":
        if overlay is not None:
            raise _fault(upstream, "the local model gets no requests: leave headers and body out")
        return _local(environ)
    if upstream.provider == COMPATIBLE:
        source, variable = _compatible(upstream), _KEY
    else:
        source, variable = _configured(upstream, environ)
    if overlay is None and not upstream.is_given and not upstream.variables:
        return source
    key = None
    if upstream.is_given:
        key = RotatingKey(upstream, owner=f"upstream {upstream.name}", folder=settings.folder)
        variables.pop(variable, None)  # the key that is given takes precedence
    return UpstreamSource(source, variable, variables, key, overlay)


def _own_variables(upstream: UpstreamSettings) -> dict[str, str]:
    """Return the variables of *upstream*.

    Where they have credentials, all other credentials of the provider are empty: those of the
    process are another account's.
    """
    entry = provider_entries().get(upstream.provider)
    credentials = () if entry is None else (*entry.key_variables, *entry.other_switches)
    if entry is None or upstream.variables.keys().isdisjoint(credentials):
        return dict(upstream.variables)
    return {**dict.fromkeys((*credentials, *entry.key_parts), ""), **upstream.variables}


def _overlay(upstream: UpstreamSettings) -> HttpOverlay | None:
    if not (upstream.headers or upstream.body):
        return None
    try:
        return HttpOverlay(headers=upstream.headers, body=upstream.body)
    except LLMError as error:
        raise _fault(upstream, str(error)) from error


def _configured(upstream: UpstreamSettings, environ: Mapping[str, str]) -> tuple[ModelSource, str]:
    """Return the provider of *upstream*, and the variable that its key would be in."""
    entry = _entry(upstream.provider)
    variable = next(iter(entry.key_variables), "")
    if upstream.is_given and not variable:
        raise _fault(upstream, f"{entry.id} takes no key: set its variables in `variables`")
    if upstream.is_given:
        environ = {**environ, variable: _LATER}
    if upstream.base_url is not None:
        address = entry.base_url_variable or _BASE_URL
        entry = evolve(entry, base_url_variable=address)
        environ = {**environ, address: upstream.base_url}
    if entry.needs_key and not entry.is_configured(environ):
        variables = " or ".join(entry.switches)
        raise _fault(upstream, f"give it a key, key_file or key_command, or set {variables}")
    try:
        return entry.from_environ(environ), variable
    except (TypeError, ConfigurationError) as error:
        raise _fault(upstream, str(error)) from error


def _compatible(upstream: UpstreamSettings) -> ModelSource:
    from llmcore.routes.openai_compatible import OpenAICompatible

    if upstream.base_url is None:
        raise _fault(upstream, "a compatible server needs a base_url")
    auth: dict[str, Any] = {"auth": Auth.env(_KEY)} if upstream.is_given else {}
    return OpenAICompatible(name=upstream.name, base_url=upstream.base_url, **auth)


def _fault(upstream: UpstreamSettings, message: str) -> ConfigurationError:
    place = upstream.place and f"{upstream.place}: "
    return ConfigurationError(f"{place}the upstream {upstream.name!r}: {message}")


# -- a provider of the usual variables


def _provider(name: str, settings: GatewaySettings) -> ModelSource:
    if name == COMPATIBLE:
        from llmcore.routes.openai_compatible import OpenAICompatible

        return OpenAICompatible(
            name=name,
            base_url=settings.upstream_base_url or "",
            api_key=settings.upstream_api_key,
        )
    if name == "local":
        return _local(settings.environ)
    entry = _entry(name)
    if entry.needs_key and not entry.is_configured(settings.environ):
        variables = " or ".join(entry.switches)
        raise ConfigurationError(f"the provider {name!r} is not configured: set {variables}")
    return entry.from_environ(settings.environ)


def _entry(name: str) -> ProviderEntry:
    entry = provider_entries().get(name)
    if entry is None:
        raise unknown_provider(name, [COMPATIBLE])
    return entry


_LOCAL_CONTEXT_TOKENS: Final = 8192


def _local(environ: Mapping[str, str]) -> ModelSource:
    from llmcore.client.local.model_files import installed
    from llmcore.routes.local import Local

    try:
        installed(environ)
    except ConfigurationError as error:
        message = (
            f"{error.message}, or set the key of a provider, such as OPENAI_API_KEY "
            "(`llmcore providers` lists them)"
        )
        raise ConfigurationError(message, cause=error) from error
    return Local(context_tokens=_LOCAL_CONTEXT_TOKENS)
