"""The client against a real server on loopback."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore import (
    Anthropic,
    AuthenticationError,
    Azure,
    CallLog,
    Client,
    ConfigurationError,
    Failure,
    Finish,
    ImagePart,
    InvalidRequestError,
    LLMRequest,
    Message,
    Model,
    NetworkError,
    OpenAI,
    OpenAICompatible,
    RateLimitError,
    Success,
    TextDelta,
    request,
    set_default_client,
)
from llmcore.catalog.lookup import get_latest_model, get_model_info
from llmcore.folds.grammar import violations
from llmcore.routes.providers import ModelSource
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import NotFoundError, StreamError
from llmcore.schema.events import StreamStart
from llmcore.schema.options import HttpOverlay
from llmcore.schema.usage import RateLimitInfo
from llmcore.testing import scripted
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    chat_stream,
    chat_whole,
    serve,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


def model_at(server: Loopback, api_key: str = "sk-loopback-secret") -> Model:
    provider = OpenAICompatible.configure(name="loop", base_url=server.url + "/v1", api_key=api_key)
    return provider.model("m-1")


def answer_json(value: object, status: int = 200, **headers: str) -> Answer:
    data = json.dumps(value).encode()
    return Answer([data], status, {"content-type": "application/json", **headers}, length=len(data))


async def test_generate_returns_the_response_as_a_success(server: Loopback) -> None:
    """A whole call gives text, usage, ids and the model that answered."""
    async with Client() as client:
        result = await client.generate(request(model=model_at(server), prompt="Hi"))

    assert isinstance(result, Success)
    response = result.unwrap()
    assert (response.text, response.id, response.provider) == ("Hello", "chatcmpl-1", "loop")
    assert response.usage is not None
    assert response.usage.total_tokens == 5
    assert response.finish_reason.reason == "stop"
    sent = server.received[0]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == "Bearer sk-loopback-secret"
    assert sent.json["messages"] == [{"role": "user", "content": "Hi"}]  # type: ignore[index]


async def test_stream_gives_events_that_obey_the_grammar(server: Loopback) -> None:
    """A streamed call gives the same response, event by event."""
    async with (
        Client() as client,
        client.stream(request(model=model_at(server), prompt="Hi")) as stream,
    ):
        events = [event async for event in stream]
        streamed = (await stream.result()).unwrap()
        whole = (await client.generate(request(model=model_at(server), prompt="Hi"))).unwrap()

    assert violations(events) == []
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    assert isinstance(events[0], StreamStart)
    assert isinstance(events[-1], Finish)
    assert streamed == whole


async def test_text_stream_gives_the_text_alone(server: Loopback) -> None:
    """The text pieces join to the response's text."""
    async with (
        Client() as client,
        client.stream(request(model=model_at(server), prompt="Hi")) as stream,
    ):
        pieces = [piece async for piece in stream.text_stream]

    assert pieces == ["Hel", "lo"]
    assert (await stream.result()).unwrap().text == "Hello"


async def test_partial_response_grows_with_the_stream(server: Loopback) -> None:
    """The response so far can be read at any time."""
    async with (
        Client() as client,
        client.stream(request(model=model_at(server), prompt="Hi")) as stream,
    ):
        async for event in stream:
            if isinstance(event, TextDelta):
                break

        assert "Hel" in stream.partial_response.text or stream.partial_response.text == "Hello"


async def test_complete_raises_what_generate_returns(server: Loopback) -> None:
    """The raising call gives the response, or raises the typed error."""
    server.handler = lambda _: answer_json({"error": {"message": "no such model"}}, 404)
    async with Client() as client:
        with pytest.raises(NotFoundError) as caught:
            await client.complete(request(model=model_at(server), prompt="Hi"))

    assert caught.value.status_code == 404
    assert caught.value.provider == "loop"
    assert "no such model" in caught.value.message


@pytest.mark.parametrize(
    ("base_url", "api", "hinted"),
    [
        ("http://127.0.0.1:8000/v1", "responses", True),
        ("http://127.0.0.1:8000/v1", "chat", False),
        ("https://api.openai.com/v1", "responses", False),
    ],
)
async def test_server_without_responses_is_an_error_that_names_chat(
    base_url: str, api: str, hinted: bool
) -> None:
    provider = OpenAI(api_key="k", base_url=base_url)
    model = provider.responses("m") if api == "responses" else provider.chat("m")
    async with Client(transport=scripted((404, {}, {"detail": "Not Found"}))) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    assert ("use OpenAI(...).chat(model)" in (result.failure().hint or "")) == hinted


@pytest.mark.parametrize(
    ("status", "headers", "shown"),
    [
        (404, {}, "no [request: POST http://h/v1/chat/completions, model 'm'] (openai, 404)"),
        (405, {}, "no [request: POST http://h/v1/chat/completions, model 'm'] (openai, 405)"),
        (
            301,
            {"location": "https://h/v2?token=t"},
            "no: it redirects to 'https://h/v2', where base_url should point (openai, 301)",
        ),
        (400, {}, "no (openai, 400)"),
        (302, {}, "no (openai, 302)"),
    ],
)
async def test_error_of_a_wrong_address_shows_it_outside_of_the_message(
    status: int, headers: dict[str, str], shown: str
) -> None:
    """The message is the provider's, which a gateway passes on; addresses are the caller's."""
    model = OpenAI(api_key="k", base_url="http://h/v1").chat("m")
    body = {"error": {"message": "no"}}
    async with Client(transport=scripted((status, headers, body))) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    assert str(result.failure()) == shown
    assert result.failure().message == "no"


@pytest.mark.parametrize(
    ("base_url", "path", "hint"),
    [
        ("http://h:8000", "chat", "below /v1: end base_url with it"),
        ("http://h:8000/", "responses", "below /v1: end base_url with it"),
        ("http://h:8000/v1", "chat", ""),
        ("http://h:8000/openai", "chat", ""),
        ("http://h:8000/v1/v1", "responses", "has /v1 twice"),
    ],
)
async def test_error_of_a_path_without_a_version_or_with_two_names_v1(
    base_url: str, path: str, hint: str
) -> None:
    model = getattr(OpenAI(api_key="k", base_url=base_url), path)("m")
    async with Client(transport=scripted((404, {}, {"error": {"message": "no"}}))) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    shown = str(result.failure())
    assert hint in shown
    assert ("/v1: end" in shown or "twice" in shown) == bool(hint)


async def test_model_that_a_server_of_responses_lacks_is_not_explained_with_chat() -> None:
    model = OpenAI(api_key="k", base_url="http://127.0.0.1:8000/v1").responses("m")
    body: dict[str, Any] = {"error": {"message": "no such model", "code": "model_not_found"}}
    async with Client(transport=scripted((404, {}, body))) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    assert "Chat Completions" not in str(result.failure())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"providers": [OpenAI()]}, r"must be a dict by id: providers=\{'openai': OpenAI\("),
        ({"providers": OpenAI()}, "must be a dict by id"),
        ({"providers": {"openai": "sk-secret"}}, r"'openai' must be configured: (?!.*secret)"),
        ({"middleware": [CallLog]}, r"write CallLog\(\.\.\.\)"),
    ],
)
def test_client_of_values_of_the_wrong_kind_is_refused_with_an_example(
    settings: Any, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Client(**settings)


@pytest.mark.parametrize("method", ["generate", "count_tokens", "embed", "rerank"])
async def test_a_text_in_the_place_of_a_request_is_a_failure_that_says_what_to_give(
    method: str,
) -> None:
    error = (await getattr(Client(), method)("Hi")).failure()

    assert isinstance(error, InvalidRequestError)
    assert "not a str" in f"{error.message}" or "got a str" in error.message


def test_default_client_must_be_a_client() -> None:
    with pytest.raises(ConfigurationError, match="must be a Client, not a str"):
        set_default_client("openai")  # type: ignore[arg-type]


def test_provider_without_names_of_arguments_is_refused_with_an_example() -> None:
    with pytest.raises(TypeError, match=r"by name: write OpenAI\(api_key=\.\.\.\)"):
        OpenAI("sk-secret")  # type: ignore[call-arg]


def test_a_configured_provider_is_shown_short() -> None:
    shown = repr(OpenAI(api_key="sk-secret"))
    assert shown == (
        "OpenAI(chat_route=Route('openai-chat', provider='openai', protocol=openai-chat, "
        "base_url=OPENAI_BASE_URL or 'https://api.openai.com/v1'))"
    )


@pytest.mark.parametrize(
    ("model_id", "meant"),
    [("claude-sonet-4-5", "claude-sonnet-4-5"), ("gpt-5.2", "openai:gpt-5.2")],
)
async def test_error_of_a_model_that_is_not_found_names_the_one_that_was_meant(
    model_id: str, meant: str
) -> None:
    model = Anthropic(api_key="k").model(model_id)
    async with Client(transport=scripted((404, {}, {"detail": "Not Found"}))) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    assert f"did you mean {meant!r}?" in str(result.failure())


async def test_web_page_in_place_of_a_response_is_an_error_that_names_base_url() -> None:
    page = b"<!DOCTYPE html><html><body>Log in</body></html>"
    model = Anthropic(api_key="k").model("claude-sonnet-4-5")
    transport = scripted((200, {"content-type": "text/html"}, page))
    async with Client(transport=transport) as client:
        result = await client.generate(request(model=model, prompt="Hi"))

    assert "answered with a web page, not with JSON: check base_url" in result.failure().message


async def test_an_error_status_is_an_error_event_in_a_stream(server: Loopback) -> None:
    """A stream that is refused ends with one ErrorEvent and does not raise."""
    body = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    server.handler = lambda _: answer_json(body, 429, **{"retry-after": "3", "x-request-id": "r-1"})
    async with (
        Client() as client,
        client.stream(request(model=model_at(server), prompt="Hi")) as stream,
    ):
        events = [event async for event in stream]
        result = await stream.result()

    assert [event.type for event in events] == ["error"]
    error = result.failure()
    assert isinstance(error, RateLimitError)
    assert (error.retry_after, error.request_id, error.retryable) == (3.0, "r-1", True)


async def test_an_error_within_a_stream_has_the_limits_of_its_headers() -> None:
    frames = [
        b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
        b'data: {"error":{"message":"slow down","code":"rate_limit_exceeded"}}\n\n',
    ]
    headers = {
        "content-type": "text/event-stream",
        "date": "Mon, 23 Nov 2026 09:00:00 GMT",
        "x-request-id": "r-1",
        "x-ratelimit-limit-requests": "10",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "6s",
    }
    model = OpenAICompatible.configure(name="loop", base_url="https://loop.example/v1").model("m")
    async with Client(transport=scripted((200, headers, frames))) as client:
        error = (await client.stream(request(model=model, prompt="Hi")).result()).failure()

    assert isinstance(error, RateLimitError)
    assert error.request_id == "r-1"
    assert error.rate_limit == RateLimitInfo(
        requests_limit=10,
        requests_remaining=0,
        requests_reset_at=datetime(2026, 11, 23, 9, 0, 6, tzinfo=UTC),
    )


async def test_no_server_is_a_network_error() -> None:
    """A refused connection is typed, retryable, and keeps its cause."""
    model = OpenAICompatible.configure(
        name="gone", base_url="http://127.0.0.1:9/v1", api_key="k"
    ).model("m")
    async with Client() as client:
        error = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, NetworkError)
    assert error.retryable
    assert error.cause is not None
    assert "127.0.0.1:9" in str(error)


async def test_a_missing_key_fails_before_anything_is_sent(server: Loopback) -> None:
    """The key is looked up when the request is prepared; its variable is named."""
    from llmcore import OpenAI

    model = OpenAI.configure(base_url=server.url).chat("gpt-5.2")
    async with Client(environ={}) as client:
        error = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, AuthenticationError)
    assert "OPENAI_API_KEY" in error.message
    assert server.received == []


async def test_keys_never_appear_in_errors(server: Loopback) -> None:
    """A server that quotes the key back does not get it into our errors."""

    def quoting(received: Received) -> Answer:
        key = received.headers["authorization"].removeprefix("Bearer ")
        error = {"message": f"bad key {key}", "code": key, "details": [key], key: 1}
        return answer_json({"error": error}, 401, **{"x-request-id": key})

    server.handler = quoting
    async with Client() as client:
        error = (await client.generate(request(model=model_at(server), prompt="Hi"))).failure()

    assert isinstance(error, AuthenticationError)
    shown = repr(error) + str(error) + repr(error.raw) + repr(error.args) + str(error.request_id)
    assert "sk-loopback-secret" not in shown
    assert "bad key" in error.message


@pytest.mark.parametrize("api_key", [None, ""])
async def test_prepare_without_a_key_shows_a_placeholder_and_a_diagnostic(
    api_key: str | None,
) -> None:
    """To see what would be sent takes no key."""
    model = OpenAI.configure(api_key=api_key).chat("gpt-5.2")
    prepared = Client(environ={}).prepare(request(model=model, prompt="Hi")).unwrap()

    assert prepared.headers["authorization"] == "[redacted]"
    assert prepared.http.headers["authorization"] == "Bearer [no API key]"
    (note,) = prepared.diagnostics
    assert (note.code, note.action) == ("missing-api-key", "noted")
    assert "no API key: " in note.message
    assert isinstance(await Client(environ={}).generate(request(model=model, prompt="Hi")), Failure)


async def test_prepare_returns_the_native_request_without_sending_it(server: Loopback) -> None:
    """Method, URL, headers and body are exact; the key is redacted where it is shown."""
    client = Client()
    prepared = client.prepare(request(model=model_at(server), prompt="Hi", max_tokens=5)).unwrap()

    assert prepared.method == "POST"
    assert prepared.url == server.url + "/v1/chat/completions"
    assert prepared.headers["authorization"] == "[redacted]"
    assert prepared.body["max_tokens"] == 5
    assert json.loads(prepared.http.body) == prepared.body
    assert "sk-loopback-secret" not in repr(prepared)
    assert server.received == []


async def test_a_string_model_is_resolved_by_its_provider(server: Loopback) -> None:
    """A request names its provider, or takes the default; there is never a guess."""
    provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
    named = request(model="m-1", provider="loop", prompt="Hi")
    unnamed = request(model="m-1", prompt="Hi")
    async with Client(providers={"loop": provider}) as client:
        assert isinstance(await client.generate(named), Success)
        error = (await client.generate(unnamed)).failure()
        unknown = (await client.generate(evolve(named, provider="other"))).failure()
    async with Client(providers={"loop": provider}, default_provider="loop") as client:
        assert isinstance(await client.generate(unnamed), Success)

    assert isinstance(error, ConfigurationError)
    assert "provider=" in error.message
    assert isinstance(unknown, ConfigurationError)
    assert "loop" in unknown.message


KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5.2", "openai", "gpt-5.2"),
        ("anthropic:claude-of-tomorrow", "anthropic", "claude-of-tomorrow"),
        ("gemini:gemini-3-flash-preview", "google", "gemini-3-flash-preview"),
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("a-model-that-nobody-lists", "openai", "a-model-that-nobody-lists"),
        ("openai/gpt-5.2", "openai", "gpt-5.2"),
        ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("ft:gpt-4o:me", "openai", "ft:gpt-4o:me"),
    ],
)
async def test_a_model_is_found_by_its_prefix_or_by_the_catalog(
    name: str, provider: str, model: str
) -> None:
    """A prefix counts where it is a configured provider; unknown ids go to the first provider."""
    found = Client.from_env(environ=KEYS).resolve(request(model=name, prompt="Hi")).unwrap()

    assert (found.provider, found.id) == (provider, model)


async def test_a_default_provider_that_was_chosen_gets_every_id_without_a_provider() -> None:
    """Compatible servers have models by the names of others."""
    client = Client.from_env(environ=KEYS, default_provider="openai")

    assert client.resolve(request(model="claude-sonnet-4-5", prompt="Hi")).unwrap().provider == (
        "openai"
    )


async def test_gemini_is_a_name_of_google() -> None:
    """As the catalog has it too; a provider that is configured as `gemini` comes first."""
    asked = request(model="gemini-3-flash-preview", provider="gemini", prompt="Hi")
    found = Client.from_env(environ={"GEMINI_API_KEY": "k"}, default_provider="gemini")
    assert found.default_provider == "google"
    assert found.resolve(asked).unwrap().provider == "google"

    mine = OpenAICompatible.configure(name="mine", base_url="https://x", api_key="k")
    own = Client(providers={"gemini": mine, "google": mine}, default_provider="gemini")
    assert own.default_provider == "gemini"
    assert own.resolve(asked).unwrap().provider == "mine"
    assert "'gemini' is not configured" in Client().resolve(asked).failure().message


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
async def test_the_latest_model_of_a_provider_is_found_by_its_name(provider: str) -> None:
    """The same word chooses the model in the catalog and the provider of the client."""
    keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
    latest = get_latest_model(provider)
    assert latest is not None

    prepared = Client.from_env(environ=keys).prepare(
        request(model=latest.id, provider=provider, prompt="Say hello.")
    )
    assert prepared.unwrap().request.provider_id == latest.provider


async def test_a_request_read_from_json_finds_its_route_again(server: Loopback) -> None:
    """A stored request holds model and provider; the client's providers give the route."""
    provider = OpenAICompatible.configure(name="loop", base_url=server.url, api_key="k")
    stored = to_json(request(model=provider.model("m-1"), prompt="Hi"))
    async with Client(providers={"loop": provider}) as client:
        result = await client.generate(from_json(LLMRequest, stored))

    assert isinstance(result, Success)


async def test_an_unknown_default_provider_is_refused() -> None:
    """A typo in the configuration shows at once."""
    with pytest.raises(ConfigurationError, match="nope"):
        Client(default_provider="nope")


async def test_local_files_are_read_and_sent_inline(
    server: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A picture named by its path goes out as data; a missing one is a clear error."""
    picture = tmp_path_factory.mktemp("media") / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    async with Client() as client:
        good = Message.user("What is it?", ImagePart(path=str(picture)))
        await client.generate(request(model=model_at(server), messages=[good]))
        bad = Message.user(ImagePart(path="/no/such.png"))
        error = (await client.generate(request(model=model_at(server), messages=[bad]))).failure()

    assert b"data:image/png;base64,iVBORw0KGgo=" in server.received[0].body
    assert isinstance(error, InvalidRequestError)
    assert "/no/such.png" in error.message


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "picture is empty: "),
        (b"root:x:0:0", "picture is not a known kind of image: "),
    ],
)
def test_a_file_that_is_no_image_is_an_error_that_names_it(
    tmp_path: Path, data: bytes, says: str
) -> None:
    (tmp_path / "picture").write_bytes(data)
    asked = Message.user("What is it?", ImagePart.of(tmp_path / "picture"))
    ready = Client().prepare(request(model=OpenAI(api_key="k").chat("m"), messages=[asked]))

    assert isinstance(ready.failure(), InvalidRequestError)
    assert says in ready.failure().message


async def test_the_overlay_has_the_last_word(server: Loopback) -> None:
    """Headers, query and body of the overlay are laid over what the route built."""
    overlay = HttpOverlay(
        headers={"X-Tag": "1"}, query={"v": "2"}, body={"extra": {"a": 1}, "model": None}
    )
    async with Client() as client:
        await client.generate(request(model=model_at(server), prompt="Hi", http=overlay))

    sent = server.received[0]
    assert sent.path == "/v1/chat/completions?v=2"
    assert sent.headers["x-tag"] == "1"
    body = json.loads(sent.body)
    assert body["extra"] == {"a": 1}
    assert "model" not in body


async def test_many_calls_at_once_share_one_client(server: Loopback) -> None:
    """A hundred concurrent calls each get their own response."""

    def echo(received: Received) -> Answer:
        prompt = json.loads(received.body)["messages"][0]["content"]
        data = chat_whole(prompt)
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    server.handler = echo
    answers: dict[int, str] = {}
    async with Client() as client:

        async def ask(number: int) -> None:
            wanted = request(model=model_at(server), prompt=str(number))
            answers[number] = (await client.generate(wanted)).unwrap().text

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(ask, number)

    assert answers == {number: str(number) for number in range(100)}


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"", "application/json", StreamError),
        (b"<html>gateway</html>", "text/html", StreamError),
        (b"{}", "application/json", None),
        (b"[]", "application/json", StreamError),
        (b'{"choices":null}', "application/json", None),
        (b'{"error":{"code":429,"message":"later"}}', "application/json", RateLimitError),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_200_that_is_not_a_response_is_a_typed_error(
    server: Loopback, body: bytes, content_type: str, kind: type | None, streaming: bool
) -> None:
    """Errors inside HTTP 200 never look like success, streamed or not."""
    server.handler = lambda _: Answer(
        [body], headers={"content-type": content_type}, length=len(body)
    )
    async with Client() as client:
        wanted = request(model=model_at(server), prompt="Hi")
        if streaming:
            result = await client.stream(wanted).result()
        else:
            result = await client.generate(wanted)

    assert isinstance(result, Failure)
    if kind is not None:
        assert isinstance(result.failure(), kind)


async def test_a_response_over_the_limit_is_not_read(server: Loopback) -> None:
    """A server that never stops sending is cut off."""
    from llmcore.routes.defaults import RouteDefaults
    from llmcore.routes.route import Route

    model = model_at(server)
    assert isinstance(model.route, Route)
    small = model.route.with_(defaults=RouteDefaults(max_response_bytes=1000)).model("m-1")
    server.handler = lambda _: Answer(
        chat_stream(["x" * 200] * 50), headers={"content-type": "text/event-stream"}
    )
    async with Client() as client:
        error = (await client.stream(request(model=small, prompt="Hi")).result()).failure()

    assert isinstance(error, StreamError)
    assert "1000 bytes" in error.message
    assert not error.retryable


async def test_a_stream_that_breaks_off_keeps_what_came(server: Loopback) -> None:
    """Half a response is an error with the half in it."""
    script = [chat_chunk(delta={"content": "Half"})]
    server.handler = lambda _: Answer(
        script, headers={"content-type": "text/event-stream"}, cut=True
    )
    async with Client() as client:
        error = (
            await client.stream(request(model=model_at(server), prompt="Hi")).result()
        ).failure()

    assert isinstance(error, NetworkError)
    assert error.partial is not None
    assert error.partial.text == "Half"
    assert error.partial.usage is not None
    assert error.partial.usage.estimated


async def test_a_stream_that_is_left_keeps_the_tokens_that_were_counted(server: Loopback) -> None:
    """Servers may count in each chunk, and bill for what they have made."""
    counted = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    script = [chat_chunk(delta={"content": "Half"}, usage=counted)]
    server.handler = lambda _: Answer(
        script, headers={"content-type": "text/event-stream"}, cut=True
    )
    async with Client() as client:
        stream = client.stream(request(model=model_at(server), prompt="Hi"))
        async with stream:
            async for event in stream:
                if event.type == "text-delta":
                    break
        usage = stream.partial_response.usage

    assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (7, 2, True)


@pytest.mark.parametrize(
    ("provider", "name", "start"),
    [
        ("anthropic", "sonnet", "claude-sonnet-"),
        ("anthropic", "Claude-Haiku", "claude-haiku-"),
        ("gemini", "gemini-flash", "gemini-"),
        ("openai", "sonnet", "sonnet"),
        ("openai", "gpt-5.2", "gpt-5.2"),
    ],
)
async def test_short_name_is_the_newest_model_of_its_family(
    provider: str, name: str, start: str
) -> None:
    """At the family's own provider; elsewhere it is an id like any other."""
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    client = Client.from_env(environ=keys)
    found = client.resolve(request(model=name, provider=provider, prompt="Hi")).unwrap()

    assert found.id.startswith(start)
    assert (found.id == name) == (provider == "openai")
    if provider != "openai":
        newest = get_model_info(name)
        assert newest is not None
        assert newest.id == found.id


async def test_request_without_a_model_goes_to_the_newest_of_the_default_provider() -> None:
    """Where the catalog knows one; else a model has to be named."""
    client = Client.from_env(environ={"ANTHROPIC_API_KEY": "k"})
    newest = get_latest_model("anthropic")
    found = client.resolve(request(prompt="Hi")).unwrap()
    unknown = Client(
        providers={"loop": OpenAICompatible.configure(name="loop", base_url="http://h/v1")},
        default_provider="loop",
    ).resolve(request(prompt="Hi"))

    assert newest is not None
    assert (found.id, found.provider) == (newest.id, "anthropic")
    assert "set a model" in str(unknown.failure())


async def test_initialize_checks_every_provider_and_sends_nothing(server: Loopback) -> None:
    """All faults are in one error."""
    good = OpenAICompatible.configure(name="good", base_url=server.url, api_key="k")
    bad: dict[str, ModelSource] = {
        "openai": OpenAI.configure(),
        "azure": Azure.configure(api_key="k"),
        "good": good,
    }
    async with Client(providers={"good": good}, environ={}) as client:
        await client.initialize()
    async with Client(providers=bad, environ={}) as client:
        with pytest.raises(ConfigurationError) as caught:
            await client.initialize()

    assert "openai: no API key: set OPENAI_API_KEY" in str(caught.value)
    assert "azure: no Azure resource" in str(caught.value)
    assert "good" not in str(caught.value)
    assert server.received == []
