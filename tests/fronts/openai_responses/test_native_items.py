"""An upstream of the same API gets namespaces, searches for tools and turns as the client has them.

https://developers.openai.com/api/docs/guides/tools-tool-search, read November 2026.
"""

from typing import Any

import pytest

from llmcore.fronts.openai_responses.request import ReadResponsesRequest
from llmcore.fronts.policy import TranslationPolicy
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema import json
from llmcore.schema.result import Success
from tests.fronts.openai_responses.responses_kit import folded, refused, translated
from tests.support.events import call, stream

RESPONSES = "openai-responses"
HELLO = {"role": "user", "content": "Hello"}


def function(name: str, **fields: Any) -> dict[str, Any]:
    """Return a function as the API has it."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "name": name, "parameters": schema, "strict": False, **fields}


DEFERRED = function("get_rate", defer_loading=True)
FREEFORM: dict[str, Any] = {"type": "custom", "name": "run", "defer_loading": True, "async": True}
SEARCH: dict[str, Any] = {
    "type": "tool_search",
    "execution": "client",
    "description": "Finds tools.",
    "parameters": {"type": "object", "properties": {"queries": {"type": "array"}}},
}
NAMESPACE: dict[str, Any] = {
    "type": "namespace",
    "name": "money",
    "description": "About money.",
    "tools": [function("convert"), DEFERRED],
}
ADDED: dict[str, Any] = {"type": "additional_tools", "role": "developer", "tools": [function("f")]}
SEARCHED: list[dict[str, Any]] = [
    {
        "type": "tool_search_call",
        "call_id": "s1",
        "execution": "client",
        "status": "completed",
        "arguments": {"queries": ["rate"]},
    },
    {
        "type": "tool_search_output",
        "call_id": "s1",
        "execution": "client",
        "status": "completed",
        "tools": [DEFERRED],
    },
]
CALLED: list[dict[str, Any]] = [
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "convert",
        "namespace": "money",
        "arguments": '{"city":"Riga"}',
    },
    {"type": "function_call_output", "call_id": "c1", "output": "1"},
]


def read(*items: Any, **options: Any) -> ReadResponsesRequest:
    """Return what a request with *items* is for an upstream of the same API."""
    policy = options.pop("policy", None)
    body = {"input": [HELLO, *items], **options}
    return translated(body, protocol_id=RESPONSES, policy=policy)


def built(translation: ReadResponsesRequest) -> dict[str, Any]:
    """Return the body that the upstream gets."""
    made = protocol_by_id(RESPONSES).body.build(translation.request, False)
    assert isinstance(made, Success), made
    body: dict[str, Any] = json.loads(json.dumps(made.unwrap().body))  # type: ignore[assignment]
    return body


@pytest.mark.parametrize(
    "tools",
    [[SEARCH, DEFERRED], [NAMESPACE, {"type": "tool_search"}], [{"type": "tool_search"}, FREEFORM]],
)
def test_namespaces_and_searches_of_the_client_go_up_unchanged(tools: list[Any]) -> None:
    """With the mark that a function is loaded only once it is found."""
    made = read(tools=tools, policy=TranslationPolicy(custom_tools="native"))

    assert built(made)["tools"] == tools
    assert made.diagnostics == ()


@pytest.mark.parametrize("items", [[ADDED, HELLO], SEARCHED, [ADDED, *SEARCHED, ADDED], CALLED])
def test_items_that_bring_tools_stay_in_their_places(items: list[Any]) -> None:
    """So the prompt of a later turn begins with that of the turn before."""
    body = built(read(*items, tools=[SEARCH, NAMESPACE]))

    assert body["tools"] == [SEARCH, NAMESPACE]
    sent = [{k: v for k, v in item.items() if item["type"] != "message"} for item in body["input"]]
    assert [one for one in sent if one] == [one for one in items if "type" in one]


@pytest.mark.parametrize("policy", ["function", "drop"])
def test_tools_become_functions_where_the_policy_leaves_out_native_ones(policy: Any) -> None:
    """A server that imitates the API may have no such tools."""
    made = read(*CALLED, tools=[SEARCH, NAMESPACE], policy=TranslationPolicy(hosted_tools=policy))

    body = built(made)
    assert {tool["type"] for tool in body["tools"]} == {"function"}
    assert body["input"][1]["name"] == "money__convert"


def test_a_choice_of_a_tool_makes_functions_of_namespaces() -> None:
    """A choice names a function, and the one that is meant may stand in a namespace."""
    choice = {"type": "function", "name": "convert", "namespace": "money"}

    body = built(read(tools=[NAMESPACE], tool_choice=choice))
    assert body["tool_choice"] == {"type": "function", "name": "money__convert"}


def test_a_call_within_a_namespace_is_answered_and_comes_back_within_it() -> None:
    """The client finds its tool by both names."""
    made = read(tools=[NAMESPACE])
    space = {"openai": {"namespace": "money"}}
    own = {"openai": {**space["openai"], "index": 0, "id": "fc_up"}}
    events = call("convert", "{}", begins_with=space, provider_metadata=own)
    answer = folded(stream(events, protocol=RESPONSES), made)

    item = answer.output[0]
    assert (item["type"], item["name"], item["namespace"]) == ("function_call", "convert", "money")
    again = built(read(item, {**CALLED[1], "call_id": item["call_id"]}, tools=[NAMESPACE]))
    assert (again["input"][1]["name"], again["input"][1]["namespace"]) == ("convert", "money")


def test_a_search_that_the_client_is_to_run_is_one_for_the_client() -> None:
    """Its item has the type that the client listens to."""
    made = read(tools=[SEARCH, DEFERRED])
    own = {"openai": {"item": {**SEARCHED[0], "id": "tsc_up"}, "index": 0, "id": "tsc_up"}}
    arguments = json.dumps(SEARCHED[0]["arguments"]).decode()
    search = call("tool_search", arguments, id="s1", provider_metadata=own)
    answer = folded(stream(search, protocol=RESPONSES), made)

    assert {**answer.output[0], "id": "s1"} == {**SEARCHED[0], "id": "s1"}


def test_an_item_of_the_future_goes_up_unread_in_its_place() -> None:
    """Its own API knows it. For other upstreams it is refused if no server made it."""
    item = {"type": "dream", "id": "dr_1", "images": [1]}
    body = built(read(item, HELLO))

    assert [one.get("type") for one in body["input"]] == ["message", "dream", "message"]
    assert body["input"][1] == item
    bare = {name: value for name, value in item.items() if name != "id"}
    assert refused({"input": [HELLO, bare]}).param == "input[1].type"


def test_answers_in_a_row_stay_apart() -> None:
    """A client that sends two messages of the model means two."""
    said = [{"role": "assistant", "content": one} for one in ("A", "B")]
    body = built(read(*said, *CALLED[:1], {**CALLED[1], "output": "1"}))

    assert [one.get("content") for one in body["input"]] == ["Hello", "A", "B", None, None]


def test_a_user_s_empty_text_goes_as_it_is() -> None:
    """The API takes it, where instructions say all."""
    body = built(translated({"input": "", "instructions": "Write."}, protocol_id=RESPONSES))

    assert body["input"] == [{"type": "message", "role": "user", "content": ""}]


THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "gAAAAA",
}
A_TEXT = {"type": "message", "role": "assistant", "content": "Hi."}
A_CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
A_RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "19 C"}
WITHOUT_ID = {name: item for name, item in THOUGHT.items() if name != "id"}


@pytest.mark.parametrize(
    "items",
    [
        [THOUGHT, A_TEXT],
        [THOUGHT, A_CALL, A_RESULT],
        [WITHOUT_ID, A_CALL, A_RESULT, WITHOUT_ID, A_TEXT],
    ],
    ids=["before a text", "before a call", "without ids"],
)
def test_reasoning_of_the_upstreams_own_goes_up_as_it_came(items: list[Any]) -> None:
    """As in a conversation that was begun without the gateway."""
    made = translated({"input": [*items, HELLO]}, protocol_id=RESPONSES)

    assert built(made)["input"] == [*items, {"type": "message", **HELLO}]
    assert made.diagnostics == ()


@pytest.mark.parametrize("rest", [[], [HELLO]])
def test_reasoning_that_nothing_follows_is_left_out(rest: list[Any]) -> None:
    """The API would refuse the request."""
    made = translated({"input": [HELLO, A_TEXT, THOUGHT, *rest]}, protocol_id=RESPONSES)

    assert [item.get("type") for item in built(made)["input"]] == ["message"] * (2 + len(rest))
    assert [note.path for note in made.diagnostics] == ["input[2]"]
