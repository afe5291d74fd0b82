"""Conversations of three steps through every front, which change the upstream on the way.

An upstream gets back the state that it made, exactly; another one gets what was said and done.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from llmcore.bridge.model_map import ModelMap, ModelPool, UpstreamModel
from llmcore.bridge.service import Service
from tests.support.servers.front_gateways import ASKERS, served, service_for, violations
from tests.support.servers.loopback import Received
from tests.support.wire.matrix import ANTHROPIC, COLUMNS, Column, Native, Said, Scene, playing

STEPS = (
    Said(thinking="The coast first.", text="Let me see.", cities=("Bergen",)),
    Said(thinking="Then inland.", text="And there.", cities=("Oslo",), first_call=2),
    Said(text="It rains in both."),
)
RESULTS = ("result-1 rain", "result-2 rain")
SEALS = ("ob1.", "b2IxL")


def reply(received: Received) -> Said:
    """Return the step that the conversation has come to."""
    return STEPS[sum(result in received.body.decode() for result in RESULTS)]


# -- clients: native bodies, as SDKs build them from the responses

DECLARED: Mapping[str, Any] = {
    "name": "weather",
    "description": "Weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def opened(front: str) -> Native:
    """Return the first request."""
    match front:
        case "openai-responses":
            return {
                "input": [{"role": "user", "content": "Weather?"}],
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "tools": [{"type": "function", **DECLARED}],
            }
        case "openai-chat":
            return {
                "messages": [{"role": "user", "content": "Weather?"}],
                "tools": [{"type": "function", "function": DECLARED}],
            }
        case "anthropic-messages":
            schema = DECLARED["parameters"]
            return {
                "max_tokens": 4000,
                "thinking": {"type": "enabled", "budget_tokens": 2000},
                "messages": [{"role": "user", "content": "Weather?"}],
                "tools": [{"name": "weather", "description": "Weather.", "input_schema": schema}],
            }
        case _:
            declared = {"name": "weather", "parametersJsonSchema": DECLARED["parameters"]}
            return {
                "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],
                "tools": [{"functionDeclarations": [declared]}],
                "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
            }


def continued(front: str, body: Native, answer: Any, result: str) -> Native:
    """Return the next request: the response as it came, and the result of its call."""
    match front:
        case "openai-responses":
            (call,) = [item for item in answer["output"] if item["type"] == "function_call"]
            output = {
                "type": "function_call_output",
                "call_id": call["call_id"],
                "output": result,
            }
            return {**body, "input": [*body["input"], *answer["output"], output]}
        case "openai-chat":
            message = answer["choices"][0]["message"]
            (call,) = message["tool_calls"]
            told = {"role": "tool", "tool_call_id": call["id"], "content": result}
            return {**body, "messages": [*body["messages"], message, told]}
        case "anthropic-messages":
            (call,) = [block for block in answer["content"] if block["type"] == "tool_use"]
            told = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
            turn = [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": [told]},
            ]
            return {**body, "messages": [*body["messages"], *turn]}
        case _:
            content = answer["candidates"][0]["content"]
            (call,) = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            told = {"name": call["name"], "response": {"output": result}}
            told |= {"id": call["id"]} if "id" in call else {}
            turn = [content, {"role": "user", "parts": [{"functionResponse": told}]}]
            return {**body, "contents": [*body["contents"], *turn]}


def post(url: str, front: str, model: str, body: Native) -> Any:
    """Return the response to a request for a model; it must be a success."""
    paths = {
        "openai-responses": "/v1/responses",
        "openai-chat": "/v1/chat/completions",
        "anthropic-messages": "/v1/messages",
        "gemini": f"/v1beta/models/{model}:generateContent",
    }
    asked = body if front == "gemini" else {**body, "model": model}
    answer = httpx.post(url + paths[front], json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


# -- what upstreams got

SKIPPED = {"skip_thought_signature_validator"}
"""The value that Google documents for calls of another model."""
_STATE = frozenset({"signature", "thoughtSignature", "encrypted_content"})


def state_of(document: Any) -> Iterator[str]:
    """Yield the signatures and encrypted thinking in a body."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in _STATE and isinstance(value, str):
                yield value
            else:
                yield from state_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from state_of(value)


def check_seen(body: Native) -> None:
    """Fail unless an upstream got all that was said and done, and nothing sealed."""
    seen = json.dumps(body)
    for words in ("Let me see.", "And there.", "Bergen", "Oslo", *RESULTS):
        assert seen.count(words) >= 1, words
    assert not any(seal in seen for seal in SEALS)


def served_upstreams(
    stack: ExitStack, columns: Sequence[Column], *, relay: bool
) -> tuple[dict[str, Scene], Service, str]:
    """Serve a model of each of *columns* under its id; others than these go to the first."""
    scenes = {column.id: stack.enter_context(playing(column, reply)) for column in columns}
    pools = {name: ModelPool(((UpstreamModel(name, name),),)) for name in scenes}
    models = {name: scene.model for name, scene in scenes.items()}
    routing = ModelMap(pools=pools, upstream="up")
    service = service_for(models[columns[0].id], routing, others=models, relay=relay)
    return scenes, service, stack.enter_context(served(service))


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize("second", COLUMNS, ids=lambda column: column.id)
@pytest.mark.parametrize("front", list(ASKERS))
def test_a_conversation_leaves_claude_and_comes_back(
    front: str, second: Column, relay: bool
) -> None:
    """One step with Claude, one with another model, and a response of Claude again.

    Claude gets back exactly its own thinking, signed, and the other model what it made itself.
    """
    with ExitStack() as stack:
        scenes, service, url = served_upstreams(stack, (ANTHROPIC, second), relay=relay)
        body = opened(front)
        body = continued(front, body, post(url, front, ANTHROPIC.id, body), RESULTS[0])
        body = continued(front, body, post(url, front, second.id, body), RESULTS[1])
        post(url, front, ANTHROPIC.id, body)
        post(url, front, second.id, body)

    for column in (ANTHROPIC, second):
        theirs = [
            step for step, by in zip(STEPS, (ANTHROPIC, second), strict=False) if by is column
        ]
        made = [text for step in theirs for text in state_of(column.whole(step))]
        last = scenes[column.id].bodies[-1]
        check_seen(last)
        kept = [text for text in state_of(last) if text not in SKIPPED]
        assert kept == made
    assert violations(service) == 0


@pytest.mark.parametrize("relay", [True, False], ids=["relayed", "translated"])
@pytest.mark.parametrize("first", COLUMNS, ids=lambda column: column.id)
@pytest.mark.parametrize("front", list(ASKERS))
def test_a_loop_goes_on_with_the_same_upstream_or_another(
    front: str, first: Column, relay: bool
) -> None:
    """Two steps with one, and the third with each of all five."""
    with ExitStack() as stack:
        others = [column for column in COLUMNS if column is not first]
        scenes, service, url = served_upstreams(stack, (first, *others), relay=relay)
        body = opened(front)
        for result in RESULTS:
            body = continued(front, body, post(url, front, first.id, body), result)
        made = [text for step in STEPS[:2] for text in state_of(first.whole(step))]
        assert list(state_of(scenes[first.id].bodies[1])) == made[: len(made) // 2]

        for column in COLUMNS:
            post(url, front, column.id, body)
            last = scenes[column.id].bodies[-1]
            check_seen(last)
            kept = [text for text in state_of(last) if text in made]
            assert kept == (made if column is first else [])
    assert violations(service) == 0
