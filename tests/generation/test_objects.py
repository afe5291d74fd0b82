"""`generate_object` and `stream_object`."""

import dataclasses
import inspect
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.client.client import Client
from llmcore.generation.objects import StreamObjectResult, generate_object, stream_object
from llmcore.generation.partial_objects import contains
from llmcore.generation.results import GenerateResult
from llmcore.generation.tool import Tool, tool
from llmcore.routes.anthropic import Anthropic
from llmcore.schema.errors import (
    AuthenticationError,
    InvalidRequestError,
    LLMError,
    NoObjectGeneratedError,
    StreamError,
)
from llmcore.schema.events import Finish, TextDelta
from llmcore.schema.options import ResponseFormat
from llmcore.testing import ScriptedTransport, scripted
from tests.support.servers.loopback import Answer, Received, chat_chunk, serve
from tests.support.strategies.examples import costly
from tests.support.wire import anthropic as anthropic_wire
from tests.support.wire import responses as responses_wire
from tests.support.wire.generation import SSE, any_model, calls_of, client_of, model_at, text_of
from tests.support.wire.matrix import OPENAI

pytestmark = pytest.mark.anyio

MODEL = any_model()


@attrs.frozen
class City:
    name: str
    people: int
    river: str = "none"


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
}
ROME: dict[str, Any] = {"name": "Rome", "people": 2_800_000}
TEXT = json.dumps(ROME)
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def ended_by(reason: str, text: str = "", **delta: Any) -> list[Any]:
    """Return the script of a response that ends for *reason*."""
    usage = json.dumps({"id": "c", "model": "m-1", "choices": [], "usage": USAGE})
    return [
        chat_chunk(delta={"content": text} if text else delta),
        chat_chunk(delta={}, finish_reason=reason),
        f"data: {usage}\n\n".encode(),
        b"data: [DONE]\n\n",
    ]


def in_pieces(text: str, size: int = 3) -> list[Any]:
    """Return the script of a response that comes a few characters at a time."""
    return text_of(*(text[at : at + size] for at in range(0, len(text), size)))


async def made(*scripts: Any, streamed: bool, **given_: Any) -> GenerateResult:
    """Return the result, both of generating and of streaming."""
    client, _ = client_of(*scripts)
    if streamed:
        return await stream_object(MODEL, "Hi", client=client, **given_).result()
    return await generate_object(MODEL, "Hi", client=client, **given_)


both_ways = pytest.mark.parametrize("streamed", [False, True])


# -- objects


@both_ways
@pytest.mark.parametrize(("schema", "expected"), [(SCHEMA, ROME), (City, City(**ROME))])
async def test_the_response_is_an_object(schema: Any, expected: Any, streamed: bool) -> None:
    """Plain for JSON Schemas, of its type for types; text and usage are there as ever."""
    result = await made(in_pieces(TEXT), streamed=streamed, schema=schema)

    assert result.output == expected
    assert result.text == TEXT
    assert result.usage.total_tokens == 5
    assert result.diagnostics == ()


@both_ways
@pytest.mark.parametrize(
    "commentary", ["I look it up.", '{"name": "Bern", "people": 1}', "I look at {Rome}."]
)
async def test_commentary_before_the_answer_is_not_the_object(
    commentary: str, streamed: bool
) -> None:
    """OpenAI's models write texts of that phase, to which the format does not apply."""
    output = [
        responses_wire.message(commentary) | {"id": "msg_0", "phase": "commentary"},
        responses_wire.message(TEXT) | {"phase": "final_answer"},
    ]
    document = responses_wire.document(output)

    def handler(received: Received) -> Answer:
        asks_stream = bool(json.loads(received.body).get("stream"))
        data = OPENAI.streamed(document) if asks_stream else json.dumps(document).encode()
        kind = OPENAI.stream_type if asks_stream else "application/json"
        return Answer([data], headers={"content-type": kind})

    with serve(handler) as server:
        model = OPENAI.model_at(server.url)
        async with Client() as client:
            partials: list[Any] = []
            if streamed:
                result = stream_object(model, "Hi", schema=SCHEMA, client=client)
                partials, _ = await partials_of(result)
                found = await result.result()
            else:
                found = await generate_object(model, "Hi", schema=SCHEMA, client=client)

    assert found.output == ROME
    assert found.text == commentary + TEXT
    assert found.diagnostics == ()
    assert all(ROME["name"].startswith(one.get("name", "")) for one in partials)


@both_ways
@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (list[City], f'{{"value": [{TEXT}]}}', [City(**ROME)]),
        (list[City], f"[{TEXT}]", [City(**ROME)]),
        (int, '{"value": 3}', 3),
        (int, "3", 3),
        ({"enum": ["x", "y"]}, '{"value": "x"}', "x"),
        (City | None, '{"value": null}', None),
        (City | None, TEXT, City(**ROME)),
    ],
)
async def test_what_is_not_an_object_comes_in_one(
    schema: Any, text: str, expected: Any, streamed: bool
) -> None:
    """Providers want an object at the root; a model that forgets it is understood."""
    result = await made(in_pieces(text), streamed=streamed, schema=schema)

    assert result.output == expected


@both_ways
async def test_the_provider_is_told_the_schema(streamed: bool) -> None:
    """In its own field, along with whatever else `generate` takes."""
    client, transport = client_of(in_pieces(TEXT))
    given_: dict[str, Any] = {
        "schema": SCHEMA,
        "schema_name": "city",
        "schema_description": "A city.",
        "system": "Be brief.",
        "temperature": 0,
    }
    if streamed:
        await stream_object(MODEL, "Rome", client=client, **given_).object()
    else:
        await generate_object(MODEL, "Rome", client=client, **given_)

    (body,) = transport.bodies
    assert isinstance(body, dict)
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "city", "description": "A city.", "schema": SCHEMA},
    }
    assert body["temperature"] == 0
    assert [m["role"] for m in body["messages"]] == ["system", "user"]


@both_ways
@pytest.mark.parametrize("text", [f"```json\n{TEXT}\n```", f"Here you are: {TEXT} Enjoy!"])
async def test_text_around_it_is_a_diagnostic(text: str, streamed: bool) -> None:
    """The object was paid for; a diagnostic reports the text."""
    result = await made(in_pieces(text), streamed=streamed, schema=City)

    assert result.output == City(**ROME)
    assert [(d.code, d.path, d.action) for d in result.diagnostics] == [
        ("text-around-object", "text", "dropped")
    ]


@both_ways
async def test_a_null_for_an_absent_property_is_a_diagnostic(streamed: bool) -> None:
    """Strict modes make optional properties nullable."""
    text = json.dumps({**ROME, "river": None})
    result = await made(in_pieces(text), streamed=streamed, schema=City)

    assert result.output == City(**ROME)
    assert [(d.code, d.path) for d in result.diagnostics] == [("null-as-absent", "output.river")]


@both_ways
async def test_tools_run_before_the_object(streamed: bool) -> None:
    """The object is the last step's response."""

    @tool
    def look(city: str) -> str:
        """Look a city up."""
        return f"{city} has 2.8 million"

    first = calls_of(("c1", "look", {"city": "Rome"}), text='{"name": "Looking"}')
    result = await made(first, in_pieces(TEXT), streamed=streamed, schema=City, tools=[look])

    assert result.output == City(**ROME)
    assert len(result.steps) == 2


@both_ways
async def test_a_tool_that_is_forced_gives_the_object(streamed: bool) -> None:
    """Where the provider has no formats, its protocol makes text of the call's input."""
    document = anthropic_wire.message(
        anthropic_wire.tool_use("structured_answer", ROME), stop="tool_use"
    )
    transport = scripted(anthropic_wire.sse(anthropic_wire.stream_of(document)))
    model = Anthropic.configure(api_key="k").model("claude-3-haiku-20240307")
    given_: dict[str, Any] = {"schema": City, "client": Client(transport=transport)}
    if streamed:
        result = stream_object(model, "Rome", **given_)
        partials = [partial async for partial in result]
        assert partials[-1] == ROME
        assert await result.object() == City(**ROME)
    else:
        assert (await generate_object(model, "Rome", **given_)).output == City(**ROME)

    (body,) = transport.bodies
    assert isinstance(body, dict)
    assert body["tool_choice"]["name"] == "structured_answer"


# -- no object


@both_ways
@pytest.mark.parametrize(
    ("script", "code", "problem", "raw"),
    [
        (ended_by("length", '{"name": "Ro'), "length", "max_tokens", {"name": "Ro"}),
        (ended_by("length", TEXT), "length", "max_tokens", ROME),
        (ended_by("content_filter", '{"na'), "content_filter", "content filter", {}),
        (ended_by("stop", refusal="I will not."), "refusal", "refused: I will not.", None),
        (in_pieces('{"name": "Rome",}'), "not_json", "line 1 column 1[67]", None),
        (in_pieces('{"name": "Rome"'), "not_json", "line 1 column 16", {"name": "Rome"}),
        (in_pieces("Hello"), "not_json", "near 'Hello'", None),
        (ended_by("stop"), "not_json", "no text", None),
        (in_pieces('{"name": "Rome", "people": "many"}'), "invalid", "people", ...),
        (in_pieces('{"name": "Rome"}'), "invalid", "people", {"name": "Rome"}),
        (in_pieces("[1]"), "invalid", "object", [1]),
    ],
)
@pytest.mark.parametrize("schema", [SCHEMA, City])
async def test_what_is_not_an_object_is_an_error_with_the_response(
    schema: Any, script: list[Any], code: str, problem: str, raw: Any, streamed: bool
) -> None:
    """It names the place and the fault, and keeps the response; no second request is sent."""
    with pytest.raises(NoObjectGeneratedError, match=problem) as caught:
        await made(script, streamed=streamed, schema=schema)

    error = caught.value
    assert error.error_code == code
    assert error.response.usage is not None
    assert error.response.usage.total_tokens == 5
    assert error.response.text == "".join(texts_in(script))
    assert raw is ... or error.raw == raw
    assert not error.retryable


def texts_in(script: Sequence[bytes]) -> list[str]:
    """Return the text of each chunk."""
    chunks = [json.loads(line[6:]) for line in script if b"[DONE]" not in line]
    return [c["delta"].get("content", "") for chunk in chunks for c in chunk["choices"]]


@both_ways
async def test_unanswered_calls_are_not_an_object(streamed: bool) -> None:
    """The calls are in the response, to go on from."""
    passive = Tool("ask", "Ask somebody.")
    with pytest.raises(NoObjectGeneratedError, match="tool calls that have no result") as caught:
        await made(calls_of(("c1", "ask", {})), streamed=streamed, schema=City, tools=[passive])

    assert caught.value.response.tool_calls[0].name == "ask"


@both_ways
async def test_other_errors_are_what_they_are(streamed: bool) -> None:
    """A refused key does not count as a missing object."""
    with pytest.raises(AuthenticationError):
        await made((401, {}, {"error": {"message": "no"}}), streamed=streamed, schema=City)


@pytest.mark.parametrize("function", [generate_object, stream_object])
async def test_schema_beside_a_response_format_is_refused(function: Any) -> None:
    """The schema is the response format; a prompt and messages exclude each other."""
    client, transport = client_of()
    contradictions: list[dict[str, Any]] = [
        {"response_format": ResponseFormat.json()},
        {"messages": []},
        {"schema": {"type": "nonsense"}},
    ]

    async def asked(**given_: Any) -> None:
        outcome = function(MODEL, "Hi", client=client, **{"schema": City, **given_})
        await (outcome.object() if isinstance(outcome, StreamObjectResult) else outcome)

    for given_ in contradictions:
        with pytest.raises(InvalidRequestError):
            await asked(**given_)
    assert transport.requests == []


@pytest.mark.parametrize("function", [generate_object, stream_object])
async def test_the_signature_says_what_it_takes(function: Any) -> None:
    """All that `generate` takes, but for the format that the schema makes."""
    names = list(inspect.signature(function).parameters)

    assert names[:5] == ["model", "prompt", "schema", "schema_name", "schema_description"]
    assert {"system", "tools", "timeout", "client"} < set(names)
    assert "response_format" not in names


# -- partial objects


async def partials_of(result: StreamObjectResult[Any]) -> tuple[list[Any], LLMError | None]:
    """Return the partial objects, and what was raised after them."""
    partials = []
    try:
        async for partial in result:
            partials.append(partial)  # noqa: PERF401  (what came before an error is kept)
    except LLMError as error:
        return partials, error
    return partials, None


@pytest.mark.parametrize("entered", [True, False])
async def test_partial_objects_gain_properties_as_their_values_begin(entered: bool) -> None:
    """A property appears with the first of its value; numbers when they are complete."""
    client, _ = client_of(in_pieces('{"name": "Rome", "people": 12}', 4))
    result = stream_object(MODEL, "Hi", schema=SCHEMA, client=client)
    if entered:
        async with result:
            partials, error = await partials_of(result)
    else:
        partials, error = await partials_of(result)

    assert error is None
    assert partials == [
        {},
        {"name": "Ro"},
        {"name": "Rome"},
        {"name": "Rome", "people": 12},
    ]
    assert await result.object() == {"name": "Rome", "people": 12}


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (f"```json\n{TEXT}\n```", ROME),
        (f'{{"value": [{TEXT}, {TEXT}]}}', [ROME, ROME]),
        (f"Sure: [{TEXT}]", [ROME]),
    ],
)
async def test_partial_objects_stand_without_what_is_around_them(text: str, last: Any) -> None:
    """Fences, sentences and our own wrapper are left out."""
    client, _ = client_of(in_pieces(text, 1))
    schema: Any = City if isinstance(last, dict) else list[City]
    partials, error = await partials_of(stream_object(MODEL, "Hi", schema=schema, client=client))

    assert error is None
    assert partials[-1] == last
    assert all(contains(b, a) for a, b in pairwise(partials))


@pytest.mark.parametrize(
    ("script", "last"),
    [
        (ended_by("length", '{"name": "Ro'), {"name": "Ro"}),
        (in_pieces('{"name": "Rome", "people": "x"}'), {"name": "Rome", "people": "x"}),
        (in_pieces("Hello"), None),
    ],
)
async def test_partial_objects_end_as_the_object_does(script: list[Any], last: Any) -> None:
    """Partial objects are delivered, and the error follows."""
    client, _ = client_of(script)
    result = stream_object(MODEL, "Hi", schema=City, client=client)
    partials, error = await partials_of(result)

    assert (partials or [None])[-1] == last
    assert isinstance(error, NoObjectGeneratedError)
    with pytest.raises(NoObjectGeneratedError):
        await result.object()


async def test_partial_objects_of_a_stream_that_breaks() -> None:
    """Its own error is raised."""
    client, _ = client_of([chat_chunk(delta={"content": '{"name": "R"'})])
    partials, error = await partials_of(stream_object(MODEL, "Hi", schema=City, client=client))

    assert partials[-1] == {"name": "R"}
    assert isinstance(error, StreamError)


async def test_what_a_model_says_before_its_tools_takes_nothing_back() -> None:
    """Partial objects of an earlier step stay, until there is one that contains them."""

    @tool
    def look() -> str:
        """Return a page."""
        return "seen"

    for before, last in (('{"name": "R"', ROME), ('{"name": "Paris"', {"name": "Paris"})):
        client, _ = client_of(calls_of(("c", "look", {}), text=before), in_pieces(TEXT))
        result = stream_object(MODEL, "Hi", schema=City, client=client, tools=[look])
        partials, error = await partials_of(result)

        assert error is None
        assert partials[-1] == last
        assert all(contains(b, a) for a, b in pairwise(partials))
        assert await result.object() == City(**ROME)


@st.composite
def cities(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[str]]:
    """Return cities, and the text of their list in pieces."""
    city = st.fixed_dictionaries(
        {"name": st.text(st.characters(exclude_categories=["Cs"])), "people": st.integers()},
        optional={"river": st.text('"\\[]{},:', max_size=4)},
    )
    found = draw(st.lists(city, max_size=4))
    text = json.dumps({"value": found}, ensure_ascii=draw(st.booleans()))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=20)))
    return found, [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]


@given(given_=cities())
@costly
def test_each_partial_object_is_in_the_next(given_: tuple[list[dict[str, Any]], list[str]]) -> None:
    """However the response is cut: they grow into the whole, and elements come once."""
    import anyio

    found, pieces = given_
    wide = {**SCHEMA, "properties": {"name": {"type": "string"}, "people": {"type": "number"}}}

    async def main() -> None:
        client, _ = client_of(text_of(*pieces), text_of(*pieces))
        schema = {"type": "array", "items": wide}
        partials, error = await partials_of(
            stream_object(MODEL, "Hi", schema=schema, client=client)
        )
        assert error is None
        assert partials[-1] == found
        assert all(contains(b, a) for a, b in pairwise(partials))
        result = stream_object(MODEL, "Hi", schema=schema, client=client)
        assert [element async for element in result.element_stream] == found

    anyio.run(main)


# -- typed partial objects


class Place(TypedDict):
    name: str
    size: Literal["town", "city"]
    streets: list[str]


class PartialPlace(TypedDict, total=False):
    name: str
    size: Literal["town", "city"]
    streets: list[str]


@attrs.frozen
class PlaceSoFar:
    name: str = ""
    streets: list[str] = attrs.field(factory=list)


@dataclasses.dataclass
class DatedPlace:
    name: str | None = None
    streets: list[str] = dataclasses.field(default_factory=list)


class ModelledPlace(pydantic.BaseModel):
    name: str | None = None
    size: Literal["town", "city"] | None = None


PLACE = '{"name": "Rome", "size": "city", "streets": ["Via Appia"]}'


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [
        (PartialPlace, {}, json.loads(PLACE)),
        (PlaceSoFar, PlaceSoFar(), PlaceSoFar("Rome", ["Via Appia"])),
        (DatedPlace, DatedPlace(), DatedPlace("Rome", ["Via Appia"])),
        (ModelledPlace, ModelledPlace(), ModelledPlace(name="Rome", size="city")),
    ],
)
async def test_partial_objects_are_of_the_type_stated_for_them(
    kind: type[Any], first: Any, last: Any
) -> None:
    """Those with half a member of an enumeration are left out."""
    client, _ = client_of(in_pieces(PLACE, 2))
    result = stream_object(MODEL, "Hi", schema=Place, client=client)
    partials = [partial async for partial in result.typed_partials(kind)]

    assert (partials[0], partials[-1]) == (first, last)
    assert len(partials) > 5
    assert await result.object() == json.loads(PLACE)


async def test_typed_partial_objects_may_be_lists() -> None:
    client, _ = client_of(in_pieces(f'{{"value": [{PLACE}, {PLACE}]}}', 3))
    result = stream_object(MODEL, "Hi", schema=list[Place], client=client)
    partials = [partial async for partial in result.typed_partials(list[PlaceSoFar])]

    assert partials[0] == [PlaceSoFar()]
    assert partials[-1] == [PlaceSoFar("Rome", ["Via Appia"])] * 2


async def test_typed_partial_objects_end_with_the_error_of_the_object() -> None:
    client, _ = client_of(text_of('{"name": "Rome"}'))
    partials = stream_object(MODEL, "Hi", schema=Place, client=client).typed_partials(PartialPlace)

    assert await anext(partials) == {"name": "Rome"}
    with pytest.raises(NoObjectGeneratedError, match="size"):
        await anext(partials)


async def test_a_type_with_required_fields_is_none_of_partial_objects() -> None:
    client, _ = client_of(in_pieces(PLACE, 2))
    result = stream_object(MODEL, "Hi", schema=Place, client=client)

    with pytest.raises(InvalidRequestError, match=r"Place.*name.*total=False"):
        result.typed_partials(Place)


# -- elements


class Named(msgspec.Struct, frozen=True):
    name: str


NAMES = [{"name": "a"}, {"name": "b, [c]"}, {"name": 'd"'}]
LIST = json.dumps({"value": NAMES})


async def test_elements_come_as_each_is_complete() -> None:
    """Typed, once, and before the rest has arrived."""
    client, _ = client_of(in_pieces(LIST, 1))
    result = stream_object(MODEL, "Hi", schema=list[Named], client=client)
    elements = result.element_stream

    assert await anext(elements) == Named("a")
    assert result.stream.partial_response is not None
    assert len(result.stream.partial_response.text) < len(LIST) / 2
    assert [element async for element in elements] == [Named("b, [c]"), Named('d"')]
    assert await result.object() == [Named(one["name"]) for one in NAMES]
    assert [element async for element in result.element_stream] == []


@pytest.mark.parametrize(
    "text", [json.dumps(NAMES), f"```\n{LIST}\n```", f"Here [as told]:\n```json\n{LIST}\n```"]
)
async def test_elements_of_responses_that_are_not_as_told(text: str) -> None:
    """Text around the array delays them at most."""
    client, _ = client_of(in_pieces(text))
    result = stream_object(MODEL, "Hi", schema=list[Named], client=client)

    assert [element.name async for element in result.element_stream] == ["a", "b, [c]", 'd"']


@pytest.mark.parametrize(
    "text",
    [
        '{"value": [{"name": "a"}, {"name": 1}, {"name": "c"}]}',
        '{"value": [{"name": "a"}, {"name": "b',
        '{"value": [{"name": "a"}, nonsense]}',
    ],
)
async def test_an_element_that_is_not_valid_ends_them(text: str) -> None:
    """After those before it, and with the whole response."""
    client, _ = client_of(in_pieces(text))
    result = stream_object(MODEL, "Hi", schema=list[Named], client=client)
    elements = result.element_stream

    assert await anext(elements) == Named("a")
    with pytest.raises(NoObjectGeneratedError) as caught:
        await anext(elements)
    assert caught.value.response.text == text


async def test_limits_of_the_whole_array_are_checked_at_its_end() -> None:
    """Each element is valid, and still the array is not."""
    schema = {"type": "array", "items": {"type": "integer"}, "maxItems": 1}
    client, _ = client_of(in_pieces('{"value": [1, 2]}'))
    elements = stream_object(MODEL, "Hi", schema=schema, client=client).element_stream

    assert [await anext(elements), await anext(elements)] == [1, 2]
    with pytest.raises(NoObjectGeneratedError):
        await anext(elements)


async def test_elements_of_an_earlier_step_are_not_passed_off() -> None:
    """An array that a later step takes back is an error, not a mixture."""

    @tool
    def look() -> str:
        """Return a page."""
        return "seen"

    first = calls_of(("c", "look", {}), text='{"value": [1, 2, 3]}')
    client, _ = client_of(first, in_pieces('{"value": [7, 8, 9, 10]}'))
    result = stream_object(MODEL, "Hi", schema=list[int], client=client, tools=[look])
    elements = result.element_stream

    assert await anext(elements) == 1
    with pytest.raises(NoObjectGeneratedError, match="differ from those of the final response"):
        _ = [element async for element in elements]


async def test_only_arrays_have_an_element_stream() -> None:
    """The error comes before anything is read."""
    client, transport = client_of()
    with pytest.raises(InvalidRequestError, match="array"):
        _ = stream_object(MODEL, "Hi", schema=City, client=client).element_stream  # type: ignore[misc]  # a type checker says it too

    assert transport.requests == []


# -- views of one stream


async def test_events_read_beside_are_not_missed() -> None:
    """Whoever reads, everybody has it."""
    client, _ = client_of(in_pieces(LIST, 5))
    result = stream_object(MODEL, "Hi", schema=list[Named], client=client)
    events = [event async for event in result.stream]

    assert isinstance(events[-1], Finish)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == LIST
    assert [partial async for partial in result] == [NAMES]
    assert [element.name async for element in result.element_stream] == ["a", "b, [c]", 'd"']
    assert (await result.result()).text == LIST


async def test_the_object_can_be_had_at_once() -> None:
    """Without looking at what comes before; the rest is there all the same."""
    client, _ = client_of(in_pieces(LIST))
    result = stream_object(MODEL, "Hi", schema=list[Named], client=client)
    whole = await result.object()

    assert whole == await result.object()
    assert [element async for element in result.element_stream] == whole


async def test_leaving_closes_the_connection() -> None:
    """In the middle of an object."""
    script: list[bytes | float] = [chat_chunk(delta={"content": '{"name": "R'}), 5.0]
    with serve(lambda _: Answer(script, headers=SSE)) as server:
        async with Client() as client:
            model = model_at(server.url)
            async with stream_object(model, "Hi", schema=City, client=client) as result:
                async for partial in result:
                    assert partial == {"name": "R"}
                    break
            with pytest.raises(LLMError):
                await result.object()


async def test_nothing_is_sent_before_it_is_read() -> None:
    """Like `stream`."""
    transport = ScriptedTransport([])
    result = stream_object(MODEL, "Hi", schema=City, client=Client(transport=transport))
    await result.aclose()

    assert transport.requests == []
