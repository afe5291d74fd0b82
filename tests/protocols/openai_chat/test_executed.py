"""Calls of tools that the server ran itself."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.events import ProviderEvent
from tests.support.wire.chat import USAGE, call, chunk, completion, streamed, whole
from tests.support.wire.protocol import response

# -- Groq

SEARCH: dict[str, Any] = {
    "index": 0,
    "type": "search",
    "arguments": '{"query": "x"}',
    "output": "Found.",
    "search_results": {"results": [{"url": "https://a.example", "title": "A"}]},
}


def test_server_run_tools_are_calls_with_results() -> None:
    """Groq's systems search by themselves: call, result and pages come out, and no call to run."""
    begun = {name: SEARCH[name] for name in ("index", "type", "arguments")}
    chunks = [
        chunk({"executed_tools": [begun]}),
        chunk({"executed_tools": [SEARCH]}),
        chunk({"content": "Done."}, "stop"),
    ]

    answer = response(streamed(chunks))

    called, result, said = answer.message.content
    assert called == ToolCallPart("executed_0", "search", {"query": "x"}, provider_executed=True)
    assert isinstance(result, ToolResultPart)
    assert (result.content, result.provider_executed) == ("Found.", True)
    assert said == TextPart("Done.")
    assert answer.tool_calls == ()
    assert answer.finish_reason.reason == "stop"
    assert [source.url for source in answer.sources] == ["https://a.example"]


def test_pages_that_a_server_visited_are_sources() -> None:
    """Those of Groq's browser."""
    visited = [{"url": "https://b.example", "title": "B", "content": "Words."}]
    tool = {**SEARCH, "type": "browser_automation", "browser_results": visited}

    answer = response(whole(completion({"content": "Done.", "executed_tools": [tool]})))

    assert [(source.url, source.title) for source in answer.sources] == [
        ("https://a.example", "A"),
        ("https://b.example", "B"),
    ]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({"code_results": [{"text": "2", "png": "iVBO"}]}, True),
        ({"browser_results": [{"title": "B", "content": "Words."}]}, True),
        ({"search_results": {"images": ["https://a.example/a.png"]}}, True),
        ({"search_results": {"results": [], "images": []}, "code_results": []}, False),
        ({"output": "Found.", "code_results": [{"text": "2"}]}, False),
    ],
)
def test_what_a_tool_made_is_kept_without_an_output(found: dict[str, Any], kept: bool) -> None:
    """A tool's result has it, if the tool has an output."""
    tool = {"index": 0, "type": "python", "arguments": "{}", **found}

    events = streamed([chunk({"executed_tools": [tool]}), chunk({"content": "Done."}, "stop")])

    native = [event.data for event in events if isinstance(event, ProviderEvent)]
    assert native == ([{"executed_tool": tool}] if kept else [])


def test_arguments_of_server_run_tools_may_be_anything() -> None:
    """Text that is not JSON stays text."""
    tools = [{"type": "python", "arguments": "print(1)"}, {"name": "x"}]

    parts = response(whole(completion({"content": "a", "executed_tools": tools}))).message.content

    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [(c.name, c.arguments) for c in calls] == [("python", "print(1)"), ("x", {})]


# -- Mistral: a response of several messages


def _call(id_: str, name: str, arguments: str = '{"q": 1}') -> dict[str, Any]:
    return call(0, id=id_, type="function", name=name, arguments=arguments)


CALLS = {"role": "assistant", "content": "", "tool_calls": [_call("a1", "web_search")]}
FOUND = {"role": "tool", "tool_call_id": "a1", "content": "Found."}
SAID = {"role": "assistant", "content": "Done."}
RAN = (
    ToolCallPart("a1", "web_search", {"q": 1}, provider_executed=True),
    ToolResultPart("a1", "Found.", name="web_search", provider_executed=True),
)

MESSAGES: dict[str, tuple[list[dict[str, Any]], tuple[Any, ...], str]] = {
    "a call and its result": ([CALLS, FOUND, SAID], (*RAN, TextPart("Done.")), "stop"),
    "text around it": (
        [{**CALLS, "content": "Wait."}, FOUND, SAID],
        (TextPart("Wait."), *RAN, TextPart("Done.")),
        "stop",
    ),
    "a result at the end": ([CALLS, FOUND], RAN, "stop"),
    "a call for the caller": (
        [CALLS, FOUND, {"role": "assistant", "tool_calls": [_call("b2", "mine")]}],
        (*RAN, ToolCallPart("b2", "mine", {"q": 1})),
        "tool_calls",
    ),
    "two calls, one with a result": (
        [
            {"role": "assistant", "tool_calls": [_call("b2", "mine"), _call("a1", "web_search")]},
            FOUND,
        ],
        (*RAN, ToolCallPart("b2", "mine", {"q": 1})),
        "tool_calls",
    ),
    "two calls with results": (
        [
            {
                "role": "assistant",
                "tool_calls": [_call("a1", "web_search"), _call("c3", "run", "")],
            },
            FOUND,
            {"role": "tool", "tool_call_id": "c3", "content": [{"type": "image_url"}]},
            SAID,
        ],
        (
            *RAN,
            ToolCallPart("c3", "run", {}, provider_executed=True),
            ToolResultPart("c3", [{"type": "image_url"}], name="run", provider_executed=True),
            TextPart("Done."),
        ),
        "stop",
    ),
    "one message": ([SAID], (TextPart("Done."),), "stop"),
}


def _split(number: int, message: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Return a message as deltas, its text in pieces of *size* characters."""
    text = message.get("content")
    fields = {name: value for name, value in message.items() if name != "content"}
    if not isinstance(text, str):
        return [{**message, "index": number}]
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [""]
    more = [{"content": piece, "index": number} for piece in pieces[1:]]
    return [{**fields, "content": pieces[0], "index": number}, *more]


@pytest.mark.parametrize("size", [2, 100])
@pytest.mark.parametrize(("messages", "parts", "reason"), MESSAGES.values(), ids=MESSAGES.keys())
def test_a_call_with_a_result_among_the_messages_was_run_by_the_server(
    messages: list[dict[str, Any]], parts: tuple[Any, ...], reason: str, size: int
) -> None:
    """Streamed or whole; one without a result is the caller's to run."""
    deltas = [delta for n, one in enumerate(messages) for delta in _split(n, one, size)]
    choice = {"index": 0, "messages": messages, "finish_reason": "stop"}

    by_stream = response(streamed([*map(chunk, deltas), chunk({}, "stop", usage=USAGE)]))
    at_once = response(whole({**completion({}), "choices": [choice], "usage": USAGE}))

    for made in (by_stream, at_once):
        assert made.message.content == parts
        assert (made.finish_reason.reason, made.finish_reason.raw) == (reason, "stop")
        assert made.provider_metadata == {}


def test_a_result_of_an_unknown_call_is_passed_on() -> None:
    """It is not the model's text."""
    events = streamed([chunk(FOUND), chunk(SAID), chunk({}, "stop")])

    assert response(events).message.content == (TextPart("Done."),)
    assert ProviderEvent("openai", {"message": FOUND}) in events


def test_other_fields_of_a_result_are_passed_on() -> None:
    """Such as the metadata of the tool."""
    deltas = [{**CALLS, "index": 0}, {**FOUND, "index": 1, "metadata": {"a": 1}}]
    events = streamed([*map(chunk, deltas), chunk({}, "stop")])

    assert ProviderEvent("openai", {"delta": {"metadata": {"a": 1}}}) in events


_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 2),
        "role": st.sampled_from(["assistant", "tool", None]),
        "tool_call_id": st.sampled_from(["a", "b", None, 1]),
        "content": st.sampled_from(["x", "", None, [{"type": "text", "text": "y"}], 3]),
        "tool_calls": st.lists(st.builds(_call, st.sampled_from("ab"), st.just("f")), max_size=2),
    },
)


@given(st.lists(_MESSAGE, max_size=6))
@example(
    [
        {"index": 0, "tool_calls": [_call("a", "f")]},
        {"role": "tool", "tool_call_id": "a", "tool_calls": [_call("a", "f")]},
    ]
)
@example(
    [
        {"tool_calls": [_call("a", "f")]},
        {"role": "tool", "tool_call_id": "a", "tool_calls": [_call("a", "f")]},
    ]
)
@example(
    [
        {"role": "tool", "tool_call_id": "a", "tool_calls": [_call("a", "f")]},
        {"index": 0, "tool_calls": [_call("a", "f")]},
    ]
)
def test_any_order_of_messages_is_read(deltas: list[dict[str, Any]]) -> None:
    """Every call is emitted, and the events obey the grammar."""
    made = response(streamed([*map(chunk, deltas), chunk({}, "stop")]))

    given_ids = {c["id"] for delta in deltas for c in delta.get("tool_calls", ())}
    read = {part.id for part in made.message.content if isinstance(part, ToolCallPart)}
    assert given_ids <= read
