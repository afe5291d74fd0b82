"""The Responses API over persistent WebSockets.

In reading order: `websocket_transport` (requests and their responses), `pool` (the open sockets),
`connection` (one WebSocket: handshake and frames).
"""
