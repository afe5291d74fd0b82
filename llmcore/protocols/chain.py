"""Old names of `answering`."""

from llmcore.protocols.answering import PersistentList as Chain
from llmcore.protocols.answering import to_list as unchain

__all__ = ["Chain", "unchain"]
