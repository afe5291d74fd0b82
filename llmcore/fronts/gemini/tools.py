"""Reads tools, and the choice among them.

Sources, read November 2026: https://ai.google.dev/api/caching#Tool, .../caching#ToolConfig,
.../caching#Schema (types in upper case, `nullable`, 64-bit integers as text), and
https://ai.google.dev/gemini-api/docs/tools.

    {"functionDeclarations": [{"name": "f", "description": "...",
                               "parameters": {"type": "OBJECT", "properties": {...}}}]}
    {"googleSearch": {}}
    {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve, field

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.gemini.content import camel_keys, enum_name, object_in
from llmcore.fronts.reading import (
    check_tool_count,
    read_field,
    read_texts,
    report_lost,
    report_unknown,
    rooted,
)
from llmcore.fronts.tools_as_functions import offered_hosted
from llmcore.protocols.gemini.names import METADATA_KEY, MODES, PROTOCOL_ID
from llmcore.protocols.tools import shown
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, NativeObject, present
from llmcore.schema.native_json import str_or_empty
from llmcore.schema.options import merge_json
from llmcore.schema.tools import HostedTool, HostedToolKind, ToolChoice, ToolDefinition, ToolSpec

# -- the offer


@frozen(kw_only=True)
class OfferedTools:
    """The tools of a request, and the choice among them."""

    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice | None = None
    native: JsonObject = field(factory=dict)
    """Fields for a Gemini upstream that `ToolDefinition` and `ToolChoice` do not have."""


def read_tools(body: NativeObject, upstream: Upstream, diagnostics: Diagnostics) -> OfferedTools:
    """Return the tools of a request, and the choice among them.

    FrontError for an invalid tool, and for one that the policy refuses.
    """
    config = camel_keys(read_field(body, "toolConfig", dict))
    _report_config(config, native=upstream.protocol_id == PROTOCOL_ID, diagnostics=diagnostics)
    collector = _ToolCollector(upstream, config, diagnostics)
    given = body.get("tools")
    for index, tool in enumerate(given if isinstance(given, list) else [given] if given else []):
        collector.add(tool, f"tools[{index}]")
    offer = OfferedTools(tools=tuple(collector.tools))
    collector.report_place()
    check_tool_count(len(offer.tools), upstream.policy)
    native = upstream.protocol_id == PROTOCOL_ID
    offer = _with_choice(offer, config, native=native, diagnostics=diagnostics)
    shows_parts = config.get(_SHOWS_PARTS)
    if shows_parts and not native:
        why = "a response has the results of the upstream's tools, and not their parts"
        diagnostics.at(f"toolConfig.{_SHOWS_PARTS}").unsupported(why)
    kinds = {isinstance(tool, HostedTool) for tool in offer.tools}
    if not native or shows_parts is None or len(kinds) > 1:  # beside functions it is always set
        return offer
    shown_parts = {"toolConfig": {_SHOWS_PARTS: shows_parts}}
    return evolve(offer, native=merge_json(offer.native, shown_parts))


_SHOWS_PARTS: Final = "includeServerSideToolInvocations"
"""Whether the response has the calls and the results of tools that Google runs."""


def _report_config(config: NativeObject, *, native: bool, diagnostics: Diagnostics) -> None:
    """Report the fields of `toolConfig` that the upstream does not have."""
    known = frozenset({"functionCallingConfig", "retrievalConfig", _SHOWS_PARTS})
    report_unknown(config, known, diagnostics, "toolConfig")
    calling = object_in(config, "functionCallingConfig", "toolConfig")
    path = "toolConfig.functionCallingConfig"
    read_texts(calling, "allowedFunctionNames", f"{path}.")
    report_unknown(calling, frozenset({"allowedFunctionNames", "mode"}), diagnostics, path)
    place = object_in(config, "retrievalConfig", "toolConfig")
    read_field(place, "latLng", dict, "toolConfig.retrievalConfig.")
    coordinates = frozenset({"latitude", "longitude"})
    where = "toolConfig.retrievalConfig.latLng"
    report_unknown(camel_keys(place.get("latLng")), coordinates, diagnostics, where)
    for name in place if not native else place.keys() - {"latLng"}:
        path = f"toolConfig.retrievalConfig.{name}"
        diagnostics.at(path).unsupported(f"the upstream's tools take no {name}")


_OF_DECLARATIONS: Final = frozenset({"description", "name", "parameters", "parametersJsonSchema"})
"""Fields of functions that all APIs have."""


class _ToolCollector:
    """Reads the tools of one request."""

    def __init__(self, upstream: Upstream, config: NativeObject, diagnostics: Diagnostics) -> None:
        self._upstream = upstream
        self._native = upstream.protocol_id == PROTOCOL_ID
        self._config = config
        self._diagnostics = diagnostics
        self.tools: list[ToolSpec] = []

    def add(self, tool: object, path: str) -> None:
        """Add one entry of `tools`: functions, and tools that Google runs."""
        if not isinstance(tool, dict):
            raise invalid(f"{path} must be an object.", path)
        for name, value in camel_keys(tool).items():
            if name == "functionDeclarations":
                declared = value if isinstance(value, list) else [value]
                for index, declaration in enumerate(declared):
                    self.tools.append(self._function(declaration, f"{path}.{name}[{index}]"))
            elif value is not False:
                if name in _KINDS and value is not True:
                    read_field({name: value}, name, dict, f"{path}.")
                self._add_hosted(name, value, f"{path}.{name}")

    def _function(self, declared: object, path: str) -> ToolDefinition:
        given = camel_keys(declared)
        own = present(given, but=_OF_DECLARATIONS)
        if not self._native:
            why = "a function of the upstream has no such field"
            report_lost(list(own), why, self._diagnostics.at(path))
        schema = given.get("parametersJsonSchema")
        if schema is None:
            schema = json_schema(read_field(given, "parameters", dict, f"{path}."))
        try:
            return ToolDefinition(
                str_or_empty(given.get("name")),
                read_field(given, "description", str, f"{path}.") or "",
                _parameters(schema),
                provider_metadata={METADATA_KEY: own} if own and self._native else {},
            )
        except InvalidRequestError as error:
            raise invalid(f"{path}: {error.message}", path) from error

    def report_place(self) -> None:
        """Report the user's location if no tool takes it."""
        place = camel_keys(self._config.get("retrievalConfig")).get("latLng")
        placed = (isinstance(tool, HostedTool) and tool.kind in _PLACED for tool in self.tools)
        if self._native and place and not any(placed):
            why = "no tool accepts a location"
            self._diagnostics.at("toolConfig.retrievalConfig.latLng").unsupported(why)

    # -- tools that the provider runs

    def _add_hosted(self, name: str, value: object, path: str) -> None:
        kind = _KINDS.get(name, "raw")
        tool = offered_hosted(
            f"{name} tool",
            kind,
            self._upstream,
            self._diagnostics.at(path),
            same_api=self._native,
            own=lambda: self._own(kind, name, value, path),
            lowered=lambda: self._lowered(kind, camel_keys(value), path),
        )
        if tool is not None:
            self.tools.append(tool)

    def _own(self, kind: HostedToolKind, name: str, value: object, path: str) -> HostedTool:
        """Return a tool for a Gemini upstream, which takes all options as they are.

        `googleSearchRetrieval` is that of models which are shut down; `googleSearch`, which took
        its place, has no `dynamicRetrievalConfig`:
        https://ai.google.dev/gemini-api/docs/google-search, read November 2026.
        """
        read_options = _OPTIONS.get(kind)
        if read_options is None:
            return HostedTool.raw(METADATA_KEY, {name: value})  # type: ignore[dict-item]
        options = read_options(camel_keys(value))
        if options.pop(_DYNAMIC, None) is not None:
            why = "googleSearch has none: the model decides when to search"
            self._diagnostics.at(f"{path}.{_DYNAMIC}").unsupported(why)
        place = camel_keys(self._config.get("retrievalConfig")).get("latLng")
        if kind in _PLACED and isinstance(place, dict):
            options = {**options, "user_location": place}
        return HostedTool(kind=kind, options=options)

    def _lowered(self, kind: HostedToolKind, value: NativeObject, path: str) -> HostedTool:
        """Return a tool for another upstream: only what they share is kept."""
        blocked = value.pop("excludeDomains", None) if kind == "web_search" else None
        for name in value:
            self._diagnostics.at(f"{path}.{name}").unsupported(f"the upstream's tool has no {name}")
        return HostedTool(kind=kind, options={"blocked_domains": blocked} if blocked else {})


_DYNAMIC: Final = "dynamicRetrievalConfig"
_KINDS: Final[Mapping[str, HostedToolKind]] = {
    "googleSearch": "web_search",
    "googleSearchRetrieval": "web_search",
    "urlContext": "web_fetch",
    "fileSearch": "file_search",
    "codeExecution": "code_execution",
    "computerUse": "computer_use",
    "googleMaps": "maps",
}
"""Kinds of Google's tools. Any other is `raw`, which goes to Gemini upstreams as it is."""


def _renamed(**names: str) -> Callable[[NativeObject], NativeObject]:
    """Return a function that renames options to the neutral names."""
    return lambda given: {names.get(name, name): item for name, item in given.items()}


_OPTIONS: Final[Mapping[HostedToolKind, Callable[[NativeObject], NativeObject]]] = {
    "web_search": _renamed(excludeDomains="blocked_domains"),
    "web_fetch": _renamed(),
    "file_search": _renamed(fileSearchStoreNames="vector_store_ids", topK="max_results"),
    "code_execution": _renamed(),
    "computer_use": _renamed(),
    "maps": _renamed(),
}
_PLACED: Final = ("web_search", "maps")


# -- schemas


def json_schema(schema: object) -> NativeObject:
    """Return a `Schema` of the API, a subset of OpenAPI 3.0, as JSON Schema.

    Types are in upper case or numbers, 64-bit integers are text. `nullable` is kept: all protocols
    read it.
    """
    native = camel_keys(schema)
    converted: NativeObject = {}
    for name, value in native.items():
        if name == "type" and isinstance(kind := enum_name(value, _TYPES), str):
            if kind != _TYPES[0]:
                converted[name] = kind.lower()
        elif name in _NAMED and isinstance(value, dict):
            converted[name] = {key: json_schema(item) for key, item in value.items()}
        elif name in _MANY and isinstance(value, list):
            converted[name] = [json_schema(item) for item in value]
        elif name in _ONE and isinstance(value, dict):
            converted[name] = json_schema(value)
        elif name in _COUNTS and isinstance(value, str) and value.isdecimal():
            converted[name] = int(value)
        else:
            converted[_KEYWORDS.get(name, name)] = value
    return converted


_TYPES: Final = (
    "TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL",
)  # fmt: skip
"""The types by their numbers, as in `google.ai.generativelanguage_v1beta.types.Type`."""
_NAMED: Final = frozenset({"properties", "defs", "$defs"})
_MANY: Final = frozenset({"anyOf", "prefixItems"})
_ONE: Final = frozenset({"items", "additionalProperties"})
_COUNTS: Final = frozenset(
    {"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"}
)
_KEYWORDS: Final = {"ref": "$ref", "defs": "$defs"}


def _parameters(schema: object) -> JsonObject | None:
    if schema is None or schema == {}:
        return None
    if not isinstance(schema, dict):
        raise InvalidRequestError("the parameters must be a JSON Schema object")
    return rooted(schema)


# -- the choice


_MODES: Final = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE")
"""The modes by their numbers, as in `types.FunctionCallingConfig.Mode` of the same package."""


def _with_choice(
    offer: OfferedTools, config: NativeObject, *, native: bool, diagnostics: Diagnostics
) -> OfferedTools:
    """Return *offer* with the settings of `toolConfig`."""
    calling = camel_keys(config.get("functionCallingConfig"))
    path = "toolConfig.functionCallingConfig.mode"
    mode = enum_name(calling.get("mode"), _MODES)
    given = read_field({"mode": mode}, "mode", str, path.removesuffix("mode"))
    mode = (given or "AUTO").upper()
    if mode not in (*_MODES, "VALIDATED"):
        raise invalid(f"{path} {shown(mode)!r} is not AUTO, ANY, NONE or VALIDATED.", path)
    names = calling.get("allowedFunctionNames")
    allowed = [str(name) for name in names] if isinstance(names, list) else []
    has_mode = given is not None and mode != _MODES[0]
    if mode == "VALIDATED" and native:
        strict = (
            evolve(tool, strict=True) if isinstance(tool, ToolDefinition) else tool
            for tool in offer.tools
        )
        offer = evolve(offer, tools=tuple(strict))
        has_mode = False
    elif mode == "VALIDATED":
        why = "the upstream is not made to keep to the schemas of its calls"
        diagnostics.at(path).unsupported(why)
    if mode == "ANY" and len(allowed) == 1:
        _check_offered(allowed[0], offer)
        return evolve(offer, choice=ToolChoice.named(allowed[0]))
    if allowed and mode != "NONE":
        offer = _only(offer, mode, allowed, native=native, diagnostics=diagnostics)
    kind = MODES.get(mode, "auto")
    if not has_mode or not offer.tools:
        return offer
    if kind == "required" and not any(isinstance(tool, ToolDefinition) for tool in offer.tools):
        return _of_no_function(offer, calling, native=native, diagnostics=diagnostics)
    return evolve(offer, choice=ToolChoice(kind))  # type: ignore[arg-type]


def _check_offered(name: str, offer: OfferedTools) -> None:
    """Raise FrontError for a function that must be called, and that no tool declares."""
    if not any(isinstance(tool, ToolDefinition) and tool.name == name for tool in offer.tools):
        path = "toolConfig.functionCallingConfig.allowedFunctionNames"
        raise invalid(f"{path} has {shown(name)!r}, which no functionDeclarations declare.", path)


def _of_no_function(
    offer: OfferedTools, calling: NativeObject, *, native: bool, diagnostics: Diagnostics
) -> OfferedTools:
    """Return *offer* without a choice that no function of it can fulfil: Google ignores it."""
    if native:
        return evolve(offer, native={"toolConfig": {"functionCallingConfig": calling}})
    why = "no function is offered, and the provider calls its own tools as it sees fit"
    diagnostics.at("toolConfig.functionCallingConfig.mode").unsupported(why)
    return offer


def _only(
    offer: OfferedTools, mode: str, allowed: list[str], *, native: bool, diagnostics: Diagnostics
) -> OfferedTools:
    """Return *offer* with no functions but those that are allowed.

    For a Gemini upstream all stay, so that the prefix of the prompt is the same, and the names go
    with the choice.
    """
    if native:
        calling = {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": allowed}}
        return evolve(offer, native={"toolConfig": calling})
    kept = [
        tool for tool in offer.tools if not isinstance(tool, ToolDefinition) or tool.name in allowed
    ]
    why = "only the allowed functions are offered: the upstream cannot allow some of them"
    diagnostics.at("toolConfig.functionCallingConfig.allowedFunctionNames").changed(
        "tools-narrowed", why
    )
    return evolve(offer, tools=tuple(kept))
