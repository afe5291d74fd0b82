"""Generation: text and objects with tools and retries, built on the client.

In reading order: `generate`, `many`, `batch` (on a cluster: `ray_batch`) and `stream`
(the functions that callers use),
`checkpoint`, `concurrency` and `progress` (finished results, a bounded number of tasks and a bar
for many calls),
`conversation` (runs that continue a stored conversation), `settings` (their arguments),
`signatures` (which list them, for `help()`),
`setting_checks` (their types), `next_step` (what `prepare_step` changes), `limits` (of a run),
`loop` (calling the model, running its tools, calling it again), `run_events` (its events),
`run_spans` (its spans), `model_call` (one call of the model, retried), `retry` (which errors are
retried, and when), `execution` (the tools of one step), `approvals` (signed decisions about calls),
`arguments` (validating and repairing a call), `tool` (definitions of tools), `handler` (calling a
tool's function), `type_schema` and `docstrings` (the schema of its signature), `results` (and
conditions to stop), `abort` (aborting a call from other tasks and threads), `rejected_reasoning`
(reasoning that a provider cannot decrypt); `objects` (structured output), `object_schema` (its
schema), `object_nulls` and `object_text` (tolerated deviations), `partial_objects` (the value of a
response so far); `json_schema` (validation of objects and arguments); `unary` (settings and
retries of calls that one document answers), `retrieval` (embedding and reranking),
`media` (images, transcription, speech).
"""
