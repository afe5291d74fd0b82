"""OpenAI Responses: ids, and the words that both directions of the protocol use.

Tables of the response are read from the API's word to ours, tables of the request from ours to the
API's. Where several of the API's words mean the same, the first is the one to write. Source:
https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Required, TypedDict

from llmcore.protocols.tools import OPENAI_TOOL_NAMES, CallIdRule
from llmcore.schema.events import FinishReasonKind
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.tools import HostedToolKind

PROTOCOL_ID: Final = "openai-responses"
API_NAME: Final = "the Responses API"
METADATA_KEY: Final = "openai"
CALL_IDS: Final = CallIdRule(max_length=64)
"""The OpenAPI description of `call_id`: 1 to 64 characters."""
TOOL_NAMES: Final = OPENAI_TOOL_NAMES


class ResponsesBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://developers.openai.com/api/reference/resources/responses/methods/create
    """

    model: Required[str]
    input: Required[str | list[JsonObject]]
    instructions: str
    stream: bool
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    text: JsonObject
    reasoning: JsonObject
    max_output_tokens: int
    temperature: float
    top_p: float
    top_logprobs: int
    metadata: JsonObject
    include: list[str]
    store: bool
    previous_response_id: str


# -- parameters

PARAMETERS: Final[Mapping[str, str]] = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_logprobs": "top_logprobs",
    "service_tier": "service_tier",
}
"""Fields of `GenerationOptions`, by their name here."""

LEAST: Final[Mapping[str, int]] = {"max_tokens": 1}
"""The least values that servers of the API take; OpenAI's own takes 16."""

MISSING_PARAMETERS: Final = ("top_k", "stop", "seed", "presence_penalty", "frequency_penalty")
"""Fields of `GenerationOptions` that the API does not have."""

REQUEST_PATHS: Final[Mapping[str, str]] = {
    "instructions": "system",
    "prompt_cache_key": "cache.key",
    "prompt_cache_options": "cache.retention",
    "prompt_cache_retention": "cache.retention",
    "text": "response_format",
    **{native: f"generation.{name}" for name, native in PARAMETERS.items()},
}
"""Where the value of a native parameter is in a request."""

PROVIDER_MEMORY: Final = ("previous_response_id", "conversation", "background")
"""Parameters that use what the provider stores."""

# -- finish reasons and usage

INCOMPLETE_REASONS: Final[Mapping[str, FinishReasonKind]] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "max_tokens": "length",
    "length": "length",  # of Chat Completions, as gateways pass it on
}
"""`incomplete_details.reason`. A completed response does not tell calls from text."""

USAGE_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "input_tokens": (("input_tokens",), ("prompt_tokens",)),
    "output_tokens": (("output_tokens",), ("completion_tokens",)),
    "total_tokens": (("total_tokens",),),
    "cache_read_tokens": (
        ("input_tokens_details", "cached_tokens"),
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cache_read_input_tokens"),  # Perplexity
    ),
    "cache_write_tokens": (
        ("input_tokens_details", "cache_write_tokens"),
        ("input_tokens_details", "cache_creation_input_tokens"),  # Perplexity
    ),
    "reasoning_tokens": (
        ("output_tokens_details", "reasoning_tokens"),
        ("completion_tokens_details", "reasoning_tokens"),
    ),
}
"""Fields of `Usage`, by their paths in `usage`: the first one present counts. Input includes cached
tokens, output reasoning. Servers made from one of Chat Completions may keep the names of that."""

TERMINAL_EVENTS: Final = frozenset(
    {"response.completed", "response.done", "response.incomplete", "response.failed"}
    | {"response.cancelled", "error"}
)
"""Events that no other follows."""

# -- parts of items


@frozen
class PartType:
    """Where parts of one type are, and how their events name them."""

    item: str
    """The type of the item."""
    list: str
    """The item's field that lists them."""
    text: str
    """The field of their text."""
    index: str
    """The field of an event that numbers them."""
    segment: str
    """How the ids of their segments begin."""


PART_TYPES: Final[Mapping[str, PartType]] = {
    "output_text": PartType("message", "content", "text", "content_index", "text"),
    "refusal": PartType("message", "content", "refusal", "content_index", "refusal"),
    "summary_text": PartType("reasoning", "summary", "text", "summary_index", "summary"),
    "reasoning_text": PartType("reasoning", "content", "text", "content_index", "reasoning"),
}
"""Parts that are text, by type."""

TEXT_EVENTS: Final[Mapping[str, str]] = {
    "response.output_text": "output_text",
    "response.refusal": "refusal",
    "response.reasoning_summary_text": "summary_text",
    "response.reasoning_text": "reasoning_text",
    "response.reasoning": "reasoning_text",
}
"""The type of part that a `.delta` or a `.done` event is about, by the event's name before that.

`response.reasoning` is OpenAI's first name of the last one, which other servers still use. Source:
https://learn.microsoft.com/dotnet/api/azure.ai.agentserver.contracts.generated.openai.responsereasoningdeltaevent
"""

# -- calls and tools

NAMED_CALLS: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"})
"""Items that are calls and name their tool."""

CALL_TOOLS: Final[Mapping[str, str]] = {
    "apply_patch_call": "apply_patch",
    "code_interpreter_call": "code_interpreter",
    "computer_call": "computer",
    "file_search_call": "file_search",
    "image_generation_call": "image_generation",
    "local_shell_call": "local_shell",
    "mcp_approval_request": "mcp_approval",
    "mcp_list_tools": "mcp_list_tools",
    "program": "program",
    "shell_call": "shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "x_search_call": "x_search",
}
"""The name of the built-in tool that an item of such a type calls."""

CALL_TYPES: Final = NAMED_CALLS | CALL_TOOLS.keys()

CLIENT_CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call"}
    | {"mcp_approval_request"}
)
"""Calls that the client always runs; `shell_call` and `tool_search_call` state who does."""

OUTPUT_TOOLS: Final[Mapping[str, str]] = {
    "program_output": "program",
    "shell_call_output": "shell",
    "tool_search_output": "tool_search",
}
"""Items that are the result of a call before them, and the tool's name."""

X_SEARCH_IDS: Final = "xs_call"
"""How the `call_id` of a `custom_tool_call` begins that is a search of X, which xAI ran itself.

Its name is that of one kind of search, its input JSON. The client gives no output, and xAI does not
accept the item in the input of later requests. Sources: the `@ai-sdk/xai` package, 5.0.12
(`responses`), https://github.com/router-for-me/CLIProxyAPI/pull/4284,
https://github.com/tetsuo-ai/agenc-core/pull/1448.
"""

AGENT: Final = "agent"
"""The field of an item that names the agent that made it, where a request lets the model have
several (`multi_agent`). `/root` responds; it gives work to the others.

Sources: the `openai` package, 3.57.0 (`types/beta/beta_response_output_item`),
https://developers.openai.com/api/docs/guides/responses-multi-agent.
"""
MULTI_AGENT_HEADERS: Final[Mapping[str, str]] = {"openai-beta": "responses_multi_agent=v1"}
MULTI_AGENT_ITEMS: Final = frozenset(
    {"agent_message", "multi_agent_call", "multi_agent_call_output"}
)
"""Items of the agents' work together, which only requests for several agents take."""

MESSAGE_FIELDS: Final = ("phase", AGENT)
"""Fields of a message that go back with it besides its id and content."""
REASONING_FIELDS: Final = ("format", AGENT)
"""Fields of reasoning that go back with it besides its id, texts and proofs."""
OPAQUE_CALL_FIELDS: Final = frozenset({"thought_signature", "subagent_id", "subagent_items"})
"""Fields of a call that only the server that sent them takes: Perplexity's, of Gemini's calls, and
OpenRouter's, of calls of its subagents, which continue what they did before.

Sources: the `perplexityai` package, 0.46.1 (`types/function_call_output_item`), and the
`openrouter` package, 1.3.84 (`components/functioncallitem`).
"""
CALL_FIELDS: Final = ("namespace", "caller", "async", AGENT, *sorted(OPAQUE_CALL_FIELDS))
"""Fields of a function call that go back with it besides its name, id and arguments."""
OUTPUT_ONLY_FIELDS: Final = frozenset({"created_by"})
"""Fields of items that requests do not take."""
_OF_OUTPUTS: Final = frozenset(
    {"acknowledged_safety_checks", "approval_request_id", "approve", "call_id", "caller"}
    | {"execution", "id", "max_output_length", "output", "reason", "status", "tools", "type"}
)
_READ_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "message": frozenset({"content", "id", "role", "status", "type", *MESSAGE_FIELDS}),
    "reasoning": frozenset(
        {"content", "encrypted_content", "id", "signature", "status", "summary", "type"}
    ).union(REASONING_FIELDS),
    "function_call": frozenset(
        {"arguments", "call_id", "id", "name", "parsed_arguments", "status", "type", *CALL_FIELDS}
    ),
    "custom_tool_call": frozenset(
        {"call_id", "id", "input", "name", "status", "type", *CALL_FIELDS}
    ),
    "mcp_approval_response": _OF_OUTPUTS,
    "output_text": frozenset({"annotations", "logprobs", "parsed", "text", "type"}),
    "text": frozenset({"annotations", "logprobs", "text", "type"}),
    "refusal": frozenset({"refusal", "type"}),
}
"""The fields that are read of items and of parts, by type; other items are kept whole. `parsed` and
`parsed_arguments` are made by OpenAI's SDK of the fields beside them."""


def unread_fields(native: Mapping[str, Any]) -> NativeObject:
    """Return the fields of an item or of a part that are not read, as those of the future.

    They go back with it to the server that sent it, which may need them.
    """
    type_ = native.get("type")
    known = _OF_OUTPUTS if str(type_).endswith("_output") else _READ_FIELDS.get(str(type_))
    if known is None or known.issuperset(native):  # nearly always
        return {}
    return {k: value for k, value in native.items() if k not in known and value is not None}


OUTPUT_ONLY_ITEMS: Final = frozenset(
    {"search_results", "fetch_url_results", "skill_loaded", "advisor_result", "sandbox_results"}
    | {"sandbox_write_file", "sandbox_read_file", "sandbox_edit_file", "sandbox_grep"}
    | {"sandbox_glob", "sandbox_apply_patch", "share_file"}
)
"""Items of Perplexity's that requests do not take: its input has messages and functions alone.

Source: the `perplexityai` package, 0.46.1 (`types/output_item`, `types/input_item_param`).
"""

PAGES_OF_ITEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "search_results": ("results",),
    "fetch_url_results": ("contents",),
    "openrouter:web_search": ("action", "sources"),
    "openrouter:web_fetch": (),
}
"""Where items of Perplexity's and OpenRouter's list the pages that the server found, or are one.

Source of the latter: the `@openrouter/sdk` package, 1.3.19 (`models/outputitems`).
"""

HOSTED_KINDS: Final[Mapping[str, HostedToolKind]] = {
    "web_search": "web_search",
    "web_search_2025_08_26": "web_search",
    "web_search_preview": "web_search",
    "web_search_preview_2025_03_11": "web_search",
    "file_search": "file_search",
    "code_interpreter": "code_execution",
    "image_generation": "image_generation",
    "computer": "computer_use",
    "computer_use_preview": "computer_use",
    "mcp": "mcp",
    "shell": "shell",
    "tool_search": "tool_search",
    "programmatic_tool_calling": "raw",
}
"""The kinds of the tools that the provider runs, by `type`."""

COMPACTING_PROVIDERS: Final = frozenset({"azure", "openai"})
"""Providers whose servers shorten a conversation themselves, on a `compaction_trigger`.

Source: https://developers.openai.com/api/reference/resources/responses/methods/compact, read
November 2026.
"""

# -- error codes

PREVIOUS_NOT_FOUND: Final = "previous_response_not_found"
"""The server has forgotten the response that was to be continued; nothing was begun."""
SOCKET_TOO_OLD: Final = "websocket_connection_limit_reached"
"""The socket has reached its maximum age; nothing was begun."""

REJECTED_REASONING: Final = re.compile(
    r"invalid_encrypted_content"
    r"|encrypted[ _]content\b.*\b(could not be (verified|decrypted)|did not match|was not issued)",
    re.IGNORECASE | re.DOTALL,
)
"""How an error, by its code or its message, states that encrypted reasoning cannot be read.

It is good only for the account, organization and deployment it came from. Proxies replace the
code by a number and keep the message. Sources:
https://developers.openai.com/api/docs/guides/reasoning (encrypted reasoning items),
https://github.com/anomalyco/opencode/issues/49116 (Meta: "reasoning `encrypted_content` was not
issued to this caller").
"""
