"""Conversations as they are kept: the contract's JSON, conversions, rules, stores.

The values are in `llmcore.schema.entries` and `llmcore.schema.deltas`, the folds that make
deltas and assemble them in `llmcore.folds`. In reading order: `contract_schema` (the JSON
Schema) and `wire` (JSON in and out), `run_rules` (what holds across a run), `part_layout` and
`conversion` (to `Message` and back, losing nothing), `store` (the interface), `memory_store`,
`sqlite_connection` and `sqlite_store` (the default), `redis_store`, and `jsonl` (export, import).
"""
