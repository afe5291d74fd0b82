"""Checks and normalises the base URLs of users, given in code or by the environment."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit, urlunsplit

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind

OPERATIONS = ("/chat/completions", "/completions", "/responses", "/messages", "/embeddings")
"""Paths that routes append to the base URL, and that users often copy with it."""


def checked_base_url(base_url: str) -> str:
    """Return *base_url* without white space round it and slashes at the end of its path.

    A path and a query of its own are kept. ConfigurationError for what is not an http(s) URL, for
    one that holds credentials, and for one that ends in an operation.
    """
    if not isinstance(base_url, str):
        raise ConfigurationError(f"base_url must be text, not {shown_kind(base_url)}")
    parts = _split(base_url.strip())
    path = parts.path.rstrip("/")
    operation = next((name for name in OPERATIONS if path.endswith(name)), None)
    if operation is not None:
        before = f"{parts.scheme}://{parts.netloc}{path.removesuffix(operation)}"
        raise ConfigurationError(
            f"base_url ends in {operation!r}, which is added to it: give base_url={before!r}"
        )
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


@frozen(repr=False)
class BaseUrlVariable:
    """A provider's base URL, unless an environment variable has another when a request is prepared.

    Like a key, it is looked up by each request; a `base_url` that is given in code is used instead.
    """

    name: str
    """The variable."""
    usual: str
    """The provider's own base URL."""
    finish: Callable[[str], str] = checked_base_url
    """Checks the value and makes a base URL of it."""

    def __repr__(self) -> str:
        return f"{self.name} or {self.usual!r}"

    def __call__(self, environ: Mapping[str, str]) -> str:
        """Return the base URL of *environ*; ConfigurationError, naming the variable, for others."""
        given = environ.get(self.name, "").strip()
        if not given:
            return self.usual
        try:
            return _finished(self.finish, given)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error.message} (from {self.name})", cause=error) from error


@lru_cache(maxsize=64)
def _finished(finish: Callable[[str], str], base_url: str) -> str:
    return finish(base_url)


def _split(base_url: str) -> SplitResult:
    authority = base_url.partition("://")[2].partition("/")[0].partition("?")[0]
    if "@" in authority:
        raise ConfigurationError(
            "base_url holds a user name or password: take them out of it, and give auth=... instead"
        )
    try:
        parts = urlsplit(base_url)
        named = parts.hostname and not any(map(str.isspace, parts.netloc))
        if parts.scheme in ("http", "https") and named and parts.port != 0:
            return parts
    except ValueError:  # invalid brackets or port
        pass
    shown = base_url.partition("?")[0]  # what follows may hold a key
    raise ConfigurationError(
        f"base_url {shown!r} is not an http(s) URL: write it like 'https://host/v1'"
    )
