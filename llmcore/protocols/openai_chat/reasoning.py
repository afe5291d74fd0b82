"""OpenAI Chat Completions: the parameters of thinking, in each server's form."""

from collections.abc import Callable
from typing import Final

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.protocols.openai_chat.names import NativeObject
from llmcore.schema.options import ReasoningOptions
from llmcore.schema.request import LLMRequest


def lower_reasoning(request: LLMRequest, dialect: ChatDialect, notes: Notes) -> NativeObject:
    """Return the parameters of thinking, in the dialect's form."""
    wanted = _reasoning_beside_tools(request, dialect, notes)
    if wanted is None:
        return {}
    given = {"effort": wanted.effort, "budget_tokens": wanted.budget_tokens}
    given["summary"] = wanted.summary
    fields, taken = _REASONING_FORMS[dialect.reasoning_control(request.model_id)](wanted)
    for name, value in given.items():
        if value is not None and name not in taken:
            why = f"the server does not support a reasoning {name}, or not beside the others"
            notes.dropped("unsupported-parameter", f"reasoning.{name}", why)
    return fields


def _reasoning_beside_tools(
    request: LLMRequest, dialect: ChatDialect, notes: Notes
) -> ReasoningOptions | None:
    """Return how to think; some models must not while tools are offered or forced on them.

    The servers' own words: "Thinking mode does not support this tool_choice" (DeepSeek,
    https://github.com/deepseek-ai/DeepSeek-V3/issues/1376), "tool_choice 'specified' is
    incompatible with thinking enabled" (Moonshot).
    """
    wanted, choice, model = request.reasoning, request.tool_choice, request.model_id
    effort = wanted.effort if wanted else None
    forced = choice is not None and choice.mode in ("required", "named")
    if effort != "none" and forced and dialect.thinks_not_when_forced(model):
        why = f"{model} can be forced to call a tool only while it does not think"
    elif request.tools and dialect.thinks_not_beside_tools(model, effort):
        why = f"{model} supports tools over Chat Completions only without reasoning"
    else:
        return wanted
    notes.changed("reasoning-turned-off", "reasoning", why)
    return ReasoningOptions(effort="none")


def _effort(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    fields = {} if wanted.effort is None else {"reasoning_effort": wanted.effort}
    return fields, {"effort"}


def _effort_or_off(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return Together's effort, and its switch for none at all.

    Source: https://docs.together.ai/reference/chat-completions (`reasoning`)
    """
    if wanted.effort == "none":
        return {"reasoning": {"enabled": False}}, {"effort"}
    return _effort(wanted)


def _openrouter(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return OpenRouter's object: an effort or a budget, never both.

    Sources: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens,
    https://openrouter.ai/docs/client-sdks/typescript/models/chatrequestreasoning (`summary`)
    """
    shown: NativeObject = {} if wanted.summary is None else {"summary": wanted.summary}
    if wanted.summary == "none":
        shown = {"exclude": True}
    if wanted.budget_tokens is not None:
        amount: NativeObject = {"max_tokens": wanted.budget_tokens}
        return {"reasoning": amount | shown}, {"budget_tokens", "summary"}
    amount = {"enabled": True} if wanted.effort is None else {"effort": wanted.effort}
    return {"reasoning": amount | shown}, {"effort", "summary"}


def _switch(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return a switch without an effort.

    Sources: https://docs.z.ai/guides/capabilities/thinking-mode,
    https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
    """
    off = wanted.effort == "none"
    return {"thinking": {"type": "disabled" if off else "enabled"}}, {"effort"} if off else set()


def _switch_and_effort(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return DeepSeek's switch and effort (https://api-docs.deepseek.com/guides/thinking_mode)."""
    fields, _ = _switch(wanted)
    if wanted.effort not in (None, "none"):
        fields["reasoning_effort"] = wanted.effort
    return fields, {"effort"}


def _switch_and_budget(wanted: ReasoningOptions) -> tuple[NativeObject, set[str]]:
    """Return Alibaba's switch and budget.

    Source: https://www.alibabacloud.com/help/en/model-studio/deep-thinking
    """
    if wanted.effort == "none":
        return {"enable_thinking": False}, {"effort"}
    fields: NativeObject = {"enable_thinking": True}
    if wanted.budget_tokens is not None:
        fields["thinking_budget"] = wanted.budget_tokens
    return fields, {"budget_tokens"}


_REASONING_FORMS: Final[dict[str, Callable[[ReasoningOptions], tuple[NativeObject, set[str]]]]] = {
    "reasoning_effort": _effort,
    "effort_or_off": _effort_or_off,
    "reasoning": _openrouter,
    "thinking": _switch,
    "thinking_effort": _switch_and_effort,
    "enable_thinking": _switch_and_budget,
    "none": lambda _: ({}, set()),
}
