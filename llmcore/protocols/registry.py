"""The protocols by their ids, each imported when it is first asked for."""

from importlib import import_module
from typing import Any

from llmcore.protocols.protocol import Protocol
from llmcore.schema.errors import ConfigurationError

_MODULES = {
    "openai-chat": "llmcore.protocols.openai_chat",
    "openai-responses": "llmcore.protocols.openai_responses",
    "anthropic-messages": "llmcore.protocols.anthropic_messages",
    "gemini": "llmcore.protocols.gemini",
    "bedrock-converse": "llmcore.protocols.bedrock_converse",
}

PROTOCOL_IDS = tuple(_MODULES)


def protocol_by_id(protocol_id: str) -> Protocol[Any, Any, Any]:
    """Return the protocol called *protocol_id*, in its provider's own dialect.

    Raises ConfigurationError for an id that none has.
    """
    module = _MODULES.get(protocol_id)
    if module is None:
        known = ", ".join(PROTOCOL_IDS)
        raise ConfigurationError(f"no protocol is called {protocol_id!r}; there are {known}")
    protocol: Protocol[Any, Any, Any] = import_module(module).protocol
    return protocol
