"""Conversations that are stored.

- `contract`: the message and delta contract: entries, deltas, their rules and their JSON
- `conversion`: from `Message` to entries and back, losing nothing; `part_layout` is how it
  places what the parts of an entry cannot hold
- `store`: the interface of all stores, and its errors
- `memory_store`; `sqlite_store`, the default; `redis_store`
- `jsonl`: export and import of runs, one entry a line
"""
