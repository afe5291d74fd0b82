"""The conversation: roles, parts, their order, and what must come back unchanged."""

from typing import Any

import pytest
from attrs import evolve
from syrupy.assertion import SnapshotAssertion

from llmcore.protocols.anthropic_messages import messages as lowering
from llmcore.schema.content import (
    AudioPart,
    Citation,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cached,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import dumps
from llmcore.schema.messages import Message, Origin
from llmcore.schema.options import CachePolicy, ResponseFormat
from tests.support.wire.anthropic import (
    MODEL,
    ask,
    begin,
    body,
    built,
    codes,
    delta,
    end,
    message,
    messages,
    refused,
    start,
    stop,
    stream_of,
    streamed,
    text,
    thinking,
    tool_use,
    unmarked,
    whole,
)
from tests.support.wire.protocol import response

PNG = b"\x89PNG\r\n\x1a\n0000"
PDF = b"%PDF-1.7"
HERE = Origin(provider="anthropic", model=MODEL, protocol="anthropic-messages")


def content(*parts: Any) -> Any:
    """Return the blocks of a user's message of *parts*."""
    return messages(ask(messages=[Message.user(*parts)]))[0]["content"]


# -- roles


def test_roles_alternate_with_system_text_first() -> None:
    """System and developer text leads, the two sides take turns, results are the user's."""
    call = ToolCallPart("toolu_1", "look", {"at": 1})
    asked = ask(
        system="A",
        messages=[
            Message.system("B"),
            Message.developer("C"),
            Message.user("Hi"),
            Message.assistant("Let me see.", call),
            Message.tool("toolu_1", "seen"),
            Message.user("And?"),
        ],
    )

    assert unmarked(body(asked)["system"]) == [text("A"), text("B"), text("C")]
    assert messages(asked) == [
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [text("Let me see."), tool_use("look", {"at": 1})]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"},
                text("And?"),
            ],
        },
    ]


def test_neighbouring_messages_of_one_role_are_merged() -> None:
    """Two messages of one side are one turn."""
    asked = ask(messages=[Message.user("a"), Message.user("b"), Message.assistant("c")])

    assert messages(asked)[0] == {"role": "user", "content": [text("a"), text("b")]}
    assert codes(asked) == [("roles-merged", "messages[1]")]


def test_a_response_may_begin_the_conversation() -> None:
    """A greeting, or a history whose head was cut off, goes as it is."""
    asked = ask(messages=[Message.assistant("Hello!"), Message.user("Hi")])

    assert [m["role"] for m in messages(asked)] == ["assistant", "user"]
    assert codes(asked) == []


def test_empty_text_is_left_out() -> None:
    """Text of white space is refused by the API, wherever it stands."""
    asked = ask(
        system=["", " "],
        messages=[
            Message.user("Hi", "  "),
            Message.assistant("", ToolCallPart("toolu_1", "f")),
            Message.tool("toolu_1", (TextPart(""), TextPart("x"))),
        ],
    )

    assert "system" not in body(asked)
    assert messages(asked)[0]["content"] == [text("Hi")]
    assert messages(asked)[1]["content"] == [tool_use("f", {})]
    assert messages(asked)[2]["content"][0]["content"] == [text("x")]


def test_names_are_reported_as_lost() -> None:
    """The API has no speakers' names."""
    asked = ask(messages=[Message.user("Hi", name="Ann")])

    assert codes(asked) == [("unsupported-parameter", "messages[0].name")]


# -- instructions among the messages


def test_instructions_stand_where_the_model_takes_them() -> None:
    """After the user's turn, before a response or at the end, they stay system messages."""
    asked = ask(
        "claude-opus-4-8",
        messages=[
            Message.user("a"),
            Message.system("one"),
            Message.developer("two"),
            Message.assistant("b"),
            Message.user("c"),
            Message.system("three"),
        ],
    )

    assert [(m["role"], m["content"]) for m in messages(asked)] == [
        ("user", [text("a")]),
        ("system", [text("one"), text("two")]),
        ("assistant", [text("b")]),
        ("user", [text("c")]),
        ("system", [text("three")]),
    ]
    assert not codes(asked)


@pytest.mark.parametrize(
    "before", [[Message.user("a")], [Message.user("a"), Message.assistant("b")]]
)
def test_instructions_elsewhere_become_the_users(before: list[Message]) -> None:
    """Where the API accepts no system message, its text is the user's in a tag."""
    asked = ask(
        "claude-opus-4-8", messages=[*before, Message.system("new rule"), Message.user("c")]
    )

    assert messages(asked)[-1]["content"][-2:] == [
        text("<system>\nnew rule\n</system>"),
        text("c"),
    ]
    assert ("system-message-demoted", f"messages[{len(before)}]") in codes(asked)


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-sonnet-4-5"])
def test_instructions_cannot_leave_their_tag(model: str) -> None:
    """A closing tag in the text is escaped, wherever the message is demoted."""
    talk = [Message.user("a"), Message.system("b</system>c"), Message.user("d")]

    assert (
        text("<system>\nb&lt;/system>c\n</system>")
        in messages(ask(model, messages=talk))[-1]["content"]
    )


def test_arguments_go_back_with_their_keys_in_order_and_their_numbers_as_written() -> None:
    """The API takes an object: what the model wrote is kept as far as JSON values can say it."""
    written = '{"b":1.0,"a":{"d":12345678901234567890,"c":[0.1,-0.0]},"é":"\\u00e9"}'
    answer = response(
        streamed(
            [
                begin(),
                start(0, **tool_use("f", {})),
                delta(0, "input_json_delta", partial_json=written),
                stop(0),
                *end("tool_use"),
            ]
        )
    )
    assert answer.tool_calls[0].raw_arguments == written

    asked = ask(messages=[Message.user("x"), answer.message, Message.tool("toolu_1", "y")])

    sent = dumps(messages(asked)[1]["content"][0]["input"]).decode()
    assert sent == written.replace("\\u00e9", "é")


@pytest.mark.parametrize(("answer", "stays"), [("_tool_result", True), ("", False)])
def test_instructions_after_a_response(answer: str, stays: bool) -> None:
    """After a response they may stand only if it ends with a tool of the provider's."""
    block = {"type": f"web_fetch{answer}", "tool_use_id": "srv_1", "content": {}}
    asked = ask(
        "claude-opus-4-8",
        messages=[
            Message.user("a"),
            Message.assistant(ProviderPart("anthropic", block)),
            Message.system("rule"),
        ],
    )

    assert messages(asked)[-1]["role"] == ("system" if stays else "user")


def test_a_block_whose_type_is_no_text_goes_back_as_it_came() -> None:
    """Thinking is looked for by the type of a block."""
    block = {"type": ["x"], "text": "Hi."}
    said = Message.assistant(ProviderPart("anthropic", block))
    history = [Message.user("a"), said, Message.tool("toolu_1", "y")]

    for asked in (ask(messages=history[:2]), ask(messages=history)):
        assert messages(asked)[1]["content"][0] == block


def test_instructions_for_models_that_take_none() -> None:
    """An older model gets them as the user's text."""
    asked = ask(messages=[Message.user("a"), Message.system("new rule")])

    assert messages(asked) == [
        {"role": "user", "content": [text("a"), text("<system>\nnew rule\n</system>")]}
    ]


def test_tool_changes_are_native() -> None:
    """A system message can hold native blocks, such as tools that are added."""
    added = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
    change = Message.system(ProviderPart("anthropic", added))
    asked = ask("claude-opus-4-8", messages=[Message.user("a"), change])

    assert messages(asked)[-1] == {"role": "system", "content": [added]}
    leading = ask("claude-opus-4-8", messages=[change, Message.user("a")])
    assert codes(leading) == [("unsupported-content", "messages[0]")]


# -- media


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            ImagePart(data=PNG),
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "iVBORw0KGgowMDAw",
                },
            },
        ),
        (
            ImagePart(url="data:image/gif;base64,R0lGODlh"),
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"},
            },
        ),
        (
            ImagePart(url="https://a.example/b.png"),
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
        ),
        (
            ImagePart(file_id="file_1"),
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            DocumentPart(data=PDF, title="T", context="C", citations=True),
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": "JVBERi0xLjc=",
                },
                "title": "T",
                "context": "C",
                "citations": {"enabled": True},
            },
        ),
        (
            DocumentPart(data=b"a,b\n1,2", media_type="text/csv", name="t.csv"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "a,b\n1,2"},
                "title": "t.csv",
            },
        ),
        (
            DocumentPart(url="https://a.example/b.pdf", name=""),
            {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}},
        ),
        (
            DocumentPart(file_id="file_1"),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            ProviderPart(
                "anthropic",
                {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]},
            ),
            {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]},
        ),
        (
            ProviderPart(
                "anthropic",
                {"type": "document", "source": {"type": "content", "content": [text("x")]}},
            ),
            {"type": "document", "source": {"type": "content", "content": [text("x")]}},
        ),
    ],
)
def test_media_is_sent_in_every_form_of_the_api(part: Any, block: dict[str, Any]) -> None:
    """Pictures and documents in every form that the API takes."""
    assert content("Look:", part) == [text("Look:"), block]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (ImagePart(data=b"BM0000", media_type="image/bmp"), "[an image, left out]"),
        (AudioPart(data=b"RIFF", transcript="hello"), "[audio, left out: hello]"),
        (DocumentPart(data=b"x", media_type="video/mp4"), "[a document, left out]"),
        (DocumentPart(url="https://x.example/a.mp4"), "[a document, left out]"),
        (
            DocumentPart(url="https://x.example/a", media_type="text/csv"),
            "[a document, left out]",
        ),
        (
            DocumentPart(data=b"x", media_type="application/msword", name="a.doc"),
            "[a document, left out: a.doc]",
        ),
        (ProviderPart("openai", {"type": "x"}), "[a part of openai, left out]"),
    ],
)
def test_what_the_api_does_not_take(part: Any, words: str) -> None:
    """A short text stands in its place, and a Diagnostic reports it."""
    assert content(part) == [text(words)]
    assert codes(ask(messages=[Message.user(part)])) == [
        ("unsupported-content", "messages[0].content[0]")
    ]


def test_detail_is_reported_as_lost() -> None:
    """The API has no detail levels."""
    asked = ask(messages=[Message.user(ImagePart(data=PNG, detail="high"))])

    assert codes(asked) == [("unsupported-parameter", "messages[0].content[0].detail")]


def test_a_path_must_have_been_read() -> None:
    """Files are the client's to read."""
    asked = ask(messages=[Message.user(ImagePart(path="/a.png"))])

    assert isinstance(refused(asked), InvalidRequestError)


def test_citations_are_off_beside_structured_output() -> None:
    """The API refuses the two together."""
    asked = ask(
        messages=[Message.user(DocumentPart(data=PDF, citations=True))],
        response_format=ResponseFormat.json_schema({"type": "object", "properties": {}}),
    )

    assert "citations" not in messages(asked)[0]["content"][0]
    assert codes(asked) == [("unsupported-parameter", "messages[0].content[0].citations")]


def test_citations_are_on_for_all_documents_or_for_none() -> None:
    """The API refuses a request that mixes them, wherever its documents are."""
    plain, cited = DocumentPart(data=PDF), DocumentPart(data=PDF, citations=True)
    call = ToolCallPart("t1", "look", {})
    talk = [
        Message.user(plain, "a"),
        Message.assistant(call),
        Message.tool("t1", [plain]),
        Message.user(cited, "b"),
    ]
    asked = ask(messages=talk)

    sent = [block for one in messages(asked) for block in one["content"]]
    sent += [inner for block in sent for inner in block.get("content", ())]
    documents = [block for block in sent if block["type"] == "document"]
    assert [one["citations"] for one in documents] == [{"enabled": True}] * 3
    assert codes(asked) == [
        ("citations-enabled", "messages[0].content[0].citations"),
        ("citations-enabled", "messages[2].content[0].content[0].citations"),
    ]
    assert "citations" not in messages(ask(messages=talk[:1]))[0]["content"][0]


# -- what tools returned


def result_of(value: object, **fields: Any) -> dict[str, Any]:
    """Return the block of a tool's result."""
    asked = ask(
        messages=[
            Message.user("Hi"),
            Message.assistant(ToolCallPart("toolu_1", "f")),
            Message.tool("toolu_1", value, **fields),
        ]
    )
    block: dict[str, Any] = messages(asked)[-1]["content"][0]
    return {k: v for k, v in block.items() if k not in ("type", "tool_use_id")}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("text", {"content": "text"}),
        ("", {}),
        ({"a": [1]}, {"content": '{"a":[1]}'}),
        (0, {"content": "0"}),
        (None, {"content": "null"}),
        (
            (TextPart("a"), ImagePart(data=PNG), TextPart("b")),
            {
                "content": [
                    text("a"),
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": "iVBORw0KGgowMDAw",
                        },
                    },
                    text("b"),
                ]
            },
        ),
        (
            (ProviderPart("anthropic", {"type": "tool_reference", "tool_name": "g"}),),
            {"content": [{"type": "tool_reference", "tool_name": "g"}]},
        ),
    ],
)
def test_tool_results_are_text_or_blocks(value: object, sent: dict[str, Any]) -> None:
    """Text stays text, JSON becomes text, parts (pictures too) become blocks."""
    assert result_of(value) == sent


def test_results_that_are_errors() -> None:
    """An error is flagged; an empty one gets words, which the API demands."""
    assert result_of("broke", is_error=True) == {"content": "broke", "is_error": True}
    assert result_of("", is_error=True) == {
        "content": "The tool failed without a message.",
        "is_error": True,
    }


def test_results_come_first_and_in_the_calls_order() -> None:
    """Results in any order and among other parts are put right; a missing one is made up."""
    asked = ask(
        messages=[
            Message.user("Hi"),
            Message.assistant(*(ToolCallPart(f"toolu_{n}", "f") for n in range(3))),
            Message.tool("toolu_2", "two"),
            Message.user("By the way"),
            Message.tool("toolu_0", "zero"),
        ]
    )

    *results, said = messages(asked)[-1]["content"]
    assert [block["tool_use_id"] for block in results] == ["toolu_0", "toolu_1", "toolu_2"]
    assert results[1]["is_error"]
    assert said == text("By the way")


def test_a_toolsets_results_name_it() -> None:
    """The result of a toolset's member says whose member it is."""
    document = message(tool_use("zoom", {}, toolset_name="computer"), stop="tool_use")
    said = response(whole(document))
    asked = ask(messages=[Message.user("Hi"), said.message, Message.tool("toolu_1", "ok")])

    call, answer = messages(asked)[1]["content"][0], messages(asked)[2]["content"][0]
    assert call["toolset_name"] == answer["toolset_name"] == "computer"


# -- what the model said


def test_a_response_comes_back_as_it_was(snapshot: SnapshotAssertion) -> None:
    """Interleaved thinking, calls, text and the provider's tools keep bytes and order."""
    blocks = [
        thinking("First", "s1"),
        {"type": "redacted_thinking", "data": "secret"},
        tool_use("f", {"a": 1}, id="toolu_1"),
        thinking("", "s2"),
        text("Well."),
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        thinking("Third", "s3"),
        tool_use("g", {}, id="toolu_2"),
    ]
    document = message(*blocks, stop="tool_use")

    for events in (streamed(stream_of(document)), whole(document)):
        said = response(events).message
        asked = ask(
            messages=[
                Message.user("Hi"),
                said,
                Message.tool("toolu_1", "1"),
                Message.tool("toolu_2", "2"),
            ]
        )
        assert messages(asked)[1] == {"role": "assistant", "content": blocks}
        assert not codes(asked)
    assert body(asked) == snapshot


def test_thinking_is_good_only_where_it_came_from() -> None:
    """Another model's or provider's thinking is left out, and said so."""
    other = Origin(provider="anthropic", model="claude-opus-4-6", protocol="anthropic-messages")
    said = Message.assistant(ReasoningPart("Hm", signature="s"), "Yes.", origin=other)
    asked = ask(messages=[Message.user("Hi"), said, Message.user("Go on")])

    assert messages(asked)[1]["content"] == [text("Yes.")]
    assert codes(asked) == [("reasoning-dropped", "messages[1].content[0]")]


def test_servers_of_other_models_get_thinking_back() -> None:
    """Other models behind this API think without signatures."""
    said = Message.assistant(ReasoningPart("Hm"), "Yes.")
    asked = ask("minimax-m2", messages=[Message.user("Hi"), said, Message.user("Go on")])

    assert messages(asked)[1]["content"] == [thinking("Hm", ""), text("Yes.")]


@pytest.mark.parametrize(
    ("call", "input"),
    [
        (ToolCallPart("a", "f", {"x": 1}), {"x": 1}),
        (ToolCallPart("a", "f", None), {}),
        (ToolCallPart("a", "f", '{"x":'), {"input": '{"x":'}),
        (ToolCallPart("a", "f", "*** Patch", kind="custom"), {"input": "*** Patch"}),
    ],
)
def test_arguments_that_are_not_objects_are_wrapped_in_one(call: ToolCallPart, input: Any) -> None:
    """The API takes only objects; broken JSON and freeform text are wrapped in one."""
    asked = ask(messages=[Message.user("Hi"), Message.assistant(call), Message.tool("a", "r")])

    assert messages(asked)[1]["content"][0]["input"] == input
    broken = call.kind == "function" and isinstance(call.arguments, str)
    assert bool(codes(asked)) == broken


def test_ids_are_made_to_fit() -> None:
    """Ids born elsewhere become legal, and results still find their calls."""
    wild = "call|with:signs" * 9
    asked = ask(
        messages=[
            Message.user("Hi"),
            Message.assistant(ToolCallPart(wild, "f")),
            Message.tool(wild, "r"),
        ]
    )

    call, answer = messages(asked)[1]["content"][0], messages(asked)[2]["content"][0]
    assert call["id"] == answer["tool_use_id"]
    assert len(call["id"]) <= 64
    assert call["id"].replace("_", "").replace("-", "").isalnum()


def test_refusal_in_the_history_is_sent_as_text() -> None:
    """The model's refusal is its text; the provider's explanation is not sent back."""
    said = Message.assistant(RefusalPart("I will not."))
    stopped = Message.assistant(
        "Well",
        RefusalPart("Blocked.", provider_metadata={"anthropic": {"stop_details": {"a": 1}}}),
    )
    asked = ask(messages=[Message.user("a"), said, Message.user("b"), stopped, Message.user("c")])

    assert messages(asked)[1]["content"] == [text("I will not.")]
    assert messages(asked)[3]["content"] == [text("Well")]
    assert codes(asked) == [("unsupported-content", "messages[3].content[1]")]


def test_a_response_that_was_only_stopped_disappears() -> None:
    """A message left without content is removed, and roles still alternate."""
    stopped = Message.assistant(
        RefusalPart("Blocked.", provider_metadata={"anthropic": {"stop_details": {"a": 1}}})
    )
    asked = ask(messages=[Message.user("a"), stopped, Message.user("b")])

    assert messages(asked) == [{"role": "user", "content": [text("a"), text("b")]}]


def test_files_in_responses_are_left_out() -> None:
    """Assistant messages hold no media."""
    said = Message.assistant("See:", ImagePart(data=PNG))
    asked = ask(messages=[Message.user("a"), said, Message.user("b")])

    assert messages(asked)[1]["content"] == [text("See:")]
    assert codes(asked) == [("unsupported-content", "messages[1].content[1]")]


@pytest.mark.parametrize(
    "thought", [ReasoningPart("", encrypted="ee"), ReasoningPart("t", signature="s")]
)
def test_thinking_does_not_end_the_messages_where_what_followed_it_is_left_out(
    thought: ReasoningPart,
) -> None:
    """The API refuses it."""
    said = Message.assistant(thought, ImagePart(data=PNG))
    asked = ask(messages=[Message.user("a"), said])

    assert messages(asked) == [{"role": "user", "content": [text("a")]}]
    assert codes(asked) == [
        ("unsupported-content", "messages[1].content[1]"),
        ("reasoning-dropped", "messages[1].content[0]"),
    ]


@pytest.mark.parametrize(
    "left_out",
    [
        ImagePart(data=PNG),
        RefusalPart("Blocked.", provider_metadata={"anthropic": {"stop_details": {"a": 1}}}),
    ],
)
def test_thinking_ends_no_message_where_what_followed_it_is_left_out(left_out: Any) -> None:
    """The API refuses it in every response of the conversation."""
    said = Message.assistant(ReasoningPart("t", signature="s"), left_out)
    talk = [Message.user("a"), Message.assistant("b"), Message.user("c"), said, Message.user("d")]

    assert [one["role"] for one in messages(ask(messages=talk))] == ["user", "assistant", "user"]


def test_a_request_of_files_in_responses_alone_has_a_message() -> None:
    """The API refuses a request without any."""
    asked = ask(messages=[Message.assistant(ImagePart(data=PNG))])

    assert messages(asked) == [{"role": "user", "content": [text("(empty message)")]}]


def test_the_transcript_of_a_spoken_response_is_sent() -> None:
    """It is what the model said."""
    said = Message.assistant(AudioPart(data=b"RIFF", transcript="hello"))
    asked = ask(messages=[Message.user("a"), said, Message.user("b")])

    assert messages(asked)[1] == {"role": "assistant", "content": [text("hello")]}
    assert codes(asked) == [("unsupported-content", "messages[1].content[0]")]


def test_a_beginning_of_the_response_ends_without_space() -> None:
    """The API refuses white space at the end of a response that it is to continue."""
    asked = ask(messages=[Message.user("a"), Message.assistant("The response is ")])

    assert messages(asked)[-1]["content"] == [text("The response is")]


def test_newer_models_go_on_from_no_beginning() -> None:
    """They refuse it: a user message follows, and a diagnostic reports it."""
    talk = [Message.user("a"), Message.assistant("The response is ")]
    asked = ask(model="claude-opus-4-6", messages=talk)

    assert [one["role"] for one in messages(asked)] == ["user", "assistant", "user"]
    assert messages(asked)[-2:] == [
        {"role": "assistant", "content": [text("The response is ")]},
        {"role": "user", "content": [text("(continue)")]},
    ]
    assert codes(asked) == [("last-message-added", "messages[1]")]


def test_a_paused_response_goes_on_with_every_model() -> None:
    """Unfinished calls of the API's own tools do not count as a prefill: they go back unchanged."""
    call = ToolCallPart(
        "srvtoolu_1",
        "web_search",
        {},
        provider_executed=True,
        provider_metadata={"anthropic": {"type": "server_tool_use"}},
    )
    paused = Message.assistant(["Looking.", call], origin=HERE)
    asked = ask(model="claude-opus-4-8", messages=[Message.user("a"), paused])

    assert messages(asked)[-1]["role"] == "assistant"


def test_native_parts_are_replayed() -> None:
    """Unknown and compaction blocks go back in their place, byte for byte."""
    block = {"type": "compaction", "content": "So far: ..."}
    said = response(whole(message(block, text("Hi")))).message
    asked = ask(messages=[Message.user("a"), said, Message.user("b")])

    assert messages(asked)[1]["content"] == [block, text("Hi")]


def test_a_mark_on_thinking_moves_before_it() -> None:
    """Thinking holds no cache mark; the block before it takes it."""
    said = Message.assistant("So.", cached(ReasoningPart("Hm", signature="s")), "Yes.", origin=HERE)
    asked = ask(
        messages=[Message.user("a"), said, Message.user("b")], cache=CachePolicy(mode="manual")
    )

    sent = body(asked)["messages"][1]["content"]
    assert sent[0] == {**text("So."), "cache_control": {"type": "ephemeral"}}
    assert sent[1] == thinking("Hm", "s")
    assert codes(asked) == [("cache-breakpoint-moved", "messages[1].content[1]")]


def test_a_mark_on_thinking_alone_is_lost() -> None:
    """If nothing stands before the thinking, the mark is removed, and a Diagnostic reports it."""
    said = Message.assistant(cached(ReasoningPart("Hm", signature="s")), "Yes.", origin=HERE)
    asked = ask(
        messages=[Message.user("a"), said, Message.user("b")], cache=CachePolicy(mode="manual")
    )

    assert codes(asked) == [("cache-breakpoint-dropped", "messages[1].content[0]")]


def test_results_of_the_provider_stay_the_assistants() -> None:
    """A result without its own native form is left out, and said so."""
    said = Message.assistant(
        "a",
        ToolCallPart("srv_1", "web_search", {}, provider_executed=True),
        ToolResultPart("srv_1", "found", provider_executed=True),
    )
    asked = ask(messages=[Message.user("a"), said, Message.user("b")])

    assert messages(asked)[1]["content"] == [text("a")]
    assert [code for code, _ in codes(asked)] == ["unsupported-content"] * 2


@pytest.mark.parametrize(
    ("came", "sent"),
    [
        ({"content": "So far.", "encrypted_content": None}, {"content": "So far."}),
        ({"content": None, "encrypted_content": None}, {"content": None}),
        ({"content": ""}, {"content": None}),
        ({"content": "So far.", "encrypted_content": "e"}, None),
    ],
    ids=["nothing encrypted", "failed", "empty", "encrypted"],
)
def test_a_compaction_goes_back_without_fields_that_are_null(came: Any, sent: Any) -> None:
    """A request with `encrypted_content: null` is refused; null content means that it failed.

    Responses may have an empty text for that, which requests must not have.
    """
    made = response(whole(message({"type": "compaction", **came}, text("Hi")))).message

    asked = ask(messages=[Message.user("a"), made, Message.user("b")])

    block = body(asked)["messages"][1]["content"][0]
    assert block == {"type": "compaction", **(came if sent is None else sent)}


# -- responses that a fallback model completed

FABLE, OPUS = "claude-fable-5", "claude-opus-4-8"
TOOK_OVER = {
    "type": "fallback",
    "from": {"model": FABLE},
    "to": {"model": OPUS},
    "trigger": {"type": "refusal", "category": "cyber"},
}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
FOUND: dict[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv_1",
    "content": [],
}


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ([text("Part.")], [text("Part.")]),
        ([thinking("a", "s1"), text("Part.")], [text("Part.")]),
        ([{"type": "redacted_thinking", "data": "d"}], []),
        ([tool_use("look", {"at": 1}, id="toolu_1")], []),
        ([SEARCH], []),
        ([SEARCH, FOUND], [SEARCH, FOUND]),
        (
            [thinking("a", "s1"), {**TOOK_OVER, "to": {"model": "x"}}],
            [{**TOOK_OVER, "to": {"model": "x"}}],
        ),
    ],
    ids=["text", "thinking", "redacted", "a call", "cut off search", "search", "two fallbacks"],
)
@pytest.mark.parametrize("model", [FABLE, OPUS])
def test_what_was_declined_before_a_fallback_does_not_go_back(
    before: list[Any], kept: list[Any], model: str
) -> None:
    """The API refuses the thinking and unanswered calls of a model that declined."""
    after = [thinking("b", "s2"), tool_use("look", {"at": 2}, id="toolu_2")]
    made = message(*before, TOOK_OVER, *after, stop="tool_use", model=OPUS)
    said = response(whole(made)).message
    results = [Message.tool(call.id, "seen") for call in said.tool_calls]
    asked = ask(model, messages=[Message.user("Hi"), said, *results])

    sent = messages(asked)
    assert sent[1]["content"] == [*kept, TOOK_OVER, *after]
    assert [block["tool_use_id"] for block in sent[2]["content"]] == ["toolu_2"]
    gone = len(said.content) - len(sent[1]["content"]) + len(said.tool_calls) - 1
    assert [code for code, _ in codes(asked)] == ["unsupported-content"] * gone


def test_thinking_of_a_fallback_goes_back_only_to_the_models_of_the_response() -> None:
    """Another model cannot read it."""
    said = response(whole(message(TOOK_OVER, thinking("b", "s2"), text("Hi"), model=OPUS))).message
    asked = ask(messages=[Message.user("a"), said, Message.user("b")])

    assert messages(asked)[1]["content"] == [TOOK_OVER, text("Hi")]
    assert codes(asked) == [("reasoning-dropped", "messages[1].content[1]")]


# -- a turn in which code, or a tool of the provider's, waits for results

BY_CODE: dict[str, Any] = {"caller": {"type": "code_execution_20260120", "tool_id": "srv_1"}}
CODE = {"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {"code": "x"}}
RAN: dict[str, Any] = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srv_1",
    "content": {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0},
}


def said_by_wire(*blocks: dict[str, Any], stop: str = "end_turn") -> Message:
    """Return a response of *blocks*, as it was read."""
    return response(whole(message(*blocks, stop=stop))).message


def kinds(native: Any) -> list[list[str]]:
    """Return the types of the blocks of each message."""
    return [[block["type"] for block in one["content"]] for one in native]


@pytest.mark.parametrize(
    "waiting",
    [
        said_by_wire(CODE, tool_use("look", {}, **BY_CODE)),
        said_by_wire(SEARCH, tool_use("look", {}, caller={"type": "direct"})),
    ],
    ids=["code", "a tool of the provider"],
)
def test_results_that_the_providers_side_waits_for_stand_alone(waiting: Message) -> None:
    """Text beside them is refused: it is left out of the request while it has no other place."""
    asked = ask(
        messages=[Message.user("Hi"), waiting, Message.tool("toolu_1", "1"), Message.user("Quick!")]
    )

    assert kinds(messages(asked))[2:] == [["tool_result"]]
    assert codes(asked) == [("unsupported-content", "messages[2]")]


def test_text_beside_results_of_calls_by_code_moves_to_the_next_message_of_the_user() -> None:
    """Once the turn has ended, the text has a place: before what the user says then."""
    asked = ask(
        messages=[
            Message.user("Hi"),
            said_by_wire(CODE, tool_use("look", {}, **BY_CODE), stop="tool_use"),
            Message.tool("toolu_1", "1"),
            Message.user("Quick!"),
            said_by_wire(tool_use("look", {}, id="toolu_2", **BY_CODE), stop="tool_use"),
            Message.tool("toolu_2", "2"),
            said_by_wire(RAN, text("Done.")),
            Message.user("And?"),
        ]
    )

    sent = messages(asked)
    assert kinds(sent)[2::2] == [["tool_result"], ["tool_result"], ["text", "text"]]
    assert sent[6]["content"] == [text("Quick!"), text("And?")]
    assert codes(asked) == [("reordered-content", "messages[2]")]


def test_text_beside_results_of_direct_calls_stays() -> None:
    """Nothing waits where the model itself called the tool, and its own tools have answered."""
    done = said_by_wire(SEARCH, FOUND, tool_use("look", {}, caller={"type": "direct"}))
    asked = ask(
        messages=[Message.user("Hi"), done, Message.tool("toolu_1", "1"), Message.user("And?")]
    )

    assert kinds(messages(asked))[2] == ["tool_result", "text"]
    assert codes(asked) == []


@pytest.mark.parametrize("failed", [False, True], ids=["result", "error"])
def test_results_of_calls_by_code_hold_text_alone(failed: bool) -> None:
    """The code reads no media: a short text stands in their place."""
    shown = Message.tool("toolu_1", (TextPart("See"), ImagePart(data=PNG)), is_error=failed)
    asked = ask(
        messages=[Message.user("Hi"), said_by_wire(CODE, tool_use("look", {}, **BY_CODE)), shown]
    )

    (result,) = messages(asked)[2]["content"]
    assert result["content"] == [text("See"), text("[an image, left out]")]
    assert codes(asked) == [("unsupported-content", "messages[2].content[0].content[1]")]


@pytest.mark.parametrize(
    ("later", "kept"),
    [
        ([Message.user("And?")], False),
        ([Message.user("And?"), Message.assistant("Well."), Message.user("So?")], False),
        ([], True),
        ([said_by_wire(FOUND, text("Found."))], True),
        ([said_by_wire(FOUND, text("Found.")), Message.user("And?")], True),
    ],
    ids=["cut off", "long ago", "paused", "went on", "went on and ended"],
)
def test_a_call_of_the_providers_that_was_cut_off_is_left_out(
    later: list[Message], kept: bool
) -> None:
    """The API refuses one without a result, unless the turn is still under way."""
    cut = said_by_wire(text("Let me look."), SEARCH, stop="max_tokens")
    asked = ask(messages=[Message.user("Hi"), cut, *later])

    assert ("server_tool_use" in kinds(messages(asked))[1]) == kept
    assert (("hosted-tool-dropped", "messages[1].content[1]") in codes(asked)) != kept


def test_instructions_after_results_leave_the_container_of_the_code_that_waits() -> None:
    """A system message at the end of the conversation does not end the turn."""
    waiting = response(
        whole(
            message(CODE, tool_use("look", {}, **BY_CODE), stop="tool_use", container={"id": "c_1"})
        )
    ).message
    asked = ask(
        messages=[
            Message.user("Hi"),
            waiting,
            Message.tool("toolu_1", "1"),
            Message.system("Be brief."),
        ]
    )

    assert body(asked)["container"] == "c_1"


QUESTIONS = {
    "one text": Message.user("Hi"),
    "two texts": Message.user("a", "b"),
    "a mark of the cache": Message.user(cached("a"), "b"),
    "a name": Message.user("Hi", name="Ann"),
    "citations": Message.user(TextPart("a", citations=(Citation(url="https://a.example"),))),
    "an origin": evolve(Message.user("Hi"), origin=HERE),
}


@pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("system", [None, "Be brief."], ids=["", "with a system text"])
def test_a_question_alone_is_lowered_as_the_beginning_of_any_conversation(
    asked: Message, system: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes by what only longer conversations hold."""
    conversation = ask(messages=[asked], system=system)
    alone = built(conversation)
    monkeypatch.setattr(lowering, "is_question", lambda _: False)

    assert built(conversation) == alone
