"""GitHub's login by code: `llmcore/client/github/device_flow.py`."""

from collections.abc import Iterator
from typing import Any

import pytest

from llmcore.client.github.device_flow import DeviceCode, request_device_code, wait_for_token
from llmcore.client.http.http_transport import HttpTransport
from llmcore.schema.errors import AuthenticationError, LLMError, StreamError
from tests.support.servers.github_loopback import Github, answer, github

pytestmark = pytest.mark.anyio

PENDING = {"error": "authorization_pending"}


@pytest.fixture
def stand_in() -> Iterator[Github]:
    with github() as running:
        yield running


class Waiting:
    """Sleep that takes no time, and what was slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


async def login(stand_in: Github) -> tuple[str, list[float]]:
    """Log in; return the token and the pauses."""
    transport, waiting = HttpTransport(), Waiting()
    try:
        code = await request_device_code(transport, github_url=stand_in.url, client_id="app-1")
        token = await wait_for_token(
            transport, code, github_url=stand_in.url, client_id="app-1", sleep=waiting
        )
    finally:
        await transport.aclose()
    return token, waiting.slept


async def test_the_code_is_entered(stand_in: Github) -> None:
    """The application and the code are named; each question waits the interval."""
    stand_in.polls = [PENDING, PENDING, {"access_token": "gho_new"}]

    assert await login(stand_in) == ("gho_new", [5.0, 5.0, 5.0])
    assert stand_in.forms[0] == {"client_id": "app-1", "scope": "read:user"}
    assert stand_in.forms[1] == {
        "client_id": "app-1",
        "device_code": "dev-1",
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
    }


@pytest.mark.parametrize(
    ("said", "pauses"),
    [
        ({"error": "slow_down", "interval": 20}, [5.0, 20.0]),
        ({"error": "slow_down"}, [5.0, 10.0]),
        ({"error": "slow_down", "interval": 1}, [5.0, 10.0]),
        (answer({"message": "oops"}, 502), [5.0, 10.0]),
    ],
)
async def test_polling_slows_down_as_github_demands(
    stand_in: Github, said: object, pauses: list[float]
) -> None:
    """By what GitHub says, at least five seconds more; so where it is in trouble."""
    stand_in.polls = [said, {"access_token": "gho_new"}]

    assert await login(stand_in) == ("gho_new", pauses)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("expired_token", "expired"),
        ("access_denied", "declined"),
        ("incorrect_client_credentials", "application"),
        ("device_flow_disabled", "not allow the device flow"),
        ("something_new", "something_new"),
    ],
)
async def test_failed_login_raises_an_error_with_githubs_code(
    stand_in: Github, error: str, said: str
) -> None:
    """The error says why, and its code is GitHub's."""
    stand_in.polls = [PENDING, {"error": error}]
    with pytest.raises(AuthenticationError, match=said) as caught:
        await login(stand_in)

    assert caught.value.error_code == error


async def test_a_code_that_is_not_entered_expires(stand_in: Github) -> None:
    """After its time it is not asked for again."""
    stand_in.code, stand_in.polls = {"expires_in": 17}, [PENDING]
    with pytest.raises(AuthenticationError, match="expired"):
        await login(stand_in)

    assert len(stand_in.forms) == 1 + 3


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ({"error": "incorrect_client_credentials"}, AuthenticationError),
        ({"user_code": None}, StreamError),
        ({"user_code": "AB\x1b[2J"}, StreamError),
        ({"verification_uri": ""}, StreamError),
    ],
)
async def test_a_device_code_that_is_missing_or_unprintable_is_an_error(
    stand_in: Github, code: dict[str, Any], kind: type[LLMError]
) -> None:
    """Control characters and other unprintable text are left out."""
    stand_in.code = code
    with pytest.raises(kind):
        await login(stand_in)


async def test_a_connection_that_fails_is_tried_again() -> None:
    """Twice as slowly each time, until the code expires."""
    transport, waiting = HttpTransport(), Waiting()
    code = DeviceCode(
        device_code="d", user_code="u", verification_uri="https://h", interval=5, expires_in=40
    )
    with pytest.raises(AuthenticationError, match="expired"):
        await wait_for_token(transport, code, github_url="http://127.0.0.1:9", sleep=waiting)
    await transport.aclose()

    assert waiting.slept == [5, 10, 20]
    assert "d" not in repr(code).partition("user_code")[0].removeprefix("DeviceCode")
