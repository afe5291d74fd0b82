"""Servers of models that users run themselves, each a profile on `ChatProvider`.

They need no key, but send one that is configured. Each class names the documents that its
profile follows; all were read in November 2026.
"""

from attrs import evolve

from llmcore.protocols.openai_chat.models import COMPATIBLE
from llmcore.routes.chat_provider import ChatProvider, Profile


class LlamaCpp(ChatProvider):
    """llama.cpp's own server, `llama-server`.

    Document: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md. Key,
    where the server asks for one: LLAMA_API_KEY.
    """

    profile = Profile.of_listed(
        "llamacpp",
        base_url="http://localhost:8080/v1",
        dialect=evolve(
            COMPATIBLE,
            audio_formats=frozenset({"wav", "mp3", "flac"}),
            counts_tokens=True,
            strict_tools=False,
            named_tool_choice="required",  # an object is read as `auto`
            reasoning_replay="accepted",
        ),
    )


class LMStudio(ChatProvider):
    """LM Studio's server.

    Documents: https://lmstudio.ai/docs/developer/openai-compat/chat-completions,
    .../openai-compat/tools, .../openai-compat/structured-output,
    https://lmstudio.ai/docs/developer/api-changelog (`tool_choice`, `stream_options`); what it
    refuses: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670 (`tool_choice` as an
    object). Key, where the server asks for one: LM_API_TOKEN.
    """

    profile = Profile.of_listed(
        "lmstudio",
        base_url="http://localhost:1234/v1",
        dialect=evolve(
            COMPATIBLE,
            image_urls=False,  # "'url' field must be a base64 encoded image"
            strict_tools=False,
            parallel_tool_calls=False,
            named_tool_choice="required",
            response_formats=frozenset({"json_schema"}),  # "must be 'json_schema' or 'text'"
            unsupported=COMPATIBLE.unsupported | {"logprobs", "top_logprobs"},
            reasoning_effort="reasoning_effort",  # taken, but in the documents of Responses only
        ),
    )


class Ollama(ChatProvider):
    """Ollama, on this machine or, as `base_url="https://ollama.com/v1"` with a key, in its cloud.

    Documents: https://docs.ollama.com/api/openai-compatibility,
    https://github.com/ollama/ollama/blob/main/openai/openai.go. Key, where one is needed:
    OLLAMA_API_KEY.
    """

    profile = Profile.of_listed(
        "ollama",
        base_url="http://localhost:11434/v1",
        dialect=evolve(
            COMPATIBLE,
            names=False,  # of tools only
            image_urls=False,
            strict_tools=False,
            parallel_tool_calls=False,
            # `tool_choice` is missing, but responses can be held to a schema, that of a call too.
            tool_choice_modes=frozenset({"auto", "required", "named"}),
            constrained_tools=True,
            unsupported=COMPATIBLE.unsupported | {"top_k"},
            # 'must be "high", "medium", "low", "max", or "none"':
            # https://github.com/diegosouzapw/OmniRoute/pull/10160
            efforts=((r".*", ("none", "low", "medium", "high", "max")),),
            reasoning_field="reasoning",
            reasoning_replay="accepted",
        ),
    )


class VLLM(ChatProvider):
    """vLLM's own server.

    Documents: https://docs.vllm.ai/en/latest/features/tool_calling/,
    https://pypi.org/project/vllm/0.33.0/ (`entrypoints/openai/chat_completion/protocol.py`,
    `renderers/chat_utils`). Key, where the server asks for one: VLLM_API_KEY.
    """

    profile = Profile.of_listed(
        "vllm",
        base_url="http://localhost:8000/v1",
        dialect=evolve(
            COMPATIBLE,
            max_tokens_field="max_completion_tokens",
            videos=True,
            audio_formats=frozenset({"wav", "mp3", "flac", "ogg"}),
            reasoning_field="reasoning",
            reasoning_replay="accepted",
        ),
    )
