"""Events and bodies against the official `openai` package: exact types, nothing extra."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from openai.types.responses import Response
from openai.types.responses.response_stream_event import ResponseStreamEvent
from pydantic import BaseModel

_KNOWN_EXTRAS = {"frequency_penalty", "presence_penalty", "store", "search_content_types"}
"""Fields that the package has no name for: the real server sends them, and Codex the last in a
tool, which responses repeat."""
_EXTRAS_OF_CALLS = {"ResponseCustomToolCall": frozenset({"status"})}
"""Fields by classes: the package has the status of a custom call in listed items alone
(`ResponseCustomToolCallItem`); the server sends it in responses too, and the AI SDK requires it."""
_KNOWN_CODES = {"context_length_exceeded", "insufficient_quota"}
"""Error codes that the real server sends in responses, and clients read, beyond the package's."""


@cache
def _events() -> Mapping[str, type[BaseModel]]:
    union = get_args(ResponseStreamEvent)[0]
    return {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(union)}


def check_event(event: Mapping[str, Any]) -> None:
    """Fail unless *event* is exactly one of the official types."""
    fields = dict(event)
    if event["type"] == "error":
        del fields["error"]  # undeclared, but where the package itself looks for a failure
    _check(_events()[event["type"]], fields)


def check_response(response: Mapping[str, Any]) -> None:
    """Fail unless *response* is exactly the official type."""
    _check(Response, dict(response))


def _check(kind: type[BaseModel], data: dict[str, Any]) -> None:
    value = kind.model_validate(_usual(data), strict=True)
    assert list(_extras(value, kind.__name__)) == []


def _usual(data: dict[str, Any]) -> dict[str, Any]:
    """Return *data* with an error code that the package knows, for one that it should know."""
    if isinstance(data.get("response"), dict):
        return {**data, "response": _usual(data["response"])}
    error = data.get("error")
    if isinstance(error, dict) and error.get("code") in _KNOWN_CODES:
        return {**data, "error": {**error, "code": "server_error"}}
    return data


def _extras(value: Any, path: str) -> Iterator[str]:
    """Name every field that no class declares."""
    if isinstance(value, BaseModel):
        known = _KNOWN_EXTRAS | _EXTRAS_OF_CALLS.get(type(value).__name__, frozenset())
        yield from (f"{path}.{name}" for name in (value.model_extra or {}) if name not in known)
        for name in type(value).model_fields:
            yield from _extras(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _extras(item, f"{path}[{index}]")
