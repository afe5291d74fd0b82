"""The conversation as input items."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.openai_responses import protocol
from llmcore.schema import json
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cached,
)
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Success
from llmcore.testing import assert_prefix_stable
from tests.support.strategies.requests import requests
from tests.support.wire.responses import ANSWERS, ORIGIN, body, codes, items, refused, said

PNG = b"\x89PNG\r\n\x1a\n"
PNG_URL = "data:image/png;base64,iVBORw0KGgo="
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}


def talk(*messages: Message, **fields: Any) -> LLMRequest:
    """Return a request of *messages*."""
    return request(model=Model("gpt-5.2", "openai"), messages=messages, **fields)


def native(role: str, content: Any) -> dict[str, Any]:
    """Return a message item."""
    return {"type": "message", "role": role, "content": content}


# -- instructions

SYSTEMS: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "text": ("Be brief.", "Be brief."),
    "texts": (["Be brief.", "Be kind."], "Be brief.\n\nBe kind."),
    "empty": ([""], None),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_system_prompt_is_the_instructions(name: str) -> None:
    """System text has a field of its own."""
    given_, wanted = SYSTEMS[name]

    assert body(talk(Message.user("Hi"), system=given_)).get("instructions") == wanted


def test_system_and_developer_messages_stay_where_they_are() -> None:
    """Instructions in the conversation are items; cached prefixes stay as they were."""
    lowered = items(Message.developer("A."), Message.user("Hi"), Message.system("B.", "C."))

    assert lowered == [
        native("developer", "A."),
        native("user", "Hi"),
        native(
            "system", [{"type": "input_text", "text": "B."}, {"type": "input_text", "text": "C."}]
        ),
    ]


# -- what the user says

PARTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": (TextPart("Hi"), {"type": "input_text", "text": "Hi"}),
    "marked text": (cached(TextPart("Hi")), {"type": "input_text", "text": "Hi"}),
    "picture by url": (
        ImagePart(url="https://a.example/b.png"),
        {"type": "input_image", "detail": "auto", "image_url": "https://a.example/b.png"},
    ),
    "picture": (
        ImagePart(data=PNG, detail="original"),
        {"type": "input_image", "detail": "original", "image_url": PNG_URL},
    ),
    "picture by id": (
        ImagePart(file_id="file-1"),
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
    ),
    "file by id": (
        DocumentPart(file_id="file-1"),
        {"type": "input_file", "file_id": "file-1"},
    ),
    "file by url": (
        DocumentPart(url="https://a.example/b.pdf"),
        {"type": "input_file", "file_url": "https://a.example/b.pdf"},
    ),
    "file": (
        DocumentPart(data=b"%PDF-1", name="b.pdf"),
        {
            "type": "input_file",
            "filename": "b.pdf",
            "file_data": "data:application/pdf;base64,JVBERi0x",
        },
    ),
    "nameless file": (
        DocumentPart(data=b"%PDF-1"),
        {
            "type": "input_file",
            "filename": "document.pdf",
            "file_data": "data:application/pdf;base64,JVBERi0x",
        },
    ),
    "text file": (
        DocumentPart(data=b"a,b", media_type="text/csv", name='"q".csv', title="Q&A"),
        {
            "type": "input_text",
            "text": '<document name="&quot;q&quot;.csv" title="Q&amp;A">\na,b\n</document>',
        },
    ),
    "native part": (
        ProviderPart("openai", {"type": "input_text", "text": "Hi", "new": 1}),
        {"type": "input_text", "text": "Hi", "new": 1},
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_each_part_is_lowered_to_its_item(name: str) -> None:
    """Each part in the API's words."""
    part, lowered = PARTS[name]

    assert items(Message.user("A", part)) == [
        native("user", [{"type": "input_text", "text": "A"}, lowered])
    ]
    assert codes(talk(Message.user("A", part))) == []


OMITTED: dict[str, tuple[Any, str]] = {
    "sound": (
        AudioPart(data=b"RIFFxxxxWAVE", transcript="Hello."),
        "[audio, left out: Hello.]",
    ),
    "video": (DocumentPart(url="https://a.example/b.mp4"), "[a video, left out]"),
    "foreign part": (
        ProviderPart("anthropic", {"type": "search_result"}),
        "[a part of anthropic, left out]",
    ),
}


@pytest.mark.parametrize("name", OMITTED)
def test_what_the_api_does_not_take_leaves_words_behind(name: str) -> None:
    """A text stands in the place of a part that could not be sent, and a diagnostic reports it."""
    part, words = OMITTED[name]

    assert items(Message.user("A", part))[0]["content"][1]["text"] == words
    assert codes(talk(Message.user("A", part))) == [
        ("unsupported-content", "messages[0].content[1]")
    ]


def test_words_about_a_document() -> None:
    """Context stands before its file; citations cannot be asked for."""
    part = DocumentPart(file_id="file-1", context="From 2020.", citations=True)

    assert items(Message.user(part))[0]["content"] == [
        {"type": "input_text", "text": "From 2020."},
        {"type": "input_file", "file_id": "file-1"},
    ]
    assert codes(talk(Message.user(part))) == [
        ("unsupported-parameter", "messages[0].content[0].citations")
    ]


def test_an_unread_path_is_an_error() -> None:
    """The client reads files before."""
    assert "path" in str(refused(talk(Message.user(ImagePart(path="/tmp/a.png")))))


def test_a_lone_text_is_a_string() -> None:
    """Which says the same."""
    assert items(Message.user("Hi")) == [native("user", "Hi")]


def test_speakers_have_no_names_here() -> None:
    """The name is dropped, and said to be."""
    asked = talk(Message.user("Hi", name="ann"))

    assert body(asked)["input"] == [native("user", "Hi")]
    assert codes(asked) == [("unsupported-parameter", "messages[0].name")]


def test_native_items_stand_alone() -> None:
    """An item among the parts of a message splits it."""
    part = ProviderPart("openai", APPROVAL)

    assert items(Message.user("A", part, "B")) == [
        native("user", "A"),
        APPROVAL,
        native("user", "B"),
    ]


# -- tools' results

RESULTS: dict[str, tuple[Any, bool, Any]] = {
    "text": ("Sunny.", False, "Sunny."),
    "json": ({"t": 20}, False, '{"t":20}'),
    "list": ([1, None], False, "[1,null]"),
    "nothing": ("", False, ""),
    "error": ("Broken.", True, "Error: Broken."),
    "error that says so": ("Error 5", True, "Error 5"),
    "parts": (
        [TextPart("A:"), ImagePart(data=PNG), TextPart("B")],
        False,
        [
            {"type": "input_text", "text": "A:"},
            {"type": "input_image", "detail": "auto", "image_url": PNG_URL},
            {"type": "input_text", "text": "B"},
        ],
    ),
    "parts of an error": (
        [TextPart("A")],
        True,
        [{"type": "input_text", "text": "Error:"}, {"type": "input_text", "text": "A"}],
    ),
}


@pytest.mark.parametrize("kind", ["function", "custom"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_tool_result_is_a_string_or_a_list(name: str, kind: Any) -> None:
    """A result is a string, or a list where it holds more than text; order stays."""
    content, is_error, output = RESULTS[name]
    arguments: Any = {} if kind == "function" else "x"
    call = Message.assistant(ToolCallPart("call_1", "f", arguments, kind=kind))

    lowered = items(call, Message.tool("call_1", content, is_error=is_error))

    words = "function_call_output" if kind == "function" else "custom_tool_call_output"
    assert lowered[-1] == {"type": words, "call_id": "call_1", "output": output}


def test_results_follow_their_calls() -> None:
    """Calls and results are items of the conversation, results in the order of the calls."""
    calls = Message.assistant("So:", ToolCallPart("a", "f", {"x": 1}), ToolCallPart("b", "g"))

    assert items(Message.user("Hi"), calls, Message.tool("b", "B"), Message.tool("a", "A")) == [
        native("user", "Hi"),
        native("assistant", "So:"),
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "A"},
        {"type": "function_call_output", "call_id": "b", "output": "B"},
    ]


def test_broken_arguments_go_back_as_they_came() -> None:
    """The model sees what it wrote."""
    lowered = items(Message.assistant(ToolCallPart("a", "f", '{"x":')), Message.tool("a", "?"))

    assert lowered[0]["arguments"] == '{"x":'


def test_a_missing_result_is_made_up() -> None:
    """The API refuses calls without outputs."""
    lowered = items(Message.assistant(ToolCallPart("a", "f")), Message.user("Hi"))

    assert [item["type"] for item in lowered] == [
        "function_call",
        "function_call_output",
        "message",
    ]
    assert lowered[1]["output"].startswith("Error:")


@pytest.mark.parametrize("call_id", ["x" * 65, "x" * 2000, "a|b", "é"])
def test_long_call_ids_are_shortened_in_calls_and_results(call_id: str) -> None:
    """Ids have at most 64 characters, and calls keep their results."""
    call, output = items(Message.assistant(ToolCallPart(call_id, "f")), Message.tool(call_id, "A"))

    assert call["call_id"] == output["call_id"]
    assert 0 < len(call["call_id"]) <= 64


# -- what the provider remembers

MEMORIES: dict[str, dict[str, Any]] = {
    "response": {"previous_response_id": "resp_0"},
    "conversation": {"conversation": "conv_1"},
}


@pytest.mark.parametrize("name", MEMORIES)
def test_results_may_answer_stored_calls(name: str) -> None:
    """Only what is new is given, so calls may be missing; their results stay."""
    asked = talk(
        Message("tool", (ToolResultPart("call_1", "A"),)),
        Message.user("And?"),
        provider_options={"openai": MEMORIES[name]},
    )

    assert body(asked)["input"] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "A"},
        native("user", "And?"),
    ]


def test_results_of_stored_built_in_calls_are_known_by_name() -> None:
    """An approval and a screenshot have forms that no function has."""
    results = (
        ToolResultPart("mcpr_1", True, name="mcp_approval"),
        ToolResultPart("call_2", [ImagePart(file_id="file-1")], name="computer"),
    )
    asked = talk(
        Message("tool", results), provider_options={"openai": {"previous_response_id": "r"}}
    )

    assert [item["type"] for item in body(asked)["input"]] == [
        "mcp_approval_response",
        "computer_call_output",
    ]


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", ANSWERS)
def test_no_id_is_sent_again_to_who_remembers(name: str, memory: str) -> None:
    """The provider refuses items it has; only ids that a call cannot do without go out."""
    asked = talk(
        Message.user("Hi"),
        said(*ANSWERS[name]),
        Message.user("And?"),
        provider_options={"openai": MEMORIES[memory]},
    )
    calls = ("computer_call", "local_shell_call", "mcp_approval_request")
    needed = (*calls, "local_shell_call_output")

    lowered = body(asked)["input"]

    assert not any("id" in item for item in lowered if item["type"] not in needed)
    assert not any(item["type"] == "reasoning" for item in lowered)


# -- stable prefixes


def _turns(names: list[str]) -> list[LLMRequest]:
    """Return the requests of a conversation whose responses are those of *names*."""
    history: list[Message] = []
    requests = []
    for name in names:
        history.append(Message.user("Hi"))
        requests.append(talk(*history))
        history.append(evolve(said(*ANSWERS[name]), origin=ORIGIN))
        calls = history[-1].tool_calls
        shot = [ImagePart(file_id="f")]
        history.extend(Message.tool(c.id, shot, name=c.name) for c in calls)
        if calls:
            requests.append(talk(*history))
    return requests


@given(st.lists(st.sampled_from(sorted(ANSWERS)), min_size=2, max_size=5))
def test_a_longer_conversation_begins_as_the_shorter_one(names: list[str]) -> None:
    """Prompt caches hold prefixes: turn n's request begins turn n + 1's."""
    assert_prefix_stable([body(asked) for asked in _turns(names)])


@given(requests())
def test_any_request_has_a_body_or_a_typed_error(asked: LLMRequest) -> None:
    """Any request, twice: JSON with the same bytes, or an error that names the fault."""
    asked = evolve(asked, model=Model("gpt-5.2", "openai"))
    first, second = (protocol.body.build(asked, True) for _ in range(2))

    if isinstance(first, Success):
        bodies: list[Any] = [one.unwrap().body for one in (first, second)]
        assert json.dumps(bodies[0]) == json.dumps(bodies[1])
    else:
        assert isinstance(first.failure(), InvalidRequestError | UnsupportedToolChoiceError)
        assert str(first.failure()) == str(second.failure())
