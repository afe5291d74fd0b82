"""How a server is reached: as a program, by its URL, or in this process."""

import subprocess
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from llmcore.mcp.limited_lines import encoding_of_lines
from llmcore.mcp.servers import HttpServer, McpServer, StdioServer
from llmcore.schema.errors import missing_extra
from llmcore.version import VERSION

if TYPE_CHECKING:
    import mcp
    from mcp.client.session import MessageHandlerFnT

    from llmcore.mcp.http_client import LimitedTransport


def load_sdk() -> None:
    """Import the SDK, which takes a second. Raises ConfigurationError without the extra `mcp`."""
    try:
        import mcp.client.streamable_http  # noqa: F401
    except ImportError as error:
        raise missing_extra("an MCP server", "mcp", error) from error


def client_of(transport: Any, on_message: "MessageHandlerFnT") -> "mcp.Client":
    """Return the SDK's client over *transport*; it calls *on_message* with notifications."""
    import mcp

    return mcp.Client(
        transport,
        message_handler=on_message,
        client_info=mcp.Implementation(name="llmcore", version=VERSION),
    )


async def transport_of(
    server: McpServer, stack: AsyncExitStack
) -> "tuple[Any, LimitedTransport | None]":
    """Return what a client of *server* connects to, and the HTTP transport below it, if any.

    *stack* closes it. The SDK has been loaded.
    """
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(server, StdioServer):
        parameters = mcp.StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=server.cwd,
            encoding=encoding_of_lines(server.max_body_bytes),
            encoding_error_handler="replace",  # a bad byte would end the reading, unnoticed
        )
        return mcp.stdio_client(parameters, errlog=_stderr()), None
    if not isinstance(server, HttpServer):
        return server.server, None
    from llmcore.mcp.http_client import limited_client

    auth = None if server.auth is None else server.auth.build(server.url)
    client, http = limited_client(server, auth)
    await stack.enter_async_context(client)
    return streamable_http_client(
        server.url, http_client=client, max_sse_event_size=server.max_body_bytes
    ), http


def _stderr() -> Any:
    """Return a file for what a process writes to stderr; a replaced `sys.stderr` may not be one."""
    for file in (sys.stderr, sys.__stderr__):
        try:
            if file is not None and file.fileno() >= 0:
                return file
        except (OSError, ValueError, AttributeError):
            continue
    return subprocess.DEVNULL
