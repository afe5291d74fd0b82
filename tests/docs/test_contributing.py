"""The endpoint that CONTRIBUTING.md adds to the gateway, with its test."""

import re
from pathlib import Path
from typing import Any

import pytest

from llmcore.bridge.api import Operation
from llmcore.bridge.apis import registry

CONTRIBUTING = Path(__file__).parent.parent.parent / "CONTRIBUTING.md"
ENDPOINT = CONTRIBUTING.read_text().partition("## Add an endpoint")[2]


@pytest.mark.anyio
async def test_the_endpoint_of_the_guide_passes_its_own_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Served beside the lists of models, as the guide has it."""
    namespace: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", ENDPOINT, re.DOTALL):
        exec(compile(block, str(CONTRIBUTING), "exec"), namespace)
    model_operations = registry._model_operations

    def with_guides(askers: Any) -> tuple[Operation, ...]:
        return (*model_operations(askers), namespace["WHOAMI"])

    monkeypatch.setattr(registry, "_model_operations", with_guides)

    await namespace["test_an_issued_key_has_its_name"](tmp_path)
