"""Which tool choices a model takes, asked of its route."""

from typing import Final, Literal, TypeAlias

from llmcore.routes.route import Route
from llmcore.schema.errors import UnsupportedToolChoiceError
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Success
from llmcore.schema.tools import ToolChoice, ToolDefinition

ToolChoiceMode: TypeAlias = Literal["auto", "none", "required", "named"]

_TOOL: Final = ToolDefinition(name="probe", description="", parameters={"type": "object"})


def takes_tool_choice(route: Route, model: Model, mode: ToolChoiceMode) -> bool:
    """Return whether *route* has *model* told the tool choice *mode*, rather than refusing it.

    Asked of the protocol itself, by a request with one function tool and nothing else: what
    else a request says, such as that the model is to think, may rule a choice out.
    """
    built = route.protocol.body.build(route.defaults.applied_to(_probe(model, mode)), False)
    if not isinstance(built, Success):
        return not isinstance(built.failure(), UnsupportedToolChoiceError)
    notes = built.unwrap().diagnostics
    return not any(note.path == "tool_choice" and note.action == "dropped" for note in notes)


def _probe(model: Model, mode: ToolChoiceMode) -> LLMRequest:
    choice = ToolChoice(mode, _TOOL.name if mode == "named" else None)
    return request(model=model, prompt="?", tools=(_TOOL,), tool_choice=choice)
