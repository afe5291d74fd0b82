"""How a message ends: stop reason and token counts.

    {"stop_reason": "tool_use", "stop_sequence": null}
    {"input_tokens": 200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1000,
     "output_tokens": 90}

`input_tokens` counts what was neither read from the cache nor written to it. Sources, read November
2026: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons,
https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.finishing import finish_kind, stop_sequence, token_counts, words_of_end
from llmcore.protocols.anthropic_messages import names
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID
from llmcore.schema.events import Finish, FinishReasonKind, StreamStart, TextEnd, TextStart
from llmcore.schema.json import present
from llmcore.schema.native_json import object_or_empty, str_or_none
from llmcore.schema.usage import Usage

# -- stop reasons

_STOP_REASONS: Final[Mapping[FinishReasonKind, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "other": "end_turn",
}
_NO_DETAILS: Final = {"type": "refusal", "category": None, "explanation": None}


def stop_fields(
    event: Finish,
    native: Mapping[str, Any],
    sequences: Sequence[str],
    *,
    called: bool,
) -> dict[str, Any]:
    """Return why the message ended. *native* are the fields of a response of Anthropic's own.

    The upstream's own word is kept if it is one of the API's and makes the client do what the
    response requires. Other upstreams may name which of the client's *sequences* ended it.
    `refusal` means that a filter intervened, and clients then discard the text; the words in which
    a model itself declines end its turn like others:
    https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
    """
    reason = event.finish_reason
    kind = finish_kind(reason, called=called)
    word = _STOP_REASONS.get(kind, "end_turn")
    if reason.raw is not None and names.FINISH_REASONS.get(reason.raw) == kind == reason.reason:
        word = reason.raw
    sequence = stop_sequence(event, sequences) or str_or_none(native.get("stop_sequence"))
    if word == "end_turn" and kind == "stop" and sequence in sequences:
        word = "stop_sequence"
    fields: dict[str, Any] = {
        "stop_reason": word,
        "stop_sequence": sequence if word == "stop_sequence" else None,
    }
    if word == "refusal":
        words = {**_NO_DETAILS, "explanation": words_of_end(event)}
        fields["stop_details"] = object_or_empty(native.get("stop_details")) or words
    return fields


def is_explanation(event: TextStart | TextEnd) -> bool:
    """Return whether a text is Anthropic's explanation of a refusal, shown as `stop_details`."""
    return "stop_details" in event.provider_metadata.get(METADATA_KEY, {})


def container_fields(native: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return further fields of the message: those inside the last delta, and those beside it."""
    inside = present({"container": native.get("container")})
    beside = present({name: native.get(name) for name in _BESIDE})
    return inside, beside


_BESIDE: Final = ("context_management", "input_transformations")
"""Fields of `message_delta` for changes that the server made to the request: the `anthropic`
package, 2.14.0 (`BetaRawMessageDeltaEvent`)."""


OWN_FACTS: Final = frozenset(
    {*_BESIDE, "container", "diagnostics", "inference_geo", "speed"}
    | {"stop_details", "stop_sequence"}
)
"""All facts of Anthropic's responses that are written; some are among the counts."""


# -- token counts


def starting_usage(start: StreamStart, estimate: int) -> dict[str, Any]:
    """Return the counts at the beginning of a message.

    *estimate* is the input where the upstream has not counted it yet: some clients, such as
    LangChain's for JavaScript, read the input here alone. What is not a count is read here alone,
    too: the SDKs take nothing but counts from the end of a stream (`accumulate_event`).
    """
    usage, counts = start.usage, token_counts(start.usage)
    stated: dict[str, Any] = {}
    if start.protocol == PROTOCOL_ID:
        raw = object_or_empty(None if usage is None else usage.raw)
        stated = present({name: raw.get(name) for name in _AT_START})
    elif usage is not None and usage.service_tier in TIERS:
        stated = {"service_tier": TIERS[usage.service_tier]}
    return {
        names.INPUT_TOKENS: counts.uncached_input if counts and counts.input else estimate,
        names.CACHE_WRITE_TOKENS: counts.cache_write if counts else 0,
        names.CACHE_READ_TOKENS: counts.cache_read if counts else 0,
        names.OUTPUT_TOKENS: 0,
        **stated,
    }


_AT_START: Final = ("cache_creation", "inference_geo", "service_tier")
TIERS: Final = {"default": "standard", "priority": "priority", "batch": "batch"}
"""`service_tier` of a response, by that of `Usage`."""


_NO_TOOLS: Final = {"web_search_requests": 0, "web_fetch_requests": 0}
"""Both are always there by the SDKs; servers that imitate the API have the first one alone."""


def usage_fields(
    usage: Usage | None, start: StreamStart | None, *, searches: int
) -> dict[str, Any]:
    """Return the token counts of the whole message; those of Anthropic's responses unchanged.

    Where the end counts no input, the counts of the beginning are kept: clients take those of the
    `message_delta` for the better ones.
    """
    counts = token_counts(usage)
    if usage is None or counts is None:
        return {names.OUTPUT_TOKENS: 0}
    began = token_counts(start.usage) if start is not None else None
    prompt = counts if counts.input or began is None else began
    fields: dict[str, Any] = {
        names.INPUT_TOKENS: prompt.uncached_input,
        names.CACHE_WRITE_TOKENS: prompt.cache_write,
        names.CACHE_READ_TOKENS: prompt.cache_read,
        names.OUTPUT_TOKENS: counts.output,
    }
    if usage.cache_write_1h_tokens is not None:
        fields["cache_creation"] = {
            "ephemeral_5m_input_tokens": prompt.cache_write - prompt.cache_write_1h,
            "ephemeral_1h_input_tokens": prompt.cache_write_1h,
        }
    if usage.reasoning_tokens is not None:
        fields["output_tokens_details"] = {"thinking_tokens": counts.reasoning}
    if start is not None and start.protocol == PROTOCOL_ID:
        raw = object_or_empty(usage.raw)
        fields |= present(raw, but=fields)
        if isinstance(used := fields.get("server_tool_use"), dict):
            fields["server_tool_use"] = {**_NO_TOOLS, **used}
        return fields
    if usage.service_tier in TIERS:
        fields["service_tier"] = TIERS[usage.service_tier]
    if searches:
        fields["server_tool_use"] = {**_NO_TOOLS, "web_search_requests": searches}
    return fields
