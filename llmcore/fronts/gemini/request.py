"""Reads a `generateContent` request: its model, its settings, and the context of its response.

    POST /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "systemInstruction":
     {"parts": [...]}, "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}

Sources, read November 2026: https://ai.google.dev/api/generate-content (the path, the fields,
GenerationConfig), https://ai.google.dev/api/tokens (`generateContentRequest`),
https://ai.google.dev/gemini-api/docs/thinking.

What `LLMRequest` has a field for goes there. The rest goes by its native name to a Gemini upstream,
and is named in a Diagnostic for others, or refused where the response would be another one.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from llmcore.fronts.checked_read import checked_read
from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.front import ClientRequest, ReadRequest, Routing, Upstream
from llmcore.fronts.gemini.content import camel_keys, enum_name
from llmcore.fronts.gemini.embeddings import EMBEDDING_METHODS
from llmcore.fronts.gemini.messages import read_contents, read_system
from llmcore.fronts.gemini.tools import json_schema, read_tools
from llmcore.fronts.reading import read_field, read_options, read_texts, report_unknown, with_effort
from llmcore.protocols.gemini.names import (
    GENERATION_FIELDS,
    METADATA_KEY,
    PARAMETERS,
    PROTOCOL_ID,
    SERVICE_TIERS,
)
from llmcore.protocols.tool_schema.normalise import without_null_keywords
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import NativeObject
from llmcore.schema.native_json import str_or_none
from llmcore.schema.options import GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest

_T = TypeVar("_T")

# -- the path

_TARGET: Final = re.compile(r"(?:^|/)(models|tunedModels|endpoints)/(?P<name>.+?)/*$")
_METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens")


def routing_of(request: ClientRequest) -> Routing:
    """Return the model that the path names, and whether its method streams.

    FrontError for a path that names no model, and for another method.
    """
    match = _TARGET.search(unquote(request.path))
    if match is None:
        body = camel_keys(request.body)
        named = body.get("model") or camel_keys(body.get("generateContentRequest")).get("model")
        return Routing(model=_model_name(named), streaming=False)
    target, name = match[1], match["name"]
    model, colon, method = name.rpartition(":")
    if not colon or "/" in method:
        model, method = name, _METHODS[0]
    if method not in _METHODS and method not in EMBEDDING_METHODS:
        raise unsupported_method(method)
    tuned = "tunedModels/" if target == "tunedModels" else ""
    return Routing(
        model=_model_name(f"{tuned}{model}"), streaming=method == "streamGenerateContent"
    )


def unsupported_method(method: str) -> FrontError:
    """Return the error of a *method* that is not served."""
    served = ", ".join((*_METHODS, *EMBEDDING_METHODS))
    return FrontError(
        status=501,
        message=f"The method {method[:80]!r} is not served here; there are {served}.",
        code="unsupported_method",
    )


def _model_name(value: object) -> str:
    name = str_or_none(value)
    if name is None:
        raise FrontError(
            status=404,
            message="The path names no model: it ends with models/{model}:generateContent.",
            code="model_not_found",
        )
    return name.removeprefix("models/")


# -- the context of the response


@frozen(kw_only=True)
class ReadGeminiRequest(ReadRequest):
    """A request, with what writing its response needs."""

    include_thoughts: bool = True
    """Whether the client asks to see the thoughts."""


# -- the body


@checked_read(PROTOCOL_ID)
def read_request(client_request: ClientRequest, upstream: Upstream) -> ReadGeminiRequest:
    """Return *client_request* as a request to *upstream*."""
    diagnostics = Diagnostics()
    body = camel_keys(client_request.body)
    counted = body.get("generateContentRequest")  # inside a request to count tokens
    body = camel_keys(counted) if isinstance(counted, dict) else body
    streaming = client_request.path != "" and routing_of(client_request).streaming
    request = _request(body, upstream, diagnostics)
    config = camel_keys(body.get("generationConfig"))
    thinking = camel_keys(config.get("thinkingConfig"))
    return ReadGeminiRequest(
        request=request,
        streaming=streaming,
        diagnostics=tuple(diagnostics.entries),
        include_thoughts=thinking.get("includeThoughts") is True,
    )


def _request(body: NativeObject, upstream: Upstream, diagnostics: Diagnostics) -> LLMRequest:
    native = upstream.protocol_id == PROTOCOL_ID
    config = camel_keys(_field(body, "generationConfig", dict))
    native_fields = _native_fields(body, config, native=native, diagnostics=diagnostics)
    offer = read_tools(body, upstream, diagnostics)
    native_fields |= offer.native
    labels = _labels(body, diagnostics)
    messages = read_contents(body, upstream, diagnostics)
    system = read_system(body.get("systemInstruction"), diagnostics)
    if not messages and not (native and native_fields.get("cachedContent")):
        raise invalid("contents is empty: there is nothing to answer.", "contents")
    return LLMRequest(
        model=upstream.model,
        provider=upstream.provider,
        messages=messages,
        system=system,
        tools=offer.tools,
        tool_choice=offer.choice,
        generation=_generation(body, config),
        response_format=_format(config, diagnostics, native=native),
        reasoning=with_effort(_reasoning(config, native=native), upstream.protocol_id, diagnostics),
        metadata=labels,
        provider_options={METADATA_KEY: native_fields} if native_fields else {},
    )


def _field(body: Mapping[str, Any], name: str, kind: type[_T], path: str = "") -> _T | None:
    """Return a field; numbers may come as text, and whole ones as `1.0`, as in proto JSON."""
    value = body.get(name)
    if kind in (int, float) and isinstance(value, str | float):
        try:
            number = float(value)
        except ValueError:
            number = None
        if number is not None and (kind is float or number.is_integer()):
            return kind(number)  # type: ignore[call-arg]
    return read_field(body, name, kind, path)


# -- settings


_CONFIG: Final = "generationConfig."


def _generation(body: NativeObject, config: NativeObject) -> GenerationOptions:
    options = read_options(config, PARAMETERS, _field, _CONFIG)
    stop = read_texts(config, "stopSequences", _CONFIG)
    # `flex`, or in an older form `SERVICE_TIER_FLEX`
    tier = (_field(body, "serviceTier", str) or "").lower().removeprefix("service_tier_")
    return GenerationOptions(**options, stop=stop, service_tier=_TIERS.get(tier, tier))


_TIERS: Final = {
    **{native: name for name, native in SERVICE_TIERS.items()},
    "unspecified": None,
    "": None,
}


_JSON: Final = "application/json"
_TEXT: Final = "text/plain"


def _format(
    config: NativeObject, diagnostics: Diagnostics, *, native: bool
) -> ResponseFormat | None:
    """Return the response format; None for free text."""
    kind = _field(config, "responseMimeType", str, _CONFIG)
    if kind not in (None, "", _TEXT, _JSON):
        if native:
            return None  # it goes by its native name
        raise invalid(
            f"The upstream answers in text or JSON, not in {kind}.", f"{_CONFIG}responseMimeType"
        )
    schema = _field(config, "responseJsonSchema", dict, _CONFIG)
    openapi = _field(config, "responseSchema", dict, _CONFIG)
    other = None if openapi is None else json_schema(openapi)
    if schema is None:
        schema = other
    elif other not in (None, schema):
        why = "responseJsonSchema is set too, and is another schema"
        diagnostics.at(f"{_CONFIG}responseSchema").unsupported(why)
    if schema is not None:
        return ResponseFormat.json_schema(without_null_keywords(schema))
    return ResponseFormat.json() if kind == _JSON else None


_AUTOMATIC: Final = -1
_NO_LEVEL: Final = "THINKING_LEVEL_UNSPECIFIED"


def _reasoning(config: NativeObject, *, native: bool) -> ReasoningOptions | None:
    """Return the reasoning options; None if the request sets none.

    Budgets of 0 (the model does not think) and of -1 (it decides) are numbers to Gemini only.
    """
    thinking = camel_keys(_field(config, "thinkingConfig", dict, _CONFIG))
    path = f"{_CONFIG}thinkingConfig."
    level = _field(thinking, "thinkingLevel", str, path)
    budget = _field(thinking, "thinkingBudget", int, path)
    shown = _field(thinking, "includeThoughts", bool, path)
    effort = None if level in (None, "", _NO_LEVEL) else str(level).lower()
    if not native and budget in (0, _AUTOMATIC):
        effort = effort or (None if budget == _AUTOMATIC else "none")
        budget = None
    states_none = shown is None if native else not shown  # hidden thoughts need not be thought
    if effort is None and budget is None and states_none:
        return None
    return ReasoningOptions(
        effort=effort,
        budget_tokens=budget,
        summary=None if shown is None else "auto" if shown else "none",
    )


def _labels(body: NativeObject, diagnostics: Diagnostics) -> dict[str, str]:
    labels = _field(body, "labels", dict) or {}
    kept = {name: item for name, item in labels.items() if isinstance(item, str)}
    for name in labels.keys() - kept.keys():
        diagnostics.at(f"labels.{name[:100]}").unsupported("labels must be text")
    return kept


# -- native fields


_READ_FIELDS: Final = frozenset(
    {"contents", "generationConfig", "labels", "model", "systemInstruction", "toolConfig", "tools"}
    | {"serviceTier"}
)
_OPTIONAL: Final = frozenset(
    {"cachedContent", "continuationToken", "modelArmorConfig", "outputConfig", "safetySettings"}
    | {"store"}
)
"""Fields that only Gemini has."""
_READ_SETTINGS: Final = frozenset(
    {*PARAMETERS.values(), "responseJsonSchema", "responseMimeType", "responseSchema"}
    | {"thinkingConfig"}
)
_OF_THINKING: Final = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
_DEFAULTS: Final[Mapping[str, tuple[object, ...]]] = {"candidateCount": (1,)}
"""Values equal to the default: omitting them loses nothing."""
_FORMAT_FIELDS: Final = ("responseMimeType", "responseSchema", "responseJsonSchema")


def _native_fields(
    body: NativeObject, config: NativeObject, *, native: bool, diagnostics: Diagnostics
) -> dict[str, Any]:
    """Return the fields for a Gemini upstream; report those that others do not have."""
    fields = {name: body[name] for name in body if name in _OPTIONAL}
    settings = {name: item for name, item in config.items() if name not in _READ_SETTINGS}
    report_unknown(body, _READ_FIELDS | _OPTIONAL, diagnostics)
    report_unknown(settings, GENERATION_FIELDS, diagnostics, _CONFIG[:-1])
    thinking = camel_keys(config.get("thinkingConfig"))
    report_unknown(thinking, _OF_THINKING, diagnostics, f"{_CONFIG}thinkingConfig")
    fields |= {name: item for name, item in settings.items() if name in GENERATION_FIELDS}
    fields = {name: item for name, item in fields.items() if item not in _DEFAULTS.get(name, ())}
    kind = config.get("responseMimeType")
    if native:
        special = kind not in (None, "", _TEXT, _JSON)
        formats = {name: config[name] for name in _FORMAT_FIELDS if special and name in config}
        return fields | formats
    for name, item in fields.items():
        if name == "responseModalities" and _is_text_only(item):
            continue
        if name == "store" and item is False:
            continue  # Google's logs, which the upstream does not keep
        if name in _REFUSED:
            raise invalid(f"{_REFUSED[name]} Leave {name} out.", name)
        place = name if name in _OPTIONAL else f"{_CONFIG}{name}"
        diagnostics.at(place).unsupported(f"the upstream takes no {name}")
    return {}


_REFUSED: Final[Mapping[str, str]] = {
    "cachedContent": "Stored contexts are kept by Google, and the upstream is another service.",
    "candidateCount": "The upstream gives one candidate.",
    "continuationToken": "The upstream cannot continue a response of Google's.",
    "responseModalities": "The upstream answers in text only.",
}
"""Fields that cannot be left out without changing the response."""


def _is_text_only(value: object) -> bool:
    """Return whether *value* is the list of modalities that every upstream answers in."""
    modalities = (
        [enum_name(item, _MODALITIES) for item in value] if isinstance(value, list) else [""]
    )
    return {str(modality).upper() for modality in modalities} <= {"TEXT"}


_MODALITIES: Final = ("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO")
"""The modalities by their numbers, as in `types.GenerationConfig.Modality` of
`google.ai.generativelanguage_v1beta`."""
