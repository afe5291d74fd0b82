"""Calls as OpenTelemetry attributes.

Names and values are those of the semantic conventions for generative AI, in development:
https://github.com/open-telemetry/semantic-conventions-genai (model/gen-ai/spans.yaml and
metrics.yaml, read 2026-11).
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, Union
from urllib.parse import urlsplit

from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.target import ModelChoice
from llmcore.schema.json import present
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

Attributes: TypeAlias = Mapping[str, Union[str, bool, int, float, Sequence[str]]]

PROVIDER_NAMES: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Providers whose name in the conventions differs from their id."""

_PORTS = {"https": 443, "http": 80, "wss": 443, "ws": 80}


def operation_of(target: ModelChoice) -> str:
    """Return the conventions' name of the operation of *target*."""
    return "chat" if target.route is None else target.route.protocol.operation


def common_attributes(target: ModelChoice) -> Attributes:
    """Return the attributes that spans and metrics share."""
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": operation_of(target),
        "gen_ai.provider.name": PROVIDER_NAMES.get(target.provider, target.provider or "unknown"),
        "gen_ai.request.model": target.model,
    }
    parts = urlsplit(target.base_url or "")
    if parts.hostname:
        attributes["server.address"] = parts.hostname
        attributes["server.port"] = parts.port or _PORTS.get(parts.scheme, 443)
    return attributes


def request_attributes(request: LLMRequest, *, streaming: bool) -> Attributes:
    """Return the span's attributes of the request, without content."""
    options = request.generation
    stated = {
        "gen_ai.request.max_tokens": options.max_tokens,
        "gen_ai.request.temperature": options.temperature,
        "gen_ai.request.top_p": options.top_p,
        "gen_ai.request.top_k": options.top_k,
        "gen_ai.request.seed": options.seed,
        "gen_ai.request.frequency_penalty": options.frequency_penalty,
        "gen_ai.request.presence_penalty": options.presence_penalty,
        "gen_ai.request.stop_sequences": options.stop or None,
        "gen_ai.request.stream": streaming or None,
        "gen_ai.output.type": _output_type(request),
    }
    return present(stated)


def _output_type(request: LLMRequest) -> str | None:
    if request.response_format is None:
        return None
    return "text" if request.response_format.type == "text" else "json"


def outcome_attributes(outcome: CallOutcome, usage: Usage | None) -> Attributes:
    """Return the span's attributes of the outcome, without content."""
    stated = {
        **_response_attributes(outcome.response),
        **({} if usage is None else usage_attributes(usage)),
        "error.type": None if outcome.error is None else type(outcome.error).__name__,
        "http.response.status_code": None if outcome.error is None else outcome.error.status_code,
        "llmcore.response.from_cache": outcome.from_cache or None,
    }
    return present(stated)


def _response_attributes(response: LLMResponse | None) -> dict[str, str | Sequence[str] | None]:
    if response is None:
        return {}
    return {
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model or None,
        "gen_ai.response.finish_reasons": (response.finish_reason.reason,),
    }


def usage_attributes(usage: Usage) -> dict[str, int | bool | None]:
    """Return the attributes of *usage*; None for those that are unknown."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        "llmcore.usage.estimated": usage.estimated or None,
    }
