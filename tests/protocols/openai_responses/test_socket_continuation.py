"""Requests over a socket whose server remembers the last response."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import Message, ToolChoice, ToolDefinition, evolve, request
from llmcore.protocols.openai_responses.continuation import (
    RemoteHistory,
    SocketRequest,
    comparable_item,
    error_code,
    fingerprints,
    terminal_event,
)
from llmcore.schema.content import ToolCallPart
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from tests.support.wire.responses import (
    ANSWERS,
    Native,
    body,
    document,
    function_call,
    message,
    reasoning,
    said,
)

MODEL = Model("gpt-5.2", "openai")
ASKED = request(model=MODEL, system="Be brief.", prompt="Hello")


def turn(asked: LLMRequest) -> SocketRequest:
    """Return a request as it may go over a socket."""
    return SocketRequest.of(body(asked, stream=True))


def completed(*output: Native, **fields: Any) -> Native:
    """Return the event that ends a response well."""
    return {"type": "response.completed", "response": document(output, **fields)}


def memory(asked: LLMRequest, *output: Native) -> RemoteHistory:
    """Return what the server remembers once *asked* was answered with *output*."""
    kept = turn(asked).history_after(completed(*output))
    assert kept is not None
    return kept


def after(asked: LLMRequest, answer: Message, *messages: Message) -> LLMRequest:
    """Return *asked*, its response, and the next message."""
    return evolve(asked, messages=(*asked.messages, answer, *messages))


def results(answer: Message) -> list[Message]:
    """Return a result of each call in *answer* that is ours to run."""
    calls = [part for part in answer.content if isinstance(part, ToolCallPart)]
    return [Message.tool(call.id, "Fine.") for call in calls if not call.provider_executed]


# -- messages


def test_socket_message_is_the_body_without_transport_fields() -> None:
    """The fields lie flat beside the type; `stream` and `background` have no meaning there."""
    native = body(ASKED, stream=True)

    assert json.loads(SocketRequest.of({**native, "background": False}).complete()) == {
        "type": "response.create",
        **{name: value for name, value in native.items() if name != "stream"},
    }


def test_a_continuation_brings_only_what_is_new() -> None:
    """Instructions, tools and all else are said again; the input is not."""
    kept = memory(ASKED, message("Hi."))
    later = turn(after(ASKED, said(message("Hi.")), Message.user("Go on.")))

    assert later.continues(kept)
    assert json.loads(later.continuation(kept)) == {
        **json.loads(later.complete()),
        "previous_response_id": "resp_1",
        "input": [{"type": "message", "role": "user", "content": "Go on."}],
    }


REPLAYED = {name: items for name, items in ANSWERS.items() if name != "own computer"}
"""The result of a computer call is a picture; that of the others may be a word."""


@pytest.mark.parametrize("output", REPLAYED.values(), ids=list(REPLAYED))
def test_every_response_is_recognised_as_it_goes_back(output: list[Native]) -> None:
    """Fields in which a received item and the same item sent back differ do not count."""
    answer = said(*output)
    new = [*results(answer), Message.user("Go on.")]
    kept, later = memory(ASKED, *output), turn(after(ASKED, answer, *new))

    assert later.continues(kept)
    assert len(json.loads(later.continuation(kept))["input"]) == len(new)


CALL = [reasoning("Hm."), function_call()]
ANSWER = said(*CALL)
NEXT = after(ASKED, ANSWER, *results(ANSWER))

EDITS: dict[str, LLMRequest] = {
    "the question": evolve(NEXT, messages=(Message.user("Hallo"), *NEXT.messages[1:])),
    "the response's text": after(ASKED, said(message("Hi!")), Message.user("Go on.")),
    "the arguments": after(ASKED, said(CALL[0], function_call('{"city":"B"}')), *results(ANSWER)),
    "reasoning left out": after(
        ASKED, evolve(ANSWER, content=ANSWER.content[1:]), *results(ANSWER)
    ),
    "the answer left out": evolve(ASKED, messages=(*ASKED.messages, Message.user("Go on."))),
    "nothing new": evolve(NEXT, messages=ASKED.messages),
    "another model": evolve(NEXT, model=Model("gpt-5.2-mini", "openai")),
    "a response the caller names": evolve(
        NEXT, provider_options={"openai": {"previous_response_id": "resp_0"}}
    ),
}


@pytest.mark.parametrize("edited", EDITS.values(), ids=list(EDITS))
def test_an_edited_history_is_not_a_continuation(edited: LLMRequest) -> None:
    """The server would go on from something else than the caller means."""
    assert turn(NEXT).continues(memory(ASKED, *CALL))
    assert not turn(edited).continues(memory(ASKED, *CALL))


LOOK = ToolDefinition("look", "Look.", {"type": "object"})

CHANGES: dict[str, LLMRequest] = {
    "the instructions": evolve(NEXT, system=()),
    "the tools": evolve(NEXT, tools=[LOOK]),
    "the tool choice": evolve(NEXT, tools=[LOOK], tool_choice=ToolChoice.none()),
    "the limits": evolve(NEXT, generation=evolve(NEXT.generation, max_tokens=9)),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=list(CHANGES))
def test_changed_parameters_do_not_prevent_continuation(changed: LLMRequest) -> None:
    """A response is continued with the parameters of the new request, and none of its own."""
    kept = memory(ASKED, *CALL)

    assert turn(changed).continues(kept)
    assert len(json.loads(turn(changed).continuation(kept))["input"]) == 1


def test_arguments_spelled_differently_do_not_prevent_continuation() -> None:
    """Arguments go back parsed and written anew, without the blanks of the model."""
    call = function_call('{ "city" : "A" }')

    assert comparable_item(call) == comparable_item(function_call('{"city":"A"}'))


# -- what the server remembers

FORGOTTEN: dict[str, Native] = {
    "cut by the limit": {"type": "response.incomplete", "response": document([message("Hi.")])},
    "failed": {"type": "response.failed", "response": document([], "failed")},
    "an error": {"type": "error", "error": {"code": "server_error"}},
    "no id": completed(message("Hi."), id=None),
    "no output": completed(),
    "no response": {"type": "response.completed"},
}


@pytest.mark.parametrize("event", FORGOTTEN.values(), ids=list(FORGOTTEN))
def test_only_a_response_that_ended_well_is_continued(event: Native) -> None:
    """A failed turn is evicted; of a response without its output we would not know the end."""
    assert turn(ASKED).history_after(event) is None


def test_a_warm_up_is_remembered_without_output() -> None:
    """With `generate: false` the response has no output."""
    warm = turn(evolve(ASKED, provider_options={"openai": {"generate": False}}))
    kept = warm.history_after(completed())
    later = turn(evolve(ASKED, messages=(*ASKED.messages, Message.user("Now."))))

    assert kept is not None
    assert later.continues(kept)


def test_a_turn_on_stored_memory_is_not_remembered() -> None:
    """Its messages are not all there is."""
    stored = evolve(ASKED, provider_options={"openai": {"conversation": "conv_1"}})

    assert turn(stored).history_after(completed(message("Hi."))) is None


@given(st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, max_size=6), st.integers(0, 5))
def test_request_is_continued_only_if_it_begins_with_the_history(
    texts: list[str], change: int
) -> None:
    """Any other text anywhere in the history is noticed."""
    asked = evolve(ASKED, messages=[Message.user(text) for text in texts])
    kept = memory(asked, message("Hi."))
    later = after(asked, said(message("Hi.")), Message.user("Go on."))
    at = change % len(texts)
    edited = list(later.messages)
    edited[at] = Message.user(texts[at] + "!")

    assert turn(later).continues(kept)
    assert not turn(evolve(later, messages=edited)).continues(kept)


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_items_of_any_shape_have_a_fingerprint(value: Any) -> None:
    """The content of items is not validated here."""
    for kind in ("message", "function_call", "reasoning", None):
        item = {"type": kind, "role": "assistant", "content": value, "arguments": value}

        assert fingerprints([item]) == fingerprints([dict(reversed(item.items()))])


# -- messages of the server

ENDINGS: dict[bytes, tuple[bool, str | None]] = {
    b'{"type":"response.completed","response":{}}': (True, None),
    b'{ "response": {}, "type" : "response.failed" }': (True, None),
    b'{"type":"response.incomplete"}': (True, None),
    b'{"type":"error","error":{"code":"c"}}': (True, "c"),
    b'{"type":"error","code":"c"}': (True, "c"),
    b'{"type":"error"}': (True, None),
    b'{"type":"response.created"}': (False, None),
    b'{"type":"response.output_text.delta","delta":"response.completed"}': (False, None),
    b'["response.completed"]': (False, None),
    b'{"type":["response.completed"]}': (False, None),
    b"response.completed {": (False, None),
    b"": (False, None),
}


@pytest.mark.parametrize(("text", "expected"), ENDINGS.items(), ids=lambda value: str(value)[:40])
def test_the_end_of_a_response_is_reported(text: bytes, expected: tuple[bool, str | None]) -> None:
    """By its type, wherever that stands; what is not JSON ends nothing."""
    event = terminal_event(text)

    assert (event is not None, error_code(event)) == expected
