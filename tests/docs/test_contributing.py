"""The endpoints that CONTRIBUTING.md adds to the gateway."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llmcore.bridge.api import Operation, posted
from llmcore.bridge.apis import registry
from llmcore.bridge.apis.registry import MESSAGES
from llmcore.bridge.generation import Generation
from llmcore.bridge.service import Service
from llmcore.fronts.front import front_by_id
from llmcore.testing import scripted
from tests.support.servers.bridge_service import asked, settings_for
from tests.support.servers.loopback import chat_chunk

CONTRIBUTING = Path(__file__).parent.parent.parent / "CONTRIBUTING.md"
ENDPOINT = CONTRIBUTING.read_text().partition("## Add an endpoint")[2]


@pytest.fixture
def guide(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the guide's code defines; its endpoints are served beside the lists of models."""
    namespace: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", ENDPOINT, re.DOTALL):
        exec(compile(block, str(CONTRIBUTING), "exec"), namespace)
    model_operations = registry._model_operations

    def with_guides(service: Service) -> tuple[Operation, ...]:
        front = front_by_id(MESSAGES)
        messages = Generation(front, service, format_field="output_config.format")
        summarize = partial(namespace["summarize"], messages)
        summary = posted("summary", "/messages/summary", summarize)
        return (*model_operations(service), namespace["WHOAMI"], summary)

    monkeypatch.setattr(registry, "_model_operations", with_guides)
    return namespace


@pytest.mark.anyio
async def test_the_endpoint_of_the_guide_passes_its_own_test(
    guide: dict[str, Any], tmp_path: Path
) -> None:
    await guide["test_an_issued_key_has_its_name"](tmp_path)


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
async def test_the_guides_summary_is_made_from_a_models_response(
    guide: dict[str, Any], *, stream: bool
) -> None:
    """Also where the request asks for a stream."""
    chunks = [chat_chunk(delta={"content": "They count."}), chat_chunk(finish_reason="stop")]
    transport = scripted(b"".join(chunks))
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "One."}]}
    async with asked(settings_for("http://h"), transport) as client:
        answer = await client.post("/v1/messages/summary", json={**body, "stream": stream})

    assert answer.json() == {"summary": "They count."}
    assert b"Summarize the conversation." in transport.requests[0].body
