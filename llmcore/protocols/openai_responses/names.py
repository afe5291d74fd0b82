"""OpenAI Responses: its id, and the words that both directions of the protocol use."""

from typing import Final, Required, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "openai-responses"
METADATA_KEY: Final = "openai"


class ResponsesBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://developers.openai.com/api/reference/resources/responses/methods/create
    """

    model: Required[str]
    input: Required[str | list[JsonObject]]
    instructions: str
    stream: bool
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    text: JsonObject
    reasoning: JsonObject
    max_output_tokens: int
    temperature: float
    top_p: float
    top_logprobs: int
    metadata: JsonObject
    include: list[str]
    store: bool
    previous_response_id: str
