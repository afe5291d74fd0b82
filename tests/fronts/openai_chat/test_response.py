"""Responses in the form of Chat Completions, case by case."""

from typing import Any

import pytest

from llmcore.fronts.policy import ChatReasoning, TranslationPolicy
from llmcore.schema.content import Citation, TextPart, TokenLogprob
from llmcore.schema.errors import (
    ContextLengthError,
    OverloadedError,
    QuotaExceededError,
    RateLimitError,
)
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import (
    ErrorEvent,
    File,
    LLMEvent,
    Source,
    TextDelta,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.usage import Usage
from tests.fronts.openai_chat.chat_kit import Written, echoed, refused, sdk_streamed, sdk_whole
from tests.support.events import call, stream, text, thought
from tests.support.wire.chat import REASONING_FIELDS

USAGE = Usage.make(input_tokens=1200, output_tokens=90, cache_read_tokens=1000, reasoning_tokens=30)
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}
TOOLS = {"tools": [{"type": "function", "function": {"name": "read_file"}}]}


# -- the frame


def test_a_text_is_written_as_role_deltas_finish_and_usage() -> None:
    """Each once, in this order, and the usage in a chunk of its own."""
    made = Written(stream(text("Hel", "lo"), usage=USAGE), WITH_USAGE)

    assert made.deltas == [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    reasons = [c["finish_reason"] for chunk in made.chunks for c in chunk["choices"]]
    assert reasons == [None, None, None, "stop"]
    assert [chunk["usage"] is None for chunk in made.chunks] == [True, True, True, True, False]
    assert made.chunks[-1]["choices"] == []
    assert made.body.endswith(b"data: [DONE]\n\n")


def test_usage_of_chat_includes_what_was_cached_and_thought() -> None:
    """The total is the sum of the two, as the API defines it."""
    assert Written(stream(text("x"), usage=USAGE)).whole["usage"] == {
        "prompt_tokens": 1200,
        "completion_tokens": 90,
        "total_tokens": 1290,
        "prompt_cache_hit_tokens": 1000,
        "prompt_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }


@pytest.mark.parametrize("asked", [{"stream": True}, {"stream_options": {"include_usage": False}}])
def test_a_stream_without_the_wish_for_usage_has_no_field_for_it(asked: dict[str, Any]) -> None:
    """Some clients fail on a chunk without choices."""
    made = Written(stream(text("x"), usage=USAGE), asked)

    assert all("usage" not in chunk and chunk["choices"] for chunk in made.chunks)


@pytest.mark.parametrize(
    "asked", [{"stream_options": {"include_usage": True}}, {"usage": {"include": True}}]
)
def test_a_stream_has_the_usage_that_the_client_asks_for(asked: dict[str, Any]) -> None:
    """In OpenAI's words or in OpenRouter's."""
    made = Written(stream(text("x"), usage=USAGE), {"stream": True, **asked})

    assert made.chunks[-1]["usage"]["prompt_tokens"] == 1200


def test_required_fields_are_null_and_optional_ones_absent() -> None:
    """`content` and `refusal` are always there; `tool_calls` only with calls."""
    made = Written(stream(text("x")))

    assert made.message == {"role": "assistant", "content": "x", "refusal": None}
    assert made.whole["choices"][0]["logprobs"] is None
    assert sdk_whole(made).choices[0].message.content == "x"


def test_a_response_that_is_only_a_call_has_no_content() -> None:
    """Null, streamed and whole."""
    made = Written(stream(call("read_file", "{}"), reason="tool_calls"), TOOLS)

    assert made.message["content"] is None
    assert made.deltas[0]["content"] is None


@pytest.mark.parametrize(
    ("first", "content"),
    [
        (text("Yes."), {"content": ""}),
        (call("f", "{}"), {"content": None}),
        ([*thought("Hm."), *text("Yes.")], {}),
        ([*thought("Hm."), *call("f", "{}")], {}),
    ],
    ids=["text", "call", "thinking and text", "thinking and call"],
)
def test_the_first_chunk_has_a_content_where_openai_has_one(
    first: list[LLMEvent], content: dict[str, Any]
) -> None:
    """Lagent adds up the contents of all chunks that have one, of which none may be null."""
    made = Written(stream(first))

    assert made.chunks[0]["choices"][0]["delta"] == {
        "role": "assistant",
        **content,
        "refusal": None,
    }


def test_an_empty_response_is_one_with_a_role_and_an_end() -> None:
    """The upstream ended well with nothing."""
    made = Written(stream())

    assert made.deltas == [{"role": "assistant", "content": None, "refusal": None}, {}]
    assert made.message["content"] is None


def test_a_model_that_the_client_did_not_name_is_the_one_that_answers() -> None:
    """The events name it."""
    assert Written(stream(text("x")), model="").whole["model"] == "test-model"


def test_fields_of_the_upstream_that_openai_has_too_are_kept() -> None:
    """Service tier and fingerprint; unknown tiers would fail the SDK's check."""
    native = {"openai": {"service_tier": "flex", "system_fingerprint": "fp_1"}}
    strange = {"openai": {"service_tier": "turbo"}}

    kept = Written(stream(text("x"), provider_metadata=native)).whole
    assert (kept["service_tier"], kept["system_fingerprint"]) == ("flex", "fp_1")
    assert "service_tier" not in Written(stream(text("x"), provider_metadata=strange)).whole


def test_a_fingerprint_that_the_upstream_lacks_is_empty() -> None:
    """The SDKs of OpenRouter and Cerebras require one, and take no null in a chunk."""
    made = Written(stream(text("x")), {"stream": True, "stream_options": {"include_usage": True}})

    assert {document["system_fingerprint"] for document in (made.whole, *made.chunks)} == {""}


def test_every_chunk_has_the_tier_and_the_fingerprint_from_when_they_are_known() -> None:
    """OpenAI's SDK for Python keeps the first tier, and the fingerprint of the last chunk."""
    native = {"openai": {"system_fingerprint": "fp_1"}}
    usage = Usage.make(input_tokens=1, output_tokens=2, service_tier="priority")
    events = stream(text("x"), provider_metadata=native, usage=usage)
    start = with_fields(events[0], usage=usage)
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = Written([start, *events[1:]], asked).chunks

    assert {chunk.get("service_tier") for chunk in chunks} == {"priority"}
    assert [chunk.get("system_fingerprint") for chunk in chunks[-2:]] == ["fp_1", "fp_1"]
    assert chunks[-1]["choices"] == []


# -- the reason to stop


@pytest.mark.parametrize(
    ("segments", "reason", "raw", "word"),
    [
        ([text("x")], "stop", "end_turn", "stop"),
        ([text("x")], "stop", "stop_sequence", "stop"),
        ([text("x")], "length", "max_tokens", "length"),
        ([text("x")], "length", "model_context_window_exceeded", "length"),
        ([call("f", "{}")], "tool_calls", "tool_use", "tool_calls"),
        ([call("f", "{}")], "stop", "STOP", "tool_calls"),
        ([text("x")], "tool_calls", "tool_calls", "stop"),
        ([call("f", '{"a": ')], "length", "max_tokens", "length"),
        ([text("x")], "content_filter", "SAFETY", "content_filter"),
        ([text("no", refusal=True)], "content_filter", "refusal", "content_filter"),
        ([text("no", refusal=True)], "stop", "stop", "stop"),
        ([text("x")], "other", "pause_turn", "stop"),
        ([call("f", "{}")], "other", "UNEXPECTED_TOOL_CALL", "tool_calls"),
    ],
)
def test_a_reason_to_stop_has_its_word_in_chat(
    segments: list[list[LLMEvent]], reason: str, raw: str, word: str
) -> None:
    """It agrees with what the response holds, and is written once."""
    made = Written(stream(*segments, reason=reason, raw=raw))

    assert made.whole["choices"][0]["finish_reason"] == word
    reasons = [c["finish_reason"] for chunk in made.chunks for c in chunk["choices"]]
    assert [one for one in reasons if one] == [word]


def test_a_reason_without_a_word_is_reported() -> None:
    """The client sees `stop`; the diagnostics say what it was."""
    assert Written(stream(text("x"), reason="other", raw="pause_turn")).codes == ["finish-reason"]


def test_refusals_have_their_own_field() -> None:
    """Clients check it apart from the text."""
    made = Written(stream(text("I ", "can't", refusal=True), reason="content_filter"))

    assert made.message["refusal"] == "I can't"
    assert made.message["content"] is None
    assert "".join(made.values("refusal")[1:]) == "I can't"


# -- failures


@pytest.mark.parametrize(
    ("error", "type_", "code"),
    [
        (OverloadedError("Overloaded", status_code=529), "server_error", "server_is_overloaded"),
        (RateLimitError("slow down"), "rate_limit_error", "rate_limit_exceeded"),
        (
            ContextLengthError("maximum context length is 8"),
            "invalid_request_error",
            "context_length_exceeded",
        ),
        (QuotaExceededError("no credit"), "insufficient_quota", "insufficient_quota"),
    ],
)
def test_a_failure_amid_the_stream_is_an_error_without_an_end(
    error: Any, type_: str, code: str
) -> None:
    """No finish reason and no [DONE]: lenient clients would take the text for whole."""
    begun = stream(text("Reading."))[:4]
    made = Written([*begun, ErrorEvent(error)])

    assert made.chunks[-1] == {
        "error": {"message": error.message, "type": type_, "param": None, "code": code}
    }
    assert b"[DONE]" not in made.body
    assert made.writer.outcome == "failed"


def test_an_upstream_that_ends_with_an_error_for_a_reason_fails_the_response() -> None:
    """Not a normal end: what came may be half of it."""
    assert Written(stream(text("x"), reason="error", raw="MALFORMED_FUNCTION_CALL")).failed


# -- calls


def interleaved() -> list[LLMEvent]:
    """Return two calls whose inputs come by turns."""
    return [
        ToolInputStart("c1", "read_file"),
        ToolInputDelta("c1", '{"path":'),
        ToolInputStart("c2", "read_file"),
        ToolInputDelta("c2", '{"path":"b'),
        ToolInputDelta("c1", '"a"}'),
        ToolInputDelta("c2", '"}'),
        ToolInputEnd("c1"),
        ToolInputEnd("c2"),
    ]


def test_interleaved_calls_are_written_as_they_come_each_under_its_index() -> None:
    """Nothing waits for another call's end; id, type and name come once."""
    made = Written(stream(interleaved(), reason="tool_calls"))
    pieces = [entry for entries in made.values("tool_calls") for entry in entries]

    assert [piece["index"] for piece in pieces] == [0, 0, 1, 1, 0, 1]
    assert [piece["id"] for piece in pieces if "id" in piece] == ["c1", "c2"]
    assert all(None not in piece.values() for piece in pieces)
    added = sdk_streamed(made)["choices"][0]["message"]["tool_calls"]
    assert [one["function"]["arguments"] for one in added] == ['{"path":"a"}', '{"path":"b"}']


def test_input_is_written_while_the_upstream_still_sends() -> None:
    """A delta in, a delta out."""
    made = Written(stream(call("f", '{"a"', ":1", "}")))

    said = [p["function"]["arguments"] for e in made.values("tool_calls") for p in e]
    assert said == ["", '{"a"', ":1", "}"]


@pytest.mark.parametrize("pieces", [(), ("",), (" ",)])
def test_a_call_without_arguments_has_an_empty_object(pieces: tuple[str, ...]) -> None:
    """Clients parse the text as JSON."""
    made = Written(stream(call("f", *pieces), reason="tool_calls"))

    assert made.message["tool_calls"][0]["function"]["arguments"] == "{}"
    said = [p["function"]["arguments"] for e in made.values("tool_calls") for p in e]
    assert "".join(said).strip() == "{}"


def test_half_a_call_at_the_limit_is_written_as_far_as_it_came() -> None:
    """Repairing it would make a call that the model did not finish."""
    made = Written(stream(call("f", '{"a": "b'), reason="length"))

    assert made.message["tool_calls"][0]["function"]["arguments"] == '{"a": "b'


@pytest.mark.parametrize("call_id", ["call.1:x", "x" * 80, "functions.f:0", "日本"])
def test_ids_of_calls_are_short_and_plain_for_every_other_api(call_id: str) -> None:
    """A conversation may continue with an API that takes 40 characters of A-Z, 0-9, _ and -."""
    made = Written(stream(call("f", "{}", id=call_id), reason="tool_calls"))
    shown = made.message["tool_calls"][0]["id"]

    assert len(shown) <= 40
    assert shown.isascii()
    assert shown.replace("_", "").replace("-", "").isalnum()


def test_freeform_calls_have_their_type_for_clients_that_listed_the_tool() -> None:
    """The input is plain text."""
    tools = {"tools": [{"type": "custom", "custom": {"name": "patch"}}]}
    events = stream(call("patch", "*** Be", "gin", kind="custom"), reason="tool_calls")
    made = Written(events, tools)

    assert made.message["tool_calls"][0] == {
        "id": "call_1",
        "type": "custom",
        "custom": {"name": "patch", "input": "*** Begin"},
    }


def test_freeform_calls_are_functions_for_other_clients() -> None:
    """The SDK's strict mode has no other type in a stream."""
    made = Written(stream(call("patch", 'a "b"\n', "c", kind="custom"), reason="tool_calls"))
    arguments = made.message["tool_calls"][0]["function"]["arguments"]

    assert arguments == '{"input":"a \\"b\\"\\nc"}'
    added = sdk_streamed(made)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (added["name"], added["arguments"]) == ("patch", arguments)


def test_calls_of_the_form_before_tools_are_written_in_it() -> None:
    """A client that lists `functions` reads `function_call`; it takes one."""
    asked = {"functions": [{"name": "f"}]}
    two = [*call("f", '{"a":1}'), *call("f", "{}", id="call_2")]
    made = Written(stream(two, reason="tool_calls"), asked)

    assert made.message["function_call"] == {"name": "f", "arguments": '{"a":1}'}
    assert "tool_calls" not in made.message
    assert made.whole["choices"][0]["finish_reason"] == "function_call"
    assert made.codes == ["unsupported-content"]


# -- thinking


@pytest.mark.parametrize(("setting", "fields"), REASONING_FIELDS.items())
def test_thinking_is_shown_in_the_configured_field(
    setting: ChatReasoning, fields: set[str]
) -> None:
    """Never as text, and its state goes with it whatever is shown."""
    events = stream(thought("Need ", "two.", signature="S"), text("Reading."))
    made = Written(events, policy=TranslationPolicy(chat_reasoning=setting))

    shown = {"reasoning_content", "reasoning"} & made.message.keys()
    assert shown == fields
    assert all(made.message[name] == "Need two." for name in fields)
    assert made.message["content"] == "Reading."
    assert len(made.message["reasoning_details"]) == 1


@pytest.mark.parametrize("asked", [{"reasoning": {"exclude": True}}, {"include_reasoning": False}])
def test_thinking_that_the_client_does_not_want_is_not_shown(asked: dict[str, Any]) -> None:
    """Its state is carried all the same: the upstream needs it."""
    made = Written(stream(thought("Hm.", signature="S"), text("x")), asked)

    assert "reasoning_content" not in made.message
    assert [entry["type"] for entry in made.message["reasoning_details"]] == ["reasoning.encrypted"]


def test_pieces_of_thinking_add_up_to_one_entry_with_its_signature() -> None:
    """Clients join strings by index: `format`, `id` and the signature come once."""
    made = Written(stream(thought("Need ", "two.", signature="S"), text("x")))
    (entry,) = sdk_streamed(made)["choices"][0]["message"]["reasoning_details"]

    assert entry == made.message["reasoning_details"][0]
    assert entry["text"] == "Need two."
    assert entry["format"] == "unknown"  # OpenRouter's clients drop entries of other words
    assert entry["id"] == "openbridge-v1"
    assert entry["signature"].startswith("ob1.")


def test_thinking_without_a_proof_is_carried_as_text_alone() -> None:
    """DeepSeek's: the client's `reasoning_content` is all that goes back."""
    made = Written(stream(thought("Hm."), text("x")))

    assert all("signature" not in entry for entry in made.message["reasoning_details"])


# -- what the API has for some upstreams


def test_citations_are_annotations_at_their_place_in_the_whole_content() -> None:
    """Indexes count characters of the message, which joins texts."""
    cited = Citation(url="https://a.example", title="A", start_index=1, end_index=3)
    events = stream(text("Hello ", id="1"), text("world", id="2", citations=(cited,)))
    made = Written(events)

    assert made.message["annotations"] == [
        {
            "type": "url_citation",
            "url_citation": {
                "url": "https://a.example", "title": "A", "start_index": 7, "end_index": 9,
            },
        }
    ]  # fmt: skip
    assert made.values("annotations") == [made.message["annotations"]]
    assert sdk_whole(made).choices[0].message.annotations


CITED = Citation(url="https://a.example", title="A", start_index=1, end_index=3)


@pytest.mark.parametrize("streaming", [True, False])
def test_citations_of_a_text_before_a_call_keep_their_positions(streaming: bool) -> None:
    """The text ends where the call begins: its citations come before."""
    made = Written(stream(text("world", citations=(CITED,)), call("f"), reason="tool_calls"))

    content = made.decoded(streaming=streaming).unwrap().message.content
    (said,) = [part for part in content if isinstance(part, TextPart)]
    assert (said.text, said.citations) == ("world", (CITED,))
    assert [*made.deltas[2]] == ["annotations"]


def test_citations_of_texts_before_and_after_a_call_are_joined_by_their_indexes() -> None:
    last = Citation(url="https://b.example", title="B", start_index=0, end_index=2)
    events = stream(
        text("world", id="1", citations=(CITED,)), call("f"), text("end", id="2", citations=(last,))
    )
    made = Written(events)

    whole = made.message["annotations"]
    assert made.values("annotations") == [whole[:1], [{"index": 1, **whole[1]}]]
    found = sdk_streamed(made)["choices"][0]["message"]["annotations"]
    assert [one["url_citation"] for one in found] == [one["url_citation"] for one in whole]


def test_a_citation_of_a_document_is_reported() -> None:
    """The API cites pages alone."""
    made = Written(stream(text("x", citations=(Citation(document_id="d"),))))

    assert "citation-dropped" in made.codes


def test_pages_that_no_text_cites_are_listed_beside_the_choices() -> None:
    """As Perplexity has them."""
    page = Source(id="s", url="https://b.example", title="B")

    whole = Written(stream(text("x"), page)).whole
    assert whole["search_results"] == [{"title": "B", "url": "https://b.example"}]


def test_log_probabilities_are_written_only_if_the_client_asks() -> None:
    """Beside the delta, and on the whole choice."""
    tokens = (TokenLogprob(token="é", logprob=-0.5),)
    events = stream([*text()[:1], TextDelta("t", "é", tokens), *text()[1:]])

    shown = Written(events, {"logprobs": True}).whole["choices"][0]["logprobs"]
    assert shown["content"][0] == {
        "token": "é", "logprob": -0.5, "bytes": [195, 169], "top_logprobs": [],
    }  # fmt: skip
    assert Written(events, {}).whole["choices"][0]["logprobs"] is None


def test_pictures_are_written_as_openrouter_has_them_and_come_back() -> None:
    """A client that sends the message back shows them to the model."""
    png = b"\x89PNG\r\n\x1a\n"
    made = Written(stream(text("Here."), File(id="f", data=png, media_type="image/png")))

    (image,) = made.message["images"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert [type(part).__name__ for part in echoed(made).content] == ["TextPart", "ImagePart"]


def test_a_file_without_a_place_is_reported() -> None:
    """Nothing is dropped silently."""
    made = Written(stream(text("x"), File(id="f", data=b"%PDF-", media_type="application/pdf")))

    assert made.codes == ["unsupported-content"]


def test_several_choices_are_refused_in_so_many_words() -> None:
    """Each costs the whole input again: the client sends the request again if it wants that."""
    error = refused({"n": 2})

    assert (error.status, error.param, error.code) == (400, "n", "unsupported_value")
