"""The settings of `generate` and `stream`.

`Settings` is what type checkers and editors see; `RunPlan` is the same as a value, with the
defaults, checked.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, get_args

from attrs import evolve, field, fields_dict
from attrs.validators import deep_iterable

from llmcore.client.client import Client
from llmcore.client.configured_models import prompt_as_model
from llmcore.foreign_names import hint_table
from llmcore.generation.abort import AbortSignal
from llmcore.generation.approvals import Approvals
from llmcore.generation.arguments import RepairToolCall
from llmcore.generation.default_client import AnyClient, client_behind, default_client
from llmcore.generation.execution import AnyTool, ToolErrors
from llmcore.generation.handler import name_of
from llmcore.generation.limits import RunLimits
from llmcore.generation.next_step import (
    GivenTool,
    PrepareStep,
    ToolInput,
    current_tools,
    definitions_of,
    tools_of,
)
from llmcore.generation.results import StopCondition
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.setting_checks import (
    INSTEAD_IN_CALLS,
    are_functions,
    is_a,
    is_a_model,
    is_count,
    is_function,
    refuse_unknown,
    sequence_of,
)
from llmcore.generation.tool import Tool
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import MessageInput
from llmcore.schema.model import Model
from llmcore.schema.options import (
    CacheInput,
    CachePolicy,
    FormatInput,
    GenerationOptions,
    HttpOverlay,
    ReasoningInput,
    ReasoningOptions,
    ResponseFormat,
    as_cache_policy,
    as_reasoning_options,
    as_response_format,
)
from llmcore.schema.request import LLMRequest, SystemInput, request
from llmcore.schema.tools import HostedTool, ToolChoice, ToolChoiceInput, as_tool_choice


class Settings(TypedDict, total=False):
    """All settings of `generate` and `stream` besides model and prompt."""

    messages: Sequence[MessageInput] | None
    """A conversation, instead of a prompt."""
    request: LLMRequest | None
    """An existing request, instead of a model, a prompt and the settings that describe one.
    `tools` are added to it; one of the same name replaces its definition."""
    system: SystemInput | None
    """Instructions that come before all messages: text, or parts."""
    provider: str | None
    """The provider of a model that is given by its id."""
    tools: Sequence[ToolInput] | None
    """Functions and tools that the model may call."""
    tool_choice: ToolChoiceInput | None
    """Whether the model may, must or must not call tools, or which one it must call."""
    parallel_tool_calls: bool | None
    """Whether the model may make several calls in one step; None leaves it to the provider."""
    max_tool_rounds: int
    """How often tools may be run and their results sent back; 0 returns all calls."""
    stop_when: StopCondition | Sequence[StopCondition]
    """Functions of the steps so far; the run ends when one returns True."""
    prepare_step: PrepareStep | None
    """A function that may change the model, messages, tools, instructions and options of each
    step."""
    repair_tool_call: RepairToolCall | None
    """A function that may return a corrected call for an invalid one."""
    tool_errors: ToolErrors
    """Whether the exceptions of tools go to the model ("send") or end the run ("raise")."""
    tool_context: object
    """The value of the parameter `context` of tools."""
    approvals: Approvals | None
    """Decisions, by call id, on the pending calls at the end of `messages`."""
    approval_secret: str | bytes | None
    """The key that signs approvals: a call is then approved only by its token from
    `approval_tokens`, which is valid for that call and that definition of the tool."""
    limits: RunLimits | None
    """The most requests, tokens, cost, tool calls and seconds that the run may use."""
    validation_retries: int
    """How often a run may ask again after an object or tool arguments failed validation. With 0,
    invalid arguments use up a round of tools."""
    response_format: FormatInput | None
    """Plain text, JSON, or JSON that fits a schema."""
    temperature: float | None
    """How random the choice of tokens is; 0 is the least random."""
    top_p: float | None
    """Only the most probable tokens, whose probabilities add up to this, are considered."""
    max_tokens: int | None
    """The most tokens to generate in one step; without it, Claude's API gets 4096."""
    stop: str | Sequence[str]
    """Texts at which the model stops."""
    top_k: int | None
    """Only this many of the most probable tokens are considered."""
    seed: int | None
    """Makes sampling repeatable, as far as the provider supports it."""
    presence_penalty: float | None
    """Makes tokens that occurred before less likely; usually -2 to 2."""
    frequency_penalty: float | None
    """Makes tokens less likely the more often they occurred; usually -2 to 2."""
    logprobs: bool | None
    """Whether to return the log probabilities of the tokens."""
    top_logprobs: int | None
    """How many alternatives to return for each token."""
    service_tier: str | None
    """How the request is processed and billed, such as "flex" (slower, cheaper) or "priority"."""
    generation: GenerationOptions | None
    """All sampling options as one value, instead of the settings of the same names."""
    reasoning_effort: str | None
    """How much the model reasons, such as "low" or "high"; short for `reasoning`."""
    reasoning: ReasoningInput | None
    """Effort, token budget and summary of reasoning."""
    cache: CacheInput | None
    """Prompt caching: automatic by default."""
    metadata: Mapping[str, str] | None
    """Labels for the provider's dashboards, where it takes them."""
    provider_options: Mapping[str, JsonObject] | None
    """Native fields of the body, by provider id; other providers ignore them."""
    http: HttpOverlay | None
    """Headers, query parameters and body fields that replace those of the request."""
    strict: bool
    """Whether a request that would lose or change something fails before it is sent."""
    max_retries: int | None
    """Retries of one call of the model; 2 if neither this nor `retry_policy` is given."""
    retry_policy: RetryPolicy | None
    """Delays, and which errors are retried."""
    fallbacks: Sequence[Model | str]
    """Models that answer if the model fails, in this order, such as "anthropic:claude-opus-5";
    `Fallback`, a middleware, has more options."""
    timeout: float | Timeouts | None
    """Seconds for the whole run, or all limits; None takes the client's."""
    abort_signal: AbortSignal | None
    """The signal of an `AbortController`, which can end the run from any thread."""
    raw: bool
    """Whether events have their `native` frame, and responses the `raw` document."""
    client: AnyClient | None
    """The client that sends the requests, blocking or not; None takes the default client."""


def _conditions(given: StopCondition | Sequence[StopCondition] | None) -> tuple[StopCondition, ...]:
    return (given,) if callable(given) else sequence_of("stop_when", given)


def _models(given: Sequence[Model | str] | Model | str | None) -> tuple[Model | str, ...]:
    return (given,) if isinstance(given, Model | str) else sequence_of("fallbacks", given)


_FORMATS: Final = (
    "a ResponseFormat, such as ResponseFormat.json(); for values of a type call generate_object"
)
_A_REQUEST = is_a(LLMRequest, instead="an LLMRequest")
_A_CHOICE = is_a(ToolChoice, instead="a ToolChoice, such as ToolChoice.auto()")
_A_FORMAT = is_a(ResponseFormat, instead=_FORMATS)
_APPROVALS = is_a(Mapping, instead="a dict, such as {call.id: True}")
_A_POLICY = is_a(RetryPolicy, instead="a RetryPolicy")
_A_LIMIT = is_a(int, float, Timeouts, instead="seconds or Timeouts(total=...)")
_A_SIGNAL = is_a(AbortSignal, instead="the signal of an AbortController, its .signal")
_A_RUN_LIMIT = is_a(RunLimits, instead="a RunLimits, such as RunLimits(tokens=...)")
_A_CLIENT = is_a(Client, instead="an llmcore.Client")


def _secret(given: str | bytes | None) -> bytes | None:
    """Return *given* as bytes; InvalidRequestError if it is empty or of another type."""
    secret = given.encode() if isinstance(given, str) else given
    if secret is not None and (not isinstance(secret, bytes) or not secret):
        raise InvalidRequestError("approval_secret must be text or bytes, and not empty")
    return secret


def _send_or_raise(_plan: object, _attribute: object, value: str) -> None:
    if value not in get_args(ToolErrors):
        raise InvalidRequestError(f'tool_errors must be "send" or "raise", not {value!r}')


@frozen(kw_only=True)
class RunPlan:
    """The settings of a run, checked. Contradictions raise InvalidRequestError."""

    model: Model | str | None = field(default=None, validator=is_a_model)
    prompt: str | None = None
    messages: Sequence[MessageInput] | None = None
    request: LLMRequest | None = field(default=None, validator=_A_REQUEST)
    system: SystemInput | None = None
    provider: str | None = None
    tools: tuple[GivenTool, ...] = field(default=(), converter=tools_of)
    tool_choice: ToolChoice | None = field(
        default=None, converter=as_tool_choice, validator=_A_CHOICE
    )
    parallel_tool_calls: bool | None = None
    max_tool_rounds: int = field(default=1, validator=is_count)
    stop_when: tuple[StopCondition, ...] = field(
        default=(), converter=_conditions, validator=are_functions
    )
    prepare_step: PrepareStep | None = field(default=None, validator=is_function)
    repair_tool_call: RepairToolCall | None = field(default=None, validator=is_function)
    tool_errors: ToolErrors = field(default="send", validator=_send_or_raise)
    tool_context: object = None
    approvals: Approvals | None = field(default=None, validator=_APPROVALS)
    approval_secret: bytes | None = field(default=None, converter=_secret, repr=False)
    limits: RunLimits | None = field(default=None, validator=_A_RUN_LIMIT)
    validation_retries: int = field(default=0, validator=is_count)
    response_format: ResponseFormat | None = field(
        default=None, converter=as_response_format, validator=_A_FORMAT
    )
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: str | Sequence[str] = ()
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    service_tier: str | None = None
    generation: GenerationOptions | None = None
    reasoning_effort: str | None = None
    reasoning: ReasoningOptions | None = field(default=None, converter=as_reasoning_options)
    cache: CachePolicy | None = field(default=None, converter=as_cache_policy)
    metadata: Mapping[str, str] | None = None
    provider_options: Mapping[str, JsonObject] | None = None
    http: HttpOverlay | None = None
    strict: bool = False
    max_retries: int | None = None
    retry_policy: RetryPolicy | None = field(default=None, validator=_A_POLICY)
    fallbacks: tuple[Model | str, ...] = field(
        default=(), converter=_models, validator=deep_iterable(is_a_model)
    )
    timeout: float | Timeouts | None = field(default=None, validator=_A_LIMIT)
    abort_signal: AbortSignal | None = field(default=None, validator=_A_SIGNAL)
    raw: bool = False
    client: Client | None = field(default=None, converter=client_behind, validator=_A_CLIENT)

    def __attrs_post_init__(self) -> None:
        for tool in self.tools:
            handler = tool.handler if isinstance(tool, Tool) else None
            if handler is not None and not handler.accepts_context(self.tool_context):
                kind = shown_kind(self.tool_context)
                expected = getattr(handler.context_type, "__name__", str(handler.context_type))
                raise InvalidRequestError(
                    f"tool_context must be a {expected}, not {kind}: the parameter 'context' of "
                    f"{name_of(handler.function)} gets it; rename it if the model is to fill it"
                )

    def first_request(self) -> LLMRequest:
        """Return the request of the first step."""
        if self.request is not None:
            self._reject_descriptions()
            return evolve(self.request, tools=definitions_of(self.offered_tools()))
        described = {name: getattr(self, name) for name in _DESCRIPTIONS}
        described["model"] = self.model or ""  # empty: the provider's newest model
        return request(**described, tools=definitions_of(current_tools(self.tools)))

    def with_request(self, request: LLMRequest) -> "RunPlan":
        """Return the plan with *request* in place of the settings that describe one."""
        defaults: dict[str, Any] = {
            name: fields_dict(RunPlan)[name].default for name in _DESCRIPTIONS
        }
        return evolve(self, **{**defaults, "request": request})

    def offered_tools(self) -> tuple[AnyTool, ...]:
        """Return the tools of the next step: the request's, and those of the settings."""
        tools = current_tools(self.tools)
        if self.request is None:
            return tools
        by_name = {tool.name: tool for tool in tools if not isinstance(tool, HostedTool)}
        named = (
            item if isinstance(item, HostedTool) else by_name.pop(item.name, item)
            for item in self.request.tools
        )
        of_request = tuple(named)
        return (*of_request, *(tool for tool in tools if tool not in of_request))

    def _reject_descriptions(self) -> None:
        """Raise InvalidRequestError for settings that belong to the given request."""
        given = [
            name
            for name, attribute in fields_dict(RunPlan).items()
            if name in _DESCRIPTIONS and getattr(self, name) != attribute.default
        ]
        if given:
            raise InvalidRequestError(
                f"give either request or {', '.join(given)}, and not both: "
                "change the request with evolve(request, ...)"
            )

    def policy(self) -> RetryPolicy:
        """Return the retry policy."""
        if self.retry_policy is None:
            count = self.max_retries
            return RetryPolicy() if count is None else RetryPolicy(max_retries=count)
        if self.max_retries is not None:
            raise InvalidRequestError("give either max_retries or retry_policy, and not both")
        return self.retry_policy

    def ready_client(self) -> Client:
        """Return the client of the run."""
        client = self.client or default_client()
        if not self.fallbacks:
            return client
        from llmcore.client.middleware.fallback import Fallback  # most runs have none

        return client.with_middleware(Fallback(*self.fallbacks))


_DESCRIPTIONS: Final = frozenset(inspect.signature(request).parameters) - {"tools"}
"""The settings that belong to a request, as opposed to those of a run."""

_NATIVE: Final = "write provider_options={PROVIDER: {...}} for native fields"

_INSTEAD: Final = INSTEAD_IN_CALLS | hint_table(
    """
    retry retries -> write max_retries=3, or retry_policy=RetryPolicy(...)
    stop_sequences stop_words stop_token -> stop
    max_output_tokens max_completion_tokens max_new_tokens num_predict -> max_tokens
    instructions system_instruction system_message system_prompt -> system
    input content -> prompt
    custom_llm_provider -> provider
    function_call -> tool_choice
    cache_control -> cache
    history chat_history contents -> messages
    functions -> tools
    deps context -> tool_context
    model_settings config generation_config options
        -> write its settings one by one, such as temperature=...
    drop_params -> not needed: what is left out is listed in result.diagnostics
    mock_response -> use FakeModel of llmcore.testing
    max_steps max_turns max_iterations automatic_function_calling -> max_tool_rounds
    output_format -> response_format
    thinking thinking_config thinking_level think -> reasoning
    effort -> reasoning_effort
    cancel_token -> abort_signal
    raw_response -> raw
    prompt_cache_key -> write cache=CachePolicy(key=...)
    prompt_cache_retention -> write cache=CachePolicy(retention=...)
    cached_content -> write cache=CachePolicy(content=...)
    max_tool_calls -> write limits=RunLimits(tool_calls=...)
    max_requests request_limit -> write limits=RunLimits(requests=...)
    mcp_servers -> give them in tools: tools=[servers] within `async with McpServers({...})`
    user -> write metadata={'user_id': ...}
    extra_body -> write http=HttpOverlay(body=...)
    extra_headers headers -> write http=HttpOverlay(headers=...)
    extra_query query -> write http=HttpOverlay(query=...)
    on_token on_chunk on_event on_text on_delta
        -> iterate over the `text_stream` of llmcore.stream, or of llmcore.sync.stream
    streaming stream -> call llmcore.stream, or llmcore.sync.stream
    async_ is_async -> llmcore.generate is awaited; llmcore.sync blocks
    session session_id conversation conversation_id memory thread_id
        -> hold a Conversation: chat.generate(model, prompt)
    budget max_budget max_cost -> give the client one: Client(middleware=[CostBudget(usd=...)])
    tags labels run_name trace_id -> write metadata={NAME: text}
    prompt_template variables template -> insert the values into the prompt yourself
    thinking_budget budget_tokens -> write reasoning=ReasoningOptions(budget_tokens=...)
    rate_limit rate_limits rpm tpm
        -> give the client one: Client(middleware=[RateLimiter(requests_per_minute=...)])
    tool_timeout -> write it at each tool: @tool(timeout=...)
    previous_response_id -> continue with messages=[*result.messages, Message.user(...)]
    text -> the prompt is prompt=..., a format of the response response_format='json'
    format json_mode json -> write response_format='json'
    n best_of candidate_count num_choices -> call generate once for each response
    schema json_schema response_model response_schema output_type result_type text_format
        -> call generate_object(model, prompt, schema=...)
    image images files file attachments documents
        -> give parts: messages=[Message.user('...', ImagePart.of('photo.png'))]
    middleware callbacks callback hooks -> give it to the client: Client(middleware=[...])
    web_search web_search_options search google_search grounding
        -> give a tool of the provider: tools=[HostedTool.web_search()]
    verbose debug -> set the variable LLMCORE_LOG=debug, or use the middleware CallLog
    store modalities response_modalities min_tokens min_p repetition_penalty
        -> write provider_options={PROVIDER: {...}} for native fields
    """
)
"""The names that settings have in other libraries, with the setting or what to do instead."""


def plan_of(
    function: str, model: Model | str | None, prompt: str | None, settings: Settings
) -> RunPlan:
    """Return the plan of a call of *function*; TypeError for a setting that it does not have."""
    known = ("model", "prompt", *Settings.__annotations__)
    refuse_unknown(function, settings, known, _INSTEAD, otherwise=_NATIVE)
    asks_nothing = prompt is None and not {"messages", "request"} & settings.keys()
    if asks_nothing and isinstance(model, str) and (hint := prompt_as_model(model, function)):
        raise InvalidRequestError(hint)
    return RunPlan(model=model, prompt=prompt, **settings)
