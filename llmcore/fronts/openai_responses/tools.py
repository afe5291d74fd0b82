"""The tools that a request offers the model, and which of them it may or must call.

    {"type": "function", "name": "weather", "parameters": {"type": "object", ...}, "strict": true}
    {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", ...}}
    {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/mcp"}

The client's tools become functions; each is registered with what it represents. Source:
https://developers.openai.com/api/reference/resources/responses/methods/create (`tools`,
`tool_choice`), read November 2026.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from attrs import evolve

from llmcore.fronts import field_types
from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.field_types import check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.openai_forms import NARROWED, TOOL_CHOICE, choice_of_mode, read_grammar
from llmcore.fronts.openai_responses.native_tools import (
    is_remote,
    kind_of,
    offer_hosted,
    report_environment,
    skill_lines,
)
from llmcore.fronts.reading import check_tool_count, function_tool, read_field, report_unknown
from llmcore.fronts.tool_registry import ToolEntry, ToolKind, ToolRegistry, function_name
from llmcore.fronts.tools_as_functions import (
    BUILTIN,
    HOSTED_AS_FUNCTIONS,
    function_instead,
    report_repeated,
)
from llmcore.protocols.openai_responses.names import HOSTED_KINDS, METADATA_KEY, PROTOCOL_ID
from llmcore.protocols.tools import freeform_function
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, dumps
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec

# -- the offer


@frozen(kw_only=True)
class OfferedTool:
    """One tool in the form that the upstream is sent."""

    spec: ToolSpec
    entry: ToolEntry | None = None
    """The client's tool; None for one that the provider runs."""
    type: str = ""
    """The type by which the client named it."""
    label: str | None = None
    """The label of an MCP server."""


@frozen
class ToolOffer:
    """All tools of a request."""

    tools: tuple[OfferedTool, ...] = ()
    native: bool = False
    """See `ToolRegistry.native`."""
    choice: JsonObject | None = None
    """The native choice among them, where it names those that are allowed."""

    @property
    def registry(self) -> ToolRegistry:
        """The client's tools by their functions."""
        entries = tuple(tool.entry for tool in self.tools if tool.entry)
        return ToolRegistry(entries, native=self.native)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools for the upstream."""
        return tuple(tool.spec for tool in self.tools)


class ToolCollector:
    """Builds the offer of one request, tool by tool."""

    def __init__(self, upstream: Upstream, diagnostics: Diagnostics, *, native: bool) -> None:
        self.native = native
        """See `ToolRegistry.native`."""
        self._upstream, self._policy = upstream, upstream.policy
        self._diagnostics = diagnostics
        self._tools: dict[object, OfferedTool] = {}
        self._taken: set[str] = set()
        """The names of functions that represent a tool."""
        self._registered = {tool.type: tool for tool in self._policy.registered_tools}
        self._as_functions = self._policy.hosted_tools == "function"

    def offer(self) -> ToolOffer:
        """Return all tools that were added."""
        return ToolOffer(tuple(self._tools.values()), self.native)

    def add_all(self, tools: object, path: str, *, replace: bool = False) -> None:
        """Add a list of tools as the client wrote it.

        With *replace* a tool takes the place of an earlier one of its name; without, FrontError.
        """
        if tools is None:
            return
        if not isinstance(tools, list):
            raise invalid(f"{path} must be a list of tools.", path)
        for index, native in enumerate(tools):
            if not isinstance(native, dict):
                raise invalid(f"{path}[{index}] must be an object.", f"{path}[{index}]")
            self._add(native, f"{path}[{index}]", replace=replace)

    def _add(self, native: dict[str, Any], path: str, *, replace: bool) -> None:
        try:
            if native.get("type") == "namespace":
                self._add_namespace(native, path, replace=replace)
                return
            tool = self._tool(native, None, path)
        except InvalidRequestError as error:
            raise invalid(f"{path}: {error.message}", path) from error
        if tool is not None:
            self._put(tool, path, replace=replace)

    def _add_namespace(self, native: dict[str, Any], path: str, *, replace: bool) -> None:
        name = str_or_none(native.get("name"))
        inner = native.get("tools")
        if not self.native:
            report_unknown(native, _OF_NAMESPACES, self._diagnostics, path)
        if name is None or not isinstance(inner, list):
            raise invalid(f"{path}: a namespace has a name and a list of tools.", path)
        if self.native:
            spec = HostedTool.raw(METADATA_KEY, native)
            self._put(OfferedTool(spec=spec, type="namespace", label=name), path, replace=replace)
            return
        about = read_field(native, "description", str, f"{path}.")
        for index, item in enumerate(inner):
            where = f"{path}.tools[{index}]"
            tool = self._tool(object_or_empty(item), name, where)
            if tool is None:
                continue
            if about and not index:
                tool = _described(tool, f"[All tools of {name}: {about}]")
            self._put(tool, where, replace=replace)

    def _put(self, tool: OfferedTool, path: str, *, replace: bool) -> None:
        key: object = tool.entry.identity if tool.entry else (tool.type, tool.label, "hosted")
        if key in self._tools and not replace:
            name = tool.entry.name if tool.entry else tool.label or tool.type
            raise FrontError(
                status=400,
                message=f"Two tools are called '{name}'. Rename one, or leave it out.",
                param=path,
                code="tool_name_conflict",
            )
        self._tools[key] = tool
        check_tool_count(len(self._tools), self._policy)
        if tool.entry:
            self._taken.add(tool.entry.upstream)

    # -- one tool

    def _tool(self, native: dict[str, Any], namespace: str | None, path: str) -> OfferedTool | None:
        check_types(native, field_types.OF_RESPONSES_TOOLS, path)
        match native.get("type"):
            case "function":
                return self._function(native, namespace, path)
            case "custom":
                return self._custom(native, namespace, path)
            case str(type_) if type_ in self._registered:
                registered = self._registered[type_]
                return self._virtual(
                    "registered", type_, registered.description, registered.parameters
                )
            case str(type_) if type_ in BUILTIN and (self._as_functions or not is_remote(native)):
                return self._builtin(type_, native, path)
            case str(type_) if self._as_functions and kind_of(type_) in HOSTED_AS_FUNCTIONS:
                return self._hosted_function(type_, native, path)
            case str(type_) if type_ in HOSTED_KINDS or self._upstream.protocol_id == PROTOCOL_ID:
                # servers that imitate the API have tools of their own, such as xAI's `x_search`
                here, label = self._diagnostics.at(path), str_or_none(native.get("server_label"))
                spec = offer_hosted(native, self._upstream, here)
                others = (tool.spec for tool in self._tools.values() if tool.type != type_)
                if spec is None or report_repeated(spec, others, here):
                    return None
                return OfferedTool(spec=spec, type=type_, label=label)
            case type_:
                raise invalid(
                    f"{path}: there are no tools of the type {type_!r} here.",
                    f"{path}.type",
                    "unsupported_tool",
                )

    def _function(
        self, native: dict[str, Any], namespace: str | None, path: str
    ) -> OfferedTool | None:
        # some clients write functions as Chat Completions has them
        native = {**object_or_empty(native.get("function")), **native}
        report_unknown(native, _FUNCTION_FIELDS, self._diagnostics, path)
        name = _name(native, path)
        fields = self._own_fields(native, path)
        spec = function_tool(
            self._upstream_name(name, namespace),
            str_or_none(native.get("description")) or "",
            _parameters(native.get("parameters"), self._diagnostics.at(path)),
            strict=read_field(native, "strict", bool, f"{path}."),
        )
        if fields:
            spec = changed(spec, provider_metadata={METADATA_KEY: fields})
        entry = ToolEntry(upstream=spec.name, kind="function", name=name, namespace=namespace)
        return OfferedTool(spec=spec, entry=entry, type="function")

    def _custom(self, native: dict[str, Any], namespace: str | None, path: str) -> OfferedTool:
        form = object_or_empty(native.get("format"))
        report_unknown(native, _OF_CUSTOM, self._diagnostics, path)
        report_unknown(form, _OF_FORMATS, self._diagnostics, f"{path}.format")
        name = _name(native, path)
        fields = self._own_fields(native, path)
        upstream = self._upstream_name(name, namespace)
        tool = CustomTool(
            upstream,
            str_or_none(native.get("description")) or "",
            grammar=read_grammar(form, f"{path}.format"),
            provider_metadata={METADATA_KEY: fields} if fields else {},
        )
        as_is = self._policy.custom_tools == "native"
        entry = ToolEntry(
            upstream=upstream, kind="custom", name=name, namespace=namespace, native=as_is
        )
        spec = tool if as_is else freeform_function(tool, closed=False)
        return OfferedTool(spec=spec, entry=entry, type="custom")

    def _builtin(self, type_: str, native: dict[str, Any], path: str) -> OfferedTool:
        builtin = BUILTIN[type_]
        if self.native and builtin.kind == "tool_search":
            entry = ToolEntry(upstream=type_, kind=builtin.kind, name=type_)
            spec = HostedTool.raw(METADATA_KEY, native)
            return OfferedTool(spec=spec, entry=entry, type=type_)
        self._note_unused(native, path)
        report_unknown(native, _OF_BUILT_IN, self._diagnostics, path)
        report_environment(native, self._diagnostics.at(path))
        about = str_or_none(native.get("description")) or builtin.description
        return self._virtual(
            builtin.kind,
            type_,
            "\n".join((about, *skill_lines(native))),
            object_or_empty(native.get("parameters")) or builtin.parameters,
        )

    def _hosted_function(self, type_: str, native: dict[str, Any], path: str) -> OfferedTool:
        """Return the function that the client runs in place of a tool of the provider's."""
        kind, label = kind_of(type_), str_or_none(native.get("server_label"))
        name = None if label is None else f"{HOSTED_AS_FUNCTIONS[kind].name}__{label}"
        function = function_instead(kind, self._diagnostics.at(path), name=name)
        about = str_or_none(native.get("server_description")) or function.description
        tool = self._virtual("function", function.name, about, function.parameters)
        return evolve(tool, type=type_, label=label)

    def _virtual(
        self, kind: ToolKind, name: str, description: str, parameters: JsonObject
    ) -> OfferedTool:
        spec = ToolDefinition(self._upstream_name(name, None), description, parameters)
        entry = ToolEntry(upstream=spec.name, kind=kind, name=name)
        return OfferedTool(spec=spec, entry=entry, type=name)

    def _upstream_name(self, name: str, namespace: str | None) -> str:
        known = self._tools.get((name, namespace))
        if known is not None and known.entry is not None:
            return known.entry.upstream
        return function_name(name, namespace, taken=self._taken)

    def _own_fields(self, native: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the fields that only the Responses API has, for an upstream that takes them."""
        if not self.native:
            self._note_unused(native, path)
            return {}
        return {name: native[name] for name in _OWN_FIELDS if native.get(name)}

    def _note_unused(self, native: Mapping[str, Any], path: str) -> None:
        for name in _OWN_FIELDS:
            if native.get(name):
                why = f"the upstream's functions have no {name}"
                self._diagnostics.at(f"{path}.{name}").unsupported(why)


_OWN_FIELDS: Final = ("defer_loading", "output_schema", "allowed_callers", "async")
_FUNCTION_FIELDS: Final = frozenset(
    {*_OWN_FIELDS, "description", "function", "name", "parameters", "strict", "type"}
)
"""Fields of functions and freeform tools that only the Responses API has."""
_OF_CUSTOM: Final = frozenset({*_OWN_FIELDS, "description", "format", "name", "type"})
_OF_FORMATS: Final = frozenset({"definition", "grammar", "syntax", "type"})
_OF_NAMESPACES: Final = frozenset({"description", "name", "tools", "type"})
_OF_BUILT_IN: Final = frozenset(
    {*_OWN_FIELDS, "description", "environment", "execution", "parameters", "type"}
)
_OF_CHOICES: Final = frozenset({"function", "name", "namespace", "server_label", "type"})


def keeps_native(body: Mapping[str, Any], upstream: Upstream) -> bool:
    """Return whether namespaces and searches of the client's go to the upstream as they are.

    A choice that may name a tool within them needs them as functions.
    """
    choice = body.get("tool_choice")
    free = choice in (None, "auto", "none") or (choice == "required" and bool(body.get("tools")))
    has_them = upstream.protocol_id == PROTOCOL_ID and upstream.native_tools
    return free and has_them and upstream.policy.hosted_tools in ("native", "error")


def has_native_tools(body: Mapping[str, Any]) -> bool:
    """Return whether *body* has tools that only the Responses API has and clients run.

    Such as freeform tools and namespaces, also by calls of them and their outputs.
    """
    items = objects(body.get("input"))
    found = (tool for item in items for tool in objects(item.get("tools")))
    tools = chain(objects(body.get("tools")), found)
    types = {str(tool.get("type")) for tool in tools} | {
        str(item.get("type")).partition("_call")[0] for item in items
    }
    return not types.isdisjoint(_NATIVE)


_NATIVE: Final = frozenset({"additional_tools", "custom", "custom_tool", "namespace", *BUILTIN})
"""Types of the tools, and how those of their items begin."""


def _described(tool: OfferedTool, about: str) -> OfferedTool:
    if isinstance(tool.spec, HostedTool):
        return tool
    description = f"{about}\n\n{tool.spec.description}".strip()
    return evolve(tool, spec=evolve(tool.spec, description=description))


def _name(native: Mapping[str, Any], path: str) -> str:
    name = str_or_none(native.get("name"))
    if name is None:
        raise invalid(f"{path}: the tool has no name.", f"{path}.name")
    return name


# -- parameters

_MARKS: Final = frozenset({"encrypted"})
"""Keywords that clients add to schemas for their own server; others do not support them."""
_WRITTEN_MARKS: Final = tuple(f'"{mark}":'.encode() for mark in _MARKS)


def _parameters(schema: object, diagnostics: Diagnostics) -> JsonObject | None:
    """Return a schema without the marks for another server."""
    if schema is None:
        return None
    if not isinstance(schema, dict):
        path = f"{diagnostics.path}.parameters"
        raise invalid(f"{path} must be a JSON Schema object.", path)
    given: JsonObject = schema
    if not any(mark in dumps(given) for mark in _WRITTEN_MARKS):
        return given
    cleaned: JsonObject = _unmarked(given)
    if cleaned != given:
        why = "marks for OpenAI's own server were taken out of the schema"
        diagnostics.at("parameters").dropped("unsupported-schema-keyword", why)
    return cleaned


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _unmarked(item)
            for name, item in value.items()
            if not (name in _MARKS and isinstance(item, bool))
        }
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


# -- the choice


_MAX_ALLOWED = 1000


def read_tool_choice(
    native: object, offer: ToolOffer, upstream: Upstream, diagnostics: Diagnostics
) -> tuple[ToolChoice | None, ToolOffer]:
    """Return the choice, and what of *offer* it leaves.

    Without tools `auto` and `none` are left out. FrontError for a choice that no tool fulfils.
    """
    if isinstance(native, dict) and native.get("type") == "allowed_tools":
        return _read_allowed(native, offer, upstream, diagnostics)
    if native is None or isinstance(native, str):
        return choice_of_mode(native, offer.tools), offer
    if not isinstance(native, dict):
        raise invalid("tool_choice must be a string or an object.", TOOL_CHOICE)
    report_unknown(native, _OF_CHOICES, diagnostics, TOOL_CHOICE)
    chosen = next((tool for tool in offer.tools if _is_meant(native, tool)), None)
    if chosen is None:
        raise invalid(f"tool_choice names {_words(native)}, which is not in tools.", TOOL_CHOICE)
    name = chosen.entry.upstream if chosen.entry else chosen.label or chosen.type
    return ToolChoice.named(name), offer


def _read_allowed(
    native: Mapping[str, Any], offer: ToolOffer, upstream: Upstream, diagnostics: Diagnostics
) -> tuple[ToolChoice | None, ToolOffer]:
    """Return the mode, and *offer* with the allowed tools.

    For an upstream that has such choices all tools stay, so that the prefix of the prompt is the
    same, and the choice names those that are allowed.
    """
    report_unknown(native, frozenset({"mode", "tools", "type"}), diagnostics, TOOL_CHOICE)
    for number, named in enumerate(objects(native.get("tools"))):
        report_unknown(
            named, _OF_CHOICES | _FUNCTION_FIELDS, diagnostics, f"{TOOL_CHOICE}.tools[{number}]"
        )
    allowed, mode = _allowed(native, offer), native.get("mode") or "auto"
    choice = choice_of_mode(mode, allowed)
    if upstream.protocol_id == PROTOCOL_ID and upstream.native_tools and allowed:
        references = [_reference(tool) for tool in allowed]
        named = {"type": "allowed_tools", "mode": mode, "tools": references}
        return choice, evolve(offer, choice=named)
    if len(allowed) < len(offer.tools):
        diagnostics.at(TOOL_CHOICE).changed("tools-narrowed", NARROWED)
    return choice, evolve(offer, tools=allowed)


def _reference(tool: OfferedTool) -> JsonObject:
    """Return the reference to *tool* in the form that the upstream is sent it."""
    match tool.spec:
        case ToolDefinition(name=name):
            return {"type": "function", "name": name}
        case CustomTool(name=name):
            return {"type": "custom", "name": name}
        case HostedTool():
            label = {} if tool.label is None else {"server_label": tool.label}
            return {"type": tool.type, **label}


def _allowed(native: Mapping[str, Any], offer: ToolOffer) -> tuple[OfferedTool, ...]:
    wanted = objects(native.get("tools"))
    if len(wanted) > _MAX_ALLOWED:
        raise invalid(f"tool_choice names more than {_MAX_ALLOWED} tools.", TOOL_CHOICE)
    allowed: set[int] = set()
    for named in wanted:
        meant = {number for number, tool in enumerate(offer.tools) if _is_meant(named, tool)}
        if not meant:
            raise invalid(
                f"tool_choice allows {_words(named)}, which is not in tools.", TOOL_CHOICE
            )
        allowed |= meant
    return tuple(offer.tools[number] for number in sorted(allowed))


def _is_meant(native: Mapping[str, Any], tool: OfferedTool) -> bool:
    """Return whether *native*, a reference to a tool, refers to *tool*."""
    type_ = native.get("type")
    entry = tool.entry
    name = str_or_none(native.get("name")) or str_or_none(
        object_or_empty(native.get("function")).get("name")
    )
    if type_ == "namespace":
        return entry is not None and entry.namespace == name
    if type_ == "mcp":
        return tool.type == "mcp" and tool.label == native.get("server_label")
    if type_ in ("function", "custom"):
        namespace = str_or_none(native.get("namespace"))
        # a choice is taken to mean a namespaced tool also where it leaves the namespace out
        return (
            entry is not None
            and tool.type == type_
            and entry.name == name
            and namespace in (None, entry.namespace)
        )
    return tool.type == type_


def _words(native: Mapping[str, Any]) -> str:
    name = native.get("name") or native.get("server_label") or native.get("type")
    return f"the tool {name!r}"
