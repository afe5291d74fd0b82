"""Which field a server rejects, by its error."""

from typing import Any

import pytest

from llmcore.protocols import openai_chat
from llmcore.protocols.failures.errors import error_from_response, rejected_field
from llmcore.schema import json
from llmcore.schema.errors import LLMError
from tests.support.wire.chat import ASKED, body

SENT = body(ASKED, stream=True)
OPTIONAL = openai_chat.protocol.body.optional


def _error(document: Any, status: int = 400) -> LLMError:
    return error_from_response(provider="x", status=status, headers={}, body=json.dumps(document))


NAMED: dict[str, Any] = {
    "by its parameter": {
        "error": {"message": "Unrecognized request argument", "param": "stream_options"}
    },
    "in its words": {"error": {"message": "Unknown field: stream_options."}},
    "in words of its own": {"message": "Stream options are not supported by this model."},
    "by its place": {
        "detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs", "type": "extra"}]
    },
}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("document", NAMED.values(), ids=NAMED.keys())
def test_a_server_that_names_stream_options_rejects_them(document: Any, status: int) -> None:
    """Any wording of the error allows another try without the field."""
    assert rejected_field(_error(document, status), SENT, OPTIONAL) == "stream_options"


def test_other_errors_reject_no_field() -> None:
    """Another field, another status, or a body without the field."""
    named = NAMED["by its parameter"]

    assert rejected_field(_error({"error": {"message": "Unknown model"}}), SENT, OPTIONAL) is None
    assert rejected_field(_error(named, 500), SENT, OPTIONAL) is None
    assert rejected_field(_error(named), body(ASKED), OPTIONAL) is None
    assert rejected_field(_error(named), SENT, ()) is None
