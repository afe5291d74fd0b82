"""The example of `docs/adding-a-protocol.md`: an invented protocol, added with the guide alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    Client,
    LLMRequest,
    Message,
    TextPart,
    ToolChoice,
    ToolDefinition,
    evolve,
    request,
)
from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.errors import (
    InvalidRequestError,
    OverloadedError,
    StreamError,
    UnsupportedToolChoiceError,
)
from llmcore.schema.events import ErrorEvent
from llmcore.schema.result import Failure, Success
from llmcore.schema.tools import CustomTool
from llmcore.testing import scripted
from tests.support.parley import protocol
from tests.support.strategies.requests import json_objects, json_values, requests, texts
from tests.support.wire.parley import WIRE, route_at, streamed
from tests.support.wire.protocol import error, response

ROUTE = route_at("https://parley.example/v1", "key")

ADD = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})
ASKED = request(model=ROUTE.model("parley-2"), prompt="2 + 2?", tools=[ADD, CustomTool("draw")])

TOKENS = {"in": 3, "out": 5, "saved": 1}
ANSWER = {
    "id": "t1",
    "model": "parley-2",
    "say": [
        {"thought": "Easy."},
        {"text": "Four."},
        {"call": {"id": "c1", "name": "add", "input": {"a": 2}}},
    ],
    "why": "call",
    "tokens": TOKENS,
}


# -- over a route


@pytest.mark.anyio
@pytest.mark.parametrize("body", [ANSWER, streamed(ANSWER)], ids=["whole", "streamed"])
async def test_a_response_over_a_route_is_whole_and_streamed_the_same(body: Any) -> None:
    transport = scripted(body)
    async with Client(transport=transport) as client:
        if isinstance(body, bytes):
            async with client.stream(ASKED) as events:
                text = "".join([piece async for piece in events.text_stream])
                result = await events.result()
            assert text == "Four."
        else:
            result = await client.generate(ASKED)
    assert isinstance(result, Success), result
    answer = result.unwrap()

    (sent,) = transport.requests
    assert (sent.method, sent.url) == ("POST", "https://parley.example/v1/talk")
    assert answer.text == "Four."
    assert answer.message.content[0] == ReasoningPart("Easy.")
    assert [(c.id, c.name, c.arguments) for c in answer.tool_calls] == [("c1", "add", {"a": 2})]
    assert answer.finish_reason.reason == "tool_calls"
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens) == (3, 1)
    assert answer.usage.output_tokens == 5
    assert answer.id == "t1"


@pytest.mark.anyio
async def test_an_error_of_the_server_is_typed() -> None:
    refusal: tuple[int, dict[str, str], dict[str, Any]] = (
        529,
        {},
        {"error": {"type": "overloaded_error", "message": "Later"}},
    )
    async with Client(transport=scripted(refusal)) as client:
        result = await client.generate(ASKED)

    assert isinstance(result, Failure)
    assert isinstance(result.failure(), OverloadedError)


def test_a_server_of_another_api_is_named() -> None:
    """The protocol needs no entry in a list for it."""
    failed = error(WIRE.whole({"object": "response", "output": []}, ASKED))

    assert "answers as the Responses API, not as Parley" in failed.message


# -- requests


def test_a_conversation_with_tools_becomes_turns() -> None:
    asked = evolve(
        ASKED,
        system=(TextPart("Be brief."),),
        messages=(
            Message.user("2 + 2?"),
            Message.assistant(
                ReasoningPart("Easy."), ToolCallPart(id="c-1", name="add", arguments={"a": 2})
            ),
            Message.tool("c-1", "4"),
        ),
        tool_choice=ToolChoice.named("add"),
    )
    body = WIRE.body(asked, stream=True)
    _, answer, results = body["turns"]
    call = answer["say"][1]["call"]

    assert body["rules"] == "Be brief."
    assert body["live"] is True
    assert body["pick"] == {"name": "add"}
    assert [tool["name"] for tool in body["tools"]] == ["add", "draw"]
    assert answer["by"] == "model"
    assert answer["say"][0] == {"thought": "Easy."}
    assert call["id"] != "c-1"  # the API takes no hyphens
    assert results == {"by": "person", "say": [{"result": {"id": call["id"], "text": "4"}}]}


@pytest.mark.parametrize("content", ["not found", (TextPart("not"), TextPart("found"))])
def test_a_result_that_is_an_error_says_so(content: Any) -> None:
    failed = Message.tool("c1", content, is_error=True)
    call = Message.assistant(ToolCallPart(id="c1", name="add", arguments={"a": 2}))
    body = WIRE.body(evolve(ASKED, messages=(*ASKED.messages, call, failed)))
    text = body["turns"][-1]["say"][0]["result"]["text"]

    assert text.split() == ["Error:", "not", "found"]


def test_parameters_that_the_api_lacks_are_reported() -> None:
    asked = request(
        model=ROUTE.model("parley-1"),
        prompt="Hi",
        temperature=0.5,
        max_tokens=9,
        seed=0,
        logprobs=False,
        reasoning_effort="low",
    )

    assert WIRE.body(asked)["limit"] == 9
    assert sorted(WIRE.codes(asked)) == [
        ("unsupported-parameter", "generation.seed"),
        ("unsupported-parameter", "generation.temperature"),
        ("unsupported-parameter", "reasoning"),
    ]


@given(requests(), st.booleans())
def test_any_request_becomes_a_body_or_a_typed_error(asked: LLMRequest, stream: bool) -> None:
    match protocol.body.build(asked, stream):
        case Success(built):
            assert json.loads(json.dumps(built.body))["live"] is stream
        case Failure(reason):
            assert isinstance(reason, InvalidRequestError | UnsupportedToolChoiceError)


# -- responses


def _parts(n: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        texts(1).map(lambda text: {"text": text}),
        texts(1).map(lambda text: {"thought": text}),
        json_objects().map(lambda a: {"call": {"id": f"c{n}", "name": "add", "input": a}}),
    )


@given(
    st.lists(st.integers(0, 0), max_size=4).flatmap(
        lambda ns: st.tuples(*(_parts(n) for n in range(len(ns))))
    ),
    st.integers(1, 6),
    st.data(),
)
def test_a_stream_in_any_pieces_is_the_whole_response(
    parts: tuple[dict[str, Any], ...], size: int, data: st.DataObject
) -> None:
    document = {**ANSWER, "say": list(parts)}
    sent = streamed(document, size)
    at = data.draw(st.integers(0, len(sent)))

    cut = response(WIRE.streamed([sent[:at], sent[at:]], ASKED))
    whole = response(WIRE.whole(document, ASKED))
    assert cut.message.content == whole.message.content
    assert (cut.usage, cut.finish_reason, cut.id) == (whole.usage, whole.finish_reason, whole.id)


@pytest.mark.parametrize("after", [[], [{"text": "Done."}], [{"thought": "Next."}]])
def test_a_freeform_tool_gets_its_text_whatever_follows(after: list[dict[str, Any]]) -> None:
    call = {"call": {"id": "c1", "name": "draw", "input": {"input": "a cat"}}}
    document = {**ANSWER, "say": [call, *after]}

    for events in (WIRE.streamed([streamed(document)], ASKED), WIRE.whole(document, ASKED)):
        (made,) = response(events).tool_calls
        assert (made.kind, made.arguments) == ("custom", "a cat")


@given(st.integers(0, len(streamed(ANSWER)) - 1))
def test_a_stream_that_is_cut_anywhere_is_an_error(at: int) -> None:
    events = WIRE.streamed([streamed(ANSWER)[:at]], ASKED)
    last = b"data: " + streamed(ANSWER).rsplit(b"data: ", 1)[1].rstrip()

    if not streamed(ANSWER)[:at].rstrip().endswith(last):
        assert isinstance(error(events), StreamError)


@given(st.lists(json_values(), max_size=4))
def test_any_frames_obey_the_grammar(frames: list[Any]) -> None:
    sent = b"".join(b"data: %s\n\n" % json.dumps(frame).encode() for frame in frames)

    assert isinstance(WIRE.streamed([sent], ASKED)[-1], ErrorEvent) or '"close"' in str(sent)


@given(json_values())
def test_any_document_obeys_the_grammar(document: Any) -> None:
    assert WIRE.whole(document, ASKED)
