"""Requests that take a while to put into words: a thread does it, so that other streams go on."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.request import LLMRequest

_T = TypeVar("_T")

MANY = 400
"""Messages, or items of any list: about ten milliseconds of work."""
_LARGE_CHARS = 1024 * 1024


def is_large(request: LLMRequest) -> bool:
    """Return whether the body of *request* is made of many messages, or of much."""
    if len(request.messages) > MANY:
        return True
    parts = (part for message in request.messages for part in message.content)
    return sum(map(_size, parts)) > _LARGE_CHARS


def _size(part: ContentPart | ToolOutputPart) -> int:
    match part:
        case TextPart(text=text):
            return len(text)
        case ImagePart() | AudioPart() | DocumentPart():
            return len(part.data or part.url or "")
        case ToolResultPart():
            return sum(map(_size, part.parts)) or _length(part.content)
        case _:
            return 0


def _length(content: object) -> int:
    return len(content) if isinstance(content, str) else 0


async def off_the_loop(step: Callable[[], _T], *, large: bool) -> _T:
    """Return what *step*, which is pure, returns: from a thread if there is much to do."""
    return await anyio.to_thread.run_sync(step) if large else step()
