"""Old names of `history`."""

from llmcore.protocols.history import LoweringContext as MessageTarget
from llmcore.protocols.history import native_provider_ids as native_keys

__all__ = ["MessageTarget", "native_keys"]
