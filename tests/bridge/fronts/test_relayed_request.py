"""Requests to an upstream of the client's API: each with what its client has sent."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from llmcore.bridge.relayed_request import RelayedRequest, holds_sealed_state
from llmcore.fronts.front import ClientRequest
from llmcore.routes.auth import Auth, AuthContext
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.route import PreparedRequest, Route, route_of
from llmcore.schema.model import Model
from llmcore.schema.options import HttpOverlay
from tests.support.wire.matrix import ANTHROPIC, COMPATIBLE, GEMINI, OPENAI, Column

columns = pytest.mark.parametrize(
    "column", [OPENAI, COMPATIBLE, ANTHROPIC, GEMINI], ids=lambda column: column.model_id
)
BASE = "http://upstream.test"


def relayed(model: Model) -> RelayedRequest:
    """Return what sends clients' bodies to *model*."""
    return RelayedRequest.to(model, route_of(model), skims=False)


def prepared(
    template: RelayedRequest,
    body: dict[str, Any],
    *,
    context: AuthContext | None = None,
    headers: Mapping[str, str] | None = None,
    rejected: tuple[str, ...] = (),
) -> PreparedRequest[Any]:
    """Return the request of *template* for a client's *body*."""
    asked = ClientRequest(body=body, path="/", query={}, headers=headers or {})
    assert isinstance(template.model, Model)
    return (
        route_of(template.model)
        .prepare(
            template.of(asked),
            streaming=bool(body.get("stream")),
            context=context or AuthContext(environ={}),
            rejected=rejected,
        )
        .unwrap()
    )


@columns
def test_a_later_request_is_what_it_would_be_as_the_first(column: Column) -> None:
    model = column.model_at(BASE)
    template = relayed(model)
    for body in ({"a": 1}, {"b": [2]}, {"c": 3, "stream": True}, {"d": {}, "stream": True}):
        later, first = prepared(template, body), prepared(relayed(model), body)

        assert later.http == first.http
        assert (later.body, later.streaming) == (first.body, first.streaming)
        assert later.diagnostics == first.diagnostics


def test_nothing_of_a_client_is_kept_for_the_next_one() -> None:
    template = relayed(COMPATIBLE.model_at(BASE))
    prepared(template, {"secret": "first"})

    later = prepared(template, {"other": 1})

    assert "secret" not in repr(later.request) + repr(later.body)
    assert b"secret" not in later.http.body


def test_a_new_token_a_clients_header_and_a_refused_field_are_seen() -> None:
    async def fetch() -> str:
        raise AssertionError("the context has the token")

    route: Route[Any] = evolve(route_of(COMPATIBLE.model_at(BASE)), auth=Auth.token(fetch))
    template = relayed(route.model("m"))
    tokens = [
        prepared(template, {"n": number}, context=AuthContext(environ={}, token=token))
        for number, token in enumerate(("one", "two", "one"))
    ]
    own = AuthContext(environ={}, token="one")
    with_header = prepared(template, {}, context=own, headers={"openai-beta": "x=1"})
    without_field = prepared(template, {"f": 1, "g": 2}, context=own, rejected=("f",))

    sent = [request.http.headers["authorization"] for request in tokens]
    assert sent == ["Bearer one", "Bearer two", "Bearer one"]
    assert with_header.http.headers["openai-beta"] == "x=1"
    assert "openai-beta" not in prepared(template, {}, context=own).http.headers
    assert "f" not in without_field.body


def test_an_address_of_the_environment_and_fields_of_the_configuration_are_applied() -> None:
    route = route_of(COMPATIBLE.model_at(BASE))
    anywhere = evolve(
        route,
        endpoint=Endpoint.path("/chat", base_url=lambda environ: f"http://{environ['HOST']}"),
        defaults=evolve(route.defaults, http=HttpOverlay(body={"added": 1}, query={"v": "2"})),
    )
    template = relayed(anywhere.model("m"))

    for host in ("a.test", "b.test"):
        later = prepared(template, {"n": 1}, context=AuthContext(environ={"HOST": host}))

        assert later.http.url == f"http://{host}/chat?v=2"
        assert later.body["added"] == 1


@pytest.mark.parametrize("size", [100, 100_000])
@pytest.mark.parametrize(
    ("state", "is_sealed"),
    [
        ({"signature": "ob1.AbC"}, True),
        ([[{"thoughtSignature": "b2IxLgAA"}]], True),
        ({"text": "a seal begins with ob1. or b2IxLg"}, False),
        ([1, None, True, 1.5, {}, []], False),
    ],
)
def test_sealed_state_is_found_at_any_depth_of_a_body_of_any_size(
    state: Any, is_sealed: bool, size: int
) -> None:
    """It is a text that begins as what the gateway seals."""
    body: dict[str, Any] = {"messages": [{"content": "x" * size}, {"content": [state]}]}

    assert holds_sealed_state(body, size) == is_sealed
