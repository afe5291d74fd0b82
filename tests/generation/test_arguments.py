"""Arguments: parsed, validated, repaired once."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.generation.arguments import checked_arguments, checked_repair, keywords_for, repaired
from llmcore.generation.tool import Tool, tool
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import ConfigurationError, InvalidToolCallError
from tests.support.strategies.examples import costly

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer"},
        "pair": {"prefixItems": [{"type": "integer"}], "items": False},
    },
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = Tool("weather", "", SCHEMA)


def call(arguments: Any) -> ToolCallPart:
    return ToolCallPart("c1", "weather", arguments)


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ({"city": "A"}, {"city": "A"}),
        ({"city": "A", "days": 2.0}, {"city": "A", "days": 2.0}),
        ({"city": "A", "days": 2**80}, {"city": "A", "days": 2**80}),
        ('{"city": "A"}', {"city": "A"}),
        ({"city": "A", "pair": [1]}, {"city": "A", "pair": [1]}),
    ],
)
def test_valid_arguments_are_returned_unchanged(arguments: Any, parsed: Any) -> None:
    """They come as they are, also from text."""
    assert checked_arguments(WEATHER, call(arguments)) == parsed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, '"city" is a required property'),
        ({"city": 1}, 'city: 1 is not of type "string"'),
        ({"city": ""}, "city:"),
        ({"city": "A", "days": "2"}, "days:"),
        ({"city": "A", "pair": [1, 2]}, "pair"),
        ({"city": "A", "town": "B"}, "town"),
        ('{"city": ', "not JSON"),
        ([1], "not an object"),
        ("[1]", "not an object"),
        (7, "not an object"),
    ],
)
def test_arguments_that_do_not_fit(arguments: Any, problem: str) -> None:
    """The error says where and what; half an object is never taken for a whole one."""
    with pytest.raises(InvalidToolCallError) as caught:
        checked_arguments(WEATHER, call(arguments))

    assert problem in caught.value.message
    assert caught.value.raw == arguments


@tool
def forecast(city: str, days: int = 3, unit: str | None = "C") -> str:
    """Forecast the weather."""
    return f"{days} days of sun in {city}, in {unit}"


def test_null_for_an_option_is_its_default() -> None:
    """Strict function calling writes every parameter; null is for those that are not given."""
    made = call({"city": "A", "days": None, "unit": None})

    arguments = checked_arguments(forecast, made)

    assert arguments == {"city": "A", "unit": None}
    assert keywords_for(forecast, made, arguments) == {"city": "A", "unit": None}
    assert made.arguments == {"city": "A", "days": None, "unit": None}


@pytest.mark.parametrize(
    "arguments",
    [{"city": None}, {"city": None, "days": None}, {"city": "A", "town": None}],
    ids=str,
)
def test_null_for_what_is_required_or_unknown_is_invalid(arguments: dict[str, Any]) -> None:
    """Only an option can be left out; the error is about what the model wrote."""
    with pytest.raises(InvalidToolCallError) as caught:
        checked_arguments(WEATHER, call(arguments))

    assert caught.value.raw == arguments
    assert "town" in caught.value.message or "city: null" in caught.value.message


def test_absent_required_argument_with_a_default_in_the_schema_gets_the_default() -> None:
    scale = {"enum": ["css", "device"], "default": "css"}
    properties = {"path": {"type": "string"}, "scale": scale}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": ["path", "scale"],
    }
    shot = Tool("shot", "", schema)

    assert checked_arguments(shot, call({"path": "a"})) == {"path": "a", "scale": "css"}
    assert checked_arguments(shot, call({"path": "a", "scale": "device"}))["scale"] == "device"
    with pytest.raises(InvalidToolCallError, match='"path" is a required property'):
        checked_arguments(shot, call({}))


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}", None, {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    """However a server says that there are none."""
    assert checked_arguments(Tool("now"), call(arguments)) == {}


def test_many_problems_are_cut() -> None:
    """A model needs to know some, not all, and not the whole of its own text again."""
    schema: Any = {"type": "object", "additionalProperties": {"type": "integer"}}
    arguments = {f"k{index}": "x" * 10_000 for index in range(100)}

    with pytest.raises(InvalidToolCallError) as caught:
        checked_arguments(Tool("t", "", schema), call(arguments))
    assert len(caught.value.message) < 3000


@pytest.mark.parametrize(
    "property_",
    [{"type": "strange"}, {"$ref": "http://127.0.0.1:1/x"}, {"$ref": "#/$defs/no"}],
)
def test_an_unusable_schema_is_named_in_the_error(property_: dict[str, Any]) -> None:
    """Nothing is fetched."""
    made = Tool("t", "", {"type": "object", "properties": {"a": property_}})

    with pytest.raises(ConfigurationError, match="not a valid JSON Schema"):
        checked_arguments(made, call({}))


@tool
def typed(code: str) -> str:
    """Accept a code."""
    return code


def test_types_are_checked_after_the_schema() -> None:
    """Values that only the annotations forbid are invalid too."""
    with pytest.raises(InvalidToolCallError, match="code"):
        keywords_for(typed, call({}), {"code": 1})
    assert keywords_for(typed, call({}), {"code": "a"}) == {"code": "a"}


@pytest.mark.anyio
async def test_repair_gets_one_chance() -> None:
    """Plain or asynchronous, it keeps the call's id; giving up raises the reason."""
    broken, reason = call("{"), InvalidToolCallError("bad")

    def plain(one: ToolCallPart, error: InvalidToolCallError) -> ToolCallPart:
        assert error is reason
        return evolve(one, id="other", arguments={"city": "A"})

    async def waiting(one: ToolCallPart, error: InvalidToolCallError) -> ToolCallPart:
        return plain(one, error)

    fixed = call({"city": "A"})
    for repair in (plain, waiting):
        assert checked_repair(await repaired(repair, broken, reason), broken) == fixed
    for gives_up in (None, lambda *_: None):
        with pytest.raises(InvalidToolCallError, match="bad"):
            await repaired(gives_up, broken, reason)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@costly
@given(json_values)
def test_any_arguments_fit_or_are_an_error(arguments: Any) -> None:
    """There are no other outcomes."""
    try:
        checked = checked_arguments(WEATHER, call(arguments))
    except InvalidToolCallError as error:
        checked = {"city": error.message}

    assert isinstance(checked["city"], str)
    assert checked["city"]
