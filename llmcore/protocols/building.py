"""Old names of `diagnostics`."""

from llmcore.protocols.diagnostics import collect_diagnostics as build

__all__ = ["build"]
