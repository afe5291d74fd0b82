"""Logins at MCP servers by OAuth, against an authorization server on loopback."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmcore.mcp import ClientCredentials, HttpServer, McpServers, OAuthLogin
from llmcore.schema.errors import AuthenticationError
from tests.support.servers.mcp_http import free_port, program_server, protected_server

pytestmark = [
    pytest.mark.anyio,
    # The SDK leaves streams of events to the collector, which trio warns of.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def browser(pages: list[str]) -> Callable[[str], object]:
    """Return a browser whose user agrees to everything."""

    def visit(url: str) -> None:
        pages.append(url)
        with urllib.request.urlopen(url, timeout=10) as page:
            pages.append(page.read().decode())

    return visit


def login(pages: list[str], **options: Any) -> OAuthLogin:
    return OAuthLogin(port=free_port(), open_page=browser(pages), **options)


async def sums(url: str, auth: OAuthLogin | ClientCredentials) -> Any:
    async with McpServers({"t": HttpServer(url, auth=auth)}) as servers:
        tools = {tool.name: tool for tool in servers.current_tools()}
        return await tools["t__add"]({"a": 1, "b": 2})


async def test_person_logs_in_once_and_tokens_are_kept(tmp_path: Path) -> None:
    """The second connection sends the kept token; the file is readable by its owner alone."""
    pages: list[str] = []
    file = tmp_path / "logins" / "t.json"
    with protected_server() as (url, authorization):
        auth = login(pages, file=file)
        first = await sums(url, auth)
        second = await sums(url, auth)

    assert first == second == {"result": 3}
    assert (len(pages), pages[1]) == (2, "You can close this page.")
    assert "code_challenge_method=S256" in pages[0]
    assert authorization.grants == ["authorization_code"]
    assert file.stat().st_mode & 0o077 == 0


async def test_expired_token_is_refreshed_without_a_person(tmp_path: Path) -> None:
    pages: list[str] = []
    file = tmp_path / "t.json"
    with protected_server() as (url, authorization):
        auth = login(pages, file=file)
        await sums(url, auth)
        authorization.access.clear()
        kept = json.loads(file.read_bytes())
        kept["expires_at"] = 1.0
        file.write_text(json.dumps(kept))
        await sums(url, auth)

    assert authorization.grants == ["authorization_code", "refresh_token"]
    assert len(pages) == 2


async def test_refused_login_is_an_authentication_error() -> None:
    with protected_server() as (url, authorization):
        authorization.refusal = "access_denied"
        with pytest.raises(AuthenticationError, match="access_denied"):
            await sums(url, login([]))


async def test_login_that_nobody_finishes_ends_in_time() -> None:
    with protected_server() as (url, _):
        auth = OAuthLogin(port=free_port(), open_page=lambda _url: None, seconds=0.2)
        with pytest.raises(AuthenticationError, match="no login was completed within"):
            await sums(url, auth)


async def test_file_that_is_no_login_is_an_authentication_error(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text("{")
    reason = "delete the file to log in again"
    with protected_server() as (url, _), pytest.raises(AuthenticationError, match=reason):
        await sums(url, login([], file=file))


# -- a program's own id and secret


async def test_program_logs_in_by_its_secret() -> None:
    """No person is needed; an expired token is replaced."""
    with program_server("p-1", "hush") as (url, asked):
        issuer = url.removesuffix("/mcp")
        auth = ClientCredentials(client_id="p-1", client_secret="hush", issuer=issuer)
        assert await sums(url, auth) == {"result": 3}

    assert [form["grant_type"] for form in asked] == ["client_credentials"]
    assert "hush" not in repr(auth)


async def test_secret_is_sent_to_no_other_authorization_server() -> None:
    with program_server("p-1", "hush") as (url, asked):
        other = "https://elsewhere.example"
        auth = ClientCredentials(client_id="p-1", client_secret="hush", issuer=other)
        with pytest.raises(AuthenticationError, match="issuer"):
            await sums(url, auth)

    assert asked == []


async def test_wrong_secret_is_an_authentication_error() -> None:
    with program_server("p-1", "hush") as (url, _):
        issuer = url.removesuffix("/mcp")
        auth = ClientCredentials(client_id="p-1", client_secret="wrong", issuer=issuer)
        with pytest.raises(
            AuthenticationError, match=r"login at .* failed: .*/token answered with 401"
        ):
            await sums(url, auth)
