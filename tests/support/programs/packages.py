"""Packages that seem not to be installed."""

import pytest

from llmcore.client.http import options


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let *package* seem not to be installed, for what HTTP needs it for."""
    installed = options._installed
    monkeypatch.setattr(options, "_installed", lambda name: name != package and installed(name))
