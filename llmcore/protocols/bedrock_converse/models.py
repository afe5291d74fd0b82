"""Bedrock Converse: the settings that each model accepts, read from its id; and the path to it.

The service passes much of a request on to the model's own vendor and refuses it as a whole
for one field that the model does not take. Sources, read November 2026, below
https://docs.aws.amazon.com/bedrock/latest/userguide/: prompt-caching.html,
structured-output.html, claude-messages-adaptive-thinking.html, inference-reasoning.html;
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html; and below
https://docs.aws.amazon.com/nova/latest/: nova2-userguide/extended-thinking.html,
userguide/tool-use-definition.html (schemas). Models of OpenAI and Qwen: "This model doesn't support
the stopSequences field" (https://github.com/crewAIInc/crewAI/issues/3317,
https://github.com/langgenius/dify-official-plugins/issues/1767).

The ARN of an application inference profile, a provisioned or an imported model does not tell
which model it is; the provider option `base_model` does.
"""

import re
from functools import lru_cache
from typing import Final, Literal, Protocol
from urllib.parse import quote

from attrs import field

from llmcore.protocols import claude
from llmcore.protocols.bedrock_converse.names import METADATA_KEY
from llmcore.protocols.caching import Section
from llmcore.protocols.claude import ClaudeRules
from llmcore.protocols.forced_format import NO_FORMAT, FormatPlan, FormatSupport, forced_plan
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest

Family = Literal["claude", "nova", "gpt", "gpt-oss", "mistral", "cohere", "other", "unknown"]
"""The vendor whose own fields a model takes; `unknown` where its id does not name it."""

_EVERYWHERE: Final[frozenset[Section]] = frozenset({"tools", "system", "messages"})
_NOT_TOOLS: Final[frozenset[Section]] = frozenset({"system", "messages"})
_NOWHERE: Final[frozenset[Section]] = frozenset()


@frozen(kw_only=True)
class ConverseRules:
    """The settings that a model accepts."""

    family: Family = "other"
    claude_rules: ClaudeRules = field(factory=ClaudeRules)
    """The settings of a Claude model; meaningless for other families."""
    cache_points: frozenset[Section] = _NOWHERE
    """Where cache points may be."""
    auto_cache: bool = False
    """Whether cache points are worth placing unasked."""
    long_cache: bool = False
    """Whether a cache point may ask for an hour."""
    structured_output: bool = False
    """Whether the service enforces a JSON schema on responses and strict tools."""
    forced_tools: bool = True
    """Whether a tool call can be forced; where a model cannot, the service refuses the request."""
    stop_sequences: bool = True
    """Whether it takes them; if not, the service refuses the request."""
    named_tools: bool = False
    """Whether a call of one tool can be forced, which the service passes on for a few families."""
    tool_schema: SchemaTarget = SchemaTarget.BEDROCK
    """The dialect of JSON Schema that describes the inputs of tools."""
    thinks: bool = False
    """Whether an Amazon Nova model has extended thinking."""


_LEGACY_CLAUDE: Final = ClaudeRules(thinking=frozenset())
_STRUCTURED: Final = (
    "qwen3", "gpt-oss", "deepseek.v3", "gemma-3", "minimax", "mistral-large-3", "ministral",
    "magistral", "voxtral", "kimi", "nemotron",
)  # fmt: skip
"""Parts of the names of open-weight models on which a schema can be enforced."""
_OPAQUE: Final = re.compile(
    r":(?:application-inference-profile|provisioned-model|custom-model|custom-model-deployment"
    r"|imported-model|prompt|prompt-router|default-prompt-router|endpoint)/"
)


@lru_cache(maxsize=256)
def rules_of(model_id: str) -> ConverseRules:
    """Return the settings that the model accepts; *model_id* is an id or an ARN."""
    name = model_id.lower()
    if "claude" in name:
        return _claude(name)
    if re.search(r"amazon\.nova|^nova-", name):
        return _nova(name)
    structured = any(word in name for word in _STRUCTURED)
    if "gpt-oss" in name:
        return ConverseRules(family="gpt-oss", structured_output=structured, stop_sequences=False)
    if "openai.gpt-" in name:
        return ConverseRules(family="gpt", stop_sequences=False)
    if re.search(r"mistral|mixtral|magistral|voxtral", name):
        return ConverseRules(family="mistral", structured_output=structured)
    if "cohere." in name:
        return ConverseRules(family="cohere", forced_tools=False)
    if _OPAQUE.search(name):
        return ConverseRules(
            family="unknown",
            cache_points=_EVERYWHERE,
            long_cache=True,
            named_tools=True,
            tool_schema=SchemaTarget.BEDROCK_NOVA,  # which every family takes
        )
    return ConverseRules(
        structured_output=structured,
        forced_tools="llama" not in name,
        stop_sequences="qwen" not in name,
    )


def _claude(name: str) -> ConverseRules:
    if re.search(r"claude-(?:v\d|instant)", name):
        return ConverseRules(family="claude", claude_rules=_LEGACY_CLAUDE, forced_tools=False)
    rules = claude.rules_of(name)
    caches = not re.search(r"claude-3-(?!7|5-haiku|5-sonnet-20241022)", name)
    return ConverseRules(
        family="claude",
        claude_rules=rules,
        cache_points=_EVERYWHERE if caches else _NOWHERE,
        auto_cache=caches,
        long_cache=rules.structured_output,  # both begin with Claude 4.5
        structured_output=rules.bedrock_schemas,
        forced_tools=rules.forced_tools,
        named_tools=True,
    )


def _nova(name: str) -> ConverseRules:
    caches = bool(re.search(r"nova-(?:2-)?(?:micro|lite|pro|premier)", name))
    return ConverseRules(
        family="nova",
        cache_points=_NOT_TOOLS if caches else _NOWHERE,
        auto_cache=caches,
        named_tools=True,
        tool_schema=SchemaTarget.BEDROCK_NOVA,
        thinks="nova-2" in name,
    )


# -- per request

_FORCED: Final = ("claude", "nova")
"""Families that call a tool for the shape of the response unless an option states otherwise."""


def base_model(request: LLMRequest) -> str:
    """Return the id that shows the family of the model: its own, or the option `base_model`."""
    named = request.options_for(METADATA_KEY, request.provider_id).get("base_model")
    return named if isinstance(named, str) else request.model_id


def is_claude(request: LLMRequest) -> bool:
    """Return whether the model of *request* is known to be one of Claude's."""
    return rules_of(base_model(request)).family == "claude"


def plan_format(request: LLMRequest) -> FormatPlan:
    """Return how the response gets its wanted shape; the same for the body and the stream.

    A model on which the service can enforce a schema gets it in `outputConfig.textFormat`. Another
    is made to call a tool whose input is the response. The provider option `structured_output`
    (`"native"` or `"tool"`) decides for models whose names do not tell. Source:
    https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html, read November 2026.
    """
    if request.response_format is None:
        return NO_FORMAT
    rules = rules_of(base_model(request))
    option = request.options_for(METADATA_KEY, request.provider_id).get("structured_output")
    support = FormatSupport(
        format=option == "native" or (option != "tool" and rules.structured_output),
        tool=rules.forced_tools and (rules.family in _FORCED or option == "tool"),
        format_target=SchemaTarget.BEDROCK_STRICT,
        tool_target=rules.tool_schema,
    )
    return forced_plan(request.response_format, support)


# -- the path


class PathContext(Protocol):
    """The values that the path depends on; `llmcore.routes.endpoint.EndpointContext` has them."""

    @property
    def model_id(self) -> str:
        """The model's id or ARN, as the caller wrote it."""
        ...

    @property
    def streaming(self) -> bool:
        """Whether the response is to be streamed."""
        ...


def converse_path(context: PathContext) -> str:
    """Return the path of a call: the model's id or ARN encoded as one segment."""
    operation = "converse-stream" if context.streaming else "converse"
    return f"/model/{quote(context.model_id, safe='')}/{operation}"
