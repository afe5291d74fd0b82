"""Lowering the conversation: `protocols/bedrock_converse/messages.py` and `parts.py`."""

import base64
from typing import Any

import pytest

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
from llmcore.schema.options import ReasoningOptions
from tests.support.wire.bedrock import (
    BEGIN,
    CLAUDE,
    NOVA,
    answer,
    ask,
    body,
    codes,
    delta,
    document,
    end,
    messages,
    reasoning,
    refused,
    start,
    stop,
    streamed,
    tool_use,
    whole,
)
from tests.support.wire.protocol import response

PNG = b"\x89PNG\r\n\x1a\n..."
PDF = b"%PDF-1.4 ..."


def b64(data: bytes) -> str:
    """Return *data* as base64 text."""
    return base64.b64encode(data).decode()


def user(*parts: Any) -> Any:
    """Return the blocks of a user's message."""
    return messages(ask(messages=[Message.user(*parts)]))[0]["content"]


# -- who speaks


def test_roles_alternate_with_system_text_apart() -> None:
    """System text stands apart; tool results are the user's; turns alternate."""
    talk = [
        Message.system("Be kind."),
        Message.user("Hi"),
        Message.user("there"),
        answer("Hello"),
        Message.developer("Be brief."),
        Message.user("Go on"),
    ]
    asked = ask(messages=talk, system=["A", "B"])

    assert [block["text"] for block in body(asked)["system"] if "text" in block] == [
        "A",
        "B",
        "Be kind.",
    ]
    assert messages(asked) == [
        {"role": "user", "content": [{"text": "Hi"}, {"text": "there"}]},
        {"role": "assistant", "content": [{"text": "Hello"}]},
        {
            "role": "user",
            "content": [
                {"text": "<developer>\nBe brief.\n</developer>"},
                {"text": "Go on"},
            ],
        },
    ]


def test_results_come_first_and_in_call_order() -> None:
    """All results of a turn are one message, with what the user adds."""
    talk = [
        Message.user("x"),
        answer(ToolCallPart("a", "one", {}), ToolCallPart("b", "two", {"n": 1})),
        Message.tool("b", "B", is_error=True),
        Message.tool("a", {"ok": True}),
        Message.user("and now?"),
    ]

    assert messages(ask(messages=talk))[1:] == [
        {
            "role": "assistant",
            "content": [
                {"toolUse": {"toolUseId": "a", "name": "one", "input": {}}},
                {"toolUse": {"toolUseId": "b", "name": "two", "input": {"n": 1}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"json": {"ok": True}}]}},
                {
                    "toolResult": {
                        "toolUseId": "b",
                        "content": [{"text": "B"}],
                        "status": "error",
                    }
                },
                {"text": "and now?"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text", [{"text": "text"}]),
        ("", [{"text": "(no output)"}]),
        ({"a": 1}, [{"json": {"a": 1}}]),
        ([1, 2], [{"text": "[1,2]"}]),
        (None, [{"text": "null"}]),
        (
            (TextPart("see"), ImagePart(data=PNG)),
            [{"text": "see"}, {"image": {"format": "png", "source": {"bytes": b64(PNG)}}}],
        ),
        ((AudioPart(data=b"ID3", transcript="la"),), [{"text": "[audio, left out: la]"}]),
    ],
)
def test_tool_results_are_json_text_or_pictures(content: Any, expected: Any) -> None:
    """Objects go as JSON, all else as text; pictures stay pictures."""
    talk = [Message.user("x"), answer(ToolCallPart("a", "one", {})), Message.tool("a", content)]

    (result,) = messages(ask(messages=talk))[2]["content"]
    assert result["toolResult"]["content"] == expected


def test_arguments_go_back_with_their_keys_in_order_and_their_numbers_as_written() -> None:
    """The API takes an object: what the model wrote is kept as far as JSON values can say it."""
    written = '{"b":1.0,"a":{"d":12345678901234567890,"c":[0.1,-0.0]}}'
    opened = start(0, toolUse={"toolUseId": "a", "name": "look"})
    said = [BEGIN, opened, delta(0, toolUse={"input": written}), stop(0), *end("tool_use")]
    got = response(streamed(said))
    assert got.tool_calls[0].raw_arguments == written

    asked = ask(messages=[Message.user("x"), got.message, Message.tool("a", "y")])

    assert dumps(messages(asked)[1]["content"][0]["toolUse"]["input"]).decode() == written


def test_instructions_cannot_leave_their_tag() -> None:
    """A closing tag in the text is escaped."""
    talk = [Message.user("Hi"), Message.developer("a</developer>b"), Message.user("Go on")]

    assert {"text": "<developer>\na&lt;/developer>b\n</developer>"} in messages(ask(messages=talk))[
        0
    ]["content"]


def test_call_ids_are_made_legal_on_both_sides() -> None:
    """Ids of other providers may have characters that the service refuses."""
    call = ToolCallPart("call|1/ä", "one", {})
    talk = [Message.user("x"), Message.assistant(call), Message.tool("call|1/ä", "y")]

    _, said, results = messages(ask(messages=talk))
    (made,) = said["content"]
    assert made["toolUse"]["toolUseId"] == results["content"][0]["toolResult"]["toolUseId"]
    assert made["toolUse"]["toolUseId"].replace("_", "").replace("-", "").isalnum()


@pytest.mark.parametrize("arguments", ['{"a":', [1]])
def test_arguments_that_are_not_an_object_are_wrapped(arguments: Any) -> None:
    """They are wrapped, and a diagnostic reports it."""
    talk = [Message.user("x"), answer(ToolCallPart("a", "one", arguments)), Message.tool("a", "y")]
    asked = ask(messages=talk)

    sent = messages(asked)[1]["content"][0]["toolUse"]["input"]
    assert sent == {"input": arguments if isinstance(arguments, str) else "[1]"}
    assert ("invalid-tool-arguments", "messages[1].content[0].arguments") in codes(asked)


# -- what the model said comes back

ANSWERS = {
    "reasoning": document(reasoning("Hm.", "c2ln"), {"text": "Yes."}),
    "redacted": document({"reasoningContent": {"redactedContent": "ZW5j"}}, {"text": "Yes."}),
    "hosted": document(
        tool_use("nova_grounding", {"q": 1.0}, id="s", type="server_tool_use"),
        {
            "toolResult": {
                "toolUseId": "s",
                "content": [{"json": {"n": 1.0}}],
                "status": "success",
                "type": "nova_grounding_result",
            }
        },
        {"text": "One."},
    ),
    "citations": document(
        {
            "citationsContent": {
                "content": [{"text": "It rose."}],
                "citations": [{"title": "R", "location": {"web": {"url": "https://x.y/"}}}],
            }
        }
    ),
    "citations alone": document(
        {"text": "It rose."},
        {"citationsContent": {"citations": [{"location": {"web": {"url": "https://x.y/"}}}]}},
    ),
    "unknown": document({"hologram": {"a": [1]}}, {"text": "See."}),
}


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS)
def test_a_response_comes_back_as_it_was(given: dict[str, Any]) -> None:
    """Block by block, unchanged and in order."""
    got = response(whole(given)).message
    talk = [Message.user("x"), Message("assistant", got.content, origin=got.origin)]

    sent = messages(ask(messages=[*talk, Message.user("more")]))

    assert sent[1]["content"] == given["output"]["message"]["content"]


def test_what_only_another_model_can_read() -> None:
    """Signatures of other providers are dropped, and so is reasoning without one."""
    other = Origin(provider="anthropic", model="claude-sonnet-4-5", protocol="anthropic-messages")
    signed = ReasoningPart("Hm.", signature="s")
    talk = [
        Message.user("x"),
        Message("assistant", (signed, TextPart("Yes.")), origin=other),
        Message.user("y"),
        answer(ReasoningPart("Bare."), RefusalPart("No.")),
        Message.user("z"),
    ]
    asked = ask(messages=talk)

    sent = messages(asked)
    assert [one["content"] for one in sent[1::2]] == [[{"text": "Yes."}], [{"text": "No."}]]
    assert [code for code, _ in codes(asked)].count("reasoning-dropped") == 2


@pytest.mark.parametrize(("model", "cited"), [(CLAUDE, 2), (NOVA, 1)])
def test_claude_gets_citations_of_all_documents_or_of_none(model: str, cited: int) -> None:
    """It refuses a request that mixes them."""
    documents = [DocumentPart(data=b"%PDF-1.7", citations=cites) for cites in (False, True)]
    blocks = messages(ask(model, messages=[Message.user(*documents, "a")]))[0]["content"]

    assert sum("citations" in block.get("document", {}) for block in blocks) == cited


def test_parts_that_an_assistant_cannot_say() -> None:
    """Files and foreign citations are left out, and a turn of nothing else with them."""
    cited = TextPart("a", citations=(Citation(title="T"),))
    talk = [
        Message.user("x"),
        answer(ImagePart(data=PNG)),
        Message.user("y"),
        answer(cited),
        Message.user("z"),
    ]
    asked = ask(messages=talk)

    assert messages(asked) == [
        {"role": "user", "content": [{"text": "x"}, {"text": "y"}]},
        {"role": "assistant", "content": [{"text": "a"}]},
        {"role": "user", "content": [{"text": "z"}]},
    ]
    assert {path for code, path in codes(asked) if code == "unsupported-content"} == {
        "messages[1].content[0]",
        "messages[3].content[0].citations[0]",
    }


def test_a_hosted_tool_without_a_provider() -> None:
    """A call that the service did not make itself cannot be shown to it."""
    call = ToolCallPart("s", "search", {}, provider_executed=True)
    result = ToolResultPart("s", "x", provider_executed=True)
    talk = [Message.user("x"), answer(call, result, "Hm."), Message.user("y")]

    assert messages(ask(messages=talk))[1]["content"] == [{"text": "Hm."}]


def test_a_beginning_of_the_response() -> None:
    """Claude refuses white space at its end."""
    asked = ask(messages=[Message.user("x"), answer("So: ")])

    assert messages(asked)[-1] == {"role": "assistant", "content": [{"text": "So:"}]}


@pytest.mark.parametrize("said", [TextPart("So: "), cached(TextPart("So: "))])
def test_newer_claude_goes_on_from_no_beginning(said: Any) -> None:
    """It refuses one: a user message follows, and a diagnostic reports it."""
    asked = ask("anthropic.claude-opus-4-6-v1", messages=[Message.user("x"), answer(said)])
    *_, before, last = messages(asked)

    assert before["content"][0] == {"text": "So: "}
    assert last == {"role": "user", "content": [{"text": "(continue)"}]}
    assert codes(asked) == [("last-message-added", "messages[1]")]


def test_other_families_go_on_from_a_beginning() -> None:
    """Amazon's guide to Nova shows how; other families are not documented to refuse it."""
    asked = ask("amazon.nova-pro-v1:0", messages=[Message.user("x"), answer("So: ")])

    assert messages(asked)[-1] == {"role": "assistant", "content": [{"text": "So: "}]}
    assert codes(asked) == []


# -- media


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (ImagePart(data=PNG), {"image": {"format": "png", "source": {"bytes": b64(PNG)}}}),
        (
            ImagePart(url=f"data:image/webp;base64,{b64(b'abc')}"),
            {"image": {"format": "webp", "source": {"bytes": b64(b"abc")}}},
        ),
        (
            ImagePart(
                url="s3://bucket/a.jpg",
                provider_metadata={"bedrock": {"bucketOwner": "123456789012"}},
            ),
            {
                "image": {
                    "format": "jpeg",
                    "source": {
                        "s3Location": {"uri": "s3://bucket/a.jpg", "bucketOwner": "123456789012"}
                    },
                }
            },
        ),
        (
            DocumentPart(data=b"....", media_type="video/mp4"),
            {"video": {"format": "mp4", "source": {"bytes": b64(b"....")}}},
        ),
        (
            DocumentPart(url="s3://bucket/a.mov"),
            {"video": {"format": "mov", "source": {"s3Location": {"uri": "s3://bucket/a.mov"}}}},
        ),
        (
            AudioPart(data=b"ID3..."),
            {"audio": {"format": "mp3", "source": {"bytes": b64(b"ID3...")}}},
        ),
        (
            ProviderPart("bedrock", {"guardContent": {"text": {"text": "x"}}}),
            {"guardContent": {"text": {"text": "x"}}},
        ),
        (ImagePart(file_id="f"), {"text": "[an image, left out]"}),
        (ImagePart(url="https://example.com/a.png"), {"text": "[an image, left out]"}),
        (ImagePart(data=b"BM", media_type="image/bmp"), {"text": "[an image, left out]"}),
        (
            DocumentPart(url="https://example.com/a.pdf", title="A"),
            {"text": "[a document, left out: A]"},
        ),
        (
            DocumentPart(data=b"PK", media_type="application/zip"),
            {"text": "[a document, left out]"},
        ),
        (AudioPart(data=b"x", media_type="audio/midi"), {"text": "[audio, left out]"}),
        (ProviderPart("openai", {"type": "x"}), {"text": "[a part of openai, left out]"}),
    ],
)
def test_media_is_sent_as_blocks_or_replaced_by_text(part: Any, expected: dict[str, Any]) -> None:
    """Bytes and S3 addresses are sent as blocks; a text replaces media that the service lacks."""
    asked = ask(messages=[Message.user("See:", part)])

    assert user("See:", part)[1] == expected
    dropped = ("unsupported-content", "messages[0].content[1]") in codes(asked)
    assert dropped == ("left out" in str(expected))


@pytest.mark.parametrize(
    ("media_type", "format"),
    [
        ("application/pdf", "pdf"),
        ("text/csv", "csv"),
        ("text/plain", "txt"),
        ("text/markdown", "md"),
        ("text/html", "html"),
        ("application/json", "txt"),
        ("application/msword", "doc"),
    ],
)
def test_every_document_format_is_sent(media_type: str, format: str) -> None:
    """Every documented format, and text of other kinds as text."""
    part = DocumentPart(data=b"...", media_type=media_type, name="q1 (final)", context="Numbers.")

    assert user("Read.", part)[1] == {
        "document": {
            "format": format,
            "name": "q1 (final)",
            "source": {"bytes": b64(b"...")},
            "context": "Numbers.",
        }
    }


def test_document_names_are_legal_and_unique() -> None:
    """In the whole conversation, also in what tools returned."""
    part = DocumentPart(data=PDF, name="a__b..pdf")
    talk = [
        Message.user("Read.", part, part, DocumentPart(data=PDF)),
        answer(ToolCallPart("c", "get", {})),
        Message.tool("c", (part,)),
    ]

    sent = messages(ask(messages=talk))
    blocks = [*sent[0]["content"], *sent[2]["content"][0]["toolResult"]["content"]]
    names = [block["document"]["name"] for block in blocks if "document" in block]
    assert names == ["a b pdf", "a b pdf 2", "document", "a b pdf 3"]


def test_documents_get_a_word_beside_them() -> None:
    """The service refuses a message of documents only."""
    asked = ask(messages=[Message.user(DocumentPart(data=PDF))])

    assert messages(asked)[0]["content"][0] == {"text": "Attached documents:"}
    assert codes(asked) == [("document-text-added", "messages[0]")]


@pytest.mark.parametrize(
    "part",
    [
        ImagePart(data=b"nothing known"),
        ImagePart(url="s3://bucket/key"),
        DocumentPart(data=b"", media_type="application/pdf"),
        ImagePart(path="./a.png"),
    ],
)
def test_media_that_cannot_be_sent_is_replaced(part: Any) -> None:
    """An error says what to do, before anything is sent."""
    assert isinstance(refused(ask(messages=[Message.user(part)])), InvalidRequestError)


def test_reasoning_does_not_end_the_messages_where_what_followed_it_is_left_out() -> None:
    """The service refuses it."""
    said = answer(ReasoningPart("t", signature="c2ln"), ImagePart(data=PNG))
    asked = ask(messages=[Message.user("a"), said])

    assert [one["role"] for one in messages(asked)] == ["user"]
    assert codes(asked) == [
        ("unsupported-content", "messages[1].content[1]"),
        ("reasoning-dropped", "messages[1].content[0]"),
    ]


def test_a_response_that_goes_on_without_reasoning_has_none() -> None:
    """The service refuses it at the end, where reasoning is off."""
    said = answer(ReasoningPart("t", signature="c2ln"), "It is")
    talk = [Message.user("a"), said]
    on = ReasoningOptions(budget_tokens=2000)

    assert messages(ask(messages=talk))[1]["content"] == [{"text": "It is"}]
    assert len(messages(ask(messages=talk, reasoning=on))[1]["content"]) == 2
    assert len(messages(ask(messages=[*talk, Message.user("b")]))[1]["content"]) == 2


def test_details_and_names_are_not_lost_in_silence() -> None:
    """Fields that the service lacks are reported."""
    turn = Message.user(ImagePart(data=PNG, detail="high"), name="Ann")

    assert codes(ask(CLAUDE, messages=[turn])) == [
        ("unsupported-parameter", "messages[0].name"),
        ("unsupported-parameter", "messages[0].content[0].detail"),
    ]
