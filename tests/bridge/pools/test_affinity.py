"""The conversation that a request belongs to: the same for each of its turns."""

from typing import Any

import pytest

from llmcore.bridge.pools.affinity import conversation_of
from llmcore.bridge.service import new_id
from llmcore.fronts.front import ClientRequest


def asked(body: dict[str, Any], **headers: str) -> ClientRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ClientRequest(body=body, path="/", headers=named)


USER = {"role": "user", "content": "Hi"}
MARKED = {
    "role": "user",
    "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}],
}
UNMARKED = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
MORE = [{"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Bye"}]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"messages": [USER]}, {"messages": [USER, *MORE]}),
        ({"messages": [MARKED]}, {"messages": [UNMARKED, *MORE]}),
        ({"system": "s", "messages": [USER]}, {"system": "s", "messages": [USER, *MORE]}),
        ({"instructions": "i", "input": [USER]}, {"instructions": "i", "input": [USER, *MORE]}),
        (
            {"contents": [{"parts": [{"text": "Hi"}]}]},
            {"contents": [{"parts": [{"text": "Hi"}]}, {"role": "model", "parts": []}]},
        ),
        ({"prompt_cache_key": "k", "input": "a"}, {"prompt_cache_key": "k", "input": "b"}),
    ],
)
def test_the_turns_of_a_conversation_are_one(first: dict[str, Any], later: dict[str, Any]) -> None:
    assert conversation_of(asked(first)) == conversation_of(asked(later))


def test_a_responses_id_leads_to_its_conversation() -> None:
    first = conversation_of(asked({"input": "Hi"}))
    answer = new_id("resp", first)
    second = conversation_of(asked({"input": "Go on", "previous_response_id": answer}))
    third = asked({"input": "Go on", "previous_response_id": new_id("resp", second)})

    assert first == second == conversation_of(third)
    assert len(answer) == len(new_id("resp")) == len("resp_") + 48


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (asked({"messages": [USER]}), asked({"messages": [{**USER, "content": "Ho"}]})),
        (asked({"system": "a", "messages": [USER]}), asked({"system": "b", "messages": [USER]})),
        (asked({"input": "a"}, session_id="1"), asked({"input": "a"}, session_id="2")),
        (
            asked({"messages": [USER]}, x_claude_code_session_id="1"),
            asked({"messages": [USER]}, x_claude_code_session_id="2"),
        ),
        (asked({"input": "a", "previous_response_id": "resp_x"}), asked({"input": "b"})),
    ],
)
def test_other_conversations_are_others(one: ClientRequest, other: ClientRequest) -> None:
    assert conversation_of(one) != conversation_of(other)
