"""Streams that end in every way, read by npm's clients of every API in front of four upstreams.

One process of Node asks for all of them. A failure is thrown with its words, and is never taken
for the end of a response.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from llmcore.bridge.model_map import model_map_from
from tests.support.programs.client_programs import run_node
from tests.support.servers.front_gateways import served, service_for, violations
from tests.support.servers.loopback import Answer, Received, Script, serve
from tests.support.wire.matrix import ANTHROPIC, COMPATIBLE, GEMINI, OPENAI, Column, Said

UPSTREAMS: Mapping[str, Column] = {
    "openai-responses": OPENAI,
    "openai-chat": COMPATIBLE,
    "anthropic-messages": ANTHROPIC,
    "gemini": GEMINI,
}
FIRE = "the machine caught fire"
ERRORS: Mapping[str, tuple[str | None, dict[str, Any]]] = {
    "openai-responses": (
        "error",
        {"type": "error", "code": "server_error", "message": FIRE, "param": None},
    ),
    "openai-chat": (None, {"error": {"message": FIRE, "type": "server_error", "code": 500}}),
    "anthropic-messages": (
        "error",
        {"type": "error", "error": {"type": "overloaded_error", "message": FIRE}},
    ),
    "gemini": (None, {"error": {"code": 503, "message": FIRE, "status": "UNAVAILABLE"}}),
}
"""The error of a stream as each upstream sends it, by its name and data."""
TEXT = "It rains in Bergen, as it always does."


def frames(column: Column) -> tuple[list[bytes], list[bytes]]:
    """Return the events of a streamed text up to the first words of it, and the others."""
    whole = column.streamed(column.whole(Said(text=TEXT))).replace(b"\r\n", b"\n")
    found = [frame + b"\n\n" for frame in whole.split(b"\n\n") if frame.strip()]
    first = next(at for at, frame in enumerate(found) if b"It ra" in frame) + 1
    return found[:first], found[first:]


def error_of(api: str) -> bytes:
    name, data = ERRORS[api]
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


SCRIPTS: Mapping[str, Callable[[str, list[bytes], list[bytes]], Script]] = {
    "whole": lambda _, head, rest: [*head, *rest],
    "silent": lambda _, head, rest: [0.3, *head, 0.3, *rest],
    "error amid": lambda api, head, _: [*head, 0.02, error_of(api)],
    "error at once": lambda api, *_: [error_of(api)],
    "cut": lambda _, head, __: head,
    "no end": lambda _, head, __: head,
    "no JSON": lambda _, head, __: [*head, b'data: {"oops\n\n'],
    "empty": lambda *_: [b""],
}
"""The streams of an upstream, by the prompts that ask for them."""
GOOD = frozenset({"whole", "silent"})
BEGUN = frozenset({"error amid", "cut", "no end", "no JSON"})
WORDS = {
    "error amid": FIRE,
    "error at once": FIRE,
    "cut": "the connection to it broke",
    "no end": "ended before the response was complete",
    "no JSON": "the response of the upstream cannot be read|JSON",
    "empty": "ended before the response was complete",
}
"""Patterns of the messages. A relay may pass broken JSON on, which clients report themselves."""


def upstream(api: str) -> Callable[[Received], Answer]:
    """Return a server of *api* whose streams end as the prompt says."""
    column = UPSTREAMS[api]
    head, rest = frames(column)

    def answer(received: Received) -> Answer:
        if received.method == "GET":
            return Answer([b"{}"], 404, {"content-type": "application/json"}, 2)
        ending = next(name for name in SCRIPTS if f"End: {name}." in received.body.decode())
        script = SCRIPTS[ending](api, head, rest)
        return Answer(script, headers={"content-type": column.stream_type}, cut=ending == "cut")

    return answer


Heard = Mapping[tuple[str, str, str], Any]
"""The text, finish and failure of a stream, by its client, upstream and ending."""


@pytest.fixture(scope="module", params=[True, False], ids=["relayed", "translated"])
def heard(request: pytest.FixtureRequest) -> Iterator[Heard]:
    """Return what every client reads; same APIs are relayed, or translated like the others."""
    with ExitStack() as stack:
        servers = {api: stack.enter_context(serve(upstream(api))) for api in UPSTREAMS}
        models = {api: UPSTREAMS[api].model_at(servers[api].url) for api in UPSTREAMS}
        names = model_map_from({"models": {api: f"{api}/m" for api in UPSTREAMS}}, "openai-chat")
        service = service_for(
            models["openai-chat"], names, others=models, relay=request.param, keep_alive_s=0.05
        )
        url = stack.enter_context(served(service))
        endings = [f"End: {name}." for name in SCRIPTS]
        asked = {"UPSTREAMS": ",".join(UPSTREAMS), "ENDINGS": ",".join(endings)}
        found = run_node("endings.mjs", BASE_URL=f"{url}/v1", **asked)
        yield {(one["client"], one["upstream"], one["ending"][5:-1]): one for one in found}
        assert violations(service) == 0


CLIENTS: Sequence[str] = (
    "openai/responses",
    "openai/chat",
    "anthropic",
    "google",
    "ai/openai",
    "ai/openai-chat",
    "ai/open-responses",
    "ai/openai-compatible",
    "ai/anthropic",
    "ai/google",
)
clients = pytest.mark.parametrize("client", CLIENTS)
upstreams = pytest.mark.parametrize("api", list(UPSTREAMS))


@clients
@upstreams
@pytest.mark.parametrize("ending", sorted(GOOD))
def test_a_complete_stream_is_read_whole(heard: Heard, client: str, api: str, ending: str) -> None:
    """Heartbeats in its silences are not seen."""
    made = heard[client, api, ending]

    assert made["failure"] is None
    assert made["text"] == TEXT
    assert made["finish"].lower() in ("stop", "end_turn", "completed")


@clients
@upstreams
@pytest.mark.parametrize("ending", sorted(SCRIPTS.keys() - GOOD))
def test_a_stream_that_fails_is_thrown(heard: Heard, client: str, api: str, ending: str) -> None:
    """With the words of the upstream or of the gateway; the text before it has been read."""
    made = heard[client, api, ending]

    assert made["failure"] is not None, made
    assert re.search(WORDS[ending], made["failure"]["message"])
    assert made["text"] in (("It ra",) if ending in BEGUN else ("",))


@pytest.mark.parametrize("client", ["openai/chat", "anthropic", "google"])
@upstreams
@pytest.mark.parametrize("ending", sorted(SCRIPTS.keys() - GOOD - {"no JSON"}))
def test_a_failure_has_the_class_of_the_vendors_package(
    heard: Heard, client: str, api: str, ending: str
) -> None:
    """A relay passes broken JSON as it came. In Responses, the status states the failure."""
    assert heard[client, api, ending]["failure"]["own"] is True
