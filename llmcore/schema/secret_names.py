"""Recognises headers, query parameters and variables that hold credentials by their names.

The one rule of all code that shows, stores or forwards requests: reprs, logs, errors, cassettes and
redirects. A name is split into words (at separators and at changes of case), and holds a
credential if one of them is a word for credentials: `X-Portkey-Api-Key`, `Helicone-Auth`,
`CF-Access-Client-Secret`, `subscription-key`, `apiToken`, `client_secret`. Words with other
meanings count only as the complete name (`code`, `sas`), and some compounds are exempt
(`idempotency-key`, `page_token`, `max_tokens`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

REDACTED: Final = "[redacted]"
"""The replacement for credentials wherever a request is shown."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CREDENTIAL: Final = re.compile(
    r"(?:api|access|app|auth|bearer|client|id|private|refresh|secret|security|session|subscription)?"
    r"(?:key|token|secret|password|signature|credential)s?"
    r"|(?:proxy)?(?:auth|authorization|authentication)|oauth2?"
    r"|cookie|bearer|jwt|assertion|hmac|passwd|passphrase|pat|pwd|dpop"
)
_WHOLE: Final = frozenset({"code", "pass", "pw", "sas", "sid", "sig"})
_NOT_SECRET: Final = re.compile(
    r"(?:.*-)?(?:idempotency|cache|partition|sort|surrogate|routing|websocket|socket|public)-keys?"
    r"|(?:.*-)?(?:page|next|continuation|pagination|sync)-tokens?"
    r"|(?:.*-)?(?:input|output|max|min|total|completion|prompt|num|stop)-tokens?(?:-.*)?"
    r"|(?:.*-)?rate-?limit-.*"
    r"|(?:.*-)?tokens?-(?:count|limit|budget|efficient|type|remaining|reset)(?:-.*)?"
)


@lru_cache(maxsize=1024)
def holds_credential(name: str) -> bool:
    """Return whether a field named *name* usually holds a credential."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if len(words) == 1 and words[0] in _WHOLE:
        return True
    if _NOT_SECRET.fullmatch("-".join(words)):
        return False
    return any(map(_CREDENTIAL.fullmatch, words))


def redacted(values: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """Return *values* with credentials, and those named in *also*, replaced by `REDACTED`."""
    known = frozenset(also)
    return {
        name: REDACTED if name in known or holds_credential(name) else value
        for name, value in values.items()
    }


def redacted_json(value: Any, name: str = "") -> Any:
    """Return the JSON *value*, a field *name*, with the texts of credentials' fields replaced."""
    if isinstance(value, Mapping):
        return {key: redacted_json(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(item, name) for item in value]
    return REDACTED if isinstance(value, str) and name and holds_credential(name) else value


_WITH_SERVERS: Final = ("tools", "mcp_servers")
"""Fields of requests with MCP servers that the provider calls."""
_OF_SERVERS: Final = ("authorization", "authorization_token")
"""Fields of such a server with its token, at OpenAI and at Anthropic. `headers` has others."""


def credentials_in(body: Any) -> Iterator[str]:
    """Yield the credentials in the body of a request: those of MCP servers."""
    fields = body if isinstance(body, Mapping) else {}
    for name in _WITH_SERVERS:
        servers = fields.get(name)
        for server in servers if isinstance(servers, list | tuple) else ():
            if isinstance(server, Mapping):
                yield from _credentials_of(server)


def _credentials_of(server: Mapping[str, Any]) -> Iterator[str]:
    headers = server.get("headers")
    named = headers.items() if isinstance(headers, Mapping) else ()
    values = [server.get(name) for name in _OF_SERVERS]
    values += [value for name, value in named if holds_credential(name)]
    yield from (value for value in values if isinstance(value, str) and value)
