"""No request crashes the gateway: it is understood, or refused with a 4xx."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_responses.request import read_request
from llmcore.fronts.openai_responses.state import required_references
from llmcore.fronts.policy import HostedToolPolicy, TranslationPolicy
from llmcore.schema import json
from llmcore.schema.result import Success
from tests.fronts.openai_responses.responses_kit import upstream_of
from tests.support.strategies.requests import json_values

TYPES = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "shell_call",
    "shell_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "computer_call_output",
    "web_search_call",
    "mcp_call",
    "code_interpreter_call",
    "image_generation_call",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "additional_tools",
    "item_reference",
    "odd_call",
]
TOOL_TYPES = ["function", "custom", "namespace", "shell", "tool_search", "mcp", "web_search"]
ITEM_FIELDS = [
    "role",
    "content",
    "call_id",
    "name",
    "namespace",
    "arguments",
    "input",
    "output",
    "summary",
    "encrypted_content",
    "action",
    "operation",
    "tools",
    "result",
    "outputs",
    "reasoning",
    "text",
    "status",
]
FIELDS = [
    "instructions",
    "tool_choice",
    "include",
    "reasoning",
    "text",
    "temperature",
    "top_logprobs",
    "metadata",
    "user",
    "service_tier",
    "prompt_cache_options",
    "stream",
    "store",
    "odd",
]


def objects(types: list[str], fields: list[str], inner: Any) -> Any:
    """Objects of these types with any of these fields, each with any value."""
    return st.builds(
        lambda kind, rest: {"type": kind, **rest},
        st.sampled_from(types),
        st.dictionaries(st.sampled_from(fields), inner, max_size=4),
    )


PARTS = objects(
    ["input_text", "output_text", "input_image", "input_file", "input_audio", "refusal"],
    ["text", "image_url", "file_data", "file_id", "refusal", "annotations", "detail", "data"],
    json_values(),
)
VALUES = st.one_of(
    json_values(), st.lists(PARTS, max_size=2), st.sampled_from(["user", "assistant", "{}", "x"])
)
TOOLS = objects(
    TOOL_TYPES,
    ["name", "parameters", "description", "format", "tools", "execution", "server_label"],
    st.one_of(json_values(), st.just({"type": "object"}), st.sampled_from(["f", "client"])),
)
BODIES = st.builds(
    lambda items, tools, rest: {"model": "m", "input": items, "tools": tools, **rest},
    st.lists(objects(TYPES, ITEM_FIELDS, VALUES) | json_values(), max_size=4),
    st.lists(TOOLS, max_size=2),
    st.dictionaries(st.sampled_from(FIELDS), json_values(), max_size=3),
)


ODD: list[Any] = [None, True, 7, "", "x", [], {}, [[]], [{}], [{"type": []}], {"type": {}}]


def variants(value: Any) -> Iterator[Any]:
    """Yield *value* with each thing in it replaced by each odd one."""
    if isinstance(value, dict):
        for name, item in value.items():
            for odd in (*ODD, *variants(item)):
                yield {**value, name: odd}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for odd in (*ODD, *variants(item)):
                yield [*value[:index], odd, *value[index + 1 :]]


CITED = {"text": "x", "annotations": [{"type": "url_citation", "url": "u"}]}
CONTENTS: list[dict[str, Any]] = [
    {"type": "input_image", "image_url": {"url": "data:,"}, "detail": "low"},
    {"type": "input_file", "file_data": "aaaa", "filename": "x"},
    {"type": "input_audio", "input_audio": {"data": "aaaa", "format": "wav"}},
    {"type": "output_text", **CITED},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "namespace": "n"},
    {"type": "function_call_output", "call_id": "c", "output": CONTENTS[:1]},
    {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
    {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"], "timeout_ms": 1}},
    {"type": "local_shell_call", "id": "l", "action": {"command": ["ls"], "env": {"A": "b"}}},
    {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "x", "path": "y"}},
    {"type": "tool_search_call", "call_id": "c", "arguments": {}, "execution": "client"},
    {"type": "tool_search_output", "call_id": "c", "tools": [{"type": "function", "name": "g"}]},
    {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}},
    {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "x"},
    {"type": "code_interpreter_call", "id": "i", "code": "x", "outputs": [{"type": "logs"}]},
    {"type": "image_generation_call", "id": "g", "result": "aaaa"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}], "content": []},
    {"type": "configuration_update", "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
    *({"role": "user", "content": [content]} for content in CONTENTS),
    {"role": "assistant", "content": [CONTENTS[-1]], "phase": "x"},
]
FUNCTION: dict[str, Any] = {"type": "function", "name": "f", "parameters": {"type": "object"}}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "x"}
WHOLE: dict[str, Any] = {
    "model": "m",
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}],
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto", "mode": "standard"},
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {}}, "verbosity": "low"},
    "service_tier": "auto",
    "truncation": "auto",
    "metadata": {"a": "b"},
    "prompt_cache_options": {"ttl": "1h"},
    "tools": [
        FUNCTION,
        {"type": "custom", "name": "c", "format": GRAMMAR},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "g"}]},
        {"type": "web_search", "filters": {"allowed_domains": ["x"]}, "user_location": {"a": "x"}},
        {"type": "mcp", "server_label": "l", "allowed_tools": {"tool_names": ["x"]}},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "shell", "environment": {"type": "local"}},
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [FUNCTION]},
}


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses", "anthropic-messages"])
@pytest.mark.parametrize("hosted_tools", ["native", "function"])
def test_odd_values_in_any_place_are_understood_or_refused(
    protocol_id: str, hosted_tools: HostedToolPolicy
) -> None:
    """One thing of a request that is otherwise right, replaced by each of many."""
    policy = TranslationPolicy(hosted_tools=hosted_tools)
    for body in variants(WHOLE):
        check(body, protocol_id, policy)
    for item in ITEMS:
        for odd in variants(item):
            check({"model": "m", "input": [ITEMS[0], odd]}, protocol_id, policy)


def check(body: Any, protocol_id: str, policy: TranslationPolicy) -> None:
    try:
        required_references(body)
        result = read_request(ClientRequest(body=body), upstream_of(protocol_id, policy))
    except Exception as error:
        raise AssertionError(f"{body} breaks the translation") from error
    if not isinstance(result, Success):
        assert result.failure().status in (400, 404)


@given(BODIES, st.sampled_from(["openai-chat", "openai-responses", "anthropic-messages", None]))
def test_any_body_is_understood_or_refused(body: dict[str, Any], protocol_id: str | None) -> None:
    """Never an exception, whatever stands where."""
    required_references(body)
    result = read_request(ClientRequest(body=body), upstream_of(protocol_id))

    if isinstance(result, Success):
        made = result.unwrap()
        json.dumps([made.echo, *made.input_items])
    else:
        assert result.failure().status in (400, 404)
