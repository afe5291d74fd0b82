"""The Responses API over WebSockets that stay open.

In reading order: `transport` (requests and their answers), `pool` (the open sockets),
`connection` (one WebSocket: handshake and frames).
"""
