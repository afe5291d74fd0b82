"""Gemini: lowering the conversation.

Sources, read November 2026: https://ai.google.dev/api/generate-content (`contents`,
`systemInstruction`), https://ai.google.dev/gemini-api/docs/function-calling and
https://ai.google.dev/gemini-api/docs/thought-signatures.

Signatures go back on exactly the part they came on. Gemini 3 refuses a step whose first function
call has none; for calls that another model made, its FAQ names a value that skips the check.
"""

import re
from collections.abc import Sequence
from typing import Final, cast

from attrs import frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.models import GeminiRules
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, ROLES, NativeObject
from llmcore.protocols.gemini.parts import (
    ToolResultLowering,
    lower_media,
    lower_result,
    merge_native,
)
from llmcore.protocols.history import HistoryPolicy, LoweringContext, native_provider_ids, repair
from llmcore.protocols.lowering import CONTINUE_TEXT, note_continue_message
from llmcore.protocols.native_json import object_or_empty, text_or_json
from llmcore.protocols.tools import freeform_arguments
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Stands for the signature of a call that the target did not make."""


@frozen(kw_only=True)
class GeminiTarget(LoweringContext):
    """The target that messages are lowered for."""

    rules: GeminiRules

    def replayed(self, part: ContentPart) -> NativeObject:
        """Return the native fields that *part* brought from this API."""
        return dict(object_or_empty(part.provider_metadata.get(self.metadata_key)))


def target_of(request: LLMRequest, rules: GeminiRules) -> GeminiTarget:
    """Return the target of the messages of *request*."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        alternate=True,
        starts_with_user=True,
        name_results=True,
        system_messages="demote",
        developer_role=False,
        empty_text="drop_empty",
    )
    keys = native_provider_ids(request, METADATA_KEY)
    return GeminiTarget(rules=rules, policy=policy, keys=keys)


def lower_messages(
    request: LLMRequest, target: GeminiTarget, instructions: Sequence[str], notes: Notes
) -> tuple[list[NativeObject], list[NativeObject]]:
    """Return the parts of `systemInstruction`, and `contents`.

    *instructions* of our own end the system's.
    """
    repaired = repair(request.messages, target.policy)
    notes.extend(repaired.diagnostics)
    texts = [*request.system, *repaired.system, *map(TextPart, instructions)]
    system = [{"text": part.text} for part in texts if part.text]
    ids = _given_ids(repaired.messages, target)
    contents: list[NativeObject] = []
    last = ""
    for message, path in zip(repaired.messages, repaired.paths, strict=True):
        content = _lower_message(message, path, target, ids, notes)
        if content["parts"]:
            contents.append(content)
            last = path
    if contents and not _may_end(contents[-1], target.rules):
        note_continue_message(last, notes)
        contents.append({"role": "user", "parts": [{"text": CONTINUE_TEXT}]})
    return system, contents


def _lower_message(
    message: Message, path: str, target: GeminiTarget, ids: frozenset[str], notes: Notes
) -> NativeObject:
    if message.name:
        notes.dropped("unsupported-parameter", f"{path}.name", "the API takes no names")
    if message.role == "assistant":
        return {"role": ROLES["assistant"], "parts": _lower_answer(message, path, target, notes)}
    return {"role": ROLES["user"], "parts": _lower_user(message, path, target, ids, notes)}


def _may_end(last: NativeObject, rules: GeminiRules) -> bool:
    """Return whether a request may end with *last*.

    "Requests ending with a model turn are not supported unless the last part is a function
    response", newer models answer.
    """
    if rules.prefill or last["role"] == "user":
        return True
    return not last["parts"][-1].keys().isdisjoint(("functionResponse", "toolResponse"))


def _given_ids(messages: Sequence[Message], target: GeminiTarget) -> frozenset[str]:
    """Return the call ids that the service gave: the results of those calls name them."""
    return frozenset(
        part.id
        for message in messages
        for part in message.content
        if isinstance(part, ToolCallPart) and _has_native_id(part, target)
    )


def _has_native_id(call: ToolCallPart, target: GeminiTarget) -> bool:
    return bool(object_or_empty(target.replayed(call).get("functionCall")).get("id"))


# -- what the user says, and what tools returned


def _lower_user(
    message: Message, path: str, target: GeminiTarget, ids: frozenset[str], notes: Notes
) -> list[NativeObject]:
    """Return function responses, first and in the order of the calls, then all else."""
    lowering = ToolResultLowering(rules=target.rules, ids=ids, notes=notes)
    responses: list[NativeObject] = []
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        where = f"{path}.content[{index}]"
        if isinstance(part, ToolResultPart):
            responses.append(lower_result(part, where, lowering))
        else:
            parts += _lower_part(part, where, target, notes)
    return responses + lowering.media_after_results + parts


def _lower_part(
    part: ContentPart, path: str, target: GeminiTarget, notes: Notes
) -> list[NativeObject]:
    replayed = target.replayed(part)
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return [merge_native({"text": text}, replayed)]
        case ReasoningPart():
            return [_lower_reasoning(part, replayed)]
        case ImagePart() | AudioPart() | DocumentPart():
            *before, native = lower_media(part, path, target.rules, notes)
            return [*before, merge_native(native, replayed)]
        case ProviderPart(provider=provider, data=data) if provider in target.keys:
            return [cast("NativeObject", data)] if isinstance(data, dict) else []
        case _:
            name = type(part).__name__
            notes.dropped("unsupported-content", path, f"Gemini has no place for a {name} here")
            return []


# -- what the model said


def _lower_answer(
    message: Message, path: str, target: GeminiTarget, notes: Notes
) -> list[NativeObject]:
    trusted = target.policy.keeps_opaque(message.origin)
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        where = f"{path}.content[{index}]"
        match part:
            case ToolCallPart(provider_executed=True) | ToolResultPart():
                parts += _lower_executed(part, where, target, notes, trusted=trusted)
            case ToolCallPart():
                parts.append(_lower_call(part, where, target, notes))
            case _:
                parts += _lower_part(part, where, target, notes)
    return _signed([_readable(part, path, notes) for part in parts], path, target, notes)


_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def _readable(part: NativeObject, path: str, notes: Notes) -> NativeObject:
    """Return *part* without a signature that is not base64: it would fail the whole request."""
    signature = part.get("thoughtSignature")
    if signature is None or (isinstance(signature, str) and _BASE64.fullmatch(signature)):
        return part
    notes.dropped(
        "opaque-data-dropped", path, "its signature is not one of Gemini's: it is not base64"
    )
    return {name: item for name, item in part.items() if name != "thoughtSignature"}


def _lower_reasoning(part: ReasoningPart, replayed: NativeObject) -> NativeObject:
    native: NativeObject = {"text": part.text, "thought": True}
    if part.signature is not None:
        native["thoughtSignature"] = part.signature
    return merge_native(native, replayed)


def _lower_call(call: ToolCallPart, path: str, target: GeminiTarget, notes: Notes) -> NativeObject:
    replayed = target.replayed(call)
    native: NativeObject = {"name": call.name, "args": _arguments(call, path, notes)}
    if _has_native_id(call, target):
        replayed["functionCall"] = {**object_or_empty(replayed.get("functionCall")), "id": call.id}
    return merge_native({"functionCall": native}, replayed)


def _arguments(call: ToolCallPart, path: str, notes: Notes) -> NativeObject:
    """Return the arguments as an object, which is all that can be sent."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.kind != "custom":
        why = "arguments are an object: these are wrapped in one"
        notes.changed("invalid-tool-arguments", f"{path}.arguments", why)
    return freeform_arguments(text_or_json(call.arguments))


def _lower_executed(
    part: ToolCallPart | ToolResultPart,
    path: str,
    target: GeminiTarget,
    notes: Notes,
    *,
    trusted: bool,
) -> list[NativeObject]:
    """Return the part of a tool that the service ran, as it came."""
    native = object_or_empty(target.replayed(part).get("part"))
    if not native:
        why = "a tool run by the provider can only be shown again as it came"
        notes.dropped("unsupported-content", path, why)
        return []
    if trusted or "thoughtSignature" not in native:
        return [native]
    why = "its signature is good only at the model that made it"
    notes.dropped("opaque-data-dropped", path, why)
    rest = {name: item for name, item in native.items() if name != "thoughtSignature"}
    skipped = {"thoughtSignature": SKIP_SIGNATURE} if target.rules.checks_signatures else {}
    return [rest | skipped]


def _signed(
    parts: list[NativeObject], path: str, target: GeminiTarget, notes: Notes
) -> list[NativeObject]:
    """Return *parts*, the first function call with a signature, real or skipping the check."""
    if not target.rules.checks_signatures:
        return parts
    for index, part in enumerate(parts):
        if "functionCall" not in part:
            continue
        if "thoughtSignature" in part:
            return parts
        why = "its call has no signature of this model: the value that skips the check is sent"
        notes.added("thought-signature-skipped", path, why)
        return [*parts[:index], {**part, "thoughtSignature": SKIP_SIGNATURE}, *parts[index + 1 :]]
    return parts
