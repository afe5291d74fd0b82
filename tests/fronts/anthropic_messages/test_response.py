"""Responses of other providers on Anthropic's wire: blocks, stop reasons, counts, sealed state."""

import base64
import json
from typing import Any

import anthropic
import pytest
from attrs import evolve

from llmcore.folds.response import collect
from llmcore.fronts.anthropic_messages import ReadMessagesRequest, front
from llmcore.schema import errors
from llmcore.schema.content import Citation, ReasoningPart, ToolCallPart
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    ErrorEvent,
    File,
    LLMEvent,
    Source,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage
from llmcore.testing import recorded_events
from tests.fronts.anthropic_messages.messages_kit import (
    ASK,
    GEMINI,
    HELLO,
    MESSAGES,
    asked,
    built,
    failure_body,
    messages_of,
    read,
    sdk_stream,
    sdk_whole,
    upstream,
    written,
)
from tests.support.events import call, stream, text, thought

GPT = {"openai": {"id": "msg_1"}}
SIGNED = {"google": {"thoughtSignature": "c2ln"}}


def test_calls_that_come_interleaved_are_blocks_one_after_another() -> None:
    """Each with its own input, under indices without a gap; the first is streamed as it comes."""
    ids = ("a", "b", "c")
    events: list[LLMEvent] = [
        *(ToolInputStart(name, f"tool_{name}") for name in ids),
        *(ToolInputDelta(name, '{"at":') for name in ids),
        *(ToolInputDelta(name, f'"{name}"}}') for name in ids),
        *(ToolInputEnd(name) for name in ids),
    ]
    made = written(stream(events, reason="tool_calls"))

    assert [(b["name"], b["input"]) for b in made.content] == [
        (f"tool_{name}", {"at": name}) for name in ids
    ]
    first = [e for batch in made.batches[:6] for e in batch if e["type"] == "content_block_delta"]
    assert [event["delta"]["partial_json"] for event in first] == ['{"at":']


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param((), {}, id="nothing"),
        pytest.param(("null",), {}, id="null"),
        pytest.param((" ", "{", '"a": 1}'), {"a": 1}, id="white space first"),
        pytest.param(('"{\\"a\\"', ': 1}"'), {"a": 1}, id="encoded twice"),
        pytest.param(("look here",), {"input": "look here"}, id="no JSON"),
    ],
)
def test_the_input_of_a_call_is_an_object(pieces: tuple[str, ...], expected: Any) -> None:
    """Streamed and whole, whatever the upstream's model wrote."""
    made = written(stream(call("look", *pieces), reason="tool_calls"))

    assert made.content[0]["input"] == expected
    block: Any = sdk_stream(made.body).content[0]
    assert block.input == expected


def test_a_hundred_deltas_are_one_block() -> None:
    """Each delta is one event, and only that."""
    made = written(stream(text(*("word " for _ in range(100)))))

    assert made.types == ["text"]
    later = [batch for batch in made.batches if len(batch) == 1]
    assert sum("delta" in event for (event,) in later) == 99


@pytest.mark.parametrize(
    ("reason", "raw", "calls", "expected"),
    [
        ("stop", "stop", 0, "end_turn"),
        ("stop", "stop", 1, "tool_use"),
        ("tool_calls", "tool_calls", 1, "tool_use"),
        ("tool_calls", "tool_calls", 0, "end_turn"),
        ("length", "length", 0, "max_tokens"),
        ("length", "model_context_window_exceeded", 0, "model_context_window_exceeded"),
        ("content_filter", "SAFETY", 0, "refusal"),
        ("other", "pause_turn", 0, "pause_turn"),
        ("other", "eos", 0, "end_turn"),
        ("other", "UNEXPECTED_TOOL_CALL", 1, "tool_use"),
    ],
)
def test_a_finish_reason_has_its_stop_reason(
    reason: str, raw: str, calls: int, expected: str
) -> None:
    """By what the client has to do next."""
    segments = [call("look", "{}", id=f"c{number}") for number in range(calls)]
    newer = raw == "model_context_window_exceeded"  # than the contract
    made = written(stream(text("Well."), *segments, reason=reason, raw=raw), checked=not newer)

    assert made.whole["stop_reason"] == expected
    assert made.end["delta"]["stop_reason"] == expected
    assert ("stop_details" in made.whole) == (expected == "refusal")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"city": "Ber', {}),
        ('{"city": "Bergen", "days": [1, 2', {"city": "Bergen", "days": [1, 2]}),
        ("{", {}),
        ('{"city": nowhere}', {"input": '{"city": nowhere}'}),
        ('{"city": NaN}', {"input": '{"city": NaN}'}),
        ('"a text"', {"input": '"a text"'}),
    ],
    ids=["in a string", "in a list", "at the start", "no JSON", "no number", "no object"],
)
def test_the_input_of_a_call_that_was_cut_is_what_the_sdk_reads_of_a_stream(
    text: str, expected: dict[str, Any]
) -> None:
    """Whole and streamed; what no JSON of an object begins with is a text of its own."""
    made = written(stream(call("look", text), reason="length", raw="length"))

    assert made.whole["stop_reason"] == "max_tokens"
    assert made.content[0]["input"] == expected
    if text not in ('{"city": nowhere}', '{"city": NaN}'):  # the SDK refuses one, reads the other
        assert sdk_stream(made.body).content[0].to_dict()["input"] == expected


@pytest.mark.parametrize(
    ("native", "reason", "expected"),
    [
        ({"openai": {"stop_reason": "END"}}, "stop", ("stop_sequence", "END")),
        ({"openai": {"stop_reason": 128009}}, "stop", ("end_turn", None)),
        ({"openai": {"stop_reason": "</s>"}}, "stop", ("end_turn", None)),
        ({"openai": {"matched_stop": "END"}}, "stop", ("stop_sequence", "END")),
        (
            {"bedrock": {"additionalModelResponseFields": {"stop_sequence": "END"}}},
            "stop",
            ("stop_sequence", "END"),
        ),
        ({"openai": {"stop_reason": "END"}}, "length", ("max_tokens", None)),
        ({}, "stop", ("end_turn", None)),
    ],
    ids=["vLLM", "a token", "the model's own end", "SGLang", "Converse", "cut", "not named"],
)
def test_a_stop_sequence_of_the_client_is_named_where_the_upstream_names_it(
    native: Any, reason: str, expected: tuple[str, str | None]
) -> None:
    """Only one that the client asked for."""
    asked = LLMRequest(model="m", messages=(), generation=GenerationOptions(stop=("END",)))
    events = stream(text("Well."), reason=reason, raw=reason, provider_metadata=native)
    made = written(events, ReadMessagesRequest(request=asked))

    assert (made.whole["stop_reason"], made.whole["stop_sequence"]) == expected
    delta = made.end["delta"]
    assert (delta["stop_reason"], delta["stop_sequence"]) == expected


def test_what_anthropics_server_did_to_the_request_is_shown() -> None:
    """As its API has it: at the end of a stream, but for the diagnostics, which begin one."""
    facts: Any = {
        "context_management": {"applied_edits": []},
        "input_transformations": [{"type": "thinking_dropped", "path": "p", "reason": "r"}],
        "diagnostics": {"cache_miss_reason": {"type": "model_changed"}},
    }
    events = stream(text("Well."), provider_metadata={"anthropic": facts}, protocol=MESSAGES)
    made = written(events)

    assert {name: made.whole[name] for name in facts} == facts
    shown = {name: made.end[name] for name in facts if name in made.end}
    assert shown == {name: facts[name] for name in facts if name != "diagnostics"}


def test_the_stop_sequence_that_anthropic_names_is_shown() -> None:
    """Also where the request is not known."""
    metadata = {"anthropic": {"stop_sequence": "END"}}
    made = written(
        stream(text("Well."), raw="stop_sequence", provider_metadata=metadata, protocol=MESSAGES)
    )

    assert (made.whole["stop_reason"], made.whole["stop_sequence"]) == ("stop_sequence", "END")


@pytest.mark.parametrize(
    ("reason", "expected"), [("stop", "end_turn"), ("content_filter", "refusal")]
)
def test_a_refusal_in_words_is_a_text_that_a_filter_alone_ends(reason: str, expected: str) -> None:
    """Clients discard the text of a response that ends with `refusal`."""
    made = written(stream(text("I will not.", refusal=True), reason=reason))

    assert made.content == [{"type": "text", "text": "I will not."}]
    assert made.whole["stop_reason"] == expected


def test_why_anthropic_stopped_a_response_is_in_the_details() -> None:
    """Not in a text, which the model did not write."""
    details = {"type": "refusal", "category": "cyber", "explanation": "Not that."}
    metadata = {"anthropic": {"stop_details": details}}
    explanation: list[LLMEvent] = [
        TextStart("t1", refusal=True, provider_metadata=metadata),
        TextDelta("t1", "Not that."),
        TextEnd("t1", "Not that.", refusal=True, provider_metadata=metadata),
    ]
    events = stream(
        text("Well,"),
        explanation,
        reason="content_filter",
        raw="refusal",
        provider_metadata=metadata,
    )
    made = sdk_stream(written(events).body)

    assert made.stop_details is not None
    assert made.stop_details.category == "cyber"
    assert [block.to_dict() for block in made.content] == [{"type": "text", "text": "Well,"}]
    assert written(events).content == [{"type": "text", "text": "Well,"}]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage.make(input_tokens=1200, output_tokens=90, cache_read_tokens=1000), (200, 0, 1000)),
        (Usage.make(input_tokens=50, output_tokens=9, cache_write_tokens=30), (20, 30, 0)),
        (Usage.make(input_tokens=5, output_tokens=9), (5, 0, 0)),
    ],
)
def test_the_counts_of_the_input_add_up_to_the_whole_prompt(usage: Usage, expected: Any) -> None:
    """They come at the end, and replace the zeros of the beginning."""
    made = written(stream(text("Hi"), usage=usage))
    counts = sdk_stream(made.body).usage

    start = made.events[0]["message"]["usage"]
    assert (start["input_tokens"], start["output_tokens"]) == (0, 0)
    shown = (
        counts.input_tokens,
        counts.cache_creation_input_tokens,
        counts.cache_read_input_tokens,
    )
    assert shown == expected
    assert sum(expected) == usage.input_tokens
    assert counts.output_tokens == usage.output_tokens


@pytest.mark.parametrize(
    ("counted", "shown"),
    [(None, 90), (Usage.make(input_tokens=700, output_tokens=0, cache_read_tokens=300), 400)],
)
def test_a_stream_begins_with_an_estimate_where_nothing_is_counted_yet(
    counted: Usage | None, shown: int
) -> None:
    """Some clients read the input there alone; others replace it by the count of the end."""
    begin, *rest = stream(text("Hi"), usage=Usage.make(input_tokens=1000, output_tokens=9))
    assert isinstance(begin, StreamStart)
    context = ReadMessagesRequest(estimated_input=90)
    made = written([evolve(begin, usage=counted), *rest], context)

    assert made.events[0]["message"]["usage"]["input_tokens"] == shown
    assert sdk_stream(made.body).usage.input_tokens == 1000


def test_what_is_not_a_count_of_tokens_is_at_the_start_of_a_stream_too() -> None:
    """The SDK reads the tier, the place and the parts of what was cached there alone."""
    about = {"service_tier": "priority", "inference_geo": "eu"}
    cached = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 0}
    begun = {"input_tokens": 5, "output_tokens": 1, "cache_creation": cached, **about}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    used = {"output_tokens": 1, "server_tool_use": {"web_search_requests": 0}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": used}
    frames = [
        {"type": "message_start", "message": {**message, "usage": begun}},
        ended,
        {"type": "message_stop"},
    ]
    events = recorded_events(
        MESSAGES,
        status=200,
        headers={"content-type": "text/event-stream"},
        body=b"".join(b"data: %s\n\n" % json.dumps(frame).encode() for frame in frames),
        streaming=True,
    )
    made = written(events)

    streamed = sdk_stream(made.body).usage.model_dump(exclude_none=True)
    assert streamed == sdk_whole(made.whole).usage.model_dump(exclude_none=True)
    assert streamed.items() >= about.items()
    assert streamed["cache_creation"] == cached
    assert streamed["server_tool_use"] == {"web_search_requests": 0, "web_fetch_requests": 0}


def test_a_response_without_counts_has_numbers_all_the_same() -> None:
    """Clients compute with them."""
    made = written(stream(text("Hi")))

    assert made.end["usage"]["output_tokens"] == 0
    assert made.whole["usage"]["input_tokens"] == 0


# -- thinking and sealed state


def test_thinking_without_a_signature_is_a_block_before_the_text() -> None:
    """The client gets a signature that only we can read."""
    made = written(stream(thought("Two ", "files."), text("Reading.")))

    assert made.types == ["thinking", "text"]
    assert made.content[0]["thinking"] == "Two files."
    assert made.content[0]["signature"].startswith("b2IxL")


def test_a_signature_survives_a_client_that_decodes_its_base64() -> None:
    """Google's ADK keeps signatures as bytes, as its own API has them; Anthropic's are base64."""
    made = written(stream(thought("Two files."), text("Reading.")))
    shown, said = made.content
    data = base64.b64decode(shown["signature"], validate=True)
    decoded = {**shown, "signature": base64.b64encode(data).decode()}
    back = messages_of(HELLO, {"role": "assistant", "content": [decoded, said]})

    assert back == messages_of(HELLO, made.echo())
    assert back[1].origin is not None


def test_encrypted_thinking_without_text_is_redacted() -> None:
    """It comes back as it was, to the provider that made it."""
    events = stream(
        thought(encrypted="gAAA", provider_metadata={"openai": {"id": "rs_1"}}), text("Hi")
    )
    made = written(events)
    back = messages_of(HELLO, made.echo(), HELLO)[1]

    assert made.types == ["redacted_thinking", "text"]
    assert back.content[0] == ReasoningPart(
        "", encrypted="gAAA", provider_metadata={"openai": {"id": "rs_1"}}
    )
    assert back.origin is not None
    assert back.origin.provider == "acme"


def test_thinking_is_shown_without_its_text_where_the_client_asks_for_that() -> None:
    """`display: omitted` gives blocks with a signature alone."""
    body = {"thinking": {"type": "adaptive", "display": "omitted"}}
    made = written(stream(thought("Secret."), text("Hi")), read(body))

    assert made.content[0]["thinking"] == ""
    assert messages_of(HELLO, made.echo())[1].content[0] == ReasoningPart("Secret.")


def test_a_signature_on_a_call_comes_back_to_its_call() -> None:
    """As Gemini demands; a block after the call carries it."""
    signed = {"google": {"thoughtSignature": "c2ln"}}
    made = written(
        stream(call("look", "{}", provider_metadata=signed), reason="tool_calls", protocol=GEMINI)
    )
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "seen"}
    back = messages_of(HELLO, made.echo(), {"role": "user", "content": [result]})

    assert made.types == ["tool_use", "redacted_thinking"]
    assert back[1].content == (ToolCallPart("call_1", "look", {}, provider_metadata=signed),)


@pytest.mark.parametrize(
    ("metadata", "parts", "types"),
    [
        (GPT, [], ["thinking", "text"]),
        (GPT, [call("look", "{}")], ["thinking", "text", "tool_use", "redacted_thinking"]),
        (SIGNED, [], ["thinking", "text"]),
        (SIGNED, [call("look", "{}")], ["thinking", "text", "tool_use", "redacted_thinking"]),
    ],
    ids=["gpt", "gpt-call", "gemini", "gemini-call"],
)
def test_a_text_that_ends_a_response_is_its_last_block(
    metadata: Any, parts: list[Any], types: list[str]
) -> None:
    """Programs print the last block as the result, as `claude -p` does; calls need their state."""
    thinking = thought("Hm.", encrypted="gAAA", provider_metadata={"openai": {"id": "rs_1"}})
    made = written(stream(thinking, text("Done.", provider_metadata=metadata), *parts))

    assert made.types == types
    lost = [one.code for one in made.writer.diagnostics]
    assert lost == (["opaque-data-dropped"] if metadata is SIGNED and not parts else [])


SEARCH = call("file_search", "{}", id="fs_1", hosted=True, provider_metadata={"openai": {"n": 1}})
DRAWN = File(id="f", media_type="image/png", data=b"\x89PNG")
SEALED_THOUGHT = thought("", encrypted="gAAA")


@pytest.mark.parametrize(
    ("parts", "types"),
    [
        ([SEARCH, text("Done.")], ["redacted_thinking", "text"]),
        ([DRAWN, text("Done.")], ["redacted_thinking", "text"]),
        ([text("Look:"), DRAWN, text("Done.", id="u")], ["text", "redacted_thinking", "text"]),
        ([text("Done."), DRAWN], ["text", "redacted_thinking"]),
        (
            [text("Well,"), SEALED_THOUGHT, text("done.", id="u")],
            ["text", "redacted_thinking", "text"],
        ),
        (
            [text("Done."), SEALED_THOUGHT, call("a", "{}")],
            ["text", "tool_use", "redacted_thinking"],
        ),
    ],
    ids=["search", "file", "file-between", "file-last", "thought-between", "thought-call"],
)
def test_what_is_hidden_before_a_text_comes_back_from_a_block_before_it(
    parts: list[Any], types: list[str]
) -> None:
    """So that programs which print the last block print the text. Nothing is lost."""
    events = stream(*parts)
    made = written(events)
    back = messages_of(HELLO, made.echo())

    assert made.types == types
    assert "opaque-data-dropped" not in [one.code for one in made.writer.diagnostics]
    assert back[1].content == collect(events).unwrap().message.content


def test_what_is_hidden_after_thinking_is_kept_for_clients_that_send_only_thinking_back() -> None:
    """The block before the text and the one at the end are both missing then."""
    signed = {"google": {"thoughtSignature": "c2ln"}}
    events = stream(
        thought("Hm."), SEARCH, text("So:"), call("look", "{}", provider_metadata=signed)
    )
    made = written(events)
    sent = [block for block in made.content if block["type"] != "redacted_thinking"]
    keeping = evolve(upstream(), kept_state=made.writer.sealed_calls.get)
    turn = {"role": "assistant", "content": sent}
    back = front.read(asked({"messages": [HELLO, turn]}), keeping).unwrap().request.messages[1]

    assert len(made.content) == len(sent) + 2
    assert back.content == collect(events).unwrap().message.content


@pytest.mark.parametrize("names", [["look"], ["look", "go"]])
@pytest.mark.parametrize("keeps", [True, False])
def test_thinking_that_comes_back_empty_has_the_state_that_was_kept(
    names: list[str], keeps: bool
) -> None:
    """As SDKs from before thinking do, which keep only the beginning of a block of thinking.

    The state after it, in a block of its own, is that of the calls alone.
    """
    calls = [
        call(name, "{}", id=name, provider_metadata={"openai": {"id": name}}) for name in names
    ]
    thinking = thought("Hm.", encrypted="gAAA", provider_metadata={"openai": {"id": "rs_1"}})
    events = stream(thinking, text("So:", provider_metadata=GPT), *calls)
    made = written(events)
    empty = {"type": "thinking", "thinking": "", "signature": ""}
    sent = [empty if block["type"] == "thinking" else block for block in made.content]
    keeping = evolve(upstream(), kept_state=(made.writer.sealed_calls if keeps else {}).get)
    turn = {"role": "assistant", "content": sent}
    read = front.read(asked({"messages": [HELLO, turn]}), keeping).unwrap()
    back, whole = read.request.messages[1], collect(events).unwrap().message

    assert "redacted_thinking" in made.types
    assert back.content == (whole.content if keeps else whole.content[1:])
    assert read.diagnostics == ()


def test_a_thought_without_words_after_the_last_text_is_left_out() -> None:
    """As OpenRouter sends Gemini's: no model requires it of the turn before."""
    made = written(stream(text("Done."), SEALED_THOUGHT))

    assert made.types == ["text"]
    assert [one.code for one in made.writer.diagnostics] == ["opaque-data-dropped"]


def test_a_signature_that_comes_back_before_its_call_is_the_calls() -> None:
    """Clients that keep thinking apart from calls send all of it first, as LiteLLM does."""
    signed = {"google": {"thoughtSignature": "c2ln"}}
    events = stream(thought("Look."), call("look", "{}", provider_metadata=signed), protocol=GEMINI)
    shown, called, state = written(events).content

    echo = {"role": "assistant", "content": [shown, state, called]}
    assert messages_of(HELLO, echo) == messages_of(HELLO, written(events).echo())


def test_state_that_comes_back_between_a_text_and_its_call_is_read() -> None:
    """Claude Code sends calls last."""
    signed = {"google": {"thoughtSignature": "c2ln"}}
    called = [text("Reading."), call("look", "{}", provider_metadata=signed)]
    made = written(stream(*called, reason="tool_calls", protocol=GEMINI))
    said, calling, state = made.content

    echo = {"role": "assistant", "content": [said, state, calling]}
    assert messages_of(HELLO, echo) == messages_of(HELLO, made.echo())


def test_the_ids_of_stored_items_alone_need_no_block() -> None:
    """A plain response of OpenAI's stays plain."""
    stored = {"openai": {"id": "msg_1", "phase": "final_answer"}}
    direct = {"anthropic": {"caller": {"type": "direct"}}}
    made = written(
        stream(text("Hi", provider_metadata=stored), call("look", provider_metadata=direct))
    )

    assert made.types == ["text", "tool_use"]


def test_no_block_carries_state_where_thinking_is_off_and_no_tool_is_called() -> None:
    """The loss is reported."""
    context = read({"thinking": {"type": "disabled"}})
    signed = {"google": {"thoughtSignature": "c2ln"}}
    made = written(stream(text("Hi", provider_metadata=signed)), context)

    assert made.types == ["text"]
    assert [one.code for one in made.writer.diagnostics] == ["opaque-data-dropped"]


@pytest.mark.parametrize(
    ("parts", "types", "codes"),
    [
        ([], ["text"], ["opaque-data-dropped"]),
        ([call("look", "{}")], ["text", "tool_use", "redacted_thinking"], []),
    ],
    ids=["text", "call"],
)
def test_thinking_of_a_model_that_always_thinks_is_not_shown_where_it_is_off(
    parts: list[Any], types: list[str], codes: list[str]
) -> None:
    """Clients that turn it off read the first block as the text."""
    context = read({"thinking": {"type": "disabled"}})
    made = written(stream(thought("Hm.", signature="c2ln"), text("Hi"), *parts), context)

    assert made.types == types
    assert "Hm." not in str(made.content)
    assert [one.code for one in made.writer.diagnostics] == codes


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses", GEMINI, MESSAGES])
def test_sealed_state_is_never_sent_to_a_vendor(protocol_id: str) -> None:
    """A conversation that began elsewhere keeps its texts and calls."""
    made = written(stream(thought("Hm.", signature="sig"), text("So."), call("look", "{}")))
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "seen"}
    body = {"messages": [HELLO, made.echo(), {"role": "user", "content": [result]}]}
    sent = str(built(read(body, protocol_id).request, protocol_id))

    assert "b2IxL" not in sent
    assert "So." in sent
    assert "look" in sent


def test_a_call_gets_an_id_that_no_other_call_of_the_conversation_has() -> None:
    """Some servers number the calls of each response from 0."""
    use = {"type": "tool_use", "id": "call_0", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "call_0", "content": "seen"}
    turns = [
        HELLO,
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    context = read({"messages": turns})
    made = written(stream(call("look", "{}", id="call_0"), reason="tool_calls"), context)

    assert made.content[0]["id"] != "call_0"


@pytest.mark.parametrize("given", ["call.1:x", "x" * 80, "é"])
def test_the_id_of_a_call_is_short_and_of_plain_characters(given: str) -> None:
    """As the API has it."""
    made = written(stream(call("look", "{}", id=given), reason="tool_calls"))

    shown = made.content[0]["id"]
    assert len(shown) <= 64
    assert shown.replace("-", "").replace("_", "").isascii()


# -- searches


def test_pages_that_a_response_rests_on_are_shown_as_a_search_where_the_client_offers_one() -> None:
    """Gemini names them at the end of its response."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    context = read({"tools": [search]}, GEMINI)
    cited = Citation(url="https://a.example/", title="A")
    grounding = {"google": {"groundingMetadata": {"webSearchQueries": ["what is a"]}}}
    events = stream(
        [TextStart("t"), TextDelta("t", "It is."), TextEnd("t", citations=(cited,))],
        Source(id="s", url="https://a.example/", title="A"),
        provider_metadata=grounding,
    )
    made = written(events, context)

    assert made.types == ["text", "server_tool_use", "web_search_tool_result"]
    assert made.content[0]["citations"][0]["url"] == "https://a.example/"
    deltas = [one["delta"] for one in made.events if one["type"] == "content_block_delta"]
    assert [d["citation"] for d in deltas if d["type"] == "citations_delta"] == (
        made.content[0]["citations"]
    )
    assert made.content[1]["input"] == {"query": "what is a"}
    assert [page["title"] for page in made.content[2]["content"]] == ["A"]
    assert sdk_stream(made.body).content[2].type == "web_search_tool_result"


def test_a_search_of_another_provider_has_anthropics_form_and_comes_back_as_its_own() -> None:
    """Its native item is sealed beside what is shown."""
    item = {"openai": {"item": {"type": "web_search_call", "id": "ws_1"}}}
    events = stream(
        call("web_search", '{"query": "a"}', id="ws_1", hosted=True, provider_metadata=item),
        ToolResult(
            "ws_1",
            {"sources": [{"url": "https://a.example/"}]},
            name="web_search",
            provider_executed=True,
        ),
        text("It is."),
    )
    made = written(events)
    back = messages_of(HELLO, made.echo())[1]

    assert made.types == ["server_tool_use", "web_search_tool_result", "redacted_thinking", "text"]
    assert made.content[0]["id"].startswith("srvtoolu_")
    found = back.content[0]
    assert isinstance(found, ToolCallPart)
    assert (found.id, found.provider_metadata) == ("ws_1", item)


def test_what_a_search_found_elsewhere_is_text_for_another_upstream() -> None:
    """Blocks that nothing of ours covers are not replayed."""
    blocks = [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "a"},
        },
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://a.example/",
                    "title": "A",
                    "encrypted_content": "xyz",
                }
            ],
        },
        {"type": "text", "text": "It is."},
    ]
    turns = [HELLO, {"role": "assistant", "content": blocks}, HELLO]

    sent = str(built(read({"messages": turns}).request, "openai-chat"))
    assert "https://a.example/" in sent
    assert "xyz" not in sent
    again = built(read({"messages": turns}, MESSAGES).request, MESSAGES)
    assert again["messages"][1]["content"][:2] == blocks[:2]


# -- failures


@pytest.mark.parametrize(
    ("error", "status", "type_", "words"),
    [
        (errors.OverloadedError("Overloaded"), 529, "overloaded_error", "Overloaded"),
        (errors.RateLimitError("Slow down", retry_after=3), 429, "rate_limit_error", "Slow down"),
        (errors.QuotaExceededError("No credit"), 402, "billing_error", "No credit"),
        (errors.ServerError("Broke"), 502, "api_error", "Broke"),
        (errors.RequestTimeoutError("Late"), 504, "timeout_error", "Late"),
        (errors.NotFoundError("No model"), 404, "not_found_error", "No model"),
        (errors.InvalidRequestError("Bad"), 400, "invalid_request_error", "Bad"),
        (
            errors.ContextLengthError("too many", limit_tokens=10, actual_tokens=12),
            400,
            "invalid_request_error",
            "prompt is too long: 12 tokens > 10 maximum (too many)",
        ),
        (
            errors.ContextLengthError("(9 > 10 - 3)", limit_tokens=10, actual_tokens=12),
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 3 + 9 > 10 ((9 > 10 - 3))",
        ),
        (
            errors.ContextLengthError("(9 > 10 - 11)", limit_tokens=10, actual_tokens=20),
            400,
            "invalid_request_error",
            "prompt is too long: 11 tokens > 10 maximum ((9 > 10 - 11))",
        ),
        (
            errors.ContextLengthError("maximum context length is 10"),
            400,
            "invalid_request_error",
            "prompt is too long: maximum context length is 10",
        ),
        (
            errors.ContextLengthError(
                "input length and `max_tokens` exceed context limit: 8 + 4 > 10"
            ),
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 8 + 4 > 10",
        ),
    ],
)
def test_an_error_has_anthropics_form(error: LLMError, status: int, type_: str, words: str) -> None:
    """As a response, with the headers that clients retry by, and inside a stream."""
    shown, body, headers = failure_body(error)

    assert (shown, body["error"]) == (status, {"type": type_, "message": words})
    assert headers["x-should-retry"] == (
        "true"
        if status in (429, 502, 504, 529) and (not isinstance(error, errors.AuthenticationError))
        else "false"
    )
    assert headers.get("retry-after") == ("3" if error.retry_after else None)
    made = written([*stream(text("Reading."))[:-3], ErrorEvent(error)])
    assert made.events[-1] == body


def test_a_failure_within_a_call_leaves_its_block_open() -> None:
    """The vendor's client raises, and no half of a call is run."""
    events = stream(text("Reading."), call("look", '{"at": 1}'))
    cut = next(i for i, event in enumerate(events) if isinstance(event, ToolInputEnd))
    made = written([*events[:cut], ErrorEvent(errors.OverloadedError("Overloaded"))])

    stops = [event["index"] for event in made.events if event["type"] == "content_block_stop"]
    assert stops == [0]
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        sdk_stream(made.body)


def test_a_response_that_never_ends_is_an_error() -> None:
    """Not a message that looks complete."""
    made = written(stream(text("Reading."))[:-2])

    assert made.failed
    assert "before it was complete" in made.events[-1]["error"]["message"]


def test_empty_finished_response_is_an_empty_message() -> None:
    """As Anthropic itself answers."""
    made = written(stream())

    assert made.content == []
    assert made.whole["stop_reason"] == "end_turn"
    assert ASK["model"] == made.whole["model"]
    assert ReadMessagesRequest().takes_state
