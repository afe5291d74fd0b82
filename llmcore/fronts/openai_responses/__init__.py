"""OpenAI's Responses API, as a server speaks it.

- the request: `parameters`; its tools in `native_tools`, `tools`; its input in `content`, `calls`,
  `compaction`, `input`; all of it in `request`
- the answer: `events`, `items`, `output_calls`, `state` (what is kept of it), `answer`
- `errors`: their form; `grammar`: what every stream must obey
"""
