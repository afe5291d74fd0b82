"""The names by which users of other libraries look for things, with what to write here instead.

Errors of wrong names, arguments and options state it. The tables for attributes, arguments and
options are in the modules that have them; that of the names to import is here.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

_ROW: Final = re.compile(r"^ *(\S[^>]*?)\s*-> (.+)$", re.MULTILINE)


def hint_table(text: str) -> dict[str, str]:
    """Return the hints in *text* by name.

    A row has names and, behind an arrow, the hint on them:

        seconds deadline -> timeout
        retry -> write max_retries=3
    """
    return {name: hint for names, hint in _ROW.findall(text) for name in names.split()}


@cache
def names_elsewhere() -> Mapping[str, str]:
    """Return, by names that others import, the names that are meant, or what to do instead."""
    return hint_table(_IMPORTED)


_IMPORTED: Final = """
    Gemini GoogleAI genai -> Google
    Claude ChatAnthropic -> Anthropic
    Bedrock AnthropicBedrock -> AmazonBedrock
    AnthropicVertex -> Vertex
    AzureOpenAI -> Azure
    Grok -> XAI
    AsyncOpenAI -> OpenAI
    AsyncClient -> Client
    completion complete chat ask run invoke text_completion chat_completion
        -> use `from llmcore import generate`, or `from llmcore.sync import generate` to block
    generate_text acompletion acomplete achat ainvoke Agent Runner create_agent init_chat_model
    agenerate generate_async
        -> generate
    stream_text astream streamText stream_generate stream_chat -> stream
    embedding embeddings aembedding Embedding -> embed
    image_generation -> generate_image
    transcription -> transcribe
    speech text_to_speech speak tts -> generate_speech
    APIConnectionError ConnectionError -> NetworkError
    APITimeoutError TimeoutError -> RequestTimeoutError
    Timeout -> Timeouts limits a run, RequestTimeoutError is the error: import one of them
    InternalServerError ServiceUnavailableError -> ServerError
    APIError APIStatusError -> ProviderError
    PermissionDeniedError -> AccessDeniedError
    BadRequestError UnprocessableEntityError -> InvalidRequestError
    ContextWindowExceededError -> ContextLengthError
    batch abatch batch_completion abatch_completion many gather generate_batch batch_generate map
        -> generate_many
    SyncClient -> it is llmcore.sync.Client
    aio asynchronous -> the functions of llmcore itself are awaited
    Gateway OpenBridge Bridge gateway
        -> it is the program `openbridge serve`; its APIs in a server of yours: llmcore.fronts
    Store SQLiteSession -> SQLiteStore
    moderate moderation moderations -> moderation is not supported
    Schema BaseModel OutputSchema JsonOutputParser
        -> generate_object(model, prompt, schema=...) takes classes of your own
    from_openai from_provider structured parse extract generate_structured generateObject
    with_structured_output
        -> generate_object
    ModelRetry ToolException ToolRetryError -> ToolFailure
    Router fallback fallbacks FallbackModel with_fallbacks -> Fallback
    ChatSession Chat Session ChatHistory History Memory -> Conversation
    StreamEvent -> LLMEvent
    RunContext RunContextWrapper ToolContext Context
        -> a tool gets generate(..., tool_context=...) as its parameter `context`
    completion_cost cost Cost get_cost track_cost -> it is `result.cost`
    count_tokens token_counter -> call client.count_tokens(request(...))
    GenerateContentConfig -> give its settings to generate, such as temperature=...
    function_tool Function FunctionTool StructuredTool function -> tool
    AuthError -> AuthenticationError
    LLM ChatModel LanguageModel get_model set_default_model configure set_api_key api_key get_llm
        -> a model is "openai:gpt-5.2", or OpenAI(api_key="...").responses("gpt-5.2") with its key
    generate_sync run_sync -> it is llmcore.sync.generate
    Retry RetryMiddleware RetryConfig with_retry -> RetryPolicy
    cache Cache CacheMiddleware LLMCache -> ResponseCache
    CostTracker UsageTracker track_usage -> UsageHook
    PDF PDFPart PdfPart FilePart Document -> DocumentPart
    set_verbose set_debug enable_logging set_log_level logger logging debug verbose
        -> set the variable LLMCORE_LOG=debug, or the level of logging.getLogger('llmcore.wire')
    models available_models -> list_models
    prompt Prompt PromptTemplate ChatPromptTemplate -> use f-strings
    MockModel MockLLM FakeLLM FakeListLLM TestModel FunctionModel
        -> use `from llmcore.testing import FakeModel`
    Semaphore Throttle Concurrency -> ConcurrencyLimit
    MCPClient McpClient MCPServer MCPServers MCPServerStdio McpServer MCPServerHTTP
    MCPServerStreamableHTTP
        -> use `from llmcore.mcp import McpServers, StdioServer, HttpServer`, or llmcore.sync.mcp
    web_search WebSearch WebSearchTool
        -> use `from llmcore.schema.tools import HostedTool`, and write HostedTool.web_search()
    to_dict model_dump dumps serialize -> to_json
    UserMessage HumanMessage -> use `from llmcore import Message`, and write Message.user(...)
    AssistantMessage AIMessage
        -> use `from llmcore import Message`, and write Message.assistant(...)
    SystemMessage
        -> use `from llmcore import Message`, and write Message.system(...), or the setting system=
    ToolMessage -> use `from llmcore import Message`, and write Message.tool(...)
    ChatMessage -> Message
    Response ModelResponse ChatCompletion Completion -> LLMResponse
"""
