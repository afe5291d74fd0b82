"""Tools, and functions made into tools."""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import pytest

from llmcore.generation.handler import Handler
from llmcore.generation.tool import Tool, tool
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.tools import ToolDefinition

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@dataclasses.dataclass
class Place:
    lat: float
    lon: float


@tool
async def forecast(  # noqa: D417
    place: Place,
    days: Annotated[int, "at most ten"] = 3,
    unit: Literal["c", "f"] = "c",
    *,
    tags: list[str] = [],  # noqa: B006
    messages: Any = None,
    tool_call_id: str = "",
) -> str:
    """Tell the weather to come.

    From the best of sources.

    Args:
        unit: Celsius or Fahrenheit
        days: not this one

    """
    return f"{place} {days} {unit} {tags} {messages} {tool_call_id}"


def test_a_function_becomes_a_tool() -> None:
    """Name, docstring, annotations and defaults are all there is to write."""
    assert forecast.name == "forecast"
    assert forecast.description == "Tell the weather to come."
    assert forecast.parameters == {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place"},
            "days": {"type": "integer", "default": 3, "description": "at most ten"},
            "unit": {"enum": ["c", "f"], "default": "c", "description": "Celsius or Fahrenheit"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["place"],
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "title": "Place",
                "type": "object",
                "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
                "required": ["lat", "lon"],
            }
        },
    }
    assert forecast.handler is not None
    assert forecast.handler.injected == {"messages", "tool_call_id"}


def test_arguments_are_converted_to_the_types_of_the_annotations() -> None:
    """The function gets what its annotations say, and its own defaults for the rest."""
    assert forecast.handler is not None
    given = forecast.handler.keywords({"place": {"lat": 1, "lon": 2}, "days": 2.0})

    assert given == {"place": Place(1.0, 2.0), "days": 2}


def test_the_decorator_takes_options() -> None:
    """They take the place of what the function leaves out."""

    @tool(name="look", description="Looks.", timeout=2, needs_approval=True, strict=True)
    def anything(x: int) -> int:
        """Not this."""
        return x

    assert (anything.name, anything.description) == ("look", "Looks.")
    assert (anything.timeout, anything.needs_approval) == (2, True)
    assert anything.definition == ToolDefinition("look", "Looks.", anything.parameters, strict=True)


class Shop:
    """Something with methods."""

    def buy(self, what: str) -> str:
        """Buy it."""
        return what

    async def __call__(self, what: str) -> str:
        """Sell it."""
        return what


def test_methods_and_callables_are_functions_too() -> None:
    """Self is not an argument, and an asynchronous call is seen as one."""
    bought, sold = tool(Shop().buy), tool(name="sell")(Shop())

    assert list(bought.parameters["properties"]) == ["what"]  # type: ignore[arg-type]
    assert bought.handler is not None
    assert not bought.handler.is_async
    assert sold.handler is not None
    assert sold.handler.is_async
    assert sold.parameters["properties"] == {"what": {"type": "string"}}


def search(query: str, limit: int, api_key: str = "none") -> str:  # noqa: D417
    """Search the shop.

    Args:
        query: some words

    """
    return f"{query} {limit} {api_key}"


def test_partial_function_is_described_as_the_function_without_what_is_bound() -> None:
    """A bound argument may be a secret, which the model is not to see."""
    made = tool(partial(partial(search, limit=3), api_key="sk-secret"))

    assert (made.name, made.description) == ("search", "Search the shop.")
    assert made.parameters == {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "some words"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    assert made.handler is not None
    assert made(**made.handler.keywords({"query": "tea"})) == "tea 3 sk-secret"


def test_partial_function_with_a_schema_gets_all_arguments_in_its_free_parameter() -> None:
    def look(arguments: dict[str, Any], key: str) -> str:
        return f"{arguments} {key}"

    assert handler(partial(look, key="k"), CITY).takes_all == "arguments"


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("messages", str),
        ("messages", list[str]),
        ("messages", list[dict[str, Any]]),
        ("abort_signal", bool),
        ("tool_call_id", int),
    ],
    ids=str,
)
def test_filled_parameter_that_is_meant_for_the_model_is_refused(name: str, type_: Any) -> None:
    def send(**given: Any) -> None:
        """Send it."""

    send.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=type_)]
    )
    send.__annotations__ = {name: type_}

    with pytest.raises(ConfigurationError, match=f"'{name}' of send gets .*: rename it"):
        tool(send)


@pytest.mark.parametrize("type_", [list, list[Message], Sequence[Message], Any], ids=str)
def test_parameter_messages_of_fitting_type_gets_the_conversation(type_: Any) -> None:
    def count(messages: Any) -> int:
        """Count them."""
        return len(messages)

    count.__annotations__["messages"] = type_
    made = tool(count)

    assert made.handler is not None
    assert made.handler.injected == {"messages"}


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("look", "not of a str: write @tool\\(name='look'\\)"),
        (3, "not of an int: write @tool above"),
    ],
)
def test_decorator_with_something_else_than_a_function_is_refused(given: Any, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=hint):
        tool(given)


def no_keywords(*args: int) -> None:
    """Accept positional arguments alone."""


def any_keywords(**kwargs: int) -> None:
    """Accept any keyword."""


def unknown_type(x: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Name a type that is not there."""


def strange_type(x: Callable[[], int]) -> None:
    """Ask for what no model can write."""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (no_keywords, "by name, and 'args' is a variadic positional parameter"),
        (len, "by name, and 'obj' is a positional-only parameter"),
        (any_keywords, "kwargs"),
        (unknown_type, "Nowhere"),
        (strange_type, "x"),
    ],
)
def test_signatures_that_no_model_can_fill_are_refused(function: Any, told: str) -> None:
    """When the tool is made, not when it is called."""
    with pytest.raises(ConfigurationError, match=told):
        tool(function)


@pytest.mark.parametrize("name", ["", " ", "x" * 513])
def test_names_that_are_empty_or_endless_are_refused(name: str) -> None:
    """Any other is fitted to each provider's rule."""
    with pytest.raises(InvalidRequestError, match="tool name"):
        Tool(name)


def test_parameters_are_an_object() -> None:
    """The root of the schema is one, and nothing given means none."""
    assert Tool("a").parameters == {"type": "object", "properties": {}}
    with pytest.raises(InvalidRequestError, match="type 'object'"):
        Tool("a", "", {"type": "array"})


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_more_than_nothing(timeout: float) -> None:
    """A tool that may take no time cannot run."""
    with pytest.raises(ConfigurationError, match="timeout"):
        Tool("a", timeout=timeout)


def test_execute_is_a_function() -> None:
    """A result instead of a function is a mistake."""
    with pytest.raises(ConfigurationError, match="must be a function"):
        Tool("a", "", None, "sunny")  # type: ignore[arg-type]


def handler(execute: Callable[..., object], schema: dict[str, Any]) -> Handler:
    made = Tool("a", "", schema, execute).handler
    assert made is not None
    return made


def by_name(city: str, context: object) -> None:
    """Accept an argument and the context."""


def all_at_once(arguments: dict[str, Any], abort_signal: object) -> None:
    """Accept all arguments as one value."""


def test_a_plain_handler_gets_keywords() -> None:
    """Names that the loop fills are not arguments."""
    made = handler(by_name, CITY)

    assert made.injected == {"context"}
    assert made.keywords({"city": "A"}) == {"city": "A"}


def test_a_handler_of_one_other_parameter_gets_all() -> None:
    """As one dict."""
    made = handler(all_at_once, CITY)

    assert made.injected == {"abort_signal"}
    assert made.keywords({"city": "A"}) == {"arguments": {"city": "A"}}


def test_a_declared_name_is_never_injected() -> None:
    """A schema that has `context` means its own."""
    schema = {"type": "object", "properties": {"city": {}, "context": {"type": "string"}}}

    assert handler(by_name, schema).injected == frozenset()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")
def test_annotations_of_names_that_are_not_defined_are_needed_without_a_schema_only() -> None:
    """Since Python 3.14, such a function can be defined."""

    def later(city: Nowhere, context: object) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Name a type that is not there."""

    with pytest.raises(ConfigurationError, match="annotations of later cannot be read"):
        tool(later)
    assert handler(later, CITY).injected == {"context"}


def test_tools_compare_by_what_they_say() -> None:
    """How a function is called follows from it."""
    assert Tool("a", "", CITY, by_name) == Tool("a", "", CITY, by_name)
    assert Tool("a").handler is None
