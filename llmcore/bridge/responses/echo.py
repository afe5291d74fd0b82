"""What a response repeats of its request, defaults filled in.

Source: https://developers.openai.com/api/reference/resources/responses (the response object),
read November 2026. Clients' validators want these fields present.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.protocols.loose_json import dicts, mapping, string
from llmcore.schema.json import JsonObject

_DEFAULTS: Final[Mapping[str, Any]] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
_IF_GIVEN: Final = ("prompt_cache_retention",)
_SECRETS: Final = frozenset({"authorization", "headers"})
"""What a client gives a server to show an MCP server; each request brings it anew."""
_FORMAT_DEFAULTS: Final = {"description": None, "strict": False}


def echoed(body: Mapping[str, Any]) -> JsonObject:
    """Return the fields of *body* that every form of its response repeats."""
    fields = {
        name: default if body.get(name) is None else body[name]
        for name, default in _DEFAULTS.items()
    }
    given = {name: body[name] for name in _IF_GIVEN if body.get(name) is not None}
    return {
        **fields,
        **given,
        "model": body.get("model"),
        "reasoning": _reasoning(mapping(body.get("reasoning"))),
        "text": _text(mapping(body.get("text"))),
        "tools": [_tool(tool) for tool in dicts(body.get("tools"))],
    }


def _reasoning(wanted: Mapping[str, Any]) -> JsonObject:
    summary = wanted.get("summary") or wanted.get("generate_summary")
    return {
        "effort": wanted.get("effort"),
        "summary": None if summary == "none" else summary,
    }


def _text(wanted: Mapping[str, Any]) -> JsonObject:
    form = mapping(wanted.get("format")) or {"type": "text"}
    if form.get("type") == "json_schema":
        form = {**_FORMAT_DEFAULTS, "name": "response", **form}
    verbosity = string(wanted.get("verbosity"))
    return {"format": form, **({"verbosity": verbosity} if verbosity else {})}


def _tool(tool: Mapping[str, Any]) -> JsonObject:
    if tool.get("type") != "function":
        return {name: value for name, value in tool.items() if name not in _SECRETS}
    function = {**mapping(tool.get("function")), **tool}
    function.pop("function", None)
    return {"description": None, "parameters": {}, "strict": True, **function}
