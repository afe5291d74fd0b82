"""The only I/O: sending prepared requests and reading what comes back.

In reading order: `client` (what callers use), `event_stream` (what a call gives), `call` (one call
over a transport), `transport` (the interface, and which transport runs which route),
`http` (httpx and whatever has its interface), `pool` (one connection pool an event loop),
`websocket` (Responses over sockets that stay open: `websocket_pool`, `websocket_connection`,
`loop_task`), `timeouts`, `middleware`, `credentials` (tokens that are fetched), `environment`
(providers by their variables), `media_files` (local paths), `embedded` and `model_files` (the
built-in local model).
"""
