"""The configurations of reverse proxies in docs/deployment.md, each with the real program."""

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.support.servers.bridge_service import listening, settings_for, streamed
from tests.support.servers.loopback import (
    Loopback,
    chat_chunk,
    chat_handler,
    chat_stream,
    held,
    serve,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text("utf-8")
ASK = {"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

NGINX = """
pid {folder}/pid; error_log {folder}/log; daemon off;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
    uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
    {given}
}}
"""
APACHE = """
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/log
Mutex file:{folder}
DefaultRuntimeDir {folder}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
Listen 127.0.0.1:{port}
{given}
"""
CADDY = """
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    {given}
}}
"""
FILES = {"nginx": NGINX, "haproxy": "{given}", "caddy": CADDY, "apache": APACHE}
COMMANDS = {
    "nginx": ["nginx", "-c"],
    "haproxy": ["haproxy", "-db", "-f"],
    "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config"],
    "apache": ["apache2", "-DFOREGROUND", "-f"],
}
APACHE_MODULES = "/usr/lib/apache2/modules"


def documented(name: str) -> str:
    """Return what the page says to write for a proxy."""
    if name == "caddy":
        return "reverse_proxy 127.0.0.1:8787"
    found = re.search(rf"```{name}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def proxy(name: str, folder: Path, gateway: str) -> Iterator[str]:
    """Run a proxy in front of the gateway at this URL for the block; yield its URL."""
    command = COMMANDS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    assert "127.0.0.1:8787" in documented(name) in PAGE
    port = free_port()
    given = documented(name).replace("127.0.0.1:8787", gateway.split("/")[2])
    given = given.replace("bind :80", f"bind 127.0.0.1:{port}")
    given = given.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    given = re.sub(r"\n *ssl_certificate.*", "", given)
    names = {"folder": folder, "port": port, "given": given, "modules": APACHE_MODULES}
    file = folder / "configuration"
    file.write_text(FILES[name].format(**names))
    environ = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}  # Caddy's files
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [*command, str(file)], stdout=output, stderr=output, cwd=folder, env=environ
        )
    try:
        wait_until(lambda: process.poll() is not None or answers(port))
        assert process.poll() is None, (folder / "output").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def upstream() -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        yield running


@pytest.fixture(params=sorted(COMMANDS))
def url(request: pytest.FixtureRequest, upstream: Loopback, tmp_path: Path) -> Iterator[str]:
    """Return the URL of each proxy in turn, in front of a gateway."""
    settings = settings_for(upstream.url)
    with listening(settings) as gateway, proxy(request.param, tmp_path, gateway) as running:
        yield running


def test_a_stream_passes_a_proxy_as_it_comes(upstream: Loopback, url: str) -> None:
    """Its first words arrive before the upstream has the next ones."""
    more = threading.Event()
    first = chat_chunk(delta={"content": "first"})
    upstream.handler = lambda _: streamed(itertools.chain([first], held(more, chat_stream())))
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=ASK, timeout=20) as answer:
        received = b""
        for data in answer.iter_raw():
            received += data
            if b"first" in received:
                more.set()

    assert received.rstrip().endswith(b"[DONE]")


def test_a_client_that_leaves_a_proxy_cancels_its_stream(upstream: Loopback, url: str) -> None:
    upstream.handler = lambda _: streamed([*([chat_chunk(delta={"content": "x"}), 0.1] * 200)])
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=ASK, timeout=20) as answer:
        next(answer.iter_raw())

    wait_until(lambda: bool(upstream.disconnects))


def test_a_web_socket_passes_a_proxy(url: str) -> None:
    address = url.replace("http", "ws", 1) + "/v1/responses"
    with connect(address, proxy=None) as connection:
        connection.send(json.dumps({"type": "response.create", "model": "m-1", "input": "Hi"}))
        kinds = [""]
        while kinds[-1] not in ("response.completed", "error"):
            kinds.append(json.loads(connection.recv(timeout=20))["type"])

    assert kinds[-1] == "response.completed"


def test_twenty_megabytes_pass_a_proxy(upstream: Loopback, url: str) -> None:
    """As pictures in base64 have them."""
    content = "x" * 28_000_000
    body = {"model": "m-1", "messages": [{"role": "user", "content": content}]}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)

    assert answer.status_code == 200
    assert len(upstream.received[-1].body) > len(content)
