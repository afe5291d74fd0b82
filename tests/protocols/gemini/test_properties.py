"""Laws of every response, however it is cut, and for all nonsense that a server can send."""

import base64
import json
from functools import cache
from itertools import pairwise
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.folds.grammar import violations
from llmcore.folds.segments import complete_segments
from llmcore.protocols import gemini
from llmcore.protocols.gemini import stream
from llmcore.routes.framing import Framing
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.result import Failure
from tests.support.strategies.examples import costly
from tests.support.strategies.values import json_objects, json_values, requests, texts
from tests.support.wire.gemini import (
    ASKED,
    MODEL,
    array,
    body,
    chunk,
    decoded,
    sse,
    streamed,
    whole,
)
from tests.support.wire.protocol import error, response

# -- responses, streamed and whole


_DATA = st.binary(max_size=6).map(lambda data: base64.b64encode(data).decode())
_CONTENTS: list[st.SearchStrategy[dict[str, Any]]] = [
    st.fixed_dictionaries({"text": texts()}),
    st.fixed_dictionaries({"text": texts(), "thought": st.just(True)}),
    json_objects().map(lambda args: {"functionCall": {"name": "f", "args": args}}),
    st.sampled_from("ab").map(lambda id_: {"functionCall": {"name": "g", "id": id_}}),
    texts().map(lambda code: {"executableCode": {"language": "PYTHON", "code": code}}),
    texts().map(lambda out: {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": out}}),
    json_objects().map(
        lambda args: {"toolCall": {"toolType": "URL_CONTEXT", "args": args, "id": "t"}}
    ),
    json_objects().map(
        lambda got: {"toolResponse": {"toolType": "URL_CONTEXT", "response": got, "id": "t"}}
    ),
    _DATA.map(lambda data: {"inlineData": {"mimeType": "image/png", "data": data}}),
    _DATA.map(lambda data: {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": data}}),
    json_objects().map(lambda value: {"hologram": value}),
]
_SIGNATURES = st.sampled_from([{}, {}, {"thoughtSignature": "c2ln"}, {"thoughtSignature": "b3Ro"}])


@cache
def parts() -> st.SearchStrategy[dict[str, Any]]:
    """Draw one part of a response."""
    return st.tuples(st.one_of(_CONTENTS), _SIGNATURES).map(lambda pair: {**pair[0], **pair[1]})


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Draw one response in both forms: its chunks, and its document."""
    said = draw(st.lists(parts(), max_size=6))
    finish = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"]))
    chunks: list[dict[str, Any]] = []
    batch: list[dict[str, Any]] = []
    for part in said:
        batch.append(part)
        if draw(st.booleans()):
            chunks.append(chunk(*batch))
            batch = []
    chunks.append(chunk(*batch, finish=finish))
    if draw(st.booleans()):
        chunks.append({"usageMetadata": {"promptTokenCount": 9}})
        late = chunks[-1]["usageMetadata"]
        return chunks, chunk(*said, finish=finish, usageMetadata=late)
    return chunks, chunk(*said, finish=finish)


@costly
@given(answers())
def test_a_stream_and_a_whole_body_are_one_response(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    """The same response gives the same response, streamed or not."""
    chunks, document = answer

    assert response(streamed(chunks)) == response(whole(document))


@costly
@given(answers())
def test_a_response_goes_back_as_it_came(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    """Signatures stand where they stood, and the service's own parts are unchanged."""
    _, document = answer
    message = response(whole(document)).message
    asked = evolve(ASKED, model=MODEL, messages=(Message.user("q"), message, Message.user("r")))
    sent = [c["parts"] for c in body(asked)["contents"] if c["role"] == "model"]
    came = [p for p in document["candidates"][0]["content"]["parts"] if _returns(p)]

    assert [p for p in (sent[0] if sent else []) if _returns(p)] == came


def _returns(part: dict[str, Any]) -> bool:
    """Whether *part* is one that is neither joined with its neighbours nor signed by us."""
    return not part.keys().isdisjoint({"executableCode", "toolCall", "toolResponse", "hologram"})


# -- bytes


@costly
@given(answers(), st.data())
def test_any_chunking_gives_the_same_events(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Bytes may be cut anywhere, inside characters and line ends too."""
    for whole_body, framing in (
        (sse(answer[0]), Framing.sse()),
        (array(answer[0]), Framing.json_array()),
    ):
        places = sorted(data.draw(st.lists(st.integers(0, len(whole_body)), max_size=8)))
        pieces = [whole_body[a:b] for a, b in pairwise([0, *places, len(whole_body)])]

        expected = streamed(whole_body, framing=framing)
        assert streamed(whole_body, framing=framing, pieces=pieces) == expected


@costly
@given(answers(), st.data())
def test_any_cut_before_the_end_is_an_error(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Half a response is never taken for a whole one."""
    chunks = answer[0][:-1] if "candidates" not in answer[0][-1] else answer[0]
    for whole_body, framing in (
        (sse(chunks), Framing.sse()),
        (array(chunks), Framing.json_array()),
    ):
        last = whole_body.rindex(b'"finishReason"')
        cut = data.draw(st.integers(0, last))

        assert isinstance(error(streamed(whole_body[:cut], framing=framing)), StreamError)


@costly
@given(answers(), st.data())
def test_comments_and_pings_change_nothing(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """Keep-alives may stand anywhere between events."""
    asides = [b": ping\n\n", b"data:\n\n", b"event: ping\ndata: \n\n", b"\r\n", b"data: null\n\n"]
    noisy = b""
    for one in answer[0]:
        noisy += data.draw(st.sampled_from([b"", *asides])) + sse([one])

    assert streamed(noisy) == streamed(answer[0])


# -- messes


@costly
@given(answers(), st.data())
def test_unknown_fields_lose_nothing(
    answer: tuple[list[dict[str, Any]], dict[str, Any]], data: st.DataObject
) -> None:
    """A chunk may have unknown fields, and some chunks have none that is known."""
    chunks = list(answer[0])
    place = data.draw(st.integers(0, len(chunks)))
    odd = {"brandNew": data.draw(json_values())}
    chunks.insert(place, odd)
    after = response(streamed(chunks))

    assert after.message.content == response(streamed(answer[0])).message.content
    if odd["brandNew"] is not None:
        assert after.provider_metadata["google"]["brandNew"] == odd["brandNew"]


def chunk_like() -> st.SearchStrategy[Any]:
    """Draw JSON that looks like a chunk, with anything anywhere."""
    anything = json_values()
    part_names = ["text", "thought", "thoughtSignature", "functionCall", "executableCode"]
    part_names += ["codeExecutionResult", "toolCall", "toolResponse", "inlineData", "fileData"]
    inner_names = ["name", "args", "id", "partialArgs", "willContinue", "mimeType", "data"]
    inner = st.dictionaries(st.sampled_from(inner_names), anything, max_size=4) | anything
    part = st.dictionaries(st.sampled_from(part_names), inner, max_size=3) | anything
    content = st.fixed_dictionaries({}, optional={"parts": st.lists(part, max_size=3) | anything})
    names = ["index", "finishReason", "groundingMetadata", "citationMetadata", "logprobsResult"]
    candidate = st.fixed_dictionaries(
        {}, optional={"content": content | anything, **dict.fromkeys(names, anything)}
    )
    fields = ["usageMetadata", "promptFeedback", "modelVersion", "responseId", "error"]
    return st.fixed_dictionaries(
        {},
        optional={
            "candidates": st.lists(candidate | anything, max_size=2) | anything,
            **dict.fromkeys(fields, anything),
        },
    )


@costly
@given(st.lists(chunk_like() | json_values(), max_size=4))
def test_random_json_never_raises(chunks: list[Any]) -> None:
    """Whatever comes, the events obey the grammar and end with one terminal event."""
    events = streamed(chunks)
    assert isinstance(events[-1], Finish | ErrorEvent)
    for one in chunks:
        assert isinstance(whole(one)[-1], Finish | ErrorEvent)


@costly
@given(answers())
def test_a_step_is_pure(answer: tuple[list[dict[str, Any]], dict[str, Any]]) -> None:
    """An old state steps to the same next state, and neither it nor the chunk changes."""
    state = stream.initial(ASKED)
    for one in answer[0]:
        event = decoded(one)
        before, text = repr(state), repr(event)
        first, second = stream.step(state, event), stream.step(state, event)

        assert [list(first[1])] == [list(second[1])]
        assert repr(first[0]) == repr(second[0])
        assert (repr(state), repr(event)) == (before, text)
        state = first[0]


@costly
@given(answers())
def test_bare_events_complete_to_the_grammar(
    answer: tuple[list[dict[str, Any]], dict[str, Any]],
) -> None:
    """The shared fold completes the events of the protocol."""
    state = stream.initial(ASKED)
    events: list[LLMEvent] = []
    for one in answer[0]:
        state, more = stream.step(state, decoded(one))
        events += more
    events += stream.halt(state)

    assert violations(complete_segments(events)) == []


# -- requests


@costly
@given(requests())
def test_every_request_gives_a_body_or_a_typed_error(asked: Any) -> None:
    """The same one twice, and one that JSON can represent."""
    asked = evolve(asked, model=MODEL)
    first = gemini.protocol.body.build(asked, False)
    again = gemini.protocol.body.build(asked, True)

    if isinstance(first, Failure):
        assert isinstance(first.failure(), LLMError)
        assert first.failure() == again.failure()
    else:
        built = first.unwrap()
        assert json.dumps(built.body) == json.dumps(again.unwrap().body)
        assert built.diagnostics == again.unwrap().diagnostics
