"""Parley: its id, and the words that both directions of the protocol use."""

from collections.abc import Mapping
from typing import Final, Required, TypedDict

from attrs import fields

from llmcore.protocols.tools import CallIdRule, ToolNameRule
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.options import GenerationOptions

PROTOCOL_ID: Final = "parley"
API_NAME: Final = "Parley"
METADATA_KEY: Final = "parley"
CALL_IDS: Final = CallIdRule(r"[a-zA-Z0-9_]+", 32)
TOOL_NAMES: Final = ToolNameRule(first="a-z", rest="a-z0-9_")


class ParleyBody(TypedDict, total=False):
    """A native request body. Provider options can add fields that are not listed."""

    model: Required[str]
    turns: Required[list[JsonObject]]
    rules: str
    tools: list[JsonObject]
    pick: JsonObject
    limit: int
    effort: str
    live: bool


ROLES: Final[Mapping[str, str]] = {"user": "person", "assistant": "model", "tool": "person"}

PARAMETERS: Final[Mapping[str, str]] = {"max_tokens": "limit"}
"""Names of generation options, and theirs in a body."""
MISSING_PARAMETERS: Final = tuple(
    each.name for each in fields(GenerationOptions) if each.name not in PARAMETERS
)
"""Generation options that the API does not have."""

TOOL_CHOICES: Final[Mapping[str, NativeObject]] = {
    "none": {"none": True},
    "required": {"any": True},
}

FINISH_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "done": "stop",
    "limit": "length",
    "call": "tool_calls",
    "refused": "content_filter",
}


@frozen(kw_only=True)
class ParleyRules:
    """The features of a model."""

    thinks: bool


def rules_of(model_id: str) -> ParleyRules:
    """Return the features of *model_id*: only models of the second generation think."""
    return ParleyRules(thinks=model_id.startswith("parley-2"))
