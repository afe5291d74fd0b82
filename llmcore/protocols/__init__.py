"""Protocols: what is said to a provider, and how its answer is read. Pure functions only.

In reading order: `protocol` (what one is made of), one package per protocol (`openai_chat`,
and those in `registry`), and what they share:

* of the request: `building`, `notes` (diagnostics while a body is built), `message_target`,
  `history` (conversations made acceptable), `call_ids`, `tool_names`, `media`, `tool_schema`
  (schemas as each provider takes them), `tool_choice`, `freeform` (custom tools as functions),
  `tool_results`,
  `citations`, `answer_format` (a shape that the API does not enforce);
* of the answer: `answer_context`, `chain` (what is kept until it is whole), `endings`,
  `loose_json` (reading what nobody guarantees), `json_text`, `base64_pieces`, `errors` (one
  classifier for all error bodies), `foreign_document` (answers of another API), `rejected_fields`,
  `rate_limit`.
"""
