"""Routes: ways to providers' models, as values.

In reading order: `endpoint` (where), `auth` (as whom), `framing` (how bytes become frames; its
decoders are `sse`, `ndjson`, `json_array`, `event_stream`), `transport` (how requests travel),
`http_request`, `timeouts`, `route` (the composition), `provider` (routes under one id),
`decoding` (from bytes to events);
`base_url`, `sigv4`, `google_credentials`, `chat_provider` and `openai_compatible` (what facades are
made of), one module per provider, each a facade that configures routes, and `providers`, the table
of them.
"""
