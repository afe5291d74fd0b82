"""Settings and tools of a request, and what other upstreams do not take of them."""

from typing import Any

import pytest

from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.policy import HostedToolPolicy, TranslationPolicy
from llmcore.schema.options import ReasoningOptions, ResponseFormat
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.fronts.openai_chat.chat_kit import codes, read, refused

F = {"type": "function", "function": {"name": "f", "parameters": {}}}
G = {"type": "function", "function": {"name": "g", "description": "G.", "strict": True}}


# -- before it is read


@pytest.mark.parametrize(
    ("body", "path", "model", "streaming"),
    [
        ({"model": "m"}, "/v1/chat/completions", "m", False),
        ({"model": "a/b:c", "stream": True}, "", "a/b:c", True),
        ({"stream": False}, "/openai/deployments/my-gpt/chat/completions", "my-gpt", False),
    ],
)
def test_the_model_is_named_by_the_body_or_by_azures_path(
    body: dict[str, Any], path: str, model: str, streaming: bool
) -> None:
    """And the body says whether to stream."""
    found = front.routing(ClientRequest(body=body, path=path))

    assert (found.model, found.streaming) == (model, streaming)


# -- settings


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 7}, 7),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({}, None),
    ],
)
def test_the_limit_is_read_in_both_spellings(fields: dict[str, Any], limit: int | None) -> None:
    """The newer one counts where both are there; without one, the upstream's own holds."""
    assert read(fields).request.generation.max_tokens == limit


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"reasoning_effort": "high"}, ReasoningOptions(effort="high")),
        ({"reasoning": {"effort": "low"}}, ReasoningOptions(effort="low")),
        ({"reasoning": {"max_tokens": 2000}}, ReasoningOptions(budget_tokens=2000)),
        ({"reasoning": {"enabled": False}}, ReasoningOptions(effort="none")),
        ({"reasoning": {"exclude": True}}, None),
        (
            {"reasoning": {"exclude": True, "effort": "low"}},
            ReasoningOptions(effort="low", summary="none"),
        ),
        ({"thinking": {"type": "disabled"}}, ReasoningOptions(effort="none")),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 500}},
            ReasoningOptions(budget_tokens=500),
        ),
        ({"enable_thinking": False}, ReasoningOptions(effort="none")),
        ({"chat_template_kwargs": {"enable_thinking": True}}, ReasoningOptions()),
        ({"reasoning_effort": None}, None),
    ],
)
def test_how_much_to_think_is_read_in_every_spelling(
    fields: dict[str, Any], wanted: ReasoningOptions | None
) -> None:
    """Of OpenAI, OpenRouter, Z.ai, Alibaba and vLLM."""
    made = read(fields)

    assert made.request.reasoning == wanted
    assert made.diagnostics == ()


@pytest.mark.parametrize(
    ("fields", "protocol_id", "summary"),
    [
        ({"reasoning": {"max_tokens": 2000}}, "gemini", "auto"),
        ({"reasoning": {"effort": "low"}}, "openai-responses", "auto"),
        ({"reasoning": {"effort": "low", "exclude": True}}, "gemini", "none"),
        ({"reasoning": {"effort": "none"}}, "gemini", None),
        ({"reasoning": {"effort": "low"}}, "anthropic-messages", None),
        ({"reasoning_effort": "low"}, "gemini", None),
    ],
)
def test_thinking_is_shown_to_clients_of_openrouter_where_an_api_shows_none_by_itself(
    fields: dict[str, Any], protocol_id: str, summary: str | None
) -> None:
    reasoning = read(fields, protocol_id=protocol_id).request.reasoning

    assert reasoning is not None
    assert reasoning.summary == summary


@pytest.mark.parametrize(
    ("native", "wanted"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, ResponseFormat.json()),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
            ResponseFormat.json_schema({}, name="n", strict=True),
        ),
        (
            {"type": "json_schema", "schema": {"type": "object"}},
            ResponseFormat.json_schema({"type": "object"}, name="response"),
        ),
        (
            {"type": "json_object", "schema": {"type": "object"}},
            ResponseFormat.json_schema({"type": "object"}, name="response"),
        ),
        (
            {"type": "json_object", "value": {"type": "object"}},
            ResponseFormat.json_schema({"type": "object"}, name="response"),
        ),
        ({"type": "json_schema"}, ResponseFormat.json()),
    ],
)
def test_the_format_of_the_response_is_read(
    native: dict[str, Any], wanted: ResponseFormat | None
) -> None:
    """Text is what it is without one."""
    assert read({"response_format": native}).request.response_format == wanted


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": "hot"}, "temperature"),
        ({"stop": [1]}, "stop[0]"),
        ({"response_format": {"type": "yaml"}}, "response_format.type"),
        ({"stream": "yes"}, "stream"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [F], "tool_choice": {"type": "custom", "custom": {"name": "x"}}}, "tool_choice"),
        ({"tools": [F, F]}, "tools"),
        ({"reasoning": {"summary": "odd"}}, "reasoning.summary"),
        ({"tools": [{"type": "telepathy"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    ],
)  # fmt: skip
def test_invalid_values_are_refused_with_its_place(fields: dict[str, Any], param: str) -> None:
    """Before anything is sent, and in words that say what to do."""
    error = refused(fields)

    assert (error.status, error.param) == (400, param)


EXTRA = {
    "logit_bias": {"1": 2},
    "prediction": {"type": "content", "content": "x"},
    "provider": {"order": ["a"]},
    "user": "u",
    "verbosity": "low",
    "service_tier": "flex",
}


@pytest.mark.parametrize(
    ("protocol_id", "options", "dropped"),
    [
        ("openai-chat", {"openai": EXTRA}, set()),
        (
            "openai-responses",
            {"openai": {"text": {"verbosity": "low"}, "user": "u"}},
            {"logit_bias", "prediction", "provider"},
        ),
        (
            "anthropic-messages",
            {"anthropic": {"metadata": {"user_id": "u"}}},
            {"logit_bias", "prediction", "provider", "verbosity"},
        ),
        ("gemini", {}, EXTRA.keys() - {"service_tier"}),
    ],
)
def test_fields_without_a_place_upstream_are_dropped_with_a_report(
    protocol_id: str, options: Any, dropped: Any
) -> None:
    """Never forwarded blindly, and never a reason to refuse; the same API gets them all."""
    made = read(EXTRA, protocol_id=protocol_id)

    assert made.request.provider_options == options
    assert {path for _, path in codes(made)} == set(dropped)
    assert made.request.generation.service_tier == (
        None if protocol_id == "openai-chat" else "flex"
    )


@pytest.mark.parametrize(("tier", "sent"), [("auto", {}), ("default", {"service_tier": "default"})])
def test_the_default_tier_is_asked_for_and_auto_is_the_default(tier: str, sent: Any) -> None:
    """`auto` takes the tier of the project's settings, `default` the standard one."""
    made = read({"service_tier": tier}, protocol_id="openai-chat")

    assert made.request.provider_options == ({"openai": sent} if sent else {})


def test_values_that_change_nothing_are_not_reported() -> None:
    """Clients send defaults."""
    fields = {"n": 1, "store": False, "service_tier": "auto", "modalities": ["text"],
              "verbosity": "medium", "logit_bias": {}, "stream_options": {"include_usage": True},
              "usage": {"include": True}, "user": None}  # fmt: skip

    assert read(fields, protocol_id="gemini").diagnostics == ()


# -- tools


def test_functions_and_freeform_tools_are_read_as_what_they_are() -> None:
    """Names, schemas, strictness, grammars, marks of cached prefixes."""
    grammar = {"syntax": "lark", "definition": "start: x"}
    custom = {"name": "p", "format": {"type": "grammar", "grammar": grammar}}
    tools = [F, G, {"type": "custom", "custom": custom},
             {**F, "function": {"name": "h"}, "cache_control": {"type": "ephemeral"}}]  # fmt: skip

    assert read({"tools": tools}).request.tools == (
        ToolDefinition("f"),
        ToolDefinition("g", "G.", strict=True),
        CustomTool("p", grammar=Grammar(syntax="lark", definition="start: x")),
        ToolDefinition("h", cache="5m"),
    )


@pytest.mark.parametrize(
    ("choice", "read_as", "names"),
    [
        ("auto", ToolChoice.auto(), ["f", "g"]),
        ("none", ToolChoice.none(), ["f", "g"]),
        ("required", ToolChoice.required(), ["f", "g"]),
        ("any", ToolChoice.required(), ["f", "g"]),
        ({"type": "function", "function": {"name": "g"}}, ToolChoice.named("g"), ["f", "g"]),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [G]}},
            ToolChoice.required(),
            ["g"],
        ),
        (None, None, ["f", "g"]),
    ],
)
@pytest.mark.parametrize("parallel", [None, True, False])
def test_every_choice_of_tools_is_read_beside_the_switch_for_parallel_calls(
    choice: Any, read_as: ToolChoice | None, names: list[str], parallel: bool | None
) -> None:
    """Neither is lost for the other."""
    body = {"tools": [F, G], "tool_choice": choice, "parallel_tool_calls": parallel}
    made = read(body).request

    assert made.tool_choice == read_as
    assert [getattr(tool, "name", None) for tool in made.tools] == names
    assert made.parallel_tool_calls == parallel


@pytest.mark.parametrize(
    ("fields", "dropped"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, set()),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f"}}],
                "functions": [{"name": "g"}],
                "function_call": {"name": "g"},
            },
            {"functions", "function_call"},
        ),
        ({"functions": [{"name": "g"}], "tool_choice": "required"}, {"tool_choice"}),
        ({"functions": [], "function_call": "auto"}, set()),
    ],
)
def test_of_functions_and_tools_the_ones_that_are_not_read_are_reported(
    fields: Any, dropped: set[str]
) -> None:
    """A request has the one or the other."""
    assert {path for _, path in codes(read(fields))} == dropped


def test_functions_of_the_api_before_tools_are_tools_of_one_call() -> None:
    """Such clients read one call."""
    made = read({"functions": [{"name": "f"}], "function_call": {"name": "f"}})

    assert made.request.tools == (ToolDefinition("f"),)
    assert made.request.tool_choice == ToolChoice.named("f")
    assert made.request.parallel_tool_calls is False
    assert made.legacy


PLACE = {"type": "approximate", "approximate": {"city": "Bonn"}}
SEARCH = {"web_search_options": {"user_location": PLACE}}


@pytest.mark.parametrize(
    ("protocol_id", "policy", "kinds", "reported"),
    [
        ("anthropic-messages", "native", ["web_search"], []),
        ("gemini", "native", ["web_search"], []),
        ("openai-responses", "native", ["web_search"], []),
        ("openai-chat", "native", [], []),
        ("bedrock-converse", "native", [], ["hosted-tool-dropped"]),
        ("anthropic-messages", "drop", [], ["hosted-tool-dropped"]),
        ("bedrock-converse", "function", ["function"], ["hosted-tool-as-function"]),
    ],
)
def test_the_search_of_chat_is_the_upstreams_tool_or_what_the_policy_says(
    protocol_id: str, policy: HostedToolPolicy, kinds: list[str], reported: list[str]
) -> None:
    """A parameter here, a tool elsewhere."""
    made = read(SEARCH, protocol_id=protocol_id, policy=TranslationPolicy(hosted_tools=policy))
    tools = made.request.tools

    assert [one.kind if isinstance(one, HostedTool) else "function" for one in tools] == kinds
    assert [code for code, _ in codes(made)] == reported


@pytest.mark.parametrize(("older", "lost"), [(None, []), (5, []), (7, ["max_tokens"])])
def test_of_two_limits_the_newer_field_counts_and_the_other_is_reported(
    older: int | None, lost: list[str]
) -> None:
    made = read({"max_completion_tokens": 5, "max_tokens": older})

    assert made.request.generation.max_tokens == 5
    assert [path for _, path in codes(made)] == lost
