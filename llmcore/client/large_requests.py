"""Serialises large requests in a thread, so that they do not delay other streams.

Size is measured by the bytes of all texts and by the number of values in all lists and objects,
since one message can have a million parts.
"""

import re
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

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
"""The number of messages that takes about five milliseconds, as long as a thread with other work
keeps the loop from going on."""
LARGE_REQUEST_VALUES: Final = 3 * LARGE_REQUEST_MESSAGES + 100
"""The number of values in lists and objects that takes as long: a message of text has three."""
_LARGE_CHARS: Final = 1024 * 1024
_MAY_BE_JSON: Final = re.compile(r'\s*["{\[]')
"""The beginning of a text that may be read as JSON, as arguments of calls are; other texts are read
and written by C alone."""


def is_large(request: LLMRequest) -> bool:
    """Return whether *request* has many messages, many values, or much text."""
    known = _SMALL.get(id(request))
    if known is not None and known() is request:
        return False
    if len(request.messages) > LARGE_REQUEST_MESSAGES:
        return True
    form = request.response_format
    others = (
        request.system,
        request.tools,
        form and form.schema,
        request.provider_options,
        request.metadata,
    )
    is_question = len(request.messages) == 1 and not any(others)  # as most requests are
    if is_question and _are_short_texts(request.messages[0].content):
        return False
    held = tuple(filter(None, (request.messages, *others)))
    return bool(held) and holds_much(*held)


def note_small(request: LLMRequest) -> None:
    """Let `is_large` return False for *request*, of whose values a count is known.

    To count them takes about as long as to read them.
    """
    key = id(request)
    _SMALL[key] = weakref.ref(request, lambda _: _SMALL.pop(key, None))


_SMALL: Final[dict[int, "weakref.ref[LLMRequest]"]] = {}
"""Requests that are known not to be large, by their identities, for as long as they live."""


def _are_short_texts(content: Collection[Any]) -> bool:
    """Return whether *content* is one text that is too short to hold many values."""
    for part in content:
        if type(part) is not TextPart or part.citations or len(part.text) > LARGE_REQUEST_MESSAGES:
            return False
    return len(content) == 1


def holds_much(*values: object) -> bool:  # noqa: PLR0912  calls would cost more than the loop
    """Return whether serialising *values* takes more than about five milliseconds.

    They are JSON values, messages and tools. Counting stops when the result is known.
    """
    members = chars = 0
    most_members = LARGE_REQUEST_VALUES
    pending: list[Any] = [values]
    add = pending.append
    for value in pending:  # which grows
        kind = type(value)
        inner: Collection[Any]
        if kind is dict:
            inner = value.values()
            members += len(inner)
        elif kind is list or kind is tuple or kind is Message:
            is_message = kind is Message
            inner = value.content if is_message else value
            members += len(inner) + is_message  # as many as in JSON
        else:
            inner = _CONTENTS[kind](value) if kind in _CONTENTS else _of_subclass(value)
        if members > most_members or chars > _LARGE_CHARS:
            return True
        for item in inner:  # texts, which most values are, do not go the long way round
            kind = type(item)
            if kind is str:
                text = item
            elif kind is dict or kind is list:
                if item:
                    add(item)
                continue
            elif kind is TextPart and not item.citations:
                text = item.text
            elif kind is ToolResultPart and type(item.content) is str:
                text = item.content
            else:
                if kind is bytes:
                    chars += len(item)
                elif item and kind not in _SCALARS:
                    add(item)
                continue
            size = len(text)
            chars += size
            if size > most_members and _MAY_BE_JSON.match(text):
                members += text.count(",")
    return members > most_members or chars > _LARGE_CHARS


_SCALARS: Final = frozenset({type(None), bool, int, float})

_CONTENTS: Final[Mapping[type, Callable[[Any], tuple[Any, ...]]]] = {
    Message: lambda message: (message.content,),
    TextPart: lambda part: (part.text, part.citations),
    RefusalPart: lambda part: (part.text,),
    ReasoningPart: lambda part: (part.text, part.encrypted),
    ImagePart: lambda part: (part.data or part.url,),
    AudioPart: lambda part: (part.data or part.url,),
    DocumentPart: lambda part: (part.data or part.url,),
    ToolCallPart: lambda part: (part.arguments,),
    ToolResultPart: lambda part: (part.content,),
    ProviderPart: lambda part: (part.data,),
    ToolDefinition: lambda tool: (tool.description, tool.parameters),
    CustomTool: lambda tool: (tool.description, tool.grammar and tool.grammar.definition),
    HostedTool: lambda tool: (tool.options,),
}
"""The fields of a message, a part or a tool that can be large."""


def _of_subclass(value: object) -> tuple[Any, ...]:
    """Return what a *value* of a class of its own holds, in values of the usual ones."""
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, bytes):
        return (bytes(value),)
    if isinstance(value, list | tuple):
        return (tuple(value),)
    if isinstance(value, Mapping):
        return (dict(value),)
    return next((held(value) for kind, held in _CONTENTS.items() if isinstance(value, kind)), ())


async def run_in_thread_if(
    step: Callable[[], _T], *, large: bool, limiter: anyio.CapacityLimiter | None = None
) -> _T:
    """Return `step()`, which is pure, run in a thread if *large*.

    *limiter* bounds the number of such threads.
    """
    return await anyio.to_thread.run_sync(step, limiter=limiter) if large else step()
