"""The tools, resources and prompts that an MCP server lists, up to the number that is allowed."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from llmcore.mcp.servers import McpServer
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen

if TYPE_CHECKING:
    import mcp
    import mcp_types as types


@frozen
class Listing:
    """The tools, resources and prompts that a server lists."""

    tools: "tuple[types.Tool, ...]" = ()
    resources: bool = False
    prompts: bool = False


class ServerLists:
    """Reads the lists of one server."""

    def __init__(self, name: str, server: McpServer) -> None:
        self._name = name
        self._server = server
        self._others: tuple[bool, bool] | None = None
        """Whether the server lists resources and prompts, until a list changes."""

    def forget(self) -> None:
        """Read also at the next time whether there are resources and prompts."""
        self._others = None

    async def read(self, client: "mcp.Client") -> Listing:
        """Return what the server lists now."""
        has, server = client.server_capabilities, self._server
        tools: list[types.Tool] = []
        if has.tools is not None:
            tools = await self.all_pages(partial(client.list_tools, cache_mode="refresh"), "tools")
        if self._others is None:
            self._others = (
                server.resources and has.resources is not None and await _has(_resources(client)),
                server.prompts and has.prompts is not None and await _has(_prompts(client)),
            )
        resources, prompts = self._others
        return Listing(
            tools=tuple(tool for tool in tools if _allows(server, tool.name)),
            resources=resources,
            prompts=prompts,
        )

    async def all_pages(self, list_page: Callable[..., Awaitable[Any]], what: str) -> list[Any]:
        """Return the *what* ("tools", "resources", "prompts") of all pages of a listing.

        Raises ConfigurationError if the server lists more, or in more pages, than is allowed.
        """
        page = await list_page(cursor=None)
        items, pages, most = [*getattr(page, what)], 1, self._server.max_tools
        while page.next_cursor is not None and max(len(items), pages) <= most:
            page = await list_page(cursor=page.next_cursor)
            items += getattr(page, what)
            pages += 1
        self.check_count(len(items) if page.next_cursor is None else most + 1, what)
        return items

    def check_count(self, count: int, what: str) -> None:
        """Raise ConfigurationError if the server lists more than is allowed."""
        if count > self._server.max_tools:
            raise ConfigurationError(
                f"the MCP server {self._name!r} lists more than {self._server.max_tools} {what}: "
                "raise max_tools"
            )


async def _has(listed: Awaitable[Sequence[object]]) -> bool:
    """Return whether a server lists anything; one that refuses the list is taken to have some.

    Servers that are made with the SDK, or with FastMCP, declare resources and prompts also where
    they have none.
    """
    from mcp import MCPError

    try:
        return bool(await listed)
    except MCPError:
        return True


async def _resources(client: "mcp.Client") -> Sequence[object]:
    """Return resources, or else templates of resources."""
    if resources := (await client.list_resources(cache_mode="refresh")).resources:
        return resources
    return (await client.list_resource_templates(cache_mode="refresh")).resource_templates


async def _prompts(client: "mcp.Client") -> Sequence[object]:
    return (await client.list_prompts(cache_mode="refresh")).prompts


def _allows(server: McpServer, tool: str) -> bool:
    return server.allowed is None or tool in server.allowed
