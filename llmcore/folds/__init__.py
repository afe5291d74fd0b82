"""Pure functions over events; they know no vendor and do no I/O.

`segments` completes what protocols emit (joined text, parsed tool calls, everything
closed), `response` collects events into a response, and `grammar` checks an event list
against the rules of `llmcore.schema.events`.
"""
