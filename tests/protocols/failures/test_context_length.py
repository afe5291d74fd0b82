"""Errors of requests that are too long for the model, and others with similar messages.

The bodies are written in the wording that the providers document or that their users
report; ids and organisations are invented.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.failures.errors import error_from_body
from llmcore.protocols.failures.limits import input_and_output, is_context_overflow, token_counts
from llmcore.schema.errors import (
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
)
from llmcore.schema.json import JsonValue


def openai_body(message: str, code: str | None = "context_length_exceeded") -> JsonValue:
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": "messages",
            "code": code,
        }
    }


def anthropic_body(message: str, kind: str = "invalid_request_error") -> JsonValue:
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_011CVQe1dLrGNMJyE1ghG1av",
    }


def google_body(message: str) -> JsonValue:
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


def openrouter_body(raw: JsonValue) -> JsonValue:
    metadata: JsonValue = {"raw": raw, "provider_name": "Upstream"}
    return {"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}}


def vllm_body(message: str) -> JsonValue:
    return {
        "object": "error",
        "message": message,
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }


OVERFLOWS: list[tuple[str, int, JsonValue, int | None, int | None]] = [
    (
        "tabbyapi",
        400,
        {"detail": "Prompt length 5000 is greater than max_seq_len 4096"},
        4096,
        5000,
    ),
    (
        "deepinfra, as a failure of the server",
        500,
        openai_body(
            "inference error: Requested input length 40000 exceeds maximum input length 32767", None
        ),
        32767,
        40000,
    ),
    (
        "ai21",
        422,
        {
            "detail": "The total number of tokens in the prompt (300000) exceeds the maximum "
            "allowed (256000)"
        },
        256000,
        300000,
    ),
    (
        "sambanova",
        400,
        openai_body(
            "Requested generation length 8192 is not possible! The provided prompt is 9000 tokens "
            "long, so generating 8192 tokens requires a sequence length of 17192, but the maximum "
            "supported sequence length is just 8192!",
            None,
        ),
        8192,
        9000,
    ),
    (
        "snowflake",
        400,
        {"message": "max tokens of 131072 exceeded", "error_code": "399504"},
        131072,
        None,
    ),
    (
        "oracle",
        400,
        {
            "code": "400",
            "message": "Total number of prompt and completion tokens exceeds the max model length",
        },
        None,
        None,
    ),
    ("zai", 400, {"error": {"code": "1261", "message": "Prompt 超长"}}, None, None),
    (
        "cloudflare",
        413,
        {
            "errors": [
                {
                    "message": "AiError: The estimated number of input and maximum output tokens "
                    "(9000) exceeded this model context window limit (8192).",
                    "code": 5021,
                }
            ],
            "success": False,
        },
        8192,
        9000,
    ),
    (
        "vllm, prompt and output",
        400,
        openai_body(
            "You passed 5000 input tokens and requested 100 output tokens. However, the model's "
            "context length is only 4096 tokens, resulting in a maximum input length of 3996 "
            "tokens. Please reduce the length of the input prompt.",
            None,
        ),
        4096,
        5100,
    ),
    (
        "vllm, cut by a proxy",
        400,
        openai_body(
            "You passed 5000 input tokens and requested 100 output tokens. However, the model's "
            "context length is only 4096 tokens",
            None,
        ),
        4096,
        5100,
    ),
    (
        "siliconflow",
        400,
        {
            "code": 20015,
            "message": "length of prompt_tokens (140000) must be less than max_seq_len (131072).",
            "data": None,
        },
        131_072,
        140_000,
    ),
    (
        "volcengine",
        400,
        openai_body("Total tokens of image and text exceed max message tokens. Request id: 02"),
        None,
        None,
    ),
    (
        "litellm",
        400,
        openai_body("litellm.ContextWindowExceededError: litellm.BadRequestError: Too much."),
        None,
        None,
    ),
    (
        "openai chat",
        400,
        openai_body(
            "This model's maximum context length is 8192 tokens. However, you requested 8213 "
            "tokens (6683 in the messages, 730 in the functions, and 800 in the completion). "
            "Please reduce the length of the messages, functions, or completion."
        ),
        8192,
        8213,
    ),
    (
        "openai chat, input only",
        400,
        openai_body(
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in 204308 tokens. Please reduce the length of the messages."
        ),
        128000,
        204308,
    ),
    (
        "openai completions",
        400,
        openai_body(
            "This model's maximum context length is 4097 tokens, however you requested 4569 tokens "
            "(3545 in your prompt; 1024 for the completion). Please reduce your prompt; or "
            "completion length.",
            None,
        ),
        4097,
        4569,
    ),
    (
        "openai responses",
        400,
        openai_body(
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again."
        ),
        None,
        None,
    ),
    (
        "azure",
        400,
        openai_body(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
            "509178 tokens. Please reduce the length of the messages."
        ),
        272000,
        509178,
    ),
    (
        "azure, code lost by a proxy",
        400,
        openai_body(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
            "509178 tokens. Please reduce the length of the messages.",
            None,
        ),
        272000,
        509178,
    ),
    (
        "github models",
        413,
        {
            "error": {
                "code": "tokens_limit_reached",
                "message": "Request body too large for gpt-4.1 model. Max size: 8000 tokens.",
            }
        },
        8000,
        None,
    ),
    (
        "github copilot",
        400,
        {
            "error": {
                "message": "prompt token count of 138898 exceeds the limit of 64000",
                "code": "model_max_prompt_tokens_exceeded",
            }
        },
        64000,
        138898,
    ),
    (
        "github copilot without a code",
        400,
        {
            "error": {
                "message": "prompt token count of 93854 exceeds the limit of 90000",
                "param": "",
                "code": "",
                "type": "",
            }
        },
        90000,
        93854,
    ),
    (
        "anthropic, prompt",
        400,
        anthropic_body("prompt is too long: 208310 tokens > 200000 maximum"),
        200000,
        208310,
    ),
    (
        "anthropic, prompt and max_tokens",
        400,
        anthropic_body(
            "input length and `max_tokens` exceed context limit: 182831 + 64000 > 200000, decrease "
            "input length or `max_tokens` and try again"
        ),
        200000,
        246831,
    ),
    (
        "anthropic, bytes",
        413,
        anthropic_body("Request exceeds the maximum size", "request_too_large"),
        None,
        None,
    ),
    ("bedrock", 400, {"message": "Input is too long for requested model."}, None, None),
    (
        "bedrock claude",
        400,
        {
            "message": "The model returned the following errors: prompt is too long: "
            "200049 tokens > 200000 maximum"
        },
        200000,
        200049,
    ),
    (
        "bedrock titan",
        400,
        {
            "message": "400 Bad Request: Too many input tokens. Max input tokens: 8192, request "
            "input token count: 9279 "
        },
        8192,
        9279,
    ),
    (
        "bedrock nova",
        400,
        {
            "message": "Input Tokens Exceeded: Number of input tokens exceeds maximum length. "
            "Please update the input to try again."
        },
        None,
        None,
    ),
    ("a bare sentence", 400, {"message": "The input is too long."}, None, None),
    (
        "bedrock llama",
        400,
        {
            "message": "This model's maximum context length is 8192 tokens. Please reduce the "
            "length of the prompt"
        },
        8192,
        None,
    ),
    (
        "gemini",
        400,
        google_body(
            "The input token count (1200293) exceeds the maximum number of tokens allowed "
            "(1048576)."
        ),
        1048576,
        1200293,
    ),
    (
        "gemini as a list",
        400,
        [
            google_body(
                "The input token count (134123) exceeds the maximum number of tokens allowed "
                "(131072)."
            )
        ],
        131072,
        134123,
    ),
    (
        "vertex",
        400,
        google_body(
            "Unable to submit request because the input token count is 1100000 but model only "
            "supports up to 1048576. Reduce the input token count and try again."
        ),
        1048576,
        1100000,
    ),
    (
        "gemini wrapped in its own message",
        400,
        {
            "error": {
                "message": '{"error": {"code": 400, "message": "The input token count (3475108) '
                'exceeds the maximum number of tokens allowed (1048576).", '
                '"status": "INVALID_ARGUMENT"}}',
                "code": 400,
                "status": "Bad Request",
            }
        },
        1048576,
        3475108,
    ),
    (
        "mistral",
        400,
        {
            "object": "error",
            "message": "Prompt contains 300000 tokens, too large for model with 131072 maximum "
            "context length",
            "type": "invalid_request_prompt",
            "param": None,
            "code": "3051",
        },
        131072,
        300000,
    ),
    (
        "groq",
        400,
        openai_body("Please reduce the length of the messages or completion."),
        None,
        None,
    ),
    (
        "groq, code lost by a proxy",
        400,
        {"error": "Please reduce the length of the messages or completion."},
        None,
        None,
    ),
    (
        "groq, more than a minute's tokens",
        413,
        {
            "error": {
                "message": "Request too large for model `llama-3.3-70b-versatile` in organization "
                "`org_01` service tier `on_demand` on tokens per minute (TPM): Limit 12000, "
                "Requested 14137, please reduce your message size and try again.",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
        12000,
        14137,
    ),
    (
        "cerebras",
        400,
        {
            "message": "Please reduce the length of the messages or completion. Current length is "
            "40186 while limit is 32768",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        },
        32768,
        40186,
    ),
    (
        "deepseek",
        400,
        openai_body(
            "This model's maximum context length is 131072 tokens. However, you requested 131134 "
            "tokens (122942 in the messages, 8192 in the completion). Please reduce the length of "
            "the messages or completion.",
            "invalid_request_error",
        ),
        131072,
        131134,
    ),
    (
        "xai",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 136973 "
            "tokens.",
        },
        131072,
        136973,
    ),
    (
        "fireworks",
        400,
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "code": "invalid_request_error",
                "message": "The prompt is too long: 40177, model maximum context length: 32767",
            }
        },
        32767,
        40177,
    ),
    (
        "together",
        422,
        openai_body(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: "
            "8000 `inputs` tokens and 1000 `max_new_tokens`",
            None,
        ),
        8193,
        9000,
    ),
    (
        "text generation inference",
        422,
        {
            "error": "Input validation error: `inputs` must have less than 1024 tokens. "
            "Given: 1512",
            "error_type": "validation",
        },
        1024,
        1512,
    ),
    (
        "cohere",
        400,
        {
            "message": "too many tokens: total number of tokens (prompt and prediction) cannot "
            "exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."
        },
        2048,
        6354,
    ),
    (
        "cohere v2",
        400,
        {
            "id": "8bd5b608-887c-49f7-a6b3-d3bd5830c3de",
            "message": "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or "
            "fewer inputs. The limit for this model is 128000 tokens.",
        },
        128000,
        None,
    ),
    (
        "openrouter",
        400,
        {
            "error": {
                "code": 400,
                "message": "This endpoint's maximum context length is 32768 tokens. However, you "
                "requested about 42832 tokens (42832 of text input). Please reduce the length of "
                'either one, or use the "middle-out" transform to compress your prompt '
                "automatically.",
                "metadata": {"provider_name": None},
            }
        },
        32768,
        42832,
    ),
    (
        "openrouter, upstream body as text",
        400,
        openrouter_body(
            '{"type":"error","error":{"type":"invalid_request_error",'
            '"message":"prompt is too long: 205668 tokens > 200000 maximum"}}'
        ),
        200000,
        205668,
    ),
    (
        "openrouter, upstream body as an object",
        400,
        openrouter_body({"error": {"type": "exceed_context_size_error", "n_ctx": 4096}}),
        4096,
        None,
    ),
    (
        "openrouter, error type only",
        400,
        {
            "error": {
                "code": 400,
                "message": "Provider returned error",
                "metadata": {"error_type": "context_length_exceeded"},
            }
        },
        None,
        None,
    ),
    (
        "vllm",
        400,
        vllm_body(
            "This model's maximum context length is 16384 tokens. However, you requested 122946 "
            "tokens (112946 in the messages, 10000 in the completion). Please reduce the length of "
            "the messages or completion. None"
        ),
        16384,
        122946,
    ),
    (
        "vllm, input only",
        400,
        vllm_body(
            "This model's maximum context length is 200 tokens. However, your request has 203 "
            "input tokens. Please reduce the length of the input messages. None"
        ),
        200,
        203,
    ),
    (
        "vllm, max_tokens",
        400,
        vllm_body(
            "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum "
            "context length is 4096 tokens and your request has 2104 input tokens "
            "(2000 > 4096 - 2104). None"
        ),
        4096,
        4104,
    ),
    (
        "vllm, with a total",
        400,
        vllm_body(
            "This model's maximum context length is 262144 tokens. However, you requested 128000 "
            "output tokens and your prompt contains at least 134145 input tokens, for a total of "
            "at least 262145 tokens. Please reduce the length of the input prompt or the number of "
            "requested output tokens. (parameter=input_tokens, value=134145)"
        ),
        262144,
        262145,
    ),
    (
        "vllm, multimodal",
        400,
        vllm_body(
            "The prompt (total length 25938) is too long to fit into the model (context length "
            "4096). Make sure that `max_model_len` is no smaller than the number of text tokens "
            "plus multimodal tokens."
        ),
        4096,
        25938,
    ),
    (
        "sglang",
        400,
        vllm_body(
            "The input (61709 tokens) is longer than the model's context length (40960 tokens)."
        ),
        40960,
        61709,
    ),
    (
        "sglang, total",
        400,
        vllm_body(
            "Requested token count exceeds the model's maximum context length of 131072 tokens. "
            "You requested a total of 135000 tokens: 127000 tokens from the input messages and "
            "8000 tokens for the completion. Please reduce the number of tokens in the input "
            "messages or the completion to fit within the limit."
        ),
        131072,
        135000,
    ),
    (
        "sglang, memory",
        400,
        vllm_body(
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a "
            "shorter input or enable --allow-auto-truncate."
        ),
        59862,
        160062,
    ),
    (
        "llama.cpp",
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 14429,
                "n_ctx": 8192,
            }
        },
        8192,
        14429,
    ),
    (
        "llama.cpp, numbers in the message",
        500,
        {
            "error": {
                "code": 500,
                "message": "request (13054 tokens) exceeds the available context size (4096 "
                "tokens), try increasing it",
                "type": "server_error",
            }
        },
        4096,
        13054,
    ),
    (
        "llama-cpp-python",
        500,
        {
            "error": {
                "message": "Requested tokens (2285) exceed context window of 2048",
                "type": "internal_server_error",
                "param": None,
                "code": None,
            }
        },
        2048,
        2285,
    ),
    (
        "ollama",
        400,
        {"error": "prompt too long; exceeded max context length by 4096 tokens"},
        None,
        None,
    ),
    (
        "ollama embeddings",
        500,
        {"error": "the input length exceeds the context length"},
        None,
        None,
    ),
    (
        "lm studio",
        400,
        {
            "error": "Trying to keep the first 5406 tokens when context the overflows. However, "
            "the model is loaded with context length of only 1056 tokens, which is not enough. "
            "Try to load the model with a larger context length, or provide a shorter input"
        },
        1056,
        5406,
    ),
    (
        "moonshot",
        400,
        openai_body(
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
            None,
        ),
        262144,
        300000,
    ),
    (
        "moonshot, older",
        400,
        openai_body("model max length exceeded, max length:8192", None),
        8192,
        None,
    ),
    (
        "watsonx",
        400,
        {
            "errors": [
                {
                    "code": "invalid_input_argument",
                    "message": "Invalid input argument for Model 'm': the number of input tokens "
                    "5000 cannot exceed the total tokens limit 4096 for this model",
                }
            ],
            "status_code": 400,
        },
        4096,
        5000,
    ),
    ("z.ai", 400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, None, None),
    (
        "minimax",
        400,
        openai_body("invalid params, context window exceeds limit (2013)", None),
        None,
        None,
    ),
    (
        "dashscope",
        400,
        {
            "error": {
                "code": "invalid_parameter_error",
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length "
                "should be [1, 129024]",
                "type": "invalid_request_error",
            }
        },
        129024,
        None,
    ),
    (
        "thousands separators",
        400,
        {
            "error": {
                "message": "Prompt has 300,000 tokens, but the configured context size is "
                "131,072 tokens"
            }
        },
        131072,
        300000,
    ),
]


@pytest.mark.parametrize(
    ("status", "body", "limit", "actual"),
    [case[1:] for case in OVERFLOWS],
    ids=[case[0] for case in OVERFLOWS],
)
def test_an_overflow_is_recognised_with_its_numbers(
    status: int, body: JsonValue, limit: int | None, actual: int | None
) -> None:
    """Whatever a provider calls it, a prompt that does not fit is a ContextLengthError."""
    error = error_from_body(provider="any", body=body, status=status)

    assert isinstance(error, ContextLengthError)
    assert (limit, actual) == (error.limit_tokens, error.actual_tokens)
    assert error.retryable is False


@pytest.mark.parametrize(
    "body",
    [case[2] for case in OVERFLOWS if case[1] not in {413, 500}],
    ids=[case[0] for case in OVERFLOWS if case[1] not in {413, 500}],
)
def test_an_overflow_in_a_stream_is_recognised_too(body: JsonValue) -> None:
    """Without an HTTP status the body alone says the same."""
    error = error_from_body(provider="any", body=body)

    assert isinstance(error, ContextLengthError)


NOT_OVERFLOWS: list[tuple[str, int, JsonValue, type[LLMError]]] = [
    (
        "audio that is too long",
        400,
        openai_body("The input audio length exceeds the maximum of 1500 seconds", None),
        InvalidRequestError,
    ),
    (
        "an output that is too long",
        400,
        openai_body("max_tokens: 9000 > 8192, which is the maximum allowed number of tokens", None),
        InvalidRequestError,
    ),
    (
        "a string too long",
        400,
        openai_body(
            "Invalid 'messages[0].content': string too long. Expected a string with maximum length "
            "10485760, but got a string with length 12345678 instead.",
            "string_above_max_length",
        ),
        InvalidRequestError,
    ),
    (
        "too many tools",
        400,
        openai_body(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got "
            "an array with length 129 instead.",
            "array_above_max_length",
        ),
        InvalidRequestError,
    ),
    (
        "a tool name too long",
        400,
        openai_body(
            "Invalid 'tools[0].function.name': string too long. Expected a string with maximum "
            "length 64, but got a string with length 80 instead.",
            "string_above_max_length",
        ),
        InvalidRequestError,
    ),
    (
        "openai max_tokens",
        400,
        openai_body(
            "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, "
            "whereas you provided 32000.",
            "invalid_value",
        ),
        InvalidRequestError,
    ),
    (
        "groq max_tokens",
        400,
        openai_body(
            "`max_tokens` must be less than or equal to `16384`, the maximum value for "
            "`max_tokens` is less than the `context_window` for this model",
            None,
        ),
        InvalidRequestError,
    ),
    (
        "anthropic max_tokens",
        400,
        anthropic_body(
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for "
            "claude-sonnet-4-5"
        ),
        InvalidRequestError,
    ),
    (
        "anthropic thinking budget",
        400,
        anthropic_body("`max_tokens` must be greater than `thinking.budget_tokens`."),
        InvalidRequestError,
    ),
    (
        "bedrock max_tokens",
        400,
        {
            "message": "The maximum tokens you requested exceeds the model limit of 4096. Try "
            "again with a maximum tokens value that is lower than 4096."
        },
        InvalidRequestError,
    ),
    (
        "gemini maxOutputTokens",
        400,
        google_body(
            "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
            "supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try "
            "again."
        ),
        InvalidRequestError,
    ),
    (
        "an image too large",
        400,
        anthropic_body(
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > "
            "5242880 bytes"
        ),
        InvalidRequestError,
    ),
    (
        "too many pages",
        400,
        anthropic_body(
            "messages.0.content.0.pdf.source: A maximum of 100 PDF pages may be provided."
        ),
        InvalidRequestError,
    ),
    (
        "a payload too large",
        400,
        google_body("Request payload size exceeds the limit: 20971520 bytes."),
        InvalidRequestError,
    ),
    (
        "characters on bedrock",
        400,
        {
            "message": "Malformed input request: #/texts/0: expected maxLength: 2048, actual: "
            "19882, please reformat your input and try again."
        },
        InvalidRequestError,
    ),
    (
        "openai tokens a minute",
        429,
        openai_body(
            "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit "
            "10000, Used 9000, Requested 2000. Please try again in 6s.",
            "rate_limit_exceeded",
        ),
        RateLimitError,
    ),
    (
        "anthropic tokens a minute",
        429,
        anthropic_body(
            "This request would exceed your organization's rate limit of 40,000 input tokens per "
            "minute.",
            "rate_limit_error",
        ),
        RateLimitError,
    ),
    (
        "bedrock throttling",
        429,
        {"message": "Too many tokens, please wait before trying again."},
        RateLimitError,
    ),
    (
        "gemini quota",
        429,
        {
            "error": {
                "code": 429,
                "message": "Quota exceeded for metric: generativelanguage.googleapis.com/"
                "generate_content_free_tier_input_token_count, limit: 250000",
                "status": "RESOURCE_EXHAUSTED",
            }
        },
        RateLimitError,
    ),
    (
        "openrouter credits",
        402,
        {
            "error": {
                "message": "This request requires more credits, or fewer max_tokens. You requested "
                "up to 64000 tokens, but can only afford 2666.",
                "code": 402,
                "metadata": {"provider_name": None},
            }
        },
        QuotaExceededError,
    ),
]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [case[1:] for case in NOT_OVERFLOWS],
    ids=[case[0] for case in NOT_OVERFLOWS],
)
def test_what_only_sounds_like_an_overflow_is_none(
    status: int, body: JsonValue, kind: type[LLMError]
) -> None:
    """Something else may be too long, too large or too many; shortening would not help."""
    assert type(error_from_body(provider="any", body=body, status=status)) is kind


def test_throttling_in_a_stream_is_not_an_overflow() -> None:
    """Bedrock says "too many tokens" for tokens a minute, in a stream without a status."""
    frame: JsonValue = {
        "throttlingException": {"message": "Too many tokens, please wait before trying again."}
    }

    assert type(error_from_body(provider="bedrock", body=frame)) is RateLimitError


@pytest.mark.parametrize(
    "message",
    [
        "Too many tokens per minute.",
        "Too many tokens: 30000 TPM.",
        "Rate limit: too many tokens.",
        "Too many tokens, please wait before trying again.",
        "Throttled: too many tokens.",
        "Token quota exceeded: too many tokens.",
    ],
)
def test_a_limit_over_time_is_not_an_overflow(message: str) -> None:
    """The wording alone tells a limit over time from the model's window."""
    assert not is_context_overflow(message, ())


@pytest.mark.parametrize(
    "code",
    [
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "token_limit_exceeded",
        "tokens_limit_reached",
    ],
)
def test_a_code_says_it_without_words(code: str) -> None:
    """Where a provider has a code for it, its message may say anything."""
    error = error_from_body(provider="any", body=openai_body("Sorry.", code), status=400)

    assert isinstance(error, ContextLengthError)


@given(st.text(), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_can_be_asked(message: str, codes: list[str]) -> None:
    """No message and no code makes the search raise."""
    assert is_context_overflow(message, codes) in {True, False}
    assert all(count is None or count >= 0 for count in token_counts(message))
    assert all(count >= 0 for count in input_and_output(message) or ())


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_the_numbers_are_those_of_the_message(limit: int, actual: int) -> None:
    """Numbers of any size come back as they were written, with separators or without."""
    for text in (
        f"prompt is too long: {actual} tokens > {limit} maximum",
        f"prompt is too long: {actual:,} tokens > {limit:,} maximum",
    ):
        assert token_counts(text) == (limit, actual)


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (
            "input length and `max_tokens` exceed context limit: 182831 + 64000 > 200000",
            (182831, 64000),
        ),
        ("You passed 9 input tokens and requested 5 output tokens.", (9, 5)),
        ("Your request has 10 input tokens (5000 > 4096 - 10).", (10, 5000)),
        ("Given: 4000 `inputs` tokens and 1000 `max_new_tokens`", (4000, 1000)),
        (
            "you requested 66434 tokens (58242 in the messages, 8192 in the completion).",
            (58242, 8192),
        ),
        (
            "requested 9000 tokens (5000 in the messages, 5 in functions, and 3500 in the output)",
            (5500, 3500),
        ),
        (
            "requested about 150 tokens (105 of text input, 27 of tool input, 18 in the output)",
            (132, 18),
        ),
        ("you requested 4 tokens (0 in your prompt; 9 for the completion).", (0, 9)),
        ("However, you requested about 5000 tokens", None),
        ("prompt is too long: 208310 tokens > 200000 maximum", None),
    ],
)
def test_input_and_output_are_told_apart_where_the_message_has_both(
    message: str, parts: tuple[int, int] | None
) -> None:
    """A smaller output is enough where the input alone would fit."""
    assert input_and_output(message) == parts


def test_a_huge_echoed_prompt_is_searched_in_no_time() -> None:
    """Servers that echo the prompt in the message do not slow the client down."""
    echoed = "prompt is too long context length exceeds the " * 100_000

    assert is_context_overflow(echoed, ())
    assert type(error_from_body(provider=None, body={"error": "x " * 1_000_000})) is ProviderError
