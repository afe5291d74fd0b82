"""JSON Schemas, compiled, and what of a value does not fit one.

By jsonschema-rs: it knows JSON Schema 2020-12, which type annotations and most providers'
schemas are written in, runs no generated code, and is compiled.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PROBLEMS: Final = 5
"""More of them are not told."""
MAX_TEXT: Final = 300
"""Characters of a problem: it may quote the whole value."""


def check_schema(schema: JsonObject) -> None:
    """Raise ValueError if *schema* is no JSON Schema."""
    _validator(json.canonical(schema))


def problems(schema: JsonObject, value: JsonValue) -> list[str]:
    """Return where *value* does not fit *schema*, and why; empty if it does.

    Paths begin with `$`, the value itself. ValueError if *schema* is no JSON Schema.
    """
    found: list[str] = []
    for error in _validator(json.canonical(schema)).iter_errors(value):
        path = ".".join(["$", *map(str, error.instance_path)])
        found.append(f"{path}: {error.message[:MAX_TEXT]}")
        if len(found) == MAX_PROBLEMS:
            break
    return found


@lru_cache(maxsize=512)
def _validator(schema: str) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # a large library, needed once there is something to check

    return jsonschema_rs.validator_for(schema, retriever=_refuse)


def _refuse(uri: str) -> NoReturn:
    """Fetch nothing: a schema that a stranger wrote must not send us anywhere."""
    raise ValueError(f"references to other documents are not followed: {uri}")
