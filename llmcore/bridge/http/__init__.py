"""The gateway over HTTP, as an ASGI application under uvicorn.

- `metrics`, `logs`: what is counted and logged
- `request_body`: bodies read within limits, as JSON
- `stream_writer`, `responses`: answers as they are sent
- `observability`: around each request: its id, log line and metrics
- `access`: which callers are admitted, and how often
- `app`: the application
- `header_timeout`, `server`: uvicorn's part
"""
