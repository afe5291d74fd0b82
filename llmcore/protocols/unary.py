"""Building the requests of unary calls of models: the settings they have, the body they post."""

from collections.abc import Iterable, Iterator, Mapping

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.multipart import multipart
from llmcore.protocols.native_json import text_or_json
from llmcore.protocols.protocol import NativeRequest
from llmcore.schema.files import FileUpload
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.options import merge_json
from llmcore.schema.unary import UnaryRequest


def posted(
    asked: UnaryRequest,
    path: str,
    body: JsonObject,
    notes: Notes,
    files: Iterable[tuple[str, FileUpload]] = (),
) -> NativeRequest:
    """Return the POST of *body*, the native options of *asked* laid over it.

    It is JSON, or with *files* a form, which has a field for each of the body.
    """
    whole = merge_json(body, asked.own_options)
    uploads = list(files)
    diagnostics = tuple(notes.entries)
    if not uploads:
        return NativeRequest(path=path, body=whole, diagnostics=diagnostics)
    content, kind = multipart(_fields(whole), uploads)
    return NativeRequest(path=path, content=content, content_type=kind, diagnostics=diagnostics)


def _fields(value: JsonValue, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield *value* as fields of a form: lists as `name[]`, objects as `name[key]`.

    OpenAI's packages write lists and objects so.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _fields(item, f"{name}[{key}]" if name else key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _fields(item, f"{name}[]")
    elif value is not None:
        yield name, text_or_json(value)


def native_settings(
    asked: UnaryRequest, names: Mapping[str, str | None], notes: Notes
) -> dict[str, JsonValue]:
    """Return the settings of *asked* by their native *names*.

    A setting that is None, empty or False is not sent. One whose native name is None is dropped,
    with a Diagnostic.
    """
    settings: dict[str, JsonValue] = {}
    for name, native in names.items():
        value = getattr(asked, name)
        if not value and (value is None or isinstance(value, bool | tuple | str)):
            continue
        if native is None:
            notes.dropped("unsupported-parameter", name, f"the API has no {name}")
        else:
            settings[native] = list(value) if isinstance(value, tuple) else value
    return settings
