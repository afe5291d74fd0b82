"""Content parts of events, and parts as another model than their own can send them back."""

from collections.abc import Iterable
from typing import Any, Final

from attrs import evolve

from llmcore.schema.changed import copying
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
    is_local,
)
from llmcore.schema.events import (
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningEnd,
    TextEnd,
    ToolCall,
    ToolResult,
)
from llmcore.schema.json import encodes, plain_json, plain_metadata, present

_EMPTY: Final = TextPart("")
_text: Final = copying(TextPart, "text", "citations", "logprobs", "provider_metadata")

_EMPTY_CALL: Final = ToolCallPart("", "")
_call: Final = copying(
    ToolCallPart,
    *("id", "name", "arguments", "kind", "provider_executed", "provider_metadata"),
    "raw_arguments",
)


def part_of(event: LLMEvent, provider: str | None = None) -> ContentPart | None:
    """Return the content part that *event* makes on its own; None for other events.

    Ends of segments, calls, results of hosted tools, files and native items make a part. *provider*
    is set as the owner of file ids.
    """
    match event:
        case TextEnd() if event.refusal:
            return RefusalPart(event.text, provider_metadata=event.provider_metadata)
        case TextEnd() if type(event.text) is str:  # nearly always: no checks are needed
            metadata = plain_metadata(event.provider_metadata)
            return _text(_EMPTY, event.text, event.citations, event.logprobs, metadata)
        case TextEnd():
            return TextPart(
                event.text,
                citations=event.citations,
                logprobs=event.logprobs,
                provider_metadata=event.provider_metadata,
            )
        case ReasoningEnd():
            return ReasoningPart(
                event.text,
                signature=event.signature,
                encrypted=event.encrypted,
                provider_metadata=event.provider_metadata,
            )
        case ToolCall(id=str(), name=str(), arguments=dict(arguments), raw_arguments=raw):
            return _call(  # nearly always: of its constructor's checks one is needed
                _EMPTY_CALL,
                event.id,
                event.name,
                plain_json(arguments),
                event.kind,
                event.provider_executed,
                plain_metadata(event.provider_metadata),
                raw if raw is None or encodes(raw, arguments) else None,
            )
        case ToolCall():
            return ToolCallPart(
                event.id,
                event.name,
                event.arguments,
                kind=event.kind,
                provider_executed=event.provider_executed,
                provider_metadata=event.provider_metadata,
                raw_arguments=event.raw_arguments,
            )
        case ToolResult() if event.provider_executed:  # other results belong to the next message
            return ToolResultPart(
                event.tool_call_id,
                event.content,
                name=event.name,
                is_error=event.is_error,
                kind=event.kind,
                provider_executed=True,
                provider_metadata=event.provider_metadata,
            )
        case File():
            return _file_part(event, provider)
        case ProviderEvent() if event.replay:
            return ProviderPart(
                event.provider, event.data, provider_metadata=event.provider_metadata
            )
        case _:
            return None


def _file_part(event: File, provider: str | None) -> ContentPart | None:
    """Return a generated file as a part that can be sent back; None if it has no source.

    A relative URL is not used: a part would treat it as a local path, and a path that a server
    names must never be read from the caller's disk.
    """
    url = None if event.url is None or is_local(event.url) else event.url
    sources = present({"url": url, "data": event.data, "file_id": event.file_id})
    if not sources:
        return None
    source, value = next(iter(sources.items()))  # a part has one source
    fields: dict[str, Any] = {
        source: value,
        "media_type": event.media_type,
        "provider_metadata": event.provider_metadata,
    }
    major = (event.media_type or "").partition("/")[0]
    if provider is not None and source == "file_id" and major != "audio":
        fields["file_owner"] = provider  # other providers get the transcript of speech
    match major:
        case "image":
            return ImagePart(**fields)
        case "audio":
            return AudioPart(**fields, transcript=event.transcript)
        case _:
            return DocumentPart(**fields, name=event.name)


def without_opaque(parts: Iterable[ContentPart]) -> tuple[ContentPart, ...]:
    """Return *parts* as another model than their own can send them back.

    Signatures, encrypted data, native parts and hosted tools are left out.
    """
    kept = (_without_opaque(part) for part in parts)
    return tuple(part for part in kept if part is not None)


def _without_opaque(part: ContentPart) -> ContentPart | None:
    hosted = isinstance(part, ToolCallPart | ToolResultPart) and part.provider_executed
    if hosted or isinstance(part, ProviderPart):
        return None
    if isinstance(part, ReasoningPart):
        return ReasoningPart(part.text) if part.text else None
    return evolve(part, provider_metadata={})
