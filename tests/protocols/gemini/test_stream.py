"""Text, thoughts, files, ends and errors of a response."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols import gemini
from llmcore.protocols.gemini import stream
from llmcore.routes.framing import Framing
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    TokenLogprob,
)
from llmcore.schema.errors import (
    AuthenticationError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import (
    ErrorEvent,
    File,
    FinishReason,
    LLMEvent,
    ProviderEvent,
    StreamStart,
    TextDelta,
    TextEnd,
)
from tests.support.wire.gemini import (
    ASKED,
    array,
    call,
    chunk,
    decoded,
    sse,
    streamed,
    text_chunks,
    whole,
)
from tests.support.wire.protocol import error, response

PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = base64.b64encode(PNG).decode()

# -- frames


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (("", b""), None),
        (("ping", b"  "), None),
        (("", b"null"), None),
        (("", b"[DONE]"), None),
        (("", b'{"a":1}'), {"a": 1}),
        (("message", b' {"a":1}'), {"a": 1}),
        (("", b'[{"a":1},2]'), [{"a": 1}]),
        (("error", b'{"message":"no"}'), {"error": {"message": "no"}}),
        (("error", b'{"error":{"code":1}}'), {"error": {"code": 1}}),
        (("", b"3"), {"error": {"message": "a chunk is 3"}}),
    ],
)
def test_a_frame_is_decoded_to_a_chunk_several_or_none(
    frame: tuple[str, bytes], expected: object
) -> None:
    """A frame is a chunk, several, or nothing."""
    assert stream.decode(frame) == expected


def test_a_frame_that_is_not_json() -> None:
    """It ends the stream, and what had come is kept."""
    failed = error(streamed(sse([chunk({"text": "half"})]) + b"data: <html>\n\n"))

    assert isinstance(failed, StreamError)
    assert failed.partial is not None
    assert failed.partial.text == "half"


def test_chunk_with_a_finish_reason_does_not_end_the_stream() -> None:
    """There is not an end sentinel: the end of the bytes marks the last chunk."""
    assert not stream.terminal(chunk(finish="STOP"))


# -- whole events


def test_the_events_of_a_stream(snapshot: SnapshotAssertion) -> None:
    """Thoughts, text with a signature at its end, a call and the end."""
    chunks = [
        chunk({"text": "I think ", "thought": True}),
        chunk({"text": "so.", "thought": True}),
        chunk({"text": "It is "}),
        chunk({"text": "fine."}),
        chunk({"text": "", "thoughtSignature": "c2ln"}, call(id="c1")),
        chunk(finish="STOP"),
    ]

    assert streamed(chunks) == snapshot


def test_the_stream_starts_with_what_is_known() -> None:
    """Ids, the model that answers, and the input as counted so far."""
    start = streamed(text_chunks("a"))[0]

    assert isinstance(start, StreamStart)
    assert (start.id, start.model, start.protocol) == ("resp1", "gemini-3-flash-preview", "gemini")
    assert start.usage is not None
    assert start.usage.input_tokens == 7


@pytest.mark.parametrize("framing", [Framing.sse(), Framing.json_array()])
def test_both_framings_give_the_same(framing: Framing) -> None:
    """Server-sent events with `alt=sse`, one JSON array without."""
    chunks = text_chunks("Hällo ", "wörld", "!")
    data = sse(chunks) if framing == Framing.sse() else array(chunks)

    assert response(streamed(data, framing=framing)).text == "Hällo wörld!"


# -- segments

ANSWERS: dict[str, tuple[list[dict[str, Any]], tuple[ContentPart, ...]]] = {
    "text": ([{"text": "a"}, {"text": "b"}], (TextPart("ab"),)),
    "thoughts and text": (
        [{"text": "t", "thought": True}, {"text": "u", "thought": True}, {"text": "a"}],
        (ReasoningPart("tu"), TextPart("a")),
    ),
    "text between thoughts": (
        [{"text": "a"}, {"text": "t", "thought": True}, {"text": "b"}],
        (TextPart("a"), ReasoningPart("t"), TextPart("b")),
    ),
    "a signature of its own": (
        [{"text": "a"}, {"text": "", "thoughtSignature": "s"}],
        (TextPart("a"), TextPart("", provider_metadata={"google": {"thoughtSignature": "s"}})),
    ),
    "a signature without text": (
        [{"thoughtSignature": "s"}],
        (TextPart("", provider_metadata={"google": {"thoughtSignature": "s"}}),),
    ),
    "a signed thought": (
        [{"text": "t", "thought": True, "thoughtSignature": "s"}],
        (
            ReasoningPart(
                "t", signature="s", provider_metadata={"google": {"thoughtSignature": "s"}}
            ),
        ),
    ),
    "nothing of note": ([{"text": ""}, {}, {"text": "a"}, {"thought": True}], (TextPart("a"),)),
    "text beside other data": (
        [{"text": "a", "brandNew": 1}],
        (TextPart("a", provider_metadata={"google": {"brandNew": 1}}),),
    ),
    "a picture": (
        [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": PNG64}}, {"text": "b"}],
        (TextPart("a"), ImagePart(data=PNG, media_type="image/png"), TextPart("b")),
    ),
    "a file elsewhere": (
        [{"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b.png"}}],
        (ImagePart(url="gs://a/b.png", media_type="image/png"),),
    ),
    "sound in pieces": (
        [
            {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "YWI="}},
            {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "Y2Q="}},
        ],
        (AudioPart(data=b"abcd", media_type="audio/L16;rate=24000"),),
    ),
    "sounds of two kinds": (
        [
            {"inlineData": {"mimeType": "audio/L16;rate=1", "data": "YWI="}},
            {"inlineData": {"mimeType": "audio/L16;rate=2", "data": "Y2Q="}},
            {"inlineData": {"mimeType": "audio/mp3", "data": "YWI="}},
        ],
        (
            AudioPart(data=b"ab", media_type="audio/L16;rate=1"),
            AudioPart(data=b"cd", media_type="audio/L16;rate=2"),
            AudioPart(data=b"ab", media_type="audio/mp3"),
        ),
    ),
    "a broken picture": (
        [{"inlineData": {"mimeType": "image/png", "data": "a"}}],
        (ProviderPart("google", {"inlineData": {"mimeType": "image/png", "data": "a"}}),),
    ),
    "a picture without data": (
        [{"inlineData": {"mimeType": "image/png"}}],
        (ProviderPart("google", {"inlineData": {"mimeType": "image/png"}}),),
    ),
    "a file from nowhere": (
        [{"fileData": {"mimeType": "image/png"}}],
        (ProviderPart("google", {"fileData": {"mimeType": "image/png"}}),),
    ),
    "a part of the future": (
        [{"text": "a"}, {"hologram": {"depth": 3}}],
        (TextPart("a"), ProviderPart("google", {"hologram": {"depth": 3}})),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_parts_of_a_response(name: str) -> None:
    """Whole, part by part, and all in one chunk, a response is the same."""
    parts, expected = ANSWERS[name]
    documents = whole(chunk(*parts, finish="STOP"))
    pieces = streamed([*map(chunk, parts), chunk(finish="STOP")])
    at_once = streamed([chunk(*parts, finish="STOP")])

    for events in (documents, pieces, at_once):
        assert response(events).message.content == expected


_SIGNED = {"google": {"thoughtSignature": "s"}}
_LAST_SIGNED: dict[str, dict[str, str | int]] = {
    "google": {"thoughtSignature": "s", "signedFrom": 1}
}
_AMONG_TEXTS = [{"text": "a"}, {"text": "b", "thoughtSignature": "s"}, {"text": "c"}]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            whole(chunk(*_AMONG_TEXTS, finish="STOP")),
            (TextPart("a"), TextPart("b", provider_metadata=_SIGNED), TextPart("c")),
        ),
        (
            streamed([*map(chunk, _AMONG_TEXTS), chunk(finish="STOP")]),
            (TextPart("ab", provider_metadata=_LAST_SIGNED), TextPart("c")),
        ),
        (
            streamed(
                [
                    chunk({"text": "a", "thought": True}),
                    chunk({"text": "b", "thought": True, "thoughtSignature": "s"}),
                    chunk({"text": "c", "thoughtSignature": "s"}, finish="STOP"),
                ]
            ),
            (
                ReasoningPart("a"),
                ReasoningPart("b", signature="s", provider_metadata=_SIGNED),
                TextPart("c", provider_metadata=_SIGNED),
            ),
        ),
    ],
    ids=["whole", "pieces of a text", "pieces of a thought"],
)
def test_the_signature_of_a_part_that_is_streamed_comes_with_its_last_piece(
    events: Sequence[LLMEvent], expected: tuple[ContentPart, ...]
) -> None:
    """Parts of one document stay apart; the pieces of one text are one segment."""
    assert response(events).message.content == expected


def test_files_keep_their_name_and_thought() -> None:
    """Name and thought go home with the file."""
    part = {
        "inlineData": {"mimeType": "image/png", "data": PNG64, "displayName": "n"},
        "thought": True,
    }
    (file,) = (e for e in whole(chunk(part, finish="STOP")) if isinstance(e, File))

    assert file.data == PNG
    assert file.provider_metadata == {
        "google": {"thought": True, "inlineData": {"displayName": "n"}}
    }


def test_log_probabilities_come_with_the_text_of_their_chunk() -> None:
    """Those of a chunk go with its text, the likeliest at each place with each."""
    result = {
        "chosenCandidates": [{"token": "a", "tokenId": 5, "logProbability": -0.5}],
        "topCandidates": [{"candidates": [{"token": "b", "logProbability": -1}]}],
    }
    said = chunk({"text": "a"}, finish="STOP", candidate={"logprobsResult": result})
    (part,) = response(streamed([said])).message.content

    assert isinstance(part, TextPart)
    assert part.logprobs == (
        TokenLogprob(token="a", logprob=-0.5, top=(TokenLogprob(token="b", logprob=-1.0),), id=5),
    )
    unsaid = chunk(call(), finish="STOP", candidate={"logprobsResult": result})
    assert response(whole(unsaid)).provider_metadata["google"]["logprobsResult"] == result


def test_other_candidates_are_events_of_the_provider() -> None:
    """The first is the response; the others are not lost."""
    other = {"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"}
    document = chunk({"text": "a"}, finish="STOP")
    document["candidates"].append(other)
    events = whole(document)

    assert response(events).text == "a"
    assert ProviderEvent("google", {"candidate": other}) in events


# -- the end


@pytest.mark.parametrize(
    ("raw", "expected", "called"),
    [
        ("STOP", "stop", "tool_calls"),
        ("MAX_TOKENS", "length", "length"),
        ("SAFETY", "content_filter", "content_filter"),
        ("RECITATION", "content_filter", "content_filter"),
        ("LANGUAGE", "content_filter", "content_filter"),
        ("BLOCKLIST", "content_filter", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter", "content_filter"),
        ("SPII", "content_filter", "content_filter"),
        ("IMAGE_SAFETY", "content_filter", "content_filter"),
        ("IMAGE_PROHIBITED_CONTENT", "content_filter", "content_filter"),
        ("IMAGE_RECITATION", "content_filter", "content_filter"),
        ("MODEL_ARMOR", "content_filter", "content_filter"),
        ("ESCALATION", "content_filter", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error", "error"),
        ("MALFORMED_RESPONSE", "error", "error"),
        ("UNEXPECTED_TOOL_CALL", "other", "other"),
        ("TOO_MANY_TOOL_CALLS", "error", "error"),
        ("MISSING_THOUGHT_SIGNATURE", "error", "error"),
        ("OTHER", "other", "other"),
        ("NO_IMAGE", "other", "other"),
        ("CONTINUATION", "length", "length"),
        ("A_REASON_TO_COME", "other", "other"),
    ],
)
def test_every_finish_reason_has_a_common_word(raw: str, expected: Any, called: Any) -> None:
    """The common word and the service's own; only a plain stop becomes one for tool calls."""
    assert response(whole(chunk(finish=raw))).finish_reason == FinishReason(expected, raw)
    with_call = streamed([chunk(call()), chunk(finish=raw)])
    assert response(with_call).finish_reason == FinishReason(called, raw)


def test_a_response_without_a_word() -> None:
    """It is not an error, but a diagnostic reports it; and usage is kept."""
    for content in ({}, {"parts": None}, {"role": "model"}):
        document = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        answer = response(whole({**document, "usageMetadata": {"promptTokenCount": 3}}))

        assert [note.code for note in answer.diagnostics] == ["empty-response"]
        assert answer.usage is not None
        assert answer.usage.input_tokens == 3


def test_why_a_call_was_malformed_is_kept() -> None:
    """The service explains itself beside the finish reason."""
    document = chunk(finish="MALFORMED_FUNCTION_CALL", candidate={"finishMessage": "print(x)"})

    answer = response(whole(document))

    assert answer.provider_metadata["google"]["finishMessage"] == "print(x)"
    assert answer.diagnostics == ()


@pytest.mark.parametrize("reason", ["SAFETY", "MODEL_ARMOR", "JAILBREAK", "OTHER", "TO_COME"])
def test_blocked_prompt_finishes_with_content_filter(reason: str) -> None:
    """No candidates come, but why: a response that the filter ended."""
    feedback = {"blockReason": reason, "safetyRatings": [{"category": "C"}]}
    document = {"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 4}}

    for events in (whole(document), streamed([document])):
        answer = response(events)
        assert answer.finish_reason == FinishReason("content_filter", reason)
        assert answer.message.content == ()
        assert answer.provider_metadata["google"]["promptFeedback"] == feedback


@pytest.mark.parametrize("reason", ["BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"])
def test_a_default_reason_beside_a_response_blocks_nothing(reason: str) -> None:
    """Servers in other languages write default values."""
    document = chunk({"text": "a"}) | {"promptFeedback": {"blockReason": reason}}

    answer = response(whole(document))

    assert (answer.text, answer.finish_reason.reason) == ("a", "other")


def test_facts_of_the_whole_are_kept() -> None:
    """Safety ratings, averages and what is to come stand in the metadata."""
    ratings = [{"category": "C", "probability": "LOW"}]
    document = chunk(
        {"text": "a"},
        finish="STOP",
        candidate={"safetyRatings": ratings, "avgLogprobs": -0.5},
        createTime="2026-11-01T00:00:00Z",
        modelStatus={"modelStage": "STABLE"},
    )
    answer = response(whole(document))

    assert answer.raw == document
    assert answer.provider_metadata["google"] == {
        "safetyRatings": ratings,
        "avgLogprobs": -0.5,
        "createTime": "2026-11-01T00:00:00Z",
        "modelStatus": {"modelStage": "STABLE"},
    }


def test_a_stream_without_a_finish_reason_is_an_error() -> None:
    """Whatever had come before it broke off."""
    for events in (streamed(text_chunks("a", "b", finish=None)), streamed(b""), streamed([])):
        assert isinstance(error(events), StreamError)


def test_a_whole_body_without_a_finish_reason_is_whole() -> None:
    """It is all there, whatever it says."""
    assert response(whole(chunk({"text": "a"}))).finish_reason == FinishReason("other")
    assert response(whole(chunk(call()))).finish_reason == FinishReason("tool_calls")


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ({"promptTokenCount": 70, "candidatesTokenCount": 1}, (70, 1, 71)),
        ({"promptTokenCount": 70, "thoughtsTokenCount": 8, "totalTokenCount": 78}, (70, 8, 78)),
        ({"trafficType": "ON_DEMAND"}, (7, 5, 12)),
    ],
)
def test_usage_is_that_of_the_last_chunk_with_counts(
    late: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    """Counts start anew in each chunk; one that counts nothing leaves them as they are."""
    usage = response(streamed([*text_chunks("a", "b"), {"usageMetadata": late}])).usage

    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == expected


@pytest.mark.parametrize("document", [[], {}, {"usageMetadata": {}}, {"candidates": []}, 3, [3]])
def test_a_whole_body_that_holds_no_response(document: Any) -> None:
    """It is an error, and no success without content."""
    assert isinstance(error(whole(document)), LLMError)


def test_a_whole_list_that_ends_with_an_error_keeps_the_last_counts() -> None:
    """As its stream does."""
    counts = [{"promptTokenCount": 5, "candidatesTokenCount": n} for n in (1, 7)]
    chunks = [{**chunk({"text": "a"}), "usageMetadata": usage} for usage in counts]
    failed = error(whole([*chunks, {"error": {"code": 503, "message": "too busy"}}]))

    assert failed.partial is not None
    assert failed.partial.text == "aa"
    assert (failed.partial.usage.input_tokens, failed.partial.usage.output_tokens) == (5, 7)


def test_a_whole_list_of_chunks_is_one_response() -> None:
    """So comes a stream that was collected on its way."""
    chunks = text_chunks("a", "b")

    assert response(whole(chunks)).message == response(streamed(chunks)).message


# -- errors


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"code": 400, "status": "INVALID_ARGUMENT", "message": "bad"}, InvalidRequestError),
        ({"code": 401, "status": "UNAUTHENTICATED", "message": "key"}, AuthenticationError),
        ({"code": 404, "status": "NOT_FOUND", "message": "no model"}, NotFoundError),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow"}, RateLimitError),
        ({"code": 500, "status": "INTERNAL", "message": "oops"}, ServerError),
        ({"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}, OverloadedError),
    ],
)
def test_errors_in_the_stream(fields: dict[str, Any], kind: type[LLMError]) -> None:
    """They are classified like HTTP errors, alone or in a list, at once or after text."""
    body = {"error": fields}
    forms = [
        whole(body),
        whole([body]),
        streamed([body]),
        streamed(b"data: " + json.dumps([body]).encode() + b"\n\n"),
        streamed(array([body]), framing=Framing.json_array()),
        streamed([chunk({"text": "half"}), body]),
        streamed(array([chunk({"text": "half"}), body]), framing=Framing.json_array()),
    ]

    for events in forms:
        failed = error(events)
        assert type(failed) is kind
        assert fields["message"] in str(failed)
        assert failed.provider == "google"
    assert error(forms[-1]).partial is not None
    assert error(forms[-1]).partial.text == "half"  # type: ignore[union-attr]


def test_the_retry_delay_is_read_from_the_details() -> None:
    """Google says it in `RetryInfo`."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13s"}]
    body = {
        "error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": details}
    }

    assert error(streamed([body])).retry_after == 13


def test_a_gateways_error_is_one() -> None:
    """Some send no envelope."""
    assert "no" in str(error(streamed([{"message": "no"}])))
    assert "no" in str(error(whole({"detail": "no"})))


def test_what_is_nested_too_deeply_is_an_error() -> None:
    """Nothing raises; values hold no more levels than JSON readers take."""
    deep: Any = {"a": 1}
    for _ in range(200):
        deep = {"a": deep}
    for part in ({"brandNew": deep}, {"functionCall": {"name": "f", "args": deep}}):
        assert isinstance(error(whole(chunk(part, finish="STOP"))), StreamError)
    assert isinstance(error(whole(chunk(finish="STOP", modelStatus=deep))), StreamError)


# -- purity and pace


def test_delta_leaves_the_response_info_unchanged() -> None:
    """The per-token path: the response's state stays the same object."""
    state, _ = stream.step(stream.initial(ASKED), decoded(chunk({"text": "a"})))
    more = decoded(chunk({"text": "b"}))
    after, events = stream.step(state, more)

    assert after.info is state.info
    assert list(events) == [TextDelta("text_0", "b")]
    again, repeated = stream.step(state, more)
    assert (again.info, again.usage, repeated) == (after.info, after.usage, events)


def test_text_ends_with_the_response() -> None:
    """Its citations come last, so the end waits for them."""
    events = streamed([chunk({"text": "a"}), chunk(call()), chunk(finish="STOP")])
    kinds = [type(event) for event in events]

    assert kinds.index(TextEnd) == len(kinds) - 3
    assert not any(isinstance(event, ErrorEvent) for event in events)


def test_the_protocol_is_gemini() -> None:
    """Its id and where its data stand."""
    assert (gemini.protocol.id, gemini.protocol.metadata_key) == ("gemini", "google")
