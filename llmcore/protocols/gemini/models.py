"""Gemini: what the model generations take.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/thinking (budgets),
https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-4-hydrogen and
its neighbours, one for each model (levels),
https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6 (sampling, prefill),
https://ai.google.dev/gemini-api/docs/thought-signatures (which models check them),
https://ai.google.dev/gemini-api/docs/function-calling (media in function responses),
https://ai.google.dev/gemini-api/docs/structured-output (JSON beside tools, since 3).

A name without a version (`gemini-flash-latest`) is an alias of a current model. A name that is not
Gemini's (a tuned model, an endpoint) is assumed to support everything.
"""

import re
from functools import lru_cache
from typing import Final, Literal

from llmcore.schema.frozen import frozen

# -- the two services


@frozen(kw_only=True)
class GeminiDialect:
    """The features of a service."""

    labels: bool = False
    """Whether requests have `labels`, to which metadata is lowered."""
    server_tool_parts: bool = True
    """Whether it can be asked to show its own tool calls (`includeServerSideToolInvocations`),
    which is required where its tools are beside the caller's."""
    exclude_domains: bool = False
    """Whether a search can leave out domains."""
    counts_whole_requests: bool = True
    """Whether `countTokens` takes a whole request (`generateContentRequest`)."""
    mcp_servers: bool = True
    """Whether it calls MCP servers."""
    tier_header: str = ""
    """The header that asks for a service tier, where requests have no `serviceTier`."""


GEMINI_API: Final = GeminiDialect()
"""generativelanguage.googleapis.com."""
VERTEX: Final = GeminiDialect(
    labels=True,
    server_tool_parts=False,
    exclude_domains=True,
    mcp_servers=False,
    counts_whole_requests=False,
    # https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/flex-paygo
    tier_header="x-vertex-ai-llm-shared-request-type",
)
"""Vertex AI, which is now the Gemini Enterprise Agent Platform."""


# -- the generations


_VERSION: Final = re.compile(r"gemini-(\d+)(?:[.-](\d))?(?![\d])")
_CURRENT: Final = (3, 0)
"""The lowest version that an alias is assumed to have."""
_NEWEST_ALIASES: Final = ("gemini-flash-latest", "gemini-flash-lite-latest")
"""Aliases of models that refuse a prefill; `gemini-pro-latest` is 3.1 yet."""

_WORDS_ONLY: Final = re.compile(r"gemma-[123](?!\d)")
# https://ai.google.dev/gemma/docs/core/prompt-structure; since Gemma 4 there is a system role

LEVELS: Final = ("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
"""All values of `thinkingLevel`, least first."""

Thinking = Literal["level", "budget", "none"]


@frozen(kw_only=True)
class GeminiRules:
    """The features of a model."""

    thinking: Thinking
    """The field that sets the amount of reasoning."""
    levels: tuple[str, ...] = ()
    """Values of `thinkingLevel`, least first."""
    takes_budget: bool = True
    """Whether it takes a budget instead of a level, for compatibility."""
    budgets: tuple[int, int] = (0, 0)
    """The least and the largest `thinkingBudget`, in tokens."""
    thinks_always: bool = False
    """Whether a budget of 0 is rejected."""
    sampling: bool
    """Whether temperature, `topP` and `topK` count; if not, they are ignored."""
    checks_signatures: bool
    """Whether the first function call of a step must have a thought signature."""
    json_beside_tools: bool
    """Whether a response in JSON can be asked for beside function tools."""
    combines_tools: bool
    """Whether functions can be offered beside the service's own tools."""
    media_in_results: bool
    """Whether a function response can hold images and documents."""
    media_resolution: bool
    """Whether each part can set the resolution at which it is read."""
    prefill: bool
    """Whether a request may end with the model's turn, which the response then continues."""
    words_only: bool
    """Whether the service refuses instructions, tools and JSON mode ("Developer instruction is not
    enabled for models/gemma-3-27b-it"), so that only the conversation can ask for anything."""


@lru_cache(maxsize=256)
def rules_of(model_id: str) -> GeminiRules:
    """Return the features of the model called *model_id*."""
    name = model_id.rsplit("/", 1)[-1].lower()
    version = _version(name)
    modern = version >= (3, 0)
    newest = version >= (3, 6) or "gemini-3.5-flash-lite" in name
    return GeminiRules(
        thinking=_thinking(name, version),
        levels=_levels(name, version),
        budgets=_budgets(name),
        takes_budget=version < (4, 0) and not name.startswith("gemma-"),
        thinks_always="-pro" in name,
        sampling=not newest,
        checks_signatures=modern and "gemini" in name,
        json_beside_tools=modern,
        combines_tools=modern,
        media_in_results=modern and "gemini" in name,
        media_resolution=modern and "gemini" in name,
        prefill=not newest and name not in _NEWEST_ALIASES,
        words_only=bool(_WORDS_ONLY.match(name)),
    )


def _version(name: str) -> tuple[int, int]:
    match = _VERSION.search(name)
    return (int(match[1]), int(match[2] or 0)) if match else _CURRENT


def _thinking(name: str, version: tuple[int, int]) -> Thinking:
    if name.startswith("gemma-") and not name.startswith("gemma-4"):
        return "none"
    if version >= (3, 0):
        return "level"
    # "Thinking is not enabled for models/gemini-2.5-flash-image-preview", also with a budget of 0:
    # https://github.com/CherryHQ/cherry-studio/issues/9614
    has_budget = version >= (2, 5) and not re.search(r"-(image|tts)\b", name)
    return "budget" if has_budget else "none"


def _levels(name: str, version: tuple[int, int]) -> tuple[str, ...]:
    if name.startswith("gemma-") or "-flash-image" in name:
        # for Gemma this is undocumented: https://github.com/earendil-works/pi/issues/2812
        return ("MINIMAL", "HIGH")
    if "-pro" in name and version == (3, 0) and "gemini-3" in name:
        return ("LOW", "HIGH")
    if "hydrogen" in name:
        return ("LOW", "MEDIUM", "HIGH", "XHIGH")
    if "gemini" not in name or ("gemini-3" in name and "-pro" not in name and version < (3, 7)):
        return ("MINIMAL", "LOW", "MEDIUM", "HIGH")
    return ("LOW", "MEDIUM", "HIGH")  # also what an alias surely takes


def _budgets(name: str) -> tuple[int, int]:
    if "-pro" in name:
        return (128, 32_768)
    return (512, 24_576) if "lite" in name else (1, 24_576)
