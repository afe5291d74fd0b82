"""Gemini: building the request body.

Source: https://ai.google.dev/api/generate-content, read November 2026. The model and the choice
between a stream and a whole response are in the path, so both have the same body.

Provider options are laid over the body by their native names. Fields of `generationConfig`
(`thinkingConfig`, `responseModalities`, `speechConfig`, ...) may be at the top and are moved
into it.
"""

from typing import Final, cast

from attrs import evolve

from llmcore.protocols.forced_format import format_in_words, with_description
from llmcore.protocols.gemini import names
from llmcore.protocols.gemini.messages import lower_messages, target_of
from llmcore.protocols.gemini.models import LEVELS, GeminiDialect, GeminiRules, rules_of
from llmcore.protocols.gemini.names import METADATA_KEY, GeminiBody
from llmcore.protocols.gemini.tools import lower_tools
from llmcore.protocols.lowering import check_least, is_unset, lower_service_tier
from llmcore.protocols.protocol import Built, TokenCounting, collect_diagnostics
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonValue, NativeObject, present
from llmcore.schema.options import ReasoningOptions, merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.schema.tools import HostedTool

_OPTION_KEYS: Final = ("gemini", METADATA_KEY)

_COUNTED_ON_VERTEX: Final = ("contents", "systemInstruction", "tools", "generationConfig")

COUNTING: Final = TokenCounting(
    endpoint=":generateContent",
    target=":countTokens",
    wrap=lambda body, model_id: {"generateContentRequest": {"model": f"models/{model_id}", **body}},
    count="totalTokens",
)
"""Source: https://ai.google.dev/api/tokens, read November 2026."""

COUNTING_ON_VERTEX: Final = TokenCounting(
    endpoint=":generateContent",
    target=":countTokens",
    fields=_COUNTED_ON_VERTEX,
    count="totalTokens",
)
"""Source: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens,
read November 2026."""


def from_request(
    request: LLMRequest, stream: bool, dialect: GeminiDialect
) -> Result[Built[GeminiBody], LLMError]:
    """Build the body of *request*; it is the same for a stream."""
    built = collect_diagnostics(
        lambda diagnostics: cast("GeminiBody", _lower(request, dialect, diagnostics))
    )
    tier = names.SERVICE_TIERS.get(request.generation.service_tier or "")
    if not dialect.tier_header or tier in (None, "standard"):
        return built
    headers = {dialect.tier_header: str(tier)}
    return built.map(lambda made: evolve(made, headers=headers))


def _lower(request: LLMRequest, dialect: GeminiDialect, diagnostics: Diagnostics) -> NativeObject:
    rules = rules_of(request.model_id)
    target = target_of(request, rules)
    format_fields, words = lower_response_format(request, rules, diagnostics)
    system, contents = lower_messages(request, target, words, diagnostics)
    lowered = lower_tools(request, rules, dialect, target.keys, diagnostics)
    body: NativeObject = {
        "systemInstruction": {"parts": system} if system else None,
        "contents": contents,
        "tools": lowered.tools or None,
        "toolConfig": lowered.config or None,
        "generationConfig": lower_generation(request, rules, diagnostics, format_fields) or None,
        "labels": _lower_metadata(request, dialect, diagnostics) or None,
        "cachedContent": None if request.cache.content is None else request.cache.content.name,
        "serviceTier": None
        if dialect.tier_header
        else lower_service_tier(request, names.SERVICE_TIERS, diagnostics),
    }
    _note_caching(request, diagnostics)
    return _with_options(present(body), request, diagnostics)


def _with_options(
    body: NativeObject, request: LLMRequest, diagnostics: Diagnostics
) -> NativeObject:
    """Lay the caller's native fields over *body*.

    A stored context (`cachedContent`) has instructions and tools of its own, and the service
    refuses a request that brings them again.
    """
    options: dict[str, JsonValue] = {}
    moved: dict[str, JsonValue] = {}
    for name, value in request.options_for(*_OPTION_KEYS, request.provider_id).items():
        (moved if name in names.GENERATION_FIELDS else options)[name] = value
    merged = merge_json(body, {"generationConfig": moved} if moved else {})
    merged = dict(merge_json(merged, options))
    if merged.get("cachedContent"):
        for name in ("systemInstruction", "tools", "toolConfig"):
            if merged.pop(name, None) is not None:
                why = "the cached content has its own, and the request may not set others"
                diagnostics.at(name).dropped("cached-content", why)
    return merged


# -- the shape of the response


def lower_response_format(
    request: LLMRequest, rules: GeminiRules, diagnostics: Diagnostics
) -> tuple[NativeObject, list[str]]:
    """Return the fields of `generationConfig`, and words for what the model does not enforce."""
    response_format = request.response_format
    if response_format is None or response_format.type == "text":
        return {}, []
    if rules.words_only:
        why = "the model cannot be held to JSON"
        return {}, [format_in_words(response_format, why, diagnostics)]
    functions = any(not isinstance(tool, HostedTool) for tool in request.tools)
    if request.tools and not rules.json_beside_tools:
        kind = "functions" if functions else "tools of the service"
        why = f"the model cannot be held to JSON beside {kind}"
        return {}, [format_in_words(response_format, why, diagnostics)]
    fields: NativeObject = {"responseMimeType": "application/json"}
    if response_format.schema is None:
        return fields, []
    given = with_description(response_format.schema, response_format)
    projected = project(given, SchemaTarget.GEMINI_JSON_SCHEMA, "response_format.schema")
    diagnostics.extend(projected.diagnostics)
    fields["responseJsonSchema"] = projected.schema
    return fields, []


# -- parameters


def lower_generation(
    request: LLMRequest, rules: GeminiRules, diagnostics: Diagnostics, format_fields: NativeObject
) -> NativeObject:
    """Return `generationConfig`: sampling, limits, the response's format, thinking."""
    options = request.generation
    if is_unset(options) and request.reasoning is None:
        return format_fields
    check_least(options, names.LEAST)
    given = {name: getattr(options, name) for name in names.PARAMETERS}
    given["stop"] = list(options.stop) or None
    if options.logprobs is False:
        given["top_logprobs"] = None
    elif options.top_logprobs is not None:
        given["logprobs"] = True
    for name in () if rules.sampling else ("temperature", "top_p", "top_k"):
        if given.pop(name) is not None:
            diagnostics.at(f"generation.{name}").unsupported("the model ignores it")
    return present(
        {
            **{names.PARAMETERS[name]: value for name, value in given.items()},
            **format_fields,
            "thinkingConfig": lower_reasoning(request, rules, diagnostics) or None,
        }
    )


def _lower_metadata(
    request: LLMRequest, dialect: GeminiDialect, diagnostics: Diagnostics
) -> NativeObject:
    if request.metadata and not dialect.labels:
        diagnostics.at("metadata").unsupported("the service accepts no labels")
        return {}
    return dict(request.metadata)


def _note_caching(request: LLMRequest, diagnostics: Diagnostics) -> None:
    """Report the cache options that are not sent: the service caches prefixes by itself."""
    for name in ("key", "retention", "ttl"):
        if getattr(request.cache, name) is not None:
            why = "prefixes are cached automatically; use CachePolicy(content=...) for stored ones"
            diagnostics.at(f"cache.{name}").unsupported(why)


# -- how much to think

_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TOKENS: Final = {"minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}
_AUTOMATIC: Final = -1
"""The budget by which the model decides itself."""


def lower_reasoning(
    request: LLMRequest, rules: GeminiRules, diagnostics: Diagnostics
) -> NativeObject:
    """Return `thinkingConfig`; empty where the request has no reasoning options.

    Models from 3 on take a `thinkingLevel`, 2.5 a `thinkingBudget`, and never both. Sources, read
    November 2026: https://ai.google.dev/gemini-api/docs/thinking, and for what an effort is in
    tokens on 2.5 https://ai.google.dev/gemini-api/docs/openai (thinking).
    """
    reasoning = request.reasoning
    if reasoning is None:
        return {}
    if rules.thinking == "none":
        diagnostics.at("reasoning").unsupported("the model does not think")
        return {}
    lower = _lower_level if rules.thinking == "level" else _lower_budget
    config = lower(reasoning, rules, diagnostics)
    if reasoning.summary is not None:
        config["includeThoughts"] = reasoning.summary != "none"
    if reasoning.summary in ("concise", "detailed"):
        why = "thoughts are summarised in one way only"
        diagnostics.at("reasoning.summary").changed("unsupported-parameter", why)
    return config


def _lower_level(
    reasoning: ReasoningOptions, rules: GeminiRules, diagnostics: Diagnostics
) -> NativeObject:
    if reasoning.effort is None:
        if reasoning.budget_tokens is None:
            return {}
        if rules.takes_budget:
            return {"thinkingBudget": reasoning.budget_tokens}
        why = "the model accepts an effort, not a number of tokens"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
        return {}
    if reasoning.budget_tokens is not None:
        why = "the model accepts a level or a budget: the effort is sent"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
    level = _level(reasoning.effort, rules)
    if reasoning.effort in _EFFORTS and level != reasoning.effort.upper():
        why = f"the model has no such level; {level} is the nearest"
        code = "reasoning-not-off" if reasoning.effort == "none" else "reasoning-effort-changed"
        diagnostics.at("reasoning.effort").changed(code, why)
    return {"thinkingLevel": level}


def _level(effort: str, rules: GeminiRules) -> str:
    """Return the model's level for *effort*: the next above it, or its highest."""
    if effort not in _EFFORTS:
        return effort.upper()
    least = max(_EFFORTS.index(effort) - 1, 0)
    enough = (level for level in rules.levels if LEVELS.index(level) >= least)
    return next(enough, rules.levels[-1])


def _lower_budget(
    reasoning: ReasoningOptions, rules: GeminiRules, diagnostics: Diagnostics
) -> NativeObject:
    least, most = rules.budgets
    if reasoning.budget_tokens is not None:
        requested, path = reasoning.budget_tokens, "reasoning.budget_tokens"
        if reasoning.effort is not None:
            why = "the model accepts a token budget, and budget_tokens is set too"
            diagnostics.at("reasoning.effort").unsupported(why)
    elif reasoning.effort is not None:
        path = "reasoning.effort"
        requested = 0 if reasoning.effort == "none" else _TOKENS.get(reasoning.effort, most)
        if reasoning.effort not in _EFFORTS:
            diagnostics.at(path).changed(
                "unsupported-parameter", "not a word the model has a budget for"
            )
            requested = _AUTOMATIC
    else:
        return {}
    budget = _within(requested, least, most, off=not rules.thinks_always)
    if budget != requested:
        why = f"the model thinks between {least} and {most} tokens: {budget} is sent"
        diagnostics.at(path).changed("unsupported-parameter", why)
    return {"thinkingBudget": budget}


def _within(requested: int, least: int, most: int, *, off: bool) -> int:
    if requested == _AUTOMATIC or (requested == 0 and off):
        return requested
    return min(max(requested, least), most)
