"""The commented example that `openbridge config init` writes.

Each commented setting shows its default, or a value that could be there.
"""

from typing import Final

EXAMPLE: Final = """\
# OpenBridge. Check it with `openbridge config check`; a running gateway follows changes.
# Variables such as OPENBRIDGE_PORT win over this file.

# One account or deployment each. Without any, the first provider whose key is in the environment.
#
# [[upstreams]]
# name = "anthropic-a"
# provider = "anthropic"            # an id of `llmcore providers`, or openai-compatible
# key_file = "/run/secrets/a"       # or key = "...", or key_command = ["program", "argument"]
# weight = 2                        # its share among those of one rank
# max_running = 50                  # what it gets at most, from all workers
# requests_per_minute = 600
# first_event_seconds = 60          # its own time limits
# idle_seconds = 60
# variables = { ANTHROPIC_BETA = "context-1m-2025-08-07" }
# headers = { "x-team" = "research" }
# body = { service_tier = "auto" }  # in the provider's form, in place of the client's fields
#
# [[upstreams]]
# name = "vllm"
# provider = "openai-compatible"
# base_url = "http://127.0.0.1:8000/v1"

# What answers to a name: targets in order; those of an inner list share by their weights.
#
# [models."claude-sonnet-5"]
# targets = [["anthropic-a/claude-sonnet-5"], "vllm/qwen3-32b"]
# aliases = ["sonnet"]
# on_context_overflow = "large"
# on_content_filter = "large"       # what a provider refuses for its content
#
# [models.large]
# targets = ["anthropic-a/claude-opus-5"]
#
# [prefixes]
# "local/" = { upstream = "vllm", strip = true }

# US dollars per million tokens, in place of the catalog's.
#
# [prices]
# "vllm/qwen3-32b" = { input = 0.1, output = 0.3, cache_read = 0.01 }

# Clients with keys of their own, beside those of client_api_key.
#
# [[clients]]
# name = "ann"
# key_file = "/run/secrets/ann"

[server]
host = "127.0.0.1"
port = 8787
# workers = 1
# log_level = "info"                # or debug, warning, error
# client_api_key = "one, two"       # needed on an address that others can reach
# allowed_hosts = []                # further host names, without a key
# allowed_origins = []              # of web pages, such as ["https://app.example"]
# seal_key = "..."                  # for gateways that share clients and no store
# keep_alive_seconds = 15
# keep_alive_by_front = []          # such as ["openai-chat=none"]
# shutdown_seconds = 120
# telemetry = false                 # OpenTelemetry
# ui = "auto"
# ui_record = false

[routing]
# upstream = "anthropic-a"          # of names that pass; else the first of the file
# upstream_base_url = "http://127.0.0.1:8000/v1"
# upstream_api_key = "..."
# model_map_path = "models.json"    # in place of [models] and [prefixes]
# model_prefix = "claude-"          # for clients that list no other models
# otherwise = "pass"                # or refuse, or upstream/model
# retries = 2
# retry_timeouts = false            # a silent upstream may bill its response
# cool_down_seconds = 5
# key_cool_down_seconds = 300
# breaker_failures = 5
# breaker_seconds = 60

[limits]
# max_body_bytes = 33554432
# max_header_bytes = 32768
# body_seconds = 30
# send_seconds = 60
# first_event_seconds = 600
# idle_seconds = 300
# total_seconds = 0                 # all tries of a response together; 0 is unlimited
# max_running = 256
# max_background = 64
# rate_limit_per_minute = 0         # requests of each key; needed on a public address
# max_choices = 1

[state]
# backend = "sqlite"                # or memory, redis, postgres
# path = "openbridge.sqlite3"
# redis_url = "redis://127.0.0.1:6379/0"
# postgres_url = "postgresql://127.0.0.1/openbridge"
# ttl_seconds = 2592000
# max_entries = 100000
# max_bytes = 4294967296

[policies]
# hosted_tools = "native"           # or drop, error, function
# structured_output = "error"       # or degrade
# structured_output_by_front = []   # such as ["gemini=degrade"]
# prefill = "continue"              # or error
# custom_tools = "function"         # or native
# reasoning_text = "auto"           # or summary, content
# tools_path = "tools.json"
# retry_without = [
#     "text.verbosity", "parallel_tool_calls", "service_tier", "prompt_cache_key", "reasoning",
# ]
# relay = true
# check_stream = false

[keys]
# issued = false                    # keys made by `openbridge keys create`
# admin_key = "at least 16 characters"

[budgets]
# usd = 0                           # of all responses of a period together; 0 is unlimited
# tokens = 0
# period = "month"
# time_zone = "UTC"                 # such as "Europe/Berlin", at whose midnight periods begin
# output_tokens = 0
# prices_path = "prices.json"       # in place of [prices]

[spend]
# record = true
# keep_days = 90
# queue_rows = 10000

[cache]
# responses = "off"                 # or deterministic (a temperature of 0), all
# seconds = 3600
# prompt_marks = false              # marks for the upstream's cache of prompts
"""
