"""Laws of every response, however it is cut, and for all nonsense that a server can send."""

import json
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.segments import complete_segments
from llmcore.protocols.anthropic_messages import contract, protocol, stream
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ErrorEvent, LLMEvent, ProviderEvent, ToolCall
from llmcore.schema.json import dumps
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Success
from tests.support.strategies.requests import requests
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.anthropic import (
    ASKED,
    message,
    sse,
    stream_of,
    streamed,
    text,
    thinking,
    tool_use,
    whole,
)
from tests.support.wire.protocol import error, response

# -- responses, streamed and whole


@cache
def citations() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Draw citations of a page."""
    one = texts().map(
        lambda cited: {
            "type": "web_search_result_location",
            "cited_text": cited,
            "encrypted_index": "e",
            "title": None,
            "url": "https://a.example/",
        }
    )
    return st.lists(one, max_size=2)


@cache
@st.composite
def blocks(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """Draw a content block of any kind."""
    id_ = f"id_{number}"
    match draw(st.sampled_from(["text", "cited", "thinking", "redacted", "tool", "server", "new"])):
        case "text":
            return text(draw(texts()))
        case "cited":
            return text(draw(texts()), citations=draw(citations()))
        case "thinking":
            return thinking(draw(texts()), draw(texts()))
        case "redacted":
            return {"type": "redacted_thinking", "data": draw(texts(1))}
        case "tool":
            return tool_use(f"tool_{number}", draw(json_objects()), id=id_)
        case "server":
            return {
                **tool_use("web_search", draw(json_objects()), id=id_),
                "type": "server_tool_use",
            }
        case _:
            return {**draw(json_objects()), "type": "block_of_2031"}


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a whole response."""
    count = draw(st.integers(0, 4))
    content = [draw(blocks(number)) for number in range(count)]
    reason = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"]))
    found: dict[str, Any] = message(*content, stop=reason)
    return found


@given(answers(), st.integers(1, 9))
def test_a_stream_and_a_whole_body_are_one_response(document: dict[str, Any], size: int) -> None:
    """The same response gives the same response, streamed or not."""
    assert response(streamed(stream_of(document, size))) == response(whole(document))


@given(answers())
def test_a_response_can_be_sent_back(document: dict[str, Any]) -> None:
    """A response can be part of the next request, twice with the same bytes."""
    said = response(whole(document)).message
    asked = evolve(ASKED, messages=(*ASKED.messages, said, *ASKED.messages))

    bodies: list[Any] = [protocol.body.build(asked, False).unwrap().body for _ in range(2)]

    assert dumps(bodies[0]) == dumps(bodies[1])


SAMPLE = message(
    thinking("Let me think… 🤔", "c2ln"),
    text("Grüße, 世界!\u2028"),
    tool_use("look", {"at": ["☀", 1.5, None]}),
    stop="tool_use",
)
BYTES = sse(stream_of(SAMPLE, size=3))
EVENTS = streamed(BYTES)


@given(st.lists(st.integers(0, len(BYTES)), max_size=40))
def test_any_chunking_gives_the_same_events(places: list[int]) -> None:
    """Where the network cuts the body never shows."""
    edges = [0, *sorted(places), len(BYTES)]

    assert streamed(BYTES, cut=[BYTES[a:b] for a, b in pairwise(edges)]) == EVENTS


def test_body_in_single_bytes_gives_the_same_response() -> None:
    """A body that comes in single bytes is the same."""
    assert streamed(BYTES, cut=[BYTES[n : n + 1] for n in range(len(BYTES))]) == EVENTS


END_OF_DELTA = BYTES.rindex(b"}", 0, BYTES.rindex(b"event: message_stop"))
"""The last byte of the event with the stop reason; gateways leave out what follows."""


@given(st.integers(0, END_OF_DELTA))
@example(END_OF_DELTA)
def test_any_cut_is_an_error(place: int) -> None:
    """A stream that stops before its stop reason is an error, and its calls are incomplete."""
    events = streamed(BYTES[:place])

    found = error(events)
    assert found.partial is not None
    begun = BYTES[:place].rfind(b"content_block_start")
    if BYTES.find(b"content_block_stop", begun) >= place:
        assert not any(isinstance(event, ToolCall) for event in events)


@given(st.data())
def test_noise_between_events_is_ignored(data: st.DataObject) -> None:
    """Comments, pings, ids and empty data anywhere leave the response as it is."""
    noise = [
        b": ping\n\n",
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b"retry: 3000\n\n",
        b"id: 7\n\n",
        b"data:\n\n",
        b"event: ping\ndata: \n\n",
    ]
    body = b""
    for event in stream_of(SAMPLE, size=3):
        body += b"".join(data.draw(st.lists(st.sampled_from(noise), max_size=2))) + sse([event])

    assert streamed(body) == EVENTS


@given(st.data(), json_objects())
def test_unknown_events_are_passed_on_and_change_nothing(data: st.DataObject, fields: Any) -> None:
    """Events of a later API change nothing and are passed on."""
    events = stream_of(SAMPLE, size=9)
    news = {**fields, "type": "event_of_2031"}
    news.pop("error", None)
    place = data.draw(st.integers(0, len(events) - 1))

    got = streamed([*events[:place], news, *events[place:]])

    assert response(got) == response(EVENTS)
    assert [e.data for e in got if isinstance(e, ProviderEvent)] == [news]


# -- any mess


def parsed_events() -> st.SearchStrategy[Any]:
    """Good events, good ones with a field made odd, and any JSON."""
    good = st.sampled_from(stream_of(SAMPLE, size=9))
    odd = st.tuples(
        good, st.sampled_from(["type", "index", "delta", "content_block", "message", "usage"]),
        json_values(),
    ).map(lambda t: {**t[0], t[1]: t[2]})  # fmt: skip
    return good | odd | json_objects()


@given(st.lists(parsed_events(), max_size=12))
def test_events_of_any_content_obey_the_grammar(events: list[Any]) -> None:
    """Whatever comes, the events obey the grammar and end with one terminal event."""
    state = stream.initial(ASKED)
    bare: list[LLMEvent] = []
    for event in events:
        state, emitted = stream.step(state, event)
        bare.extend(emitted)
        if any(isinstance(one, ErrorEvent) for one in emitted):
            break
    else:
        bare.extend(stream.halt(state))

    done = complete_segments(bare)
    first_error = next((n for n, e in enumerate(done) if isinstance(e, ErrorEvent)), len(done))
    assert not violations(done[: first_error + 1])


@given(st.binary(max_size=200))
def test_frames_of_any_bytes_become_events_or_an_error(body: bytes) -> None:
    """Garbage is an error event."""
    assert isinstance(streamed(body)[-1], ErrorEvent)
    assert isinstance(whole(body)[-1], ErrorEvent)


@given(json_values())
def test_document_of_any_json_is_a_response_or_an_error(document: Any) -> None:
    """Any JSON is a response or an error."""
    whole(document)
    with suppress(TypeError):
        whole(message(*document))


@given(st.lists(parsed_events(), max_size=8))
def test_a_step_is_pure(events: list[Any]) -> None:
    """The same state steps to the same next state, and neither it nor the event changes."""
    state = stream.initial(ASKED)
    for event in events:
        before, given_event = repr(state), json.dumps(event)
        first, second = stream.step(state, event), stream.step(state, event)
        assert repr(first) == repr(second)
        assert (repr(state), json.dumps(event)) == (before, given_event)
        state = first[0]


# -- any request

MODELS = ["claude-sonnet-4-5", "claude-opus-4-8", "claude-sonnet-5-5", "claude-3-haiku", "other"]


@given(requests(), st.sampled_from(MODELS))
def test_any_request_gives_a_legal_body_or_an_error(asked: LLMRequest, model: str) -> None:
    """Bodies keep the API's rules: sides take turns, calls have results, types round-trip."""
    asked = evolve(asked, model=Model(model, "anthropic"))

    result = protocol.body.build(asked, False)

    stream.initial(asked)
    if not isinstance(result, Success):
        assert isinstance(result.failure(), LLMError)
        return
    sent: Any = result.unwrap().body
    assert dumps(sent)
    assert contract.write(contract.read_request(sent, tolerant=True)) == sent
    roles = [said["role"] for said in sent["messages"]]
    assert all(one != other for one, other in pairwise(roles))
    _check_pairs(sent["messages"])


def _check_pairs(messages: list[Any]) -> None:
    """Check that each call is answered first thing in the next turn, in order."""
    for said, after in pairwise([*messages, {"content": []}]):
        asked = [block["id"] for block in said["content"] if block.get("type") == "tool_use"]
        answers = after["content"][: len(asked)]
        assert [block.get("tool_use_id") for block in answers] == asked


@pytest.mark.parametrize("model", MODELS)
def test_empty_conversation_gives_a_body(model: str) -> None:
    """Even nothing gives a body; the API will say what it thinks of it."""
    asked = LLMRequest(model=Model(model, "anthropic"), messages=())

    assert protocol.body.build(asked, False).unwrap().body["messages"] == []
