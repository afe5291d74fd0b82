"""Keys and prompts stay out of logs, errors and tracebacks, whatever becomes of a call."""

import gc
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any, Literal

import anyio
import pytest

from llmcore import Client, LLMError, Model, OpenAI, OpenAICompatible, Timeouts, generate, request
from llmcore.client.http.options import HttpOptions
from llmcore.routes.auth import Auth
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.options import HttpOverlay
from tests.support.servers.loopback import Answer, Loopback, chat_chunk, chat_handler, serve

pytestmark = pytest.mark.anyio

KEY = "sk-SENTINEL-0123456789abcdef"
PROMPT = "PROMPT-SENTINEL the secret of the house"
SSE = {"content-type": "text/event-stream"}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


def in_a_header(url: str) -> tuple[Model, dict[str, Any]]:
    return OpenAICompatible.configure(name="any", base_url=url, api_key=KEY).model("m"), {}


def in_the_query(url: str) -> tuple[Model, dict[str, Any]]:
    auth = Auth.query("key", KEY)
    return OpenAICompatible.configure(name="any", base_url=url, auth=auth).model("m"), {}


def in_the_environment(url: str) -> tuple[Model, dict[str, Any]]:
    return OpenAI.configure(base_url=url).chat("m"), {}


def in_an_overlay(url: str) -> tuple[Model, dict[str, Any]]:
    model = OpenAICompatible.configure(name="any", base_url=url).model("m")
    return model, {"http": HttpOverlay(headers={"x-api-key": KEY}, query={"api_key": KEY})}


PLACES = [in_a_header, in_the_query, in_the_environment, in_an_overlay]


def quoting(status: int) -> Callable[[Any], Answer]:
    """Quote back all that came, as some servers do."""

    def handler(received: Any) -> Answer:
        body = f'{{"error": {{"message": "bad: {KEY}", "path": "{received.path}"}}}}'.encode()
        return Answer([body], status, {"content-type": "application/json"}, len(body))

    return handler


CUT = [chat_chunk(delta={"content": "a"})]
OUTCOMES: dict[str, Any] = {
    "success": chat_handler,
    "401": quoting(401),
    "500": quoting(500),
    "cut": lambda _: Answer(CUT, headers=SSE, cut=True),
    "timeout": lambda _: Answer([5.0], headers=SSE),
    "no server": None,
}


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("place", PLACES)
async def test_no_key_and_no_prompt_is_reported(
    server: Loopback,
    place: Callable[[str], tuple[Model, dict[str, Any]]],
    outcome: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """At the finest log level of everything, in all that an error shows, and in its traceback."""
    caplog.set_level(logging.DEBUG)
    server.handler = OUTCOMES[outcome]
    url = server.url if OUTCOMES[outcome] else "http://127.0.0.1:9"
    model, settings = place(url)
    shown = [repr(model)]
    async with Client(environ={"OPENAI_API_KEY": KEY}) as client:
        try:
            with anyio.fail_after(20):
                result = await generate(
                    model,
                    PROMPT,
                    client=client,
                    max_retries=1 if outcome == "success" else 0,
                    timeout=Timeouts(first_event=0.1 if outcome == "timeout" else 10.0),
                    **settings,
                )
            assert (outcome, result.text) == ("success", "Hello")
        except LLMError as error:
            assert outcome != "success"
            shown += [str(error), repr(error), repr(error.args), repr(error.raw), repr(error.cause)]
            shown += traceback.format_exception(error)

    written = "\n".join([*shown, caplog.text, *map(str, (vars(one) for one in caplog.records))])
    written += "".join(capfd.readouterr())
    assert KEY not in written
    assert PROMPT not in written


DEEP = 1200


@pytest.mark.parametrize("status", [400, 500])
async def test_error_body_nested_deeply_is_an_error_that_is_redacted_and_pickles(
    server: Loopback, status: int
) -> None:
    """A server cannot raise RecursionError in its client."""
    inside = f'{{"message": "bad: {KEY}", "x": {"[" * DEEP}"{KEY}"{"]" * DEEP}}}'
    body = f'{{"error": {inside}}}'.encode()
    server.handler = lambda _: Answer([body], status, {"content-type": "application/json"})
    async with Client() as client:
        result = await client.generate(request(model=in_a_header(server.url)[0], prompt="Hi"))
    error = result.failure()

    assert KEY not in repr(error.raw)
    assert KEY not in str(error)
    assert pickle.loads(pickle.dumps(error)) == error


async def test_nothing_is_printed_and_no_handler_attached(
    server: Loopback, capfd: pytest.CaptureFixture[str]
) -> None:
    """Logging is the application's own affair."""
    before = list(logging.getLogger().handlers)
    async with Client() as client:
        await generate(in_a_header(server.url)[0], PROMPT, client=client)

    assert "".join(capfd.readouterr()) == ""
    assert logging.getLogger().handlers == before
    assert not logging.getLogger("llmcore").handlers


TOKEN = "token-of-an-MCP-server-0123456789"


@pytest.mark.parametrize("engine", ["httpx", "aiohttp"])
async def test_a_body_is_dropped_once_its_response_streams_and_its_tokens_stay_secret(
    server: Loopback, engine: Literal["httpx", "aiohttp"]
) -> None:
    fault = f'data: {{"error": {{"message": "bad: {TOKEN} and {KEY}", "code": 500}}}}\n\n'.encode()
    server.handler = lambda _: Answer([chat_chunk(delta={"content": "a"}), 0.05, fault], 200, SSE)
    tools = [{"type": "mcp", "server_url": "http://127.0.0.1:9", "authorization": TOKEN}]
    model = OpenAICompatible.configure(name="any", base_url=server.url, api_key=KEY).model("m")
    asked = request(model=model, prompt=PROMPT, http=HttpOverlay(body={"tools": tools}))
    async with Client(http=HttpOptions(engine=engine)) as client, client.stream(asked) as stream:
        await stream.next_batch()
        kept = [kept for kept in gc.get_objects() if isinstance(kept, HttpRequest)]
        result = await stream.result()

    assert [one for one in kept if PROMPT.encode() in one.body] == []
    assert TOKEN.encode() in server.received[0].body
    assert "bad: " in (shown := str(result.failure()))
    assert TOKEN not in shown
    assert KEY not in shown
