"""Laws: any stream of events makes a legal Messages stream of the same content."""

from typing import Any

from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from llmcore.folds.response import collect
from llmcore.fronts.anthropic_messages import ReadMessagesRequest, front
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema import json
from llmcore.schema.content import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent, StreamStart
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.schema.tools import ToolChoice, ToolDefinition
from tests.fronts.anthropic_messages.messages_kit import (
    MESSAGES,
    Written,
    asked,
    built,
    decoded,
    messages_of,
    read,
    sdk_stream,
    sdk_whole,
    upstream,
    written,
)
from tests.support.strategies.examples import costly
from tests.support.strategies.values import network_streams as streams
from tests.support.strategies.values import requests


def said(message: Message) -> str:
    """Return all texts of a message, refusals included."""
    texts = [part for part in message.content if isinstance(part, TextPart | RefusalPart)]
    return "".join(part.text for part in texts)


def thought(message: Message) -> str:
    """Return all thinking of a message."""
    return "".join(part.text for part in message.content if isinstance(part, ReasoningPart))


def calls(message: Message) -> list[tuple[str, Any]]:
    """Return the calls that the client is to run, with arguments that are objects."""
    return [
        (part.name, part.arguments)
        for part in message.tool_calls
        if part.kind == "function" and part.is_valid
    ]


@costly
@given(streams(may_fail=False))
def test_any_response_makes_a_legal_stream_that_says_the_same(events: list[LLMEvent]) -> None:
    """Grammar and contract hold, and our own protocol reads back what was said."""
    made = written(events)
    before = collect(events).unwrap()
    after = decoded(made.body, streaming=True)

    if made.failed:
        assert isinstance(after, LLMError)
        assert before.finish_reason.reason == "error"
        return
    assert isinstance(after, LLMResponse)
    assert said(after.message) == said(before.message)
    assert thought(after.message) == thought(before.message)
    sent = calls(after.message)
    assert [call for call in sent if call in calls(before.message)] == calls(before.message)
    if before.usage and before.usage.input_tokens is not None and after.usage:
        assert after.usage.input_tokens == (before.usage.input_tokens or _counted(events[0]))
        assert after.usage.output_tokens == (before.usage.output_tokens or 0)
    if before.finish_reason.reason == "length":
        assert after.finish_reason.reason == "length"


def _counted(event: LLMEvent) -> int:
    """Return the input that a stream begins with: it stands where the end counts none."""
    usage = event.usage if isinstance(event, StreamStart) else None
    return (usage.input_tokens if usage else None) or 0


@costly
@given(streams(may_fail=False))
def test_a_stream_and_a_whole_body_are_the_same_response(events: list[LLMEvent]) -> None:
    """Also to the vendor's client, which validates both strictly."""
    made = written(events)
    if made.failed or not all(part.is_valid for part in collect(events).unwrap().tool_calls):
        return

    streamed = decoded(made.body, streaming=True)
    whole = decoded(json.dumps(made.whole), streaming=False)
    assert isinstance(streamed, LLMResponse)
    assert isinstance(whole, LLMResponse)
    assert streamed.message == whole.message
    assert (streamed.usage, streamed.finish_reason) == (whole.usage, whole.finish_reason)


@costly
@given(streams(may_fail=False))
def test_the_vendors_client_reads_every_response(events: list[LLMEvent]) -> None:
    """Streamed and whole, with the same texts and calls."""
    made = written(events)
    if made.failed:
        return

    one, other = sdk_stream(made.body), sdk_whole(made.whole)
    assert [block.type for block in one.content] == [block.type for block in other.content]
    texts = [[b.text for b in answer.content if b.type == "text"] for answer in (one, other)]
    assert texts[0] == texts[1]
    assert one.stop_reason == other.stop_reason
    assert one.usage.output_tokens == other.usage.output_tokens


@costly
@given(streams())
def test_any_stream_ends_with_one_terminal_event(events: list[LLMEvent]) -> None:
    """Also one that fails on the way."""
    made = written(events, checked=False)

    last = made.events[-1]["type"]
    assert last == ("error" if made.failed else "message_stop")


@costly
@given(streams())
def test_a_stream_may_stop_anywhere(events: list[LLMEvent]) -> None:
    """Wherever the upstream dies, the client hears of it, and no block ends for that."""
    for cut in range(len(events)):
        made = written(events[:cut], checked=False)

        assert made.failed
        assert made.events[-1]["type"] == "error"


@costly
@given(streams(may_fail=False))
def test_a_response_that_comes_back_is_the_response_again(events: list[LLMEvent]) -> None:
    """Every part returns to its place, what clients cannot see included."""
    made = written(events, ReadMessagesRequest(searches=False), checked=False)
    if made.failed or not made.content:
        return

    back = messages_of({"role": "user", "content": "Hello"}, made.echo())
    expected = [part for part in collect(events).unwrap().message.content if _counts(part)]
    got = [part for message in back[1:] for part in message.content]
    assert [_same(part) for part in got] == [_same(part) for part in expected]


@costly
@given(streams(may_fail=False))
def test_a_response_that_comes_back_in_another_order_is_read_alike(events: list[LLMEvent]) -> None:
    """LiteLLM sends all thinking first, Claude Code all calls last.

    The order of what follows the last state is the client's.
    """
    made = written(events, ReadMessagesRequest(searches=False), checked=False)
    if made.failed or not made.content:
        return
    thinking = ("thinking", "redacted_thinking")
    back = messages_of(made.echo())
    after = [at for at, block in enumerate(made.content, 1) if block["type"] in thinking]
    rest = made.content[max(after, default=0) :]
    for is_late in (
        lambda block: block["type"] not in thinking,
        lambda block: block["type"] == "tool_use",
    ):
        ordered = sorted(made.content, key=is_late)
        if sorted(rest, key=is_late) == rest:
            assert messages_of({"role": "assistant", "content": ordered}) == back


def _counts(part: Any) -> bool:
    """Return whether a part says anything; empty texts and thoughts are not sent."""
    if isinstance(part, TextPart | RefusalPart | ReasoningPart):
        return bool(part.text or part.provider_metadata or _proof(part))
    return True


def _proof(part: Any) -> bool:
    return isinstance(part, ReasoningPart) and bool(part.signature or part.encrypted)


def _same(part: Any) -> Any:
    """Return a part without what the API shows in another form."""
    if isinstance(part, TextPart | RefusalPart):
        return TextPart(part.text)
    if isinstance(part, ToolCallPart) and not part.provider_executed:
        return (part.name, part.arguments if part.is_valid else None)
    return evolve(part, id="") if isinstance(part, ToolCallPart) else type(part)


@st.composite
def buildable(draw: st.DrawFn) -> LLMRequest:
    """Draw a request with something to say, whose choice of a tool is among its tools."""
    drawn = draw(requests())
    names = [tool.name for tool in drawn.tools if isinstance(tool, ToolDefinition)]
    choices = [None, ToolChoice.auto(), *map(ToolChoice.named, names)]
    return evolve(
        drawn,
        model=upstream(MESSAGES).model,
        provider=None,
        provider_options={},
        messages=(Message.user("Hello"), *drawn.messages),
        tool_choice=draw(st.sampled_from(choices)),
    )


@given(buildable())
def test_a_request_that_was_built_is_read_as_itself(request: LLMRequest) -> None:
    """Built again, it is the same body: nothing that the API can say is lost in reading."""
    made = protocol_by_id(MESSAGES).body.build(request, False)
    assume(isinstance(made, Success))
    first = built(request, MESSAGES)

    assert built(read(first, MESSAGES).request, MESSAGES) == first


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_any_body_is_read_or_refused_by_its_place(value: Any) -> None:
    """No value in any field breaks the reader."""
    for name in ("messages", "system", "tools", "tool_choice", "thinking", "output_config"):
        result = front.read(asked({name: value}), upstream())

        assert isinstance(result, Success) or result.failure().status == 400


def test_response_without_events_is_an_error() -> None:
    """A response without events is an error, not an empty message."""
    assert Written([]).failed
