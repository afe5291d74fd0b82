"""What each Claude model takes, read from its name.

The API refuses a request as a whole for one setting that its model does not take, and which
those are has changed with almost every generation. Sources, read November 2026:
https://platform.claude.com/docs/en/build-with-claude/thinking (types of thinking),
https://platform.claude.com/docs/en/build-with-claude/effort (levels),
https://platform.claude.com/docs/en/build-with-claude/structured-outputs,
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages and the
migration guides under https://platform.claude.com/docs/en/models (sampling, forced tools,
prefill).

A name that is not Claude's is another model behind a server that speaks this API: it gets
the settings of the API's first years, which such servers imitate.
"""

import re
from typing import Final, Literal

from attrs import frozen

_NAME: Final = re.compile(
    r"claude-(?:(?P<line>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2}))?(?!\d)"
)
_LINES: Final = ("haiku", "sonnet", "opus", "fable", "mythos")
_ALWAYS_THINKS: Final = ("fable", "mythos")

Version = tuple[int, int]


@frozen(kw_only=True)
class ModelRules:
    """What a model takes."""

    thinking: frozenset[str] = frozenset({"enabled", "disabled"})
    """Values of `thinking.type`."""
    efforts: tuple[str, ...] = ()
    """Values of `output_config.effort`, least first; empty if it takes none."""
    sampling: Literal["all", "one", "none"] = "all"
    """Whether temperature and top_p may both be given, or only one of them, or neither
    (and no top_k either)."""
    forced_tools: bool = True
    """Whether a tool call can be demanded."""
    structured_output: bool = False
    """Whether the API holds the answer to a JSON schema."""
    strict_tools: bool = False
    """Whether the API holds tool inputs to their schemas."""
    prefill: bool = True
    """Whether the answer can go on from a last message of the assistant's."""
    system_messages: bool = False
    """Whether instructions may stand among the messages."""
    unsigned_thinking: bool = False
    """Whether thinking without a signature can be sent back."""
    computer: str = "computer_20250124"
    """The version of the computer tool."""


_COMPATIBLE: Final = ModelRules(unsigned_thinking=True)


def rules_of(model_id: str) -> ModelRules:
    """Return what the model called *model_id* takes, whatever platform's name that is."""
    name = model_id.lower()
    if "claude" not in name:
        return _COMPATIBLE
    line, version = _parsed(name)
    return ModelRules(
        thinking=_thinking(line, version),
        efforts=_efforts(line, version),
        sampling=_sampling(line, version),
        forced_tools=not _refuses_forced_tools(line, version),
        structured_output=version >= (4, 5),
        strict_tools=version >= (4, 5),
        prefill=version < (4, 6),
        system_messages=_takes_system_messages(line, version),
        computer=_computer(line, version),
    )


def _parsed(name: str) -> tuple[str, Version]:
    """Return line and version; a name without a version is taken for a model of today."""
    match = _NAME.search(name)
    line = next((line for line in _LINES if line in name), "")
    if match is None:
        return line, (4, 6) if line == "mythos" else (5, 0)  # Mythos Preview has no number
    return line, (int(match["major"]), int(match["minor"] or 0))


def _thinking(line: str, version: Version) -> frozenset[str]:
    if line in _ALWAYS_THINKS or (line == "opus" and version >= (5, 5)):
        return frozenset({"adaptive"})
    if line == "sonnet" and version >= (5, 5):
        return frozenset({"adaptive", "between_tools"})
    if version >= (4, 7):
        return frozenset({"adaptive", "disabled"})
    if version >= (4, 6):
        return frozenset({"adaptive", "enabled", "disabled"})
    return frozenset({"enabled", "disabled"}) if version >= (3, 7) else frozenset()


def _efforts(line: str, version: Version) -> tuple[str, ...]:
    if version >= (4, 7):
        return ("low", "medium", "high", "xhigh", "max")
    if version >= (4, 6):
        return ("low", "medium", "high", "max")
    return ("low", "medium", "high") if (line, version) == ("opus", (4, 5)) else ()


def _sampling(line: str, version: Version) -> Literal["all", "one", "none"]:
    if line in _ALWAYS_THINKS or version >= (4, 7):
        return "none"
    return "one" if version >= (4, 1) else "all"


def _refuses_forced_tools(line: str, version: Version) -> bool:
    since = (5, 1) if line in _ALWAYS_THINKS else (5, 5)
    return line in (*_ALWAYS_THINKS, "opus", "sonnet") and version >= since


def _takes_system_messages(line: str, version: Version) -> bool:
    # Haiku, which that page does not name:
    # https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/claude-5-5
    since = {"fable": (5, 0), "mythos": (5, 0), "opus": (4, 8)}.get(line, (5, 5))
    return bool(line) and version >= since


def _computer(line: str, version: Version) -> str:
    if version >= (5, 5) or (line in _ALWAYS_THINKS and version >= (5, 1)):
        return "computer_toolset_20260801"
    newer = version >= (4, 6) or (line, version) == ("opus", (4, 5))
    return "computer_20251124" if newer else "computer_20250124"
