"""How the API's JSON objects are told apart, and which of their fields are written as null."""

from typing import Any, ClassVar, Literal

from attrs import Attribute, field, frozen

from llmcore.schema.json import JsonObject, plain_object

_ALWAYS = "always"


def always(default: Any) -> Any:
    """Declare a field that is written also when it is at *default*."""
    return field(default=default, metadata={_ALWAYS: True})


def is_always_written(attribute: "Attribute[Any]") -> bool:
    """Return whether *attribute* was declared by `always`."""
    return bool(attribute.metadata.get(_ALWAYS))


@frozen
class Raw:
    """An object of a type that is not modelled here, or must stay as it came: kept whole."""

    data: JsonObject = field(converter=plain_object)


@frozen
class CacheControl:
    """The end of a prefix to cache; five minutes if `ttl` is not given."""

    type: ClassVar[str] = "ephemeral"
    ttl: Literal["5m", "1h"] | None = None
