"""OpenAI Chat Completions: ids, and the words that both directions of the protocol use.

Tables of the response are read from the API's word to ours, tables of the request from ours to the
API's. Where several of the API's words mean the same, the first is OpenAI's own, the one to write.
Sources, read November 2026: https://platform.openai.com/docs/api-reference/chat, and the documents
of the servers that are named beside their words.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

from llmcore.protocols.tools import OPENAI_TOOL_NAMES, CallIdRule
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.json import JsonObject, JsonValue, NativeObject
from llmcore.schema.native_json import objects, str_or_empty

PROTOCOL_ID: Final = "openai-chat"
API_NAME: Final = "Chat Completions"
METADATA_KEY: Final = "openai"
CALL_IDS: Final = CallIdRule(max_length=40)
"""Chat Completions answers longer ones with `string_above_max_length`, expecting 40."""
TOOL_NAMES: Final = OPENAI_TOOL_NAMES


class ChatBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source:
    https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create
    """

    model: Required[str]
    messages: Required[list[JsonObject]]
    stream: bool
    stream_options: JsonObject
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    response_format: JsonObject
    max_tokens: int
    max_completion_tokens: int
    temperature: float
    top_p: float
    stop: str | list[str]
    seed: int
    presence_penalty: float
    frequency_penalty: float
    logprobs: bool
    top_logprobs: int
    reasoning_effort: str
    metadata: JsonObject
    store: bool
    user: str


# -- parameters

PARAMETERS: Final[Mapping[str, str]] = {
    "max_tokens": "max_completion_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
}
"""Fields of `GenerationOptions`, by their name here; `ChatDialect` renames two of them."""

LEAST: Final[Mapping[str, int]] = {"max_tokens": -1, "top_k": -1}
"""The least values that servers take: -1 stands for no limit at LM Studio, llama.cpp and vLLM."""

LIFETIMES: Final = ("30m",)
"""How long the breakpoints of a request are kept; those of parts may have others. Source: the
`openai` package 3.57.0, `types/chat/completion_create_params` (`PromptCacheOptions`)."""

REQUEST_PATHS: Final[Mapping[str, str]] = {
    "metadata": "metadata",
    "prompt_cache_retention": "cache.retention",
    "random_seed": "generation.seed",
    "reasoning_effort": "reasoning.effort",
}
"""Where the value of a native parameter is in a request; others in `generation`."""

OPTIONAL_PARAMETERS: Final = frozenset({"stream_options"})
"""Parameters without which a request is sent again if a server rejects them by name.

`stream_options` only asks for usage; servers without it answer 400 or 422.
"""

# -- finish reasons and usage

FINISH_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "function_call": "tool_calls",  # the API before tools
    "end_turn": "stop",
    "eos": "stop",  # Together
    "eos_token": "stop",  # Text Generation Inference
    "stop_sequence": "stop",
    "normal": "stop",  # Baidu
    "complete": "stop",  # Cohere, whose words clouds pass on
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "model_context_window_exceeded": "length",  # Z.ai
    "repetition_truncation": "length",  # Xiaomi, Tencent
    "tool_use": "tool_calls",
    "tool_call": "tool_calls",  # Cohere
    "sensitive": "content_filter",  # Z.ai
    "refusal": "content_filter",  # gateways to Anthropic
    "content_filtered": "content_filter",  # Bedrock
    "guardrail_intervened": "content_filter",  # Bedrock
    "safety": "content_filter",  # Gemini's own words, which its endpoint and gateways pass on
    "recitation": "content_filter",
    "language": "content_filter",
    "escalation": "content_filter",
    "model_armor": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "image_safety": "content_filter",
    "image_prohibited_content": "content_filter",
    "image_recitation": "content_filter",
    "error": "error",
    "abort": "error",  # vLLM, SGLang
    "network_error": "error",  # Z.ai
    "timeout": "error",  # Cohere
    "parse_error": "error",  # LMDeploy
    "insufficient_system_resource": "error",  # DeepSeek
    "malformed_function_call": "error",  # Gemini's own words too
    "malformed_response": "error",
    "unexpected_tool_call": "other",
    "too_many_tool_calls": "error",
    "missing_thought_signature": "error",
}
"""`finish_reason`, in lower case with `_` between words. Gemini's endpoint may put one of its words
behind another: `function_call_filter: MALFORMED_FUNCTION_CALL`."""

FINISH_WORDS: Final[tuple[tuple[str, FinishReasonKind], ...]] = (
    (r"filter|moderat|guardrail|safety|toxic|sensitive|block", "content_filter"),
    (r"length|max_|token_limit|context", "length"),
    (r"error|fail|cancel|abort|timeout|time_limit|unavailable", "error"),
)
"""Patterns of finish reasons that are not listed; the first that is found counts. Such as
`output_guardrail_triggered` (Databricks), `time_limit` and `cancelled` (watsonx)."""

USAGE_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "input_tokens": (("prompt_tokens",), ("input_tokens",)),
    "output_tokens": (("completion_tokens",), ("output_tokens",)),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_token_details", "cached_tokens"),  # Writer
        ("input_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),  # DeepSeek
        ("cached_tokens",),  # Moonshot
        ("num_cached_tokens",),  # Mistral
        ("cache_read_input_tokens",),
    ),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),  # OpenAI, OpenRouter
        ("prompt_tokens_details", "cache_creation_input_tokens"),  # Alibaba
        ("cache_creation_input_tokens",),
    ),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
}
"""Fields of `Usage`, by their paths in `usage`: the first one present counts.

Gateways may pass on the names of the Responses API.
"""

# -- lists of pages that a server found

PageLists: TypeAlias = Mapping[str, tuple[tuple[str, ...], str]]
"""Where a field has a list of pages, and the field of a page with its URL."""

PAGES_BESIDE_CHOICES: Final[PageLists] = {
    "search_results": ((), "url"),
    "web_search": ((), "link"),
    "citations": ((), "url"),
    "search_info": (("search_results",), "url"),
    "venice_parameters": (("web_search_citations",), "url"),
}
"""Lists of a chunk, or a body. `search_results` are Perplexity's, `citations` also xAI's.

Sources, read November 2026: https://docs.perplexity.ai/api-reference, https://docs.z.ai/guides/
tools/web-search (`web_search`), https://cloud.tencent.com/document/product/1729/111007 (Hunyuan's
`search_info`), https://docs.venice.ai/api-reference/endpoint/chat/completions.
"""

PAGES_IN_MESSAGES: Final[PageLists] = {
    "web_search_data": (("sources",), "url"),
    "graph_data": (("references", "web"), "url"),
    "context": (("citations",), "url"),
}
"""Lists of a message, or a delta: two of Writer's, and that of Azure's *On Your Data*.

Sources, read November 2026: https://pypi.org/project/writer-sdk (`types/chat_completion_message`),
https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data.
"""

PAGES_OF_TOOLS: Final[PageLists] = {
    "search_results": (("results",), "url"),
    "browser_results": ((), "url"),
}
"""Lists of a tool that Groq ran: https://console.groq.com/docs/agentic-tooling."""

# -- facts of tokens

OF_TOKENS: Final = ("reasoning_logprobs", "token_ids")
"""Fields of a choice that each chunk has for its own tokens: Cerebras's and vLLM's.

Sources: the `cerebras_cloud_sdk` package, 1.91.0 (`ChatChunkResponseChoice`), and
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html (`return_token_ids`).
"""

# -- what must go back with a call

GATHERED_FIELDS: Final = "provider_specific_fields"
"""The field in which LiteLLM gathers what it read in fields that OpenAI does not have."""
CALL_FIELDS: Final = ("extra_content", GATHERED_FIELDS)
"""Fields of a call, or of its function, that go back with it: in them are the thought signatures of
Gemini's endpoint and of LiteLLM's server.

Sources: https://ai.google.dev/gemini-api/docs/thought-signatures (OpenAI compatibility), and
https://docs.litellm.ai/blog/gemini_3.
"""

# -- thinking

REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""Fields of a delta or a message that hold thinking.

`reasoning_content` is DeepSeek's name (also Alibaba's, Moonshot's, Z.ai's and xAI's), `reasoning`
that of OpenRouter, Groq, Cerebras and newer vLLM, `thinking` Ollama's and Snowflake's,
`reasoning_text` GitHub Copilot's.
"""

THINKING_PARTS: Final = ("content", "summary")
"""Marks of thinking that came in parts of the content: Mistral's `thinking` and Databricks'
`reasoning`, which has its `summary`."""


def thinking_delta(part: NativeObject) -> NativeObject:
    """Return a content part of thinking as a delta.

    Sources: the `mistralai` package, 3.7.0, `client/models/thinkchunk` ("signature"), and
    https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
    (`summary_encrypted_text`).
    """
    inner = part.get("thinking") or part.get("summary")
    items = objects(inner)
    text = str_or_empty(inner) or "".join(str_or_empty(item.get("text")) for item in items)
    proofs = (str_or_empty(holder.get("signature")) for holder in (part, *items))
    sealed = [item for item in items if str_or_empty(item.get("data"))]
    signature = next(filter(None, proofs), "")
    delta = {"reasoning": text, "signature": signature, "reasoning_details": sealed}
    return {name: value for name, value in delta.items() if value}


# -- thinking as blocks: OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`

BLOCK_FIELDS: Final = ("reasoning_details", "thinking_blocks")
"""Fields with blocks that must be sent back. LiteLLM's are those of Anthropic; its server accepts
them whatever model is behind it.

Source: https://docs.litellm.ai/docs/reasoning_content, read November 2026.
"""
_WHOLE: Final = ("redacted_thinking", "reasoning.server_tool_call")
"""Types of blocks that come whole. The latter are calls that OpenRouter ran while a model thought:
the `@openrouter/sdk` package, 1.3.19 (`models/reasoningdetailservertoolcall`)."""
_GROWING: Final = ("text", "summary", "data", "thinking")


def are_thinking_blocks(blocks: Iterable[JsonValue]) -> bool:
    """Return whether *blocks* came in `thinking_blocks`, and go back in it."""
    return any(
        isinstance(block, Mapping) and block.get("type") in ("thinking", "redacted_thinking")
        for block in blocks
    )


def merge_details(pieces: Iterable[Any], *, whole: bool = False) -> list[JsonValue]:
    """Join streamed pieces of `reasoning_details` into the blocks that must be sent back.

    Pieces of one block follow each other with the same type, index and id; their text,
    summary and data are joined, other fields set once. A *whole* list has no pieces.
    """
    blocks = [piece for piece in pieces if isinstance(piece, dict)]
    if whole:
        return list(blocks)
    groups: list[list[dict[str, Any]]] = []
    for piece in blocks:
        if groups and _continues(groups[-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [_joined(group) for group in groups]


def proof_in(details: Iterable[JsonValue], name: Literal["signature", "data"]) -> str | None:
    """Return the first signature, or the first data that only the provider can read."""
    proofs = (block.get(name) for block in details if isinstance(block, Mapping))
    return next((proof for proof in proofs if isinstance(proof, str) and proof), None)


def rejoin_details(runs: Iterable[Sequence[Any]]) -> list[JsonValue]:
    """Return the blocks of several segments in a row.

    A block that other content cut in two, as where its signature comes late, is whole again.
    """
    blocks: list[Any] = []
    for run in runs:
        first = run[0] if run else None
        if blocks and isinstance(first, dict) and isinstance(blocks[-1], dict):
            same = first.get("index") is not None and _continues(blocks[-1:], first)
            blocks[-1:] = [_joined([blocks[-1], first])] if same else [blocks[-1], first]
            blocks += run[1:]
        else:
            blocks += run
    return blocks


def _continues(group: Sequence[dict[str, Any]], piece: Mapping[str, Any]) -> bool:
    first = group[0]
    if first.get("type") != piece.get("type") or first.get("index") != piece.get("index"):
        return False
    ids = {str(d["id"]) for d in (first, piece) if d.get("id") is not None}
    if len(ids) > 1 or piece.get("type") in _WHOLE:
        return False
    return piece.get("index") is not None or not group[-1].get("signature")


def _joined(group: Sequence[dict[str, Any]]) -> JsonValue:
    if len(group) == 1:
        return group[0]
    block: dict[str, Any] = {}
    for piece in group:
        for name, value in piece.items():
            if value is not None or name not in block:
                block[name] = value
    last = group[-1]
    for name in _GROWING:
        texts = [piece[name] for piece in group if isinstance(piece.get(name), str)]
        repeats = last.get("signature") and last.get(name) == "".join(texts[:-1])
        if len(texts) > 1 and repeats:
            texts.pop()  # the signed piece may repeat all of the text
        if texts:
            block[name] = "".join(texts)
    return block


# -- reports of calls


def cleaned(name: str) -> Diagnostic:
    """Return the report of a call whose tool's name had marks of a template around it."""
    return Diagnostic(
        "tool-name-cleaned",
        name,
        action="changed",
        message="the server sent the name with marks of the model's template, which are left out",
    )


def repeated(name: str) -> Diagnostic:
    """Return the report of arguments that were repeated."""
    return Diagnostic(
        "repeated-tool-arguments",
        name,
        action="changed",
        message="the server sent the arguments more than once; they are read once",
    )


NO_CALL: Final = Diagnostic(
    "tool-call-missing",
    "tool_choice",
    action="noted",
    message="a tool call was required, but the response has none; it stays text",
)
