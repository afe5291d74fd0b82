"""llmcore: one functional core for every LLM provider.

    from llmcore import OpenAI, generate

The packages, from the values in the middle to the programs at the rim (imports point upwards only):

- `schema`: the frozen values: messages, content, tools, requests, events, responses, errors
- `folds`: pure functions over events: segments, responses, the grammar of a stream
- `protocols`: body builders and stream state machines, one package per API
- `fronts`: protocols read the other way: clients' requests in, native responses out
- `routes`: protocol, endpoint, auth and framing put together; the providers
- `client`: the I/O: HTTP, WebSockets, time limits, middleware
- `generation`: `generate`, `stream`, objects, tools and the loop that runs them
- `sync`: the same for code that is not asynchronous
- `catalog`: models, their limits and prices
- `storage`: SQLite files and Redis connections, which all stores share
- `sessions`: conversations that are stored
- `testing`: cassettes and scripted transports for tests
- `inspector`: pages that show recorded exchanges
- `bridge`: OpenBridge, the gateway
- `cli`: the commands `llmcore` and `openbridge`

Three modules at the root import nothing else: `lazy_names` (names imported on first use), `version`
and `forking` (locks and warnings for processes that fork).

The names below are imported from their modules on first use, so `import llmcore` itself loads no
HTTP library and no provider. After changing the table, run `make stubs`.
"""

from llmcore.lazy_names import lazy_names
from llmcore.version import VERSION

__version__ = VERSION

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "attrs": "evolve",
        "llmcore.catalog.cost": "cost_of",
        "llmcore.catalog.lookup": "get_latest_model get_model_info list_models",
        "llmcore.catalog.model_info": "ModelInfo Prices Rates",
        "llmcore.client.client": "Client",
        "llmcore.client.event_stream": "EventStream",
        "llmcore.client.http.options": "HttpOptions",
        "llmcore.client.middleware": "Middleware Next",
        "llmcore.client.middleware.call_log": "CallLog",
        "llmcore.client.middleware.circuit_breaker": "CircuitBreaker",
        "llmcore.client.middleware.clock": "Clock",
        "llmcore.client.middleware.concurrency_limit": "ConcurrencyLimit",
        "llmcore.client.middleware.cost_budget": "CostBudget",
        "llmcore.client.middleware.fallback": "Fallback",
        "llmcore.client.middleware.memory_cache": "CacheStore MemoryCache",
        "llmcore.client.middleware.rate_limiter": "RateLimiter",
        "llmcore.client.middleware.response_cache": "ResponseCache",
        "llmcore.client.middleware.sqlite_cache": "SqliteCache",
        "llmcore.client.middleware.telemetry": "Telemetry",
        "llmcore.client.middleware.usage_hook": "CallUsage UsageHook",
        "llmcore.routes.transport": "Timeouts",
        "llmcore.folds.response": "Accumulator collect",
        "llmcore.generation.abort": "AbortController AbortSignal",
        "llmcore.generation.conversation": "Conversation",
        "llmcore.generation.generate": "generate",
        "llmcore.generation.many": "generate_many",
        "llmcore.generation.objects": "StreamObjectResult generate_object stream_object",
        "llmcore.generation.results": "GenerateResult StepResult has_tool_call step_count_is",
        "llmcore.generation.retry": "RetryPolicy retry",
        "llmcore.generation.settings": "NextStep set_default_client",
        "llmcore.generation.stream": "StreamResult stream",
        "llmcore.generation.tool": "Tool ToolFailure tool",
        "llmcore.protocols.openai_chat.models": "ChatDialect",
        "llmcore.routes.amazon_bedrock": "AmazonBedrock",
        "llmcore.routes.anthropic": "Anthropic AnthropicCompatible",
        "llmcore.routes.auth": "Auth",
        "llmcore.routes.azure": "Azure",
        "llmcore.routes.chat_providers": "Baseten Cerebras DeepInfra DeepSeek Fireworks Groq "
        "HuggingFace Mistral Moonshot Perplexity Together ZAI",
        "llmcore.routes.cloudflare": "CloudflareAIGateway CloudflareWorkersAI",
        "llmcore.routes.endpoint": "Endpoint",
        "llmcore.routes.framing": "Framing",
        "llmcore.routes.github_copilot": "GithubCopilot",
        "llmcore.routes.google": "Google",
        "llmcore.routes.chat_servers": "LMStudio LlamaCpp Ollama VLLM",
        "llmcore.routes.local": "Local",
        "llmcore.routes.openai": "OpenAI",
        "llmcore.routes.openai_compatible": "OpenAICompatible",
        "llmcore.routes.openrouter": "OpenRouter OpenRouterRouting",
        "llmcore.routes.provider": "Provider",
        "llmcore.routes.route": "ModelLimits PreparedRequest Route RouteDefaults",
        "llmcore.routes.vertex": "Vertex",
        "llmcore.routes.xai": "XAI",
        "llmcore.schema.codec": "from_json to_json",
        "llmcore.schema.content": (
            "AudioPart Citation ContentPart DocumentPart ImagePart ProviderPart ReasoningPart "
            "RefusalPart TextPart TokenLogprob ToolCallPart ToolResultPart cached"
        ),
        "llmcore.schema.diagnostics": "Diagnostic",
        "llmcore.schema.errors": (
            "AbortError AccessDeniedError AuthenticationError ConfigurationError "
            "ContentFilterError ContextLengthError InvalidRequestError InvalidToolCallError "
            "LLMError NetworkError NoObjectGeneratedError NotFoundError OverloadedError "
            "ProviderError QuotaExceededError RateLimitError RequestTimeoutError ServerError "
            "StreamError UnsupportedToolChoiceError"
        ),
        "llmcore.schema.events": (
            "ErrorEvent EventType File Finish FinishReason LLMEvent ProviderEvent ReasoningDelta "
            "ReasoningEnd ReasoningStart Source StepFinish StepStart StreamStart TextDelta "
            "TextEnd TextStart ToolCall ToolError ToolInputDelta ToolInputEnd ToolInputStart "
            "ToolResult"
        ),
        "llmcore.schema.messages": "Message Origin Role",
        "llmcore.schema.model": "Model",
        "llmcore.schema.options": (
            "CachePolicy GenerationOptions HttpOverlay ReasoningOptions ResponseFormat"
        ),
        "llmcore.schema.request": "LLMRequest request",
        "llmcore.schema.response": "LLMResponse",
        "llmcore.schema.result": "Failure Result Success",
        "llmcore.schema.tools": "CustomTool Grammar HostedTool ToolChoice ToolDefinition",
        "llmcore.schema.usage": "RateLimitInfo Usage",
        "llmcore.sessions.contract.assembly": "Assembler assemble",
        "llmcore.sessions.contract.delta_fold": "DeltaFold to_deltas",
        "llmcore.sessions.contract.deltas": "MessageDelta",
        "llmcore.sessions.contract.entries": (
            "EntryFileRef EntryImage EntryText EntryThinking EntryToolCall EntryToolResult "
            "MessageEntry"
        ),
        "llmcore.sessions.contract.errors": "ContractError",
        "llmcore.sessions.contract.run_rules": "check_run",
        "llmcore.sessions.conversion": "answer_entries to_entries to_messages",
        "llmcore.sessions.memory_store": "MemoryStore",
        "llmcore.sessions.redis_store": "RedisStore",
        "llmcore.sessions.sqlite_store": "SQLiteStore",
        "llmcore.sessions.store": (
            "RunInfo SeqConflictError SessionStore SessionStoreError StoredEntry"
        ),
    },
)
