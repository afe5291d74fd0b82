"""Anthropic Messages: the settings that each model accepts, and how it can be held to a format.

A name that is not Claude's is another model behind a server that speaks this API: it gets
the settings of the API's first years, which such servers imitate.

Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, read November
2026.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import evolve

from llmcore.protocols import claude
from llmcore.protocols.anthropic_messages.names import METADATA_KEY
from llmcore.protocols.claude import ClaudeRules
from llmcore.protocols.forced_format import NO_FORMAT, FormatPlan, FormatSupport, forced_plan
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.schema.request import LLMRequest

RulesOf: TypeAlias = Callable[[str], ClaudeRules]
"""Returns the settings that a model accepts on a platform."""

_COMPATIBLE: Final = ClaudeRules(unsigned_thinking=True)


def rules_of(model_id: str) -> ClaudeRules:
    """Return the settings that the model accepts, under whatever platform's name."""
    return claude.rules_of(model_id) if "claude" in model_id.lower() else _COMPATIBLE


@lru_cache(maxsize=256)
def rules_of_invoked(model_id: str) -> ClaudeRules:
    """Return the settings that the model accepts over Bedrock's InvokeModel."""
    rules = rules_of(model_id)
    schemas = rules.bedrock_schemas
    return evolve(rules, structured_output=schemas, strict_tools=schemas)


def plan_format(request: LLMRequest, rules: ClaudeRules) -> FormatPlan:
    """Return how the response gets its wanted shape; the same for the body and the stream.

    A model for which the API enforces schemas gets one in `output_config.format`. Another is made
    to call a tool whose input is the response. The provider option `structured_output` (`"native"`
    or `"tool"`) decides for models whose names do not tell.
    """
    if request.response_format is None:
        return NO_FORMAT
    option = request.options_for(METADATA_KEY, request.provider_id).get("structured_output")
    support = FormatSupport(
        format=option == "native" or (option != "tool" and rules.structured_output),
        tool=rules.forced_tools,
        format_target=SchemaTarget.ANTHROPIC_STRICT,
        tool_target=SchemaTarget.ANTHROPIC,
    )
    return forced_plan(request.response_format, support)
