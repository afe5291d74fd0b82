"""aiohttp is imported without the system's certificates, and other sessions of it have them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers.loopback import chat_handler, serve
from tests.support.servers.tls_loopback import Authority, new_authority, serve_tls

_PROGRAM = """
import asyncio, ssl, sys, threading
from llmcore.client.http.unread_certificates import UnreadContext, aiohttp_reads_no_certificates

made = []
with aiohttp_reads_no_certificates():
    import aiohttp

    thread = threading.Thread(target=lambda: made.append(ssl.create_default_context()))
    thread.start()
    thread.join()
from aiohttp import connector

default = connector._SSL_CONTEXT_VERIFIED
assert type(default) is type(connector._SSL_CONTEXT_UNVERIFIED) is UnreadContext
assert "set_default_verify_paths" not in vars(ssl.SSLContext)
for usual in (*made, ssl.create_default_context()):
    assert type(usual) is ssl.SSLContext and usual.cert_store_stats()["x509"] == 1


async def ask():
    async with aiohttp.ClientSession() as session, session.post(sys.argv[1], json={}) as response:
        return response.status


print(asyncio.run(ask()), type(default) is ssl.SSLContext, default.cert_store_stats()["x509"])
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return new_authority(tmp_path_factory.mktemp("ca"))


def test_a_session_of_the_program_reads_the_certificates_at_its_first_connection(
    authority: Authority, tmp_path: Path
) -> None:
    environ = {"SSL_CERT_FILE": str(authority.file), "SSL_CERT_DIR": str(tmp_path)}
    with serve_tls(chat_handler, authority) as server:
        ran = subprocess.run(
            [sys.executable, "-c", _PROGRAM, f"{server.url}/chat/completions"],
            capture_output=True,
            text=True,
            env=environ,
            check=False,
        )

    assert ran.stdout.split() == ["200", "True", "1"], ran.stderr


_CALL = """
import asyncio, sys
from llmcore import Client, OpenAICompatible, request


async def ask():
    route = OpenAICompatible.configure(name="s", base_url=sys.argv[1], api_key="k")
    async with Client() as client:
        return (await client.complete(request(model=route.model("m"), prompt="Hi"))).text


text = asyncio.run(ask())
from aiohttp import connector

print(text, type(connector._SSL_CONTEXT_VERIFIED).__name__)
"""


def test_a_call_without_tls_reads_no_certificates() -> None:
    with serve(chat_handler) as server:
        ran = subprocess.run(
            [sys.executable, "-c", _CALL, server.url], capture_output=True, text=True, check=False
        )

    assert ran.stdout.split() == ["Hello", "UnreadContext"], ran.stderr
