"""Turns whose requests begin with the ones before."""

import json
from typing import Any

import pytest

from llmcore.client.client import Client
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.messages import Message
from llmcore.schema.request import request
from llmcore.testing import PrefixChangedError, assert_prefix_stable
from llmcore.testing.cassette import Interaction, NoResponse, RecordedRequest

TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {}}}}
TURN_1: dict[str, Any] = {
    "model": "m-1",
    "tools": [TOOL],
    "system": "Be brief.",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    "max_tokens": 100,
}
REPLY = {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
NEXT = {"role": "user", "content": [{"type": "text", "text": "More"}]}
TURN_2: dict[str, Any] = {**TURN_1, "messages": [*TURN_1["messages"], REPLY, NEXT]}


def http(body: object) -> HttpRequest:
    return HttpRequest(method="POST", url="https://x", body=json.dumps(body).encode())


def recorded(body: object) -> RecordedRequest:
    return RecordedRequest.of(http(body))


def interaction(body: object) -> Interaction:
    return Interaction(request=recorded(body), response=NoResponse())


@pytest.mark.parametrize("kind", [dict, http, recorded, interaction])
def test_requests_that_extend_each_other_pass(kind: Any) -> None:
    """In whatever form the requests are at hand."""
    turns = [TURN_1, TURN_2, {**TURN_2, "messages": [*TURN_2["messages"], REPLY], "stream": True}]

    assert_prefix_stable([kind(turn) for turn in turns])


def test_prepared_requests_are_accepted() -> None:
    """Values of `client.prepare` are accepted."""
    model = OpenAICompatible.configure(name="x", base_url="https://x", api_key="k").model("m-1")
    client = Client()
    messages = [Message.user("Hi"), Message.assistant("Hello"), Message.user("More")]
    turns = [
        client.prepare(request(model=model, system="Be brief.", messages=messages[:count])).unwrap()
        for count in (1, 3)
    ]

    assert_prefix_stable(turns)
    with pytest.raises(PrefixChangedError, match=r"messages has 2 items, before 4"):
        assert_prefix_stable(turns[::-1])


@pytest.mark.parametrize("name", ["messages", "input", "contents"])
def test_the_growing_list_of_every_protocol_is_known(name: str) -> None:
    """The history's name does not matter."""
    assert_prefix_stable([{name: [1]}, {name: [1, 2]}])
    with pytest.raises(PrefixChangedError, match=rf"{name}\[0\] differs"):
        assert_prefix_stable([{name: [1]}, {name: [3, 2]}])


def changed(path: list[str | int], value: object) -> dict[str, Any]:
    body: Any = json.loads(json.dumps(TURN_2))
    place = body
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return body  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["model"], "m-2", 'model differs\n  before: "m-1"\n  after:  "m-2"'),
        (["system"], "Be long.", 'system differs\n  before: "Be brief."\n  after:  "Be long."'),
        (["system"], None, 'system differs\n  before: "Be brief."\n  after:  nothing'),
        (["tools"], [TOOL, TOOL], "tools has 2 items, before 1"),
        (["tools", 0, "name"], "time", "tools[0].name differs"),
        (["tools", 0, "extra"], 1, "tools[0].extra differs\n  before: nothing\n  after:  1"),
        (["tools", 0], dict(reversed(TOOL.items())), "tools[0] has its keys in another order"),
        (["messages", 0, "content", 0, "text"], "Hi!", "messages[0].content[0].text differs"),
        (["messages", 0, "content"], "Hi", "messages[0].content differs"),
        (["messages"], [], "messages has 0 items, before 1"),
    ],
)
def test_the_first_place_that_differs_is_named(
    path: list[str | int], value: object, said: str
) -> None:
    """With both values."""
    with pytest.raises(PrefixChangedError) as caught:
        assert_prefix_stable([TURN_1, changed(path, value)])

    message = str(caught.value)
    assert message.startswith("request 2 does not begin with request 1: ")
    assert said in message


def test_a_change_of_tools_is_reported_before_one_of_messages() -> None:
    """The first difference is the first in the prompt that a provider builds."""
    other = {**changed(["messages", 0, "role"], "tool"), "tools": []}

    with pytest.raises(PrefixChangedError, match="request 3 does not begin with request 2: tools"):
        assert_prefix_stable([TURN_1, TURN_2, other])


def test_cache_breakpoints_may_move() -> None:
    """They mark how far to cache, and do not belong to the prompt."""
    marked = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    point = {"cachePoint": {"type": "default"}}

    assert_prefix_stable([changed(["messages", 0, "content"], [marked]), TURN_2])
    assert_prefix_stable([changed(["messages", 0, "content"], [marked, point]), TURN_2])
    assert_prefix_stable(
        [
            {"messages": [1, point], "system": [{"text": "a"}, point]},
            {"messages": [1, 2], "system": [{"text": "a"}]},
        ]
    )


def test_the_error_shows_the_differing_part_of_a_long_value() -> None:
    """Not a page of system prompt."""
    turns = [{**TURN_1, "system": "x" * 5000 + end + "y" * 5000} for end in "AB"]

    with pytest.raises(PrefixChangedError) as caught:
        assert_prefix_stable(turns)

    assert "xA" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("requests", [[], [TURN_1], [{"model": "m"}, TURN_1], [{}, {}]])
def test_requests_that_cannot_prove_stability_are_refused(requests: list[Any]) -> None:
    """One request, or bodies without a history, would always pass."""
    with pytest.raises(ValueError, match=r"takes two requests|not a native request"):
        assert_prefix_stable(requests)
