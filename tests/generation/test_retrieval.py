"""`embed`, `embed_many` and `rerank`: batches, order, usage, cost, errors and retries."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from llmcore import (
    AuthenticationError,
    Client,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    Local,
    OpenAI,
    ProviderError,
    RequestTimeoutError,
    Timeouts,
    embed,
    embed_many,
    rerank,
    sync,
)
from llmcore.catalog.model_info import ModelInfo, Prices, Rates
from llmcore.generation.retry import RetryPolicy
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.retrieval import Cohere, Voyage
from llmcore.schema.embeddings import EmbeddingRequest
from llmcore.schema.errors import NotFoundError, OverloadedError, RateLimitError
from llmcore.testing import Metadata, Player, Recorder, load, scripted
from tests.support.servers.loopback import Answer, Received, serve
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.anyio

MODEL = OpenAI.configure(api_key="sk-secret").model("text-embedding-3-small")
PRICED = ModelInfo(
    id="text-embedding-3-small",
    provider="openai",
    display_name="Small",
    prices=Prices(standard=Rates(input=0.02, output=0.0)),
)


def answer(*numbers: float, tokens: int = 3, model: str = "text-embedding-3-small") -> Any:
    data = [{"index": n, "embedding": [number, 1.0]} for n, number in enumerate(numbers)]
    return {"data": data, "model": model, "usage": {"prompt_tokens": tokens}}


async def test_a_text_has_its_vector_usage_and_cost() -> None:
    client = Client(transport=scripted(answer(0.5)), models=[PRICED])

    response = await embed(MODEL, "Hi", client=client)

    assert response.embedding == (0.5, 1.0)
    assert (response.provider, response.model) == ("openai", "text-embedding-3-small")
    assert response.usage.input_tokens == 3
    assert response.cost == pytest.approx(3 * 0.02 / 1e6)


async def test_lone_surrogates_of_a_text_are_replaced_and_reported() -> None:
    transport = scripted(answer(0.5))

    response = await embed(MODEL, "cut \ud83d", client=Client(transport=transport))

    assert [note.code for note in response.diagnostics] == ["lone-surrogates-replaced"]
    assert json.loads(transport.requests[0].body)["input"] == ["cut \ufffd"]


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ({"error": {"message": "No such model", "code": "model_not_found"}}, NotFoundError),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}},
            OverloadedError,
        ),
        ({"error": "the model is loading"}, ProviderError),
    ],
)
async def test_an_error_with_the_status_200_is_raised(stated: Any, kind: type[LLMError]) -> None:
    """And not that the response has no vectors."""
    client = Client(transport=scripted(stated))

    with pytest.raises(kind):
        await embed(MODEL, "Hi", client=client, max_retries=0)


async def test_a_model_may_be_named_by_its_id() -> None:
    transport = scripted(answer(0.5))
    provider = OpenAI.configure(api_key="k")
    client = Client(providers={"openai": provider}, transport=transport)

    await embed("openai:text-embedding-3-small", "Hi", dimensions=2, client=client)

    assert transport.bodies == [
        {"model": "text-embedding-3-small", "input": ["Hi"], "dimensions": 2}
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, Timeouts(connect=1, total=5)),
        (Timeouts(idle=2), Timeouts(idle=2)),
        (None, Timeouts(connect=1)),
    ],
)
@pytest.mark.parametrize("of_route", [None, Timeouts(connect=8)])
async def test_a_timeout_is_in_seconds_or_has_all_limits(
    given: float | Timeouts | None,
    expected: Timeouts,
    of_route: Timeouts | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seconds are the total; the other limits stay those of the route, or else the client's."""
    defaults = RouteDefaults(timeouts=of_route)
    model = OpenAI.configure(api_key="k", defaults=defaults).model("text-embedding-3-small")
    if of_route is not None and not isinstance(given, Timeouts):
        expected = evolve(expected, connect=8)
    client = Client(transport=scripted(answer(0.5)), timeouts=Timeouts(connect=1))
    seen: list[Timeouts | None] = []
    real = Client.embed

    async def embedded(self: Client, request: EmbeddingRequest, **limits: Any) -> Any:
        seen.append(limits["timeouts"])
        return await real(self, request, **limits)

    monkeypatch.setattr(Client, "embed", embedded)

    await embed(model, "Hi", timeout=given, client=client)

    assert seen == [expected]


async def test_an_exceeded_timeout_of_an_embedding_is_an_error() -> None:
    client = Client(transport=scripted([("{", 500)]))

    with pytest.raises(RequestTimeoutError) as raised:
        await embed(MODEL, "Hi", timeout=0.01, client=client)

    assert raised.value.error_code == "total"


def test_providers_of_retrieval_alone_are_found_in_the_environment() -> None:
    client = Client.from_env(environ={"VOYAGE_API_KEY": "v", "CO_API_KEY": "c"})

    assert set(client.providers) == {"cohere", "voyage"}


def test_many_texts_are_sent_in_batches_and_come_back_in_order() -> None:
    """Over loopback, several requests at once."""
    sizes: list[int] = []

    def handler(received: Received) -> Answer:
        texts = json.loads(received.body)["texts"]
        sizes.append(len(texts))
        document = {
            "embeddings": {"float": [[float(text)] for text in texts]},
            "meta": {"billed_units": {"input_tokens": len(texts)}},
        }
        data = json.dumps(document).encode()
        return Answer([data], 200, {"content-type": "application/json"}, len(data))

    texts = [str(n) for n in range(250)]
    with serve(handler) as server:
        model = Cohere.configure(api_key="k", base_url=server.url).model("embed-v4.0")
        with sync.Client() as client:
            response = sync.embed_many(model, texts, client=client)

    assert response.embeddings == tuple((float(n),) for n in range(250))
    assert sorted(sizes) == [58, 96, 96]
    assert response.usage.input_tokens == 250


async def test_each_batch_is_retried_by_itself() -> None:
    refused = (429, {"retry-after": "0"}, {"error": {"message": "slow down"}})
    transport = scripted(answer(*range(2048)), refused, answer(7.0))
    client = Client(transport=transport)

    response = await embed_many(MODEL, ["x"] * 2049, concurrency=1, client=client)

    assert len(response.embeddings) == 2049
    assert response.embeddings[-1] == (7.0, 1.0)
    transport.finish()


async def test_a_failure_is_raised_and_ends_the_other_requests() -> None:
    said = {"error": {"message": "Incorrect API key provided: sk-secret", "code": "x"}}
    slow: list[Any] = [("{}", 60_000.0)]
    client = Client(transport=scripted((401, {}, said), slow))

    with anyio.fail_after(PATIENCE_S), pytest.raises(AuthenticationError) as caught:
        await embed_many(MODEL, ["x"] * 2049, concurrency=2, client=client)

    assert "sk-secret" not in str(caught.value)


async def test_the_retries_can_be_switched_off() -> None:
    client = Client(transport=scripted((429, {}, {"error": {"message": "slow down"}})))

    with pytest.raises(RateLimitError):
        await embed(MODEL, "Hi", max_retries=0, client=client)
    assert RetryPolicy().max_retries == 2


async def test_the_client_sends_one_request_and_refuses_more_texts_than_it_takes() -> None:
    client = Client(transport=scripted())

    found = await client.embed(EmbeddingRequest(model=MODEL, inputs=("x",) * 2049))

    assert isinstance(found.failure(), InvalidRequestError)
    assert "2048" in found.failure().message


@pytest.mark.parametrize("texts", [[], [""], "not a list"])
async def test_texts_that_cannot_be_embedded_are_an_error(texts: Any) -> None:
    client = Client(transport=scripted())

    if texts == "not a list":
        with pytest.raises(InvalidRequestError, match="texts must be a list"):
            await embed_many(MODEL, texts, client=client)
    else:
        with pytest.raises(InvalidRequestError):
            await embed_many(MODEL, texts, client=client)


async def test_documents_come_in_the_order_of_their_scores() -> None:
    results = [{"index": 0, "relevance_score": 0.2}, {"index": 1, "relevance_score": 0.7}]
    transport = scripted({"data": results, "model": "rerank-2.5", "usage": {"total_tokens": 9}})
    model = Voyage.configure(api_key="k").model("rerank-2.5")

    response = await rerank(model, "Oslo?", ["a", "b"], client=Client(transport=transport))

    assert list(response.documents) == ["b", "a"]
    assert [result.index for result in response.results] == [1, 0]
    assert response.usage.input_tokens == 9


async def test_a_provider_that_only_embeds_generates_nothing() -> None:
    from llmcore import request

    model = Voyage.configure(api_key="k").model("voyage-3.5")
    found = await Client(transport=scripted()).generate(request(model=model, prompt="Hi"))

    assert isinstance(found.failure(), ConfigurationError)
    assert "use `embed` or `rerank`" in found.failure().message


async def test_embeddings_are_recorded_and_played_like_generations(tmp_path: Path) -> None:
    path = tmp_path / "embedding.json"
    recorder = Recorder(scripted(answer(0.5)), Metadata(name="embedding"), path=path, environ={})
    first = await embed(MODEL, "Hi", client=Client(transport=recorder))
    await recorder.aclose()
    again = await embed(MODEL, "Hi", client=Client(transport=Player(load(path))))

    assert again == first
    assert "sk-secret" not in path.read_text()


@pytest.mark.local_model
def test_the_local_model_embeds_beside_generating() -> None:
    model = Local.configure().model()
    with sync.Client() as client:
        response = sync.embed_many(model, ["A cat sleeps.", "A cat naps.", "SQL"], client=client)
        text = sync.generate(model, "Hi", max_tokens=4, temperature=0, client=client).text

    near, far = (dot(response.embeddings[0], response.embeddings[n]) for n in (1, 2))
    assert len(response.embedding) == 576
    assert near > far
    assert (response.usage.input_tokens or 0) > 3
    assert text


def dot(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(
    ("base_url", "status", "shown"),
    [
        (
            "http://h:8000",
            404,
            (
                "no [request: POST http://h:8000/embeddings]; most servers have their API below "
                "/v1: end base_url with it (openai, 404)"
            ),
        ),
        (
            "http://h:11434/api",
            404,
            (
                "no [request: POST http://h:11434/api/embeddings]; Ollama has this API below /v1: "
                "end base_url with it instead of /api (openai, 404)"
            ),
        ),
        ("http://h/v1", 405, "no [request: POST http://h/v1/embeddings] (openai, 405)"),
        ("http://h/v1", 400, "no (openai, 400)"),
    ],
)
async def test_an_error_of_a_wrong_address_names_the_request(
    base_url: str, status: int, shown: str
) -> None:
    model = OpenAI(api_key="k", base_url=base_url).model("m")
    client = Client(transport=scripted((status, {}, {"error": {"message": "no"}})))
    with pytest.raises(ProviderError) as raised:
        await embed(model, "Hi", client=client, max_retries=0)

    assert str(raised.value) == shown
    assert raised.value.message == "no"
