"""The path of a call."""

import pytest

from llmcore.protocols.bedrock_converse import converse_path
from llmcore.routes.endpoint import Endpoint, EndpointContext
from tests.support.wire.bedrock import CLAUDE, PROFILE


@pytest.mark.parametrize(
    ("model", "segment"),
    [
        ("amazon.nova-lite-v1:0", "amazon.nova-lite-v1%3A0"),
        (CLAUDE, "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"),
        ("eu.anthropic.claude-sonnet-4-6", "eu.anthropic.claude-sonnet-4-6"),
        (PROFILE, PROFILE.replace(":", "%3A").replace("/", "%2F")),
        ("../x?y#z", "..%2Fx%3Fy%23z"),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
def test_the_model_is_one_segment(model: str, segment: str, streaming: bool) -> None:
    """Ids and ARNs are encoded whole; the last segment says whether the response is streamed."""
    endpoint = Endpoint.path(converse_path, base_url="https://bedrock-runtime.x.amazonaws.com")
    context = EndpointContext(model_id=model, body={}, streaming=streaming)

    last = "converse-stream" if streaming else "converse"
    assert endpoint.url(context).unwrap() == (
        f"https://bedrock-runtime.x.amazonaws.com/model/{segment}/{last}"
    )
