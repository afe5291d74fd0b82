"""Tools of an MCP server, which is started as a process.

It needs `pip install 'llmcore-routes[mcp]'`.
"""

import asyncio
import sys

from llmcore import OpenAI, generate
from llmcore.mcp import McpServers, StdioServer

PROGRAM = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("stock", log_level="ERROR")
server.add_tool(lambda item: 12, name="count", description="Count what is in stock.")
server.run("stdio")
"""


async def main() -> None:
    stock = StdioServer(sys.executable, ["-c", PROGRAM])
    async with McpServers({"stock": stock}) as servers:
        model = OpenAI().responses("gpt-5.2")
        result = await generate(model, "How many lamps?", tools=[servers], max_tool_rounds=3)
        print(result.text)


asyncio.run(main())
