"""The choice among tools: what cannot be had, whatever the API."""

from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool, ToolChoice


def check_forcible(
    request: LLMRequest, *, forced_tools: bool, has_tools: bool, knower: str
) -> None:
    """Raise for a choice that cannot be had from an API at which only some models take one.

    *forced_tools* says that the model can be made to call; *has_tools* that *knower* knows
    some tool of the request. A hosted tool's name there is the API's own, so that any name
    may be one.
    """
    choice = request.tool_choice
    if choice is None or choice.mode in ("auto", "none"):
        return
    if choice.mode == "required" and not has_tools:
        raise InvalidRequestError(
            f"tool_choice is 'required', but the request has no tools that {knower} knows"
        )
    own = {tool.name for tool in request.tools if not isinstance(tool, HostedTool)}
    hosted = any(isinstance(tool, HostedTool) for tool in request.tools)
    if choice.mode == "named" and choice.tool_name not in own and not hosted:
        raise unknown_tool(choice)
    if not forced_tools:
        raise UnsupportedToolChoiceError(
            f"the model does not take the tool choice {choice.mode!r}; it takes: auto, none"
        )


def unknown_tool(choice: ToolChoice, among: str = "tools") -> InvalidRequestError:
    """Return the error for a choice that names none of the request's tools."""
    return InvalidRequestError(
        f"tool_choice names {choice.tool_name!r}, which is not among the request's {among}"
    )


def no_tools() -> InvalidRequestError:
    """Return the error for a call that is required where there is nothing to call."""
    return InvalidRequestError("tool_choice is 'required', but the request has no tools")
