"""`McpServers`: connected servers, whose tools a run offers to the model."""

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from llmcore.client.loop_task import ContextTask
from llmcore.generation.approvals import ToolChangedError
from llmcore.generation.tool import Tool
from llmcore.mcp.connecting import load_sdk
from llmcore.mcp.connection import ServerConnection
from llmcore.mcp.oauth import OAuthLogin
from llmcore.mcp.server_tools import SEPARATOR, ServerTools, prompt_messages, read
from llmcore.mcp.servers import HttpServer, McpServer, SdkServer, StdioServer, servers_of
from llmcore.schema import json
from llmcore.schema.content import ToolOutputPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ConfigurationError, LLMError, RequestTimeoutError
from llmcore.schema.hints import shown_kind
from llmcore.schema.messages import Message

_CLOSE_SECONDS = 10.0
_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,30}[a-zA-Z0-9])?")


class McpServers:
    """MCP servers by name, connected while the `async with` block runs.

        async with McpServers({"files": StdioServer("npx", ("-y", "a-server"))}) as servers:
            result = await generate("openai:gpt-5.2", "...", tools=[servers], max_tool_rounds=5)

    Given as one of a run's tools, it offers the tools of all servers, and at each step those that
    the servers list then. A tool is called `files__read`: the server's name and its own. With
    *approved*, the `fingerprints` of an earlier connection, only those tools are offered, and one
    whose definition has changed is a ToolChangedError. Entering the block raises LLMError if a
    server cannot be connected.
    """

    def __init__(
        self, servers: Mapping[str, McpServer], *, approved: Mapping[str, str] | None = None
    ) -> None:
        _check(servers)
        self._approved = approved
        self._servers: dict[str, ServerTools] = {}
        self._connection: ContextTask | None = None
        self._has_been_connected = False
        for name, server in servers.items():
            self._servers[_checked(name)] = made = ServerTools(ServerConnection(name, server))
            made.connection.listed = made.update

    def __repr__(self) -> str:
        return f"McpServers({', '.join(self._servers)})"

    @classmethod
    def from_file(cls, path: str | Path, *, approved: Mapping[str, str] | None = None) -> Self:
        """Return the servers of a file in the form of desktop clients (`mcpServers`).

        `${NAME}` in it is replaced by the environment variable. Raises ConfigurationError if the
        file cannot be read or a variable is missing.
        """
        try:
            document = json.loads(Path(path).read_bytes())
        except (OSError, ValueError) as error:
            message = f"{path} cannot be read as a list of MCP servers: {error}"
            raise ConfigurationError(message, cause=error) from error
        return cls(servers_of(document, os.environ), approved=approved)

    # -- what a run uses

    def current_tools(self) -> tuple[Tool, ...]:
        """Return the tools that all servers list now.

        Raises ToolChangedError for one that differs from the approved one, the error of a server
        whose connection has ended, and ConfigurationError before they are connected.
        """
        if not self._has_been_connected:
            raise ConfigurationError(
                "the MCP servers are not connected: use them in their block, "
                "`async with McpServers({...}) as servers`; in blocking code, `with`"
            )
        tools: list[Tool] = []
        for server in self._servers.values():
            if server.connection.failure is not None:
                raise server.connection.failure
            tools += (tool for tool in server.tools if self._is_approved(server, tool.name))
        return tuple(tools)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Reports of listed tools that are not offered, which each run repeats."""
        return tuple(note for server in self._servers.values() for note in server.diagnostics)

    @property
    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each tool's definition by its name, to be kept as `approved`."""
        return {k: v for server in self._servers.values() for k, v in server.digests.items()}

    @property
    def instructions(self) -> dict[str, str]:
        """The texts of servers for the model about their use, by their names."""
        texts = {name: server.connection.instructions for name, server in self._servers.items()}
        return {name: text for name, text in texts.items() if text}

    async def read_resource(self, server: str, uri: str) -> tuple[ToolOutputPart, ...]:
        """Return the contents of a resource as parts. Raises LLMError."""
        return await read(self._named(server), uri)

    async def prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> tuple[Message, ...]:
        """Return the messages of a server's prompt. Raises LLMError."""
        return await prompt_messages(self._named(server), name, dict(arguments or {}))

    def _named(self, server: str) -> ServerConnection:
        if server not in self._servers:
            names = ", ".join(self._servers) or "none"
            raise ConfigurationError(f"there is no MCP server {server!r}; there are: {names}")
        return self._servers[server].connection

    def _is_approved(self, server: ServerTools, name: str) -> bool:
        if self._approved is None or name not in server.digests:
            return True
        if name not in self._approved:
            return False
        if self._approved[name] != server.digests[name]:
            raise ToolChangedError(f"the definition of {name} is not the one that was approved")
        return True

    # -- connecting

    async def __aenter__(self) -> Self:
        if self._has_been_connected:
            raise ConfigurationError("these MCP servers have been connected: make another value")
        self._has_been_connected = True
        self._connection = ContextTask(self._connected())
        await self._connection.enter()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._connection is not None:
            await self._connection.leave()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        raised: Exception | None = None
        async with anyio.create_task_group() as group:
            try:
                await self._connect(group)
                self.current_tools()
                yield
            except Exception as error:  # noqa: BLE001  (raised below, outside the group)
                raised = error
            finally:
                await self._close()
                group.cancel_scope.cancel()
        if raised is not None:
            raise raised

    async def _connect(self, group: TaskGroup) -> None:
        """Connect all servers at the same time; raise the first error."""
        await anyio.to_thread.run_sync(load_sdk)  # its time counts for no server
        errors: list[LLMError] = []

        async def connect(connection: ServerConnection) -> None:
            seconds = _seconds(connection.server)
            try:
                with anyio.fail_after(seconds):
                    await group.start(connection.run)
            except TimeoutError as error:
                message = f"the MCP server {connection.name!r} was not ready within {seconds:g} s"
                errors.append(RequestTimeoutError(message, cause=error))
            except LLMError as error:
                errors.append(error)
            if errors:
                connecting.cancel_scope.cancel()

        async with anyio.create_task_group() as connecting:
            for server in self._servers.values():
                connecting.start_soon(connect, server.connection)
        if errors:
            raise errors[0]

    async def _close(self) -> None:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            running = [server.connection for server in self._servers.values()]
            for connection in running:
                connection.stop()
            for connection in running:
                if connection.started:
                    await connection.done.wait()


def _seconds(server: McpServer) -> float:
    auth = server.auth if isinstance(server, HttpServer) else None
    return server.connect_seconds + (auth.seconds if isinstance(auth, OAuthLogin) else 0)


def _check(servers: object) -> None:
    """Raise ConfigurationError unless *servers* are servers by name."""
    if isinstance(servers, str | Path):
        raise ConfigurationError(f"for a file write McpServers.from_file({str(servers)!r})")
    if not isinstance(servers, Mapping):
        kind = shown_kind(servers)
        raise ConfigurationError(
            f"servers must be a dict by name, such as {{'files': StdioServer('npx', [...])}}, "
            f"not {kind}"
        )
    for name, server in servers.items():
        if not isinstance(server, StdioServer | HttpServer | SdkServer):
            raise ConfigurationError(
                f"the MCP server {name!r} must be a StdioServer, HttpServer or SdkServer, "
                f"not {shown_kind(server)}"
            )


def _checked(name: str) -> str:
    """Return the name of a server; ConfigurationError for one that cannot begin tools' names."""
    if _NAME.fullmatch(name) and SEPARATOR not in name:
        return name
    raise ConfigurationError(
        f"the name of an MCP server has 1 to 32 letters, digits, - and single _, not {name!r}"
    )
