"""npm's `openai` over Chat, `@anthropic-ai/sdk` and `@google/genai` against `openbridge serve`."""

from typing import Any

import pytest

from tests.support.programs.client_programs import scene
from tests.support.servers.client_gateway import Bridge
from tests.support.servers.client_upstream import CITIES

STOPPED = {"openai_chat": "stop", "anthropic": "end_turn", "google": "STOP"}
LOOP = {"called": list(CITIES), "text": "That is: Oslo: sunnyRome: sunny"}

each = pytest.mark.parametrize("package", list(STOPPED))


def ask(bridge: Bridge, package: str, name: str) -> Any:
    return scene(package, name, bridge.url)


@each
@pytest.mark.parametrize("name", ["create", "stream"])
def test_a_response_with_its_tokens(bridge: Bridge, package: str, name: str) -> None:
    """The deltas of a stream are its text; tokens are those that the upstream counted."""
    made = ask(bridge, package, name)

    assert (made["text"], made["reason"], made["tokens"]) == ("Hello", STOPPED[package], 5)
    assert made.get("deltas", made["text"]) == made["text"]


@each
@pytest.mark.parametrize("name", ["tools", "tools_streamed"])
def test_tools_in_several_turns(bridge: Bridge, package: str, name: str) -> None:
    """Each call is made once, and the results reach the upstream."""
    assert ask(bridge, package, name) == LOOP


@each
def test_models_are_listed_in_the_form_of_the_api(bridge: Bridge, package: str) -> None:
    """The package's own pager reads them."""
    assert "m-1" in ask(bridge, package, "models")


@pytest.mark.parametrize("package", ["anthropic", "google"])
def test_tokens_are_counted_before_sending(bridge: Bridge, package: str) -> None:
    """The upstream has no way to count them, so they are estimated."""
    assert ask(bridge, package, "count")["input_tokens"] > 0


@each
def test_failures_raise_with_the_status_and_the_words(bridge: Bridge, package: str) -> None:
    """A wrong key, a limit of the upstream, and an upstream that is broken."""
    failed = ask(bridge, package, "errors")

    assert (failed["key"]["status"], failed["limited"]["status"]) == (401, 429)
    assert failed["broken"]["status"] >= 500
    assert "as you wish" in failed["limited"]["message"]


@each
def test_heartbeats_in_a_silence_are_read_over(bridge: Bridge, package: str) -> None:
    """Before the response and within it, in the form that each front has for them."""
    made = scene(package, "stream", bridge.url, PROMPT="First stay silent.")

    assert (made["deltas"], made["reason"]) == ("Hello", STOPPED[package])


@each
def test_an_upstream_that_breaks_off_raises(bridge: Bridge, package: str) -> None:
    """Half a response is not taken for a whole one."""
    made = ask(bridge, package, "cut")

    assert made["failed"]
    assert made["deltas"] in ("Hel", "")
