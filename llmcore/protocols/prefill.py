"""Old names of `lowering`."""

from llmcore.protocols.lowering import CONTINUE_TEXT as LAST_WORD
from llmcore.protocols.lowering import note_continue_message as note_last_word

__all__ = ["LAST_WORD", "note_last_word"]
