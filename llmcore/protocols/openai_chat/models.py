"""OpenAI Chat Completions: where servers differ, as data.

A dialect is chosen per deployment; the protocol does not know which provider it is used for. The
defaults are OpenAI's own.
"""

import re
from typing import Final, Literal, get_args

from llmcore.protocols import lowering
from llmcore.protocols.caching import OPENAI_BREAKPOINT_MODELS
from llmcore.protocols.openai_chat.names import CALL_IDS
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.protocols.tools import CallIdRule, freeform_tools
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.options import ServiceTier
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool, ToolDefinition

ReasoningReplay = Literal["forbidden", "own", "accepted", "required"]
ReasoningField = Literal[
    "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "content"
]
ReasoningControl = Literal[
    "reasoning_effort",
    "effort_or_off",
    "effort_or_budget",
    "reasoning",
    "thinking",
    "thinking_effort",
    "enable_thinking",
    "none",
]

SAMPLING: Final = frozenset(
    {"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"}
)


@with_call_hints()
@frozen(kw_only=True)
class ChatDialect:
    """The differences of one family of servers."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The field that limits the output."""
    completion_models: str = ""
    """Models (a pattern for the whole id) whose limit is `max_completion_tokens` in any case."""
    default_max_tokens: int | None = None
    """Default `max_tokens`, for servers whose own default is unlimited."""

    # -- messages

    developer_role: bool = True
    """Whether `developer` is a role; if not, such messages become `system`."""
    system_messages: Literal["keep", "lift", "demote"] = "keep"
    """System messages inside the conversation: they may be there; they are moved to its
    head; or they become user text in a tag, which keeps cached prefixes."""
    alternate: bool = False
    """Whether user and assistant must take turns."""
    needs_user: bool = False
    """Whether one message at least must be the user's."""
    text_parts: bool = True
    """Whether text may come as a list of parts everywhere; if not, several texts are joined
    by a blank line."""
    null_content: bool = True
    """Whether the content beside calls may be null; if not, it is an empty text."""
    names: bool = True
    """Whether messages may carry the `name` of the speaker."""
    refusal_field: bool = True
    """Whether assistant messages have a `refusal`; if not, it goes back as text."""
    call_ids: CallIdRule = CALL_IDS
    """The ids of calls that the server accepts."""
    valid_arguments: bool = False
    """Whether the arguments of earlier tool calls must be JSON objects."""
    signed_calls: str = ""
    """Models (a pattern for the whole id) that refuse a message whose first call has no thought
    signature of Gemini's."""

    images: bool = True
    """Whether the server accepts images."""
    image_urls: bool = True
    """Whether images and videos may be given by https URL."""
    audio_formats: frozenset[str] = frozenset({"wav", "mp3"})
    """Which formats of audio are taken."""
    files: bool = True
    """Whether the server accepts files."""
    file_urls: bool = False
    """Whether files may be given by https URL."""
    media_in_text: bool = False
    """Whether `input_audio` is the base64 or the URL itself and a file is a `document_url`, as with
    Mistral, and not an object."""
    videos: bool = False
    """Whether `video_url` parts exist."""
    tool_result_images: bool = False
    """Whether tool messages may hold images; if not, they follow in a user message."""

    prefill_field: Literal["", "prefix", "partial"] = ""
    """The field that marks the last message as the beginning of the response."""

    # -- tools

    strict_tools: bool = True
    """Whether functions may be `strict`."""
    strict_tools_alone: bool = False
    """Whether all functions of a request must be `strict` if one is."""
    schemas: SchemaTarget = SchemaTarget.OPENAI_LOOSE
    """The subset of JSON Schema that functions without `strict` may use."""
    parallel_tool_calls: bool = True
    """Whether `parallel_tool_calls` is a parameter."""
    custom_tools: bool = True
    """Whether freeform tools (`type: custom`) exist; if not, they are functions of one string."""
    tool_choice_modes: frozenset[str] = frozenset({"auto", "none", "required", "named"})
    """The tool choices that the server accepts."""
    named_tool_choice: Literal["function", "required"] = "function"
    """How one tool is forced: by naming it, or (`required`) by offering it alone."""
    constrained_tools: bool = False
    """Whether a forced call is made from a JSON schema on the response's text, because the
    model may not make it otherwise."""

    # -- parameters

    response_formats: frozenset[str] = frozenset({"json", "json_schema"})
    """Which of the formats the server enforces; others are asked for in words."""
    strict_schemas: bool = True
    """Whether `json_schema` has a `strict` mode with OpenAI's rules."""
    unsupported: frozenset[str] = frozenset({"top_k"})
    """Settings, by their native names, that the server rejects or ignores. Fields of
    `provider_options` are sent as they are."""
    seed_field: Literal["seed", "random_seed"] = "seed"
    """The field of the seed."""
    logprob_count: bool = False
    """Whether `logprobs` is the number of alternatives to show and not a switch."""
    service_tiers: tuple[tuple[str, str], ...] = tuple(
        (name, name) for name in get_args(ServiceTier)
    )
    """The values of `service_tier` by the neutral tiers; none if there is no such parameter."""
    fixed_sampling: lowering.FixedSampling = lowering.FixedSampling()
    """Models that reject sampling parameters."""
    efforts: lowering.Efforts = ()
    """The efforts of reasoning that models accept."""
    no_stop: str = ""
    """Models (a pattern for the whole id) that reject `stop`."""
    stream_usage: bool = True
    """Whether `stream_options: {include_usage}` is taken (and needed to get usage)."""

    # -- reasoning

    reasoning_effort: ReasoningControl = "reasoning_effort"
    """Which parameter asks for thinking: OpenAI's string, OpenRouter's object `reasoning`, the
    object `thinking` of Z.ai and Moonshot, DeepSeek's `thinking` beside `reasoning_effort`,
    Alibaba's `enable_thinking` and `thinking_budget`, Together's `reasoning_effort` beside a
    switch that turns it off (`effort_or_off`), Fireworks' `reasoning_effort`, which may be a number
    of tokens (`effort_or_budget`), or none."""
    reasoning_by_model: tuple[tuple[str, ReasoningControl], ...] = ()
    """Models (patterns for the whole id; the first that fits counts) that take another one."""
    forced_calls_stop_thinking: str = ""
    """Models that may be forced to call a tool only while they do not think."""
    tools_stop_thinking: str = ""
    """Models that may be offered tools only while they do not think."""
    reasoning_field: ReasoningField = "reasoning_content"
    """In which field of an assistant message thinking goes back; `content` means parts of
    type `thinking`, as Mistral has them, and `reasoning_text` goes only with its proof,
    `reasoning_opaque`."""
    reasoning_replay: ReasoningReplay = "forbidden"
    """Whether it may or must go back. `own` is for servers of which nothing is known: they get back
    the thinking that they sent, in the field in which it came. `required` puts the field on every
    assistant message."""
    think_tags: tuple[tuple[str, str], ...] = ()
    """Models (patterns for the whole id; the first that fits counts) that write their thinking at
    the head of the text, and the name of the tag around it, such as `think`."""

    counts_tokens: bool = False
    """Whether `/chat/completions/input_tokens` counts, as with llama.cpp
    (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md)."""

    # -- caching

    prompt_cache_key: bool = True
    """Whether the server routes by a cache key."""
    cache_control: bool = False
    """Whether text parts take Anthropic-style `cache_control` marks."""
    breakpoint_models: str = ""
    """Models that take OpenAI's `prompt_cache_breakpoint` on the parts of messages."""
    auto_cache_models: str = ""
    """Models that cache only if asked to, by one `cache_control` on the whole request."""

    def limit_field(self, model: str) -> str:
        """Return the field that limits the output of *model*."""
        named = lowering.matches_model(self.completion_models, model)
        return "max_completion_tokens" if named else self.max_tokens_field

    @property
    def thinks_in_content(self) -> bool:
        """Whether thinking goes back as parts of the content."""
        return self.reasoning_field == "content" and self.reasoning_replay != "forbidden"

    def checks_signatures(self, model: str) -> bool:
        """Return whether *model* requires a thought signature on the first call of a message."""
        return lowering.matches_model(self.signed_calls, model)

    def rejects_stop(self, model: str) -> bool:
        """Return whether *model* rejects stop sequences."""
        return lowering.matches_model(self.no_stop, model)

    def reasoning_control(self, model: str) -> ReasoningControl:
        """Return which parameter asks *model* for thinking."""
        for pattern, control in self.reasoning_by_model:
            if re.fullmatch(pattern, model):
                return control
        return self.reasoning_effort

    def think_tag(self, model: str) -> str:
        """Return the name of the tag around the thinking of *model* in the text; empty if none."""
        fitting = (tag for pattern, tag in self.think_tags if re.fullmatch(pattern, model))
        return next(fitting, "")

    def thinks_not_when_forced(self, model: str) -> bool:
        """Return whether *model* must not think in order to be forced to call a tool."""
        return lowering.matches_model(self.forced_calls_stop_thinking, model)

    def thinks_not_beside_tools(self, model: str, effort: str | None) -> bool:
        """Return whether *model* would think, but must not in order to be offered tools."""
        # such models take sampling parameters exactly while they do not think
        matches = lowering.matches_model(self.tools_stop_thinking, model)
        return matches and self.fixed_sampling.rejects(model, effort)

    def caches_on_request(self, model: str) -> bool:
        """Return whether *model* caches only where the request has `cache_control`."""
        return lowering.matches_model(self.auto_cache_models, model)

    def takes_breakpoints(self, model: str) -> bool:
        """Return whether *model* takes OpenAI's breakpoints of the prompt cache."""
        return lowering.matches_model(self.breakpoint_models, model)


OPENAI = ChatDialect(
    fixed_sampling=lowering.OPENAI_FIXED_SAMPLING,
    # the Responses API alone takes `max`, as was tried with GPT-6 Astra and GPT-5.6:
    # https://github.com/BerriAI/litellm-docs/pull/1173,
    # https://github.com/mnfst/modelparams.dev/pull/236
    efforts=tuple(
        (models, tuple(effort for effort in levels if effort != "max"))
        for models, levels in lowering.OPENAI_EFFORTS
    ),
    # "Not supported with latest reasoning models": the documents name o3 and o4-mini alone, but
    # see https://github.com/huggingface/smolagents/issues/1893 and pull 1868
    no_stop=r"o3(-(?!mini).*)?|o4-mini.*|gpt-(5(?!-chat)|[6-9]|[12]\d).*",
    # https://developers.openai.com/api/docs/guides/deployment-checklist ("support function calling
    # in Chat Completions only with reasoning_effort: none"),
    # https://github.com/openai/openai-openapi/issues/541
    tools_stop_thinking=rf"gpt-5\.[4-9].*|(?!{lowering.OPENAI_ALWAYS_THINKS})gpt-([6-9]|[12]\d).*",
    breakpoint_models=OPENAI_BREAKPOINT_MODELS,
)
COMPATIBLE = ChatDialect(
    max_tokens_field="max_tokens",
    # OpenAI's own, which proxies and clouds serve too: "Unsupported parameter: 'max_tokens' is not
    # supported with this model", https://github.com/aws-samples/sample-apj-sup-sa/pull/231
    completion_models=r"(.*[/.])?(o[1-9](-.*)?|gpt-([5-9]|[1-9]\d).*)",
    developer_role=False,
    # templates of open models raise "System message must be at the beginning":
    # https://github.com/QwenLM/Qwen3.8/issues/244
    system_messages="demote",
    # as they do "No user query found in messages", and Z.ai "The messages parameter is illegal":
    # https://github.com/vllm-project/vllm/issues/36432,
    # https://github.com/anomalyco/opencode/issues/2557
    needs_user=True,
    text_parts=False,
    refusal_field=False,
    valid_arguments=True,
    custom_tools=False,
    strict_schemas=False,
    unsupported=frozenset({"metadata", "verbosity"}),
    service_tiers=(),
    prompt_cache_key=False,
    audio_formats=frozenset(),
    files=False,
)
"""Most servers that imitate the API."""


# -- tools as a dialect has them


def forces_call_by_schema(request: LLMRequest, dialect: ChatDialect) -> bool:
    """Return whether the response's text is to be a tool call in JSON."""
    choice = request.tool_choice
    forced = choice is not None and choice.mode in ("required", "named")
    return dialect.constrained_tools and forced and bool(callable_tools(request))


def callable_tools(request: LLMRequest) -> list[tuple[int, ToolDefinition | CustomTool]]:
    """Return the tools that may be called, with their places in the request."""
    choice = request.tool_choice
    named = choice.tool_name if choice is not None and choice.mode == "named" else None
    return [
        (index, tool)
        for index, tool in enumerate(request.tools)
        if isinstance(tool, ToolDefinition | CustomTool) and named in (None, tool.name)
    ]


def freeform_functions(request: LLMRequest, dialect: ChatDialect) -> frozenset[str]:
    """Return the names of the freeform tools that are offered as functions."""
    if dialect.custom_tools and not forces_call_by_schema(request, dialect):
        return frozenset()
    return freeform_tools(request)
