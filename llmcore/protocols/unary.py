"""Building the requests of unary calls of models: the settings they have, the body they post."""

from collections.abc import Mapping

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.protocol import NativeRequest
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.options import merge_json
from llmcore.schema.unary import UnaryRequest


def posted(asked: UnaryRequest, path: str, body: JsonObject, notes: Notes) -> NativeRequest:
    """Return the POST of *body*, the native options of *asked* laid over it."""
    whole = merge_json(body, asked.own_options)
    return NativeRequest(path=path, body=whole, diagnostics=tuple(notes.entries))


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
