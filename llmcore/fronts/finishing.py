"""How a response ended and what it consumed, in terms that every API has."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import Finish, FinishReason, FinishReasonKind
from llmcore.schema.native_json import object_or_empty, objects
from llmcore.schema.usage import Usage

# -- finish reasons

_STILL_RUNNING: Final = frozenset({"queued", "in_progress"})
"""Statuses of a response that OpenAI continues in the background: what there is of it is cut off.
Source: https://developers.openai.com/api/docs/guides/background, read November 2026."""


def finish_kind(reason: FinishReason, *, called: bool) -> FinishReasonKind:
    """Return why a response ended, in terms of what its client does next.

    *called* is True if a call was written that the client has to run. Many servers end a response
    with calls as if it had none; and a client that runs tools without having received a call
    asks again, without an end.
    """
    kind = reason.reason
    if kind == "other" and reason.raw in _STILL_RUNNING:
        return "length"
    if not called:
        return "stop" if kind == "tool_calls" else kind
    return "tool_calls" if kind in ("stop", "other") else kind


def words_of_end(event: Finish) -> str | None:
    """Return the provider's words on why it stopped, which Gemini states beside its reason.

    They are in `finishMessage`, such as the call that was malformed, or in `blockReasonMessage`.
    Source: https://ai.google.dev/api/generate-content (`Candidate`), and Vertex AI's reference.
    """
    for native in event.provider_metadata.values():
        feedback = object_or_empty(native.get("promptFeedback"))
        words = native.get("finishMessage") or feedback.get("blockReasonMessage")
        if isinstance(words, str) and words:
            return words
    return None


def stop_sequence(event: Finish, sequences: Sequence[str]) -> str | None:
    """Return which of the client's *sequences* ended the response, where the upstream names it.

    Anthropic and Claude over Converse state it in `stop_sequence`, vLLM in `stop_reason` and SGLang
    in `matched_stop`, which may have the number of a token instead. Sources, read November 2026:
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
    (`additionalModelResponseFields`), https://docs.vllm.ai/en/latest/serving/
    openai_compatible_server.html, https://docs.sglang.ai/basic_usage/openai_api.html.
    """
    for native in event.provider_metadata.values() if sequences else ():
        of_model = object_or_empty(native.get("additionalModelResponseFields"))
        named = (native.get("stop_sequence"), of_model.get("stop_sequence"))
        for sequence in (*named, native.get("stop_reason"), native.get("matched_stop")):
            if isinstance(sequence, str) and sequence in sequences:
                return sequence
    return None


# -- what a provider states of a response besides

_BY_EVENTS: Final = frozenset(
    {"citationMetadata", "serviceTier", "service_tier", "urlContextMetadata"}
)
"""Facts whose content events have, too: sources, and the tier in `Usage`."""
_OF_SERVER: Final = frozenset(
    {"avgLogprobs", "createTime", "metrics", "native_finish_reason", "provider", "resume"}
    | {"system_fingerprint", "timings", "x_groq"}
)
"""Facts that identify a server and its response, as the id of the response does, or measure it:
every response of such a server has them."""
_FILTERS: Final = frozenset(
    {"content_filter_results", "content_filters", "prompt_filter_results", "safetyRatings"}
)
_HARMLESS: Final[Mapping[str, tuple[object, ...]]] = {
    "blocked": (False, None),
    "detected": (False, None),
    "filtered": (False, None),
    "probability": ("NEGLIGIBLE",),
    "severity": ("safe", "HARM_SEVERITY_NEGLIGIBLE"),
}
"""The values that filters of Azure and Google have in nearly all responses."""
_USUAL: Final[Mapping[str, tuple[object, ...]]] = {
    "performanceConfig": ({"latency": "standard"},),
    "inference_geo": ("global", "not_available"),
    "service_tier": ("auto", "default", "standard"),
    "speed": ("standard",),
}
"""Values that are those of nearly all responses."""
_INSIDE: Final[Mapping[str, frozenset[str]]] = {
    "groundingMetadata": frozenset({"groundingChunks", "groundingSupports", "webSearchQueries"}),
    "stop_details": frozenset({"explanation", "type"}),
}
"""Objects of which events have some fields, too: sources, and the text of a refusal."""


def report_unshown(
    event: Finish, shown: Container[str], diagnostics: Diagnostics, more: Sequence[str] = ()
) -> None:
    """Report the facts that a provider states, and that are none of those *shown*; and *more*."""
    names = [
        name
        for facts in event.provider_metadata.values()
        for name, value in _facts(facts)
        if not _is_empty(value)
        and value not in _USUAL.get(name, ())
        and not (name in _FILTERS and _is_harmless(value))
        and name.partition(".")[0] not in shown
    ]
    why = "the client's API has no field for what the upstream states here"
    for name in (*names, *more)[:_MAX_FACTS]:
        diagnostics.at(name[:_MAX_FACT]).dropped("response-field-dropped", why)


def _is_empty(value: Any) -> bool:
    """Return whether *value* states nothing, nor does anything inside it."""
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        return all(map(_is_empty, inner))
    return value in (None, "")


def _is_harmless(value: Any) -> bool:
    """Return whether filters have found nothing."""
    if isinstance(value, list):
        return all(map(_is_harmless, value))
    return not isinstance(value, dict) or all(
        _is_harmless(inner) and (name not in _HARMLESS or inner in _HARMLESS[name])
        for name, inner in value.items()
    )


_MAX_FACTS: Final = 20
_MAX_FACT: Final = 100
"""Characters of a name."""


def unshown_counts(usage: Usage | None, tiers: Container[str]) -> list[str]:
    """Return the names of what only its provider counts, such as audio; and a tier not in *tiers*.

    The counts are details: the tokens of input and output are those that they are a part of.
    """
    if usage is None:
        return []
    tier, raw = usage.service_tier, object_or_empty(usage.raw)
    is_odd = tier is not None and tier not in tiers and tier not in _USUAL["service_tier"]
    return [
        *(["service_tier"] if is_odd else []),
        *(
            f"usage.{name}.{key}"
            for name, details in raw.items()
            for key, count in object_or_empty(details).items()
            if type(count) in (int, float)
            and count
            and key not in _COUNTED
            and name != "cost_details"
        ),
        *(f"usage.{name}" for name, details in raw.items() if _has_parts(objects(details))),
    ]


def _has_parts(counts: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a list of counts has others than one of text, or one of the whole.

    Gemini counts each modality, and Anthropic each of several requests that a response took.
    """
    return len(counts) > 1 or any(count.get("modality", "TEXT") != "TEXT" for count in counts)


_COUNTED: Final = frozenset(
    {"cache_creation_input_tokens", "cache_read_input_tokens", "cache_write_tokens"}
    | {"cached_tokens", "ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens"}
    | {"reasoning_tokens", "text_tokens", "thinking_tokens"}
)
"""Details that `Usage` has, and the rest beside them."""


def _facts(native: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in native.items():
        if name in _INSIDE:
            inner, known = object_or_empty(value).items(), _INSIDE[name]
            yield from ((f"{name}.{key}", one) for key, one in inner if key not in known)
        elif name not in _BY_EVENTS | _OF_SERVER:
            yield name, value


# -- usage


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one response as numbers that add up, none below 0.

    APIs whose usage cannot leave a number out show 0 for what the upstream did not count.
    """

    input: int
    """All input tokens, including those read from or written to a cache."""
    cache_read: int
    cache_write: int
    cache_write_1h: int
    """The part of `cache_write` that is kept for an hour."""
    output: int
    """All output tokens, including reasoning."""
    reasoning: int
    total: int

    @property
    def uncached_input(self) -> int:
        """The input that was neither read from a cache nor written to one."""
        return self.input - self.cache_read - self.cache_write

    @property
    def visible_output(self) -> int:
        """The output without reasoning."""
        return self.output - self.reasoning


def token_counts(usage: Usage | None) -> TokenCounts | None:
    """Return the counts of *usage*; None if the upstream counted neither input nor output.

    A part that exceeds its total is reduced to it, as where a server counts a token as read from
    the cache and as written to it.
    """
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    input_tokens = cached if usage.input_tokens is None else usage.input_tokens
    output_tokens = usage.output_tokens or 0
    read = min(input_tokens, usage.cache_read_tokens or 0)
    write = min(input_tokens - read, usage.cache_write_tokens or 0)
    return TokenCounts(
        input=input_tokens,
        cache_read=read,
        cache_write=write,
        cache_write_1h=min(write, usage.cache_write_1h_tokens or 0),
        output=output_tokens,
        reasoning=min(output_tokens, usage.reasoning_tokens or 0),
        total=input_tokens + output_tokens if usage.total_tokens is None else usage.total_tokens,
    )
