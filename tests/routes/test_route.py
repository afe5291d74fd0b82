"""The composition: `llmcore/routes/route.py`."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.protocol import BodyBuilder, Built, Protocol, StreamMachine, with_bodies
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.defaults import ModelLimits, RouteDefaults
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.framing import Framing
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
)
from llmcore.schema.options import GenerationOptions, HttpOverlay
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.secret_names import REDACTED

SECRET = "sk-very-secret"
LOST = Diagnostic("unsupported-parameter", "generation.seed", action="dropped", message="no seed")
NOTED = Diagnostic("fyi", "messages", action="noted", message="as you like")


def talk(
    *diagnostics: Diagnostic, headers: dict[str, str] | None = None, error: LLMError | None = None
) -> Protocol[Any, Any, Any]:
    """Return a protocol whose body says what it was given."""

    def build(asked: LLMRequest, streaming: bool) -> Result[Built[Any], LLMError]:
        if error is not None:
            return Failure(error)
        body = {
            "model": asked.model_id,
            "stream": streaming,
            "temperature": asked.generation.temperature,
            "max_tokens": asked.generation.max_tokens,
            "options": dict(asked.options_for("acme")),
        }
        return Success(Built(body, diagnostics, headers=headers or {}))

    return Protocol(
        id="talk",
        api="Talk",
        path="/talk",
        prompt=("messages",),
        metadata_key="acme",
        body=BodyBuilder(build=build),
        stream=StreamMachine(
            decode=lambda frame: frame,
            initial=lambda asked: None,
            step=lambda state, event: (state, ()),
            halt=lambda state: (),
            terminal=lambda event: False,
        ),
        whole=lambda body, asked: (),
    )


def route(protocol: Protocol[Any, Any, Any] | None = None, **defaults: Any) -> Route:
    """Return a route to acme."""
    return Route.make(
        id="acme-talk",
        provider="acme",
        protocol=protocol or talk(),
        endpoint=Endpoint.path("/talk", base_url="https://acme.example/v1"),
        auth=Auth.bearer(SECRET),
        defaults=RouteDefaults(**defaults),
    )


def prepared(way: Route, *, streaming: bool = False, **given: Any) -> PreparedRequest:
    """Return what a request for *way* becomes."""
    asked = request(model=way.model("m-1"), prompt="Hi", **given)
    return way.prepare(asked, streaming=streaming, context=AuthContext()).unwrap()


def failed(way: Route, **given: Any) -> LLMError:
    """Return why a request for *way* cannot be prepared."""
    asked = request(model=way.model("m-1"), prompt="Hi", **given)
    return way.prepare(asked, streaming=False, context=AuthContext()).failure()


# -- the native request


def test_a_whole_and_a_streamed_request() -> None:
    """Method, URL, body and what is accepted; the body is what is sent."""
    whole, streamed = prepared(route()), prepared(route(), streaming=True)

    assert (whole.method, whole.url) == ("POST", "https://acme.example/v1/talk")
    assert whole.headers["accept"] == "application/json"
    assert streamed.headers["accept"] == "text/event-stream"
    assert streamed.body["stream"] is True
    assert json.loads(whole.http.body) == whole.body
    assert whole.headers["content-type"] == "application/json"
    assert whole.headers["user-agent"].startswith("llmcore/")


def test_it_shows_no_secret_but_has_it() -> None:
    """The real headers are in `http`."""
    ready = prepared(route(headers={"x-api-key": SECRET}))

    assert ready.headers["authorization"] == REDACTED
    assert ready.headers["x-api-key"] == REDACTED
    assert ready.http.headers["authorization"] == f"Bearer {SECRET}"
    for shown in (repr(ready), str(ready), repr(route(headers={"x-api-key": SECRET}))):
        assert SECRET not in shown


# -- layers


def test_headers_of_caller_override_those_of_body_and_route() -> None:
    """The caller's word is the last, then the body's features, then the route's defaults."""
    way = route(talk(headers={"b": "built", "c": "built"}), headers={"A": "route", "b": "route"})

    ready = prepared(way, http=HttpOverlay(headers={"C": "caller", "User-Agent": "me"}))

    assert ready.headers["a"] == "route"
    assert ready.headers["b"] == "built"
    assert ready.headers["c"] == "caller"
    assert ready.headers["user-agent"] == "me"


@pytest.mark.parametrize("name", ["anthropic-beta", "openai-beta"])
def test_lists_of_features_are_joined(name: str) -> None:
    """Features of route, body and caller go out together, each once."""
    way = route(talk(headers={name: "b, a"}), headers={name: "a"})

    ready = prepared(way, http=HttpOverlay(headers={name.title(): "c,b"}))

    assert ready.headers[name] == "a,b,c"


def test_the_callers_query_and_body_are_laid_over() -> None:
    """Objects merge, None removes, all else replaces."""
    overlay = HttpOverlay(
        query={"trace": "1"},
        body={"temperature": None, "options": {"deep": {"b": 2}}, "extra": [1]},
    )
    way = route(provider_options={"acme": {"deep": {"a": 1}}})

    ready = prepared(way, temperature=0.5, http=overlay)

    assert ready.url == "https://acme.example/v1/talk?trace=1"
    assert "temperature" not in ready.body
    assert ready.body["options"] == {"deep": {"a": 1, "b": 2}}
    assert ready.body["extra"] == [1]


def test_defaults_fill_what_the_request_leaves_open() -> None:
    """Generation, provider options and overlay; a set field is never overruled."""
    way = route(
        generation=GenerationOptions(temperature=0.1, max_tokens=7),
        provider_options={"acme": {"a": 1, "b": {"x": 1}}},
        http=HttpOverlay(headers={"x-a": "route", "x-b": "route"}, body={"extra": 1}),
    )

    ready = prepared(
        way,
        temperature=0.9,
        provider_options={"acme": {"b": {"y": 2}}, "other": {"z": 1}},
        http=HttpOverlay(headers={"x-b": "caller"}),
    )

    assert ready.body["temperature"] == 0.9
    assert ready.body["max_tokens"] == 7
    assert ready.body["options"] == {"a": 1, "b": {"x": 1, "y": 2}}
    assert ready.body["extra"] == 1
    assert (ready.headers["x-a"], ready.headers["x-b"]) == ("route", "caller")
    assert ready.request.generation.max_tokens == 7


def test_defaults_of_zero_and_false_are_values() -> None:
    zeros = GenerationOptions(temperature=0.0, seed=0, presence_penalty=0, logprobs=False)

    filled = prepared(route(generation=zeros), max_tokens=5).request.generation
    overruled = prepared(route(generation=GenerationOptions(temperature=1.0)), temperature=0)

    assert filled == evolve(zeros, max_tokens=5)
    assert overruled.request.generation.temperature == 0


def test_preparing_leaves_request_route_and_defaults_unchanged() -> None:
    """Request, route and defaults stay as they are, and the same request gives the same bytes."""
    way = route(generation=GenerationOptions(max_tokens=7), provider_options={"acme": {"a": {}}})
    asked = request(model=way.model("m-1"), prompt="Hi", provider_options={"acme": {"a": {"b": 1}}})
    asked_before, defaults_before = evolve(asked), evolve(way.defaults)

    first = way.prepare(asked, streaming=False, context=AuthContext()).unwrap()
    second = way.prepare(asked, streaming=False, context=AuthContext()).unwrap()

    assert first.http == second.http
    assert asked == asked_before
    assert way.defaults == defaults_before
    assert way.defaults.provider_options == {"acme": {"a": {}}}


# -- diagnostics and failures


def test_prepared_request_reports_losses_as_diagnostics() -> None:
    """They go with the prepared request."""
    assert prepared(route(talk(LOST, NOTED))).diagnostics == (LOST, NOTED)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("opnai", "did you mean 'openai'"),
        ("amce", "did you mean 'acme'"),
        ("Anthropic", "did you mean 'anthropic'"),
        ("zzz", "the request goes to 'acme'"),
    ],
)
def test_options_of_an_unknown_provider_are_noted(key: str, hint: str) -> None:
    options: dict[str, Any] = {"acme": {}, "google": {}, "gemini": {}, key: {"a": 1}}

    (note,) = prepared(route(), provider_options=options, strict=True).diagnostics

    assert (note.code, note.path) == ("unknown-provider", f"provider_options.{key}")
    assert hint in note.message


def test_lone_surrogates_are_sent_as_replacement_characters_and_reported() -> None:
    """Both halves of a pair are one character, and an escape is text."""
    texts = {"cut": "a\ud83d", "pair": "\ud83d\ude00", "escape": r"\ud83d", "key\ude00": ["x"]}
    ready = prepared(route(), http=HttpOverlay(body=texts))

    assert [note.code for note in ready.diagnostics] == ["lone-surrogates-replaced"]
    assert json.loads(ready.http.body) == ready.body
    expected = {"cut": "a\ufffd", "pair": "\U0001f600", "escape": r"\ud83d", "key\ufffd": ["x"]}
    assert {name: ready.body[name] for name in expected} == expected
    assert r"\ud" not in ready.http.body.decode().replace(r"\\ud", "")
    error = failed(route(), http=HttpOverlay(body=texts), strict=True)
    assert "lone-surrogates-replaced" in str(error)


def test_texts_with_whole_characters_are_sent_without_a_note() -> None:
    texts = {"pair": "\ud83d\ude00", "emoji": "\U0001f600", "escape": r"\ud83d", "big": 2**70}

    assert prepared(route(), http=HttpOverlay(body=texts)).diagnostics == ()


def test_a_strict_request_fails_rather_than_lose_something() -> None:
    """The error names the loss; a mere note does not fail."""
    error = failed(route(talk(LOST)), strict=True)

    assert isinstance(error, InvalidRequestError)
    assert "generation.seed" in error.message
    assert prepared(route(talk(NOTED)), strict=True).diagnostics == (NOTED,)


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        (route(talk(error=InvalidRequestError("no"))), InvalidRequestError),
        (route().with_(endpoint=Endpoint.path("/talk")), ConfigurationError),
        (route().with_(auth=Auth.env("ACME_KEY")), AuthenticationError),
        (route(talk(LOST)), InvalidRequestError),
    ],
)
def test_failures_name_the_provider(way: Route, kind: type[LLMError]) -> None:
    """Wherever they come from."""
    error = failed(way, strict=True)

    assert isinstance(error, kind)
    assert error.provider == "acme"


# -- the value


def test_with_returns_a_new_route() -> None:
    """The old one stays; what is not named is the same."""
    old = route()
    new = old.with_(id="other", framing=Framing.ndjson(), auth=Auth.none())

    assert (old.id, old.framing.id, old.auth.id) == ("acme-talk", "sse", "bearer")
    assert (new.id, new.framing.id, new.auth.id) == ("other", "ndjson", "none")
    assert new.endpoint is old.endpoint
    assert prepared(new, streaming=True).headers["accept"] == "application/x-ndjson"


def test_a_model_carries_its_route() -> None:
    """Its id and provider are data; the route, which holds the credentials, is not shown."""
    way = route()
    model = way.model("m-1")

    assert (model.id, model.provider, model.route) == ("m-1", "acme", way)
    assert SECRET not in repr(model)
    assert "route" not in repr(model)


def test_route_has_no_auth_and_sse_framing_by_default() -> None:
    """Without an auth it signs nothing, without a framing it reads server-sent events."""
    way = Route.make(
        id="x", provider="x", protocol=talk(), endpoint=Endpoint.path("/t", base_url="https://h")
    )

    assert (way.auth.id, way.framing.id) == ("none", "sse")
    assert "protocol=talk" in repr(way)


# -- limits


@pytest.mark.parametrize(
    ("limits", "asked", "sent"),
    [
        (ModelLimits(output=1000), 4000, 1000),
        (ModelLimits(context=2000), 4000, 2000),
        (ModelLimits(context=8000, output=4000), 9000, 4000),
        (ModelLimits(output=1000), 1000, 1000),
        (ModelLimits(output=1000), None, None),
        (ModelLimits(), 4000, 4000),
    ],
)
def test_max_tokens_above_the_limits_of_the_route_is_lowered_and_noted(
    limits: ModelLimits, asked: int | None, sent: int | None
) -> None:
    """A strict request is refused instead."""
    way = route(limits=limits)
    ready = prepared(way, max_tokens=asked)
    lowered = asked != sent

    assert ready.request.generation.max_tokens == sent
    assert [note.code for note in ready.diagnostics] == ["max-tokens-lowered"] * lowered
    if lowered:
        assert "max_tokens lowered" in str(failed(way, max_tokens=asked, strict=True))


@pytest.mark.parametrize(
    "auth",
    [
        Auth.env("A_KEY", "B_KEY"),
        Auth.first_of(Auth.env("A_KEY"), Auth.env("B_KEY")),
        Auth.all_of(Auth.env("A_KEY", "B_KEY"), Auth.none()),
        Auth(id="own", sign=Auth.env("A_KEY", "B_KEY").sign),
    ],
)
def test_later_requests_are_signed_as_the_first_one_of_their_key(auth: Auth) -> None:
    """The kept request has no body, and is not used once the key has changed."""
    way = route().with_(auth=auth, endpoint=Endpoint.path("/talk", base_url="https://a.example"))
    environ = {"B_KEY": "of-b"}

    def sent(model: str, *, streaming: bool = False, **given: Any) -> PreparedRequest:
        asked = request(model=way.model(model), prompt="?", **given)
        return way.prepare(
            asked, streaming=streaming, context=AuthContext(environ=environ)
        ).unwrap()

    one, two, streamed = sent("m-1"), sent("m-2"), sent("m-1", streaming=True)
    own = sent("m-1", http=HttpOverlay(headers={"X-Own": "1"}))
    environ["A_KEY"] = "of-a"
    other = sent("m-1")

    assert (one.http.headers, one.http.secrets) == (two.http.headers, two.http.secrets)
    assert [json.loads(one.http.body)["model"] for one in (one, two)] == ["m-1", "m-2"]  # type: ignore[index,call-overload]
    assert streamed.http.headers["accept"] == "text/event-stream"
    assert own.http.headers == {**one.http.headers, "x-own": "1"}
    assert [one.http.headers["authorization"] for one in (two, own, other)] == [
        "Bearer of-b",
        "Bearer of-b",
        "Bearer of-a",
    ]


def test_requests_of_other_features_are_not_sent_with_the_headers_of_the_first_ones() -> None:
    """Headers are kept for each set of features that bodies need."""
    headers: dict[str, str] = {}

    def needed(built: Built[Any]) -> Built[Any]:
        return evolve(built, headers=dict(headers))

    way = route(with_bodies(talk(), needed))
    seen = []
    for features in ("", "a", "a,b", "", "a"):
        headers = {"anthropic-beta": features} if features else {}
        ready = prepared(way)
        seen.append(ready.headers.get("anthropic-beta", ""))
        assert ready.http.headers["authorization"] == f"Bearer {SECRET}"

    assert seen == ["", "a", "a,b", "", "a"]
