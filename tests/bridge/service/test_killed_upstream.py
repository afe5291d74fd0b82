"""An upstream process that is killed in the middle of its response."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.support.servers.bridge_service import events_of, listening, settings_for, tool_script
from tests.support.servers.loopback import chat_stream

TEXT = chat_stream(["Hel", "lo", " you"])
CALLS = tool_script(("call_1", "one", '{"a": 1}'), ("call_2", "two", '{"b": 2}'))

UPSTREAM = textwrap.dedent("""
    import ast, os, signal, socket, sys
    script = ast.literal_eval(sys.stdin.readline())
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    request = b""
    while b"}]" not in request:
        request += connection.recv(65536)
    head = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n"
    head += b"transfer-encoding: chunked\\r\\n\\r\\n"
    connection.sendall(head + b"".join(b"%x\\r\\n%s\\r\\n" % (len(s), s) for s in script))
    os.kill(os.getpid(), signal.SIGKILL)
""")
"""Answers the first request with the pieces it is given, then kills itself as `kill -9` would."""


@contextmanager
def dying(script: list[Any]) -> Iterator[str]:
    """Run such a process; yields its URL."""
    command = [sys.executable, "-c", UPSTREAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{script!r}\n".encode())
        process.stdin.flush()
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        assert process.wait(10) == -9


CASES = [
    (name, n) for name, script in (("text", TEXT), ("calls", CALLS)) for n in range(len(script))
]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_each_stream_has_its_end(name: str, number: int) -> None:
    """Killed after each of its events: one terminal event, or an error before the first."""
    script = TEXT if name == "text" else CALLS
    tools: Any = [{"type": "function", "name": n, "parameters": {}} for n in ("one", "two")]
    asked = {"model": "m-1", "input": "Hi", "stream": True, "tools": tools}
    with dying(list(script[:number])) as upstream, listening(settings_for(upstream)) as url:
        answer = httpx.post(f"{url}/responses", json=asked, timeout=20)

    if answer.status_code != 200:
        assert answer.status_code == 502
        assert number <= 1
        return
    events = events_of(answer.content)
    kinds = [event["type"].removeprefix("response.") for event in events]
    whole = number > len(script) - 3  # its finish reason had come
    assert [kind for kind in kinds if kind in ("completed", "failed")] == kinds[-1:]
    assert kinds[-1] == "failed" or whole
