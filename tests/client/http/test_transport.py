"""The HTTP transport: other clients, redirects, compression, certificates, proxies."""

import errno
import gzip
import os
from collections.abc import Iterator

import httpx
import pytest

from llmcore import Client, NetworkError, OpenAICompatible, Success, request
from llmcore.client.http.errors import TOO_MANY_FILES, translate
from llmcore.routes.http_request import HttpRequest
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_handler,
    chat_whole,
    model_at,
    serve,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


async def both(client: Client, url: str) -> None:
    wanted = request(model=model_at(url), prompt="Hi")
    assert (await client.generate(wanted)).unwrap().text == "Hello"
    assert (await client.stream(wanted).result()).unwrap().text == "Hello"


def redirecting(target: str, status: int = 307) -> Answer:
    return Answer([b""], status, {"location": target}, length=0)


async def test_a_redirect_on_the_same_host_keeps_the_request(server: Loopback) -> None:
    """307 repeats method, body and credentials."""

    def handler(received: Received) -> Answer:
        return chat_handler(received) if received.path.startswith("/new") else redirecting("/new/x")

    server.handler = handler
    async with Client() as client:
        await both(client, server.url)

    assert server.received[1].headers["authorization"] == "Bearer sk-secret-key"
    assert server.received[1].body == server.received[0].body


async def test_a_redirect_to_another_host_drops_credentials(server: Loopback) -> None:
    """A key goes to the host it was meant for and to no other."""
    with serve(chat_handler) as other:
        server.handler = lambda _: redirecting(other.url + "/v1/chat/completions")
        async with Client() as client:
            assert isinstance(
                await client.generate(request(model=model_at(server.url), prompt="x")), Success
            )

        assert "authorization" not in other.received[0].headers


async def test_a_redirect_from_https_to_http_is_refused() -> None:
    """Nothing of the request goes out in clear."""
    sent: list[str] = []

    def answered(received: httpx.Request) -> httpx.Response:
        sent.append(received.url.scheme)
        return httpx.Response(307, headers={"location": "http://acme.test/v2"})

    acme = OpenAICompatible.configure(name="acme", base_url="https://acme.test/v1", api_key="k")
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answered)) as http,
        Client(http=http) as client,
    ):
        error = (await client.generate(request(model=acme.model("m"), prompt="Hi"))).failure()

    assert isinstance(error, NetworkError)
    assert "from https to http" in error.message
    assert not error.retryable
    assert sent == ["https"]


async def test_endless_redirects_are_an_error(server: Loopback) -> None:
    """Five are followed."""
    server.handler = lambda _: redirecting("/again")
    async with Client() as client:
        error = (await client.generate(request(model=model_at(server.url), prompt="x"))).failure()

    assert isinstance(error, NetworkError)
    assert len(server.received) == 6


async def test_a_redirect_that_changes_the_method_is_an_error(server: Loopback) -> None:
    """A 302 would turn the POST into a GET: it is reported, with the place it points to."""
    server.handler = lambda _: redirecting("https://elsewhere.example/login", 302)
    async with Client() as client:
        error = (await client.generate(request(model=model_at(server.url), prompt="x"))).failure()

    assert error.status_code == 302


async def test_compressed_responses_are_read(server: Loopback) -> None:
    """Content-Encoding is undone, within the size limit."""
    data = gzip.compress(chat_whole())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    server.handler = lambda _: Answer([data], headers=headers, length=len(data))
    async with Client() as client:
        result = await client.generate(request(model=model_at(server.url), prompt="Hi"))

    assert result.unwrap().text == "Hello"


async def test_a_proxy_from_the_environment_is_used(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY carries the call; NO_PROXY keeps it direct."""
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with Client() as client:
        await both(client, "http://provider.invalid/v1")

    paths = [received.path for received in server.received if received.method == "POST"]
    assert paths == ["http://provider.invalid/v1/chat/completions"] * 2


def test_errors_of_other_code_keep_their_class() -> None:
    """A bug is not dressed up as a network error."""
    wanted = HttpRequest(method="POST", url="http://x.example")
    bug = ZeroDivisionError()

    assert translate(bug, wanted.url) is bug
    assert isinstance(translate(OSError("broken"), wanted.url), NetworkError)


async def test_an_exception_that_the_caller_handles_is_no_cause_of_a_failure() -> None:
    """Python makes it the context; its frames and its text are the caller's own."""
    wanted = HttpRequest(method="GET", url="https://api.example/v1", headers={})

    async def failing() -> None:
        raise OSError

    async def call() -> Exception:
        try:
            await failing()
        except OSError as error:
            return translate(error, wanted.url)
        raise AssertionError

    try:
        int("the caller's own")
    except ValueError as handled:
        failure = await call()
        kept = handled.__traceback__

    assert kept is not None
    assert "the caller's own" not in str(failure)
    assert isinstance(failure, NetworkError)
    assert failure.__cause__ is not None
    assert failure.__cause__.__traceback__ is None


@pytest.mark.parametrize("fault", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_not_called_a_fault_of_the_server(fault: int) -> None:
    """The message names the limit, not the address."""
    wanted = HttpRequest(method="POST", url="http://127.0.0.1:8000/v1")
    broken = OSError("cannot connect")
    broken.__cause__ = OSError(fault, os.strerror(fault))
    error = translate(broken, wanted.url)

    assert isinstance(error, NetworkError)
    assert error.error_code == TOO_MANY_FILES
    assert "ulimit -n" in error.message
    assert "base_url" not in error.message
