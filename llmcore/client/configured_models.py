"""The providers of a client, and which of their models a request names."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from attrs import frozen

from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

if TYPE_CHECKING:  # loads the catalog's modules
    from llmcore.catalog.model_info import ModelInfo


class ModelSource(Protocol):
    """The interface that a registered provider must have: facades and routes have it."""

    def model(self, model_id: str) -> Model:
        """Return the model *model_id*, with its route."""
        ...


_EXAMPLE: Final = "providers={'openai': OpenAI(api_key=...)}"


@frozen
class ConfiguredProviders:
    """Providers by their names, and the one of models that name none."""

    by_name: Mapping[str, ModelSource]
    default: str | None = None
    default_was_chosen: bool = False
    """Whether an id alone belongs to the default provider without a look into the catalog."""

    @classmethod
    def of(cls, providers: Mapping[str, ModelSource], default: str | None) -> "ConfiguredProviders":
        """Return *providers* with a chosen *default*; ConfigurationError if it is none of them."""
        if not isinstance(providers, Mapping):
            raise ConfigurationError(f"providers must be a dict by id: {_EXAMPLE}")
        wrong = next((name for name, one in providers.items() if not hasattr(one, "model")), None)
        if wrong is not None:  # its value may be a key, which is not repeated
            raise ConfigurationError(f"the provider {wrong!r} must be configured: {_EXAMPLE}")
        made = cls(dict(providers))
        chosen = made.own_name(default)
        if chosen is not None and chosen not in providers:
            known = ", ".join(providers) or "none"
            message = f"default_provider {chosen!r} is not configured (configured: {known})"
            raise ConfigurationError(message)
        return cls(made.by_name, chosen, default_was_chosen=chosen is not None)

    def resolve(
        self, request: LLMRequest, models: "Sequence[ModelInfo]"
    ) -> Result[Model, LLMError]:
        """Return the configured model of *request*; ConfigurationError if there is none.

        *models* come before those of the catalog.
        """
        model = request.model
        if isinstance(model, Model) and model.route is not None:
            return Success(model)
        provider, model_id = self._place_of(request, models)
        if provider is None or provider not in self.by_name:
            from llmcore.client.environment import unconfigured  # loads the catalog's modules

            return Failure(unconfigured(provider, model_id, self.by_name))
        try:
            return Success(self.by_name[provider].model(_named(model_id, provider, models)))
        except LLMError as error:
            return Failure(error)

    def _place_of(
        self, request: LLMRequest, models: "Sequence[ModelInfo]"
    ) -> tuple[str | None, str]:
        """Return the provider and the id of the model that *request* names.

        `openai:gpt-5.2` names both. An id alone belongs to the default provider if one was set;
        otherwise it is looked up in the catalog among the configured providers. One that names a
        known provider without a configuration is never sent to another, and one with nearly such
        a name only to servers whose models the catalog does not list (`llama3:8b`).
        """
        model_id = request.model_id
        if request.provider_id:
            return self.own_name(request.provider_id), model_id
        before, _, after = model_id.partition(":")
        if after and (own := self.own_name(before)) in self.by_name:
            return own, after
        if model_id and not self.default_was_chosen:
            from llmcore.catalog.lookup import get_model_info  # reads a data file

            for provider in self.by_name:
                if get_model_info(model_id, provider, models=models) is not None:
                    return provider, model_id
            if after and _is_meant(before, self.default):
                return before, after
        return self.default, model_id

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all providers, aliases included."""
        from llmcore.catalog.model_names import PROVIDER_ALIASES

        other = (alias for alias, name in PROVIDER_ALIASES.items() if name in self.by_name)
        return (*self.by_name, *other)

    def own_name(self, provider: str | None) -> str | None:
        """Return the id under which *provider* is configured: its own or an alias."""
        if provider is None or provider in self.by_name:
            return provider
        from llmcore.catalog.model_names import PROVIDER_ALIASES  # loads the catalog's modules

        other = PROVIDER_ALIASES.get(provider, provider)
        return other if other in self.by_name else provider


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
