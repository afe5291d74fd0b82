"""Laws of Gemini alone; those of all protocols are in `test_laws.py`."""

import json
from itertools import pairwise
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols import gemini
from llmcore.routes.framing import Framing
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.messages import Message
from llmcore.schema.result import Failure
from tests.support.strategies.examples import costly
from tests.support.strategies.native.drawn import Answer
from tests.support.strategies.native.gemini import answers
from tests.support.strategies.values import json_values, requests
from tests.support.wire.gemini import ASKED, MODEL, array, body, sse, streamed, whole
from tests.support.wire.protocol import error, response


@costly
@given(answers())
def test_a_response_goes_back_as_it_came(
    answer: Answer,
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


@costly
@given(answers(), st.data())
def test_any_chunking_gives_the_same_events(answer: Answer, data: st.DataObject) -> None:
    """Those of a JSON array may be cut anywhere, too."""
    body, framing = array(answer[0]), Framing.json_array()
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[a:b] for a, b in pairwise([0, *places, len(body)])]

    assert streamed(body, framing=framing, pieces=pieces) == streamed(body, framing=framing)


@costly
@given(answers(), st.data())
def test_any_cut_before_the_end_is_an_error(answer: Answer, data: st.DataObject) -> None:
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
def test_unknown_fields_lose_nothing(answer: Answer, data: st.DataObject) -> None:
    """A chunk may have unknown fields, and some chunks have none that is known."""
    chunks = list(answer[0])
    place = data.draw(st.integers(0, len(chunks)))
    odd = {"brandNew": data.draw(json_values())}
    chunks.insert(place, odd)
    after = response(streamed(chunks))

    assert after.message.content == response(streamed(answer[0])).message.content
    if odd["brandNew"] is not None:
        assert after.provider_metadata["google"]["brandNew"] == odd["brandNew"]


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
