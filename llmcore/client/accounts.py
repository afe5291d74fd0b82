"""The owners of files and cached contents that providers store."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import evolve

from llmcore.routes.auth import TOKEN_TO_COME, AuthContext
from llmcore.routes.endpoint import EndpointContext
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.route import PreparedRequest, Route
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.model import Body_co
from llmcore.schema.result import Failure, Result, Success

_FILES: Final = (ImagePart, AudioPart, DocumentPart)
_WITHOUT_FILES: Final = frozenset({TextPart, ToolCallPart, ToolResultPart})
"""Parts of which there are hundreds in a request."""
_PROJECT: Final = re.compile(r"projects/[^/]+/locations/[^/]+")
"""The owner of what Vertex AI keeps."""


def base_url_of(route: Route[Any], environ: Mapping[str, str]) -> Result[str, LLMError]:
    """Return the base URL of *route*."""
    where = EndpointContext(model_id="", body={}, streaming=False, environ=environ)
    return evolve(route.endpoint, target="").url(where)


def account_at(route: Route[Any], environ: Mapping[str, str]) -> str | None:
    """Return the account that *route* signs for, as `account_of` a request over it."""
    context = AuthContext(environ=environ, token=TOKEN_TO_COME)
    signed = base_url_of(route, environ).bind(
        lambda url: route.auth.sign(HttpRequest(method="GET", url=url), context)
    )
    return signed.map(lambda request: account_of(request, route)).value_or(None)


def account_of(request: HttpRequest, route: Route[Any]) -> str | None:
    """Return a digest of the address and the credentials of *request*, which is signed.

    At Vertex AI it is one of the project and the location. None for other tokens that are fetched.
    """
    url = urlsplit(request.url)
    project = _PROJECT.search(url.path)
    if project is None and route.auth.fetch is not None:
        return None
    owner = request.credentials if project is None else (project.group(),)
    text = "\n".join((url.netloc, *owner))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def check_account(what: str, owner: str | None, account: str | None, route: Route[Any]) -> None:
    """Raise InvalidRequestError if *what* belongs to an *owner* other than *account*."""
    if None not in (owner, account) and owner != account:
        raise InvalidRequestError(
            f"{what} belongs to another account of {route.provider}: store it with these "
            "credentials",
            provider=route.provider,
        )


def with_checked_accounts(
    prepared: PreparedRequest[Body_co], route: Route[Any]
) -> Result[PreparedRequest[Body_co], LLMError]:
    """Return *prepared*; InvalidRequestError if another account has what it refers to."""
    named = {
        part.file_account: f"the file {part.file_id!r}"
        for message in prepared.request.messages
        for part in message.content
        if type(part) not in _WITHOUT_FILES and isinstance(part, _FILES) and part.file_account
    }
    content = prepared.request.cache.content
    if content is not None and content.account:
        named[content.account] = f"the cached content {content.name!r}"
    if not named or not prepared.http.credentials:  # without a key, nothing can be sent anyway
        return Success(prepared)
    account = account_of(prepared.http, route)
    try:
        for owner, what in named.items():
            check_account(what, owner, account, route)
    except InvalidRequestError as error:
        return Failure(error)
    return Success(prepared)
