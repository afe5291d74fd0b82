"""One HTTP request as a value, with its secrets marked."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Self, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from attrs import evolve, field

from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.secret_names import REDACTED, credentials_in, holds_credential, redacted

_SURROGATES: Final = (
    Diagnostic(
        "lone-surrogates-replaced",
        "body",
        action="changed",
        message="halves of surrogate pairs, which servers reject, are sent as U+FFFD",
    ),
)

_SHORTEST_SECRET: Final = 8
"""A header named like a credential may hold a shorter plain word, such as `true`."""


def _lowered(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@frozen(kw_only=True, repr=False)
class HttpRequest:
    """A request ready to be signed and sent. Header names are lower case.

    `secret_headers` and `secret_query` name what holds credentials, besides those that are
    recognised by name (`schema.secret_names`): they are redacted in the repr and in everything that
    is printed.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(factory=dict, converter=_lowered)
    body: bytes = b""
    secret_headers: frozenset[str] = frozenset()
    secret_query: frozenset[str] = frozenset()

    def with_header(self, name: str, value: str, *, secret: bool = False) -> Self:
        """Return the request with this header set."""
        name = name.lower()
        return changed(
            self,
            headers={**self.headers, name: value},
            secret_headers=self.secret_headers | {name} if secret else self.secret_headers,
        )

    def with_query(self, name: str, value: str, *, secret: bool = False) -> Self:
        """Return the request with this query parameter set."""
        return evolve(
            self,
            url=with_query(self.url, {name: value}),
            secret_query=self.secret_query | {name} if secret else self.secret_query,
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secret values, for redaction; never print them.

        They include tokens in the body, of MCP servers that the provider calls.
        """
        return (*self.credentials, *body_secrets(self.body))

    @property
    def credentials(self) -> tuple[str, ...]:
        """The secret values that the request is authenticated by; never print them."""
        query = parse_qsl(urlsplit(self.url).query)
        sources = ((self.headers.items(), self.secret_headers), (query, self.secret_query))
        marked, named = [], []
        for pairs, names in sources:
            for name, value in sorted(pairs):
                if name in names:
                    marked.append(value)
                elif holds_credential(name):
                    named.append(value)
        values = [*marked, *(value for value in named if len(value) >= _SHORTEST_SECRET)]
        return _with_bare(values)

    @property
    def safe_url(self) -> str:
        """The URL with secret parameters redacted."""
        return redacted_url(self.url, self.secret_query)

    @property
    def safe_headers(self) -> dict[str, str]:
        """The headers with secret values redacted."""
        return redacted(self.headers, self.secret_headers)

    def __repr__(self) -> str:
        return (
            f"HttpRequest({self.method} {self.safe_url}, headers={self.safe_headers}, "
            f"body=<{len(self.body)} bytes>)"
        )


def body_secrets(body: bytes) -> tuple[str, ...]:
    """Return the secret values in a body of JSON; none for another body."""
    if b'"authorization' not in body and b'"headers"' not in body:
        return ()
    try:
        return _with_bare(credentials_in(json.loads(body)))
    except ValueError:
        return ()


def _with_bare(values: Iterable[str]) -> tuple[str, ...]:
    """Return *values*, and what follows `Bearer` and other words in them."""
    whole = tuple(values)
    bare = (value.partition(" ")[2] for value in whole if " " in value)
    return tuple(value for value in (*whole, *bare) if value)


_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-z]+")
_NOT_IN_VALUES: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})


def json_body(body: JsonObject) -> tuple[JsonObject, bytes, tuple[Diagnostic, ...]]:
    """Return *body* as it is sent: the value, its JSON, and a note if texts were changed.

    Half a surrogate pair, which text has that was cut or decoded wrongly, makes a request that the
    Messages API ("no low surrogate in string"), DeepSeek and others reject, and with it each later
    one of the conversation.
    """
    data, whole = json.dumps_whole(body)
    return (body, data, ()) if whole is None else (cast("JsonObject", whole), data, _SURROGATES)


def sendable(
    request: HttpRequest, checked: Mapping[str, str] = MappingProxyType({})
) -> Result[HttpRequest, LLMError]:
    """Return *request* if HTTP can carry its headers (RFC 9110, 5), else an InvalidRequestError.

    It names the header and never its value. Those that are in *checked*, too, are good.
    """
    for name, value in request.headers.items():
        fault = None if checked.get(name) is value else _fault(name, value)
        if fault is not None:
            return Failure(InvalidRequestError(f"the header {name!r} cannot be sent: {fault}"))
    return Success(request)


def _fault(name: str, value: object) -> str | None:
    if not _NAME.fullmatch(name):
        return "its name holds characters that no name of a header has"
    if name in _FRAMING:
        return "it follows from the body; leave it out"
    if not isinstance(value, str):
        return f"its value is of the type {type(value).__name__}, not a text"
    if not value.isprintable() and _NOT_IN_VALUES.search(value):
        return "its value holds line ends or control characters"
    return "its value begins or ends with white space" if value != value.strip(" \t") else None


def with_query(url: str, query: Mapping[str, str]) -> str:
    """Return *url* with the parameters of *query* added; its own ones of that name give way."""
    if not query:
        return url
    scheme, host, path, old, fragment = urlsplit(url)
    pairs = [(k, v) for k, v in parse_qsl(old, keep_blank_values=True) if k not in query]
    merged = urlencode([*pairs, *query.items()], safe=":,/[]")
    return urlunsplit((scheme, host, path, merged, fragment))


def redacted_url(url: str, also: Iterable[str] = ()) -> str:
    """Return *url*, the credentials among its parameters and those named in *also* replaced."""
    base, mark, query = url.partition("?")
    query, hash_, fragment = query.partition("#")
    pairs = [
        (name, REDACTED if name in also or holds_credential(name) else value)
        for name, value in parse_qsl(query, keep_blank_values=True)
    ]
    if all(value is not REDACTED for _, value in pairs):
        return url
    return f"{base}{mark}{urlencode(pairs, safe=':,/[]')}{hash_}{fragment}"


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """Return *text* with every one of *secrets* replaced."""
    for secret in secrets:
        if len(secret) >= 4:  # shorter ones are placeholders such as "x"
            text = text.replace(secret, REDACTED)
    return text
