"""Tokens of GitHub Copilot: `llmcore/client/github/copilot.py` and `login.py`."""

import json
import logging
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from attrs import evolve

from llmcore.client.client import Client
from llmcore.client.credentials import Credentials
from llmcore.client.github.copilot import CopilotTokens
from llmcore.client.github.login import (
    StoredLogin,
    login_file,
    read_login,
    remove_login,
    write_login,
)
from llmcore.client.http.options import HttpOptions
from llmcore.routes.github_copilot import GithubCopilot
from llmcore.routes.github_credentials import CopilotAccess, CopilotLogin
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    LLMError,
    RequestTimeoutError,
    ServerError,
    StreamError,
)
from llmcore.schema.request import request
from tests.support.servers.github_loopback import Github, answer, github
from tests.support.servers.loopback import Answer, sse
from tests.support.waiting import PATIENCE_S
from tests.support.wire.anthropic import message, stream_of, text

pytestmark = pytest.mark.anyio

EVENTS = [sse(event) for event in stream_of(message(text("Hello")))]


@pytest.fixture
def stand_in() -> Iterator[Github]:
    with github() as running:
        yield running


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment whose settings are in a folder that is not there yet."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tokens(source: CopilotLogin, environ: dict[str, str], clock: Clock) -> CopilotTokens:
    return CopilotTokens(source, environ, HttpOptions(), clock)


def had(source: CopilotTokens) -> str:
    """Return the bare token."""
    return CopilotAccess.from_token(source.token()).token.partition(";")[0]


def stored(stand_in: Github) -> StoredLogin:
    return StoredLogin(github_token="gho_kept", api_url=stand_in.url)


# -- the exchange


def test_a_token_that_is_given_is_exchanged(stand_in: Github, environ: dict[str, str]) -> None:
    """Once, while what it brings lasts; nothing of it is stored."""
    clock = Clock()
    source = tokens(CopilotLogin(token="gho_given", api_url=stand_in.url), environ, clock)
    first = [had(source), had(source)]
    clock.now += 1501
    then = had(source)
    (asked, _) = stand_in.exchanges

    assert (first, then) == (["tid=1", "tid=1"], "tid=2")
    assert asked.method == "GET"
    assert asked.headers["authorization"] == "token gho_given"
    assert asked.headers["editor-version"].startswith("llmcore/")
    assert not login_file(environ).parent.exists()


@pytest.mark.parametrize("token", ["gho_variable", "tid=own;exp=1"])
def test_the_variable_holds_a_token_of_github_or_of_copilot(
    stand_in: Github, environ: dict[str, str], token: str
) -> None:
    """GitHub's token is exchanged, Copilot's own is used as it is."""
    source = tokens(
        CopilotLogin(api_url=stand_in.url), {**environ, "GITHUB_COPILOT_TOKEN": token}, Clock()
    )

    assert had(source) == ("tid=1" if token.startswith("gho") else "tid=own")


def test_a_stored_login_keeps_what_it_brings(stand_in: Github, environ: dict[str, str]) -> None:
    """Another process finds it; a login that is renewed is seen."""
    clock = Clock()
    write_login(environ, stored(stand_in))
    first = had(tokens(CopilotLogin(), environ, clock))
    other = tokens(CopilotLogin(), environ, clock)
    again = had(other)
    write_login(environ, StoredLogin(github_token="gho_else", api_url=stand_in.url))
    renewed = had(other)

    assert (first, again, renewed) == ("tid=1", "tid=1", "tid=2")
    assert [one.headers["authorization"] for one in stand_in.exchanges] == [
        "token gho_kept",
        "token gho_else",
    ]


def test_one_exchange_for_many_threads_and_clients(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """Waiting callers receive the token that the first one fetched."""
    write_login(environ, stored(stand_in))
    clock, found = Clock(), list[str]()
    sources = [tokens(CopilotLogin(), environ, clock) for _ in range(8)]
    threads = [threading.Thread(target=lambda one=one: found.append(had(one))) for one in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == ["tid=1"] * 8
    assert len(stand_in.exchanges) == 1


async def test_one_exchange_for_many_tasks(stand_in: Github, environ: dict[str, str]) -> None:
    """Also on one event loop, which is not held up meanwhile."""
    write_login(environ, stored(stand_in))
    credentials, found = Credentials(), list[str | None]()
    auth = GithubCopilot.configure().chat_route.auth

    async def fetch() -> None:
        found.append(await credentials.token(auth, environ))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(fetch)

    assert len(set(found)) == 1
    assert len(stand_in.exchanges) == 1


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, {"message": "Bad credentials"}, AuthenticationError, "llmcore login github-copilot"),
        (403, {"message": "No Copilot for you"}, AccessDeniedError, "No Copilot for you"),
        (404, {"message": "Not Found"}, AccessDeniedError, "no access to Copilot"),
        (503, {"message": "later"}, ServerError, "later"),
        (200, {"expires_at": 1}, StreamError, "no Copilot token"),
        (200, {"token": "t", "endpoints": {"api": "x"}}, StreamError, "an invalid address"),
        (200, ["t"], StreamError, "no Copilot token"),
    ],
)
def test_a_refused_exchange_is_an_error_without_the_token(
    stand_in: Github,
    environ: dict[str, str],
    status: int,
    body: object,
    kind: type[LLMError],
    said: str,
) -> None:
    """The error says what to do, and holds no token."""
    stand_in.exchange = answer(body, status)
    source = tokens(CopilotLogin(token="gho_secret", api_url=stand_in.url), environ, Clock())
    with pytest.raises(kind, match=said) as caught:
        source.token()

    assert "gho_secret" not in repr(caught.value)
    assert caught.value.provider == "github-copilot"


def test_a_response_without_end_is_not_read(stand_in: Github, environ: dict[str, str]) -> None:
    """A quarter of a megabyte is enough for a token, and a byte more is too much."""
    whole = json.dumps({"token": "tid=1", "refresh_in": 60}).encode().ljust(256 * 1024)
    source = tokens(CopilotLogin(token="gho_x", api_url=stand_in.url), environ, Clock())

    stand_in.exchange = evolve(answer({}), script=[whole, b" "], length=None)
    with pytest.raises(LLMError, match="is larger than"):
        source.token()
    stand_in.exchange = evolve(answer({}), script=[whole], length=None)
    assert had(source) == "tid=1"


def test_a_refresh_that_fails_leaves_the_old_token_while_it_is_good(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """After a passing fault of GitHub's the old token serves; a revoked token is not used again."""
    clock = Clock()
    source = tokens(CopilotLogin(token="gho_x", api_url=stand_in.url), environ, clock)
    had(source)
    clock.now += 1501
    stand_in.exchange = answer({"message": "later"}, 503)

    assert had(source) == "tid=1"
    clock.now += 60
    with pytest.raises(ServerError):
        source.token()
    clock.now -= 60
    stand_in.exchange = answer({"message": "Bad credentials"}, 401)
    with pytest.raises(AuthenticationError):
        source.token()


@pytest.mark.parametrize(("said", "seconds"), [(0, 30), (-5, 30), (1e12, 86400), ("x", 1500)])
def test_tokens_with_invalid_lifetimes_are_cached_for_a_bounded_time(
    stand_in: Github, environ: dict[str, str], said: object, seconds: float
) -> None:
    """A token is neither fetched for every request nor kept without a limit."""
    stand_in.exchange = answer({"token": "tid=9", "refresh_in": said})
    write_login(environ, stored(stand_in))
    had(tokens(CopilotLogin(), environ, Clock()))
    login = read_login(environ)

    assert login is not None
    assert login.exchanged is not None
    assert login.exchanged.refresh_at == 1000 + seconds
    assert login.exchanged.access.base_url is None


# -- the file


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_owner_reads_it(stand_in: Github, environ: dict[str, str]) -> None:
    """The file and its folder, whatever the umask, and after each refresh."""
    before = os.umask(0)
    try:
        path = write_login(environ, stored(stand_in))
        had(tokens(CopilotLogin(), environ, Clock()))
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["github-copilot.json"]


def test_a_login_is_kept_and_forgotten(stand_in: Github, environ: dict[str, str]) -> None:
    """And does not show its tokens."""
    assert read_login(environ) is None
    write_login(environ, stored(stand_in))
    assert read_login(environ) == stored(stand_in)
    assert "gho_kept" not in repr(read_login(environ))
    assert remove_login(environ)
    assert not remove_login(environ)


def test_a_refresh_does_not_bring_back_a_login_that_was_forgotten(
    stand_in: Github, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logout while a token is fetched is final."""
    write_login(environ, stored(stand_in))
    handle = stand_in._exchanged

    def log_out_meanwhile() -> object:
        remove_login(environ)
        return handle()

    stand_in.exchange = None
    monkeypatch.setattr(Github, "_exchanged", lambda _self: log_out_meanwhile())
    had(tokens(CopilotLogin(), environ, Clock()))

    assert read_login(environ) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"github_token": "", "api_url": "x"}'])
def test_broken_token_file_raises_an_error_naming_file_and_remedy(
    environ: dict[str, str], content: str
) -> None:
    """It is named, and how to mend it."""
    path = login_file(environ)
    path.parent.mkdir(parents=True)
    path.write_text(content)

    with pytest.raises(AuthenticationError, match=r"github-copilot\.json.*llmcore login"):
        tokens(CopilotLogin(), environ, Clock()).token()


def test_broken_token_in_the_file_is_replaced(stand_in: Github, environ: dict[str, str]) -> None:
    """It can be replaced, other than the login."""
    path = write_login(environ, stored(stand_in))
    kept = {**json.loads(path.read_text()), "exchanged": {"token": 1}}
    path.write_text(json.dumps(kept))

    assert had(tokens(CopilotLogin(), environ, Clock())) == "tid=1"


def test_unwritable_folder_warns_and_uses_the_token(
    stand_in: Github,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The call continues with the new token, and a warning reports it without the token."""
    write_login(environ, stored(stand_in))
    module = sys.modules[CopilotTokens.__module__]

    def full(*_args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(module, "write_login", full)
    source = tokens(CopilotLogin(), environ, Clock())
    with caplog.at_level(logging.WARNING):
        found = [had(source), had(source)]

    assert found == ["tid=1", "tid=1"]
    assert "disk full" in caplog.text
    assert "tid=" not in caplog.text


# -- through the client


async def test_a_call_by_the_stored_login(stand_in: Github, environ: dict[str, str]) -> None:
    """It goes where the exchanged token says, signed by that token."""
    write_login(environ, stored(stand_in))
    model = GithubCopilot.configure().model("gpt-4.1")
    async with Client(environ=environ) as client:
        response = await client.complete(request(model=model, prompt="Hi"))

    (received,) = stand_in.chats
    assert response.text == "Hello"
    assert received.path == "/copilot/chat/completions"
    assert received.headers["authorization"] == "Bearer tid=1;exp=9;sku=x"
    assert received.headers["x-initiator"] == "user"


async def test_claude_over_messages_as_the_list_names_it(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """The list is read, and the response streamed, over a real server and the stored login."""
    write_login(environ, stored(stand_in))
    listed = {"id": "claude-x", "supported_endpoints": ["/chat/completions", "/v1/messages"]}
    stand_in.chat = lambda got: (
        answer({"data": [listed]})
        if got.path.endswith("/models")
        else Answer(EVENTS, headers={"content-type": "text/event-stream"})
    )
    copilot = GithubCopilot.configure()
    async with Client(environ=environ, providers={"github-copilot": copilot}) as client:
        (info,) = (await client.list_models("github-copilot")).unwrap()
        model = copilot.model(info.id, endpoints=info.endpoints)
        async with client.stream(request(model=model, prompt="Hi")) as stream:
            response = (await stream.result()).unwrap()

    sent = stand_in.chats[1]
    assert response.text == "Hello"
    assert (sent.method, sent.path) == ("POST", "/copilot/v1/messages")
    assert sent.headers["authorization"].startswith("Bearer tid=1")
    assert sent.headers["x-initiator"] == "user"
    assert "anthropic-beta" not in sent.headers


async def test_a_call_by_a_provider_of_tokens(stand_in: Github) -> None:
    """Whatever it returns is sent, at the address that is configured."""

    async def fetch() -> str:
        return "tid=mine"

    copilot = GithubCopilot.configure(token_provider=fetch, base_url=stand_in.url)
    async with Client(environ={}) as client:
        await client.complete(request(model=copilot.chat("m"), prompt="Hi"))

    assert stand_in.chats[0].headers["authorization"] == "Bearer tid=mine"


async def test_missing_login_raises_an_error_naming_command_and_variable(
    environ: dict[str, str],
) -> None:
    """Nothing is sent; the error names the command and the variable."""
    async with Client(environ=environ) as client:
        model = GithubCopilot.configure().model("gpt-5.2")
        error = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, AuthenticationError)
    assert "llmcore login github-copilot" in error.message
    assert "GITHUB_COPILOT_TOKEN" in error.message


async def test_token_refused_early_is_exchanged_once_more(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """Copilot may refuse a token before its time: another is exchanged, stored and sent."""
    write_login(environ, stored(stand_in))
    fine = stand_in.chat
    stand_in.chat = lambda got: (
        answer({"message": "token expired"}, 401)
        if "tid=1" in got.headers["authorization"]
        else fine(got)
    )
    async with Client(environ=environ) as client:
        wanted = request(model=GithubCopilot.configure().model("gpt-4.1"), prompt="Hi")
        texts = [(await client.complete(wanted)).text for _ in range(2)]
    login = read_login(environ)

    assert texts == ["Hello", "Hello"]
    assert len(stand_in.exchanges) == 2
    assert len(stand_in.chats) == 3
    assert login is not None
    assert login.exchanged is not None
    assert login.exchanged.access.token.startswith("tid=2")


async def test_a_refusal_of_every_token_is_an_error(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """Nothing is sent a third time."""
    write_login(environ, stored(stand_in))
    stand_in.chat = lambda _got: answer({"message": "no"}, 401)
    async with Client(environ=environ) as client:
        model = GithubCopilot.configure().model("gpt-4.1")
        error = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, AuthenticationError)
    assert len(stand_in.chats) == 2


async def test_a_refused_token_of_the_callers_is_not_replaced(stand_in: Github) -> None:
    """There is not another one to send."""
    stand_in.chat = lambda _got: answer({"message": "no"}, 401)
    copilot = GithubCopilot.configure(base_url=stand_in.url)
    async with Client(environ={"GITHUB_COPILOT_TOKEN": "tid=own"}) as client:
        error = (await client.generate(request(model=copilot.chat("m"), prompt="Hi"))).failure()

    assert isinstance(error, AuthenticationError)
    assert len(stand_in.chats) == 1


async def test_the_variables_token_goes_to_the_server_that_is_configured(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """A company's token is not shown to github.com."""
    copilot = GithubCopilot.configure(github_api_url=stand_in.url)
    async with Client(environ={**environ, "GITHUB_COPILOT_TOKEN": "ghu_company"}) as client:
        await client.complete(request(model=copilot.chat("m"), prompt="Hi"))

    assert stand_in.exchanges[0].headers["authorization"] == "token ghu_company"


async def test_a_time_limit_holds_while_a_token_is_fetched(
    stand_in: Github, environ: dict[str, str]
) -> None:
    """The thread that fetches it is left behind."""
    write_login(environ, stored(stand_in))
    stand_in.exchange = evolve(answer({}), script=[600.0], length=None)
    async with Client(environ=environ, timeouts=Timeouts(total=0.2)) as client:
        model = GithubCopilot.configure().model("gpt-4.1")
        with anyio.fail_after(PATIENCE_S):
            error = (await client.generate(request(model=model, prompt="Hi"))).failure()

    assert isinstance(error, RequestTimeoutError)
    assert error.error_code == "total"
