"""Names of a package that are imported from their modules on first use.

Each name is listed once, in the package's table of modules. Type checkers and editors read the
`__init__.pyi` beside it, which `scripts/write_stubs.py` makes from the same table.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str,
    names_of: Mapping[str, str],
    in_modules: Callable[[], Mapping[str, str]] = dict[str, str],
    *,
    packages: tuple[str, ...] = (),
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for *package*.

    *names_of* maps each module to the names it defines, separated by spaces. *packages* are those
    inside it that are attributes, too, as in `llmcore.sync.generate`. A name that is not
    there raises AttributeError, as Python's own look-up does, or ImportError in a `from` import,
    which would leave out the hint: where to import from for the names of the package above and of
    *in_modules*, the nearest name otherwise.
    """
    module_of = _modules(names_of)
    exported = sorted(module_of)

    def get(name: str) -> object:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            hint = _hint(package, name, module_of, in_modules)
            if hint and _is_from_import(f"{package}.{name}"):
                raise ImportError(f"cannot import name {name!r} from {package!r}{hint}")
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    listed = sorted([*exported, *packages])
    return get, lambda: listed, exported


def _modules(names_of: Mapping[str, str]) -> dict[str, str]:
    return {name: module for module, names in names_of.items() for name in names.split()}


_MODEL = 'a model is "openai:gpt-5.2", or OpenAI(api_key="...").responses("gpt-5.2") with its key'
_LOG = "set the variable LLMCORE_LOG=debug, or the level of logging.getLogger('llmcore.wire')"
_SEARCH = "use `from llmcore.schema.tools import HostedTool`, and write HostedTool.web_search()"
_FAKE = "use `from llmcore.testing import FakeModel`"
_MCP = "use `from llmcore.mcp import McpServers, StdioServer, HttpServer`, or llmcore.sync.mcp"
_GENERATE = "use `from llmcore import generate`, or `from llmcore.sync import generate` to block"
_GATEWAY = "it is the program `openbridge serve`; its APIs in a server of yours: llmcore.fronts"
_SCHEMA = "generate_object(model, prompt, schema=...) takes classes of your own"
_MESSAGE = "use `from llmcore import Message`, and write Message.{}(...)"
_OTHER_NAMES = {
    "Gemini": "Google",
    **dict.fromkeys(("GoogleAI", "genai"), "Google"),
    "Claude": "Anthropic",
    **dict.fromkeys(("Bedrock", "AnthropicBedrock"), "AmazonBedrock"),
    "AnthropicVertex": "Vertex",
    "AzureOpenAI": "Azure",
    "Grok": "XAI",
    "AsyncOpenAI": "OpenAI",
    "AsyncClient": "Client",
    **dict.fromkeys(("completion", "complete", "chat", "ask", "run", "invoke"), _GENERATE),
    **dict.fromkeys(("text_completion", "chat_completion"), _GENERATE),
    **dict.fromkeys(("generate_text", "acompletion", "acomplete", "achat", "ainvoke"), "generate"),
    **dict.fromkeys(("stream_text", "astream"), "stream"),
    **dict.fromkeys(("embedding", "embeddings", "aembedding", "Embedding"), "embed"),
    "image_generation": "generate_image",
    "transcription": "transcribe",
    **dict.fromkeys(("speech", "text_to_speech"), "generate_speech"),
    **dict.fromkeys(("APIConnectionError", "ConnectionError"), "NetworkError"),
    **dict.fromkeys(("APITimeoutError", "TimeoutError"), "RequestTimeoutError"),
    "Timeout": "Timeouts limits a run, RequestTimeoutError is the error: import one of them",
    **dict.fromkeys(("InternalServerError", "ServiceUnavailableError"), "ServerError"),
    **dict.fromkeys(("APIError", "APIStatusError"), "ProviderError"),
    "PermissionDeniedError": "AccessDeniedError",
    **dict.fromkeys(("BadRequestError", "UnprocessableEntityError"), "InvalidRequestError"),
    "ContextWindowExceededError": "ContextLengthError",
    **dict.fromkeys(("batch", "abatch", "batch_completion", "abatch_completion"), "generate_many"),
    "SyncClient": "it is llmcore.sync.Client",
    **dict.fromkeys(("aio", "asynchronous"), "the functions of llmcore itself are awaited"),
    **dict.fromkeys(("Gateway", "OpenBridge", "Bridge", "gateway"), _GATEWAY),
    **dict.fromkeys(("Store", "SQLiteSession"), "SQLiteStore"),
    **dict.fromkeys(("moderate", "moderation", "moderations"), "moderation is not supported"),
    **dict.fromkeys(("Schema", "BaseModel", "OutputSchema", "JsonOutputParser"), _SCHEMA),
    **dict.fromkeys(("Agent", "Runner", "create_agent", "init_chat_model"), "generate"),
    **dict.fromkeys(("from_openai", "from_provider"), "generate_object"),
    "ModelRetry": "ToolFailure",
    "Router": "Fallback",
    **dict.fromkeys(("ChatSession", "Chat"), "Conversation"),
    "StreamEvent": "LLMEvent",
    **dict.fromkeys(
        ("RunContext", "RunContextWrapper", "ToolContext", "Context"),
        "a tool gets generate(..., tool_context=...) as its parameter `context`",
    ),
    "completion_cost": "it is `result.cost`",
    **dict.fromkeys(("count_tokens", "token_counter"), "call client.count_tokens(request(...))"),
    "GenerateContentConfig": "give its settings to generate, such as temperature=...",
    "function_tool": "tool",
    **dict.fromkeys(("ToolException", "ToolRetryError"), "ToolFailure"),
    "AuthError": "AuthenticationError",
    "ChatAnthropic": "Anthropic",
    **dict.fromkeys(("LLM", "ChatModel", "LanguageModel", "get_model"), _MODEL),
    **dict.fromkeys(
        ("set_default_model", "configure", "set_api_key", "api_key", "get_llm"), _MODEL
    ),
    **dict.fromkeys(("generate_sync", "run_sync"), "it is llmcore.sync.generate"),
    **dict.fromkeys(("agenerate", "generate_async"), "generate"),
    **dict.fromkeys(("streamText", "stream_generate", "stream_chat"), "stream"),
    **dict.fromkeys(("Session", "ChatHistory", "History", "Memory"), "Conversation"),
    **dict.fromkeys(("Retry", "RetryMiddleware", "RetryConfig", "with_retry"), "RetryPolicy"),
    **dict.fromkeys(("cache", "Cache", "CacheMiddleware", "LLMCache"), "ResponseCache"),
    **dict.fromkeys(("cost", "Cost", "get_cost", "track_cost"), "it is `result.cost`"),
    **dict.fromkeys(("CostTracker", "UsageTracker", "track_usage"), "UsageHook"),
    **dict.fromkeys(("PDF", "PDFPart", "PdfPart", "FilePart", "Document"), "DocumentPart"),
    **dict.fromkeys(("set_verbose", "set_debug", "enable_logging", "set_log_level"), _LOG),
    **dict.fromkeys(("logger", "logging", "debug", "verbose"), _LOG),
    **dict.fromkeys(("Function", "FunctionTool", "StructuredTool", "function"), "tool"),
    **dict.fromkeys(("structured", "parse", "extract", "generate_structured"), "generate_object"),
    **dict.fromkeys(("generateObject", "with_structured_output"), "generate_object"),
    **dict.fromkeys(("many", "gather", "generate_batch", "batch_generate", "map"), "generate_many"),
    **dict.fromkeys(("models", "available_models"), "list_models"),
    **dict.fromkeys(("prompt", "Prompt", "PromptTemplate", "ChatPromptTemplate"), "use f-strings"),
    **dict.fromkeys(("speak", "tts"), "generate_speech"),
    **dict.fromkeys(
        ("MockModel", "MockLLM", "FakeLLM", "FakeListLLM", "TestModel", "FunctionModel"), _FAKE
    ),
    **dict.fromkeys(("Semaphore", "Throttle", "Concurrency"), "ConcurrencyLimit"),
    **dict.fromkeys(("MCPClient", "McpClient", "MCPServer", "MCPServers"), _MCP),
    **dict.fromkeys(("MCPServerStdio", "McpServer"), _MCP),
    **dict.fromkeys(("MCPServerHTTP", "MCPServerStreamableHTTP"), _MCP),
    **dict.fromkeys(("web_search", "WebSearch", "WebSearchTool"), _SEARCH),
    **dict.fromkeys(("to_dict", "model_dump", "dumps", "serialize"), "to_json"),
    **dict.fromkeys(("fallback", "fallbacks", "FallbackModel", "with_fallbacks"), "Fallback"),
    **dict.fromkeys(("UserMessage", "HumanMessage"), _MESSAGE.format("user")),
    **dict.fromkeys(("AssistantMessage", "AIMessage"), _MESSAGE.format("assistant")),
    "SystemMessage": _MESSAGE.format("system") + ", or the setting system=",
    "ToolMessage": _MESSAGE.format("tool"),
    "ChatMessage": "Message",
    **dict.fromkeys(("Response", "ModelResponse", "ChatCompletion", "Completion"), "LLMResponse"),
}
"""Names under which people look for others, with these, or with what to do instead."""


def _hint(
    package: str,
    name: str,
    exported: Mapping[str, str],
    in_modules: Callable[[], Mapping[str, str]],
) -> str:
    """Return where *name* or the name that is meant by it is, as the end of an error, or ""."""
    if name.startswith("_"):  # looked up by Python and its tools
        return ""
    parent = package.rpartition(".")[0]
    if name in getattr(sys.modules.get(parent), "__all__", ()):
        return f": use `from {parent} import {name}`"
    elsewhere = _modules(in_modules())
    if name in elsewhere:
        return f": use `from {elsewhere[name]} import {name}`"
    if " " in _OTHER_NAMES.get(name, ""):
        return f": {_OTHER_NAMES[name]}"
    import difflib  # not needed otherwise

    homes = elsewhere | dict.fromkeys(exported, package)
    lower = {spelling.lower(): spelling for spelling in homes}
    near = difflib.get_close_matches(name.lower(), lower, 1)
    nearest = _OTHER_NAMES.get(name) or (lower[near[0]] if near else None)
    if nearest not in homes:
        return ""
    return f": did you mean {nearest!r}? Use `from {homes[nearest]} import {nearest}`"


def _is_from_import(name: str) -> bool:
    """Return whether a `from` import looks *name* up, and no submodule has it."""
    from importlib.util import find_spec
    from inspect import currentframe

    frame = currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    return (
        caller is not None
        and caller.f_code.co_name == "_handle_fromlist"
        and find_spec(name) is None
    )
