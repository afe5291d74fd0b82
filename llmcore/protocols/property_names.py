"""Names of the properties of tools that Claude's APIs refuse, and what is sent in their place.

"tools.0.custom.input_schema.properties: Property keys should match pattern
'^[a-zA-Z0-9_.-]{1,64}$'", the API answers to the whole request for one such name, as servers of MCP
have: `filter[id]`, `$top`, `user name`. The name is replaced in the request (the tool's schema, and
the calls in the history) and put back in the response, as names of tools are:

    {"filter[id]": 1}  --request-->  {"filter_id_": 1}  --response-->  {"filter[id]": 1}

The replacement depends on the names of the tool alone, so that the same tools give the same bytes.
The API looks at the names of the outermost object only. Source:
https://github.com/anthropics/claude-code/issues/79418.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.schema.content import ContentPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonObject, dumps, json_or_text, texts
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import ToolDefinition, ToolSpec

Names: TypeAlias = Mapping[str, str]
"""The replacement of each name."""

_LONGEST: Final = 64
_DIGITS: Final = 8
_allowed: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}").fullmatch
_other: Final = re.compile(r"[^a-zA-Z0-9_.-]")


def replaced_properties(request: LLMRequest) -> dict[str, Names]:
    """Return, for each tool with names that are refused, what is sent for each of them."""
    found: dict[str, Names] = {}
    for tool in request.tools:
        if isinstance(tool, ToolDefinition):
            names = tool.parameters.get("properties")
            if isinstance(names, Mapping) and not all(map(_allowed, names)):
                found[tool.name] = _replacements(names)
    return found


def own_properties(request: LLMRequest) -> dict[str, Names]:
    """Return, for each such tool, its own name for each that is sent."""
    return {
        tool: {sent: name for name, sent in names.items()}
        for tool, names in replaced_properties(request).items()
    }


def _replacements(names: Mapping[str, Any]) -> Names:
    taken = {name for name in names if _allowed(name)}
    sent: dict[str, str] = {}
    for name in names:
        if _allowed(name):
            continue
        fitted = _other.sub("_", name) or "_"
        if len(fitted) > _LONGEST or fitted in taken:
            data = name.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest()
            fitted = f"{fitted[: _LONGEST - _DIGITS - 1]}_{digest}"
        taken.add(fitted)
        sent[name] = fitted
    return sent


# -- in the request


def fit_properties(request: LLMRequest, diagnostics: Diagnostics) -> LLMRequest:
    """Return *request* with names that the API accepts; itself where it has only such names."""
    replaced = replaced_properties(request)
    if not replaced:
        return request
    for index, tool in enumerate(request.tools):
        path = f"tools[{index}].parameters.properties"
        for name, sent in replaced.get(getattr(tool, "name", ""), {}).items():
            message = f"{name!r} is sent as {sent!r}; calls come back with the tool's own name"
            diagnostics.noted("property-name-changed", f"{path}.{name}", message)
    return evolve(
        request,
        tools=tuple(_tool(tool, replaced) for tool in request.tools),
        messages=tuple(_message(message, replaced) for message in request.messages),
    )


def _tool(tool: ToolSpec, replaced: Mapping[str, Names]) -> ToolSpec:
    if not isinstance(tool, ToolDefinition) or tool.name not in replaced:
        return tool
    return evolve(tool, parameters=_schema(tool.parameters, replaced[tool.name]))


def _schema(schema: JsonObject, names: Names) -> JsonObject:
    fields: dict[str, Any] = {**schema, "properties": renamed(schema["properties"], names)}
    if "required" in schema:
        fields["required"] = [names.get(name, name) for name in texts(schema["required"])]
    return fields


def _message(message: Message, replaced: Mapping[str, Names]) -> Message:
    content = tuple(_part(part, replaced) for part in message.content)
    same = all(new is old for new, old in zip(content, message.content, strict=True))
    return message if same else evolve(message, content=content)


def _part(part: ContentPart, replaced: Mapping[str, Names]) -> ContentPart:
    if not isinstance(part, ToolCallPart) or part.provider_executed or part.name not in replaced:
        return part
    if not isinstance(part.arguments, Mapping):
        return part
    return evolve(part, arguments=renamed(part.arguments, replaced[part.name]))


def renamed(fields: Any, names: Names) -> dict[str, Any]:
    """Return the object *fields* with *names* in the place of its own."""
    return {names.get(name, name): value for name, value in fields.items()}


# -- in the response


def with_own_names(arguments: str, names: Names) -> str:
    """Return the JSON text of a call's *arguments* with the tool's own *names*."""
    given = json_or_text(arguments)
    return dumps(renamed(given, names)).decode() if isinstance(given, Mapping) else arguments
