"""Events as chunks, and as one response."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.schema.content import Citation, TextPart, TokenLogprob
from llmcore.schema.errors import OverloadedError, RateLimitError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    LLMEvent,
    ProviderEvent,
    Source,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolResult,
)
from llmcore.schema.usage import Usage
from tests.fronts.gemini.gemini_kit import SEES_THOUGHTS, written
from tests.support.events import call, stream, text, thought

# -- parts


def test_each_delta_is_a_chunk_and_the_whole_text_is_one_part() -> None:
    made = written(stream(text("Hel", "lo")))

    assert made.parts == [{"text": "Hel"}, {"text": "lo"}, {"text": ""}]
    assert made.whole["candidates"][0]["content"] == {"role": "model", "parts": [{"text": "Hello"}]}


def test_every_chunk_has_the_model_that_was_asked_for_and_the_id() -> None:
    made = written(stream(text("Hi")))

    assert {chunk["modelVersion"] for chunk in made.chunks} == {"client-model"}
    assert {chunk["responseId"] for chunk in made.chunks} == {"gen_1"}


def test_without_a_name_asked_for_the_model_is_that_of_the_events() -> None:
    made = written(stream(text("Hi")), model="")

    assert made.whole["modelVersion"] == "test-model"


@pytest.mark.parametrize(("body", "shown"), [(SEES_THOUGHTS, True), ({}, False), (None, True)])
def test_thoughts_are_shown_to_who_asks_for_them(body: Any, *, shown: bool) -> None:
    made = written(stream(thought("Why", "?"), text("So.")), body)

    thoughts = [part for part in made.parts if part.get("thought")]
    assert [part["text"] for part in thoughts] == (["Why", "?"] if shown else [])
    assert made.whole["candidates"][0]["content"]["parts"][-1]["text"] == "So."


def test_state_after_a_text_is_its_signature_if_the_response_is_not_streamed() -> None:
    """Some clients join texts by new lines; Gemini's server adds an empty text in streams alone."""
    made = written(stream(thought("Why?"), text("So.")), {})

    (part,) = made.whole["candidates"][0]["content"]["parts"]
    (*_, said, tail) = made.parts
    assert said == {"text": "So."}
    assert tail == {"text": "", "thoughtSignature": part["thoughtSignature"]}
    assert part == {**said, "thoughtSignature": tail["thoughtSignature"]}


def test_a_call_comes_whole() -> None:
    made = written(stream(call("f", '{"a":', " 1}"), reason="tool_calls"))

    (part,) = made.whole["candidates"][0]["content"]["parts"]
    assert part == {"functionCall": {"id": "call_1", "name": "f", "args": {"a": 1}}}


@pytest.mark.parametrize("blank", ["", "  ", "{}", "null"])
def test_a_call_without_arguments_has_an_empty_object(blank: str) -> None:
    made = written(stream(call("f", blank)))

    assert made.parts[0]["functionCall"]["args"] == {}


def test_interleaved_calls_come_one_after_another() -> None:
    first, second = call("f", '{"a":', "1}", id="c1"), call("g", '{"b":', "2}", id="c2")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    made = written(stream(mixed))

    calls = [part["functionCall"] for part in made.parts if "functionCall" in part]
    assert [(one["id"], one["args"]) for one in calls] == [("c1", {"a": 1}), ("c2", {"b": 2})]


@pytest.mark.parametrize("kind", ["function", "custom"])
def test_a_call_that_was_cut_off_is_left_out(kind: str) -> None:
    """Half a call must not be run: `finishReason` says why it is missing."""
    made = written(stream(text("So"), call("f", '{"a": ', kind=kind), reason="length"))

    assert all("functionCall" not in part for part in made.parts)
    assert made.candidate["finishReason"] == "MAX_TOKENS"
    assert "incomplete-tool-call" in made.codes


def test_arguments_that_are_not_an_object_are_wrapped() -> None:
    made = written(stream(call("f", "[1")))

    assert made.parts[0]["functionCall"]["args"] == {"input": "[1"}
    assert "invalid-tool-arguments" in made.codes


@pytest.mark.parametrize(
    ("rest", "reason"), [([], "stop"), ([], "tool_calls"), (text("So"), "length")]
)
def test_a_freeform_call_is_a_call_with_one_text(rest: list[LLMEvent], reason: str) -> None:
    made = written(stream(call("patch", "*** Begin", kind="custom"), rest, reason=reason))

    assert made.parts[0]["functionCall"]["args"] == {"input": "*** Begin"}
    assert made.codes == []


def test_a_picture_is_inline_data() -> None:
    made = written(stream(File(id="f", media_type="image/png", data=b"\x89PNG")))

    assert made.parts[0] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}


def test_a_file_with_an_address_is_named_by_it() -> None:
    file = File(id="f", media_type="application/pdf", url="https://example.com/a.pdf")
    made = written(stream(file))

    data = {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}
    assert made.parts[0] == {"fileData": data}


def test_a_file_that_only_the_upstream_can_open_is_reported() -> None:
    made = written(stream(File(id="f", file_id="file_1")))

    assert "file-dropped" in made.codes


@pytest.mark.parametrize(
    "result", ["1\n", ["1", "\n"], {"stdout": "1\n"}, (TextPart("1"), TextPart("\n"))]
)
def test_code_that_the_provider_ran_is_shown(result: Any) -> None:
    ran: list[LLMEvent] = [
        ToolCall("h1", "code_interpreter", {"code": "print(1)"}, provider_executed=True),
        ToolResult("h1", result, name="code_interpreter", provider_executed=True),
    ]
    made = written(stream(ran, text("It is 1.")))

    assert made.parts[0] == {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    assert made.parts[1] == {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}


def test_a_native_part_of_a_gemini_upstream_is_shown_as_it_came() -> None:
    native = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}, "id": "s1"}}
    metadata: Any = {"google": {"part": native}}
    hosted = ToolCall(
        "s1", "google_search_web", {}, provider_executed=True, provider_metadata=metadata
    )
    unknown = ProviderEvent("google", {"videoMetadata": {}, "text": "x"}, replay=True)
    made = written(stream(hosted, unknown, protocol="gemini"))

    assert made.parts[:2] == [native, {"videoMetadata": {}, "text": "x"}]


# -- the end


_END = [
    ("stop", "STOP"),
    ("tool_calls", "STOP"),
    ("length", "MAX_TOKENS"),
    ("content_filter", "SAFETY"),
    ("other", "OTHER"),
]


@pytest.mark.parametrize(("reason", "expected"), _END)
def test_reasons_to_stop_have_googles_words(reason: str, expected: str) -> None:
    made = written(stream(text("Hi"), reason=reason))

    assert made.candidate["finishReason"] == expected
    assert made.whole["candidates"][0]["finishReason"] == expected


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("RECITATION", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("SPII", "content_filter"),
        ("NO_IMAGE", "other"),
        ("IMAGE_OTHER", "other"),
    ],
)
def test_the_word_of_a_gemini_upstream_stands(raw: str, kind: str) -> None:
    made = written(stream(text("Hi"), reason=kind, raw=raw, protocol="gemini"))

    assert made.candidate["finishReason"] == raw


def test_a_pause_of_the_providers_tools_is_a_stop() -> None:
    """Clients take `OTHER` for a failure, and ask again."""
    made = written(stream(text("Hi"), reason="other", raw="pause_turn"))

    assert made.candidate["finishReason"] == "STOP"


def test_a_call_that_ends_with_stop_ends_with_stop() -> None:
    made = written(stream(call("f", "{}"), reason="stop"))

    assert made.candidate["finishReason"] == "STOP"


def test_a_blocked_prompt_has_no_candidate() -> None:
    feedback: Any = {"google": {"promptFeedback": {"blockReason": "SAFETY"}}}
    made = written(
        stream(reason="content_filter", raw="SAFETY", protocol="gemini", provider_metadata=feedback)
    )

    assert made.last["promptFeedback"] == {"blockReason": "SAFETY"}
    assert "candidates" not in made.whole


def test_a_response_without_text_ends_without_parts() -> None:
    made = written(stream())

    assert made.whole["candidates"][0]["content"]["parts"] == [{"text": ""}]
    assert made.candidate["finishReason"] == "STOP"


def test_an_upstream_that_ends_with_an_error_is_an_error() -> None:
    made = written(stream(text("Hi"), reason="error", raw="broken"))

    assert made.last["error"]["status"] == "INTERNAL"
    assert made.writer.outcome == "failed"


# -- usage


def test_thoughts_are_counted_beside_the_candidates() -> None:
    usage = Usage.make(
        input_tokens=1200, output_tokens=90, cache_read_tokens=1000, reasoning_tokens=30
    )
    made = written(stream(text("Hi"), usage=usage))

    assert made.whole["usageMetadata"] == {
        "promptTokenCount": 1200,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 60,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 1290,
    }
    assert made.writer.usage == usage


def test_the_counts_of_a_gemini_upstream_stand() -> None:
    raw: Any = {
        "promptTokenCount": 7,
        "toolUsePromptTokenCount": 3,
        "totalTokenCount": 12,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7}],
    }
    usage = Usage.make(input_tokens=10, output_tokens=2, raw=raw)
    made = written(stream(text("Hi"), usage=usage, protocol="gemini"))

    assert made.whole["usageMetadata"] == raw


@pytest.mark.parametrize(
    ("read", "before"),
    [(None, 0), (Usage(), 0), (Usage(input_tokens=9), 9)],
    ids=["nothing", "no prompt", "prompt"],
)
def test_each_chunk_has_the_usage_as_far_as_it_is_counted(read: Usage | None, before: int) -> None:
    """As Google sends it; BAML skips chunks without it, and the AI SDK 3.4 refuses an empty one."""
    first, *rest = stream(text("Hi"), usage=Usage.make(input_tokens=9, output_tokens=2))
    assert isinstance(first, StreamStart)
    made = written([evolve(first, usage=read), *rest])
    usages = [chunk["usageMetadata"] for chunk in made.chunks]

    assert len(usages) > 1
    counted = {"promptTokenCount": before, "totalTokenCount": before}
    assert usages[:-1] == [counted] * (len(usages) - 1)
    assert usages[-1]["totalTokenCount"] == 11


def test_an_upstream_that_counts_nothing_has_a_usage_of_zeros() -> None:
    made = written(stream(text("Hi")))

    zeros = {"promptTokenCount": 0, "totalTokenCount": 0}
    assert [chunk["usageMetadata"] for chunk in (*made.chunks, made.whole)] == [zeros] * 3


# -- what a response rests on


def test_citations_are_supports_in_bytes() -> None:
    """Indexes of Google count bytes of UTF-8, ours characters."""
    cited = Citation(url="https://a.example", title="A", start_index=3, end_index=7)
    made = written(stream(text("日本語 is it", citations=(cited,))))

    grounding = made.whole["candidates"][0]["groundingMetadata"]
    assert grounding["groundingChunks"] == [{"web": {"uri": "https://a.example", "title": "A"}}]
    (support,) = grounding["groundingSupports"]
    assert support["segment"] == {"startIndex": 9, "endIndex": 13, "text": " is "}
    assert support["groundingChunkIndices"] == [0]


def test_citations_of_a_later_text_count_from_the_first() -> None:
    cited = Citation(url="https://a.example", start_index=0, end_index=2)
    made = written(stream(text("日", id="1"), text("ab", id="2", citations=(cited,))))

    (support,) = made.candidate["groundingMetadata"]["groundingSupports"]
    assert support["segment"] == {"startIndex": 3, "endIndex": 5, "text": "ab"}


def test_searches_and_sources_are_grounding() -> None:
    search = ToolCall("s", "web_search", {"query": "news"}, provider_executed=True)
    made = written(stream(search, Source(id="1", url="https://a.example", title="A"), text("So.")))

    assert made.candidate["groundingMetadata"] == {
        "webSearchQueries": ["news"],
        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
    }


def test_the_grounding_of_a_gemini_upstream_stands() -> None:
    own: Any = {"google": {"groundingMetadata": {"searchEntryPoint": {"renderedContent": "x"}}}}
    source = Source(id="1", url="https://a.example")
    made = written(stream(source, text("So."), protocol="gemini", provider_metadata=own))

    assert made.candidate["groundingMetadata"] == {"searchEntryPoint": {"renderedContent": "x"}}


def test_log_probabilities_of_tokens_without_others_have_no_list_of_them() -> None:
    said: list[LLMEvent] = [
        TextStart("t"),
        TextDelta("t", "Hi", (TokenLogprob(token="Hi", logprob=-0.5),)),
        TextEnd("t"),
    ]
    made = written(stream(said))

    assert made.whole["candidates"][0]["logprobsResult"] == {
        "chosenCandidates": [{"token": "Hi", "logProbability": -0.5}]
    }


def test_log_probabilities_are_those_of_the_chunk() -> None:
    token = TokenLogprob(
        token="Hi", logprob=-0.5, top=(TokenLogprob(token="Ho", logprob=-1.5, id=7),)
    )
    said: list[LLMEvent] = [TextStart("t"), TextDelta("t", "Hi", (token,)), TextEnd("t")]
    made = written(stream(said))

    expected = {
        "chosenCandidates": [{"token": "Hi", "logProbability": -0.5}],
        "topCandidates": [{"candidates": [{"token": "Ho", "tokenId": 7, "logProbability": -1.5}]}],
    }
    assert made.chunks[0]["candidates"][0]["logprobsResult"] == expected
    assert made.whole["candidates"][0]["logprobsResult"] == expected


# -- failures


def test_a_failure_amid_the_stream_is_its_last_event() -> None:
    events = [*stream(text("Reading."))[:-2], ErrorEvent(OverloadedError("Overloaded"))]
    made = written(events)

    assert made.last["error"] == {
        "code": 503,
        "message": "Overloaded",
        "status": "UNAVAILABLE",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "SERVER_IS_OVERLOADED",
                "domain": "gateway",
            }
        ],
    }
    assert made.writer.outcome == "failed"


def test_events_after_the_end_are_not_written() -> None:
    events = [*stream(text("Hi")), *text("more", id="late"), ErrorEvent(RateLimitError("slow"))]

    assert written(events).last["candidates"][0]["finishReason"] == "STOP"


def test_a_response_that_stops_before_its_end_is_an_error() -> None:
    made = written(stream(text("Hi"))[:-2])

    assert made.last["error"]["status"] == "INTERNAL"
