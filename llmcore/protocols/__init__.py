"""Protocols: what is said to a provider, and how its answer is read. Pure functions only.

In reading order: `protocol` (what one is made of), one package per protocol (`openai_chat`,
and those in `registry`), and what they share: `history` (conversations made acceptable),
`call_ids`, `tool_schema` (schemas as each provider takes them), `media`, `errors` (one
classifier for all error bodies), `rate_limit`, `notes` (diagnostics while a body is built),
`loose_json` (reading what nobody guarantees).
"""
