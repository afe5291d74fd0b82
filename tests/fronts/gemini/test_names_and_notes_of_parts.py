"""The names of files and a client's own metadata of parts are sent, or reported as left out."""

import json
from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.model import Model
from tests.fronts.gemini.gemini_kit import read

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "aGk=", "displayName": "the name"}}
CALL = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
RETURNED: dict[str, Any] = {"name": "f", "response": {"output": "x"}}
NOTE = {"partMetadata": {"of": "the client"}}


@pytest.mark.parametrize(
    ("part", "protocol_id", "kept", "lost"),
    [
        ({"text": "Hi", **NOTE}, "gemini", "the client", None),
        ({"text": "Hi", **NOTE}, "openai-chat", None, "partMetadata"),
        (IMAGE, "gemini", "the name", None),
        (IMAGE, "openai-chat", None, "inlineData.displayName"),
        (
            {"functionResponse": {**RETURNED, "parts": [IMAGE]}},
            "openai-chat",
            None,
            "functionResponse.parts[0].inlineData.displayName",
        ),
        ({"functionResponse": {**RETURNED, "parts": [IMAGE]}}, "gemini", "the name", None),
        ({"functionResponse": RETURNED, **NOTE}, "gemini", None, "partMetadata"),
        ({"functionResponse": RETURNED, **NOTE}, "openai-chat", None, "partMetadata"),
        ({"functionResponse": RETURNED}, "openai-chat", None, None),
    ],
)
def test_a_name_or_a_note_of_a_part_is_sent_or_reported(
    part: dict[str, Any], protocol_id: str, kept: str | None, lost: str | None
) -> None:
    made = read({"contents": [CALL, {"role": "user", "parts": [part]}]}, protocol_id)
    asked = evolve(made.request, model=Model("m-1", "google"))
    body = json.dumps(protocol_by_id(protocol_id).body.build(asked, False).unwrap().body)

    assert [word for word in ("the name", "the client") if word in body] == ([kept] if kept else [])
    assert [note.path for note in made.diagnostics] == (
        [f"contents[1].parts[0].{lost}"] if lost else []
    )
