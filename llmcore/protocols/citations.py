"""Old names of `lowering`."""

from llmcore.protocols.lowering import native_citations

__all__ = ["native_citations"]
