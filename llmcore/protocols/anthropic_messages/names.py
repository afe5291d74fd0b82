"""Anthropic Messages: ids, and the words that both directions of the protocol use.

Each table is read from our word to the API's or back; where several of the API's words mean the
same, the first is the one to write. Source: https://platform.claude.com/docs/en/api/messages/create,
read November 2026.
"""

from collections.abc import Mapping
from typing import Any, Final, Required, TypeAlias, TypedDict

from llmcore.protocols.tools import CallIdRule, ToolNameRule
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "anthropic-messages"
API_NAME: Final = "the Messages API"
METADATA_KEY: Final = "anthropic"
CALL_IDS: Final = CallIdRule(r"[a-zA-Z0-9_-]+", 64)
"""`tool_use.id` must match `^[a-zA-Z0-9_-]+$`."""
TOOL_NAMES: Final = ToolNameRule(first="a-zA-Z0-9_-")
"""`^[a-zA-Z0-9_-]{1,64}$`, which all platforms take; the Claude API itself takes 128 characters."""

Block: TypeAlias = dict[str, Any]
"""A native content block, such as `{"type": "text", "text": "Hello"}`."""


class MessageParam(TypedDict):
    """A native message of a request body."""

    role: str
    content: list[Block]


class MessagesBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://platform.claude.com/docs/en/api/messages/create
    """

    model: Required[str]
    max_tokens: Required[int]
    stream: bool
    temperature: float
    top_p: float
    top_k: int
    stop_sequences: list[str]
    thinking: JsonObject
    output_config: JsonObject
    metadata: JsonObject
    service_tier: str
    cache_control: JsonObject
    tool_choice: JsonObject
    tools: list[JsonObject]
    system: str | list[JsonObject]
    messages: Required[list[JsonObject]]


PAUSED: Final = "pause_turn"
"""The `stop_reason` of a turn whose tools at the provider need more time: the message is sent back,
and the next response continues it, by
https://platform.claude.com/docs/build-with-claude/handling-stop-reasons, read November 2026."""

FINISH_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    PAUSED: "other",
    "compaction": "other",  # the response is only a summary
}
"""`stop_reason`."""

PARAMETERS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
}
"""Sampling parameters of `GenerationOptions`."""

LEAST: Final[Mapping[str, int]] = {"max_tokens": 0, "top_k": 0}
"""The least values that the API takes; a limit of 0 writes the prompt to the cache alone."""

MISSING_PARAMETERS: Final = (
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
)
"""Fields of `GenerationOptions` that the API does not have."""

SERVICE_TIERS: Final[Mapping[str, str]] = {"auto": "auto", "default": "standard_only"}
"""`service_tier`, by that of `GenerationOptions`. `auto` uses the account's priority capacity, if
it has any. Source: https://platform.claude.com/docs/en/api/service-tiers, read November 2026."""

TOOL_CHOICES: Final[Mapping[str, str]] = {
    "auto": "auto",
    "required": "any",
    "named": "tool",
    "none": "none",
}
"""The `type` of `tool_choice`, by `ToolChoice.mode`."""

INPUT_TOKENS: Final = "input_tokens"
"""Tokens that were neither read from nor written to the cache."""
CACHE_READ_TOKENS: Final = "cache_read_input_tokens"
CACHE_WRITE_TOKENS: Final = "cache_creation_input_tokens"
OUTPUT_TOKENS: Final = "output_tokens"
"""Tokens of the response, thinking included."""

TOOL_CALL_TYPES: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
"""Blocks that call a tool: the caller's, then those that the provider runs."""

RESULT_SUFFIX: Final = "_tool_result"
"""How the types of blocks end that hold results of the provider's tools."""

THINKING_BLOCKS: Final = ("thinking", "redacted_thinking")
"""The types of blocks of thinking."""


READ_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"type", "text", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "caller", "toolset_name"}),
}
"""The fields that are read of the blocks that have a neutral form.

Others that are not null, which the API may add, go back with the block: "include the complete,
unmodified block back to the API", by
https://platform.claude.com/docs/en/build-with-claude/extended-thinking, read November 2026.
"""


def is_thinking(block: Block) -> bool:
    """Return whether a native block is one of thinking."""
    return block.get("type") in THINKING_BLOCKS


FALLBACK: Final = "fallback"
"""Blocks at which another model continues a response that the one before it declined."""

COMPACTION: Final = "compaction"
"""Blocks with a summary of the conversation before them, and the parameter that asks for one."""

BLOCK_DELTAS: Final[Mapping[str, Mapping[str, str]]] = {
    "text": {"text_delta": "text", "citations_delta": "citation"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    COMPACTION: {"compaction_delta": "content"},
    **{kind: {"input_json_delta": "partial_json"} for kind in TOOL_CALL_TYPES},
}
"""The deltas that a block of a type takes in a stream, and the field that each must have."""

THREAD_NOT_FOUND: Final = "thread_not_found"
"""The `error_code` of a `thread` that the server does not have: clients then send all of it."""

OF_TOKENS: Final = ("output_ids", "output_token_logprobs", "estimated_tokens")
"""Fields about the tokens of a delta. The first two are beside it: LMDeploy adds them where a
request asks for them. The last is in a delta of hidden thinking, with the beta
`thinking-token-count-2026-05-13`: about how many tokens are new.

Sources: the `lmdeploy` package, 0.18.0 (`serve/anthropic/streaming`), and the `anthropic` package,
2.14.0 (`types/beta/beta_thinking_delta`).
"""
