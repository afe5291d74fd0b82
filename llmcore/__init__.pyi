# Made by scripts/write_stubs.py from the table in __init__.py: run `make stubs`.

from llmcore import mcp as mcp
from llmcore import sync as sync
from llmcore import testing as testing
from attrs import evolve as evolve
from llmcore.catalog.lookup import list_models as list_models
from llmcore.client.client import Client as Client
from llmcore.client.middleware.call_log import CallLog as CallLog
from llmcore.client.middleware.cost_budget import CostBudget as CostBudget
from llmcore.client.middleware.fallback import Fallback as Fallback
from llmcore.client.middleware.rate_limiter import RateLimiter as RateLimiter
from llmcore.client.middleware.response_cache import ResponseCache as ResponseCache
from llmcore.client.middleware.sqlite_cache import SqliteCache as SqliteCache
from llmcore.client.middleware.usage_hook import UsageHook as UsageHook
from llmcore.folds.response import collect as collect
from llmcore.generation.conversation import Conversation as Conversation
from llmcore.generation.default_client import set_default_client as set_default_client
from llmcore.generation.generate import generate as generate
from llmcore.generation.many import generate_many as generate_many
from llmcore.generation.objects import generate_object as generate_object
from llmcore.generation.objects import stream_object as stream_object
from llmcore.generation.results import GenerateResult as GenerateResult
from llmcore.generation.retrieval import embed as embed
from llmcore.generation.retrieval import embed_many as embed_many
from llmcore.generation.retrieval import rerank as rerank
from llmcore.generation.retry import RetryPolicy as RetryPolicy
from llmcore.generation.stream import StreamResult as StreamResult
from llmcore.generation.stream import stream as stream
from llmcore.generation.tool import Tool as Tool
from llmcore.generation.tool import tool as tool
from llmcore.routes.amazon_bedrock import AmazonBedrock as AmazonBedrock
from llmcore.routes.anthropic import Anthropic as Anthropic
from llmcore.routes.azure import Azure as Azure
from llmcore.routes.chat_servers import Ollama as Ollama
from llmcore.routes.google import Google as Google
from llmcore.routes.local import Local as Local
from llmcore.routes.openai import OpenAI as OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible as OpenAICompatible
from llmcore.routes.openrouter import OpenRouter as OpenRouter
from llmcore.routes.transport_spec import Timeouts as Timeouts
from llmcore.schema.content import AudioPart as AudioPart
from llmcore.schema.content import DocumentPart as DocumentPart
from llmcore.schema.content import ImagePart as ImagePart
from llmcore.schema.content import TextPart as TextPart
from llmcore.schema.diagnostics import Diagnostic as Diagnostic
from llmcore.schema.errors import AuthenticationError as AuthenticationError
from llmcore.schema.errors import ConfigurationError as ConfigurationError
from llmcore.schema.errors import ContextLengthError as ContextLengthError
from llmcore.schema.errors import InvalidRequestError as InvalidRequestError
from llmcore.schema.errors import LLMError as LLMError
from llmcore.schema.errors import NetworkError as NetworkError
from llmcore.schema.errors import ProviderError as ProviderError
from llmcore.schema.errors import RateLimitError as RateLimitError
from llmcore.schema.errors import RequestTimeoutError as RequestTimeoutError
from llmcore.schema.events import Finish as Finish
from llmcore.schema.events import LLMEvent as LLMEvent
from llmcore.schema.events import ReasoningDelta as ReasoningDelta
from llmcore.schema.events import TextDelta as TextDelta
from llmcore.schema.events import ToolCall as ToolCall
from llmcore.schema.messages import Message as Message
from llmcore.schema.model import Model as Model
from llmcore.schema.request import LLMRequest as LLMRequest
from llmcore.schema.request import request as request
from llmcore.schema.response import LLMResponse as LLMResponse
from llmcore.schema.result import Failure as Failure
from llmcore.schema.result import Result as Result
from llmcore.schema.result import Success as Success
from llmcore.schema.tools import ToolChoice as ToolChoice
from llmcore.schema.tools import ToolDefinition as ToolDefinition
from llmcore.schema.usage import Usage as Usage
from llmcore.sessions.sqlite_store import SQLiteStore as SQLiteStore

__version__: str

__all__ = [
    "AmazonBedrock",
    "Anthropic",
    "AudioPart",
    "AuthenticationError",
    "Azure",
    "CallLog",
    "Client",
    "ConfigurationError",
    "ContextLengthError",
    "Conversation",
    "CostBudget",
    "Diagnostic",
    "DocumentPart",
    "Failure",
    "Fallback",
    "Finish",
    "GenerateResult",
    "Google",
    "ImagePart",
    "InvalidRequestError",
    "LLMError",
    "LLMEvent",
    "LLMRequest",
    "LLMResponse",
    "Local",
    "Message",
    "Model",
    "NetworkError",
    "Ollama",
    "OpenAI",
    "OpenAICompatible",
    "OpenRouter",
    "ProviderError",
    "RateLimitError",
    "RateLimiter",
    "ReasoningDelta",
    "RequestTimeoutError",
    "ResponseCache",
    "Result",
    "RetryPolicy",
    "SQLiteStore",
    "SqliteCache",
    "StreamResult",
    "Success",
    "TextDelta",
    "TextPart",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolDefinition",
    "Usage",
    "UsageHook",
    "collect",
    "embed",
    "embed_many",
    "evolve",
    "generate",
    "generate_many",
    "generate_object",
    "list_models",
    "request",
    "rerank",
    "set_default_client",
    "stream",
    "stream_object",
    "tool",
]
