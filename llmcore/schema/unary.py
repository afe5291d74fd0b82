"""The fields that the requests and the responses of all unary calls to a model have."""

from collections.abc import Sequence

from attrs import field

from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata, plain_metadata
from llmcore.schema.model import Model
from llmcore.schema.usage import Usage


@frozen(kw_only=True)
class UnaryRequest:
    """The fields of every request of a unary call to a model."""

    model: Model | str
    """The model, or its id, which may name the provider as in `openai:text-embedding-3-small`."""
    provider: str | None = None
    """The provider of a model that only an id names."""
    provider_options: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    """Native fields of the body, by provider."""
    strict: bool = False
    """Whether a setting that the API lacks is an error and not a Diagnostic."""

    @property
    def model_id(self) -> str:
        """The model's id."""
        return self.model.id if isinstance(self.model, Model) else self.model

    @property
    def provider_id(self) -> str:
        """The provider's id; empty if none is named."""
        return self.model.provider if isinstance(self.model, Model) else self.provider or ""

    @property
    def own_options(self) -> JsonObject:
        """The native fields for the provider of the model."""
        return self.provider_options.get(self.provider_id, {})


@frozen(kw_only=True)
class UnaryResponse:
    """The fields of every response to a unary call of a model."""

    provider: str
    """The provider's id."""
    model: str
    """The model that answered, as the provider names it."""
    usage: Usage = Usage()
    """The tokens, if the provider counts them; those of several requests are added up."""
    cost: float | None = field(default=None, eq=False)
    """US dollars, as the provider states them or at list price; None if it is unknown."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out or changed."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native document; None if there was none, or several."""


# -- checks of fields


def check_count(_request: object, attribute: object, value: int | None) -> None:
    """Raise InvalidRequestError unless *value* is None or a whole number from 1 on."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        name = getattr(attribute, "name", "count")
        raise InvalidRequestError(f"{name} is a number from 1 on, not {value!r}")


def check_text(_request: object, attribute: object, value: str) -> None:
    """Raise InvalidRequestError unless *value* is a text that is not empty."""
    _check_text(getattr(attribute, "name", "text"), value)


def check_texts(_request: object, attribute: object, texts: Sequence[str]) -> None:
    """Raise InvalidRequestError unless *texts* has texts, and none that is empty."""
    name = getattr(attribute, "name", "inputs")
    if not texts:
        raise InvalidRequestError(f"{name} is empty: give at least one text")
    for number, text in enumerate(texts):
        _check_text(f"{name}[{number}]", text)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidRequestError(f"{name} is of the type {type(text).__name__}, not a text")
    if not text:
        raise InvalidRequestError(f"{name} is empty, which providers refuse")
