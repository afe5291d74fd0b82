"""Bedrock Converse: ids, and the words that both directions of the protocol use.

Each table is read from our word to the API's or back; where several of the API's words mean the
same, the first is the one to write. Source:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, read November
2026.
"""

from collections.abc import Mapping
from typing import Any, Final, Required, TypeAlias, TypedDict

from llmcore.protocols.tools import CallIdRule, ToolNameRule
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "bedrock-converse"
API_NAME: Final = "the Converse API"
METADATA_KEY: Final = "bedrock"
CALL_IDS: Final = CallIdRule(r"[a-zA-Z0-9_-]+", 64)
"""ToolUseBlock in the API reference. It lately admits `.` and `:`, which older models refuse."""
TOOL_NAMES: Final = ToolNameRule()
"""`ToolName` is `[a-zA-Z0-9_-]+` of at most 64; some models require a letter first."""

Block: TypeAlias = dict[str, Any]
"""A native content block: an object of one field, such as `{"text": "Hello"}`."""


def is_thinking(block: Block) -> bool:
    """Return whether a native block is one of reasoning."""
    return "reasoningContent" in block


class ConverseMessage(TypedDict):
    """A native message of a request body."""

    role: str
    content: list[Block]


class ConverseBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    """

    messages: Required[list[JsonObject]]
    system: list[JsonObject]
    toolConfig: JsonObject
    inferenceConfig: JsonObject
    outputConfig: JsonObject
    additionalModelRequestFields: JsonObject
    additionalModelResponseFieldPaths: list[str]
    guardrailConfig: JsonObject
    performanceConfig: JsonObject
    projectIdentifier: str
    promptVariables: JsonObject
    requestMetadata: JsonObject
    serviceTier: JsonObject


FINISH_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "refusal": "content_filter",  # Claude's own word
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}
"""`stopReason`."""

PARAMETERS: Final[Mapping[str, str]] = {
    "max_tokens": "maxTokens",
    "temperature": "temperature",
    "top_p": "topP",
}
"""Fields of `inferenceConfig`, by those of `GenerationOptions`."""

LEAST: Final[Mapping[str, int]] = {"max_tokens": 1, "top_k": 0}
"""The least values that the API takes. Source: `InferenceConfiguration` in
https://docs.aws.amazon.com/bedrock/latest/APIReference, read November 2026."""

MISSING_PARAMETERS: Final = (
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
)
"""Fields of `GenerationOptions` that the API does not have."""

SERVICE_TIERS: Final[Mapping[str, str]] = {name: name for name in ("default", "flex", "priority")}
"""`serviceTier.type`, by that of `GenerationOptions`. Source:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ServiceTier.html, read November
2026."""

TOOL_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "required": "any", "named": "tool"}
"""The field of `toolConfig.toolChoice`, by `ToolChoice.mode`; there is none for `none`."""

SYSTEM_TOOLS: Final[Mapping[str, str]] = {
    "web_search": "nova_grounding",
    "code_execution": "nova_code_interpreter",
}
"""Tools of Amazon Nova that the service runs, by `HostedTool.kind`."""

CLAUDE_TOOLS: Final = ("computer_use", "shell", "text_editor", "memory")
"""Kinds of Anthropic's tools that the caller runs; they go into `additionalModelRequestFields`."""

INPUT_TOKENS: Final = "inputTokens"
"""Tokens that were neither read from nor written to the cache."""
CACHE_READ_TOKENS: Final = "cacheReadInputTokens"
CACHE_WRITE_TOKENS: Final = "cacheWriteInputTokens"
OUTPUT_TOKENS: Final = "outputTokens"
TOTAL_TOKENS: Final = "totalTokens"
"""All tokens, those of the cache included."""
