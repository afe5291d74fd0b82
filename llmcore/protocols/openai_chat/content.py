"""OpenAI Chat Completions: reading text, refusals and thinking.

    {"delta": {"content": "Hel"}}
    {"delta": {"reasoning_content": "Hm, "}}                       DeepSeek and others
    {"delta": {"reasoning": "Hm, ", "reasoning_details": [{"type": "reasoning.text", "text": "Hm, ",
               "index": 0}]}}                                      OpenRouter
    {"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm, "}]}]}}
                                                                   Mistral
    {"delta": {"content": [{"type": "reasoning", "summary": [{"type": "summary_text",
               "text": "Hm, ", "signature": "EqQ..."}]}]}}         Databricks

Thinking that servers send as text, in tags:

    {"delta": {"content": "<think>Hm, "}}
    {"delta": {"content": "so</think>Done."}}                      Perplexity, open models
    {"delta": {"content": "<reasoning>Hm, </reasoning>"}}          Bedrock: each piece in tags
    {"delta": {"content": "<thought>Hm, ", "extra_content": {"google": {"thought": true}}}}
    {"delta": {"content": "so", "extra_content": {"google": {"thought": true}}}}
    {"delta": {"content": "</thought>Done."}}                      Gemini's endpoints

Which tag a model writes is a fact of the dialect. Gemini's endpoints mark each piece, so that any
tag is read there: Vertex AI has none unless the request names it (`thought_tag_marker`).

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/object,
https://docs.mistral.ai/capabilities/reasoning and .../citations (content parts),
https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models (likewise);
thinking: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://console.groq.com/docs/reasoning,
https://docs.vllm.ai/en/latest/features/reasoning_outputs.html; tags:
https://ai.google.dev/gemini-api/docs/openai (thinking),
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/openai/overview,
https://github.com/ren8k/aws-gpt-oss-samples (Bedrock).
"""

import re
from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.openai_chat.executed import announce_page, on_image
from llmcore.protocols.openai_chat.names import (
    BLOCK_FIELDS,
    GATHERED_FIELDS,
    METADATA_KEY,
    OF_TOKENS,
    REASONING_FIELDS,
    thinking_delta,
)
from llmcore.protocols.openai_chat.state import (
    ChatState,
    add_thought,
    close_segment,
    end_arguments,
    open_segment,
)
from llmcore.protocols.response_parts import Events, read_logprobs
from llmcore.schema.content import TokenLogprob
from llmcore.schema.events import ProviderEvent, ReasoningDelta, TextDelta, ToolInputDelta
from llmcore.schema.json import NativeObject, without
from llmcore.schema.native_json import (
    index_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
    texts,
)
from llmcore.schema.options import merge_json
from llmcore.schema.persistent import PersistentList, to_list

# -- text


def delta_of(choice: NativeObject) -> NativeObject:
    """Return the delta of *choice*, of which the older completions API has only the text."""
    text = choice.get("text")
    if choice.get("delta") is None and choice.get("message") is None and isinstance(text, str):
        return {"content": text}
    return object_or_empty(choice.get("delta"))


def number_of(choice: NativeObject) -> int:
    """Return the number of *choice* among those of a response."""
    return index_or_none(choice.get("index")) or 0


def is_rest(state: ChatState, choice: NativeObject, first: NativeObject) -> bool:
    """Return whether *choice* is not another response, but has the calls of the *first*.

    GitHub Copilot sends the text of a message and its calls as two choices.
    Source: https://github.com/HKUDS/nanobot/pull/1555
    """
    return _has_calls(choice) and not (state.context.several_choices or _has_calls(first))


def _has_calls(choice: NativeObject) -> bool:
    holder = object_or_empty(choice.get("message")) or delta_of(choice)
    return bool(holder.get("tool_calls"))


def is_copy(message: NativeObject, delta: NativeObject) -> bool:
    """Return whether *message* has nothing but what *delta* beside it has.

    Foundry Local sends each piece twice, so that its messages are not the whole.
    Source: https://github.com/microsoft/foundry-local/issues/263
    """
    return bool(delta) and all(
        delta.get(name) == value for name, value in message.items() if value and name != "role"
    )


_THINKING: Final = frozenset({*REASONING_FIELDS, *BLOCK_FIELDS})


def new_in_message(message: NativeObject, known: Collection[str]) -> NativeObject:
    """Return the fields of a whole *message* that are not *known* from deltas, but for its calls.

    Thinking is under several names, of which servers have others in the whole message.
    """
    left_out = {"tool_calls", *known}
    if message.get("tool_calls"):
        left_out.add("function_call")
    if not _THINKING.isdisjoint(known):
        left_out |= _THINKING
    return without(message, *left_out)


def on_content(
    state: ChatState, delta: NativeObject, choice: NativeObject, events: Events
) -> ChatState:
    """Emit the delta's text, or its list of parts, and log probabilities that came alone."""
    content = delta.get("content")
    text = content if isinstance(content, str) else ""
    if text and is_marked(delta):
        state, text = on_marked(state, text, events)
    for part in _parts(content):
        state = _on_part(state, part, events)
    logprobs = _logprobs(choice, "content")
    if logprobs and not text and state.mode != "text":
        events.append(ProviderEvent(state.context.provider, {"logprobs": choice.get("logprobs")}))
        return state
    return on_text(state, text, logprobs, events)


def _parts(content: object) -> list[NativeObject]:
    """Return the parts of content that is not one text; a text among them is one."""
    if isinstance(content, str):
        return []
    items = content if isinstance(content, list) else [content]
    return objects(
        [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]
    )


def _on_part(state: ChatState, part: NativeObject, events: Events) -> ChatState:
    """Emit one part of a content list, as Mistral and Databricks send them."""
    match part.get("type"):
        case "text" | "output_text" | None if "text" in part:
            state = on_text(state, str_or_empty(part.get("text")), (), events)
            more = {name: part[name] for name in part if name not in _OF_TEXT and part[name]}
            if more:  # such as citations
                events.append(ProviderEvent(state.context.provider, {"content": part}))
            return state
        case "thinking" | "reasoning":
            state = on_reasoning(state, thinking_delta(part), {}, events)
            if state.mode == "reasoning":
                state = replace(state, plain_field="summary" if "summary" in part else "content")
            for item in objects(part.get("thinking")):
                if "text" not in item and "signature" not in item:
                    state = _on_part(state, item, events)
            return state
        case "refusal":
            return on_refusal(state, part, {}, events)
        case "image_url":
            return on_image(close_segment(state, events), part, events)
        case _:  # such as Mistral's `reference` and `tool_reference`
            state = announce_page(state, part.get("url"), part.get("title"), events)
            events.append(ProviderEvent(state.context.provider, {"content": part}))
            return state


_OF_TEXT: Final = frozenset({"type", "text"})


def on_text(
    state: ChatState, text: str, logprobs: tuple[TokenLogprob, ...], events: Events
) -> ChatState:
    """Emit more text, or thinking in tags; keep text that represents a call."""
    if not text and not (logprobs and state.mode == "text"):
        return state
    if state.context.constrained:
        return replace(state, buffered=PersistentList(text, state.buffered))
    if state.context.think_tag and state.mode != "text":
        if state.mode == "reasoning" and "content" not in state.fields:
            state = close_segment(state, events)  # which a field of its own brought, not a tag
        return on_tagged_text(state, text, logprobs, events)
    if state.tag:
        state, text = end_marked(state, text)
        if not text:
            return state
    state = open_segment(state, "text", events, fast_field="content")
    events.append(TextDelta(state.segment, text, logprobs))
    return state


def on_refusal(
    state: ChatState, delta: NativeObject, choice: NativeObject, events: Events
) -> ChatState:
    """Emit more of a refusal, and its log probabilities."""
    refusal, logprobs = str_or_none(delta.get("refusal")), _logprobs(choice, "refusal")
    if refusal is None and state.mode != "refusal":
        if logprobs:
            raw = {"logprobs": choice.get("logprobs")}
            events.append(ProviderEvent(state.context.provider, raw))
        return state
    state = open_segment(state, "refusal", events)
    events.append(TextDelta(state.segment, refusal or "", logprobs))
    return state


def _logprobs(choice: NativeObject, name: str) -> tuple[TokenLogprob, ...]:
    return read_logprobs(object_or_empty(choice.get("logprobs")).get(name))


def on_token_fields(state: ChatState, choice: NativeObject, events: Events) -> None:
    """Emit what a choice has for the tokens of its delta without a neutral form."""
    if choice.keys().isdisjoint(OF_TOKENS):  # as nearly always
        return
    given = [{name: choice[name]} for name in OF_TOKENS if choice.get(name)]
    events += [ProviderEvent(state.context.provider, fields) for fields in given]


def with_token_logprobs(choice: NativeObject) -> NativeObject:
    """Return *choice* with its log probabilities in OpenAI's form.

    Other forms are the lists of the older completions API (Together, Fireworks), and one number
    for the text of a chunk (Together). Sources: the types of `together` 3.1.1 and `fireworks-ai`
    1.2.28 (`types/chat`, `LogProbs`).
    """
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        delta = object_or_empty(choice.get("delta"))
        given = {
            "tokens": [delta.get("content")],
            "token_logprobs": [given],
            "token_ids": [delta.get("token_id")],
            "top_logprobs": [choice.get("top_logprobs")],
        }
    tokens = given.get("tokens")
    if not isinstance(tokens, list):
        return choice
    content = [_token(given, number) for number in range(len(tokens))]
    return {**choice, "logprobs": {"content": content}}


def _token(given: NativeObject, number: int) -> NativeObject:
    """Return the token at *number* of lists, with the likeliest tokens in its place."""
    tops = object_or_empty(_at(given.get("top_logprobs"), number))
    return {
        "token": _at(given["tokens"], number),
        "logprob": _at(given.get("token_logprobs"), number),
        "token_id": _at(given.get("token_ids"), number),
        "top_logprobs": [{"token": text, "logprob": value} for text, value in tops.items()],
    }


def _at(values: object, number: int) -> Any:
    return values[number] if isinstance(values, list) and number < len(values) else None


# -- thinking


def on_reasoning(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Emit the thinking in *delta*, and keep the fields that its replay needs."""
    name, text = _text(delta)
    details = next((blocks for field in BLOCK_FIELDS if (blocks := delta.get(field))), None)
    signature = _signature(delta)
    if not text and not details and not (signature and state.mode == "reasoning"):
        return state
    state = open_segment(state, "reasoning", events, fast_field="" if details else name)
    if text and not details and name and not state.plain_field:
        state = replace(state, plain_field=name)
    given = {name: delta.get(name) for name in REASONING_FIELDS}
    others = {n: value for n, value in given.items() if str_or_empty(value) not in ("", text)}
    if others:  # another text than the one that was read
        events.append(ProviderEvent(state.context.provider, {"delta": others}))
    if isinstance(details, list):
        state, text = _on_details(state, details, text)
    if text:
        events.append(ReasoningDelta(state.segment, text))
    pieces = PersistentList(signature, state.signature)
    return replace(state, signature=pieces) if signature else state


def _on_details(state: ChatState, details: list[Any], text: str) -> tuple[ChatState, str]:
    """Keep blocks of thinking; return what is new in their *text*.

    Blocks with more text than the field beside them have all of it so far (MiniMax).
    """
    thoughts, new = add_thought(state.thoughts, text) if text else (state.thoughts, text)
    shown = _shown(details)
    is_snapshot = thoughts.form == "snapshots" or (shown != text and shown.endswith(text))
    chain = None if is_snapshot and text else state.details
    for detail in details:
        chain = PersistentList(detail, chain)
    return replace(state, details=chain, thoughts=thoughts), new


def _text(delta: NativeObject) -> tuple[str, str]:
    """Return the thinking and its field's name; of two fields with the same text, the first."""
    for name in REASONING_FIELDS:
        text = delta.get(name)
        if isinstance(text, str) and text:
            return name, text
        inner = object_or_empty(text).get("content") or object_or_empty(text).get("text")
        if isinstance(inner, str) and inner:
            return "", inner
        words = "".join(str_or_empty(part.get("text")) for part in objects(text))
        if words:
            return "", words
    return "", _shown(delta.get("reasoning_details"))


def _shown(details: object) -> str:
    """Return the text in blocks of thinking."""
    texts = (detail.get("text") or detail.get("summary") for detail in objects(details))
    return "".join(map(str_or_empty, texts))


def _signature(delta: NativeObject) -> str:
    inner = (object_or_empty(delta.get(name)) for name in ("reasoning", "thinking"))
    signatures = (str_or_empty(holder.get("signature")) for holder in (delta, *inner))
    return next(filter(None, signatures), "")


def held_back(state: ChatState) -> Events:
    """Return what was kept until more of it came, for a response that was cut."""
    events: Events = []
    if state.thoughts.form == "held":
        events.append(ReasoningDelta(state.segment, state.thoughts.text))
    flush_partial_tag(state, events)
    for id_, arguments in state.calls.arguments.items():
        text = arguments.text if arguments.form == "held" else end_arguments(arguments)[0]
        if text and not state.calls.calls[id_].freeform:
            events.append(ToolInputDelta(id_, text))
    return events


# -- thinking in tags


def on_tagged_text(
    state: ChatState, text: str, logprobs: tuple[TokenLogprob, ...], events: Events
) -> ChatState:
    """Split text at think tags, which may be cut anywhere between chunks.

    Thinking is at the head of a response: a tag inside its text is text. White space
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


def flush_partial_tag(state: ChatState, events: Events) -> ChatState:
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


def on_marked(state: ChatState, text: str, events: Events) -> tuple[ChatState, str]:
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


# -- what must go back with the message


def on_extra(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: Events
) -> ChatState:
    """Keep the fields that must go back with the message, such as Gemini's thought signature.

    LiteLLM has that of a text in `provider_specific_fields`. `reasoning_opaque` is the proof of the
    thinking of GitHub Copilot's models, `encrypted_content` the thinking of Ark's and xAI's, in
    pieces. Sources: https://ai.google.dev/gemini-api/docs/thought-signatures (OpenAI
    compatibility), https://github.com/earendil-works/pi/pull/1502 (Copilot), and the packages
    `litellm` (`llms/vertex_ai/gemini/transformation`), `volcengine-ark-runtime`, 5.0.54
    (`types/chat/chat_completion_chunk`), `xai-sdk`, 1.21.0 (`chat.Response.process_chunk`).
    """
    extra: NativeObject = {}
    if content := without_mark(object_or_empty(delta.get("extra_content"))):
        extra["extra_content"] = content
    gathered, field = object_or_empty(delta.get(GATHERED_FIELDS)), "thought_signatures"
    if signatures := texts(gathered.get(field)):
        before = object_or_empty(state.info.extra.get(GATHERED_FIELDS)).get(field)
        extra[GATHERED_FIELDS] = {field: [*texts(before), *signatures]}
    if others := without(gathered, field):
        events.append(ProviderEvent(state.context.provider, {"delta": {GATHERED_FIELDS: others}}))
    if str_or_none(delta.get("reasoning_opaque")) is not None:
        extra["reasoning_opaque"] = delta["reasoning_opaque"]
    info = replace(state.info, extra=merge_json(state.info.extra, extra))
    if (piece := str_or_none(delta.get("encrypted_content"))) is not None:
        info = replace(info, encrypted=PersistentList(piece, info.encrypted))
    return replace(state, info=info)


def emit_extra(state: ChatState, events: Events) -> None:
    """Emit the fields of the message that must be sent back with it, if there are any."""
    if not state.info.extra and state.info.encrypted is None:
        return
    encrypted = "".join(to_list(state.info.encrypted))
    fields = {**state.info.extra, **({"encrypted_content": encrypted} if encrypted else {})}
    events.append(
        ProviderEvent(
            state.context.provider or METADATA_KEY,
            fields,
            replay=True,
            provider_metadata={METADATA_KEY: {"place": "message"}},
        )
    )
