"""Requests that take a while to serialize: a thread does it, so that other streams go on.

Size is measured by the bytes of texts and by the number of values in lists and objects, wherever
they are, and never by the length of one list: a message may have a million parts.
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

MANY: Final = 400
"""Messages: about ten milliseconds of work."""
MANY_VALUES: Final = 1000
"""Members of lists and objects: as much work."""
_LARGE_CHARS: Final = 1024 * 1024


def is_large(request: LLMRequest) -> bool:
    """Return whether the body of *request* is made of many messages, many values, or much text."""
    if len(request.messages) > MANY:
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
    """Return whether JSON values, messages and tools together are more than a moment's work.

    The cost is bounded: counting stops where the answer is known.
    """
    members = chars = 0
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, str | bytes):
            chars += len(value)
            members += _members_within(value)
        elif isinstance(value, Mapping):
            members += len(value)
            pending += value.values()
        elif isinstance(value, list | tuple):
            members += len(value)
            pending += value
        elif value is not None:
            pending += _contents(value)
        if members > MANY_VALUES or chars > _LARGE_CHARS:
            return True
    return False


def _members_within(text: str | bytes) -> int:
    """Return how many values there are in *text* if it is JSON, as a call's arguments are."""
    if len(text) <= MANY_VALUES or isinstance(text, bytes):
        return 0
    return text.count(",")


def _contents(value: object) -> tuple[object, ...]:
    """Return what of a message, a part or a tool can be large."""
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
    """Return what *step*, which is pure, returns: from a thread if there is much to do.

    *limiter* says how many such threads there may be at once.
    """
    return await anyio.to_thread.run_sync(step, limiter=limiter) if large else step()
