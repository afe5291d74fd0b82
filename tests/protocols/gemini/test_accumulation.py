"""Whatever chunk brings content: read as the official SDK's types and chats hold it.

The SDK accumulates nothing itself but gives each chunk's parts, and its chats keep all contents of
the first candidates in a row. So any part may come in any chunk: beside a finish reason or after
it, with feedback on the prompt, or before the usage is known.
"""

import base64
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.content import AudioPart, DocumentPart, ImagePart, ToolCallPart
from llmcore.schema.events import ProviderEvent
from llmcore.schema.response import LLMResponse
from tests.support.wire.gemini import chunk, sse, streamed, whole
from tests.support.wire.protocol import response

SIGNED = {"thoughtSignature": "c2ln"}


def parts() -> st.SearchStrategy[dict[str, Any]]:
    """Return parts of any kind, with or without a signature."""
    texts = st.sampled_from(["Hi", " there", "é 🎉", "\n"])
    arguments = st.sampled_from([{}, {"a": 1}, {"b": [None, {"c": "x"}]}])
    kinds = st.one_of(
        st.fixed_dictionaries({"text": texts}),
        st.fixed_dictionaries({"text": texts, "thought": st.just(True)}),
        st.fixed_dictionaries(
            {"functionCall": st.fixed_dictionaries({"name": st.just("f"), "args": arguments})}
        ),
        st.just({"functionCall": {"name": "g", "id": "c1"}}),
        st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
        st.just({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        st.just({"inlineData": {"mimeType": "image/png", "data": "eA=="}}),
        st.just({"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/f"}}),
        st.just({"functionResponse": {"name": "f", "response": {"output": 1}}}),
    )
    return st.tuples(kinds, st.sampled_from([{}, SIGNED])).map(lambda two: {**two[0], **two[1]})


COUNTS = st.fixed_dictionaries(
    {"promptTokenCount": st.integers(1, 9), "totalTokenCount": st.integers(10, 99)}
)
FEEDBACK = {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Chunks in which anything may stand anywhere; one of them at least says why it ended."""
    chunks = []
    for _ in range(draw(st.integers(1, 4))):
        one = chunk(
            *draw(st.lists(parts(), max_size=3)),
            finish=draw(st.sampled_from([None, None, "STOP", "MAX_TOKENS"])),
            usageMetadata=draw(st.none() | COUNTS),
        )
        if draw(st.booleans()):
            one["promptFeedback"] = FEEDBACK
        if draw(st.integers(0, 4)) == 0:
            del one["candidates"]
        chunks.append({name: value for name, value in one.items() if value is not None})
    chunks.append(chunk(*draw(st.lists(parts(), max_size=2)), finish="STOP"))
    return chunks


def agree(ours: LLMResponse, chunks: list[dict[str, Any]]) -> None:
    """Assert that *ours* holds what the SDK's types hold of all *chunks*."""
    answers = [types.GenerateContentResponse.model_validate(one) for one in chunks]
    firsts = [answer.candidates[0] for answer in answers if answer.candidates]
    theirs = [part for one in firsts if one.content for part in one.content.parts or []]
    made = ours.message.content
    images = [part for part in made if isinstance(part, ImagePart)]
    files = [part for part in made if isinstance(part, DocumentPart | AudioPart)]
    calls = [part for part in made if isinstance(part, ToolCallPart)]

    assert ours.text == "".join(part.text or "" for part in theirs if not part.thought)
    assert (ours.reasoning or "") == "".join(part.text or "" for part in theirs if part.thought)
    assert [(call.name, call.arguments) for call in ours.tool_calls] == [
        (part.function_call.name, part.function_call.args or {})
        for part in theirs
        if part.function_call
    ]
    assert sum(call.provider_executed for call in calls) == sum(
        part.executable_code is not None for part in theirs
    )
    assert [image.data for image in images] == [
        part.inline_data.data for part in theirs if part.inline_data
    ]
    assert [file.url for file in files] == [
        part.file_data.file_uri for part in theirs if part.file_data
    ]
    reasons = [one.finish_reason for one in firsts if one.finish_reason]
    assert ours.finish_reason.raw == reasons[-1].value
    usages = [answer.usage_metadata for answer in answers if answer.usage_metadata]
    assert ours.usage is not None
    assert ours.usage.total_tokens == usages[-1].total_token_count
    signatures = sum(part.thought_signature is not None for part in theirs)
    assert json.dumps([part_metadata(part) for part in made]).count("c2ln") == signatures


def part_metadata(part: Any) -> Any:
    """Return the native data of a part, wherever it is kept."""
    return [dict(part.provider_metadata), getattr(part, "data", None) if not_media(part) else None]


def not_media(part: Any) -> bool:
    return not isinstance(part, ImagePart | AudioPart | DocumentPart)


@given(streams())
def test_any_content_in_any_chunk_is_read_as_the_sdk_holds_it(chunks: list[dict[str, Any]]) -> None:
    """Streamed, and as the list of the same chunks that came in one piece."""
    agree(response(streamed(sse(chunks))), chunks)
    agree(response(whole(chunks)), chunks)


_NULLS = dict.fromkeys({field.alias or name for name, field in types.Part.model_fields.items()})
EMPTY: dict[str, dict[str, Any]] = {
    "null": _NULLS,
    "zero values": {**_NULLS, "text": "", "thought": False, "thoughtSignature": ""},
}
"""Fields of parts as servers may write them that leave none out."""


@given(streams(), st.sampled_from(sorted(EMPTY)))
def test_fields_of_parts_without_content_change_nothing(
    chunks: list[dict[str, Any]], empty: str
) -> None:
    """In parts of any kind, beside the fields that they have."""
    expected = response(streamed(sse(chunks)))
    mutated = json.loads(json.dumps(chunks))
    for one in mutated:
        for candidate in one.get("candidates", []):
            content = candidate["content"]
            content["parts"] = [{**EMPTY[empty], **part} for part in content["parts"]]

    ours = response(streamed(sse(mutated)))

    assert ours.message.content == expected.message.content
    assert (ours.finish_reason, ours.usage) == (expected.finish_reason, expected.usage)


@pytest.mark.parametrize("reason", ["CONTINUATION", "MAX_TOKENS"])
def test_a_response_that_reached_a_limit_ends_by_its_length(reason: str) -> None:
    """The SDK asks for the rest by `continuationToken`, which is kept for callers who do so too."""
    token = {"continuationToken": base64.b64encode(b"t").decode()}
    ours = response(streamed([chunk({"text": "Hi"}, finish=reason, candidate=token)]))

    assert (ours.finish_reason.reason, ours.finish_reason.raw) == ("length", reason)
    assert ours.provider_metadata["google"]["continuationToken"] == token["continuationToken"]


def test_an_account_that_may_not_be_answered_ends_filtered() -> None:
    """`PUP_LIMITED_DISABLED`: the prohibited use policy of the service."""
    ours = response(streamed([chunk(finish="PUP_LIMITED_DISABLED")]))

    assert ours.finish_reason.reason == "content_filter"


def test_other_candidates_are_events_and_not_in_the_response() -> None:
    """As chats, which keep the first candidate only."""
    one = chunk({"text": "first"}, finish="STOP")
    other = {"index": 1, "content": {"parts": [{"text": "second"}]}, "finishReason": "STOP"}
    one["candidates"].append(other)
    events = streamed([one])

    assert response(events).text == "first"
    assert [event.data for event in events if isinstance(event, ProviderEvent)] == [
        {"candidate": other}
    ]
