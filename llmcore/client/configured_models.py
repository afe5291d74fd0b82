"""The providers of a client, and which of their models a request names."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from attrs import evolve

from llmcore.routes.providers import ModelSource, model_over, split_api
from llmcore.routes.route import route_of
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.model import Model, checked_model_id
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

if TYPE_CHECKING:  # loads the catalog's modules
    from llmcore.catalog.model_info import ModelInfo

PROBE_MODEL: Final = "any"
"""The model id for what concerns a provider, whatever its model."""


def prompt_as_model(text: str, function: str | None = None) -> str | None:
    """Return how to call *function* where *text* is a prompt and not the name of a model.

    None for a name. Without a *function*, it may be any that has a model.
    """
    if " " not in text and not text.endswith(("?", "!", ".")):
        return None
    given = f"{text[:40]!r} is given as the model"
    if function is None:
        return f"{given}: the model comes first, such as 'openai:gpt-5.2'"
    return (
        f"{given}: write {function}(model, prompt), such as "
        f"{function}('openai:gpt-5.2', 'Hi'), or {function}(prompt=...)"
    )


_EXAMPLE: Final = "providers={'openai': OpenAI(api_key=...)}"


@frozen
class ConfiguredProviders:
    """Providers by their names, and the one of models that name none."""

    by_name: Mapping[str, ModelSource]
    default: str | None = None
    default_was_chosen: bool = False
    """Whether an id alone belongs to the default provider without a look into the catalog."""
    on_request: Mapping[str, Callable[[], ModelSource]] = MappingProxyType({})
    """Providers that need no configuration, such as servers on this machine: only for requests
    that name them."""

    @classmethod
    def of(
        cls,
        providers: Mapping[str, ModelSource],
        default: str | None,
        on_request: Mapping[str, Callable[[], ModelSource]] = MappingProxyType({}),
    ) -> "ConfiguredProviders":
        """Return *providers* with a chosen *default*; ConfigurationError if it is none of them."""
        if not isinstance(providers, Mapping) or not all(isinstance(id_, str) for id_ in providers):
            raise ConfigurationError(f"providers must be a dict by id: {_EXAMPLE}")
        wrong = next((name for name, source in providers.items() if not _is_source(source)), None)
        if wrong is not None:  # its value may be a key, which is not repeated
            raise ConfigurationError(f"the provider {wrong!r} must be configured: {_EXAMPLE}")
        made = cls(dict(providers), on_request=on_request)
        chosen = made.own_name(default)
        if chosen is not None and not made._has(chosen):
            known = ", ".join(providers) or "none"
            message = f"default_provider {chosen!r} is not configured (configured: {known})"
            raise ConfigurationError(message)
        return evolve(made, default=chosen, default_was_chosen=chosen is not None)

    def with_later(self, later: "ConfiguredProviders") -> "ConfiguredProviders":
        """Return these providers, and those that are only among *later*."""
        by_name = {**later.by_name, **self.by_name}
        if len(by_name) == len(self.by_name):
            return self
        return evolve(self, by_name=by_name, default=self.default or later.default)

    def resolve(
        self, request: LLMRequest, models: "Sequence[ModelInfo]"
    ) -> Result[Model, LLMError]:
        """Return the configured model of *request*; ConfigurationError if there is none.

        *models* come before those of the catalog.
        """
        model = request.model
        if isinstance(model, Model) and model.route is not None:
            return Success(model)
        try:
            provider, model_id = self._place_of(request, models)
            resolved = self._model(provider, model_id, models)
        except LLMError as error:
            return Failure(error)
        if resolved is not None:
            return Success(resolved)
        from llmcore.client.environment import unconfigured  # loads the catalog's modules

        asked_for = "" if model_id == PROBE_MODEL else model_id
        return Failure(unconfigured(provider, asked_for, self.by_name))

    def _model(
        self, provider: str | None, model_id: str, models: "Sequence[ModelInfo]"
    ) -> Model | None:
        """Return the model of *provider*, whose name may end with an API; None without either."""
        name, api = self.split_name(provider or "")
        source = self._source(name)
        return None if source is None else model_over(source, api, _named(model_id, name, models))

    def _source(self, name: str) -> ModelSource | None:
        if name in self.on_request and name not in self.by_name:
            return self.on_request[name]()
        return self.by_name.get(name)

    def split_name(self, provider: str) -> tuple[str, str]:
        """Return the own name of *provider*, and the API that it ends with unless it is a name."""
        own = self.own_name(provider)
        if own is not None and self._has(own):
            return own, ""
        name, api = split_api(provider)
        return self.own_name(name) or name, api

    def _place_of(
        self, request: LLMRequest, models: "Sequence[ModelInfo]"
    ) -> tuple[str | None, str]:
        """Return the provider and the id of the model that *request* names.

        `openai:gpt-5.2` names both, and `openai-chat:gpt-5.2` the API, too. An id alone belongs to
        the default provider if one was set; otherwise it is looked up in the catalog among the
        configured providers. One that names a known provider without a configuration is never
        sent to another, and one with nearly such a name only to servers whose models the catalog
        does not list (`llama3:8b`). A model of another provider is not sent to one that serves
        only its own models, unless it is configured with another address, such as a proxy's.
        """
        model_id = request.model_id
        if request.provider_id:
            return self.own_name(request.provider_id), model_id
        if model_id:
            checked_model_id(model_id)
        before, colon, after = model_id.partition(":")
        if colon and not after and self._has(self.split_name(before)[0]):
            raise ConfigurationError(f"{model_id!r} names no model: write {model_id + 'MODEL'!r}")
        if after and self._has(self.split_name(before)[0]):
            return before, after
        if model_id and not self.default_was_chosen:
            from llmcore.catalog.lookup import get_model_info  # reads a data file
            from llmcore.client.environment import names_a_provider  # loads the catalog's modules

            for provider in self.by_name:
                if get_model_info(model_id, provider, models=models) is not None:
                    return provider, self._without_provider(model_id, provider)
            if after and _is_meant(split_api(before)[0], self.default):
                return before, after
            is_known = get_model_info(model_id) is not None or names_a_provider(model_id)
            if is_known and self._serves_own_models(self.default):
                return None, model_id
        return self.default, model_id

    def _without_provider(self, model_id: str, provider: str) -> str:
        """Return *model_id* without `provider/` before it, if that has only its own models."""
        bare = model_id.removeprefix(f"{provider}/")
        return bare if bare != model_id and self._serves_own_models(provider) else model_id

    def _serves_own_models(self, provider: str | None) -> bool:
        """Return whether *provider* serves only its own models, and has its usual address."""
        from llmcore.client.environment import provider_entries  # loads the catalog's modules

        entry = provider_entries().get(provider or "")
        if entry is None or provider is None or not entry.only_own_models:
            return False
        return _address(self.by_name[provider]) == _address(entry.from_environ({}))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all providers, aliases included."""
        from llmcore.catalog.model_names import PROVIDER_ALIASES

        other = (alias for alias, name in PROVIDER_ALIASES.items() if self._has(name))
        return (*self.by_name, *self.on_request, *other)

    def own_name(self, provider: str | None) -> str | None:
        """Return the id under which *provider* is configured: its own or an alias."""
        if provider is None or self._has(provider):
            return provider
        from llmcore.catalog.model_names import PROVIDER_ALIASES  # loads the catalog's modules

        other = PROVIDER_ALIASES.get(provider, provider)
        return other if self._has(other) else provider

    def _has(self, name: str) -> bool:
        return name in self.by_name or name in self.on_request


def _is_source(value: object) -> bool:
    return hasattr(value, "model") and not isinstance(value, type)


def _address(provider: ModelSource) -> object:
    """Return the base URL of *provider*."""
    return route_of(provider.model(PROBE_MODEL)).endpoint.base_url


def _is_meant(provider: str, default: str | None) -> bool:
    """Return whether *provider*, before a colon, is or nearly is the name of a known provider.

    Ids of servers without models in the catalog can begin with nearly such a name.
    """
    from llmcore.catalog.records import catalog  # loads the catalog's modules
    from llmcore.client.environment import nearest_provider

    nearest = nearest_provider(provider, cutoff=0.8)
    return nearest == provider or (nearest is not None and default in catalog().by_provider)


def _named(model_id: str, provider: str, models: "Sequence[ModelInfo]") -> str:
    """Return *model_id* with an alias or family resolved; the newest model for an empty id."""
    for model in models:
        if model.provider == provider and model_id in model.aliases:
            return model.id
    from llmcore.catalog.model_names import FAMILIES  # loads the catalog's modules

    if model_id and model_id.lower() not in FAMILIES:
        return model_id
    from llmcore.catalog.lookup import get_latest_model, newest_of_family  # reads a data file

    if model_id:
        named = newest_of_family(model_id, provider)
        return model_id if named is None else named.id
    newest = get_latest_model(provider, models=models)
    if newest is None:
        message = f"set a model: the catalog has no model of the provider {provider!r}"
        raise ConfigurationError(message, provider=provider)
    return newest.id
