"""The gateway over HTTP, as an ASGI application under uvicorn.

- `metrics`, `logs`: what is counted and logged
- `asgi`, `client_connection`: requests as servers hand them over, and whether the client is there
- `request_body`: bodies read within limits, as JSON
- `stream_writer`, `responses`: responses as they are sent
- `observability`: around each request: its id, log line and metrics
- `tracing`: a span of each request
- `access`: which callers are admitted, and how often
- `cors`: which web pages of other origins may use the gateway
- `router`, `app`: the application
- `http1`, `workers`, `server`: uvicorn's part, in one process or several
"""
