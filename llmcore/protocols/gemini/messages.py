"""Gemini: lowering the conversation.

Sources, read November 2026: https://ai.google.dev/api/generate-content (`contents`,
`systemInstruction`), https://ai.google.dev/gemini-api/docs/function-calling and
https://ai.google.dev/gemini-api/docs/thought-signatures.

Signatures go back on exactly the part they came on. Gemini 3 refuses a step whose first function
call has none; for calls that another model made, its FAQ names a value that skips the check.
"""

import re
from collections.abc import Sequence
from typing import Final

from llmcore.protocols.gemini.models import GeminiRules
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, ROLES
from llmcore.protocols.gemini.parts import (
    GeminiTarget,
    ToolResultLowering,
    has_native_id,
    lower_call,
    lower_executed,
    lower_part,
    lower_result,
)
from llmcore.protocols.history import HistoryPolicy, native_provider_ids, repair
from llmcore.protocols.lowering import (
    CONTINUE_TEXT,
    SKIP_SIGNATURE,
    note_continue_message,
    tagged_text,
)
from llmcore.schema.content import TextPart, ToolCallPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject, without
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest


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
    request: LLMRequest, target: GeminiTarget, instructions: Sequence[str], diagnostics: Diagnostics
) -> tuple[list[NativeObject], list[NativeObject]]:
    """Return the parts of `systemInstruction`, and `contents`.

    *instructions* of our own end the system's.
    """
    repaired = repair(request.messages, target.policy)
    repaired.report_to(diagnostics)
    texts = [*request.system, *repaired.system, *map(TextPart, instructions)]
    system = [{"text": part.text} for part in texts if part.text]
    ids = _given_ids(repaired.messages, target)
    contents: list[NativeObject] = []
    last = ""
    for message, path in zip(repaired.messages, repaired.paths, strict=True):
        content = _lower_message(message, target, ids, diagnostics.at(path))
        if content["parts"]:
            contents.append(content)
            last = path
    if contents and not _may_end(contents[-1], target.rules):
        note_continue_message(diagnostics.at(last))
        contents.append({"role": "user", "parts": [{"text": CONTINUE_TEXT}]})
    if system and contents and target.rules.words_only:
        why = "the model takes no instructions: they are sent as user text in a <system> tag"
        diagnostics.at("system").changed("system-message-demoted", why)
        first = contents[0]
        tagged = [{"text": tagged_text("system", part["text"])} for part in system]
        contents[0] = {**first, "parts": [*tagged, *first["parts"]]}
        system = []
    return system, contents


def _lower_message(
    message: Message, target: GeminiTarget, ids: frozenset[str], diagnostics: Diagnostics
) -> NativeObject:
    if message.name:
        diagnostics.at("name").unsupported("the API accepts no names")
    if message.role == "assistant":
        return {"role": ROLES["assistant"], "parts": _lower_response(message, target, diagnostics)}
    return {"role": ROLES["user"], "parts": _lower_user(message, target, ids, diagnostics)}


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
        if isinstance(part, ToolCallPart) and has_native_id(part, target)
    )


# -- messages of the user, and results of tools


def _lower_user(
    message: Message, target: GeminiTarget, ids: frozenset[str], diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return function responses, first and in the order of the calls, then all else."""
    lowering = ToolResultLowering(rules=target.rules, ids=ids)
    responses: list[NativeObject] = []
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        if isinstance(part, ToolResultPart):
            responses.append(lower_result(part, lowering, target.replayed(part), here))
        else:
            parts += lower_part(part, target, here)
    return responses + lowering.media_after_results + parts


# -- messages of the model


def _lower_response(
    message: Message, target: GeminiTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    trusted = target.policy.keeps_opaque(message.origin)
    parts: list[NativeObject] = []
    for index, part in enumerate(message.content):
        here = diagnostics.part(index, part)
        match part:
            case ToolCallPart(provider_executed=True) | ToolResultPart():
                parts += lower_executed(part, target, here, trusted=trusted)
            case ToolCallPart():
                parts.append(lower_call(part, target, here))
            case _:
                parts += lower_part(part, target, here)
    return _signed([_readable(part, diagnostics) for part in parts], target, diagnostics)


_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def _readable(part: NativeObject, diagnostics: Diagnostics) -> NativeObject:
    """Return *part* without a signature that is not base64: it would fail the whole request."""
    signature = part.get("thoughtSignature")
    if signature is None or (isinstance(signature, str) and _BASE64.fullmatch(signature)):
        return part
    why = "its signature is not one of Gemini's: it is not base64"
    diagnostics.dropped("opaque-data-dropped", why)
    return without(part, "thoughtSignature")


def _signed(
    parts: list[NativeObject], target: GeminiTarget, diagnostics: Diagnostics
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
        diagnostics.added("thought-signature-skipped", why)
        return [*parts[:index], {**part, "thoughtSignature": SKIP_SIGNATURE}, *parts[index + 1 :]]
    return parts
