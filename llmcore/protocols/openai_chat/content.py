"""OpenAI Chat Completions: reading text, refusals, thinking and media.

    {"delta": {"content": "Hel"}}
    {"delta": {"reasoning_content": "Hm, "}}                       DeepSeek and others
    {"delta": {"reasoning": "Hm, ", "reasoning_details": [{"type": "reasoning.text", "text": "Hm, ",
               "index": 0}]}}                                      OpenRouter
    {"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm, "}]}]}}
                                                                   Mistral
    {"delta": {"content": [{"type": "reasoning", "summary": [{"type": "summary_text",
               "text": "Hm, ", "signature": "EqQ..."}]}]}}         Databricks
    {"delta": {"audio": {"id": "audio_1", "data": "UklGRg=="}}}

Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat/object,
https://docs.mistral.ai/capabilities/reasoning and .../citations (content parts),
https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models (likewise),
https://openrouter.ai/docs/features/multimodal/image-generation (`images`); thinking:
https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens, https://console.groq.com/docs/reasoning,
https://docs.vllm.ai/en/latest/features/reasoning_outputs.html.
"""

from typing import Any, Final

from msgspec.structs import replace

from llmcore.protocols.media import decode_pieces
from llmcore.protocols.openai_chat.executed import announce_page
from llmcore.protocols.openai_chat.names import (
    BLOCK_FIELDS,
    METADATA_KEY,
    OF_TOKENS,
    REASONING_FIELDS,
)
from llmcore.protocols.openai_chat.state import (
    ChatState,
    add_thought,
    close_segment,
    end_arguments,
    open_segment,
)
from llmcore.protocols.openai_chat.tagged import (
    end_marked,
    flush_partial_tag,
    is_marked,
    on_marked,
    on_tagged_text,
    without_mark,
)
from llmcore.protocols.response_parts import read_logprobs
from llmcore.schema.content import TokenLogprob
from llmcore.schema.events import (
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
)
from llmcore.schema.json import (
    NativeObject,
    index_or_none,
    object_or_empty,
    objects,
    present,
    str_or_none,
)
from llmcore.schema.options import merge_json
from llmcore.schema.persistent import PersistentList, to_list
from llmcore.schema.request import LLMRequest

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


def on_content(
    state: ChatState, delta: NativeObject, choice: NativeObject, events: list[LLMEvent]
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


def _on_part(state: ChatState, part: NativeObject, events: list[LLMEvent]) -> ChatState:
    """Emit one part of a content list, as Mistral and Databricks send them."""
    match part.get("type"):
        case "text" | "output_text":
            state = on_text(state, str_or_none(part.get("text")) or "", (), events)
            more = {name: part[name] for name in part if name not in _OF_TEXT and part[name]}
            if more:  # such as citations
                events.append(ProviderEvent(state.context.provider, {"content": part}))
            return state
        case "thinking" | "reasoning":
            state = on_reasoning(state, thinking_delta(part), {}, events)
            for item in objects(part.get("thinking")):
                if "text" not in item and "signature" not in item:
                    state = _on_part(state, item, events)
            return state
        case "refusal":
            return on_refusal(state, part, {}, events)
        case "image_url":
            return _on_image(close_segment(state, events), part, events)
        case _:  # such as Mistral's `reference` and `tool_reference`
            state = announce_page(state, part.get("url"), part.get("title"), events)
            events.append(ProviderEvent(state.context.provider, {"content": part}))
            return state


_OF_TEXT: Final = frozenset({"type", "text"})


def on_text(
    state: ChatState, text: str, logprobs: tuple[TokenLogprob, ...], events: list[LLMEvent]
) -> ChatState:
    """Emit more text, or thinking in tags; keep text that stands for a call."""
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
    state: ChatState, delta: NativeObject, choice: NativeObject, events: list[LLMEvent]
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


def on_token_fields(state: ChatState, choice: NativeObject, events: list[LLMEvent]) -> None:
    """Emit what a choice has for the tokens of its delta without a neutral form."""
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


# -- media

_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "pcm16": "audio/pcm"}


def audio_type(request: LLMRequest) -> str:
    """Return the MIME type of the audio that was asked for."""
    audio = request.options_for(METADATA_KEY, request.provider_id).get("audio")
    form = str_or_none(object_or_empty(audio).get("format")) or "wav"
    return _AUDIO_TYPES.get(form, f"audio/{form}")


def on_media(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: list[LLMEvent]
) -> ChatState:
    """Keep pieces of audio, and emit whole images."""
    audio = delta.get("audio")
    if isinstance(audio, dict) and any(audio.values()):  # Snowflake's is always there
        state = replace(state, buffered=PersistentList(audio, state.buffered))
    for image in objects(delta.get("images")):
        state = _on_image(state, image, events)
    return state


def _on_image(state: ChatState, image: NativeObject, events: list[LLMEvent]) -> ChatState:
    """Emit an image, whose `image_url` is an object or, with Mistral, a URL."""
    given = image.get("image_url")
    url = str_or_none(given) or str_or_none(object_or_empty(given).get("url"))
    if url is None:
        events.append(ProviderEvent(state.context.provider, {"image": image}))
        return state
    media_type = url[5:].partition(";")[0] if url.startswith("data:") else "image/png"
    events.append(File(id=f"file_{state.segments}", url=url, media_type=media_type))
    return replace(state, segments=state.segments + 1)


def audio_is_complete(state: ChatState) -> bool:
    """Return whether audio came to its end, for streams without a finish reason.

    Source: OpenAI's JavaScript SDK 7.57.0, `ChatCompletionStream`: such a stream may end with
    `{"audio": {"expires_at": ...}}` and without a finish reason.
    """
    last = None if state.buffered is None else state.buffered.value
    if state.mode or not isinstance(last, dict) or last.keys() != {"expires_at"}:
        return False
    pieces = [piece for piece in to_list(state.buffered) if isinstance(piece, dict)]
    return all(any(piece.get(name) for piece in pieces) for name in ("id", "data", "transcript"))


def flush_audio(state: ChatState, events: list[LLMEvent]) -> None:
    """Emit the whole audio that came in pieces."""
    pieces = [piece for piece in to_list(state.buffered) if isinstance(piece, dict)]
    if not pieces:
        return
    id_ = next((audio_id for piece in pieces if (audio_id := str_or_none(piece.get("id")))), None)
    expires = next((p["expires_at"] for p in pieces if p.get("expires_at") is not None), None)
    data = decode_pieces(str_or_none(piece.get("data")) or "" for piece in pieces)
    words = "".join(str_or_none(piece.get("transcript")) or "" for piece in pieces)
    known = {"audio_id": id_, "expires_at": expires}
    metadata = present(known)
    events.append(
        File(
            id=id_ or f"file_{state.segments}",
            media_type=state.context.audio_type,
            data=data or None,
            file_id=None if data else id_,
            transcript=words or None,
            provider_metadata={METADATA_KEY: metadata} if metadata else {},
        )
    )


# -- thinking


def on_reasoning(
    state: ChatState, delta: NativeObject, _choice: NativeObject, events: list[LLMEvent]
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
    others = _other_texts(delta, text)
    if others:
        events.append(ProviderEvent(state.context.provider, {"delta": others}))
    if isinstance(details, list):
        state, text = _on_details(state, details, text)
    if text:
        events.append(ReasoningDelta(state.segment, text))
    pieces = PersistentList(signature, state.signature)
    return replace(state, signature=pieces) if signature else state


def _on_details(state: ChatState, details: list[Any], text: str) -> tuple[ChatState, str]:
    """Keep blocks of thinking; return what is new in their *text*."""
    thoughts, new = add_thought(state.thoughts, text) if text else (state.thoughts, text)
    chain = None if thoughts.form == "snapshots" and text else state.details
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
        words = "".join(_words(part.get("text")) for part in objects(text))
        if words:
            return "", words
    details = objects(delta.get("reasoning_details"))
    return "", "".join(_words(detail.get("text") or detail.get("summary")) for detail in details)


def _other_texts(delta: NativeObject, text: str) -> NativeObject:
    """Return the fields of thinking whose text is another one than *text*, which was read."""
    given = {name: delta.get(name) for name in REASONING_FIELDS}
    return {n: value for n, value in given.items() if _words(value) not in ("", text)}


def _signature(delta: NativeObject) -> str:
    for holder in (
        delta,
        object_or_empty(delta.get("reasoning")),
        object_or_empty(delta.get("thinking")),
    ):
        signature = holder.get("signature")
        if isinstance(signature, str):
            return signature
    return ""


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ""


def thinking_delta(part: NativeObject) -> NativeObject:
    """Return a content part of thinking as a delta.

    Source: the `mistralai` package, 3.7.0, `client/models/thinkchunk` ("signature").
    """
    inner = part.get("thinking") or part.get("summary")
    text = (
        inner if isinstance(inner, str) else "".join(_words(p.get("text")) for p in objects(inner))
    )
    proofs = (_words(holder.get("signature")) for holder in (part, *objects(inner)))
    signature = next(filter(None, proofs), "")
    return {"reasoning": text, "signature": signature} if signature else {"reasoning": text}


def held_back(state: ChatState) -> list[LLMEvent]:
    """Return what was kept until more of it came, for a response that was cut."""
    events: list[LLMEvent] = []
    if state.thoughts.form == "held":
        events.append(ReasoningDelta(state.segment, state.thoughts.text))
    flush_partial_tag(state, events)
    for id_, arguments in state.calls.arguments.items():
        text = arguments.text if arguments.form == "held" else end_arguments(arguments)[0]
        if text and not state.calls.calls[id_].freeform:
            events.append(ToolInputDelta(id_, text))
    return events


# -- what must go back with the message


def on_extra(
    state: ChatState, delta: NativeObject, _choice: NativeObject, _events: list[LLMEvent]
) -> ChatState:
    """Keep the fields that must go back with the message, such as Gemini's thought signature.

    `reasoning_opaque` is the proof of the thinking of GitHub Copilot's models, `encrypted_content`
    the thinking of Ark's and xAI's, in pieces. Sources:
    https://ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility),
    https://github.com/earendil-works/pi/pull/1502 (Copilot), and the packages
    `volcengine-ark-runtime`, 5.0.54 (`types/chat/chat_completion_chunk`), and `xai-sdk`, 1.21.0
    (`chat.Response.process_chunk`).
    """
    extra: NativeObject = {}
    if content := without_mark(object_or_empty(delta.get("extra_content"))):
        extra["extra_content"] = content
    if str_or_none(delta.get("reasoning_opaque")) is not None:
        extra["reasoning_opaque"] = delta["reasoning_opaque"]
    info = replace(state.info, extra=merge_json(state.info.extra, extra))
    if (piece := str_or_none(delta.get("encrypted_content"))) is not None:
        info = replace(info, encrypted=PersistentList(piece, info.encrypted))
    return replace(state, info=info)


def emit_extra(state: ChatState, events: list[LLMEvent]) -> None:
    """Emit the fields of the message that must be sent back with it, if there are any."""
    encrypted = "".join(to_list(state.info.encrypted))
    fields = {**state.info.extra, **({"encrypted_content": encrypted} if encrypted else {})}
    if fields:
        events.append(
            ProviderEvent(
                state.context.provider or METADATA_KEY,
                fields,
                replay=True,
                provider_metadata={METADATA_KEY: {"place": "message"}},
            )
        )
