"""Gemini: lowering the conversation.

Sources, read November 2026: https://ai.google.dev/api/generate-content (`contents`,
`systemInstruction`), https://ai.google.dev/gemini-api/docs/function-calling and
https://ai.google.dev/gemini-api/docs/thought-signatures.

Signatures go back on exactly the part they came on. Gemini 3 refuses a step whose first function
call has none; for calls that another model made, its FAQ names a value that skips the check.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, cast

from attrs import frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.models import ModelRules
from llmcore.protocols.gemini.parts import lower_media, with_own
from llmcore.protocols.gemini.results import Desk, lower_result
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

Native: TypeAlias = dict[str, Any]

SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Stands for the signature of a call that the target did not make."""


@frozen(kw_only=True)
class Target(LoweringContext):
    """Whom messages are lowered for."""

    rules: ModelRules

    def own(self, part: ContentPart) -> Native:
        """Return what *part* carries that is this API's."""
        return dict(object_or_empty(part.provider_metadata.get(self.metadata_key)))


def target_of(
    request: LLMRequest, rules: ModelRules, *, protocol: str, metadata_key: str
) -> Target:
    """Return whom the messages of *request* are lowered for."""
    policy = HistoryPolicy(
        protocol=protocol,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=metadata_key,
        alternate=True,
        starts_with_user=True,
        name_results=True,
        system_messages="demote",
        developer_role=False,
        empty_text="drop_empty",
    )
    keys = native_provider_ids(request, metadata_key)
    return Target(rules=rules, policy=policy, keys=keys)


def lower_messages(
    request: LLMRequest, target: Target, instructions: Sequence[str], notes: Notes
) -> tuple[list[Native], list[Native]]:
    """Return the parts of `systemInstruction`, and `contents`.

    *instructions* of our own end the system's.
    """
    repaired = repair(request.messages, target.policy)
    notes.extend(repaired.diagnostics)
    texts = [*request.system, *repaired.system, *map(TextPart, instructions)]
    system = [{"text": part.text} for part in texts if part.text]
    ids = _given_ids(repaired.messages, target)
    contents: list[Native] = []
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
    message: Message, path: str, target: Target, ids: frozenset[str], notes: Notes
) -> Native:
    if message.name:
        notes.dropped("unsupported-parameter", f"{path}.name", "the API takes no names")
    if message.role == "assistant":
        return {"role": "model", "parts": _lower_answer(message, path, target, notes)}
    return {"role": "user", "parts": _lower_user(message, path, target, ids, notes)}


def _may_end(last: Native, rules: ModelRules) -> bool:
    """Return whether a request may end with *last*.

    "Requests ending with a model turn are not supported unless the last part is a function
    response", newer models answer.
    """
    if rules.prefill or last["role"] == "user":
        return True
    return not last["parts"][-1].keys().isdisjoint(("functionResponse", "toolResponse"))


def _given_ids(messages: Sequence[Message], target: Target) -> frozenset[str]:
    """Return the ids of calls that the service gave one: their results name it."""
    return frozenset(
        part.id
        for message in messages
        for part in message.content
        if isinstance(part, ToolCallPart) and _has_id(part, target)
    )


def _has_id(call: ToolCallPart, target: Target) -> bool:
    return bool(object_or_empty(target.own(call).get("functionCall")).get("id"))


# -- what the user says, and what tools returned


def _lower_user(
    message: Message, path: str, target: Target, ids: frozenset[str], notes: Notes
) -> list[Native]:
    """Return function responses, first and in the order of the calls, then all else."""
    desk = Desk(rules=target.rules, ids=ids, notes=notes)
    responses: list[Native] = []
    parts: list[Native] = []
    for index, part in enumerate(message.content):
        where = f"{path}.content[{index}]"
        if isinstance(part, ToolResultPart):
            responses.append(lower_result(part, where, desk))
        else:
            parts += _lower_part(part, where, target, notes)
    return responses + desk.moved + parts


def _lower_part(part: ContentPart, path: str, target: Target, notes: Notes) -> list[Native]:
    own = target.own(part)
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return [with_own({"text": text}, own)]
        case ReasoningPart():
            return [_lower_reasoning(part, own)]
        case ImagePart() | AudioPart() | DocumentPart():
            *before, native = lower_media(part, path, target.rules, notes)
            return [*before, with_own(native, own)]
        case ProviderPart(provider=provider, data=data) if provider in target.keys:
            return [cast("Native", data)] if isinstance(data, dict) else []
        case _:
            name = type(part).__name__
            notes.dropped("unsupported-content", path, f"Gemini has no place for a {name} here")
            return []


# -- what the model said


def _lower_answer(message: Message, path: str, target: Target, notes: Notes) -> list[Native]:
    trusted = target.policy.keeps_opaque(message.origin)
    parts: list[Native] = []
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


def _readable(part: Native, path: str, notes: Notes) -> Native:
    """Return *part* without a signature that is no base64: it would fail the whole request."""
    signature = part.get("thoughtSignature")
    if signature is None or (isinstance(signature, str) and _BASE64.fullmatch(signature)):
        return part
    notes.dropped("opaque-data-dropped", path, "its signature is none of Gemini's: no base64")
    return {name: item for name, item in part.items() if name != "thoughtSignature"}


def _lower_reasoning(part: ReasoningPart, own: Native) -> Native:
    native: Native = {"text": part.text, "thought": True}
    if part.signature is not None:
        native["thoughtSignature"] = part.signature
    return with_own(native, own)


def _lower_call(call: ToolCallPart, path: str, target: Target, notes: Notes) -> Native:
    own = target.own(call)
    native: Native = {"name": call.name, "args": _arguments(call, path, notes)}
    if _has_id(call, target):
        own["functionCall"] = {**object_or_empty(own.get("functionCall")), "id": call.id}
    return with_own({"functionCall": native}, own)


def _arguments(call: ToolCallPart, path: str, notes: Notes) -> Native:
    """Return the arguments as an object, which is all that can be sent."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.kind != "custom":
        why = "arguments are an object: these are wrapped in one"
        notes.changed("invalid-tool-arguments", f"{path}.arguments", why)
    return freeform_arguments(text_or_json(call.arguments))


def _lower_executed(
    part: ToolCallPart | ToolResultPart, path: str, target: Target, notes: Notes, *, trusted: bool
) -> list[Native]:
    """Return the part of a tool that the service ran, as it came."""
    native = object_or_empty(target.own(part).get("part"))
    if not native:
        why = "a tool run by the provider can only be shown again as it came"
        notes.dropped("unsupported-content", path, why)
        return []
    if trusted or "thoughtSignature" not in native:
        return [native]
    why = "its signature is good only at the model that made it"
    notes.dropped("opaque-data-dropped", path, why)
    rest = {name: item for name, item in native.items() if name != "thoughtSignature"}
    return [rest | ({"thoughtSignature": SKIP_SIGNATURE} if target.rules.checks_signatures else {})]


def _signed(parts: list[Native], path: str, target: Target, notes: Notes) -> list[Native]:
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
