"""Stored at providers: files, and contents that Gemini keeps processed.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/files,
https://platform.claude.com/docs/en/api/files-create, https://docs.mistral.ai/api/endpoint/files,
https://ai.google.dev/api/files (an upload is two requests: the first names the URL of the second).
A file of each:

    {"id": "file-1", "object": "file", "bytes": 9, "created_at": 1765313051,
     "filename": "a.pdf", "purpose": "user_data"}
    {"id": "file_1", "type": "file", "filename": "a.pdf", "mime_type": "application/pdf",
     "size_bytes": 9, "created_at": "2026-11-02T10:00:00Z"}
    {"name": "files/abc", "uri": "https://.../v1beta/files/abc", "displayName": "a.pdf",
     "mimeType": "application/pdf", "sizeBytes": "9", "createTime": "2026-11-02T10:00:00Z",
     "expirationTime": "2026-11-04T10:00:00Z"}

A request that refers to a cached content must not set instructions, tools or tool config. On Vertex
AI names begin with the project and the location. Documents, read November 2026:
https://ai.google.dev/api/caching, https://ai.google.dev/gemini-api/docs/caching,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/
projects.locations.cachedContents. One of them:

    {"name": "cachedContents/abc", "model": "models/gemini-2.5-flash", "displayName": "a book",
     "createTime": "2026-11-02T10:00:00Z", "updateTime": "2026-11-02T10:00:00Z",
     "expireTime": "2026-11-02T11:00:00Z", "usageMetadata": {"totalTokenCount": 43130}}
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from attrs import evolve, field

from llmcore.protocols.protocol import (
    NativeRequest,
    NativeResponse,
    Page,
    PageRequest,
    UnaryProtocol,
)
from llmcore.protocols.unary import multipart, plain_media_type
from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.diagnostics import Diagnostic, Diagnostics
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.files import FileUpload, StoredFile
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

Uploading: TypeAlias = UnaryProtocol[FileUpload, StoredFile]
Listing: TypeAlias = UnaryProtocol[PageRequest, Page[StoredFile]]
Deleting: TypeAlias = UnaryProtocol[StoredFile, None]


@frozen(kw_only=True)
class FileProtocol:
    """The files of one API."""

    upload: Uploading
    listing: Listing
    deleting: Deleting


# -- files


def read_file(native: JsonObject, provider: str) -> StoredFile:
    """Return the file that *native* describes; StreamError if it has no id."""
    name = str_or_none(native.get("id")) or str_or_none(native.get("name"))
    if name is None:
        raise StreamError("the response describes no file", retryable=False)
    uri = str_or_none(native.get("uri"))
    return StoredFile(
        id=uri or name,
        provider=provider,
        name=None if uri is None else name,
        filename=str_or_none(native.get("filename")) or str_or_none(native.get("displayName")),
        media_type=str_or_none(_first(native, "mime_type", "mimeType", "mimetype")),
        size=read_count(_first(native, "bytes", "size_bytes", "sizeBytes")),
        created_at=read_time(_first(native, "created_at", "createTime")),
        expires_at=read_time(_first(native, "expires_at", "expirationTime")),
        raw=native,
    )


def _first(native: JsonObject, *names: str) -> JsonValue:
    return next((native[name] for name in names if native.get(name) is not None), None)


def read_count(value: JsonValue) -> int | None:
    """Return a number, or that of its digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_time(value: JsonValue) -> datetime | None:
    """Return the time of an ISO text or of Unix seconds, in UTC; None for anything else."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(value, int) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


# -- requests


def _upload(path: str, purpose: str | None, upload: FileUpload) -> NativeRequest:
    named = upload.purpose or purpose
    fields = [] if named is None else [("purpose", named)]
    body, kind = multipart(fields, [("file", upload)])
    return NativeRequest(path=path, content=body, content_type=kind)


def listed(path: str, size: str, mark: str, page: PageRequest) -> NativeRequest:
    """Return the request for a page of the list at *path*, by its parameters *size* and *mark*."""
    query = {size: "100"}
    if page.after is not None:
        query[mark] = page.after
    return NativeRequest(path=path, method="GET", query=query)


def _read_list(provider: str, response: NativeResponse, page: PageRequest) -> Page[StoredFile]:
    document = object_or_empty(response.document)
    entries = document.get("data", document.get("files", []))
    files = tuple(read_file(entry, provider) for entry in objects(entries))
    return Page(items=files, after=_after(document, files, page))


def _after(document: JsonObject, files: tuple[StoredFile, ...], request: PageRequest) -> str | None:
    token = str_or_none(document.get("nextPageToken"))
    if token is not None:
        return token
    if document.get("has_more") is True and files:
        return str_or_none(document.get("last_id")) or files[-1].id
    total = document.get("total")  # Mistral counts pages, from 0
    if isinstance(total, int) and files and document.get("object") == "list":
        page = int(request.after or 0)
        return str(page + 1) if total > (page + 1) * 100 else None
    return None


def _delete(path: str, file: StoredFile, *, safe: str = "") -> NativeRequest:
    name = quote(file.name or file.id, safe=safe)
    return NativeRequest(path=f"{path}/{name}", method="DELETE")


MESSAGES: Final = "messages"
"""The name below of the API of Anthropic, which others serve too."""

_APIS: Final[Mapping[str, tuple[str | None, str, str]]] = {
    "openai": ("user_data", "limit", "after"),
    "azure": ("assistants", "limit", "after"),  # which does not support `user_data`
    "mistral": ("ocr", "page_size", "page"),
    "google": (None, "pageSize", "pageToken"),
    MESSAGES: (None, "limit", "after_id"),
}
"""The purpose of files that requests refer to, and the parameters of lists: size and position."""


def file_protocol(api: str, provider: str, path: str) -> FileProtocol | None:
    """Return the files of *provider* at *path*; None if *api*, mostly its id, has none."""
    if api not in _APIS:
        return None
    purpose, size, mark = _APIS[api]
    deletion = partial(_delete, "", safe="/") if api == "google" else partial(_delete, path)
    return FileProtocol(
        upload=UnaryProtocol(
            id=f"{provider}-file-upload",
            build=partial(_upload, path, purpose),
            read=lambda response, _: read_file(object_or_empty(response.document), provider),
        ),
        listing=UnaryProtocol(
            id=f"{provider}-file-list",
            build=partial(listed, path, size, mark),
            read=partial(_read_list, provider),
        ),
        deleting=UnaryProtocol(
            id=f"{provider}-file-deletion",
            build=deletion,
            read=lambda _response, _file: None,
        ),
    )


# -- Gemini: an upload of two requests


def _start(upload: FileUpload) -> NativeRequest:
    return NativeRequest(
        path="/files",
        body={"file": {"displayName": upload.filename, "mimeType": upload.media_type}},
        headers={
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(upload.data)),
            "x-goog-upload-header-content-type": plain_media_type(upload.media_type),
        },
    )


def _upload_url(response: NativeResponse, _upload: FileUpload) -> str:
    url = response.headers.get("x-goog-upload-url", "")
    if urlsplit(url).scheme not in ("http", "https"):
        raise StreamError("the response names no URL to upload to", retryable=False)
    return url


GEMINI_START: Final[UnaryProtocol[FileUpload, str]] = UnaryProtocol(
    id="gemini-file-start", build=_start, read=_upload_url
)


def _finish(upload: FileUpload) -> NativeRequest:
    return NativeRequest(
        path="",
        content=upload.data,
        content_type=plain_media_type(upload.media_type),
        headers={"x-goog-upload-offset": "0", "x-goog-upload-command": "upload, finalize"},
    )


GEMINI_FINISH: Final[Uploading] = UnaryProtocol(
    id="gemini-file-upload",
    build=_finish,
    read=lambda response, _: read_file(
        object_or_empty(object_or_empty(response.document).get("file")), "google"
    ),
)


# -- contents that Gemini keeps processed

_CACHED_FIELDS: Final = (
    *("contents", "systemInstruction", "tools", "toolConfig"),
    *("displayName", "ttl", "expireTime", "encryptionSpec"),
)
"""The fields of `CachedContent` that a native request can have or `provider_options` can add."""
_CACHED_MODEL: Final = re.compile(r"(?:projects|publishers|models|tunedModels|endpoints)/.+(?=:)")
_CACHED_NAME: Final = re.compile(r"(projects/[\w:.-]*\w/locations/[\w-]+/)?cachedContents/[\w-]+")


def _check_ttl(_asked: object, _attribute: object, ttl: timedelta | None) -> None:
    if ttl is not None and ttl <= timedelta():
        raise InvalidRequestError(f"ttl is {ttl}: give a time above zero")


@frozen(kw_only=True)
class CachedContentRequest:
    """The request to create a cached content, or to change how long it is kept."""

    name: str = ""
    """The one to change."""
    url: str = ""
    """The URL at which its model generates."""
    body: JsonObject = field(factory=dict, repr=False)
    """The native body of a generation with its content."""
    ttl: timedelta | None = field(default=None, validator=_check_ttl)
    """The lifetime from now on; None for the provider's, an hour."""
    display_name: str | None = None
    """The name for people."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Diagnostics of the native body."""
    strict: bool = False
    """Whether a setting that it cannot hold is an error and not a Diagnostic."""


def checked_name(name: str) -> str:
    """Return *name*; InvalidRequestError if it is not that of a cached content."""
    if not _CACHED_NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} does not name a cached content: give its name, such as 'cachedContents/abc'"
        )
    return name


# -- requests


def _create(request: CachedContentRequest) -> NativeRequest:
    diagnostics = Diagnostics()
    diagnostics.extend(request.diagnostics)
    for name in [name for name in request.body if name not in _CACHED_FIELDS]:
        diagnostics.at(name).unsupported(f"cached contents have no {name}")
    model = _CACHED_MODEL.search(unquote(urlsplit(request.url).path))
    if model is None or not any(map(request.body.get, _CACHED_FIELDS[:3])):
        raise InvalidRequestError("the request has no messages, system prompt or tools to cache")
    kept = {name: request.body[name] for name in _CACHED_FIELDS if request.body.get(name)}
    named = {} if request.display_name is None else {"displayName": request.display_name}
    body = {"model": model.group(), **kept, **named, **_lifetime(request)}
    return NativeRequest(path="/cachedContents", body=body, diagnostics=tuple(diagnostics.entries))


def _lifetime(request: CachedContentRequest) -> JsonObject:
    """Return `ttl` in seconds with at most six fractional digits, such as `3.5s`."""
    if request.ttl is None:
        return {}
    return {"ttl": f"{request.ttl.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"}


def _update(request: CachedContentRequest) -> NativeRequest:
    return NativeRequest(
        path=f"/{checked_name(request.name)}", method="PATCH", body=_lifetime(request)
    )


def _named(method: str, name: str) -> NativeRequest:
    return NativeRequest(path=f"/{checked_name(name)}", method=method)


# -- responses


def read_cached_content(native: JsonObject) -> CachedContent:
    """Return the cached content that *native* describes; StreamError if it has no name or model."""
    name, model = str_or_none(native.get("name")), str_or_none(native.get("model"))
    if name is None or model is None:
        raise StreamError("the response describes no cached content", retryable=False)
    usage = object_or_empty(native.get("usageMetadata"))
    return CachedContent(
        name=name,
        provider="google",
        model=model.rpartition("/")[2],
        display_name=str_or_none(native.get("displayName")),
        total_tokens=read_count(usage.get("totalTokenCount")),
        created_at=read_time(native.get("createTime")),
        expires_at=read_time(native.get("expireTime")),
        raw=native,
    )


def _read_cached(response: NativeResponse, _asked: object) -> CachedContent:
    content = read_cached_content(object_or_empty(response.document))
    return evolve(content, diagnostics=response.diagnostics)


def _read_cached_list(response: NativeResponse, _asked: PageRequest) -> Page[CachedContent]:
    document = object_or_empty(response.document)
    entries = objects(document.get("cachedContents"))
    token = str_or_none(document.get("nextPageToken")) or None
    return Page(items=tuple(map(read_cached_content, entries)), after=token)


# -- the operations


CACHE_CREATING: Final[UnaryProtocol[CachedContentRequest, CachedContent]] = UnaryProtocol(
    id="gemini-cache-creation", build=_create, read=_read_cached
)
CACHE_UPDATING: Final[UnaryProtocol[CachedContentRequest, CachedContent]] = UnaryProtocol(
    id="gemini-cache-update", build=_update, read=_read_cached
)
CACHE_READING: Final[UnaryProtocol[str, CachedContent]] = UnaryProtocol(
    id="gemini-cache", build=partial(_named, "GET"), read=_read_cached
)
CACHE_LISTING: Final[UnaryProtocol[PageRequest, Page[CachedContent]]] = UnaryProtocol(
    id="gemini-cache-list",
    build=partial(listed, "/cachedContents", "pageSize", "pageToken"),
    read=_read_cached_list,
)
CACHE_DELETING: Final[UnaryProtocol[str, None]] = UnaryProtocol(
    id="gemini-cache-deletion", build=partial(_named, "DELETE"), read=lambda _response, _name: None
)
