"""Validates values against JSON Schemas.

Uses jsonschema-rs, which is compiled, generates no code, and supports JSON Schema 2020-12, the
draft of type annotations and of most providers' schemas.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PROBLEMS: Final = 5
"""The most faults that are reported."""
MAX_TEXT: Final = 300
"""The most characters of a reported fault, which may quote the whole value."""


def check_schema(schema: JsonObject) -> None:
    """Raise ValueError if *schema* is not a JSON Schema."""
    _validator(json.canonical(schema))


def problems(schema: JsonObject, value: JsonValue) -> list[str]:
    """Return the faults of *value* against *schema*, each with its path; empty if it is valid.

    Paths begin with `$`, the value itself. Raises ValueError if *schema* is not a JSON Schema.
    """
    problems_found: list[str] = []
    for error in _validator(json.canonical(schema)).iter_errors(value):
        path = ".".join(["$", *map(str, error.instance_path)])
        problems_found.append(f"{path}: {error.message[:MAX_TEXT]}")
        if len(problems_found) == MAX_PROBLEMS:
            break
    return problems_found


@lru_cache(maxsize=512)
def _validator(schema: str) -> "jsonschema_rs.Validator":
    import jsonschema_rs  # a large library, needed once there is something to check

    return jsonschema_rs.validator_for(schema, retriever=_reject_remote)


def _reject_remote(uri: str) -> NoReturn:
    """Raise: schemas may come from untrusted servers, so references are never fetched."""
    raise ValueError(f"references to other documents are not supported: {uri}")
