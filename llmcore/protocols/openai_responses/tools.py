"""OpenAI Responses: lowering tools and the choice among them.

Sources, read November 2026:
https://developers.openai.com/api/reference/resources/responses/methods/create (`tools`,
`tool_choice`), https://developers.openai.com/api/docs/guides/tools and its pages.
"""

from collections.abc import Callable, Iterable
from typing import Final

from llmcore.protocols.openai_responses.names import HOSTED_KINDS, METADATA_KEY
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import nothing_to_call, unknown_tool
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import NativeObject
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec


def lower_tools(request: LLMRequest, keys: Iterable[str], diagnostics: Diagnostics) -> NativeObject:
    """Return the body's `tools`, `tool_choice` and `parallel_tool_calls`.

    *keys* are the ids under which raw tools are this server's own.
    """
    tools: list[NativeObject] = []
    for index, tool in enumerate(request.tools):
        native = _lower_tool(
            tool, request.model_id, frozenset(keys), diagnostics.at(f"tools[{index}]")
        )
        if native is not None:
            tools.append(native)
    choice = request.tool_choice
    if choice is not None and choice.mode == "required" and not tools:
        raise nothing_to_call(request)
    fields: NativeObject = {}
    if tools:
        fields["tools"] = tools
    if choice is not None and (tools or choice.mode == "named"):
        fields["tool_choice"] = _lower_choice(choice, tools)
    if request.parallel_tool_calls is not None and tools:
        fields["parallel_tool_calls"] = request.parallel_tool_calls
    return fields


def _lower_choice(choice: ToolChoice, tools: list[NativeObject]) -> object:
    """Return a choice; a hosted tool is named by its kind or type, an MCP server by its label."""
    if choice.mode != "named":
        return choice.mode
    name = choice.tool_name
    for tool in tools:
        if tool.get("name") == name and tool.get("type") in ("function", "custom"):
            return {"type": tool["type"], "name": name}
    for tool in tools:
        type_ = str(tool.get("type"))
        if type_ == "mcp" and name in ("mcp", tool.get("server_label")):
            return {"type": "mcp", "server_label": tool.get("server_label")}
        if name in (type_, HOSTED_KINDS.get(type_)):
            return {"type": type_}
    raise unknown_tool(choice)


# -- one tool


def _lower_tool(
    tool: ToolSpec, model: str, keys: frozenset[str], diagnostics: Diagnostics
) -> NativeObject | None:
    match tool:
        case ToolDefinition():
            return _lower_function(tool, diagnostics)
        case CustomTool():
            return _lower_custom(tool)
        case HostedTool(kind="raw", provider=provider) if provider in keys:
            return dict(tool.options)
        case HostedTool(kind="raw", provider=provider):
            diagnostics.dropped("unsupported-tool", f"the raw tool is {provider}'s")
            return None
        case HostedTool():
            return _lower_hosted(tool, model, diagnostics)


def _lower_function(tool: ToolDefinition, diagnostics: Diagnostics) -> NativeObject:
    """Return a function. `strict` must be given; null leaves it to the provider.

    The provider's default is to be strict with schemas that fit its rules, and only with those.
    """
    target = SchemaTarget.OPENAI_STRICT if tool.strict else SchemaTarget.OPENAI_LOOSE
    projected = project(tool.parameters, target, f"{diagnostics.path}.parameters")
    diagnostics.extend(projected.diagnostics)
    function: NativeObject = {"type": "function", "name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = projected.schema
    function["strict"] = projected.strict if tool.strict else tool.strict
    metadata = object_or_empty(tool.provider_metadata.get(METADATA_KEY))
    return {**function, **metadata}  # such as `defer_loading`


def _lower_custom(tool: CustomTool) -> NativeObject:
    custom: NativeObject = {"type": "custom", "name": tool.name}
    if tool.description:
        custom["description"] = tool.description
    if tool.grammar is not None:
        grammar = {"syntax": tool.grammar.syntax, "definition": tool.grammar.definition}
        custom["format"] = {"type": "grammar", **grammar}
    return {**custom, **object_or_empty(tool.provider_metadata.get(METADATA_KEY))}


# -- tools that the provider defines


def _lower_hosted(tool: HostedTool, model: str, diagnostics: Diagnostics) -> NativeObject | None:
    if tool.kind in _NATIVE_KINDS:
        return {"type": tool.kind, **tool.options}
    form = _FORMS.get(tool.kind)
    if form is None:
        diagnostics.dropped("unsupported-tool", f"the Responses API has no {tool.kind} tool")
        return None
    return form(dict(tool.options), model, diagnostics)


def _unsupported(options: NativeObject, name: str, why: str, diagnostics: Diagnostics) -> None:
    """Remove an option that the API does not have."""
    if options.pop(name, None) is not None:
        diagnostics.at(name).unsupported(why)


def _web_search(options: NativeObject, _model: str, diagnostics: Diagnostics) -> NativeObject:
    _unsupported(options, "max_uses", "only max_tool_calls limits all tools together", diagnostics)
    why = "searches can be restricted to domains, but domains cannot be blocked"
    _unsupported(options, "blocked_domains", why, diagnostics)
    domains = options.pop("allowed_domains", None)
    native: NativeObject = {"type": "web_search", **options}
    if domains:
        native["filters"] = {"allowed_domains": domains, **object_or_empty(options.get("filters"))}
    if options.get("user_location"):
        native["user_location"] = {
            "type": "approximate",
            **object_or_empty(options["user_location"]),
        }
    return native


def _file_search(options: NativeObject, _model: str, diagnostics: Diagnostics) -> NativeObject:
    if not options.get("vector_store_ids"):
        raise InvalidRequestError(f"{diagnostics.path}: file search needs vector_store_ids")
    native: NativeObject = {"type": "file_search"}
    if "max_results" in options:
        native["max_num_results"] = options.pop("max_results")
    return {**native, **options}


def _code_execution(options: NativeObject, _model: str, _diagnostics: Diagnostics) -> NativeObject:
    container = options.pop("container", None) or {"type": "auto"}
    return {"type": "code_interpreter", "container": container, **options}


_PREVIEW: Final = "computer-use-preview"
"""The one model whose tool must have the display's size."""


def _computer_use(options: NativeObject, model: str, diagnostics: Diagnostics) -> NativeObject:
    if _PREVIEW in model:
        return {"type": "computer_use_preview", "environment": "browser", **options}
    for name in ("display_width", "display_height", "environment"):
        if options.pop(name, None) is not None:
            why = "the model sees it on the screenshots"
            diagnostics.at(name).noted("unsupported-parameter", why)
    return {"type": "computer", **options}


def _shell(options: NativeObject, model: str, _diagnostics: Diagnostics) -> NativeObject:
    """Return the shell that *model* supports: `codex-mini-latest` has only the older one."""
    return {"type": "local_shell" if "codex-mini" in model else "shell", **options}


_NATIVE_KINDS: Final = frozenset({"image_generation", "mcp", "tool_search"})
"""Kinds that have the API's own names, and its own options."""


_FORMS: Final[dict[str, Callable[[NativeObject, str, Diagnostics], NativeObject]]] = {
    "code_execution": _code_execution,
    "computer_use": _computer_use,
    "file_search": _file_search,
    "shell": _shell,
    "web_search": _web_search,
}
"""Other kinds. The API does not have the rest (`web_fetch`, `text_editor`, `memory`)."""
