"""The parameters of a request besides its conversation and its tools.

    {"max_output_tokens": 64, "temperature": 0.2, "reasoning": {"effort": "low"}, "text": {"format":
     {"type": "json_schema", "name": "city", "schema": {"type": "object", ...}, "strict": true}}}

Source: https://developers.openai.com/api/reference/resources/responses/methods/create, read
November 2026. What `LLMRequest` has a field for goes there; the rest goes by its native name to
upstreams whose API has it, and is named in a Diagnostic for others.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts import openai_forms, reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.openai_forms import CHAT_TIERS, END_USER, RESPONSES_TIERS, TOOL_CHOICE
from llmcore.fronts.reading import read_field
from llmcore.protocols.anthropic_messages.names import PROTOCOL_ID as MESSAGES
from llmcore.protocols.caching import OPENAI_LIFETIMES
from llmcore.protocols.openai_chat.names import LIFETIMES
from llmcore.protocols.openai_chat.names import PROTOCOL_ID as CHAT
from llmcore.protocols.openai_responses.names import PARAMETERS
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.options import GenerationOptions, ReasoningOptions, ResponseFormat, merge_json

Body = Mapping[str, Any]


# -- refused


def refuse_unsupported(body: Body) -> None:
    """Raise FrontError for what would change the meaning of the response if it were left out."""
    if body.get("conversation") is not None:
        raise invalid(
            "The gateway keeps no conversations. Use previous_response_id, or send all items.",
            "conversation",
        )
    if body.get("prompt") is not None:
        raise invalid("The gateway has no prompt templates: send the text itself.", "prompt")


# -- typed reading


@frozen
class _Parameter:
    """A parameter that upstreams get by its name, if their API has it."""

    kind: type | None = None
    defaults: tuple[object, ...] = ()
    """Values that mean the same as none: omitting them loses nothing."""
    in_chat: bool = False
    """Whether Chat Completions has it, too."""


_NATIVE: Final[Mapping[str, _Parameter]] = {
    "access_programs": _Parameter(dict, ({},)),
    "context_management": _Parameter(list, ([],)),
    "image": _Parameter(dict, ({}, {"context_compression": "auto"})),
    "max_tool_calls": _Parameter(int),
    "moderation": _Parameter(),
    "multi_agent": _Parameter(dict, ({"enabled": False},)),
    "safety_identifier": _Parameter(str, in_chat=True),
    "truncation": _Parameter(str, ("disabled",)),
    "user": _Parameter(str, in_chat=True),
}
_REPEATED: Final[Mapping[str, type]] = {
    "background": bool,
    "metadata": dict,
    "previous_response_id": str,
    "service_tier": str,
}
"""The types of fields that every response repeats."""
_TYPED: Final[Mapping[str, type]] = {
    **_REPEATED,
    **{name: parameter.kind for name, parameter in _NATIVE.items() if parameter.kind is not None},
}


def check_types(body: Body) -> None:
    """Raise FrontError for a field of another type, which a response could not repeat."""
    for name in body:
        if name in _TYPED:
            read_field(body, name, _TYPED[name])
    for name, value in object_or_empty(body.get("metadata")).items():
        if not isinstance(value, str):
            place = f"metadata.{name[:100]}"
            raise invalid(f"{place} must be a text.", place, "invalid_type")


# -- fields of our own request


def read_generation(
    body: Body, protocol_id: str | None, diagnostics: Diagnostics
) -> GenerationOptions:
    """Return sampling, limits and the tier."""
    included = read_field(body, "include", list) or []
    top_logprobs = read_field(body, "top_logprobs", int)
    wants_logprobs = "message.output_text.logprobs" in included or bool(top_logprobs)
    options = reading.read_options(body, {**PARAMETERS, **_PENALTIES})
    options["top_logprobs"] = top_logprobs or None
    missing = RESPONSES_TIERS - CHAT_TIERS if protocol_id == CHAT else ()
    options["service_tier"] = openai_forms.read_tier(body, protocol_id, diagnostics, missing)
    return GenerationOptions(**options, logprobs=True if wants_logprobs else None)


_PENALTIES: Final = {name: name for name in ("presence_penalty", "frequency_penalty")}
"""Parameters that OpenAI's API lacks, for upstreams that have them."""


def read_reasoning(body: Body) -> ReasoningOptions | None:
    """Return the reasoning options; None if the request sets none."""
    reasoning = read_field(body, "reasoning", dict)
    if not reasoning:
        return None
    effort = read_field(reasoning, "effort", str, "reasoning.")
    given = reasoning.get("summary") or reasoning.get("generate_summary")
    summary = openai_forms.checked_summary(given)
    if effort is None and summary is None:
        return None
    return ReasoningOptions(effort=effort, summary=summary)


def read_format(body: Body, diagnostics: Diagnostics) -> ResponseFormat | None:
    """Return the response format; None for free text."""
    form = read_field(read_field(body, "text", dict) or {}, "format", dict, "text.")
    return openai_forms.read_format(form, "text.format", diagnostics)


# -- native fields

_READ_FIELDS: Final = frozenset(
    {
        *_NATIVE, *_REPEATED, *PARAMETERS.values(), *_PENALTIES, "client_metadata", "conversation",
        "generate", "include", "input", "instructions", "model", "parallel_tool_calls", "prompt",
        "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "store",
        "stream", "stream_options", "text", "tool_choice", "tools", "type",
    }
)  # fmt: skip


_INSIDE: Final[Mapping[str, frozenset[str]]] = {
    "prompt_cache_options": frozenset({"comparison_response_id", "mode", "prewarm", "ttl"}),
    "reasoning": frozenset({"context", "effort", "generate_summary", "mode", "summary"}),
    "stream_options": frozenset({"include_obfuscation"}),
    "text": frozenset({"format", "verbosity"}),
}
"""Fields of the objects of a request that are read."""


_READ_INCLUDES: Final = frozenset({"message.output_text.logprobs", "reasoning.encrypted_content"})
"""Values of `include` that have fields in an `LLMRequest`, or that the gateway fulfils itself."""


def _include(body: Body, protocol_id: str | None) -> dict[str, Any]:
    """Return the other values of `include`, which only upstreams of the Responses API accept."""
    given = reading.read_texts(body, "include")
    wanted = [name for name in given if name not in _READ_INCLUDES]
    return {"include": wanted} if wanted and protocol_id == RESPONSES else {}


def _tool_choice(body: Body, protocol_id: str | None, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the choice of one tool of an MCP server, which only the Responses API has."""
    choice = object_or_empty(body.get(TOOL_CHOICE))
    if choice.get("type") != "mcp" or choice.get("name") is None:
        return {}
    if protocol_id == RESPONSES:
        return {TOOL_CHOICE: choice}
    why = "the upstream can be made to use a server, and not one of its tools"
    diagnostics.at("tool_choice.name").unsupported(why)
    return {}


def provider_options(
    body: Body, upstream: Upstream, choice: JsonObject | None, diagnostics: Diagnostics
) -> dict[str, Mapping[str, Any]]:
    """Return the native fields for the upstream, and report those that it does not have.

    *choice* is the native choice of tools, where the upstream is sent one.
    """
    protocol_id = upstream.protocol_id
    options: dict[str, Any] = {} if choice is None else {TOOL_CHOICE: choice}
    for name, parameter in _NATIVE.items():
        value = body.get(name)
        if value is None or value in parameter.defaults:
            continue
        if protocol_id == RESPONSES or (protocol_id == CHAT and parameter.in_chat):
            options[name] = value
        elif name in END_USER and protocol_id == MESSAGES and "metadata" not in options:
            options["metadata"] = {"user_id": str(value)}
        else:
            diagnostics.at(name).unsupported(f"the upstream takes no {name}")
    options |= _verbosity(body, protocol_id, diagnostics) | _own_fields(
        body, protocol_id, diagnostics
    )
    options |= _include(body, protocol_id) | _tool_choice(body, protocol_id, diagnostics)
    options |= openai_forms.read_padding(body, upstream, diagnostics)
    lifetimes = LIFETIMES if protocol_id == CHAT else OPENAI_LIFETIMES
    if lifetime := openai_forms.second_lifetime(body, upstream, lifetimes, diagnostics):
        options = dict(merge_json(options, lifetime))
    reading.report_unknown(body, _READ_FIELDS, diagnostics)
    reading.report_unknown_inside(body, _INSIDE, diagnostics)
    if not protocol_id or not options:
        return {}
    return {protocol_by_id(protocol_id).metadata_key: options}


def _verbosity(body: Body, protocol_id: str | None, diagnostics: Diagnostics) -> dict[str, Any]:
    verbosity = read_field(read_field(body, "text", dict) or {}, "verbosity", str, "text.")
    if verbosity is None:
        return {}
    if protocol_id == RESPONSES:
        return {"text": {"verbosity": verbosity}}
    if protocol_id == CHAT:
        return {"verbosity": verbosity}
    if verbosity != "medium":
        diagnostics.at("text.verbosity").unsupported("the upstream takes no verbosity")
    return {}


_OF_RESPONSES: Final[Mapping[str, Mapping[str, object]]] = {
    "prompt_cache_options": {"comparison_response_id": None, "prewarm": False},
    "reasoning": {"context": "auto", "mode": "standard"},
}
"""Fields inside parameters that only the Responses API has, with their defaults."""


def _own_fields(body: Body, protocol_id: str | None, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the fields of the cache and of reasoning that only the Responses API has."""
    options: dict[str, Any] = {}
    for parameter, defaults in _OF_RESPONSES.items():
        if parameter not in body:
            continue
        given = object_or_empty(body[parameter])
        fields = {
            name: given[name]
            for name, usual in defaults.items()
            if given.get(name) not in (None, usual)
        }
        if fields and protocol_id == RESPONSES:
            options[parameter] = fields
            continue
        reading.report_lost(
            list(fields), "the upstream's API does not have it", diagnostics.at(parameter)
        )
    return options
