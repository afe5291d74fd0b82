"""Sends prepared requests and reads their responses: all network I/O is here.

In reading order: `client` (what callers use), `configured_models` (which model a request names),
`event_stream` (the result of a call), `byte_stream` (content that is read while it arrives),
`preparation` (requests made ready for sending), `call` (one call over a transport), `long_response`
(several calls as one), `error_responses`, `transport` (the interface), `transport_selection` (which
transport runs which route), `http/` (HTTP: the engines and their options), `websocket/` (Responses
over sockets that stay open), `pool` (one connection pool for each event loop), `loop_task` (tasks
and calls on an event loop), `loop_timer` (deadlines), `middleware/`, `credentials` (tokens that are
fetched), `github/` (the login, and Copilot's tokens), `cost`, `unary` (calls that one document
answers), `unary_methods` (the client's methods for them), `counting` (tokens of a request),
`model_lists` (providers' own, and files of models), `files` (stored by providers),
`cached_contents`, `accounts` (the owners of both), `batches`, `environment` (providers by their
variables), `media_files` (local paths), `wire_log` (`LLMCORE_LOG`), `large_requests` (prepared in a
thread), `address_hints` (errors of wrong addresses), `call_hints` (of wrong calls), `user_folders`,
`locked_files` (and temporary folders), `local/` (the built-in local model).
"""
