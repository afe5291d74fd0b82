"""A line of Claude Code's system prompt that changes with each request and only Anthropic reads.

Claude Code begins its system prompt with `x-anthropic-billing-header: cc_version=...; cch=...;`.
Any other server would read a new prompt each time, and never find the conversation in its cache
(https://github.com/ggml-org/llama.cpp/pull/19494).
"""

import re
from typing import Final

from attrs import evolve

from llmcore.fronts.front import Upstream
from llmcore.protocols.anthropic_messages.names import PROTOCOL_ID as MESSAGES
from llmcore.schema.content import ContentPart, TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

_LINE: Final = re.compile(r"^x-anthropic-billing-header:[^\n]*(\n|$)", re.IGNORECASE | re.MULTILINE)
_NAME: Final = "x-anthropic-billing-header"
_INSTRUCTING: Final = frozenset({"developer", "system"})


def without_billing_line(
    request: LLMRequest, upstream: Upstream, diagnostics: Diagnostics
) -> LLMRequest:
    """Return *request* without the line in its instructions, unless *upstream* reads it."""
    if upstream.protocol_id == MESSAGES:
        return request
    system = tuple(_cleaned(part) for part in request.system)
    messages = tuple(
        [_cleaned_message(m) if m.role in _INSTRUCTING else m for m in request.messages]
    )
    if system == request.system and messages == request.messages:
        return request
    diagnostics.at("instructions").dropped(
        "volatile-text-dropped", f"{_NAME} is for Anthropic alone"
    )
    return evolve(
        request,
        system=tuple(part for part in system if part.text),
        messages=tuple(message for message in messages if message.content),
    )


def _cleaned_message(message: Message) -> Message:
    if not any(map(_has_line, message.content)):
        return message
    parts = (_cleaned(part) if isinstance(part, TextPart) else part for part in message.content)
    kept = tuple(part for part in parts if not isinstance(part, TextPart) or part.text)
    return evolve(message, content=kept)


def _has_line(part: ContentPart) -> bool:
    return isinstance(part, TextPart) and _NAME in part.text.lower()


def _cleaned(part: TextPart) -> TextPart:
    return evolve(part, text=_LINE.sub("", part.text)) if _has_line(part) else part
