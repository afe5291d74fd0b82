# Made by scripts/write_stubs.py from the table in __init__.py: run `make stubs`.

from llmcore.mcp.oauth import ClientCredentials as ClientCredentials
from llmcore.mcp.oauth import OAuthLogin as OAuthLogin
from llmcore.mcp.server_group import McpServers as McpServers
from llmcore.mcp.servers import HttpServer as HttpServer
from llmcore.mcp.servers import SdkServer as SdkServer
from llmcore.mcp.servers import StdioServer as StdioServer

__all__ = [
    "ClientCredentials",
    "HttpServer",
    "McpServers",
    "OAuthLogin",
    "SdkServer",
    "StdioServer",
]
