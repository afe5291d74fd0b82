"""Values of another type in every field of legal requests: none is lost silently.

A value is refused by its path, sent, or reported; else its request is as one without the field.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from llmcore.fronts.front import FRONT_IDS
from tests.fronts.test_legal_requests import REQUESTS, at, dotted, reported, sent
from tests.support.json_paths import places

OF_TEXTS = [7, ["x"], {"x": 1}]
OF_OTHERS = ["x", ["x"]]

FREE = re.compile(
    r"(^|\.)(metadata|labels|logit_bias|headers|configs|input|args|env)\."
    r"|(parameters|input_schema|schema|parametersJsonSchema|response\w*Schema|response)(\.|\[)"
)
"""Values within what is the client's own."""
QUIET = re.compile(
    r"\.(type|status|id)$"  # what the field that it is in says, too
    r"|annotations\[\d+\](\.|$)"  # of an earlier response, whose text stays
    r"|^input\[\d+\]\.output$"  # JSON of any type
    r"|^input\[\d+\]\.arguments$"  # of a tool that the provider ran: what it returned is sent
    r"|user_location\.type$"
)


def another(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(body)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def silent(front_id: str, protocol_id: str) -> Iterator[str]:
    """Yield the fields whose values of another type change nothing."""
    for body in REQUESTS[front_id].values():
        for path in places(body):
            place, old = dotted(path), at(body, path)
            if path == ("model",) or FREE.search(place) or QUIET.search(place):
                continue
            without = copy.deepcopy(body)
            del at(without, path[:-1])[path[-1]]
            for value in OF_TEXTS if isinstance(old, str) else OF_OTHERS:
                made = sent(front_id, protocol_id, another(body, path, value))
                if isinstance(made, str) or type(value) is type(old):
                    continue
                if not reported(place, made[1]) and made == sent(front_id, protocol_id, without):
                    yield f"{place} = {value}"


@pytest.mark.slow
@pytest.mark.parametrize("protocol_id", ["anthropic-messages", "gemini"])
@pytest.mark.parametrize("front_id", FRONT_IDS)
def test_a_value_of_another_type_is_refused_sent_or_reported(
    front_id: str, protocol_id: str
) -> None:
    assert sorted(set(silent(front_id, protocol_id))) == []


MARKED = {"type": "text", "text": "Hi"}
MARKS: dict[str, tuple[object, list[str]]] = {
    "another type": ("ephemeral", []),
    "another kind": ({"type": "lasting"}, ["cache_control.type"]),
    "another lifetime": ({"type": "ephemeral", "ttl": "2h"}, ["cache_control.ttl"]),
    "usual": ({"type": "ephemeral", "ttl": "1h"}, []),
}


@pytest.mark.parametrize("mark", list(MARKS))
@pytest.mark.parametrize("front_id", ["openai-chat", "anthropic-messages"])
def test_a_mark_of_the_cache_is_refused_by_its_type_and_reported_by_its_words(
    front_id: str, mark: str
) -> None:
    given, paths = MARKS[mark]
    user = {"role": "user", "content": [{**MARKED, "cache_control": given}]}

    made = sent(front_id, "anthropic-messages", {"model": "m", "max_tokens": 9, "messages": [user]})

    if mark == "another type":
        assert made == "messages[0].content[0].cache_control must be a JSON object."
    else:
        assert not isinstance(made, str)
        assert [one.path for one in made[1]] == [f"messages[0].content[0].{one}" for one in paths]


def test_what_a_failed_compaction_says_of_tools_is_reported() -> None:
    """Its changes are made, but for those of an MCP server's tools."""
    reference = {"type": "tool_reference", "name": "late"}
    of_server = {"type": "mcp_tool_reference", "name": "x", "server_name": "s"}
    block = {
        "type": "compaction",
        "content": None,
        "tool_changes": [
            {"type": "tool_addition", "tool": reference, "later": 1},
            {"type": "tool_removal", "tool": of_server},
        ],
        "later": 1,
    }
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [block, MARKED]},
        {"role": "user", "content": "Go on."},
    ]
    tools = [
        {"name": "look", "input_schema": {"type": "object"}},
        {"name": "late", "input_schema": {"type": "object"}, "defer_loading": True},
    ]

    body = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}
    made = sent("anthropic-messages", "gemini", body)

    path = "messages[1].content[0]"
    assert not isinstance(made, str)
    assert '"late"' in made[0]
    assert [one.path for one in made[1]] == [
        f"{path}.later",
        f"{path}.tool_changes[0].later",
        f"{path}.tool_changes[1]",
    ]


def test_a_tool_of_gemini_that_is_a_list_is_left_to_its_upstream() -> None:
    """Tools whose kinds are not known may have any form."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"mcpServers": [{"name": "s"}]}],
    }
    made = sent("gemini", "gemini", body)

    assert not isinstance(made, str)
    assert '"mcpServers": [{"name": "s"}]' in made[0]
    assert made[1] == ()


def test_a_signature_in_the_users_content_is_reported() -> None:
    part = {"text": "Hi", "thoughtSignature": "c2ln"}
    made = sent("gemini", "anthropic-messages", {"contents": [{"role": "user", "parts": [part]}]})

    assert not isinstance(made, str)
    assert [one.path for one in made[1]] == ["contents[0].parts[0].thoughtSignature"]
