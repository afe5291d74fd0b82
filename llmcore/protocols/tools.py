"""Tools of every API: freeform tools as functions, the choice among tools, ids of calls, names.

Freeform tools at APIs that know only functions are a function with one string parameter. The
grammar of its input goes into the description, since nothing holds the model to it.

A call and its result are tied by an id. Providers differ in what they accept, so an id
made by one of them may be refused by the next. `CallIdRule.fit` maps such an id to a legal one: the
same input gives the same output in every process (prompt caches depend on it), and different
ids stay different, because a hash replaces what is cut off.

A name that the API takes is sent unchanged. Any other is replaced in the request, everywhere it
is (tools, the tool choice, calls and results of the history), and put back in the response:

    get.weather/v2  --request-->  get_weather_v2  --answer-->  get.weather/v2

The replacement depends on the name alone, unless two names of a request would become one: then
each that changes gets a digest of itself. So the same tools give the same bytes in every process.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
from attrs import evolve

from llmcore.protocols.lowering import with_parts
from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic, Diagnostics
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    UnsupportedToolChoiceError,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import MAX_DEPTH, JsonValue, parse_arguments, text_or_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec

FREEFORM_FIELD: Final = "input"
"""The one parameter of a freeform tool that is offered as a function."""


# -- in the body


def note_function(diagnostics: Diagnostics, api: str = "the API") -> None:
    """Record that a freeform tool becomes a function."""
    diagnostics.changed(
        "custom-tool-as-function",
        f"{api} has no freeform tools: it is a function of one string, "
        "whose grammar is not enforced",
    )


def freeform_function(tool: CustomTool, *, closed: bool = True) -> ToolDefinition:
    """Return *tool* as a function of one string, whose description includes the grammar.

    With *closed*, the schema forbids other parameters (`additionalProperties`).
    """
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {FREEFORM_FIELD: {"type": "string", "description": "The whole input."}},
        "required": [FREEFORM_FIELD],
        **({"additionalProperties": False} if closed else {}),
    }
    words = [tool.description] if tool.description else []
    if tool.grammar is not None:
        words.append(
            f"The input must match this {tool.grammar.syntax} grammar:\n{tool.grammar.definition}"
        )
    description = "\n\n".join(words) or "Takes one text."
    own = tool.provider_metadata
    return ToolDefinition(tool.name, description, schema, provider_metadata=own)


def freeform_tools(request: LLMRequest) -> frozenset[str]:
    """Return the names of the freeform tools."""
    return frozenset(tool.name for tool in request.tools if isinstance(tool, CustomTool))


def freeform_arguments(text: str) -> dict[str, Any]:
    """Return a freeform tool's input as the arguments of its function."""
    return {FREEFORM_FIELD: text}


def object_arguments(call: ToolCallPart, diagnostics: Diagnostics) -> Any:
    """Return the arguments of *call* as an object, for an API that takes nothing else."""
    if call.kind == "function" and call.is_valid:
        return call.arguments
    if call.kind == "function":
        why = "the API accepts only JSON objects as arguments: they are wrapped in one"
        diagnostics.at("arguments").changed("invalid-tool-arguments", why)
    return freeform_arguments(text_or_json(call.arguments))


def with_functions(request: LLMRequest, diagnostics: Diagnostics) -> LLMRequest:
    """Return *request* with functions in place of its freeform tools, also in its history.

    This is for servers that imitate an API which has freeform tools.
    """
    tools: list[ToolSpec] = []
    for index, tool in enumerate(request.tools):
        if isinstance(tool, CustomTool):
            note_function(diagnostics.at(f"tools[{index}]"), "the server")
            tools.append(freeform_function(tool))
        else:
            tools.append(tool)
    messages = tuple(with_parts(message, _as_function) for message in request.messages)
    return evolve(request, tools=tuple(tools), messages=messages)


def _as_function(part: ContentPart) -> ContentPart:
    match part:
        case ToolCallPart(kind="custom", arguments=text):
            return evolve(part, kind="function", arguments=freeform_arguments(text_or_json(text)))
        case ToolResultPart(kind="custom"):
            return evolve(part, kind="function")
        case _:
            return part


# -- in the response


def freeform_text(arguments: JsonValue) -> str:
    """Return the text that the arguments of a freeform tool, offered as a function, hold."""
    if arguments == {}:
        return ""
    if isinstance(arguments, Mapping):
        value = arguments.get(FREEFORM_FIELD)
        if value is None and len(arguments) == 1:
            value = next(iter(arguments.values()))  # models rename the only field
        if isinstance(value, str):
            return value
    return text_or_json(arguments)


_BRACKET: Final = re.compile(r"[\[{]")
_LARGE_NUMBER: Final = re.compile(r"[0-9]{16}|[0-9][eE]")


def are_plain_arguments(arguments: JsonValue) -> bool:
    """Return whether a call's arguments are the text of an object that a `JsonObject` can hold."""
    if type(arguments) is not str:
        return False
    if len(_BRACKET.findall(arguments)) >= MAX_DEPTH or _LARGE_NUMBER.search(arguments):
        return False
    return parse_arguments(arguments)[1] is None


# -- the choice among tools


def check_forcible(
    request: LLMRequest, *, forced_tools: bool, has_tools: bool, known_to: str
) -> None:
    """Raise InvalidRequestError or UnsupportedToolChoiceError for a choice that cannot be sent.

    *forced_tools* is True if the model can be made to call a tool; *has_tools* if a tool of the
    request is sent. *known_to*, the API or the model, is named in messages. Beside a hosted tool
    any name may be right: the API names such tools itself.
    """
    choice = request.tool_choice
    if choice is None or choice.mode in ("auto", "none"):
        return
    if choice.mode == "required" and not has_tools:
        raise InvalidRequestError(
            f"tool_choice is 'required', but the request has no tools that {known_to} knows"
        )
    names = {tool.name for tool in request.tools if not isinstance(tool, HostedTool)}
    hosted = any(isinstance(tool, HostedTool) for tool in request.tools)
    if choice.mode == "named" and choice.tool_name not in names and not hosted:
        raise unknown_tool(choice)
    if not forced_tools:
        raise UnsupportedToolChoiceError(
            f"the model does not support the tool choice {choice.mode!r}; it supports: auto, none"
        )


def unknown_tool(choice: ToolChoice, among: str = "tools") -> InvalidRequestError:
    """Return the error for a choice that names none of the request's tools."""
    return InvalidRequestError(
        f"tool_choice names {choice.tool_name!r}, which is not among the request's {among}"
    )


def nothing_to_call(request: LLMRequest) -> InvalidRequestError | UnsupportedToolChoiceError:
    """Return the error for a call that is required where no tool of *request* is sent."""
    if request.tools:
        why = "a call is required, but the server has none of the tools"
        return UnsupportedToolChoiceError(why)
    return InvalidRequestError("tool_choice is 'required', but the request has no tools")


# -- ids of calls

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH_LENGTH = 16
"""Characters of base 62: 95 bits, so that ids of one conversation do not collide."""
_SYNTHETIC = rf"call_(?:[0-9]+_[0-9]+|[0-9A-Za-z]{{{_HASH_LENGTH}}})"
_LONGEST = 64
"""The longest generated id if its rule has no maximum."""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@frozen
class CallIdRule:
    """The ids of tool calls that a provider accepts."""

    pattern: str = r"(?s:.+)"
    """A regular expression for the whole id."""
    max_length: int | None = None
    """Characters; None is unlimited."""

    def allows(self, call_id: str) -> bool:
        """Return whether *call_id* can be sent as it is."""
        if self.max_length is not None and len(call_id) > self.max_length:
            return False
        return _compiled(self.pattern).fullmatch(call_id) is not None

    def fit(self, call_id: str) -> str:
        """Return *call_id* if it is allowed, else an allowed id made from it.

        Deterministic, and injective as far as a hash is. ConfigurationError for a rule that
        allows none of the forms we can make.
        """
        if self.allows(call_id):
            return call_id
        limit = self.max_length or _LONGEST
        digest = _digest(call_id, min(limit, _HASH_LENGTH))
        readable = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[: max(limit - len(digest) - 1, 0)]
        for candidate in (f"{readable}_{digest}", _digest(call_id, limit), digest):
            if self.allows(candidate):
                return candidate
        raise ConfigurationError(f"no tool call id can be generated that matches {self.pattern!r}")


ANY_CALL_ID: Final = CallIdRule()
"""Gemini, and servers that state no rule: any text but the empty one."""


def synthetic_call_id(response_id: str | None, turn: int, index: int) -> str:
    """Return the id of a call whose server sent none.

    The same response, turn (which response of the conversation) and index (which call of the
    response) always give the same id: letters, digits and `_`, at most 32 characters.
    """
    if response_id is None:
        return f"call_{turn}_{index}"
    return f"call_{_digest(f'{response_id}/{turn}/{index}', _HASH_LENGTH)}"


def is_synthetic_call_id(call_id: str) -> bool:
    """Return whether *call_id* has the form of `synthetic_call_id`."""
    return re.fullmatch(_SYNTHETIC, call_id, re.ASCII) is not None


def _digest(text: str, length: int) -> str:
    """Return *length* letters and digits that depend on all of *text*."""
    data = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=min(length, 64))
    number = int.from_bytes(data.digest(), "big")  # a byte holds more than a base-62 character
    characters = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(characters)


# -- names of tools

_MARKED: Final = re.compile(r"(?:functions\.)?([A-Za-z0-9_-]+)(?::\d+|<\|.*)?", re.DOTALL)


def offered_name(name: str, offered: Collection[str]) -> str:
    """Return the name of the tool among *offered* that *name* has with marks around it.

    Some servers leave marks of the model's template in names: `look<|channel|>commentary` (gpt-oss,
    https://github.com/vllm-project/vllm/pull/32633), `functions.look:0` (Kimi's ids of calls,
    https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
    """
    marked = None if name in offered else _MARKED.fullmatch(name)
    return marked[1] if marked is not None and marked[1] in offered else name


_DIGITS: Final = 8
"""Hexadecimal digits of a digest in a name; all 32 where 8 are not enough to tell two apart."""


@frozen(kw_only=True)
class ToolNameRule:
    """Which tool names an API takes."""

    first: str = "a-zA-Z"
    """The first character, as the inside of a regular expression's character class."""
    rest: str = "a-zA-Z0-9_-"
    """All others."""
    max_length: int = 64
    reserved: frozenset[str] = frozenset()

    def allows(self, name: str) -> bool:
        """Return whether *name* can be sent as it is."""
        pattern = _compiled(f"[{self.first}][{self.rest}]*")
        if len(name) > self.max_length or name in self.reserved:
            return False
        return pattern.fullmatch(name) is not None

    def fit(self, name: str, *, digits: int = 0) -> str:
        """Return an allowed name made from *name*, with so many *digits* of a digest."""
        fitted = _compiled(f"[^{self.rest}]").sub("_", name)
        if not _compiled(f"[{self.first}]").match(fitted):
            fitted = f"t_{fitted}"
        if not digits and self.allows(fitted):
            return fitted
        digits = digits or _DIGITS
        data = name.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=digits // 2).hexdigest()
        return f"{fitted[: self.max_length - digits - 1]}_{digest}"


STRICTEST: Final = ToolNameRule(rest="a-zA-Z0-9_")
"""Names that every API takes."""
OPENAI_TOOL_NAMES: Final = ToolNameRule(reserved=frozenset({"functions", "multi_tool_use"}))
"""`FunctionDefinition.name` of OpenAI's APIs: "Must be a-z, A-Z, 0-9, or contain underscores and
dashes, with a maximum length of 64." Compatible servers require a letter first. Models call the
whole of their functions by the reserved names."""


class FittedRequest(msgspec.Struct, frozen=True):
    """A request whose tool names an API takes."""

    request: LLMRequest
    originals: Mapping[str, str]
    """The request's own name for each name that was replaced."""
    diagnostics: tuple[Diagnostic, ...] = ()


def fit_tool_names(request: LLMRequest, rule: ToolNameRule) -> FittedRequest:
    """Return *request* with names that *rule* allows; itself where it has only such names."""
    if all(map(rule.allows, _names(request))):  # nearly always
        return FittedRequest(request, {})
    return _fitted(request, rule)


def _fitted(request: LLMRequest, rule: ToolNameRule) -> FittedRequest:
    paths = _paths_of_names(request)
    replaced = _replacements(paths, rule)
    fitted = evolve(
        request,
        tools=tuple(
            tool
            if isinstance(tool, HostedTool) or tool.name not in replaced
            else evolve(tool, name=replaced[tool.name])
            for tool in request.tools
        ),
        tool_choice=_choice(request.tool_choice, replaced),
        messages=tuple(
            with_parts(message, lambda part: _part(part, replaced)) for message in request.messages
        ),
    )
    originals = {sent: name for name, sent in replaced.items()}
    notes = Diagnostics()
    for name, sent in replaced.items():
        why = f"the name {shown(name)!r} is sent as {sent!r}; responses have it unchanged"
        notes.at(paths[name]).noted("tool-name-changed", why)
    return FittedRequest(fitted, originals, tuple(notes.entries))


def _names(request: LLMRequest) -> set[str]:
    """Return every name of a caller's tool in *request*."""
    names: set[str] = set()
    for message in request.messages:
        for part in message.content:
            if type(part) is not TextPart and (name := _name_of(part)) is not None:
                names.add(name)
    for tool in request.tools:
        if not isinstance(tool, HostedTool):
            names.add(tool.name)
    return names


def _paths_of_names(request: LLMRequest) -> dict[str, str]:
    """Return the names of the caller's tools, each with the path where it is first."""
    names: dict[str, str] = {}
    for index, tool in enumerate(request.tools):
        if not isinstance(tool, HostedTool):
            names.setdefault(tool.name, f"tools[{index}].name")
    for index, message in enumerate(request.messages):
        for number, part in enumerate(message.content):
            if type(part) is TextPart:
                continue
            name = _name_of(part)
            if name is not None and name not in names:
                names[name] = f"messages[{index}].content[{number}].name"
    return names


def _name_of(part: ContentPart) -> str | None:
    """Return the name of the caller's tool that *part* is a call or a result of."""
    if isinstance(part, _NAMING) and not part.provider_executed:
        return part.name
    return None


_NAMING: Final = (ToolCallPart, ToolResultPart)


def _replacements(names: Collection[str], rule: ToolNameRule) -> dict[str, str]:
    """Return what is sent for each of *names* that *rule* does not allow."""
    wrong = [name for name in names if not rule.allows(name)]
    kept = [name for name in names if rule.allows(name)]
    counts = Counter([*kept, *map(rule.fit, wrong)])
    for digits in (_DIGITS, 32):
        sent = {n: rule.fit(n, digits=digits if counts[rule.fit(n)] > 1 else 0) for n in wrong}
        if len({*kept, *sent.values()}) == len(kept) + len(wrong):
            break
    return sent


def _choice(choice: ToolChoice | None, replaced: Mapping[str, str]) -> ToolChoice | None:
    if choice is None or choice.tool_name is None:
        return choice
    return ToolChoice.named(replaced.get(choice.tool_name, choice.tool_name))


def _part(part: ContentPart, replaced: Mapping[str, str]) -> ContentPart:
    if not isinstance(part, ToolCallPart | ToolResultPart) or _name_of(part) not in replaced:
        return part
    return evolve(part, name=replaced[str(part.name)])


def shown(name: str) -> str:
    """Return a name or an id as messages have it: at most 80 characters."""
    return name if len(name) <= 80 else f"{name[:77]}..."
