"""OpenAI's Responses API, as a server speaks it.

Tools: `builtin_tools`, `hosted_tools`, `tools_file`, `tool_offer`, `tool_choice`; input:
`input_content`, `input_items`, `call_items`, `tool_outputs`, `compaction`, `input_turns`; the
request: `parameters`, `echo`, `conversation`, `translate`, `structured_output`,
`compact_request`; the answer: `answer_record`, `event_writer`, `output_text`, `output_items`,
`hosted_items`, `output_calls`, `standalone_items`, `response_usage`, `response_frame`,
`responses_fold`, `sse`; `paging` of lists; and `grammar`, what every stream must obey.
"""
