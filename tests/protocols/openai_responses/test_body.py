"""The body as a whole, what is stored, parameters, and the shape of the response."""

from typing import Any

import pytest
from attrs import evolve
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols.openai_responses import OPENAI
from llmcore.schema.content import DocumentPart, ImagePart, TextPart
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.responses import (
    ORIGIN,
    body,
    codes,
    function_call,
    message,
    reasoning,
    refused,
    said,
)

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED = {**SCHEMA, "additionalProperties": False}
ENCRYPTED = "reasoning.encrypted_content"


def asked_of(model: str = "gpt-5.2", **fields: Any) -> LLMRequest:
    """Return a small request."""
    return request(model=Model(model, "openai"), prompt="Hi", **fields)


def options(**fields: Any) -> dict[str, Any]:
    """Return provider options."""
    return {"provider_options": {"openai": fields}}


def everything() -> LLMRequest:
    """Return a request that says all that Responses can say."""
    answer = said(reasoning("Hm."), message("Let me see.", phase="commentary"), function_call())
    return request(
        model=Model("house-model", "openai"),
        system=["Be brief.", "Be kind."],
        messages=[
            Message.developer("Rules."),
            Message.user(
                "Look:",
                ImagePart(url="https://a.example/b.png", detail="low"),
                DocumentPart(file_id="file-1"),
            ),
            evolve(answer, origin=evolve(ORIGIN, model="gpt-4.1")),
            Message.tool("call_1", [TextPart("Sunny:"), ImagePart(url="https://a.example/s.png")]),
            Message.user("And?"),
        ],
        tools=[
            ToolDefinition("weather", "Tells.", SCHEMA, strict=True),
            CustomTool("run", "Runs.", grammar=Grammar(syntax="lark", definition="start: /.+/")),
            HostedTool.web_search(allowed_domains=("a.example",)),
            HostedTool.code_execution(),
        ],
        tool_choice=ToolChoice.auto(),
        parallel_tool_calls=False,
        generation=GenerationOptions(
            temperature=0.5, top_p=0.9, max_tokens=100, logprobs=True, top_logprobs=2
        ),
        reasoning=ReasoningOptions(effort="none", summary="auto"),
        response_format=ResponseFormat.json_schema(SCHEMA, name="answer", description="It."),
        cache=CachePolicy(key="user-1", retention="24h"),
        metadata={"job": "7"},
        provider_options={
            "openai": {
                "text": {"verbosity": "low"},
                "service_tier": "flex",
                "truncation": "auto",
                "max_tool_calls": 3,
                "safety_identifier": "u-1",
                "context_management": [{"type": "compaction", "compact_threshold": 1000}],
                "include": ["web_search_call.action.sources"],
                "stream_options": {"include_obfuscation": False},
            }
        },
    )


def test_body_of_a_full_request_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """The whole native body."""
    assert body(everything(), stream=True) == snapshot


def test_streamed_and_whole_differ_only_in_saying_so() -> None:
    """A stream asks for nothing else than a whole response."""
    streamed, whole = body(everything(), stream=True), body(everything())

    assert streamed.pop("stream") is True
    assert streamed.pop("stream_options") == {"include_obfuscation": False}
    assert streamed == whole
    assert list(streamed) == list(whole)


# -- what the provider remembers

MEMORY: dict[str, tuple[dict[str, Any], Any, list[str] | None]] = {
    "nothing said": ({}, False, [ENCRYPTED]),
    "not stored": ({"store": False}, False, [ENCRYPTED]),
    "stored": ({"store": True}, True, None),
    "left to the server": ({"store": None}, None, None),
    "continued": ({"previous_response_id": "resp_0"}, None, None),
    "continued, not stored": (
        {"previous_response_id": "resp_0", "store": False},
        False,
        [ENCRYPTED],
    ),
    "conversation": ({"conversation": "conv_1"}, None, None),
    "conversation object": ({"conversation": {"id": "conv_1"}}, None, None),
    "background": ({"background": True}, None, None),
    "foreground": ({"background": False}, False, [ENCRYPTED]),
}


@pytest.mark.parametrize("name", MEMORY)
def test_nothing_is_stored_unless_the_caller_uses_the_store(name: str) -> None:
    """By default the request is stateless, and asks for reasoning that can be sent back."""
    given, store, included = MEMORY[name]

    native = body(asked_of(**options(**given)))

    assert native.get("store") == store
    assert native.get("include") == included
    for option, value in given.items():
        assert native.get(option) == value


MODELS = {
    "gpt-5": True,
    "gpt-5.2": True,
    "gpt-6-astra": True,
    "o3-mini": True,
    "grok-4": True,
    "openai/gpt-oss-20b": True,
    "my-deployment": True,
    "gpt-4o": False,
    "gpt-4.1-mini": False,
    "openai/gpt-4o": False,
    "our-gpt-4o-deployment": False,
    "gpt-5-chat-latest": False,
    "chatgpt-4o-latest": False,
    "gpt-3.5-turbo": False,
}


@pytest.mark.parametrize("effort", [None, "low", "none"])
@pytest.mark.parametrize("model", MODELS)
def test_models_that_may_reason_are_asked_for_it_encrypted(model: str, effort: str | None) -> None:
    """Whether an effort is set or not; models that cannot reason reject the question."""
    native = body(asked_of(model, reasoning_effort=effort))

    assert (ENCRYPTED in native.get("include", ())) is MODELS[model]


def test_what_the_caller_includes_comes_on_top() -> None:
    """Asking for more does not lose the reasoning; null asks for nothing."""
    more = asked_of(**options(include=["file_search_call.results", ENCRYPTED]))

    assert body(more)["include"] == [ENCRYPTED, "file_search_call.results"]
    assert "include" not in body(asked_of(**options(include=None)))


def test_options_are_native_and_have_the_last_word() -> None:
    """Fields of the API go in by name; objects merge, null removes."""
    given = {
        "conversation": "conv_1",
        "prompt": {"id": "pmpt_1", "variables": {"a": "b"}},
        "moderation": {"model": "omni-moderation-latest"},
        "background": True,
        "reasoning": {"mode": "pro"},
        "max_output_tokens": None,
        "user": "u",
    }
    native = body(asked_of(reasoning_effort="low", max_tokens=5, **options(**given)))

    assert native["reasoning"] == {"effort": "low", "mode": "pro"}
    assert "max_output_tokens" not in native
    for name in ("conversation", "prompt", "moderation", "background", "user"):
        assert native[name] == given[name]


def test_the_providers_own_options_win() -> None:
    """Options of a provider that speaks this API come over those of the API."""
    both = {"openai": {"truncation": "auto", "user": "a"}, "azure": {"user": "b"}}
    asked = request(model=Model("gpt-5", "azure"), prompt="Hi", provider_options=both)

    assert {k: body(asked)[k] for k in ("truncation", "user")} == {
        "truncation": "auto",
        "user": "b",
    }


# -- the shape of the response

FORMATS: dict[str, tuple[ResponseFormat, Any]] = {
    "text": (ResponseFormat.text(), None),
    "json": (ResponseFormat.json(), {"type": "json_object"}),
    "schema": (
        ResponseFormat.json_schema(SCHEMA),
        {"type": "json_schema", "name": "response", "schema": CLOSED, "strict": True},
    ),
    "loose schema": (
        ResponseFormat.json_schema(SCHEMA, name="a", description="d", strict=False),
        {
            "type": "json_schema",
            "name": "a",
            "description": "d",
            "schema": SCHEMA,
            "strict": False,
        },
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_response_format_is_sent_as_text_format(name: str) -> None:
    """Each shape of a response in the API's words."""
    wanted, form = FORMATS[name]

    assert body(asked_of(response_format=wanted)).get("text") == (
        None if form is None else {"format": form}
    )


@pytest.mark.parametrize("system", ["Be brief.", None])
def test_a_list_is_asked_for_in_words_since_formats_are_of_objects(system: str | None) -> None:
    """A schema made that of an object would hold the model to `{}`."""
    wanted = ResponseFormat.json_schema({"type": "array", "items": SCHEMA})
    asked = asked_of(response_format=wanted, system=system)

    sent = body(asked)

    assert "text" not in sent
    before = "" if system is None else f"{system}\n\n"
    assert sent["instructions"].startswith(f"{before}Answer with one JSON document")
    assert '"type":"array"' in sent["instructions"]
    assert codes(asked) == [("response-format-in-words", "response_format")]


def test_a_schema_that_cannot_be_strict_is_not() -> None:
    """Free-form objects have no strict form; a diagnostic reports it."""
    loose = ResponseFormat.json_schema({"type": "object", "additionalProperties": True})

    assert body(asked_of(response_format=loose))["text"]["format"]["strict"] is False
    assert ("schema-not-strict", "response_format.schema") in codes(asked_of(response_format=loose))


def test_verbosity_goes_beside_the_format() -> None:
    """`text` holds both."""
    asked = asked_of(response_format=ResponseFormat.json(), **options(text={"verbosity": "low"}))

    assert body(asked)["text"] == {"format": {"type": "json_object"}, "verbosity": "low"}


# -- parameters

GENERATION: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "limit": ({"max_tokens": 5}, {"max_output_tokens": 5}),
    "sampling": ({"temperature": 0.0, "top_p": 0.5}, {"temperature": 0.0, "top_p": 0.5}),
    "log probabilities": (
        {"top_logprobs": 2},
        {"top_logprobs": 2, "include": ["message.output_text.logprobs"]},
    ),
    "plain log probabilities": (
        {"logprobs": True},
        {"include": ["message.output_text.logprobs"]},
    ),
    "no log probabilities": ({"logprobs": False}, {}),
}


@pytest.mark.parametrize("name", GENERATION)
def test_each_generation_option_is_sent_by_its_name(name: str) -> None:
    """Each option in the API's words."""
    given, fields = GENERATION[name]
    asked = asked_of("gpt-4.1", generation=GenerationOptions(**given))
    plain = body(asked_of("gpt-4.1"))

    native = body(asked)

    assert {k: v for k, v in native.items() if k not in plain or plain[k] != v} == fields
    assert codes(asked) == []


UNSUPPORTED: dict[str, Any] = {
    "top_k": 3,
    "stop": ("END",),
    "seed": 7,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.5,
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_options_that_the_api_lacks_are_reported(name: str) -> None:
    """Options without a field are left out and reported."""
    asked = asked_of(generation=GenerationOptions(**{name: UNSUPPORTED[name]}))

    assert name not in body(asked)
    assert codes(asked) == [("unsupported-parameter", f"generation.{name}")]


SAMPLED: dict[str, tuple[str, str | None, bool]] = {
    "reasoning model": ("o3", None, False),
    "first of its line": ("gpt-5-mini", None, False),
    "effort": ("gpt-5.2", "low", False),
    "no effort": ("gpt-5.2", "none", True),
    "effort unset": ("gpt-5.2", None, True),
    "thinks unless told not to": ("gpt-5.6-sol", None, False),
    "told not to": ("gpt-6-luna", "none", True),
    "cannot be told": ("gpt-6.1-sol", None, False),
    "plain model": ("gpt-4.1", None, True),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_sampling_that_the_model_rejects_is_left_out(name: str) -> None:
    """Reasoning models take no sampling parameters, except where they do not reason."""
    model, effort, kept = SAMPLED[name]
    generation = GenerationOptions(temperature=0.5, top_p=0.9, logprobs=True)
    asked = asked_of(model, generation=generation, reasoning_effort=effort)

    native = body(asked)

    assert ("temperature" in native, "top_p" in native) == (kept, kept)
    assert ("message.output_text.logprobs" in native.get("include", ())) is kept
    paths = ["generation.logprobs", "generation.temperature", "generation.top_p"]
    assert sorted(path for _, path in codes(asked)) == ([] if kept else paths)


def test_a_temperature_of_one_is_always_taken() -> None:
    """It is what all models use anyhow."""
    assert body(asked_of("o3", temperature=1.0))["temperature"] == 1.0


REASONING: dict[str, tuple[ReasoningOptions, Any, list[str]]] = {
    "effort": (ReasoningOptions(effort="high"), {"effort": "high"}, []),
    "summary": (ReasoningOptions(summary="detailed"), {"summary": "detailed"}, []),
    "no summary": (ReasoningOptions(effort="low", summary="none"), {"effort": "low"}, []),
    "budget": (ReasoningOptions(budget_tokens=5), None, ["reasoning.budget_tokens"]),
    "nothing": (ReasoningOptions(), None, []),
}


@pytest.mark.parametrize("name", REASONING)
def test_effort_and_summary_are_sent_and_a_budget_reported(name: str) -> None:
    """Effort and summary are the API's; a budget is not."""
    wanted, native, lost = REASONING[name]
    asked = asked_of(reasoning=wanted)

    assert body(asked).get("reasoning") == native
    assert [path for _, path in codes(asked)] == lost


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("o3", "auto"),
        ("o4-mini", "auto"),
        ("gpt-5", "auto"),
        ("gpt-5-mini-2025-08-07", "auto"),
        ("gpt-5.1", "concise"),
        ("gpt-5.6-sol", "concise"),
        ("computer-use-preview", "concise"),
    ],
)
def test_a_concise_summary_is_asked_of_models_that_have_it(model: str, sent: str) -> None:
    """All after GPT-5 have."""
    asked = asked_of(model, reasoning=ReasoningOptions(summary="concise"))

    assert body(asked)["reasoning"] == {"summary": sent}
    assert [code for code, _ in codes(asked)] == (
        [] if sent == "concise" else ["reasoning-summary-changed"]
    )


CACHES: dict[str, tuple[CachePolicy, dict[str, Any]]] = {
    "automatic": (CachePolicy(), {}),
    "key": (CachePolicy(key="k"), {"prompt_cache_key": "k"}),
    "retention": (CachePolicy(retention="24h"), {"prompt_cache_retention": "24h"}),
    "off": (CachePolicy(mode="off", key="k", retention="24h"), {}),
}


@pytest.mark.parametrize("name", CACHES)
def test_cache_options_are_sent_as_key_and_retention(name: str) -> None:
    """The key routes, the retention holds; breakpoints are the server's."""
    cache, fields = CACHES[name]
    native = body(asked_of(cache=cache))

    assert {k: v for k, v in native.items() if k.startswith("prompt_cache")} == fields


def test_metadata_is_sent_as_labels() -> None:
    """Labels are the request's."""
    assert body(asked_of(metadata={"a": "b"}))["metadata"] == {"a": "b"}


# -- dialects


def test_what_a_server_rejects_is_left_out() -> None:
    """Rejected fields of the caller's are reported, added ones are not."""
    picky = evolve(OPENAI, unsupported=frozenset({"store", "include", "metadata", "text"}))
    asked = asked_of(metadata={"a": "b"}, response_format=ResponseFormat.json())

    assert body(asked, picky).keys() == {"model", "input"}
    assert sorted(codes(asked, picky)) == [
        ("unsupported-parameter", "metadata"),
        ("unsupported-parameter", "response_format"),
    ]


def test_an_invalid_request_is_a_failure() -> None:
    """Errors are values here."""
    error = refused(asked_of(tool_choice=ToolChoice.required()))

    assert "no tools" in str(error)


@pytest.mark.parametrize(
    ("model", "tool", "effort"),
    [
        ("gpt-5", HostedTool.web_search(), "low"),
        ("gpt-5", HostedTool.raw("openai", {"type": "web_search_preview"}), "low"),
        ("gpt-5", HostedTool.code_execution(), "minimal"),
        ("gpt-5", None, "minimal"),
    ],
    ids=["search", "a raw search", "another tool", "no tool"],
)
def test_web_search_needs_an_effort_above_minimal(
    model: str, tool: HostedTool | None, effort: str
) -> None:
    """The API refuses the two together."""
    tools = [] if tool is None else [tool]
    asked = asked_of(model, tools=tools, reasoning=ReasoningOptions(effort="minimal"))

    assert body(asked)["reasoning"] == {"effort": effort}
    changed = [("reasoning-effort-changed", "reasoning.effort")]
    assert codes(asked) == (changed if effort == "low" else [])
