"""The request body.

Source: https://platform.claude.com/docs/en/api/messages/create, read November 2026.
"""

from typing import ClassVar, Literal, TypeAlias, Union

from attrs import field, frozen

from llmcore.protocols.anthropic_messages.contract.blocks import (
    CacheControl,
    ContentBlock,
    TextBlock,
)
from llmcore.protocols.anthropic_messages.contract.tools import AnyTool, ToolChoice
from llmcore.schema.json import JsonObject, plain_object


@frozen
class InputMessage:
    """A turn: a string, or blocks.

    `system` is only taken by some models, and only after a user's turn.
    """

    role: Literal["user", "assistant", "system"]
    content: str | tuple[ContentBlock, ...]
    clear_at: str | None = field(default=None, kw_only=True)
    output_config: JsonObject | None = field(default=None, kw_only=True)


@frozen
class RequestMetadata:
    """Whom the request is made for."""

    user_id: str | None = None


@frozen(kw_only=True)
class ThinkingEnabled:
    """Think with a budget: at least 1,024 tokens and fewer than `max_tokens`."""

    type: ClassVar[str] = "enabled"
    budget_tokens: int
    display: str | None = None


@frozen(kw_only=True)
class ThinkingAdaptive:
    """Think as much as the task needs."""

    type: ClassVar[str] = "adaptive"
    display: str | None = None
    block_binding: JsonObject | None = None


@frozen
class ThinkingBetweenTools:
    """Think between tool calls only."""

    type: ClassVar[str] = "between_tools"


@frozen
class ThinkingDisabled:
    """Do not think."""

    type: ClassVar[str] = "disabled"


Thinking: TypeAlias = Union[
    ThinkingEnabled, ThinkingDisabled, ThinkingBetweenTools, ThinkingAdaptive
]
"""Exactly one of the four."""


@frozen
class JsonFormat:
    """A JSON Schema that the answer's text must match."""

    type: ClassVar[str] = "json_schema"
    schema: JsonObject


@frozen(kw_only=True)
class OutputConfig:
    """The answer's shape, and how much work goes into it."""

    format: JsonFormat | None = None
    effort: str | None = None
    task_budget: JsonObject | None = None


@frozen(kw_only=True)
class MessagesRequest:
    """The body of `POST /v1/messages`.

    Top-level fields that are not modelled are kept in `extra_fields` and written back; a
    field that is set wins over one of the same name there.
    """

    model: str
    max_tokens: int
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    metadata: RequestMetadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    cache_control: CacheControl | None = None
    """Asks the provider to place a breakpoint on the last block by itself."""
    extra_fields: JsonObject = field(factory=dict, converter=plain_object)
    tool_choice: ToolChoice | None = None
    tools: tuple[AnyTool, ...] | None = None
    system: str | tuple[TextBlock, ...] | None = None
    messages: tuple[InputMessage, ...]
