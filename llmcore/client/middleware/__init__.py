"""Middleware: functions around a call, and those that come with llmcore.

In reading order: `chain` (the interface, and composition), `target` (what a
call goes to), `outcome` (its result), `clock`, `serial` (state that is changed from any
thread). Then one module each:

`call_log`, `usage_hook`, `cost_budget` (with `pricing`), `response_cache` (with `cache_key`,
`cached_events`, `memory_cache`, `sqlite_cache`), `rate_limiter` (with `token_bucket`),
`concurrency_limit`, `circuit_breaker`, `fallback` (with `continuation` and `rest_request`),
`balance`, `context`, `telemetry` (with `telemetry_attributes`).
"""

from llmcore.client.middleware.chain import Middleware as Middleware
from llmcore.client.middleware.chain import Next as Next
from llmcore.client.middleware.chain import compose as compose
