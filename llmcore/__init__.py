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
- `mcp`: tools, resources and prompts of MCP servers
- `sync`: the same for code that is not asynchronous
- `catalog`: models, their limits and prices
- `storage`: SQLite files and Redis connections, which all stores share
- `sessions`: conversations that are stored
- `testing`: cassettes and scripted transports for tests
- `inspector`: pages that show recorded exchanges
- `bridge`: OpenBridge, the gateway
- `cli`: the commands `llmcore` and `openbridge`

Six modules at the root import nothing at first: `lazy_names` (names imported on first use),
`names_in_modules` (public names that are not here), `foreign_names` (hints on the names of other
libraries), `version`, `forking` (locks and warnings for processes that fork) and `tracebacks` (what
they show of an error). `__main__` runs the command `llmcore`.

The names below are those that most programs use. They are imported from their modules on first use,
so `import llmcore` itself loads no HTTP library and no provider. After changing the table, run
`make stubs`.
"""

from llmcore.lazy_names import lazy_names
from llmcore.names_in_modules import names_in_modules
from llmcore.version import VERSION

__version__ = VERSION

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "attrs": "evolve",
        "llmcore.catalog.lookup": "list_models",
        "llmcore.client.client": "Client",
        "llmcore.client.middleware.call_log": "CallLog",
        "llmcore.client.middleware.cost_budget": "CostBudget",
        "llmcore.client.middleware.fallback": "Fallback",
        "llmcore.client.middleware.rate_limiter": "RateLimiter",
        "llmcore.client.middleware.response_cache": "ResponseCache",
        "llmcore.client.middleware.sqlite_cache": "SqliteCache",
        "llmcore.client.middleware.usage_hook": "UsageHook",
        "llmcore.folds.response": "collect",
        "llmcore.generation.conversation": "Conversation",
        "llmcore.generation.default_client": "set_default_client",
        "llmcore.generation.generate": "generate",
        "llmcore.generation.many": "generate_many",
        "llmcore.generation.objects": "generate_object stream_object",
        "llmcore.generation.results": "GenerateResult",
        "llmcore.generation.retrieval": "embed embed_many rerank",
        "llmcore.generation.retry": "RetryPolicy",
        "llmcore.generation.stream": "StreamResult stream",
        "llmcore.generation.tool": "Tool tool",
        "llmcore.routes.amazon_bedrock": "AmazonBedrock",
        "llmcore.routes.anthropic": "Anthropic",
        "llmcore.routes.azure": "Azure",
        "llmcore.routes.chat_servers": "Ollama",
        "llmcore.routes.google": "Google",
        "llmcore.routes.local": "Local",
        "llmcore.routes.openai": "OpenAI",
        "llmcore.routes.openai_compatible": "OpenAICompatible",
        "llmcore.routes.openrouter": "OpenRouter",
        "llmcore.routes.transport_spec": "Timeouts",
        "llmcore.schema.content": "AudioPart DocumentPart ImagePart TextPart",
        "llmcore.schema.diagnostics": "Diagnostic",
        "llmcore.schema.errors": (
            "AuthenticationError ConfigurationError ContextLengthError InvalidRequestError "
            "LLMError NetworkError ProviderError RateLimitError RequestTimeoutError"
        ),
        "llmcore.schema.events": "Finish LLMEvent ReasoningDelta TextDelta ToolCall",
        "llmcore.schema.messages": "Message",
        "llmcore.schema.model": "Model",
        "llmcore.schema.request": "LLMRequest request",
        "llmcore.schema.response": "LLMResponse",
        "llmcore.schema.result": "Failure Result Success",
        "llmcore.schema.tools": "ToolChoice ToolDefinition",
        "llmcore.schema.usage": "Usage",
        "llmcore.sessions.sqlite_store": "SQLiteStore",
    },
    names_in_modules,
    packages=("mcp", "sync", "testing"),
)
