"""Auth: the credentials of a request. A value signs one request.

Signing is pure: environment, clock and fetched tokens come in as an `AuthContext`. A
missing key is an AuthenticationError when a request is prepared, never at import or
configuration time.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NoReturn, Self, TypeAlias

from attrs import evolve, field

from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import AuthenticationError, ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.result import Failure, Result, Success


@frozen(kw_only=True)
class AuthContext:
    """Everything besides the request that signing depends on."""

    environ: Mapping[str, str] = field(factory=dict, repr=False)
    now: datetime | None = None
    """The current time in UTC, for signatures that contain it."""
    token: str | None = field(default=None, repr=False)
    """The token that the auth's `fetch` returned."""
    shown: bool = False
    """Whether the request is only shown, and never sent: a missing key is then not an error."""
    missing_key: str | None = None
    """The placeholder for a missing key."""

    def without_key(self) -> "AuthContext":
        """Return the context in which a placeholder replaces the key."""
        return evolve(self, missing_key=KEY_PLACEHOLDER)


NO_KEY: Final = "no-api-key"
UNUSABLE_KEY: Final = "unusable-api-key"
"""Error codes of an AuthenticationError that is raised before anything is sent."""

KEY_PLACEHOLDER: Final = "[no API key]"
"""Replaces the key in a request that is shown without one."""

TOKEN_TO_COME: Final = "[fetched when sent]"  # noqa: S105
"""Replaces `AuthContext.token` in a request that is shown, for which none is fetched."""


@frozen
class CredentialSource:
    """The source of a token that files, processes or requests provide, as data.

    Each kind is a subclass, for which the client fetches the token.
    """

    def named_by(self, variables: Mapping[str, str]) -> "CredentialSource":
        """Return the source that *variables* name, or else this one."""
        return self


@frozen(kw_only=True)
class GoogleCredentials(CredentialSource):
    """The credentials that google-auth finds, or the service account whose key is in a file.

    Source: https://docs.cloud.google.com/docs/authentication/application-default-credentials.
    """

    service_account_file: str | None = None
    scopes: tuple[str, ...] = ("https://www.googleapis.com/auth/cloud-platform",)

    def named_by(self, variables: Mapping[str, str]) -> "GoogleCredentials":
        """Return the source that *variables* name: the file of a service account."""
        path = self.service_account_file or variables.get("GOOGLE_APPLICATION_CREDENTIALS")
        return evolve(self, service_account_file=path)


Sign: TypeAlias = Callable[[HttpRequest, AuthContext], Result[HttpRequest, LLMError]]
Fetch: TypeAlias = Callable[[], Awaitable[str]]
FetchWhen: TypeAlias = Callable[[Mapping[str, str]], bool]


def always(_environ: Mapping[str, str]) -> bool:
    """Return True: a token is needed in every environment."""
    return True


class NotPickled:
    """The base of what may hold a key: copies are the object itself, and pickling raises TypeError.

    A pickle would write the key to wherever the pickle goes: a queue, a file, another machine.
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle a configured {type(self).__name__}, since it may hold a key: pass the "
            "name of a model, such as 'openai:gpt-5.2', whose key the other process reads from its "
            "environment, or configure the provider in that process"
        )


@frozen(kw_only=True)
class Auth(NotPickled):
    """Signs requests. Compare and print it freely: it shows no secret."""

    id: str
    """A label for logs: `bearer`, `header x-api-key`, `env OPENAI_API_KEY`."""
    sign: Sign = field(repr=False)
    """Returns the request with the credentials added."""
    fetch: Fetch | CredentialSource | None = field(default=None, repr=False)
    """Gets a token that expires; the client awaits it before each request."""
    fetch_when: FetchWhen = field(default=always, repr=False)
    """Whether the token is needed at all, given the environment."""
    variables: tuple[str, ...] = field(default=(), repr=False)
    """The environment variables that may hold the key."""
    repeats: bool = field(default=False, repr=False)
    """Whether `sign` only adds headers, which depend on the token and `variables` alone."""

    @classmethod
    def none(cls) -> Self:
        """Sign nothing, for servers without keys."""
        return cls(id="none", sign=lambda request, _context: Success(request), repeats=True)

    @classmethod
    def bearer(cls, key: str | None) -> Self:
        """Send `Authorization: Bearer KEY`."""
        return cls.header("authorization", key, prefix="Bearer ", id="bearer")

    @classmethod
    def header(cls, name: str, key: str | None, *, prefix: str = "", id: str | None = None) -> Self:
        """Send the key in the header *name*."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            given = _checked(key, f"the api_key for the header {name!r}", context)
            return given.map(
                lambda checked_key: request.with_header(name, prefix + checked_key, secret=True)
            )

        return cls(id=id or f"header {name}", sign=sign, repeats=True)

    @classmethod
    def query(cls, name: str, key: str | None) -> Self:
        """Send the key in the query parameter *name*."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            given = _checked(key, f"the api_key for the parameter {name!r}", context)
            return given.map(lambda checked_key: request.with_query(name, checked_key, secret=True))

        return cls(id=f"query {name}", sign=sign)

    @classmethod
    def env(cls, *variables: str, header: str = "authorization", prefix: str = "Bearer ") -> Self:
        """Send the key in the first of *variables* that is set."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            keys = (context.environ[name] for name in variables if context.environ.get(name))
            key = next(keys, context.missing_key)
            if key is None:
                return Failure(_no_key(variables))
            return _checked(key, " or ".join(variables), context).map(
                lambda checked_key: request.with_header(header, prefix + checked_key, secret=True)
            )

        name = f"env {' or '.join(variables)}"
        return cls(id=name, sign=sign, variables=variables, repeats=True)

    @classmethod
    def token(
        cls,
        fetch: Fetch | CredentialSource,
        *,
        header: str = "authorization",
        prefix: str = "Bearer ",
    ) -> Self:
        """Send a token that *fetch* gets (and refreshes) for each request."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            return _checked(context.token, "the fetched token", context).map(
                lambda token: request.with_header(header, prefix + token, secret=True)
            )

        return cls(id="token", sign=sign, fetch=fetch, repeats=True)

    @staticmethod
    def first_of(*auths: "Auth") -> "Auth":
        """Sign by the first of *auths* that has a key; the failure states what each one lacked.

        A key that is set and cannot be sent is a failure: the request is not sent without it.
        """

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            unset: list[str] = []
            reasons: list[str] = []
            for auth in auths:
                signed = auth.sign(request, context)
                if isinstance(signed, Success) or signed.error.error_code == UNUSABLE_KEY:
                    return signed
                if signed.error == _no_key(auth.variables):
                    unset.extend(auth.variables)
                else:
                    reasons.append(signed.error.message)
            if unset:
                reasons.insert(0, _no_key(unset).message)
            message = "; ".join(reasons) or "no way to authenticate"
            return Failure(AuthenticationError(message, error_code=NO_KEY))

        return _combined(" or ", sign, auths)

    @staticmethod
    def all_of(*auths: "Auth") -> "Auth":
        """Sign by every one of *auths*, for gateways that require a second key."""

        def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
            signed: Result[HttpRequest, LLMError] = Success(request)
            for auth in auths:
                if isinstance(signed, Success):
                    signed = auth.sign(signed.value, context)
            return signed

        return _combined(" and ", sign, auths)


def _combined(word: str, sign: Sign, parts: Sequence[Auth]) -> Auth:
    """Return an auth of *parts*; its token is that of the first part that fetches one."""
    names = dict.fromkeys(name for auth in parts for name in auth.variables)
    whole = Auth(
        id=word.join(auth.id for auth in parts),
        sign=sign,
        variables=tuple(names),
        repeats=all(auth.repeats for auth in parts),
    )
    fetching = next((auth for auth in parts if auth.fetch is not None), whole)
    return evolve(whole, fetch=fetching.fetch, fetch_when=fetching.fetch_when)


def choose_auth(
    *,
    api_key: str | None = None,
    auth: Auth | None = None,
    of_key: Callable[[str], Auth] = Auth.bearer,
    fallback: Auth,
) -> Auth:
    """Return the auth a facade is configured with.

    `api_key` is short for `auth`; both together raise ConfigurationError. Without
    either, *fallback* (mostly `Auth.env(...)`) decides when a request is prepared.
    """
    if api_key is not None and auth is not None:
        raise ConfigurationError("give either api_key or auth, and not both")
    if auth is not None:
        return auth
    return fallback if api_key is None else of_key(api_key)


def _no_key(variables: Sequence[str]) -> AuthenticationError:
    names = " or ".join(variables)
    message = f"no API key: set {names}, or configure the provider with api_key=..."
    return AuthenticationError(message, error_code=NO_KEY)


def _checked(key: str | None, source: str, context: AuthContext) -> Result[str, LLMError]:
    """Return *key* without white space around it, if a header can hold it."""
    if not isinstance(key, str | None):
        message = f"{source} must be text, not {shown_kind(key)}"
        return Failure(AuthenticationError(message, error_code=UNUSABLE_KEY))
    key = (key or "").strip() or context.missing_key
    if not key:
        return Failure(AuthenticationError(f"no API key: {source} is empty", error_code=NO_KEY))
    if not key.isascii() or not key.isprintable():
        message = f"{source} holds characters that cannot be part of a key"
        return Failure(AuthenticationError(message, error_code=UNUSABLE_KEY))
    if key[0] == key[-1] and key[0] in "'\"":  # `docker run --env-file` keeps those of the file
        message = f"{source} is in quotes, which would be sent with it: remove them"
        return Failure(AuthenticationError(message, error_code=UNUSABLE_KEY))
    if key.lower().startswith("bearer "):
        message = f"{source} begins with 'Bearer', which is not part of a key: remove it"
        return Failure(AuthenticationError(message, error_code=UNUSABLE_KEY))
    return Success(key)
