"""Protocols: what is said to a provider, and how its answer is read. Pure functions only.

In reading order: `protocol` (what one is made of), one package per protocol (`openai_chat`,
and those in `registry`), and what they share:

* of the request: `diagnostics` (collected while a body is built), `lowering` (placeholders, results
  as text), `history` (conversations made acceptable), `call_ids`, `tool_names`, `media`,
  `tool_schema` (schemas as each provider takes them), `tools` (freeform tools as functions, the
  tool choice), `answer_format` (a format that the API does not enforce);
* of the answer: `answering` (what every stream machine needs), `native_json` (readers of JSON whose
  types no server guarantees), `errors` (one classifier for all error bodies), `foreign_document`
  (answers of another API), `rejected_fields`, `rate_limit`.

Old names, until their last user is gone: `building`, `notes`, `message_target`, `prefill`,
`substitutes`, `tool_results`, `citations`, `chain`, `endings`, `answer_context`, `loose_json`,
`json_text`, `base64_pieces`, `tool_choice`, `freeform`.
"""
