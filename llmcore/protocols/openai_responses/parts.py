"""OpenAI Responses: lowering the parts of messages and the results of tools.

Sources, read November 2026: https://developers.openai.com/api/docs/guides/images-vision,
https://developers.openai.com/api/docs/guides/file-inputs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from llmcore.protocols import lowering, media
from llmcore.protocols.history import ITEM_FIELDS, PART_FIELDS
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    TextPart,
    ToolResultPart,
    text_of,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonValue, NativeObject, text_or_json
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)


def lower_part(
    part: ContentPart, keys: frozenset[str], diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return one part of a user's message, or of a tool's result, as native parts.

    A part that the server does not take is replaced by a short text, with a Diagnostic.
    """
    natives = _lower_part(part, keys, diagnostics)
    metadata = part.provider_metadata.get(METADATA_KEY)
    if metadata and PART_FIELDS in metadata:
        natives[-1] |= object_or_empty(metadata[PART_FIELDS])
    return natives


def _lower_part(
    part: ContentPart, keys: frozenset[str], diagnostics: Diagnostics
) -> list[NativeObject]:
    match part:
        case TextPart(text=text):
            return [_text(text)]
        case ImagePart():
            pdf = media.pdf_of(part, diagnostics)
            return [lower_image(part)] if pdf is None else _lower_document(pdf, diagnostics)
        case AudioPart(transcript=transcript):
            return [_text(lowering.omitted_text("audio", _UNACCEPTED, diagnostics, transcript))]
        case DocumentPart():
            return _lower_document(part, diagnostics)
        case ProviderPart(provider=provider, data=dict() as data) if provider in keys:
            return [dict(data)]
        case _:
            return [_text(lowering.omitted_part(part, diagnostics))]


def content_of(parts: list[NativeObject]) -> str | list[NativeObject]:
    """Return native parts as `content`: a lone text as a string, which means the same."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts


_UNACCEPTED: Final = "the Responses API does not accept it"


def _text(text: str) -> NativeObject:
    return {"type": "input_text", "text": text}


# -- media


def lower_image(part: ImagePart) -> NativeObject:
    """Return an image; all forms of one are taken."""
    image: NativeObject = {"type": "input_image", "detail": part.detail or "auto"}
    if part.file_id is not None:
        return {**image, "file_id": part.file_id}
    return {**image, "image_url": media.data_url(part) or media.remote_url(part)}


def _lower_document(part: DocumentPart, diagnostics: Diagnostics) -> list[NativeObject]:
    media_type = media.media_type_of(part) or ""
    if media_type.startswith("video/"):
        name = part.name or part.title
        return [_text(lowering.omitted_text("a video", _UNACCEPTED, diagnostics, name))]
    if part.citations:
        why = "the Responses API does not support citations of documents"
        diagnostics.at("citations").unsupported(why)
    metadata = object_or_empty(part.provider_metadata.get(METADATA_KEY))
    text = None if metadata.get("part") == "input_file" else media.text_data(part)
    detail = str_or_none(metadata.get("detail"))
    if text is not None:
        if detail is not None:
            diagnostics.at("detail").unsupported("a text is sent as it is, in no other detail")
        return [_text(lowering.document_text(part, text))]
    before = [_text(part.context)] if part.context else []
    file = _lower_file(part)
    if "filename" not in file and (part.name or part.title):
        why = "the API takes no name beside the address or the id of a file"
        diagnostics.at("title" if part.title else "name").unsupported(why)
    return [*before, file if detail is None else {**file, "detail": detail}]


def _lower_file(part: DocumentPart) -> NativeObject:
    if part.file_id is not None:
        return {"type": "input_file", "file_id": part.file_id}
    data = media.data_url(part)
    if data is None:
        return {"type": "input_file", "file_url": media.remote_url(part)}
    name = lowering.file_name(part)
    return {"type": "input_file", "filename": name, "file_data": data}


# -- results of tools


def lower_result(
    part: ToolResultPart, call: NativeObject | None, keys: frozenset[str], diagnostics: Diagnostics
) -> NativeObject:
    """Return the output item of a result. *call* is the built-in's item, or a call's metadata.

    It is None for a call that is not among the messages.
    """
    kind = _TYPES_BY_NAME.get(part.name or "") if call is None else call.get("type")
    form = _FORMS.get(str_or_empty(kind))
    if form is not None:
        native = form(part, call or {}, diagnostics)
    else:
        words = "custom_tool_call_output" if part.kind == "custom" else "function_call_output"
        output = _lower_output(part, keys, diagnostics)
        native = {"type": words, "call_id": part.tool_call_id, "output": output}
    metadata = part.provider_metadata.get(METADATA_KEY)
    unread = object_or_empty(metadata.get(ITEM_FIELDS)) if metadata else {}
    # a result goes where its call came from: the model, or a program of it
    caller = object_or_empty((call or {}).get("caller"))
    return {**native, **unread, **({"caller": caller} if caller else {})}


_TYPES_BY_NAME: Final = {
    "mcp_approval": "mcp_approval_request",
    "computer": "computer_call",
}
"""Results that no function has, known by name where the call is stored at the provider."""


def _lower_output(
    part: ToolResultPart, keys: frozenset[str], diagnostics: Diagnostics
) -> str | list[NativeObject]:
    if not isinstance(part.content, tuple):
        return lowering.result_text(part)
    natives = [_text("Error:")] if part.is_error else []
    for index, item in enumerate(part.parts):
        natives += lower_part(item, keys, diagnostics.at(f"content[{index}]"))
    return natives


def _plain(part: ToolResultPart, diagnostics: Diagnostics) -> JsonValue:
    """Return a result as JSON; of parts, their text."""
    if not isinstance(part.content, tuple):
        return part.content
    text = text_of(part.parts)
    if any(not hasattr(item, "text") for item in part.parts):
        why = "the output of this tool must be text: its other parts are omitted"
        diagnostics.at("content").dropped("unsupported-content", why)
    return text


# -- results of built-in tools that the client runs


def _shell(part: ToolResultPart, call: NativeObject, diagnostics: Diagnostics) -> NativeObject:
    """Return the output of commands: one entry per command, as the API has them, or one in all."""
    value = _plain(part, diagnostics)
    given: Any = value["output"] if isinstance(value, Mapping) and "output" in value else value
    entries: list[Any] = objects(given) or [given]
    native: NativeObject = {"type": "shell_call_output", "call_id": part.tool_call_id}
    limit = int_or_none(object_or_empty(call.get("action")).get("max_output_length"))
    if limit is not None:
        native["max_output_length"] = limit
    native["output"] = [_shell_entry(entry, part.is_error) for entry in entries]
    return native


def _shell_entry(value: Any, failed: bool) -> NativeObject:
    """Return one command's output from the API's form, from exit code and text, or from text."""
    if not isinstance(value, Mapping) or value.keys().isdisjoint({"stdout", "stderr", "outcome"}):
        text = text_or_json(value)
        outcome: NativeObject = {"type": "exit", "exit_code": int(failed)}
        texts = {"stdout": "" if failed else text, "stderr": text if failed else ""}
        return {**texts, "outcome": outcome}
    code = int_or_none(value.get("exit_code"))
    outcome = object_or_empty(value.get("outcome")) or {
        "type": "exit",
        "exit_code": int(failed) if code is None else code,
    }
    texts = {name: text_or_json(value.get(name) or "") for name in ("stdout", "stderr")}
    return {**texts, "outcome": outcome}


def _local_shell(
    part: ToolResultPart, _call: NativeObject, diagnostics: Diagnostics
) -> NativeObject:
    """Return a command's output. The reference names the call by `id`, the guide by `call_id`."""
    ids = {"id": part.tool_call_id, "call_id": part.tool_call_id}
    text = text_or_json(_plain(part, diagnostics))
    return {"type": "local_shell_call_output", **ids, "output": text}


def _apply_patch(
    part: ToolResultPart, _call: NativeObject, diagnostics: Diagnostics
) -> NativeObject:
    """Return whether a patch could be applied, with the tool's message."""
    value = _plain(part, diagnostics)
    given = value if isinstance(value, Mapping) else {"output": value}
    status = "failed" if part.is_error else "completed"
    native: NativeObject = {"type": "apply_patch_call_output", "call_id": part.tool_call_id}
    native["status"] = given["status"] if given.get("status") in ("completed", "failed") else status
    output = given.get("output", value if value is not given else None)
    if output:
        native["output"] = text_or_json(output)
    return native


_BLANK: Final = ImagePart(
    url="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhf"
    "DwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""One transparent pixel."""


def _computer(part: ToolResultPart, _call: NativeObject, diagnostics: Diagnostics) -> NativeObject:
    """Return a screenshot, and the safety checks that the client acknowledges.

    They are in the result's metadata: `{"openai": {"acknowledged_safety_checks": [...]}}`.
    """
    image = next((item for item in part.parts if isinstance(item, ImagePart)), None)
    if image is None and not part.is_error:
        raise InvalidRequestError(
            f"{diagnostics.path}: the result of a computer call is a screenshot: give an image"
        )
    if image is None:
        why = "a computer call that failed has no screenshot: a blank one is sent"
        diagnostics.at("content").changed("unsupported-content", why)
    source = lower_image(image or _BLANK)
    shot = {name: source[name] for name in ("file_id", "image_url") if name in source}
    native: NativeObject = {"type": "computer_call_output", "call_id": part.tool_call_id}
    native["output"] = {"type": "computer_screenshot", **shot}
    metadata = object_or_empty(part.provider_metadata.get(METADATA_KEY))
    checks = objects(metadata.get("acknowledged_safety_checks"))
    if checks:
        native["acknowledged_safety_checks"] = checks
    return native


def _tool_search(
    part: ToolResultPart, _call: NativeObject, diagnostics: Diagnostics
) -> NativeObject:
    """Return the definitions of the tools that were found."""
    value = _plain(part, diagnostics)
    given = value.get("tools") if isinstance(value, Mapping) else value
    definitions = objects(given)
    if part.is_error or (given and not definitions):
        why = "the output of a tool search is tool definitions: it found none"
        diagnostics.at("content").changed("unsupported-content", why)
    native: NativeObject = {"type": "tool_search_output", "call_id": part.tool_call_id}
    return {**native, "execution": "client", "status": "completed", "tools": definitions}


def _approval(part: ToolResultPart, call: NativeObject, diagnostics: Diagnostics) -> NativeObject:
    """Return whether a call of an MCP tool may run; any value but true refuses it."""
    value = _plain(part, diagnostics)
    given = value if isinstance(value, Mapping) else {"approve": value}
    approve = given.get("approve") is True and not part.is_error
    native: NativeObject = {"type": "mcp_approval_response"}
    native["approval_request_id"] = str_or_none(call.get("id")) or part.tool_call_id
    native["approve"] = approve
    reason = given.get("reason")
    if isinstance(reason, str) and reason:
        native["reason"] = reason
    return native


_FORMS: Final[dict[str, Callable[[ToolResultPart, NativeObject, Diagnostics], NativeObject]]] = {
    "apply_patch_call": _apply_patch,
    "computer_call": _computer,
    "local_shell_call": _local_shell,
    "mcp_approval_request": _approval,
    "shell_call": _shell,
    "tool_search_call": _tool_search,
}
