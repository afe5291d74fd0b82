"""Hidden state of a response returns with the conversation, through every front."""

import json
import re
from typing import Any

import httpx
import pytest

from llmcore.bridge.state.call_states import CallStates
from tests.support.servers.front_gateways import MODEL, WEATHER, gateway
from tests.support.wire.matrix import ANTHROPIC, COMPATIBLE, GEMINI, OPENAI, Column, Said, playing

STEP = Said(thinking="The coast, hm.", text="Let me see.", cities=("Bergen",))
ANSWER = Said(text="It rains.")


@pytest.mark.parametrize("drops", [True, False], ids=["drops fields", "keeps fields"])
def test_a_chat_client_may_drop_all_but_the_calls(drops: bool) -> None:
    """Claude gets its signed thinking back, from the client or from what the gateway has kept."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    with playing(ANTHROPIC, STEP, ANSWER) as scene, gateway(scene.model) as url:
        body = {"model": MODEL, "messages": [first], **WEATHER["openai-chat"]}
        made = httpx.post(f"{url}/v1/chat/completions", json=body).json()
        message = made["choices"][0]["message"]
        if drops:
            message = {name: message[name] for name in ("role", "content", "tool_calls")}
        result = {
            "role": "tool",
            "tool_call_id": message["tool_calls"][0]["id"],
            "content": "rain",
        }
        again = {**body, "messages": [first, message, result]}
        answer = httpx.post(f"{url}/v1/chat/completions", json=again)

    assert answer.status_code == 200, answer.text
    (said,) = [one for one in scene.bodies[1]["messages"] if one["role"] == "assistant"]
    native = ANTHROPIC.whole(STEP)["content"]
    assert said["content"][0] == native[0]
    assert [block["type"] for block in said["content"]] == [block["type"] for block in native]


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_chat_client_may_drop_the_text_beside_the_calls_too(column: Column) -> None:
    """The upstream gets the whole response, and a Diagnostic names the text that was restored."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "messages": [first], **WEATHER["openai-chat"]}
    with playing(column, STEP, ANSWER, ANSWER) as scene, gateway(scene.model) as url:
        made = httpx.post(f"{url}/v1/chat/completions", json=body).json()
        message = made["choices"][0]["message"]
        result = {
            "role": "tool",
            "tool_call_id": message["tool_calls"][0]["id"],
            "content": "rain",
        }
        calls_alone = {name: message[name] for name in ("role", "tool_calls")}
        for said in (message, {**calls_alone, "content": None}):
            again = {**body, "messages": [first, said, result]}
            answer = httpx.post(f"{url}/v1/chat/completions", json=again)

    assert answer.headers["x-openbridge-diagnostics"] == "added text-restored messages[1]"
    assert scene.bodies[2] == scene.bodies[1]


TEXT_TURN = Said(thinking="The coast, hm.", text="It rains.")
TURNS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
    "anthropic-messages": (
        "/v1/messages",
        {"max_tokens": 999, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "gemini": (
        f"/v1beta/models/{MODEL}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
}


def _went_on(front_id: str, body: dict[str, Any], made: Any) -> dict[str, Any]:
    """Return the next request of a client that sends the whole response back."""
    match front_id:
        case "openai-chat":
            turn, name = made["choices"][0]["message"], "messages"
        case "anthropic-messages":
            turn, name = {"role": "assistant", "content": made["content"]}, "messages"
        case _:
            turn, name = made["candidates"][0]["content"], "contents"
    return {**body, name: [*body[name], turn, *body[name]]}


@pytest.mark.parametrize("front_id", TURNS)
def test_the_reasoning_of_a_turn_without_calls_goes_back_to_openai(front_id: str) -> None:
    """Where the client has no place for the id of the text, the reasoning goes without its own."""
    path, fields = TURNS[front_id]
    body = {"model": MODEL, **fields}
    with playing(OPENAI, TEXT_TURN, ANSWER) as scene, gateway(scene.model) as url:
        made = httpx.post(f"{url}{path}", json=body).json()
        answer = httpx.post(f"{url}{path}", json=_went_on(front_id, body, made))

    assert answer.status_code == 200, answer.text
    assert "dropped" not in answer.headers.get("x-openbridge-diagnostics", "")
    (native,) = [item for item in OPENAI.whole(TEXT_TURN)["output"] if item["type"] == "reasoning"]
    (sent,) = [item for item in scene.bodies[1]["input"] if item.get("type") == "reasoning"]
    assert sent["encrypted_content"] == native["encrypted_content"]
    after = scene.bodies[1]["input"][scene.bodies[1]["input"].index(sent) + 1]
    assert after["role"] == "assistant"
    assert ("id" in after) is ("id" in sent)


@pytest.mark.parametrize("column", [OPENAI, GEMINI], ids=["responses", "gemini"])
def test_a_client_of_messages_may_drop_the_last_block(column: Column) -> None:
    """Some frameworks leave out `redacted_thinking`: the upstream gets its state all the same."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "max_tokens": 999, "messages": [first], **WEATHER["anthropic-messages"]}
    with playing(column, STEP, ANSWER, ANSWER) as scene, gateway(scene.model) as url:
        said = httpx.post(f"{url}/v1/messages", json=body).json()["content"]
        call = next(block for block in said if block["type"] == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "rain"}
        for blocks in (said, said[:-1]):
            turn = {"role": "assistant", "content": blocks}
            again = {**body, "messages": [first, turn, {"role": "user", "content": [result]}]}
            answer = httpx.post(f"{url}/v1/messages", json=again)
            assert "x-openbridge-diagnostics" not in answer.headers

    assert said[-1]["type"] == "redacted_thinking"
    assert scene.bodies[1] == scene.bodies[2]


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
@pytest.mark.parametrize("thinking", ["dropped", "as text"])
@pytest.mark.parametrize(
    "column", [OPENAI, ANTHROPIC, GEMINI], ids=["responses", "anthropic", "gemini"]
)
def test_a_client_of_responses_may_drop_the_reasoning(
    column: Column, thinking: str, stored: bool
) -> None:
    """Some frameworks send calls, results and texts back, and no more."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    tools = WEATHER["openai-responses"]
    body = {"model": MODEL, "input": [first], "store": stored, **tools}
    full = {**body, "include": ["reasoning.encrypted_content"]}
    with (
        playing(column, STEP, ANSWER, STEP, ANSWER) as scene,
        gateway(scene.model, relay=False) as url,
    ):
        for asked in (full, body):
            said = httpx.post(f"{url}/v1/responses", json=asked).json()["output"]
            call = next(item for item in said if item["type"] == "function_call")
            result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
            if asked is body:
                said = [_without_state(item) for item in said if not _is_dropped(item, thinking)]
            again = {**asked, "input": [first, *said, result]}
            answer = httpx.post(f"{url}/v1/responses", json=again)
            assert "x-openbridge-diagnostics" not in answer.headers

    assert scene.bodies[1] == scene.bodies[3]


@pytest.mark.parametrize("form", ["items", "references"])
@pytest.mark.parametrize("thoughts", ["", "The coast, hm."], ids=["no thoughts", "thoughts"])
def test_a_client_of_responses_names_stored_items_that_have_the_state(
    thoughts: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini's signatures come back by the ids of items: none is added for them."""
    monkeypatch.setattr(CallStates, "get", lambda *_: None)
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "input": [first], **WEATHER["openai-responses"]}
    step = Said(thinking=thoughts, text="Let me see.", cities=("Bergen",))
    with playing(GEMINI, step, ANSWER, ANSWER) as scene, gateway(scene.model) as url:
        made = httpx.post(f"{url}/v1/responses", json=body).json()
        said = made["output"]
        call = next(item for item in said if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
        named = [{"type": "item_reference", "id": item["id"]} for item in said]
        echo = said if form == "items" else named
        again = httpx.post(f"{url}/v1/responses", json={**body, "input": [first, *echo, result]})
        chained = {**body, "previous_response_id": made["id"], "input": [result]}
        httpx.post(f"{url}/v1/responses", json=chained)

    assert "x-openbridge-diagnostics" not in again.headers
    assert said[-1]["type"] == "function_call"
    assert "thoughtSignature" in json.dumps(scene.bodies[1])
    assert scene.bodies[1] == scene.bodies[2]


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_client_of_responses_names_stored_reasoning_and_sends_calls_without_ids(
    column: Column,
) -> None:
    """As of the AI SDK: what is sealed behind the reasoning, for its calls, goes back too."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    tools = WEATHER["openai-responses"]
    body = {"model": MODEL, "input": [first], "reasoning": {"summary": "auto"}, **tools}
    with playing(column, TWO, ANSWER, ANSWER) as scene, gateway(scene.model, relay=False) as url:
        said = httpx.post(f"{url}/v1/responses", json=body).json()["output"]
        calls = [item for item in said if item["type"] == "function_call"]
        results = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
            for call in calls
        ]
        named = [{"type": "item_reference", "id": item["id"]} for item in said[: -len(calls)]]
        for items in (said, [*named, *map(_without_state, calls)]):
            again = {**body, "input": [first, *items, *results]}
            answer = httpx.post(f"{url}/v1/responses", json=again)
            assert "x-openbridge-diagnostics" not in answer.headers

    assert said[0]["type"] == "reasoning"
    assert len(calls) == 2
    assert scene.bodies[1] == scene.bodies[2]


def _is_dropped(item: dict[str, Any], thinking: str) -> bool:
    return item["type"] == "reasoning" and (thinking == "dropped" or not item["summary"])


def _without_state(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("id", "encrypted_content")}


@pytest.mark.parametrize("thoughts", [True, False], ids=["thoughts", "no thoughts"])
@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC], ids=["responses", "anthropic"])
def test_a_client_of_gemini_may_drop_the_signatures(column: Column, thoughts: bool) -> None:
    first: dict[str, Any] = {"role": "user", "parts": [{"text": "Weather?"}]}
    config = {"thinkingConfig": {"includeThoughts": thoughts}}
    body = {"contents": [first], "generationConfig": config, **WEATHER["gemini"]}
    done = {"name": "weather", "response": {"output": "rain"}}
    with (
        playing(column, STEP, ANSWER, ANSWER) as scene,
        gateway(scene.model) as url,
    ):
        path = f"{url}/v1beta/models/{MODEL}:generateContent"
        said = httpx.post(path, json=body).json()["candidates"][0]["content"]
        (call,) = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
        result = {"role": "user", "parts": [{"functionResponse": {"id": call["id"], **done}}]}
        bare = [
            {name: value for name, value in part.items() if name != "thoughtSignature"}
            for part in said["parts"]
        ]
        for parts in (said["parts"], bare):
            again = {**body, "contents": [first, {"role": "model", "parts": parts}, result]}
            answer = httpx.post(path, json=again)
            assert "x-openbridge-diagnostics" not in answer.headers, answer.headers

    assert bare != said["parts"]
    assert scene.bodies[1] == scene.bodies[2]


def test_the_reasoning_of_calls_whose_results_come_one_by_one_is_sent_once() -> None:
    """As of LlamaIndex: a call, its result, the next call, its result."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "input": [first], "store": False, **WEATHER["openai-responses"]}
    two = Said(thinking="The coast, hm.", cities=("Bergen", "Molde"))
    with playing(ANTHROPIC, two, ANSWER) as scene, gateway(scene.model) as url:
        said = httpx.post(f"{url}/v1/responses", json=body).json()["output"]
        items = []
        for call in said:
            if call["type"] == "function_call":
                done = {"type": "function_call_output", "call_id": call["call_id"]}
                items += [call, {**done, "output": "rain"}]
        httpx.post(f"{url}/v1/responses", json={**body, "input": [first, *items]})

    sent = json.dumps(scene.bodies[1]["messages"])
    assert len(items) == 4
    assert sent.count("The coast, hm.") == 1
    assert sent.index("The coast, hm.") < sent.index("Bergen")


TWO = Said(thinking="The coast, hm.", text="I look.", cities=("Bergen", "Molde"))


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_responses_calls_each_with_its_result_behind_it_are_one_response(column: Column) -> None:
    """As of pipecat; Claude does not think where its last turn comes back without thinking."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "store": False, **WEATHER["openai-responses"]}
    with playing(column, TWO, ANSWER, ANSWER) as scene, gateway(scene.model, relay=False) as url:
        path = f"{url}/v1/responses"
        said = httpx.post(path, json={**body, "input": [first]}).json()["output"]
        calls = [item for item in said if item["type"] == "function_call"]
        results = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
            for call in calls
        ]
        text = {"role": "assistant", "content": "I look."}
        one_by_one = [item for pair in zip(calls, results, strict=True) for item in pair]
        for items in ([*said, *results], [text, *one_by_one]):
            httpx.post(path, json={**body, "input": [first, *items]})

    assert len(results) == 2
    assert scene.bodies[1] == scene.bodies[2]


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_chat_calls_each_with_its_result_behind_it_are_one_response(column: Column) -> None:
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, **WEATHER["openai-chat"]}
    with playing(column, TWO, ANSWER, ANSWER) as scene, gateway(scene.model) as url:
        path = f"{url}/v1/chat/completions"
        said = httpx.post(path, json={**body, "messages": [first]}).json()["choices"][0]["message"]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "rain"}
            for call in said["tool_calls"]
        ]
        alone = [
            {"role": "assistant", "content": "", "tool_calls": [call]}
            for call in said["tool_calls"]
        ]
        text = {"role": "assistant", "content": said["content"]}
        one_by_one = [message for pair in zip(alone, results, strict=True) for message in pair]
        for messages in ([said, *results], [text, *one_by_one]):
            httpx.post(path, json={**body, "messages": [first, *messages]})

    assert len(results) == 2
    assert scene.bodies[1] == scene.bodies[2]


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_client_of_messages_may_drop_all_thinking(column: Column) -> None:
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "max_tokens": 999, "messages": [first], **WEATHER["anthropic-messages"]}
    with (
        playing(column, STEP, ANSWER, ANSWER) as scene,
        gateway(scene.model, relay=False) as url,
    ):
        said = httpx.post(f"{url}/v1/messages", json=body).json()["content"]
        bare = [block for block in said if block["type"] in ("text", "tool_use")]
        result = {"type": "tool_result", "tool_use_id": bare[-1]["id"], "content": "rain"}
        for blocks in (said, bare):
            turn = {"role": "assistant", "content": blocks}
            again = {**body, "messages": [first, turn, {"role": "user", "content": [result]}]}
            answer = httpx.post(f"{url}/v1/messages", json=again)
            assert "x-openbridge-diagnostics" not in answer.headers

    assert len(bare) < len(said)
    assert scene.bodies[1] == scene.bodies[2]


def _bare_turn(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn as `google-generativeai` sends it back: without ids, thoughts, signatures."""
    calls = [part["functionCall"] for part in turn["parts"] if "functionCall" in part]
    texts = [part["text"] for part in turn["parts"] if part.get("text") and not part.get("thought")]
    named = [{"name": call["name"], "args": call["args"]} for call in calls]
    parts = [{"text": text} for text in texts] + [{"functionCall": call} for call in named]
    return {"role": "model", "parts": parts}


def _contents(*questions: str) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"text": question}]} for question in questions]


RESULT = {"functionResponse": {"name": "weather", "response": {"output": "rain"}}}
GENERATE = f"/v1beta/models/{MODEL}:generateContent"


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_client_of_gemini_may_drop_signatures_and_the_ids_of_calls(column: Column) -> None:
    """In the second step of a conversation, too: the call is found by what was said before it."""
    body: dict[str, Any] = {"contents": _contents("Weather?"), **WEATHER["gemini"]}
    with (
        playing(column, STEP, STEP, ANSWER, ANSWER) as scene,
        gateway(scene.model, relay=False) as url,
    ):
        answers = {"role": "user", "parts": [RESULT]}
        whole, bare = list(body["contents"]), list(body["contents"])
        for _ in range(2):
            made = httpx.post(f"{url}{GENERATE}", json={**body, "contents": bare}).json()
            turn = made["candidates"][0]["content"]
            whole += [turn, answers]
            bare += [_bare_turn(turn), answers]
        for contents in (whole, bare):
            answer = httpx.post(f"{url}{GENERATE}", json={**body, "contents": contents})
            assert answer.status_code == 200, answer.text

    assert whole != bare
    assert json.dumps(scene.bodies[3]) == json.dumps(scene.bodies[2])


def test_a_call_without_an_id_has_no_state_of_another_conversation() -> None:
    """The same call with the same arguments may stand in each."""
    with playing(ANTHROPIC, STEP, ANSWER) as scene, gateway(scene.model) as url:
        body: dict[str, Any] = {"contents": _contents("Weather?"), **WEATHER["gemini"]}
        made = httpx.post(f"{url}{GENERATE}", json=body).json()
        turn = _bare_turn(made["candidates"][0]["content"])
        other = [*_contents("And the weather?"), turn, {"role": "user", "parts": [RESULT]}]
        httpx.post(f"{url}{GENERATE}", json={**body, "contents": other})

    assert "The coast" not in json.dumps(scene.bodies[1])


def test_kept_state_is_that_of_the_call_and_not_of_its_id() -> None:
    """Some servers number the calls of every conversation alike."""
    first: dict[str, Any] = {"role": "user", "content": "Weather?"}
    body = {"model": MODEL, "max_tokens": 999, "messages": [first], **WEATHER["anthropic-messages"]}
    with playing(OPENAI, STEP, ANSWER) as scene, gateway(scene.model) as url:
        said = httpx.post(f"{url}/v1/messages", json=body).json()["content"]
        call = next(block for block in said if block["type"] == "tool_use")
        other = {**call, "input": {"city": "Elsewhere"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "rain"}
        turn = {"role": "assistant", "content": [other]}
        again = {**body, "messages": [first, turn, {"role": "user", "content": [result]}]}
        httpx.post(f"{url}/v1/messages", json=again)

    sent = json.dumps(scene.bodies[1]["input"])
    assert "Elsewhere" in sent
    assert "Bergen" not in sent
    assert "fc_" not in sent


def test_one_callers_state_is_not_anothers() -> None:
    """The id of a call alone does not show its state."""
    states = CallStates()
    states.put("one", {"call_1": "ob1.x"})

    assert states.get("one", "call_1") == "ob1.x"
    assert states.get("two", "call_1") is None


def test_states_are_bounded_by_size_and_age() -> None:
    """The oldest make room; what is old is gone."""
    now = [0.0]
    states = CallStates(max_bytes=25, clock=lambda: now[0])
    for number in range(3):
        states.put("one", {f"call_{number}": "x" * 10})

    assert [states.get("one", f"call_{number}") is None for number in range(3)] == [
        True,
        False,
        False,
    ]
    now[0] = 1e6
    assert states.get("one", "call_2") is None


def test_what_is_not_kept_for_want_of_space_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A state that is too large each time, and once in an hour that older ones are deleted."""
    now = [0.0]
    states = CallStates(max_bytes=25, clock=lambda: now[0])
    caplog.set_level("WARNING", logger="llmcore.bridge")

    states.put("one", {"call": "x" * 1_100_000})
    assert [record.getMessage() for record in caplog.records] == ["call_state_too_large"]
    caplog.clear()
    for number in range(8):
        states.put("one", {f"call_{number}": "x" * 10})
    assert [record.getMessage() for record in caplog.records] == ["call_states_full"]
    now[0] += 3600
    states.put("one", {"call_8": "x" * 10})
    assert [record.getMessage() for record in caplog.records] == ["call_states_full"] * 2
    now[0] += 1e6
    states.put("one", {"call_9": "x" * 10})
    assert len(caplog.records) == 2


def test_sealed_state_never_reaches_an_upstream_of_the_same_api() -> None:
    """A conversation that began on Claude and moves to a Chat server is translated."""
    first: dict[str, Any] = {"role": "user", "content": "Hi"}
    body = {"model": MODEL, "messages": [first], **WEATHER["openai-chat"]}
    with playing(ANTHROPIC, STEP) as scene, gateway(scene.model, seal_key="shared") as url:
        made = httpx.post(f"{url}/v1/chat/completions", json=body).json()
    message = made["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"}
    again = {**body, "messages": [first, message, result]}
    with playing(COMPATIBLE, ANSWER) as scene, gateway(scene.model, seal_key="shared") as url:
        answer = httpx.post(f"{url}/v1/chat/completions", json=again)

    assert "ob1." in json.dumps(message)
    assert answer.status_code == 200
    assert "ob1." not in json.dumps(scene.bodies)
    assert "Let me see." in json.dumps(scene.bodies)


@pytest.mark.parametrize("column", [OPENAI, ANTHROPIC, GEMINI], ids=lambda column: column.id)
def test_a_chat_client_of_functions_gets_its_reasoning_back_by_the_place_of_its_calls(
    column: Column,
) -> None:
    """The form before tools has no ids, also not in the second step of a conversation."""
    (tool,) = WEATHER["openai-chat"]["tools"]
    body: dict[str, Any] = {"model": MODEL, "functions": [tool["function"]]}
    bare: list[dict[str, Any]] = [{"role": "user", "content": "Weather?"}]
    whole = list(bare)
    with playing(column, STEP, STEP, ANSWER, ANSWER) as scene, gateway(scene.model) as url:
        path = f"{url}/v1/chat/completions"
        for _ in range(2):
            made = httpx.post(path, json={**body, "messages": bare}).json()
            message = made["choices"][0]["message"]
            fields = ("role", "content", "function_call")
            result = {"role": "function", "name": "weather", "content": "rain"}
            bare += [{name: message[name] for name in fields}, result]
            whole += [message, result]
        for messages in (whole, bare):
            answer = httpx.post(path, json={**body, "messages": messages})
            assert answer.status_code == 200, answer.text

    sent = [re.sub(r'"(call|toolu)_\w+"', '"id"', json.dumps(body)) for body in scene.bodies]
    assert whole != bare
    assert "The coast" in sent[3]
    assert sent[3] == sent[2] or column is OPENAI  # whose state with the calls has more
