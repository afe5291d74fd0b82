"""xAI's facade: `llmcore/routes/xai.py`."""

import pytest

from llmcore.routes.auth import AuthContext
from llmcore.routes.route import PreparedRequest, Route
from llmcore.routes.xai import XAI
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import request


def grok(model: Model) -> PreparedRequest:
    """Return the native request of a greeting that asks for everything xAI may not take."""
    assert isinstance(model.route, Route)
    asked = request(
        model=model,
        prompt="Hi",
        reasoning_effort="low",
        metadata={"trace": "1"},
        cache=CachePolicy(key="ada", retention="24h"),
    )
    context = AuthContext(environ={"XAI_API_KEY": "xai-1"})
    return model.route.prepare(asked, streaming=False, context=context).unwrap()


def test_responses_share_chats_configuration_over_another_path() -> None:
    """The same configuration, another path and protocol; unsupported options are reported."""
    xai = XAI.configure(base_url="https://h/v1", headers={"x-team": "blue"})
    ready = grok(xai.responses("grok-4.6"))

    assert ready.url == "https://h/v1/responses"
    assert ready.headers["x-team"] == "blue"
    assert ready.http.headers["authorization"] == "Bearer xai-1"
    assert ready.body["store"] is False
    assert ready.body["prompt_cache_key"] == "ada"
    assert {note.path for note in ready.diagnostics} == {"metadata", "cache.retention"}
    assert xai.responses("grok-4.6").provider == "xai"
    assert grok(xai.chat("grok-4.6")).url == "https://h/v1/chat/completions"


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("grok-4.6", True),
        ("grok-3-mini", True),
        ("grok-4-0709", False),
        ("grok-3", False),
        ("grok-build-0.1", False),
    ],
)
def test_effort_only_where_it_has_degrees(model: str, takes: bool) -> None:
    """Other models answer 400 to it; leaving it out is reported."""
    ready = grok(XAI.configure().responses(model))

    assert (ready.body.get("reasoning") == {"effort": "low"}) is takes
    assert any(note.path.startswith("reasoning") for note in ready.diagnostics) is not takes
