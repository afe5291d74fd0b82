"""`llmcore login` and `llmcore logout`, for accounts that use a login instead of a key."""

import argparse
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import anyio

from llmcore.cli.program import say
from llmcore.client.github.copilot import exchange
from llmcore.client.github.device_flow import (
    CLIENT_ID,
    GITHUB_URL,
    request_device_code,
    wait_for_token,
)
from llmcore.client.github.login import StoredLogin, login_file, remove_login, write_login
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.http.options import HttpOptions
from llmcore.routes.base_url import checked_base_url
from llmcore.schema.errors import ConfigurationError


def run_login(args: argparse.Namespace) -> int:
    """Show a code, wait until it is entered, and store the login if the account has Copilot."""
    github_url = _url("--github-url", args.github_url or GITHUB_URL)
    api_url = _url("--api-url", args.api_url or _api_of(github_url))
    login = anyio.run(_login, github_url, api_url, args.client_id or CLIENT_ID)
    say(f"logged in; the login is stored in {_store(login)}")
    return 0


async def _login(github_url: str, api_url: str, client_id: str) -> StoredLogin:
    options = HttpOptions()
    transport = HttpTransport(options=options)
    try:
        code = await request_device_code(transport, github_url=github_url, client_id=client_id)
        say(f"Open {code.verification_uri} and enter the code {code.user_code}")
        say("(waiting; Ctrl-C to stop)")
        sys.stdout.flush()
        token = await wait_for_token(transport, code, github_url=github_url, client_id=client_id)
    finally:
        await transport.aclose()
    exchanged = await exchange(options, token, api_url)
    return StoredLogin(github_token=token, api_url=api_url, exchanged=exchanged)


def _url(option: str, url: str) -> str:
    try:
        return checked_base_url(url)
    except ConfigurationError as error:
        message = f"{option} must be the URL of a server without a key, as https://acme.ghe.com is"
        raise ConfigurationError(message, cause=error) from error


def _api_of(github_url: str) -> str:
    parts = urlsplit(github_url)
    return f"{parts.scheme}://api.{parts.netloc}"


def _store(login: StoredLogin) -> Path:
    try:
        return write_login(os.environ, login)
    except OSError as error:
        message = f"the login cannot be stored in {login_file(os.environ)}: {error}"
        raise ConfigurationError(message, cause=error) from error


def run_logout(_args: argparse.Namespace) -> int:
    """Remove the login from this machine; at GitHub the application stays authorized."""
    try:
        removed = remove_login(os.environ)
    except OSError as error:
        message = f"{login_file(os.environ)} cannot be removed: {error}"
        raise ConfigurationError(message, cause=error) from error
    if removed:
        say("logged out; to revoke it at GitHub: https://github.com/settings/applications")
    else:
        say("no login was stored")
    return 0
