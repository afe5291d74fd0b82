"""Responses of the Messages API, drawn."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from llmcore.protocols.anthropic_messages import protocol
from tests.support.strategies.native.drawn import PINGS, Answer, DrawnResponses, sse_of
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.anthropic import ASKED, message, sse, stream_of, text, thinking, tool_use


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
def answers(draw: st.DrawFn) -> Answer:
    """Draw one response in both forms: its events, and its document."""
    count = draw(st.integers(0, 4))
    content = [draw(blocks(number)) for number in range(count)]
    reason = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"]))
    whole = message(*content, stop=reason)
    return stream_of(whole, draw(st.integers(1, 9))), whole


SAMPLE = message(
    thinking("Let me think… 🤔", "c2ln"),
    text("Grüße, 世界!\u2028"),
    tool_use("look", {"at": ["☀", 1.5, None]}),
    stop="tool_use",
)


def _messy_messages(content: list[Any]) -> Any:
    return message(*content)


def _messy_events() -> st.SearchStrategy[Any]:
    """Good events, good ones with a field made odd, and any object."""
    good = st.sampled_from(stream_of(SAMPLE, size=9))
    names = ["type", "index", "delta", "content_block", "message", "usage"]
    odd = st.tuples(good, st.sampled_from(names), json_values())
    return good | odd.map(lambda t: {**t[0], t[1]: t[2]}) | json_objects()


MESSAGES = DrawnResponses(
    wire=sse_of(protocol),
    asked=ASKED,
    answers=answers(),
    frame=lambda one: sse([one]),
    pings=(*PINGS, b'event: ping\ndata: {"type": "ping"}\n\n'),
    messy_events=_messy_events(),
    messy_documents=json_values() | st.lists(json_values(), max_size=3).map(_messy_messages),
)
