"""Anthropic Messages: its id, and the words that both directions of the protocol use."""

from typing import Final, Required, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "anthropic-messages"
METADATA_KEY: Final = "anthropic"


class MessagesBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://platform.claude.com/docs/en/api/messages/create
    """

    model: Required[str]
    max_tokens: Required[int]
    messages: Required[list[JsonObject]]
    system: str | list[JsonObject]
    stream: bool
    tools: list[JsonObject]
    tool_choice: JsonObject
    thinking: JsonObject
    output_config: JsonObject
    temperature: float
    top_p: float
    top_k: int
    stop_sequences: list[str]
    metadata: JsonObject
    service_tier: str
    cache_control: JsonObject
