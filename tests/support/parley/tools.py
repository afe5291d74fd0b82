"""Parley: tools, and the choice among them."""

from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import check_forcible, freeform_function, note_function
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec
from tests.support.parley.names import TOOL_CHOICES


def lower_tools(request: LLMRequest, diagnostics: Diagnostics) -> NativeObject:
    """Return `tools` and `pick`."""
    lowered = [
        _lower_tool(tool, diagnostics.at(f"tools[{n}]")) for n, tool in enumerate(request.tools)
    ]
    tools = [tool for tool in lowered if tool is not None]
    check_forcible(request, forced_tools=True, has_tools=bool(tools), known_to="the API")
    if request.parallel_tool_calls is not None:
        why = "the model calls as many tools at once as it likes"
        diagnostics.at("parallel_tool_calls").unsupported(why)
    if not tools:
        return {}
    pick = _lower_choice(request.tool_choice)
    return {"tools": tools, **({} if pick is None else {"pick": pick})}


def _lower_choice(choice: ToolChoice | None) -> NativeObject | None:
    if choice is None or choice.mode == "auto":
        return None
    return {"name": choice.tool_name} if choice.mode == "named" else TOOL_CHOICES[choice.mode]


def _lower_tool(tool: ToolSpec, diagnostics: Diagnostics) -> NativeObject | None:
    match tool:
        case HostedTool():
            diagnostics.dropped("unsupported-tool", f"the API has no {tool.kind}")
            return None
        case CustomTool():
            note_function(diagnostics)
            return _lower_function(freeform_function(tool, closed=False), diagnostics)
        case _:
            return _lower_function(tool, diagnostics)


def _lower_function(tool: ToolDefinition, diagnostics: Diagnostics) -> NativeObject:
    projected = project(
        tool.parameters, SchemaTarget.OPENAI_LOOSE, f"{diagnostics.path}.parameters"
    )
    diagnostics.extend(projected.diagnostics)
    return {"name": tool.name, "about": tool.description, "schema": projected.schema}
