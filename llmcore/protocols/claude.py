"""The rules of Claude models on every API: thinking, sampling, prefill.

The API refuses a request as a whole for one setting that its model does not take, and which
those are has changed with almost every generation. Sources, read November 2026:
https://platform.claude.com/docs/en/build-with-claude/thinking (types of thinking),
https://platform.claude.com/docs/en/build-with-claude/effort (levels),
https://platform.claude.com/docs/en/build-with-claude/structured-outputs,
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages and the
migration guides under https://platform.claude.com/docs/en/models (sampling, forced tools,
prefill); https://platform.claude.com/docs/en/build-with-claude/extended-thinking (budgets).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from llmcore.protocols.lowering import CONTINUE_TEXT, accepted_effort, note_continue_message
from llmcore.schema.content import DocumentPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, present
from llmcore.schema.messages import Message
from llmcore.schema.options import ReasoningOptions

# -- models ---------------------------------------------------------------------------------

_NAME: Final = re.compile(
    r"claude-(?:(?P<line>[a-z]+)-)?(?P<major>\d)(?:[-.](?P<minor>\d{1,2}))?(?!\d)"
)
_LINES: Final = ("haiku", "sonnet", "opus", "fable", "mythos")
_ALWAYS_THINKS: Final = ("fable", "mythos")

Version = tuple[int, int]
_CURRENT: Final[Version] = (5, 0)
_Block: TypeAlias = dict[str, Any]
"""A native content block."""


@frozen(kw_only=True)
class ClaudeRules:
    """The settings that a model accepts."""

    thinking: frozenset[str] = frozenset({"enabled", "disabled"})
    """Values of `thinking.type`."""
    efforts: tuple[str, ...] = ()
    """Values of `output_config.effort`, least first; empty if it takes none."""
    sampling: Literal["all", "one", "none"] = "all"
    """Whether temperature and top_p are both accepted, or one of them, or neither (nor top_k)."""
    forced_tools: bool = True
    """Whether a tool call can be forced."""
    structured_output: bool = False
    """Whether the API enforces a JSON schema on the response."""
    strict_tools: bool = False
    """Whether the API enforces the schemas of tool inputs."""
    bedrock_schemas: bool = False
    """Whether Converse and InvokeModel enforce schemas, which they refuse for newer models:
    "output_config.format: Extra inputs are not permitted". Sources:
    https://github.com/anomalyco/models.dev/pull/1765 (after AWS's pages of the models), and the
    `@ai-sdk/amazon-bedrock` package, 4.0.186 (`bedrock-anthropic-model-support`)."""
    prefill: bool = True
    """Whether the model continues a trailing assistant message."""
    system_messages: bool = False
    """Whether system messages are accepted among the messages."""
    unsigned_thinking: bool = False
    """Whether thinking without a signature is accepted in messages."""
    computer: str = "computer_20250124"
    """The version of the computer tool."""


@lru_cache(maxsize=256)
def rules_of(name: str) -> ClaudeRules:
    """Return the rules of the Claude model of this name, whichever platform's name it is."""
    line, version = _parsed(name.lower())
    return ClaudeRules(
        thinking=_thinking(line, version),
        efforts=_efforts(line, version),
        sampling=_sampling(line, version),
        forced_tools=not _refuses_forced_tools(line, version),
        structured_output=version >= (4, 5),
        strict_tools=version >= (4, 5),
        bedrock_schemas=(4, 5) <= version < (4, 7),
        prefill=version < (4, 6),
        system_messages=_takes_system_messages(line, version),
        computer=_computer(line, version),
    )


def _parsed(name: str) -> tuple[str, Version]:
    """Return line and version; a model without a version, or of a new line, is a current one."""
    match = _NAME.search(name)
    line = next((line for line in _LINES if line in name), "")
    if match is None:
        return line, (4, 6) if line == "mythos" else _CURRENT  # Mythos Preview has no number
    version = int(match["major"]), int(match["minor"] or 0)
    is_new = match["line"] not in (None, "instant") and not line
    return line, max(version, _CURRENT) if is_new else version


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


# -- thinking -------------------------------------------------------------------------------

DEFAULT_MAX_TOKENS: Final = 4096
_SMALLEST_BUDGET: Final = 1024
_BUDGETS: Final = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 24576,
    "max": 32000,
}
"""Tokens of thinking for an effort, where the model counts tokens instead."""
_THINKING_SHARE: Final = 0.8
"""Of a request's limit, which includes thinking, for thinking of an effort: the rest is for the
response."""


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of thinking, in Claude's own fields."""

    thinking: JsonObject | None = None
    """`thinking` of the body, such as `{"type": "enabled", "budget_tokens": 2048}`."""
    effort: str | None = None
    """`output_config.effort`."""
    max_tokens: int
    """The request's limit, thinking included."""


def lower_thinking(
    reasoning: ReasoningOptions | None,
    max_tokens: int | None,
    rules: ClaudeRules,
    diagnostics: Diagnostics,
) -> Thinking:
    """Return the settings of thinking, and the token limit that includes it."""
    limit = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    if reasoning is None:
        return Thinking(max_tokens=limit)
    if reasoning.effort == "none":
        return _lower_none(limit, rules, diagnostics)
    effort = _lower_effort(reasoning.effort, rules, diagnostics)
    budget = reasoning.budget_tokens
    if "adaptive" in rules.thinking and (budget is None or "enabled" not in rules.thinking):
        if budget is not None and effort is None:
            why = f"the model decides how much to think; {budget} tokens cannot be a limit"
            diagnostics.at("reasoning.budget_tokens").unsupported(why)
        adaptive: JsonObject = {"type": "adaptive", "display": _display(reasoning)}
        return Thinking(thinking=present(adaptive), effort=effort, max_tokens=limit)
    if "enabled" not in rules.thinking:
        diagnostics.at("reasoning").unsupported("the model does not think")
        return Thinking(max_tokens=limit)
    return _with_budget(reasoning, effort, max_tokens, rules, diagnostics)


def is_thinking(thinking: JsonObject | None) -> bool:
    """Return whether *thinking* is on, which excludes most sampling parameters."""
    return thinking is not None and thinking.get("type") in ("enabled", "adaptive")


def has_budget(thinking: JsonObject | None) -> bool:
    """Return whether *thinking* is on with a budget, beside which no call can be forced."""
    return thinking is not None and thinking.get("type") == "enabled"


def _lower_none(limit: int, rules: ClaudeRules, diagnostics: Diagnostics) -> Thinking:
    if "disabled" in rules.thinking:
        return Thinking(thinking={"type": "disabled"}, max_tokens=limit)
    if not rules.thinking:
        return Thinking(max_tokens=limit)
    why = "reasoning cannot be turned off for this model; the lowest effort is sent"
    diagnostics.at("reasoning.effort").changed("reasoning-not-off", why)
    thinking = {"type": "between_tools"} if "between_tools" in rules.thinking else None
    effort = rules.efforts[0] if rules.efforts else None
    return Thinking(thinking=thinking, effort=effort, max_tokens=limit)


def _lower_effort(effort: str | None, rules: ClaudeRules, diagnostics: Diagnostics) -> str | None:
    """Return the level that the model has for *effort*; None if it has no levels."""
    if effort is None or not rules.efforts:
        return None
    return accepted_effort(effort, rules.efforts, diagnostics)


def _display(reasoning: ReasoningOptions) -> str | None:
    if reasoning.summary is None:
        return None
    return "omitted" if reasoning.summary == "none" else "summarized"


def _budget_of_effort(
    reasoning: ReasoningOptions, effort: str | None, diagnostics: Diagnostics
) -> int:
    """Return the tokens for the wanted effort; *effort* is the level sent for it, if any."""
    word = reasoning.effort or "medium"
    budget = _BUDGETS.get(word, _BUDGETS["medium"])
    if reasoning.effort is not None and effort is None:
        why = f"the model counts tokens of thinking: {word!r} became {budget}"
        diagnostics.at("reasoning.effort").changed("reasoning-effort-changed", why)
    return budget


def _with_budget(
    reasoning: ReasoningOptions,
    effort: str | None,
    max_tokens: int | None,
    rules: ClaudeRules,
    diagnostics: Diagnostics,
) -> Thinking:
    """Return thinking with a budget, which must be smaller than the request's limit.

    A stated budget may be all of the limit but one token, that of an effort only a share of it.
    """
    stated = reasoning.budget_tokens
    budget = _budget_of_effort(reasoning, effort, diagnostics) if stated is None else stated
    limit = budget + DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    most = limit - 1 if stated is not None else int(limit * _THINKING_SHARE)
    fitting = min(max(budget, _SMALLEST_BUDGET), max(most, min(_SMALLEST_BUDGET, limit - 1)))
    if fitting < _SMALLEST_BUDGET:
        why = f"max_tokens is too small: reasoning needs more than {_SMALLEST_BUDGET}"
        diagnostics.at("reasoning").unsupported(why)
        return Thinking(effort=effort, max_tokens=limit)
    if stated not in (None, fitting):
        why = f"{budget} became {fitting}, which is at least 1024 and below max_tokens"
        diagnostics.at("reasoning.budget_tokens").changed("reasoning-budget-changed", why)
    shown = _display(reasoning) if "adaptive" in rules.thinking else None
    if reasoning.summary == "none" and shown is None:
        diagnostics.at("reasoning.summary").unsupported("the model always shows its thinking")
    thinking: JsonObject = {"type": "enabled", "budget_tokens": fitting, "display": shown}
    return Thinking(thinking=present(thinking), effort=effort, max_tokens=limit)


# -- thinking beside other settings ---------------------------------------------------------


def without_excluded_budget(
    thinking: JsonObject | None, *, forced_call: bool, continues: bool, diagnostics: Diagnostics
) -> JsonObject | None:
    """Return *thinking*, or None where the rest of the request excludes a budget.

    *continues* is True where the response under way did not begin with thinking.
    """
    if not has_budget(thinking):
        return thinking
    if forced_call:
        why = "the model does not think where it must call a tool"
    elif continues:
        why = "the response under way began without thinking, and must continue without it"
    else:
        return thinking
    diagnostics.at("reasoning").unsupported(why)
    return None


# -- sampling -------------------------------------------------------------------------------


def at_most_one(name: str, value: float | None, diagnostics: Diagnostics) -> float | None:
    """Return *value*, or 1 for a larger one."""
    if value is None or value <= 1:
        return value
    why = f"the API accepts 0 to 1; {value} became 1"
    diagnostics.at(f"generation.{name}").changed("parameter-out-of-range", why)
    return 1.0


def refused_sampling(
    fields: Mapping[str, Any], rules: ClaudeRules, *, thinks: bool
) -> dict[str, str]:
    """Return which of `temperature`, `top_p` and `top_k` that are set are refused, and why."""
    given = [name for name, value in fields.items() if value is not None]
    if rules.sampling == "none":
        why = "the model does not support sampling parameters; use reasoning effort"
        return {name: why for name in given if fields[name] != 1 or name == "top_k"}
    if thinks:
        why = "the model accepts it only without reasoning"
        fitting = {
            "temperature": fields.get("temperature") == 1,
            "top_p": (fields.get("top_p") or 0) >= 0.95,
        }
        return {name: why for name in given if not fitting.get(name)}
    if rules.sampling == "one" and {"temperature", "top_p"} <= set(given):
        return {"top_p": "the model accepts temperature or top_p, not both"}
    return {}


# -- a trailing assistant message -----------------------------------------------------------


def fix_trailing_assistant(
    messages: list[Any],
    rules: ClaudeRules | None,
    diagnostics: Diagnostics,
    *,
    is_thinking: Callable[[_Block], bool],
    text_type: Mapping[str, str],
) -> None:
    """Make *messages* end as the model accepts it where the assistant comes last.

    The API refuses thinking at its end, which is the last where what followed it was left out.
    Older models refuse white space at the end of a text ("final assistant content cannot end with
    trailing whitespace"); newer ones refuse to continue a text at all. Tools that the API runs may
    continue. *rules* are None for another model than Claude; *text_type* is what blocks of text
    have beside their text.
    """
    if messages[-1]["role"] != "assistant":
        return
    content: list[_Block] = messages[-1]["content"]
    while content and is_thinking(content[-1]):
        content.pop()
        diagnostics.dropped("reasoning-dropped", "a response may not end with reasoning")
    if not content:
        messages.pop()
        return
    index = len(content) - 1 - ("cachePoint" in content[-1])  # a block of its own in Converse
    text = content[index].get("text")
    if rules is None or not isinstance(text, str):
        return
    if rules.prefill:
        content[index] = {**content[index], "text": text.rstrip()}
        return
    note_continue_message(diagnostics)
    messages.append({"role": "user", "content": [{**text_type, "text": CONTINUE_TEXT}]})


# -- citations of documents ------------------------------------------------------------------

Citing: TypeAlias = Literal["refused", "asked", "all"]
"""Which documents may be cited: none, those of which the caller asks it, or all."""


def citing(messages: Iterable[Message], *, refused: bool) -> Citing:
    """Return which documents of *messages* may be cited.

    "Citations must be enabled on all or none of the documents within a request", by
    https://platform.claude.com/docs/en/build-with-claude/citations, read November 2026. They are
    *refused* beside structured output.
    """
    if refused:
        return "refused"
    items = (
        item
        for message in messages
        for part in message.content
        for item in (part.parts if isinstance(part, ToolResultPart) else (part,))
    )
    asked = any(isinstance(item, DocumentPart) and item.citations for item in items)
    return "all" if asked else "asked"


def is_cited(part: DocumentPart, documents: Citing, diagnostics: Diagnostics) -> bool:
    """Return whether citations of *part* are enabled, and report what differs."""
    here = diagnostics.at("citations")
    if documents == "refused" and part.citations:
        here.unsupported("the API refuses citations beside structured output")
    elif documents == "all" and not part.citations:
        here.changed("citations-enabled", "the API accepts citations of all documents or of none")
    return documents == "all" or (documents == "asked" and part.citations)


# -- thinking in the response under way -----------------------------------------------------


def continues_without_thinking(
    messages: Sequence[Mapping[str, Any]],
    *,
    is_thinking: Callable[[_Block], bool],
    is_result: Callable[[_Block], bool],
) -> bool:
    """Return whether the response under way does not begin with thinking.

    The request begins it itself, or ends with results for its calls: there, the API refuses to turn
    thinking on ("a final `assistant` message must start with a thinking block").
    """
    *before, last = messages[-2:] or ({"role": "user", "content": ()},)
    if last["role"] != "assistant":
        if not before or not any(map(is_result, last["content"])):
            return False
        last = before[0]
    return bool(last["content"]) and not is_thinking(last["content"][0])


def drop_thinking_at_end(
    messages: Sequence[Any], diagnostics: Diagnostics, *, is_thinking: Callable[[_Block], bool]
) -> None:
    """Remove thinking from the response that the request begins, for a model that does not think.

    "When thinking is disabled, an `assistant` message in the final position cannot contain
    `thinking`": the API's error, in https://github.com/tailcallhq/forgecode/issues/1853.
    """
    if not messages or messages[-1]["role"] != "assistant":
        return
    content = messages[-1]["content"]
    kept = [block for block in content if not is_thinking(block)]
    if len(kept) < len(content):
        why = "a response that goes on without thinking may not contain any"
        diagnostics.at("messages").dropped("reasoning-dropped", why)
        messages[-1]["content"] = kept


# -- results of failed tools ----------------------------------------------------------------


def move_media_of_error(
    blocks: Iterable[tuple[str, _Block]],
    as_text: Callable[[str], _Block],
    call_id: str,
    diagnostics: Diagnostics,
) -> tuple[list[_Block], list[_Block]]:
    """Return the text of a failed tool's result, and the other blocks, which follow the results.

    *blocks* are the content with the kind of each, *as_text* makes a block of a text. The API
    refuses the rest: "all content must be type `text` if `is_error` is true".
    """
    held: list[_Block] = []
    after: list[_Block] = []
    for index, (kind, block) in enumerate(blocks):
        if kind in ("text", "json"):
            held.append(block)
            continue
        label = f"{kind} {len(after) // 2 + 1} of tool call {call_id}"
        held.append(as_text(f"[{label}: after the results]"))
        after += [as_text(f"{label}:"), block]
        why = "the result of a failed tool holds only text: it follows the results"
        diagnostics.at(f"content[{index}]").changed("moved-tool-result-media", why)
    return held, after
