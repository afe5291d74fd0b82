"""Contents that Gemini keeps processed: creation, lists, lifetimes, deletions.

Documents, read November 2026: https://ai.google.dev/api/caching,
https://ai.google.dev/gemini-api/docs/caching and, for Vertex AI, where names begin with the project
and the location, https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/
projects.locations.cachedContents. A request that refers to one must not set instructions, tools or
tool config. One of them:

    {"name": "cachedContents/abc", "model": "models/gemini-2.5-flash", "displayName": "a book",
     "createTime": "2026-11-02T10:00:00Z", "updateTime": "2026-11-02T10:00:00Z",
     "expireTime": "2026-11-02T11:00:00Z", "usageMetadata": {"totalTokenCount": 43130}}
"""

import re
from datetime import timedelta
from functools import partial
from typing import Final
from urllib.parse import unquote, urlsplit

from attrs import evolve, field, frozen

from llmcore.protocols.files import listed, read_count, read_time
from llmcore.protocols.model_lists import Page, PageRequest
from llmcore.protocols.protocol import NativeRequest, NativeResponse, UnaryProtocol
from llmcore.schema.cached_contents import CachedContent
from llmcore.schema.diagnostics import Diagnostic, Notes
from llmcore.schema.errors import InvalidRequestError, StreamError
from llmcore.schema.json import JsonObject, object_or_empty, objects, str_or_none

_FIELDS: Final = (
    *("contents", "systemInstruction", "tools", "toolConfig"),
    *("displayName", "ttl", "expireTime", "encryptionSpec"),
)
"""The fields of `CachedContent` that a native request can have or `provider_options` can add."""
_MODEL: Final = re.compile(r"(?:projects|publishers|models|tunedModels|endpoints)/.+(?=:)")
_NAME: Final = re.compile(r"(projects/[\w:.-]*\w/locations/[\w-]+/)?cachedContents/[\w-]+")


def _check_ttl(_asked: object, _attribute: object, ttl: timedelta | None) -> None:
    if ttl is not None and ttl <= timedelta():
        raise InvalidRequestError(f"ttl is {ttl}: give a time above zero")


@frozen(kw_only=True)
class CachedContentRequest:
    """The request to create a cached content, or to change how long it is kept."""

    name: str = ""
    """The one to change."""
    url: str = ""
    """The URL of a generation by its model,"""
    body: JsonObject = field(factory=dict, repr=False)
    """and that generation's native body."""
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
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} does not name a cached content: give its name, such as 'cachedContents/abc'"
        )
    return name


# -- requests


def _create(request: CachedContentRequest) -> NativeRequest:
    notes = Notes()
    notes.extend(request.diagnostics)
    for name in [name for name in request.body if name not in _FIELDS]:
        notes.unsupported(name, f"cached contents have no {name}")
    model = _MODEL.search(unquote(urlsplit(request.url).path))
    if model is None or not any(map(request.body.get, _FIELDS[:3])):
        raise InvalidRequestError("the request has no messages, system prompt or tools to cache")
    kept = {name: request.body[name] for name in _FIELDS if request.body.get(name)}
    named = {} if request.display_name is None else {"displayName": request.display_name}
    body = {"model": model.group(), **kept, **named, **_lifetime(request)}
    return NativeRequest(path="/cachedContents", body=body, diagnostics=tuple(notes.entries))


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


# -- answers


def read_cached_content(native: JsonObject) -> CachedContent:
    """Return the cached content that *native* describes; StreamError if it has no name or model."""
    name, model = str_or_none(native.get("name")), str_or_none(native.get("model"))
    if name is None or model is None:
        raise StreamError("the answer describes no cached content", retryable=False)
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


def _read(answer: NativeResponse, _asked: object) -> CachedContent:
    found = read_cached_content(object_or_empty(answer.document))
    return evolve(found, diagnostics=answer.diagnostics)


def _read_list(answer: NativeResponse, _asked: PageRequest) -> Page[CachedContent]:
    document = object_or_empty(answer.document)
    found = objects(document.get("cachedContents"))
    token = str_or_none(document.get("nextPageToken")) or None
    return Page(items=tuple(map(read_cached_content, found)), after=token)


# -- the operations


CREATING: Final[UnaryProtocol[CachedContentRequest, CachedContent]] = UnaryProtocol(
    id="gemini-cache-creation", build=_create, read=_read
)
UPDATING: Final[UnaryProtocol[CachedContentRequest, CachedContent]] = UnaryProtocol(
    id="gemini-cache-update", build=_update, read=_read
)
READING: Final[UnaryProtocol[str, CachedContent]] = UnaryProtocol(
    id="gemini-cache", build=partial(_named, "GET"), read=_read
)
LISTING: Final[UnaryProtocol[PageRequest, Page[CachedContent]]] = UnaryProtocol(
    id="gemini-cache-list",
    build=partial(listed, "/cachedContents", "pageSize", "pageToken"),
    read=_read_list,
)
DELETING: Final[UnaryProtocol[str, None]] = UnaryProtocol(
    id="gemini-cache-deletion", build=partial(_named, "DELETE"), read=lambda _answer, _name: None
)
