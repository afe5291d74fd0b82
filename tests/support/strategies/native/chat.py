"""Responses of Chat Completions, drawn."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat.models import ChatDialect
from tests.support.strategies.native.drawn import PINGS, SCALARS, Answer, DrawnResponses, sse_of
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.chat import ASKED, call, chunk, completion, sse, usage_chunk


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Draw pieces of *text*; none for an empty one."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    edges = [0, *places, len(text)]
    return [text[a:b] for a, b in pairwise(edges) if a < b]


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Draw one response in both forms: its chunks, and its document."""
    field = draw(st.sampled_from(["reasoning_content", "reasoning"]))
    reasoning, text, refusal = draw(texts()), draw(texts()), draw(texts(0, 3))
    calls = draw(st.lists(json_objects(), max_size=3))
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    usage = draw(st.sampled_from([None, {"prompt_tokens": 3, "completion_tokens": 4}]))
    deltas: list[dict[str, Any]] = [{field: piece} for piece in draw(cuts(reasoning))]
    deltas += [{"content": piece} for piece in draw(cuts(text))]
    deltas += [{"refusal": piece} for piece in draw(cuts(refusal))]
    native_calls = []
    for index, arguments in enumerate(calls):
        written = json.dumps(arguments)
        opened: dict[str, Any] = {"id": f"call_{index}", "name": f"tool_{index}"}
        native_calls.append(call(**opened, arguments=written))
        deltas.append({"tool_calls": [call(index, **opened, arguments="")]})
        deltas += [{"tool_calls": [call(index, arguments=piece)]} for piece in draw(cuts(written))]
    chunks = [chunk({"role": "assistant"}), *map(chunk, deltas), chunk({}, finish)]
    message = {"content": text or None, "refusal": refusal, field: reasoning}
    envelope = {} if usage is None else {"usage": usage}
    document = completion({**message, "tool_calls": native_calls}, finish, **envelope)
    return [*chunks, *([usage_chunk(**usage)] if usage else [])], document


# -- mess

_KEYS = [
    "content", "role", "refusal", "reasoning", "reasoning_content", "reasoning_details",
    "thinking", "signature", "audio", "images", "annotations", "tool_calls", "function_call",
    "executed_tools", "extra_content", "x_new",
]  # fmt: skip
_CALL_KEYS = ["index", "id", "type", "function", "custom", "extra_content"]
_FUNCTION_KEYS = ["name", "arguments", "input"]


def _messy(keys: list[str], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(keys), inner, max_size=4)


_SCALARS: st.SearchStrategy[Any] = st.sampled_from(SCALARS)
_FRAGMENTS = _messy(_CALL_KEYS, _SCALARS | _messy(_FUNCTION_KEYS, _SCALARS))
_VALUES = (
    _SCALARS
    | json_values()
    | st.lists(_FRAGMENTS | json_objects() | _SCALARS, max_size=3)
    | json_objects()
)
_CHOICES = _messy(
    ["index", "delta", "message", "finish_reason", "logprobs", "error", "usage"],
    _VALUES | _messy(_KEYS, _VALUES),
)


def drawn(dialect: ChatDialect) -> DrawnResponses:
    """Return the responses of servers of *dialect*."""
    return DrawnResponses(
        wire=sse_of(openai_chat.make(dialect)),
        asked=ASKED,
        answers=answers(),
        frame=lambda one: sse([one], done=False),
        tail=sse([]),
        pings=(*PINGS, b": OPENROUTER PROCESSING\n\n"),
        messy_events=_messy(
            ["id", "model", "choices", "usage", "error", "citations", "search_results", "x_groq"],
            _VALUES | st.lists(_CHOICES, max_size=2),
        ),
        messy_documents=_messy(
            ["id", "choices", "usage", "error"], _VALUES | st.lists(_CHOICES, max_size=2)
        ),
        ends=(chunk({}, "stop"),),
    )
