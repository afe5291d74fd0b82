"""Results of MCP as content: what a tool returned, a resource, a prompt.

One result of `tools/call`, as the server sent it:

    {"content": [{"type": "text", "text": "2 files"},
                 {"type": "image", "data": "iVBORw0...", "mimeType": "image/png"}],
     "structuredContent": {"files": 2}, "isError": false}

https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

from llmcore.schema import json
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart, TextPart, ToolOutputPart
from llmcore.schema.errors import StreamError
from llmcore.schema.json import JsonValue
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.messages import Message

if TYPE_CHECKING:
    import mcp_types as types

    Block: TypeAlias = Union[
        types.TextContent,
        types.ImageContent,
        types.AudioContent,
        types.ResourceLink,
        types.EmbeddedResource,
    ]
    Contents: TypeAlias = Union[types.TextResourceContents, types.BlobResourceContents]

Output: TypeAlias = Union[JsonValue, tuple[ToolOutputPart, ...]]


def result_of(content: "Iterable[Block]", structured: JsonValue) -> Output:
    """Return a tool's result: text, JSON, or parts where there is more than one text.

    Structured content replaces the texts that repeat it; otherwise it is a text of its own. Where
    it is the content once more, as servers of the Python SDK 1 send it for a tool that is declared
    to return images, it is left out.
    """
    blocks = tuple(content)
    parts = tuple(map(part_of, blocks))
    texts = [part.text for part in parts if type(part) is TextPart]
    if structured is None or _is_content(structured, blocks):
        return texts[0] if len(parts) == len(texts) == 1 else parts
    if len(texts) == len(parts) and all(_repeats(text, structured) for text in texts):
        return structured
    return (*parts, TextPart(json.dumps(structured).decode()))


def _is_content(structured: JsonValue, blocks: "Sequence[Block]") -> bool:
    """Return whether *structured*, or a member of it, equals *blocks* or the only one of them."""
    if not blocks:
        return False
    native: list[JsonValue] = [
        block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks
    ]
    members = structured.values() if isinstance(structured, Mapping) else ()
    accepted = [_without_nulls(value) for value in (structured, *members)]
    return native in accepted or (len(native) == 1 and native[0] in accepted)


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def _repeats(text: str, structured: JsonValue) -> bool:
    """Return whether *text* is *structured*, a member of it, or an item of such a member.

    Servers send structured content as text too, a list as one text for each item.
    """
    return any(text == shown for shown in _shown(structured)) or _same_json(text, structured)


def _shown(structured: JsonValue) -> Iterator[str]:
    members = list(structured.values()) if isinstance(structured, Mapping) else [structured]
    for member in members:
        for item in (member, *member) if isinstance(member, list | tuple) else (member,):
            yield item if isinstance(item, str) else json.dumps(item).decode()


def _same_json(text: str, structured: JsonValue) -> bool:
    try:
        parsed = json.loads(text)
    except ValueError:
        return False
    members = structured.values() if isinstance(structured, Mapping) else ()
    items = [item for member in members if isinstance(member, list | tuple) for item in member]
    written = json.canonical(parsed)
    return any(json.canonical(value) == written for value in (structured, *members, *items))


def part_of(block: "Block") -> ToolOutputPart:
    """Return one block as a part; a link to a resource is text that names its URI."""
    match block.type:
        case "text":
            return TextPart(block.text)
        case "image":
            return ImagePart(data=decoded(block.data), media_type=block.mime_type)
        case "audio":
            return AudioPart(data=decoded(block.data), media_type=block.mime_type)
        case "resource":
            return resource_part(block.resource)
        case "resource_link":
            link = block.model_dump(mode="json", by_alias=True, exclude_none=True)
            shown = {key: value for key, value in link.items() if key in _LINK}
            return TextPart(json.dumps(shown).decode())


_LINK = ("type", "uri", "name", "title", "description", "mimeType", "size")


def resource_part(contents: "Contents") -> ToolOutputPart:
    """Return the contents of a resource: text, or a medium of its MIME type."""
    uri, media_type = str(contents.uri), contents.mime_type
    text: str | None = getattr(contents, "text", None)
    if text is not None:
        return TextPart(text, provider_metadata={"mcp": {"uri": uri, "mimeType": media_type}})
    data = decoded(getattr(contents, "blob", ""))
    kind = (media_type or "").partition("/")[0]
    if kind == "image":
        return ImagePart(data=data, media_type=media_type)
    if kind == "audio":
        return AudioPart(data=data, media_type=media_type)
    return DocumentPart(data=data, media_type=media_type, name=uri.rstrip("/").rpartition("/")[2])


def decoded(text: str) -> bytes:
    """Return the bytes of base64 *text*; StreamError for any other."""
    data = decode_base64(text)
    if data is None:
        raise StreamError("an MCP server sent media that is not base64")
    return data


def messages_of(messages: "Sequence[types.PromptMessage]") -> tuple[Message, ...]:
    """Return the messages of a prompt; those of one role that follow each other are one message."""
    joined: list[Message] = []
    for item in messages:
        parts = (part_of(item.content),)
        if joined and joined[-1].role == item.role:
            joined[-1] = Message(item.role, (*joined[-1].content, *parts))
        else:
            joined.append(Message(item.role, parts))
    return tuple(joined)


def size_of_parts(output: Output) -> int:
    """Return the number of bytes of a result's texts and media."""
    if not isinstance(output, tuple):
        return len(output) if isinstance(output, str) else len(json.dumps(output))
    sizes = (getattr(part, "data", None) or getattr(part, "text", "") or "" for part in output)
    return sum(map(len, sizes))


def text_of_error(output: Output) -> str:
    """Return the text of a result that is an error."""
    if isinstance(output, str):
        return output
    if not isinstance(output, tuple):
        return json.dumps(output).decode()
    return "\n".join(part.text for part in output if isinstance(part, TextPart))
