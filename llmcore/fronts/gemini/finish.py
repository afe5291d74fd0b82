"""The end of a response: why it ended, what it used, and the fields of its candidate.

Source: https://ai.google.dev/api/generate-content (FinishReason, UsageMetadata), read November
2026. `promptTokenCount` includes cached tokens, `candidatesTokenCount` excludes thoughts, and
`totalTokenCount` is their sum.

    {"promptTokenCount": 1200, "cachedContentTokenCount": 1000, "candidatesTokenCount": 60,
     "thoughtsTokenCount": 30, "totalTokenCount": 1290}
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts.finishing import finish_kind, token_counts
from llmcore.protocols.anthropic_messages.names import PAUSED
from llmcore.protocols.gemini.names import FINISH_REASONS, SERVICE_TIERS
from llmcore.schema.events import FinishReason, FinishReasonKind
from llmcore.schema.json import NativeObject
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.usage import Usage

_WORDS: Final[Mapping[FinishReasonKind, str]] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "other": "OTHER",
}


def finish_reason(reason: FinishReason, *, native: bool, called: bool) -> str | None:
    """Return `finishReason`; None where the upstream failed.

    A *native* upstream's own word is kept, also for a call that it could not make. A prompt that it
    blocked has no candidate to have one. A pause of Anthropic's tools is a stop, as the client
    can send the conversation back; Gemini's clients take `OTHER` for a failure.
    """
    raw = reason.raw or ""
    if native and raw and (raw in FINISH_REASONS or reason.reason == "other"):
        return raw
    if reason.raw == PAUSED:
        return "STOP"
    return _WORDS.get(finish_kind(reason, called=called))


_SHOWN: Final = ("promptFeedback", "modelStatus", "createTime")
_OF_RESPONSE: Final = frozenset({*_SHOWN, "sdkHttpResponse"})
"""Fields beside the candidates, and not in them."""


def response_end(native: Mapping[str, Any]) -> NativeObject:
    """Return the last fields beside the candidates; *native* are those of a Gemini upstream."""
    return {name: native[name] for name in _SHOWN if native.get(name)}


def candidate_end(word: str, native: Mapping[str, Any], grounding: NativeObject) -> NativeObject:
    """Return the last fields of the candidate; *native* are those of a Gemini upstream."""
    fields = {name: item for name, item in native.items() if name not in _OF_RESPONSE}
    if grounding and "groundingMetadata" not in fields:
        fields["groundingMetadata"] = grounding
    return {**fields, "finishReason": word}


def usage_metadata(usage: Usage | None, *, native: bool) -> NativeObject:
    """Return `usageMetadata`; empty if the upstream counted nothing."""
    raw = object_or_empty(usage.raw) if usage is not None else {}
    if native and "promptTokenCount" in raw:
        return dict(raw)
    counts = token_counts(usage)
    if counts is None or usage is None:
        return {}
    tier = SERVICE_TIERS.get(usage.service_tier or "")
    more = {"cachedContentTokenCount": counts.cache_read, "thoughtsTokenCount": counts.reasoning}
    return {
        "promptTokenCount": counts.input,
        "candidatesTokenCount": counts.visible_output,
        "totalTokenCount": counts.total,
        **{name: count for name, count in more.items() if count},
        **({"serviceTier": tier} if tier else {}),
    }
