"""MCP: tools, resources and prompts of servers of the Model Context Protocol, for `generate`.

`pip install 'llmcore-routes[mcp]'` brings the protocol's own SDK, which is imported when the first
server is connected.

In reading order: `servers` (what a server is, as a value), `server_group` (`McpServers`, whose
tools a run offers), `connection` (one connected server and its calls), `connecting` (how it is
reached), `listing` (what it lists), `server_tools` (tools made of that), `results` (results as
content parts), `http_client` (the HTTP client with its limits), `limited_lines` (the messages of a
process within limits), `oauth` (logins), `failures` (errors of the SDK as errors of this library).
"""

from llmcore.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "llmcore.mcp.oauth": "ClientCredentials OAuthLogin",
        "llmcore.mcp.server_group": "McpServers",
        "llmcore.mcp.servers": "HttpServer SdkServer StdioServer",
    },
)
