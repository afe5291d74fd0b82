"""Auth: as whom a request goes. Each value signs one request.

Signing is pure: environment, clock and fetched tokens come in as an `AuthContext`. A
missing key is an AuthenticationError when a request is prepared, never at import or
configuration time.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, Self, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import AuthenticationError, ConfigurationError, LLMError
from llmcore.schema.result import Failure, Result, Success


@frozen(kw_only=True)
class AuthContext:
    """What signing may depend on, besides the request."""

    environ: Mapping[str, str] = field(factory=dict, repr=False)
    now: datetime | None = None
    """The present moment, in UTC, for signatures that hold it."""
    token: str | None = field(default=None, repr=False)
    """What the auth's `fetch` returned."""


TOKEN_TO_COME: Final = "[fetched when sent]"  # noqa: S105
"""What `AuthContext.token` is where nothing is sent, and so nothing fetched."""


@frozen
class CredentialSource:
    """Where a token comes from that takes files, processes or requests to get, as data.

    Each kind is a class below this one; the client knows how to ask it.
    """


Sign: TypeAlias = Callable[[HttpRequest, AuthContext], Result[HttpRequest, LLMError]]
Fetch: TypeAlias = Callable[[], Awaitable[str]]
FetchWhen: TypeAlias = Callable[[Mapping[str, str]], bool]


def always(_environ: Mapping[str, str]) -> bool:
    """Fetch whatever the environment says."""
    return True


_AuthT = TypeVar("_AuthT", bound="Auth")


@frozen(kw_only=True)
class Auth:
    """Signs requests. Compare and print it freely: it shows no secret."""

    id: str
    """What it is, for people: `bearer`, `header x-api-key`, `env OPENAI_API_KEY`."""
    sign: Sign = field(repr=False)
    fetch: Fetch | CredentialSource | None = field(default=None, repr=False)
    """Gets a token that expires; the client awaits it before each request."""
    fetch_when: FetchWhen = field(default=always, repr=False)
    """Whether the token is needed at all, given the environment."""

    @classmethod
    def none(cls) -> Self:
        """Sign nothing, for servers that ask for no key."""
        return cls(id="none", sign=lambda request, _context: Success(request))

    @classmethod
    def bearer(cls, key: str | None) -> Self:
        """Send `Authorization: Bearer KEY`."""
        return cls.header("authorization", key, prefix="Bearer ", id="bearer")

    @classmethod
    def header(cls, name: str, key: str | None, *, prefix: str = "", id: str | None = None) -> Self:
        """Send the key in the header *name*."""

        def sign(request: HttpRequest, _context: AuthContext) -> Result[HttpRequest, LLMError]:
            return _checked(key, f"the api_key for the header {name!r}").map(
                lambda good: request.with_header(name, prefix + good, secret=True)
            )

        return cls(id=id or f"header {name}", sign=sign)

    @classmethod
    def query(cls, name: str, key: str | None) -> Self:
        """Send the key in the query parameter *name*."""

        def sign(request: HttpRequest, _context: AuthContext) -> Result[HttpRequest, LLMError]:
            return _checked(key, f"the api_key for the parameter {name!r}").map(
                lambda good: request.with_query(name, good, secret=True)
            )

        return cls(id=f"query {name}", sign=sign)

    @classmethod
    def env(cls, *variables: str, header: str = "authorization", prefix: str = "Bearer ") -> Self:
        """Send the key that stands in the first of *variables* that is set."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            key = next(
                (context.environ[name] for name in variables if context.environ.get(name)), None
            )
            names = " or ".join(variables)
            if key is None:
                message = f"no API key: set {names}, or configure the provider with api_key=..."
                return Failure(AuthenticationError(message))
            return _checked(key, names).map(
                lambda good: request.with_header(header, prefix + good, secret=True)
            )

        return cls(id=f"env {' or '.join(variables)}", sign=sign)

    @classmethod
    def token(
        cls,
        fetch: Fetch | CredentialSource,
        *,
        header: str = "authorization",
        prefix: str = "Bearer ",
    ) -> Self:
        """Send a token that *fetch* gets (and refreshes) anew for each request."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            return _checked(context.token, "the fetched token").map(
                lambda good: request.with_header(header, prefix + good, secret=True)
            )

        return cls(id="token", sign=sign, fetch=fetch)

    @classmethod
    def first_of(cls, *auths: "Auth") -> Self:
        """Sign by the first of *auths* that can; the failure names what each one lacked."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            reasons = []
            for auth in auths:
                signed = auth.sign(request, context)
                if isinstance(signed, Success):
                    return signed
                reasons.append(signed.failure().message)
            return Failure(AuthenticationError("; ".join(reasons) or "no way to authenticate"))

        return _combined(cls(id=" or ".join(auth.id for auth in auths), sign=sign), auths)

    @classmethod
    def all_of(cls, *auths: "Auth") -> Self:
        """Sign by every one of *auths*, for gateways with a key of their own."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            signed: Result[HttpRequest, LLMError] = Success(request)
            for auth in auths:
                if isinstance(signed, Success):
                    signed = auth.sign(signed.unwrap(), context)
            return signed

        return _combined(cls(id=" and ".join(auth.id for auth in auths), sign=sign), auths)


def _combined(whole: _AuthT, parts: Iterable[Auth]) -> _AuthT:
    """Return *whole*, which fetches what the first of *parts* that fetches anything does."""
    fetching = next((auth for auth in parts if auth.fetch is not None), None)
    if fetching is None:
        return whole
    return evolve(whole, fetch=fetching.fetch, fetch_when=fetching.fetch_when)


def choose_auth(
    *,
    api_key: str | None = None,
    auth: Auth | None = None,
    of_key: Callable[[str], Auth] = Auth.bearer,
    fallback: Auth,
) -> Auth:
    """Return the auth a facade is configured with.

    `api_key` is sugar for `auth`; both together raise ConfigurationError. Without
    either, *fallback* (mostly `Auth.env(...)`) decides when a request is prepared.
    """
    if api_key is not None and auth is not None:
        raise ConfigurationError("give either api_key or auth, and not both")
    if auth is not None:
        return auth
    return fallback if api_key is None else of_key(api_key)


def _checked(key: str | None, what: str) -> Result[str, LLMError]:
    """Return *key* without white space around it, if a header can hold it."""
    key = (key or "").strip()
    if not key:
        return Failure(AuthenticationError(f"no API key: {what} is empty"))
    if not key.isascii() or not key.isprintable():
        return Failure(AuthenticationError(f"{what} holds characters that no key has"))
    return Success(key)
