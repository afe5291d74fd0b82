"""File ids have an owner: a request to another provider is refused before it is sent."""

from typing import Any

import pytest

from llmcore import AmazonBedrock, Anthropic, Google, OpenAI
from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.routes.auth import Auth
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import DocumentPart, ImagePart, TextPart, ToolResultPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.events import File
from llmcore.schema.messages import Message, Origin
from llmcore.schema.request import request
from tests.support.strategies.values import framed
from tests.support.wire.prepared import failure, prepare

MODELS: dict[str, Any] = {
    "openai": lambda: OpenAI.configure(auth=Auth.none()).model("gpt-5.2"),
    "anthropic": lambda: Anthropic.configure(auth=Auth.none()).model("claude-sonnet-4-5"),
    "google": lambda: Google.configure(auth=Auth.none()).model("gemini-3-flash-preview"),
    "bedrock": lambda: AmazonBedrock.configure(auth=Auth.none(), region="us-east-1").model(
        "anthropic.claude-sonnet-4-5-20250929-v1:0"
    ),
}
FILE = DocumentPart(file_id="file-1", file_owner="openai", media_type="application/pdf")


@pytest.mark.parametrize("provider", ["anthropic", "google", "bedrock"])
@pytest.mark.parametrize("in_result", [False, True])
def test_a_file_of_another_provider_is_refused(provider: str, in_result: bool) -> None:
    """The error names the place, the file and whose it is; also inside a tool's result."""
    part: Any = ToolResultPart("c1", (FILE,)) if in_result else FILE
    message = Message("tool" if in_result else "user", (part,))
    error = failure(request(model=MODELS[provider](), messages=[Message.user("Hi"), message]))

    assert isinstance(error, InvalidRequestError)
    assert "messages[1].content[0]" in str(error)
    assert "'file-1' of openai" in str(error)


@pytest.mark.parametrize("provider", ["anthropic", "google", "bedrock"])
@pytest.mark.parametrize("in_result", [False, True])
def test_a_file_that_another_model_made_is_left_out(provider: str, in_result: bool) -> None:
    """The rest of the response is sent, and a Diagnostic names the place."""
    result = ToolResultPart("c1", (FILE,), provider_executed=True)
    made = Message.assistant(
        (TextPart("Here:"), result if in_result else FILE),
        origin=Origin(provider="openai", model="gpt-5"),
    )
    asked = request(
        model=MODELS[provider](), messages=[Message.user("Hi"), made, Message.user("More")]
    )
    ready = prepare(asked)

    assert b"file-1" not in ready.http.body
    assert "messages[1].content[1]" in [one.path for one in ready.diagnostics]


def test_a_file_goes_to_its_owner_and_one_without_an_owner_to_anyone() -> None:
    """An id without a stated owner is sent as the caller gave it."""
    ready = prepare(request(model=MODELS["openai"](), messages=[Message.user(FILE)]))
    stated_by_nobody = ImagePart(file_id="files/1", media_type="image/png")

    assert b"file-1" in ready.http.body
    assert prepare(request(model=MODELS["google"](), messages=[Message.user(stated_by_nobody)]))


def test_files_that_a_model_made_are_its_provider_s() -> None:
    """Kept in JSON too."""
    bare = framed([File(id="f1", file_id="file-9", media_type="image/png")])
    made = collect(complete_segments(bare)).unwrap()
    (part,) = from_json(Message, to_json(made.message)).content

    assert isinstance(part, ImagePart)
    assert (part.file_id, part.file_owner) == ("file-9", made.provider)


def test_an_owner_goes_with_a_file_id() -> None:
    """Bytes and URLs have none."""
    with pytest.raises(
        InvalidRequestError, match="file_owner can only be set together with file_id"
    ):
        ImagePart(data=b"x", file_owner="openai")
