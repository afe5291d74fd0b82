"""The official client's types accept every body we build, and it reads what we read."""

import json
from typing import Any

import httpx2
import pytest
from attrs import evolve
from google import genai
from google.genai import types
from hypothesis import given

from llmcore.protocols import gemini
from llmcore.protocols.gemini import VERTEX
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from tests.support.strategies.values import requests
from tests.support.wire.gemini import (
    MODEL,
    OLDER,
    chunk,
    everything,
    piece,
    pieces,
    sse,
    streamed,
    whole,
)
from tests.support.wire.protocol import response
from tests.support.wire.vendor_types import gemini_misfits as misfits

# -- what we send


def test_the_types_accept_a_full_body() -> None:
    """All kinds of parts, tools, formats and options."""
    assert misfits(dict(gemini.protocol.body.build(everything(), False).unwrap().body)) == []


def test_the_types_refuse_what_is_wrong() -> None:
    """The check can fail."""
    assert misfits({"contents": [{"role": "user", "parts": [{"txt": "x"}]}]})
    assert misfits({"generationConfig": {"temprature": 1}})
    assert misfits({"prompt": "x"})


@given(requests())
def test_the_types_accept_every_body(asked: LLMRequest) -> None:
    """Whatever a request says, but for what it says in native words."""
    if asked.reasoning is not None and asked.reasoning.effort is not None:
        asked = evolve(asked, reasoning=evolve(asked.reasoning, effort="medium"))
    for model in (MODEL, OLDER):
        plain = evolve(asked, model=model, provider_options={})
        for protocol in (gemini.protocol, gemini.make(VERTEX)):
            result = protocol.body.build(plain, False)
            if isinstance(result, Success):
                faults = misfits(dict(result.unwrap().body))
                # Signatures of the letters of base64 are drawn whose length is of none.
                assert [fault for fault in faults if "'thoughtSignature'" not in fault] == []


# -- what we read


def theirs(body: bytes, *, streaming: bool) -> list[types.GenerateContentResponse]:
    """Return what the official client makes of *body*."""

    def answer(_request: httpx2.Request) -> httpx2.Response:
        kind = "text/event-stream" if streaming else "application/json"
        return httpx2.Response(200, headers={"content-type": kind}, content=body)

    options = types.HttpOptions(httpx_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    client = genai.Client(api_key="k", http_options=options)
    if streaming:
        return [*client.models.generate_content_stream(model="gemini-3-flash", contents="q")]
    return [client.models.generate_content(model="gemini-3-flash", contents="q")]


def parts_of(answers: list[types.GenerateContentResponse]) -> list[types.Part]:
    """Return all parts of the first candidate."""
    candidates = [answer.candidates[0] for answer in answers if answer.candidates]
    contents = [candidate.content for candidate in candidates if candidate.content]
    return [part for content in contents for part in content.parts or []]


def agree(ours: LLMResponse, answers: list[types.GenerateContentResponse]) -> None:
    """Assert that both readings say the same."""
    parts = parts_of(answers)
    words = [part for part in parts if part.text and not part.thought]
    thoughts = [part.text for part in parts if part.text and part.thought]
    calls = [part.function_call for part in parts if part.function_call]
    finish = [a.candidates[0].finish_reason for a in answers if a.candidates]
    usage = answers[-1].usage_metadata
    assert usage is not None
    assert ours.usage is not None

    assert ours.text == "".join(part.text or "" for part in words)
    assert (ours.reasoning or "") == "".join(filter(None, thoughts))
    if not any(call.partial_args or call.will_continue for call in calls):
        made = [(call.name, call.args or {}) for call in calls]
        assert [(call.name, call.arguments) for call in ours.tool_calls] == made
    last = next((reason for reason in reversed(finish) if reason), None)
    assert ours.finish_reason.raw == (last.value if last else None)
    assert ours.usage.total_tokens == usage.total_token_count
    prompt = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    assert ours.usage.input_tokens == prompt
    made_tokens = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    assert ours.usage.output_tokens == made_tokens
    assert ours.usage.cache_read_tokens == usage.cached_content_token_count


USAGE = {
    "promptTokenCount": 20,
    "cachedContentTokenCount": 8,
    "toolUsePromptTokenCount": 5,
    "candidatesTokenCount": 6,
    "thoughtsTokenCount": 4,
    "totalTokenCount": 35,
}
PARTS: list[dict[str, Any]] = [
    {"text": "Let me think.", "thought": True, "thoughtSignature": "c2ln"},
    {"text": "Häll"},
    {"text": "o 🎉", "thoughtSignature": "c2ln"},
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
    {"functionCall": {"id": "c1", "name": "f", "args": {"a": [1, 2.5, None, "x"]}}},
    {"functionCall": {"name": "g"}},
]


@pytest.mark.parametrize("finish", ["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"])
def test_we_agree_on_a_whole_body(finish: str) -> None:
    """Text, thoughts, calls, finish reason and usage."""
    document = chunk(*PARTS, finish=finish, usageMetadata=USAGE)

    agree(response(whole(document)), theirs(json.dumps(document).encode(), streaming=False))


def test_we_agree_on_a_stream() -> None:
    """A part a chunk, and the end by itself."""
    chunks = [*(chunk(part) for part in PARTS), chunk(finish="STOP", usageMetadata=USAGE)]

    agree(response(streamed(chunks)), theirs(sse(chunks), streaming=True))


def test_we_agree_on_a_blocked_prompt() -> None:
    """No candidates, and why."""
    document = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USAGE}
    (answer,) = theirs(json.dumps(document).encode(), streaming=False)
    ours = response(whole(document))

    assert answer.prompt_feedback is not None
    assert answer.prompt_feedback.block_reason is not None
    assert ours.finish_reason.raw == answer.prompt_feedback.block_reason.value
    assert not parts_of([answer])


def test_we_agree_on_pieces_of_arguments() -> None:
    """The client leaves them in pieces; each of them is in what we make of them."""
    chunks = [*pieces(piece("$.a.b", stringValue="x")), chunk(finish="STOP")]
    answers = theirs(sse(chunks), streaming=True)
    calls = [part.function_call for part in parts_of(answers) if part.function_call]
    pieces_ = [one for call in calls for one in call.partial_args or []]
    (made,) = response(streamed(chunks)).tool_calls

    assert [(one.json_path, one.string_value) for one in pieces_] == [("$.a.b", "x")]
    assert made.arguments == {"a": {"b": "x"}}
    agree(response(streamed(chunks)), answers)
