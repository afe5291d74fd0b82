"""Pure functions over events, without I/O and independent of providers.

`segments` completes the events of protocols (joined text, parsed tool calls, all segments
closed), `response` collects events into a response (of `parts`), and `grammar` checks an event list
against the rules of `llmcore.schema.events`.
"""
