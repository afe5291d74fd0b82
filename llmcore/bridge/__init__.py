"""OpenBridge: a Responses API server in front of any route.

A client that speaks only `POST /v1/responses` talks to the bridge, the bridge to whatever
upstream a route reaches. The pure half translates; the other half serves.

Pure, in reading order: `errors`, `policy`, `billing_line`; tools: `tool_names`, `tool_registry`,
`builtin_tools`, `hosted_tools`, `tool_offer`, `tool_choice`; input: `input_content`,
`input_items`, `call_items`, `tool_outputs`, `seal`, `compaction`, `answer_state`, `input_turns`;
the request: `parameters`, `echo`, `conversation`, `translate`, `retry_without`,
`structured_output`, `compact_request`; the answer: `segment_order`, `answer_record`,
`event_writer`, `output_text`, `output_items`, `freeform_input`, `hosted_items`, `output_calls`,
`standalone_items`, `response_usage`, `response_frame`, `responses_fold`, `sse`; and `grammar`,
what every stream must obey.

Effects, in reading order: `config`; who answers: `model_map`, `upstream`, `model_names`,
`tools_file`; what is kept: `store`, `memory_store`, `sqlite_store`, `redis_store`, `stores`;
`metrics`, `logs`, `build`; the calls: `turn` (one answer), `paging`, `service`; over HTTP:
`access`, `bodies`, `stream_body`, `answers`, `app`, `timed_heads`, `server`.

Nothing of OpenAI's format is read or written outside of this package and
`llmcore.protocols.openai_responses`, which is the client's side of the same.
"""
