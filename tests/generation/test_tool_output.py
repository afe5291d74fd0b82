"""Results of tools: encoded as JSON, and checked against the type that the tool promises."""

import dataclasses
import datetime
import enum
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import anyio
import attrs
import msgspec
import pydantic
import pytest

from llmcore.generation.execution import StepSettings, StepTools
from llmcore.generation.objects import generate_object
from llmcore.generation.tool import Tool, ToolFailure, tool
from llmcore.schema.content import ImagePart, TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from tests.support.wire.generation import any_model, client_of, text_of

pytestmark = pytest.mark.anyio

DAY = datetime.date(2026, 11, 22)


@dataclasses.dataclass
class Price:
    amount: Decimal
    since: datetime.date


@attrs.frozen
class Place:
    name: str
    prices: tuple[Price, ...] = ()


class Row(TypedDict):
    day: datetime.date
    count: int


class Person(pydantic.BaseModel):
    name: str
    born: datetime.date | None = None


class Colour(enum.Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int


@attrs.frozen
class Counted:
    """A type that cannot be made again from its JSON."""

    name: str
    size: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.name))


async def run(made: Tool[..., Any], arguments: Any = None, **settings: Any) -> StepTools:
    tools = StepTools(
        [ToolCallPart("c1", made.name, arguments or {})], StepSettings(tools=(made,), **settings)
    )
    with anyio.fail_after(10):
        await tools.run()
    return tools


async def result_of(made: Tool[..., Any], arguments: Any = None) -> ToolResultPart:
    tools = await run(made, arguments)
    assert tools.error is None
    (result,) = tools.results
    return result


def returning(value: object, annotation: object) -> Tool[..., Any]:
    def give() -> object:
        return value

    give.__annotations__["return"] = annotation
    return tool(give)


@pytest.mark.parametrize(
    ("annotation", "value", "content"),
    [
        (str, "text", "text"),
        (float, 1, 1),
        (int, True, True),
        (None, None, None),
        (Any, object, None),
        (Decimal, Decimal("1.50"), "1.50"),
        (datetime.date, DAY, "2026-11-22"),
        (
            datetime.date,
            datetime.datetime(2026, 11, 22, 9, tzinfo=datetime.UTC),
            "2026-11-22T09:00:00Z",
        ),
        (uuid.UUID, uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour, Colour.RED, "red"),
        (list[Colour], [Colour.RED], ["red"]),
        (set[int], {1}, [1]),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (Price, Price(Decimal("1.5"), DAY), {"amount": "1.5", "since": "2026-11-22"}),
        (Place, Place("x"), {"name": "x", "prices": []}),
        (
            list[Place],
            [Place("x", (Price(Decimal(1), DAY),))],
            [{"name": "x", "prices": [{"amount": "1", "since": "2026-11-22"}]}],
        ),
        (Row, {"day": DAY, "count": 2}, {"day": "2026-11-22", "count": 2}),
        (Person, Person(name="Ada", born=DAY), {"name": "Ada", "born": "2026-11-22"}),
        (Person | None, None, None),
        (list[Person], [Person(name="Ada")], [{"name": "Ada", "born": None}]),
        (Point, Point(1), {"x": 1}),
        (Counted, Counted("abc"), {"name": "abc", "size": 3}),
        (Annotated[int, msgspec.Meta(ge=0)], 3, 3),
        (str | ImagePart, "text", "text"),
        (Iterator[int], [1], [1]),
    ],
)
async def test_a_result_of_the_annotated_type_is_encoded_as_json(
    annotation: object, value: object, content: object
) -> None:
    """Types that JSON cannot express are not checked; `object` cannot even be encoded."""
    result = await result_of(returning(value, annotation))

    if value is object:
        assert result.is_error
        return
    assert not result.is_error, result.content
    assert result.content == content
    assert type(result.content) is type(content)


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (int, "5", "Expected `int`, got `str`"),
        (str, None, "Expected `str`, got `null`"),
        (list[int], [1, "x"], "$[1]"),
        (Price, {"amount": "1"}, "since"),
        (Row, {"day": DAY}, "count"),
        (Person, {"born": None}, "name"),
        (dict[int, str], {"one": "a"}, "Expected `int`"),
        (Annotated[int, msgspec.Meta(ge=0)], -1, ">= 0"),
        (Colour, "blue", "blue"),
    ],
)
async def test_a_result_that_does_not_fit_the_annotation_is_an_error_result(
    annotation: object, value: object, problem: str
) -> None:
    """The model receives an error result, as for any exception."""
    result = await result_of(returning(value, annotation))

    assert result.is_error
    assert "does not match its type" in str(result.content)
    assert problem in str(result.content)


async def test_a_misfit_ends_the_run_where_errors_are_raised() -> None:
    """It is the tool's fault."""
    tools = await run(returning("5", int), errors="raise")

    assert isinstance(tools.error, LLMError)
    assert "does not match its type" in tools.error.message


async def test_output_replaces_the_annotation() -> None:
    """A type or a JSON Schema."""

    @tool(output=int)
    def lie() -> str:
        return 5  # type: ignore[return-value]

    schema = {"type": "object", "required": ["id"]}
    untyped = Tool("t", execute=lambda: {"name": "x"}, output=schema)

    assert (await result_of(lie)).content == 5
    assert "id" in str((await result_of(untyped)).content)
    assert (await result_of(untyped)).is_error


def test_an_output_that_json_has_no_type_for_is_refused_at_definition() -> None:
    """An annotation of that kind is only not checked."""
    with pytest.raises(ConfigurationError, match="socket"):
        tool(name="t", output=dict[str, socket.socket])(lambda: None)
    with pytest.raises(InvalidRequestError, match="JSON Schema"):
        Tool("t", execute=lambda: None, output={"type": 5})


async def test_a_tool_with_a_schema_checks_its_functions_annotation_too() -> None:
    """Annotations that cannot be read are as good as none."""

    def number() -> int:
        return "x"  # type: ignore[return-value]

    def unreadable() -> "missing.Type":  # type: ignore[name-defined]  # noqa: F821
        return "x"

    assert (await result_of(Tool("t", execute=number))).is_error
    assert (await result_of(Tool("t", execute=unreadable))).content == "x"


async def test_parts_are_results_whatever_the_annotation() -> None:
    """They are content, not JSON."""
    part = ImagePart(url="https://example.com/a.png")

    assert (await result_of(returning(part, ImagePart))).content == (part,)
    assert (await result_of(returning(["a", part], list[str | ImagePart]))).content == (
        TextPart("a"),
        part,
    )


async def test_an_integer_that_cannot_be_written_is_an_error_result() -> None:
    """Python writes integers of at most 4300 digits."""

    @tool
    def factorial(n: int) -> int:
        return 10**5000 + n

    for value in (factorial, returning([{"a": 10**5000}], Any)):
        result = await result_of(value, {"n": 3} if value is factorial else {})
        assert result.is_error
        assert isinstance(result.content, str)


# -- what is raised


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class MuteFailure(ToolFailure):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [MuteError(), MuteFailure()])
async def test_an_exception_without_a_readable_message_is_an_error_result(
    error: Exception,
) -> None:
    """Its `__str__` may raise as well."""

    def fail() -> None:
        raise error

    result = await result_of(tool(fail))
    assert result.is_error
    assert "no readable message" in str(result.content)

    tools = await run(tool(fail), errors="raise")
    if isinstance(error, MuteError):
        assert isinstance(tools.error, LLMError)
        assert tools.error.cause is error


# -- values that are not tools


async def _pages() -> AsyncIterator[str]:
    yield "a"


def _lines() -> Iterator[str]:
    yield "a"


class Pager:
    async def __call__(self) -> AsyncIterator[str]:
        yield "a"

    def method(self, page: int) -> str:
        return f"{self}{page}"


@pytest.mark.parametrize("function", [_pages, _lines, Pager()])
def test_generator_functions_are_refused_as_tools(function: Callable[..., object]) -> None:
    """A tool returns one result."""
    for make in (tool, lambda f: Tool("t", execute=f)):
        with pytest.raises(ConfigurationError, match="return a list instead of yielding"):
            make(function)


@pytest.mark.parametrize("function", [int, print, dict.get, min])
def test_functions_that_a_model_cannot_fill_are_refused_as_tools(
    function: Callable[..., object],
) -> None:
    """Also those written in C, some of which have no signature."""
    with pytest.raises(ConfigurationError, match=r"cannot be|method"):
        tool(function)


def test_a_method_without_its_object_is_refused_as_a_tool() -> None:
    """The model would have to fill `self`; a bound method is fine."""
    with pytest.raises(ConfigurationError, match="bound method"):
        tool(Pager.method)
    assert tool(Pager().method).parameters["required"] == ["page"]


# -- objects whose keys are not text


async def test_keys_of_a_mapping_are_converted_to_their_type() -> None:
    """JSON has text for keys only; arguments and objects get what the annotation says."""

    @tool
    def names(of: dict[int, str]) -> list[int]:
        return list(of)

    assert (await result_of(names, {"of": {"1": "a", "2": "b"}})).content == [1, 2]
    assert (await result_of(names, {"of": {"one": "a"}})).is_error

    client, _ = client_of(text_of('{"1": "a"}'))
    made = await generate_object(any_model(), "Hi", schema=dict[int, str], client=client)
    assert made.output == {1: "a"}


# -- a tool is still a function


async def test_a_tool_is_called_like_its_function() -> None:
    """Without validation and conversion, with defaults, asynchronous or not."""

    @tool
    def add(a: int, b: int = 2) -> int:
        """Return the sum."""
        return a + b

    @tool(name="other")
    async def later(a: int) -> int:
        return a

    assert add(1) == 3
    assert add(1, b=1) == 2
    assert await later(4) == 4
    with pytest.raises(ConfigurationError, match="no function"):
        Tool("passive")()
