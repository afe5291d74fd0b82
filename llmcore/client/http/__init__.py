"""HTTP for the client.

In reading order: `options` (what users can choose, and which proxy a URL goes through),
`http_transport` (the engine for a request, and redirects), `engine` (the interface of engines),
`httpx_engine` with `httpx_network` (the portable engine), `aiohttp_engine` with
`aiohttp_connections` (the fast one), and what both use: `wire` (headers and URLs),
`decompression`, `errors`.
"""
