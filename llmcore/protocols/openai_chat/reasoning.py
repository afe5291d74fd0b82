"""OpenAI Chat Completions: reading thinking, under every name that servers give it.

`reasoning_content` is DeepSeek's name (also Alibaba's, Moonshot's, Z.ai's and xAI's), `reasoning`
that of OpenRouter, Groq, Cerebras and newer vLLM, `thinking` Ollama's and Snowflake's,
`reasoning_text` GitHub Copilot's;
`reasoning_details` is OpenRouter's structured form; Mistral puts `thinking` parts into the
content. Sources, read November 2026: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://console.groq.com/docs/reasoning,
https://docs.vllm.ai/en/latest/features/reasoning_outputs.html,
https://docs.mistral.ai/capabilities/reasoning.
"""

from typing import Any

from llmcore.protocols.chain import Chain
from llmcore.protocols.loose_json import dicts, mapping
from llmcore.protocols.openai_chat.state import Chunk, State, open_segment
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, ReasoningDelta

NAMES = ("reasoning_content", "reasoning", "thinking", "reasoning_text")


def on_reasoning(state: State, delta: Chunk, _choice: Chunk, events: list[LLMEvent]) -> State:
    """Take the thinking in *delta*, and what its replay needs."""
    name, text = _text(delta)
    details = delta.get("reasoning_details")
    signature = _signature(delta)
    if not text and not details and not (signature and state.mode == "reasoning"):
        return state
    state = open_segment(state, "reasoning", events, hot="" if details else name)
    if text:
        events.append(ReasoningDelta(state.segment, text))
    if details and isinstance(details, list):
        chain = state.details
        for detail in details:
            chain = Chain(detail, chain)
        state = changed(state, details=chain)
    return changed(state, signature=state.signature + signature) if signature else state


def _text(delta: Chunk) -> tuple[str, str]:
    """Return the thinking and its field's name; counted once though two fields may say it."""
    for name in NAMES:
        text = delta.get(name)
        if isinstance(text, str) and text:
            return name, text
        inner = mapping(text).get("content") or mapping(text).get("text")
        if isinstance(inner, str) and inner:
            return "", inner
    details = dicts(delta.get("reasoning_details"))
    return "", "".join(_words(detail.get("text") or detail.get("summary")) for detail in details)


def _signature(delta: Chunk) -> str:
    for holder in (delta, mapping(delta.get("reasoning")), mapping(delta.get("thinking"))):
        found = holder.get("signature")
        if isinstance(found, str):
            return found
    return ""


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def thinking_part(part: Chunk) -> Chunk:
    """Return Mistral's content part `thinking` as the delta it amounts to.

    Source: the `mistralai` package, 3.7.0, `client/models/thinkchunk` ("signature").
    """
    inner = part.get("thinking")
    text = inner if isinstance(inner, str) else "".join(_words(p.get("text")) for p in dicts(inner))
    signature = _words(part.get("signature"))
    return {"reasoning": text, "signature": signature} if signature else {"reasoning": text}
