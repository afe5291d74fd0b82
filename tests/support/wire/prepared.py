"""Native requests, prepared and shown: what the tests of facades have in common."""

from collections.abc import Mapping
from datetime import UTC, datetime

from llmcore.routes.auth import AuthContext
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema import json
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonValue
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Success
from llmcore.schema.tools import ToolDefinition

SECRET = "sk-very-secret"
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)

WEATHER = ToolDefinition(
    "get_weather",
    "The weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    strict=True,
)


def prepare(
    asked: LLMRequest, *, streaming: bool = False, environ: Mapping[str, str] | None = None
) -> PreparedRequest:
    """Return the native request."""
    assert isinstance(asked.model, Model)
    assert isinstance(asked.model.route, Route)
    context = AuthContext(environ=environ or {}, now=NOW)
    return asked.model.route.prepare(asked, streaming=streaming, context=context).unwrap()


def failure(asked: LLMRequest, **environ: str) -> LLMError:
    """Return why there is no native request."""
    assert isinstance(asked.model, Model)
    assert isinstance(asked.model.route, Route)
    context = AuthContext(environ=environ, now=NOW)
    result = asked.model.route.prepare(asked, streaming=False, context=context)
    assert not isinstance(result, Success)
    return result.failure()


def shown(ready: PreparedRequest) -> str:
    """Return all of a native request but our version, and what was said about it, as lines."""
    assert SECRET not in repr(ready)
    headers = [f"{k}: {v}" for k, v in ready.headers.items() if k != "user-agent"]
    body = []
    for name, value in ready.body.items():
        body += [f"  {name}: {json.canonical(item)}" for item in lines_of(name, value)]
    notes = [f"{note.action}: {note.code} at {note.path}" for note in ready.diagnostics]
    return "\n".join([f"{ready.method} {ready.url}", *headers, *body, *notes])


def lines_of(name: str, value: JsonValue) -> list[JsonValue]:
    """Return what of a body's field gets a line of its own: each message and tool."""
    whole = name not in ("messages", "input", "contents", "tools")
    return [value] if whole or not isinstance(value, list) else value
