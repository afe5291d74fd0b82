"""Mistral's facade: `llmcore/routes/mistral.py`."""

from llmcore.routes.auth import AuthContext
from llmcore.routes.mistral import Mistral
from llmcore.routes.route import Route
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import request


def test_responses_share_chats_configuration_and_leave_out_what_mistral_has_no_parameter_for() -> (
    None
):
    """Nothing is stored, encrypted reasoning is not requested, and efforts are those of Chat."""
    model = Mistral.configure(base_url="https://h/v1").responses("mistral-medium-latest")
    assert isinstance(model.route, Route)
    asked = request(
        model=model,
        prompt="Hi",
        reasoning_effort="low",
        service_tier="priority",
        metadata={"trace": "1"},
        cache=CachePolicy(key="ada", retention="24h"),
    )
    context = AuthContext(environ={"MISTRAL_API_KEY": "k"})
    ready = model.route.prepare(asked, streaming=False, context=context).unwrap()

    assert ready.url == "https://h/v1/responses"
    assert ready.http.headers["authorization"] == "Bearer k"
    assert (model.provider, ready.body["store"]) == ("mistral", False)
    assert (ready.body["prompt_cache_key"], ready.body["metadata"]) == ("ada", {"trace": "1"})
    assert ready.body.keys().isdisjoint({"include", "service_tier", "prompt_cache_retention"})
    assert ready.body["reasoning"]["effort"] == "high"
    paths = {note.path for note in ready.diagnostics}
    assert paths == {"cache.retention", "generation.service_tier", "reasoning.effort"}
