"""Public names that are imported from their modules, such as providers that few programs use.

They are read for error messages: `from llmcore import Groq` raises an ImportError that names
the module of `Groq`. The names at the front door are in `llmcore/__init__.py`.
"""

from collections import defaultdict
from collections.abc import Mapping


def names_in_modules() -> Mapping[str, str]:
    """Return the names of each module, separated by spaces: the table's, and all providers.

    Those of `llmcore.testing` are listed there.
    """
    from llmcore import __all__ as front_door
    from llmcore.routes.providers import LISTED  # `import llmcore` loads none
    from llmcore.testing import __all__ as for_tests

    names = defaultdict(list, {module: names.split() for module, names in _NAMES.items()})
    names["llmcore.testing"] += for_tests
    for entry in LISTED.values():
        module, _, name = entry.home.partition(":")
        if name not in front_door:
            names[module].append(name)
    return {module: " ".join(sorted(names[module])) for module in sorted(names)}


# without Final: `typing` takes longer to import than all else of `import llmcore`
_NAMES = {
    "llmcore.catalog.cost": "cost_of",
    "llmcore.catalog.estimate": "RequestEstimate",
    "llmcore.catalog.lookup": "get_latest_model get_model_info",
    "llmcore.catalog.model_info": "ModelInfo Prices Rates",
    "llmcore.client.batches": "BatchHandle Batches",
    "llmcore.client.cached_contents": "CachedContents",
    "llmcore.client.byte_stream": "ByteStream",
    "llmcore.client.event_stream": "EventStream",
    "llmcore.client.http.options": "HttpOptions",
    "llmcore.client.middleware": "Middleware Next",
    "llmcore.client.middleware.balance": "Balance",
    "llmcore.client.middleware.circuit_breaker": "CircuitBreaker",
    "llmcore.client.middleware.clock": "Clock",
    "llmcore.client.middleware.concurrency_limit": "ConcurrencyLimit",
    "llmcore.client.middleware.context": (
        "EditContext SummarizeContext trimmed without_old_results"
    ),
    "llmcore.client.middleware.memory_cache": "CacheStore MemoryCache",
    "llmcore.client.middleware.telemetry": "Telemetry",
    "llmcore.client.middleware.usage_hook": "CallUsage",
    "llmcore.folds.response": "Accumulator",
    "llmcore.generation.abort": "AbortController AbortSignal",
    "llmcore.generation.approvals": "ToolChangedError",
    "llmcore.generation.batch": "BatchRun finished run_batch",
    "llmcore.generation.limits": "RunLimitError RunLimits",
    "llmcore.generation.media": "generate_image generate_speech stream_speech transcribe",
    "llmcore.generation.next_step": "NextStep",
    "llmcore.generation.objects": "StreamObjectResult",
    "llmcore.generation.partial_objects": "PartialValue",
    "llmcore.generation.results": "StepResult has_tool_call step_count_is",
    "llmcore.generation.retry": "retry",
    "llmcore.generation.settings": "Settings",
    "llmcore.generation.tool": "ToolDeferred ToolFailure",
    "llmcore.mcp": "ClientCredentials HttpServer McpServers OAuthLogin SdkServer StdioServer",
    "llmcore.protocols.failures.errors": "error_from_body",
    "llmcore.protocols.openai_chat.models": "COMPATIBLE ChatDialect",
    "llmcore.routes.anthropic": "AnthropicCompatible",
    "llmcore.routes.auth": "Auth",
    "llmcore.routes.chat_provider": "ChatProvider Profile",
    "llmcore.routes.decoding": "decode_response",
    "llmcore.routes.defaults": "ModelLimits RouteDefaults",
    "llmcore.routes.endpoint": "Endpoint",
    "llmcore.routes.framing": "Framing",
    "llmcore.routes.openrouter": "OpenRouterRouting",
    "llmcore.routes.provider": "Provider",
    "llmcore.routes.providers": "ProviderEntry",
    "llmcore.routes.route": "PreparedRequest Route",
    "llmcore.routes.transport_spec": "Http WebSocket",
    "llmcore.schema.audio": (
        "SpeechRequest SpeechResponse TimedText TranscriptionRequest TranscriptionResponse"
    ),
    "llmcore.schema.cached_contents": "CachedContent",
    "llmcore.schema.codec": "from_json to_json",
    "llmcore.schema.content": (
        "Citation ContentPart ProviderPart ReasoningPart RefusalPart TokenLogprob "
        "ToolCallPart ToolResultPart cached"
    ),
    "llmcore.schema.embeddings": (
        "EmbeddingRequest EmbeddingResponse RankedDocument RerankRequest RerankResponse"
    ),
    "llmcore.schema.errors": (
        "AbortError AccessDeniedError ContentFilterError InvalidToolCallError "
        "NoObjectGeneratedError NotFoundError OverloadedError QuotaExceededError "
        "ServerError StreamError UnsupportedToolChoiceError"
    ),
    "llmcore.schema.events": (
        "ErrorEvent EventType File FinishReason ProviderEvent ReasoningEnd ReasoningStart "
        "Source StepFinish StepStart StreamStart TextEnd TextStart ToolError "
        "ToolInputDelta ToolInputEnd ToolInputStart ToolResult"
    ),
    "llmcore.schema.files": "FileUpload StoredFile",
    "llmcore.schema.images": "ImageRequest ImageResponse",
    "llmcore.schema.messages": "Origin Role",
    "llmcore.schema.options": (
        "CachePolicy GenerationOptions HttpOverlay ReasoningOptions ResponseFormat"
    ),
    "llmcore.schema.token_estimate": "TokenCount",
    "llmcore.schema.tools": "CustomTool Grammar HostedTool",
    "llmcore.schema.usage": "RateLimitInfo",
    "llmcore.sessions.contract.assembly": "Assembler assemble",
    "llmcore.sessions.contract.codec": "to_wire",
    "llmcore.sessions.contract.delta_fold": "DeltaFold to_deltas",
    "llmcore.sessions.contract.deltas": "MessageDelta",
    "llmcore.sessions.contract.entries": (
        "EntryFileRef EntryImage EntryText EntryThinking EntryToolCall EntryToolResult MessageEntry"
    ),
    "llmcore.sessions.contract.errors": "ContractError",
    "llmcore.sessions.contract.run_rules": "check_run",
    "llmcore.sessions.conversion": "response_entries to_entries to_messages",
    "llmcore.sessions.memory_store": "MemoryStore",
    "llmcore.sessions.redis_store": "RedisStore",
    "llmcore.sessions.store": (
        "RunInfo SeqConflictError SessionStore SessionStoreError StoredEntry utc_now"
    ),
}
