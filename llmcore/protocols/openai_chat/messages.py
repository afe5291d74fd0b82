"""OpenAI Chat Completions: lowering the conversation.

Source: https://platform.openai.com/docs/api-reference/chat/create (`messages`), read November 2026;
how thinking goes back: https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens,
https://docs.mistral.ai/capabilities/reasoning.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from llmcore.protocols.caching import OPENAI_BREAKPOINT, mark_breakpoint
from llmcore.protocols.history import (
    HistoryPolicy,
    LoweringTarget,
    Refused,
    Repaired,
    native_provider_ids,
    refused_file,
    repair,
)
from llmcore.protocols.history.repair import EARLIER_MESSAGES, EMPTY_MESSAGE
from llmcore.protocols.lowering import omitted_block, result_text
from llmcore.protocols.openai_chat.models import ChatDialect, ReasoningReplay
from llmcore.protocols.openai_chat.names import METADATA_KEY, PROTOCOL_ID, proof_in, rejoin_details
from llmcore.protocols.openai_chat.parts import (
    content_of,
    function_call,
    holds_reasoning,
    is_of_message,
    is_plain_call,
    kept_fields,
    lower_part,
    reasoning_field_of,
    signed_call,
    thinking_part,
    thinks_beside_blocks,
)
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonValue, NativeObject, text_or_json
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.request import LLMRequest


class ChatTarget(LoweringTarget, frozen=True, kw_only=True):
    """The request's facts that lowering its messages needs."""

    dialect: ChatDialect
    breakpoints: bool = False
    """Whether the model takes OpenAI's breakpoints of the prompt cache."""


def _refused(part: ContentPart, own: bool) -> Refused:
    """Refuse files, but not the model's audio, of which the id goes back."""
    if not isinstance(part, AudioPart):
        return refused_file(part, own)
    return None if own and _audio_id(part) else ("audio", "it can only be sent back by its id")


def target_of(request: LLMRequest, dialect: ChatDialect) -> ChatTarget:
    """Return the context for the messages of *request*."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        call_ids=dialect.call_ids,
        alternate=dialect.alternate,
        system_messages=dialect.system_messages,
        developer_role=dialect.developer_role,
        empty_text="drop_empty",
        reasoning=_REASONING.get(dialect.reasoning_replay, "any"),
        refused=_refused,
    )
    return ChatTarget(
        dialect=dialect,
        policy=policy,
        keys=native_provider_ids(request, METADATA_KEY),
        breakpoints=dialect.takes_breakpoints(request.model_id),
    )


_REASONING: Final[Mapping[ReasoningReplay, Literal["drop", "own"]]] = {
    "forbidden": "drop",
    "own": "own",
}


def lower_messages(
    request: LLMRequest, context: ChatTarget, instructions: Sequence[str], diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return the body's `messages`; *instructions* are added to the leading system message."""
    repaired = repair(request.messages, context.policy)
    repaired.report_to(diagnostics)
    messages = _lower_system(request, repaired, context, instructions, diagnostics)
    after_results: list[NativeObject] = []
    thinks = context.dialect.reasoning_replay == "required"
    roles_of_text = ("user",) if thinks else ("user", "assistant")
    for message, path in zip(repaired.messages, repaired.paths, strict=True):
        if message.role != "tool" and after_results:
            messages.append({"role": "user", "content": after_results})
            after_results = []
        if (text := _only_text(message)) is not None and message.role in roles_of_text:
            messages.append({"role": message.role, "content": text})  # nearly always
            continue
        here = diagnostics.at(path)
        match message.role:
            case "user":
                messages.append(_lower_user(message, context, here))
            case "assistant":
                messages.append(_lower_assistant(message, context, here))
            case "tool":
                messages.extend(_lower_results(message, context, after_results, here))
            case _:
                messages.append(_lower_instructions(message, context, here))
    if after_results:
        messages.append({"role": "user", "content": after_results})
    if context.dialect.needs_user:
        _add_user(messages, diagnostics)
    _mark_prefill(messages, context.dialect)
    return messages


def _add_user(messages: list[NativeObject], diagnostics: Diagnostics) -> None:
    """Add a user message after the instructions if there is none."""
    roles = [message["role"] for message in messages]
    if "user" in roles:
        return
    said = [at for at, role in enumerate(roles) if role in ("assistant", "tool")]
    words = EARLIER_MESSAGES if said else EMPTY_MESSAGE
    why = "one message at least must be the user's"
    diagnostics.at("messages[0]").added("first-message-added", why)
    messages.insert(said[0] if said else len(messages), {"role": "user", "content": words})


def _mark_prefill(messages: list[NativeObject], dialect: ChatDialect) -> None:
    """Mark the last message if it is the beginning of the response."""
    last = messages[-1] if messages else {}
    if dialect.prefill_field and last.get("role") == "assistant" and "tool_calls" not in last:
        messages[-1] = {**last, dialect.prefill_field: True}


# -- instructions


def _lower_system(
    request: LLMRequest,
    repaired: Repaired,
    context: ChatTarget,
    instructions: Sequence[str],
    diagnostics: Diagnostics,
) -> list[NativeObject]:
    if not (request.system or repaired.system or instructions):
        return []
    texts = [*request.system, *repaired.system, *map(TextPart, instructions)]
    shown = [part for part in texts if part.text]
    parts = _lower_parts(shown, context, diagnostics.at("system"))
    if not parts:
        return []
    return [{"role": "system", "content": content_of(parts, context.dialect)}]


def _lower_instructions(
    message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> NativeObject:
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        natives = _lower_marked(part, context, here)
        if not isinstance(part, ProviderPart) and any(n["type"] != "text" for n in natives):
            natives = [omitted_block("a file", "instructions hold only text", here)]
        parts += natives
    native: NativeObject = {"role": message.role, "content": content_of(parts, context.dialect)}
    return _named(native, message, context, diagnostics)


# -- user messages


def _lower_user(message: Message, context: ChatTarget, diagnostics: Diagnostics) -> NativeObject:
    parts = _lower_parts(message.content, context, diagnostics)
    content = content_of(parts, context.dialect)
    return _named({"role": "user", "content": content}, message, context, diagnostics)


def _only_text(message: Message) -> str | None:
    """Return the text of a message that has nothing else, and no cache mark, as most have."""
    if len(message.content) != 1 or message.name:
        return None
    part = message.content[0]
    return part.text if type(part) is TextPart and not part.provider_metadata else None


def _lower_parts(
    parts: Sequence[ContentPart], context: ChatTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    return [
        native
        for index, part in enumerate(parts)
        for native in _lower_marked(part, context, diagnostics.at(f"content[{index}]"))
    ]


def _lower_marked(
    part: ContentPart, context: ChatTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return a part as native parts, the last one marked where a cached prefix is to end."""
    natives = lower_part(part, context.dialect, context.keys, diagnostics)
    mark_breakpoint(natives, part, diagnostics, taken=context.breakpoints)
    return natives


def _named(
    native: NativeObject, message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> NativeObject:
    if message.name and not context.dialect.names:
        diagnostics.at("name").unsupported("the server accepts no names")
        return native
    return {**native, "name": message.name} if message.name else native


# -- assistant messages


def _lower_assistant(
    message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> NativeObject:
    """Return an assistant message: its text, then its refusal, thinking and calls.

    Chat has one place for each, so text that came after a call moves before it.
    """
    native = _lower_text_and_calls(message, context, diagnostics)
    if native is not None:
        return _named(native, message, context, diagnostics)
    native = {
        "role": "assistant",
        "content": _assistant_content(message, context, diagnostics),
    }
    refusals = [part.text for part in message.content if isinstance(part, RefusalPart)]
    if refusals and context.dialect.refusal_field:
        native["refusal"] = "".join(refusals)
    native |= _lower_reasoning(message, context)
    spoken = [_audio_id(part) for part in message.content if isinstance(part, AudioPart)]
    native |= {"audio": {"id": spoken[0]}} if spoken else {}
    native |= _lower_fields(message, context)
    if context.dialect.reasoning_field == "reasoning_text" and "reasoning_text" not in native:
        _note_unproven(message, diagnostics)
    calls = _lower_calls(message, context, diagnostics)
    if calls:
        native["tool_calls"] = calls
    if not native["content"] and not native.keys().isdisjoint(_INSTEAD_OF_CONTENT):
        native["content"] = None if context.dialect.null_content else ""
    _note_losses(message, diagnostics)
    return _named(native, message, context, diagnostics)


def _lower_text_and_calls(
    message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> NativeObject | None:
    """Return a message of text, and of calls after it, as most are; None for any other."""
    texts: list[str] = []
    calls: list[NativeObject] = []
    for part in message.content:
        if part.provider_metadata:
            return None
        if type(part) is TextPart and not calls:
            texts.append(part.text)
        elif type(part) is ToolCallPart and is_plain_call(part):
            calls.append(function_call(part.id, part.name, part.arguments_text))
        else:
            return None
    native: NativeObject = {"role": "assistant", "content": "".join(texts)}
    if context.dialect.reasoning_replay == "required":
        native |= _lower_reasoning(message, context)
    if calls:
        if context.dialect.checks_signatures(context.policy.model):
            calls[0] = signed_call(calls[0], diagnostics)
        native["tool_calls"] = calls
        if not native["content"] and context.dialect.null_content:
            native["content"] = None
    return native


_INSTEAD_OF_CONTENT: Final = frozenset({"tool_calls", "refusal", "audio"})


def _assistant_content(
    message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> str | list[NativeObject]:
    """Return the content as one string, or as parts where it is more than text."""
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        if isinstance(part, TextPart) and not part.provider_metadata:
            parts += [{"type": "text", "text": part.text}] if part.text else []
        elif not isinstance(part, ToolCallPart):
            parts += _lower_content(part, context, diagnostics.part(index, part))
    if any(part.keys() != {"type", "text"} for part in parts):
        return parts
    return "".join(part["text"] for part in parts)


def _lower_content(
    part: ContentPart, context: ChatTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    dialect = context.dialect
    match part:
        case TextPart(text=text) if text:
            return _lower_marked(part, context, diagnostics)
        case RefusalPart(text=text) if not dialect.refusal_field:
            return [{"type": "text", "text": text}]
        case ReasoningPart() if native := thinking_part(part, dialect):
            return [native]
        case ProviderPart() if not is_of_message(part):
            return lower_part(part, dialect, context.keys, diagnostics)
        case _:
            return []


def _lower_reasoning(message: Message, context: ChatTarget) -> NativeObject:
    dialect = context.dialect
    if dialect.reasoning_replay == "forbidden":
        return {}
    if dialect.reasoning_field in ("content", "reasoning_text"):  # a part; a field with its proof
        return {}
    if dialect.reasoning_replay != "required" and not any(map(holds_reasoning, message.content)):
        return {}
    field: str = dialect.reasoning_field
    own = dialect.reasoning_replay == "own"
    text = message.reasoning or ""
    blocks: NativeObject = {}
    if own or field == "reasoning_details":
        details = _details(message, context)
        blocks = {"reasoning_details": details} if details else {}
        if blocks and not (own and thinks_beside_blocks(message)):
            return blocks
        if not any(proof_in(details, name) for name in ("signature", "data")):
            blocks = {}
        field = reasoning_field_of(message) or field if own else "reasoning"
    return {**blocks, field: text} if text or dialect.reasoning_replay == "required" else blocks


def _details(message: Message, context: ChatTarget) -> list[JsonValue]:
    """Return the reasoning blocks exactly as they came, if they are from this API."""
    if not context.policy.keeps_opaque(message.origin):
        return []
    runs = [
        part.provider_metadata.get(METADATA_KEY, {}).get("reasoning_details")
        for part in message.content
    ]
    return rejoin_details(run for run in runs if isinstance(run, list))


def _note_unproven(message: Message, diagnostics: Diagnostics) -> None:
    for index, part in enumerate(message.content):
        if isinstance(part, ReasoningPart):
            why = "the server accepts thinking only with the proof that came with it"
            diagnostics.part(index, part).dropped("reasoning-dropped", why)


def _audio_id(part: AudioPart) -> object:
    return part.file_id or part.provider_metadata.get(METADATA_KEY, {}).get("audio_id")


def _lower_fields(message: Message, context: ChatTarget) -> NativeObject:
    """Return the native fields that came with the message and must go back with it."""
    if not context.policy.keeps_opaque(message.origin):
        return {}
    fields: NativeObject = {}
    for part in message.content:
        if isinstance(part, ProviderPart) and is_of_message(part):
            fields |= object_or_empty(part.data)
    if "reasoning_opaque" in fields and context.dialect.reasoning_field == "reasoning_text":
        fields["reasoning_text"] = message.reasoning or ""
    return fields


def _lower_calls(
    message: Message, context: ChatTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    calls: list[NativeObject] = []
    for index, part in enumerate(message.content):
        if not isinstance(part, ToolCallPart) or part.provider_executed:
            continue
        broken = part.kind == "function" and not part.is_valid
        if broken and context.dialect.valid_arguments:
            why = "the server accepts only JSON objects as arguments: they are wrapped in one"
            here = diagnostics.part(index, part).at("arguments")
            here.changed("invalid-tool-arguments", why)
        calls.append(_lower_call(part, message, context))
    if calls and context.dialect.checks_signatures(context.policy.model):
        calls[0] = signed_call(calls[0], diagnostics)
    return calls


def _lower_call(call: ToolCallPart, message: Message, context: ChatTarget) -> NativeObject:
    """Return a call, with the fields that must go back with it."""
    native: NativeObject = {"id": call.id}
    if call.kind == "custom" and context.dialect.custom_tools:
        custom = {"name": call.name, "input": text_or_json(call.arguments)}
        native |= {"type": "custom", "custom": custom}
    else:
        text = call.arguments_text
        if call.kind == "custom" or (context.dialect.valid_arguments and not call.is_valid):
            text = text_or_json(freeform_arguments(text))
        native = function_call(call.id, call.name, text)
    if call.provider_metadata and context.policy.keeps_opaque(message.origin):
        native |= kept_fields(call)
    return native


def _note_losses(message: Message, diagnostics: Diagnostics) -> None:
    called = False
    for index, part in enumerate(message.content):
        if isinstance(part, TextPart):
            if called and part.text:
                why = "text after a tool call is sent before it: Chat has no other position"
                diagnostics.part(index, part).changed("reordered-content", why)
        elif isinstance(part, ToolCallPart | ToolResultPart) and part.provider_executed:
            why = "Chat Completions cannot represent it"
            diagnostics.part(index, part).left_out("a tool run by the provider", why)
        elif isinstance(part, ToolCallPart):
            called = True


# -- results of tools


def _lower_results(
    message: Message,
    context: ChatTarget,
    after_results: list[NativeObject],
    diagnostics: Diagnostics,
) -> list[NativeObject]:
    """Return one tool message per result; images that they cannot hold go to *after_results*.

    Tool messages must follow the calls directly, so the user message that shows the
    images comes after the last of them, each labelled with its call's id.
    """
    messages: list[NativeObject] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        if not isinstance(part, ToolResultPart):
            after_results += _lower_marked(part, context, here)
            continue
        content = _lower_result(part, context, after_results, here)
        messages.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": content})
    return messages


def _lower_result(
    part: ToolResultPart,
    context: ChatTarget,
    after_results: list[NativeObject],
    diagnostics: Diagnostics,
) -> str | list[NativeObject]:
    if not isinstance(part.content, tuple):
        text = result_text(part)
        if not part.provider_metadata:  # which no mark is in
            return text
        marked: list[NativeObject] = [{"type": "text", "text": text}]
        mark_breakpoint(marked, part, diagnostics, taken=context.breakpoints)
        return marked if OPENAI_BREAKPOINT in marked[0] else text
    natives: list[NativeObject] = [{"type": "text", "text": "Error:"}] if part.is_error else []
    held = ("text", "image_url") if context.dialect.tool_result_images else ("text",)
    shown = 0
    for index, item in enumerate(part.parts):
        here = diagnostics.at(f"content[{index}]")
        for native in _lower_marked(item, context, here):
            if native.get("type") in held:
                natives.append(native)
                continue
            shown += 1
            label = f"{native.get('type', 'part')} {shown} of tool call {part.tool_call_id}"
            natives.append({"type": "text", "text": f"[{label}: in the next user message]"})
            after_results += [{"type": "text", "text": f"{label}:"}, native]
            why = "tool messages hold only text: it follows in a user message"
            here.changed("moved-tool-result-media", why)
    mark_breakpoint(natives, part, diagnostics, taken=context.breakpoints)
    return content_of(natives, context.dialect)
