"""The only I/O: sending prepared requests and reading what comes back.

In reading order: `client` (what callers use), `event_stream` (what a call gives), `call` (one
call over a transport), `transport` (the interface, and which transport runs which route), `http`
(over our own `connections` or a client with httpx's interface; with `network` and, for asyncio,
`asyncio_network` and `asyncio_stream`; `decompression`, `http_options`, `proxies`), `pool` (one
connection pool an event loop), `websocket` (Responses over sockets that stay open:
`websocket_pool`, `websocket_connection`, `loop_task`), `timeouts`, `middleware`, `credentials`
(tokens that are fetched; GitHub's are had by `github_api`, `github_device_flow`, `github_login`
and `github_copilot`), `cost`, `environment` (providers by their variables), `media_files` (local
paths), `large_requests` (prepared in a thread), `user_folders`, `local_server`, `embedded` and
`model_files` (the built-in local model), and `loop_calls` (calling a function on a loop from any
thread).
"""
