"""The body as a whole: parameters, response format, options, and that it is always the same."""

import pytest
from attrs import evolve
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols import gemini
from llmcore.protocols.gemini import VERTEX
from llmcore.schema.content import TextPart
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ResponseFormat
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.support.wire.gemini import (
    ASKED,
    OLDER,
    SCHEMA,
    TOOL,
    body,
    built,
    codes,
    everything,
    refused,
)


def test_body_of_a_full_request_equals_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """A request that says most of what can be said."""
    assert body(everything()) == snapshot
    assert built(everything()).diagnostics == ()


def test_a_stream_has_the_same_body() -> None:
    """Whether the response is streamed stands in the path."""
    builder = gemini.protocol.body

    assert builder.build(everything(), True) == builder.build(everything(), False)


# -- parameters


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (GenerationOptions(), {}),
        (GenerationOptions(stop=("a", "b")), {"stopSequences": ["a", "b"]}),
        (GenerationOptions(max_tokens=5), {"maxOutputTokens": 5}),
        (
            GenerationOptions(presence_penalty=0.5, frequency_penalty=-0.5),
            {"presencePenalty": 0.5, "frequencyPenalty": -0.5},
        ),
        (GenerationOptions(logprobs=True), {"responseLogprobs": True}),
        (GenerationOptions(logprobs=False), {"responseLogprobs": False}),
        (GenerationOptions(top_logprobs=3), {"responseLogprobs": True, "logprobs": 3}),
        (GenerationOptions(temperature=0), {"temperature": 0}),
    ],
)
def test_each_generation_option_has_its_native_name(
    options: GenerationOptions, expected: object
) -> None:
    """Each option by its native name, and none that was not given."""
    assert body(evolve(ASKED, generation=options)).get("generationConfig", {}) == expected


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("gemini-3.5-flash", True),
        ("gemini-3.5-flash-lite", False),
        ("gemini-3.6-flash", False),
        ("gemini-4-argon", False),
        ("gemini-flash-latest", True),
        ("gemma-4-31b-it", True),
    ],
)
def test_sampling_that_the_model_ignores_is_left_out(model: str, counts: bool) -> None:
    """And said to be."""
    generation = GenerationOptions(temperature=0.5, top_p=0.9, top_k=3, seed=7)
    asked = evolve(ASKED, model=Model(model, "google"), generation=generation)
    names = ["temperature", "topP", "topK", "seed"] if counts else ["seed"]
    paths = ["generation.temperature", "generation.top_p", "generation.top_k"]

    assert list(body(asked)["generationConfig"]) == names
    assert [path for _, path in codes(asked)] == ([] if counts else paths)


def test_metadata_becomes_labels_where_there_are_labels() -> None:
    """Vertex AI has labels; the Gemini API refuses them."""
    asked = evolve(ASKED, metadata={"team": "a"})

    assert body(asked, VERTEX)["labels"] == {"team": "a"}
    assert "labels" not in body(asked)
    assert codes(asked) == [("unsupported-parameter", "metadata")]


def test_what_the_cache_cannot_be_told() -> None:
    """Prefixes are cached without keys."""
    asked = evolve(ASKED, cache=CachePolicy(key="k", retention="24h"))

    assert codes(asked) == [
        ("unsupported-parameter", "cache.key"),
        ("unsupported-parameter", "cache.retention"),
    ]


# -- the response's format


def test_json_of_any_shape() -> None:
    """The MIME type alone asks for it."""
    asked = evolve(ASKED, response_format=ResponseFormat.json())

    assert body(asked)["generationConfig"] == {"responseMimeType": "application/json"}


def test_json_of_a_schema() -> None:
    """JSON Schema goes as it is, with its description."""
    wanted = ResponseFormat.json_schema(SCHEMA, description="One number")
    config = body(evolve(ASKED, response_format=wanted))["generationConfig"]

    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == {**SCHEMA, "description": "One number"}


@pytest.mark.parametrize("tool", [TOOL, HostedTool.web_search()])
def test_json_beside_tools_is_asked_in_words_before_gemini_3(
    tool: ToolDefinition | HostedTool,
) -> None:
    """Older models refuse the MIME type beside tools."""
    asked = evolve(ASKED, tools=(tool,), response_format=ResponseFormat.json_schema(SCHEMA))
    older = evolve(asked, model=OLDER)

    assert "responseMimeType" in body(asked)["generationConfig"]
    assert "generationConfig" not in body(older)
    assert "JSON" in body(older)["systemInstruction"]["parts"][-1]["text"]
    assert codes(older) == [("response-format-in-words", "response_format")]


# -- options


def test_options_are_laid_over_the_body() -> None:
    """The caller's native fields win, and objects merge."""
    asked = evolve(
        ASKED,
        generation=GenerationOptions(temperature=0.1, top_k=3),
        provider_options={
            "google": {
                "generationConfig": {"temperature": 0.9},
                "candidateCount": 2,
                "speechConfig": {"languageCode": "de-DE"},
                "safetySettings": [{"category": "C", "threshold": "OFF"}],
                "topK": None,
            }
        },
    )

    assert body(asked)["generationConfig"] == {
        "temperature": 0.9,
        "candidateCount": 2,
        "speechConfig": {"languageCode": "de-DE"},
    }
    assert body(asked)["safetySettings"] == [{"category": "C", "threshold": "OFF"}]


def test_options_of_the_provider_win_over_the_protocols() -> None:
    """A provider that speaks Gemini has options of its own."""
    asked = evolve(
        ASKED,
        model=Model("gemini-3-flash", "google-vertex"),
        provider_options={"google": {"seed": 1}, "google-vertex": {"seed": 2}},
    )

    assert body(asked)["generationConfig"] == {"seed": 2}


def test_options_may_be_given_for_gemini() -> None:
    """Which is what many call the provider; `google` has the last word."""
    asked = evolve(ASKED, provider_options={"gemini": {"seed": 1, "labels": {"a": "b"}}})
    assert body(asked)["labels"] == {"a": "b"}
    assert body(asked)["generationConfig"]["seed"] == 1

    both = evolve(ASKED, provider_options={"google": {"seed": 2}, "gemini": {"seed": 1}})
    assert body(both)["generationConfig"]["seed"] == 2


def test_cached_content_stands_alone() -> None:
    """A stored context has its own instructions and tools; sending them again is an error."""
    asked = evolve(
        ASKED,
        system=(TextPart("Be brief."),),
        tools=(TOOL,),
        tool_choice=ToolChoice.auto(),
        provider_options={"google": {"cachedContent": "cachedContents/1"}},
    )

    assert body(asked).keys() == {"contents", "cachedContent"}
    assert codes(asked) == [
        ("cached-content", name) for name in ("systemInstruction", "tools", "toolConfig")
    ]


# -- models that take only a conversation

GEMMA_3 = "gemma-3-27b-it"


def test_gemma_3_is_told_all_in_the_conversation() -> None:
    """Its instructions are the user's text, and JSON is only asked for."""
    form = ResponseFormat.json_schema(SCHEMA)
    asked = evolve(
        ASKED, model=Model(GEMMA_3, "google"), system=(TextPart("Be brief."),), response_format=form
    )

    sent = body(asked)
    assert not {"systemInstruction", "generationConfig"} & sent.keys()
    first, second, third = (part["text"] for part in sent["contents"][0]["parts"])
    assert first == "<system>\nBe brief.\n</system>"
    assert second.startswith("<system>\nAnswer with one JSON document")
    assert third == ASKED.messages[0].text
    assert codes(asked) == [
        ("response-format-in-words", "response_format"),
        ("system-message-demoted", "system"),
    ]


def test_gemma_3_is_offered_no_tools() -> None:
    """The service refuses functions for it; a call cannot be required then."""
    asked = evolve(ASKED, model=Model(GEMMA_3, "google"), tools=(TOOL, HostedTool.web_search()))

    assert not {"tools", "toolConfig"} & body(asked).keys()
    assert codes(asked) == [("unsupported-tool", f"tools[{index}]") for index in range(2)]
    why = refused(evolve(asked, tool_choice=ToolChoice.required()))
    assert "gemma-3-27b-it calls no tools" in str(why)


def test_gemma_4_has_instructions() -> None:
    """As Gemini has."""
    asked = evolve(ASKED, model=Model("gemma-4-31b-it", "google"), system=(TextPart("Brief."),))

    assert body(asked)["systemInstruction"] == {"parts": [{"text": "Brief."}]}
