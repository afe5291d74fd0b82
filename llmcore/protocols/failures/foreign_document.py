"""Answers in the language of another API: what a server sends that speaks another protocol.

Sources: each API's own documents, named in its package; read November 2026.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from llmcore.schema.errors import StreamError


def foreign_document(document: Mapping[str, Any], asked: str) -> StreamError | None:
    """Return the error for a frame or a body of another API than *asked*, a protocol's id.

    None for one that is not recognized. Asking such a server again would change nothing, so the
    error is not retryable.
    """
    for protocol_id, (name, use, is_its_own) in _APIS.items():
        if protocol_id != asked and is_its_own(document):
            message = (
                f"this server speaks {name}, not {_APIS[asked][0]}: {use}, or check its base_url"
            )
            return StreamError(message, retryable=False, raw=dict(document))
    return None


def _is_chat(document: Mapping[str, Any]) -> bool:
    kind = document.get("object")
    if isinstance(kind, str) and kind.startswith("chat.completion"):
        return True
    choices = document.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def _is_responses(document: Mapping[str, Any]) -> bool:
    kind = document.get("type")
    return document.get("object") == "response" or (
        isinstance(kind, str) and kind.startswith("response.")
    )


_MESSAGES: Final = frozenset({"message_start", "content_block_start", "content_block_delta"})


def _is_messages(document: Mapping[str, Any]) -> bool:
    kind = document.get("type")
    if kind == "message":
        return isinstance(document.get("content"), list)
    return isinstance(kind, str) and kind in _MESSAGES


def _is_gemini(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("candidates"), list)


_APIS: Final[Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], bool]]]] = {
    "openai-chat": (
        "Chat Completions",
        "use OpenAI.configure(...).chat(model), or OpenAICompatible",
        _is_chat,
    ),
    "openai-responses": (
        "the Responses API",
        "use OpenAI.configure(...).responses(model)",
        _is_responses,
    ),
    "anthropic-messages": (
        "the Messages API",
        "use Anthropic.configure(base_url=...)",
        _is_messages,
    ),
    "gemini": ("the Gemini API", "use Google.configure(base_url=...)", _is_gemini),
}
"""By protocol id: the API's name, what to use for it, and how its frames and bodies are known."""
