"""Reads the local files of a request before its body is built."""

import mimetypes
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import evolve, fields

from llmcore.protocols.lowering import with_parts
from llmcore.protocols.media import media_type_of
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError, unreadable_file
from llmcore.schema.request import LLMRequest
from llmcore.schema.unary import UnaryRequest

MAX_FILE_BYTES = 512 * 1024 * 1024
"""The largest file that can be sent inline; providers accept no larger ones."""

_Request = TypeVar("_Request", bound=UnaryRequest)
_MEDIA = (ImagePart, AudioPart, DocumentPart)


def names_files(request: LLMRequest) -> bool:
    """Return whether *request* contains a path of a local file."""
    for message in request.messages:
        for part in message.content:
            if type(part) not in _WITHOUT_FILES and _names_file(part):
                return True
    return False


_WITHOUT_FILES: Final = frozenset({TextPart, ToolCallPart})


def _names_file(part: object) -> bool:
    if isinstance(part, ToolResultPart):
        return type(part.content) is not str and any(map(_names_file, part.parts))
    return isinstance(part, _MEDIA) and part.path is not None


def load_files(request: LLMRequest) -> LLMRequest:
    """Return *request* with the bytes of its local files in it.

    Raises InvalidRequestError, naming the file, if one cannot be read. A request that names no
    file comes back as it is.
    """
    messages = tuple(with_parts(message, _loaded) for message in request.messages)
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return request
    return evolve(request, messages=messages)


def load_unary_files(request: _Request) -> _Request:
    """Return *request*, of a unary call, with the bytes of the local files in its fields."""
    changes: dict[str, object] = {}
    for attribute in fields(type(request)):
        value: Any = getattr(request, attribute.name)
        if isinstance(value, tuple) and any(map(_names_file, value)):
            changes[attribute.name] = tuple(map(_read, value))
        elif isinstance(value, _MEDIA) and _names_file(value):
            changes[attribute.name] = _read(value)
    return evolve(request, **changes) if changes else request  # type: ignore[arg-type]


def _loaded(part: ContentPart) -> ContentPart:
    if isinstance(part, _MEDIA):
        return _read(part)
    if isinstance(part, ToolResultPart) and part.parts:
        content = tuple(_read(inner) for inner in part.parts)
        if any(new is not old for new, old in zip(content, part.parts, strict=True)):
            return evolve(part, content=content)
    return part


def _read(part: ToolOutputPart) -> ToolOutputPart:
    if not isinstance(part, _MEDIA) or part.path is None:
        return part
    path = Path(part.path)
    try:
        path = path.expanduser()
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InvalidRequestError(
                f"{path} has {size} bytes; at most {MAX_FILE_BYTES} can be sent"
            )
        with path.open("rb") as file:  # pipes and devices have no size
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InvalidRequestError(f"{path} has more than {MAX_FILE_BYTES} bytes")
    except (OSError, RuntimeError, ValueError) as error:  # no such user; a zero byte in the path
        raise unreadable_file(path, error) from error
    if not data:
        raise InvalidRequestError(f"{path} is empty: there is nothing to send")
    changes: dict[str, object] = {"path": None, "data": data}
    if part.media_type is None:
        changes["media_type"] = mimetypes.guess_type(path.name)[0]
    if isinstance(part, DocumentPart) and part.name is None:
        changes["name"] = path.name
    read: ImagePart | AudioPart | DocumentPart = evolve(part, **changes)  # type: ignore[arg-type]
    if isinstance(read, ImagePart) and media_type_of(read) is None:
        raise InvalidRequestError(f"{path} is not a known kind of image: give its media_type")
    return read
