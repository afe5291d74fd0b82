"""OpenAI Responses: its id, and the words that both directions of the protocol use."""

import re
from typing import Any, Final, Required, TypeAlias, TypedDict

from llmcore.schema.json import JsonObject

PROTOCOL_ID: Final = "openai-responses"
METADATA_KEY: Final = "openai"

NativeObject: TypeAlias = dict[str, Any]
"""A JSON object of the wire. Servers differ too much for a stricter type."""


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


# -- error codes

REJECTED_REASONING: Final = re.compile(
    r"invalid_encrypted_content"
    r"|encrypted content\b.*\b(could not be (verified|decrypted)|did not match)",
    re.IGNORECASE | re.DOTALL,
)
"""How an error, by its code or its message, says that encrypted reasoning cannot be read.

It is good only for the account, organization and deployment it came from. Proxies replace the
code by a number and keep the message. Source:
https://developers.openai.com/api/docs/guides/reasoning (encrypted reasoning items).
"""
