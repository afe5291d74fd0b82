"""Pure functions over events; they know no vendor and do no I/O.

`segments` completes what protocols emit (joined text, parsed tool calls, everything
closed), `response` collects events into a response, `grammar` checks an event list
against the rules of `llmcore.schema.events`, `deltas` makes the message contract's deltas of
events, and `assembly` an entry of those. `beginnings` says whether an answer has begun.
"""
