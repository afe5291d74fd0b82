"""No request crashes the bridge: it is understood, or refused with a 4xx."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llmcore.bridge.policy import TranslationPolicy
from llmcore.bridge.responses.request import required_references, translate
from llmcore.schema import json
from llmcore.schema.result import Success
from tests.bridge.responses_kit import MODEL, SEALER, ids
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


@given(BODIES, st.sampled_from(["openai-chat", "openai-responses", "anthropic-messages", None]))
def test_any_body_is_understood_or_refused(body: dict[str, Any], protocol_id: str | None) -> None:
    """Never an exception, whatever stands where."""
    required_references(body)
    result = translate(
        body,
        previous=None,
        find_item=lambda _: None,
        model=MODEL,
        policy=TranslationPolicy(),
        seal=SEALER,
        protocol_id=protocol_id,
        new_id=ids(),
    )

    if isinstance(result, Success):
        made = result.unwrap()
        json.dumps([made.echo, *made.input_items])
    else:
        assert result.failure().status in (400, 404)
