"""Generation: text and objects with tools and retries, built on the client.

In reading order:

- `generate`, `stream`: a run, whole or as events; `conversation`: runs that continue a stored one
- `many`: several runs at once; `batch`: the requests of a file; `ray_batch`: those of a dataset, on
  a cluster; `checkpoint`, `concurrency`, `progress`: finished results, a bounded number of tasks, a
  progress bar
- `settings`: the arguments; `setting_checks`: their types; `signatures`: how `help()` lists them
- `default_client`: the client of calls that name none
- `loop`: calling the model, running its tools, calling it again, and the events of a run; `limits`
  of a run; `next_step`: what `prepare_step` changes; `results`, and conditions to stop
- `run_spans`: the spans of a run
- `model_call`: one call of the model, retried; `retry`: which errors are retried, and when;
  `rejected_reasoning`: reasoning that a provider cannot decrypt; `abort`: ending a call from other
  tasks and threads
- `tool`: definitions of tools; `handler`: calling a tool's function; `type_schema`, `annotations`,
  `docstrings`, `named_tuples`: the schema of its signature
- `execution`: the tools of one step; `arguments`: validating and repairing a call; `approvals`:
  signed decisions about calls; `plain_values`: writing what tools return as JSON
- `objects`: structured output; `object_schema`: its schema; `object_nulls`: tolerated
  deviations; `partial_objects`: the value in a response, also so far; `json_schema`: validation
  of objects and arguments
- `unary`: settings and retries of calls that one document answers; `retrieval`: embedding and
  reranking; `media`: images, transcription, speech
"""
