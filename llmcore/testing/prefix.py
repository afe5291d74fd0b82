"""An assertion that each turn's request begins with the one before it.

Providers cache the beginning of a prompt. If the tools are in another order, the system prompt has
a date, or a message is written differently the second time, every turn is billed in full.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias, Union

from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import PreparedRequest
from llmcore.schema.json import JsonObject, JsonValue, canonical, loads
from llmcore.testing.cassette import Interaction, RecordedRequest
from llmcore.testing.request_diff import common_length

NativeRequest: TypeAlias = Union[
    JsonObject, PreparedRequest, HttpRequest, RecordedRequest, Interaction
]

_SHOWN = 200

_ABSENT = object()


class PrefixChangedError(AssertionError):
    """A request does not begin with the one before it."""


def assert_prefix_stable(requests: Sequence[NativeRequest]) -> None:
    """Assert that each of *requests* begins with the one before it.

    Model, tools and system prompt must be equal, and the list of messages must continue the
    earlier one. The order of keys counts, since providers build the prompt from it. Cache
    breakpoints are not compared, since they move to the end with each turn. Raises
    PrefixChangedError, naming the first place that differs.
    """
    if len(requests) < 2:
        raise ValueError(f"a prefix takes two requests or more, not {len(requests)}")
    bodies = [_body(request) for request in requests]
    for number, (before, after) in enumerate(pairwise(bodies), 1):
        place = next(_differences(before, after), None)
        if place is not None:
            raise PrefixChangedError(
                f"request {number + 1} does not begin with request {number}: {place}"
            )


@cache
def _prompt_fields() -> tuple[Sequence[str], Sequence[str]]:
    """Return the fields of any API that stay equal, and those that hold its messages."""
    prompts = [protocol_by_id(protocol_id).prompt for protocol_id in PROTOCOL_IDS]
    equal = dict.fromkeys(name for prompt in prompts for name in prompt[:-1])
    return [*equal], [*dict.fromkeys(prompt[-1] for prompt in prompts)]


def _body(request: NativeRequest) -> JsonObject:
    if isinstance(request, Interaction):
        request = request.request
    body = request if isinstance(request, Mapping) else request.body
    value = loads(body) if isinstance(body, bytes) else body
    _, growing = _prompt_fields()
    if not isinstance(value, Mapping) or not any(name in value for name in growing):
        names = ", ".join(growing)
        raise ValueError(f"this is not a native request: it has none of {names}")
    return value


def _differences(before: JsonObject, after: JsonObject) -> Iterator[str]:
    equal, growing = _prompt_fields()
    for name in equal:
        yield from _unequal(name, before.get(name, _ABSENT), after.get(name, _ABSENT))
    for name in growing:
        first, second = _items(before.get(name, [])), _items(after.get(name, []))
        for index, (mine, other) in enumerate(zip(first, second, strict=False)):
            yield from _unequal(f"{name}[{index}]", mine, other)
        if len(second) < len(first):
            yield f"{name} has {len(second)} items, before {len(first)}"


def _unequal(path: str, before: object, after: object) -> Iterator[str]:
    """Yield every place at which the two differ, in their order."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _unequal_objects(path, _without_breakpoint(before), _without_breakpoint(after))
    elif isinstance(before, list) and isinstance(after, list):
        first, second = _items(before), _items(after)
        for index, (mine, other) in enumerate(zip(first, second, strict=False)):
            yield from _unequal(f"{path}[{index}]", mine, other)
        if len(first) != len(second):
            yield f"{path} has {len(second)} items, before {len(first)}"
    elif _spelled(before) != _spelled(after):
        shown = f"  before: {_shown(before, after)}\n  after:  {_shown(after, before)}"
        yield f"{path} differs\n{shown}"


def _unequal_objects(path: str, before: JsonObject, after: JsonObject) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        yield from _unequal(f"{path}.{name}", before.get(name, _ABSENT), after.get(name, _ABSENT))
    if list(before) != list(after):
        yield f"{path} has its keys in another order: {list(after)}, before {list(before)}"


def _items(value: JsonValue) -> list[JsonValue]:
    """Return the items of a list without those that are only cache breakpoints."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if not (isinstance(item, Mapping) and [*item] == ["cachePoint"])]


def _without_breakpoint(value: JsonObject) -> JsonObject:
    return {name: item for name, item in value.items() if name != "cache_control"}


def _spelled(value: object) -> str:
    return "nothing" if value is _ABSENT else canonical(value)  # type: ignore[arg-type]


def _shown(value: object, other: object) -> str:
    """Return *value* as JSON; of a long text, the part where it differs from *other*."""
    text = _spelled(value)
    at = max(0, common_length(text, _spelled(other)) - _SHOWN // 4)
    end = at + _SHOWN
    return f"{'...' if at else ''}{text[at:end]}{'...' if len(text) > end else ''}"
