"""Fields of a client's request, read by their type; and addresses and data of media.

What a client sends is checked where it is read: another type is a FrontError that names the field,
such as `messages[2].content[0].source.data`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar, cast, get_args

from attrs import evolve, fields_dict

from llmcore.fronts.errors import invalid
from llmcore.fronts.policy import TranslationPolicy
from llmcore.protocols.caching import OPENAI_BREAKPOINT
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.protocol import protocol_by_id
from llmcore.protocols.tool_schema.normalise import without_null_keywords
from llmcore.protocols.tools import shown
from llmcore.schema.changed import copying
from llmcore.schema.content import (
    CacheTtl,
    ContentPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
    uncached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    dumps,
    loads,
    loads_exact,
    parse_arguments,
    plain_json,
)
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.messages import Message, Origin, Role
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.options import GenerationOptions, ReasoningOptions
from llmcore.schema.tools import ToolDefinition

_T = TypeVar("_T")

Fields = Mapping[str, Any]
"""An object of a request's body."""

# -- fields


def read_field(body: Fields, name: str, kind: type[_T], path: str = "") -> _T | None:
    """Return a field of *body*; None if it is missing or null, FrontError for another type.

    *path* comes before the name in messages, such as `reasoning.`.
    """
    value = body.get(name)
    if value is None:
        return None
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        place = f"{path}{name}"
        raise invalid(f"{place} must be a {_WORDS[kind]}.", place, "invalid_type")
    return value


_WORDS: Final[Mapping[type, str]] = {
    bool: "boolean",
    dict: "JSON object",
    float: "number",
    int: "whole number",
    list: "list",
    str: "text",
}


def read_objects(body: Fields, name: str, path: str = "") -> list[dict[str, Any]]:
    """Return a list of objects, empty if it is missing; FrontError for a list of anything else."""
    given = read_field(body, name, list, path) or []
    if _DICT.issuperset(map(type, given)):  # nearly always
        return given
    for index, item in enumerate(given):
        if not isinstance(item, dict):
            place = f"{path}{name}[{index}]"
            raise invalid(f"{place} must be a JSON object.", place, "invalid_type")
    return given


_DICT: Final = frozenset({dict})


def read_texts(body: Fields, name: str, path: str = "") -> tuple[str, ...]:
    """Return a list of texts, empty if it is missing; FrontError for a list of anything else."""
    given = read_field(body, name, list, path) or []
    for index, item in enumerate(given):
        if not isinstance(item, str):
            place = f"{path}{name}[{index}]"
            raise invalid(f"{place} must be a text.", place, "invalid_type")
    return tuple(given)


def read_options(
    body: Fields,
    parameters: Mapping[str, str],
    read: Callable[..., Any] = read_field,
    path: str = "",
) -> dict[str, Any]:
    """Return the options of generation that are in *body*, besides `stop`.

    *parameters* are the names of the options in *body*, by those of `GenerationOptions`; *read*
    reads a field by its name and type, as `read_field` does.
    """
    return {
        name: read(body, native, _OPTION_TYPES[name], path)
        for name, native in parameters.items()
        if native in body and name in _OPTION_TYPES
    }


_OPTION_TYPES: Final[Mapping[str, type]] = {
    name: get_args(option.type)[0]
    for name, option in fields_dict(GenerationOptions).items()
    if name != "stop"
}


def required(body: Fields, name: str, kind: type[_T], path: str = "") -> _T:
    """Return a field that must be there; FrontError if it is not."""
    value = read_field(body, name, kind, path)
    if value is None:
        place = f"{path}{name}"
        raise invalid(f"{place}: Field required", place, "missing_field")
    return value


def check_tool_count(count: int, policy: TranslationPolicy) -> None:
    """Raise FrontError for a request with more tools than *policy* allows."""
    if count > policy.max_tools:
        raise invalid(f"At most {policy.max_tools} tools are taken.", "tools")


def rooted(schema: JsonObject | None) -> JsonObject | None:
    """Return a tool's schema with an object as its root; one without a type means that."""
    if schema is not None:
        schema = without_null_keywords(schema)
    if schema and not {"type", "$ref"} & schema.keys():
        return {"type": "object", **schema}
    return schema


def function_tool(
    name: str,
    description: str,
    schema: JsonObject | None,
    *,
    strict: bool | None = None,
    cache: CacheTtl | None = None,
) -> ToolDefinition:
    """Return a tool that a client runs, with an object as the root of its *schema*.

    Agents send the same tools with every request: the last ones that were read are kept.
    """
    written = None if schema is None else dumps(schema)
    is_kept = len(description) <= _MAX_KEPT_TEXT and len(written or b"") <= _MAX_KEPT_SCHEMA
    make = _kept_tool if is_kept else _kept_tool.__wrapped__
    return make(name, description, written, strict, cache)


_KEPT_TOOLS: Final = 256
_MAX_KEPT_TEXT: Final = 16 * 1024
"""In characters."""
_MAX_KEPT_SCHEMA: Final = 4 * 1024
"""In bytes, which take up to thirty times the memory once they are read."""


@lru_cache(maxsize=_KEPT_TOOLS)
def _kept_tool(
    name: str, description: str, schema: bytes | None, strict: bool | None, cache: CacheTtl | None
) -> ToolDefinition:
    parameters = None if schema is None else object_or_empty(loads(schema))
    return ToolDefinition(name, description, rooted(parameters), strict=strict, cache=cache)


def report_unknown(
    fields: Fields, known: frozenset[str], diagnostics: Diagnostics, place: str = ""
) -> None:
    """Record each field of *fields*, at *place*, that has a value and is none of the *known* ones.

    These are fields that only the client's API has, or that it got after its front was written.
    """
    if known.issuperset(fields):
        return
    unknown = [name for name in fields if name not in known and fields[name] is not None]
    why = "the upstream's API has no known field for it"
    here = diagnostics.at(place) if place else diagnostics
    report_lost(unknown, why, here, code="unknown-parameter")


def report_unknown_inside(
    body: Fields, known: Mapping[str, frozenset[str]], diagnostics: Diagnostics
) -> None:
    """Record the fields of objects of *body* that are none of the *known* ones, by the objects."""
    for name, fields in known.items():
        if name in body:
            report_unknown(object_or_empty(body[name]), fields, diagnostics, name)


_OF_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "cache_control": frozenset({"ttl", "type"}),
    OPENAI_BREAKPOINT: frozenset({"mode", "ttl"}),
}


def report_lost(
    names: Sequence[str], why: str, diagnostics: Diagnostics, *, code: str = "unsupported-parameter"
) -> None:
    """Record each of *names*, fields of one object; of many, the first and a number."""
    for name in names[:_MAX_NAMED]:
        diagnostics.at(name[:_MAX_NAME]).dropped(code, why)
    if more := len(names[_MAX_NAMED:]):
        diagnostics.at(f"* ({more} more)").dropped(code, why)


def report_call_fields(fields: Fields, names: Iterable[str], diagnostics: Diagnostics) -> None:
    """Record each of *names* that a call, or its result, has: fields of the client's API alone.

    Values that state the default are not recorded: the model itself made the call.
    """
    for name in names:
        if fields.get(name) not in (None, _BY_MODEL):
            diagnostics.at(name).unsupported(f"the upstream's calls have no {name}")


_BY_MODEL: Final = {"type": "direct"}
"""The caller of a call that no code made, in the APIs of OpenAI and Anthropic."""
_MAX_NAMED: Final = 20
_MAX_NAME: Final = 100
"""Characters of a name: a client's object may have keys of any length."""

# -- the usual parts, of values that are checked already

_TEXT: Final = TextPart("")
_CALL: Final = ToolCallPart("", "", {})
_RESULT: Final = ToolResultPart("", "")
_MESSAGES: Final[Mapping[str, Message]] = {role: Message(role, ()) for role in get_args(Role)}
_with_text: Final = copying(TextPart, "text")
_with_arguments: Final = copying(ToolCallPart, "id", "name", "arguments", "raw_arguments")
_with_result: Final = copying(ToolResultPart, "tool_call_id", "content", "name")
_with_parts: Final = copying(Message, "content", "origin")


def text_part(text: str) -> TextPart:
    """Return a part that has *text* and nothing else."""
    return _with_text(_TEXT, text)


def function_call(call_id: str, name: str, arguments: Fields) -> ToolCallPart:
    """Return a call of a function, with a copy of its *arguments*."""
    return parsed_call(call_id, name, plain_json(arguments, "arguments"))


def parsed_call(call_id: str, name: str, arguments: JsonValue) -> ToolCallPart:
    """Return a call of a function with *arguments* that nothing else has."""
    if type(arguments) is dict:  # nearly always
        return _with_arguments(_CALL, call_id, name, arguments, None)
    return ToolCallPart(call_id, name, arguments)


def written_call(call_id: str, name: str, text: str) -> ToolCallPart:
    """Return a call of a function whose arguments were written as *text*."""
    try:
        arguments = loads_exact(text)
    except ValueError:
        arguments = None
    if type(arguments) is dict:  # nearly always
        return _with_arguments(_CALL, call_id, name, arguments, text)
    return ToolCallPart(call_id, name, parse_arguments(text)[0], raw_arguments=text)


def text_result(call_id: str, text: str, name: str | None) -> ToolResultPart:
    """Return the result of a call that did not fail."""
    return _with_result(_RESULT, call_id, text, name)


def message_of(role: Role, parts: Iterable[ContentPart], origin: Origin | None = None) -> Message:
    """Return a message of *parts*, each of which its role may have."""
    return _with_parts(_MESSAGES[role], tuple(parts), origin)


def checked_message(role: Role, parts: tuple[ContentPart, ...]) -> Message:
    """Return a message of *parts*; InvalidRequestError if its role may not have one of them."""
    is_text = _ONLY_TEXT.issuperset(map(type, parts))
    return message_of(role, parts) if is_text else Message(role, parts)


_ONLY_TEXT: Final = frozenset({TextPart})


def text_message(role: Role, text: str) -> Message:
    """Return a message that has *text* and nothing else."""
    return _with_parts(_MESSAGES[role], (_with_text(_TEXT, text),), None)


# -- thinking

_EFFORTS: Final = {2048: "low", 8192: "medium"}
"""Efforts for budgets of at most so many tokens; a larger one is `high`."""


def hides_reasoning(protocol_id: str | None) -> bool:
    """Return whether an upstream shows its thinking only to requests that ask for it."""
    return protocol_id is not None and protocol_by_id(protocol_id).hides_reasoning


def with_effort(
    reasoning: ReasoningOptions | None, protocol_id: str | None, diagnostics: Diagnostics
) -> ReasoningOptions | None:
    """Return *reasoning* with an effort in place of a budget if not all servers take budgets.

    Where some servers do, both are sent.
    """
    if reasoning is None or reasoning.effort is not None or protocol_id is None:
        return reasoning
    budget, takes = reasoning.budget_tokens, protocol_by_id(protocol_id).reasoning_budgets
    if budget is None or takes == "all":
        return reasoning
    effort = next((effort for most, effort in _EFFORTS.items() if budget <= most), "high")
    why = f"the upstream's API has efforts instead: {budget} became {effort!r}"
    diagnostics.at("reasoning.budget_tokens").changed("reasoning-budget-changed", why)
    kept = budget if takes == "some" else None
    return evolve(reasoning, effort=effort, budget_tokens=kept)


# -- media

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def is_remote(address: str) -> bool:
    """Return whether *address* is a web address, a data URL or another that is not a local path."""
    return _SCHEME.match(address) is not None and address[:5].lower() != "file:"


def remote(address: str, path: str) -> str:
    """Return *address* if it is a web address or a data URL; FrontError for a local path.

    A path would be read from the disk of the machine that the request came to.
    """
    if not is_remote(address):
        raise invalid(
            f"{path} must be a web address or a data URL; files of this machine are not read.",
            path,
            "invalid_url",
        )
    return address


def own_file(file_id: str, path: str, *, known: bool) -> str:
    """Return the id of a stored file; FrontError if the upstream is not the vendor that stores it.

    At another vendor the id is unknown, or that of another file.
    """
    if not known:
        raise invalid(
            f"{path} names a file by its id, which the upstream does not have: send the data.", path
        )
    return file_id


class AnsweredCalls:
    """The calls of a request's messages, each of which has one result at most.

    Some clients send the same one again, as Gemini CLI does in a conversation that it resumes.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, int] = {}
        self._given: dict[str, list[ContentPart]] = {}

    def add_call(self, call_id: str) -> None:
        """Add a call that the client ran."""
        self._waiting[call_id] = self._waiting.get(call_id, 0) + 1

    def has_call(self, call_id: str) -> bool:
        """Return whether a call with this id came."""
        return call_id in self._waiting

    def add_result(self, result: ToolResultPart, path: str) -> None:
        """Add the result at *path*; FrontError for one whose call has another result already."""
        call_id, plain = result.tool_call_id, uncached(result)
        given, waiting = self._given.setdefault(call_id, []), self._waiting.get(call_id)
        if waiting == 0:
            if plain in given:
                return
            raise invalid(
                f"{path} is a second result for the call {shown(call_id)!r}: keep one of them.",
                path,
            )
        given.append(plain)
        if waiting is not None:
            self._waiting[call_id] = waiting - 1


def decoded(data: str, path: str) -> bytes:
    """Return the bytes of base64 *data*; FrontError for anything else."""
    found = decode_base64(data)
    if found is None:
        raise invalid(f"{path} is not base64.", path)
    return found


def cache_ttl_of(native: Fields, diagnostics: Diagnostics) -> CacheTtl | None:
    """Return how long the prefix up to here is to be cached; None where nothing marks it.

    Marks are Anthropic's `cache_control` or OpenAI's `prompt_cache_breakpoint`. Their other fields
    are reported.
    """
    if _OF_MARKS.keys().isdisjoint(native):  # nearly always
        return None
    report_unknown_inside(native, _OF_MARKS, diagnostics)
    ttl = _lifetime(native, "cache_control", "type", "ephemeral", diagnostics)
    ttl = ttl or _lifetime(native, OPENAI_BREAKPOINT, "mode", "explicit", diagnostics)
    return None if ttl is None else "1h" if ttl == "1h" else "5m"


def _lifetime(
    native: Fields, name: str, kind: str, usual: str, diagnostics: Diagnostics
) -> str | None:
    """Return the lifetime in the mark *name*, 5m where it states none; None without a mark.

    A *kind* of mark that is not the *usual* one, the only one that there is, is reported.
    """
    here = diagnostics.at(name)
    mark, path = read_field(native, name, dict, here.path.removesuffix(name)), f"{here.path}."
    if not mark:
        return None
    ttl = read_field(mark, "ttl", str, path) or "5m"
    if read_field(mark, kind, str, path) not in (None, usual):
        here.at(kind).unsupported(f"only marks that are {usual} are known")
    if name == "cache_control" and ttl not in get_args(CacheTtl):
        here.at("ttl").unsupported("the known lifetimes are 5m and 1h: it became 5m")
    return ttl


def with_mark(
    part: ContentPart, native: Fields, protocol_id: str | None, diagnostics: Diagnostics
) -> ContentPart:
    """Return *part*, read from *native*, marked as the end of a cached prefix if *native* is.

    The lifetime of an OpenAI mark goes to upstreams that have such marks, by their *protocol_id*.
    """
    ttl = cache_ttl_of(native, diagnostics)
    if ttl is None:
        return part
    part = cached(part, ttl=ttl)
    lifetime = read_field(
        object_or_empty(native.get(OPENAI_BREAKPOINT)),
        "ttl",
        str,
        f"{diagnostics.path}.{OPENAI_BREAKPOINT}.",
    )
    if lifetime is None:
        return part
    if protocol_id is not None and protocol_by_id(protocol_id).metadata_key == METADATA_KEY:
        return _with_native(part, {OPENAI_BREAKPOINT: {"ttl": lifetime}})
    diagnostics.at(f"{OPENAI_BREAKPOINT}.ttl").unsupported("the upstream has other lifetimes")
    return part


def _with_native(part: ContentPart, fields: Mapping[str, Any]) -> ContentPart:
    metadata = part.provider_metadata
    fields = {**metadata.get(METADATA_KEY, {}), **fields}
    return evolve(part, provider_metadata={**metadata, METADATA_KEY: fields})


def marked_at_end(result: ToolResultPart) -> ToolResultPart:
    """Return *result* with the cache mark of its last part: both end at the same place.

    APIs differ in which of the two they let be marked.
    """
    if not result.parts or cache_ttl(result) is not None:
        return result
    *before, last = result.parts
    ttl = cache_ttl(last)
    if ttl is None:
        return result
    parts: tuple[ContentPart, ...] = (*before, uncached(last))
    marked: ContentPart = cached(evolve(result, content=parts), ttl=ttl)
    lifetime = last.provider_metadata.get(METADATA_KEY, {}).get(OPENAI_BREAKPOINT)
    if lifetime is not None:
        marked = _with_native(marked, {OPENAI_BREAKPOINT: lifetime})
    return cast("ToolResultPart", marked)
