"""OpenAI Chat Completions: thinking that servers send as text, in tags.

    {"delta": {"content": "<think>Hm, "}}
    {"delta": {"content": "so</think>Done."}}                        Perplexity, open models
    {"delta": {"content": "<reasoning>Hm, </reasoning>"}}            Bedrock: each piece in tags
    {"delta": {"content": "<thought>Hm, ", "extra_content": {"google": {"thought": true}}}}
    {"delta": {"content": "so", "extra_content": {"google": {"thought": true}}}}
    {"delta": {"content": "</thought>Done."}}                        Gemini's endpoints

Which tag a model writes is a fact of the dialect. Gemini's endpoints mark each piece, so that any
tag is read there: Vertex AI has none unless the request names it (`thought_tag_marker`).

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/openai (thinking),
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/openai/overview,
https://github.com/ren8k/aws-gpt-oss-samples (Bedrock).
"""

import re
from typing import Final

from msgspec.structs import replace

from llmcore.protocols.openai_chat.state import ChatState, open_segment
from llmcore.schema.content import TokenLogprob
from llmcore.schema.events import LLMEvent, ReasoningDelta, TextDelta
from llmcore.schema.json import NativeObject, object_or_empty, without

# -- tags of the dialect


def on_tagged_text(
    state: ChatState, text: str, logprobs: tuple[TokenLogprob, ...], events: list[LLMEvent]
) -> ChatState:
    """Split text at think tags, which may be cut anywhere between chunks.

    Thinking stands at the head of a response: a tag inside its text is text. White space
    around the thinking belongs to neither.
    """
    name = state.context.think_tag
    text = state.partial_tag + text
    partial = ""
    while text:
        thinking = bool(state.tag)
        text = text if thinking else text.lstrip()
        tag = f"</{name}>" if thinking else f"<{name}>"
        before, separator, after = text.partition(tag)
        if not separator:
            partial = _beginning(text, tag)
            before = text[: len(text) - len(partial)]
        if before and not thinking:  # text without a tag is the response
            state = open_segment(
                replace(state, partial_tag=""), "text", events, fast_field="content"
            )
            events.append(TextDelta(state.segment, text, logprobs))
            return state
        if before:
            events.append(ReasoningDelta(state.segment, before))
        if not separator:
            break
        if thinking:  # the segment stays open: other thinking may follow
            state = replace(state, tag="")
        else:
            state = replace(open_segment(state, "reasoning", events), tag=name)
        text = after
    return state if partial == state.partial_tag else replace(state, partial_tag=partial)


def _beginning(text: str, tag: str) -> str:
    """Return the end of *text* that may be the beginning of *tag*."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return tag[:size]
    return ""


def flush_partial_tag(state: ChatState, events: list[LLMEvent]) -> ChatState:
    """Emit text that looked like the beginning of a tag, at the end of the response."""
    if not state.partial_tag:
        return state
    if state.tag:
        events.append(ReasoningDelta(state.segment, state.partial_tag))
    else:
        state = open_segment(state, "text", events)
        events.append(TextDelta(state.segment, state.partial_tag))
    return replace(state, partial_tag="")


# -- pieces that are marked as thinking

_OPENING: Final = re.compile(r"\s*<([a-z_]{1,40})>")


def is_marked(delta: NativeObject) -> bool:
    """Return whether the text of *delta* is thinking, or begins with it."""
    return _google(delta.get("extra_content")).get("thought") is True


def without_mark(extra: NativeObject) -> NativeObject:
    """Return the `extra_content` that must go back with a message."""
    if "thought" not in _google(extra):
        return extra
    rest = without(extra["google"], "thought")
    return {**extra, "google": rest} if rest else without(extra, "google")


def _google(extra: object) -> NativeObject:
    return object_or_empty(object_or_empty(extra).get("google"))


def on_marked(state: ChatState, text: str, events: list[LLMEvent]) -> tuple[ChatState, str]:
    """Emit thinking; return the text after its closing tag, which a whole message has too."""
    if state.mode != "reasoning":
        tag = _OPENING.match(text)
        if tag is None and state.info.raw is not None:
            return state, text  # a whole message without tags does not separate the two
        state = replace(open_segment(state, "reasoning", events), tag=tag[1] if tag else "")
        text = text[tag.end() :] if tag else text
    thinking, closing, rest = text.partition(f"</{state.tag}>") if state.tag else (text, "", "")
    if thinking:
        events.append(ReasoningDelta(state.segment, thinking))
    return (replace(state, tag="") if closing else state), rest


def end_marked(state: ChatState, text: str) -> tuple[ChatState, str]:
    """Return the first text that is not marked, without the closing tag of the thinking."""
    return replace(state, tag=""), text.removeprefix(f"</{state.tag}>")
