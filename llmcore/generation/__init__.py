"""What most applications call: built on the client, and the only place that retries.

In reading order: `generate` and `stream` (what callers use), `settings` (what both are told),
`setting_checks` (and of which kind it must be), `loop` (asking the model, running its tools,
asking again), `model_call` (one call of the model, retried), `retry` (when to try again, and
when not), `execution` (the tools of one step), `arguments` (validating and repairing a call),
`tool` (what a tool is), `handler` (how its function is called), `type_schema` and `docstrings`
(what its signature says), `results` (and conditions to stop), `abort` (stopping a call from
anywhere), `rejected_reasoning` (reasoning that a
provider cannot read); `objects` (what callers use for structured output), `object_schema`
(the shape that is wanted), `object_nulls` and `object_text` (how answers deviate from it),
`partial_objects` (what an answer says so far); `json_schema` (what does not fit a schema, for
objects and arguments alike).
"""
