"""Messages to clients, and lines of the log, after failures of the gateway's own connections."""

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from llmcore.bridge.http.logs import LOGGER
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.model import Model
from tests.support.servers.bridge_service import refused, streamed
from tests.support.servers.front_gateways import gateway
from tests.support.servers.loopback import Answer, Received, chat_stream, serve

CHAT: Final = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CONTENTS: Final = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
REQUESTS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "chat": ("/v1/chat/completions", CHAT),
    "responses": ("/v1/responses", {"model": "m", "input": "Hi"}),
    "messages": ("/v1/messages", {**CHAT, "max_tokens": 9}),
    "gemini": ("/v1beta/models/m:generateContent", CONTENTS),
    "embeddings": ("/v1/embeddings", {"model": "m", "input": "Hi"}),
}
STREAMS: Final = {
    name: ("/v1beta/models/m:streamGenerateContent?alt=sse", body)
    if name == "gemini"
    else (path, {**body, "stream": True})
    for name, (path, body) in REQUESTS.items()
    if name != "embeddings"
}


def model_at(url: str) -> Model:
    return OpenAICompatible.configure(name="up", base_url=f"{url}/v1", api_key="sk-hidden").model(
        "m-1"
    )


@pytest.fixture
def nobody() -> Iterator[str]:
    """Yield the address of a port at which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return the errors of the lines of requests."""
    facts = [getattr(record, "facts", {}) for record in caplog.records]
    return "\n".join(str(known["error"]) for known in facts if "error" in known)


def assert_names_nothing(text: str, url: str) -> None:
    """Neither an address nor a library, a setting or an exception."""
    address = url.removeprefix("http://")
    for word in (address, "127.0.0.1", "http:", "base_url", "Connect", "Errno", "httpx", "sk-"):
        assert word not in text, word


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize(
    "request_",
    [*REQUESTS.values(), *STREAMS.values()],
    ids=[*REQUESTS, *map("{}-s".format, STREAMS)],
)
def test_the_address_of_an_unreachable_upstream_is_in_the_log_only(
    nobody: str, request_: tuple[str, Any], relay: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path, body = request_
    with (
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(nobody), relay=relay) as url,
    ):
        answer = httpx.post(url + path, json=body, timeout=20)

    assert answer.status_code in (502, 503)
    assert "the upstream cannot be reached" in answer.text
    assert_names_nothing(answer.text, nobody)
    assert nobody.removeprefix("http://") in logged(caplog)


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize("request_", STREAMS.values(), ids=STREAMS)
def test_a_connection_that_breaks_within_a_stream_is_told_in_plain_words(
    request_: tuple[str, Any], relay: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_received: Received) -> Answer:
        return streamed(chat_stream(["half"])[:1], cut=True)

    path, body = request_
    with (
        serve(broken) as server,
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(server.url), relay=relay) as url,
    ):
        answer = httpx.post(url + path, json=body, timeout=20)
        address = server.url

    assert "half" in answer.text
    assert "the connection to it broke" in answer.text
    assert_names_nothing(answer.text, address)
    assert address in logged(caplog)


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_provider_that_quotes_the_gateways_key_is_not_quoted(
    request_: tuple[str, Any], relay: bool, caplog: pytest.LogCaptureFixture
) -> None:
    quoted = "Incorrect API key provided: sk-hi****den, of org-42."
    path, body = request_
    with (
        serve(lambda _: refused(401, quoted)) as server,
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(server.url), relay=relay) as url,
    ):
        answer = httpx.post(url + path, json=body, timeout=20)

    assert answer.status_code == 502
    assert "the upstream did not accept the key of the gateway" in answer.text
    assert "org-42" not in answer.text
    assert "org-42" in logged(caplog)


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize(
    "request_",
    [*REQUESTS.values(), *STREAMS.values()],
    ids=[*REQUESTS, *map("{}-s".format, STREAMS)],
)
def test_the_address_of_an_upstream_that_lacks_the_model_is_in_the_log_only(
    request_: tuple[str, Any], relay: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path, body = request_
    with (
        serve(lambda _: refused(404, "no such model")) as server,
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(server.url), relay=relay) as url,
    ):
        answer = httpx.post(url + path, json=body, timeout=20)
        address = server.url

    assert "no such model" in answer.text
    assert_names_nothing(answer.text, address)
    if path != REQUESTS["embeddings"][0]:
        assert f"[request: POST {address}/v1/chat/completions" in logged(caplog)


def test_a_web_page_in_place_of_a_response_is_not_quoted(caplog: pytest.LogCaptureFixture) -> None:
    page = b"<html>nginx of inner.example</html>"

    def page_of(_received: Received) -> Answer:
        return Answer([page], headers={"content-type": "text/html"}, length=len(page))

    path, body = REQUESTS["responses"]
    with (
        serve(page_of) as server,
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(server.url), relay=False) as url,
    ):
        answer = httpx.post(url + path, json=body, timeout=20)

    assert answer.status_code == 502
    assert "inner.example" not in answer.text
    assert "inner.example" in logged(caplog)


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_web_servers_page_of_an_error_has_the_form_of_the_clients_api(
    relay: bool, stream: bool
) -> None:
    """A proxy in front of the upstream sends it; SDKs cannot read it."""
    page = b"<html><title>504 Gateway Time-out</title><p>nginx at inner.example</html>"

    def page_of(_received: Received) -> Answer:
        return Answer([page], 504, {"content-type": "text/html"}, length=len(page))

    path, body = REQUESTS["chat"]
    with serve(page_of) as server, gateway(model_at(server.url), relay=relay) as url:
        answer = httpx.post(url + path, json={**body, "stream": stream}, timeout=20)

    assert answer.status_code == 504
    assert answer.json()["error"]["code"] == "upstream_timeout"
    assert answer.json()["error"]["message"].endswith("a web page: 504 Gateway Time-out")
    assert "inner.example" not in answer.text
    assert answer.headers["x-should-retry"] == "true"


def test_the_failure_of_a_background_response_is_in_the_log(
    nobody: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, body = REQUESTS["responses"]
    with (
        caplog.at_level(logging.INFO, LOGGER.name),
        gateway(model_at(nobody)) as url,
    ):
        queued = httpx.post(url + path, json={**body, "background": True}, timeout=20).json()
        answer = httpx.get(f"{url}{path}/{queued['id']}?stream=true", timeout=20)

    last = json.loads(answer.text.strip().splitlines()[-1].removeprefix("data: "))
    assert last["type"] == "response.failed"
    assert_names_nothing(answer.text, nobody)
    assert nobody.removeprefix("http://") in logged(caplog)
