"""Every field of a part and of a candidate reaches the client of an upstream of the same API.

The values are those of the `google-genai` package's own types, every field set.
"""

import json
from typing import Any

import pytest
from google.genai import types

from llmcore.protocols import gemini
from llmcore.protocols.protocol import protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.request import request
from llmcore.schema.result import Success
from tests.fronts.gemini.gemini_kit import HELLO, Written, echo, upstream, written
from tests.fronts.gemini.gemini_kit import read as client_request
from tests.support.sdk_values import documents

OWN_SIGNATURE = "thoughtSignature"
"""In it the front carries its own state, the upstream's signature in it."""
KINDS = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "functionResponse",
    "audioTranscription",
)
"""A part has one of them; all other fields stand beside it."""
THOUGHTS = ("text", "inlineData", "fileData")
"""Kinds in which thinking comes."""
OF_PIECES = ("partialArgs", "willContinue")
"""Fields of a call in pieces, which the client gets whole: as `args`."""
OF_THE_CLIENT = ("sdkHttpResponse", "parsed", "automaticFunctionCallingHistory")
"""Fields that the SDK adds to a response that it read."""
NOT_NEUTRAL = ("logprobsResult",)
"""`TokenLogprob` has no `tokenId`, and no sum; the rest is tested in test_answer."""


def _parts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for values in documents(types.Part):
        beside = {name: item for name, item in values.items() if name not in (*KINDS, "thought")}
        for kind in KINDS:
            part = {kind: values[kind], **beside}
            if kind == "functionCall":
                part[kind] = {k: v for k, v in part[kind].items() if k not in OF_PIECES}
            found += [part, *([{**part, "thought": True}] if kind in THOUGHTS else ())]
    return found


def _name(part: dict[str, Any]) -> str:
    kind = next(name for name in KINDS if name in part)
    return f"{kind}-thought" if part.get("thought") else kind


PARTS = _parts()
parts = pytest.mark.parametrize("part", PARTS, ids=map(_name, PARTS))
streaming = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def read(response: dict[str, Any], *, stream: bool) -> list[LLMEvent]:
    """Return the events of an upstream's response that is *response*."""
    sent = json.dumps(response).encode()
    events = decode_response(
        gemini.protocol,
        Framing.sse(),
        request(model=upstream("gemini").model, prompt="Hello"),
        status=200,
        headers={"content-type": "text/event-stream" if stream else "application/json"},
        chunks=[b"data: " + sent + b"\n\n"] if stream else [sent],
        streaming=stream,
    )
    return list(events)


def answered(*sent: dict[str, Any], stream: bool, **fields: Any) -> Written:
    """Return what the client gets of a response of these parts."""
    content = {"role": "model", "parts": list(sent)}
    candidate = {"content": content, "index": 0, "finishReason": "STOP", **fields}
    return written(read({"candidates": [candidate]}, stream=stream))


def _shown(made: Written, *, stream: bool) -> list[dict[str, Any]]:
    found = made.parts if stream else made.whole["candidates"][0]["content"]["parts"]
    unsigned = [{k: v for k, v in one.items() if k != OWN_SIGNATURE} for one in found]
    return [one for one in unsigned if one != {"text": ""}]


@parts
@streaming
def test_a_part_reaches_the_client_with_every_field(part: dict[str, Any], stream: bool) -> None:
    """Its signature comes back in the state."""
    made = answered(part, stream=stream)

    assert _shown(made, stream=stream) == [{k: v for k, v in part.items() if k != OWN_SIGNATURE}]


@parts
def test_a_part_among_texts_stays_as_it_came(part: dict[str, Any]) -> None:
    """The texts before and after it are not joined with it."""
    made = answered({"text": "Before."}, part, {"text": "After."}, stream=True)

    first, shown, last = _shown(made, stream=False)
    assert (first, last) == ({"text": "Before."}, {"text": "After."})
    assert shown == {k: v for k, v in part.items() if k != OWN_SIGNATURE}


@pytest.mark.parametrize("part", [one for one in PARTS if one.get("thought")], ids=_name)
def test_a_thought_is_hidden_from_a_client_that_asked_for_none(part: dict[str, Any]) -> None:
    """Also a draft of a picture, and what stands beside a thought is not beside the next text."""
    content = {"role": "model", "parts": [part, {"text": "Done."}]}
    sent = {"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}]}

    made = written(read(sent, stream=True), {})
    assert _shown(made, stream=True) == [{"text": "Done."}]


@pytest.mark.parametrize("client", ["whole", "streamed", "google-genai", "gemini-cli"])
@parts
def test_a_part_that_comes_back_goes_up_as_it_came(part: dict[str, Any], client: str) -> None:
    """Also from a client that keeps no thoughts, its signature included."""
    made = answered(part, stream=True)
    turns = [HELLO, *echo(made, client), {"role": "user", "parts": [{"text": "Go on."}]}]
    asked = client_request({"contents": turns}, "gemini").request
    built = protocol_by_id("gemini").body.build(asked, False)
    assert isinstance(built, Success), built

    assert built.unwrap().body["contents"][1] == {"role": "model", "parts": [part]}


WORD = "skip_thought_signature_validator"
"""In place of a signature, it skips the service's check."""


@pytest.mark.parametrize(
    ("sent", "goes_up"),
    [
        ({"text": "Hi.", "thought": False}, {"text": "Hi."}),
        ({"text": "Hi.", "thoughtSignature": WORD}, {"text": "Hi."}),
        ({"text": "Hi.", "thoughtSignature": ""}, {"text": "Hi."}),
        ({"text": "Hi.", "thoughtSignature": None, "inlineData": None}, {"text": "Hi."}),
        (
            {"functionCall": {"name": "look", "args": {"at": 1}, "willContinue": True}},
            {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": WORD},
        ),
    ],
    ids=["no thought", "a word", "an empty signature", "null fields", "a call in pieces"],
)
def test_a_part_of_the_model_goes_up_whatever_stands_beside_it(
    sent: dict[str, Any], goes_up: dict[str, Any]
) -> None:
    """Alone and before another text."""
    for others in ([], [{"text": "After."}]):
        turn = {"role": "model", "parts": [sent, *others]}
        asked = client_request({"contents": [HELLO, turn, HELLO]}, "gemini").request
        built = protocol_by_id("gemini").body.build(asked, False)
        assert isinstance(built, Success), built

        assert built.unwrap().body["contents"][1]["parts"] == [goes_up, *others]


@pytest.mark.parametrize(
    "file",
    [
        {"inlineData": {"mimeType": "image/png", "data": "aGk=", "displayName": "a.png"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}},
        {"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png", "displayName": "a.png"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/a.pdf"}},
    ],
    ids=["named image", "audio", "named address", "address"],
)
def test_a_file_in_a_functions_response_goes_up_in_it(file: dict[str, Any]) -> None:
    """With its name, which the response refers to."""
    call = {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "aGk="}
    response = {"seen": {"$ref": "a.png"}}
    parts = [{"functionResponse": {"name": "look", "response": response, "parts": [file]}}]
    turns = [HELLO, {"role": "model", "parts": [call]}, {"role": "user", "parts": parts}]
    made = client_request({"contents": turns}, "gemini")
    built = protocol_by_id("gemini").body.build(made.request, False)
    assert isinstance(built, Success), built

    assert built.unwrap().body["contents"][2]["parts"] == parts
    assert (made.diagnostics, built.unwrap().diagnostics) == ((), ())


@streaming
@pytest.mark.parametrize("number", range(len(documents(types.Candidate))))
def test_a_candidate_reaches_the_client_with_every_field(number: int, stream: bool) -> None:
    """All but its place and its content, which the other tests are about."""
    values = documents(types.Candidate)[number]
    fields = {k: v for k, v in values.items() if k not in ("content", "index", *NOT_NEUTRAL)}
    fields["finishReason"] = "STOP"
    made = answered({"text": "Hello."}, stream=stream, **fields)

    assert {name: made.candidate.get(name) for name in fields} == fields


@streaming
def test_a_response_reaches_the_client_with_every_field(stream: bool) -> None:
    """All but its name for the response, which is the gateway's."""
    own = ("candidates", "modelVersion", "responseId", *OF_THE_CLIENT)
    native = types.GenerateContentResponse.model_fields.values()
    fields = {
        str(field.alias): documents(field.annotation)[0]
        for field in native
        if field.alias not in own
    }
    content = {"role": "model", "parts": [{"text": "Hello."}]}
    candidate = {"content": content, "index": 0, "finishReason": "STOP"}
    made = written(read({**fields, "candidates": [candidate]}, stream=stream))

    assert {name: made.last.get(name) for name in fields} == fields


@pytest.mark.parametrize("data", ["+/8=", "-_8=", "-_8", "aGk="])
def test_bytes_in_either_alphabet_of_base64_go_on_as_the_client_wrote_them(data: str) -> None:
    """Clients in JavaScript write the standard one, Google's for Python the URL-safe one."""
    file = {"inlineData": {"mimeType": "image/png", "data": data}}
    read = client_request({"contents": [{"role": "user", "parts": [file]}]}, "gemini")
    body: Any = protocol_by_id("gemini").body.build(read.request, False).unwrap().body

    assert body["contents"][0]["parts"] == [file]
