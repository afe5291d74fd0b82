"""Lowering a conversation."""

import base64
from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat import COMPATIBLE, OPENAI, ChatDialect
from llmcore.protocols.openai_chat.names import REASONING_FIELDS
from llmcore.routes.xai import DIALECT as XAI
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
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
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.chat import (
    body,
    built,
    call,
    chunk,
    codes,
    completion,
    refused,
    streamed,
    whole,
)
from tests.support.wire.protocol import response

MODEL = Model("gpt-4.1", "openai")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
PDF = b"%PDF-1.7\n"
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "


def _asked(*messages: Message, **fields: Any) -> LLMRequest:
    return request(model=MODEL, messages=messages, **fields)


def _messages(*messages: Message, dialect: ChatDialect = OPENAI, **fields: Any) -> Any:
    return body(_asked(*messages, **fields), dialect)["messages"]


def _user(*parts: ContentPart | str, dialect: ChatDialect = OPENAI) -> Any:
    """Return the content of one user message."""
    (message,) = _messages(Message.user(*parts), dialect=dialect)
    return message["content"]


def _url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


# -- roles


def test_every_role_has_its_place() -> None:
    """System text leads; developer and system messages inside stay where they are."""
    lowered = _messages(
        Message.developer("Rules."),
        Message.user("Hi", name="ann"),
        Message.assistant("Hello"),
        Message.system("New rules."),
        Message.user("Go"),
        system="Be brief.",
    )

    assert lowered == [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Rules."},
        {"role": "user", "content": "Hi", "name": "ann"},
        {"role": "assistant", "content": "Hello"},
        {"role": "system", "content": "New rules."},
        {"role": "user", "content": "Go"},
    ]


def test_developers_are_system_where_the_role_is_unknown() -> None:
    """Servers that imitate the API know `system`."""
    lowered = _messages(Message.developer("Rules."), Message.user("Hi"), dialect=COMPATIBLE)

    assert lowered[0] == {"role": "system", "content": "Rules."}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            "lift",
            [
                {"role": "system", "content": "Be brief.\n\nNew rules."},
                {"role": "user", "content": "Hi"},
                {"role": "user", "content": "Go"},
            ],
        ),
        (
            "demote",
            [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "user", "content": "<system>New rules.</system>"},
                {"role": "user", "content": "Go"},
            ],
        ),
    ],
)
def test_late_instructions_go_where_the_server_takes_them(place: Any, expected: Any) -> None:
    """Some servers want them at the head; a tag keeps the cached prefix instead."""
    dialect = evolve(COMPATIBLE, system_messages=place)
    messages = (Message.user("Hi"), Message.system("New rules."), Message.user("Go"))

    lowered = _messages(*messages, system="Be brief.", dialect=dialect)

    assert [{**m, "content": m["content"].replace("\n", "")} for m in lowered[1:]] == [
        {**m, "content": m["content"].replace("\n", "")} for m in expected[1:]
    ]
    assert lowered[0]["role"] == "system"
    assert "Be brief." in lowered[0]["content"]
    assert len(codes(_asked(*messages), dialect)) == 1


def test_a_server_that_imitates_gets_one_system_message_at_the_head() -> None:
    """Templates of open models accept no other; xAI accepts any order of roles."""
    messages = (
        Message.developer("Rules."),
        Message.user("Hi"),
        Message.system("New rules."),
    )

    def roles(dialect: ChatDialect) -> list[str]:
        lowered = _messages(*messages, system="Be brief.", dialect=dialect)
        return [message["role"] for message in lowered]

    assert roles(COMPATIBLE) == ["system", "user", "user"]
    assert roles(XAI) == ["system", "system", "user", "system"]


def test_instructions_hold_only_text() -> None:
    """A picture among them is left out, and said."""
    asked = _asked(Message.developer("Rules.", ImagePart(data=PNG)), Message.user("Hi"))

    assert [part["text"] for part in body(asked)["messages"][0]["content"]] == [
        "Rules.",
        "[a file, left out]",
    ]
    assert codes(asked) == [("unsupported-content", "messages[0].content[1]")]


def test_names_stay_where_they_are_not_taken() -> None:
    """Leaving them out is reported."""
    dialect = evolve(COMPATIBLE, names=False)
    asked = _asked(Message.user("Hi", name="ann"))

    assert body(asked, dialect)["messages"] == [{"role": "user", "content": "Hi"}]
    assert codes(asked, dialect) == [("unsupported-parameter", "messages[0].name")]


# -- text


def test_several_texts_are_parts_or_one_string() -> None:
    """OpenAI takes lists everywhere; for others a blank line stands between."""
    expected = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert _user("a", "b") == expected
    assert _user("a", "b", dialect=COMPATIBLE) == "a\n\nb"
    assert _user("a") == "a"


@pytest.mark.parametrize("text", ["", " "])
def test_empty_text_makes_a_valid_request(text: str) -> None:
    """Content that the API returned must not be refused when it returns."""
    lowered = _messages(
        Message.user("Hi", TextPart("")),
        Message.assistant(TextPart(text), ToolCallPart("a", "one")),
        Message.tool("a", text),
        Message.assistant(TextPart(text)),
        Message.user("Go"),
    )

    assert lowered[0]["content"] == "Hi"
    assert lowered[1]["tool_calls"][0]["id"] == "a"
    assert lowered[2] == {"role": "tool", "tool_call_id": "a", "content": text}
    assert all(part.get("text") != "" for m in lowered for part in _parts_in(m))


def _parts_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []


# -- media


@pytest.mark.parametrize(
    ("part", "native"),
    [
        (
            ImagePart(url="https://a.example/b.png"),
            {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}},
        ),
        (
            ImagePart(url=_url(PNG, "image/png"), detail="low"),
            {"type": "image_url", "image_url": {"url": _url(PNG, "image/png"), "detail": "low"}},
        ),
        (
            ImagePart(data=PNG),
            {"type": "image_url", "image_url": {"url": _url(PNG, "image/png")}},
        ),
        (
            AudioPart(data=WAV),
            {
                "type": "input_audio",
                "input_audio": {"data": base64.b64encode(WAV).decode(), "format": "wav"},
            },
        ),
        (
            DocumentPart(data=PDF, name="a.pdf"),
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": _url(PDF, "application/pdf")},
            },
        ),
        (
            DocumentPart(data=PDF),
            {
                "type": "file",
                "file": {"filename": "document.pdf", "file_data": _url(PDF, "application/pdf")},
            },
        ),
        (DocumentPart(file_id="file-1"), {"type": "file", "file": {"file_id": "file-1"}}),
        (
            DocumentPart(data=b"a < b", media_type="text/plain", name='x"y.txt'),
            {"type": "text", "text": '<document name="x&quot;y.txt">\na < b\n</document>'},
        ),
        (ProviderPart("openai", {"type": "later", "x": 1}), {"type": "later", "x": 1}),
    ],
)
def test_media_has_its_native_form(part: ContentPart, native: dict[str, Any]) -> None:
    """Pictures, sound and files travel as OpenAI's parts; text documents as text."""
    assert _user("Look:", part) == [{"type": "text", "text": "Look:"}, native]
    assert codes(_asked(Message.user(part))) == []


@pytest.mark.parametrize(
    ("part", "dialect"),
    [
        (ImagePart(file_id="f"), OPENAI),
        (ImagePart(data=PNG), evolve(OPENAI, images=False)),
        (ImagePart(url="https://a.example/b.png"), evolve(OPENAI, image_urls=False)),
        (AudioPart(data=WAV), COMPATIBLE),
        (AudioPart(url="https://a.example/b.wav"), OPENAI),
        (AudioPart(data=b"fLaC", media_type="audio/flac"), OPENAI),
        (DocumentPart(url="https://a.example/b.pdf"), OPENAI),
        (DocumentPart(data=PDF), COMPATIBLE),
        (DocumentPart(url="https://a.example/b.mp4"), OPENAI),
        (
            DocumentPart(url="https://a.example/b.mp4"),
            evolve(OPENAI, videos=True, image_urls=False),
        ),
        (ProviderPart("anthropic", {"type": "search_result"}), OPENAI),
    ],
)
def test_what_the_server_does_not_take_is_reported(part: ContentPart, dialect: ChatDialect) -> None:
    """A short text stands in its place, and a diagnostic names the place."""
    asked = _asked(Message.user("Look:", part))

    assert codes(asked, dialect) == [("unsupported-content", "messages[0].content[1]")]
    assert "left out" in str(body(asked, dialect)["messages"][0]["content"])


def test_servers_may_take_more() -> None:
    """OpenRouter takes files and videos by their address."""
    dialect = evolve(OPENAI, file_urls=True, videos=True)

    native = _user(
        DocumentPart(url="https://a.example/b.pdf"),
        DocumentPart(url="https://a.example/b.mp4"),
        dialect=dialect,
    )

    assert native == [
        {
            "type": "file",
            "file": {"filename": "document.pdf", "file_data": "https://a.example/b.pdf"},
        },
        {"type": "video_url", "video_url": {"url": "https://a.example/b.mp4"}},
    ]


def test_an_unread_path_is_refused() -> None:
    """The client reads files; a protocol does no I/O."""
    assert isinstance(refused(_asked(Message.user(ImagePart(path="a.png")))), InvalidRequestError)


def test_context_of_a_document_comes_before_it() -> None:
    """The model reads the context; a demand for citations cannot be sent."""
    part = DocumentPart(data=PDF, context="From 2020.", citations=True)
    asked = _asked(Message.user(part))

    assert body(asked)["messages"][0]["content"][0] == {"type": "text", "text": "From 2020."}
    assert codes(asked) == [("unsupported-parameter", "messages[0].content[0].citations")]


# -- what the model said


def test_calls_and_results_go_back() -> None:
    """A call goes back as it came; its result follows in a tool message."""
    lowered = _messages(
        Message.user("Weather?"),
        Message.assistant(ToolCallPart("call_1", "weather", {"city": "A"})),
        Message.tool("call_1", {"degrees": 20}),
    )

    assert lowered[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"A"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": '{"degrees":20}'},
    ]


def test_a_refusal_goes_back() -> None:
    """As a refusal where there is such a field, else as text."""
    message = Message.assistant(RefusalPart("No."))

    native = _messages(message)[-1]
    plain = _messages(message, dialect=COMPATIBLE)[-1]

    assert native == {"role": "assistant", "content": None, "refusal": "No."}
    assert plain == {"role": "assistant", "content": "No."}


def test_text_after_a_call_moves_before_it() -> None:
    """Chat has one place for text; a diagnostic reports the move."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant("a", ToolCallPart("x", "one"), "b"),
        Message.tool("x", "ok"),
    )

    assert body(asked)["messages"][1]["content"] == "ab"
    assert codes(asked) == [("reordered-content", "messages[1].content[2]")]


def test_what_an_assistant_message_cannot_hold_is_reported() -> None:
    """Pictures it drew and tools the provider ran have no form to go back in."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(
            "a", ImagePart(data=PNG), ToolCallPart("x", "search", provider_executed=True)
        ),
    )

    assert codes(asked) == [
        ("unsupported-content", "messages[1].content[1]"),
        ("unsupported-content", "messages[1].content[2]"),
    ]
    assert body(asked)["messages"][1] == {"role": "assistant", "content": "a"}


def test_spoken_responses_go_back_by_their_id() -> None:
    """The sound itself is never sent again."""
    spoken = AudioPart(data=WAV, provider_metadata={"openai": {"audio_id": "audio_1"}})

    native = _messages(Message.user("Hi"), Message.assistant(spoken))[1]

    assert native == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}


@pytest.mark.parametrize(
    ("transcript", "sent"),
    [("Hello", [{"role": "assistant", "content": "Hello"}]), (None, [])],
)
def test_of_a_spoken_response_without_an_id_the_transcript_is_sent(
    transcript: str | None, sent: list[dict[str, Any]]
) -> None:
    """No server takes the sound; one message without content is refused by many."""
    spoken = Message.assistant(AudioPart(data=WAV, transcript=transcript))
    asked = _asked(Message.user("Hi"), spoken, Message.user("So?"))

    assert body(asked)["messages"][1:-1] == sent
    assert ("unsupported-content", "messages[1].content[0]") in codes(asked)


@pytest.mark.parametrize(
    ("dialect", "arguments"),
    [(OPENAI, '{"city":'), (COMPATIBLE, '{"input":"{\\"city\\":"}')],
)
def test_broken_arguments_go_back(dialect: ChatDialect, arguments: str) -> None:
    """As they are where text will do; wrapped, and said, where servers parse them."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("x", "one", '{"city":')),
        Message.tool("x", "That was no JSON.", is_error=True),
    )

    native = body(asked, dialect)["messages"][1]["tool_calls"][0]

    assert native["function"]["arguments"] == arguments
    changed = ("invalid-tool-arguments", "messages[1].content[0].arguments")
    assert (changed in codes(asked, dialect)) == (dialect is COMPATIBLE)


def test_freeform_calls_go_back() -> None:
    """In their own form, or as the function they were offered as."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("x", "sh", "ls", kind="custom")),
        Message.tool("x", "a.txt"),
    )

    native = body(asked)["messages"][1]["tool_calls"][0]
    wrapped = body(asked, COMPATIBLE)["messages"][1]["tool_calls"][0]

    assert native == {"id": "x", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    assert wrapped["function"] == {"name": "sh", "arguments": '{"input":"ls"}'}


def test_native_parts_go_back_in_their_place() -> None:
    """Parts without a neutral form are replayed unchanged."""
    native = {"type": "later", "x": 1}

    lowered = _messages(Message.user("Hi"), Message.assistant("a", ProviderPart("openai", native)))

    assert lowered[1]["content"] == [{"type": "text", "text": "a"}, native]


# -- thinking

OWN = Origin(provider="openai", model="gpt-4.1", protocol="openai-chat")
FOREIGN = Origin(provider="anthropic", model="claude", protocol="anthropic-messages")


def _replayed(dialect: ChatDialect, *parts: ContentPart, origin: Origin = OWN) -> Any:
    messages = (Message.user("Hi"), Message.assistant(*parts, origin=origin), Message.user("Go"))
    return _messages(*messages, dialect=dialect)[1]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_goes_back_where_it_is_taken(field: Any) -> None:
    """In the field that the server reads."""
    dialect = evolve(OPENAI, reasoning_replay="accepted", reasoning_field=field)

    assert _replayed(dialect, ReasoningPart("Hm."), TextPart("a")) == {
        "role": "assistant",
        "content": "a",
        field: "Hm.",
    }
    assert field not in _replayed(dialect, TextPart("a"))


UNKNOWN = evolve(COMPATIBLE, reasoning_replay="own")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_unknown_server_gets_its_thinking_back_in_the_same_field(
    field: str, stream: bool
) -> None:
    """Beside a call, where the models of many servers need it."""
    calls = [call(0, id="a", name="one", arguments="{}")]
    message = {field: "Hm.", "tool_calls": calls}
    pieces: list[dict[str, Any]] = [{field: "H"}, {field: "m."}, {"tool_calls": calls}]
    chunks = [*map(chunk, pieces), chunk({}, "stop")]
    body = completion(message)
    events = streamed(chunks, dialect=UNKNOWN) if stream else whole(body, dialect=UNKNOWN)

    native = _replayed(UNKNOWN, *response(events).message.content)

    assert {name for name in REASONING_FIELDS if name in native} == {field}
    assert native[field] == "Hm."


def test_an_unknown_server_gets_no_thinking_of_others() -> None:
    """It may not know the field, as no server does that sent none."""
    messages = (
        Message.user("Hi"),
        Message.assistant(ReasoningPart("Hm."), TextPart("a"), origin=FOREIGN),
        Message.user("Go"),
    )

    assert _messages(*messages, dialect=UNKNOWN)[1] == {"role": "assistant", "content": "a"}
    assert codes(_asked(*messages), UNKNOWN) == [("reasoning-dropped", "messages[1].content[0]")]


def test_an_unknown_server_gets_its_blocks_of_thinking_back() -> None:
    """MiniMax and gateways need them as they came."""
    blocks = [{"type": "reasoning.text", "text": "Hm.", "index": 0}]
    message = {"content": "a", "reasoning_details": blocks}

    made = response(whole(completion(message), dialect=UNKNOWN)).message

    assert _replayed(UNKNOWN, *made.content)["reasoning_details"] == blocks


_TEXT_BLOCK = {"type": "reasoning.text", "text": "b", "index": 0}
_PROOF = {"type": "reasoning.encrypted", "data": "x==", "index": 1}


@pytest.mark.parametrize(
    ("pieces", "replayed"),
    [
        ([{"reasoning_content": "a"}, {"reasoning_details": [_TEXT_BLOCK]}], None),
        ([{"reasoning_details": [_TEXT_BLOCK]}, {"reasoning_content": "a"}], None),
        (
            [{"reasoning_content": "a"}, {"reasoning_details": [_TEXT_BLOCK, _PROOF]}],
            [_TEXT_BLOCK, _PROOF],
        ),
    ],
)
def test_an_unknown_server_gets_thinking_back_that_came_beside_blocks(
    pieces: list[dict[str, Any]], replayed: Any
) -> None:
    """MiniMax's server alternates between its two fields: the blocks are not all of it."""
    chunks = [*map(chunk, pieces), chunk({"content": "Hi"}), chunk({}, "stop")]
    answer = response(streamed(chunks, dialect=UNKNOWN)).message
    assert answer.reasoning in ("ab", "ba")

    native = _replayed(UNKNOWN, *answer.content)

    assert native["reasoning_content"] == answer.reasoning
    assert native.get("reasoning_details") == replayed


def test_thinking_stays_where_it_is_forbidden() -> None:
    """OpenAI has no such field; leaving it out is reported."""
    assert _replayed(OPENAI, ReasoningPart("Hm."), TextPart("a")) == {
        "role": "assistant",
        "content": "a",
    }
    asked = _asked(Message.user("Hi"), Message.assistant(ReasoningPart("Hm."), TextPart("a")))
    assert [path for _, path in codes(asked)] == ["messages[1].content[0]"]


def test_required_thinking_is_on_every_assistant_message() -> None:
    """Also on those of other models, which have none: the field is then empty."""
    dialect = evolve(COMPATIBLE, reasoning_replay="required")

    own = _replayed(dialect, ReasoningPart("Hm."), TextPart("a"))
    other = _replayed(dialect, TextPart("a"), origin=FOREIGN)

    assert own["reasoning_content"] == "Hm."
    assert other["reasoning_content"] == ""


def test_thinking_goes_back_as_content() -> None:
    """Mistral takes it as parts, in the order they came."""
    dialect = evolve(COMPATIBLE, reasoning_replay="accepted", reasoning_field="content")

    native = _replayed(dialect, ReasoningPart("Hm."), TextPart("a"))
    signed = _replayed(dialect, ReasoningPart("Hm.", signature="sig"), TextPart("a"))

    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert native["content"] == [thinking, {"type": "text", "text": "a"}]
    assert signed["content"][0] == {**thinking, "signature": "sig"}


SIGNED = {"type": "thinking", "thinking": "Hm, so", "signature": "s"}
REDACTED = [{"type": "redacted_thinking", "data": data} for data in ("x", "y")]
BLOCKS = {
    "a signature alone": [("Hm,", "Hm,", ""), (" so", " so", ""), ("", "", "s")],
    "a signature with all of the text": [
        ("Hm,", "Hm,", ""),
        (" so", " so", ""),
        ("", "Hm, so", "s"),
    ],
    "one block": [("Hm, so", "Hm, so", "s")],
}


@pytest.mark.parametrize("dialect", [OPENAI, COMPATIBLE])
@pytest.mark.parametrize("pieces", BLOCKS.values(), ids=BLOCKS.keys())
def test_thinking_blocks_go_back_as_they_came(pieces: list[Any], dialect: ChatDialect) -> None:
    """LiteLLM's proxy sends Anthropic's thinking so, and needs it back beside calls."""
    deltas: list[dict[str, Any]] = [
        {"reasoning_content": said, "thinking_blocks": [{**SIGNED, "thinking": t, "signature": s}]}
        for said, t, s in pieces
    ]
    deltas += [{"thinking_blocks": [block]} for block in REDACTED]
    made = response(streamed([*map(chunk, deltas), chunk({"content": "Done."}, "stop")]))

    reasoning = made.message.content[0]
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, reasoning.signature, made.text) == ("Hm, so", "s", "Done.")
    native = _messages(Message.user("Hi"), made.message, Message.user("?"), dialect=dialect)[1]
    assert native["thinking_blocks"] == [SIGNED, *REDACTED]


DETAILS = evolve(OPENAI, reasoning_replay="accepted", reasoning_field="reasoning_details")


def test_reasoning_details_go_back_unchanged() -> None:
    """The next request has the bytes of the stream."""
    sent = [
        {"type": "reasoning.text", "text": "a", "signature": "s", "index": 0, "format": "f"},
        {"type": "reasoning.encrypted", "data": "x", "id": "1", "index": 1},
    ]
    chunks = [
        chunk({"reasoning": "a", "reasoning_details": sent[:1]}),
        chunk({"reasoning_details": sent[1:]}),
        chunk({"tool_calls": [call(0, id="x", name="one", arguments="{}")]}),
        chunk({}, "tool_calls"),
    ]
    answer = response(streamed(chunks, dialect=DETAILS)).message

    native = _messages(Message.user("Hi"), answer, Message.tool("x", "ok"), dialect=DETAILS)[1]

    assert native["reasoning_details"] == sent
    assert "reasoning" not in native


def test_blocks_that_text_cut_in_two_are_whole_again() -> None:
    """A signature that came after the response had begun goes back on the text it signs."""
    chunks = [
        chunk({"reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]}),
        chunk({"content": "Hi"}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]}),
        chunk({}, "stop"),
    ]
    answer = response(streamed(chunks, dialect=DETAILS)).message

    native = _messages(Message.user("Hi"), answer, Message.user("Go"), dialect=DETAILS)[1]

    assert native["reasoning_details"] == [
        {"type": "reasoning.text", "text": "a", "index": 0, "signature": "s"}
    ]


def test_reasoning_details_of_another_provider_are_not_sent() -> None:
    """Opaque data is good only where it came from; its visible text may go."""
    part = ReasoningPart(
        "Hm.", provider_metadata={"openai": {"reasoning_details": [{"type": "x"}]}}
    )

    native = _replayed(DETAILS, part, TextPart("a"), origin=FOREIGN)

    assert "reasoning_details" not in native


PARTS: dict[str, list[dict[str, Any]]] = {
    "Mistral's": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "signature": "s"}
    ],
    "Databricks'": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a", "signature": "s"}]}
    ],
    "Databricks', not to be read": [
        {"type": "reasoning", "summary": [{"type": "summary_encrypted_text", "data": "x=="}]}
    ],
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
def test_an_unknown_server_gets_thinking_back_as_the_parts_that_it_sent(
    parts: list[dict[str, Any]], stream: bool
) -> None:
    """With their proofs, and not in a field that it might not know."""
    content = [*parts, {"type": "text", "text": "Hi"}]
    body = completion({"content": content})
    chunks = [chunk({"content": [part]}) for part in content]
    events = streamed([*chunks, chunk({}, "stop")], dialect=UNKNOWN) if stream else None
    answer = response(events or whole(body, dialect=UNKNOWN)).message

    native = _replayed(UNKNOWN, *answer.content)

    assert native == {"role": "assistant", "content": content}


# -- what came with the message and must go back


def test_signatures_go_back_where_they_were() -> None:
    """Gemini behind this API wants its signatures on the same call and message."""
    extra = {"google": {"thought_signature": "s"}}
    fields = {"extra_content": extra, "provider_specific_fields": {"thought_signature": "s"}}
    signed = call(0, id="x", name="one", arguments="{}") | fields
    chunks = [
        chunk({"tool_calls": [signed], "extra_content": extra}),
        chunk({}, "tool_calls"),
    ]
    answer = response(streamed(chunks)).message

    native = _messages(Message.user("Hi"), answer, Message.tool("x", "ok"))[1]

    assert native["extra_content"] == extra
    assert fields.items() <= native["tool_calls"][0].items()
    foreign = evolve(answer, origin=FOREIGN)
    elsewhere = _messages(Message.user("Hi"), foreign, Message.tool("x", "ok"))[1]
    assert "thought_signature" not in str(elsewhere)


PROVEN = evolve(OPENAI, reasoning_replay="accepted", reasoning_field="reasoning_text")


@pytest.mark.parametrize("thought", ["Hm.", ""])
@pytest.mark.parametrize("stream", [True, False])
def test_a_proof_of_thinking_goes_back_with_the_thinking(thought: str, stream: bool) -> None:
    """Copilot's models refuse the one without the other."""
    thinking = {"reasoning_text": thought} if thought else {}
    calls = [call(0, id="x", type="function", name="one", arguments="{}")]
    deltas = [chunk(thinking), chunk({"tool_calls": calls}), chunk({"reasoning_opaque": "b64"})]
    proven = {**thinking, "reasoning_opaque": "b64", "tool_calls": calls}
    events = streamed([*deltas, chunk({}, "tool_calls")])
    answer = response(events if stream else whole(completion(proven, "tool_calls"))).message
    rest = Message.tool("x", "ok")

    native = _messages(Message.user("Hi"), answer, rest, dialect=PROVEN)[1]
    foreign = evolve(answer, origin=FOREIGN)
    elsewhere = _messages(Message.user("Hi"), foreign, rest, dialect=PROVEN)[1]

    assert (native["reasoning_opaque"], native["reasoning_text"]) == ("b64", thought)
    assert "b64" not in str(elsewhere)
    assert "reasoning_text" not in elsewhere


@pytest.mark.parametrize("stream", [True, False])
def test_encrypted_thinking_goes_back_with_its_message(stream: bool) -> None:
    """Ark's and xAI's come in pieces beside the text of the thinking, or without any."""
    pieces = [{"reasoning_content": "Hm."}, {"encrypted_content": "b6"}, {"content": "Hi"}]
    chunks = [*map(chunk, pieces), chunk({"encrypted_content": "4="}), chunk({}, "stop")]
    message = {"reasoning_content": "Hm.", "encrypted_content": "b64=", "content": "Hi"}
    events = streamed(chunks, dialect=UNKNOWN) if stream else whole(completion(message))
    answer = response(events).message

    native = _messages(Message.user("Hi"), answer, Message.user("Go"), dialect=UNKNOWN)[1]
    foreign = evolve(answer, origin=FOREIGN)
    elsewhere = _messages(Message.user("Hi"), foreign, Message.user("Go"), dialect=UNKNOWN)[1]

    assert native == {"role": "assistant", **message}
    assert "b64=" not in str(elsewhere)


def test_thinking_without_its_proof_is_reported_where_one_is_needed() -> None:
    """It stays behind, and only it."""
    said = Message.assistant(ReasoningPart("Hm."), "Yes.", origin=OWN)
    asked = _asked(Message.user("Hi"), said, Message.user("Go"))

    made = built(asked, PROVEN)

    assert made.body["messages"][1] == {"role": "assistant", "content": "Yes."}
    assert [(note.code, note.path) for note in made.diagnostics] == [
        ("reasoning-dropped", "messages[1].content[0]")
    ]


# -- tool results


def test_pictures_in_results_follow_the_results() -> None:
    """All tool messages first, then one user message that shows each picture by its call."""
    picture = ImagePart(data=PNG)
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "one"), ToolCallPart("b", "two")),
        Message.tool("a", ("before", picture, "after")),
        Message.tool("b", (picture,)),
        Message.user("And?"),
    )
    native = {"type": "image_url", "image_url": {"url": _url(PNG, "image/png")}}

    lowered = body(asked)["messages"][2:]

    assert [message["role"] for message in lowered] == ["tool", "tool", "user", "user"]
    first, second, shown, _ = (message["content"] for message in lowered)
    assert [part["text"] for part in first] == [
        "before",
        "[image_url 1 of tool call a: in the next user message]",
        "after",
    ]
    assert second == "[image_url 1 of tool call b: in the next user message]"
    assert shown == [
        {"type": "text", "text": "image_url 1 of tool call a:"},
        native,
        {"type": "text", "text": "image_url 1 of tool call b:"},
        native,
    ]
    assert [code for code, _ in codes(asked)] == ["moved-tool-result-media"] * 2


def test_pictures_stay_in_results_where_they_can() -> None:
    """Some servers take them in tool messages."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "one")),
        Message.tool("a", ("see", ImagePart(data=PNG))),
    )

    lowered = body(asked, evolve(OPENAI, tool_result_images=True))["messages"]

    assert [message["role"] for message in lowered] == ["user", "assistant", "tool"]
    assert [part["type"] for part in lowered[2]["content"]] == ["text", "image_url"]


def test_pictures_for_a_server_without_eyes_are_reported() -> None:
    """A placeholder and a diagnostic, in the result itself."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "one")),
        Message.tool("a", (ImagePart(data=PNG),)),
    )
    blind = evolve(COMPATIBLE, images=False)

    assert body(asked, blind)["messages"][-1]["content"] == "[an image, left out]"
    assert codes(asked, blind) == [("unsupported-content", "messages[2].content[0].content[0]")]


def test_words_beside_results_follow_them() -> None:
    """A tool message may hold more than results; the rest is a user's."""
    results = Message("tool", (ToolResultPart("a", "ok"), TextPart("Mind the gap.")))
    asked = _asked(Message.user("Go"), Message.assistant(ToolCallPart("a", "one")), results)

    lowered = body(asked)["messages"][2:]

    assert [message["role"] for message in lowered] == ["tool", "user"]
    assert "Mind the gap." in str(lowered[1]["content"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("no such file", "Error: no such file"),
        ("Error: gone", "Error: gone"),
        ({"error": "gone"}, '{"error":"gone"}'),
    ],
)
def test_failed_result_begins_with_error(content: object, expected: str) -> None:
    """Chat has no flag for an error, so the words must tell."""
    lowered = _messages(
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "one")),
        Message.tool("a", content, is_error=True),
    )

    assert lowered[2]["content"] == expected


def test_results_are_paired_before_they_are_lowered() -> None:
    """A missing result is made up, a stray one dropped, and both are said."""
    asked = _asked(
        Message.user("Go"),
        Message.assistant(ToolCallPart("a", "one"), ToolCallPart("b", "two")),
        Message.tool("b", "2"),
        Message.tool("stray", "3"),
        Message.user("And?"),
    )

    lowered = body(asked)["messages"]

    results = [message for message in lowered if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["a", "b"]
    assert len(built(asked).diagnostics) >= 2


def test_long_call_ids_are_shortened_in_calls_and_results() -> None:
    """Ids of other providers are made to fit, call and result alike."""
    long_id = "toolu_" + "x" * 100
    lowered = _messages(
        Message.user("Go"),
        Message.assistant(ToolCallPart(long_id, "one")),
        Message.tool(long_id, "ok"),
    )

    made = lowered[1]["tool_calls"][0]["id"]

    assert len(made) <= 40
    assert lowered[2]["tool_call_id"] == made


# -- caching


def test_cache_marks_go_to_servers_that_read_them() -> None:
    """Elsewhere they are nothing to send: those servers cache by themselves."""
    asked = _asked(Message.user(cached(TextPart("long"), ttl="1h"), cached(TextPart("more"))))

    marked = body(asked, evolve(OPENAI, cache_control=True))["messages"][0]["content"]

    assert marked == [
        {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": "more", "cache_control": {"type": "ephemeral"}},
    ]
    assert "cache_control" not in str(body(asked))
    assert codes(asked) == []


def test_paths_lead_to_the_request_though_messages_changed() -> None:
    """A Diagnostic names the place in what the caller wrote, not in what repair made of it."""
    foreign = Origin(provider="elsewhere", model="other-1", protocol="gemini")
    messages = (
        Message.user("Hi"),
        Message.tool("nobody", "a stray result, which repair drops"),
        Message.assistant(
            ReasoningPart("", signature="only good elsewhere"),
            ImagePart(data=b"\x89PNG\r\n\x1a\n"),
            "Look.",
            origin=foreign,
        ),
        Message.user("And?"),
    )
    done = openai_chat.protocol.body.build(request(model="m", messages=messages), False).unwrap()
    left_out = [note.path for note in done.diagnostics if note.code == "unsupported-content"]

    assert left_out == ["messages[2].content[1]"]
