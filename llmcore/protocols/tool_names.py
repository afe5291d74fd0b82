"""Tool names: which names each API takes, and how a name is made to fit.

A name that the API takes is sent unchanged. Any other is replaced in the request, everywhere it
stands (tools, the tool choice, calls and results of the history), and put back in the answer:

    get.weather/v2  --request-->  get_weather_v2  --answer-->  get.weather/v2

The replacement depends on the name alone, unless two names of a request would become one: then
each that changes gets a digest of itself. So the same tools give the same bytes in every process.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from attrs import evolve, frozen

from llmcore.schema.content import ContentPart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool, ToolChoice

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


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


STRICTEST: Final = ToolNameRule(rest="a-zA-Z0-9_")
"""Names that every API takes."""


@frozen
class FittedRequest:
    """A request whose tool names an API takes."""

    request: LLMRequest
    originals: Mapping[str, str]
    """The request's own name for each name that was replaced."""
    diagnostics: tuple[Diagnostic, ...] = ()


def fit_tool_names(request: LLMRequest, rule: ToolNameRule) -> FittedRequest:
    """Return *request* with names that *rule* allows; itself where it has only such names."""
    paths = _names(request)
    replaced = _replacements(paths, rule)
    if not replaced:
        return FittedRequest(request, {})
    fitted = evolve(
        request,
        tools=tuple(
            tool
            if isinstance(tool, HostedTool) or tool.name not in replaced
            else evolve(tool, name=replaced[tool.name])
            for tool in request.tools
        ),
        tool_choice=_choice(request.tool_choice, replaced),
        messages=tuple(_message(message, replaced) for message in request.messages),
    )
    originals = {sent: name for name, sent in replaced.items()}
    notes = tuple(_note(name, sent, paths[name]) for name, sent in replaced.items())
    return FittedRequest(fitted, originals, notes)


def _note(name: str, sent: str, path: str) -> Diagnostic:
    message = f"the name {_shown(name)!r} is sent as {sent!r}; answers have it unchanged"
    return Diagnostic("tool-name-changed", path, action="noted", message=message)


def _names(request: LLMRequest) -> dict[str, str]:
    """Return every name of a caller's tool in *request*, with the path where it first stands."""
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
    if isinstance(part, ToolCallPart | ToolResultPart) and not part.provider_executed:
        return part.name
    return None


def _replacements(names: Collection[str], rule: ToolNameRule) -> dict[str, str]:
    """Return what is sent for each of *names* that *rule* does not allow."""
    wrong = [name for name in names if not rule.allows(name)]
    if not wrong:
        return {}
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


def _message(message: Message, replaced: Mapping[str, str]) -> Message:
    if not any(_name_of(part) in replaced for part in message.content):
        return message
    return evolve(message, content=tuple(_part(part, replaced) for part in message.content))


def _part(part: ContentPart, replaced: Mapping[str, str]) -> ContentPart:
    if not isinstance(part, ToolCallPart | ToolResultPart) or _name_of(part) not in replaced:
        return part
    return evolve(part, name=replaced[str(part.name)])


def _shown(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:77]}..."
