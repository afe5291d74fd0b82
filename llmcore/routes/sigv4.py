"""AWS Signature Version 4: signing that depends on request, credentials and moment only.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html,
read November 2026. Hop-by-hop headers and those that proxies change are not signed.
"""

import hmac
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Final, Self
from urllib.parse import quote, urlsplit

from attrs import evolve, field

from llmcore.routes.auth import (
    TOKEN_TO_COME,
    Auth,
    AuthContext,
    CredentialSource,
    FetchWhen,
    always,
)
from llmcore.routes.http_request import HttpRequest
from llmcore.schema import json
from llmcore.schema.errors import AuthenticationError, ConfigurationError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import without
from llmcore.schema.result import Failure, Result, Success

ALGORITHM: Final = "AWS4-HMAC-SHA256"
_UNSIGNED: Final = frozenset({"expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"})
_OURS: Final = frozenset({"authorization", "date", "x-amz-date", "x-amz-security-token"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

RegionOf = Callable[[Mapping[str, str]], str]
"""Finds the region in the environment; ConfigurationError if it is missing."""


@frozen(kw_only=True)
class AwsCredentials:
    """An access key, and the session token of one that expires."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)

    def to_token(self) -> str:
        """Return them as the text that a fetched token is."""
        return json.dumps(
            {"access": self.access_key, "secret": self.secret_key, "session": self.session_token}
        ).decode()

    @classmethod
    def from_token(cls, token: str) -> Self:
        """Read what `to_token` wrote; ValueError for anything else."""
        match json.loads(token):
            case {"access": str(access), "secret": str(secret), "session": str(session)}:
                return cls(access_key=access, secret_key=secret, session_token=session)
            case _:
                raise ValueError("no AWS credentials")

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self | None:
        """Return those of AWS_ACCESS_KEY_ID and its companions, if both halves are set."""
        access = environ.get("AWS_ACCESS_KEY_ID", "").strip()
        secret = environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
        session = environ.get("AWS_SESSION_TOKEN", "").strip()
        if not access or not secret:
            return None
        return cls(access_key=access, secret_key=secret, session_token=session)


@frozen(kw_only=True)
class AwsCredentialChain(CredentialSource):
    """The sources of AWS tools: variables, files, single sign-on, roles, metadata services."""

    profile: str | None = None

    def named_by(self, variables: Mapping[str, str]) -> "AwsCredentialChain":
        """Return the chain of the profile that *variables* name."""
        return evolve(self, profile=self.profile or variables.get("AWS_PROFILE"))


def sigv4_of_environ(service: str, region_of: RegionOf) -> Auth:
    """Sign with the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; nothing is fetched."""

    def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
        credentials = AwsCredentials.from_environ(context.environ)
        if credentials is None:
            names = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            return Failure(AuthenticationError(f"no AWS credentials: set {names}"))
        return _signed(request, credentials, service, region_of, context)

    return Auth(id="sigv4 of the environment", sign=sign)


def sigv4_of_chain(
    service: str, region_of: RegionOf, *, profile: str | None = None, fetch_when: FetchWhen = always
) -> Auth:
    """Sign with the credentials that the client fetches from the AWS credential chain."""

    def sign(request: HttpRequest, context: AuthContext) -> Result[HttpRequest, LLMError]:
        if context.token is None:
            return Failure(AuthenticationError("no AWS credentials: none were fetched"))
        if context.token == TOKEN_TO_COME:
            return Success(request.with_header("authorization", context.token, secret=True))
        try:
            credentials = AwsCredentials.from_token(context.token)
        except ValueError:
            return Failure(AuthenticationError("the fetched token does not hold AWS credentials"))
        return _signed(request, credentials, service, region_of, context)

    return Auth(
        id="sigv4" if profile is None else f"sigv4 of the profile {profile}",
        sign=sign,
        fetch=AwsCredentialChain(profile=profile),
        fetch_when=fetch_when,
    )


def _signed(
    request: HttpRequest,
    credentials: AwsCredentials,
    service: str,
    region_of: RegionOf,
    context: AuthContext,
) -> Result[HttpRequest, LLMError]:
    if context.now is None:
        return Failure(
            ConfigurationError("an AWS signature contains the time: set AuthContext.now")
        )
    try:
        region = region_of(context.environ)
    except ConfigurationError as error:
        return Failure(error)
    return Success(signed(request, credentials, service=service, region=region, now=context.now))


def signed(
    request: HttpRequest, credentials: AwsCredentials, *, service: str, region: str, now: datetime
) -> HttpRequest:
    """Return *request* with its signature; *now* is in UTC."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    kept = without(request.headers, *_OURS)
    request = evolve(request, headers={**kept, "x-amz-date": moment})
    if credentials.session_token:
        token = credentials.session_token
        request = request.with_header("x-amz-security-token", token, secret=True)
    named = {"host": _host(request.url), **request.headers}
    # in order, white space in values reduced
    headers = {n: " ".join(named[n].split()) for n in sorted(named) if n not in _UNSIGNED}
    names = ";".join(headers)
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    digest = sha256(_canonical(request, headers, names).encode()).hexdigest()
    key = _signing_key(credentials.secret_key, scope)
    signature = _hmac(key, f"{ALGORITHM}\n{moment}\n{scope}\n{digest}").hex()
    value = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return request.with_header("authorization", value, secret=True)


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return (
        host if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{parts.port}"
    )


def _canonical(request: HttpRequest, headers: Mapping[str, str], names: str) -> str:
    parts = urlsplit(request.url)
    pairs = sorted(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
    return "\n".join(
        (
            request.method,
            _canonical_path(parts.path),
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{value}" for name, value in headers.items()),
            "",
            names,
            sha256(request.body).hexdigest(),
        )
    )


def _canonical_path(path: str) -> str:
    """Return *path* normalized, and encoded twice, as all services except S3 require."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    end = "/" if kept and path.endswith("/") else ""
    return quote("/" + "/".join(kept) + end, safe="/~")


def _signing_key(secret_key: str, scope: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), sha256).digest()
