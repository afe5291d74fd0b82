"""How an answer is to be generated, apart from what is said."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from attrs import field, frozen

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue, plain_object


def _strings(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@frozen(kw_only=True)
class GenerationOptions:
    """Sampling and limits. None leaves a choice to the provider."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    """Output tokens at most, reasoning included."""
    stop: tuple[str, ...] = field(default=(), converter=_strings)
    """Texts that end the answer when the model writes them."""
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidRequestError(f"{name} is {value}, which JSON cannot say")


def _optional_schema(value: JsonObject | None) -> JsonObject | None:
    return None if value is None else plain_object(value)


@frozen
class ResponseFormat:
    """The shape of the answer's text.

    `strict` asks the provider to hold the model to the schema exactly; None takes the
    strictest mode the provider has for this schema.
    """

    type: Literal["text", "json", "json_schema"] = "text"
    schema: JsonObject | None = field(default=None, converter=_optional_schema)
    name: str = field(default="response", kw_only=True)
    description: str | None = field(default=None, kw_only=True)
    strict: bool | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if (self.type == "json_schema") != (self.schema is not None):
            raise InvalidRequestError("schema goes with the type 'json_schema', and only with it")

    @classmethod
    def text(cls) -> Self:
        """Build the format of free text."""
        return cls("text")

    @classmethod
    def json(cls) -> Self:
        """Build the format of any one JSON document."""
        return cls("json")

    @classmethod
    def json_schema(
        cls,
        schema: JsonObject,
        *,
        name: str = "response",
        description: str | None = None,
        strict: bool | None = None,
    ) -> Self:
        """Build the format of a JSON document of *schema*."""
        return cls("json_schema", schema, name=name, description=description, strict=strict)


ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@frozen(kw_only=True)
class ReasoningOptions:
    """How much the model thinks, and how much of it is shown."""

    effort: str | None = None
    """One of ReasoningEffort, or a provider's own word."""
    budget_tokens: int | None = None
    """Tokens of thinking at most, where the provider counts them."""
    summary: Literal["auto", "concise", "detailed", "none"] | None = None
    """Whether to show the thinking, where it is shown as a summary."""


@frozen(kw_only=True)
class CachePolicy:
    """Prompt caching.

    `auto` places breakpoints where the provider needs them (tools, system, tail of the
    conversation); `manual` leaves only the caller's own marks (`cached(part)`); `off`
    sends none.
    """

    mode: Literal["auto", "manual", "off"] = "auto"
    ttl: Literal["5m", "1h"] | None = None
    key: str | None = None
    """Requests of one key share a cache, where the provider routes by it."""
    retention: str | None = None
    """How long the provider keeps it, by its own word (`"in_memory"`, `"24h"`)."""


def _string_map(value: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return a copy of headers or query fields; numbers become text."""
    given = value or {}
    for name, item in given.items():
        if not isinstance(name, str) or isinstance(item, bool):
            raise InvalidRequestError(f"header or query field {name!r} is not text")
        if not isinstance(item, str | int | float):
            raise InvalidRequestError(
                f"header or query field {name!r} is a {type(item).__name__}, not text"
            )
    return {name: str(item) for name, item in given.items()}


@frozen(kw_only=True)
class HttpOverlay:
    """Last word on the HTTP request: laid over what the route built.

    In `body`, objects merge with what is there, anything else replaces it, and None
    removes the field.
    """

    headers: Mapping[str, str] = field(factory=dict, converter=_string_map, repr=False)
    query: Mapping[str, str] = field(factory=dict, converter=_string_map, repr=False)
    body: JsonObject = field(factory=dict, converter=plain_object)

    def over(self, below: "HttpOverlay") -> "HttpOverlay":
        """Return *below* with this one laid over it."""
        if not (below.headers or below.query or below.body):
            return self
        return HttpOverlay(
            headers={**below.headers, **self.headers},
            query={**below.query, **self.query},
            body=merge_json(below.body, self.body, keep_none=True),
        )


def merge_json(below: JsonObject, above: JsonObject, *, keep_none: bool = False) -> JsonObject:
    """Lay *above* over *below*: objects merge, None removes, all else replaces."""
    merged: dict[str, JsonValue] = dict(below)
    for key, value in above.items():
        if value is None and not keep_none:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            under = merged.get(key)
            merged[key] = merge_json(
                under if isinstance(under, Mapping) else {}, value, keep_none=keep_none
            )
        else:
            merged[key] = value
    return merged
