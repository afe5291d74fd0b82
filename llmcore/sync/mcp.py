"""MCP servers, blocking: for `tools` of the blocking functions.

from llmcore import sync
from llmcore.mcp import StdioServer
from llmcore.sync.mcp import McpServers

with McpServers({"files": StdioServer("npx", ("-y", "a-server"))}) as servers:
print(sync.generate("openai:gpt-5.2", "Which files are there?", tools=[servers]).text)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import anyio

from llmcore.generation.tool import Tool
from llmcore.mcp import server_group as asynchronous
from llmcore.mcp.servers import McpServer
from llmcore.schema.content import ToolOutputPart
from llmcore.schema.messages import Message
from llmcore.sync.background import background


class McpServers:
    """MCP servers by name: `llmcore.mcp.McpServers`, blocking.

    They are connected while the `with` block runs, on the event loop of the blocking functions,
    which may be called from any thread.
    """

    def __init__(
        self, servers: Mapping[str, McpServer], *, approved: Mapping[str, str] | None = None
    ) -> None:
        self.asynchronous = asynchronous.McpServers(servers, approved=approved)
        """The asynchronous servers behind these."""
        self._leave: anyio.Event | None = None
        self._left = anyio.Event()
        self._failed: list[BaseException] = []

    @classmethod
    def from_file(cls, path: str | Path, *, approved: Mapping[str, str] | None = None) -> Self:
        """Return the servers of a file in the form of desktop clients (`mcpServers`).

        Raises ConfigurationError if it cannot be read.
        """
        made = cls({})
        made.asynchronous = asynchronous.McpServers.from_file(path, approved=approved)
        return made

    def __enter__(self) -> Self:
        background().run(self._entered)
        return self

    def __exit__(self, *_exc: object) -> None:
        background().run(self._exited)

    def current_tools(self) -> tuple[Tool, ...]:
        """Return the tools that all servers list now, as `llmcore.mcp.McpServers` does."""
        return self.asynchronous.current_tools()

    @property
    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each tool's definition by its name, to be kept as `approved`."""
        return self.asynchronous.fingerprints

    @property
    def instructions(self) -> dict[str, str]:
        """The texts of servers for the model about their use, by their names."""
        return self.asynchronous.instructions

    def read_resource(self, server: str, uri: str) -> tuple[ToolOutputPart, ...]:
        """Return the contents of a resource as parts. Raises LLMError."""
        return background().run(lambda: self.asynchronous.read_resource(server, uri))

    def prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> tuple[Message, ...]:
        """Return the messages of a server's prompt. Raises LLMError."""
        return background().run(lambda: self.asynchronous.prompt(server, name, arguments))

    # one task enters and leaves the block, as the servers' task group requires

    async def _entered(self) -> None:
        entered = anyio.Event()
        self._leave, self._left = anyio.Event(), anyio.Event()
        leave, left = self._leave, self._left

        async def hold() -> None:
            try:
                async with self.asynchronous:
                    entered.set()
                    await leave.wait()
            except BaseException as error:  # noqa: BLE001  (raised by the caller)
                self._failed.append(error)
            finally:
                left.set()
                entered.set()

        background().run_later(hold)
        try:
            await entered.wait()
        except BaseException:
            leave.set()
            raise
        self._raise()

    async def _exited(self) -> None:
        if self._leave is not None:
            self._leave.set()
            await self._left.wait()
            self._raise()

    def _raise(self) -> None:
        if self._failed:
            raise self._failed.pop()
