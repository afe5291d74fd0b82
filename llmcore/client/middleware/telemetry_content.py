"""Messages in the JSON of OpenTelemetry's conventions.

Files are named by type and size, their bytes are left out.
"""

from collections.abc import Iterable, Mapping

from llmcore.schema import codec, json
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
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse

_MODALITIES: Mapping[type, str] = {
    ImagePart: "image",
    AudioPart: "audio",
    DocumentPart: "document",
}
_FINISH_REASONS = {"tool_calls": "tool_call"}


def input_content(request: LLMRequest) -> dict[str, str]:
    """Return the attributes with the content of *request*."""
    messages = [
        {"role": message.role, "parts": _parts(message.content)} for message in request.messages
    ]
    content: dict[str, JsonValue] = {"gen_ai.input.messages": messages}
    if request.system:
        content["gen_ai.system_instructions"] = _parts(request.system)
    if request.tools:
        content["gen_ai.tool.definitions"] = [codec.to_json(tool) for tool in request.tools]
    return {name: json.dumps(value).decode() for name, value in content.items()}


def output_content(response: LLMResponse) -> dict[str, str]:
    """Return the attribute with the content of *response*."""
    reason = response.finish_reason.reason
    message: JsonValue = {
        "role": "assistant",
        "parts": _parts(response.message.content),
        "finish_reason": _FINISH_REASONS.get(reason, reason),
    }
    return {"gen_ai.output.messages": json.dumps([message]).decode()}


def _parts(parts: Iterable[ContentPart]) -> list[JsonValue]:
    return [_part(part) for part in parts]


def _part(part: ContentPart) -> JsonValue:
    match part:
        case TextPart(text=text):
            return {"type": "text", "content": text}
        case ReasoningPart(text=text):
            return {"type": "reasoning", "content": text}
        case RefusalPart(text=text):
            return {"type": "refusal", "content": text}
        case ToolCallPart():
            return _tool_call(part)
        case ToolResultPart():
            response = _parts(part.parts) if part.parts else codec.to_json(part.content)
            return {"type": "tool_call_response", "id": part.tool_call_id, "response": response}
        case ProviderPart(provider=provider):
            return {"type": "provider", "provider": provider}
        case ImagePart() | AudioPart() | DocumentPart():
            return _media(part)


def _tool_call(part: ToolCallPart) -> JsonValue:
    if not part.provider_executed:
        return {
            "type": "tool_call",
            "id": part.id,
            "name": part.name,
            "arguments": part.arguments,
        }
    return {
        "type": "server_tool_call",
        "id": part.id,
        "name": part.name,
        "server_tool_call": {"type": part.name, "arguments": part.arguments},
    }


def _media(part: ImagePart | AudioPart | DocumentPart) -> JsonValue:
    kind = {"modality": _MODALITIES[type(part)], "mime_type": part.media_type}
    if part.file_id is not None:
        return {"type": "file", **kind, "file_id": part.file_id}
    if part.url is not None and not part.url.startswith("data:"):
        return {"type": "uri", **kind, "uri": part.url}
    size = len(part.data or part.url or "")
    return {"type": "omitted", **kind, "bytes": size}
