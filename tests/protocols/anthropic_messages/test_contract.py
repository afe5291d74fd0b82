"""The contract's values: required fields, unknown fields, and the variants of each union."""

from contextlib import suppress
from typing import Any, get_args

import pytest
from anthropic.types.beta import BetaContentBlockParam, BetaMessage, BetaThinkingConfigParam
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import get_type_hints

from llmcore.protocols.anthropic_messages import contract
from llmcore.protocols.anthropic_messages.contract import blocks, response
from llmcore.protocols.anthropic_messages.contract import request as requests
from llmcore.schema.errors import InvalidRequestError, StreamError
from tests.support.sdk_values import documents
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.anthropic import begin, delta, end, message, start, stop, stream_of, text

HELLO: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Hello"}],
}
EPHEMERAL = {"type": "ephemeral", "ttl": "1h"}
CITED = {"cited_text": "x", "document_index": 0, "document_title": None}

# -- requests


def round_trip(*, tolerant: bool = False, **fields: Any) -> dict[str, Any]:
    """Read and write a request with *fields*."""
    return contract.write(contract.read_request({**HELLO, **fields}, tolerant=tolerant))


def in_content(block: Any, role: str = "user") -> dict[str, Any]:
    """Return fields of a request with *block* in its only message."""
    return {"messages": [{"role": role, "content": [block]}]}


@pytest.mark.parametrize("missing", ["model", "max_tokens", "messages"])
def test_a_request_without_a_required_field_is_refused(missing: str) -> None:
    """Model, messages and max_tokens must be there."""
    data = {name: value for name, value in HELLO.items() if name != missing}

    with pytest.raises(InvalidRequestError, match=rf"required field missing @ \$\.{missing}"):
        contract.read_request(data)


FIELDS: list[dict[str, Any]] = [
    {"metadata": {"user_id": "u"}},
    {"service_tier": "standard_only"},
    {"stop_sequences": ["a", "b"]},
    {"stream": False},
    {"stream": True},
    {"system": "Be brief."},
    {"system": [{"type": "text", "text": "Be brief.", "cache_control": EPHEMERAL}]},
    {"temperature": 0.5, "top_k": 4, "top_p": 0.9},
    {"temperature": 1},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"thinking": {"type": "disabled"}},
    {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"a": 1}}}},
    {"cache_control": {"type": "ephemeral"}},
    {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    {"tool_choice": {"type": "any"}},
    {"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": False}},
    {"tool_choice": {"type": "none"}},
    {"tools": [{"name": "f", "input_schema": {"type": "object"}, "strict": True}]},
    {"tools": [{"type": "bash_20250124", "name": "bash", "cache_control": EPHEMERAL}]},
    {"tools": [{"type": "text_editor_20250124", "name": "str_replace_editor"}]},
    {"tools": [{"type": "text_editor_20250429", "name": "str_replace_based_edit_tool"}]},
    {
        "tools": [
            {
                "type": "text_editor_20250728",
                "name": "str_replace_based_edit_tool",
                "max_characters": 9,
            }
        ]
    },
    {"tools": [{"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.b"]}]},
    in_content(
        text(
            "a",
            citations=[
                {"type": "char_location", **CITED, "start_char_index": 0, "end_char_index": 1}
            ],
        )
    ),
    in_content(
        text(
            "a",
            citations=[
                {"type": "page_location", **CITED, "start_page_number": 1, "end_page_number": 2}
            ],
        )
    ),
    in_content(
        text(
            "a",
            citations=[
                {
                    "type": "content_block_location",
                    **CITED,
                    "start_block_index": 0,
                    "end_block_index": 1,
                }
            ],
        )
    ),
    in_content(
        text(
            "a",
            citations=[
                {
                    "type": "web_search_result_location",
                    "cited_text": "x",
                    "encrypted_index": "e",
                    "title": None,
                    "url": "u",
                }
            ],
        )
    ),
    in_content(
        text(
            "a",
            citations=[
                {
                    "type": "search_result_location",
                    "cited_text": "x",
                    "search_result_index": 0,
                    "source": "s",
                    "title": "t",
                    "start_block_index": 0,
                    "end_block_index": 1,
                }
            ],
        )
    ),
    in_content({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}),
    in_content(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    ),
    in_content(
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="},
            "title": "t",
            "context": "c",
            "citations": {"enabled": True},
        }
    ),
    in_content(
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    ),
    in_content({"type": "document", "source": {"type": "content", "content": "x"}}),
    in_content({"type": "document", "source": {"type": "content", "content": [text("x")]}}),
    in_content({"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}}),
    in_content({"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}),
    in_content({"type": "thinking", "thinking": "", "signature": "s"}, "assistant"),
    in_content({"type": "redacted_thinking", "data": "d"}, "assistant"),
    in_content({"type": "tool_use", "id": "a", "name": "f", "input": {}}, "assistant"),
    in_content({"type": "tool_result", "tool_use_id": "a", "content": "text"}),
    in_content(
        {"type": "tool_result", "tool_use_id": "a", "content": [text("x")], "is_error": True}
    ),
    in_content({"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"q": 1}}),
    in_content(
        {
            "type": "web_search_tool_result",
            "tool_use_id": "a",
            "content": [
                {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}
            ],
        }
    ),
    in_content(
        {
            "type": "web_search_tool_result",
            "tool_use_id": "a",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        }
    ),
]

LATER: list[dict[str, Any]] = [
    {"thinking": {"type": "adaptive", "display": "omitted"}},
    {"thinking": {"type": "between_tools"}},
    {"tools": [{"type": "web_search_20260318", "name": "web_search", "max_uses": 1}]},
    {"tools": [{"type": "web_fetch_20260318", "name": "web_fetch", "use_cache": False}]},
    {"tools": [{"type": "code_execution_20260521", "name": "code_execution"}]},
    {"tools": [{"type": "memory_20250818", "name": "memory"}]},
    {"tools": [{"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}}]},
    {"tools": [{"type": "mcp_toolset", "mcp_server_name": "docs"}]},
    {"tools": [{"type": "tool_of_2031", "name": "x", "anything": [1]}]},
    in_content({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
    in_content({"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
    in_content(
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "tool_reference", "tool_name": "f"}],
        }
    ),
    in_content(
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "a",
            "content": {"type": "bash_code_execution_result", "stdout": "1", "anything": None},
        }
    ),
    in_content({"type": "mcp_tool_result", "tool_use_id": "a", "content": "x", "is_error": False}),
    in_content({"type": "container_upload", "file_id": "file_1"}),
    in_content({"type": "compaction"}, "assistant"),
    in_content(
        {
            "type": "compaction",
            "content": "We met.",
            "encrypted_content": "e",
            "signature": "s",
            "tool_changes": [{"type": "tool_removal", "tool": {"name": "f"}}],
        },
        "assistant",
    ),
    in_content({"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}),
    in_content({"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}),
    in_content({"type": "mcp_tool_listing", "mcp_server_name": "docs", "tools": []}, "assistant"),
    in_content(
        {
            "type": "fallback",
            "from": {"model": "claude-a"},
            "to": {"model": "claude-b"},
            "trigger": {"type": "refusal"},
        },
        "assistant",
    ),
    in_content({"type": "block_of_2031", "anything": [1, {"a": None}]}),
    {"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": [text("b")]}]},
]
"""Additions of today's API that the contract lacks."""


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: str(fields)[:70])
def test_requests_are_written_as_they_were_read(fields: dict[str, Any]) -> None:
    """Each field and block comes out as it went in; strings stay strings, blocks blocks."""
    assert round_trip(**fields) == {**HELLO, **fields}
    assert round_trip(tolerant=True, **fields) == {**HELLO, **fields}


def test_every_block_of_the_sdk_has_a_class() -> None:
    """Those of the beta API included; a block that the SDK adds is to be taken up."""
    *asked, answered = get_args(BetaContentBlockParam)
    words = {get_args(get_type_hints(one)["type"])[0] for one in asked}
    said = {documents(one)[0]["type"] for one in get_args(get_args(answered)[0])}

    assert words - {tag(one) for one in get_args(blocks.ContentBlock)} == set()
    assert said - {tag(one) for one in get_args(blocks.ResponseBlock)} == set()


def test_thinking_of_the_sdk_is_written_as_it_was_read() -> None:
    """Each type, with all fields that the SDK has for it."""
    for type_ in get_args(BetaThinkingConfigParam):
        fields = get_type_hints(type_, include_extras=False)
        given = {name: _THINKING[name] for name in fields if name != "type"}
        thinking = {"type": get_args(fields["type"])[0], **given}

        assert round_trip(tolerant=True, thinking=thinking)["thinking"] == thinking


_THINKING: dict[str, Any] = {
    "budget_tokens": 2048,
    "display": "omitted",
    "block_binding": {"prefix_mismatch_behavior": "drop_block"},
}


def test_responses_of_the_sdk_are_written_as_they_were_read() -> None:
    """All fields, those of the token counts included, but for blocks, which have their own test."""
    for document in documents(BetaMessage):
        given = {**document, "content": []}

        assert contract.write(contract.read_response(given, tolerant=True)) == given


def tag(block: Any) -> str:
    """Return the value of `type` that a class of blocks stands for."""
    return str(getattr(block, "type", ""))


@pytest.mark.parametrize("fields", LATER, ids=lambda fields: str(fields)[:70])
def test_what_the_contract_does_not_have_is_read_only_tolerantly(fields: dict[str, Any]) -> None:
    """Later roles, blocks, sources, tools and ways of thinking are refused unless asked for."""
    assert round_trip(tolerant=True, **fields) == {**HELLO, **fields}
    with pytest.raises(InvalidRequestError, match=r"not one of|not 'enabled'"):
        round_trip(**fields)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"tool_choice": {"type": "maybe"}}, "type is 'maybe', not one of any, auto, none, tool"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"thinking": {"type": "deep"}}, "type is 'deep', not one of disabled, enabled"),
        ({"thinking": {"type": "enabled"}}, "required field missing @ $.thinking.budget_tokens"),
        ({"service_tier": "gold"}, "'gold' is not one of auto, standard_only"),
        ({"temperature": "hot"}, "expected float, got str @ $.temperature"),
        ({"system": 7}, "expected str or a list, got int @ $.system"),
        ({"stop_sequences": "END"}, "expected a list, got str"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role is 'robot', not one of user"),
        (in_content({"type": "image", "source": {"type": "ftp"}}), "type is 'ftp'"),
        (in_content({"type": "image"}), "required field missing"),
        (in_content("words"), "expected an object, got str"),
        (in_content({"type": "text"}), "required field missing"),
        ({"tools": [{"name": "f"}]}, "required field missing"),
        ({"metadata": "me"}, "expected an object, got str @ $.metadata"),
        ({"cache_control": {"type": "eternal"}}, "type is 'eternal', not 'ephemeral'"),
    ],
)
def test_what_is_none_of_the_variants_is_an_error(fields: dict[str, Any], why: str) -> None:
    """Unions are strict: an unknown choice, source or type names its path."""
    with pytest.raises(InvalidRequestError) as caught:
        contract.read_request({**HELLO, **fields})

    assert why in caught.value.message


def test_unknown_fields_are_kept_at_the_top_only() -> None:
    """Unknown top-level fields are kept and written back; sub-structures drop theirs."""
    request = contract.read_request(
        {**HELLO, "container": "c", "thinking": {"type": "disabled", "new": 1}}
    )

    assert request.extra_fields == {"container": "c"}
    written = contract.write(request)
    assert written["container"] == "c"
    assert written["thinking"] == {"type": "disabled"}


def test_a_field_that_is_set_wins_over_an_unknown_one() -> None:
    """An explicit field is written, not the unknown one of its name."""
    request = contract.MessagesRequest(
        model="m", max_tokens=1, messages=(), extra_fields={"max_tokens": 9, "top_k": 3}
    )

    assert contract.write(request) == {"model": "m", "max_tokens": 1, "top_k": 3, "messages": []}


def test_messages_are_written_last() -> None:
    """All before the messages can stay the same from turn to turn, byte for byte."""
    assert list(round_trip(container="c", system="s"))[-1] == "messages"


@given(json_objects())
def test_a_request_is_read_or_refused(data: Any) -> None:
    """Whatever comes, the error is ours."""
    for tolerant in (False, True):
        with suppress(InvalidRequestError):
            request = contract.read_request({**HELLO, **data}, tolerant=tolerant)
            assert contract.read_request(contract.write(request), tolerant=tolerant) == request


# -- responses


def test_absent_usage_is_not_zero() -> None:
    """Counts that the provider left out are None, and are not written."""
    read = contract.read_response(message(text("a"), usage={"input_tokens": 0}))

    assert read.usage == response.MessagesUsage(input_tokens=0)
    assert contract.write(read)["usage"] == {"input_tokens": 0}


def test_cache_writes_are_split_by_lifetime() -> None:
    """Cache creation tells five minutes and an hour apart, and server tools are counted."""
    usage = {
        "input_tokens": 1,
        "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3},
        "server_tool_use": {"web_search_requests": 4},
    }

    read = contract.read_response(message(usage=usage))

    assert read.usage is not None
    assert read.usage.cache_creation == response.CacheCreation(
        ephemeral_5m_input_tokens=2, ephemeral_1h_input_tokens=3
    )
    assert read.usage.server_tool_use == response.ServerToolUsage(web_search_requests=4)


def test_a_response_always_has_a_list_of_content() -> None:
    """An empty response is written as `[]`, with its null stop reason."""
    written = contract.write(contract.MessagesResponse(id="msg", model="m", content=()))

    assert written == {
        "type": "message",
        "id": "msg",
        "model": "m",
        "content": [],
        "role": "assistant",
        "stop_reason": None,
        "stop_sequence": None,
    }


def test_content_that_is_not_a_list_is_an_error() -> None:
    """`content: null` is not a response."""
    with pytest.raises(StreamError, match="expected a list, got null"):
        contract.read_response({**message(), "content": None})


@pytest.mark.parametrize("field", ["id", "type", "role", "content", "model"])
def test_a_response_without_a_required_field_is_refused(field: str) -> None:
    """Id, type, role, content and model must be there; the usage need not."""
    data = {name: value for name, value in message(text("a")).items() if name != field}

    with pytest.raises(StreamError, match=field):
        contract.read_response(data)


def test_a_response_without_usage_is_read() -> None:
    """Missing counts are absent, and are not written."""
    data = {name: value for name, value in message(text("a")).items() if name != "usage"}

    assert contract.write(contract.read_response(data)) == data


CONTRACT_BLOCKS: list[dict[str, Any]] = [
    text("a"),
    {"type": "thinking", "thinking": "t", "signature": "s"},
    {"type": "redacted_thinking", "data": "d"},
    {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "a", "content": []},
]


@pytest.mark.parametrize("block", CONTRACT_BLOCKS, ids=lambda block: block["type"])
def test_the_blocks_of_a_response_are_the_contracts(block: dict[str, Any]) -> None:
    """Each of the six is written as it was read."""
    data = message(block)

    assert contract.write(contract.read_response(data)) == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (message({"type": "container_upload", "file_id": "f"}), "type is 'container_upload'"),
        (message({"type": "block_of_2031"}), "type is 'block_of_2031'"),
        (message(stop="compaction"), "stop_reason is 'compaction', not one of end_turn"),
        (message(stop="model_context_window_exceeded"), "stop_reason is"),
        (message(role="user"), "role is 'user', not one of assistant"),
    ],
)
def test_a_response_with_later_values_is_read_only_tolerantly(data: Any, why: str) -> None:
    """Blocks, stop reasons and roles that the contract does not have need the tolerant mode."""
    assert contract.write(contract.read_response(data, tolerant=True)) == data
    with pytest.raises(StreamError) as caught:
        contract.read_response(data)
    assert why in caught.value.message


@pytest.mark.parametrize(
    "reason",
    ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", None],
)
def test_the_stop_reasons_of_the_contract_are_read(reason: str | None) -> None:
    """The six, and null; in a whole response and in a stream."""
    assert contract.read_response(message(stop=reason)).stop_reason == reason
    [change, _] = end(reason)
    assert contract.write(contract.read_event(change)) == change


@pytest.mark.parametrize(
    "event",
    [
        start(0, type="compaction"),
        delta(0, "compaction_delta", content="c", encrypted_content="e"),
        end("compaction")[0],
    ],
)
def test_events_with_later_values_are_read_only_tolerantly(event: dict[str, Any]) -> None:
    """The same in a stream."""
    assert contract.write(contract.read_event(event, tolerant=True)) == event
    with pytest.raises(StreamError):
        contract.read_event(event)


# -- events


DELTAS: list[tuple[dict[str, Any], response.BlockDelta]] = [
    ({"type": "text_delta", "text": "a"}, response.TextBlockDelta("a")),
    ({"type": "input_json_delta", "partial_json": "{"}, response.InputJsonDelta("{")),
    ({"type": "thinking_delta", "thinking": "t"}, response.ThinkingDelta("t")),
    ({"type": "signature_delta", "signature": "s"}, response.SignatureDelta("s")),
]


@pytest.mark.parametrize(("data", "expected"), DELTAS)
def test_each_delta_is_read_as_its_type_and_written_back(
    data: dict[str, Any], expected: response.BlockDelta
) -> None:
    """Each delta is read as its type, and written as it was read."""
    event: dict[str, Any] = {"type": "content_block_delta", "index": 0, "delta": data}

    read = contract.read_event(event)

    assert read == response.ContentBlockDeltaEvent(0, expected)
    assert contract.write(read) == event


def test_a_citation_delta_holds_one_citation() -> None:
    """A citation comes whole."""
    citation = {"type": "char_location", **CITED, "start_char_index": 0, "end_char_index": 1}
    read = contract.read_event(delta(0, "citations_delta", citation=citation))

    assert isinstance(read, response.ContentBlockDeltaEvent)
    assert isinstance(read.delta, response.CitationsDelta)
    assert contract.write(read.delta.citation) == citation


@pytest.mark.parametrize(
    "event",
    [
        begin(),
        start(0, **text("")),
        stop(0),
        *end(),
        {"type": "ping"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ],
)
def test_events_are_written_as_they_were_read(event: dict[str, Any]) -> None:
    """Every event of the union round-trips."""
    assert contract.write(contract.read_event(event)) == event


@pytest.mark.parametrize("event", [{"type": "surprise"}, {}, [], delta(0, "colour_delta")])
def test_an_unknown_event_is_none_of_the_union(event: Any) -> None:
    """The typed union is strict; the protocol's stream is not."""
    with pytest.raises(StreamError):
        contract.read_event(event)


@given(json_values())
def test_an_event_is_read_or_refused(data: Any) -> None:
    """Whatever comes, the error is ours."""
    try:
        contract.read_event(data)
    except StreamError:
        return


# -- the sequence of a stream

GOOD = stream_of(message(text("Hello"), {"type": "redacted_thinking", "data": "d"}))


def checked(stream: list[dict[str, Any]], *, tolerant: bool = False) -> None:
    """Check the sequence of *stream*."""
    contract.check_sequence(map(contract.read_event, stream), tolerant=tolerant)


def test_valid_sequence_passes_the_checker_with_pings_anywhere() -> None:
    """A stream as the API sends it keeps the rules, with pings anywhere."""
    checked(GOOD)
    checked([ping for event in GOOD for ping in ({"type": "ping"}, event)])
    checked([GOOD[0], *GOOD])  # the same beginning twice adds nothing


ERROR = {"type": "error", "error": {"type": "api_error", "message": "x"}}


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (GOOD[1:], "message_start must come first"),
        ([], "ended before message_stop"),
        (GOOD[:-1], "ended before message_stop"),
        ([GOOD[0], begin(id="msg_2")], "message msg_1 of claude-sonnet-4-5 has started already"),
        ([GOOD[0], begin(model="other")], "has started already"),
        ([GOOD[0], delta(0, "text_delta", text="a")], "block 0 is not open"),
        ([GOOD[0], stop(0)], "block 0 is not open"),
        ([*GOOD[:2], start(0, **text(""))], "block 0 has started already"),
        ([*GOOD[:2], delta(0, "thinking_delta", thinking="a")], "a text block takes no thinking"),
        ([*GOOD[:2], *end()], "blocks are still open: [0]"),
        ([GOOD[0], GOOD[-1]], "message_delta comes before it"),
        ([*GOOD[:-1], start(9, **text(""))], "no block may follow message_delta"),
        ([*GOOD, {"type": "ping"}], "nothing may follow the end"),
        ([GOOD[0], ERROR, {"type": "ping"}], "nothing may follow the end"),
        ([begin(usage={"output_tokens": 9}), *end(usage={"output_tokens": 3})], "fell to 3"),
    ],
)
def test_a_violation_is_a_typed_error(stream: list[dict[str, Any]], why: str) -> None:
    """Each broken rule is a StreamError that says where and why."""
    with pytest.raises(StreamError) as caught:
        checked(stream)

    assert why in caught.value.message


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param([begin(content=[text("a")], stop="tool_use"), GOOD[-1]], id="complete start"),
        pytest.param(
            [begin(content=[text("a")]), delta(0, "text_delta", text="b"), stop(0), *end()],
            id="blocks of the start go on",
        ),
        pytest.param(
            [begin(content=[text("a")], stop="tool_use"), start(1, **text("b")), stop(1), *end()],
            id="more blocks after the start's",
        ),
    ],
)
def test_content_in_message_start_is_in_order_only_tolerantly(stream: list[Any]) -> None:
    """SDKs accumulate it; the contract has content in blocks of their own."""
    checked(stream, tolerant=True)
    with pytest.raises(StreamError, match="content must come in content blocks"):
        checked(stream)


def test_an_error_ends_a_stream() -> None:
    """After an error event nothing is missing."""
    checked([GOOD[0], ERROR])


@given(st.lists(st.sampled_from(GOOD), max_size=8))
def test_any_order_of_events_is_good_or_a_stream_error(stream: list[dict[str, Any]]) -> None:
    """The checker never fails in another way."""
    try:
        checked(stream)
    except StreamError:
        return


# -- building by hand


def test_values_can_be_built_by_hand() -> None:
    """A request written in code is the JSON that the API documents."""
    marked = blocks.TextBlock("Hi", cache_control=contract.CacheControl())
    request = contract.MessagesRequest(
        model="claude-opus-5",
        max_tokens=64,
        thinking=requests.ThinkingAdaptive(),
        tools=(requests.BashTool(), requests.ClientTool(name="f", input_schema={"type": "object"})),
        tool_choice=requests.ToolChoiceTool("f"),
        system="Be brief.",
        messages=(contract.InputMessage("user", (marked,)),),
    )

    assert contract.write(request) == {
        "model": "claude-opus-5",
        "max_tokens": 64,
        "thinking": {"type": "adaptive"},
        "tool_choice": {"type": "tool", "name": "f"},
        "tools": [
            {"type": "bash_20250124", "name": "bash"},
            {"name": "f", "input_schema": {"type": "object"}},
        ],
        "system": "Be brief.",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}],
            }
        ],
    }


@given(texts(), texts())
def test_thinking_is_kept_to_the_byte(thought: str, signature: str) -> None:
    """Thinking and signature come back exactly, empty thinking too."""
    block = {"type": "thinking", "thinking": thought, "signature": signature}

    assert round_trip(**in_content(block, "assistant"))["messages"][0]["content"] == [block]
