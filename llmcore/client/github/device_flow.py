"""GitHub's device flow: a login with a code that the user enters in a browser.

    POST /login/device/code -> {"device_code": "3584d8...", "user_code": "WDJB-MJHT",
     "verification_uri": "https://github.com/login/device", "interval": 5, "expires_in": 900}
    POST /login/oauth/access_token -> {"error": "authorization_pending"}
    POST /login/oauth/access_token -> {"access_token": "gho_...", "token_type": "bearer"}

Documents, read November 2026: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/
authorizing-oauth-apps#device-flow, https://www.rfc-editor.org/rfc/rfc8628.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from attrs import field

from llmcore.client.github.api import Reply, post
from llmcore.client.http.http_transport import HttpTransport
from llmcore.routes.github_credentials import LOGIN_COMMAND, PROVIDER
from llmcore.schema.errors import AuthenticationError, LLMError, StreamError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue

GITHUB_URL: Final = "https://github.com"
CLIENT_ID: Final = "Iv1.b507a08c87ecfe98"
"""The OAuth application that users authorize: GitHub's own for editors. The id is public."""
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_SECONDS: Final = 5.0
_MAX_SECONDS: Final = 3600.0

Sleep = Callable[[float], Awaitable[None]]

_ENDS: Final = {
    "expired_token": "the code expired before it was entered",
    "token_expired": "the code expired before it was entered",
    "access_denied": "the login was declined in the browser",
    "device_flow_disabled": "the application does not allow the device flow",
    "incorrect_client_credentials": "GitHub does not know the application (client id)",
    "incorrect_device_code": "GitHub does not know the code",
}


@frozen(kw_only=True)
class DeviceCode:
    """The code for the user and the page on which to enter it. Times are in seconds."""

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    interval: float
    expires_in: float


async def request_device_code(
    transport: HttpTransport, *, github_url: str, client_id: str
) -> DeviceCode:
    """Request a code from GitHub. Raises NetworkError, or the error of an error response."""
    form = {"client_id": client_id, "scope": "read:user"}
    reply = await post(transport, f"{github_url}/login/device/code", form)
    document = reply.document
    if reply.status != 200 or "error" in document:
        raise _failed(document, reply)
    return DeviceCode(
        device_code=_word(document, "device_code"),
        user_code=_word(document, "user_code"),
        verification_uri=_word(document, "verification_uri"),
        interval=_seconds(document.get("interval"), _SLOWER_SECONDS),
        expires_in=_seconds(document.get("expires_in"), 900.0),
    )


async def wait_for_token(
    transport: HttpTransport,
    code: DeviceCode,
    *,
    github_url: str = GITHUB_URL,
    client_id: str = CLIENT_ID,
    sleep: Sleep = anyio.sleep,
) -> str:
    """Poll until the user has entered *code*, and return GitHub's token.

    Raises AuthenticationError if the user declined or the code expired. After a failed
    connection the interval is doubled.
    """
    form = {"client_id": client_id, "device_code": code.device_code, "grant_type": _GRANT}
    interval, waited = code.interval, 0.0
    while waited + interval <= code.expires_in:
        await sleep(interval)
        waited += interval
        try:
            reply = await post(transport, f"{github_url}/login/oauth/access_token", form)
        except LLMError as error:
            if not error.retryable:
                raise
            interval = min(interval * 2, 60.0)
            continue
        document = reply.document
        token = document.get("access_token")
        if isinstance(token, str) and token:
            return token
        interval = _next_interval(document, reply, interval)
    raise _ended("expired_token")


def _next_interval(document: JsonObject, reply: Reply, interval: float) -> float:
    """Return how long to wait before the next poll; raises the error that ends the login."""
    match document.get("error"):
        case "authorization_pending":
            return interval
        case "slow_down":
            return max(_seconds(document.get("interval"), 0.0), interval + _SLOWER_SECONDS)
        case None if reply.status >= 500:
            return interval + _SLOWER_SECONDS
        case _:
            raise _failed(document, reply)


def _failed(document: JsonObject, reply: Reply) -> LLMError:
    code = document.get("error")
    if isinstance(code, str) and code in _ENDS:
        return _ended(code)
    if isinstance(code, str):
        description = document.get("error_description")
        message = f"the login failed: {description if isinstance(description, str) else code}"
        return AuthenticationError(message, provider=PROVIDER, error_code=code)
    if reply.status >= 400:
        return reply.error()
    return StreamError("GitHub's response to the login is invalid", provider=PROVIDER)


def _ended(code: str) -> AuthenticationError:
    message = f"{_ENDS[code]}; run `{LOGIN_COMMAND}` to try again"
    return AuthenticationError(message, provider=PROVIDER, error_code=code)


def _word(document: JsonObject, name: str) -> str:
    """Return the field *name* if it is printable text; StreamError otherwise."""
    value = document.get(name)
    if isinstance(value, str) and value and value.isprintable():
        return value
    raise StreamError(f"GitHub's response to the login has no {name}", provider=PROVIDER)


def _seconds(value: JsonValue, usual: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return min(max(float(value), 1.0), _MAX_SECONDS)
