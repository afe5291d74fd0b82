"""The options of generation, apart from messages and tools."""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, index
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    Self,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
)

from attrs import field
from attrs.converters import optional

from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import Elsewhere, Hinted, shown_kind, with_call_hints
from llmcore.schema.json import JsonObject, JsonValue, plain_object
from llmcore.schema.pydantic_hooks import for_pydantic

_Word = TypeVar("_Word", bound=str)

_TYPES_KEPT: Final = 256


def _strings(value: str | Sequence[str]) -> tuple[str, ...]:
    if type(value) is tuple:
        return value
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Iterable) else (value,)  # whose type is then checked


def check_kind(
    name: str,
    value: object,
    kinds: tuple[type, ...],
    instead: str,
    error: type[LLMError] = InvalidRequestError,
) -> None:
    """Raise *error* if *value* is not one of *kinds*; a bool is not a number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        shown = f"{value!r:.40}, " if int in kinds and isinstance(value, str) else ""
        raise error(f"{name} is {shown}{shown_kind(value)}; give {instead}")


class FieldKinds:
    """The kinds of some fields, each given as its name, its kinds, and what to write instead."""

    def __init__(self, *fields: tuple[str, tuple[type, ...], str]) -> None:
        self._fields = fields
        self._values = attrgetter(*(name for name, _, _ in fields))
        self._right: set[tuple[type, ...]] = set()
        """Types of all fields together that were checked and are right."""

    def check(self, value: object) -> None:
        """Raise InvalidRequestError if a field of *value* has none of its kinds.

        Numbers of other libraries are replaced by Python's.
        """
        values = self._values(value)
        types = tuple(map(type, values))
        if types in self._right:
            return
        replaced = False
        for (name, kinds, instead), given in zip(self._fields, values, strict=True):
            number = None if type(given) in kinds else _plain_number(given, kinds)
            if number is None:
                check_kind(name, given, kinds, instead)
            else:
                object.__setattr__(value, name, number)
                replaced = True
        if not replaced and len(self._right) < _TYPES_KEPT:
            self._right.add(types)


def _plain_number(given: object, kinds: tuple[type, ...]) -> float | None:
    """Return a number of numpy or another library, such as an item of a data frame, as Python's.

    None for what is not a number of one of *kinds*.
    """
    if isinstance(given, bool):
        return None
    try:
        if int in kinds and isinstance(given, SupportsIndex):
            return index(given)
        if float in kinds and isinstance(given, SupportsFloat):
            return float(given)
    except (TypeError, ValueError):  # an array of several, which has the methods, too
        return None
    return None


ServiceTier = Literal["auto", "default", "flex", "priority"]


@with_call_hints(
    max_output_tokens="max_tokens", max_completion_tokens="max_tokens", stop_sequences="stop"
)
@for_pydantic
@frozen(kw_only=True)
class GenerationOptions:
    """Sampling parameters, limits and the service tier. None uses the provider's default."""

    temperature: float | None = None
    """How random the choice of tokens is; usually between 0 (least) and 2."""
    top_p: float | None = None
    """Only the most probable tokens whose probabilities add up to this are considered."""
    top_k: int | None = None
    """Only this many of the most probable tokens are considered."""
    max_tokens: int | None = None
    """The most output tokens, including reasoning."""
    stop: tuple[str, ...] = field(default=(), converter=_strings)
    """Stop sequences: the response ends before the first one."""
    seed: int | None = None
    """Makes sampling repeatable, as far as the provider supports it."""
    presence_penalty: float | None = None
    """Makes tokens less likely that occurred before; usually -2 to 2."""
    frequency_penalty: float | None = None
    """Makes tokens less likely the more often they occurred; usually -2 to 2."""
    logprobs: bool | None = None
    """Whether to return the log probabilities of the tokens."""
    top_logprobs: int | None = None
    """How many alternatives to return for each token."""
    service_tier: str | None = None
    """How the request is processed and billed: one of ServiceTier, or a provider's own value. With
    "auto" the provider decides; "default" is the standard tier at list price, "flex" is slower and
    cheaper, "priority" faster and more expensive."""

    def __attrs_post_init__(self) -> None:
        _OPTION_KINDS.check(self)
        for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidRequestError(f"{name} is {value}, which JSON cannot represent")
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                upwards = "or more" if most == math.inf else f"to {most}"
                raise InvalidRequestError(f"{name} is {value}; give {least} {upwards}")
        for text in self.stop:
            check_kind("stop", text, (str,), "a text, or several")


_NUMBER: Final = ((NoneType, int, float), "a number")
_COUNT: Final = ((NoneType, int), "a whole number")
_OPTION_KINDS: Final = FieldKinds(
    ("temperature", *_NUMBER),
    ("top_p", *_NUMBER),
    ("top_k", *_COUNT),
    ("max_tokens", *_COUNT),
    ("seed", *_COUNT),
    ("presence_penalty", *_NUMBER),
    ("frequency_penalty", *_NUMBER),
    ("logprobs", (bool, NoneType), "True or False"),
    ("top_logprobs", *_COUNT),
    ("service_tier", (str, NoneType), 'a word such as "flex"'),
)
"""The types of the options, and what to write instead of others."""
_RANGES: Final = (("temperature", 0, math.inf), ("top_p", 0, 1), ("top_logprobs", 0, math.inf))
"""The least and the greatest values that any provider takes."""


class _Formats(Hinted):
    """The type of `ResponseFormat`, whose field `schema` is not a method."""

    if not TYPE_CHECKING:  # on an instance it is the field
        schema = property(lambda _cls: Elsewhere("ResponseFormat.schema()", _OF_SCHEMA))


_OF_SCHEMA: Final = "write ResponseFormat.json_schema(schema)"


@with_call_hints()
@for_pydantic
@frozen
class ResponseFormat(metaclass=_Formats):
    """The format of the response's text."""

    type: Literal["text", "json", "json_schema"] = "text"
    """Free text, any JSON, or JSON that matches `schema`."""
    schema: JsonObject | None = field(default=None, converter=optional(plain_object))
    """The JSON Schema."""
    name: str = field(default="response", kw_only=True)
    """The schema's name, which some providers require."""
    description: str | None = field(default=None, kw_only=True)
    """The schema's description for the model."""
    strict: bool | None = field(default=None, kw_only=True)
    """Whether the provider enforces the schema; None is its strictest mode for this schema."""

    def __attrs_post_init__(self) -> None:
        _word("type", self.type, ("text", "json", "json_schema"))
        if (self.type == "json_schema") != (self.schema is not None):
            raise InvalidRequestError(
                "schema must be set for the type 'json_schema', and only for it"
            )

    @classmethod
    def text(cls) -> Self:
        """Return the format of free text."""
        return cls("text")

    @classmethod
    def json(cls) -> Self:
        """Return the format of any JSON document."""
        return cls("json")

    @classmethod
    @with_call_hints("write ResponseFormat.json_schema(schema, name=...)", json_schema="schema")
    def json_schema(
        cls,
        schema: JsonObject,
        *,
        name: str = "response",
        description: str | None = None,
        strict: bool | None = None,
    ) -> Self:
        """Return the format of JSON documents that match *schema*."""
        return cls("json_schema", schema, name=name, description=description, strict=strict)


ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@with_call_hints(
    budget="budget_tokens", max_tokens="budget_tokens", thinking_budget="budget_tokens"
)
@for_pydantic
@frozen(kw_only=True)
class ReasoningOptions:
    """How much the model reasons, and how much of the reasoning is shown."""

    effort: str | None = None
    """One of ReasoningEffort, or a provider's own value."""
    budget_tokens: int | None = None
    """The most reasoning tokens, where the provider has such a limit."""
    summary: Literal["auto", "concise", "detailed", "none"] | None = None
    """The length of the summary of the reasoning, where the provider shows one."""

    def __attrs_post_init__(self) -> None:
        _REASONING_KINDS.check(self)
        if self.budget_tokens is not None and self.budget_tokens < -1:
            given = f"budget_tokens is {self.budget_tokens}"
            raise InvalidRequestError(f"{given}; give 0 or more, or -1 where the model decides")


_REASONING_KINDS: Final = FieldKinds(
    ("effort", (str, NoneType), 'a word such as "high"'), ("budget_tokens", *_COUNT)
)


@with_call_hints(enabled="write CachePolicy(mode='off'), or cache='off'")
@for_pydantic
@frozen(kw_only=True)
class CachePolicy:
    """Prompt caching.

    `auto` places breakpoints where the provider needs them (after the tools, the system prompt and
    the last messages); `manual` sends only the caller's marks (`cached(part)`); `off` sends none.
    """

    mode: Literal["auto", "manual", "off"] = "auto"
    """How the breakpoints are placed."""
    ttl: Literal["5m", "1h"] | None = None
    """How long the cache lives, where the provider lets requests choose."""
    key: str | None = None
    """Requests with the same key share a cache, where the provider routes by it."""
    retention: str | None = None
    """How long the provider keeps the cache, in its own words (`"in_memory"`, `"24h"`)."""
    content: CachedContent | None = None
    """Content that the provider keeps, with which the request begins (Gemini, Vertex AI)."""

    def __attrs_post_init__(self) -> None:
        _CACHE_KINDS.check(self)
        if self.mode not in _CACHE_MODES:
            _word("mode", self.mode, _CACHE_MODES)
        if self.ttl not in _CACHE_TTLS:
            raise InvalidRequestError(
                f"ttl must be '5m' or '1h', not {self.ttl!r}; a provider's own is retention=..."
            )


_CACHE_MODES: Final = ("auto", "manual", "off")
_CACHE_TTLS: Final = (None, "5m", "1h")
_CACHE_KINDS: Final = FieldKinds(
    ("mode", (str,), "'auto', 'manual' or 'off'"),
    ("ttl", (str, NoneType), "'5m' or '1h'"),
    ("key", (str, NoneType), "a text"),
    ("retention", (str, NoneType), "a text, such as '24h'"),
    ("content", (CachedContent, NoneType), "what CachedContents has made"),
)


# -- words for the commonest options

ReasoningInput: TypeAlias = Union[ReasoningOptions, ReasoningEffort]
"""Reasoning options, or an effort alone."""
CacheInput: TypeAlias = Union[CachePolicy, Literal["auto", "manual", "off"]]
"""A cache policy, or its mode alone."""
FormatInput: TypeAlias = Union[ResponseFormat, Literal["text", "json"], JsonObject]
"""A response format, its type where it needs nothing else, or one as in Chat Completions."""


def as_reasoning_options(value: ReasoningInput | str | None) -> ReasoningOptions | None:
    """Return *value*, an effort as options.

    Raises InvalidRequestError for another type, and for words by which other settings are disabled.
    """
    if isinstance(value, str):
        if value.lower() in _DISABLED:
            raise InvalidRequestError(f"reasoning: write 'none' in place of {value!r}")
        return ReasoningOptions(effort=value)
    check_kind("reasoning", value, (ReasoningOptions, NoneType), _REASONING_INSTEAD)
    return value


_DISABLED: Final = frozenset({"off", "disabled", "false", "no", ""})
_REASONING_INSTEAD: Final = (
    'a word such as "high", or ReasoningOptions(effort=..., budget_tokens=..., summary=...)'
)


def as_cache_policy(value: CacheInput | None) -> CachePolicy | None:
    """Return *value*, a mode as a policy. Raises InvalidRequestError for another word or type."""
    if not isinstance(value, str):
        instead = '"auto", "manual", "off", or CachePolicy(ttl=..., key=...)'
        check_kind("cache", value, (CachePolicy, NoneType), instead)
        return value
    return CachePolicy(mode=_word("cache", value, get_args(get_args(CacheInput)[1])))


def as_response_format(value: FormatInput | None) -> ResponseFormat | None:
    """Return *value* as a format: a type, or a `response_format` of the Chat Completions API.

    Raises InvalidRequestError for another word or mapping.
    """
    if isinstance(value, str):
        return ResponseFormat(_word("response_format", value, get_args(get_args(FormatInput)[1])))
    match value:
        case {"type": "text"}:
            return ResponseFormat.text()
        case {"type": "json_object"}:
            return ResponseFormat.json()
        case {
            "type": "json_schema",
            "json_schema": {"name": str(name), "schema": dict(schema), **rest},
        }:
            other: dict[str, Any] = {
                key: rest[key] for key in ("description", "strict") if key in rest
            }
            return ResponseFormat.json_schema(schema, name=name, **other)
        case Mapping():
            raise InvalidRequestError(
                "response_format must be ResponseFormat.json_schema(schema), 'json', 'text', or a "
                "response_format of the Chat Completions API"
            )
    return value


def _word(name: str, value: _Word, words: tuple[str, ...]) -> _Word:
    if value in words:
        return value
    choices = ", ".join(map(repr, words))
    raise InvalidRequestError(f"{name} must be one of {choices}, or a value, not {value!r}")


def _string_map(value: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return a copy of headers or query fields; numbers become text."""
    if not value:
        return {}
    for name, item in value.items():
        is_text = isinstance(item, str | int | float) and not isinstance(item, bool)
        if not isinstance(name, str) or not is_text:
            what = f"the value of the header or query field {name!r}"
            raise InvalidRequestError(f"{what} must be text, not {shown_kind(item)}")
    try:
        texts = {name: str(item) for name, item in value.items()}
        "".join([*texts, *texts.values()]).encode()
    except ValueError as error:  # half a surrogate pair, or too many digits
        raise InvalidRequestError("a header or query field is not text", cause=error) from error
    return texts


@with_call_hints()
@for_pydantic
@frozen(kw_only=True)
class HttpOverlay:
    """Headers, query parameters and body fields that override those of the built request.

    In `body`, objects are merged with existing objects, other values replace existing ones, and
    None removes the field.
    """

    headers: Mapping[str, str] = field(factory=dict, converter=_string_map, repr=False)
    """Headers to set."""
    query: Mapping[str, str] = field(factory=dict, converter=_string_map, repr=False)
    """Query parameters to set."""
    body: JsonObject = field(factory=dict, converter=plain_object)
    """Fields to merge into the JSON body."""

    def over(self, below: "HttpOverlay") -> "HttpOverlay":
        """Return *below* overridden by this overlay."""
        if not (below.headers or below.query or below.body):
            return self
        return HttpOverlay(
            headers={**below.headers, **self.headers},
            query={**below.query, **self.query},
            body=merge_json(below.body, self.body, keep_none=True),
        )


def merge_json(below: JsonObject, above: JsonObject, *, keep_none: bool = False) -> JsonObject:
    """Return *below* overridden by *above*: objects merge, None removes, other values replace."""
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
