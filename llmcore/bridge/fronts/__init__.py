"""Shared by all fronts, whatever API they speak.

- `tool_registry`: functions in place of the client's tools, and their names
- `billing_line`: a volatile line of instructions, left out
- `opaque_state`: what clients do not see of an answer, carried by them
- `segment_order`: segments of an answer, one after another
- `freeform_input`: a freeform tool's input out of a function's arguments
- `registry`: the fronts that there are
"""
