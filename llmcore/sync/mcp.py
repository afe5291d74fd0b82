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

from llmcore.generation.tool import Tool
from llmcore.mcp import server_group as asynchronous
from llmcore.mcp.servers import McpServer
from llmcore.schema.diagnostics import Diagnostic
from llmcore.sync.background import background, blocking_method


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

    @classmethod
    def from_file(cls, path: str | Path, *, approved: Mapping[str, str] | None = None) -> Self:
        """Return the servers of a file in the form of desktop clients (`mcpServers`).

        Raises ConfigurationError if it cannot be read.
        """
        made = cls({})
        made.asynchronous = asynchronous.McpServers.from_file(path, approved=approved)
        return made

    def __enter__(self) -> Self:
        background().run(self.asynchronous.__aenter__)
        return self

    def __exit__(self, *_exc: object) -> None:
        background().run(lambda: self.asynchronous.__aexit__(None, None, None))

    def current_tools(self) -> tuple[Tool, ...]:
        """Return the tools that all servers list now, as `llmcore.mcp.McpServers` does."""
        return self.asynchronous.current_tools()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Reports of listed tools that are not offered, which each run repeats."""
        return self.asynchronous.diagnostics

    @property
    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each tool's definition by its name, to be kept as `approved`."""
        return self.asynchronous.fingerprints

    @property
    def instructions(self) -> dict[str, str]:
        """The texts of servers for the model about their use, by their names."""
        return self.asynchronous.instructions

    read_resource = blocking_method(asynchronous.McpServers.read_resource)
    """Return the contents of a resource as parts. Raises LLMError."""
    prompt = blocking_method(asynchronous.McpServers.prompt)
    """Return the messages of a server's prompt. Raises LLMError."""
