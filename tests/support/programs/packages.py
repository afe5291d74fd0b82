"""Packages that seem not to be installed."""

import importlib.util
import sys

import pytest


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let *packages* seem not to be installed."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in packages else find_spec(name)
    )
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)  # importing it raises ImportError
