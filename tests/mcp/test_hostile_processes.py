"""MCP servers that are programs and break the protocol: each call fails in time, or succeeds."""

import resource
import sys

import pytest

from llmcore.mcp import McpServers, StdioServer
from llmcore.testing.fake_model import call
from tests.mcp.test_servers_over_the_wire import ran

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SERVER = r"""
import json, sys

def send(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()

def flood(text, count):
    for _ in range(count):
        sys.stdout.write(text + "\n")

INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "hostile", "version": "1"}}
TOOLS = {"tools": [{"name": "t", "description": "d", "inputSchema": {"type": "object"}}]}
NOTE = {"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "x"}}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
kinds = [sys.argv[1]]
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        send({**answer, "result": INFO})
    elif request["method"] == "tools/list":
        send({**answer, "result": TOOLS})
    elif request["method"] == "tools/call":
        kind, text = kinds.pop() if kinds else "", "fine"
        if kind == "large":
            text = "x" * 40_000_000
        elif kind == "without an end":
            sys.stdout.write(json.dumps(answer)[:-1] + ', "result": "')
            while True:
                sys.stdout.write("x" * 65536)
        elif kind == "garbage":
            flood("no JSON", 300)
        elif kind == "notes":
            flood(json.dumps(NOTE), 1000)
        elif kind == "changes":
            flood(json.dumps(CHANGED), 1000)
        elif kind == "stderr":
            sys.stderr.write("a reason\n" * 20000)
        elif kind == "silence":
            continue
        send({**answer, "result": {"content": [{"type": "text", "text": text}]}})
    else:
        send({**answer, "error": {"code": -32601, "message": "unknown"}})
"""
LIMIT_MB = 500
"""More than two events of 40 MB need, and less than a line without an end would reach."""


def program(kind: str, *, call_seconds: float) -> StdioServer:
    return StdioServer(
        sys.executable, ("-c", SERVER, kind), connect_seconds=300, call_seconds=call_seconds
    )


@pytest.mark.parametrize("kind", ["garbage", "notes", "changes", "stderr"])
async def test_a_flood_before_a_result_is_passed_over(kind: str) -> None:
    async with McpServers({"x": program(kind, call_seconds=300)}) as servers:
        results = [*await ran(servers, call("x__t", {})), *await ran(servers, call("x__t", {}))]

    assert [each.content for each in results] == ["fine", "fine"]


async def test_a_result_over_the_limit_fails_its_call_and_the_next_one_is_made() -> None:
    async with McpServers({"x": program("large", call_seconds=300)}) as servers:
        (failed,) = await ran(servers, call("x__t", {}))
        (done,) = await ran(servers, call("x__t", {}))

    assert failed.is_error
    assert "larger than the limit of 16777216 bytes" in str(failed.content)
    assert (done.is_error, done.content) == (False, "fine")


async def test_a_result_without_an_end_fails_its_call_and_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with McpServers({"x": program("without an end", call_seconds=300)}) as servers:
        (failed,) = await ran(servers, call("x__t", {}))
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    assert failed.is_error
    assert "larger than the limit" in str(failed.content)
    assert grown_mb < LIMIT_MB


async def test_a_call_that_is_never_answered_fails_in_time() -> None:
    async with McpServers({"x": program("silence", call_seconds=0.5)}) as servers:
        (failed,) = await ran(servers, call("x__t", {}))

    assert failed.is_error
