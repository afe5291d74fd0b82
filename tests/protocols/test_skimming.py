"""Whole responses read in a shorter way, where they are plain.

Without their content, their beginning and end are those of all events; those of one text alone have
the same events as by the state machine.
"""

import copy
import importlib
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.protocol import Protocol, protocol_by_id
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import Framing
from llmcore.schema.changed import changed
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent, StreamStart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest

_ANYTHING: Final = Message.user("?")
_REQUEST: Final = LLMRequest(model=Model("asked", "acme"), messages=(_ANYTHING,))
_ENDS: Final = (StreamStart, Finish)

CHAT: Final[dict[str, Any]] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4.1",
    "service_tier": "priority",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi",
                "reasoning_content": "Hm",
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": "a"}'},
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "gpt-5.2",
    "service_tier": "flex",
    "output": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm"}],
            "encrypted_content": "gA",
        },
        {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path": "a"}',
        },
    ],
    "usage": {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 30,
    },
}
MESSAGE: Final[dict[str, Any]] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "gA"},
        {"type": "text", "text": "Hi", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 3,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 5,
        "output_tokens": 6,
        "output_tokens_details": {"thinking_tokens": 2},
        "service_tier": "standard",
    },
}
GEMINI: Final[dict[str, Any]] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm", "thought": True},
                    {"text": "Hi", "thoughtSignature": "gA"},
                    {"functionCall": {"name": "read", "args": {"path": "a"}, "id": "c1"}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
            "avgLogprobs": -0.1,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 7,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 14,
    },
    "modelVersion": "gemini-3-flash",
    "responseId": "r1",
}
PLAIN: Final = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSE,
    "anthropic-messages": MESSAGE,
    "gemini": GEMINI,
}


CONVERSE: Final[dict[str, Any]] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8, "cacheReadInputTokens": 1},
    "metrics": {"latencyMs": 1},
    "serviceTier": {"type": "priority"},
}
ONLY_TEXT: Final[dict[str, dict[str, Any]]] = {
    "openai_chat": {
        **CHAT,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi", "refusal": None, "audio": None},
                "logprobs": None,
                "finish_reason": "stop",
                "stop_reason": None,
            }
        ],
    },
    "openai_responses": {
        **RESPONSE,
        "output": [{**RESPONSE["output"][1], "phase": "final_answer"}],
    },
    "anthropic_messages": {**MESSAGE, "content": [{"type": "text", "text": "Hi"}]},
    "gemini": {
        **GEMINI,
        "candidates": [
            {**GEMINI["candidates"][0], "content": {"role": "model", "parts": [{"text": "Hi"}]}}
        ],
    },
    "bedrock_converse": CONVERSE,
}
"""By the name of its package, a response of each protocol that is one text."""


def _protocol(protocol_id: str) -> Protocol[Any, Any, Any]:
    found = protocol_by_id(protocol_id)
    assert found is not None
    return found


def _skimmed(protocol_id: str, document: object) -> list[LLMEvent] | None:
    skim = _protocol(protocol_id).skim
    assert skim is not None
    found = skim(json.loads(json.dumps(document)), _REQUEST)
    return None if found is None else list(found)


def _decoder(protocol: Protocol[Any, Any, Any]) -> ResponseDecoder:
    return ResponseDecoder(protocol, Framing.sse(), _REQUEST)


def _check(protocol_id: str, document: object) -> None:
    """Assert that a skimmed answer has no error, and the ends that it has when it is read whole."""
    skimmed = _skimmed(protocol_id, document)
    if skimmed is None:
        return
    protocol = _protocol(protocol_id)
    body = json.dumps(document).encode()
    whole, skimming = _decoder(protocol), _decoder(changed(protocol, whole=lambda *_: skimmed))
    events, ends = whole.whole(body), skimming.whole(body)
    assert not any(isinstance(event, ErrorEvent) for event in events)
    assert [event for event in events if isinstance(event, _ENDS)] == ends
    assert ends[-1].raw == events[-1].raw  # type: ignore[union-attr]
    facts = [
        changed(one.partial, message=_ANYTHING, sources=(), diagnostics=())
        for one in (whole, skimming)
    ]
    assert facts[0] == facts[1]


@pytest.mark.parametrize("protocol_id", PLAIN)
def test_a_plain_response_is_skimmed(protocol_id: str) -> None:
    assert _skimmed(protocol_id, PLAIN[protocol_id]) is not None
    _check(protocol_id, PLAIN[protocol_id])


@pytest.mark.parametrize("arguments", ["stop", '{"path": "a', "[1]", "", '"{}"'])
@pytest.mark.parametrize(
    ("protocol_id", "path"),
    [
        ("openai-chat", ("choices", 0, "message", "tool_calls", 0, "function", "arguments")),
        ("openai-responses", ("output", 2, "arguments")),
    ],
)
def test_arguments_that_are_not_an_object_are_read_whole(
    protocol_id: str, path: tuple[Any, ...], arguments: str
) -> None:
    """Since their diagnostic is one of the end."""
    _check(protocol_id, _with(PLAIN[protocol_id], path, arguments))


_REMOVED: Final = object()


def _with(document: object, path: tuple[Any, ...], value: object) -> Any:
    """Return a copy of *document* with *value* at *path*, or nothing there."""
    made: Any = copy.deepcopy(document)
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    if value is _REMOVED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return made


@pytest.mark.parametrize(
    ("protocol_id", "path", "value"),
    [
        ("openai-chat", ("error",), {"message": "no"}),
        ("openai-chat", ("usage", "completion_tokens"), _REMOVED),
        ("openai-chat", ("usage", "completion_tokens_details"), {}),
        ("openai-chat", ("choices", 0, "message", "tool_calls", 0, "id"), ""),
        ("openai-chat", ("choices", 0, "message", "tool_calls", 0, "function", "name"), None),
        ("openai-chat", ("choices", 0, "message", "audio"), {"id": "a", "data": "UklGRg=="}),
        ("openai-responses", ("status",), "failed"),
        ("openai-responses", ("usage",), None),
        ("openai-responses", ("output", 2, "name"), ""),
        ("openai-responses", ("output", 1, "type"), "web_search_call"),
        ("anthropic-messages", ("type",), "error"),
        ("anthropic-messages", ("stop_reason",), "refusal"),
        ("anthropic-messages", ("content", 1, "type"), "web_search_tool_result"),
        ("anthropic-messages", ("usage", "output_tokens"), _REMOVED),
        ("gemini", ("promptFeedback",), {"blockReason": "SAFETY"}),
        ("gemini", ("candidates", 0, "content", "parts"), []),
        ("gemini", ("candidates", 0, "groundingMetadata"), {}),
        ("gemini", ("usageMetadata",), _REMOVED),
    ],
)
def test_what_could_mean_more_is_read_whole(protocol_id: str, path: Any, value: object) -> None:
    assert _skimmed(protocol_id, _with(PLAIN[protocol_id], path, value)) is None


def _paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every path in *value*, also of one member more in each object."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
        yield (*path, "new")
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))


_FIELDS: Final = ("error", "type", "object", "message", "delta", "text", "id", "status", "detail")
_CONTENTS: Final = ("refusal", "citations", "annotations", "function_call", "images", "logprobs")
_NAMES: Final = st.sampled_from((*_FIELDS, *_CONTENTS, "signature", "fallback"))
_SCALARS: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from(["", "stop", "error", "tool_use", "message", "text", "output_text", "length"]),
    st.sampled_from(["STOP", "failed", "incomplete", "[" * 200, '{"a": 1e999}', "{}", 1e300]),
)
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(_NAMES, inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("protocol_id", PLAIN)
@given(data=st.data())
def test_a_skimmed_response_ends_as_one_that_is_read_whole(
    protocol_id: str, data: st.DataObject
) -> None:
    document: Any = PLAIN[protocol_id]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(_paths(document))))
        if path[-1] == "new":
            path = (*path[:-1], data.draw(_NAMES))
        document = _with(document, path, data.draw(_VALUES))
    _check(protocol_id, document)


def _read(package: str, document: object) -> tuple[list[LLMEvent], str]:
    """Return the events of a response of the API of *package*, and what they make."""
    decoder = _decoder(_protocol(package.replace("_", "-")))
    events = decoder.whole(json.dumps(document).encode())
    return events, repr((decoder.accumulator.response(), decoder.partial))


def _check_text(package: str, document: object) -> None:
    """Assert that a response has the same events where the reader of plain texts is left out."""
    events, response = _read(package, document)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"llmcore.protocols.{package}.finish.only_text", lambda *_: None)
        expected, made = _read(package, document)
    assert list(map(repr, events)) == list(map(repr, expected))
    assert events[-1] == expected[-1] or isinstance(events[-1], ErrorEvent)
    assert response == made


def _texts_read(package: str, document: object, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a response is read without the state machine."""
    finish = importlib.import_module(f"llmcore.protocols.{package}.finish")
    original, found = finish.only_text, []

    def only_text(*given: Any) -> object:
        found.append(original(*given))
        return found[-1]

    monkeypatch.setattr(finish, "only_text", only_text)
    _read(package, document)
    return found[-1] is not None


@pytest.mark.parametrize("package", ONLY_TEXT)
def test_a_response_of_one_text_is_read_without_the_state_machine(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _texts_read(package, ONLY_TEXT[package], monkeypatch)
    _check_text(package, ONLY_TEXT[package])


@pytest.mark.parametrize(
    ("package", "path", "value"),
    [
        ("openai_chat", ("choices", 0, "message", "reasoning_content"), "Hm"),
        ("openai_chat", ("choices", 0, "message", "tool_calls"), [{"id": "c"}]),
        ("openai_chat", ("choices", 0, "logprobs"), {"content": [{"token": "a", "logprob": 0}]}),
        ("openai_chat", ("choices", 0, "logprobs"), 0),
        ("openai_chat", ("choices", 0, "messages"), [{"role": "assistant", "content": "Ho"}]),
        ("openai_chat", ("choices", 0, "message", "content"), ""),
        ("openai_chat", ("choices", 0, "message", "content"), "\ud800"),
        ("openai_chat", ("x_groq",), {"error": "over"}),
        ("openai_chat", ("citations",), ["https://a.example"]),
        ("openai_responses", ("output", 0, "phase"), True),
        ("openai_responses", ("output", 0, "agent"), {"agent_name": "/root"}),
        ("openai_responses", ("output", 0, "content", 0, "annotations"), [{"type": "?"}]),
        ("openai_responses", ("output", 0, "id"), None),
        ("openai_responses", ("output", 0, "id"), True),
        ("openai_responses", ("status",), "in_progress"),
        ("anthropic_messages", ("content", 0, "citations"), [{"cited_text": "a"}]),
        ("anthropic_messages", ("content", 0, "text"), "\udc00!"),
        ("anthropic_messages", ("stop_reason",), "refusal"),
        ("anthropic_messages", ("container",), {"id": "c"}),
        ("gemini", ("candidates", 0, "content", "parts", 0, "thought"), True),
        ("gemini", ("candidates", 0, "groundingMetadata"), {"webSearchQueries": ["a"]}),
        ("gemini", ("usageMetadata",), None),
        ("bedrock_converse", ("output", "message", "content", 0, "citation"), {"title": "a"}),
        ("bedrock_converse", ("usage",), None),
    ],
)
def test_a_response_of_more_than_one_text_is_read_by_the_state_machine(
    package: str, path: Any, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _with(ONLY_TEXT[package], path, value)
    assert not _texts_read(package, document, monkeypatch)
    _check_text(package, document)


@pytest.mark.parametrize("package", ONLY_TEXT)
@given(data=st.data())
def test_a_response_of_one_text_has_the_events_of_the_state_machine(
    package: str, data: st.DataObject
) -> None:
    document: Any = ONLY_TEXT[package]
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(_paths(document))))
        if path[-1] == "new":
            path = (*path[:-1], data.draw(_NAMES))
        document = _with(document, path, data.draw(_VALUES))
    _check_text(package, document)
