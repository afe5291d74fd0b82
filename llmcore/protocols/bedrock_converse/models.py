"""Bedrock Converse: what each model takes, read from its id.

The service passes much of a request on to the model's own vendor and refuses it as a whole
for one field that the model does not take. Sources, read November 2026, below
https://docs.aws.amazon.com/bedrock/latest/userguide/: prompt-caching.html,
structured-output.html, claude-messages-adaptive-thinking.html, inference-reasoning.html; and
below https://docs.aws.amazon.com/nova/latest/: nova2-userguide/extended-thinking.html,
userguide/tool-use-definition.html (schemas).

The ARN of an application inference profile, a provisioned or an imported model does not tell
which model it is; the provider option `base_model` does.
"""

import re
from typing import Final, Literal

from attrs import field, frozen

from llmcore.protocols.anthropic_messages import models as anthropic
from llmcore.protocols.tool_schema import SchemaTarget

Family = Literal["claude", "nova", "gpt-oss", "mistral", "cohere", "other", "unknown"]
"""Whose own fields a model takes; `unknown` where its id does not name it."""
Section = Literal["tools", "system", "messages"]

_EVERYWHERE: Final[frozenset[Section]] = frozenset({"tools", "system", "messages"})
_NOT_TOOLS: Final[frozenset[Section]] = frozenset({"system", "messages"})
_NOWHERE: Final[frozenset[Section]] = frozenset()


@frozen(kw_only=True)
class ModelRules:
    """What a model takes."""

    family: Family = "other"
    claude: anthropic.ModelRules = field(factory=anthropic.ModelRules)
    """What Claude takes of Anthropic's own fields; says nothing of other families."""
    cache_points: frozenset[Section] = _NOWHERE
    """Where cache points may stand."""
    auto_cache: bool = False
    """Whether cache points are worth placing unasked."""
    long_cache: bool = False
    """Whether a cache point may ask for an hour."""
    structured_output: bool = False
    """Whether the service holds answers and strict tools to a JSON schema."""
    forced_tools: bool = True
    """Whether a tool call can be demanded; the service says so itself where a model cannot."""
    tool_schema: SchemaTarget = SchemaTarget.BEDROCK
    """What JSON Schema the inputs of tools can be told in."""
    thinks: bool = False
    """Whether an Amazon Nova model has extended thinking."""


_LEGACY_CLAUDE: Final = anthropic.ModelRules(thinking=frozenset())
_STRUCTURED: Final = (
    "qwen3",
    "gpt-oss",
    "deepseek.v3",
    "gemma-3",
    "minimax",
    "mistral-large-3",
    "ministral",
    "magistral",
    "voxtral",
    "kimi",
    "nemotron",
)
"""How open-weight models are called that can be held to a schema."""
_OPAQUE: Final = re.compile(
    r":(?:application-inference-profile|provisioned-model|custom-model|custom-model-deployment"
    r"|imported-model|prompt|prompt-router|default-prompt-router|endpoint)/"
)


def rules_of(model_id: str) -> ModelRules:
    """Return what the model called *model_id* takes, an id or an ARN."""
    name = model_id.lower()
    if "claude" in name:
        return _claude(name)
    if re.search(r"amazon\.nova|^nova-", name):
        return _nova(name)
    structured = any(word in name for word in _STRUCTURED)
    if "gpt-oss" in name:
        return ModelRules(family="gpt-oss", structured_output=structured)
    if re.search(r"mistral|mixtral|magistral|voxtral", name):
        return ModelRules(family="mistral", structured_output=structured)
    if "cohere." in name:
        return ModelRules(family="cohere")
    if _OPAQUE.search(name):
        return ModelRules(
            family="unknown",
            cache_points=_EVERYWHERE,
            long_cache=True,
            tool_schema=SchemaTarget.BEDROCK_NOVA,  # which every family takes
        )
    return ModelRules(structured_output=structured)


def _claude(name: str) -> ModelRules:
    if re.search(r"claude-(?:v\d|instant)", name):
        return ModelRules(family="claude", claude=_LEGACY_CLAUDE, forced_tools=False)
    rules = anthropic.rules_of(name)
    caches = not re.search(r"claude-3-(?!7|5-haiku|5-sonnet-20241022)", name)
    return ModelRules(
        family="claude",
        claude=rules,
        cache_points=_EVERYWHERE if caches else _NOWHERE,
        auto_cache=caches,
        long_cache=rules.structured_output,  # both begin with Claude 4.5
        structured_output=rules.structured_output,
        forced_tools=rules.forced_tools,
    )


def _nova(name: str) -> ModelRules:
    caches = bool(re.search(r"nova-(?:2-)?(?:micro|lite|pro|premier)", name))
    return ModelRules(
        family="nova",
        cache_points=_NOT_TOOLS if caches else _NOWHERE,
        auto_cache=caches,
        tool_schema=SchemaTarget.BEDROCK_NOVA,
        thinks="nova-2" in name,
    )
