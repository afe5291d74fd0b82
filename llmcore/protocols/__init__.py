"""Protocols: what is said to a provider, and how its answer is read. Pure functions only.

In reading order: `protocol` (what one is made of), one package per protocol (`openai_chat`,
and those in `registry`), and what they share:

* of the request: `diagnostics` (collected while a body is built), `lowering` (placeholders, results
  as text), `history` (conversations made acceptable), `call_ids`, `tool_names`, `media`,
  `tool_schema` (schemas as each provider takes them), `tools` (freeform tools as functions, the
  tool choice), `answer_format` (a format that the API does not enforce);
* of the answer: `answering` (what every stream machine needs), `native_json` (readers of JSON whose
  types no server guarantees), `failures` (errors of every API, limits that headers state).
"""
