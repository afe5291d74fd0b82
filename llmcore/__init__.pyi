# Made by scripts/write_stubs.py from the table in __init__.py: run `make stubs`.

from attrs import evolve as evolve
from llmcore.catalog.cost import cost_of as cost_of
from llmcore.catalog.lookup import get_latest_model as get_latest_model
from llmcore.catalog.lookup import get_model_info as get_model_info
from llmcore.catalog.lookup import list_models as list_models
from llmcore.catalog.model_info import ModelInfo as ModelInfo
from llmcore.catalog.model_info import Prices as Prices
from llmcore.catalog.model_info import Rates as Rates
from llmcore.client.client import Client as Client
from llmcore.client.event_stream import EventStream as EventStream
from llmcore.client.http.options import HttpOptions as HttpOptions
from llmcore.client.middleware import Middleware as Middleware
from llmcore.client.middleware import Next as Next
from llmcore.client.middleware.call_log import CallLog as CallLog
from llmcore.client.middleware.circuit_breaker import CircuitBreaker as CircuitBreaker
from llmcore.client.middleware.clock import Clock as Clock
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit as ConcurrencyLimit
from llmcore.client.middleware.cost_budget import CostBudget as CostBudget
from llmcore.client.middleware.fallback import Fallback as Fallback
from llmcore.client.middleware.memory_cache import CacheStore as CacheStore
from llmcore.client.middleware.memory_cache import MemoryCache as MemoryCache
from llmcore.client.middleware.rate_limiter import RateLimiter as RateLimiter
from llmcore.client.middleware.response_cache import ResponseCache as ResponseCache
from llmcore.client.middleware.sqlite_cache import SqliteCache as SqliteCache
from llmcore.client.middleware.telemetry import Telemetry as Telemetry
from llmcore.client.middleware.usage_hook import CallUsage as CallUsage
from llmcore.client.middleware.usage_hook import UsageHook as UsageHook
from llmcore.folds.response import Accumulator as Accumulator
from llmcore.folds.response import collect as collect
from llmcore.generation.abort import AbortController as AbortController
from llmcore.generation.abort import AbortSignal as AbortSignal
from llmcore.generation.conversation import Conversation as Conversation
from llmcore.generation.generate import generate as generate
from llmcore.generation.many import generate_many as generate_many
from llmcore.generation.objects import StreamObjectResult as StreamObjectResult
from llmcore.generation.objects import generate_object as generate_object
from llmcore.generation.objects import stream_object as stream_object
from llmcore.generation.results import GenerateResult as GenerateResult
from llmcore.generation.results import StepResult as StepResult
from llmcore.generation.results import has_tool_call as has_tool_call
from llmcore.generation.results import step_count_is as step_count_is
from llmcore.generation.retry import RetryPolicy as RetryPolicy
from llmcore.generation.retry import retry as retry
from llmcore.generation.settings import NextStep as NextStep
from llmcore.generation.settings import set_default_client as set_default_client
from llmcore.generation.stream import StreamResult as StreamResult
from llmcore.generation.stream import stream as stream
from llmcore.generation.tool import Tool as Tool
from llmcore.generation.tool import ToolFailure as ToolFailure
from llmcore.generation.tool import tool as tool
from llmcore.protocols.openai_chat.models import ChatDialect as ChatDialect
from llmcore.routes.amazon_bedrock import AmazonBedrock as AmazonBedrock
from llmcore.routes.anthropic import Anthropic as Anthropic
from llmcore.routes.anthropic import AnthropicCompatible as AnthropicCompatible
from llmcore.routes.auth import Auth as Auth
from llmcore.routes.azure import Azure as Azure
from llmcore.routes.chat_providers import Baseten as Baseten
from llmcore.routes.chat_providers import Cerebras as Cerebras
from llmcore.routes.chat_providers import DeepInfra as DeepInfra
from llmcore.routes.chat_providers import DeepSeek as DeepSeek
from llmcore.routes.chat_providers import Fireworks as Fireworks
from llmcore.routes.chat_providers import Groq as Groq
from llmcore.routes.chat_providers import HuggingFace as HuggingFace
from llmcore.routes.chat_providers import Mistral as Mistral
from llmcore.routes.chat_providers import Moonshot as Moonshot
from llmcore.routes.chat_providers import Perplexity as Perplexity
from llmcore.routes.chat_providers import Together as Together
from llmcore.routes.chat_providers import ZAI as ZAI
from llmcore.routes.chat_servers import LMStudio as LMStudio
from llmcore.routes.chat_servers import LlamaCpp as LlamaCpp
from llmcore.routes.chat_servers import Ollama as Ollama
from llmcore.routes.chat_servers import VLLM as VLLM
from llmcore.routes.cloudflare import CloudflareAIGateway as CloudflareAIGateway
from llmcore.routes.cloudflare import CloudflareWorkersAI as CloudflareWorkersAI
from llmcore.routes.endpoint import Endpoint as Endpoint
from llmcore.routes.framing import Framing as Framing
from llmcore.routes.github_copilot import GithubCopilot as GithubCopilot
from llmcore.routes.google import Google as Google
from llmcore.routes.local import Local as Local
from llmcore.routes.openai import OpenAI as OpenAI
from llmcore.routes.openai_compatible import OpenAICompatible as OpenAICompatible
from llmcore.routes.openrouter import OpenRouter as OpenRouter
from llmcore.routes.openrouter import OpenRouterRouting as OpenRouterRouting
from llmcore.routes.provider import Provider as Provider
from llmcore.routes.route import ModelLimits as ModelLimits
from llmcore.routes.route import PreparedRequest as PreparedRequest
from llmcore.routes.route import Route as Route
from llmcore.routes.route import RouteDefaults as RouteDefaults
from llmcore.routes.transport import Timeouts as Timeouts
from llmcore.routes.vertex import Vertex as Vertex
from llmcore.routes.xai import XAI as XAI
from llmcore.schema.codec import from_json as from_json
from llmcore.schema.codec import to_json as to_json
from llmcore.schema.content import AudioPart as AudioPart
from llmcore.schema.content import Citation as Citation
from llmcore.schema.content import ContentPart as ContentPart
from llmcore.schema.content import DocumentPart as DocumentPart
from llmcore.schema.content import ImagePart as ImagePart
from llmcore.schema.content import ProviderPart as ProviderPart
from llmcore.schema.content import ReasoningPart as ReasoningPart
from llmcore.schema.content import RefusalPart as RefusalPart
from llmcore.schema.content import TextPart as TextPart
from llmcore.schema.content import TokenLogprob as TokenLogprob
from llmcore.schema.content import ToolCallPart as ToolCallPart
from llmcore.schema.content import ToolResultPart as ToolResultPart
from llmcore.schema.content import cached as cached
from llmcore.schema.diagnostics import Diagnostic as Diagnostic
from llmcore.schema.errors import AbortError as AbortError
from llmcore.schema.errors import AccessDeniedError as AccessDeniedError
from llmcore.schema.errors import AuthenticationError as AuthenticationError
from llmcore.schema.errors import ConfigurationError as ConfigurationError
from llmcore.schema.errors import ContentFilterError as ContentFilterError
from llmcore.schema.errors import ContextLengthError as ContextLengthError
from llmcore.schema.errors import InvalidRequestError as InvalidRequestError
from llmcore.schema.errors import InvalidToolCallError as InvalidToolCallError
from llmcore.schema.errors import LLMError as LLMError
from llmcore.schema.errors import NetworkError as NetworkError
from llmcore.schema.errors import NoObjectGeneratedError as NoObjectGeneratedError
from llmcore.schema.errors import NotFoundError as NotFoundError
from llmcore.schema.errors import OverloadedError as OverloadedError
from llmcore.schema.errors import ProviderError as ProviderError
from llmcore.schema.errors import QuotaExceededError as QuotaExceededError
from llmcore.schema.errors import RateLimitError as RateLimitError
from llmcore.schema.errors import RequestTimeoutError as RequestTimeoutError
from llmcore.schema.errors import ServerError as ServerError
from llmcore.schema.errors import StreamError as StreamError
from llmcore.schema.errors import UnsupportedToolChoiceError as UnsupportedToolChoiceError
from llmcore.schema.events import ErrorEvent as ErrorEvent
from llmcore.schema.events import EventType as EventType
from llmcore.schema.events import File as File
from llmcore.schema.events import Finish as Finish
from llmcore.schema.events import FinishReason as FinishReason
from llmcore.schema.events import LLMEvent as LLMEvent
from llmcore.schema.events import ProviderEvent as ProviderEvent
from llmcore.schema.events import ReasoningDelta as ReasoningDelta
from llmcore.schema.events import ReasoningEnd as ReasoningEnd
from llmcore.schema.events import ReasoningStart as ReasoningStart
from llmcore.schema.events import Source as Source
from llmcore.schema.events import StepFinish as StepFinish
from llmcore.schema.events import StepStart as StepStart
from llmcore.schema.events import StreamStart as StreamStart
from llmcore.schema.events import TextDelta as TextDelta
from llmcore.schema.events import TextEnd as TextEnd
from llmcore.schema.events import TextStart as TextStart
from llmcore.schema.events import ToolCall as ToolCall
from llmcore.schema.events import ToolError as ToolError
from llmcore.schema.events import ToolInputDelta as ToolInputDelta
from llmcore.schema.events import ToolInputEnd as ToolInputEnd
from llmcore.schema.events import ToolInputStart as ToolInputStart
from llmcore.schema.events import ToolResult as ToolResult
from llmcore.schema.messages import Message as Message
from llmcore.schema.messages import Origin as Origin
from llmcore.schema.messages import Role as Role
from llmcore.schema.model import Model as Model
from llmcore.schema.options import CachePolicy as CachePolicy
from llmcore.schema.options import GenerationOptions as GenerationOptions
from llmcore.schema.options import HttpOverlay as HttpOverlay
from llmcore.schema.options import ReasoningOptions as ReasoningOptions
from llmcore.schema.options import ResponseFormat as ResponseFormat
from llmcore.schema.request import LLMRequest as LLMRequest
from llmcore.schema.request import request as request
from llmcore.schema.response import LLMResponse as LLMResponse
from llmcore.schema.result import Failure as Failure
from llmcore.schema.result import Result as Result
from llmcore.schema.result import Success as Success
from llmcore.schema.tools import CustomTool as CustomTool
from llmcore.schema.tools import Grammar as Grammar
from llmcore.schema.tools import HostedTool as HostedTool
from llmcore.schema.tools import ToolChoice as ToolChoice
from llmcore.schema.tools import ToolDefinition as ToolDefinition
from llmcore.schema.usage import RateLimitInfo as RateLimitInfo
from llmcore.schema.usage import Usage as Usage
from llmcore.sessions.contract.assembly import Assembler as Assembler
from llmcore.sessions.contract.assembly import assemble as assemble
from llmcore.sessions.contract.delta_fold import DeltaFold as DeltaFold
from llmcore.sessions.contract.delta_fold import to_deltas as to_deltas
from llmcore.sessions.contract.deltas import MessageDelta as MessageDelta
from llmcore.sessions.contract.entries import EntryFileRef as EntryFileRef
from llmcore.sessions.contract.entries import EntryImage as EntryImage
from llmcore.sessions.contract.entries import EntryText as EntryText
from llmcore.sessions.contract.entries import EntryThinking as EntryThinking
from llmcore.sessions.contract.entries import EntryToolCall as EntryToolCall
from llmcore.sessions.contract.entries import EntryToolResult as EntryToolResult
from llmcore.sessions.contract.entries import MessageEntry as MessageEntry
from llmcore.sessions.contract.errors import ContractError as ContractError
from llmcore.sessions.contract.run_rules import check_run as check_run
from llmcore.sessions.conversion import answer_entries as answer_entries
from llmcore.sessions.conversion import to_entries as to_entries
from llmcore.sessions.conversion import to_messages as to_messages
from llmcore.sessions.memory_store import MemoryStore as MemoryStore
from llmcore.sessions.redis_store import RedisStore as RedisStore
from llmcore.sessions.sqlite_store import SQLiteStore as SQLiteStore
from llmcore.sessions.store import RunInfo as RunInfo
from llmcore.sessions.store import SeqConflictError as SeqConflictError
from llmcore.sessions.store import SessionStore as SessionStore
from llmcore.sessions.store import SessionStoreError as SessionStoreError
from llmcore.sessions.store import StoredEntry as StoredEntry

__version__: str

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "AccessDeniedError",
    "Accumulator",
    "AmazonBedrock",
    "Anthropic",
    "AnthropicCompatible",
    "Assembler",
    "AudioPart",
    "Auth",
    "AuthenticationError",
    "Azure",
    "Baseten",
    "CachePolicy",
    "CacheStore",
    "CallLog",
    "CallUsage",
    "Cerebras",
    "ChatDialect",
    "CircuitBreaker",
    "Citation",
    "Client",
    "Clock",
    "CloudflareAIGateway",
    "CloudflareWorkersAI",
    "ConcurrencyLimit",
    "ConfigurationError",
    "ContentFilterError",
    "ContentPart",
    "ContextLengthError",
    "ContractError",
    "Conversation",
    "CostBudget",
    "CustomTool",
    "DeepInfra",
    "DeepSeek",
    "DeltaFold",
    "Diagnostic",
    "DocumentPart",
    "Endpoint",
    "EntryFileRef",
    "EntryImage",
    "EntryText",
    "EntryThinking",
    "EntryToolCall",
    "EntryToolResult",
    "ErrorEvent",
    "EventStream",
    "EventType",
    "Failure",
    "Fallback",
    "File",
    "Finish",
    "FinishReason",
    "Fireworks",
    "Framing",
    "GenerateResult",
    "GenerationOptions",
    "GithubCopilot",
    "Google",
    "Grammar",
    "Groq",
    "HostedTool",
    "HttpOptions",
    "HttpOverlay",
    "HuggingFace",
    "ImagePart",
    "InvalidRequestError",
    "InvalidToolCallError",
    "LLMError",
    "LLMEvent",
    "LLMRequest",
    "LLMResponse",
    "LMStudio",
    "LlamaCpp",
    "Local",
    "MemoryCache",
    "MemoryStore",
    "Message",
    "MessageDelta",
    "MessageEntry",
    "Middleware",
    "Mistral",
    "Model",
    "ModelInfo",
    "ModelLimits",
    "Moonshot",
    "NetworkError",
    "Next",
    "NextStep",
    "NoObjectGeneratedError",
    "NotFoundError",
    "Ollama",
    "OpenAI",
    "OpenAICompatible",
    "OpenRouter",
    "OpenRouterRouting",
    "Origin",
    "OverloadedError",
    "Perplexity",
    "PreparedRequest",
    "Prices",
    "Provider",
    "ProviderError",
    "ProviderEvent",
    "ProviderPart",
    "QuotaExceededError",
    "RateLimitError",
    "RateLimitInfo",
    "RateLimiter",
    "Rates",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReasoningOptions",
    "ReasoningPart",
    "ReasoningStart",
    "RedisStore",
    "RefusalPart",
    "RequestTimeoutError",
    "ResponseCache",
    "ResponseFormat",
    "Result",
    "RetryPolicy",
    "Role",
    "Route",
    "RouteDefaults",
    "RunInfo",
    "SQLiteStore",
    "SeqConflictError",
    "ServerError",
    "SessionStore",
    "SessionStoreError",
    "Source",
    "SqliteCache",
    "StepFinish",
    "StepResult",
    "StepStart",
    "StoredEntry",
    "StreamError",
    "StreamObjectResult",
    "StreamResult",
    "StreamStart",
    "Success",
    "Telemetry",
    "TextDelta",
    "TextEnd",
    "TextPart",
    "TextStart",
    "Timeouts",
    "Together",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "ToolCallPart",
    "ToolChoice",
    "ToolDefinition",
    "ToolError",
    "ToolFailure",
    "ToolInputDelta",
    "ToolInputEnd",
    "ToolInputStart",
    "ToolResult",
    "ToolResultPart",
    "UnsupportedToolChoiceError",
    "Usage",
    "UsageHook",
    "VLLM",
    "Vertex",
    "XAI",
    "ZAI",
    "answer_entries",
    "assemble",
    "cached",
    "check_run",
    "collect",
    "cost_of",
    "evolve",
    "from_json",
    "generate",
    "generate_many",
    "generate_object",
    "get_latest_model",
    "get_model_info",
    "has_tool_call",
    "list_models",
    "request",
    "retry",
    "set_default_client",
    "step_count_is",
    "stream",
    "stream_object",
    "to_deltas",
    "to_entries",
    "to_json",
    "to_messages",
    "tool",
]
