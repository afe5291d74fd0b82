"""Laws: any stream of events makes a legal Responses stream of the same content."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.fronts.openai_responses.state import StoredConversation, required_references
from llmcore.protocols import openai_responses
from llmcore.protocols.openai_responses.names import CALL_IDS
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema import json
from llmcore.schema.content import (
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import LLMError
from llmcore.schema.events import Finish, LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import request
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.schema.usage import Usage
from tests.fronts.openai_responses.responses_kit import (
    ENCRYPTED,
    Folded,
    asked,
    continued,
    echo,
    folded,
    translated,
)
from tests.support.events import call, stream, text, thought
from tests.support.strategies.examples import costly
from tests.support.strategies.values import network_streams as streams


def decoded(made: Folded) -> LLMResponse | LLMError:
    """Return what our own protocol reads out of the stream."""
    events = decode_response(
        openai_responses.protocol,
        Framing.sse(),
        request(model=Model("test-model", "openai"), prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream"},
        chunks=[made.body],
        streaming=True,
    )
    result = collect(events)
    read: LLMResponse | LLMError = (
        result.unwrap() if isinstance(result, Success) else result.failure()
    )
    return read


def said(message: Message, kind: type[Any]) -> str:
    """Return the text of all parts of a kind."""
    return "".join(part.text for part in message.content if isinstance(part, kind))


def calls(message: Message) -> list[tuple[str, Any]]:
    """Return the calls that the client is to run, without blank arguments."""
    return [(part.name, part.arguments) for part in message.tool_calls]


@costly
@given(streams(may_fail=False))
def test_any_response_makes_a_legal_stream_that_says_the_same(events: list[LLMEvent]) -> None:
    """Grammar and official types hold, and our own protocol reads back what was said."""
    made = folded(events)
    before = collect(events).unwrap()
    after = decoded(made)

    if before.finish_reason.reason == "error":
        assert isinstance(after, LLMError)
        return
    assert isinstance(after, LLMResponse)
    for kind in (TextPart, RefusalPart, ReasoningPart):
        assert said(after.message, kind) == said(before.message, kind)
    assert calls(after.message) == calls(before.message)
    if before.usage != Usage() and after.usage != Usage():
        assert (after.usage.input_tokens or 0) >= (before.usage.input_tokens or 0)
        assert after.usage.output_tokens == (before.usage.output_tokens or 0)
    if before.finish_reason.reason == "length":
        assert after.finish_reason.reason == "length"


@costly
@given(streams())
def test_any_stream_ends_with_one_terminal_event(events: list[LLMEvent]) -> None:
    """Also one that fails on the way."""
    made = folded(events, strict=False)

    assert made.types[-1] in {"completed", "incomplete", "failed"}
    assert (made.fold.error is not None) == (made.types[-1] == "failed")


@costly
@given(streams())
def test_a_stream_may_stop_anywhere(events: list[LLMEvent]) -> None:
    """Wherever the upstream dies, the client hears of the end."""
    for cut in range(len(events)):
        made = folded(events[:cut], strict=False)

        assert made.types[-1] == "failed"


@costly
@given(streams(may_fail=False))
def test_the_conversation_keeps_the_whole_response(events: list[LLMEvent]) -> None:
    """The stored message equals the fold of the events, except for empty texts."""
    made = folded(events, strict=False)
    whole = collect(events).unwrap().message
    kept = made.conversation.messages[1:]

    expected = [part for part in map(_kept, whole.content) if part is not None]
    got = [part for message in kept for part in message.content]
    assert [_kept(part) for part in got] == expected


def _kept(part: Any) -> Any:
    """Return a part without what the gateway leaves out on purpose."""
    if isinstance(part, TextPart | RefusalPart) and not (part.text or part.provider_metadata):
        return None
    if isinstance(part, TextPart):
        return evolve(part, logprobs=())
    if isinstance(part, ToolCallPart):
        return evolve(part, id=CALL_IDS.fit(part.id))
    if isinstance(part, ToolResultPart):
        return evolve(part, tool_call_id=CALL_IDS.fit(part.tool_call_id))
    return part


@costly
@given(streams(may_fail=False))
def test_a_conversation_survives_the_store(events: list[LLMEvent]) -> None:
    """As JSON it is the same, also as bytes."""
    kept = folded(events, strict=False).conversation
    data = json.loads(json.dumps(kept.to_json()))

    assert StoredConversation.from_json(data) == kept


GROUNDED: Final[Any] = {
    "google": {"groundingMetadata": {"webSearchQueries": ["weather oslo", "oslo rain"]}}
}
"""The metadata in which Gemini states its own search."""


def _grounded(events: list[LLMEvent], *, searched: bool) -> list[LLMEvent]:
    return [
        evolve(event, provider_metadata=GROUNDED)
        if searched and isinstance(event, Finish)
        else event
        for event in events
    ]


ANSWERS: Final = st.builds(_grounded, streams(may_fail=False), searched=st.booleans())


@pytest.mark.parametrize("client", ["codex", "ai-sdk", "openai-python"])
@costly
@given(events=ANSWERS)
def test_what_a_client_sends_back_is_the_response_again(
    client: str, events: list[LLMEvent]
) -> None:
    """Every signature, id and hosted call comes back to its place, with every client."""
    first = asked("Hello", **ENCRYPTED)
    made = folded(events, first, strict=False)
    again = continued(made, client, translation=first, **ENCRYPTED)

    if made.response["status"] != "failed":
        kept = made.conversation.messages
        parts = [part for message in kept[1:] for part in message.content]
        back = [part for message in again.messages[1:] for part in message.content]
        if client == "ai-sdk":  # it has no refusals: they come back as text
            parts, back = [*map(_plain, parts)], [*map(_plain, back)]
        assert back == parts


def _plain(part: Any) -> Any:
    return TextPart(part.text) if isinstance(part, TextPart | RefusalPart) and part.text else part


@costly
@given(events=ANSWERS)
def test_references_bring_the_response_back_from_the_store(events: list[LLMEvent]) -> None:
    """A client that names items by their ids gets what one that sends them gets."""
    first = asked("Hello")
    made = folded(events, first, strict=False)
    stored = made.fold.record("owner").items
    items = [{"type": "item_reference", "id": name} for name in stored]
    body: Any = {"input": [*first.input_items, *items]}
    again = translated(body, items=_fetched(stored, body))

    if made.response["status"] != "failed":
        parts = [part for message in made.conversation.messages for part in message.content]
        assert [part for message in again.messages for part in message.content] == parts


@costly
@given(events=ANSWERS)
def test_items_without_state_get_it_from_the_store(events: list[LLMEvent]) -> None:
    """A client that asked for no encrypted reasoning loses nothing while the store keeps it."""
    first = asked("Hello")
    made = folded(events, first, strict=False)
    stored = made.fold.record("owner").items
    body: Any = {"input": [*first.input_items, *echo(made.output, "openai-python")]}
    again = translated(body, items=_fetched(stored, body))

    assert all("encrypted_content" not in item for item in made.output)
    if made.response["status"] != "failed":
        parts = [part for message in made.conversation.messages for part in message.content]
        assert [part for message in again.messages for part in message.content] == parts


def _fetched(stored: Mapping[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the items that a server fetches for a request."""
    names = required_references(body)
    fetched = {*names.items, *names.hints, *names.ends}
    return {name: item for name, item in stored.items() if name in fetched}


SIGNED: Final[Any] = {"google": {"thoughtSignature": "c2ln"}}


@pytest.mark.parametrize(
    "segments",
    [
        [text("Paris.", provider_metadata=SIGNED)],
        [thought("Hm."), text("Paris."), text(id="t2", provider_metadata=SIGNED)],
        [call("look", "{}", provider_metadata=SIGNED), call("look", "{}", id="call_2")],
    ],
    ids=["a signed text", "a signature after the text", "a signed call"],
)
def test_state_after_the_reasoning_is_kept_with_the_last_item_in_the_store(segments: Any) -> None:
    """No reasoning item is added, which some clients show, unless the client asks for state."""
    made = folded(stream(*segments))
    stored = made.fold.record("owner").items
    body: Any = {"input": [{"role": "user", "content": "Hello"}, *made.output]}
    again = translated(body, items=_fetched(stored, body))
    asking = folded(stream(*segments), asked("Hello", **ENCRYPTED))

    said = made.conversation.messages[1].content
    assert [part for message in again.messages[1:] for part in message.content] == list(said)
    assert again.diagnostics == ()
    assert made.output[-1]["type"] != "reasoning"
    assert [item["type"] for item in asking.output] == [
        *(item["type"] for item in made.output),
        "reasoning",
    ]


@pytest.mark.parametrize(
    ("store", "expected"), [(None, ("msg_1",)), (True, ("msg_1",)), (False, ())]
)
def test_the_last_item_of_each_response_is_looked_up_if_it_may_be_stored(
    store: bool | None, expected: Any
) -> None:
    """Not the others: their state, if there is any, is in reasoning."""
    message: Any = {"role": "assistant", "content": "a"}
    items = [
        {**message, "id": "msg_0"},
        {**message, "id": "msg_1"},
        {"role": "user", "content": "b"},
    ]
    body: Any = {"input": items} | ({} if store is None else {"store": store})

    assert required_references(body).ends == expected
    assert required_references(body).hints == ()
