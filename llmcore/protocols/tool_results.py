"""Old names of `lowering`."""

from llmcore.protocols.lowering import result_text

__all__ = ["result_text"]
