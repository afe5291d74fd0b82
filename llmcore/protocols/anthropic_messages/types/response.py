"""The response body.

Source: https://platform.claude.com/docs/en/api/messages/create (`Message`), read November 2026.
"""

from typing import ClassVar

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.types.blocks import ResponseBlock
from llmcore.protocols.anthropic_messages.types.shapes import always
from llmcore.schema.json import JsonObject


@frozen(kw_only=True)
class CacheCreation:
    """Tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


@frozen(kw_only=True)
class ServerToolUsage:
    """How often the provider's tools were used."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


@frozen
class OutputTokensDetails:
    """What the output was for."""

    thinking_tokens: int | None = None


@frozen(kw_only=True)
class Usage:
    """Token counts; None is what was not said, which is not 0.

    `input_tokens` counts only what was neither read from nor written to the cache.
    """

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    output_tokens: int | None = None
    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: str | None = None
    iterations: tuple[JsonObject, ...] | None = None


@frozen(kw_only=True)
class Response:
    """A whole answer, or (in `message_start`) its beginning."""

    type: ClassVar[str] = "message"
    id: str
    role: str = always("assistant")
    model: str
    content: tuple[ResponseBlock, ...]
    stop_reason: str | None = always(None)
    stop_sequence: str | None = always(None)
    stop_details: JsonObject | None = None
    usage: Usage | None = None
    container: JsonObject | None = None
    context_management: JsonObject | None = None
    diagnostics: JsonObject | None = field(default=None)
    input_transformations: tuple[JsonObject, ...] | None = None
