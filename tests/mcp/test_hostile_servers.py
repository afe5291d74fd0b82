"""MCP servers over HTTP that break the protocol: each call fails in time, with a typed error."""

import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest

from llmcore.mcp import HttpServer, McpServers
from llmcore.schema.errors import LLMError, NotFoundError, ProviderError, StreamError
from llmcore.testing.fake_model import call
from tests.mcp.test_servers_over_the_wire import ran
from tests.support.servers.mcp_http import serving_app, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "hostile", "version": "1"},
}
TOOLS = {"tools": [{"name": "t", "description": "d", "inputSchema": {"type": "object"}}]}
LARGE = b" " * 40_000_000
"""More than the limit of a body, of which little is left when it is compressed."""

Reply = tuple[int, Mapping[str, str], bytes]
Answer = Callable[[Any], Reply]


def result(request: Any, value: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": value}).encode()


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


@contextmanager
def hostile(method: str, answer: Answer) -> Iterator[tuple[str, list[Any]]]:
    """Serve one tool, and *answer* to requests of *method*; yield the URL and all requests."""
    received: list[Any] = []

    def reply(kind: str, request: Any) -> Reply:
        asked = request.get("method")
        if kind != "POST":
            return (405 if kind == "GET" else 200), {}, b""
        if asked == method:
            return answer(request)
        if asked == "initialize":
            return 200, {**JSON, "mcp-session-id": "s"}, result(request, INITIALIZED)
        if asked == "tools/list":
            return 200, JSON, result(request, TOOLS)
        return (202 if "id" not in request else 404), {}, b""

    async def app(
        scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        body = (await receive()).get("body") or b"{}"
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        request = json.loads(body)
        received.append((scope["method"], headers, request))
        status, fields, data = reply(scope["method"], request)
        head = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": data})

    with serving_app(lambda _url: app) as url:
        yield url, received


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[McpServers]:
    server = HttpServer(url, headers={"authorization": "Bearer secret"}, call_seconds=5)
    async with McpServers({"x": server}) as servers:
        yield servers


def fine(request: Any) -> Reply:
    return 200, JSON, result(request, {"content": [TEXT]})


TEXT = {"type": "text", "text": "fine"}
BROKEN: Mapping[str, tuple[Answer, str]] = {
    "a page": (lambda _r: (200, {"content-type": "text/html"}, b"<html>"), "content type"),
    "no type": (lambda r: (200, {}, result(r, TOOLS)), "content type"),
    "no JSON": (lambda _r: (200, JSON, b'{"jsonrpc": '), "Failed to parse"),
    "no message": (lambda _r: (200, JSON, b'{"a": 1}'), "Failed to parse"),
    "deep JSON": (lambda _r: (200, JSON, b"[" * 200_000 + b"]" * 200_000), "Failed to parse"),
    "no JSON in an event": (lambda _r: (200, EVENTS, event(b"{")), "Failed to parse"),
    "no event": (lambda _r: (200, EVENTS, b""), "ended without a response"),
    "half an event": (lambda _r: (200, EVENTS, b'data: {"json'), "ended without a response"),
    "nothing": (lambda _r: (204, {}, b""), "content type"),
    "accepted": (lambda _r: (202, {}, b""), "202"),
    "a large body": (lambda _r: (200, JSON, LARGE), "larger than the limit"),
    "a large event": (lambda _r: (200, EVENTS, event(LARGE)), "byte limit"),
    "a compressed body": (
        lambda _r: (200, {**JSON, "content-encoding": "gzip"}, gzip.compress(LARGE)),
        "only plain ones are accepted",
    ),
    "a compressed stream": (
        lambda _r: (200, {**EVENTS, "content-encoding": "gzip"}, gzip.compress(event(LARGE))),
        "SSE stream",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_answer_fails_the_call_and_the_next_one_is_made(kind: str) -> None:
    answer, said = BROKEN[kind]
    broken = [answer]

    def breaks_once(request: Any) -> Reply:
        return (broken.pop() if broken else fine)(request)

    with hostile("tools/call", breaks_once) as (url, _):
        async with connected(url) as servers:
            (failed,) = await ran(servers, call("x__t", {}))
            (done,) = await ran(servers, call("x__t", {}))

    assert failed.is_error
    assert said in str(failed.content)
    assert (done.is_error, done.content) == (False, "fine")


async def failure(url: str) -> LLMError:
    """Return the error by which a server cannot be connected."""
    with pytest.raises(LLMError) as raised:
        async with connected(url):
            pass
    return raised.value


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_list_of_tools_fails_the_connection(kind: str) -> None:
    answer, said = BROKEN[kind]
    with hostile("tools/list", answer) as (url, _):
        error = await failure(url)

    assert isinstance(error, ProviderError | StreamError)
    assert said in str(error)


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFoundError), (429, ProviderError), (500, ProviderError)]
)
async def test_a_refused_list_of_tools_is_an_error_with_its_status(
    status: int, error: type[LLMError]
) -> None:
    """Not that of the goodbye to the server, which comes after it."""
    with hostile("tools/list", lambda _r: (status, {}, b"")) as (url, _):
        raised = await failure(url)

    assert isinstance(raised, error)
    assert raised.status_code == status
    assert ("check the path" in raised.message) == (status == 404)


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_to_another_host_is_not_followed(status: int) -> None:
    """The other one would get the key of this one."""
    with (
        hostile("tools/call", lambda r: (200, JSON, result(r, {}))) as (other, received),
        hostile("tools/call", lambda _r: (status, {"location": other}, b"")) as (url, _),
    ):
        async with connected(url) as servers:
            (failed,) = await ran(servers, call("x__t", {}))

    assert "not followed" in str(failed.content)
    assert received == []


async def test_compressed_answers_are_not_asked_for() -> None:
    with hostile("tools/call", fine) as (url, received):
        async with connected(url) as servers:
            await ran(servers, call("x__t", {}))

    assert {headers["accept-encoding"] for _, headers, _ in received} == {"identity"}


@contextmanager
def flooding() -> Iterator[tuple[str, list[str]]]:
    """Serve a tool whose first call sends requests without end and takes no answer to them.

    Yield the URL, and the methods that were asked for.
    """
    methods: list[str] = []
    ping = event(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')

    async def app(
        scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        request = json.loads((await receive()).get("body") or b"{}")
        asked = request.get("method")
        methods.append(asked)
        status, data = (202 if scope["method"] == "POST" else 405), b""
        fields: Mapping[str, str] = {}
        if asked is None and "id" in request:  # an answer
            while (await receive())["type"] != "http.disconnect":
                pass
        elif asked == "initialize":
            status, fields = 200, {**JSON, "mcp-session-id": "s"}
            data = result(request, INITIALIZED)
        elif asked == "tools/list":
            status, fields, data = 200, JSON, result(request, TOOLS)
        elif asked == "tools/call":
            status, fields, data = fine(request)
            if methods.count(asked) == 1:
                fields = EVENTS
        head = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        while fields is EVENTS and methods:
            await send({"type": "http.response.body", "body": ping, "more_body": True})
            await anyio.sleep(0.001)
        await send({"type": "http.response.body", "body": data})

    with serving_app(lambda _url: app) as url:
        yield url, methods
        methods.clear()


async def test_a_flood_of_requests_does_not_delay_the_limit_of_a_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The SDK waits for seconds until the server has taken the notice of the cancelled call."""
    with flooding() as (url, methods):
        async with McpServers({"x": HttpServer(url, call_seconds=1)}) as servers:
            (failed,) = await ran(servers, call("x__t", {}))
            had_given_up = "gave up" in caplog.text
            await until(lambda: methods.count("initialize") == 2)  # the session is blocked
            (done,) = await ran(servers, call("x__t", {}))

    assert "longer than 1 second" in str(failed.content)
    assert not had_given_up
    assert (done.is_error, done.content) == (False, "fine")
