"""Unary calls of models: building their requests, and what all their answers have."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.multipart import multipart
from llmcore.protocols.native_json import object_or_empty, str_or_none, text_or_json
from llmcore.protocols.openai_chat.finish import map_usage as chat_usage
from llmcore.protocols.openai_responses.finish import map_usage as responses_usage
from llmcore.protocols.protocol import NativeRequest, NativeResponse
from llmcore.schema.files import FileUpload
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.options import merge_json
from llmcore.schema.unary import UnaryRequest
from llmcore.schema.usage import Usage


def posted(request: UnaryRequest, path: str, body: JsonObject, notes: Notes) -> NativeRequest:
    """Return the POST of *body*, the native options of *request* laid over it."""
    whole = merge_json(body, request.own_options)
    return NativeRequest(path=path, body=whole, diagnostics=tuple(notes.entries))


def posted_form(
    request: UnaryRequest,
    path: str,
    body: JsonObject,
    notes: Notes,
    files: Iterable[tuple[str, FileUpload]] = (),
    *,
    list_mark: str = "[]",
) -> NativeRequest:
    """Return the same as a form, with *files*; names of lists end with *list_mark*."""
    fields = _fields(merge_json(body, request.own_options), list_mark)
    content, kind = multipart(fields, files)
    return NativeRequest(
        path=path, content=content, content_type=kind, diagnostics=tuple(notes.entries)
    )


def _fields(value: JsonValue, list_mark: str, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield *value* as fields: those of objects as `name[key]`, as OpenAI's packages write them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _fields(item, list_mark, f"{name}[{key}]" if name else key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _fields(item, list_mark, f"{name}{list_mark}")
    elif value is not None:
        yield name, text_or_json(value)


def native_settings(
    request: UnaryRequest, names: Mapping[str, str | None], notes: Notes
) -> dict[str, JsonValue]:
    """Return the settings of *request* by their native *names*.

    A setting that is None, empty or False is not sent. One whose native name is None is dropped,
    with a Diagnostic.
    """
    settings: dict[str, JsonValue] = {}
    for name, native in names.items():
        value = getattr(request, name)
        if not value and (value is None or isinstance(value, bool | tuple | str)):
            continue
        if native is None:
            notes.dropped("unsupported-parameter", name, f"the API has no {name}")
        else:
            settings[native] = list(value) if isinstance(value, tuple) else value
    return settings


# -- answers


def response_fields(answer: NativeResponse, request: UnaryRequest, usage: Usage) -> dict[str, Any]:
    """Return the fields that all responses have."""
    document = object_or_empty(answer.document)
    named = str_or_none(document.get("model")) or str_or_none(document.get("modelVersion"))
    return {
        "provider": request.provider_id,
        "model": named or request.model_id,
        "usage": usage,
        "diagnostics": answer.diagnostics,
        "raw": answer.document,
    }


def usage_of(answer: NativeResponse) -> Usage:
    """Return the `usage` of a document, by the names of either of OpenAI's APIs."""
    usage = object_or_empty(object_or_empty(answer.document).get("usage"))
    return chat_usage(usage) if "prompt_tokens" in usage else responses_usage(usage)
