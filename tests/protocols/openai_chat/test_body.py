"""The body as a whole, its parameters, and the shape of the response."""

from typing import Any

import pytest
from attrs import evolve
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols.openai_chat import COMPATIBLE, OPENAI, ChatDialect
from llmcore.schema import json
from llmcore.schema.content import ImagePart, TextPart, ToolCallPart
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import CustomTool, ToolChoice, ToolDefinition
from tests.support.wire.chat import body, codes

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def _asked(model: str = "gpt-4.1", **fields: Any) -> LLMRequest:
    return request(model=Model(model, "openai"), prompt="Hi", **fields)


def everything() -> LLMRequest:
    """Return a request that says all that Chat can say."""
    return request(
        model=Model("house-model", "openai"),
        system=["Be brief.", "Be kind."],
        messages=[
            Message.developer("Rules."),
            Message.user("Look:", ImagePart(url="https://a.example/b.png"), name="ann"),
            Message.assistant("Hm.", ToolCallPart("call_1", "weather", {"city": "A"})),
            Message.tool("call_1", {"degrees": 20}),
            Message.user("And?"),
        ],
        tools=[ToolDefinition("weather", "Tells.", SCHEMA, strict=True), CustomTool("sh")],
        tool_choice=ToolChoice.auto(),
        parallel_tool_calls=False,
        generation=GenerationOptions(
            temperature=0.5,
            top_p=0.9,
            max_tokens=100,
            stop=("END",),
            seed=7,
            presence_penalty=0.1,
            frequency_penalty=0.2,
            logprobs=True,
            top_logprobs=2,
        ),
        response_format=ResponseFormat.json_schema(SCHEMA, name="answer", description="It."),
        reasoning_effort="low",
        cache=CachePolicy(key="k", retention="24h"),
        metadata={"trace": "1"},
        provider_options={"openai": {"service_tier": "flex", "verbosity": "low"}},
    )


def test_body_of_a_full_request_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """The whole native body, as OpenAI takes it."""
    assert json.dumps(body(everything(), stream=True)).decode() == snapshot
    assert codes(everything()) == []


def test_everything_for_a_server_that_imitates(snapshot: SnapshotAssertion) -> None:
    """The whole native body, as most others take it."""
    assert json.dumps(body(everything(), COMPATIBLE, stream=True)).decode() == snapshot


def test_the_smallest_request_has_a_model_and_messages() -> None:
    """Nothing is sent beyond the request's own values."""
    assert body(_asked()) == {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}]}


def test_streams_differ_in_their_flags_only() -> None:
    """The prompt does not depend on how the response is delivered."""
    streamed, at_once = body(everything(), stream=True), body(everything())

    assert streamed.pop("stream") is True
    assert streamed.pop("stream_options") == {"include_usage": True}
    assert streamed == at_once


def test_servers_that_reject_stream_options_get_none() -> None:
    """Usage then comes without being asked for, or not at all."""
    sent = body(_asked(), evolve(COMPATIBLE, stream_usage=False), stream=True)

    assert "stream_options" not in sent


def test_a_longer_conversation_begins_with_the_shorter() -> None:
    """Turn N is a prefix of turn N + 1, message by message."""
    asked = everything()
    longer = evolve(
        asked, messages=(*asked.messages, Message.assistant("Yes."), Message.user("Why?"))
    )

    before, after = body(asked), body(longer)

    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert {**after, "messages": ()} == {**before, "messages": ()}


# -- limits and sampling


@pytest.mark.parametrize(
    ("dialect", "field"), [(OPENAI, "max_completion_tokens"), (COMPATIBLE, "max_tokens")]
)
def test_the_limit_has_its_name(dialect: ChatDialect, field: str) -> None:
    """OpenAI renamed it, others have not."""
    assert body(_asked(max_tokens=9), dialect)[field] == 9


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-5.6-sol", "max_completion_tokens"),
        ("openai/gpt-6-sol", "max_completion_tokens"),
        ("openai.gpt-5.5", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
        ("azure/o4-mini", "max_completion_tokens"),
        ("gpt-4.1", "max_tokens"),
        ("openai/gpt-oss-120b", "max_tokens"),
        ("olmo-3", "max_tokens"),
        ("m", "max_tokens"),
    ],
)
def test_openais_own_models_have_the_new_limit_on_every_server(model: str, field: str) -> None:
    """Proxies and clouds pass their refusal of the old one on."""
    assert body(_asked(model, max_tokens=9), COMPATIBLE)[field] == 9


def test_a_server_may_need_a_limit() -> None:
    """A small model would never stop; the request's own limit takes precedence."""
    dialect = evolve(COMPATIBLE, default_max_tokens=64)

    assert body(_asked(), dialect)["max_tokens"] == 64
    assert body(_asked(max_tokens=9), dialect)["max_tokens"] == 9


def test_unsupported_parameters_are_dropped_loudly() -> None:
    """Each with its place in the request."""
    asked = _asked(generation=GenerationOptions(top_k=5, temperature=0.2), metadata={"a": "b"})

    assert codes(asked) == [("unsupported-parameter", "generation.top_k")]
    assert "top_k" not in body(asked)
    assert body(asked, COMPATIBLE)["top_k"] == 5
    assert codes(asked, COMPATIBLE) == [("unsupported-parameter", "metadata")]


@pytest.mark.parametrize(
    ("model", "effort", "fixed"),
    [
        ("gpt-4.1", None, False),
        ("gpt-5", None, True),
        ("gpt-5-mini-2025-08-07", None, True),
        ("gpt-5-chat-latest", None, False),
        ("o3", None, True),
        ("o4-mini", "low", True),
        ("gpt-5.2", None, False),
        ("gpt-5.2", "none", False),
        ("gpt-5.2", "high", True),
        ("gpt-5.2-pro", None, True),
        ("gpt-5.5", None, True),
        ("gpt-5.6-luna", "none", False),
        ("gpt-6-astra", None, True),
        ("gpt-6.1-sol", "low", True),
    ],
)
def test_reasoning_models_take_no_sampling(model: str, effort: str | None, fixed: bool) -> None:
    """They refuse the whole request over a temperature."""
    asked = _asked(model, temperature=0.5, reasoning_effort=effort)

    assert ("temperature" in body(asked)) is not fixed
    assert (("unsupported-parameter", "generation.temperature") in codes(asked)) is fixed


@pytest.mark.parametrize(
    ("model", "taken"),
    [
        ("gpt-4.1", True),
        ("gpt-5-chat-latest", True),
        ("o3-mini", True),
        ("o3", False),
        ("o4-mini-2025-04-16", False),
        ("gpt-5-nano", False),
        ("gpt-6-sol", False),
    ],
)
def test_reasoning_models_take_no_stop_sequences(model: str, taken: bool) -> None:
    """They refuse the whole request over one."""
    asked = evolve(_asked(model), generation=GenerationOptions(stop=("END",)))

    assert ("stop" in body(asked)) is taken
    assert codes(asked) == ([] if taken else [("unsupported-parameter", "generation.stop")])


@pytest.mark.parametrize(
    ("model", "effort", "sent", "turned_off"),
    [
        ("gpt-5.2", "high", "high", False),
        ("gpt-5.4", None, None, False),
        ("gpt-5.4", "high", "none", True),
        ("gpt-5.6-terra", None, "none", True),
        ("gpt-6-luna", "none", "none", False),
        ("gpt-6-astra", "low", "low", False),
        ("gpt-6.2-sol", "low", "low", False),
        ("gpt-6.1-terra", "high", "none", True),
        ("gpt-7", None, "none", True),
    ],
)
def test_some_models_take_tools_only_while_they_do_not_think(
    model: str, effort: str | None, sent: str | None, turned_off: bool
) -> None:
    """Thinking is turned off, and said to be; sampling counts again with it."""
    tools = [ToolDefinition("look", "Looks.", SCHEMA)]
    asked = _asked(model, reasoning_effort=effort, temperature=0.5, tools=tools)
    native = body(asked)

    assert native.get("reasoning_effort") == sent
    assert ("reasoning-turned-off" in dict(codes(asked))) is turned_off
    assert ("temperature" in native) is (sent in (None, "none"))


def test_the_default_temperature_is_taken_by_all() -> None:
    """1 is what they do anyway."""
    assert body(_asked("gpt-5", temperature=1.0))["temperature"] == 1.0


def test_top_logprobs_alone_are_sent_with_logprobs() -> None:
    """OpenAI refuses `top_logprobs` alone."""
    sent = body(_asked(generation=GenerationOptions(top_logprobs=3)))

    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 3)


def test_a_server_may_count_logprobs() -> None:
    """Some take the number in place of the switch."""
    dialect = evolve(COMPATIBLE, logprob_count=True)

    counted = body(_asked(generation=GenerationOptions(top_logprobs=3)), dialect)
    switched = body(_asked(generation=GenerationOptions(logprobs=True)), dialect)

    assert (counted["logprobs"], switched["logprobs"]) == (3, 1)
    assert "top_logprobs" not in counted


# -- the shape of the response


@pytest.mark.parametrize("wanted", [None, ResponseFormat.text()])
def test_text_format_is_not_sent(wanted: ResponseFormat | None) -> None:
    """So nothing is sent."""
    assert "response_format" not in body(_asked(response_format=wanted))


def test_json_mode_is_sent_as_json_object() -> None:
    """JSON mode."""
    assert body(_asked(response_format=ResponseFormat.json()))["response_format"] == {
        "type": "json_object"
    }


def test_a_schema_is_strict_where_it_can_be() -> None:
    """None means the strictest mode that the server has for this schema."""
    strict = body(_asked(response_format=ResponseFormat.json_schema(SCHEMA)))["response_format"]
    loose = body(_asked(response_format=ResponseFormat.json_schema(SCHEMA, strict=False)))

    assert strict == {
        "type": "json_schema",
        "json_schema": {
            "name": "response",
            "schema": {**SCHEMA, "additionalProperties": False},
            "strict": True,
        },
    }
    assert loose["response_format"]["json_schema"] == {
        "name": "response",
        "schema": SCHEMA,
        "strict": False,
    }


def test_a_server_without_strict_schemas_gets_them_as_they_are() -> None:
    """Asking for strictness there is a loss, and said."""
    wanted = ResponseFormat.json_schema(SCHEMA, strict=True)
    asked = _asked(response_format=wanted)

    sent = body(asked, COMPATIBLE)["response_format"]["json_schema"]

    assert sent == {"name": "response", "schema": SCHEMA}
    assert codes(asked, COMPATIBLE) == [("unsupported-parameter", "response_format.strict")]


@pytest.mark.parametrize(
    ("formats", "wanted", "native"),
    [
        ({"json"}, ResponseFormat.json_schema(SCHEMA), {"type": "json_object"}),
        (set(), ResponseFormat.json_schema(SCHEMA), None),
        (set(), ResponseFormat.json(), None),
        ({"json_schema"}, ResponseFormat.json(), None),
    ],
)
def test_formats_that_are_not_enforced_are_asked_for(
    formats: set[str], wanted: ResponseFormat, native: object
) -> None:
    """In words, at the end of the system text, and with a diagnostic."""
    dialect = evolve(COMPATIBLE, response_formats=frozenset(formats))
    asked = _asked(response_format=wanted, system="Be brief.")

    sent = body(asked, dialect)

    assert sent.get("response_format") == native
    assert sent["messages"][0]["content"].startswith("Be brief.\n\nAnswer with one JSON document")
    assert ('"type":"object"' in sent["messages"][0]["content"]) == (wanted.schema is not None)
    assert codes(asked, dialect) == [("response-format-in-words", "response_format")]


@pytest.mark.parametrize("formats", [{"json", "json_schema"}, {"json"}, set()])
def test_a_list_is_asked_for_in_words_since_formats_are_of_objects(formats: set[str]) -> None:
    """A schema made that of an object would hold the model to `{}`."""
    dialect = evolve(COMPATIBLE, response_formats=frozenset(formats))
    asked = _asked(response_format=ResponseFormat.json_schema({"type": "array", "items": SCHEMA}))

    sent = body(asked, dialect)

    assert "response_format" not in sent
    assert '"type":"array"' in sent["messages"][0]["content"]
    assert codes(asked, dialect) == [("response-format-in-words", "response_format")]


# -- reasoning

BUDGET = ReasoningOptions(budget_tokens=2048)


@pytest.mark.parametrize(
    ("control", "wanted", "native", "lost"),
    [
        ("reasoning_effort", ReasoningOptions(effort="low"), {"reasoning_effort": "low"}, []),
        ("reasoning_effort", BUDGET, {}, ["budget_tokens"]),
        ("reasoning_effort", ReasoningOptions(summary="auto"), {}, ["summary"]),
        ("reasoning", ReasoningOptions(effort="low"), {"reasoning": {"effort": "low"}}, []),
        ("reasoning", BUDGET, {"reasoning": {"max_tokens": 2048}}, []),
        (
            "reasoning",
            ReasoningOptions(effort="low", budget_tokens=9),
            {"reasoning": {"max_tokens": 9}},
            ["effort"],
        ),
        (
            "reasoning",
            ReasoningOptions(summary="none"),
            {"reasoning": {"enabled": True, "exclude": True}},
            [],
        ),
        (
            "reasoning",
            ReasoningOptions(effort="low", summary="detailed"),
            {"reasoning": {"effort": "low", "summary": "detailed"}},
            [],
        ),
        ("thinking", ReasoningOptions(effort="none"), {"thinking": {"type": "disabled"}}, []),
        (
            "thinking",
            ReasoningOptions(effort="high"),
            {"thinking": {"type": "enabled"}},
            ["effort"],
        ),
        (
            "thinking_effort",
            ReasoningOptions(effort="high"),
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
            [],
        ),
        (
            "thinking_effort",
            ReasoningOptions(effort="none"),
            {"thinking": {"type": "disabled"}},
            [],
        ),
        ("enable_thinking", BUDGET, {"enable_thinking": True, "thinking_budget": 2048}, []),
        ("enable_thinking", ReasoningOptions(effort="none"), {"enable_thinking": False}, []),
        ("effort_or_off", ReasoningOptions(effort="none"), {"reasoning": {"enabled": False}}, []),
        ("effort_or_off", ReasoningOptions(effort="low"), {"reasoning_effort": "low"}, []),
        ("effort_or_budget", BUDGET, {"reasoning_effort": 2048}, []),
        ("effort_or_budget", ReasoningOptions(effort="low"), {"reasoning_effort": "low"}, []),
        (
            "effort_or_budget",
            ReasoningOptions(effort="low", budget_tokens=9),
            {"reasoning_effort": 9},
            ["effort"],
        ),
        (
            "effort_or_budget",
            ReasoningOptions(effort="none", budget_tokens=9),
            {"reasoning_effort": "none"},
            ["budget_tokens"],
        ),
        ("none", ReasoningOptions(effort="low"), {}, ["effort"]),
    ],
)
def test_thinking_is_asked_for_in_the_servers_form(
    control: Any, wanted: ReasoningOptions, native: dict[str, Any], lost: list[str]
) -> None:
    """Options that the form lacks are reported."""
    dialect = evolve(COMPATIBLE, reasoning_effort=control)
    asked = _asked("some-model", reasoning=wanted)

    sent = body(asked, dialect)

    assert {k: v for k, v in sent.items() if k not in ("model", "messages")} == native
    assert codes(asked, dialect) == [
        ("unsupported-parameter", f"reasoning.{name}") for name in lost
    ]


def test_models_of_one_server_may_differ() -> None:
    """The first pattern that fits a model decides its form."""
    dialect = evolve(COMPATIBLE, reasoning_by_model=(("glm-.*", "thinking"),))
    wanted = ReasoningOptions(effort="none")

    assert "thinking" in body(_asked("glm-5", reasoning=wanted), dialect)
    assert body(_asked("kimi", reasoning=wanted), dialect)["reasoning_effort"] == "none"


@pytest.mark.parametrize("choice", [ToolChoice.required(), ToolChoice.named("weather")])
def test_forced_calls_may_need_thinking_off(choice: ToolChoice) -> None:
    """Servers that cannot do both get the call, and a diagnostic reports the change."""
    dialect = evolve(
        COMPATIBLE, reasoning_effort="thinking_effort", forced_calls_stop_thinking=".*"
    )
    asked = _asked(tools=[ToolDefinition("weather")], tool_choice=choice)

    assert body(asked, dialect)["thinking"] == {"type": "disabled"}
    assert codes(asked, dialect) == [("reasoning-turned-off", "reasoning")]
    free = _asked(tools=[ToolDefinition("weather")], tool_choice=ToolChoice.auto())
    assert "thinking" not in body(free, dialect)


# -- caching


def test_cache_keys_are_sent_where_they_route() -> None:
    """Elsewhere they are said to be lost; `off` sends none."""
    asked = _asked(cache=CachePolicy(key="k", retention="24h"))
    off = _asked(cache=CachePolicy(mode="off", key="k"))

    sent = body(asked)

    assert (sent["prompt_cache_key"], sent["prompt_cache_retention"]) == ("k", "24h")
    assert codes(asked, COMPATIBLE) == [
        ("unsupported-parameter", "cache.key"),
        ("unsupported-parameter", "cache.retention"),
    ]
    assert "prompt_cache_key" not in body(off)


@pytest.mark.parametrize(
    ("model", "policy", "native"),
    [
        ("anthropic/claude", CachePolicy(), {"type": "ephemeral"}),
        ("anthropic/claude", CachePolicy(ttl="1h"), {"type": "ephemeral", "ttl": "1h"}),
        ("anthropic/claude", CachePolicy(mode="manual"), None),
        ("anthropic/claude", CachePolicy(mode="off"), None),
        ("openai/gpt", CachePolicy(), None),
    ],
)
def test_models_that_must_be_asked_to_cache_are(
    model: str, policy: CachePolicy, native: object
) -> None:
    """One mark on the request does it at OpenRouter."""
    dialect = evolve(OPENAI, cache_control=True, auto_cache_models="anthropic/.*")

    assert body(_asked(model, cache=policy), dialect).get("cache_control") == native


# -- the escape hatch


def test_native_options_have_the_last_word() -> None:
    """Objects merge, None removes, the provider's own key wins over the protocol's."""
    asked = request(
        model=Model("m", "groq"),
        prompt="Hi",
        temperature=0.5,
        max_tokens=9,
        provider_options={
            "openai": {"user": "a", "store": True},
            "groq": {"user": "b", "temperature": None, "stream_options": {"x": 1}},
            "other": {"never": 1},
        },
    )

    sent = body(asked, COMPATIBLE, stream=True)

    assert sent["user"] == "b"
    assert sent["store"] is True
    assert "temperature" not in sent
    assert "never" not in sent
    assert sent["stream_options"] == {"include_usage": True, "x": 1}


@pytest.mark.parametrize("stream", [True, False])
def test_only_the_call_decides_about_streaming(stream: bool) -> None:
    """An option that contradicts it would leave the response unread."""
    asked = _asked(provider_options={"openai": {"stream": not stream}})

    assert body(asked, stream=stream).get("stream", False) is stream


def test_the_request_stays_as_it_is() -> None:
    """Building a body changes nothing, however often."""
    asked = everything()

    first, again = body(asked), body(asked)

    assert first == again
    assert asked == everything()
    assert asked.system == (TextPart("Be brief."), TextPart("Be kind."))
