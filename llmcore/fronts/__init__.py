"""The APIs that clients speak, each a `Front`: the other side of a protocol.

- `front`: the type, the values that its functions take and return, and the fronts by their ids
- `errors`: why a request has no response; `policy`: decisions where the two sides differ
- `reading`: fields of requests by their type, addresses and data of media; `field_types`: the types
  of those that are seldom there
- `checked_read`: readers of requests that return a `Result`
- `output`: the content of a response, as a front writes it
- `encoding`: events as bytes; `grammar`: the order in which they may come
- `finishing`: finish reasons and token counts
- `tools_as_functions`: functions that represent tools of other kinds
- `tool_registry`: functions in place of the client's tools, and their names
- `billing_line`: a volatile line of instructions, left out
- `sealer`, `opaque_state`, `response_record`: what clients do not see of a response, carried by
  them
- `places`: responses found by what is before them, for clients whose calls have no ids
- `segment_order`: segments of a response, one after another
- `quoted_arguments`: arguments of calls that are an object in a string
- `hosted_calls`: calls of tools that a provider ran; `summaries`: summaries of conversations
- `freeform_input`: a freeform tool's input out of a function's arguments
- `openai_embeddings`: requests for embeddings, and their responses, as OpenAI writes them
- `openai_clients`: what SDKs of single servers of OpenAI's APIs need
- `openai_forms`: errors, lists of models, formats of responses and service tiers as OpenAI has them
- `anthropic_messages`: the front of Anthropic's Messages API
- `gemini`: the front of Gemini's generateContent
- `openai_chat`: the front of OpenAI's Chat Completions API
- `openai_responses`: the front of OpenAI's Responses API
"""
