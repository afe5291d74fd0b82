"""Responses: text, thinking, tool calls, how they end, and what goes wrong."""

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.schema.codec import to_json
from llmcore.schema.content import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.errors import (
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import (
    ErrorEvent,
    Finish,
    FinishReason,
    ProviderEvent,
    StreamStart,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolInputDelta,
)
from llmcore.schema.tools import CustomTool
from tests.support.wire.anthropic import (
    MODEL,
    ask,
    begin,
    delta,
    end,
    message,
    sse,
    start,
    stop,
    stream_of,
    streamed,
    text,
    thinking,
    tool_use,
    whole,
)
from tests.support.wire.protocol import error, response

# -- text


def test_text_comes_as_it_was_written() -> None:
    """Each delta is passed on as it came, and the end has the whole text."""
    events = streamed(stream_of(message(text("Hello, World!")), size=5))

    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Hello", ", Wor", "ld!"]
    assert [e.text for e in events if isinstance(e, TextEnd)] == ["Hello, World!"]


def test_the_start_says_who_answers() -> None:
    """Id, model and the input's count are known before the first word."""
    first = streamed(stream_of(message(text("Hi"), model="claude-x")))[0]

    assert isinstance(first, StreamStart)
    assert (first.id, first.model, first.provider) == ("msg_1", "claude-x", "anthropic")
    assert first.protocol == "anthropic-messages"
    assert first.usage is not None
    assert first.usage.input_tokens == 12


def test_text_at_a_blocks_beginning_counts() -> None:
    """Servers that put text into the block's start lose none of it."""
    events = [begin(), start(0, **text("Hel")), delta(0, "text_delta", text="lo"), stop(0), *end()]

    assert response(streamed(events)).text == "Hello"


def test_blocks_of_one_index_are_several() -> None:
    """A server that gives every block the index 0 is understood."""
    one, two = ([start(0, **text("")), delta(0, "text_delta", text=said), stop(0)] for said in "ab")

    answer = response(streamed([begin(), *one, *two, *end()]))

    assert answer.message.content == (TextPart("a"), TextPart("b"))


def test_blocks_that_do_not_end() -> None:
    """A server that leaves out content_block_stop is understood."""
    events = [
        begin(),
        start(0, **text("")),
        delta(0, "text_delta", text="a"),
        start(0, **tool_use("f", {})),
        delta(0, "input_json_delta", partial_json="{}"),
        *end("tool_use"),
    ]

    answer = response(streamed(events))

    assert answer.message.content == (TextPart("a"), ToolCallPart("toolu_1", "f", {}))


def test_interleaved_blocks_keep_their_places() -> None:
    """Deltas find their block by its index."""
    events = [
        begin(),
        start(0, **text("")),
        start(1, **tool_use("f", {})),
        delta(0, "text_delta", text="a"),
        delta(1, "input_json_delta", partial_json='{"x":'),
        delta(0, "text_delta", text="b"),
        delta(1, "input_json_delta", partial_json="1}"),
        stop(1),
        stop(0),
        *end("tool_use"),
    ]

    content = response(streamed(events)).message.content

    assert content == (TextPart("ab"), ToolCallPart("toolu_1", "f", {"x": 1}))


# -- thinking


def test_thinking_keeps_text_signature_and_order() -> None:
    """Thinking, hidden thinking and redacted thinking stand where they came."""
    document = message(
        thinking("First", "s1"),
        {"type": "redacted_thinking", "data": "secret"},
        thinking("", "s2"),
        tool_use("f", {}),
        stop="tool_use",
    )

    content = response(streamed(stream_of(document))).message.content

    assert content == (
        ReasoningPart("First", signature="s1"),
        ReasoningPart("", encrypted="secret"),
        ReasoningPart("", signature="s2"),
        ToolCallPart("toolu_1", "f", {}),
    )


def test_the_last_signature_counts() -> None:
    """A signature comes whole; a later one replaces it."""
    events = [
        begin(),
        start(0, **thinking("", "")),
        delta(0, "signature_delta", signature="one"),
        delta(0, "signature_delta", signature="two"),
        stop(0),
        *end(),
    ]

    assert response(streamed(events)).message.content == (ReasoningPart("", signature="two"),)


# -- tool calls


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ([], {}),
        ([""], {}),
        (["{", "}"], {}),
        (['{"city":', '"Rome"}'], {"city": "Rome"}),
        (['{"n": 123456789012345678901234567890}'], {"n": 123456789012345678901234567890}),
        (['{"a":'], '{"a":'),
        (["[1]"], "[1]"),
    ],
)
def test_tool_input_is_joined_and_parsed(written: list[str], arguments: Any) -> None:
    """Input is joined and parsed; none is `{}`, half an object stays the raw text."""
    deltas = [delta(0, "input_json_delta", partial_json=piece) for piece in written]
    events = [begin(), start(0, **tool_use("f", {})), *deltas, stop(0), *end("tool_use")]

    answer = response(streamed(events))

    assert [call.arguments for call in answer.tool_calls] == [arguments]
    assert answer.finish_reason == FinishReason("tool_calls", "tool_use")


def test_input_that_comes_at_once() -> None:
    """A call whose start holds all of its input has it, though no delta follows."""
    events = [begin(), start(0, **tool_use("f", {"x": 1})), stop(0), *end("tool_use")]

    assert response(streamed(events)).tool_calls[0].arguments == {"x": 1}


def test_input_that_comes_twice_counts_once() -> None:
    """Deltas replace the input that the start held."""
    events = [
        begin(),
        start(0, **tool_use("f", {"x": 1})),
        delta(0, "input_json_delta", partial_json=""),
        delta(0, "input_json_delta", partial_json='{"x": 2'),
        delta(0, "input_json_delta", partial_json="}"),
        stop(0),
        *end("tool_use"),
    ]

    assert response(streamed(events)).tool_calls[0].arguments == {"x": 2}


@pytest.mark.parametrize("ids", [["", ""], [None, None], ["same", "same"]])
def test_calls_have_ids_of_their_own(ids: list[Any]) -> None:
    """Missing and repeated ids are made up, the same each time."""
    document = message(*(tool_use("f", {}, id=id_) for id_ in ids), stop="tool_use")

    first, second = (response(whole(document)) for _ in range(2))

    assert len({call.id for call in first.tool_calls}) == 2
    assert first == second


def test_who_called_is_kept() -> None:
    """The caller and the toolset of a call stay with it for its replay."""
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    document = message(
        tool_use("zoom", {}, caller=caller, toolset_name="computer"), stop="tool_use"
    )

    (call,) = response(whole(document)).tool_calls

    assert call.provider_metadata == {"anthropic": {"caller": caller, "toolset_name": "computer"}}


def test_freeform_tools_get_their_text_back() -> None:
    """A freeform tool was offered as a function of one string; its call is freeform again."""
    asked = ask(tools=[CustomTool("patch")])
    document = message(tool_use("patch", {"input": 'say "hi"\n'}), stop="tool_use")

    for events in (streamed(stream_of(document, size=1), asked), whole(document, asked)):
        (call,) = [event for event in events if isinstance(event, ToolCall)]
        assert (call.kind, call.arguments) == ("custom", 'say "hi"\n')
        assert "".join(e.text for e in events if isinstance(e, ToolInputDelta)) == 'say "hi"\n'


@pytest.mark.parametrize(
    ("input", "said"),
    [
        ({"input": "a"}, "a"),
        ({"patch": "a"}, "a"),
        ({"patch": 1, "more": 2}, '{"patch":1,"more":2}'),
        ({}, ""),
    ],
)
def test_freeform_tools_that_were_called_oddly(input: Any, said: str) -> None:
    """Models rename the one field; anything else is kept as it was written."""
    asked = ask(tools=[CustomTool("patch")])
    document = message(tool_use("patch", input), stop="tool_use")

    assert response(whole(document, asked)).tool_calls[0].arguments == said


# -- how it ends


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "other"),
        ("compaction", "other"),
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("reason_of_2031", "other"),
        (None, "other"),
    ],
)
def test_every_stop_reason_has_a_common_word(raw: str | None, reason: Any) -> None:
    """Every stop reason has a common word and keeps its own."""
    document = message(text("Hi"), stop=raw)

    for events in (streamed(stream_of(document)), whole(document)):
        assert response(events).finish_reason == FinishReason(reason, raw)


def test_a_call_is_not_a_stop() -> None:
    """Servers that say end_turn though a tool was called are corrected; length is not."""
    call = tool_use("f", {})

    assert response(whole(message(call))).finish_reason.reason == "tool_calls"
    assert response(whole(message(call, stop="max_tokens"))).finish_reason.reason == "length"


def test_why_a_response_was_stopped() -> None:
    """The provider's explanation is a refusal, not the model's text."""
    details = {"type": "refusal", "category": "cyber", "explanation": "Blocked."}
    document = message(text("I "), stop="refusal", stop_details=details)

    for events in (streamed(stream_of(document)), whole(document)):
        answer = response(events)
        assert answer.text == "I "
        assert answer.message.content[1] == RefusalPart(
            "Blocked.", provider_metadata={"anthropic": {"stop_details": details}}
        )


def test_facts_of_the_whole_response_are_kept() -> None:
    """Stop sequence, container, context management and service tier are metadata."""
    facts = {
        "stop_sequence": "END",
        "container": {"id": "container_1"},
        "context_management": {"applied_edits": []},
    }
    document = message(text("Hi"), stop="stop_sequence", **facts)
    document["usage"] = {**document["usage"], "service_tier": "priority"}

    for events in (streamed(stream_of(document)), whole(document)):
        assert response(events).provider_metadata == {
            "anthropic": {**facts, "service_tier": "priority"}
        }


def test_the_raw_document_is_kept() -> None:
    """A whole body can be read again."""
    document = message(text("Hi"))
    last = whole(document)[-1]

    assert isinstance(last, Finish)
    assert last.raw == document


# -- what is unknown


def test_an_unknown_block_is_replayed() -> None:
    """A block of a later API stays in its place, with what its deltas said."""
    block = {"type": "hologram", "text": "a", "depth": 3}
    events = [
        begin(),
        start(0, **text("")),
        delta(0, "text_delta", text="x"),
        stop(0),
        start(1, **block),
        delta(1, "text_delta", text="b"),
        delta(1, "hologram_delta", colour="red"),
        stop(1),
        *end(),
    ]

    data = {"type": "hologram", "text": "ab", "depth": 3, "colour": "red"}
    unknown = [event for event in streamed(events) if isinstance(event, ProviderEvent)]
    assert unknown == [ProviderEvent("anthropic", data, replay=True)]


def test_everything_an_unknown_block_says_is_kept() -> None:
    """Deltas of every known kind find their place in a block that is not known."""
    deltas = [
        delta(0, "text_delta", text="a"),
        delta(0, "thinking_delta", thinking="b"),
        delta(0, "signature_delta", signature="c"),
        delta(0, "input_json_delta", partial_json='{"y":'),
        delta(0, "citations_delta", citation={"type": "x"}),
        delta(0, "input_json_delta", partial_json="2}"),
    ]
    events = [begin(), start(0, type="new", input={"x": 1}), *deltas, stop(0), *end()]

    (found,) = [event for event in streamed(events) if isinstance(event, ProviderEvent)]

    assert found.data == {
        "type": "new",
        "text": "a",
        "thinking": "b",
        "signature": "c",
        "input": {"x": 1, "y": 2},
        "citations": [{"type": "x"}],
    }


def test_input_of_an_unknown_block_that_is_cut_off() -> None:
    """Half a JSON object stays as text."""
    piece = delta(0, "input_json_delta", partial_json='{"y":')
    events = [begin(), start(0, type="new"), piece, stop(0), *end("max_tokens")]

    (found,) = [event for event in streamed(events) if isinstance(event, ProviderEvent)]
    assert found.data == {"type": "new", "input": '{"y":'}


@pytest.mark.parametrize(
    "strange",
    [
        delta(0, "thinking_delta", thinking="t"),
        delta(0, "signature_delta", signature="s"),
        delta(0, "input_json_delta", partial_json="{}"),
        delta(0, "citations_delta", citation=None),
    ],
)
def test_a_delta_of_another_kind_of_block(strange: dict[str, Any]) -> None:
    """A delta that does not fit its block is passed on, not mixed into it."""
    words = delta(0, "text_delta", text="a")
    got = streamed([begin(), start(0, **text("")), words, strange, words, stop(0), *end()])

    assert response(got).message.content == (TextPart("aa"),)
    assert [type(event) for event in got].count(ProviderEvent) == 1


def test_empty_deltas_are_ignored() -> None:
    """Empty text, a missing signature and an empty input change nothing."""
    events = [
        begin(),
        start(0, **text("")),
        delta(0, "text_delta", text=""),
        stop(0),
        start(1, **thinking("", "s")),
        delta(1, "thinking_delta", thinking=""),
        delta(1, "signature_delta", signature=None),
        stop(1),
        stop(7),
        *end(),
    ]

    content = response(streamed(events)).message.content
    assert content == (TextPart(""), ReasoningPart("", signature="s"))


def test_compaction_is_replayed_whole() -> None:
    """The summary that replaces a conversation comes by delta, or with its block."""
    block = {"type": "compaction", "content": "So far: ..."}
    events = [
        begin(),
        start(0, type="compaction", content=None),
        delta(0, "compaction_delta", content="So far: ..."),
        stop(0),
        *end(),
    ]

    expected = ProviderEvent("anthropic", block, replay=True)
    assert expected in streamed(events)
    assert expected in whole(message(block))


def test_an_unknown_delta_is_passed_on() -> None:
    """An unknown delta of a known block is not lost."""
    events = [begin(), start(0, **text("")), delta(0, "sound_delta", pcm="AA"), stop(0), *end()]

    assert ProviderEvent(
        "anthropic",
        {"type": "content_block_delta", "delta": {"type": "sound_delta", "pcm": "AA"}},
    ) in streamed(events)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_an_unknown_event_is_passed_on(place: int) -> None:
    """An event of a later API changes nothing, wherever it comes."""
    events = stream_of(message(text("Hi")), size=9)
    news: dict[str, Any] = {"type": "weather", "sun": True}

    got = streamed([*events[:place], news, *events[place:]])

    assert ProviderEvent("anthropic", news) in got
    assert response(got) == response(streamed(events))


# -- errors


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        ("overloaded_error", "Overloaded", OverloadedError),
        ("rate_limit_error", "Too fast", RateLimitError),
        ("api_error", "Internal server error", ServerError),
        ("invalid_request_error", "bad thing", InvalidRequestError),
        (
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            ContextLengthError,
        ),
    ],
)
def test_errors_in_the_stream(kind: str, said: str, expected: type[LLMError]) -> None:
    """An error event is the error it would have been as a status, with what had arrived."""
    body = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}
    events = [begin(), start(0, **text("")), delta(0, "text_delta", text="Hel"), body]

    found = error(streamed(events))

    assert type(found) is expected
    assert (found.provider, found.request_id, found.raw) == ("anthropic", "req_1", body)
    assert found.partial is not None
    assert found.partial.text == "Hel"


BARE: dict[str, Any] = {
    "FastAPI": {"detail": "Broken."},
    "an error object": {"object": "error", "message": "Broken.", "type": "x", "code": 500},
    "a list of errors": {"success": False, "errors": [{"code": 7000, "message": "Broken."}]},
    "MiniMax": {"base_resp": {"status_code": 1000, "status_msg": "Broken."}},
    "a gateway": {"statusCode": 502, "message": "Broken."},
    "OpenAI": {"error": {"message": "Broken.", "code": "server_error"}},
}


def test_a_message_that_states_a_failure_is_the_error() -> None:
    """MiniMax's have the state of the request beside their content, which is empty then."""
    state = {"status_code": 1002, "status_msg": "Too fast."}
    failed = {**message(), "content": None, "stop_reason": "", "base_resp": state}
    fine = {**message(text("Hi")), "base_resp": {"status_code": 0, "status_msg": ""}}

    assert error(whole(failed)).message == "Too fast."
    assert response(whole(fine)).text == "Hi"


@pytest.mark.parametrize("body", BARE.values(), ids=BARE.keys())
def test_an_error_in_the_form_of_another_server_has_its_words(body: Any) -> None:
    """Beside events, before any and with the status 200."""
    line = b"data: " + json.dumps(body).encode() + b"\n\n"
    events = [begin(), start(0, **text("")), delta(0, "text_delta", text="Hel")]

    found = error(streamed(sse(events) + line))

    assert found.message == "Broken."
    assert found.partial is not None
    assert found.partial.text == "Hel"
    assert error(streamed(line)).message == error(whole(body)).message == "Broken."


def test_an_error_event_that_is_not_json() -> None:
    """A proxy's own words are an error too."""
    found = error(streamed(sse([begin()]) + b"event: error\ndata: upstream died\n\n"))

    assert "upstream died" in found.message


@pytest.mark.parametrize("data", ["[1]", '"text"', "7"])
def test_an_event_that_is_not_an_object(data: str) -> None:
    """An event of another shape is an error that shows it."""
    found = error(streamed(sse([begin()]) + f"data: {data}\n\n".encode()))

    assert data.strip('"') in found.message


def test_a_frame_that_is_not_json() -> None:
    """Broken JSON ends the stream."""
    assert isinstance(error(streamed(sse([begin()]) + b"data: {oops\n\n")), StreamError)


@pytest.mark.parametrize("document", [{"error": {"message": "no"}}, {"type": "error"}])
def test_an_error_with_status_200(document: Any) -> None:
    """A body that is an error is one, whatever its status."""
    assert isinstance(whole(document)[-1], ErrorEvent)


@pytest.mark.parametrize("document", [[], "text", None, {}, {"content": [], "error": {"a": 1}}])
def test_a_body_that_is_not_a_response(document: Any) -> None:
    """A body without a message is an error, not an empty response."""
    assert isinstance(whole(document)[-1], ErrorEvent)


def test_content_that_is_one_text_is_read() -> None:
    """As a request may have it."""
    answer = response(whole({**message(), "content": "Hello"}))

    assert answer.message.content == (TextPart("Hello"),)


def test_a_message_without_content_is_empty() -> None:
    """A response may be empty."""
    answer = response(whole(message()))

    assert (answer.message.content, answer.finish_reason.reason) == ((), "stop")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([start(0, **text(""))], "content_block_start arrived before message_start"),
        (
            [begin(), delta(0, "input_json_delta", partial_json="{}")],
            "a delta arrived for a block that is not open",
        ),
        (
            [
                begin(),
                start(0, **tool_use("f", {})),
                stop(0),
                delta(0, "input_json_delta", partial_json="{}"),
            ],
            "a delta arrived for a block that is not open",
        ),
        ([begin(), begin(id="msg_2")], "a second message began"),
        ([begin()], "no stop_reason came"),
        ([begin(stop_reason="end_turn")], "no stop_reason came"),
        ([begin(), *end(None)[:1]], "no stop_reason came"),
        ([begin(), start(0, **text("a")), stop(0), *end()[1:]], "no stop_reason came"),
    ],
)
def test_a_broken_stream_is_an_error(events: list[Any], why: str) -> None:
    """Events that would lose or mix up text end the stream.

    A call ends with its block and may run from then on, so that no more of its input is taken;
    the accumulators of Anthropic's SDKs, which return calls at the end of the message, take it.
    """
    found = error(streamed(events))

    assert isinstance(found, StreamError)
    assert why in found.message


def test_a_stop_reason_is_an_end_without_message_stop() -> None:
    """Gateways leave that out; nothing of the response comes after its stop reason."""
    events = [begin(), start(0, **tool_use("f", {})), stop(0), *end("tool_use")]

    assert response(streamed(events[:-1])) == response(streamed(events))


def test_a_text_or_a_thought_needs_no_start() -> None:
    """Gateways leave it out; blocks that follow have their own places."""
    events = [
        begin(),
        delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "signature_delta", signature="sig"),
        stop(0),
        delta(1, "text_delta", text="Hel"),
        delta(1, "text_delta", text="lo"),
        stop(1),
        start(2, **tool_use("f", {})),
        stop(2),
        *end("tool_use"),
    ]

    assert (
        response(streamed(events)).message
        == response(
            whole(message(thinking("Hm"), text("Hello"), tool_use("f", {}), stop="tool_use"))
        ).message
    )


@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_deltas_after_the_stop_of_their_block_are_read(kind: str) -> None:
    """The accumulators of Anthropic's SDKs add them to the block, whose stop they pass over."""
    block = text("") if kind == "text" else thinking("", "")
    events = [
        begin(),
        start(0, **block),
        delta(0, f"{kind}_delta", **{kind: "a"}),
        stop(0),
        start(1, **text("Hi")),
        delta(0, f"{kind}_delta", **{kind: "b"}),
        delta(0, f"{kind}_delta", **{kind: "c"}),
        stop(1),
        *end(),
    ]

    answer = response(streamed(events))

    assert (answer.text, answer.reasoning) == (("aHibc", None) if kind == "text" else ("Hi", "abc"))


@pytest.mark.parametrize(
    "fields", [{"output_ids": [1, 2]}, {"output_token_logprobs": [[-0.1, 1]]}, {"output_ids": []}]
)
def test_facts_of_the_tokens_of_a_delta_are_passed_on(fields: dict[str, Any]) -> None:
    """LMDeploy's, where a request asks for them."""
    told = {**delta(0, "text_delta", text="b"), **fields}
    events = [begin(), start(0, **text("")), delta(0, "text_delta", text="a"), told, stop(0)]

    seen = streamed([*events, *end()])

    assert response(seen).text == "ab"
    passed = [event.data for event in seen if isinstance(event, ProviderEvent)]
    assert passed == ([fields] if any(fields.values()) else [])


@pytest.mark.parametrize("words", ["", "b"])
def test_estimated_tokens_of_hidden_thinking_are_passed_on(words: str) -> None:
    """Clients show by them how far a thought has come that they do not see."""
    events = [
        begin(),
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="a", estimated_tokens=None),
        delta(0, "thinking_delta", thinking=words, estimated_tokens=50),
        stop(0),
        *end(),
    ]

    seen = streamed(events)

    assert response(seen).reasoning == f"a{words}"
    passed = [event.data for event in seen if isinstance(event, ProviderEvent)]
    assert passed == [{"estimated_tokens": 50}]


def test_the_same_beginning_twice_is_one() -> None:
    """A server that repeats message_start is understood."""
    events = stream_of(message(text("Hi")))

    assert response(streamed([events[0], *events])) == response(streamed(events))


def test_content_of_message_start_can_go_on() -> None:
    """Blocks of message_start are open: deltas of their index continue them."""
    events = [
        begin(content=[text("Hel"), tool_use("f", {})]),
        delta(0, "text_delta", text="lo"),
        delta(1, "input_json_delta", partial_json='{"x": 1}'),
        start(2, **text("!")),
        *end("tool_use"),
    ]

    got = response(streamed(events))

    assert (got.text, got.tool_calls[0].arguments) == ("Hello!", {"x": 1})


def test_a_complete_message_start_is_the_response_without_message_delta() -> None:
    """Stop reason, stop sequence, usage and container count wherever they stand."""
    said = message(text("Hi"), stop="stop_sequence", stop_sequence="END", container={"id": "c"})

    got = response(streamed([{"type": "message_start", "message": said}, end()[-1]]))

    assert got.finish_reason == FinishReason("stop", "stop_sequence")
    assert got.provider_metadata["anthropic"] == {"stop_sequence": "END", "container": {"id": "c"}}
    assert got == response(whole(said))


@pytest.mark.parametrize(
    ("given", "arguments"),
    [('{"x": 1}', {"x": 1}), ("", {}), (None, {}), ([1], "[1]"), ("now", "now")],
)
def test_input_that_is_not_an_object_is_kept(given: Any, arguments: Any) -> None:
    """Servers that imitate the API send the input as text, or of another type."""
    document = message(tool_use("f", given), stop="tool_use")

    assert response(whole(document)).tool_calls[0].arguments == arguments


def test_the_model_that_took_over_is_the_responses_model() -> None:
    """A fallback block names the model that goes on; a whole body names it as its own."""
    took_over = {"type": "fallback", "from": {"model": MODEL}, "to": {"model": "claude-x"}}
    events = [begin(), start(0, **took_over), stop(0), start(1, **text("Hi")), stop(1), *end()]

    got = response(streamed(events))

    assert got.model == "claude-x"
    assert got.message.origin is not None
    assert got.message.origin.model == "claude-x"


def test_pings_and_done_are_ignored() -> None:
    """Keep-alives in every form are read over."""
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    body = b"".join(ping + sse([event]) for event in stream_of(message(text("Hi"))))

    assert response(streamed(ping + b": comment\n\n" + body + b"data: [DONE]\n\n")).text == "Hi"


def test_an_event_is_named_by_its_frame() -> None:
    """Where the data has no type, the frame's name is it."""
    frames = [
        b"event: %s\ndata: %s\n\n"
        % (
            event["type"].encode(),
            json.dumps({k: v for k, v in event.items() if k != "type"}).encode(),
        )
        for event in stream_of(message(text("Hi")))
    ]

    assert response(streamed(b"".join(frames))).text == "Hi"


# -- whole event lists


def test_a_whole_event_list(snapshot: SnapshotAssertion) -> None:
    """Thinking, text and a call, as our events."""
    document = message(
        thinking("Hm.", "sig"), text("Let me see."), tool_use("look", {"at": 1}), stop="tool_use"
    )

    assert [to_json(event) for event in streamed(stream_of(document, size=99))] == snapshot


def test_a_model_of_its_own() -> None:
    """A stream whose start names no model is the model's that was asked for."""
    events = [begin(model=None), *end()]

    assert response(streamed(events)).model == MODEL
