"""OpenAI Chat Completions: its id, and the words that both directions of the protocol use."""

from typing import Final, Required, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "openai-chat"
METADATA_KEY: Final = "openai"


class ChatBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create
    """

    model: Required[str]
    messages: Required[list[JsonObject]]
    stream: bool
    stream_options: JsonObject
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    response_format: JsonObject
    max_tokens: int
    max_completion_tokens: int
    temperature: float
    top_p: float
    stop: str | list[str]
    seed: int
    presence_penalty: float
    frequency_penalty: float
    logprobs: bool
    top_logprobs: int
    reasoning_effort: str
    metadata: JsonObject
    store: bool
    user: str
