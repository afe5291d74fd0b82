"""The gateway's page: what it may show to whom, and what it keeps."""

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import evolve

from llmcore.bridge.configuration.reading import settings_from
from llmcore.bridge.configuration.settings import AccountSettings, Limits
from llmcore.bridge.ui.feed import Feed, FeedEntry, FeedRecording
from llmcore.inspector import exchange
from tests.support.servers.bridge_service import UPSTREAM_KEY, asked, settings_for
from tests.support.servers.loopback import Answer, Received, chat_handler, serve
from tests.support.servers.pooled_gateway import BOTH, fails, pooled_gateway, says

BODY = {"model": "gpt-5.2", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
KEY = "sk-" + "proj-1234567890abcdefghij"


async def requests(client: httpx.AsyncClient, **headers: str) -> list[dict[str, Any]]:
    """Return what the page lists."""
    response = await client.get("/ui/api/requests", headers=headers)
    assert response.status_code == 200
    found: list[dict[str, Any]] = response.json()["requests"]
    return found


@pytest.mark.anyio
async def test_requests_are_listed_with_tokens_and_times() -> None:
    """Whatever API they speak; only what changed comes again."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            await client.post("/v1/chat/completions", json=BODY)
            message = {"model": "m", "max_tokens": 9, "messages": BODY["messages"]}
            await client.post("/v1/messages", json=message)
            await client.post("/v1/responses", json={"model": "m"})
            found = (await client.get("/ui/api/requests")).json()
            after = f"0a:9,{found['process']}:{found['seq']}"
            again = (await client.get(f"/ui/api/requests?after={after}")).json()
            other = (await client.get("/ui/api/requests?after=0a:9")).json()

    assert again == {**found, "requests": []}
    assert other == found
    chat, message_, broken = found["requests"]
    assert (chat["model"], chat["status"], chat["state"]) == ("gpt-5.2", 200, "done")
    assert chat["usage"]["input_tokens"] == 3
    assert 0 <= chat["first_s"] <= chat["seconds"]
    assert (message_["path"], message_["usage"]["output_tokens"]) == ("/v1/messages", 2)
    assert (broken["status"], broken["state"]) == (400, "failed")
    assert "input" in broken["error"]
    assert broken["model"] == "m"  # of requests that are refused, too
    assert not chat["recorded"]


@pytest.mark.anyio
async def test_costs_are_by_the_configured_prices(tmp_path: Path) -> None:
    """In the list and in the recorded exchange, as in the rows of spend."""
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"openai-compatible/gpt-5.2": {"input": 1e6, "output": 5e5}}))
    with serve(chat_handler) as upstream:
        accounts = AccountSettings(prices_path=prices)
        settings = settings_for(upstream.url, accounts=accounts, ui_record=True)
        async with asked(settings) as client:
            await client.post("/v1/chat/completions", json=BODY)
            (one,) = await requests(client)
            shown = (await client.get(f"/ui/api/requests/{one['id']}")).text

    assert one["cost"] == 4.0
    assert '"cost":4.0' in shown


@pytest.mark.anyio
async def test_the_model_in_a_path_is_shown_for_a_request_that_is_refused() -> None:
    """The Gemini API names it there."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            await client.post("/v1beta/models/gemini-pro:generateContent", json={"contents": 5})
            (one,) = await requests(client)

    assert (one["model"], one["state"]) == ("gemini-pro", "failed")


@pytest.mark.anyio
async def test_a_recorded_exchange_has_the_tokens_and_the_end_of_the_upstream() -> None:
    """A client that did not ask for usage gets a stream without it."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url, ui_record=True)) as client:
            await client.post("/v1/chat/completions", json=BODY)
            (one,) = await requests(client)
            found = (await client.get(f"/ui/api/requests/{one['id']}")).json()

    assert found["usage"] == one["usage"]
    assert found["usage"]["input_tokens"] == 3
    titles = {stage["title"][:2]: stage for stage in found["stages"]}
    assert titles["4."]["body"]["finish_reason"] == {"reason": "stop", "raw": "stop"}


def test_targets_that_failed_before_are_listed() -> None:
    """A request to a pool has the one that responded, and why others did not."""
    with pooled_gateway(BOTH, a=fails(500), b=says("from b")) as scene:
        scene.ask()
        (one,) = scene.root("/ui/api/requests").json()["requests"]

    assert (one["provider"], one["tried"]) == ("b", ["a/up-a 500"])


@pytest.mark.anyio
async def test_the_status_has_the_state_of_each_upstream() -> None:
    """As its last requests showed it."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            found = (await client.get("/ui/api/status")).json()

    assert found["health"]["upstreams"] == {"openai-compatible": {"state": "ok", "running": 0}}


@pytest.mark.anyio
async def test_an_exchange_is_shown_without_blocking_other_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is made in another thread than that of the event loop."""
    threads: list[threading.Thread] = []
    make = exchange.exchange

    def watched(*args: Any, **settings: Any) -> Any:
        threads.append(threading.current_thread())
        return make(*args, **settings)

    monkeypatch.setattr(exchange, "exchange", watched)
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url, ui_record=True)) as client:
            await client.post("/v1/chat/completions", json=BODY)
            (one,) = await requests(client)
            found = await client.get(f"/ui/api/requests/{one['id']}")

    assert found.status_code == 200
    assert threads
    assert threading.current_thread() not in threads


@pytest.mark.anyio
async def test_exchanges_are_kept_only_while_recording_is_on() -> None:
    """The page says how to switch it on."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            await client.post("/v1/chat/completions", json=BODY)
            (one,) = await requests(client)
            response = await client.get(f"/ui/api/requests/{one['id']}")
            assert response.status_code == 404
            assert "OPENBRIDGE_UI_RECORD" in response.text
            assert (await client.get("/ui/api/requests/nothing")).status_code == 404
            for wrong in ("x", "a:", "a:1;b:2", "a:" + "9" * 40):
                found = await client.get("/ui/api/requests", params={"after": wrong})
                assert found.status_code == 400


@pytest.mark.anyio
@pytest.mark.parametrize("relay", [True, False])
@pytest.mark.parametrize("streamed", [True, False])
async def test_an_exchange_is_shown_through_all_stages(*, relay: bool, streamed: bool) -> None:
    """From the client's request to the client's response, without any key."""
    with serve(chat_handler) as upstream:
        settings = settings_for(upstream.url, ui_record=True, relay=relay)
        async with asked(settings) as client:
            body = {**BODY, "stream": streamed}
            body["messages"] = [{"role": "user", "content": f"Is {KEY} a key?"}]
            await client.post(
                "/v1/chat/completions", json=body, headers={"authorization": f"Bearer {KEY}"}
            )
            (one,) = await requests(client)
            response = await client.get(f"/ui/api/requests/{one['id']}")
        url = upstream.url

    found = response.json()
    titles = [stage["title"][:2] for stage in found["stages"]]
    assert titles == ["1.", "2.", "3.", "4.", "5."]
    assert found["stages"][0]["body"]["model"] == "gpt-5.2"
    assert found["stages"][2]["line"].startswith(f"POST {url}")
    assert (found["text"], found["error"]) == ("Hello", None)
    if streamed:
        assert [lane["kind"] for lane in found["lanes"]] == ["text"]
        assert found["wire"]
    for secret in (KEY, UPSTREAM_KEY):
        assert secret not in response.text


@pytest.mark.anyio
async def test_each_key_sees_its_own_requests() -> None:
    """Without a key nothing is visible; the page itself has no data."""
    with serve(chat_handler) as upstream:
        settings = settings_for(upstream.url, client_api_keys=("key-one", "key-two"))
        settings = evolve(settings, ui_record=True)
        async with asked(settings) as client:
            one, two = ({"authorization": f"Bearer {key}"} for key in ("key-one", "key-two"))
            await client.post("/v1/chat/completions", json=BODY, headers=one)
            (entry,) = await requests(client, **one)
            assert await requests(client, **two) == []
            path = f"/ui/api/requests/{entry['id']}"
            assert (await client.get(path, headers=two)).status_code == 404
            assert (await client.get(path, headers=one)).status_code == 200
            for closed in ("/ui/api/requests", "/ui/api/status", path):
                assert (await client.get(closed)).status_code == 401
            page = await client.get("/ui")

    assert page.status_code == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "key-one" not in page.text
    assert entry["key"] not in ("key-one", "")
    assert entry["id"] not in page.text


@pytest.mark.anyio
async def test_the_admin_sees_all_requests() -> None:
    """By paths of its own, which no client key opens."""
    with serve(chat_handler) as upstream:
        accounts = AccountSettings(admin_key="the-admin-key-of-the-test")
        keys = ("key-one", "key-two")
        settings = settings_for(upstream.url, client_api_keys=keys, accounts=accounts)
        async with asked(settings) as client:
            for key in keys:
                headers = {"authorization": f"Bearer {key}"}
                await client.post("/v1/chat/completions", json=BODY, headers=headers)
                assert (await client.get("/admin/ui/requests", headers=headers)).status_code == 401
            admin = {"authorization": "Bearer the-admin-key-of-the-test"}
            found = (await client.get("/admin/ui/requests", headers=admin)).json()["requests"]
            assert (await client.get("/admin/ui/status", headers=admin)).status_code == 200
    assert len({one["key"] for one in found}) == 2


@pytest.mark.anyio
async def test_the_page_does_not_use_up_the_rate_of_a_key() -> None:
    """It asks every other second."""
    with serve(chat_handler) as upstream:
        limits = Limits(rate_per_minute=2)
        async with asked(settings_for(upstream.url, limits=limits)) as client:
            for _ in range(5):
                assert (await client.get("/ui/api/requests")).status_code == 200


@pytest.mark.anyio
async def test_other_names_do_not_lead_to_the_data() -> None:
    """A web page whose own name was made to lead here would otherwise read it."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            response = await client.get("/ui/api/requests", headers={"host": "evil.example"})
            assert response.status_code == 403


PUBLIC = {
    "OPENBRIDGE_HOST": "0.0.0.0",
    "OPENBRIDGE_CLIENT_API_KEY": "a-long-client-key",
    "OPENBRIDGE_RATE_LIMIT_PER_MINUTE": "60",
    "OPENBRIDGE_STATE_BACKEND": "memory",
}


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, True),
        ({"OPENBRIDGE_UI": "off"}, False),
        (PUBLIC, False),
        ({**PUBLIC, "OPENBRIDGE_UI": "on"}, True),
    ],
)
def test_a_public_address_has_the_page_only_if_asked(
    *, variables: dict[str, str], shown: bool
) -> None:
    """On this machine it is there by default."""
    settings = settings_from({"OPENAI_API_KEY": "sk", **variables})
    assert settings.has_ui is shown
    assert settings.ui_record is False


@pytest.mark.anyio
async def test_disabled_page_serves_neither_page_nor_data() -> None:
    """Neither page nor data."""
    with serve(chat_handler) as upstream:
        async with asked(settings_for(upstream.url, ui="off")) as client:
            for path in ("/ui", "/ui/api/requests", "/ui/api/status"):
                assert (await client.get(path)).status_code == 404


@pytest.mark.anyio
async def test_a_failing_upstream_is_shown() -> None:
    """With its error."""

    def handler(_received: Received) -> Answer:
        data = json.dumps({"error": {"message": f"bad {KEY}"}}).encode()
        return Answer([data], 401, {"content-type": "application/json"}, length=len(data))

    with serve(handler) as upstream:
        async with asked(settings_for(upstream.url)) as client:
            await client.post("/v1/chat/completions", json=BODY)
            (one,) = await requests(client)
    assert one["state"] == "failed"
    assert one["error"]
    assert KEY not in one["error"]


# -- the feed


def entry(number: int, size: int = 0) -> FeedEntry:
    """Return a request that has ended, with a recording of *size* bytes."""
    recording = FeedRecording(size=size) if size else None
    return FeedEntry(
        id=f"r{number}", at=0, owner="me", method="POST", path="/v1", recording=recording
    )


def put(feed: Feed, one: FeedEntry) -> None:
    """Let *one* begin and end."""
    feed.put(one)
    one.state = "done"
    feed.put(one)


def test_the_oldest_requests_are_forgotten() -> None:
    """The feed has a bound."""
    feed = Feed(max_requests=2)
    for number in range(4):
        put(feed, entry(number))
    assert [one.id for one in feed.since(0, "me")] == ["r2", "r3"]
    assert feed.find("r0", "me") is None


def test_the_oldest_recordings_are_dropped_first() -> None:
    """Their lines stay."""
    feed = Feed(max_bytes=100)
    for number in range(3):
        put(feed, entry(number, 40))
    kept = [one.recording is not None for one in feed.since(0, "me")]
    assert kept == [False, True, True]
    put(feed, entry(3, 1000))
    assert all(one.recording is None for one in feed.since(0, "me"))
    put(feed, entry(4, 90))
    assert feed.since(0, "me")[-1].recording is not None


@pytest.mark.parametrize("of_requests", [False, True], ids=["responses", "requests"])
def test_recordings_of_those_that_outlast_many_others_count_too(*, of_requests: bool) -> None:
    """They have left the list while they ran, and are listed again at their end."""
    feed = Feed(max_requests=2, max_bytes=100)
    slow = [entry(number) for number in range(4)]
    for one in slow:
        one.recording = FeedRecording(asked_size=60) if of_requests else FeedRecording(size=60)
        feed.put(one)
    for number in range(10, 12):
        put(feed, entry(number))
    for one in slow:
        one.state = "done"
        feed.put(one)
        kept = [one.recording is not None for one in feed.since(0, "me")]
        assert kept in ([False, True], [True])
    put(feed, entry(20, 40))
    assert [one.recording is not None for one in feed.since(0, "me")] == [True, True]


def test_only_changes_come_again() -> None:
    """A request that ends is a change."""
    feed = Feed()
    one, two = entry(1), entry(2)
    feed.put(one)
    feed.put(two)
    seen = feed.seq
    one.state = "done"
    feed.put(one)
    assert feed.since(seen, "me") == [one]
    assert feed.since(0, "another") == []
