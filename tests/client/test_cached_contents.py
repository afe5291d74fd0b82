"""Cached contents of Gemini and Vertex AI: operations, owners, requests that begin with one.

The official package sends the same to a server on loopback.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import define, evolve, field
from google import genai
from google.genai import types as google_types
from google.oauth2.credentials import Credentials
from hypothesis import given

from llmcore import Anthropic, Client, Google, Message, ToolDefinition, request, sync
from llmcore.catalog.lookup import get_model_info
from llmcore.client.cached_contents import CachedContents
from llmcore.protocols.files import read_cached_content
from llmcore.routes.auth import Auth
from llmcore.routes.providers import ModelSource
from llmcore.routes.vertex import Vertex
from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    NotFoundError,
    StreamError,
)
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import estimated_tokens
from llmcore.testing import scripted
from tests.support.servers.loopback import Answer, Loopback, Received
from tests.support.strategies.requests import json_values

pytestmark = pytest.mark.anyio

FLASH = "gemini-2.5-flash"
HOUR = timedelta(hours=1)
NATIVE: Any = {
    "name": "cachedContents/abc",
    "model": f"models/{FLASH}",
    "displayName": "a book",
    "createTime": "2026-11-02T10:00:00.123456789Z",
    "updateTime": "2026-11-02T10:00:00.123456789Z",
    "expireTime": "2026-11-02T11:00:00Z",
    "usageMetadata": {"totalTokenCount": 4000},
}
TOOL = ToolDefinition("look_up", "Find a word.")
BOOK = request(
    model=FLASH, provider="google", system="Be brief.", prompt="(a long book)", tools=[TOOL]
)
WARM = evolve(BOOK.generation, temperature=0.5)


# -- a server that keeps cached contents, of either service


@define
class Kept:
    """The server's contents by their names, below *prefix*."""

    prefix: str
    contents: dict[str, Any] = field(factory=dict)

    def answer(self, received: Received) -> Answer:
        """Answer one request of the API."""
        path, _, query = received.path.partition("?")
        name = path.removeprefix("/v1/").removeprefix("/v1beta/")
        sent: Any = json.loads(received.body or b"{}")
        if ":generateContent" in path:
            return self._generated(sent)
        match received.method, name == f"{self.prefix}cachedContents":
            case "POST", True:
                made = f"{name}/{len(self.contents) + 1}"
                counts = {"usageMetadata": {"totalTokenCount": 4000}}
                self.contents[made] = {"name": made, **_expiring(sent), **counts}
                return _json(self.contents[made])
            case "GET", True:
                first = "pageToken" not in query
                items = list(self.contents.values())
                page = {"cachedContents": items[:1] if first else items[1:]}
                more = {"nextPageToken": "more"} if first and items[1:] else {}
                return _json({**page, **more})
        if name not in self.contents:
            return _json({"error": {"code": 404, "message": "not found"}}, 404)
        if received.method == "DELETE":
            del self.contents[name]
            return _json({})
        self.contents[name] |= _expiring(sent)
        return _json(self.contents[name])

    def _generated(self, sent: Any) -> Answer:
        refused = {"systemInstruction", "tools", "toolConfig"} & sent.keys()
        if refused or sent["cachedContent"] not in self.contents:
            return _json({"error": {"code": 400, "message": f"refused: {refused}"}}, 400)
        counts = {
            "promptTokenCount": 4010,
            "cachedContentTokenCount": 4000,
            "candidatesTokenCount": 10,
            "totalTokenCount": 4020,
        }
        content = {"role": "model", "parts": [{"text": "The gardener."}]}
        answer = {"content": content, "finishReason": "STOP", "index": 0}
        return _json({"candidates": [answer], "usageMetadata": counts, "modelVersion": FLASH})


def _expiring(sent: Any) -> Any:
    """Return the fields of a response: those that only requests have are not in it."""
    kept = {name: sent[name] for name in ("model", "displayName") if name in sent}
    seconds = float(sent["ttl"].removesuffix("s")) if "ttl" in sent else 3600
    at = datetime(2026, 11, 2, 10, tzinfo=UTC)
    return {**kept, "createTime": _text(at), "expireTime": _text(at + timedelta(seconds=seconds))}


def _text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _json(document: Any, status: int = 200) -> Answer:
    data = json.dumps(document).encode()
    return Answer([data], status, {"content-type": "application/json"}, length=len(data))


@contextmanager
def served(prefix: str = "") -> Iterator[Loopback]:
    server = Loopback(Kept(prefix).answer)
    try:
        yield server
    finally:
        server.close()


PROJECT = "projects/p-1/locations/us-central1/"
SERVICES: dict[str, tuple[str, Callable[[str], ModelSource], Callable[[str], dict[str, Any]]]] = {
    "google": (
        "",
        lambda url: Google(api_key="k", base_url=f"{url}/v1beta"),
        lambda url: {
            "api_key": "k",
            "http_options": google_types.HttpOptions(base_url=url, api_version="v1beta"),
        },
    ),
    "vertex": (
        PROJECT,
        lambda url: Vertex(base_url=f"{url}/v1/{PROJECT}", auth=Auth.bearer("t")),
        lambda url: {
            "vertexai": True,
            "project": "p-1",
            "location": "us-central1",
            "credentials": Credentials(token="t"),  # type: ignore[no-untyped-call]
            "http_options": google_types.HttpOptions(base_url=url, api_version="v1"),
        },
    ),
}


@pytest.mark.parametrize("service", SERVICES)
def test_the_google_package_sends_and_reads_the_same(service: str) -> None:
    """Every operation, and a generation that begins with the content, over a real server."""
    prefix, configured, arguments = SERVICES[service]
    with served(prefix) as theirs, served(prefix) as ours:
        read = by_the_package(genai.Client(**arguments(theirs.url)))
        with sync.Client(providers={service: configured(ours.url)}) as client:
            found = by_llmcore(client, service)

        assert [shape(one) for one in ours.received] == [shape(one) for one in theirs.received]
        assert found == read
        assert len(found) == 6


def by_the_package(client: genai.Client) -> list[Any]:
    declared = google_types.FunctionDeclaration(name="look_up", description="Find a word.")
    config = google_types.CreateCachedContentConfig(
        contents="(a long book)",
        system_instruction="Be brief.",
        tools=[google_types.Tool(function_declarations=[declared])],
        ttl="5400s",
        display_name="a book",
    )
    made = client.caches.create(model=FLASH, config=config)
    client.caches.create(model=FLASH, config=google_types.CreateCachedContentConfig(contents="b"))
    name = made.name or ""
    listed = [one.name for one in client.caches.list(config={"page_size": 100})]
    got = client.caches.get(name=name)
    lasting = client.caches.update(
        name=name, config=google_types.UpdateCachedContentConfig(ttl="7200s")
    )
    using = google_types.GenerateContentConfig(cached_content=name)
    answer = client.models.generate_content(model=FLASH, contents="Who?", config=using)
    client.caches.delete(name=name)
    usage, kept = answer.usage_metadata, made.usage_metadata
    assert usage is not None
    assert kept is not None
    return [
        (made.name, made.display_name, kept.total_token_count, made.expire_time),
        listed,
        got.create_time,
        lasting.expire_time,
        answer.text,
        (usage.prompt_token_count, usage.cached_content_token_count),
    ]


def by_llmcore(client: sync.Client, provider: str) -> list[Any]:
    contents = sync.CachedContents(client)
    book = evolve(BOOK, provider=provider)
    made = contents.create(book, ttl=1.5 * HOUR, display_name="a book").unwrap()
    contents.create(request(model=FLASH, provider=provider, prompt="b")).unwrap()
    listed = [one.name for one in contents.list(provider).unwrap()]
    got = contents.get(made.name, provider).unwrap()
    lasting = contents.update(made, ttl=2 * HOUR).unwrap()
    asked = request(
        model=FLASH, provider=provider, prompt="Who?", cache=CachePolicy(content=lasting)
    )
    answer = client.complete(asked)
    contents.delete(made).unwrap()
    assert made.diagnostics == ()
    return [
        (made.name, made.display_name, made.total_tokens, made.expires_at),
        listed,
        got.created_at,
        lasting.expires_at,
        answer.text,
        (answer.usage.input_tokens, answer.usage.cache_read_tokens),
    ]


def shape(received: Received) -> tuple[str, str, Any]:
    """Return method, path and body, without what the package adds and the API ignores."""
    body = json.loads(received.body or b"{}")
    body = {name: value for name, value in body.items() if value}
    body.get("systemInstruction", {}).pop("role", None)
    return received.method, re.sub(r"pageSize=\d+", "pageSize=", received.path), body


# -- creation


async def test_what_cannot_be_kept_is_left_out_with_a_diagnostic() -> None:
    contents, transport = contents_of(NATIVE)

    made = (await contents.create(evolve(BOOK, generation=WARM))).unwrap()

    sent = json.loads(transport.requests[0].body)
    assert sent.keys() == {"model", "contents", "systemInstruction", "tools"}
    assert [(one.action, one.path) for one in made.diagnostics] == [("dropped", "generationConfig")]
    assert from_json(CachedContent, to_json(made)) == made


async def test_strict_creation_that_would_lose_something_is_refused() -> None:
    contents, transport = contents_of()

    found = await contents.create(evolve(BOOK, generation=WARM, strict=True))

    assert isinstance(found.failure(), InvalidRequestError)
    assert transport.requests == []


async def test_instructions_alone_can_be_kept() -> None:
    contents, transport = contents_of(NATIVE)

    await contents.create(request(model=FLASH, provider="google", system="Be brief.", messages=[]))

    assert json.loads(transport.requests[0].body).keys() == {"model", "systemInstruction"}


REFUSED: dict[str, tuple[LLMRequest, timedelta | None, type[Exception]]] = {
    "no time": (BOOK, timedelta(), InvalidRequestError),
    "nothing to keep": (evolve(BOOK, system=(), messages=(), tools=()), None, InvalidRequestError),
    "another provider": (
        evolve(BOOK, model="claude-sonnet-4-5", provider="anthropic"),
        None,
        ConfigurationError,
    ),
    "one in another": (
        evolve(BOOK, cache=CachePolicy(content=read_cached_content(NATIVE))),
        None,
        InvalidRequestError,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_creation_that_cannot_be_is_an_error_before_sending(case: str) -> None:
    asked, ttl, kind = REFUSED[case]
    contents, transport = contents_of()

    found = await contents.create(asked, ttl=ttl)

    assert isinstance(found.failure(), kind)
    assert transport.requests == []


# -- owners


def test_a_request_begins_with_the_content_and_leaves_out_what_that_has() -> None:
    asked = evolve(BOOK, messages=(Message.user("Who?"),), cache=policy())
    ready = client_of()[0].prepare(asked).unwrap()

    assert ready.body == {
        "contents": [{"role": "user", "parts": [{"text": "Who?"}]}],
        "cachedContent": "cachedContents/abc",
    }
    assert [(one.code, one.path) for one in ready.diagnostics] == [
        ("cached-content", "systemInstruction"),
        ("cached-content", "tools"),
    ]


@pytest.mark.parametrize(
    ("provider", "model", "owner"),
    [
        ("google", "gemini-2.5-pro", "belongs to gemini-2.5-flash"),
        ("vertex", FLASH, "belongs to google"),
        ("anthropic", "claude-sonnet-4-5", "belongs to google"),
    ],
)
async def test_a_request_elsewhere_is_refused_before_it_is_sent(
    provider: str, model: str, owner: str
) -> None:
    client, transport = client_of()

    found = await client.generate(
        request(model=model, provider=provider, prompt="Hi", cache=policy())
    )

    assert isinstance(found.failure(), InvalidRequestError)
    assert owner in str(found.failure())
    assert transport.requests == []


async def test_another_accounts_content_is_refused_before_anything_is_sent() -> None:
    made = (await contents_of(NATIVE)[0].create(BOOK)).unwrap()
    client, transport = client_of(google=Google(api_key="theirs"))
    theirs = CachedContents(client)
    asked = request(model=FLASH, provider="google", prompt="Hi", cache=policy(made))

    for found in (
        await client.generate(asked),
        await theirs.update(made, ttl=HOUR),
        await theirs.delete(made),
    ):
        assert "another account of google" in str(found.failure())
    assert transport.requests == []
    assert "k-secret" not in f"{made!r}{to_json(made)}"


async def test_the_account_at_vertex_is_the_project_and_its_location() -> None:
    """Tokens change, so that they tell no accounts apart."""
    native = {**NATIVE, "name": f"{PROJECT}cachedContents/1"}
    accounts = []
    for project, token in (("p-1", "old"), ("p-1", "new"), ("p-2", "new")):
        made = Vertex(project=project, location="us-central1", auth=Auth.bearer(token))
        contents = CachedContents(client_of(native, vertex=made)[0])
        accounts.append((await contents.create(evolve(BOOK, provider="vertex"))).unwrap().account)

    assert accounts[0] == accounts[1] != accounts[2]


async def test_a_model_may_be_named_as_a_resource() -> None:
    asked = request(model=f"models/{FLASH}", provider="google", prompt="Hi", cache=policy())
    assert client_of()[0].prepare(asked).unwrap().body["cachedContent"] == "cachedContents/abc"


@pytest.mark.parametrize("name", ["abc", "cachedContents/../files/1", "files/1", "projects/x"])
async def test_a_name_of_something_else_is_refused(name: str) -> None:
    contents, transport = contents_of()

    assert isinstance((await contents.get(name, "google")).failure(), InvalidRequestError)
    assert transport.requests == []


async def test_an_error_of_the_service_is_a_failure() -> None:
    contents, _ = contents_of((404, {}, {"error": {"message": "expired"}}))

    found = await contents.delete(read_cached_content(NATIVE))

    assert isinstance(found.failure(), NotFoundError)


# -- cost, reading


async def test_cached_tokens_have_their_own_price() -> None:
    with served() as server:
        client = Client(providers={"google": Google(api_key="k", base_url=f"{server.url}/v1beta")})
        async with client:
            made = (await CachedContents(client).create(BOOK)).unwrap()
            asked = request(model=FLASH, provider="google", prompt="Who?", cache=policy(made))
            answer = await client.complete(asked)

    info = get_model_info(FLASH, "google")
    assert info is not None
    assert info.prices is not None
    rates = info.prices.standard
    assert rates.cache_read is not None
    assert rates.cache_read < rates.input
    expected = 4000 * rates.cache_read + 10 * rates.input + 10 * rates.output
    assert answer.cost == pytest.approx(expected / 1e6)


async def test_counts_and_estimates_include_the_content() -> None:
    """Vertex AI counts what is sent: the tokens of the content are added."""
    client, _ = client_of({"totalTokens": 10})
    native = {**NATIVE, "name": f"{PROJECT}cachedContents/1"}
    content = evolve(read_cached_content(native), provider="vertex")
    plain = request(model=FLASH, provider="vertex", prompt="Who?")
    asked = evolve(plain, cache=policy(content))

    assert (await client.count_tokens(asked)).unwrap().tokens == 4010
    assert estimated_tokens(asked) == estimated_tokens(plain) + 4000


@given(json_values())
def test_any_description_is_a_content_or_a_stream_error(value: Any) -> None:
    for native in ({**NATIVE, "usageMetadata": value, "expireTime": value}, {"name": value}):
        try:
            content = read_cached_content(native)
        except StreamError:
            continue
        assert content.name


# -- clients


def policy(content: CachedContent | None = None) -> CachePolicy:
    return CachePolicy(content=content or read_cached_content(NATIVE))


def client_of(*answers: Any, **providers: ModelSource) -> tuple[Client, Any]:
    transport = scripted(*answers)
    usual: dict[str, ModelSource] = {
        "google": Google(api_key="k-secret"),
        "vertex": Vertex(project="p-1", location="us-central1", auth=Auth.bearer("t")),
        "anthropic": Anthropic(api_key="k"),
    }
    return Client(providers={**usual, **providers}, transport=transport), transport


def contents_of(*answers: Any) -> tuple[CachedContents, Any]:
    client, transport = client_of(*answers)
    return CachedContents(client), transport
