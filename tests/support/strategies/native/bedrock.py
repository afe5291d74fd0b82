"""Responses of Converse, drawn."""

from typing import Any

from hypothesis import strategies as st

from llmcore.protocols.bedrock_converse import protocol
from llmcore.routes.framing import Framing
from tests.support.strategies.native.drawn import SCALARS, Answer, DrawnResponses
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.bedrock import ASKED, document, end, frame, reasoning, stream_of, tool_use
from tests.support.wire.protocol import ProtocolWire


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Draw one response in both forms: its events, and its document."""
    said = [{"text": text} for text in draw(st.lists(texts(1), max_size=2))]
    thought = [reasoning(text, "c2ln") for text in draw(st.lists(texts(1), max_size=1))]
    given = draw(st.lists(json_objects(), max_size=3))
    calls = [tool_use(f"tool_{i}", arguments, id=f"c{i}") for i, arguments in enumerate(given)]
    reason = draw(st.sampled_from(["end_turn", "max_tokens", "content_filtered"]))
    whole = document(*thought, *said, *calls, stop="tool_use" if calls else reason)
    return stream_of(whole, draw(st.integers(1, 9))), whole


# -- mess

_NAMES = [
    "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
    "metadata", "exception:throttlingException", "xNew",
]  # fmt: skip
_SCALARS: st.SearchStrategy[Any] = st.sampled_from(SCALARS)
_KINDS = ["text", "toolUse", "toolResult", "reasoningContent", "citation", "image", "xNew"]
_INNER_NAMES = [
    "text", "signature", "redactedContent", "toolUseId", "name", "input", "type", "source",
    "format", "location", "bytes", "reasoningText", "content", "citations",
]  # fmt: skip
_INNER = st.dictionaries(st.sampled_from(_INNER_NAMES), _SCALARS | json_objects(), max_size=3)
_VALUES = _SCALARS | _INNER | st.lists(_INNER, max_size=2) | json_values()
_BLOCKS = st.dictionaries(st.sampled_from([*_KINDS, "citationsContent"]), _VALUES, max_size=2)
_PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "contentBlockIndex": st.integers(0, 2) | _SCALARS,
        "start": _BLOCKS | _VALUES,
        "delta": _BLOCKS | _VALUES,
        "stopReason": _SCALARS,
        "usage": _VALUES,
        "message": _SCALARS,
    },
)
_DOCUMENTS = st.one_of(
    st.lists(_BLOCKS, max_size=4).map(lambda blocks: document(*blocks)),
    _VALUES.map(lambda one: {"output": {"message": one}, "stopReason": one, "usage": one}),
    _VALUES,
)

BEDROCK = DrawnResponses(
    wire=ProtocolWire(protocol, Framing.aws_event_stream(), "application/vnd.amazon.eventstream"),
    asked=ASKED,
    answers=answers(),
    frame=frame,
    pings=(),  # its frames have lengths and checksums
    messy_events=st.tuples(st.sampled_from(_NAMES), _PAYLOADS),
    messy_documents=_DOCUMENTS,
    ends=end(),
)
