"""Reading the response, streamed and whole."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.schema.content import AudioPart, Citation, ImagePart, ProviderPart, TextPart
from llmcore.schema.errors import (
    AccessDeniedError,
    InvalidRequestError,
    LLMError,
    RateLimitError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import (
    ErrorEvent,
    File,
    Finish,
    ProviderEvent,
    ReasoningEnd,
    Source,
    StreamStart,
    TextStart,
    ToolCall,
)
from llmcore.schema.options import ResponseFormat
from llmcore.schema.tools import CustomTool, ToolDefinition
from llmcore.schema.usage import Usage
from tests.support.wire.bedrock import (
    BEGIN,
    CLAUDE,
    CLAUDE_3,
    Event,
    ask,
    delta,
    document,
    end,
    reasoning,
    start,
    stop,
    stream_of,
    streamed,
    tool_use,
    whole,
)
from tests.support.wire.protocol import error, response

WEB = {
    "title": "A page",
    "location": {"web": {"url": "https://example.com/a", "domain": "example.com"}},
}
CHAR: dict[str, Any] = {
    "title": "Report",
    "source": "report",
    "sourceContent": [{"text": "It "}, {"text": "rose."}],
    "location": {"documentChar": {"documentIndex": 0, "start": 3, "end": 12}},
}
HOSTED = tool_use("nova_grounding", {"q": "x"}, id="srv_1", type="server_tool_use")
FOUND = {
    "toolResult": {
        "toolUseId": "srv_1",
        "content": [{"json": {"hits": 2}}, {"text": "two"}],
        "status": "success",
        "type": "nova_grounding_result",
    }
}

ANSWERS: dict[str, dict[str, Any]] = {
    "text": document({"text": "Hello there."}),
    "nothing": document(),
    "two texts": document({"text": "One."}, {"text": "Two."}),
    "reasoning": document(reasoning("I think.", "c2ln"), {"text": "So."}),
    "unsigned reasoning": document({"text": "So."}, reasoning("I think.", None)),
    "redacted": document({"reasoningContent": {"redactedContent": "ZW5j"}}, {"text": "So."}),
    "tool call": document(tool_use("look", {"q": "café"}), stop="tool_use"),
    "calls": document(
        {"text": "Two."},
        tool_use("look", {"n": 1.0}, id="a", type="tool_use"),
        tool_use("look", {}, id="b"),
        stop="tool_use",
    ),
    "hosted tool": document(HOSTED, FOUND, {"text": "Two hits."}),
    "citations": document(
        {"citationsContent": {"content": [{"text": "It rose."}], "citations": [CHAR]}}
    ),
    "web citations": document(
        {"text": "It rose."}, {"citationsContent": {"citations": [WEB, WEB]}}, {"text": " Yes."}
    ),
    "image": document({"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}),
    "image in S3": document(
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k.png"}}}}
    ),
    "more metadata": document(
        {"text": "Hm."},
        stop="guardrail_intervened",
        trace={"guardrail": {"actionReason": "blocked"}},
        serviceTier={"type": "flex"},
        performanceConfig={"latency": "standard"},
        additionalModelResponseFields={"stop_sequence": None},
    ),
}

every_answer = pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)


# -- one response, two ways


@every_answer
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_stream_and_a_whole_body_are_one_response(body: dict[str, Any], size: int) -> None:
    """The same response gives the same response, streamed or not."""
    assert response(streamed(stream_of(body, size))) == response(whole(body))


@every_answer
def test_a_start_may_bring_the_complete_block(body: dict[str, Any]) -> None:
    """Whatever member a `contentBlockStart` holds, and whatever of it, nothing is lost."""
    blocks = body["output"]["message"]["content"]
    brought = [one for i, block in enumerate(blocks) for one in (start(i, **block), stop(i))]
    _, *rest = stream_of(document(**{k: v for k, v in _rest(body).items() if k != "output"}))

    assert response(streamed([BEGIN, *brought, *rest])) == response(whole(body))


def _rest(body: dict[str, Any]) -> dict[str, Any]:
    """Return *body* without its content, as arguments of `document`."""
    return {("stop" if name == "stopReason" else name): value for name, value in body.items()}


def test_input_in_a_tools_start_waits_for_deltas_that_replace_it() -> None:
    """A start with an empty or an early input does not spoil what the deltas bring."""
    for given in ({}, {"q": 0}, ""):
        opened = start(0, toolUse={"toolUseId": "a", "name": "look", "input": given})
        said = [delta(0, toolUse={"input": piece}) for piece in ("", '{"q"', ": 1}")]
        got = response(streamed([BEGIN, opened, *said, stop(0), *end("tool_use")]))
        assert got.tool_calls[0].arguments == {"q": 1}


def test_an_image_without_a_start_is_a_file() -> None:
    """The delta alone has the bytes; only the format is not known."""
    picture = delta(0, image={"source": {"bytes": "iVBORw0KGgo="}})

    events = streamed([BEGIN, picture, stop(0), *end()])

    assert [e.data for e in events if isinstance(e, File)] == [b"\x89PNG\r\n\x1a\n"]


def test_audio_is_a_file() -> None:
    """Sound that the model makes comes as a complete block."""
    spoken = document({"audio": {"format": "mp3", "source": {"bytes": "SUQz"}}})

    assert response(whole(spoken)).message.content == (
        AudioPart(data=b"ID3", media_type="audio/mp3"),
    )


@pytest.mark.parametrize("name", ["reasoning", "calls", "hosted tool", "web citations"])
def test_streams_give_the_listed_events(name: str, snapshot: SnapshotAssertion) -> None:
    """The events of callers, one by one."""
    assert streamed(stream_of(ANSWERS[name], 6)) == snapshot


def test_the_native_document_is_kept() -> None:
    """A body that was not streamed stays at hand."""
    assert response(whole(ANSWERS["text"])).raw == ANSWERS["text"]


def test_start_says_what_was_asked() -> None:
    """The API names neither the response nor the model."""
    first = streamed([BEGIN, *end()])[0]

    assert first == StreamStart(provider="bedrock", model=CLAUDE, protocol="bedrock-converse")


def test_facts_of_the_whole_response_are_kept() -> None:
    """Metrics, trace, tier and the model's own fields stand under our key; padding does not."""
    metadata = response(streamed(stream_of(ANSWERS["more metadata"]))).provider_metadata

    assert metadata == {
        "bedrock": {
            "additionalModelResponseFields": {"stop_sequence": None},
            "metrics": {"latencyMs": 100},
            "trace": {"guardrail": {"actionReason": "blocked"}},
            "serviceTier": {"type": "flex"},
            "performanceConfig": {"latency": "standard"},
        }
    }


# -- text


def test_empty_text_is_not_a_segment() -> None:
    """Some models open with a delta of no characters, in a block of its own."""
    events = streamed([BEGIN, delta(0, text=""), stop(0), delta(1, text="Hi"), stop(1), *end()])

    assert [event.id for event in events if isinstance(event, TextStart)] == ["text_0"]
    assert response(events).message.content == (TextPart("Hi"),)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([delta(0, text="Hi"), stop(0), *end()], id="no messageStart"),
        pytest.param([BEGIN, start(0), delta(0, text="Hi"), stop(0), *end()], id="empty start"),
        pytest.param([BEGIN, delta(0, text="Hi"), *end()], id="no stop"),
        pytest.param([BEGIN, delta(0, text="Hi"), stop(0), *end()[::-1]], id="metadata first"),
        pytest.param([BEGIN, start(0, text="Hi"), stop(0), *end()], id="text in the start"),
        pytest.param([BEGIN, stop(7), delta(0, text="Hi"), stop(0), *end()], id="stray stop"),
    ],
)
def test_servers_that_imitate_the_api(events: list[Event]) -> None:
    """Whatever announcements are missing, the words arrive."""
    got = response(streamed(events))

    assert (got.text, got.finish_reason.raw, got.usage is not None) == ("Hi", "end_turn", True)


def test_one_index_for_thinking_and_text() -> None:
    """A block that turns into another kind is two segments."""
    said = [delta(0, reasoningContent={"text": "Hm."}), delta(0, text="Yes.")]

    got = response(streamed([BEGIN, *said, stop(0), *end()]))

    assert (got.reasoning, got.text) == ("Hm.", "Yes.")


def test_redacted_pieces_are_one_blob() -> None:
    """Each piece is base64 by itself."""
    said = [delta(0, reasoningContent={"redactedContent": data}) for data in ("YQ==", "Yg==")]

    part = response(streamed([BEGIN, *said, stop(0), *end()])).message.content[0]

    assert getattr(part, "encrypted", None) == "YWI="


# -- citations and sources


def test_a_citation_stands_on_its_text() -> None:
    """A citation stands on the text it came with, its native form beside it."""
    (part,) = response(whole(ANSWERS["citations"])).message.content

    assert part == TextPart(
        "It rose.",
        citations=(
            Citation(
                title="Report",
                cited_text="It rose.",
                document_id="report",
                provider_metadata={"bedrock": CHAR},
            ),
        ),
    )


def test_citations_of_pages_are_sources() -> None:
    """Each page is announced once; citations without text are kept for replay."""
    events = streamed(stream_of(ANSWERS["web citations"]))

    assert [event for event in events if isinstance(event, Source)] == [
        Source(id="source_0", url="https://example.com/a", title="A page")
    ]
    native = {"citationsContent": {"citations": [WEB, WEB]}}
    assert ProviderPart("bedrock", native) in response(events).message.content


# -- tools


@pytest.mark.parametrize("given", [[], [""], ["", "{}"], ["{", "}"]])
def test_no_input_is_an_empty_object(given: list[str]) -> None:
    """Tools without parameters are called with nothing at all."""
    said = [delta(0, toolUse={"input": piece}) for piece in given]
    opened = start(0, toolUse={"toolUseId": "a", "name": "now"})

    (call,) = response(streamed([BEGIN, opened, *said, stop(0), *end("tool_use")])).tool_calls

    assert (call.id, call.name, call.arguments) == ("a", "now", {})


def test_input_cut_short_is_kept_as_text() -> None:
    """Half an object is not an object; the call is there, and invalid."""
    opened = start(0, toolUse={"toolUseId": "a", "name": "look"})
    said = delta(0, toolUse={"input": '{"q": "a'})

    got = response(streamed([BEGIN, opened, said, stop(0), *end("max_tokens")]))

    assert [(call.arguments, call.is_valid) for call in got.tool_calls] == [('{"q": "a', False)]
    assert got.finish_reason.reason == "length"


def test_calls_without_ids_or_with_one_id_twice_get_their_own() -> None:
    """Every call can be answered."""
    opened = [{"name": "a"}, {"toolUseId": "x", "name": "b"}, {"toolUseId": "x", "name": "c"}]
    said = [one for i, call in enumerate(opened) for one in (start(i, toolUse=call), stop(i))]

    got = response(streamed([BEGIN, *said, *end("tool_use")]))

    assert [call.id for call in got.tool_calls] == ["call_1_0", "x", "call_1_2"]


def test_input_of_no_tool_is_an_error() -> None:
    """Arguments whose tool was never named cannot be given to anybody."""
    assert isinstance(
        error(streamed([BEGIN, delta(0, toolUse={"input": "{}"}), *end()])), StreamError
    )


def test_a_call_that_the_service_ran_is_marked() -> None:
    """A tool that the service ran differs from one that the caller is to run."""
    got = response(streamed(stream_of(ANSWERS["hosted tool"])))
    call, result, _text = got.message.content

    assert got.tool_calls == ()
    assert getattr(call, "provider_executed", False)
    assert dict(call.provider_metadata["bedrock"]) == {"type": "server_tool_use"}
    assert getattr(result, "content", None) == FOUND["toolResult"]["content"]
    assert dict(result.provider_metadata["bedrock"]) == {
        "status": "success",
        "type": "nova_grounding_result",
    }


def test_a_result_in_pieces_of_text() -> None:
    """Text that a hosted tool returned comes in deltas, too."""
    opened = start(0, toolResult={"toolUseId": "s", "status": "error"})
    said = [delta(0, toolResult=[{"text": piece}]) for piece in ("no ", "way")]

    (result,) = response(streamed([BEGIN, opened, *said, stop(0), *end()])).message.content

    assert getattr(result, "content", None) == [{"text": "no way"}]
    assert getattr(result, "is_error", False)


def test_freeform_tools_are_unwrapped() -> None:
    """A tool that was offered as a function of one string gives that string."""
    asked = ask(tools=[CustomTool("run")])
    body = document(tool_use("run", {"input": "ls -l"}), stop="tool_use")

    for events in (streamed(stream_of(body), asked), whole(body, asked)):
        (call,) = response(events).tool_calls
        assert (call.kind, call.arguments) == ("custom", "ls -l")


@pytest.mark.parametrize(
    ("schema", "input"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
        ({"type": "array", "items": {"type": "integer"}}, {"answer": [1]}),
    ],
)
def test_a_response_that_came_as_a_tools_input_is_text(schema: Any, input: Any) -> None:
    """Where the model cannot be held to a schema, its forced call is the response."""
    asked = ask(CLAUDE_3, response_format=ResponseFormat.json_schema(schema))
    body = document(tool_use("structured_answer", input), stop="tool_use")

    for events in (streamed(stream_of(body), asked), whole(body, asked)):
        got = response(events)
        assert got.text.replace(" ", "") in ('{"a":1}', "[1]")
        assert (got.tool_calls, got.finish_reason.reason) == ((), "stop")


def test_a_call_without_input_is_a_response_without_fields() -> None:
    """The API may send no delta for it."""
    schema: Any = {"type": "object", "properties": {"a": {"type": "integer"}}}
    asked = ask(CLAUDE_3, response_format=ResponseFormat.json_schema(schema))
    called = start(0, toolUse={"toolUseId": "t", "name": "structured_answer"})

    for deltas in ([], [delta(0, toolUse={"input": ""})]):
        events = [BEGIN, called, *deltas, stop(0), *end("tool_use")]
        assert response(streamed(events, asked)).text == "{}"


# -- pictures


def test_a_drawn_picture_is_a_file_and_a_part() -> None:
    """A picture that the model drew is a file, and a part of its message."""
    (part,) = response(streamed(stream_of(ANSWERS["image"]))).message.content

    assert isinstance(part, ImagePart)
    assert (part.media_type, part.data) == ("image/png", b"\x89PNG\r\n\x1a\n")


def test_a_picture_that_failed_is_not_a_file() -> None:
    """The service's explanation is passed on."""
    said = delta(0, image={"error": {"message": "no"}})

    events = streamed([BEGIN, start(0, image={"format": "png"}), said, stop(0), *end()])

    kept = [event.data for event in events if isinstance(event, ProviderEvent)]
    assert kept == [{"image": {"format": "png", "error": {"message": "no"}}}]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"image": {"format": "png", "error": {"message": "no"}}}, "the image has no content: no"),
        ({"audio": {"format": "mp3", "error": {}}}, "the audio has no content: the service gives"),
        ({"audio": {"format": "mp3", "source": {}}}, "the audio has no content: the service gives"),
    ],
)
def test_media_that_did_not_come_are_reported(block: dict[str, Any], message: str) -> None:
    """The message has no part for them."""
    got = response(whole(document({"text": "Here."}, block)))
    (note,) = got.diagnostics

    assert (note.code, note.path) == ("file-without-content", "files[file_2]")
    assert note.message.startswith(message)
    assert got.text == "Here."


def test_a_picture_that_failed_midway_is_not_a_file() -> None:
    """The bytes that came before the failure do not make one."""
    begun = delta(0, image={"source": {"bytes": "iVBORw0KGgo="}})
    failed = delta(0, image={"error": {"message": "no"}})

    events = streamed([BEGIN, start(0, image={"format": "png"}), begun, failed, stop(0), *end()])

    image = {"format": "png", "source": {"bytes": "iVBORw0KGgo="}, "error": {"message": "no"}}
    kept = [event.data for event in events if isinstance(event, ProviderEvent)]
    assert kept == [{"image": image}]
    assert response(events).message.content == ()


def test_a_picture_in_a_bucket_keeps_the_owner_of_the_bucket() -> None:
    """A request needs the owner to name a file in another account's bucket."""
    location = {"uri": "s3://b/a.png", "bucketOwner": "123456789012"}
    drawn = delta(0, image={"source": {"s3Location": location}})

    events = streamed([BEGIN, start(0, image={"format": "png"}), drawn, stop(0), *end()])

    (part,) = response(events).message.content
    assert isinstance(part, ImagePart)
    assert part.url == "s3://b/a.png"
    assert part.provider_metadata == {"bedrock": {"bucketOwner": "123456789012"}}


# -- how it ends


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("refusal", "content_filter"),
        ("content_filtered", "content_filter"),
        ("malformed_model_output", "error"),
        ("malformed_tool_use", "error"),
        ("next_years", "other"),
    ],
)
def test_every_finish_reason_has_a_common_word(raw: str, reason: str) -> None:
    """Every documented reason, and one to come."""
    for events in (streamed([BEGIN, *end(raw)]), whole(document(stop=raw))):
        found = response(events).finish_reason
        assert (found.reason, found.raw) == (reason, raw)


def test_calls_that_end_a_turn_are_tool_calls() -> None:
    """A server that says `end_turn` after a call still wants it run."""
    got = response(whole(document(tool_use("look", {}), stop="end_turn")))

    assert (got.finish_reason.reason, got.finish_reason.raw) == ("tool_calls", "end_turn")


def test_a_response_whose_tokens_were_not_counted() -> None:
    """The message was complete; a diagnostic reports the missing usage."""
    got = response(streamed([BEGIN, delta(0, text="Hi"), stop(0), end()[0]]))

    assert (got.text, got.usage) == ("Hi", Usage())
    assert [note.code for note in got.diagnostics] == ["usage-missing"]


def test_every_cut_before_the_end_is_an_error() -> None:
    """A stream that stops before its last two events is not a response, and runs no half call."""
    events = stream_of(ANSWERS["calls"])
    for count in range(len(events) - 1):
        got = streamed(events[:count])
        assert isinstance(error(got), StreamError), count
        assert not isinstance(got[-1], Finish)


# -- errors

EXCEPTIONS: list[tuple[str, type[LLMError], bool]] = [
    ("throttlingException", RateLimitError, True),
    ("validationException", InvalidRequestError, False),
    ("internalServerException", ServerError, True),
    ("modelStreamErrorException", ServerError, True),
    ("serviceUnavailableException", ServerError, True),
    ("accessDeniedException", AccessDeniedError, False),
]


@pytest.mark.parametrize(("name", "kind", "retryable"), EXCEPTIONS)
def test_exceptions_in_the_stream(name: str, kind: type[LLMError], retryable: bool) -> None:
    """A modelled exception is the error it would have been as a response, with what had come."""
    fault: Event = (f"exception:{name}", {"message": "Too bad."})

    got = error(streamed([BEGIN, delta(0, text="Hal"), fault, *end()]))

    assert isinstance(got, kind)
    assert (got.message, got.error_code, got.retryable) == ("Too bad.", name, retryable)
    assert got.partial is not None
    assert got.partial.text == "Hal"


def test_an_exception_after_the_message() -> None:
    """Not even a whole message makes a failed stream a success."""
    events = [BEGIN, delta(0, text="Hi"), stop(0), end()[0]]

    assert isinstance(
        error(streamed([*events, ("exception:throttlingException", {"message": "x"})])),
        RateLimitError,
    )


def test_unmodelled_errors_and_errors_before_all() -> None:
    """An error of the connection has a code and a message in its headers."""
    got = error(streamed([("error:InternalFailure", {"message": "Broken."})]))

    assert (type(got), got.message, got.error_code) == (ServerError, "Broken.", "InternalFailure")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"message": "Too many requests", "__type": "ThrottlingException"}, RateLimitError),
        ({"message": "The provided model identifier is invalid."}, LLMError),
        ({}, StreamError),
        ([], StreamError),
        ({"output": {}}, StreamError),
    ],
)
def test_whole_bodies_that_hold_no_response(body: Any, kind: type[LLMError]) -> None:
    """Plain JSON of any shape is an error, also where a stream was expected."""
    assert isinstance(error(whole(body)), kind)


def test_json_where_a_stream_was_expected() -> None:
    """An error body of status 200 in place of an event stream is quoted."""
    got = error(streamed(b'{"message": "no such thing"}'))

    assert "no such thing" in got.message


# -- what we do not know


def test_unknown_events_are_passed_on() -> None:
    """Next year's events, first and in the middle, change nothing else."""
    later: Event = ("somethingNew", {"a": 1})

    events = streamed([later, BEGIN, delta(0, text="H"), later, delta(0, text="i"), *end()])

    assert response(events).text == "Hi"
    assert [e.data for e in events if isinstance(e, ProviderEvent)] == [
        {"somethingNew": {"a": 1}}
    ] * 2


def test_unknown_blocks_are_kept_for_replay() -> None:
    """A block of an unknown kind comes back as it would have stood in a whole body."""
    native = {"hologram": {"format": "3d", "text": "ab", "list": [1, 2]}}
    said = [
        start(0, hologram={"format": "3d"}),
        delta(0, hologram={"text": "a", "list": [1]}),
        delta(0, hologram={"text": "b", "list": [2]}),
        stop(0),
    ]

    assert response(streamed([BEGIN, *said, *end()])).message.content == (
        ProviderPart("bedrock", native),
    )
    assert response(whole(document(native))).message.content == (ProviderPart("bedrock", native),)


@pytest.mark.parametrize(
    "known",
    [{"text": "Hi"}, tool_use("look", {"q": "x"}, id="a"), reasoning("Hm.", "c2ln")],
    ids=["text", "call", "reasoning"],
)
@pytest.mark.parametrize("first", [True, False])
def test_an_unknown_member_beside_a_known_one_is_passed_on(
    known: dict[str, Any], first: bool
) -> None:
    """The block is read as if the other member were not there."""
    other = {"hologram": {"format": "3d"}}
    block = {**other, **known} if first else {**known, **other}
    alone, both = whole(document(known)), whole(document(block))
    passed_on = ProviderEvent("bedrock", {"contentBlock": other})

    assert [e for e in both if e != passed_on][:-2] == alone[:-2]
    assert passed_on in both
    streams = [BEGIN, start(0, **block), stop(0), *end()]
    assert response(streamed(streams)).message == response(both).message


def test_a_stray_delta_of_an_open_block_is_passed_on() -> None:
    """It has no place in ours, and is not lost."""
    events = streamed([BEGIN, delta(0, text="Hi"), delta(0, sparkle=1), stop(0), *end()])

    assert ProviderEvent("bedrock", {"contentBlockDelta": {"delta": {"sparkle": 1}}}) in events


def test_what_is_nested_too_deeply_is_an_error() -> None:
    """Values refuse it; the stream ends with an error, not with an exception."""
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}

    assert isinstance(error(streamed([BEGIN, ("new", deep), *end()])), StreamError)
    assert isinstance(error(whole(document({"new": deep}))), StreamError)


def test_frames_after_an_error_are_ignored() -> None:
    """Whatever follows an error is not read."""
    fault: Event = ("exception:throttlingException", {"message": "x"})

    events = streamed([BEGIN, fault, delta(0, text="more"), *end()])

    assert [type(event) for event in events if isinstance(event, Finish | ErrorEvent)] == [
        ErrorEvent
    ]
    assert not any(isinstance(event, ToolCall) for event in events)


def test_tools_of_the_request_do_not_change_other_responses() -> None:
    """Only freeform tools and the response's tool are read in another way."""
    asked = ask(tools=[ToolDefinition("look")])
    body = ANSWERS["calls"]

    assert response(whole(body, asked)).message == response(whole(body)).message


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (
            [delta(0, reasoningContent={"later": 1})],
            [ProviderEvent("bedrock", {"reasoningContent": {"later": 1}}, replay=True)],
        ),
        ([delta(0, reasoningContent={"text": None})], []),
        (
            [delta(0, text="a"), delta(0, toolResult=[{"text": "x"}])],
            [
                ProviderEvent(
                    "bedrock", {"contentBlockDelta": {"delta": {"toolResult": [{"text": "x"}]}}}
                )
            ],
        ),
        (
            [start(0, image={"format": "png", "source": {"bytes": "?"}})],
            [
                ProviderEvent(
                    "bedrock",
                    {"image": {"format": "png", "source": {"bytes": "?"}}},
                    replay=False,
                )
            ],
        ),
    ],
    ids=["unknown reasoning", "empty reasoning", "a result in a text", "no base64"],
)
def test_deltas_that_cannot_be_read_are_passed_on_or_are_empty(
    frames: list[Event], expected: list[Any]
) -> None:
    events = streamed([BEGIN, *frames, stop(0), *end()])

    assert [event for event in events if isinstance(event, ProviderEvent)] == expected
    assert isinstance(events[-1], Finish)


def test_a_second_start_of_a_block_ends_the_first() -> None:
    """Servers that imitate the service may leave ends of blocks out."""
    starts = [start(0, toolUse={"toolUseId": id_, "name": "f"}) for id_ in ("t1", "t2")]
    events = streamed([BEGIN, *starts, stop(0), *end()])

    assert [event.id for event in events if isinstance(event, ToolCall)] == ["t1", "t2"]


def test_encrypted_pieces_that_are_not_base64_are_joined_as_they_came() -> None:
    pieces = [delta(0, reasoningContent={"redactedContent": data}) for data in ("ZW5j", "?x")]
    events = streamed([BEGIN, *pieces, stop(0), *end()])

    (ended,) = (event for event in events if isinstance(event, ReasoningEnd))
    assert ended.encrypted == "ZW5j?x"
