"""Programs of the documentation name models that their providers go on serving."""

import re
from pathlib import Path

import pytest

from llmcore.catalog import get_model_info

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
_ID = re.compile(r'"(?:(?P<provider>\w+):)?(?P<model>[a-z]+-[a-z0-9.-]+)"')


def _named(file: Path) -> set[tuple[str | None, str]]:
    return {(found["provider"], found["model"]) for found in _ID.finditer(file.read_text("utf-8"))}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_program_names_a_deprecated_model(file: Path) -> None:
    infos = {name: get_model_info(name, provider) for provider, name in _named(file)}

    assert [name for name, info in infos.items() if info is not None and info.deprecated] == []


def test_ids_of_models_are_found() -> None:
    assert ("openai", "gpt-5.2") in _named(ROOT / "README.md")
