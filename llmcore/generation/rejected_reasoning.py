"""Removes encrypted reasoning that the provider cannot decrypt from a conversation.

Encrypted reasoning is valid only for the account, organisation and deployment that made it. After
a change of these the provider rejects the whole conversation (OpenAI: 400
`invalid_encrypted_content`).
"""

from collections.abc import Mapping

from attrs import evolve

from llmcore.protocols.openai_responses.names import REJECTED_REASONING
from llmcore.schema.content import ContentPart, ProviderPart, ReasoningPart
from llmcore.schema.errors import LLMError, ProviderError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest


def is_rejected_reasoning(error: LLMError) -> bool:
    """Return whether *error* states that encrypted reasoning cannot be decrypted."""
    if not isinstance(error, ProviderError):
        return False
    return REJECTED_REASONING.search(f"{error.error_code} {error.message}") is not None


def without_opaque_reasoning(request: LLMRequest) -> LLMRequest:
    """Return *request* with its reasoning stripped of encrypted data, signatures and item ids.

    Native items of reasoning are left out whole.

    The text stays; if the provider does not accept it without a signature, history repair drops
    it and reports a Diagnostic.
    """
    return evolve(request, messages=tuple(map(_readable, request.messages)))


def _readable(message: Message) -> Message:
    if not any(isinstance(part, ReasoningPart) or _is_native(part) for part in message.content):
        return message
    kept = (part for part in message.content if not _is_native(part))
    return evolve(message, content=tuple(map(_without_opaque, kept)))


def _is_native(part: ContentPart) -> bool:
    """Return whether *part* is a native item of reasoning with encrypted data."""
    if not isinstance(part, ProviderPart) or not isinstance(part.data, Mapping):
        return False
    return part.data.get("type") == "reasoning" and part.data.get("encrypted_content") is not None


def _without_opaque(part: ContentPart) -> ContentPart:
    if not isinstance(part, ReasoningPart):
        return part
    return evolve(part, signature=None, encrypted=None, provider_metadata={})
