"""Where responses are kept.

- `call_states`: sealed state of calls, for clients that drop it
- `store`: the interface, and records as bytes
- `memory`, `sqlite`, `redis`: the backends
- `stores`: the one that the settings ask for
"""
