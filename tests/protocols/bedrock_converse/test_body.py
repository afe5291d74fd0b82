"""Building the request body: parameters, reasoning, formats, tools, cache points, by model."""

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols.bedrock_converse.models import rules_of
from llmcore.schema.content import (
    DocumentPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cached,
)
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.bedrock import (
    CLAUDE,
    CLAUDE_3,
    CLAUDE_46,
    GPT,
    GPT_OSS,
    LLAMA,
    NEWEST,
    NOVA,
    NOVA_2,
    PROFILE,
    answer,
    ask,
    body,
    codes,
    refused,
)

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}})


def everything() -> LLMRequest:
    """Return a request that says nearly all that can be said."""
    return ask(
        messages=[
            Message.user("Read this.", DocumentPart(data=b"%PDF-1.4", name="a_b.pdf")),
            answer("Well,", ToolCallPart("c1", "look", {"q": "x"})),
            Message.tool("c1", {"found": 1}),
        ],
        system="Be brief.",
        tools=[LOOK, CustomTool("run", "Runs.")],
        tool_choice=ToolChoice.required(),
        generation=GenerationOptions(temperature=0.5, max_tokens=100, top_k=5, stop=("END",)),
        response_format=ResponseFormat.json_schema(
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        ),
        metadata={"team": "a"},
        provider_options={
            "bedrock": {
                "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
                "performanceConfig": {"latency": "optimized"},
                "serviceTier": {"type": "flex"},
                "projectIdentifier": "team-a",
                "promptVariables": {"name": {"text": "x"}},
                "additionalModelRequestFields": {"anthropic_beta": ["b-2026"]},
                "additionalModelResponseFieldPaths": ["/stop_sequence"],
                "requestMetadata": {"more": "b"},
            }
        },
    )


def test_body_of_a_full_request_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """Every field in its place, in a fixed order."""
    assert json.dumps(body(everything()), indent=1) == snapshot


def test_smallest_request_sends_its_own_values_only() -> None:
    """Nothing is sent beyond the request's own values; the model is in the path."""
    asked = ask(cache=CachePolicy(mode="off"))

    assert body(asked) == {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
    assert body(asked, stream=True) == body(asked)


# -- parameters


def test_sampling_and_limits_have_the_services_names() -> None:
    """Sampling and limits have their own names."""
    options = GenerationOptions(max_tokens=9, top_p=0.5, stop=("A", "B"))

    assert body(ask(NOVA, generation=options))["inferenceConfig"] == {
        "maxTokens": 9,
        "topP": 0.5,
        "stopSequences": ["A", "B"],
    }


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (CLAUDE, {"top_k": 5}),
        (NOVA, {"inferenceConfig": {"topK": 5}}),
        ("mistral.mistral-large-2407-v1:0", {"top_k": 5}),
        ("cohere.command-r-plus-v1:0", {"k": 5}),
        (LLAMA, None),
    ],
)
def test_top_k_goes_by_each_vendors_name(model: str, expected: Any) -> None:
    """Converse has no top_k of its own."""
    asked = ask(model, generation=GenerationOptions(top_k=5))

    assert body(asked).get("additionalModelRequestFields") == expected
    assert bool(codes(asked)) == (expected is None)


def test_what_the_api_lacks_is_reported() -> None:
    """No parameter is lost in silence."""
    options = GenerationOptions(
        seed=1, presence_penalty=1, frequency_penalty=1, logprobs=True, top_logprobs=2
    )
    asked = ask(
        generation=options,
        cache=CachePolicy(key="k", retention="24h"),
        parallel_tool_calls=False,
        tools=[LOOK],
    )

    assert {path for _, path in codes(asked)} == {
        "generation.seed",
        "generation.presence_penalty",
        "generation.frequency_penalty",
        "generation.logprobs",
        "generation.top_logprobs",
        "cache.key",
        "cache.retention",
        "parallel_tool_calls",
    }


def test_numbers_out_of_range() -> None:
    """The API takes temperatures up to 1."""
    asked = ask(NOVA, temperature=1.5)

    assert body(asked)["inferenceConfig"] == {"temperature": 1.0}
    assert codes(asked) == [("parameter-out-of-range", "generation.temperature")]


@pytest.mark.parametrize(
    ("model", "given", "kept"),
    [
        (CLAUDE, {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5}),
        (CLAUDE_3, {"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5, "topP": 0.5}),
        (NEWEST, {"temperature": 0.5, "max_tokens": 5}, {"maxTokens": 5}),
    ],
)
def test_sampling_that_claude_refuses(
    model: str, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    """Which sampling a Claude model takes depends on its version."""
    asked = ask(model, **given)

    assert body(asked)["inferenceConfig"] == kept
    assert len(codes(asked)) == len(given) - len(kept)


@pytest.mark.parametrize("model", [GPT, GPT_OSS, "qwen.qwen3-235b-a22b-2507-v1:0"])
def test_stop_sequences_are_left_out_where_the_service_refuses_them(model: str) -> None:
    asked = ask(model, stop=("END",), max_tokens=9)

    assert body(asked)["inferenceConfig"] == {"maxTokens": 9}
    assert codes(asked) == [("unsupported-parameter", "generation.stop")]


@pytest.mark.parametrize(("model", "kept"), [(GPT, {}), (GPT_OSS, {"temperature": 1, "topP": 0.5})])
def test_models_of_openai_take_no_sampling_unless_their_weights_are_open(
    model: str, kept: dict[str, Any]
) -> None:
    asked = ask(model, temperature=1, top_p=0.5)

    assert body(asked).get("inferenceConfig", {}) == kept
    assert len(codes(asked)) == 2 - len(kept)


def test_encrypted_reasoning_alone_goes_back_to_models_of_openai() -> None:
    """They refuse the text of any: "Remove reasoningContent.reasoningText.text and try again"."""
    made = Origin(provider="bedrock", model=GPT, protocol="bedrock-converse")
    said = Message.assistant(
        ReasoningPart("Aloud."), ReasoningPart("", encrypted="cnNu"), "Hi", origin=made
    )

    sent = body(ask(GPT, messages=[Message.user("q"), said, Message.user("Go on.")]))

    assert sent["messages"][1]["content"] == [
        {"reasoningContent": {"redactedContent": "cnNu"}},
        {"text": "Hi"},
    ]


def test_stop_sequences_of_white_space() -> None:
    """Claude refuses them; empty ones are left out for all models."""
    assert body(ask(stop=("\n", "END")))["inferenceConfig"] == {"stopSequences": ["END"]}
    assert body(ask(NOVA, stop=("\n", "")))["inferenceConfig"] == {"stopSequences": ["\n"]}


def test_metadata_that_the_api_takes_not() -> None:
    """It takes sixteen pairs of few characters."""
    given = {"bad key!": "x", "k": "väl", **{f"k{i}": "v" for i in range(20)}}

    sent = body(ask(metadata=given))["requestMetadata"]

    assert sent == {f"k{i}": "v" for i in range(16)}
    assert len(codes(ask(metadata=given))) == 6


# -- native fields


def test_native_fields_are_the_last_word() -> None:
    """They are merged, None removes, and ours are not sent."""
    options = {
        "bedrock": {
            "base_model": CLAUDE,
            "auto_cache": False,
            "structured_output": "tool",
            "modelId": "x",
            "inferenceConfig": {"temperature": None, "topP": 0.9},
        }
    }

    sent = body(ask(PROFILE, temperature=0.5, max_tokens=5, provider_options=options))

    assert sent["inferenceConfig"] == {"maxTokens": 5, "topP": 0.9}
    assert sent.keys() == {"messages", "inferenceConfig"}


def test_only_a_stream_takes_a_stream_mode() -> None:
    """`Converse` refuses the guardrail's stream mode."""
    config = {"guardrailIdentifier": "g", "guardrailVersion": "1", "streamProcessingMode": "async"}
    asked = ask(provider_options={"bedrock": {"guardrailConfig": config}})

    assert body(asked, stream=True)["guardrailConfig"] == config
    assert body(asked)["guardrailConfig"].keys() == {"guardrailIdentifier", "guardrailVersion"}
    assert codes(asked) == [("unsupported-parameter", "guardrailConfig.streamProcessingMode")]


# -- thinking

ENABLED = {"type": "enabled", "budget_tokens": 2048}


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        (CLAUDE, {"effort": "low"}, {"thinking": ENABLED}),
        (CLAUDE, {"budget_tokens": 2048}, {"thinking": ENABLED}),
        (CLAUDE, {"effort": "none"}, {"thinking": {"type": "disabled"}}),
        (
            CLAUDE_46,
            {"effort": "high"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        (
            NOVA_2,
            {"effort": "minimal"},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}},
        ),
        (NOVA_2, {"effort": "none"}, {"reasoningConfig": {"type": "disabled"}}),
        (
            NOVA_2,
            {"budget_tokens": 99},
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
        ),
        (GPT_OSS, {"effort": "high"}, {"reasoning_effort": "high"}),
        (GPT_OSS, {"effort": "none"}, {"reasoning_effort": "low"}),
        (GPT, {"effort": "max"}, {"reasoning": {"effort": "max"}}),
        (GPT, {"effort": "none"}, {"reasoning": {"effort": "none"}}),
        (GPT, {"effort": "minimal"}, {"reasoning": {"effort": "low"}}),
        ("openai.gpt-5.4", {"effort": "max"}, {"reasoning": {"effort": "xhigh"}}),
        ("global.openai.gpt-7", {"effort": "max"}, {"reasoning": {"effort": "max"}}),
        (GPT, {"effort": "low", "budget_tokens": 99}, {"reasoning": {"effort": "low"}}),
        (NOVA, {"effort": "high"}, None),
        (LLAMA, {"effort": "high"}, None),
        (LLAMA, {"effort": "none"}, None),
        (CLAUDE_3, {"effort": "high"}, None),
    ],
)
def test_thinking_is_sent_in_the_fields_of_each_vendor(
    model: str, options: dict[str, Any], expected: Any
) -> None:
    """Each vendor has fields of its own."""
    asked = ask(model, reasoning=ReasoningOptions(**options))

    assert body(asked).get("additionalModelRequestFields") == expected
    if expected is None and options["effort"] != "none":
        assert ("unsupported-parameter", "reasoning") in codes(asked)


def test_an_arn_thinks_like_the_model_it_stands_for() -> None:
    """The caller says which that is."""
    options = {"bedrock": {"base_model": CLAUDE}}
    asked = ask(PROFILE, reasoning_effort="low", provider_options=options)

    assert body(asked)["additionalModelRequestFields"] == {"thinking": ENABLED}


@pytest.mark.parametrize("native", [False, True])
def test_sampling_is_dropped_beside_thinking(native: bool) -> None:
    """Claude refuses it, also where the caller asks for thinking natively."""
    fields: dict[str, Any] = (
        {"provider_options": {"bedrock": {"additionalModelRequestFields": {"thinking": ENABLED}}}}
        if native
        else {"reasoning_effort": "low"}
    )
    asked = ask(generation=GenerationOptions(temperature=0.5, top_k=5), **fields)

    assert body(asked)["additionalModelRequestFields"] == {"thinking": ENABLED}
    assert "inferenceConfig" not in body(asked)
    assert len(codes(asked)) >= 2


def test_limits_beside_the_most_thinking() -> None:
    """Amazon Nova refuses them where it thinks as hard as it can."""
    asked = ask(NOVA_2, reasoning_effort="high", max_tokens=5, temperature=0.5)

    assert "inferenceConfig" not in body(asked)
    assert {path for _, path in codes(asked)} == {
        "generation.max_tokens",
        "generation.temperature",
    }


def test_no_budget_where_a_tool_is_demanded() -> None:
    """The demand is kept, the thinking is not."""
    asked = ask(reasoning_effort="low", tools=[LOOK], tool_choice=ToolChoice.required())

    assert body(asked)["toolConfig"]["toolChoice"] == {"any": {}}
    assert "additionalModelRequestFields" not in body(asked)
    assert ("unsupported-parameter", "reasoning") in codes(asked)


def test_no_budget_where_a_turn_began_without() -> None:
    """Claude refuses to begin thinking between a call and its result's response."""
    talk = [Message.user("x"), answer(ToolCallPart("c", "look", {})), Message.tool("c", "y")]
    asked = ask(messages=talk, reasoning_effort="low", tools=[LOOK])

    assert "additionalModelRequestFields" not in body(asked)


# -- the shape of the response

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
SHAPED = ResponseFormat.json_schema(SCHEMA, name="thing", description="A thing.")


@pytest.mark.parametrize("model", [CLAUDE, GPT_OSS, "google.gemma-3-27b-it"])
def test_models_that_are_held_to_a_schema(model: str) -> None:
    """The schema goes as text, closed as the service wants it."""
    sent = body(ask(model, response_format=SHAPED))["outputConfig"]["textFormat"]
    schema = sent["structure"]["jsonSchema"]

    assert (sent["type"], schema["name"], schema["description"]) == (
        "json_schema",
        "thing",
        "A thing.",
    )
    assert json.loads(schema["schema"]) == {**SCHEMA, "additionalProperties": False}


@pytest.mark.parametrize(
    ("model", "whole"),
    [(CLAUDE, True), (LLAMA, True), (GPT_OSS, True), (NOVA, False), (NOVA_2, False),
     (PROFILE, False)],
)  # fmt: skip
def test_what_amazons_models_take_of_a_schema(model: str, whole: bool) -> None:
    """At the root they know three keywords; a profile may be theirs."""
    parameters = {**SCHEMA, "description": "D"}
    asked = ask(model, tools=[ToolDefinition("look", "Looks.", parameters)])

    spec = body(asked)["toolConfig"]["tools"][0]["toolSpec"]

    assert spec["inputSchema"]["json"] == (parameters if whole else SCHEMA)
    assert ("schema-keyword-dropped" in dict(codes(asked))) != whole


@pytest.mark.parametrize("model", [CLAUDE_3, NOVA])
def test_models_whose_response_is_a_tools_input(model: str) -> None:
    """The call is demanded, and the tool looks like the response."""
    sent = body(ask(model, response_format=SHAPED))

    (tool,) = [one for one in sent["toolConfig"]["tools"] if "toolSpec" in one]
    assert tool["toolSpec"]["inputSchema"]["json"] == SCHEMA
    assert sent["toolConfig"]["toolChoice"] == {"tool": {"name": "structured_answer"}}
    assert "outputConfig" not in sent


@pytest.mark.parametrize(
    ("choice", "expected"),
    [(None, {"any": {}}), (ToolChoice.named("look"), {"tool": {"name": "look"}})],
)
def test_a_responses_tool_beside_others(choice: ToolChoice | None, expected: Any) -> None:
    """The caller's tools come first."""
    asked = ask(CLAUDE_3, response_format=SHAPED, tools=[LOOK], tool_choice=choice)

    assert body(asked)["toolConfig"]["toolChoice"] == expected


@pytest.mark.parametrize(
    ("model", "shape"),
    [(LLAMA, SHAPED), (CLAUDE, ResponseFormat.json()), ("anthropic.claude-v2", SHAPED)],
)
def test_models_that_are_only_told(model: str, shape: ResponseFormat) -> None:
    """Models that cannot be forced are instructed in the prompt, and a Diagnostic reports it."""
    asked = ask(model, response_format=shape)

    assert "one JSON document" in body(asked)["system"][0]["text"]
    assert ("response-format-in-words", "response_format") in codes(asked)


def test_free_text_is_not_a_shape() -> None:
    """The default format asks for nothing."""
    assert body(ask(response_format=ResponseFormat.text())) == body(ask())


def test_citations_beside_a_schema() -> None:
    """The service refuses both at once: the document stays, its citations do not."""
    part = DocumentPart(data=b"x", name="a.txt", media_type="text/plain", citations=True)
    asked = ask(messages=[Message.user("x", part)], response_format=SHAPED)

    assert "citations" not in str(body(asked))
    assert ("unsupported-parameter", "messages[0].content[1].citations") in codes(asked)


# -- tools


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None),
        (ToolChoice.auto(), None),
        (ToolChoice.required(), {"any": {}}),
        (ToolChoice.named("look"), {"tool": {"name": "look"}}),
    ],
)
def test_every_tool_choice_but_none_is_sent(choice: ToolChoice | None, expected: Any) -> None:
    asked = ask(NOVA, tools=[LOOK], tool_choice=choice)

    assert body(asked)["toolConfig"]["tools"][0]["toolSpec"]["name"] == "look"
    assert body(asked)["toolConfig"].get("toolChoice") == expected
    assert codes(asked) == []


def test_the_choice_none_leaves_tools_out_that_nothing_called() -> None:
    """The API has no `none`."""
    asked = ask(NOVA, tools=[LOOK], tool_choice=ToolChoice.none())

    assert "toolConfig" not in body(asked)
    assert codes(asked) == [("tool-choice-emulated", "tool_choice")]


def test_the_choice_none_keeps_tools_that_the_history_has_calls_of() -> None:
    """The API requires their definitions; a Diagnostic warns that they may be called."""
    called = answer(ToolCallPart(id="c1", name="look", arguments={}), model=NOVA)
    result = Message("tool", [ToolResultPart("c1", "x")])
    history = [Message.user("Hi"), called, result]
    asked = ask(NOVA, messages=history, tools=[LOOK], tool_choice=ToolChoice.none())

    assert body(asked)["toolConfig"]["tools"][0]["toolSpec"]["name"] == "look"
    assert codes(asked) == [("unsupported-tool-choice", "tool_choice")]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"tool_choice": ToolChoice.required()}, InvalidRequestError),
        ({"tools": [LOOK], "tool_choice": ToolChoice.named("other")}, InvalidRequestError),
        (
            {"model": "anthropic.claude-opus-5-5", "tools": [LOOK]}
            | {"tool_choice": ToolChoice.required()},
            UnsupportedToolChoiceError,
        ),
        (
            {"model": LLAMA, "tools": [LOOK], "tool_choice": ToolChoice.required()},
            UnsupportedToolChoiceError,
        ),
        (
            {"model": "cohere.command-r-plus-v1:0", "tools": [LOOK]}
            | {"tool_choice": ToolChoice.named("look")},
            UnsupportedToolChoiceError,
        ),
    ],
)
def test_choices_that_the_api_lacks_are_refused(
    fields: dict[str, Any], kind: type[Exception]
) -> None:
    """Nothing is sent that the service would refuse anyway."""
    assert isinstance(refused(ask(**fields)), kind)


@pytest.mark.parametrize("model", ["mistral.mistral-large-2407-v1:0", "deepseek.v3-v1:0", GPT_OSS])
def test_a_tool_that_cannot_be_named_is_the_only_one(model: str) -> None:
    """The service names a tool to Claude and Nova alone; others can only be made to call any."""
    other = ToolDefinition("other")
    asked = ask(model, tools=[other, LOOK], tool_choice=ToolChoice.named("look"))

    sent = body(asked)["toolConfig"]
    assert [tool["toolSpec"]["name"] for tool in sent["tools"]] == ["look"]
    assert sent["toolChoice"] == {"any": {}}
    assert ("tool-choice-emulated", "tool_choice") in codes(asked)

    alone = ask(model, tools=[LOOK], tool_choice=ToolChoice.named("look"))
    assert body(alone)["toolConfig"]["toolChoice"] == {"any": {}}
    assert ("tool-choice-emulated", "tool_choice") not in codes(alone)


def test_a_format_by_tool_is_forced_as_the_model_can_be() -> None:
    """Its tool is the only one, so that a call of any is a call of it."""
    options = {"bedrock": {"structured_output": "tool"}}
    asked = ask("mistral.mistral-small-2402-v1:0", response_format=SHAPED, provider_options=options)

    assert body(asked)["toolConfig"]["toolChoice"] == {"any": {}}


def test_tools_that_only_the_history_knows() -> None:
    """The service wants every tool defined that a message calls."""
    talk = [Message.user("x"), answer(ToolCallPart("c", "gone", {})), Message.tool("c", "y")]
    asked = ask(LLAMA, messages=talk, tool_choice=ToolChoice.none())

    (stub,) = body(asked)["toolConfig"]["tools"]
    assert stub["toolSpec"] == {
        "name": "gone",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
    assert ("tool-stub-added", "tools") in codes(asked)


def test_strict_tools_are_sent_where_the_model_has_them() -> None:
    """Only some models hold a tool's input to its schema."""
    tool = ToolDefinition("look", "", SCHEMA, strict=True)

    spec = body(ask(tools=[tool]))["toolConfig"]["tools"][0]["toolSpec"]
    assert (spec["strict"], spec["inputSchema"]["json"]["additionalProperties"]) == (True, False)
    assert "description" not in spec
    assert ("unsupported-parameter", "tools[0].strict") in codes(ask(NOVA, tools=[tool]))


@pytest.mark.parametrize(
    ("model", "tool", "expected"),
    [
        (NOVA_2, HostedTool.web_search(), [{"systemTool": {"name": "nova_grounding"}}]),
        (NOVA_2, HostedTool.code_execution(), [{"systemTool": {"name": "nova_code_interpreter"}}]),
        (
            LLAMA,
            HostedTool.raw("bedrock", {"systemTool": {"name": "x"}}),
            [{"systemTool": {"name": "x"}}],
        ),
        (LLAMA, HostedTool.raw("openai", {"type": "x"}), None),
        (LLAMA, HostedTool.web_search(), None),
        (CLAUDE, HostedTool.web_search(), None),
    ],
)
def test_hosted_tools_are_sent_by_name_or_reported(
    model: str, tool: HostedTool, expected: Any
) -> None:
    """Tools of the service have names; tools that it lacks are reported."""
    asked = ask(model, tools=[tool])

    assert body(asked).get("toolConfig", {}).get("tools") == expected
    assert (("unsupported-tool", "tools[0]") in codes(asked)) == (expected is None)


def test_tools_that_anthropic_defines() -> None:
    """They go into the model's own fields, with the beta features they need."""
    tool = HostedTool.computer_use(display_width=10, display_height=20)

    assert body(ask(tools=[tool]))["additionalModelRequestFields"] == {
        "tools": [
            {
                "type": "computer_20250124",
                "name": "computer",
                "display_width_px": 10,
                "display_height_px": 20,
            }
        ],
        "anthropic_beta": ["computer-use-2025-01-24"],
    }


# -- which model it is


@pytest.mark.parametrize(
    ("model", "family", "caches", "structured"),
    [
        (CLAUDE, "claude", True, True),
        (CLAUDE_3, "claude", False, False),
        ("eu.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude", True, False),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "claude", True, False),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", "claude", False, False),
        ("anthropic.claude-v2:1", "claude", True, False),
        ("us.anthropic.claude-opus-4-6-v1", "claude", True, True),
        ("us.anthropic.claude-opus-4-7", "claude", True, False),
        ("global.anthropic.claude-sonnet-5", "claude", True, False),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/apac.amazon.nova-pro-v1:0",
            "nova",
            True,
            False,
        ),
        ("global.amazon.nova-2-lite-v1:0", "nova", True, False),
        ("qwen.qwen3-32b-v1:0", "other", False, True),
        (GPT_OSS, "gpt-oss", False, True),
        (GPT, "gpt", False, False),
        (LLAMA, "other", False, False),
        (PROFILE, "unknown", False, False),
    ],
)
def test_rules_of_a_model_follow_prefixed_names_and_arns(
    model: str, family: str, caches: bool, structured: bool
) -> None:
    """Region prefixes and ARNs that name their model mean that model."""
    rules = rules_of(model)

    found = (rules.family, rules.auto_cache, rules.structured_output)
    assert found == (family, caches and "claude-v" not in model, structured)


# -- caching

POINT = {"cachePoint": {"type": "default"}}
LONG = {"cachePoint": {"type": "default", "ttl": "1h"}}
TALK = [Message.user("1"), answer("2"), Message.user("3"), answer("4"), Message.user("5")]


def points(asked: LLMRequest) -> list[str]:
    """Say where the body of *asked* has cache points, and the blocks before them."""
    sent = body(asked)
    lists = [
        ("tools", sent.get("toolConfig", {}).get("tools", [])),
        ("system", sent.get("system", [])),
    ]
    lists += [(f"messages[{i}]", one["content"]) for i, one in enumerate(sent["messages"])]
    return [
        f"{name}[{index}]{':1h' if block == LONG else ''}"
        for name, items in lists
        for index, block in enumerate(items)
        if "cachePoint" in block
    ]


def test_automatic_cache_points_end_tools_system_and_conversation() -> None:
    """The ends of tools, system and conversation, and of the user's turn before."""
    asked = ask(messages=TALK, system="S", tools=[LOOK])

    assert points(asked) == ["tools[1]", "system[1]", "messages[2][1]", "messages[4][1]"]
    longer = ask(messages=TALK, system="S", tools=[LOOK], cache=CachePolicy(ttl="1h"))
    assert points(longer) == [f"{place}:1h" for place in points(asked)]


@pytest.mark.parametrize(
    ("model", "fields", "expected"),
    [
        (NOVA, {}, ["system[1]", "messages[2][1]", "messages[4][1]"]),
        (LLAMA, {}, []),
        (PROFILE, {}, []),
        (CLAUDE, {"cache": CachePolicy(mode="manual")}, []),
        (CLAUDE, {"provider_options": {"bedrock": {"auto_cache": False}}}, []),
    ],
)
def test_no_automatic_cache_points(model: str, fields: dict[str, Any], expected: list[str]) -> None:
    """Only where the model takes them by document, and the caller wants them."""
    assert points(ask(model, messages=TALK, system="S", tools=[LOOK], **fields)) == expected


def test_the_callers_own_cache_points() -> None:
    """They come first; more than four are too many, and longer-lived stand before the others."""
    parts = [cached(TextPart(text)) for text in "abcdef"]
    asked = ask(messages=[Message.user(*parts)], cache=CachePolicy(mode="manual"))

    assert points(asked) == [f"messages[0][{i}]" for i in (3, 5, 7, 9)]
    assert codes(asked) == [
        ("cache-breakpoint-dropped", "messages[0].content[0]"),
        ("cache-breakpoint-dropped", "messages[0].content[1]"),
    ]


def test_a_cache_point_outlives_none_before_it() -> None:
    """None outlives one before it; some models know five minutes only."""
    turn = Message.user(cached(TextPart("a")), cached(TextPart("b"), ttl="1h"))
    manual = CachePolicy(mode="manual")

    assert points(ask(messages=[turn], cache=manual)) == ["messages[0][1]", "messages[0][3]"]
    assert ("cache-ttl-shortened", "messages[0].content[1]") in codes(
        ask(messages=[turn], cache=manual)
    )
    tool = ToolDefinition("look", cache="1h")
    assert points(ask(tools=[tool], system="S")) == ["tools[1]:1h", "system[1]", "messages[0][1]"]
    assert points(ask(CLAUDE_3, tools=[tool], system="S")) == []
    assert points(ask(PROFILE, tools=[tool])) == ["tools[1]:1h"]


def test_where_no_cache_point_may_stand() -> None:
    """Not among Nova's tools, nor after a document other than a PDF."""
    text = DocumentPart(data=b"x", name="a.txt", media_type="text/plain")
    moved = ask(messages=[Message.user("Read.", cached(text))])

    assert points(moved) == ["messages[0][1]"]
    assert codes(moved) == [("cache-breakpoint-moved", "messages[0].content[1]")]
    assert points(ask(NOVA, tools=[ToolDefinition("look", cache="5m")])) == ["messages[0][1]"]
    off = ask(messages=[Message.user(cached(TextPart("x")))], cache=CachePolicy(mode="off"))
    assert points(off) == []
    assert codes(off) == [("cache-breakpoint-dropped", "messages[0].content[0]")]
