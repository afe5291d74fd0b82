"""Tools of every API: freeform tools as functions, the choice among tools, and the ids of calls.

Freeform tools at APIs that know only functions are a function with one string parameter. The
grammar of its input goes into the description, since nothing holds the model to it.

A call and its result are tied by an id. Providers differ in what they accept, so an id
born at one of them may be refused by the next. `fit` maps such an id to a legal one: the
same input gives the same output in every process (prompt caches depend on it), and two
ids stay two ids, because what is cut off lives on in a hash.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from attrs import frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.native_json import text_or_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    UnsupportedToolChoiceError,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice

FREEFORM_FIELD: Final = "input"
"""The one parameter of a freeform tool that is offered as a function."""


# -- in the body


def note_function(path: str, notes: Notes, api: str = "the API") -> None:
    """Say that the freeform tool at *path* becomes a function."""
    notes.changed(
        "custom-tool-as-function",
        path,
        f"{api} has no freeform tools: it is a function of one string, "
        "and nothing holds that string to a grammar",
    )


def freeform_description(tool: CustomTool) -> str:
    """Return what the function says of itself, the grammar in words included."""
    words = [tool.description] if tool.description else []
    if tool.grammar is not None:
        words.append(
            f"The input must match this {tool.grammar.syntax} grammar:\n{tool.grammar.definition}"
        )
    return "\n\n".join(words) or "Takes one text."


def freeform_schema(*, closed: bool) -> dict[str, Any]:
    """Return the function's parameters; *closed* forbids others in so many words."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {FREEFORM_FIELD: {"type": "string", "description": "The whole input."}},
        "required": [FREEFORM_FIELD],
    }
    return {**schema, "additionalProperties": False} if closed else schema


def freeform_tools(request: LLMRequest) -> frozenset[str]:
    """Return the names of the freeform tools."""
    return frozenset(tool.name for tool in request.tools if isinstance(tool, CustomTool))


def freeform_arguments(text: str) -> dict[str, Any]:
    """Return a freeform tool's input as the arguments of its function."""
    return {FREEFORM_FIELD: text}


def object_arguments(call: ToolCallPart, path: str, notes: Notes) -> Any:
    """Return the arguments of *call* as an object, for an API that takes nothing else."""
    if call.kind == "function" and call.is_valid:
        return call.arguments
    if call.kind == "function":
        why = "the API accepts only JSON objects as arguments: they are wrapped in one"
        notes.changed("invalid-tool-arguments", f"{path}.arguments", why)
    return freeform_arguments(text_or_json(call.arguments))


# -- in the answer


def freeform_text(arguments: JsonValue) -> str:
    """Return the text that the arguments of a freeform tool, offered as a function, hold."""
    if isinstance(arguments, Mapping):
        value = arguments.get(FREEFORM_FIELD)
        if value is None and len(arguments) == 1:
            value = next(iter(arguments.values()))  # models rename the only field
        if isinstance(value, str):
            return value
    return text_or_json(arguments)


# -- the choice among tools


def check_forcible(
    request: LLMRequest, *, forced_tools: bool, has_tools: bool, knower: str
) -> None:
    """Raise for a choice that cannot be had from an API at which only some models take one.

    *forced_tools* says that the model can be made to call; *has_tools* that *knower* knows
    some tool of the request. A hosted tool's name there is the API's own, so that any name
    may be one.
    """
    choice = request.tool_choice
    if choice is None or choice.mode in ("auto", "none"):
        return
    if choice.mode == "required" and not has_tools:
        raise InvalidRequestError(
            f"tool_choice is 'required', but the request has no tools that {knower} knows"
        )
    own = {tool.name for tool in request.tools if not isinstance(tool, HostedTool)}
    hosted = any(isinstance(tool, HostedTool) for tool in request.tools)
    if choice.mode == "named" and choice.tool_name not in own and not hosted:
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


def no_tools() -> InvalidRequestError:
    """Return the error for a call that is required where there is nothing to call."""
    return InvalidRequestError("tool_choice is 'required', but the request has no tools")


# -- ids of calls

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH_LENGTH = 16
"""Characters of base 62: 95 bits, so that ids of one conversation never meet."""
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
    """Characters; None if there is no limit."""

    def allows(self, call_id: str) -> bool:
        """Whether *call_id* can be sent as it is."""
        if self.max_length is not None and len(call_id) > self.max_length:
            return False
        return _compiled(self.pattern).fullmatch(call_id) is not None


ANY_CALL_ID: Final = CallIdRule()
"""Gemini, and servers that state no rule: any text but the empty one."""


def fit(call_id: str, rule: CallIdRule) -> str:
    """Return *call_id* if *rule* allows it, else a legal id made from it.

    Deterministic, and injective as far as a hash is. ConfigurationError for a rule that
    allows none of the forms we can make.
    """
    if rule.allows(call_id):
        return call_id
    limit = rule.max_length or _LONGEST
    digest = _digest(call_id, min(limit, _HASH_LENGTH))
    readable = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[: max(limit - len(digest) - 1, 0)]
    for candidate in (f"{readable}_{digest}", _digest(call_id, limit), digest):
        if rule.allows(candidate):
            return candidate
    raise ConfigurationError(f"no tool call id can be generated that matches {rule.pattern!r}")


def synthetic_call_id(response_id: str | None, turn: int, index: int) -> str:
    """Return the id of a call whose server sent none.

    The same response, turn (which answer of the conversation) and index (which call of the
    answer) always give the same id: letters, digits and `_`, at most 32 characters.
    """
    if response_id is None:
        return f"call_{turn}_{index}"
    return f"call_{_digest(f'{response_id}/{turn}/{index}', _HASH_LENGTH)}"


def _digest(text: str, length: int) -> str:
    """Return *length* letters and digits that depend on all of *text*."""
    data = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=min(length, 64))
    number = int.from_bytes(data.digest(), "big")  # a byte holds more than a base-62 character
    characters = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(characters)
