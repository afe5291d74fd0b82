"""Serialises large requests in a thread, so that they do not delay other streams.

Size is measured by the bytes of all texts and by the number of values in all lists and objects,
since one message can have a million parts.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition

_T = TypeVar("_T")

LARGE_REQUEST_MESSAGES: Final = 400
"""The number of messages that takes about ten milliseconds."""
LARGE_REQUEST_VALUES: Final = 1000
"""The number of values in lists and objects that takes as long."""
_LARGE_CHARS: Final = 1024 * 1024


def is_large(request: LLMRequest) -> bool:
    """Return whether *request* has many messages, many values, or much text."""
    if len(request.messages) > LARGE_REQUEST_MESSAGES:
        return True
    form = request.response_format
    return holds_much(
        request.messages,
        request.system,
        request.tools,
        form and form.schema,
        request.provider_options,
        request.metadata,
    )


def holds_much(*values: object) -> bool:
    """Return whether serialising *values* takes more than about ten milliseconds.

    They are JSON values, messages and tools. Counting stops when the result is known.
    """
    members = chars = 0
    pending = list(values)
    while pending:
        value = pending.pop()
        if value is None:
            continue
        if isinstance(value, str | bytes):
            chars += len(value)
            members += _members_within(value)
        elif isinstance(value, list | tuple):
            members += len(value)
            pending += value
        elif isinstance(value, dict):  # nearly every mapping is one, and Mapping is slow to ask
            members += len(value)
            pending += value.values()
        elif contents := _contents(value):
            pending += contents
        elif isinstance(value, Mapping):
            members += len(value)
            pending += value.values()
        if members > LARGE_REQUEST_VALUES or chars > _LARGE_CHARS:
            return True
    return False


def _members_within(text: str | bytes) -> int:
    """Return the approximate number of values in *text* if it is JSON, such as arguments."""
    if len(text) <= LARGE_REQUEST_VALUES or isinstance(text, bytes):
        return 0
    return text.count(",")


def _contents(value: object) -> tuple[object, ...]:
    """Return the fields of a message, a part or a tool that can be large."""
    match value:
        case Message():
            return (value.content,)
        case TextPart():
            return (value.text, value.citations)
        case RefusalPart():
            return (value.text,)
        case ReasoningPart():
            return (value.text, value.encrypted)
        case ImagePart() | AudioPart() | DocumentPart():
            return (value.data or value.url,)
        case ToolCallPart():
            return (value.arguments,)
        case ToolResultPart():
            return (value.content,)
        case ProviderPart():
            return (value.data,)
        case ToolDefinition():
            return (value.description, value.parameters)
        case CustomTool():
            return (value.description, value.grammar and value.grammar.definition)
        case HostedTool():
            return (value.options,)
        case _:
            return ()


async def off_the_loop(
    step: Callable[[], _T], *, large: bool, limiter: anyio.CapacityLimiter | None = None
) -> _T:
    """Return `step()`, which is pure, run in a thread if *large*.

    *limiter* bounds the number of such threads.
    """
    return await anyio.to_thread.run_sync(step, limiter=limiter) if large else step()
