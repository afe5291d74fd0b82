"""The gateway with nothing configured but the embedded model, asked by the official client."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI
from pydantic import BaseModel

from llmcore.bridge.configuration.reading import settings_from
from tests.support.servers.bridge_service import listening
from tests.support.servers.local_scenes import CITY

pytestmark = pytest.mark.local_model


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    """Run a gateway by the one variable that it takes."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    environ = {
        "OPENBRIDGE_UPSTREAM": "local",
        "OPENBRIDGE_STATE_PATH": str(folder / "state.db"),
        "OPENBRIDGE_CHECK_STREAM": "true",
        **{name: os.environ[name] for name in ("HOME", "LLMCORE_CACHE_DIR") if name in os.environ},
    }
    with (
        listening(settings_from(environ)) as url,
        OpenAI(base_url=url, api_key="none", max_retries=0, timeout=120) as made,
    ):
        yield made


def test_a_conversation_continues_by_its_previous_response_id(client: OpenAI) -> None:
    """Whole, then streamed over `previous_response_id`."""
    first = client.responses.create(
        model="smollm2", input="Say hello.", temperature=0, max_output_tokens=12
    )
    with client.responses.stream(
        model="smollm2",
        input="Again.",
        previous_response_id=first.id,
        temperature=0,
        max_output_tokens=12,
    ) as stream:
        events = list(stream)
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    last = events[-1]
    assert last.type in ("response.completed", "response.incomplete")
    second = last.response

    assert first.output_text
    assert "".join(deltas) == second.output_text
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens


class Answer(BaseModel):
    yes: bool


def test_an_object_follows_the_schema(client: OpenAI) -> None:
    """The model is held to the schema."""
    response = client.responses.parse(
        model="smollm2", input="Is water wet?", text_format=Answer, temperature=0
    )

    assert isinstance(response.output_parsed, Answer)


def test_required_tool_gets_valid_arguments_and_takes_its_result(client: OpenAI) -> None:
    """The call's arguments fit its parameters, and its result can be sent back."""
    tool: Any = {
        "type": "function",
        "name": "get_weather",
        "description": "Get the current weather in a city.",
        "parameters": CITY,
    }
    first = client.responses.create(
        model="smollm2",
        input="What is the weather in Rome?",
        tools=[tool],
        tool_choice="required",
        temperature=0,
        max_output_tokens=64,
    )
    call = first.output[0]
    assert call.type == "function_call"
    assert call.name == "get_weather"
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    second = client.responses.create(
        model="smollm2", input=[result], previous_response_id=first.id, max_output_tokens=16
    )

    assert second.status in ("completed", "incomplete")


def test_tokens_are_counted_as_they_are_used(client: OpenAI) -> None:
    """`/responses/input_tokens` agrees with the usage of the response."""
    counted = client.responses.input_tokens.count(model="smollm2", input="Say hello.")
    answered = client.responses.create(model="smollm2", input="Say hello.", max_output_tokens=1)

    assert answered.usage is not None
    assert counted.input_tokens == answered.usage.input_tokens


def test_the_model_of_the_embedded_server_is_listed(client: OpenAI) -> None:
    """The embedded server names its model."""
    assert len(list(client.models.list())) == 1
