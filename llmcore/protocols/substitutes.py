"""Old names of `lowering`."""

from llmcore.protocols.lowering import document_text, file_name, tagged_text
from llmcore.protocols.lowering import omitted_text as left_out

__all__ = ["document_text", "file_name", "left_out", "tagged_text"]
