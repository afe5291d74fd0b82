"""The library, the commands and the gateway without the modules and functions of POSIX.

Each test runs its functions in one process of its own, where they are removed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers.loopback import chat_handler, serve

ROOT = Path(__file__).parent.parent
PRELUDE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.support.programs.without_posix import remove_posix
remove_posix()
"""


def printed(program: str, folder: Path, **environ: str) -> str:
    """Return what *program* prints in an empty home *folder*."""
    without = {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}
    run = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in without}
        | {"USERPROFILE": str(folder), **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_all_modules_but_that_of_forked_workers_can_be_imported(tmp_path: Path) -> None:
    program = """
import importlib, pkgutil
import llmcore
for module in pkgutil.walk_packages(llmcore.__path__, "llmcore."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            print(module.name, error)
"""
    expected = "llmcore.bridge.http.workers Windows cannot fork processes\n"
    assert printed(program, tmp_path) == expected


COMMANDS = """
import threading
from llmcore import sync
from llmcore.cli import main

chat = sync.Conversation.open("chats.db", "trip")
limits = []
wait = threading.Condition.wait
def recorded(self, timeout=None):
    if threading.current_thread() is threading.main_thread():
        limits.append(timeout)
    return wait(self, timeout)
threading.Condition.wait = recorded
print(chat.generate("openai-chat:m", "Hi").text, len(limits) > 0 and None not in limits)
for line in ("ask -m openai-chat:m Hi --session x", "config", "keys list", "sessions list", "logs"):
    print(line, main(line.split()))
"""


@pytest.mark.slow
def test_calls_and_commands_use_the_folders_of_windows(tmp_path: Path) -> None:
    """Waits of the main thread have a limit: before Python 3.14, Ctrl-C does not end one."""
    with serve(chat_handler) as server:
        lines = printed(COMMANDS, tmp_path, OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    assert lines.startswith("Hello True\nHello\n")
    for line in ("ask -m openai-chat:m Hi --session x 0", "config 0", "keys list 0", "logs 0"):
        assert f"{line}\n" in lines
    assert (tmp_path / "chats.db").is_file()
    assert (tmp_path / "AppData/Local/llmcore/Data/sessions.db").is_file()


GATEWAY = """
import http.client, json, os, signal, threading
from llmcore.bridge.configuration.reading import settings_from
from llmcore.bridge.http.server import run
from llmcore.cli.openbridge import main

def ask(url):
    body = json.dumps({"model": "m", "input": "Hi"}).encode()
    call = http.client.HTTPConnection(url.removeprefix("http://"))  # urllib needs TLS
    call.request("POST", "/v1/responses", body, {"content-type": "application/json"})
    try:
        print(json.load(call.getresponse())["output"][-1]["content"][0]["text"])
    finally:
        signal.raise_signal(signal.SIGTERM)

def announce(url):
    threading.Timer(0.5, ask, (url,)).start()

signal.signal(signal.SIGTERM, lambda *_: None)  # which uvicorn raises again at its end
run(settings_from(os.environ), announce=announce)
print(main(["serve", "--port", "0", "--workers", "2"]))
"""


@pytest.mark.slow
def test_the_gateway_serves_in_one_process(tmp_path: Path) -> None:
    with serve(chat_handler) as server:
        lines = printed(
            GATEWAY,
            tmp_path,
            OPENBRIDGE_PORT="0",
            OPENBRIDGE_UPSTREAM="openai-compatible",
            OPENBRIDGE_UPSTREAM_BASE_URL=f"{server.url}/v1",
        )
    assert lines.splitlines() == ["Hello", "9"]
