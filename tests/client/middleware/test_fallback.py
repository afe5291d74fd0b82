"""Falling back to other models."""

from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore import (
    AuthenticationError,
    Client,
    ConfigurationError,
    Google,
    InvalidRequestError,
    LLMError,
    NetworkError,
    Ollama,
    OpenAI,
    RateLimitError,
    generate,
)
from llmcore.client.middleware import Middleware
from llmcore.client.middleware.circuit_breaker import CircuitBreaker
from llmcore.client.middleware.fallback import Alternative, Fallback
from llmcore.folds.grammar import violations
from llmcore.schema.errors import AbortError, NotFoundError, OverloadedError, StreamError
from llmcore.testing import scripted
from tests.client.middleware.middleware_scenes import (
    CUT,
    INVALID,
    LIMITED,
    OTHER,
    OVERLOADED,
    WANTED,
    answer,
    client_of,
    run,
)
from tests.support.servers.loopback import chat_chunk

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("streaming", [False, True])


@both
@pytest.mark.parametrize(
    ("failure", "name"),
    [
        (OVERLOADED, "OverloadedError"),
        ((500, {}, {}), "ServerError"),
        (LIMITED, "RateLimitError"),
        ((404, {}, {"error": {"message": "no such model"}}), "NotFoundError"),
        (NetworkError("gone"), "NetworkError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_next_model_is_asked(streaming: bool, failure: Any, name: str) -> None:
    """A diagnostic of the response reports it."""
    client, transport = client_of([Fallback("n")], failure, answer(streaming))
    response = (await run(client, streaming)).unwrap()

    assert response.text == "Hello"
    assert [body["model"] for body in bodies(transport)] == ["m", "n"]
    (note,) = response.diagnostics
    assert (note.code, note.path, note.action) == ("model-fallback", "model", "changed")
    assert "loop/m failed" in note.message
    assert name in note.message


def bodies(transport: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = transport.bodies
    return found


@pytest.mark.parametrize("asked", ["m", WANTED.model], ids=["by name", "configured"])
@pytest.mark.parametrize(
    ("alternative", "url", "model"),
    [
        ("n", "https://api.example.com/v1/chat/completions", "n"),
        (("other", "o"), "https://o.example.com/chat/completions", "o"),
        ("other:o", "https://o.example.com/chat/completions", "o"),
        ("ft:n:1", "https://api.example.com/v1/chat/completions", "ft:n:1"),
        (OTHER.model("p"), "https://o.example.com/chat/completions", "p"),
    ],
)
async def test_models_are_named_in_four_ways(
    asked: Any, alternative: Alternative, url: str, model: str
) -> None:
    """An id of the same provider, a provider and an id in two forms, a configured model."""
    client, transport = client_of([Fallback(alternative)], OVERLOADED, answer(False))
    await run(client, False, evolve(WANTED, model=asked))

    assert (transport.requests[1].url, bodies(transport)[1]["model"]) == (url, model)


async def test_fallbacks_of_one_call_are_those_of_the_middleware() -> None:
    client, transport = client_of([], OVERLOADED, LIMITED, answer(True))
    result = await generate(
        WANTED.model, "Hi", client=client, fallbacks=["n", "other:o"], max_retries=0
    )

    assert [body["model"] for body in bodies(transport)] == ["m", "n", "o"]
    assert [note.code for note in result.diagnostics] == ["model-fallback"] * 2
    assert client.middleware == ()
    openai = Client(providers={"openai": OpenAI()})
    with pytest.raises(ConfigurationError, match="'antropic' is not configured"):
        await generate("m", "Hi", client=openai, fallbacks=["antropic:claude"])
    with pytest.raises(InvalidRequestError, match="fallbacks must be a list, not an int"):
        await generate("m", "Hi", fallbacks=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="fallbacks must be a Model or a model's id"):
        await generate("m", "Hi", fallbacks=[("other", "o")])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("alternative", "error"),
    [
        ("groq:x", "set GROQ_API_KEY"),
        ("antropic:claude", "did you mean 'anthropic'"),
        ("mistral:7b", "set MISTRAL_API_KEY"),
    ],
)
async def test_a_fallback_without_its_provider_fails_before_the_first_model_is_asked(
    alternative: str, error: str
) -> None:
    """Also in a client of the environment, which can reach servers of the user's."""
    transport = scripted(answer(True))
    client = Client.from_env(environ={"OPENAI_API_KEY": "k"}, transport=transport)

    with pytest.raises(ConfigurationError, match=error):
        await generate("openai-chat:gpt-5.2", "Hi", client=client, fallbacks=[alternative])
    assert transport.requests == []


async def test_an_id_with_a_colon_is_a_model_of_the_users_server() -> None:
    transport = scripted(OVERLOADED, answer(True))
    client = Client.from_env(environ={"OPENAI_API_KEY": "k"}, transport=transport)
    llama = Ollama().model("llama3")

    await generate(llama, "Hi", client=client, fallbacks=["mistral:7b"], max_retries=0)

    assert [body["model"] for body in bodies(transport)] == ["llama3", "mistral:7b"]


async def test_notes_of_the_error_say_which_models_failed() -> None:
    client, _ = client_of([Fallback("n", "o")], OVERLOADED, LIMITED, (500, {}, {}))

    error = (await run(client, False)).failure()

    first, second = error.__notes__
    assert first.startswith("loop/n failed: RateLimitError")
    assert second.startswith("loop/o failed: ServerError")


@both
@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (INVALID, InvalidRequestError),
        ((401, {}, {}), AuthenticationError),
        (AbortError("stop"), AbortError),
    ],
)
async def test_some_errors_are_final(streaming: bool, failure: Any, kind: type[LLMError]) -> None:
    """Another model would give the same error, or the caller has cancelled."""
    client, transport = client_of([Fallback("n")], failure)
    result = await run(client, streaming)

    assert type(result.failure()) is kind
    assert len(transport.requests) == 1


async def test_no_fallback_follows_the_first_event() -> None:
    """The stream has begun, so its failure is the outcome."""
    client, transport = client_of([Fallback("n", on=[StreamError])], [CUT])
    result = await run(client, True)

    assert isinstance(result.failure(), StreamError)
    assert len(transport.requests) == 1


async def test_stream_that_fails_after_its_start_falls_back() -> None:
    """The first chunk names the response; the overload comes after it."""
    overloaded = b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    empty = chat_chunk(delta={"role": "assistant", "content": ""})
    client, transport = client_of([Fallback("n")], [empty, overloaded], answer(True))
    async with client.stream(WANTED) as stream:
        events = [event async for event in stream]
        response = (await stream.result()).unwrap()

    assert len(transport.requests) == 2
    assert violations(events) == []
    assert response.text == "Hello"
    assert [note.code for note in response.diagnostics] == ["model-fallback"]


@both
async def test_first_error_has_notes_about_the_others_if_all_fail(streaming: bool) -> None:
    """In its notes: the first model is the one that was asked for."""
    client, _ = client_of([Fallback("n", "o")], OVERLOADED, NetworkError("gone"), LIMITED)
    error = (await run(client, streaming)).failure()

    assert isinstance(error, OverloadedError)
    first, second = error.__notes__
    assert "loop/n failed" in first
    assert "NetworkError" in first
    assert "loop/o failed" in second


@both
async def test_error_of_an_alternative_does_not_hide_the_first_one(streaming: bool) -> None:
    """It ends the search, and is a note."""
    client, transport = client_of([Fallback("n", "o")], LIMITED, INVALID)
    error = (await run(client, streaming)).failure()

    assert isinstance(error, RateLimitError)
    assert "InvalidRequestError" in error.__notes__[0]
    assert len(transport.requests) == 2


def test_provider_of_an_alternative_that_is_not_configured_is_refused_by_the_client() -> None:
    """When it is built, and not on the day that the first model fails."""
    with pytest.raises(ConfigurationError, match=r"'n': .* 'missing' is not configured"):
        client_of([Fallback(("missing", "n"))])
    client_of([Fallback(("other", "n"), "m", OTHER.model("o"), "other:n", "mistral:7b")])


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5", "antropic:claude-opus-5"])
def test_alternative_with_the_name_of_a_provider_that_is_not_configured_is_refused(
    model: str,
) -> None:
    """Clients with a server of models that the catalog does not list take any id."""
    provider = model.partition(":")[0]
    remedy = "set ANTHROPIC_API_KEY" if provider == "anthropic" else "did you mean 'anthropic'"
    with pytest.raises(ConfigurationError, match=f"'{provider}' is not configured .*{remedy}"):
        Client(providers={"openai": OpenAI(), "google": Google()}, middleware=[Fallback(model)])
    Client(providers={"openai": OpenAI(), "mine": OTHER}, middleware=[Fallback(model)])


@both
async def test_a_good_response_is_passed_on_as_it_is(streaming: bool) -> None:
    """Every event, in order, without a note."""
    plain, _ = client_of([], answer(streaming))
    client, _ = client_of([Fallback("n")], answer(streaming))
    wanted = plain.stream(WANTED) if streaming else plain.events(WANTED)
    got = client.stream(WANTED) if streaming else client.events(WANTED)

    assert [event async for event in got] == [event async for event in wanted]
    assert await got.result() == await wanted.result()


async def test_closing_while_it_waits_makes_no_other_attempt() -> None:
    """The attempt that runs is closed."""
    client, transport = client_of([Fallback("n")], [(b"", 1000)], answer(True))
    stream = client.stream(WANTED)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.result)
        await anyio.sleep(0.01)
        await stream.aclose()

    assert len(transport.requests) == 1


async def test_a_provider_that_is_down_is_passed_over() -> None:
    """A circuit breaker inside fails fast, and the next model is called at once."""
    middleware: list[Middleware] = [Fallback(("other", "o")), CircuitBreaker(failures=1)]
    client, transport = client_of(middleware, OVERLOADED, *[answer(False)] * 2)
    await run(client, False)
    response = (await run(client, False)).unwrap()

    assert [body["model"] for body in bodies(transport)] == ["m", "o", "o"]
    assert "circuit-open" in response.diagnostics[0].message


def test_invalid_fallbacks_are_refused() -> None:
    """No model, or going on after an abort."""
    with pytest.raises(ConfigurationError):
        Fallback()
    with pytest.raises(ConfigurationError):
        Fallback("n", on=[LLMError])
    Fallback("n", on=[OverloadedError, NotFoundError])


LONG: Any = (400, {}, {"error": {"message": "too long", "code": "context_length_exceeded"}})
FILTERED: Any = (400, {}, {"error": {"message": "no", "code": "content_filter"}})


@pytest.mark.parametrize(
    ("failures", "models"),
    [
        ([LONG], ["m", "long"]),
        ([FILTERED], ["m", "open"]),
        ([OVERLOADED], ["m", "n"]),
        ([OVERLOADED, LONG, FILTERED], ["m", "n", "long", "open"]),
    ],
    ids=["context", "content", "others", "one after the other"],
)
async def test_errors_of_context_and_content_have_lists_of_their_own(
    failures: list[Any], models: list[str]
) -> None:
    fallback = Fallback("n", for_long_requests=["long"], for_filtered_requests=["open"])
    client, transport = client_of([fallback], *failures, answer(False))

    response = (await run(client, False)).unwrap()

    assert [body["model"] for body in bodies(transport)] == models
    assert len(response.diagnostics) == len(failures)


async def test_long_request_without_a_list_of_its_own_fails() -> None:
    client, transport = client_of([Fallback("n")], LONG)

    assert (await run(client, False)).failure().error_code == "context_length_exceeded"
    assert len(bodies(transport)) == 1


@both
async def test_answer_that_is_rejected_is_that_of_the_next_model(streaming: bool) -> None:
    answers = iter([True, False])
    fallback = Fallback("n", "o", reject=lambda response: next(answers))
    client, transport = client_of([fallback], answer(streaming), answer(streaming))

    response = (await run(client, streaming)).unwrap()

    assert [body["model"] for body in bodies(transport)] == ["m", "n"]
    assert response.text == "Hello"
    assert "was rejected" in response.diagnostics[0].message


@both
async def test_last_response_is_delivered_even_if_it_is_rejected(streaming: bool) -> None:
    fallback = Fallback("n", reject=lambda response: response.text == "Hello")
    client, _ = client_of([fallback], answer(streaming), answer(streaming))

    response = (await run(client, streaming)).unwrap()

    assert response.text == "Hello"
    assert len(response.diagnostics) == 1
