"""MCP servers for blocking code."""

from pathlib import Path

import pytest

from llmcore import sync
from llmcore.mcp import HttpServer
from llmcore.schema import json
from llmcore.schema.content import TextPart
from llmcore.schema.errors import ConfigurationError, NetworkError
from llmcore.sync.mcp import McpServers
from llmcore.testing.fake_model import FakeModel, call
from tests.support.servers.mcp_http import http_server, port_of_nobody

# The SDK leaves streams of events to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_tools_of_servers_run_in_blocking_calls() -> None:
    """Of one connection: the server sees one session for all of them."""
    with http_server(legacy=True) as (url, watched), McpServers({"t": HttpServer(url)}) as servers:
        fake = FakeModel([call("t__add", {"a": 1, "b": 2})], "Three.")
        client = sync.Client.of(fake.client)
        result = sync.generate(
            fake.model, "1 + 2?", client=client, tools=[servers], max_tool_rounds=2
        )
        (part,) = servers.read_resource("t", "note://one")
        (message,) = servers.prompt("t", "review", {"code": "x"})
        names = [tool.name for tool in servers.current_tools()]

    assert result.text.endswith("Three.")
    assert result.steps[0].tool_results[0].content == {"result": 3}
    assert isinstance(part, TextPart)
    assert message.text == "Review this: x"
    assert "t__add" in names
    assert servers.fingerprints.keys() <= set(names)
    sessions = {headers.get("mcp-session-id") for _, _, headers in watched.requests}
    assert len(sessions - {None}) == 1


def test_server_that_cannot_be_connected_fails_when_the_block_is_entered() -> None:
    with port_of_nobody() as port:
        servers = McpServers({"t": HttpServer(f"http://127.0.0.1:{port}/mcp")})
        with pytest.raises(NetworkError, match="'t' cannot be reached"), servers:
            pytest.fail("the block was entered")


def test_error_within_the_block_closes_the_connection_and_is_raised() -> None:
    with http_server() as (url, _):
        servers = McpServers({"t": HttpServer(url)})
        with pytest.raises(ZeroDivisionError), servers:
            raise ZeroDivisionError
        with pytest.raises(ConfigurationError, match="is not connected"):
            servers.read_resource("t", "note://one")


def test_servers_of_a_file(tmp_path: Path) -> None:
    with http_server() as (url, _):
        file = tmp_path / "mcp.json"
        file.write_bytes(json.dumps({"mcpServers": {"web": {"type": "http", "url": url}}}))
        with McpServers.from_file(file) as servers:
            assert servers.instructions == {"web": "Use add for sums."}
