"""Responses of the Responses API, drawn."""

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from llmcore.protocols.openai_responses import protocol
from tests.support.strategies.native.drawn import PINGS, SCALARS, Answer, DrawnResponses, sse_of
from tests.support.strategies.values import json_objects, json_values, texts
from tests.support.wire.responses import (
    ANSWERS,
    ASKED,
    HOSTED,
    Native,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    refusal_part,
    sse,
    text_part,
    url_citation,
)


@st.composite
def outputs(draw: st.DrawFn) -> list[Native]:
    """Draw the items of a response, all ids different."""
    kinds = draw(st.lists(st.sampled_from(sorted(_DRAWN)), max_size=4))
    return [item for n, kind in enumerate(kinds) for item in draw(_DRAWN[kind](n))]


@cache
def _messages(n: int) -> st.SearchStrategy[list[Native]]:
    part = st.one_of(
        texts().map(text_part),
        texts(1).map(refusal_part),
        st.tuples(texts(1), texts(1)).map(lambda t: text_part(t[0], url_citation(t[1]))),
    )
    return st.lists(part, min_size=1, max_size=2).map(lambda p: [message(*p, id=f"msg_{n}")])


@cache
def _thoughts(n: int) -> st.SearchStrategy[list[Native]]:
    parts = st.lists(texts(1), max_size=2)
    return st.tuples(parts, parts).map(
        lambda t: [reasoning(*t[0], content=t[1], id=f"rs_{n}", encrypted=f"enc {n}")]
    )


@cache
def _calls(n: int) -> st.SearchStrategy[list[Native]]:
    return json_objects().map(lambda a: [function_call(json.dumps(a), n=n)])


@cache
def _hosted(n: int) -> st.SearchStrategy[list[Native]]:
    def renamed(items: list[Native]) -> list[Native]:
        ids = ("id", "call_id")
        return [{**i, **{k: f"{i[k]}{n}" for k in ids if i.get(k)}} for i in items]

    return st.sampled_from(sorted(HOSTED)).map(lambda name: renamed(HOSTED[name]))


_DRAWN = {"message": _messages, "reasoning": _thoughts, "call": _calls, "hosted": _hosted}


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Draw one response in both forms: its events, and its document."""
    output = draw(outputs())
    status = draw(st.sampled_from(["completed", "incomplete"]))
    return events_of(output, status, draw(st.integers(1, 6))), document(output, status)


# -- mess

_SCALARS: st.SearchStrategy[Any] = st.sampled_from([*SCALARS, "call_1", "completed"])
_TYPES = st.sampled_from(
    sorted(
        {event["type"] for output in ANSWERS.values() for event in events_of(output)}
        | {"response.failed", "response.queued", "response.audio.delta", "error", "x_new"}
    )
)
_ITEM_TYPES = st.sampled_from(
    [
        *sorted({item["type"] for output in ANSWERS.values() for item in output}),
        *("output_text", "refusal", "summary_text", "reasoning_text", "output_audio"),
    ]
)
_FIELDS = [
    "id", "call_id", "name", "arguments", "input", "content", "summary", "encrypted_content",
    "text", "refusal", "annotations", "logprobs", "action", "commands", "operation", "diff",
    "code", "outputs", "output", "result", "results", "queries", "tools", "environment",
    "execution", "status", "phase", "error", "url", "file_id", "index", "data", "transcript",
]  # fmt: skip
_MESSY: st.SearchStrategy[Any] = st.recursive(
    _SCALARS | json_values(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.builds(
            lambda kind, fields: {**fields, "type": kind},
            _ITEM_TYPES,
            st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
        )
    ),
    max_leaves=6,
)
_EVENT_FIELDS = [
    "item", "part", "delta", "text", "refusal", "arguments", "input", "name", "item_id",
    "output_index", "content_index", "summary_index", "command_index", "annotation", "logprobs",
    "response", "error", "message", "sequence_number",
]  # fmt: skip
_RESPONSES = st.fixed_dictionaries(
    {},
    optional={
        "id": _SCALARS,
        "status": st.sampled_from(["completed", "incomplete", "failed", "cancelled", "queued", 7]),
        "output": st.lists(_MESSY, max_size=3) | _SCALARS,
        "usage": _MESSY,
        "incomplete_details": _MESSY,
        "error": _MESSY,
        "background": _SCALARS,
    },
)

RESPONSES = DrawnResponses(
    wire=sse_of(protocol),
    asked=ASKED,
    answers=answers(),
    frame=lambda one: sse([one]),
    pings=(
        *PINGS,
        b": OPENROUTER PROCESSING\n\n",
        b"data: [DONE]\n\n",
        b'event: keepalive\ndata: {"type":"keepalive","sequence_number":3}\n\n',
    ),
    messy_events=st.builds(
        lambda kind, fields, response: {**fields, **response, "type": kind},
        _TYPES,
        st.dictionaries(st.sampled_from(_EVENT_FIELDS), _MESSY, max_size=5),
        st.fixed_dictionaries({}, optional={"response": _RESPONSES}),
    ),
    messy_documents=_RESPONSES,
    ends=({"type": "response.completed", "response": document([])},),
)
