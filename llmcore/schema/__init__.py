"""Frozen values, without I/O, providers or imports from the rest of the library.

In reading order: `json` (JSON as Python values), `errors` (the error hierarchy), `result`,
`diagnostics`, `diagnostic_codes` (their explanations), `usage` (tokens, counted and estimated; rate
limits), `content` (parts), `messages`, `tools`, `options`, `model`, `request`, `events`,
`response`; `codec` converts all of them to JSON and back, `changed` copies them with other fields,
without checks, and `secret_names` recognizes credentials by the names of headers and parameters.
"""
