"""Providers that are reached over Chat Completions alone, each a profile on `ChatProvider`.

Each class names the documents that its profile follows; all were read in November 2026.
"""

from attrs import evolve

from llmcore.protocols.lowering import FixedSampling
from llmcore.protocols.openai_chat.models import COMPATIBLE, OPENAI
from llmcore.protocols.tool_schema import SchemaTarget
from llmcore.routes.chat_provider import ChatProvider, Profile


class Baseten(ChatProvider):
    """Baseten's Model APIs; a dedicated deployment is another `base_url`.

    Documents: https://docs.baseten.co/reference/inference-api/chat-completions and its
    `llm-openapi-spec.json`, https://docs.baseten.co/inference/model-apis/reasoning. Key:
    BASETEN_API_KEY.
    """

    profile = Profile.of_listed(
        "baseten",
        base_url="https://inference.baseten.co/v1",
        dialect=evolve(COMPATIBLE, audio_formats=frozenset({"wav", "mp3"})),
    )


class Cerebras(ChatProvider):
    """Cerebras, which serves open models.

    Documents: https://inference-docs.cerebras.ai/api-reference/chat-completions,
    https://inference-docs.cerebras.ai/capabilities/image-inputs,
    https://pypi.org/project/cerebras-cloud-sdk/1.91.0/ (`types/chat`). Key: CEREBRAS_API_KEY.
    """

    profile = Profile.of_listed(
        "cerebras",
        base_url="https://api.cerebras.ai/v1",
        dialect=evolve(
            COMPATIBLE,
            max_tokens_field="max_completion_tokens",
            image_urls=False,
            # "Tools with mixed values for 'strict' are not allowed":
            # https://github.com/RooCodeInc/Roo-Code/issues/10334
            strict_tools_alone=True,
            strict_schemas=True,
            prompt_cache_key=True,
            unsupported=COMPATIBLE.unsupported | {"top_k", "prompt_cache_retention"},
            service_tiers=OPENAI.service_tiers,
            # gpt-oss cannot stop thinking: https://inference-docs.cerebras.ai/capabilities/reasoning
            efforts=(
                (r"gpt-oss.*", ("low", "medium", "high")),
                (r".*", ("none", "low", "medium", "high")),
            ),
            reasoning_field="reasoning",
            reasoning_replay="accepted",
        ),
    )


class DeepInfra(ChatProvider):
    """DeepInfra, which serves open models.

    Documents: https://docs.deepinfra.com/chat/overview, .../chat/tool-calling,
    .../chat/structured-outputs, .../chat/reasoning, .../chat/log-probs,
    .../chat/prompt-cache-retention and .../api-reference/openai-chat-completions-1. Key:
    DEEPINFRA_API_KEY, or DEEPINFRA_TOKEN.
    """

    profile = Profile.of_listed(
        "deepinfra",
        base_url="https://api.deepinfra.com/v1/openai",
        dialect=evolve(
            COMPATIBLE,
            strict_tools=False,
            parallel_tool_calls=False,
            tool_choice_modes=frozenset({"auto", "none"}),  # the only ones listed as supported
            strict_schemas=True,
            prompt_cache_key=True,
            unsupported=COMPATIBLE.unsupported  # log probabilities: only from their native API
            | {"logprobs", "top_logprobs", "prompt_cache_retention"},
        ),
    )


class DeepSeek(ChatProvider):
    """DeepSeek, with its own models.

    Documents: https://api-docs.deepseek.com/api/create-chat-completion,
    https://api-docs.deepseek.com/guides/thinking_mode; for images, what
    https://github.com/langgenius/dify-official-plugins/pull/3868 quotes of .../guides/vision.
    Key: DEEPSEEK_API_KEY.
    """

    profile = Profile.of_listed(
        "deepseek",
        base_url="https://api.deepseek.com",
        dialect=evolve(
            COMPATIBLE,
            response_formats=frozenset({"json"}),  # no json_schema: .../guides/json_mode
            strict_tools=False,  # only below https://api.deepseek.com/beta: .../guides/tool_calls
            parallel_tool_calls=False,
            unsupported=COMPATIBLE.unsupported
            | {
                "top_k",
                "seed",
                "presence_penalty",
                "frequency_penalty",
            },  # no longer listed, no effect
            # Models reason unless disabled. Reasoning before tool calls must be sent back with
            # every later request (400 if it does not), and no tool can be forced while they think.
            reasoning_effort="thinking_effort",
            reasoning_replay="required",
            forced_calls_stop_thinking=".*",
        ),
    )


class Fireworks(ChatProvider):
    """Fireworks AI.

    Documents: https://docs.fireworks.ai/guides/reasoning,
    https://pypi.org/project/fireworks-ai/1.2.30/ (`types/chat`), made from the API reference.
    Fields it does not know are errors ("Extra inputs are not permitted"). Key:
    FIREWORKS_API_KEY.
    """

    profile = Profile.of_listed(
        "fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        dialect=evolve(
            COMPATIBLE,
            names=False,
            videos=True,
            stream_usage=False,  # no such field; the last chunk always has the usage
            prompt_cache_key=True,
            unsupported=frozenset({"verbosity", "prompt_cache_retention"}),
            # "Only "priority" is supported, while all other values will be treated as "default""
            service_tiers=(("default", "default"), ("priority", "priority")),
            # `max`: https://github.com/vellum-ai/vellum-assistant/pull/31381
            efforts=(
                (r".*(gpt-oss|minimax-m2).*", ("low", "medium", "high")),
                (r".*deepseek-v4.*", ("none", "low", "medium", "high", "max")),
                (r"(?!.*/routers/).*", ("none", "low", "medium", "high")),
            ),
            # others ignore a number of tokens (DeepSeek, GLM) or refuse it (gpt-oss, MiniMax)
            reasoning_by_model=((r".*qwen3.*", "effort_or_budget"),),
            reasoning_replay="accepted",
        ),
    )


class Groq(ChatProvider):
    """Groq, which serves open models.

    Documents: https://console.groq.com/docs/reasoning,
    https://console.groq.com/docs/service-tiers, https://pypi.org/project/groq/1.7.0/
    (`types/chat`), made from the API reference. Key: GROQ_API_KEY. Qwen models think in
    `<think>` tags, which stay text unless the request has `provider_options={"groq":
    {"reasoning_format": "parsed"}}`.
    """

    profile = Profile.of_listed(
        "groq",
        base_url="https://api.groq.com/openai/v1",
        dialect=evolve(
            COMPATIBLE,
            max_tokens_field="max_completion_tokens",
            developer_role=True,
            # Names are in the SDK's types, and a 400 in the list of console.groq.com/docs/openai.
            names=False,
            unsupported=COMPATIBLE.unsupported
            | {"top_k", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"},
            service_tiers=(("auto", "auto"), ("default", "on_demand"), ("flex", "flex")),
            # "`reasoning_effort` must be one of `none` or `default`":
            # https://github.com/Alishahryar1/free-claude-code/issues/1348
            efforts=(
                (r"openai/gpt-oss-.*", ("low", "medium", "high")),
                (r"qwen/qwen3\.8-.*", ("none", "low", "medium", "high")),
                (r"qwen/.*", ("none", "default")),
                # "`reasoning_effort` is not supported with this model":
                # https://github.com/iamsrikanthnani/pluely/issues/242
                (r"(meta-llama/)?llama-.*|moonshotai/kimi-k2-instruct.*|allam-.*", ()),
            ),
            reasoning_field="reasoning",
            reasoning_replay="accepted",
        ),
    )


class HuggingFace(ChatProvider):
    """Hugging Face's Inference Providers router. A model's id may end in `:provider`.

    Documents: https://huggingface.co/docs/inference-providers/tasks/chat-completion,
    https://pypi.org/project/huggingface-hub/2.4.0/ (`chat_completion`). Key: HF_TOKEN.
    """

    profile = Profile.of_listed(
        "huggingface",
        base_url="https://router.huggingface.co/v1",
        dialect=evolve(
            COMPATIBLE,
            strict_tools=False,
            parallel_tool_calls=False,
            strict_schemas=True,
            unsupported=COMPATIBLE.unsupported | {"top_k"},
            # No document states a parameter; those of the provider behind go by `provider_options`.
            reasoning_effort="none",
        ),
    )


class Moonshot(ChatProvider):
    """Moonshot AI, which makes Kimi. The platform in China is `base_url="https://api.moonshot.cn/v1"`.

    Documents: https://platform.kimi.ai/docs/api/chat,
    https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model,
    https://platform.kimi.ai/docs/guide/use-kimi-vision-model,
    https://platform.kimi.ai/docs/guide/use-partial-mode-feature-of-kimi-api. Key: MOONSHOT_API_KEY.
    """

    profile = Profile.of_listed(
        "moonshot",
        base_url="https://api.moonshot.ai/v1",
        dialect=evolve(
            COMPATIBLE,
            max_tokens_field="max_completion_tokens",
            image_urls=False,  # "URL-formatted images: Not supported"
            videos=True,
            prefill_field="partial",
            schemas=SchemaTarget.MOONSHOT,
            parallel_tool_calls=False,
            named_tool_choice="required",  # a named one is never taken from a model that thinks
            strict_schemas=True,  # strict is its default, so the opposite is stated
            prompt_cache_key=True,
            unsupported=COMPATIBLE.unsupported
            | {"top_k", "seed", "logprobs", "top_logprobs", "prompt_cache_retention"},
            fixed_sampling=FixedSampling(always=r"kimi-(k2\.\d|k[3-9]).*"),
            # "thinking is enabled but reasoning_content is missing in assistant tool call message"
            reasoning_replay="required",
            reasoning_effort="thinking",  # "cannot specify both 'thinking' and ..._effort"
            reasoning_by_model=(
                (r"kimi-k[3-9].*", "reasoning_effort"),
                # K2.7 thinks always: "any other configuration returns an error"; models before K2.5
                # do not have the parameter
                (r"moonshot-v1.*|kimi-k2(\.7|-).*", "none"),
            ),
            efforts=((r"kimi-k3.*", ("low", "high", "max")),),
            forced_calls_stop_thinking=r"kimi-k2\.[56].*",
        ),
    )


class Perplexity(ChatProvider):
    """Perplexity's Sonar, which searches before it answers.

    Documents: https://docs.perplexity.ai/api-reference/sonar-post (as the types of the
    `perplexityai` package state it), https://docs.perplexity.ai/guides/chat-completions-guide,
    https://docs.perplexity.ai/faq/faq. Key: PERPLEXITY_API_KEY.
    """

    profile = Profile.of_listed(
        "perplexity",
        base_url="https://api.perplexity.ai",
        dialect=evolve(
            COMPATIBLE,
            system_messages="lift",  # after the system messages, the two sides must take turns
            alternate=True,
            names=False,
            videos=True,
            named_tool_choice="required",  # tool_choice is one of none, auto, required
            response_formats=frozenset({"json_schema"}),
            unsupported=COMPATIBLE.unsupported | {"seed"},
            stream_usage=False,  # every chunk has the usage so far
            efforts=((r".*", ("minimal", "low", "medium", "high")),),
            think_tags=((".*", "think"),),  # as sonar-reasoning-pro does, before JSON as well
        ),
    )


class Together(ChatProvider):
    """Together AI. Dedicated models are at `base_url="https://api-inference.together.ai/v1"`.

    Documents: https://docs.together.ai/reference/chat-completions (as the types of the
    `together` package state it), https://docs.together.ai/docs/inference/chat/reasoning,
    https://docs.together.ai/docs/inference/function-calling/single-call,
    https://docs.together.ai/docs/inference/responses-api (addresses). Key: TOGETHER_API_KEY.
    """

    profile = Profile.of_listed(
        "together",
        base_url="https://api.together.ai/v1",
        dialect=evolve(
            COMPATIBLE,
            videos=True,
            audio_formats=frozenset({"wav"}),
            strict_tools=False,
            parallel_tool_calls=False,
            strict_schemas=True,
            logprob_count=True,  # "an integer between 0 and 20"
            stream_usage=True,  # not in the documents
            reasoning_effort="effort_or_off",
            efforts=((r".*", ("none", "low", "medium", "high")),),
            reasoning_replay="accepted",
        ),
    )


class ZAI(ChatProvider):
    """Z.ai, which makes GLM. The coding plan is `base_url="https://api.z.ai/api/coding/paas/v4"`.

    Documents: https://docs.z.ai/api-reference/llm/chat-completion,
    https://docs.z.ai/guides/capabilities/thinking-mode,
    https://docs.z.ai/guides/capabilities/function-calling. Key: ZAI_API_KEY.
    """

    profile = Profile.of_listed(
        "zai",
        base_url="https://api.z.ai/api/paas/v4",
        dialect=evolve(
            COMPATIBLE,
            names=False,
            videos=True,
            strict_tools=False,
            parallel_tool_calls=False,
            tool_choice_modes=frozenset({"auto"}),  # "only supports `auto`"
            response_formats=frozenset({"json"}),
            unsupported=COMPATIBLE.unsupported
            | {"top_k", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"},
            stream_usage=False,  # unknown; the last chunk always states the usage
            reasoning_effort="thinking",
            reasoning_by_model=((r"glm-(5\.[2-9]|[6-9]).*", "thinking_effort"),),
            reasoning_replay="accepted",  # "explicitly preserved and returned" with tool results
        ),
    )
