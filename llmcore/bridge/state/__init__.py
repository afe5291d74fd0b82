"""Where responses are kept.

- `store`: the interface, and records as bytes
- `memory`, `sqlite`, `redis`: the backends
- `stores`: the one that the settings ask for
"""
