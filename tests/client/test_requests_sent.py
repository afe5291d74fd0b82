"""Number of requests of a call: one, and one more only where it is documented."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from llmcore import (
    AuthenticationError,
    Azure,
    Client,
    Failure,
    InvalidRequestError,
    LLMError,
    OpenAICompatible,
    RetryPolicy,
    Success,
    TextDelta,
    Timeouts,
    generate,
    request,
    stream,
)
from llmcore.routes.auth import Auth
from llmcore.schema.embeddings import EmbeddingRequest
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_handler,
    chat_stream,
    serve,
)

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}
AT_ONCE = RetryPolicy(max_retries=2, base_delay=0.001, jitter=False)


def failing(status: int, message: str = "no") -> Callable[[Received], Answer]:
    """Answer every request with an error."""
    body = json.dumps({"error": {"message": message}}).encode()
    return lambda _: Answer([body], status, JSON, len(body))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


def provider_at(server: Loopback, name: str = "loop") -> OpenAICompatible:
    return OpenAICompatible.configure(name=name, base_url=server.url + "/v1", api_key="k")


# -- retries


@pytest.mark.parametrize(
    ("status", "message", "sent"),
    [
        (429, "slow down", 3),
        (500, "oops", 3),
        (529, "overloaded", 3),
        (400, "bad", 1),
        (401, "who?", 1),
        (404, "no such model", 1),
        (400, "This model's maximum context length is 100 tokens", 1),
    ],
)
async def test_run_sends_one_request_and_its_retries(
    server: Loopback, status: int, message: str, sent: int
) -> None:
    """One layer retries, by one setting: nothing is multiplied."""
    server.handler = failing(status, message)
    async with Client() as client:
        with pytest.raises(LLMError):
            await generate(
                provider_at(server).model("m"), "Hi", client=client, retry_policy=AT_ONCE
            )

    assert len(server.received) == sent


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
async def test_client_sends_one_request(server: Loopback, status: int) -> None:
    """It never retries."""
    server.handler = failing(status)
    async with Client() as client:
        result = await client.generate(request(model=provider_at(server).model("m"), prompt="Hi"))

    assert isinstance(result, Failure)
    assert len(server.received) == 1


async def test_stream_that_has_brought_text_is_not_sent_again(server: Loopback) -> None:
    """It would be billed, and read, twice."""
    server.handler = lambda _: Answer(chat_stream()[:3], headers=SSE, cut=True)
    text = ""
    async with Client() as client:
        running = stream(provider_at(server).model("m"), "Hi", client=client, retry_policy=AT_ONCE)
        with pytest.raises(LLMError):  # noqa: PT012  (iterating raises at its end)
            async for event in running:
                text += event.text if isinstance(event, TextDelta) else ""

    assert text
    assert len(server.received) == 1


async def test_request_that_timed_out_is_not_sent_again(server: Loopback) -> None:
    """The server may still be at work on it, and bill it; `retry_timeouts` allows it."""
    server.handler = lambda _: Answer([5.0], headers=SSE)
    async with Client(timeouts=Timeouts(first_event=1.0)) as client:
        with pytest.raises(LLMError):
            await generate(
                provider_at(server).model("m"), "Hi", client=client, retry_policy=AT_ONCE
            )

    assert len(server.received) == 1


# -- optional fields that a server rejects


def without_stream_options(received: Received) -> Answer:
    """Answer like a server that does not know `stream_options`."""
    if b"stream_options" in received.body:
        return failing(400, "Unrecognized request argument supplied: stream_options")(received)
    return chat_handler(received)


async def run(client: Client, provider: OpenAICompatible, **settings: Any) -> Any:
    """Run a streamed call to its end."""
    wanted = request(model=provider.model("m"), prompt="Hi", **settings)
    async with client.stream(wanted) as running:
        return await running.result()


async def test_rejected_stream_options_are_left_out_once_and_remembered(server: Loopback) -> None:
    """The server's error names them; requests to another server are unchanged."""
    server.handler = without_stream_options
    provider = provider_at(server)
    with serve(chat_handler) as other:
        async with Client() as client:
            first, second = [(await run(client, provider)).unwrap() for _ in range(2)]
            third = (await run(client, provider_at(other))).unwrap()

        assert [b"stream_options" in one.body for one in server.received] == [True, False, False]
        assert [b"stream_options" in one.body for one in other.received] == [True]
    for response in (first, second):
        assert response.text == "Hello"
        assert [note.code for note in response.diagnostics] == ["rejected-field"]
    assert third.diagnostics == ()


async def test_strict_request_goes_on_without_an_optional_field(server: Loopback) -> None:
    """It loses nothing that was asked for."""
    server.handler = without_stream_options
    async with Client() as client:
        assert isinstance(await run(client, provider_at(server), strict=True), Success)


async def test_server_that_rejects_the_field_in_words_alone_is_asked_twice(
    server: Loopback,
) -> None:
    """The second error is the outcome."""
    server.handler = failing(400, "stream_options is not supported")
    async with Client() as client:
        result = await run(client, provider_at(server))

    assert isinstance(result.failure(), InvalidRequestError)
    assert len(server.received) == 2


async def test_field_that_the_caller_asked_for_is_not_left_out(server: Loopback) -> None:
    """A rejected option of the caller's is an error."""
    server.handler = without_stream_options
    options = {"loop": {"stream_options": {"include_usage": True}}}
    async with Client() as client:
        result = await run(client, provider_at(server), provider_options=options)

    assert isinstance(result.failure(), InvalidRequestError)
    assert len(server.received) == 1


# -- what was not found


async def test_error_of_what_is_not_found_names_the_url_and_the_model(server: Loopback) -> None:
    """A wrong base URL, deployment or version of the API looks the same."""
    server.handler = failing(404, "The API deployment for this resource does not exist.")
    azure = Azure.configure(
        base_url=server.url, api_version="2024-10-21", api_key="k", query={"token": "secret-1"}
    )
    async with Client() as client:
        result = await client.generate(request(model=azure.chat("gpt-x"), prompt="Hi"))
    message = str(result.failure())

    assert "deployment for this resource does not exist." in message
    assert f"POST {server.url}/openai/deployments/gpt-x/chat/completions?api-version=20" in message
    assert "model 'gpt-x'" in message
    assert "secret-1" not in message


async def test_token_provider_is_asked_for_each_request(server: Loopback) -> None:
    """Its tokens expire."""
    tokens = iter(["first-token", "second-token"])

    async def next_token() -> str:
        return next(tokens)

    azure = Azure.configure(base_url=server.url, token_provider=next_token)
    async with Client() as client:
        for _ in range(2):
            await client.generate(request(model=azure.chat("d"), prompt="Hi"))

    sent = [one.headers["authorization"] for one in server.received]
    assert sent == ["Bearer first-token", "Bearer second-token"]


class RenewedTokens:
    """Tokens of a caller, of which another can be had after a refusal."""

    def __init__(self) -> None:
        self.number = 1

    async def __call__(self) -> str:
        return f"token-{self.number}"

    def refused(self, token: str) -> bool:
        self.number += token == f"token-{self.number}"
        return True


@pytest.mark.parametrize("good", [2, 3])
async def test_a_call_that_is_no_generation_renews_a_refused_token_once(good: int) -> None:
    sent: list[str] = []

    def answered(received: httpx.Request) -> httpx.Response:
        sent.append(received.headers["authorization"])
        if sent[-1] != f"Bearer token-{good}":
            return httpx.Response(401, json={"error": {"message": "expired"}})
        return httpx.Response(200, json={"data": [{"embedding": [1.0], "index": 0}]})

    provider = OpenAICompatible.configure(
        name="acme", base_url="https://acme.test/v1", auth=Auth.token(RenewedTokens())
    )
    asked = EmbeddingRequest(model=provider.model("m"), inputs=("Hi",))
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answered)) as http,
        Client(http=http) as client,
    ):
        result = await client.embed(asked)

    assert sent == ["Bearer token-1", "Bearer token-2"]
    if good == 2:
        assert result.unwrap().embedding == (1.0,)
    else:
        assert isinstance(result.failure(), AuthenticationError)


# -- native frames


@pytest.mark.parametrize("streaming", [True, False])
async def test_raw_gives_each_event_its_frame_and_the_response_its_document(
    server: Loopback, streaming: bool
) -> None:
    """`raw=True` requests it."""
    wanted = request(model=provider_at(server).model("m"), prompt="Hi")
    async with Client() as client:
        plain, raw = [
            client.stream(wanted, raw=raw) if streaming else client.events(wanted, raw=raw)
            for raw in (False, True)
        ]
        assert [event.native async for event in plain if event.native is not None] == []
        frames = [event.native async for event in raw if isinstance(event, TextDelta)]
        response = (await raw.result()).unwrap()

    assert frames
    assert all(isinstance(frame, dict) and "choices" in frame for frame in frames)
    assert isinstance(response.raw, list if streaming else dict)
