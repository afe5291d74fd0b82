"""The rest of the body: limits, sampling, thinking, tools, options, headers, whole bodies."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.schema.content import ProviderPart, ReasoningPart, ToolCallPart, cached
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.anthropic import (
    NEWEST,
    ask,
    body,
    built,
    codes,
    message,
    refused,
    stream_of,
    streamed,
    text,
    tool_use,
    unmarked,
    whole,
)
from tests.support.wire.protocol import response

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {}}})
OFF = CachePolicy(mode="off")


def plain(*args: Any, **fields: Any) -> dict[str, Any]:
    """Return a body without what every body has."""
    sent = unmarked(body(ask(*args, cache=OFF, **fields)))
    return {k: v for k, v in sent.items() if k not in ("model", "messages")}


# -- limits and parameters


def test_the_least_of_bodies() -> None:
    """The limit is demanded by the API, so there is always one."""
    assert body(ask(cache=OFF)) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [text("Hello")]}],
    }


def test_streamed_and_whole_bodies_differ_in_one_field() -> None:
    """Tools and all else are the same in both."""
    asked = ask(tools=[LOOK], system="S")

    assert body(asked, stream=True) == {**body(asked), "stream": True}


def test_every_parameter_of_the_api_is_sent_under_its_name() -> None:
    """Everything the API has is sent under its name."""
    options = GenerationOptions(temperature=0.5, top_k=3, max_tokens=9, stop=("END", " "))

    assert plain(generation=options, metadata={"user_id": "u", "team": "t"}) == {
        "max_tokens": 9,
        "temperature": 0.5,
        "top_k": 3,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
    }
    assert codes(ask(generation=options, metadata={"user_id": "u", "team": "t"})) == [
        ("unsupported-parameter", "metadata.team"),
        ("unsupported-parameter", "generation.stop[1]"),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1),
        ("presence_penalty", 1),
        ("frequency_penalty", 1),
        ("logprobs", True),
        ("top_logprobs", 1),
    ],
)
def test_parameters_that_are_not_here(name: str, value: int) -> None:
    """Parameters that the API lacks are left out and reported."""
    asked = ask(generation=GenerationOptions(**{name: value}), cache=OFF)  # type: ignore[arg-type]

    assert name not in body(asked)
    assert codes(asked) == [("unsupported-parameter", f"generation.{name}")]


def test_cache_keys_are_not_here() -> None:
    """The API routes no caches by key."""
    asked = ask(cache=CachePolicy(key="k", retention="24h"))

    assert [path for _, path in codes(asked)] == ["cache.key", "cache.retention"]


@pytest.mark.parametrize(
    ("model", "given", "sent", "lost"),
    [
        ("claude-sonnet-4-0", {"temperature": 0.2, "top_p": 0.9}, ["temperature", "top_p"], []),
        ("claude-sonnet-4-5", {"temperature": 0.2, "top_p": 0.9}, ["temperature"], ["top_p"]),
        ("claude-sonnet-4-5", {"top_p": 0.9}, ["top_p"], []),
        ("claude-opus-4-8", {"temperature": 0.2, "top_k": 1}, [], ["temperature", "top_k"]),
        ("claude-opus-4-8", {"temperature": 1}, ["temperature"], []),
    ],
)
def test_sampling_refused_by_the_model_is_dropped(
    model: str, given: dict[str, float], sent: list[str], lost: list[str]
) -> None:
    """A model that refuses a parameter does not get it."""
    asked = ask(model, generation=GenerationOptions(**given), cache=OFF)  # type: ignore[arg-type]

    assert [name for name in body(asked) if name in given] == sent
    assert [path for _, path in codes(asked)] == [f"generation.{name}" for name in lost]


def test_a_temperature_that_is_too_high() -> None:
    """The API takes 0 to 1."""
    asked = ask(temperature=1.7)

    assert body(asked)["temperature"] == 1
    assert codes(asked) == [("parameter-out-of-range", "generation.temperature")]


# -- thinking


@pytest.mark.parametrize(
    ("model", "wanted", "sent", "said"),
    [
        # a budget, where the model counts tokens
        (
            "claude-sonnet-4-5",
            ReasoningOptions(budget_tokens=5000),
            {"max_tokens": 9096, "thinking": {"type": "enabled", "budget_tokens": 5000}},
            [],
        ),
        (
            "claude-sonnet-4-5",
            ReasoningOptions(budget_tokens=7),
            {"max_tokens": 4103, "thinking": {"type": "enabled", "budget_tokens": 1024}},
            ["reasoning-budget-changed"],
        ),
        (
            "claude-sonnet-4-5",
            ReasoningOptions(effort="low"),
            {"max_tokens": 6144, "thinking": {"type": "enabled", "budget_tokens": 2048}},
            ["reasoning-effort-changed"],
        ),
        (
            "claude-opus-4-5",
            ReasoningOptions(effort="high"),
            {
                "max_tokens": 20480,
                "thinking": {"type": "enabled", "budget_tokens": 16384},
                "output_config": {"effort": "high"},
            },
            [],
        ),
        (
            "claude-opus-4-6",
            ReasoningOptions(budget_tokens=2000, summary="none"),
            {
                "max_tokens": 6096,
                "thinking": {"type": "enabled", "budget_tokens": 2000, "display": "omitted"},
            },
            [],
        ),
        # as much as it needs, where the model decides
        (
            "claude-opus-4-6",
            ReasoningOptions(effort="xhigh"),
            {
                "max_tokens": 4096,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "high"},
            },
            ["reasoning-effort-changed"],
        ),
        (
            "claude-opus-5",
            ReasoningOptions(effort="minimal", summary="auto"),
            {
                "max_tokens": 4096,
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
            },
            ["reasoning-effort-changed"],
        ),
        (
            "claude-opus-5",
            ReasoningOptions(effort="ultra"),
            {
                "max_tokens": 4096,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "ultra"},
            },
            [],
        ),
        (
            "claude-opus-5",
            ReasoningOptions(budget_tokens=2000),
            {"max_tokens": 4096, "thinking": {"type": "adaptive"}},
            ["unsupported-parameter"],
        ),
        # not at all
        (
            "claude-opus-5",
            ReasoningOptions(effort="none"),
            {"max_tokens": 4096, "thinking": {"type": "disabled"}},
            [],
        ),
        (
            "claude-sonnet-5-5",
            ReasoningOptions(effort="none"),
            {
                "max_tokens": 4096,
                "thinking": {"type": "between_tools"},
                "output_config": {"effort": "low"},
            },
            ["reasoning-not-off"],
        ),
        (
            "claude-opus-5-5",
            ReasoningOptions(effort="none"),
            {"max_tokens": 4096, "output_config": {"effort": "low"}},
            ["reasoning-not-off"],
        ),
        ("claude-3-haiku-20240307", ReasoningOptions(effort="none"), {"max_tokens": 4096}, []),
        (
            "claude-3-haiku-20240307",
            ReasoningOptions(effort="high"),
            {"max_tokens": 4096},
            ["unsupported-parameter"],
        ),
    ],
)
def test_thinking_is_sent_in_the_form_of_the_model(
    model: str, wanted: ReasoningOptions, sent: dict[str, Any], said: list[str]
) -> None:
    """Effort, budget and display, in the form that the model takes."""
    assert plain(model, reasoning=wanted) == sent
    assert [code for code, _ in codes(ask(model, reasoning=wanted))] == said


def test_thinking_that_cannot_be_hidden() -> None:
    """An older model always shows its thinking."""
    asked = ask(reasoning=ReasoningOptions(budget_tokens=2000, summary="none"))

    assert body(asked)["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert codes(asked) == [("unsupported-parameter", "reasoning.summary")]


def test_other_models_think_by_budget() -> None:
    """Servers of other models imitate the API's first years."""
    sent = plain("minimax-m2", reasoning_effort="medium", temperature=1)

    assert sent == {
        "max_tokens": 12288,
        "thinking": {"type": "enabled", "budget_tokens": 8192},
        "temperature": 1,
    }


@pytest.mark.parametrize(
    ("limit", "thinking", "said"),
    [
        (3000, {"type": "enabled", "budget_tokens": 2048}, []),
        (2000, {"type": "enabled", "budget_tokens": 1999}, ["reasoning-budget-changed"]),
        (1024, None, ["unsupported-parameter"]),
    ],
)
def test_a_budget_fits_into_the_limit(limit: int, thinking: Any, said: list[str]) -> None:
    """The limit includes thinking, and a budget must be smaller."""
    fields: dict[str, Any] = {
        "max_tokens": limit,
        "reasoning": ReasoningOptions(budget_tokens=2048),
    }

    assert plain(**fields).get("thinking") == thinking
    assert plain(**fields)["max_tokens"] == limit
    assert [code for code, _ in codes(ask(**fields))] == said


def test_sampling_beside_thinking_is_limited_to_accepted_values() -> None:
    """A model that thinks takes no temperature but 1, and top_p only near 1."""
    options = GenerationOptions(temperature=0.2, top_k=4)
    asked = ask(generation=options, reasoning=ReasoningOptions(budget_tokens=2000))

    assert not {"temperature", "top_k"} & body(asked).keys()
    assert [path for _, path in codes(asked)] == ["generation.temperature", "generation.top_k"]
    near = GenerationOptions(top_p=0.97)
    assert plain(generation=near, reasoning=ReasoningOptions(budget_tokens=2000))["top_p"] == 0.97


def test_a_forced_call_excludes_thinking() -> None:
    """Both together would be refused; the demand for a call is kept."""
    asked = ask(
        tools=[LOOK],
        tool_choice=ToolChoice.required(),
        reasoning=ReasoningOptions(budget_tokens=2000),
    )

    assert body(asked)["tool_choice"] == {"type": "any"}
    assert "thinking" not in body(asked)
    assert codes(asked) == [("unsupported-parameter", "reasoning")]


THOUGHT = (ReasoningPart("Hm", signature="s"),)


@pytest.mark.parametrize(("first", "thinks"), [((), False), (THOUGHT, True)])
def test_a_turn_goes_on_as_it_began(first: tuple[ReasoningPart, ...], thinks: bool) -> None:
    """A turn that began without thinking cannot continue with it; the API would refuse."""
    asked = ask(
        messages=[
            Message.user("Hi"),
            Message.assistant(*first, ToolCallPart("toolu_1", "look")),
            Message.tool("toolu_1", "r"),
        ],
        tools=[LOOK],
        reasoning=ReasoningOptions(budget_tokens=2000),
    )

    assert ("thinking" in body(asked)) == thinks
    assert codes(asked) == ([] if thinks else [("unsupported-parameter", "reasoning")])


@pytest.mark.parametrize(
    ("first", "reasoning", "kept"),
    [
        ((), ReasoningOptions(budget_tokens=2000), (False, ["text"])),
        (THOUGHT, ReasoningOptions(budget_tokens=2000), (True, ["thinking", "text"])),
        (THOUGHT, None, (False, ["text"])),
        (THOUGHT, ReasoningOptions(effort="none"), (False, ["text"])),
    ],
)
def test_a_response_that_the_request_begins_has_thinking_only_where_the_model_thinks(
    first: tuple[ReasoningPart, ...], reasoning: ReasoningOptions | None, kept: Any
) -> None:
    """The API refuses thinking after a beginning without it, and one with it where it is off."""
    said = Message.assistant(*first, "It is")
    sent = body(ask(messages=[Message.user("Hi"), said], reasoning=reasoning))

    thinks = (sent.get("thinking") or {}).get("type") == "enabled"
    assert (thinks, [block["type"] for block in sent["messages"][1]["content"]]) == kept


# -- tools


def test_functions_are_sent_with_their_schemas() -> None:
    """Functions with their schemas; strict ones with closed schemas."""
    strict = ToolDefinition("f", parameters={"type": "object", "properties": {}}, strict=True)

    assert plain(tools=[LOOK, strict])["tools"] == [
        {
            "name": "look",
            "description": "Looks.",
            "input_schema": {"type": "object", "properties": {"at": {}}},
        },
        {
            "name": "f",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
        },
    ]


def test_strict_tools_by_model() -> None:
    """An older model has none."""
    asked = ask("claude-sonnet-4-0", tools=[ToolDefinition("f", strict=True)])

    assert "strict" not in body(asked)["tools"][0]
    assert codes(asked) == [("unsupported-parameter", "tools[0].strict")]


def test_tools_that_code_calls_are_neither_strict_nor_called_one_at_a_time() -> None:
    """The API refuses both beside `allowed_callers`, except for the model itself."""
    by_code = {"anthropic": {"allowed_callers": ["direct", "code_execution_20260120"]}}
    direct = {"anthropic": {"allowed_callers": ["direct"]}}
    wanted = ToolDefinition("f", strict=True, provider_metadata=by_code)
    usual = ToolDefinition("g", strict=True, provider_metadata=direct)
    asked = ask(tools=[wanted, usual], parallel_tool_calls=False)

    assert [tool.get("strict") for tool in body(asked)["tools"]] == [None, True]
    assert "tool_choice" not in body(asked)
    assert codes(asked) == [
        ("unsupported-parameter", "tools[0].strict"),
        ("unsupported-parameter", "parallel_tool_calls"),
    ]
    assert "tool_choice" in body(ask(tools=[usual], parallel_tool_calls=False))


def test_a_schema_that_cannot_be_strict() -> None:
    """An object of any shape is sent loosely, and said so."""
    tool = ToolDefinition(
        "f", parameters={"type": "object", "properties": {"a": {"type": "object"}}}, strict=True
    )

    assert "strict" not in body(ask(tools=[tool]))["tools"][0]
    assert [code for code, _ in codes(ask(tools=[tool]))] == ["schema-not-strict"]


def test_freeform_tools_are_functions() -> None:
    """The API has no freeform tools; the description contains the grammar."""
    tool = CustomTool("patch", "Patches.", grammar=Grammar(syntax="lark", definition="start: x"))
    (sent,) = plain(tools=[tool])["tools"]

    assert "lark grammar:\nstart: x" in sent["description"]
    assert list(sent["input_schema"]["properties"]) == ["input"]
    assert codes(ask(tools=[tool])) == [("custom-tool-as-function", "tools[0]")]


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (None, True, None),
        (ToolChoice.auto(), None, {"type": "auto"}),
        (ToolChoice.none(), False, {"type": "none"}),
        (ToolChoice.required(), None, {"type": "any"}),
        (ToolChoice.required(), False, {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice.named("look"), None, {"type": "tool", "name": "look"}),
    ],
)
def test_every_tool_choice_is_sent_beside_the_tools(
    choice: ToolChoice | None, parallel: bool | None, sent: Any
) -> None:
    """Every choice; with `none` the tools are still sent, for the history may hold calls."""
    fields = plain(tools=[LOOK], tool_choice=choice, parallel_tool_calls=parallel)

    assert fields.get("tool_choice") == sent
    assert [tool["name"] for tool in fields["tools"]] == ["look"]


@pytest.mark.parametrize(
    ("model", "tools", "choice", "expected"),
    [
        ("claude-sonnet-4-5", [], ToolChoice.required(), InvalidRequestError),
        (
            "claude-sonnet-4-5",
            [HostedTool.image_generation()],
            ToolChoice.required(),
            InvalidRequestError,
        ),
        ("claude-sonnet-4-5", [LOOK], ToolChoice.named("other"), InvalidRequestError),
        ("claude-sonnet-5-5", [LOOK], ToolChoice.required(), UnsupportedToolChoiceError),
        ("claude-opus-5-5", [LOOK], ToolChoice.named("look"), UnsupportedToolChoiceError),
    ],
)
def test_choices_that_the_api_lacks_are_refused(
    model: str, tools: Any, choice: ToolChoice, expected: type[Exception]
) -> None:
    """A demand that cannot be met is an error before anything is sent."""
    assert type(refused(ask(model, tools=tools, tool_choice=choice))) is expected


def test_a_providers_tool_can_be_demanded() -> None:
    """The provider's own tools have names too."""
    sent = plain(tools=[HostedTool.web_search()], tool_choice=ToolChoice.named("web_search"))

    assert sent["tool_choice"] == {"type": "tool", "name": "web_search"}


# -- the caller's native fields


def options(**fields: Any) -> Any:
    """Return provider options for the API."""
    return {"anthropic": fields}


def test_native_fields_are_merged() -> None:
    """Objects merge with what is there, all else replaces it, None removes it."""
    sent = plain(
        "claude-opus-5",
        reasoning_effort="low",
        temperature=1,
        provider_options=options(
            service_tier="standard_only",
            output_config={"task_budget": {"type": "tokens", "total": 5}},
            max_tokens=7,
            temperature=None,
            container="container_1",
        ),
    )

    assert sent == {
        "max_tokens": 7,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low", "task_budget": {"type": "tokens", "total": 5}},
        "service_tier": "standard_only",
        "container": "container_1",
    }


def test_fields_newer_than_our_types_go_as_they_are() -> None:
    """The escape hatch loses nothing: what the types cannot say is sent as given."""
    newer = options(thinking={"type": "deep", "depth": 3}, output_config={"effort": "low", "x": 1})
    sent = plain("claude-opus-5", provider_options=newer)

    assert sent["thinking"] == {"type": "deep", "depth": 3}
    assert sent["output_config"] == {"effort": "low", "x": 1}


def test_thinking_can_be_asked_for_natively() -> None:
    """The native setting makes room in the limit, and excludes sampling, as ours does."""
    asked = ask(
        temperature=0.3,
        provider_options=options(thinking={"type": "enabled", "budget_tokens": 10000}),
    )

    assert body(asked)["max_tokens"] == 14096
    assert "temperature" not in body(asked)


def test_native_messages_must_be_messages() -> None:
    """Required fields can be neither removed nor of a wrong type."""
    assert isinstance(refused(ask(provider_options=options(model=None))), InvalidRequestError)
    assert isinstance(refused(ask(provider_options=options(messages=3))), InvalidRequestError)


def test_streaming_is_not_an_option() -> None:
    """Only we know whether the response is to be streamed."""
    asked = ask(provider_options=options(stream=True))

    assert "stream" not in body(asked)
    assert body(asked, stream=True)["stream"] is True


def test_other_providers_options_are_not_ours() -> None:
    """Options under another provider's key stay out."""
    assert "top_a" not in body(ask(provider_options={"openai": {"top_a": 1}}))


# -- the container of code that waits

PENDING = {"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {}}
ASKS = tool_use(
    "look", {"at": 1}, id="toolu_1", caller={"type": "code_execution_20260120", "tool_id": "srv_1"}
)
CONTAINER = {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"}


def waiting(how: str = "whole", **fields: Any) -> Message:
    """Return a response whose code waits for a tool of the caller's."""
    made = message(PENDING, ASKS, stop="tool_use", **fields)
    return response(whole(made) if how == "whole" else streamed(stream_of(made))).message


@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_results_of_calls_by_code_name_its_container(how: str) -> None:
    """The API refuses them without it."""
    said = waiting(how, container=CONTAINER)
    asked = ask(messages=[Message.user("Hi"), said, Message.tool("toolu_1", "seen")])

    assert body(asked)["container"] == "container_1"


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ([Message.tool("toolu_1", "seen")], "container_1"),
        ([Message.tool("toolu_1", "seen"), Message.user("Quick!")], "container_1"),
        ([Message.tool("toolu_1", "seen"), waiting(), Message.tool("toolu_1", "a")], "container_1"),
        (
            [
                Message.tool("toolu_1", "seen"),
                waiting(container={"id": "c2"}),
                Message.tool("toolu_1", "a"),
            ],
            "c2",
        ),
        ([], "container_1"),
        ([Message.tool("toolu_1", "seen"), Message.assistant("Done."), Message.user("And?")], None),
        ([Message.user("And?")], "container_1"),
    ],
    ids=[
        "results",
        "and text",
        "a later response",
        "another container",
        "paused",
        "complete",
        "not answered",
    ],
)
def test_the_container_is_that_of_the_turn_under_way(later: list[Message], found: Any) -> None:
    """A finished turn's may have expired; who wants it again names it in an option."""
    said = waiting(container=CONTAINER)
    asked = ask(messages=[Message.user("Hi"), said, *later])

    assert body(asked).get("container") == found


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (
            {"skills": [{"skill_id": "pptx"}]},
            {"id": "container_1", "skills": [{"skill_id": "pptx"}]},
        ),
        ({"id": "c2", "skills": []}, {"id": "c2", "skills": []}),
        ("c2", "c2"),
    ],
    ids=["skills", "id and skills", "id"],
)
def test_the_callers_container_counts(given: Any, sent: Any) -> None:
    """Its id, if it has one, is not replaced."""
    said = waiting(container=CONTAINER)
    asked = ask(
        messages=[Message.user("Hi"), said, Message.tool("toolu_1", "seen")],
        provider_options=options(container=given),
    )

    assert body(asked)["container"] == sent


# -- headers


def header(**fields: Any) -> list[str]:
    """Return the beta features that a request names."""
    named = built(ask(**fields)).headers.get("anthropic-beta", "")
    return named.split(",") if named else []


def test_beta_features_are_joined() -> None:
    """Features that the body needs and those of the caller are one header, each named once."""
    named = options(
        beta_headers=["interleaved-thinking-2025-05-14"],
        beta_features=["a", "b,c"],
        betas="interleaved-thinking-2025-05-14",
        context_management={"edits": [{"type": "compact_20260112"}]},
    )

    assert header(provider_options=named) == [
        "prompt-caching-2024-07-31",
        "context-management-2025-06-27",
        "compact-2026-01-12",
        "interleaved-thinking-2025-05-14",
        "a",
        "b",
        "c",
    ]
    sent = body(ask(provider_options=named))
    assert not {"beta_headers", "beta_features", "betas"} & sent.keys()


@pytest.mark.parametrize(
    ("fields", "beta"),
    [
        ({"fallbacks": "default"}, "server-side-fallback-2026-07-01"),
        ({"fallbacks": [{"model": "claude-opus-4-8"}]}, "server-side-fallback-2026-07-01"),
        ({"fallback_credit_token": {"token": "t"}}, "fallback-credit-2026-07-01"),
        ({"thread": {"type": "create"}}, "message-threads-2026-08-12"),
        ({"billing_policy": {"type": "billing_policy"}}, "user-profiles-billing-2026-10-01"),
        ({"speed": "fast"}, "fast-mode-2026-02-01"),
        (
            {"output_config": {"task_budget": {"type": "tokens", "total": 9}}},
            "task-budgets-2026-03-13",
        ),
        ({"output_config": {"effort": "low"}}, None),
        (
            {"thinking": {"type": "adaptive", "block_binding": {}}},
            "thinking-binding-controls-2026-08-01",
        ),
        (
            {"thinking": {"type": "adaptive", "display": "updates"}},
            "thinking-display-updates-2026-08-18",
        ),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, None),
        ({"container": {"skills": []}}, None),
    ],
)
def test_a_field_of_a_beta_feature_names_it(fields: Any, beta: str | None) -> None:
    """The fields that only the types of the API's beta have; those that are generally available."""
    found = header(model=NEWEST, cache=OFF, provider_options=options(**fields))

    assert found == ([] if beta is None else [beta])


_CHANGES = "mid-conversation-tool-changes-2026-07-01"


@pytest.mark.parametrize(
    ("block", "beta"),
    [
        (
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
            "server-side-fallback-2026-07-01",
        ),
        (
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}},
            _CHANGES,
        ),
        (
            {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "look"}},
            _CHANGES,
        ),
        (
            {
                "type": "tool_addition",
                "tool": {"type": "tool_definition", "definition": {"name": "look"}},
            },
            f"{_CHANGES},inline-tools-2026-09-15",
        ),
        (
            {
                "type": "tool_addition",
                "tool": {"type": "tool_definition", "definition": {"type": "mcp_toolset"}},
            },
            f"{_CHANGES},inline-tools-2026-09-15,mcp-client-2026-09-15",
        ),
        ({"type": "container_upload", "file_id": "file_1"}, None),
    ],
)
def test_a_block_of_a_beta_feature_names_it(block: Any, beta: str | None) -> None:
    """Blocks that a response or the caller brought."""
    said = [
        Message.user("a"),
        Message.assistant(ProviderPart("anthropic", block)),
        Message.user("b"),
    ]

    found = header(messages=said, cache=OFF)

    assert found == ([] if beta is None else beta.split(","))


def test_no_feature_no_header() -> None:
    """A body without breakpoints needs no beta header."""
    assert header(cache=OFF) == []
    assert header(cache=CachePolicy(mode="manual")) == []


def test_a_beta_feature_is_a_name() -> None:
    """Anything else is an error."""
    assert isinstance(refused(ask(provider_options=options(betas=[1]))), InvalidRequestError)


# -- the same each time


def everything() -> Any:
    """Return a request with some of all."""
    return ask(
        "claude-opus-4-8",
        system=["You look at things.", "Be brief."],
        messages=[
            Message.user("Look!"),
            Message.assistant(
                ReasoningPart("Hm", signature="sig"),
                ToolCallPart("toolu_1", "look", {"at": {"y": 1, "x": 2}}),
            ),
            Message.tool("toolu_1", {"seen": ["sun", "moon"]}),
            Message.system("Speak French."),
        ],
        tools=[LOOK, CustomTool("patch"), HostedTool.web_search(max_uses=2)],
        tool_choice=ToolChoice.auto(),
        parallel_tool_calls=False,
        reasoning=ReasoningOptions(effort="medium", summary="auto"),
        metadata={"user_id": "u"},
        cache=CachePolicy(ttl="1h"),
        provider_options=options(container="c", inference_geo="eu"),
    )


def test_body_of_a_full_request_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """Some of all, as it is sent."""
    assert body(everything(), stream=True) == snapshot


def test_building_leaves_the_request_as_it_was() -> None:
    """A request can be sent twice."""
    asked = ask(messages=[Message.user(cached(Message.user("Hi").content[0]))], tools=[LOOK])
    before = repr(asked)

    assert body(asked) == body(asked)
    assert repr(asked) == before
