"""Replaces credentials in what is shown: in headers and URLs by name, elsewhere by shape."""

import re
from collections.abc import Mapping
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.secret_names import REDACTED, redacted
from llmcore.testing.secret_scan import shapes_in

_CREDENTIAL_FIELD = re.compile(
    r"(?:x[-_])?(?:api|access|secret|client|refresh|auth)?[-_]?"
    r"(?:key|token|secret|password|authorization)",
    re.IGNORECASE,
)
"""Fields of bodies. `token` alone is a piece of text there, `key` the name of something."""
_WORDS_IN_BODIES = frozenset({"token", "key"})


def safe_text(text: str) -> str:
    """Return *text* with everything that has the shape of a key or token replaced."""
    for _, shape in shapes_in(text):
        text = shape.sub(REDACTED, text)
    return text


def safe_json(value: JsonValue, name: str = "") -> JsonValue:
    """Return *value* with credentials in its texts replaced, and texts in fields named for one.

    >>> safe_json({"api_key": "x", "messages": ["Hi"]})
    {'api_key': '[redacted]', 'messages': ['Hi']}
    """
    if isinstance(value, str):
        return REDACTED if _is_credential(name) else safe_text(value)
    if isinstance(value, Mapping):
        return safe_object(value)
    if isinstance(value, list | tuple):
        return [safe_json(item, name) for item in value]
    return value


def safe_object(value: Mapping[str, JsonValue]) -> JsonObject:
    """Return the object *value* as `safe_json` does."""
    return {safe_text(key): safe_json(item, key) for key, item in value.items()}


def safe_headers(headers: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return *headers* with credentials replaced."""
    return cast(
        "dict[str, JsonValue]",
        {name: safe_text(value) for name, value in redacted(headers).items()},
    )


def safe_url(url: str) -> str:
    """Return *url* without user, password and credentials in its query."""
    parts = urlsplit(url)
    query = redacted(dict(parse_qsl(parts.query, keep_blank_values=True)))
    host = parts.netloc.rpartition("@")[2]
    return safe_text(parts._replace(netloc=host, query=urlencode(query, safe="[]")).geturl())


def _is_credential(name: str) -> bool:
    return name.lower() not in _WORDS_IN_BODIES and _CREDENTIAL_FIELD.fullmatch(name) is not None
