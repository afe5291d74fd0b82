"""The neutral request, from which each protocol builds its native body."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Final, Generic, TypeAlias, TypeVar, Union, cast

from attrs import field, fields_dict

from llmcore.schema.content import PARTS, TextPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints
from llmcore.schema.json import JsonObject, ProviderMetadata, plain_metadata, present
from llmcore.schema.messages import Message, MessageInput, as_message
from llmcore.schema.model import Body_co, Model
from llmcore.schema.options import (
    CacheInput,
    CachePolicy,
    FieldKinds,
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
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.tools import (
    ToolChoice,
    ToolChoiceInput,
    ToolSpec,
    ToolSpecInput,
    as_tool_choice,
    as_tool_spec,
)

_Item = TypeVar("_Item")
_Given = TypeVar("_Given")
_TEXT = frozenset({TextPart})

SystemInput: TypeAlias = Union[str, TextPart, Sequence[Union[str, TextPart]]]


def as_system(value: SystemInput | None) -> tuple[TextPart, ...]:
    """Return *value* as parts; InvalidRequestError if it is not text."""
    if value is None:
        return ()
    if type(value) is tuple and _TEXT.issuperset(map(type, value)):
        return cast("tuple[TextPart, ...]", value)
    if isinstance(value, str | TextPart | Mapping):  # a mapping is refused below
        value = (value,)
    items = value if isinstance(value, Iterable) else (value,)  # which is refused below
    texts = tuple(TextPart(item) if isinstance(item, str) else item for item in items)
    marked = any(isinstance(text, Mapping) and "text" in text for text in texts)
    hint = ", or for a cached prefix system=[cached('...')]" if marked else ""
    return _only(texts, (TextPart,), f"system must be text{hint}")


def _each(
    read: Callable[[_Given], _Item], values: Iterable[_Given], field_name: str
) -> tuple[_Item, ...]:
    """Return all *values* as *read* returns them; its error for a dict names the place."""
    items = []
    for index, value in enumerate(values):
        try:
            items.append(read(value))
        except InvalidRequestError as error:
            if isinstance(value, Mapping):
                error.message = f"{field_name}[{index}]: {error.message}"
            raise
    return tuple(items)


_MESSAGE = frozenset({Message})


def _messages(value: Iterable[MessageInput]) -> tuple[Message, ...]:
    if type(value) is tuple and _MESSAGE.issuperset(map(type, value)):
        return cast("tuple[Message, ...]", value)
    if isinstance(value, Message | Mapping):
        return (as_message(cast("MessageInput", value)),)
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (cast("MessageInput", value),)  # which is refused
    return _each(as_message, value, "messages")


def _tools(value: Iterable[ToolSpecInput]) -> tuple[ToolSpec, ...]:
    if type(value) is tuple and not value:
        return ()
    if not isinstance(value, Iterable):
        raise InvalidRequestError(
            f"tools must be a list, not {shown_kind(value)}: write tools=[...]"
        )
    return _each(as_tool_spec, value, "tools")


def _metadata(value: Mapping[str, str]) -> Mapping[str, str]:
    if type(value) is dict and not value:
        return {}
    if not isinstance(value, Mapping):
        kind = shown_kind(value)
        raise InvalidRequestError(f"metadata must map strings to strings; got {kind}")
    _only((*value.keys(), *value.values()), (str,), "metadata must map strings to strings")
    return dict(value)


def _provider_options(value: object) -> ProviderMetadata:
    return plain_metadata(value, "provider_options")


_KINDS: Final = FieldKinds(
    ("model", (Model, str), "a Model, or its id"),
    ("provider", (str, NoneType), "a provider's id"),
    ("tool_choice", (ToolChoice, NoneType), "a ToolChoice, such as ToolChoice.auto()"),
    ("parallel_tool_calls", (bool, NoneType), "True or False"),
    ("generation", (GenerationOptions,), "GenerationOptions(...)"),
    ("response_format", (ResponseFormat, NoneType), "a ResponseFormat"),
    ("reasoning", (ReasoningOptions, NoneType), "ReasoningOptions(...)"),
    ("cache", (CachePolicy,), "CachePolicy(...)"),
    ("http", (HttpOverlay,), "HttpOverlay(...)"),
    ("strict", (bool,), "True or False"),
)
"""The types of fields that no converter checks, and what to write instead."""


_NO_OPTIONS: Final = GenerationOptions()
_NO_POLICY: Final = CachePolicy()
_NO_OVERLAY: Final = HttpOverlay()


def _only(items: tuple[_Item, ...], kinds: tuple[type, ...], rule: str) -> tuple[_Item, ...]:
    """Return *items* if all are instances of *kinds*; else InvalidRequestError with *rule*."""
    for item in items:
        if not isinstance(item, kinds):
            raise InvalidRequestError(f"{rule}; got {shown_kind(item)}")
    return items


@with_call_hints(
    "write request(model=..., prompt=...)",
    prompt="write request(model=..., prompt=...)",
    **{name: f"write request({name}=...)" for name in fields_dict(GenerationOptions)},
)
@for_pydantic
@frozen(kw_only=True)
class LLMRequest(Generic[Body_co]):
    """One request to a model. Change it with `evolve(request, ...)`."""

    model: Model[Body_co] | str
    """The configured model, or a model id for the client to look up."""
    messages: tuple[Message, ...] = field(converter=_messages)
    """The conversation, oldest message first."""
    provider: str | None = None
    """The id of the configured provider, if `model` is a string."""
    system: tuple[TextPart, ...] = field(default=(), converter=as_system)
    """Instructions before the conversation."""
    tools: tuple[ToolSpec, ...] = field(default=(), converter=_tools)
    """The tools that the model may call."""
    tool_choice: ToolChoice | None = None
    """Whether and which tools must be called; None leaves it to the model."""
    parallel_tool_calls: bool | None = None
    """Whether one response may have several calls; None leaves it to the provider."""
    generation: GenerationOptions = _NO_OPTIONS
    """Sampling parameters, limits and the service tier."""
    response_format: ResponseFormat | None = None
    """The format of the response; None means text."""
    reasoning: ReasoningOptions | None = None
    """How much the model reasons; None is the provider's default."""
    cache: CachePolicy = _NO_POLICY
    """Prompt caching."""
    metadata: Mapping[str, str] = field(factory=dict, converter=_metadata)
    """Labels for the provider's dashboards."""
    provider_options: ProviderMetadata = field(factory=dict, converter=_provider_options)
    """Fields of the native body that have no neutral form, by provider id."""
    http: HttpOverlay = _NO_OVERLAY
    """Headers, query parameters and body fields that replace those of the request."""
    strict: bool = False
    """Raise before sending if anything would be lost or changed."""

    def __attrs_post_init__(self) -> None:
        _KINDS.check(self)
        if not self.tools:
            return
        names = [name for tool in self.tools if (name := getattr(tool, "name", None))]
        if len(set(names)) < len(names):
            twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
            raise InvalidRequestError(f"two tools have the same name: {twice}: rename one of them")

    @property
    def model_id(self) -> str:
        """The model's id."""
        return self.model if isinstance(self.model, str) else self.model.id

    @property
    def provider_id(self) -> str:
        """The provider's id; empty if it is still to be resolved."""
        return (self.provider or "") if isinstance(self.model, str) else self.model.provider

    def options_for(self, *providers: str) -> JsonObject:
        """Return the merged provider options of *providers*; later ones take precedence."""
        if not self.provider_options:
            return {}
        merged: dict[str, object] = {}
        for provider in dict.fromkeys(providers):
            merged.update(self.provider_options.get(provider, {}))
        return merged  # type: ignore[return-value]


@with_call_hints(
    **dict.fromkeys(("max_output_tokens", "max_completion_tokens"), "max_tokens"),
    stop_sequences="stop",
    instructions="system",
    input="prompt",
    thinking="reasoning",
)
def request(
    *,
    model: Model[Body_co] | str = "",
    prompt: str | None = None,
    messages: Sequence[MessageInput] | None = None,
    provider: str | None = None,
    system: SystemInput | None = None,
    tools: Sequence[ToolSpecInput] = (),
    tool_choice: ToolChoiceInput | None = None,
    parallel_tool_calls: bool | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    stop: str | Sequence[str] = (),
    top_k: int | None = None,
    seed: int | None = None,
    presence_penalty: float | None = None,
    frequency_penalty: float | None = None,
    logprobs: bool | None = None,
    top_logprobs: int | None = None,
    service_tier: str | None = None,
    generation: GenerationOptions | None = None,
    response_format: FormatInput | None = None,
    reasoning_effort: str | None = None,
    reasoning: ReasoningInput | None = None,
    cache: CacheInput | None = None,
    metadata: Mapping[str, str] | None = None,
    provider_options: Mapping[str, JsonObject] | None = None,
    http: HttpOverlay | None = None,
    strict: bool = False,
) -> LLMRequest[Body_co]:
    """Build an `LLMRequest` from convenient arguments.

    Give `prompt` (one user message) or `messages`, not both. Without a model, the client uses the
    newest model of its default provider. The generation options are arguments of their own;
    alternatively give all of them as `generation=GenerationOptions(...)`. Words represent the
    commonest values: `tool_choice="required"`, `response_format="json"`, `reasoning="high"`,
    `cache="off"`.
    Raises InvalidRequestError for contradictory arguments.
    """
    _check_prompt(prompt, given=messages is not None)
    single = (
        *(temperature, top_p, max_tokens, stop or None, top_k, seed, presence_penalty),
        *(frequency_penalty, logprobs, top_logprobs, service_tier),
    )
    none_given = single.count(None) == len(_SINGLE)
    options = {} if none_given else present(dict(zip(_SINGLE, single, strict=True)))
    if generation is not None and options:
        raise InvalidRequestError(
            f"{', '.join(options)} and generation=... are both given: "
            "put all options into generation"
        )
    if reasoning is not None and reasoning_effort is not None:
        raise InvalidRequestError("give either reasoning_effort or reasoning, and not both")
    if reasoning_effort is not None:
        reasoning = as_reasoning_options(reasoning_effort)
    built: LLMRequest[Body_co] = LLMRequest(
        model=model,
        provider=provider,
        messages=(Message.user(prompt),) if prompt is not None else messages or (),
        system=system,
        tools=tools,
        tool_choice=None if tool_choice is None else as_tool_choice(tool_choice),
        parallel_tool_calls=parallel_tool_calls,
        generation=_sampling(options) if generation is None else generation,
        response_format=None if response_format is None else as_response_format(response_format),
        reasoning=None if reasoning is None else as_reasoning_options(reasoning),
        cache=_NO_POLICY if cache is None else as_cache_policy(cache) or _NO_POLICY,
        metadata=metadata or {},
        provider_options=provider_options or {},
        http=_NO_OVERLAY if http is None else http,
        strict=strict,
    )
    if not (built.messages or built.system or built.provider_options or built.http.body):
        raise InvalidRequestError(
            "messages is empty: give at least one message, such as Message.user('Hi')"
        )
    return built


_SINGLE: Final = (
    *("temperature", "top_p", "max_tokens", "stop", "top_k", "seed", "presence_penalty"),
    *("frequency_penalty", "logprobs", "top_logprobs", "service_tier"),
)
"""The options that `request` takes as arguments of their own."""


def _sampling(options: Mapping[str, object]) -> GenerationOptions:
    return GenerationOptions(**options) if options else _NO_OPTIONS  # type: ignore[arg-type]


def _check_prompt(prompt: object, *, given: bool) -> None:
    """Raise InvalidRequestError unless there is a *prompt* with content, or messages are *given*.

    No messages are right where the provider has them (`previous_response_id`), or where there is
    a system text alone, which some APIs accept.
    """
    if (prompt is None) != given:
        wrong = "both are given" if given else "there is no input"
        raise InvalidRequestError(f"{wrong}: give either prompt or messages")
    if prompt is None or (type(prompt) is str and prompt and not prompt.isspace()):
        return
    if isinstance(prompt, Message | Mapping):
        kind = "a Message" if isinstance(prompt, Message) else "a dict"
        raise InvalidRequestError(f"prompt is {kind}: give text, or the whole as messages=[...]")
    is_blank = isinstance(prompt, str) and prompt.isspace()
    if is_blank or (isinstance(prompt, Sequence) and not prompt):
        raise InvalidRequestError("the prompt is empty: give a text, or messages=[...]")
    if not isinstance(prompt, str | NoneType):
        raise InvalidRequestError(
            f"prompt must be text, not {shown_kind(prompt)}{_hint_on(prompt)}"
        )


def _hint_on(prompt: object) -> str:
    """Return what to write instead of a *prompt* that is not text."""
    if isinstance(prompt, PARTS):
        return ": give parts as messages=[Message.user('What is this?', part)]"
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes):
        return ""
    if any(isinstance(item, Message | Mapping) for item in prompt):
        return " of messages: give it as messages=[...]"
    return (
        ": give several parts as messages=[Message.user(...)], and several prompts to generate_many"
    )
