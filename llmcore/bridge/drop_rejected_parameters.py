"""One more try without a parameter that the upstream refuses by its name.

Only where the policy lists the parameter, and only before anything was sent to the client.
Names are those of the request to the gateway.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from attrs import evolve

from llmcore.bridge.configuration.settings import RETRY_WITHOUT
from llmcore.bridge.rejected_betas import HEADER, without_rejected_betas
from llmcore.fronts.policy import TranslationPolicy
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.json import text_or_json
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import LLMRequest

_NATIVE_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "max_output_tokens": ("max_output_tokens", "max_tokens", "max_completion_tokens"),
    "prompt_cache_retention": ("prompt_cache_retention", "prompt_cache_options"),
    "reasoning": ("reasoning", "reasoning_effort", "thinking"),
    "stop": ("stop", "stop_sequences", "stopSequences"),
    "text.format": ("response_format", "text.format", "output_format"),
    "text.verbosity": ("verbosity", "text.verbosity"),
    "top_k": ("top_k", "topK"),
    "top_logprobs": ("top_logprobs", "logprobs"),
}
"""Upstreams' names of a parameter, where they differ from the gateway's."""


_NEAR: Final = 0.85
"""How similar a name is to another one that it is taken for, of 1."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def fault_of_name(name: str) -> str:
    """Return why no parameter can have *name*; empty if one can.

    Fields that only some servers have can be left out too, so names are wrong only if they are
    nearly, or for an upstream, one of those that the gateway reads.
    """
    if name in _FIELDS or name in RETRY_WITHOUT:
        return ""
    for meant, natives in _NATIVE_NAMES.items():
        if name in natives:
            return f"is a name of upstreams: it is {meant!r} here, for all of them"
    known = (*_FIELDS, *RETRY_WITHOUT)
    if near := get_close_matches(name, known, 1, _NEAR):
        return f"is not a parameter (did you mean {near[0]!r}?)"
    if not _NAME.fullmatch(name):
        return f"is not the name of a parameter, such as {RETRY_WITHOUT[0]!r}"
    return ""


def without_rejected(
    request: LLMRequest, error: LLMError, policy: TranslationPolicy
) -> tuple[str, LLMRequest, Diagnostic] | None:
    """Return the name of what *error* refuses, *request* without it, and the report of that.

    None if it refuses nothing that may be left out.
    """
    if (without_betas := without_rejected_betas(request, error)) is not None:
        return HEADER, *without_betas
    if not isinstance(error, InvalidRequestError):
        return None
    words = f"{error.message} {error.error_code or ''} {text_or_json(error.raw)}"
    for name in policy.retry_without:
        if any(_is_named(native, words) for native in _NATIVE_NAMES.get(name, (name,))):
            reduced = _removed(request, name)
            if reduced != request:
                why = "the upstream refuses it by name; the request was sent again without it"
                told = Diagnostic("parameter-removed", name, action="dropped", message=why)
                return name, reduced, told
    return None


def _is_named(parameter: str, words: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(parameter)}(?!\w)", words) is not None


def _generation(**fields: Any) -> Callable[[LLMRequest], LLMRequest]:
    def remove(request: LLMRequest) -> LLMRequest:
        return evolve(request, generation=evolve(request.generation, **fields))

    return remove


def _cache(**fields: Any) -> Callable[[LLMRequest], LLMRequest]:
    def remove(request: LLMRequest) -> LLMRequest:
        cache: CachePolicy = evolve(request.cache, **fields)
        return evolve(request, cache=cache)

    return remove


def _without_summary(request: LLMRequest) -> LLMRequest:
    """Return *request* with reasoning that is not shown; OpenAI shows it to verified accounts."""
    reasoning = request.reasoning and evolve(request.reasoning, summary=None)
    return evolve(request, reasoning=reasoning)


_FIELDS: Final[Mapping[str, Callable[[LLMRequest], LLMRequest]]] = {
    "frequency_penalty": _generation(frequency_penalty=None),
    "max_output_tokens": _generation(max_tokens=None),
    "parallel_tool_calls": lambda request: evolve(request, parallel_tool_calls=None),
    "presence_penalty": _generation(presence_penalty=None),
    "prompt_cache_key": _cache(key=None),
    "prompt_cache_retention": _cache(retention=None),
    "reasoning": lambda request: evolve(request, reasoning=None),
    "reasoning.summary": _without_summary,
    "seed": _generation(seed=None),
    "service_tier": _generation(service_tier=None),
    "stop": _generation(stop=()),
    "temperature": _generation(temperature=None),
    "text.format": lambda request: evolve(request, response_format=None),
    "tool_choice": lambda request: evolve(request, tool_choice=None),
    "top_k": _generation(top_k=None),
    "top_logprobs": _generation(top_logprobs=None, logprobs=None),
    "top_p": _generation(top_p=None),
}


def _removed(request: LLMRequest, name: str) -> LLMRequest:
    remove = _FIELDS.get(name)
    request = remove(request) if remove else request
    options = {
        provider: _without(dict(fields), name)
        for provider, fields in request.provider_options.items()
    }
    return evolve(request, provider_options=options)


def _without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return native *fields* without one, which may be inside another (`text.verbosity`)."""
    outer, _, inner = name.partition(".")
    if inner and isinstance(fields.get(outer), dict):
        fields = {**fields, outer: _without(dict(fields[outer]), inner)}
    names = {name, inner}
    return {key: value for key, value in fields.items() if key not in names}
