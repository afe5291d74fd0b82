"""The public names of llmcore.testing."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

import llmcore.testing

HEAVY = ["anyio", "attrs", "cattrs", "httpx", "orjson", "returns", "trio", "llmcore.schema"]


def test_every_public_name_is_there() -> None:
    """Each listed name imports; each importable name is listed."""
    assert dir(llmcore.testing) == sorted(llmcore.testing._HOME_OF)
    for name in llmcore.testing.__all__:
        assert getattr(llmcore.testing, name).__module__.startswith("llmcore.testing.")
        # A module of the same name would take the name's place as soon as it is imported.
        assert find_spec(f"llmcore.testing.{name}") is None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = llmcore.testing.nothing


def test_the_plugin_imports_next_to_nothing() -> None:
    """Every pytest run loads it, also those that never see a cassette."""
    code = (
        "import sys, pytest; before = set(sys.modules); import llmcore.testing.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )

    assert not [name for name in run.stdout.split() if name.startswith(tuple(HEAVY))]
    assert "llmcore.testing.pytest_plugin" in run.stdout
