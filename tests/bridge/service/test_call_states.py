"""State of calls that clients drop is found by each process that shares the store."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from attrs import frozen

from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.bridge.service import Service
from llmcore.bridge.state.call_states import CallStates
from llmcore.bridge.state.store import StateUnavailableError
from llmcore.bridge.state.stores import store_for
from tests.bridge.accounts.test_killed_gateways import running_store
from tests.support.servers.bridge_process import gateway as gateway_process
from tests.support.servers.front_gateways import MODEL, WEATHER, served, service_for
from tests.support.servers.postgres_servers import running_postgres
from tests.support.servers.redis_servers import running_redis
from tests.support.wire.matrix import ANTHROPIC, COMPATIBLE, GEMINI, Said, Scene, playing

STEP = Said(thinking="The coast, hm.", text="Let me see.", cities=("Bergen",))
AGAIN = Said(thinking="And inland, hm.", text="One more.", cities=("Oslo",))
ANSWER = Said(text="It rains.")
CHAT = "/v1/chat/completions"
GENERATE = f"/v1beta/models/{MODEL}:generateContent"


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateSettings]:
    """Run a store of each kind."""
    kind = request.param
    with ExitStack() as stack:
        url = None
        if kind == "redis":
            url = stack.enter_context(running_redis()).url
        elif kind == "postgres":
            url = stack.enter_context(running_postgres()).url
        path = tmp_path / "state.db"
        yield StateSettings(backend=kind, path=path, redis_url=url, postgres_url=url)


@frozen
class Pair:
    """Two gateways on one store, asked in turn."""

    urls: tuple[str, str]

    def chat(self, number: int, messages: list[Any], **fields: Any) -> dict[str, Any]:
        """Return the message of a response of the gateway whose turn it is."""
        body = {"model": MODEL, "messages": messages, **WEATHER["openai-chat"], **fields}
        answer = httpx.post(f"{self.urls[number % 2]}{CHAT}", json=body, timeout=30)
        assert answer.status_code == 200, answer.text
        message: dict[str, Any] = answer.json()["choices"][0]["message"]
        return message

    def generate(self, number: int, contents: list[Any]) -> dict[str, Any]:
        """Return the turn of a response of the gateway whose turn it is."""
        body = {"contents": contents, **WEATHER["gemini"]}
        answer = httpx.post(f"{self.urls[number % 2]}{GENERATE}", json=body, timeout=30)
        assert answer.status_code == 200, answer.text
        turn: dict[str, Any] = answer.json()["candidates"][0]["content"]
        return turn


def paired(stack: ExitStack, scene: Scene, state: StateSettings) -> tuple[Pair, list[Service]]:
    services = [service_for(scene.model, state=state) for _ in range(2)]
    one, two = [stack.enter_context(served(service)) for service in services]
    return Pair((one, two)), services


def bare(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a client sends back that drops unknown fields, and the results of its calls."""
    said = {name: message[name] for name in ("role", "content", "tool_calls")}
    ids = [call["id"] for call in message["tool_calls"]]
    return [said, *({"role": "tool", "tool_call_id": id_, "content": "rain"} for id_ in ids)]


def bare_turn(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a client sends back that drops ids and signatures, and the results."""
    parts = [
        {"functionCall": {name: part["functionCall"][name] for name in ("name", "args")}}
        for part in turn["parts"]
        if "functionCall" in part
    ]
    result = {"functionResponse": {"name": "weather", "response": {"output": "rain"}}}
    return [{"role": "model", "parts": parts}, {"role": "user", "parts": [result] * len(parts)}]


@pytest.mark.parametrize("column", [ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_chat_client_may_drop_all_but_the_calls_whichever_process_answers(
    state: StateSettings, column: Any
) -> None:
    messages: list[Any] = [{"role": "user", "content": "Weather?"}]
    with playing(column, STEP, AGAIN, ANSWER, ANSWER) as scene, ExitStack() as stack:
        pair, _ = paired(stack, scene, state)
        whole = list(messages)
        for number in range(2):
            message = pair.chat(number, messages)
            messages += bare(message)
            whole += [message, *bare(message)[1:]]
        pair.chat(2, messages)
        pair.chat(3, whole)

    assert messages != whole
    assert scene.bodies[2] == scene.bodies[3]


def test_a_gemini_client_without_ids_gets_its_state_whichever_process_answers(
    state: StateSettings,
) -> None:
    """A call is found by what is before it, of which the state of other calls is a part."""
    contents: list[Any] = [{"role": "user", "parts": [{"text": "Weather?"}]}]
    with playing(ANTHROPIC, STEP, AGAIN, ANSWER) as scene, ExitStack() as stack:
        pair, _ = paired(stack, scene, state)
        for number in range(2):
            contents += bare_turn(pair.generate(number, contents))
        pair.generate(2, contents)

    said = [one for one in scene.bodies[2]["messages"] if one["role"] == "assistant"]
    native = [ANTHROPIC.whole(step)["content"][0] for step in (STEP, AGAIN)]
    assert [one["content"][0] for one in said] == native


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgres"])
def test_state_is_found_by_another_process_and_after_a_restart(kind: str, tmp_path: Path) -> None:
    messages: list[Any] = [{"role": "user", "content": "Weather?"}]
    with playing(ANTHROPIC, STEP, ANSWER) as scene, ExitStack() as stack:
        store = stack.enter_context(running_store(kind, tmp_path))
        variables = {
            **store,
            "OPENBRIDGE_UPSTREAM": "anthropic",
            "ANTHROPIC_BASE_URL": scene.server.url,
            "ANTHROPIC_API_KEY": "sk-test",
        }
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            with gateway_process(folder, **variables) as running:
                url = running.url.removesuffix("/v1")
                messages += bare_or_none(Pair((url, url)).chat(0, messages))

    (said,) = [one for one in scene.bodies[1]["messages"] if one["role"] == "assistant"]
    assert said["content"][0] == ANTHROPIC.whole(STEP)["content"][0]


def bare_or_none(message: dict[str, Any]) -> list[dict[str, Any]]:
    return bare(message) if message.get("tool_calls") else []


# -- what is stored


def test_nothing_is_stored_of_a_request_that_must_not_be(tmp_path: Path) -> None:
    """With `store: false` the state is in the memory of the process that made it alone."""
    state = StateSettings(backend="sqlite", path=tmp_path / "state.db")
    first: list[Any] = [{"role": "user", "content": "Weather?"}]
    with playing(ANTHROPIC, STEP, ANSWER, ANSWER) as scene, ExitStack() as stack:
        pair, _ = paired(stack, scene, state)
        again = [*first, *bare(pair.chat(0, first, store=False))]
        pair.chat(0, again)
        pair.chat(1, again)

    thinking = ["The coast" in str(body["messages"]) for body in scene.bodies]
    assert thinking == [False, True, False]


def test_the_store_is_not_read_for_calls_that_have_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once for those that another process has made, and never for one's own."""
    state = StateSettings(backend="sqlite", path=tmp_path / "state.db")
    messages: list[Any] = [{"role": "user", "content": "Weather?"}]
    step = Said(text="Let me see.", cities=("Bergen",))
    asked: list[int] = []
    with playing(COMPATIBLE, step, step, ANSWER) as scene, ExitStack() as stack:
        services = [service_for(scene.model, state=state, relay=False) for _ in range(2)]
        for index, service in enumerate(services):

            async def items(*_: Any, index: int = index) -> dict[str, Any]:
                asked.append(index)
                return {}

            monkeypatch.setattr(service.store, "items", items)
        one, two = [stack.enter_context(served(service)) for service in services]
        for _ in range(2):
            messages += bare(Pair((one, one)).chat(0, messages))
        Pair((one, one)).chat(0, messages)
        assert asked == []
        for _ in range(2):
            Pair((two, two)).chat(0, messages)

    assert asked == [1]


@pytest.mark.parametrize("call", ["put", "items"])
def test_no_response_fails_by_a_store_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It is counted, and the state is lost at most."""
    state = StateSettings(backend="sqlite", path=tmp_path / "state.db")
    first: list[Any] = [{"role": "user", "content": "Weather?"}]

    async def unreachable(*_: Any, **__: Any) -> Any:
        raise StateUnavailableError("the disk is full")

    with playing(ANTHROPIC, STEP, ANSWER) as scene, ExitStack() as stack:
        pair, services = paired(stack, scene, state)
        for service in services:
            monkeypatch.setattr(service.store, call, unreachable)
        pair.chat(1, [*first, *bare(pair.chat(0, first))])
        shown = b"".join(service.metrics.exposition() for service in services).decode()

    assert "openbridge_state_errors_total 1.0" in shown
    assert len(scene.bodies) == 2


@pytest.mark.anyio
async def test_a_state_in_the_store_is_its_owners_alone(tmp_path: Path) -> None:
    """The same id with the same arguments may be another owner's, too."""
    state = StateSettings(backend="sqlite", path=tmp_path / "state.db")
    store = store_for(GatewaySettings(state=state))
    try:
        await CallStates(store).keep("one", {"call_1:x": "ob1.one", "call_2:x": "ob1.one"})
        await CallStates(store).keep("two", {"call_1:x": "ob1.two"})
        found = {}
        for owner in ("one", "two", "three"):
            lookup = CallStates(store).of(owner)
            assert lookup("call_1:x") is None
            assert await lookup.fetch() is (owner != "three")
            assert await lookup.fetch() is False
            found[owner] = lookup("call_1:x")
    finally:
        await store.aclose()

    assert found == {"one": "ob1.one", "two": "ob1.two", "three": None}
