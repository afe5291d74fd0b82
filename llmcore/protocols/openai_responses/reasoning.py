"""OpenAI Responses: how much to think."""

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.openai_responses.names import NativeObject
from llmcore.schema.request import LLMRequest


def lower_reasoning(request: LLMRequest, notes: Notes) -> NativeObject:
    """Return `reasoning`."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    if wanted.budget_tokens is not None:
        why = "the Responses API accepts an effort, not a number of tokens"
        notes.dropped("unsupported-parameter", "reasoning.budget_tokens", why)
    summary = None if wanted.summary == "none" else wanted.summary  # none is the default
    fields = {"effort": wanted.effort, "summary": summary}
    given = {name: value for name, value in fields.items() if value is not None}
    return {"reasoning": given} if given else {}
