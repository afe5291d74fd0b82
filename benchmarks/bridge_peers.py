"""Gateways of others that are installed beside ours, to be measured in the same run.

    python -m venv PEERS/litellm && PEERS/litellm/bin/pip install 'litellm[proxy]'
    npm install --prefix PEERS/node @portkey-ai/gateway @musistudio/claude-code-router
    BENCH_PEERS=PEERS python -m benchmarks bridge

One that is not in the folder `BENCH_PEERS`, or does not start, is left out, with a line that says
so.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from benchmarks.bridge_servers import Asked, first_core, listens, started

_STARTS_S: Final = 120.0
_LITELLM_KEY: Final = "sk-litellm-of-the-benchmark"
"""LiteLLM does not start without a key."""


@frozen(kw_only=True)
class Peer:
    """How one is started in front of a server of Chat Completions."""

    name: str
    program: str
    """Below the folder of the peers."""
    front: str
    """The API that its clients speak; the upstream's is Chat Completions."""
    settings: Callable[[str, int], tuple[str, Any]]
    """Returns, for the upstream's URL and the port, a file below its home, and its JSON."""
    options: tuple[str, ...] = ()
    """Options of the command; `HOME` and `PORT` are replaced."""
    runs: tuple[str, ...] = ()
    """The program that runs it, such as node."""
    headers: Callable[[str], Mapping[str, str]] = field(default=lambda _url: {})
    """Returns the headers of each request for the upstream's URL."""


def _litellm(upstream: str, _port: int) -> tuple[str, Any]:
    parameters = {"model": "openai/m", "api_base": f"{upstream}/v1", "api_key": "k"}
    return "config.yaml", {"model_list": [{"model_name": "m", "litellm_params": parameters}]}


def _router(upstream: str, port: int) -> tuple[str, Any]:
    provider = {
        "name": "up",
        "api_base_url": f"{upstream}/v1/chat/completions",
        "api_key": "k",
        "models": ["m"],
    }
    settings = {"HOST": "127.0.0.1", "PORT": port, "LOG": False, "NON_INTERACTIVE_MODE": True}
    routes = {"Providers": [provider], "Router": {"default": "up,m"}}
    return ".claude-code-router/config.json", settings | routes


def _portkey(upstream: str) -> Mapping[str, str]:
    return {
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": f"{upstream}/v1",
        "authorization": "Bearer k",
    }


PEERS: Final = (
    Peer(
        name="LiteLLM, chat > chat",
        program="litellm/bin/litellm",
        front="chat",
        settings=_litellm,
        options=("--config", "HOME/config.yaml", "--host", "127.0.0.1", "--port", "PORT"),
        headers=lambda _upstream: {"authorization": f"Bearer {_LITELLM_KEY}"},
    ),
    Peer(
        name="Portkey, chat > chat",
        program="node/node_modules/@portkey-ai/gateway/build/start-server.js",
        front="chat",
        settings=lambda _upstream, _port: ("none.json", {}),
        options=("--port=PORT", "--headless"),
        runs=("node",),
        headers=_portkey,
    ),
    Peer(
        name="claude-code-router",
        program="node/node_modules/@musistudio/claude-code-router/dist/cli.js",
        front="messages",
        settings=_router,
        options=("start",),
        runs=("node",),
    ),
)


@contextmanager
def peers(upstream: str, folder: Path) -> Iterator[list[Asked]]:
    """Run those that are installed, in front of the *upstream*'s URL, with homes in *folder*."""
    installed = os.environ.get("BENCH_PEERS")
    with ExitStack() as running:
        found = []
        for peer in PEERS:
            program = Path(installed or "/nowhere").absolute() / peer.program
            if not program.exists():
                print(f"{peer.name}: not installed in BENCH_PEERS ({installed or 'not set'})")
                continue
            try:
                found.append(running.enter_context(_running(peer, program, upstream, folder)))
            except OSError as reason:
                print(f"{peer.name}: did not start: {reason}")
        yield found


@contextmanager
def _running(peer: Peer, program: Path, upstream: str, folder: Path) -> Iterator[Asked]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = folder / f"peer-{port}"
    name, settings = peer.settings(upstream, port)
    (home / name).parent.mkdir(parents=True)
    (home / name).write_text(json.dumps(settings))
    options = [one.replace("HOME", str(home)).replace("PORT", str(port)) for one in peer.options]
    environ = {
        "HOME": str(home),
        "PYTHONPATH": "",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MASTER_KEY": _LITELLM_KEY,
        "REPEATED_STREAMING_CHUNK_LIMIT": "1000000",  # the upstream repeats one word
        "NODE_ENV": "production",
        "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost",
    }
    command = [*peer.runs, str(program), *options]
    with started(command, environ, cores=first_core(), python=False) as process:
        until = time.monotonic() + _STARTS_S
        while not listens(port):
            if (status := process.poll()) is not None:
                raise ChildProcessError(f"it ended with status {status}")
            if time.monotonic() > until:
                raise TimeoutError(f"it does not listen after {_STARTS_S:.0f} s")
            time.sleep(0.2)
        url = f"http://127.0.0.1:{port}"
        headers = peer.headers(upstream)
        yield Asked(peer.name, process.pid, url, peer.front, headers, may_fail=True)
