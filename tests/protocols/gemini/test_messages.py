"""The conversation: roles, parts, tool results, and signatures that go back where they came."""

import base64
import json
from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.lowering import SKIP_SIGNATURE
from llmcore.schema.codec import from_json, to_json
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
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import request
from tests.support.wire.gemini import (
    ASKED,
    MODEL,
    OLDER,
    OURS,
    body,
    built,
    call,
    chunk,
    codes,
    piece,
    refused,
    streamed,
    whole,
)
from tests.support.wire.protocol import response

PNG = b"\x89PNG\r\n\x1a\n"
PNG64 = base64.b64encode(PNG).decode()
THEIRS = Origin(provider="openai", model="gpt-5", protocol="openai-responses")


def contents(*messages: Message, model: Any = MODEL) -> Any:
    """Return the `contents` of a conversation."""
    return body(request(model=model, messages=messages))["contents"]


def model_parts(*parts: ContentPart, origin: Origin | None = OURS, model: Any = MODEL) -> Any:
    """Return the parts of what the model said before."""
    said = contents(Message.user("q"), Message.assistant(parts, origin=origin), model=model)
    return next(content["parts"] for content in said if content["role"] == "model")


# -- roles


@pytest.mark.parametrize(
    ("model", "goes_on"),
    [
        ("gemini-2.5-flash", True),
        ("gemini-3-flash-preview", True),
        ("gemini-3.1-pro-preview", True),
        ("gemini-3.5-flash", True),
        ("gemini-3.5-flash-lite", False),
        ("gemini-3.6-flash", False),
        ("publishers/google/models/gemini-3.8-flash", False),
        ("gemini-4-hydrogen", False),
        ("gemini-pro-latest", True),
        ("gemini-flash-latest", False),
        ("gemini-flash-lite-latest", False),
        ("tunedModels/mine", True),
    ],
)
def test_a_beginning_of_the_response(model: str, goes_on: bool) -> None:
    """Newer models refuse one: a user message follows then, and a diagnostic reports it."""
    messages = (Message.user("q"), Message.assistant("The response is "))
    asked = request(model=Model(model, "google"), messages=messages)

    said = {"role": "model", "parts": [{"text": "The response is "}]}
    last = {"role": "user", "parts": [{"text": "(continue)"}]}

    assert body(asked)["contents"][1:] == ([said] if goes_on else [said, last])
    assert codes(asked) == ([] if goes_on else [("last-message-added", "messages[1]")])


def test_names_are_reported_as_lost() -> None:
    """The API has no place for a speaker's name."""
    messages = [Message("user", (TextPart("a"),), name="Bob"), Message.assistant("b")]
    asked = request(model=MODEL, messages=messages)

    assert codes(asked) == [("unsupported-parameter", "messages[0].name")]


def test_results_of_the_service_may_end_a_request() -> None:
    """Newer models take a model's turn whose last part is what a tool of theirs returned."""
    part = {"toolResponse": {"toolType": "URL_CONTEXT", "response": {}, "id": "t"}}
    asked = request(
        model=Model("gemini-3.8-flash", "google"),
        messages=[Message.user("q"), Message.assistant([ProviderPart("google", part)])],
    )

    assert body(asked)["contents"][-1] == {"role": "model", "parts": [part]}


def test_roles_are_user_and_model() -> None:
    """Instructions stand apart, and results are the user's."""
    asked = request(
        model=MODEL,
        system="A",
        messages=[
            Message.system("B"),
            Message.user("q"),
            Message.assistant(ToolCallPart("c1", "f")),
            Message.tool("c1", "r"),
            Message.developer("C"),
        ],
    )
    made = body(asked)

    assert made["systemInstruction"] == {"parts": [{"text": "A"}, {"text": "B"}]}
    assert [content["role"] for content in made["contents"]] == ["user", "model", "user"]
    assert "C" in made["contents"][2]["parts"][1]["text"]


def test_neighbours_of_one_role_are_merged() -> None:
    """The two sides take turns, and the user begins."""
    said = contents(Message.assistant("a"), Message.user("b"), Message.user("c"))

    assert [content["role"] for content in said] == ["user", "model", "user"]
    assert said[2]["parts"] == [{"text": "b"}, {"text": "c"}]


# -- parts


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart("hi"), {"text": "hi"}),
        (ImagePart(data=PNG), {"inlineData": {"mimeType": "image/png", "data": PNG64}}),
        (
            ImagePart(data=b"\xfb\xff", media_type="image/png"),
            {"inlineData": {"mimeType": "image/png", "data": "+/8="}},
        ),
        (
            ImagePart(url=f"data:image/png;base64,{PNG64}"),
            {"inlineData": {"mimeType": "image/png", "data": PNG64}},
        ),
        (
            ImagePart(url="https://a.b/c.jpg"),
            {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://a.b/c.jpg"}},
        ),
        (
            DocumentPart(url="https://youtu.be/x"),
            {"fileData": {"fileUri": "https://youtu.be/x"}},
        ),
        (
            DocumentPart(file_id="files/1", media_type="application/pdf"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "files/1"}},
        ),
        (
            AudioPart(data=b"x", media_type="audio/L16;rate=24000"),
            {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "eA=="}},
        ),
        (
            DocumentPart(data=b'{"a":1}', media_type="application/json"),
            {"inlineData": {"mimeType": "text/plain", "data": "eyJhIjoxfQ=="}},
        ),
        (
            ImagePart(data=PNG, detail="high"),
            {
                "inlineData": {"mimeType": "image/png", "data": PNG64},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"},
            },
        ),
        (
            DocumentPart(
                data=b"x",
                media_type="video/mp4",
                provider_metadata={"google": {"videoMetadata": {"fps": 2}}},
            ),
            {
                "inlineData": {"mimeType": "video/mp4", "data": "eA=="},
                "videoMetadata": {"fps": 2},
            },
        ),
        (ProviderPart("google", {"new": 1}), {"new": 1}),
        (ImagePart(url="https://["), {"fileData": {"fileUri": "https://["}}),
    ],
)
def test_what_a_user_says(part: ContentPart, expected: Any) -> None:
    """Each kind of part in its native form."""
    assert contents(Message.user(part))[0]["parts"] == [expected]


def test_a_document_says_what_it_is() -> None:
    """Title and context stand before it; it cannot be asked to be cited."""
    part = DocumentPart(
        data=b"a", media_type="text/plain", title="T", context="C", citations=True, name="n.txt"
    )
    asked = request(model=MODEL, messages=[Message.user(part)])

    assert body(asked)["contents"][0]["parts"][0] == {"text": "T\nC"}
    assert codes(asked) == [("unsupported-parameter", "messages[0].content[0].citations")]


def test_details_of_a_picture_before_gemini_3() -> None:
    """Older models look at all pictures alike."""
    asked = request(model=OLDER, messages=[Message.user(ImagePart(data=PNG, detail="low"))])

    assert codes(asked) == [("unsupported-parameter", "messages[0].content[0].detail")]


def test_parts_that_cannot_be_sent() -> None:
    """A path is the client's to read; data native to others is left out."""
    path = request(model=MODEL, messages=[Message.user(ImagePart(path="/a.png"))])
    alien = request(model=MODEL, messages=[Message.user("a", ProviderPart("openai", {"x": 1}))])

    assert isinstance(refused(path), InvalidRequestError)
    assert codes(alien) == [("unsupported-content", "messages[0].content[1]")]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (RefusalPart("no"), {"text": "no"}),
        (ReasoningPart("hm"), {"text": "hm", "thought": True}),
        (
            ReasoningPart("hm", signature="s"),
            {"text": "hm", "thought": True, "thoughtSignature": "s"},
        ),
        (
            ImagePart(data=PNG, provider_metadata={"google": {"thoughtSignature": "s"}}),
            {"inlineData": {"mimeType": "image/png", "data": PNG64}, "thoughtSignature": "s"},
        ),
        (
            ToolCallPart("x", "f", None, provider_metadata={"google": {"thoughtSignature": "s"}}),
            {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
        ),
    ],
)
def test_what_the_model_said(part: ContentPart, expected: Any) -> None:
    """Each kind of part in its native form."""
    assert model_parts(part) == [expected]


@pytest.mark.parametrize("arguments", ['{"a":', [1], 3])
def test_arguments_that_are_not_an_object_are_wrapped(arguments: Any) -> None:
    """They are wrapped in one, and nothing of them is lost."""
    part = ToolCallPart("x", "f", arguments)
    sent = model_parts(part, model=OLDER)[0]["functionCall"]["args"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, separators=(",", ":"))

    assert sent == {"input": text}


# -- tool results


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Message.tool("c", "ok"), {"output": "ok"}),
        (Message.tool("c", {"a": 1}), {"a": 1}),
        (Message.tool("c", {"output": 1, "x": 2}), {"output": {"output": 1, "x": 2}}),
        (Message.tool("c", [1, 2]), {"output": [1, 2]}),
        (Message.tool("c", None), {"output": None}),
        (Message.tool("c", "boom", is_error=True), {"error": "boom"}),
        (Message.tool("c", {"code": 1}, is_error=True), {"error": {"code": 1}}),
        (Message.tool("c", [TextPart("a"), TextPart("b")]), {"output": "a\nb"}),
    ],
)
def test_results_that_are_not_objects_are_wrapped(result: Message, expected: Any) -> None:
    """Other values are wrapped under the names that the API documents."""
    said = contents(Message.user("q"), Message.assistant(ToolCallPart("c", "f")), result)

    assert said[2]["parts"] == [{"functionResponse": {"name": "f", "response": expected}}]


def test_results_stand_together_in_the_order_of_the_calls() -> None:
    """All of a turn's responses come first, and one that is missing is made up."""
    said = contents(
        Message.user("q"),
        Message.assistant(ToolCallPart("1", "f"), ToolCallPart("2", "g"), ToolCallPart("3", "h")),
        Message.user("wait"),
        Message.tool("3", "three"),
        Message.tool("1", "one"),
        Message.tool("9", "stray"),
    )
    names = [part["functionResponse"]["name"] for part in said[2]["parts"][:3]]

    assert names == ["f", "g", "h"]
    assert "error" in said[2]["parts"][1]["functionResponse"]["response"]
    assert said[2]["parts"][3:] == [{"text": "wait"}]


def test_images_in_results_are_inside_or_after_by_model() -> None:
    """From Gemini 3 on the response holds them; before, they follow the responses."""
    history = (
        Message.user("q"),
        Message.assistant(ToolCallPart("1", "f"), ToolCallPart("2", "g")),
        Message.tool("1", [TextPart("a"), ImagePart(data=PNG), TextPart("b")]),
        Message.tool("2", [ImagePart(url="https://a.b/c.png")]),
    )
    native = {"inlineData": {"mimeType": "image/png", "data": PNG64}}
    linked = {"fileData": {"mimeType": "image/png", "fileUri": "https://a.b/c.png"}}

    first, second, *after = contents(*history)[2]["parts"]
    assert first["functionResponse"]["response"] == {"output": "a\n[file 1]\nb"}
    assert first["functionResponse"]["parts"] == [native]
    assert second["functionResponse"]["response"] == {"output": "[file 1 of g: after the results]"}
    assert after == [{"text": "file 1 of g:"}, linked]

    *responses, label, moved, label_2, moved_2 = contents(*history, model=OLDER)[2]["parts"]
    assert [list(part) for part in responses] == [["functionResponse"]] * 2
    assert [label, moved] == [{"text": "file 1 of f:"}, native]
    assert [label_2, moved_2] == [{"text": "file 1 of g:"}, linked]


def test_a_native_part_in_a_result_is_left_out() -> None:
    """Function responses hold media only."""
    history = [
        Message.user("q"),
        Message.assistant(ToolCallPart("1", "f")),
        Message.tool("1", [TextPart("a"), ProviderPart("google", {"x": 1})]),
    ]

    found = codes(request(model=OLDER, messages=history))

    assert found == [("unsupported-content", "messages[2].content[0].content[1]")]


def test_ids_go_back_where_the_service_gave_them() -> None:
    """A call without one, and one of another model's, is tied by name and order."""
    answer = response(whole(chunk(call(id="abc"), call("g"), finish="STOP")))
    results = [Message.tool(one.id, "r") for one in answer.tool_calls]
    said = contents(Message.user("q"), answer.message, *results)

    assert said[1]["parts"][0]["functionCall"]["id"] == "abc"
    assert "id" not in said[1]["parts"][1]["functionCall"]
    assert [part["functionResponse"].get("id") for part in said[2]["parts"]] == ["abc", None]


def test_an_id_that_comes_twice_stays_tied_to_its_result() -> None:
    """Each turn's call keeps its own result, under an id of its own."""
    answer = response(whole(chunk(call(id="abc"), finish="STOP"))).message
    said = contents(
        Message.user("q"),
        answer,
        Message.tool("abc", "one"),
        answer,
        Message.tool("abc", "two"),
    )
    calls = [part["functionCall"]["id"] for c in said[1::2] for part in c["parts"]]
    responses = [p["functionResponse"] for c in said[2::2] for p in c["parts"]]

    assert len(set(calls)) == 2
    assert [one["id"] for one in responses] == calls
    assert [one["response"]["output"] for one in responses] == ["one", "two"]


# -- signatures

SIGNED: list[dict[str, Any]] = [
    {"text": "thinking", "thought": True, "thoughtSignature": "dDE="},
    {"text": "I look it up.", "thoughtSignature": "dDI="},
    {**call(id="c1"), "thoughtSignature": "dDM="},
    call("other", id="c2"),
    {"text": "", "thoughtSignature": "dDQ="},
]


@pytest.mark.parametrize("form", ["whole", "stream"])
@pytest.mark.parametrize("stored", [False, True])
def test_signatures_go_back_on_exactly_their_parts(form: str, stored: bool) -> None:
    """Also after the message was stored as JSON, also on a part that is empty else."""
    chunks = [*map(chunk, SIGNED), chunk(finish="STOP")]
    events = whole(chunk(*SIGNED, finish="STOP")) if form == "whole" else streamed(chunks)
    message = response(events).message
    if stored:
        message = from_json(Message, json.loads(json.dumps(to_json(message))))

    assert contents(Message.user("q"), message)[1]["parts"] == SIGNED


@pytest.mark.parametrize(
    "part",
    [
        {
            "executableCode": {"language": "PYTHON", "code": "1+1", "id": "x"},
            "thoughtSignature": "s",
        },
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n", "id": "x"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["a"]}, "id": "t"}},
        {"toolResponse": {"toolType": "URL_CONTEXT", "response": {"a": 1.5}, "id": "t"}},
        {"inlineData": {"mimeType": "image/png", "data": PNG64}, "thoughtSignature": "s"},
        {"inlineData": {"mimeType": "image/png", "data": PNG64}, "thought": True},
        {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b"}},
        {"videoMetadata": {"fps": 2}, "text": "x"},
        {"text": "", "thoughtSignature": "s"},
        {"text": "more", "thoughtSignature": "s"},
        {"brandNew": {"deep": [1, None]}, "thoughtSignature": "s"},
        {"functionCall": {"name": "f", "args": {"a": [1, "b", None]}, "id": "q", "extra": 1}},
    ],
)
def test_every_part_goes_back_as_it_came(part: dict[str, Any]) -> None:
    """The service wants its own parts unchanged."""
    before = {"text": "first"}
    for events in (
        whole(chunk(before, part, finish="STOP")),
        streamed([chunk(before), chunk(part, finish="STOP")]),
    ):
        message = response(events).message

        sent = contents(Message.user("q"), message)[1]["parts"]
        if "functionCall" in part:
            sent[1].pop("thoughtSignature")
        assert sent == [before, part]


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ({"willContinue": True}, [{"partialArgs": [piece("$.a", stringValue="x")]}]),
        (
            {"partialArgs": [piece("$.a", more=True, stringValue="")], "willContinue": True},
            [{"partialArgs": [piece("$.a", stringValue="x")], "willContinue": True}, {}],
        ),
        ({"partialArgs": [piece("$.a", stringValue="x")], "willContinue": False}, []),
        ({"args": {"a": "x"}, "willContinue": False}, []),
    ],
)
def test_a_call_that_came_in_pieces_goes_back_whole(
    first: dict[str, Any], rest: list[dict[str, Any]]
) -> None:
    """Vertex AI refuses a request with the fields that its pieces came in."""
    begun = {"functionCall": {"name": "f", "id": "c1", **first}, "thoughtSignature": "c2ln"}
    parts: list[Any] = [begun, *({"functionCall": fields} for fields in rest)]
    message = response(streamed([*map(chunk, parts), chunk(finish="STOP")])).message
    said = contents(Message.user("q"), message, Message.tool("c1", "r"))

    made = {"name": "f", "args": {"a": "x"}, "id": "c1"}
    assert said[1]["parts"] == [{"functionCall": made, "thoughtSignature": "c2ln"}]


def test_calls_of_another_model_skip_the_check() -> None:
    """Gemini 3 refuses a step whose first call has no signature: the documented value skips it."""
    history = [
        Message.user("q"),
        Message.assistant(
            ReasoningPart("hm", encrypted="secret"),
            ToolCallPart("1", "f"),
            ToolCallPart("2", "g"),
            origin=THEIRS,
        ),
        Message.tool("1", "a"),
        Message.tool("2", "b"),
    ]
    asked = request(model=MODEL, messages=history)
    thought, first, second = body(asked)["contents"][1]["parts"]

    assert thought == {"text": "hm", "thought": True}
    assert first["thoughtSignature"] == SKIP_SIGNATURE
    assert "thoughtSignature" not in second
    assert ("thought-signature-skipped", "messages[1]") in codes(asked)
    assert all(
        "thoughtSignature" not in part
        for part in body(evolve(asked, model=OLDER))["contents"][1]["parts"]
    )


def test_signatures_of_another_gemini_are_not_sent() -> None:
    """Each is good only at the model that made it."""
    message = response(whole(chunk(*SIGNED, finish="STOP"))).message
    other = evolve(message, origin=Origin(provider="google", model="gemini-2.5-pro"))
    sent = contents(Message.user("q"), other)[1]["parts"]

    assert [part.get("thoughtSignature") for part in sent] == [None, None, SKIP_SIGNATURE, None]


@pytest.mark.parametrize("signature", ["not base64!", "", "msg_ü"])
def test_a_signature_that_is_none_is_not_sent(signature: str) -> None:
    """It would fail the whole request."""
    history = [Message.user("q"), Message.assistant(ReasoningPart("hm", signature=signature))]
    asked = request(model=MODEL, messages=history)

    assert body(asked)["contents"][1]["parts"] == [{"text": "hm", "thought": True}]
    assert codes(asked) == [("opaque-data-dropped", "messages[1]")]


def test_a_hosted_call_of_another_gemini_skips_the_check() -> None:
    """Its part goes back, but not its signature."""
    part = {"toolCall": {"toolType": "FILE_SEARCH", "id": "t"}, "thoughtSignature": "c2ln"}
    message = response(whole(chunk(part, finish="STOP"))).message
    other = evolve(
        message, origin=Origin(provider="google", model="gemini-2.5-pro", protocol="gemini")
    )

    (sent,) = contents(Message.user("q"), other)[1]["parts"]
    (older,) = contents(Message.user("q"), message, model=OLDER)[1]["parts"]
    assert sent == {**part, "thoughtSignature": SKIP_SIGNATURE}
    assert older == {"toolCall": part["toolCall"]}


def test_a_hosted_call_that_we_know_nothing_native_of() -> None:
    """It cannot be shown again."""
    history = [
        Message.user("q"),
        Message.assistant(
            ToolCallPart("1", "code_execution", {}, provider_executed=True),
            ToolResultPart("1", "x", provider_executed=True),
            "done",
        ),
    ]
    asked = request(model=MODEL, messages=history)

    assert body(asked)["contents"][1]["parts"] == [{"text": "done"}]
    assert [code for code, _ in codes(asked)] == ["unsupported-content"] * 2


def test_the_beginning_of_a_conversation_stays_the_same() -> None:
    """A longer conversation begins with the same bytes: prefixes are cached."""
    message = response(whole(chunk(*SIGNED, finish="STOP"))).message
    first = [Message.user("q"), message, Message.tool("c1", "r"), Message.tool("c2", "s")]
    longer = [*first, Message.assistant("fine", origin=OURS), Message.user("more")]

    assert contents(*longer)[:3] == contents(*first)
    assert built(evolve(ASKED, messages=tuple(first))).diagnostics == ()
