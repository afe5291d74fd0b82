"""Old names of `media`."""

from llmcore.protocols.media import decode_pieces

__all__ = ["decode_pieces"]
