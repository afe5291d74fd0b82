"""Gemini: lowering calls of tools and their results, images, audio and documents.

Sources, read November 2026: https://ai.google.dev/api/caching#Part (`inlineData`, `fileData`),
https://ai.google.dev/gemini-api/docs/file-input-methods and .../media-resolution;
https://ai.google.dev/api/caching#FunctionResponse: `response` is an object whose `output` is the
result, or whose `error` is what went wrong; an object with neither is the result itself. Images
and documents go into its `parts` from Gemini 3 on
(https://ai.google.dev/gemini-api/docs/function-calling#multimodal).
"""

import base64
from collections.abc import Sequence
from typing import TypeAlias, cast

import msgspec

from llmcore.protocols import media
from llmcore.protocols.gemini.models import GeminiRules
from llmcore.protocols.gemini.names import MEANINGFUL, RESOLUTIONS, SIGNED_FROM
from llmcore.protocols.history import LoweringTarget
from llmcore.protocols.lowering import SKIP_SIGNATURE
from llmcore.protocols.tools import object_arguments
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
    ToolOutputPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonValue, NativeObject, without
from llmcore.schema.native_json import int_or_none, object_or_empty, objects

# -- text and media


MediaPart: TypeAlias = ImagePart | AudioPart | DocumentPart


def merge_native(native: NativeObject, replayed: NativeObject) -> NativeObject:
    """Merge the *replayed* fields of a part into *native*: beside its content, and inside it."""
    merged = dict(native)
    for name, value in replayed.items():
        below = merged.get(name)
        merged[name] = {**below, **value} if isinstance(below, dict) else value
    return merged


def lower_media(
    part: MediaPart, rules: GeminiRules, diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return the native parts of *part*: its title and context as text, and itself."""
    native = _lower_source(part, diagnostics)
    before: list[NativeObject] = []
    if isinstance(part, ImagePart):
        native |= _lower_detail(part, rules, diagnostics)
    if isinstance(part, DocumentPart):
        words = "\n".join(filter(None, (part.title or part.name, part.context)))
        before = [{"text": words}] if words else []
        if part.citations:
            why = "the model does not support citations of documents"
            diagnostics.at("citations").unsupported(why)
    return [*before, native]


def _lower_source(part: MediaPart, diagnostics: Diagnostics) -> NativeObject:
    """Return `inlineData` for bytes, `fileData` for a URI.

    The MIME type keeps its parameters: raw audio cannot be played without its rate. Bytes are in
    base64 of the standard alphabet, which ProtoJSON writes, and Google's clients for JavaScript and
    Go. The service takes both alphabets; servers that imitate it often take this one only. Source:
    https://protobuf.dev/programming-guides/json, read November 2026.
    """
    typed_bytes = media.raw_data(part)
    if typed_bytes is not None:
        found_type = typed_bytes[0]
        media_type = found_type if isinstance(part, ImagePart) else part.media_type or found_type
        if not media_type.startswith("text/") and media.text_data(part) is not None:
            why = f"the model reads {media_type} as plain text only"
            diagnostics.at("media_type").changed("media-type-changed", why)
            media_type = "text/plain"
        data = base64.b64encode(typed_bytes[1]).decode()
        return {"inlineData": {"mimeType": media_type, "data": data}}
    uri = part.url or part.file_id
    known = part.media_type or media.media_type_of(part)
    return {"fileData": {**({"mimeType": known} if known else {}), "fileUri": uri}}


def _lower_detail(part: ImagePart, rules: GeminiRules, diagnostics: Diagnostics) -> NativeObject:
    level = RESOLUTIONS.get(part.detail or "")
    if level is None:
        return {}
    if not rules.media_resolution:
        why = "the model reads all images at one resolution (generationConfig.mediaResolution)"
        diagnostics.at("detail").unsupported(why)
        return {}
    return {"mediaResolution": {"level": f"MEDIA_RESOLUTION_{level}"}}


class GeminiTarget(LoweringTarget, frozen=True, kw_only=True):
    """The target that messages are lowered for."""

    rules: GeminiRules

    def replayed(self, part: ContentPart) -> NativeObject:
        """Return the native fields that *part* has from a response of this API."""
        return dict(object_or_empty(part.provider_metadata.get(self.policy.metadata_key)))


def lower_part(
    part: ContentPart, target: GeminiTarget, diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return *part* as native parts: content that messages of the user and the model can have."""
    replayed = target.replayed(part)
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return _lower_text(text, replayed)
        case ReasoningPart():
            return [_lower_reasoning(part, replayed)]
        case ImagePart() | AudioPart() | DocumentPart():
            *before, native = lower_media(part, target.rules, diagnostics)
            return [*before, merge_native(native, replayed)]
        case ProviderPart(provider=provider, data=data) if provider in target.keys:
            return [cast("NativeObject", data)] if isinstance(data, dict) else []
        case _:
            why = f"Gemini has no place for {media.noun_of(part)} here"
            diagnostics.dropped("unsupported-content", why)
            return []


def _lower_text(text: str, replayed: NativeObject) -> list[NativeObject]:
    """Return *text* as one part, or as two where its last piece alone was signed."""
    start = int_or_none(replayed.pop(SIGNED_FROM, None)) or 0
    before: list[NativeObject] = [{"text": text[:start]}] if 0 < start < len(text) else []
    return [*before, merge_native({"text": text[start:] if before else text}, replayed)]


def _lower_reasoning(part: ReasoningPart, replayed: NativeObject) -> NativeObject:
    native: NativeObject = {"text": part.text, "thought": True}
    if part.signature is not None:
        native["thoughtSignature"] = part.signature
    return merge_native(native, replayed)


# -- calls of tools


def lower_call(call: ToolCallPart, target: GeminiTarget, diagnostics: Diagnostics) -> NativeObject:
    """Return a `functionCall`."""
    replayed = target.replayed(call)
    native: NativeObject = {"name": call.name, "args": object_arguments(call, diagnostics)}
    if has_native_id(call, target):
        replayed["functionCall"] = {**object_or_empty(replayed.get("functionCall")), "id": call.id}
    return merge_native({"functionCall": native}, replayed)


def has_native_id(call: ToolCallPart, target: GeminiTarget) -> bool:
    """Return whether the service itself gave the id of *call*."""
    return bool(object_or_empty(target.replayed(call).get("functionCall")).get("id"))


def lower_executed(
    part: ToolCallPart | ToolResultPart,
    target: GeminiTarget,
    diagnostics: Diagnostics,
    *,
    trusted: bool,
) -> list[NativeObject]:
    """Return the part of a tool that the service ran, as it came."""
    native = object_or_empty(target.replayed(part).get("part"))
    if not native:
        why = "the call of a hosted tool can only be replayed unchanged"
        diagnostics.dropped("unsupported-content", why)
        return []
    if trusted or "thoughtSignature" not in native:
        return [native]
    why = "its signature is valid only for the model that made it"
    diagnostics.dropped("opaque-data-dropped", why)
    rest = without(native, "thoughtSignature")
    skipped = {"thoughtSignature": SKIP_SIGNATURE} if target.rules.checks_signatures else {}
    return [rest | skipped]


# -- what tools returned


class ToolResultLowering(msgspec.Struct, frozen=True, kw_only=True):
    """The lowering of the tool results of one message."""

    rules: GeminiRules
    ids: frozenset[str]
    """Call ids that the service gave; other calls match their results by name and order."""
    media_after_results: list[NativeObject] = []
    """Media that no function response can hold; they follow the responses."""


def lower_result(
    part: ToolResultPart,
    lowering: ToolResultLowering,
    replayed: NativeObject,
    diagnostics: Diagnostics,
) -> NativeObject:
    """Return a `functionResponse`, with the native fields that came with the result."""
    native: NativeObject = {"id": part.tool_call_id} if part.tool_call_id in lowering.ids else {}
    native["name"] = part.name or "tool"
    own = object_or_empty(replayed.get("functionResponse"))
    if isinstance(part.content, tuple):
        beside = objects(own.get("parts"))
        words, held = _lower_items(part.parts, beside, native["name"], lowering, diagnostics)
        native["response"] = _response(words, is_error=part.is_error)
        native |= {"parts": held} if held else {}
    else:
        native["response"] = _response(part.content, is_error=part.is_error)
    return merge_native(
        {"functionResponse": native}, {**replayed, "functionResponse": without(own, "parts")}
    )


def _response(content: JsonValue, *, is_error: bool) -> NativeObject:
    if is_error:
        return {"error": content}
    if isinstance(content, dict) and MEANINGFUL.isdisjoint(content):
        return content
    return {"output": content}


def _lower_items(
    items: tuple[ToolOutputPart, ...],
    native_files: Sequence[NativeObject],
    name: str,
    lowering: ToolResultLowering,
    diagnostics: Diagnostics,
) -> tuple[str, list[NativeObject]]:
    """Return the text of a result, with a mark in place of each file, and its files.

    *native_files* has the fields, such as names, of the files that came in a result of this API. Of
    addresses, a result may have only those that came in one.
    """
    texts: list[str] = []
    lowered_files: list[NativeObject] = []
    files = 0
    for index, item in enumerate(items):
        here = diagnostics.at(f"content[{index}]")
        match item:
            case TextPart(text=text):
                texts.append(text)
            case ImagePart() | AudioPart() | DocumentPart():
                native_file = native_files[files] if files < len(native_files) else {}
                files += 1
                *texts_before, native = lower_media(item, lowering.rules, here)
                texts += [before["text"] for before in texts_before]
                native = merge_native(native, native_file)
                if lowering.rules.media_in_results and ("inlineData" in native or native_file):
                    texts.append(f"[file {files}]")
                    lowered_files.append(native)
                    continue
                label = f"file {files} of {name}"
                texts.append(f"[{label}: after the results]")
                lowering.media_after_results.extend(({"text": f"{label}:"}, native))
                why = "the function response cannot hold it: it follows the responses"
                here.changed("moved-tool-result-media", why)
            case _:
                why = f"a function response cannot hold what is native to {item.provider}"
                here.dropped("unsupported-content", why)
    return "\n".join(texts), lowered_files
