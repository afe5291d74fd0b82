"""Gemini: lowering tools, hosted tools, and the choice among them.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/function-calling and
https://ai.google.dev/gemini-api/docs/tools with its pages on Google Search, Google Maps, URL
context, file search, code execution and computer use. Functions have `parametersJsonSchema`: models
that took `parameters`, a subset of OpenAPI 3.0, alone are shut down
(https://ai.google.dev/gemini-api/docs/deprecations). Hosted tools without a neutral kind come as
`HostedTool.raw("google", {"googleSearchRetrieval": {}})`.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from attrs import field

from llmcore.protocols.gemini.models import GeminiDialect, GeminiRules
from llmcore.protocols.gemini.names import METADATA_KEY
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import freeform_function, note_function, nothing_to_call, unknown_tool
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import UnsupportedToolChoiceError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue, NativeObject, present
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition


class LoweredTools(msgspec.Struct, frozen=True, kw_only=True):
    """The lowered tools of a request."""

    tools: list[NativeObject] = []
    config: NativeObject = {}
    """`toolConfig`."""


def lower_tools(
    request: LLMRequest,
    rules: GeminiRules,
    dialect: GeminiDialect,
    keys: frozenset[str],
    diagnostics: Diagnostics,
) -> LoweredTools:
    """Return the body's tools, the caller's functions first, and the choice among them.

    *keys* are the ids under which raw tools are this API's own. Beside functions, models before
    Gemini 3 take no tools that the service runs:
    https://ai.google.dev/gemini-api/docs/tool-combination, read November 2026.
    """
    functions: list[NativeObject] = []
    hosted: list[HostedLowering] = []
    config: NativeObject = {}
    for index, tool in enumerate(request.tools):
        here = diagnostics.at(f"tools[{index}]")
        if rules.words_only:
            here.dropped("unsupported-tool", "the model calls no tools")
        elif not isinstance(tool, HostedTool):
            functions.append(_lower_own(tool, here))
        else:
            found = lower_hosted(tool, dialect, keys, here)
            if found is not None and _may_offer(found, request, rules, here):
                hosted.append(found)
                _merge(config, found, here)
    tools: list[NativeObject] = [{"functionDeclarations": functions}] if functions else []
    tools += [lowered.tool for lowered in hosted]
    calling = _lower_choice(request, rules, bool(functions), bool(tools))
    if calling:
        config["functionCallingConfig"] = calling
    mixed = functions and any(lowered.runs_at_server for lowered in hosted)
    if mixed and dialect.server_tool_parts and rules.checks_signatures:
        config["includeServerSideToolInvocations"] = True
    if request.parallel_tool_calls is False and functions:
        why = "the model decides by itself whether it calls functions in parallel"
        diagnostics.at("parallel_tool_calls").unsupported(why)
    return LoweredTools(tools=tools, config=config)


def _may_offer(
    tool: "HostedLowering", request: LLMRequest, rules: GeminiRules, diagnostics: Diagnostics
) -> bool:
    """Return whether the service takes *tool* beside the others of *request*; report if not."""
    if not tool.runs_at_server:
        return True
    if not rules.combines_tools and not all(isinstance(t, HostedTool) for t in request.tools):
        why = "before Gemini 3, the service's own tools are refused beside functions"
        diagnostics.dropped("unsupported-tool", why)
        return False
    if request.tool_choice is not None and request.tool_choice.mode == "none":
        why = "the mode NONE is for functions: the service's own tool is not offered"
        diagnostics.changed("tool-choice-emulated", why)
        return False
    return True


def _merge(config: NativeObject, tool: "HostedLowering", diagnostics: Diagnostics) -> None:
    """Add the fields of *tool* to `toolConfig`, which all tools share: the first value counts."""
    for name, value in tool.config.items():
        if config.setdefault(name, value) != value:
            why = "earlier tools have another location, and all tools share one"
            diagnostics.at("user_location").unsupported(why)


# -- the caller's own tools


def _lower_own(tool: ToolDefinition | CustomTool, diagnostics: Diagnostics) -> NativeObject:
    if isinstance(tool, CustomTool):
        note_function(diagnostics)
        tool = freeform_function(tool, closed=False)
    declaration: NativeObject = {"name": tool.name}
    if tool.description:
        declaration["description"] = tool.description
    declaration |= object_or_empty(tool.provider_metadata.get(METADATA_KEY))  # such as `response`
    if not tool.parameters.get("properties") and tool.parameters.keys() <= {"type", "properties"}:
        return declaration
    path = f"{diagnostics.path}.parameters"
    projected = project(tool.parameters, SchemaTarget.GEMINI_JSON_SCHEMA, path)
    diagnostics.extend(projected.diagnostics)
    return {**declaration, "parametersJsonSchema": projected.schema}


# -- the choice


def _lower_choice(
    request: LLMRequest, rules: GeminiRules, has_functions: bool, has_tools: bool
) -> NativeObject:
    """Return `functionCallingConfig`.

    `VALIDATED` is the automatic mode that holds calls to their schemas, as `strict` asks.
    """
    choice = request.tool_choice
    _check(choice, request, rules, has_functions=has_functions)
    strict = any(isinstance(tool, ToolDefinition) and tool.strict for tool in request.tools)
    if choice is None or choice.mode == "auto":
        if strict:
            return {"mode": "VALIDATED"}
        return {"mode": "AUTO"} if choice is not None and has_tools else {}
    match choice.mode:
        case "none":
            return {"mode": "NONE"} if has_tools else {}
        case "required":
            return {"mode": "ANY"}
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": [choice.tool_name]}


def _check(
    choice: ToolChoice | None, request: LLMRequest, rules: GeminiRules, *, has_functions: bool
) -> None:
    """Raise for a choice that the API does not have."""
    if choice is None or choice.mode in ("auto", "none"):
        return
    names = {tool.name for tool in request.tools if not isinstance(tool, HostedTool)}
    if choice.mode == "named" and choice.tool_name not in names:
        raise unknown_tool(choice, among="functions")
    if not has_functions and not request.tools:
        raise nothing_to_call(request)
    if rules.words_only:
        raise UnsupportedToolChoiceError(f"{request.model_id} calls no tools")
    if not has_functions:
        raise UnsupportedToolChoiceError("only functions can be required, not hosted tools")


# -- hosted tools


@frozen(kw_only=True)
class HostedLowering:
    """A lowered hosted tool."""

    tool: NativeObject
    config: NativeObject = field(factory=dict[str, Any])
    """Fields of `toolConfig` that go with it."""
    runs_at_server: bool = True


def lower_hosted(
    tool: HostedTool, dialect: GeminiDialect, keys: frozenset[str], diagnostics: Diagnostics
) -> HostedLowering | None:
    """Return *tool* in native form; None where the service has no such tool."""
    if tool.kind == "raw" and tool.provider in keys:
        native = dict(tool.options)
        return HostedLowering(tool=native, runs_at_server=native.keys().isdisjoint(_CLIENT_SIDE))
    lower = _KINDS.get(tool.kind)
    if lower is None or (tool.kind == "mcp" and not dialect.mcp_servers):
        diagnostics.dropped("unsupported-tool", _missing(tool))
        return None
    return lower(_Options(dict(tool.options), diagnostics), dialect)


_CLIENT_SIDE: Final = frozenset({"functionDeclarations", "computerUse"})


def _missing(tool: HostedTool) -> str:
    if tool.kind == "raw":
        return f"the raw tool is {tool.provider}'s"
    if tool.kind == "image_generation":
        return "models draw without a tool: ask for the IMAGE modality in provider_options"
    return f"Gemini has no {tool.kind} tool"


class _Options:
    """The options of one tool; each is read once."""

    def __init__(self, options: NativeObject, diagnostics: Diagnostics) -> None:
        self._options, self._diagnostics = options, diagnostics

    def get(self, name: str) -> Any:
        return self._options.get(name)

    def take(self, name: str) -> Any:
        return self._options.pop(name, None)

    def drop(self, *names: str, why: str) -> None:
        for name in names:
            if name in self._options:
                del self._options[name]
                self._diagnostics.at(name).unsupported(why)

    def rest(self) -> NativeObject:
        """Return the remaining options, which are native."""
        return dict(self._options)


def _web_search(options: _Options, dialect: GeminiDialect) -> HostedLowering:
    options.drop("max_uses", "allowed_domains", why="Google Search cannot be held to it")
    if not dialect.exclude_domains:
        options.drop("blocked_domains", why="the service searches all domains")
    native: NativeObject = {}
    if blocked := options.take("blocked_domains"):
        native["excludeDomains"] = blocked
    config = _near(options)
    return HostedLowering(tool={"googleSearch": native | options.rest()}, config=config)


def _maps(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    config = _near(options)
    return HostedLowering(tool={"googleMaps": options.rest()}, config=config)


def _near(options: _Options) -> NativeObject:
    """Remove the user's location from *options*, and return its fields of `toolConfig`."""
    config: NativeObject = {}
    place = object_or_empty(options.get("user_location"))
    if place.keys() >= set(_COORDINATES):
        config["retrievalConfig"] = {"latLng": {name: place[name] for name in _COORDINATES}}
        options.take("user_location")
    options.drop("user_location", why="a location must have latitude and longitude")
    return config


_COORDINATES: Final = ("latitude", "longitude")


def _web_fetch(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    options.drop("max_uses", why="URL context cannot be held to it")
    return HostedLowering(tool={"urlContext": options.rest()})


def _file_search(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    stores, count = options.take("vector_store_ids"), options.take("max_results")
    given = present({"fileSearchStoreNames": stores, "topK": count})
    return HostedLowering(tool={"fileSearch": given | options.rest()})


def _code_execution(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    options.drop("container", why="the sandbox cannot be chosen")
    return HostedLowering(tool={"codeExecution": options.rest()})


_ENVIRONMENTS: Final = {"browser": "BROWSER", "mobile": "MOBILE", "android": "MOBILE"}


def _computer_use(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    options.drop("display_width", "display_height", why="the model works in relative coordinates")
    place: JsonValue = options.take("environment") or "browser"
    if isinstance(place, str) and not place.startswith("ENVIRONMENT_"):
        place = f"ENVIRONMENT_{_ENVIRONMENTS.get(place.lower(), 'DESKTOP')}"
    native = {"environment": place} | options.rest()
    return HostedLowering(tool={"computerUse": native}, runs_at_server=False)


def _mcp(options: _Options, _dialect: GeminiDialect) -> HostedLowering:
    options.drop("allowed_tools", why="all tools of the server are offered")
    transport: NativeObject = {"url": options.take("server_url")}
    token = options.take("authorization")
    if token is not None:
        transport["headers"] = {"Authorization": f"Bearer {token}"}
    server = {"name": options.take("server_label"), "streamableHttpTransport": transport}
    return HostedLowering(tool={"mcpServers": [server | options.rest()]})


_KINDS: Final[dict[str, Callable[[_Options, GeminiDialect], HostedLowering]]] = {
    "web_search": _web_search,
    "maps": _maps,
    "web_fetch": _web_fetch,
    "file_search": _file_search,
    "code_execution": _code_execution,
    "computer_use": _computer_use,
    "mcp": _mcp,
}
