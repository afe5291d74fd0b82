"""Protocols: building native requests and reading native responses. Pure functions only.

In reading order: `protocol` (the type of one, and of those for calls that one document answers), a
package for each (`openai_chat`, `openai_responses`, `anthropic_messages`, `gemini`,
`bedrock_converse`), all of the same modules, and what they share:

* for requests: `lowering` (placeholders, results as text, parameters that a model rejects),
  `history` (conversations made acceptable), `media`, `tools` (freeform tools as functions, the tool
  choice, ids of calls, names), `tool_schema` (schemas as each provider takes them), `caching`
  (where breakpoints go), `forced_format` (a format that the API does not enforce);
* for responses: `response_parts` (what every stream machine needs; whole responses without their
  content), `blocks` (streams of numbered content blocks), `failures` (errors of every API, limits
  that headers state);
* for calls that one document answers: `unary` (their requests, as JSON or with files, what all
  responses have, and lists of models), `embeddings` (and rankings), `images`, `audio`
  (transcripts and speech), `files` (and contents that Gemini keeps), `batches`;
* for both: `claude` and `claude_tools` (rules of Claude's models, for all providers).
"""

PROTOCOL_IDS = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "bedrock-converse",
)
"""Each is the name of its package, with hyphens."""
