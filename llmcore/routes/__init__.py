"""Routes to the models of providers, as values.

In reading order: `endpoint` (where), `auth` (credentials), `framing` (how bytes become frames; its
decoders are `sse`, `ndjson`, `json_array`, `aws_event_stream`), `transport_spec` (how requests are
sent), `http_request`, `defaults` (added to every request), `route` (the composition), `provider`
(routes under one id), `decoding` (from bytes to events), `one_text` (streams that need no state),
`unreadable_bytes` (bodies that hold no response), `response_facts` (what a response is besides its
body), `unary` (routes of calls that one document answers, such as lists of models and batches),
`retrieval` (embeddings and reranking), `media` (images, transcription, speech). The facades, which
configure routes: `base_url`, `sigv4`, `github_credentials` and `chat_provider` (what they are made
of), `openai`, `anthropic`, `google`, `vertex`, `amazon_bedrock`, `azure`, `cloudflare`,
`github_copilot`, `mistral`, `openrouter`, `xai`, `chat_providers` (those of Chat Completions
alone), `chat_servers` (servers that users run), `openai_compatible` (any other one), `local` (the
embedded model), and `providers`, their table.
"""
