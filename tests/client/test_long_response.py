"""Responses that a server gives in parts are one response.

Source: https://ai.google.dev/gemini-api/docs/generate-content/long-decode, read November 2026.
"""

import json
from typing import Any

import pytest

from llmcore import Client, Google, generate, request, tool
from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.generation.stream import stream
from llmcore.schema.content import ReasoningPart
from llmcore.schema.options import ResponseFormat
from llmcore.testing import scripted

pytestmark = pytest.mark.anyio

MODEL = Google.configure(api_key="k").model("gemini-4-argon")
ASKED = request(model=MODEL, prompt="Write.", max_tokens=200_000)
FAILED = {"error": {"code": 400, "message": "The token has expired.", "status": "INVALID_ARGUMENT"}}


def part(*parts: Any, reason: str = "CONTINUATION", token: str | None = "t1") -> dict[str, Any]:
    """Return the answer to one request."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts)}, "finishReason": reason}
    if token is not None:
        candidate["continuationToken"] = token
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-4-argon"}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


THOUGHT = {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}
CALL = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}
LAST = part(text(" is 4."), reason="STOP", token=None)


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_response_in_parts_is_one_response_with_the_usage_of_all(streaming: bool) -> None:
    """Each request is the same but for the token."""
    wire = scripted(part(THOUGHT, text("The ")), part(text("sum"), token="t2"), LAST)
    async with Client(http=wire) as client:
        call = client.stream(ASKED) if streaming else client.events(ASKED)
        events = [event async for event in call]
        response = (await call.result()).unwrap()

    first, *later = wire.bodies
    assert [body["continuationToken"] for body in later] == ["t1", "t2"]
    assert all({**first, "continuationToken": body["continuationToken"]} == body for body in later)
    assert violations(events) == []
    assert response.text == "The sum is 4."
    assert response.finish_reason.reason == "stop"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (30, 15)
    assert response.cost == pytest.approx((30 * 2 + 15 * 10) / 1e6)
    assert isinstance(response.message.content[0], ReasoningPart)
    assert response.message.content[0].signature == "c2ln"
    folded = collect(events).unwrap()
    assert (folded.message.content, folded.usage) == (response.message.content, response.usage)


async def test_the_metadata_of_all_parts_is_kept() -> None:
    """The page of a search is in that of one part; a mark that was sent back is in none."""
    grounded = part(text("The "))
    grounded["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["sum"]}
    wire = scripted(grounded, LAST)
    async with Client(http=wire) as client:
        call = client.stream(ASKED)
        events = [event async for event in call]
        response = (await call.result()).unwrap()

    assert response.provider_metadata == {
        "google": {"groundingMetadata": {"webSearchQueries": ["sum"]}}
    }
    assert collect(events).unwrap().provider_metadata == response.provider_metadata


@pytest.mark.parametrize(
    "answers",
    [
        [part(text("The "), reason="MAX_TOKENS")],
        [part(text("The "), token=None)],
        [part(text("The ")), part(text("sum"), token="t1")],
    ],
    ids=["the limit is reached", "no token", "the same token again"],
)
async def test_a_response_that_cannot_go_on_ends(answers: list[Any]) -> None:
    wire = scripted(*answers, LAST)
    async with Client(http=wire) as client:
        response = await client.complete(ASKED)

    assert len(wire.bodies) == len(answers)
    assert response.finish_reason.reason == "length"


async def test_a_rest_that_fails_leaves_what_has_come() -> None:
    wire = scripted(part(text("The ")), FAILED)
    async with Client(http=wire) as client:
        call = client.stream(ASKED)
        events = [event async for event in call]
        response = (await call.result()).unwrap()

    assert violations(events) == []
    assert (response.text, str(response.finish_reason)) == ("The ", "length")
    assert [note.code for note in response.diagnostics] == ["turn-cut-short"]
    folded = collect(events).unwrap()
    assert [note.code for note in folded.diagnostics] == ["turn-cut-short"]
    assert folded.provider_metadata == response.provider_metadata
    assert response.provider_metadata == {"google": {"continuationToken": "t1"}}


async def test_a_rest_that_is_cut_leaves_all_that_has_come_with_the_error() -> None:
    cut = json.dumps({"candidates": [{"content": {"parts": [text("sum")]}}]})
    wire = scripted(part(text("The ")), f"data: {cut}\n\n")
    async with Client(http=wire) as client:
        error = (await client.stream(ASKED).result()).failure()

    assert error.partial is not None
    assert error.partial.text == "The sum"


async def test_an_object_may_come_in_parts() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}}
    wire = scripted(part(text('{"a": "x')), part(text('y"}'), reason="STOP", token=None))
    async with Client(http=wire) as client:
        asked = request(
            model=MODEL, prompt="Hi", response_format=ResponseFormat.json_schema(schema)
        )
        response = await client.complete(asked)

    assert response.text == '{"a": "xy"}'


async def test_a_run_has_one_step_for_all_parts_and_runs_their_calls() -> None:
    @tool
    def look() -> str:
        """Return the weather."""
        return "rain"

    wire = scripted(part(text("The ")), part(CALL, reason="STOP", token=None), LAST)
    async with Client(http=wire) as client:
        result = await generate(MODEL, "Hi", tools=[look], client=client)

    assert [step.response.text for step in result.steps] == ["The ", " is 4."]
    assert "continuationToken" not in wire.bodies[2]
    roles = [content["role"] for content in wire.bodies[2]["contents"]]
    assert roles == ["user", "model", "user"]


async def test_a_streamed_run_of_parts_keeps_the_order_of_events() -> None:
    wire = scripted(part(text("The ")), LAST)
    async with Client(http=wire) as client:
        run = stream(MODEL, "Hi", client=client)
        events = [event async for event in run]
        result = await run.result()

    assert violations(events) == []
    assert result.text == "The  is 4."
    assert len(result.steps) == 1
