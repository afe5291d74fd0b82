"""The gateway over HTTP, as an ASGI application under uvicorn.

- `metrics` (over `series`, or `shared_series` of several processes), `logs`, `log_output`: what is
  counted and logged
- `asgi`, `client_connection`: requests as servers pass them, and whether the client is connected
- `request_body`: bodies read within limits, as JSON
- `responses`: responses as they are sent
- `observability`: around each request: its id, log line, metrics and span
- `access`: which callers and web pages are admitted, and how often
- `router`, `app`: the application
- `http1`, `web_socket`, `draining`, `workers`, `server`: uvicorn's part, in one process or several
"""
