"""Listings of servers that come in pages."""

from typing import Any

import pytest
from attrs import frozen
from mcp.server.mcpserver import Context, MCPServer

from llmcore.generation.generate import generate
from llmcore.mcp import HttpServer, McpServers, SdkServer
from llmcore.mcp.listing import ServerLists
from llmcore.schema.errors import ConfigurationError
from llmcore.testing.fake_model import FakeModel, call
from tests.mcp.test_hostile_servers import JSON, Reply, hostile, result
from tests.support.servers.mcp_http import until


@frozen
class Page:
    tools: list[str]
    next_cursor: str | None


def lists() -> ServerLists:
    return ServerLists("s", SdkServer(None, max_tools=3))


@pytest.mark.anyio
async def test_items_of_all_pages_are_listed_in_order() -> None:
    pages = {None: Page(["a"], "2"), "2": Page([], "3"), "3": Page(["b", "c"], None)}

    async def list_page(cursor: str | None) -> Page:
        return pages[cursor]

    assert await lists().all_pages(list_page, "tools") == ["a", "b", "c"]


@pytest.mark.anyio
@pytest.mark.parametrize("items", [[], ["a"], ["a"] * 9], ids=["empty", "one", "many"])
async def test_listing_without_end_is_refused(items: list[str]) -> None:
    asked: list[str | None] = []

    async def list_page(cursor: str | None) -> Page:
        asked.append(cursor)
        return Page(items, "next")

    with pytest.raises(ConfigurationError, match="lists more than 3 tools"):
        await lists().all_pages(list_page, "tools")
    assert len(asked) <= 4


@pytest.mark.anyio
async def test_tools_for_resources_and_prompts_are_offered_while_the_server_has_some() -> None:
    """A server made with the SDK declares resources and prompts also where it has none."""
    server = MCPServer("empty", log_level="CRITICAL")

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Add a prompt and a template of resources."""
        server.prompt(name="review")(lambda: "Review.")
        server.resource("note://{name}")(_note)
        await ctx.notify_prompts_changed()
        return "grown"

    async with McpServers({"t": SdkServer(server)}) as servers:
        assert [tool.name for tool in servers.current_tools()] == ["t__grow"]
        fake = FakeModel([call("t__grow", {})], "Done.")
        await generate(fake.model, "Go.", client=fake.client, tools=[servers], max_tool_rounds=1)
        await until(lambda: len(servers.current_tools()) > 1)
        names = [tool.name for tool in servers.current_tools()]

    added = ["list_resources", "read_resource", "list_prompts", "get_prompt"]
    assert names == ["t__grow", *(f"t__{name}" for name in added)]


def _note(name: str) -> str:
    return name


def test_servers_are_shown_by_their_names() -> None:
    web = HttpServer("https://h/mcp", headers={"authorization": "secret"})

    assert repr(McpServers({"files": SdkServer(None), "web": web})) == "McpServers(files, web)"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_tool_that_needs_a_task_is_left_out_and_reported_once_in_a_run() -> None:
    """A call of it is answered with an error, in every version of the SDK so far."""

    def listed(request: Any) -> Reply:
        kinds = ("required", "optional", "forbidden")
        tools = [
            {"name": kind, "inputSchema": {"type": "object"}, "execution": {"taskSupport": kind}}
            for kind in kinds
        ]
        return 200, JSON, result(request, {"tools": tools})

    fake = FakeModel([call("x__optional", {})], "Done.")
    with hostile("tools/list", listed) as (url, _):
        async with McpServers({"x": HttpServer(url)}) as servers:
            names = [tool.name for tool in servers.current_tools()]
            ran = await generate(
                fake.model, "Go.", client=fake.client, tools=[servers], max_tool_rounds=1
            )
            fingerprints, reported = servers.fingerprints, servers.diagnostics

    assert names == list(fingerprints) == ["x__optional", "x__forbidden"]
    assert [(note.code, note.message.split()[0]) for note in reported] == [
        ("tool-not-offered", "x__required")
    ]
    assert [note for note in ran.diagnostics if note.code == "tool-not-offered"] == list(reported)
