"""Unary calls: building their requests, what all their responses have, and lists of models.

A body of `multipart/form-data` (RFC 7578), with a field and a file:

    --llmcore-5d8f
    Content-Disposition: form-data; name="purpose"

    user_data
    --llmcore-5d8f
    Content-Disposition: form-data; name="file"; filename="a.pdf"
    Content-Type: application/pdf

    %PDF-1.7 ...
    --llmcore-5d8f--

Gemini's models answer `generateContent` with images or speech. Documents, read November 2026:
https://ai.google.dev/gemini-api/docs/image-generation,
https://ai.google.dev/gemini-api/docs/speech-generation, https://ai.google.dev/api/generate-content.
A response:

    {"candidates": [{"content": {"role": "model", "parts": [{"inlineData":
     {"mimeType": "image/png", "data": "iVBO..."}}]}, "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1290},
     "modelVersion": "gemini-3.1-flash-image"}

Lists of the models that an account can use, read November 2026:
https://platform.openai.com/docs/api-reference/models/list (and the
servers that imitate it), https://platform.claude.com/docs/en/api/models-list,
https://ai.google.dev/api/models#method:-models.list,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListFoundationModels.html,
https://docs.cohere.com/reference/list-models. One entry of each:

    {"id": "gpt-5.2", "object": "model", "created": 1765313051, "owned_by": "system"}
    {"id": "claude-sonnet-5", "type": "model", "display_name": "Claude Sonnet 5",
     "created_at": "2026-02-04T00:00:00Z", "max_input_tokens": 1000000, "max_tokens": 64000}
    {"name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1048576,
     "outputTokenLimit": 65536, "supportedGenerationMethods": ["generateContent"]}
    {"modelId": "amazon.nova-pro-v1:0", "modelName": "Nova Pro"}
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import quote

from attrs import field

from llmcore.protocols.media import MediaPart, base64_data, media_type_of
from llmcore.protocols.protocol import (
    NativeRequest,
    NativeResponse,
    Page,
    PageRequest,
    UnaryProtocol,
)
from llmcore.schema.content import ImagePart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import ContentFilterError, LLMError, StreamError
from llmcore.schema.files import FileUpload
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, text_or_json
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.native_json import object_or_empty, objects, str_or_none, texts
from llmcore.schema.options import merge_json
from llmcore.schema.unary import UnaryRequest
from llmcore.schema.usage import Usage


def posted(
    request: UnaryRequest, path: str, body: JsonObject, diagnostics: Diagnostics
) -> NativeRequest:
    """Return the POST of *body*, the native options of *request* laid over it."""
    whole = merge_json(body, request.own_options)
    return NativeRequest(path=path, body=whole, diagnostics=tuple(diagnostics.entries))


def posted_form(
    request: UnaryRequest,
    path: str,
    body: JsonObject,
    diagnostics: Diagnostics,
    files: Iterable[tuple[str, FileUpload]] = (),
    *,
    list_mark: str = "[]",
) -> NativeRequest:
    """Return the same as a form, with *files*; names of lists end with *list_mark*."""
    fields = _fields(merge_json(body, request.own_options), list_mark)
    content, kind = multipart(fields, files)
    return NativeRequest(
        path=path, content=content, content_type=kind, diagnostics=tuple(diagnostics.entries)
    )


def _fields(value: JsonValue, list_mark: str, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield *value* as fields: those of objects as `name[key]`, as OpenAI's packages write them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _fields(item, list_mark, f"{name}[{key}]" if name else key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _fields(item, list_mark, f"{name}{list_mark}")
    elif value is not None:
        yield name, text_or_json(value)


def native_settings(
    request: UnaryRequest, names: Mapping[str, str | None], diagnostics: Diagnostics
) -> dict[str, JsonValue]:
    """Return the settings of *request* by their native *names*.

    A setting that is None, empty or False is not sent. One whose native name is None is dropped,
    with a Diagnostic.
    """
    settings: dict[str, JsonValue] = {}
    for name, native in names.items():
        value = getattr(request, name)
        if not value and (value is None or isinstance(value, bool | tuple | str)):
            continue
        if native is None:
            diagnostics.at(name).unsupported(f"the API has no {name}")
        else:
            settings[native] = list(value) if isinstance(value, tuple) else value
    return settings


# -- responses


def response_fields(
    response: NativeResponse, request: UnaryRequest, usage: Usage
) -> dict[str, Any]:
    """Return the fields that all responses have."""
    document = object_or_empty(response.document)
    named = str_or_none(document.get("model")) or str_or_none(document.get("modelVersion"))
    return {
        "provider": request.provider_id,
        "model": named or request.model_id,
        "usage": usage,
        "diagnostics": response.diagnostics,
        "raw": response.document,
    }


def usage_of(response: NativeResponse) -> Usage:
    """Return the `usage` of a document, by the names of either of OpenAI's APIs."""
    from llmcore.protocols.openai_chat.finish import map_usage as chat_usage
    from llmcore.protocols.openai_responses.finish import map_usage as responses_usage

    usage = object_or_empty(object_or_empty(response.document).get("usage"))
    return chat_usage(usage) if "prompt_tokens" in usage else responses_usage(usage)


# -- bodies of multipart/form-data


def multipart(
    fields: Iterable[tuple[str, str]], files: Iterable[tuple[str, FileUpload]]
) -> tuple[bytes, str]:
    """Return a body with *fields* and *files*, both by their names, and its content type.

    A name may repeat. The boundary is a digest of everything in the body: the same content gives
    the same bytes, and no content can include the boundary. Half a surrogate pair, which UTF-8
    cannot express, becomes `?`.
    """
    parts = [(f'name="{_quoted(name)}"\r\n\r\n'.encode(), value.encode()) for name, value in fields]
    parts += [(_head_of(name, file), file.data) for name, file in files]
    digest = hashlib.blake2b(digest_size=20)
    for head, content in parts:
        digest.update(b"%d %d " % (len(head), len(content)))
        digest.update(head)
        digest.update(content)
    boundary = f"llmcore-{digest.hexdigest()}"
    begin = f"--{boundary}\r\nContent-Disposition: form-data; ".encode()
    pieces = [piece for head, content in parts for piece in (begin, head, content, b"\r\n")]
    body = b"".join([*pieces, f"--{boundary}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={boundary}"


def _head_of(name: str, file: FileUpload) -> bytes:
    media_type = plain_media_type(file.media_type)
    head = f'name="{_quoted(name)}"; filename="{_quoted(file.filename)}"\r\n'
    return f"{head}Content-Type: {media_type}\r\n\r\n".encode("utf-8", "replace")


_ESCAPES: Final = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""As the HTML standard, 4.10.21.8, has names in such bodies."""


def _quoted(name: str) -> str:
    return name.translate(_ESCAPES)


def plain_media_type(media_type: str) -> str:
    """Return *media_type* on one line."""
    return media_type.replace("\r", "").replace("\n", "")


# -- media out of Gemini's models

VERTEX_MODELS: Final = "publishers/google/"
"""The parent of models on Vertex."""

_REFUSALS: Final = ("SAFETY", "PROHIBITED", "BLOCKLIST", "RECITATION", "SPII")
"""In the finish reasons of responses that a filter withheld, such as `IMAGE_SAFETY`."""


def google_path(request: UnaryRequest, method: str, below: str = "") -> str:
    """Return the path of *method* of the model: `/models/m:method`, with *below* before it."""
    model = request.model_id
    resource = model if "/" in model else f"{below}models/{model}"
    return f"/{quote(resource, safe='/@')}:{method}"


def content_body(text: str, media: Sequence[MediaPart], config: JsonObject) -> JsonObject:
    """Return the body that asks with *text* and *media*, of *config* as its `generationConfig`."""
    parts: list[JsonValue] = [{"text": text}, *map(_lowered, media)]
    return {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}


def _lowered(part: MediaPart) -> JsonObject:
    encoded = base64_data(part)
    if encoded is not None:
        kind = encoded[0] if isinstance(part, ImagePart) else part.media_type or encoded[0]
        return {"inlineData": {"mimeType": kind, "data": encoded[1]}}
    known = part.media_type or media_type_of(part)
    return {"fileData": {"fileUri": part.url or part.file_id, "mimeType": known}}


def read_media(response: NativeResponse, kind: str) -> list[tuple[str, bytes]]:
    """Return the MIME type and the bytes of the parts of *kind*, such as `image`.

    Raises ContentFilterError if they were withheld, StreamError if there are none.
    """
    document = object_or_empty(response.document)
    media = [
        (media_type, data)
        for media_type, data in _inline(document)
        if media_type.partition("/")[0] == kind
    ]
    if not media:
        raise _no_media(document, kind)
    return media


def _inline(document: JsonObject) -> Iterator[tuple[str, bytes]]:
    for candidate in objects(document.get("candidates")):
        for part in objects(object_or_empty(candidate.get("content")).get("parts")):
            data = object_or_empty(part.get("inlineData"))
            content = decode_base64(data.get("data"))
            if content and part.get("thought") is not True:
                yield str(data.get("mimeType")), content


def _no_media(document: JsonObject, kind: str) -> LLMError:
    feedback = object_or_empty(document.get("promptFeedback"))
    ends: list[dict[str, Any]] = [feedback, *objects(document.get("candidates"))]
    words = [end.get("blockReason") or end.get("finishReason") for end in ends]
    messages = [
        str_or_none(end.get("blockReasonMessage") or end.get("finishMessage")) for end in ends
    ]
    why = ", ".join(filter(None, map(str_or_none, [*words, *messages]))) or "no reason stated"
    message = f"the response has no {kind}: {why}"
    if feedback.get("blockReason") or any(word in why for word in _REFUSALS):
        return ContentFilterError(message)
    return StreamError(message, retryable=False)


def google_usage(response: NativeResponse) -> Usage:
    """Return the tokens of a response."""
    from llmcore.protocols.gemini.finish import map_usage  # clients of other providers need none

    return map_usage(object_or_empty(object_or_empty(response.document).get("usageMetadata")))


# -- lists of models


@frozen(kw_only=True)
class LiveModel:
    """One model, as its provider describes it."""

    id: str
    """The id that requests name it by."""
    display_name: str | None = None
    """The name for people."""
    context_window: int | None = None
    """Tokens of input, or of input and output together, whichever is stated."""
    max_output: int | None = None
    """The most tokens of one response."""
    created: date | None = None
    """When it was released."""
    endpoints: tuple[str, ...] = ()
    """The paths of the APIs that serve it, where the list names them."""
    raw: JsonObject = field(factory=dict, eq=False, repr=False)
    """The provider's own entry."""


_LISTS: Final = ("data", "models", "modelSummaries")
_IDS: Final = ("id", "modelId", "name")
_NAMES: Final = ("display_name", "displayName", "modelName", "name")
_WINDOWS: Final = (
    "context_window",
    "context_length",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
)
"""By Groq; OpenRouter, Together, Fireworks and Cohere; Mistral; vLLM; Anthropic; Gemini."""
_OUTPUTS: Final = ("max_completion_tokens", "outputTokenLimit", "max_tokens")


def paged(
    id: str, path: str, *, size: str | None = None, mark: str = ""
) -> UnaryProtocol[PageRequest, Page[LiveModel]]:
    """Return the protocol of a list at *path*, in pages if *mark* names their parameter.

    *size* is the parameter of a page's size, which is then 1000 models.
    """

    def build(page: PageRequest) -> NativeRequest:
        given = {size: "1000"} if size else {}
        if page.after is not None:
            given[mark] = page.after
        return NativeRequest(path=path, method="GET", query=given)

    return UnaryProtocol(id=id, build=build, read=lambda response, _asked: read_models(response))


def read_models(response: NativeResponse) -> Page[LiveModel]:
    """Return the models that a document lists; entries without an id are passed over.

    Raises StreamError for a document without a list.
    """
    document = response.document
    listed: JsonValue = document  # Together returns the bare list
    if isinstance(document, dict):
        lists = (document[name] for name in _LISTS if name in document)
        listed = next(([] if one is None else one for one in lists), None)  # Ollama's empty one
    if not isinstance(listed, list):
        raise StreamError("the response is not a list of models", retryable=False)
    models = tuple(model for entry in objects(listed) if (model := _model(entry)) is not None)
    return Page(items=models, after=_after(object_or_empty(document)))


def _after(document: JsonObject) -> str | None:
    marks = [document.get("nextPageToken"), document.get("next_page_token")]
    if document.get("has_more") is True:
        marks.append(document.get("last_id"))
    return next((mark for mark in marks if isinstance(mark, str) and mark), None)


def _model(entry: JsonObject) -> LiveModel | None:
    model_id = _first_text(entry, _IDS)
    if model_id is None:
        return None
    capabilities = object_or_empty(entry.get("capabilities"))
    limits = object_or_empty(capabilities.get("limits"))  # GitHub Copilot
    window = _first_count((entry, limits), (*_WINDOWS, "max_context_window_tokens"))
    name = _first_text(entry, _NAMES)
    return LiveModel(
        id=model_id.removeprefix("models/"),
        display_name=None if name == model_id else name,
        context_window=window,
        max_output=_first_count((entry, limits), (*_OUTPUTS, "max_output_tokens")),
        created=_date(entry.get("created_at", entry.get("created"))),
        endpoints=tuple(texts(entry.get("supported_endpoints"))),  # GitHub Copilot
        raw=entry,
    )


def _first_text(entry: JsonObject, names: Iterable[str]) -> str | None:
    values = (entry.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value), None)


def _first_count(sources: Iterable[JsonObject], names: Iterable[str]) -> int | None:
    named = tuple(names)
    values = (source.get(name) for source in sources for name in named)
    counts = (value for value in values if isinstance(value, int) and not isinstance(value, bool))
    return next((value for value in counts if value > 0), None)


def _date(value: JsonValue) -> date | None:
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).date()
        if isinstance(value, int) and value > 0:
            return datetime.fromtimestamp(value, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None
