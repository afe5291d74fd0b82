"""The tools that a request offers the model, and which of them it may or must call.

    {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    {"type": "custom", "custom": {"name": "patch", "format": {"type": "grammar",
     "grammar": {"syntax": "lark", "definition": "start: ..."}}}}
    {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
     {"type": "function", "function": {"name": "f"}}]}}

Freeform tools stay what they are: protocols without them offer a function of one string. Source:
https://developers.openai.com/api/reference/resources/chat (`tools`, `tool_choice`,
`web_search_options`, `functions`), read November 2026.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from llmcore.fronts import reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.openai_forms import NARROWED, TOOL_CHOICE, choice_of_mode, read_grammar
from llmcore.fronts.reading import Fields, read_field
from llmcore.fronts.tools_as_functions import offered_hosted
from llmcore.protocols.openai_chat.names import PROTOCOL_ID, TOOL_NAMES
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec


@frozen(kw_only=True)
class Offer:
    """The tools of a request, and the choice among them."""

    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice | None = None
    parallel: bool | None = None
    legacy: bool = False
    """Whether the client uses the deprecated `functions` instead of `tools`."""
    native_choice: JsonObject | None = None
    """The choice in the form of the API, where it names the tools that are allowed."""


def read_offer(body: Fields, upstream: Upstream, diagnostics: Diagnostics) -> Offer:
    """Return the tools and the choice among them. Raises FrontError if they are invalid."""
    legacy = bool(body.get("functions")) and not body.get("tools")
    natives = _natives(body, legacy=legacy)
    reading.check_tool_count(len(natives), upstream.policy)
    tools = [_tool(native, path, upstream, diagnostics) for path, native in natives]
    _reject_same_names(tools)
    choice = body.get("function_call" if legacy else TOOL_CHOICE)
    if isinstance(choice, dict):
        _report_choice(choice, "function_call" if legacy else TOOL_CHOICE, diagnostics)
    others = (TOOL_CHOICE,) if legacy else ("functions", "function_call")
    unread = [name for name in others if body.get(name) not in (None, [], "auto")]
    reading.report_lost(unread, f"the tools of the request are its {_field(legacy)}", diagnostics)
    native_choice = None
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        offered, wanted, native_choice = _read_allowed(choice, tools, upstream, diagnostics)
    else:
        offered, wanted = tools, _chosen(choice, tools)
    searching = _web_search(read_field(body, _PATH, dict), upstream, diagnostics)
    if isinstance(searching, ToolDefinition) and searching.name in map(_name_of, offered):
        searching = None  # the client has such a function itself
    parallel = False if legacy else read_field(body, "parallel_tool_calls", bool)
    return Offer(
        tools=(*offered, *([searching] if searching else [])),
        choice=wanted,
        parallel=parallel if offered else None,
        legacy=legacy,
        native_choice=native_choice,
    )


def has_native_tools(body: Fields) -> bool:
    """Return whether *body* has tools, or calls of tools, that few servers have.

    These are freeform tools, and functions in the form before `tools`, which other servers than
    OpenAI's ignore.
    """
    messages = objects(body.get("messages"))
    if body.get("functions") or any(message.get("function_call") for message in messages):
        return True
    calls = (call for one in messages if "tool_calls" in one for call in objects(one["tool_calls"]))
    return any(one.get("type") == "custom" for one in chain(objects(body.get("tools")), calls))


def _field(legacy: bool) -> str:
    return "functions" if legacy else "tools"


def _natives(body: Fields, *, legacy: bool) -> list[tuple[str, Fields]]:
    name = _field(legacy)
    return [
        (f"{name}[{number}]", {"type": "function", "function": tool} if legacy else tool)
        for number, tool in enumerate(reading.read_objects(body, name))
    ]


# -- one tool


_TOOL_FIELDS: Final = frozenset({"cache_control", "custom", "function", "type"})
_FUNCTION_FIELDS: Final = frozenset(
    {"cache_control", "description", "name", "parameters", "strict"}
)


def _tool(native: Fields, path: str, upstream: Upstream, diagnostics: Diagnostics) -> ToolSpec:
    try:
        match native.get("type"):
            case "function" | "" | None:
                _report_unknown(native, path, diagnostics)
                return _function(native, path, diagnostics)
            case "custom":
                return _custom(native, path, diagnostics)
            case str(kind) if upstream.protocol_id in (None, PROTOCOL_ID):
                # servers that imitate the API have tools of their own, such as OpenRouter's
                return (
                    HostedTool.raw("openai", native)
                    if kind
                    else _function(native, path, diagnostics)
                )
            case kind:
                raise invalid(
                    f"{path}: there are no tools of the type {str(kind)[:80]!r} here.",
                    f"{path}.type",
                    "unsupported_tool",
                )
    except InvalidRequestError as error:
        raise invalid(f"{path}: {error.message}", path) from error


def _report_unknown(native: Fields, path: str, diagnostics: Diagnostics) -> None:
    function = object_or_empty(native.get("function"))
    if function:
        reading.report_unknown(native, _TOOL_FIELDS, diagnostics, path)
        before_tools = path.startswith("functions")
        where = path if before_tools else f"{path}.function"
        reading.report_unknown(function, _FUNCTION_FIELDS, diagnostics, where)
    else:
        reading.report_unknown(native, _TOOL_FIELDS | _FUNCTION_FIELDS, diagnostics, path)


def _function(native: Fields, path: str, diagnostics: Diagnostics) -> ToolDefinition:
    # some clients write functions as the Responses API has them
    function = object_or_empty(native.get("function")) or native
    where = f"{path}." if "name" in native else f"{path}.function."
    inner = diagnostics.at(where.removesuffix("."))
    ttl = reading.cache_ttl_of(native, diagnostics.at(path))
    return reading.function_tool(
        reading.required(function, "name", str, where),
        read_field(function, "description", str, where) or "",
        read_field(function, "parameters", dict, where),
        strict=read_field(function, "strict", bool, where),
        cache=ttl if native is function else ttl or reading.cache_ttl_of(function, inner),
    )


_CUSTOM_FIELDS: Final = frozenset({"description", "format", "name"})
_FORM_FIELDS: Final = frozenset({"definition", "grammar", "syntax", "type"})


def _custom(tool: Fields, path: str, diagnostics: Diagnostics) -> CustomTool:
    native = object_or_empty(tool.get("custom"))
    form = object_or_empty(native.get("format"))
    reading.report_unknown(tool, frozenset({"custom", "type"}), diagnostics, path)
    reading.report_unknown(native, _CUSTOM_FIELDS, diagnostics, f"{path}.custom")
    reading.report_unknown(form, _FORM_FIELDS, diagnostics, f"{path}.custom.format")
    grammar = object_or_empty(form.get("grammar"))
    reading.report_unknown(grammar, _FORM_FIELDS, diagnostics, f"{path}.custom.format.grammar")
    return CustomTool(
        reading.required(native, "name", str, f"{path}.custom."),
        str_or_empty(native.get("description")),
        grammar=read_grammar(form, f"{path}.custom.format"),
    )


def _name_of(tool: ToolSpec) -> str | None:
    return None if isinstance(tool, HostedTool) else tool.name


def _reject_same_names(tools: Sequence[ToolSpec]) -> None:
    names = [name for tool in tools if (name := _name_of(tool))]
    if len(set(names)) < len(names):
        twice = min(name for name, count in Counter(names).items() if count > 1)
        message = f"Two tools are called '{twice}'. Rename one, or leave it out."
        raise invalid(message, "tools", "tool_name_conflict")


# -- the choice


_CHOICE_FIELDS: Final = frozenset({"name", "type"})
_OF_ALLOWED: Final = frozenset({"allowed_tools", "mode", "tools"})


def _report_choice(choice: Fields, path: str, diagnostics: Diagnostics) -> None:
    """Record the fields of a choice of tools that are not read."""
    kind = read_field(choice, "type", str, f"{path}.") or "function"
    allows = kind == "allowed_tools"
    known = _CHOICE_FIELDS | (_OF_ALLOWED if allows else {kind})
    reading.report_unknown(choice, known, diagnostics, path)
    inner = object_or_empty(choice.get(kind))
    reading.report_unknown(
        inner, _OF_ALLOWED if allows else _CHOICE_FIELDS, diagnostics, f"{path}.{kind}"
    )


def _chosen(native: object, tools: Sequence[ToolSpec]) -> ToolChoice | None:
    """Return the choice of a mode or of one tool."""
    if native is None or isinstance(native, str):
        return choice_of_mode(native, tools)
    if not isinstance(native, dict):
        raise invalid("tool_choice must be a string or an object.", TOOL_CHOICE)
    return ToolChoice.named(_known(native, _names_of(tools)))


def _read_allowed(
    native: Fields, tools: Sequence[ToolSpec], upstream: Upstream, diagnostics: Diagnostics
) -> tuple[Sequence[ToolSpec], ToolChoice | None, JsonObject | None]:
    """Return the tools that a choice of allowed tools leaves, its mode, and its native form.

    For an upstream that has such choices all tools stay, so that the prefix of the prompt is the
    same, and the native choice names those that are allowed.
    """
    given = {**native, **object_or_empty(native.get("allowed_tools"))}
    for number, named in enumerate(objects(given.get("tools"))):
        _report_choice(named, f"{TOOL_CHOICE}.allowed_tools.tools[{number}]", diagnostics)
    allowed, mode = _allowed(objects(given.get("tools")), tools), given.get("mode") or "auto"
    choice = choice_of_mode(mode, allowed)
    sent_as_named = all(TOOL_NAMES.allows(_name_of(tool) or "") for tool in allowed)
    if upstream.protocol_id == PROTOCOL_ID and upstream.native_tools and allowed and sent_as_named:
        holder = {"mode": mode, "tools": [_reference(tool) for tool in allowed]}
        return tools, choice, {"type": "allowed_tools", "allowed_tools": holder}
    if len(allowed) < len(tools):
        diagnostics.at(TOOL_CHOICE).changed("tools-narrowed", NARROWED)
    return allowed, choice, None


def _reference(tool: ToolSpec) -> JsonObject:
    kind = "custom" if isinstance(tool, CustomTool) else "function"
    return {"type": kind, kind: {"name": _name_of(tool)}}


def _allowed(wanted: Sequence[Fields], tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    offered = _names_of(tools)
    names = {_known(named, offered) for named in wanted}
    return [tool for tool in tools if _name_of(tool) in names]


def _names_of(tools: Sequence[ToolSpec]) -> frozenset[str]:
    return frozenset(name for tool in tools if (name := _name_of(tool)) is not None)


def _known(native: Fields, names: frozenset[str]) -> str:
    """Return the name of the tool that *native* refers to, one of *names*."""
    kind = str_or_none(native.get("type")) or "function"
    holder = object_or_empty(native.get(kind)) or native
    name = str_or_none(holder.get("name"))
    if name is None or name not in names:
        raise invalid(f"tool_choice names the tool {name!r}, which is not in tools.", TOOL_CHOICE)
    return name


def own_forms(body: Fields) -> dict[str, Any]:
    """Return `tools` and `tool_choice` unchanged if OpenAI's API does not have their form.

    A server that imitates the API takes them so, such as Mistral, whose word for `required` is
    `any` and whose functions need no type (https://docs.mistral.ai/api).
    """
    forms: dict[str, Any] = {}
    if not all("type" in tool for tool in objects(body.get("tools"))):
        forms["tools"] = body["tools"]
    choice = body.get(TOOL_CHOICE)
    if choice == "any" or (isinstance(choice, dict) and "type" not in choice):
        forms[TOOL_CHOICE] = choice
    return forms


# -- web search, which is a parameter here

_PATH: Final = "web_search_options"


def _web_search(
    native: Fields | None, upstream: Upstream, diagnostics: Diagnostics
) -> ToolSpec | None:
    """Return the tool that searches the web as the upstream has it; None if it is left out."""
    if native is None:
        return None
    return offered_hosted(
        "web search",
        "web_search",
        upstream,
        diagnostics.at(_PATH),
        same_api=upstream.protocol_id in (None, PROTOCOL_ID),
        own=lambda: None,
        lowered=lambda: _search_tool(native, upstream.protocol_id, diagnostics),
    )


def _search_tool(
    native: Mapping[str, Any], protocol_id: str | None, diagnostics: Diagnostics
) -> HostedTool:
    where = f"{_PATH}.user_location"
    location = read_field(native, "user_location", dict, f"{_PATH}.") or {}
    read_field(location, "type", str, f"{where}.")
    inner = read_field(location, "approximate", dict, f"{where}.") or {}
    reading.report_unknown(native, _SEARCH_FIELDS, diagnostics, _PATH)
    reading.report_unknown(location, _LOCATION_FIELDS, diagnostics, where)
    reading.report_unknown(inner, frozenset(_PLACES), diagnostics, f"{where}.approximate")
    place = {**location, **inner}
    known = {name: place[name] for name in _PLACES if read_field(place, name, str, f"{where}.")}
    size = read_field(native, "search_context_size", str, f"{_PATH}.")
    options: dict[str, Any] = {}
    if size is not None and protocol_id == RESPONSES:
        options["search_context_size"] = size
    elif size not in (None, "medium"):
        why = "the upstream's search has no such size"
        diagnostics.at(f"{_PATH}.search_context_size").unsupported(why)
    return HostedTool.web_search(user_location=known or None, **options)


_PLACES: Final = ("city", "country", "region", "timezone")
_LOCATION_FIELDS: Final = frozenset({"approximate", "type", *_PLACES})
_SEARCH_FIELDS: Final = frozenset({"search_context_size", "user_location"})
