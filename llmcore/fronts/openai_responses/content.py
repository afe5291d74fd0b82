"""Content of messages and tool outputs: reads it as parts, and writes it from them.

    {"type": "input_text", "text": "What is this?"}
    {"type": "input_image", "image_url": "data:image/png;base64,iVBOR...", "detail": "low"}
    {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,..."}
    {"type": "output_text", "text": "Paris", "annotations": [], "logprobs": []}

What names a place to read from comes from a client of the network: only web addresses and data
URLs are taken, never paths, which would be read from the disk of the gateway's machine.
Source: https://developers.openai.com/api/reference/resources/responses/methods/create (`input`),
read November 2026.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from attrs import evolve

from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_RESPONSES_PARTS, check_types
from llmcore.fronts.openai_forms import logprob_list, token_bytes
from llmcore.fronts.reading import (
    decoded,
    read_field,
    remote,
    report_lost,
    report_unknown,
    text_part,
    with_mark,
)
from llmcore.protocols.history import ITEM_FIELDS, PART_FIELDS
from llmcore.protocols.media import is_text_type, media_type_of
from llmcore.protocols.openai_responses.names import (
    MESSAGE_FIELDS,
    METADATA_KEY,
    OPAQUE_CALL_FIELDS,
    PROTOCOL_ID,
    REASONING_FIELDS,
    unread_fields,
)
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    RefusalPart,
    TextPart,
    TokenLogprob,
    ToolOutputPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import JsonValue, present, without
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

# -- reading

_DETAILS: Final = ("auto", "low", "high", "original")
_TEXTS: Final = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_FIELDS: Final = frozenset(
    {"annotations", "cache_control", "detail", "file_data", "file_id", "file_url", "filename"}
    | {"image_url", "input_audio", "logprobs", "parsed", "prompt_cache_breakpoint", "refusal"}
    | {"text", "type"}
)
"""Fields of parts, including fields of responses that clients send back."""
_READ: Final = _TEXTS.union(
    ("computer_screenshot", "image_url", "input_audio", "input_file", "input_image", "refusal")
)
"""Types of parts that are read."""
_AUDIO_TYPES: Final = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def read_content(
    content: object, diagnostics: Diagnostics, *, protocol_id: str | None = None
) -> tuple[ContentPart, ...]:
    """Return a message's content: a text, or a list of parts.

    FrontError, naming the place, for what is neither. Fields that are not read, and options that
    an upstream of *protocol_id* does not have, go to *diagnostics*.
    """
    if isinstance(content, str):
        return (text_part(content),)
    if content is None:
        return ()
    if not isinstance(content, list):
        path = diagnostics.path
        raise invalid(f"{path} must be a text or a list of parts.", path)
    return tuple(
        _read_whole(part, protocol_id, diagnostics.at(f"[{index}]"))
        for index, part in enumerate(content)
    )


def report_unread(native: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    """Report the fields of an item that do not go back with it: unknown ones, and its API's own."""
    report_unknown(unread_fields(native), frozenset(), diagnostics)
    if not _OF_API.isdisjoint(native):
        lost = [name for name in native if name in _OF_API and native[name] is not None]
        report_lost(lost, "only the Responses API has it", diagnostics)


_OF_API: Final = OPAQUE_CALL_FIELDS.union(MESSAGE_FIELDS, REASONING_FIELDS)


def own_fields(item: Mapping[str, Any], here: Diagnostics, *, native: bool) -> dict[str, Any]:
    """Return the fields of a message for its own API; for others, unknown ones are reported."""
    if not native:
        report_unread(item, here)
        return {}
    own = {name: item[name] for name in MESSAGE_FIELDS if item.get(name) is not None}
    unread = unread_fields(item)
    return {**own, ITEM_FIELDS: unread} if unread else own


def with_fields(part: ContentPart, fields: Mapping[str, Any]) -> ContentPart:
    """Return a text or a refusal with *fields* of its message."""
    if not fields or not isinstance(part, TextPart | RefusalPart):
        return part
    own = {**object_or_empty(part.provider_metadata.get(METADATA_KEY)), **fields}
    return evolve(part, provider_metadata={METADATA_KEY: own})


def read_output(
    output: object, protocol_id: str | None, diagnostics: Diagnostics
) -> JsonValue | tuple[ToolOutputPart, ...]:
    """Return a tool's result: text, parts such as images, or other JSON unchanged."""
    if isinstance(output, list) and output and all(_is_part(item) for item in output):
        parts = read_content(output, diagnostics, protocol_id=protocol_id)
        return cast("tuple[ToolOutputPart, ...]", parts)
    return "" if output is None else cast("JsonValue", output)


_OUTPUTS: Final = frozenset({"input_text", "output_text", "text", "input_image", "input_file"})


def _is_part(item: object) -> bool:
    native = object_or_empty(item)
    if native.get("type") == "computer_screenshot":  # the SDK's type allows both, and none
        return (native.get("image_url") is None) != (native.get("file_id") is None)
    return str_or_none(native.get("type")) in _OUTPUTS


def _read_whole(native: object, protocol_id: str | None, diagnostics: Diagnostics) -> ContentPart:
    """Return a part with its own settings: how a file is shown, and a cache breakpoint.

    Parts that OpenAI's API does not have, such as OpenRouter's `input_video`, go unread to another
    server of it (https://openrouter.ai/docs/features/multimodal).
    """
    fields = object_or_empty(native)
    check_types(fields, OF_RESPONSES_PARTS, diagnostics.path)
    kind = str_or_none(fields.get("type"))
    if protocol_id == PROTOCOL_ID and kind is not None and kind not in _READ:
        return ProviderPart(
            METADATA_KEY, fields, provider_metadata={METADATA_KEY: {"part": "content"}}
        )
    part = read_part(native, diagnostics)
    unread = {} if _FIELDS.issuperset(fields) else present(without(fields, *_FIELDS))
    if unread and protocol_id == PROTOCOL_ID:
        part = evolve(part, provider_metadata={METADATA_KEY: {PART_FIELDS: unread}})
    else:
        report_unknown(unread, frozenset(), diagnostics)
    if isinstance(part, DocumentPart):
        part = _shown_file(part, fields, protocol_id, diagnostics)
    return with_mark(part, fields, protocol_id, diagnostics)


def _shown_file(
    part: DocumentPart, native: Mapping[str, Any], protocol_id: str | None, diagnostics: Diagnostics
) -> DocumentPart:
    """Return a file with the detail in which it is shown to the model, which few APIs have.

    A text file stays a file for the same API, which reads tables and code in ways of its own:
    https://developers.openai.com/api/docs/guides/file-inputs, read November 2026.
    """
    detail = read_field(native, "detail", str, f"{diagnostics.path}.")
    detail = None if detail == "auto" else detail
    if protocol_id == PROTOCOL_ID:
        is_text = "file_data" in native and is_text_type(media_type_of(part) or "")
        form = "input_file" if is_text else None
        shown = present({"part": form, "detail": detail})
        if not shown:
            return part
        own = {**object_or_empty(part.provider_metadata.get(METADATA_KEY)), **shown}
        return evolve(part, provider_metadata={METADATA_KEY: own})
    if detail is not None:
        diagnostics.at("detail").unsupported("the upstream takes no detail of a file")
    return part


def read_part(part: object, diagnostics: Diagnostics) -> ContentPart:
    """Return a part of a message; FrontError, naming the place of *diagnostics*, if invalid."""
    native = object_or_empty(part)
    match native.get("type"):
        case str(type_) if type_ in _TEXTS:
            return _text(native, diagnostics.path)
        case "refusal":
            return RefusalPart(str(native.get("refusal") or ""))
        case "input_image" | "computer_screenshot" | "image_url":
            return _image(native, diagnostics.path)
        case "input_file":
            return _file(native, diagnostics.path)
        case "input_audio":
            return _audio(object_or_empty(native.get("input_audio")) or native, diagnostics.path)
        case type_:
            path = diagnostics.path
            raise invalid(f"{path} has the unknown type {type_!r}.", f"{path}.type")


def _text(native: Mapping[str, Any], path: str) -> TextPart:
    text = read_field(native, "text", str, f"{path}.") or ""
    annotations = objects(native.get("annotations"))
    if not annotations:
        return text_part(text)
    citations = tuple(
        Citation(
            url=str_or_none(annotation.get("url")),
            title=str_or_none(annotation.get("title")) or str_or_none(annotation.get("filename")),
            document_id=str_or_none(annotation.get("file_id")),
        )
        for annotation in annotations
    )
    return TextPart(text, citations=citations)


def _image(native: Mapping[str, Any], path: str) -> ImagePart:
    url, file_id = native.get("image_url"), str_or_none(native.get("file_id"))
    detail = native.get("detail")
    address = (
        str_or_none(object_or_empty(url).get("url")) if isinstance(url, dict) else str_or_none(url)
    )
    if (address is None) == (file_id is None):
        raise invalid(f"{path}: an image has an image_url or a file_id.", path)
    if detail not in (None, *_DETAILS):
        raise invalid(f"{path}: detail is one of {', '.join(_DETAILS)}.", f"{path}.detail")
    if address is None:
        return ImagePart(file_id=file_id, detail=detail)
    return ImagePart(url=remote(address, f"{path}.image_url"), detail=detail)


def _file(native: Mapping[str, Any], path: str) -> DocumentPart:
    name = str_or_none(native.get("filename"))
    url, data = str_or_none(native.get("file_url")), str_or_none(native.get("file_data"))
    file_id = str_or_none(native.get("file_id"))
    if sum(source is not None for source in (url, data, file_id)) != 1:
        raise invalid(f"{path}: a file has a file_data, a file_url or a file_id.", path)
    if data is not None and not data.startswith("data:"):
        return DocumentPart(data=decoded(data, f"{path}.file_data"), name=name)
    address = url or data
    if address is None:
        return DocumentPart(file_id=file_id, name=name)
    return DocumentPart(url=remote(address, path), name=name)


def _audio(native: Mapping[str, Any], path: str) -> AudioPart:
    data, form = native.get("data"), native.get("format")
    if not isinstance(data, str):
        raise invalid(f"{path}: audio has base64 data and a format.", path)
    return AudioPart(
        data=decoded(data, f"{path}.data"),
        media_type=_AUDIO_TYPES.get(str(form), f"audio/{form}" if form else None),
    )


# -- writing


_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "url_citation": frozenset({"url", "title", "start_index", "end_index"}),
    "file_citation": frozenset({"file_id", "filename", "index"}),
    "container_file_citation": frozenset(
        {"container_id", "file_id", "filename", "start_index", "end_index"}
    ),
    "file_path": frozenset({"file_id", "index"}),
}
"""Annotations by type, with their required fields; some servers leave fields out."""


def output_text(
    text: str, annotations: Iterable[Any] = (), logprobs: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return a part of a message's content."""
    return {
        "type": "output_text",
        "text": text,
        "annotations": list(annotations),
        "logprobs": list(logprobs),
    }


def refusal_part(text: str) -> dict[str, Any]:
    """Return a refusal, which states why the model does not answer."""
    return {"type": "refusal", "refusal": text}


# -- annotations


def annotations_of(
    citations: Iterable[Citation], text: str, diagnostics: Diagnostics
) -> list[dict[str, Any]]:
    """Return the citations of *text* as annotations; a Diagnostic names those without a form."""
    annotations: list[dict[str, Any]] = []
    for citation in citations:
        annotation = _annotation(citation, text)
        if annotation is None:
            why = "a citation that names neither a page nor a file has no form here"
            diagnostics.dropped("citation-dropped", why)
        else:
            annotations.append(annotation)
    return annotations


def _annotation(citation: Citation, text: str) -> dict[str, Any] | None:
    native: Mapping[str, Any] = citation.provider_metadata.get(METADATA_KEY, {})
    needed = _NATIVE.get(str(native.get("type")))
    if needed is not None and all(native.get(name) is not None for name in needed):
        return dict(native)
    if citation.url is not None:
        return {
            "type": "url_citation",
            "url": citation.url,
            "title": citation.title or citation.url,
            "start_index": citation.start_index or 0,
            # a provider that names no stretch means the whole part
            "end_index": len(text) if citation.end_index is None else citation.end_index,
        }
    name = citation.document_id or citation.title
    if name is None:
        return None
    return {
        "type": "file_citation",
        "file_id": citation.document_id or name,
        "filename": citation.title or name,
        "index": citation.start_index or 0,
    }


# -- log probabilities


def logprobs_of(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """Return log probabilities in the form of a complete text."""
    return logprob_list(tokens, _with_bytes)


def delta_logprobs(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """Return log probabilities in the form of events."""
    return logprob_list(tokens, _bare)


def _bare(token: TokenLogprob) -> dict[str, Any]:
    return {"token": token.token, "logprob": token.logprob}


def _with_bytes(token: TokenLogprob) -> dict[str, Any]:
    return {**_bare(token), "bytes": list(token_bytes(token) or b"")}
