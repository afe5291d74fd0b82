"""The files, URLs, schemas and Python functions that options of `ask` name, as values."""

import codecs
import importlib
import importlib.util
import json
import mimetypes
import re
import sys
from pathlib import Path
from typing import Final

from llmcore.cli.failures import UsageError
from llmcore.client.media_files import MAX_FILE_BYTES
from llmcore.protocols.lowering import tagged_text
from llmcore.protocols.media import media_type_of, sniffed
from llmcore.schema.content import AudioPart, ContentPart, DocumentPart, ImagePart, TextPart
from llmcore.schema.errors import InvalidRequestError, unreadable_file
from llmcore.schema.json import JsonObject, JsonValue

CONVERT: Final = "convert it first, for example with iconv"

_URLS = ("http://", "https://", "data:")

_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def attachment(source: str) -> ContentPart:
    """Return the part of a file, a URL, or `-` for stdin.

    Images, audio, PDFs and video become parts of their kind; text of any kind becomes text.
    Raises InvalidRequestError for what cannot be read, or is of no kind that models are sent.
    """
    if source.startswith(_URLS):
        return _of_url(source)
    name, data = _read(source)
    return _of_bytes(name, data)


def recording(source: str) -> AudioPart:
    """Return the part of the recording in a file, at a URL, or on stdin, `-`.

    Raises InvalidRequestError for what cannot be read or is not audio.
    """
    if source.startswith(_URLS):
        part: object = _of_url(source)
    else:
        name, data = _read(source)
        media_type = _media_type(name, data)
        is_audio = media_type.startswith("audio/")
        part = AudioPart(data=data, media_type=media_type) if is_audio else None
    if not isinstance(part, AudioPart):
        raise InvalidRequestError(f"{source} is not a recording: give an audio file")
    return part


def _of_url(url: str) -> ContentPart:
    media_type = media_type_of(DocumentPart(url=url)) or ""
    match media_type.partition("/")[0]:
        case "image":
            return ImagePart(url=url)
        case "audio":
            return AudioPart(url=url)
        case "":
            shown = url if len(url) < 200 else f"{url[:200]}..."
            raise InvalidRequestError(
                f"the kind of {shown} is not in its name: use --image for an image, "
                "or download it and attach the file"
            )
        case _:
            return DocumentPart(url=url)


def _read(source: str) -> tuple[str, bytes]:
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(source).expanduser().open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        raise unreadable_file(source, error) from error
    if not data or len(data) > MAX_FILE_BYTES:
        wrong = "is empty" if not data else f"has more than {MAX_FILE_BYTES} bytes"
        raise InvalidRequestError(f"{'stdin' if source == '-' else source} {wrong}")
    return ("stdin" if source == "-" else Path(source).name), data


def _media_type(name: str, data: bytes) -> str:
    return sniffed(data) or mimetypes.guess_type(name)[0] or ""


def _of_bytes(name: str, data: bytes) -> ContentPart:
    media_type = _media_type(name, data)
    match media_type.partition("/")[0]:
        case "image" if media_type != "image/svg+xml":
            return ImagePart(data=data, media_type=media_type)
        case "audio":
            return AudioPart(data=data, media_type=media_type)
        case "video":
            return DocumentPart(data=data, media_type=media_type, name=name)
    if media_type != "application/pdf":
        text = _text(data)
        if text is not None:
            return TextPart(tagged_text("file", text, f' name="{name}"'))
        if media_type.startswith("text/") and 0 not in data:
            raise InvalidRequestError(f"{name} is not UTF-8 text: {CONVERT}")
        if not media_type:
            raise InvalidRequestError(
                f"{name} is neither text nor an image, audio, video or document"
            )
    return DocumentPart(data=data, media_type=media_type, name=name)


def _text(data: bytes) -> str | None:
    """Return *data* as text; None if it is neither UTF-8 nor marked as UTF-16, or has a byte 0."""
    if data.startswith(UTF16_MARKS):
        return decoded_utf16(data)
    if 0 in data:  # which no text has
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How text begins that programs of Windows write: Notepad, and PowerShell 5 with `>`."""


def decoded_utf16(data: bytes) -> str | None:
    """Return the text in *data*, which begins with a mark of UTF-16; None if it is not text."""
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


# -- schemas and functions


def schema_of(text: str) -> object:
    """Return the schema that *text* is.

    That is a JSON Schema, the file of one, a class as `module:Class`, or a list of fields such as
    `name, age int, email`. Raises InvalidRequestError.
    """
    text = text.strip()
    if text.startswith("{"):
        return _json_object(text, "--schema")
    if text.endswith(".json"):  # before the colon, which Windows has after the drive
        _, data = _read(text)
        return _json_object(data, text)
    if ":" in text:
        return user_object(text)
    return _of_fields(text)


def _json_object(text: str | bytes, where: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidRequestError(f"{where} is not JSON: {error}", cause=error) from error
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{where} is not a JSON object")
    return value


def _of_fields(text: str) -> JsonObject:
    properties: dict[str, JsonValue] = {}
    for field in text.split(","):
        name, _, kind = field.strip().partition(" ")
        kind = kind.strip() or "str"
        many = kind.endswith("[]")
        if not re.fullmatch(r"\w+", name) or kind.removesuffix("[]") not in _TYPES:
            raise InvalidRequestError(
                f"{field.strip()!r} is not a field: write `name`, or `name TYPE` with one of "
                f"{', '.join(_TYPES)}, followed by [] for a list"
            )
        item: JsonObject = {"type": _TYPES[kind.removesuffix("[]")]}
        properties[name] = {"type": "array", "items": item} if many else item
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def user_object(reference: str) -> object:
    """Import what `module:name` or `file.py:name` names. Its code is run.

    Raises InvalidRequestError if that fails.
    """
    home, _, name = reference.rpartition(":")
    if not home or not name.isidentifier():
        raise UsageError(f"{reference!r} is not module:name, such as tools:get_weather")
    try:
        module = _module_in(Path(home)) if home.endswith(".py") else _module_named(home)
        value: object = getattr(module, name)
    except (Exception, SystemExit) as error:  # the user's code can raise anything
        message = f"cannot import {reference}: {type(error).__name__}: {error}"
        if isinstance(error, SystemExit) or "event loop" in str(error):  # a program is run
            message += "; put what starts the program below `if __name__ == '__main__':`"
        raise InvalidRequestError(message, cause=error) from error
    return value


def _module_named(name: str) -> object:
    if "" not in sys.path:
        sys.path.insert(0, "")  # the folder that the command is run in
    return importlib.import_module(name)


def _module_in(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
