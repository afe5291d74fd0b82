"""npm's `openai` against `openbridge serve`."""

from typing import Any

import pytest

from tests.support.programs.client_programs import scene
from tests.support.servers.bridge_process import Gateway
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import CITIES, SIGNATURES

LOOP = {"called": list(CITIES), "text": "That is: Oslo: sunnyRome: sunny"}


def ask(bridge: Bridge, name: str) -> Any:
    return scene("openai", name, bridge.url)


def test_create_returns_usage_and_our_request_id(bridge: Bridge) -> None:
    """A whole response with its usage and our request id."""
    made = ask(bridge, "create")

    assert (made["text"], made["status"]) == ("Hello", "completed")
    assert made["usage"]["total_tokens"] == 5
    assert made["id"].startswith("req_")


def test_stream_is_accepted_by_the_packages_accumulator(bridge: Bridge) -> None:
    """The package's own accumulator takes every event."""
    made = ask(bridge, "stream")

    assert (made["deltas"], made["text"], made["status"]) == ("Hello", "Hello", "completed")
    assert made["types"][0] == "response.created"
    assert made["types"][-1] == "response.completed"


def test_create_with_stream_yields_raw_events(bridge: Bridge) -> None:
    """`create({stream: true})`."""
    assert ask(bridge, "raw_events")["types"].count("response.output_text.delta") == 2


@pytest.mark.recorded_as("openai_js_parse", "openai")
def test_parse_sends_a_zod_schema_and_returns_the_object(bridge: Bridge) -> None:
    """A schema of zod goes up, an object comes back."""
    assert ask(bridge, "parse") == {"parsed": {"yes": True}}
    sent: Any = bridge.upstream.received[0].json
    assert sent["response_format"]["json_schema"]["strict"] is True


@pytest.mark.recorded_as("openai_js_previous_response", "openai")
def test_tools_by_previous_response(bridge: Bridge) -> None:
    """Three turns, each naming the one before; thinking goes back signed."""
    made = ask(bridge, "tools_by_previous_response")

    assert {name: made[name] for name in LOOP} == LOOP
    assert signatures(bridge) == list(SIGNATURES)


@pytest.mark.recorded_as("openai_js_encrypted_reasoning", "openai")
def test_tools_with_encrypted_reasoning(bridge: Bridge) -> None:
    """Nothing is stored, and the thinking still goes back signed."""
    made = ask(bridge, "tools_with_encrypted_reasoning")

    assert {name: made[name] for name in LOOP} == LOOP
    assert signatures(bridge) == list(SIGNATURES)


def test_streamed_tool_loop_completes(bridge: Bridge) -> None:
    """The same by streams."""
    made = ask(bridge, "tools_streamed")

    assert {name: made[name] for name in LOOP} == LOOP


def signatures(bridge: Bridge) -> list[str]:
    """Return the signatures that the last request brought back to the upstream."""
    body: Any = bridge.upstream.received[-1].json
    return [
        detail["signature"]
        for message in body["messages"]
        for detail in message.get("reasoning_details", ())
        if "signature" in detail
    ]


def test_stored_responses_are_retrieved_listed_and_deleted(bridge: Bridge) -> None:
    """Retrieved, listed, deleted."""
    assert ask(bridge, "stored") == {"same": True, "items": ["message"], "gone": 404}


def test_errors_are_raised_as_the_packages_classes(bridge: Bridge) -> None:
    """Each is the package's own class."""
    failed = ask(bridge, "errors")

    assert {name: (one["kind"], one["status"]) for name, one in failed.items()} == {
        "missing": ("BadRequestError", 400),
        "reference": ("NotFoundError", 404),
        "key": ("AuthenticationError", 401),
        "limited": ("RateLimitError", 429),
        "broken": ("InternalServerError", 502),
    }
    assert failed["missing"]["code"] == "previous_response_not_found"


def test_an_upstream_that_breaks_off(bridge: Bridge) -> None:
    """The SDK raises what the stream ends with."""
    failed = ask(bridge, "cut")

    assert "the connection to it broke" in failed["message"]


@pytest.mark.parametrize("name", ["create", "stream"])
def test_the_local_model_talks(local: Gateway, name: str) -> None:
    """With nothing configured but the embedded model."""
    made = scene("openai", name, local.url, model="smollm2")

    assert made["text"]
    assert made["status"] in ("completed", "incomplete")
    assert made.get("deltas", made["text"]) == made["text"]


def test_the_local_model_keeps_to_a_schema(local: Gateway) -> None:
    """`responses.parse` on the embedded model."""
    made = scene("openai", "parse", local.url, model="smollm2")

    assert isinstance(made["parsed"]["yes"], bool)


def test_the_local_model_calls_a_tool(local: Gateway) -> None:
    """A required tool is called with the arguments that it takes."""
    made = scene("openai", "required_tool", local.url, model="smollm2")

    assert made == [["get_weather", ["city"]]]
