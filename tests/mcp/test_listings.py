"""Listings of servers that come in pages."""

import pytest
from attrs import frozen

from llmcore.mcp import HttpServer, McpServers, SdkServer
from llmcore.mcp.connection import ServerConnection
from llmcore.schema.errors import ConfigurationError


@frozen
class Page:
    tools: list[str]
    next_cursor: str | None


def connection() -> ServerConnection:
    return ServerConnection("s", SdkServer(None, max_tools=3))


@pytest.mark.anyio
async def test_items_of_all_pages_are_listed_in_order() -> None:
    pages = {None: Page(["a"], "2"), "2": Page([], "3"), "3": Page(["b", "c"], None)}

    async def list_page(cursor: str | None) -> Page:
        return pages[cursor]

    assert await connection().all_pages(list_page, "tools") == ["a", "b", "c"]


@pytest.mark.anyio
@pytest.mark.parametrize("items", [[], ["a"], ["a"] * 9], ids=["empty", "one", "many"])
async def test_listing_without_end_is_refused(items: list[str]) -> None:
    asked: list[str | None] = []

    async def list_page(cursor: str | None) -> Page:
        asked.append(cursor)
        return Page(items, "next")

    with pytest.raises(ConfigurationError, match="lists more than 3 tools"):
        await connection().all_pages(list_page, "tools")
    assert len(asked) <= 4


def test_servers_are_shown_by_their_names() -> None:
    web = HttpServer("https://h/mcp", headers={"authorization": "secret"})

    assert repr(McpServers({"files": SdkServer(None), "web": web})) == "McpServers(files, web)"
