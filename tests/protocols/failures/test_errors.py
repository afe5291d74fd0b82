"""The error that a response is read as, and its fields.

The bodies are written from the providers' documents; ids and organisations are invented.
"""

import pickle
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.failures.errors import error_from_body, error_from_response
from llmcore.schema import errors as schema_errors
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from llmcore.schema.json import JsonValue


def classified(body: JsonValue, status: int | None = None) -> type[LLMError]:
    return type(error_from_body(provider="any", body=body, status=status))


def said(message: str, **fields: JsonValue) -> JsonValue:
    return {"error": {"message": message, **fields}}


# -- By what the server states ---------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "stated", "retryable"),
    [
        (500, {}, "false", False),
        (429, {}, "false", False),
        (400, {}, "true", True),
        (429, {}, "maybe", True),
        (429, said("No.", code="insufficient_quota"), "true", False),
        (400, said("No.", code="context_length_exceeded"), "true", False),
    ],
)
def test_server_states_whether_a_request_is_sent_again(
    status: int, body: JsonValue, stated: str, *, retryable: bool
) -> None:
    """As the SDKs of OpenAI and Anthropic read it, but for errors that no retry can cure."""
    error = error_from_response(
        provider="any", status=status, headers={"X-Should-Retry": stated}, body=json.dumps(body)
    )

    assert error.retryable is retryable


# -- By status --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, ProviderError, False),
        (304, ProviderError, False),
        (400, InvalidRequestError, False),
        (401, AuthenticationError, False),
        (402, QuotaExceededError, False),
        (403, AccessDeniedError, False),
        (404, NotFoundError, False),
        (408, RequestTimeoutError, True),
        (409, ProviderError, True),
        (410, NotFoundError, False),
        (413, ContextLengthError, False),
        (418, ProviderError, False),
        (422, InvalidRequestError, False),
        (424, ServerError, True),
        (429, RateLimitError, True),
        (451, ProviderError, False),
        (498, OverloadedError, True),
        (499, ProviderError, False),
        (500, ServerError, True),
        (501, ServerError, True),
        (502, ServerError, True),
        (503, ServerError, True),
        (504, ServerError, True),
        (520, ServerError, True),
        (529, OverloadedError, True),
        (None, ProviderError, True),
    ],
)
def test_the_status_decides_where_nothing_says_more(
    status: int | None, kind: type[LLMError], retryable: bool
) -> None:
    """Each status has its class; an unknown error is retried unless it is a 4xx."""
    error = error_from_body(provider="any", body=said("Something happened."), status=status)

    assert (kind, retryable) == (type(error), error.retryable)
    assert status == error.status_code


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529])
@pytest.mark.parametrize("form", ["number", "numeral", "field", "raw"])
def test_a_status_in_the_body_counts_like_an_http_status(status: int, form: str) -> None:
    """An error inside a 200 is the error it would be as a 4xx or 5xx."""
    fields: dict[str, dict[str, JsonValue]] = {
        "number": {"code": status},
        "numeral": {"code": str(status)},
        "field": {"code": None, "status_code": status},
        "raw": {"raw_status_code": status},
    }
    body = said("Something happened.", **fields[form])
    error = error_from_body(provider="any", body=body)

    assert classified({}, status) is type(error)
    assert status == error.status_code


def test_the_real_status_stays_the_status_code() -> None:
    """The body's status classifies the error, but does not replace the status of HTTP."""
    error = error_from_body(provider="openrouter", body=said("Slow.", code=429), status=200)

    assert (RateLimitError, 200) == (type(error), error.status_code)


# -- By code, in a stream ---------------------------------------------------------------


CODES: dict[type[LLMError], str] = {
    InvalidRequestError: """invalid_request_error invalid_request INVALID_ARGUMENT BadRequest
        FAILED_PRECONDITION OUT_OF_RANGE ValidationException validationException BadRequestError
        validation_error unprocessable unprocessable_entity UnprocessableEntityError
        invalid_value unsupported_value unknown_parameter missing_required_parameter
        invalid_image image_parse_error image_too_large image_too_small image_file_too_large
        image_file_not_found image_not_found image_download_failed empty_image_file
        failed_to_download_image data_residency_mismatch tool_use_failed string_too_long
        max_tokens_exceeded previous_response_not_found string_above_max_length""",
    AuthenticationError: """authentication_error UNAUTHENTICATED unauthorized authentication
        AuthenticationError invalid_api_key API_KEY_INVALID UnrecognizedClientException
        ExpiredTokenException InvalidSignatureException IncompleteSignature InvalidClientTokenId
        MissingAuthenticationToken""",
    AccessDeniedError: """permission_error PERMISSION_DENIED AccessDeniedException forbidden
        PermissionDeniedError""",
    NotFoundError: """not_found_error NOT_FOUND ResourceNotFoundException NotFoundError
        model_not_found DeploymentNotFound invalid_model resource_not_found""",
    RateLimitError: """rate_limit_error rate_limit_exceeded rate_limited RateLimitError slow_down
        RESOURCE_EXHAUSTED ThrottlingException throttlingException too_many_requests
        TooManyRequestsException too_many_requests_error queue_exceeded
        service_tier_capacity_exceeded usage_limit_reached""",
    QuotaExceededError: """insufficient_quota billing_error payment_required billing_not_active
        billing_hard_limit_reached credit_balance_exhausted organization_spend_limit_exceeded
        project_spend_limit_exceeded organization_usage_limit_exceeded usage_limit_exceeded
        ServiceQuotaExceededException exceeded_current_quota_error Arrearage""",
    ServerError: """api_error server_error internal_error internal_server_error
        InternalServerError INTERNAL UNAVAILABLE UNKNOWN DATA_LOSS server bad_gateway
        provider_unavailable unavailable_error service_unavailable InternalFailure
        InternalServerException internalServerException ServiceUnavailableException
        ModelErrorException modelStreamErrorException""",
    OverloadedError: """overloaded_error overloaded provider_overloaded engine_overloaded
        engine_overloaded_error server_is_overloaded ModelNotReadyException server_overloaded
        flex_unavailable over_capacity""",
    RequestTimeoutError: """timeout_error timeout request_timeout DEADLINE_EXCEEDED
        vector_store_timeout ModelTimeoutException modelTimeoutException""",
    ContextLengthError: """request_too_large payload_too_large context_length_exceeded
        exceed_context_size_error""",
    ContentFilterError: """content_filter ResponsibleAIPolicyViolation content_policy_violation
        image_content_policy_violation data_inspection_failed refusal bio_policy
        misalignment_policy_violation""",
    ProviderError: "conflict_error ABORTED ConflictException unmapped",
}


@pytest.mark.parametrize("kind", CODES)
def test_the_code_decides_where_no_status_is_known(kind: type[LLMError]) -> None:
    """Codes, types, gRPC statuses and AWS exceptions say as much as an HTTP status."""
    for code, field in product(CODES[kind].split(), ("code", "type", "status")):
        error = error_from_body(provider="any", body=said("Sorry.", **{field: code}))

        assert (type(error), error.error_code) == (kind, code)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            OverloadedError,
        ),
        (
            {"type": "error", "error": {"type": "rate_limit_error", "message": "Too fast"}},
            RateLimitError,
        ),
        (
            {"type": "error", "code": "ERR", "message": "Something", "param": None},
            ProviderError,
        ),
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit reached"},
            RateLimitError,
        ),
        ({"error": {"code": "server_error", "message": "An error occurred."}}, ServerError),
        ({"error": {"code": "invalid_image_format", "message": "Bad."}}, InvalidRequestError),
        (
            {"error": {"code": 429, "message": "Resource exhausted.", "status": "x"}},
            RateLimitError,
        ),
        ({"throttlingException": {"message": "Slow down"}}, RateLimitError),
        (
            {"modelStreamErrorException": {"message": "It failed", "originalStatusCode": 429}},
            RateLimitError,
        ),
        ({"__type": "modelTimeoutException", "message": "Too slow"}, RequestTimeoutError),
        ({"__type": "com.amazon.coral.service#AccessDeniedException"}, AccessDeniedError),
        ({"error": {"message": "x", "code": "y", "status_code": 400}}, InvalidRequestError),
        ({"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "Too fast"}, RateLimitError),
        ({"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "No endpoint"}, NotFoundError),
        ({"error_code": "TEMPORARILY_UNAVAILABLE", "message": "Later"}, ServerError),
        (
            {"code": "Throttling.RateQuota", "message": "Too fast", "request_id": "r"},
            RateLimitError,
        ),
        ({"code": "InvalidApiKey", "message": "Who?", "request_id": "r"}, AuthenticationError),
        ({"code": "AccessDenied.Unpurchased", "message": "No.", "status": 403}, AccessDeniedError),
        ({"error": {"code": "1002", "message": "x"}}, AuthenticationError),
        ({"error": {"code": "1113", "message": "x"}}, QuotaExceededError),
        ({"error": {"code": "1210", "message": "x"}}, InvalidRequestError),
        ({"error": {"code": "1211", "message": "x"}}, NotFoundError),
        ({"error": {"code": "1234", "message": "x"}}, ServerError),
        ({"error": {"code": "1301", "message": "x"}}, ContentFilterError),
        (
            {
                "error": {"code": "server_error", "message": "x"},
                "error_type": "provider_overloaded",
            },
            OverloadedError,
        ),
        ({"error": {"code": "1302", "message": "x"}}, RateLimitError),
        ({"error": {"code": "1305", "message": "x"}}, OverloadedError),
        ({"error": {"code": "1311", "message": "x"}}, AccessDeniedError),
        ({"base_resp": {"status_code": 1000, "status_msg": "x"}}, ServerError),
        ({"base_resp": {"status_code": 1001, "status_msg": "x"}}, RequestTimeoutError),
        ({"base_resp": {"status_code": 1002, "status_msg": "x"}}, RateLimitError),
        ({"base_resp": {"status_code": 1004, "status_msg": "x"}}, AuthenticationError),
        ({"base_resp": {"status_code": 1008, "status_msg": "x"}}, QuotaExceededError),
        ({"base_resp": {"status_code": 1026, "status_msg": "x"}}, ContentFilterError),
        ({"base_resp": {"status_code": 1039, "status_msg": "x"}}, RateLimitError),
        ({"base_resp": {"status_code": 2013, "status_msg": "x"}}, InvalidRequestError),
        ({"base_resp": {"status_code": 2049, "status_msg": "x"}}, AuthenticationError),
    ],
)
def test_a_frame_of_a_stream_is_classified(frame: JsonValue, kind: type[LLMError]) -> None:
    """An error after a 200 has the class that it would have had before."""
    assert classified(frame) is kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("model 'llama9' not found, try pulling it first", NotFoundError),
        ("The resource does not exist", NotFoundError),
        ("404 page not found", NotFoundError),
        ("unauthorized", AuthenticationError),
        ("Invalid key", AuthenticationError),
        ("please pass a valid API key", AuthenticationError),
        ("authentication failed", AuthenticationError),
        ("maximum context length exceeded: too many tokens", ContextLengthError),
        ("the prompt was blocked by the content filter", ContentFilterError),
        ("blocked for safety", ContentFilterError),
        ("rate limit exceeded", RateLimitError),
        ("too many requests", RateLimitError),
        ("you have run out of credits", QuotaExceededError),
        ("server overloaded, please retry", OverloadedError),
        ("upstream request timed out", RequestTimeoutError),
        ("internal server error", ServerError),
        ("access denied", AccessDeniedError),
        ("permission denied", AccessDeniedError),
        ("forbidden", AccessDeniedError),
        ("the service is at capacity", OverloadedError),
        ("llama runner process has terminated", ProviderError),
    ],
)
def test_the_message_decides_last(message: str, kind: type[LLMError]) -> None:
    """With no status and no code, the wording is all there is."""
    assert classified({"error": message}) is kind


# -- More than the status says ----------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, said("You exceeded your quota.", code="insufficient_quota"), QuotaExceededError),
        (429, said("No.", type="insufficient_quota", code=None), QuotaExceededError),
        (
            429,
            said("No credits.", type="insufficient_quota", code="credit_balance_exhausted"),
            QuotaExceededError,
        ),
        (
            429,
            said(
                "No.",
                type="rate_limit_error",
                details={"error_code": "enforced_spend_limit_reached"},
            ),
            QuotaExceededError,
        ),
        (
            429,
            said(
                "No.",
                type="rate_limit_error",
                details={"error_code": "contract_spend_limit_reached"},
            ),
            QuotaExceededError,
        ),
        (
            429,
            said("No.", type="rate_limit_error", details={"error_code": "ramp_limit_exceeded"}),
            RateLimitError,
        ),
        (
            429,
            said("You exceeded your current quota.", code=429, status="RESOURCE_EXHAUSTED"),
            RateLimitError,
        ),
        (
            400,
            said(
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
                "Billing to upgrade or purchase credits.",
                type="invalid_request_error",
            ),
            QuotaExceededError,
        ),
        (
            400,
            said(
                "You have reached your specified API usage limits. You will regain access on "
                "2026-01-01 at 00:00 UTC.",
                type="invalid_request_error",
            ),
            QuotaExceededError,
        ),
        (402, said("Insufficient Balance", code="invalid_request_error"), QuotaExceededError),
        (
            402,
            said("Wait.", code=402, metadata={"limit_source": "openrouter_in_flight_budget"}),
            RateLimitError,
        ),
        (
            429,
            {
                "code": "Some resource has been exhausted",
                "error": "Your team has either used all available credits or reached its monthly "
                "spending limit.",
            },
            QuotaExceededError,
        ),
        (
            400,
            said(
                "The response was filtered due to the prompt triggering Azure OpenAI's content "
                "management policy.",
                type=None,
                code="content_filter",
                status=400,
                innererror={"code": "ResponsibleAIPolicyViolation"},
            ),
            ContentFilterError,
        ),
        (
            400,
            said("Sorry.", innererror={"code": "ResponsibleAIPolicyViolation"}),
            ContentFilterError,
        ),
        (
            400,
            said("Output blocked by content filtering policy", type="invalid_request_error"),
            ContentFilterError,
        ),
        (
            400,
            said(
                "Invalid prompt: it was flagged as potentially violating our usage policy.",
                code="invalid_prompt",
            ),
            ContentFilterError,
        ),
        (400, said("Content Exists Risk", code="invalid_request_error"), ContentFilterError),
        (400, said("The request was rejected, as it was considered high risk"), ContentFilterError),
        (
            400,
            said("litellm.ContentPolicyViolationError: litellm.BadRequestError", code="400"),
            ContentFilterError,
        ),
        (
            429,
            {"message": "You are using a Trial key, which is limited to 1000 API calls / month."},
            QuotaExceededError,
        ),
        (
            429,
            {"message": "You are using a Trial key, which is limited to 10 API calls / minute."},
            RateLimitError,
        ),
        (
            429,
            said("Extra usage is required for long context requests.", type="rate_limit_error"),
            QuotaExceededError,
        ),
        (
            403,
            said(
                "openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "
                '"violence". No credits were charged.',
                code=403,
                metadata={"reasons": ["violence"], "flagged_input": "..."},
            ),
            ContentFilterError,
        ),
        (
            400,
            said("Invalid value for safety_settings[0].category", status="INVALID_ARGUMENT"),
            InvalidRequestError,
        ),
        (
            400,
            said(
                "API key not valid. Please pass a valid API key.",
                code=400,
                status="INVALID_ARGUMENT",
                details=[{"@type": "google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
            ),
            AuthenticationError,
        ),
        (
            400,
            {"code": "Client specified an invalid argument", "error": "Incorrect API key provided"},
            AuthenticationError,
        ),
        (
            403,
            {"message": "The security token included in the request is invalid."},
            AuthenticationError,
        ),
        (403, {"Message": "Authentication failed: use a valid API Key."}, AuthenticationError),
        (
            403,
            said("Project `p` does not have access to model `gpt-5`", code="model_not_found"),
            AccessDeniedError,
        ),
        (
            400,
            {
                "object": "error",
                "message": "Invalid model: mistral-huge",
                "type": "invalid_model",
                "code": "1500",
            },
            NotFoundError,
        ),
        (400, said("foo/bar is not a valid model ID", code=400), NotFoundError),
        (
            400,
            said("/chat/completions: Invalid model name passed in model=gpt-9. Call `/v1/models`"),
            NotFoundError,
        ),
        (400, said("No connected db.", type="no_db_connection", code="400"), AuthenticationError),
        (400, said("tool `x` was not found in the request", code=400), InvalidRequestError),
        (
            404,
            said("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
            NotFoundError,
        ),
        (
            429,
            {
                "object": "error",
                "message": "Service tier capacity exceeded for this model.",
                "type": "invalid_request_error",
            },
            RateLimitError,
        ),
        (
            403,
            said("Input flagged", code=403, metadata={"reasons": ["x"], "flagged_input": "..."}),
            ContentFilterError,
        ),
        (403, said("Key limit exceeded (monthly limit). Manage it", code=403), QuotaExceededError),
        (
            412,
            said("Account a is suspended, possibly due to reaching the monthly spending limit"),
            QuotaExceededError,
        ),
        (412, said("The model could not be loaded."), ProviderError),
        (400, said("Unknown Model, please check the model code.", code="1211"), NotFoundError),
        (
            403,
            said("user quota is not enough (request id: 1)", type="one_api_error", code=""),
            QuotaExceededError,
        ),
        (403, said("Who?", code="insufficient_user_quota"), QuotaExceededError),
        (400, said("Account overdue.", code="Arrearage"), QuotaExceededError),
        (429, said("余额不足或无可用资源包", code="1113"), QuotaExceededError),
        (429, said("Your prepayment credits are depleted."), QuotaExceededError),
        (403, said("Your team has reached its monthly spending limit."), QuotaExceededError),
        (403, said("Insufficient credits"), QuotaExceededError),
        (400, said("You requested something against our content policy"), ContentFilterError),
        (400, said("Your request was rejected by the safety system."), ContentFilterError),
        (400, said("Input data may contain inappropriate content."), ContentFilterError),
        (400, said("The API key is expired."), AuthenticationError),
        (
            403,
            said("The free tier is exhausted.", code="AllocationQuota.FreeTierOnly"),
            QuotaExceededError,
        ),
        (403, said("Overdue.", code="AccountOverdueError", type="Forbidden"), QuotaExceededError),
        (429, said("Limit.", code="SetLimitExceeded", type="TooManyRequests"), QuotaExceededError),
        (400, said("ExceededBudget", type="budget_exceeded", code="400"), QuotaExceededError),
        (
            403,
            {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None},
            QuotaExceededError,
        ),
        (
            429,
            {"errors": [{"code": 4006, "message": "you have used up your daily free allocation"}]},
            QuotaExceededError,
        ),
        (
            400,
            said("No.", code="OutputTextSensitiveContentDetected", type="BadRequest"),
            ContentFilterError,
        ),
        (400, said("Not here.", code="model_not_supported", param="model"), NotFoundError),
        (
            400,
            {"errors": [{"code": 5007, "message": "AiError: No such model @cf/x"}]},
            NotFoundError,
        ),
        (400, {"message": "The provided model identifier is invalid."}, NotFoundError),
        (400, said("The model `gpt-9.1` does not exist or you have no access."), NotFoundError),
        (400, said("Gone.", code="model_decommissioned"), NotFoundError),
        (400, said("The model `x/y` has been decommissioned. See our page."), NotFoundError),
        (
            400,
            {
                "message": "Invocation of model ID anthropic.x-1:0 with on-demand throughput "
                "isn\u2019t supported. Retry your request with an inference profile."
            },
            NotFoundError,
        ),
        (
            400,
            said("User location is not supported for the API use.", status="FAILED_PRECONDITION"),
            AccessDeniedError,
        ),
        (400, {"message": "Operation not allowed"}, AccessDeniedError),
        (400, said("Operation not allowed in messages.3"), InvalidRequestError),
        (400, said("This organization has been disabled."), AuthenticationError),
        (400, said("No.", details={"error_code": "organization_on_hold"}), AuthenticationError),
        (403, said("Your API key was reported as leaked.", code=403), AuthenticationError),
        (500, said("The answer is late.", type="overloaded_error"), OverloadedError),
        (503, said("llama-3 is currently over capacity."), OverloadedError),
        (503, said("Service tier capacity exceeded for this model."), OverloadedError),
        (503, said("Service is too busy."), OverloadedError),
        (503, said("The model is overloaded.", code=503, status="UNAVAILABLE"), OverloadedError),
        (503, said("Slow down", code="slow_down"), OverloadedError),
        (503, said("Server busy: experiencing high demand"), OverloadedError),
        (503, said("Loading model", code=503, type="unavailable_error"), ServerError),
        (504, said("Deadline expired", code=504, status="DEADLINE_EXCEEDED"), RequestTimeoutError),
        (504, said("Too slow", type="timeout_error"), RequestTimeoutError),
        (424, {"message": "The model failed."}, ServerError),
        (403, {"code": 403, "reason": "NOT_ENOUGH_BALANCE", "message": "No."}, QuotaExceededError),
        (403, {"code": 403, "message": "not enough balance"}, QuotaExceededError),
        (401, said("Insufficient balance.", type="CreditsError"), QuotaExceededError),
        (403, {"errors": [{"code": "token_quota_reached", "message": "No."}]}, QuotaExceededError),
        (403, {"error": "Your team doesn't have any credits yet."}, QuotaExceededError),
        (403, {"error": "Content violates usage guidelines."}, ContentFilterError),
        (403, said("No.", code="cyber_policy"), ContentFilterError),
        (446, said("The guardrail checks failed.", type="hooks_failed"), ContentFilterError),
        (424, {"error": [{"code": 2016, "message": "Prompt blocked."}]}, ContentFilterError),
        (400, {"message": "The guardrail identifier does not exist."}, InvalidRequestError),
        (400, said("Unknown model: gpt-9", code="unknown_model"), NotFoundError),
        (400, {"message": 'unknown model "x/y-1"'}, NotFoundError),
        (400, said("Unknown model parameter top_k"), InvalidRequestError),
        (503, {"detail": "Rate limit reached for the model."}, RateLimitError),
        (500, said("litellm.RateLimitError: slow down"), RateLimitError),
        (503, {"detail": "ResourceExhausted: worker limit reached (61/32)"}, OverloadedError),
        (503, said("No.", status="RESOURCE_EXHAUSTED"), OverloadedError),
    ],
)
def test_some_codes_and_wordings_say_more_than_the_status(
    status: int, body: JsonValue, kind: type[LLMError]
) -> None:
    """A 429 may mean no money, a 400 a bad key, a 503 no capacity."""
    assert classified(body, status) is kind


_ABOUT = "my credit balance is too low, invalid api key, content policy, prompt is too long"
"""Words of a request, each of which would classify an error if the provider said them."""


@pytest.mark.parametrize(
    "message",
    [
        f"[{{'type': 'missing', 'loc': ('body', 'model'), 'input': {{'prompt': '{_ABOUT}'}}}}]",
        f'[{{"type": "missing", "loc": ["body"], "input": {{"prompt": "{_ABOUT}"}}}}]',
        f"Input should be a valid string [type=string_type, input_value={{'text': '{_ABOUT}'}}]",
        f"Invalid value at 'contents[0].parts' (type.googleapis.com/Part), \"{_ABOUT}\"",
        f"Invalid value (oneof) at 'contents[0].role' (TYPE_STRING), \"{_ABOUT}\"",
        f"Invalid value: '{_ABOUT}'. Supported values are: 'low' and 'high'.",
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_value_of_the_request_in_a_message_does_not_classify_it(
    message: str, status: int
) -> None:
    """Validation errors repeat what they refuse, whatever it is about."""
    error = error_from_body(provider="any", body=said(message), status=status)

    assert type(error) is InvalidRequestError
    assert error.message == message


def test_the_words_before_a_repeated_value_classify() -> None:
    """They are the provider's own."""
    message = "prompt is too long: 9 tokens > 8 maximum, got {'input': 'x'}"
    error = error_from_body(provider="any", body=said(message), status=400)

    assert isinstance(error, ContextLengthError)
    assert (error.limit_tokens, error.actual_tokens) == (8, 9)


@pytest.mark.parametrize("kind", ["ThrottlingException", "RequestLimitExceeded"])
def test_a_throttled_request_is_a_rate_limit_whatever_its_status(kind: str) -> None:
    """As botocore, which retries by the type of an error (`botocore/data/_retry.json`)."""
    for status in (400, 429):
        assert classified({"__type": kind, "message": "Slow down"}, status) is RateLimitError


def test_a_request_larger_than_the_whole_allowance_is_not_retried() -> None:
    """Waiting does not help a request that asks for more tokens than a minute has."""
    body = said(
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
        "Requested 40000. The input or output tokens must be reduced.",
        type="tokens",
        code="rate_limit_exceeded",
    )
    error = error_from_body(provider="openai", body=body, status=429)

    assert (RateLimitError, False) == (type(error), error.retryable)


def test_the_aws_type_comes_from_the_header() -> None:
    """AWS names the exception in `x-amzn-errortype`, with a URL behind it."""
    error = error_from_response(
        provider="bedrock",
        status=403,
        headers={
            "x-amzn-ErrorType": "ExpiredTokenException:http://internal.amazon.com/coral/",
            "x-amzn-RequestId": "9251f066",
        },
        body=b'{"message":"The security token is too old"}',
    )

    assert type(error) is AuthenticationError
    assert error.error_code == "ExpiredTokenException"
    assert error.request_id == "9251f066"


# -- The message ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (said("No.", type="t", code="c", param=None), "No.", "c"),
        (said("No.", type="t", code=None), "No.", "t"),
        (said("No.", type="BadRequestError", code=400), "No.", "BadRequestError"),
        (said("No.", code=429), "No.", "429"),
        (said("No.", code=429, status="RESOURCE_EXHAUSTED"), "No.", "RESOURCE_EXHAUSTED"),
        ([said("No.", code=429, status="RESOURCE_EXHAUSTED")], "No.", "RESOURCE_EXHAUSTED"),
        (
            {"type": "error", "error": {"type": "api_error", "message": "No."}, "request_id": "r"},
            "No.",
            "api_error",
        ),
        ({"error": "model not found"}, "model not found", None),
        ({"error": "No.", "code": "The service is down"}, "No.", "The service is down"),
        ({"error": ["One.", "Two."]}, "One.; Two.", None),
        ({"error": "Not Found", "message": "No such path", "status": 404}, "No such path", None),
        ({"errors": [{"code": 10000, "message": "Bad account"}]}, "Bad account", "10000"),
        ({"message": "No."}, "No.", None),
        ({"Message": "No.", "__type": "a#SlowDown"}, "No.", "SlowDown"),
        (
            {"statusCode": 429, "message": "Rate limit is exceeded."},
            "Rate limit is exceeded.",
            None,
        ),
        ({"detail": "Unauthorized"}, "Unauthorized", None),
        (
            {"detail": [{"type": "missing", "loc": ["body", "messages", 0], "msg": "Required"}]},
            "body.messages.0: Required",
            None,
        ),
        (
            {
                "object": "error",
                "message": {"detail": [{"loc": ["body", "n"], "msg": "Bad"}, {"msg": "Worse"}]},
                "type": "invalid_request_error",
                "code": None,
            },
            "body.n: Bad; Worse",
            "invalid_request_error",
        ),
        ({"object": "error", "message": "No.", "code": "3051"}, "No.", "3051"),
        ({"base_resp": {"status_code": 1004, "status_msg": "No."}}, "No.", "1004"),
        ({"throttlingException": {"message": "Slow"}}, "Slow", "throttlingException"),
        (
            {"modelStreamErrorException": {"message": "It failed", "originalMessage": "Too long"}},
            "It failed: Too long",
            "modelStreamErrorException",
        ),
        ({"title": "Bad", "detail": "No.", "code": "c"}, "No.", "c"),
        ("just text", "just text", None),
        ({"error": {"error": "deep", "code": "c"}}, "deep", "c"),
        ({"detail": {"error": "No."}}, "No.", None),
        ({"error_code": 336003, "error_msg": "No."}, "No.", "336003"),
        ({"success": False, "errors": [{"code": 7000, "message": "No."}]}, "No.", "7000"),
        ({"code": 403, "reason": "NO_BALANCE", "message": "No."}, "No.", "NO_BALANCE"),
        ({"trouble": {"type": "overloaded", "message": "No."}}, "No.", "overloaded"),
    ],
)
def test_message_and_code_come_from_every_envelope(
    body: JsonValue, message: str, code: str | None
) -> None:
    """Every provider's shape gives its own message and its own code."""
    error = error_from_body(provider="any", body=body)

    assert message == error.message
    assert code == error.error_code
    assert body == error.raw


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            "gemini:free is temporarily rate-limited upstream.",
            "Provider returned error: gemini:free is temporarily rate-limited upstream.",
        ),
        (
            '{"error":{"message":"Slow down","type":"tokens"}}',
            "Provider returned error: Slow down",
        ),
        ({"error": {"message": "Slow down"}}, "Provider returned error: Slow down"),
        ('{"error": "cut off', 'Provider returned error: {"error": "cut off'),
        ("", "Provider returned error"),
        (None, "Provider returned error"),
        ("Provider returned error", "Provider returned error"),
    ],
)
def test_the_error_of_the_provider_behind_is_kept_too(raw: JsonValue, message: str) -> None:
    """A router's own message says little; what it wraps comes with it."""
    metadata: JsonValue = {"raw": raw, "provider_name": "Google"}
    error = error_from_body(
        provider="openrouter", body=said("Provider returned error", code=429, metadata=metadata)
    )

    assert (RateLimitError, message) == (type(error), error.message)


def test_the_code_of_the_provider_behind_classifies() -> None:
    """A router's 429 may be the upstream's empty account."""
    raw = '{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}'
    body = said("Provider returned error", code=429, metadata={"raw": raw})

    assert classified(body, 429) is QuotaExceededError


def test_limits_in_a_body_count_like_headers() -> None:
    """OpenRouter's, of free models; the response's own headers win."""
    limits = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "x"}
    metadata: JsonValue = {"headers": {**limits, "Retry-After": "7", "n": 1}, "provider_name": None}
    body = said("Rate limit exceeded: free-models-per-day", code=429, metadata=metadata)

    error = error_from_body(provider="any", body=body)
    own = error_from_body(provider="any", body=body, headers={"retry-after": "9"})

    assert type(error) is RateLimitError
    assert error.rate_limit is not None
    assert (error.rate_limit.requests_limit, error.rate_limit.requests_remaining) == (50, 0)
    assert (error.retry_after, own.retry_after) == (7, 9)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "error", "status": 429, "error": {"message": "x"}, "headers": {"Retry-After": 7}},
        {"error": {"code": "rate_limit_exceeded", "message": "x", "headers": {"retry-after": "7"}}},
    ],
    ids=["beside the error", "in the error"],
)
def test_headers_that_an_error_states_count(body: JsonValue) -> None:
    """OpenAI states them so in frames of a WebSocket and in errors that it has kept."""
    error = error_from_body(provider="openai", body=body)

    assert (type(error), error.retry_after) == (RateLimitError, 7)


def test_the_wait_of_the_provider_behind_is_kept() -> None:
    """A router passes the upstream's RetryInfo on inside its metadata."""
    raw = '{"error":{"code":429,"message":"Slow","details":[{"retryDelay":"38s"}]}}'
    body = said("Provider returned error", code=429, metadata={"raw": raw})

    assert error_from_body(provider="openrouter", body=body).retry_after == 38


# -- Bodies without an error object ------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "raw"),
    [
        (b"", "HTTP 502 without a message", None),
        (b"upstream connect error", "upstream connect error", "upstream connect error"),
        (b'id:1\nevent:error\ndata:{"message": "no"}\n\ndata: [DONE]\n', "no", {"message": "no"}),
        (b"data: {oops\n\n", "data: {oops", "data: {oops\n\n"),
        (
            b"<html><head><title>502 Bad\n Gateway &amp; more</title></head></html>",
            "the server answered with a web page: 502 Bad Gateway & more",
            "<html><head><title>502 Bad\n Gateway &amp; more</title></head></html>",
        ),
        (b"<html></html>", "<html></html>", "<html></html>"),
        (b"{}", "{}", {}),
        (b'{"foo": 1}', '{"foo": 1}', {"foo": 1}),
        (b"null", "null", "null"),
        (b"[]", "[]", []),
        (b"x" * 900, "x" * 500, "x" * 500),
        (b"\xff\xfe broken", "\ufffd\ufffd broken", "\ufffd\ufffd broken"),
        (b'{"error": {"message": "  "}}', '{"error": {"message": "  "}}', said("  ")),
    ],
)
def test_a_body_that_is_not_an_error_object_is_shown_as_text(
    body: bytes, message: str, raw: JsonValue
) -> None:
    """Proxies answer with pages, text or nothing; what there is becomes the message."""
    error = error_from_response(provider="any", status=502, headers={}, body=body)

    assert (ServerError, message, raw) == (type(error), error.message, error.raw)


def test_an_error_without_anything_has_a_message() -> None:
    """Even an empty frame says what it is."""
    error = error_from_body(provider=None, body=None)

    assert (ProviderError, "the provider gave no message") == (type(error), error.message)


def test_bodies_nested_too_deep_to_parse_are_text() -> None:
    """A body made to break the parser is a body like any other."""
    error = error_from_response(provider="any", status=500, headers={}, body=b"[" * 200_000)

    assert (ServerError, "[" * 500) == (type(error), error.message)


# -- What the error carries -------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "body", "request_id"),
    [
        ({"X-Request-ID": "a", "cf-ray": "z"}, {}, "a"),
        ({"request-id": "b", "x-amzn-requestid": "c"}, {}, "b"),
        ({"x-amzn-RequestId": "c"}, {"request_id": "e"}, "c"),
        ({"apim-request-id": "d"}, {}, "d"),
        ({"Mistral-Correlation-Id": "g", "cf-ray": "z"}, {}, "g"),
        ({"x-ds-trace-id": "h"}, {}, "h"),
        ({"Msh-Request-Id": "i", "x-msh-trace-id": "z"}, {}, "i"),
        ({"trace-id": "z", "minimax-request-id": "j"}, {}, "j"),
        ({"trace-id": "k"}, {}, "k"),
        ({"x-siliconcloud-trace-id": "l"}, {}, "l"),
        ({"NVCF-REQID": "m"}, {}, "m"),
        ({"CF-Ray": "z"}, {"request_id": "e"}, "e"),
        ({"CF-Ray": "z"}, {"error": {"requestId": "f"}}, "f"),
        ({"CF-Ray": "z"}, {"request_id": 7}, "z"),
        ({}, {}, None),
    ],
)
def test_the_request_id_is_found(
    headers: dict[str, str], body: JsonValue, request_id: str | None
) -> None:
    """Header names are read in any case; the provider's own id comes before the proxy's."""
    error = error_from_body(provider="any", body=body, status=500, headers=headers)

    assert request_id == error.request_id


def test_everything_known_is_on_the_error() -> None:
    """One error, with every field that a caller or a support ticket needs."""
    body: JsonValue = {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "Slow down."},
        "request_id": "req_body",
    }
    error = error_from_response(
        provider="anthropic",
        status=429,
        headers={"Retry-After": "12", "request-id": "req_header"},
        body=json.dumps(body),
    )

    assert (
        RateLimitError(
            "Slow down.",
            provider="anthropic",
            status_code=429,
            error_code="rate_limit_error",
            retryable=True,
            retry_after=12.0,
            request_id="req_header",
            raw=body,
        )
        == error
    )


# -- Laws -------------------------------------------------------------------------------

FIELD_NAMES = ["error", "errors", "message", "detail", "code", "type", "status", "details"]
FIELD_NAMES += ["metadata", "raw", "innererror", "loc", "msg", "__type", "request_id", "n_ctx"]
FIELD_NAMES += ["throttlingException", "retryDelay"]
JSON_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELD_NAMES) | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
HEADER_VALUES = st.text(max_size=20) | st.sampled_from(
    ["1", "-1", "1e400", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 32 Oct 99999 07:28:00 -9999", "::"]
)
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "Retry-After-Ms", "date", "x-amzn-errortype", "cf-ray"])
    | st.text(max_size=8),
    HEADER_VALUES,
    max_size=5,
)
STATUSES = st.none() | st.integers(-1, 1000)


@given(JSON_DOCUMENTS, HEADERS, STATUSES)
def test_any_body_gives_an_error(
    body: JsonValue, headers: dict[str, str], status: int | None
) -> None:
    """No JSON value and no header makes the classifier raise; the error is fit to keep."""
    error = error_from_body(provider="any", body=body, status=status, headers=headers)

    assert isinstance(error, LLMError)
    assert type(error).__name__ in schema_errors.error_types()
    assert error.message
    assert error.retry_after is None or error.retry_after >= 0
    assert error == pickle.loads(pickle.dumps(error))


@given(st.binary(max_size=200), HEADERS, st.integers(400, 599))
def test_any_bytes_give_an_error(body: bytes, headers: dict[str, str], status: int) -> None:
    """Nor do any bytes; and the HTTP status is kept."""
    error = error_from_response(provider=None, status=status, headers=headers, body=body)

    assert isinstance(error, LLMError)
    assert status == error.status_code


@given(st.text(min_size=1).filter(str.strip), st.text(), st.integers(400, 599))
def test_bytes_and_values_are_classified_alike(message: str, code: str, status: int) -> None:
    """A body read from bytes is the error that its parsed value is."""
    body = said(message, code=code)
    value = error_from_body(provider="p", body=body, status=status)

    assert value == error_from_response(
        provider="p", status=status, headers={}, body=json.dumps(body)
    )


def test_error_has_the_limits_that_its_headers_state() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20s",
        "date": "Mon, 23 Nov 2026 10:00:00 GMT",
    }
    error = error_from_response(provider="any", status=429, headers=headers, body=b"{}")

    assert error.rate_limit is not None
    assert (error.rate_limit.requests_limit, error.rate_limit.requests_remaining) == (60, 0)
    assert error.rate_limit.requests_reset_at == datetime(2026, 11, 23, 10, 0, 20, tzinfo=UTC)
    assert from_json(type(error), to_json(error)) == error
