"""Frozen values, without I/O, providers or imports from the rest of the library.

In reading order: `json` (JSON as Python values), `native_json` (readers of fields), `errors` (the
error hierarchy), `result`, `diagnostics` (and how they are collected), `usage` (tokens, counted and
estimated; rate limits), `display` (reprs and hashes), `pydantic_hooks` (their form in models and in
FastAPI), `notebooks` (texts as Markdown), `hints` and `kinds` (errors of wrong calls),
`media_sources` (paths, URLs, bytes), `content` (parts), `chat_form` (messages and tools as dicts),
`messages`, `tools`, `cached_contents`, `options`, `model`, `request`, `token_estimate` (the tokens
of one, counted or estimated), `events` (and `event_base`), `response`, `unary` (the fields of all
unary calls), `embeddings` (and rankings), `images`, `audio` (transcripts and speech), `files`;
`codec` converts all of them to JSON and back, by `converter`, `changed` copies them with other
fields, without checks, `persistent` has lists and maps that grow without being copied, `frozen`
makes classes whose values are made faster than those of attrs, and `secret_names` recognizes
credentials by the names of headers and parameters.
"""
