"""Google's facade: `llmcore/routes/google.py`."""

import pytest

from llmcore.routes.google import Google
from llmcore.schema.request import request
from tests.support.wire.prepared import prepare


@pytest.mark.parametrize(
    ("model", "streaming", "path"),
    [
        ("gemini-3-pro", False, "/models/gemini-3-pro:generateContent"),
        ("gemini-3-pro", True, "/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ("models/gemini-3-pro", False, "/models/gemini-3-pro:generateContent"),
        ("tunedModels/mine", True, "/tunedModels/mine:streamGenerateContent?alt=sse"),
        ("a?b#c d", False, "/models/a%3Fb%23c%20d:generateContent"),
    ],
)
def test_the_path_names_model_and_verb(model: str, streaming: bool, path: str) -> None:
    """A model may be a resource; nothing in an id changes the URL around it."""
    asked = request(model=Google.configure(api_key="k").model(model), prompt="Hi")

    url = prepare(asked, streaming=streaming).url
    assert url == f"https://generativelanguage.googleapis.com/v1beta{path}"


@pytest.mark.parametrize(
    ("base_url", "before"),
    [
        ("https://h", "https://h/v1beta"),
        ("https://h/", "https://h/v1beta"),
        ("https://h/v1alpha", "https://h/v1alpha"),
        ("https://h/proxy/v1beta/", "https://h/proxy/v1beta"),
    ],
)
def test_a_base_url_without_a_version_gets_one(base_url: str, before: str) -> None:
    """A host alone gets the usual version."""
    asked = request(model=Google.configure(api_key="k", base_url=base_url).model("m"), prompt="Hi")

    assert prepare(asked).url == f"{before}/models/m:generateContent"
    assert prepare(asked, streaming=True).url == f"{before}/models/m:streamGenerateContent?alt=sse"


def test_gemini_api_key_wins_over_google_api_key() -> None:
    """GEMINI_API_KEY counts where both are set."""
    asked = request(model=Google.configure().model("m"), prompt="Hi")
    other = prepare(asked, environ={"GOOGLE_API_KEY": "b"})
    both = prepare(asked, environ={"GOOGLE_API_KEY": "b", "GEMINI_API_KEY": "a"})

    assert other.http.headers["x-goog-api-key"] == "b"
    assert both.http.headers["x-goog-api-key"] == "a"
