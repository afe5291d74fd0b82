"""The tokens of a request: a count, and an estimate for providers that cannot count.

An estimate is meant to be too high rather than too low: a client that trusts a low count shortens
its conversation too late. No tokenizer is loaded; a thousand characters cost microseconds.
"""

import re
from collections.abc import Iterable
from typing import Final, cast

from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool

_ASCII_CHARS_PER_TOKEN: Final = 3.0
"""English prose has about 4.3, code 3 to 3.5: the least where digits and signs are few."""
_TOKENS_OF_CHARACTERS: Final = (
    (b"abcdefghijklmnopqrstuvwxyz", 0.28),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.5),
    (b"0123456789", 1.0),
    (b" \t\r\n", 0.25),
)
"""Tokens per character of texts with many digits and signs, such as JSON, tables and logs, in small
vocabularies. Some tokenizers have a token for each digit, others for three digits."""
_SIGN_TOKENS: Final = 0.8
"""Tokens for each other character of ASCII."""
_OTHER_TOKENS_PER_CHAR: Final = 0.8
"""Tokens for each character that takes two bytes of UTF-8."""
_WIDE_TOKENS_PER_CHAR: Final = 1.3
"""Tokens for each character that takes three or more bytes of UTF-8."""
_TEMPLATE_TOKENS: Final = 80
"""The system prompt that open models' chat templates add, such as that of gpt-oss."""
_MESSAGE_TOKENS: Final = 6
"""Tokens for the role and the delimiters of a message."""
_TOOLS_TOKENS: Final = 600
"""Tokens of the system prompt that offers tools: of the longest that was measured."""
_TOOL_TOKENS: Final = 12
"""Tokens around the content of a definition, a call or a result."""
_HOSTED_TOKENS: Final = 3000
"""Tokens of a tool that the provider defines, whose description the request does not have. What the
tool finds counts as input too, but is not known before the response."""
_IMAGE_TOKENS: Final = 1600
"""The most that Claude charges for one:
https://platform.claude.com/docs/en/build-with-claude/vision, read November 2026."""
_PAGE_TOKENS: Final = 3000
_BYTES_PER_PAGE: Final = 60_000
_AUDIO_BYTES_PER_TOKEN: Final = 250
"""32 tokens a second, of 8 kilobytes."""
_FILE_TOKENS: Final = 3000
"""For a file that is only named."""

_OTHER: Final = re.compile(r"[\x80-\u07ff]")
_WIDE: Final = re.compile(r"[^\x00-\u07ff]")

_ESTIMATED: Final = Diagnostic(
    "estimated-count",
    "messages",
    action="noted",
    message="the upstream counts no tokens: the number is an estimate, and rather high",
)


@frozen(kw_only=True)
class TokenCount:
    """The input tokens of a request."""

    tokens: int
    """The tokens of the instructions, messages and tools."""
    estimated: bool = False
    """True if the provider could not count them; such an estimate is rather too high."""
    context_window: int | None = None
    """The tokens of input and output together that the model takes; None if unknown."""

    @property
    def fits(self) -> bool | None:
        """Whether the input alone is within the context window; None if that is unknown."""
        return None if self.context_window is None else self.tokens <= self.context_window

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The note that the number is an estimate, if it is."""
        return (_ESTIMATED,) if self.estimated else ()


def overflow_note(tokens: int, window: int) -> Diagnostic:
    """Return the note that a request of about *tokens* is larger than the model's *window*."""
    return Diagnostic(
        "context-window-exceeded",
        "messages",
        action="noted",
        message=f"the request has about {tokens:,} tokens; the context window has {window:,}",
    )


def estimated_tokens(request: LLMRequest) -> int:
    """Return about how many input tokens *request* has: more rather than fewer."""
    prompts = _TEMPLATE_TOKENS
    if request.tools:
        prompts += _TOOLS_TOKENS
        prompts += sum(isinstance(tool, HostedTool) for tool in request.tools) * _HOSTED_TOKENS
    if request.response_format is not None and request.response_format.schema is not None:
        prompts += _TOOLS_TOKENS
    return estimated_own_tokens(request) + prompts


def estimated_own_tokens(request: LLMRequest) -> int:
    """Return about how many tokens the content of *request* has, without what a server adds to it.

    Which prompts for tools and formats a server adds is not known, and many add none.
    """
    total = sum(estimated_text_tokens(part.text) for part in request.system)
    total += sum(_MESSAGE_TOKENS + _parts(message.content) for message in request.messages)
    total += sum(_json(to_json(tool)) + _TOOL_TOKENS for tool in request.tools)
    form = request.response_format
    if form is not None and form.schema is not None:
        total += _json(form.schema)
    return max(1, round(total) + cached_tokens(request))


def cached_tokens(request: LLMRequest) -> int:
    """Return the tokens of the cached content that *request* begins with; 0 where none is known."""
    content = request.cache.content
    return 0 if content is None else content.total_tokens or 0


def estimated_content_tokens(parts: Iterable[ContentPart]) -> int:
    """Return about how many tokens the content of a message has: more rather than fewer."""
    return round(_parts(parts))


def _parts(parts: Iterable[ContentPart]) -> float:
    return sum(map(_part, parts))


def _part(part: ContentPart) -> float:
    match part:
        case TextPart() | ReasoningPart() | RefusalPart():
            return estimated_text_tokens(part.text)
        case ImagePart():
            return _IMAGE_TOKENS
        case AudioPart(data=data):
            return _FILE_TOKENS if data is None else len(data) / _AUDIO_BYTES_PER_TOKEN
        case DocumentPart(data=data, media_type=kind):
            if data is not None and (kind or "").startswith("text/"):
                return estimated_text_tokens(data.decode("utf-8", "replace"))
            if data is None:
                return _FILE_TOKENS
            # a PDF: the pages that it names, or else by its size
            pages = len(_PAGE.findall(data)) or 1 + len(data) // _BYTES_PER_PAGE
            return pages * _PAGE_TOKENS
        case ToolCallPart():
            return _TOOL_TOKENS + estimated_text_tokens(part.name) + _json(part.arguments)
        case ToolResultPart():
            if part.parts:
                return _TOOL_TOKENS + _parts(part.parts)
            given = part.content
            return _TOOL_TOKENS + (
                estimated_text_tokens(given) if isinstance(given, str) else _json(given)
            )
        case ProviderPart():
            return _json(part.data)


_PAGE: Final = re.compile(rb"/Type\s*/Page\b")


def _json(value: object) -> float:
    return estimated_text_tokens(json.dumps(cast("JsonValue", value)).decode())


def estimated_text_tokens(text: str) -> float:
    """Return about how many tokens *text* has: more rather than fewer."""
    other = wide = 0
    if not text.isascii():
        other, wide = len(_OTHER.findall(text)), len(_WIDE.findall(text))
    return (
        _ascii_text(text.encode("ascii", "ignore"))
        + other * _OTHER_TOKENS_PER_CHAR
        + wide * _WIDE_TOKENS_PER_CHAR
    )


def _ascii_text(text: bytes) -> float:
    """Return the tokens of ASCII *text*, by its length or its characters, whichever gives more."""
    by_character, rest = 0.0, text
    for characters, tokens in _TOKENS_OF_CHARACTERS:
        remaining = rest.translate(None, characters)
        by_character += (len(rest) - len(remaining)) * tokens
        rest = remaining
    return max(len(text) / _ASCII_CHARS_PER_TOKEN, by_character + len(rest) * _SIGN_TOKENS)
