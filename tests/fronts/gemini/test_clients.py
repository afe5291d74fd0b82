"""Google's client against what the front writes: streams, failures, chats, lists; and its bytes."""

import asyncio
import base64
from typing import Any

import pytest
from google.genai import errors, types
from msgspec.structs import replace

from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.front import ClientRequest, ListedModel
from llmcore.fronts.gemini import front, grammar
from llmcore.fronts.sealer import seal_in
from llmcore.schema import json
from llmcore.schema.content import ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.errors import ContextLengthError, OverloadedError, RateLimitError
from llmcore.schema.events import ErrorEvent, ProviderEvent
from llmcore.schema.messages import Message
from tests.fronts.gemini.gemini_kit import (
    CLIENTS,
    HELLO,
    STREAM_PATH,
    asked,
    echo,
    heard,
    messages_of,
    read,
    sdk,
    written,
)
from tests.support.events import call, stream, text, thought

# -- responses


def test_the_client_reads_a_stream_and_a_whole_response() -> None:
    made = written(stream(text("日本", "語🙂\u2028"), call("f", '{"a": "é"}')))
    pieces = list(heard(made.sse))
    client = sdk(json.dumps(made.whole), kind="application/json")
    whole = client.models.generate_content(model="m", contents="x")

    shown = [part.text for piece in pieces for part in piece.parts or () if part.text]
    assert "".join(shown) == "日本語🙂\u2028"
    assert whole.function_calls is not None
    assert whole.function_calls[0].args == {"a": "é"}
    assert whole.candidates is not None
    assert whole.candidates[0].finish_reason == types.FinishReason.STOP


def test_the_asynchronous_client_reads_a_stream() -> None:
    made = written(stream(text("Hi")))

    async def answer() -> str:
        client = sdk(made.sse)
        pieces = await client.aio.models.generate_content_stream(model="m", contents="x")
        return "".join([piece.text or "" async for piece in pieces])

    assert asyncio.run(answer()) == "Hi"


def test_heartbeats_between_events_are_not_seen() -> None:
    """The client refuses comments, so that a stream is kept open by blank lines."""
    made = written(stream(text("a", "b")))
    encoding = front.encoding(asked({}, STREAM_PATH, alt="sse"))
    body = b"".join(encoding.heartbeat + encoding.encode(one) for one in made.chunks)
    pieces = heard(encoding.heartbeat * 40 + body)

    assert "".join(piece.text or "" for piece in pieces) == "ab"


@pytest.mark.parametrize(
    ("client", "heartbeat"),
    [
        ("genai-js/0.24.1", b""),
        ("genkit-node/1.42.0 gl-node/20.20.2", b""),
        ("gl-js/2.3.0 fire/2.3.0", b""),
        ("google-genai-sdk/1.30.0 gl-node/v20.20.2", b"\n"),
        ("my-app/1.0 google-genai-sdk/3.4.0 gl-python/3.12.4", b"\n"),
    ],
)
def test_a_client_that_reads_nothing_between_events_gets_no_heartbeats(
    client: str, heartbeat: bytes
) -> None:
    """Google's clients before the Gen AI SDKs read no event after anything else than an event."""
    request = replace(asked({}, STREAM_PATH, alt="sse"), headers={"x-goog-api-client": client})

    assert front.encoding(request).heartbeat == heartbeat


def test_without_alt_sse_a_stream_is_one_json_array() -> None:
    made = written(stream(text("a", "b")))
    body = made.encoded()

    assert json.loads(body) == made.chunks
    assert front.encoding(asked({}, STREAM_PATH)).content_type.startswith("application/json")


def test_a_failed_array_is_closed_after_its_error() -> None:
    made = written([*stream(text("a"))[:-2], ErrorEvent(OverloadedError("Overloaded"))])

    found: Any = json.loads(made.encoded())
    assert found[-1]["error"]["status"] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("client", "begins", "ends"),
    [
        ("", b"data: ", b"}\n\n"),
        ("google-genai-sdk/3.4.0 gl-python/3.12.4", b"data: ", b"}\n\n"),
        ("google-genai-sdk/1.30.0 gl-python/3.12.4", b"data: ", b"}\n\n"),
        ("google-genai-sdk/3.1.0 gl-node/v20.20.2", b"data: ", b"}\n\n"),
        ("google-genai-sdk/2.20.0 gl-node/web", b"{", b"}\n"),
        ("google-genai-sdk/1.30.0 gl-node/v20.20.2", b"{", b"}\n"),
        ("genai-js/0.24.1", b"{", b"}\n"),
        ("genkit-node/1.42.0 gl-node/20.20.2", b"{", b"}\n"),
        ("gl-js/2.3.0 fire/2.3.0", b"{", b"}\n"),
    ],
)
def test_the_client_raises_a_failure_amid_a_stream(client: str, begins: bytes, ends: bytes) -> None:
    """In the form that the client's version reads: early ones in JavaScript know a bare line."""
    made = written([*stream(text("Reading."))[:-2], ErrorEvent(OverloadedError("Overloaded"))])
    request = replace(
        asked({}, STREAM_PATH, alt="sse"), headers={"x-goog-api-client": client} if client else {}
    )
    encoded = [*map(front.encoding(request).encode, made.chunks)]
    pieces = heard(b"".join(encoded))

    assert next(pieces).text == "Reading."
    with pytest.raises(errors.ServerError, match="Overloaded") as caught:
        next(pieces)
    assert caught.value.code == 503
    assert encoded[-1].startswith(begins)
    assert encoded[-1].endswith(ends)


# -- chats


class _Chat:
    """A chat whose requests and responses go through the front."""

    def __init__(self, first: Any) -> None:
        self.made = written(first)
        self.client = sdk(self.made.sse)
        self.chat = self.client.chats.create(model="m")
        list(self.chat.send_message_stream("Hello"))

    def next(self, protocol_id: str) -> tuple[Message, ...]:
        """Return the messages of the next request."""
        history = [
            json.loads(content.model_dump_json(by_alias=True, exclude_none=True))
            for content in self.chat.get_history(curated=True)
        ]
        return messages_of(*history, HELLO, protocol_id=protocol_id)


@pytest.mark.parametrize("protocol_id", ["anthropic-messages", "openai-responses", "gemini"])
def test_a_chat_of_the_client_keeps_what_it_does_not_see(protocol_id: str) -> None:
    """A content without parts would make the client forget the whole turn."""
    signed = thought("Two files.", signature="c2lnbmVk")
    chat = _Chat(stream(signed, text("Hel", "lo"), protocol="anthropic-messages"))
    _, answer, _ = chat.next(protocol_id)

    assert answer.content == (ReasoningPart("Two files.", signature="c2lnbmVk"), TextPart("Hello"))
    assert answer.origin is not None
    assert answer.origin.protocol == "anthropic-messages"


# -- state


LOOP = [
    thought("First", id="r1", encrypted="ZW5jMQ=="),
    call("f", '{"a": 1}', id="c1"),
    call("g", "{}", id="c2"),
    thought("Then", id="r2", signature="c2ln"),
    call("h", "{}", id="c3"),
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_loop_of_tools_gives_every_upstream_its_state_back(client: str) -> None:
    """Reasoning between calls comes back in its place, calls under their ids."""
    made = written(stream(*LOOP, protocol="openai-responses", reason="tool_calls"))
    _, answer = messages_of(HELLO, *echo(made, client), protocol_id="openai-responses")

    assert answer.content == (
        ReasoningPart("First", encrypted="ZW5jMQ=="),
        ToolCallPart("c1", "f", {"a": 1}),
        ToolCallPart("c2", "g", {}),
        ReasoningPart("Then", signature="c2ln"),
        ToolCallPart("c3", "h", {}),
    )


def test_only_the_first_of_parallel_calls_is_signed() -> None:
    made = written(stream(*LOOP[:3]))
    signed = [seal_in(part.get("thoughtSignature")) is not None for part in made.parts]

    assert signed == [False, True, False, False]


def test_the_same_response_is_sealed_the_same_way() -> None:
    """Prompts that begin alike are found in caches."""
    assert written(stream(*LOOP)).chunks == written(stream(*LOOP)).chunks


def test_sealed_state_is_padded_base64_of_the_standard_alphabet() -> None:
    made = written(stream(*LOOP))
    (first, *_) = [part["thoughtSignature"] for part in made.parts if "thoughtSignature" in part]

    assert base64.b64decode(first, validate=True).startswith(b"ob1.")


def test_reasoning_text_without_a_signature_is_kept_for_who_needs_it() -> None:
    """Some servers refuse a turn with calls whose reasoning is missing."""
    made = written(stream(thought("Because."), call("f", "{}")))
    _, answer = messages_of(HELLO, *echo(made, "gemini-cli"))

    assert answer.reasoning == "Because."


def test_a_text_that_the_client_changed_is_taken_and_reported() -> None:
    made = written(stream(text("Hello", provider_metadata={"acme": {"id": "1"}})))
    (content,) = echo(made, "whole")
    content["parts"][0]["text"] = "Hallo"
    result = read({"contents": [HELLO, content, HELLO]})

    assert result.request.messages[1].content == (TextPart("Hallo"),)
    assert [one.code for one in result.diagnostics] == ["opaque-data-dropped"]


def test_native_parts_of_other_providers_come_back_unseen() -> None:
    native = ProviderEvent("openai", {"type": "compaction", "id": "1"}, replay=True)
    made = written(stream(native, text("So.")))
    _, answer = messages_of(HELLO, *echo(made, "google-genai"))

    assert [part["text"] for part in made.parts] == ["So.", ""]
    assert len(answer.content) == 2


# -- errors before a response


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (FrontError(status=400, message="m"), 400, "INVALID_ARGUMENT"),
        (FrontError(status=401, message="m"), 401, "UNAUTHENTICATED"),
        (FrontError(status=402, message="m"), 402, "RESOURCE_EXHAUSTED"),
        (FrontError(status=403, message="m"), 403, "PERMISSION_DENIED"),
        (FrontError(status=404, message="m"), 404, "NOT_FOUND"),
        (FrontError(status=409, message="m"), 409, "ABORTED"),
        (FrontError(status=413, message="m"), 413, "INVALID_ARGUMENT"),
        (FrontError(status=418, message="m"), 418, "INVALID_ARGUMENT"),
        (FrontError(status=429, message="m"), 429, "RESOURCE_EXHAUSTED"),
        (FrontError(status=502, message="m"), 502, "INTERNAL"),
        (FrontError(status=504, message="m"), 504, "DEADLINE_EXCEEDED"),
        (FrontError(status=529, message="m"), 503, "UNAVAILABLE"),
    ],
)
def test_errors_have_googles_form(error: FrontError, status: int, word: str) -> None:
    made = front.error(error)
    client = sdk(json.dumps(made.body), status=made.status, kind="application/json")
    with pytest.raises(errors.APIError) as caught:
        client.models.generate_content(model="m", contents="x")

    assert made.status == status
    assert (caught.value.code, caught.value.status, caught.value.message) == (status, word, "m")


@pytest.mark.parametrize(
    ("path", "query", "in_list"),
    [
        (STREAM_PATH, {}, True),
        (STREAM_PATH + "/", {"$alt": "json;enum-encoding=int"}, True),
        (STREAM_PATH, {"alt": "sse"}, False),
        ("/v1beta/models/m:generateContent", {}, False),
    ],
)
def test_an_error_is_in_a_list_where_the_stream_would_be_one(
    path: str, query: dict[str, str], in_list: bool
) -> None:
    form = front.error_form(ClientRequest(body={}, path=path, query=query))
    error = FrontError(status=400, message="m")

    alone = front.error(error).content
    assert form(error).content == ([alone] if in_list else alone)


def test_rate_limit_error_has_the_time_to_wait() -> None:
    made = front.error(from_llm_error(RateLimitError("slow down", retry_after=12.5)))
    error: Any = made.body["error"]

    kinds = {detail["@type"].rpartition(".")[2]: detail for detail in error["details"]}
    assert kinds["RetryInfo"]["retryDelay"] == "12.5s"
    assert "QuotaFailure" not in kinds
    assert (made.headers["retry-after"], made.headers["retry-after-ms"]) == ("13", "12500")


def test_a_prompt_that_is_too_long_has_googles_words() -> None:
    made = front.error(from_llm_error(ContextLengthError("maximum context length is 8192")))
    error: Any = made.body["error"]

    assert "exceeds the maximum number of tokens allowed" in error["message"]
    assert error["message"].endswith("maximum context length is 8192")


def test_a_prompt_that_is_too_long_has_the_numbers_that_are_known() -> None:
    counted = ContextLengthError("too many", actual_tokens=9000, limit_tokens=8192)
    error: Any = front.error(from_llm_error(counted)).body["error"]

    assert error["message"] == (
        "The input token count (9000) exceeds the maximum number of tokens allowed (8192). too many"
    )


def test_a_prompt_that_fits_without_its_output_has_no_numbers() -> None:
    why = "requested 9000 tokens (8000 in the messages, 1000 in the completion)"
    counted = ContextLengthError(why, actual_tokens=9000, limit_tokens=8192)
    error: Any = front.error(from_llm_error(counted)).body["error"]

    assert error["message"].startswith("The input token count exceeds the maximum number of tokens")


def test_a_field_at_fault_is_named() -> None:
    made = front.error(FrontError(status=400, message="m", param="contents[0].role"))
    error: Any = made.body["error"]
    (detail,) = error["details"]

    assert detail["fieldViolations"] == [{"field": "contents[0].role", "description": "m"}]


# -- models


MODELS = [
    ListedModel(id=f"m{number}", owner="acme", max_input_tokens=8, max_output_tokens=4)
    for number in range(3)
]


def test_the_client_lists_models_and_reads_one() -> None:
    listed = sdk(json.dumps(front.models(MODELS, {})), kind="application/json")
    one = sdk(json.dumps(front.model(MODELS[0])), kind="application/json")
    model = one.models.get(model="m0")

    assert [found.name for found in listed.models.list()] == ["models/m0", "models/m1", "models/m2"]
    assert (model.name, model.input_token_limit, model.output_token_limit) == ("models/m0", 8, 4)


def test_pages_follow_one_another() -> None:
    first: Any = front.models(MODELS, {"pageSize": "2"})
    rest: Any = front.models(MODELS, {"pageSize": "2", "pageToken": first["nextPageToken"]})

    assert [one["name"] for one in (*first["models"], *rest["models"])] == [
        "models/m0",
        "models/m1",
        "models/m2",
    ]
    assert "nextPageToken" not in rest


@pytest.mark.parametrize("query", [{"pageSize": "many"}, {"pageToken": "-1"}])
def test_an_invalid_page_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(FrontError):
        front.models(MODELS, query)


# -- the grammar

FRAME: dict[str, Any] = {"modelVersion": "m", "responseId": "r", "usageMetadata": {}}


def chunk(*parts: Any, **fields: Any) -> dict[str, Any]:
    """Return a chunk of a stream."""
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "index": 0, **fields}], **FRAME}


GOOD = chunk({"text": "a"}, finishReason="STOP")
CALL = {"functionCall": {"id": "1", "name": "f", "args": {}}}


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "no finishReason"),
        ([chunk({"text": "a"})], "no finishReason"),
        ([GOOD, GOOD], "comes after the end"),
        ([chunk(finishReason="STOP")], "no parts"),
        ([chunk({"text": "a", **CALL}, finishReason="STOP")], "a part is"),
        ([chunk({"text": None}, finishReason="STOP")], "is null"),
        ([chunk({"text": "a", "thoughtSignature": "a-b"}, finishReason="STOP")], "not base64"),
        ([chunk(CALL, CALL, finishReason="STOP")], "not its own"),
        ([chunk({"text": "a"}), {**GOOD, "responseId": "s"}], "responseId changed"),
        ([{**GOOD, "usageMetadata": {"promptTokenCount": -1}}], "a count"),
        ([FRAME], "is empty"),
        ([{**GOOD, "usageMetadata": None}], "usageMetadata is missing"),
        ([{"error": {"message": "m"}}], "no code"),
    ],
)
def test_the_grammar_names_what_breaks_it(events: list[Any], problem: str) -> None:
    assert any(problem in found for found in grammar.violations(events))


def test_good_streams_keep_the_grammar() -> None:
    error = {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}
    for events in ([GOOD], [chunk({"text": "a"}), GOOD], [chunk({"text": "a"}), error]):
        assert grammar.violations(events) == []
