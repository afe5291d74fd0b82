"""Old names of `diagnostics`."""

from llmcore.protocols.diagnostics import Notes

__all__ = ["Notes"]
