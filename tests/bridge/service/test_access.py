"""Access and rates: which callers are let in, and how often."""

from collections.abc import Iterator

import pytest
from attrs import evolve

from llmcore.bridge.api import Caller
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.http import access
from llmcore.bridge.http.access import CallerRates, Keys, check_admin, is_allowed_host
from llmcore.fronts.errors import FrontError
from tests.support.servers.bridge_service import asked, settings_for
from tests.support.servers.loopback import serve
from tests.support.servers.pooled_gateway import says


@pytest.mark.parametrize(
    ("headers", "admitted"),
    [
        ({"authorization": "Bearer sk-one"}, True),
        ({"authorization": "bearer  sk-two "}, True),
        ({"x-api-key": "sk-one"}, True),
        ({"api-key": "sk-two"}, True),
        ({"authorization": "Bearer placeholder", "x-api-key": "sk-one"}, True),
        ({"authorization": "Basic sk-one"}, False),
        ({"authorization": "Bearer sk-on"}, False),
        ({"authorization": "Bearer sk-one\udcff"}, False),
        ({"authorization": "Bearer"}, False),
        ({}, False),
    ],
)
def test_a_key_must_be_shown(headers: dict[str, str], admitted: bool) -> None:
    """In any of the headers that clients use for it."""
    assert (Keys(("sk-one", "sk-two")).caller(headers, "1.2.3.4") is not None) is admitted


def test_operations_for_the_admin_refuse_other_callers() -> None:
    """Also if a path had admitted them."""
    check_admin(Caller(owner="admin", counted_as="admin", is_admin=True))
    with pytest.raises(FrontError) as refused:
        check_admin(Caller(owner="a", counted_as="a"))

    assert refused.value.status == 401


def test_a_key_of_any_letters() -> None:
    """Headers are bytes; clients write such keys in UTF-8."""
    shown = "Bearer schlüssel ✓".encode().decode("latin-1")

    assert Keys(("schlüssel ✓",)).caller({"authorization": shown}, "a") is not None


def test_callers_are_distinguished_and_their_keys_not_kept() -> None:
    """Objects that one key stored are invisible to another."""
    keys = Keys(("sk-one", "sk-two"))
    one = keys.caller({"x-api-key": "sk-one"}, "a")
    two = keys.caller({"x-api-key": "sk-two"}, "a")

    assert one is not None
    assert two is not None
    assert one.owner != two.owner
    assert "sk-one" not in repr(one) + repr(keys)


def test_headers_may_have_as_many_bytes_as_the_limit_and_no_more() -> None:
    """Names and values are counted."""
    scope = {"headers": [(b"host", b"a"), (b"x", b"yz")]}

    access._check_size(scope, 8)
    with pytest.raises(FrontError, match="larger than 7 bytes") as refused:
        access._check_size(scope, 7)
    assert refused.value.status == 431


def test_without_keys_everybody_is_admitted() -> None:
    """They are counted by their address."""
    caller = Keys(()).caller({}, "10.0.0.1")

    assert caller is not None
    assert caller.counted_as == "10.0.0.1"


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost:8787", True),
        ("127.0.0.1", True),
        ("[::1]:80", True),
        ("evil.example:8787", False),
        ("bridge.lan", True),
        ("BRIDGE.lan:8787", True),
        ("other.lan", True),
        ("", False),
        ("[", False),
        ("[::1].evil.example", False),
        ("evil.example@localhost", False),
        ("localhost/evil.example", False),
        ("localhost:8787.evil.example", False),
        ("localhost:", False),
        ("localhost ", False),
    ],
)
def test_which_host_names_are_answered(host: str, ours: bool) -> None:
    """A page of another name, led to this address, is not."""
    assert is_allowed_host(host, ("bridge.lan", "Other.LAN")) is ours


def test_a_minutes_requests_are_let_through_and_then_one_at_a_time() -> None:
    """The bucket fills steadily."""
    now = [0.0]
    rates = CallerRates(60, clock=lambda: now[0])

    assert [rates.wait_s("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait_s("a") == pytest.approx(1.0)
    assert rates.wait_s("b") == 0.0
    now[0] = 1.0
    assert rates.wait_s("a") == 0.0
    assert rates.wait_s("a") == pytest.approx(1.0)


def test_without_a_limit_no_caller_is_counted() -> None:
    """0 switches it off."""
    rates = CallerRates(0)

    assert [rates.wait_s("a") for _ in range(1000)] == [0.0] * 1000


def test_the_callers_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one not seen for longest is forgotten, and may ask anew."""
    monkeypatch.setattr(access, "MAX_CALLERS", 2)
    rates = CallerRates(1, clock=lambda: 0.0)

    assert [rates.wait_s(name) for name in ("a", "b", "c")] == [0.0, 0.0, 0.0]
    assert rates.wait_s("c") > 0
    assert rates.wait_s("a") == 0.0


# -- web pages of other origins

PAGE = "https://app.example"
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def settings() -> Iterator[GatewaySettings]:
    with serve(says("Hello")) as upstream:
        yield settings_for(upstream.url, client_api_keys=("sk-one",))


def preflight(origin: str) -> dict[str, str]:
    return {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
    }


@pytest.mark.anyio
@pytest.mark.parametrize("allowed", [PAGE, "*"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_page_of_an_allowed_origin_gets_its_request_and_the_response(
    settings: GatewaySettings, allowed: str, stream: bool
) -> None:
    """The preflight comes without a key, and names all headers of the request."""
    path = "/v1/chat/completions"
    async with asked(evolve(settings, allowed_origins=(allowed, "null"))) as client:
        before = await client.options(path, headers=preflight(PAGE))
        headers = {"origin": PAGE, "authorization": "Bearer sk-one"}
        answer = await client.post(path, json={**ASK, "stream": stream}, headers=headers)
        refused = await client.post(path, json=ASK, headers={"origin": PAGE})

    assert (before.status_code, before.content) == (200, b"")
    assert before.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    wanted = preflight(PAGE)["access-control-request-headers"]
    assert before.headers["access-control-allow-headers"] == wanted
    assert [answer.status_code, refused.status_code] == [200, 401]
    for response in (before, answer, refused):
        assert response.headers["access-control-allow-origin"] == PAGE
        assert "origin" in response.headers["vary"]
    assert answer.headers["access-control-expose-headers"] == "*"


@pytest.mark.anyio
@pytest.mark.parametrize("allowed", [(), (PAGE,)])
async def test_a_page_of_another_origin_is_refused_by_its_browser(
    settings: GatewaySettings, allowed: tuple[str, ...]
) -> None:
    """No header allows it anything, and a program that sends the header gets its response."""
    path = "/v1/chat/completions"
    async with asked(evolve(settings, allowed_origins=allowed)) as client:
        before = await client.options(path, headers=preflight("https://evil.example"))
        headers = {"origin": "https://evil.example", "authorization": "Bearer sk-one"}
        answer = await client.post(path, json=ASK, headers=headers)

    assert [before.status_code, answer.status_code] == [401, 200]
    names = {*before.headers, *answer.headers}
    assert not [name for name in names if name.startswith("access-control")]
