"""Classifies errors: HTTP error bodies and error frames in streams.

    body -> its codes and message -> status -> error class

The status is the HTTP status, else the one the body names, else the one that its code or
type represents, so that an error inside a 200 is classified like the same error as a 4xx.
A few codes and wordings are then more specific than the status (`insufficient_quota` in a
429, "prompt is too long" in a 400); the message alone decides only where no status is known.

Sources: https://developers.openai.com/docs/guides/error-codes,
https://platform.claude.com/docs/en/api/errors, https://ai.google.dev/gemini-api/docs/troubleshooting,
https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html,
https://openrouter.ai/docs/api/reference/errors-and-debugging,
https://api-docs.deepseek.com/quick_start/error_codes, https://console.groq.com/docs/errors,
https://help.aliyun.com/zh/model-studio/error-code (`Throttling...`, `AllocationQuota...`),
https://www.volcengine.com/docs/82379/1299023 (`SensitiveContentDetected`, `AccountOverdueError`),
https://developers.cloudflare.com/workers-ai/platform/errors,
https://docs.litellm.ai/docs/exception_mapping (`budget_exceeded`),
https://docs.databricks.com/aws/en/dev-tools/error-codes (`REQUEST_LIMIT_EXCEEDED`),
https://docs.z.ai/api-reference/api-code (numbers from 1000),
https://platform.minimax.io/docs/api-reference/errorcode (numbers, here behind `base_resp_`).
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve

from llmcore.protocols.failures.error_body import ErrorFacts, folded, read_error
from llmcore.protocols.failures.limits import (
    SEARCHED_CHARS,
    is_context_overflow,
    lowered,
    rate_limit_from,
    retry_after,
    token_counts,
)
from llmcore.schema import errors, json
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, text_or_json

__all__ = ["error_from_body", "error_from_response", "retry_after"]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_SHOWN = 500
"""How many characters of a body that is not JSON are kept."""


def error_from_response(
    *, provider: str | None, status: int, headers: Mapping[str, str], body: bytes
) -> LLMError:
    """Return the error that an HTTP response with *status* 400 or more is."""
    document = _document(body)
    text = body[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
    return error_from_body(
        provider=provider, body=document, status=status, headers=headers, text=text
    )


def _document(body: bytes) -> JsonValue:
    """Return the JSON in *body*, or in its first event: a request for a stream may be answered so.

    Source: https://help.aliyun.com/zh/model-studio/error-code (DashScope).
    """
    event = re.search(rb"^data:\s*(\{.*)", body, re.MULTILINE)
    for data in (body, event[1] if event else b""):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            continue
    return None


def error_from_body(
    *,
    provider: str | None,
    body: JsonValue,
    status: int | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    text: str = "",
) -> LLMError:
    """Return the error that *body* describes: an error object, or the envelope it came in.

    *status* is None for an error inside a stream, *text* what came instead of JSON. Total:
    any body gives an error, with the provider's own message.
    """
    facts = read_error(body)
    names = lowered(facts.headers) | lowered(headers)
    aws_type = names.get("x-amzn-errortype", "").partition(":")[0].rpartition("#")[2]
    if aws_type:
        facts = evolve(facts, code=aws_type, codes=(folded(aws_type), *facts.codes))
    message = facts.message if facts.message.strip() else _text_message(text, status)
    facts = evolve(facts, message=message)
    error = _kind(facts, _status(facts, status))(
        message,
        provider=provider or None,
        status_code=facts.status if status is None else status,
        error_code=facts.code,
        retry_after=_wait_s(names, body, facts),
        rate_limit=rate_limit_from(names),
        request_id=_request_id(names, facts),
        raw=body if body is not None else text[:_SHOWN] or None,
    )
    return _completed(error, facts, status, names.get("x-should-retry"))


def _completed(
    error: LLMError, facts: ErrorFacts, status: int | None, should_retry: str | None
) -> LLMError:
    """Return *error* with the fields that only some classes have.

    The SDKs of OpenAI and Anthropic obey the header *should_retry* (`_base_client`).
    """
    known = _status(facts, status) or status or 0
    if type(error) is errors.ProviderError and known not in _BY_STATUS:
        error.retryable = not 300 <= known < 500
    if should_retry == "false" or (should_retry == "true" and not isinstance(error, _FINAL)):
        error.retryable = should_retry == "true"
    if type(error) is errors.RateLimitError and _has(_TOO_LARGE, facts.wording):
        error.retryable = False  # larger than the whole allowance: it never fits
    if isinstance(error, errors.ContextLengthError):
        limit, actual = token_counts(facts.wording)
        error.limit_tokens = facts.limit_tokens or limit
        error.actual_tokens = facts.actual_tokens or actual
    return error


_FINAL: Final = (
    errors.QuotaExceededError,
    errors.ContentFilterError,
    errors.ContextLengthError,
)
"""Errors that the same request gets again, whatever the server states."""


# -- the status

_CODES_OF_STATUS: Mapping[int, str] = {
    400: "invalid_request_error invalid_request INVALID_ARGUMENT ValidationException BadRequest"
    " BadRequestError bad_request FAILED_PRECONDITION OUT_OF_RANGE validation_error"
    " tool_use_failed empty_image_file failed_to_download_image image_too_large image_too_small"
    " image_parse_error image_file_too_large image_file_not_found image_not_found"
    " image_download_failed data_residency_mismatch string_too_long max_tokens_exceeded"
    " previous_response_not_found string_above_max_length array_above_max_length"
    " 1210 1212 1213 1214 1215 base_resp_1042 base_resp_2013",
    401: "authentication_error UNAUTHENTICATED unauthorized authentication AuthenticationError"
    " InvalidApiKey 1000 1001 1002 1003 1004 base_resp_1004 base_resp_2049",
    402: "billing_error payment_required",
    403: "permission_error PERMISSION_DENIED AccessDeniedException forbidden PermissionDeniedError"
    " AccessDenied 1110 1111 1112 1121 1220 1311",
    404: "not_found_error NOT_FOUND ResourceNotFoundException NotFoundError resource_not_found"
    " RESOURCE_DOES_NOT_EXIST 1211 1221 1222",
    408: "timeout_error DEADLINE_EXCEEDED ModelTimeoutException timeout request_timeout"
    " vector_store_timeout base_resp_1001",
    409: "conflict_error ABORTED ConflictException",
    413: "request_too_large payload_too_large",
    422: "unprocessable unprocessable_entity UnprocessableEntityError",
    429: "rate_limit_error rate_limit_exceeded rate_limited RateLimitError RESOURCE_EXHAUSTED"
    " too_many_requests_error queue_exceeded service_tier_capacity_exceeded usage_limit_reached"
    " ThrottlingException too_many_requests TooManyRequestsException slow_down"
    " REQUEST_LIMIT_EXCEEDED Throttling Throttling.RateQuota Throttling.BurstRate"
    " Throttling.AllocationQuota limit_requests limit_tokens limit_burst_rate"
    " 1302 1303 1304 1308 1310 1313 base_resp_1002 base_resp_1039 base_resp_1041 base_resp_2045"
    " base_resp_2056",
    500: "api_error server_error internal_error internal_server_error InternalServerError INTERNAL"
    " InternalServerException InternalFailure ModelErrorException ModelStreamErrorException"
    " UNKNOWN DATA_LOSS server 1120 1200 1230 1234 base_resp_1000 base_resp_1024 base_resp_1033",
    502: "bad_gateway provider_unavailable",
    503: "UNAVAILABLE ServiceUnavailableException unavailable_error service_unavailable"
    " TEMPORARILY_UNAVAILABLE",
    529: "overloaded_error overloaded provider_overloaded engine_overloaded"
    " engine_overloaded_error server_is_overloaded server_overloaded flex_unavailable"
    " over_capacity ModelNotReadyException 1305 1312",
}
_STATUS_OF_CODE = {
    folded(code): status for status, codes in _CODES_OF_STATUS.items() for code in codes.split()
}
_BAD_INPUT = ("invalid", "unsupported", "unknownparameter", "missing")
"""The prefixes of codes for faults of the request, where each fault has its own code (OpenAI)."""


def _status(facts: ErrorFacts, status: int | None) -> int | None:
    """Return the HTTP status of the error, or the one that means the same."""
    if status is not None and status >= 400:
        return status
    named = facts.status or next(filter(None, map(_STATUS_OF_CODE.get, facts.codes)), None)
    if named is None and any(code.startswith(_BAD_INPUT) for code in facts.codes):
        return 400
    return named


# -- the class

_BY_STATUS: Mapping[int, type[LLMError]] = {
    400: errors.InvalidRequestError,
    401: errors.AuthenticationError,
    402: errors.QuotaExceededError,
    403: errors.AccessDeniedError,
    404: errors.NotFoundError,
    408: errors.RequestTimeoutError,
    409: errors.ProviderError,  # Anthropic: a conflict that passes
    410: errors.NotFoundError,
    413: errors.ContextLengthError,
    422: errors.InvalidRequestError,
    424: errors.ServerError,  # Bedrock: the model failed
    429: errors.RateLimitError,
    498: errors.OverloadedError,  # Groq: flex tier over capacity
    529: errors.OverloadedError,
}

_UNKNOWN = 0
"""The statuses at which a rule applies: these, any 5xx (as 500), or no known status."""


def _words(*wordings: str) -> str:
    return "|".join(wordings)


def _has(words: str, text: str) -> bool:
    """Return whether *text* has one of the *words*, which are compiled when an error needs them."""
    return re.search(words, text, re.IGNORECASE) is not None


def _codes(names: str) -> frozenset[str]:
    return frozenset(map(folded, names.split()))


@frozen
class _Rule:
    """A code or wording that is more specific than the status."""

    kind: type[LLMError]
    at: frozenset[int]
    codes: frozenset[str]
    words: str | None = None

    def holds(self, facts: ErrorFacts, at: int) -> bool:
        if at not in self.at:
            return False
        if not self.codes.isdisjoint(facts.codes):
            return True
        return self.words is not None and _has(self.words, facts.wording)


_OVERFLOW_AT = frozenset({_UNKNOWN, 400, 413, 422, 500})
_RULES = (
    _Rule(
        errors.RateLimitError,
        frozenset({402}),
        _codes("openrouter_in_flight_budget"),  # a 402 that waiting does cure
    ),
    _Rule(
        errors.RateLimitError,
        frozenset({400}),  # AWS services answer so by the protocols in which the type decides
        _codes("ThrottlingException Throttling TooManyRequestsException RequestLimitExceeded"),
    ),
    _Rule(
        errors.QuotaExceededError,
        frozenset({_UNKNOWN, 400, 401, 403, 412, 429}),  # 412: Fireworks, for accounts
        _codes(
            "insufficient_quota billing_hard_limit_reached billing_not_active"
            " credit_balance_exhausted organization_spend_limit_exceeded"
            " project_spend_limit_exceeded organization_usage_limit_exceeded usage_limit_exceeded"
            " enforced_spend_limit_reached contract_spend_limit_reached"
            " linked_organization_spend_limit_reached exceeded_current_quota_error Arrearage"
            " ServiceQuotaExceededException 1113 1309 base_resp_1008 AllocationQuota.FreeTierOnly"
            " AccountOverdueError SetLimitExceeded budget_exceeded token_quota_reached CreditsError"
            " NOT_ENOUGH_BALANCE insufficient_user_quota pre_consume_token_quota_failed"  # One API
        ),
        _words(
            r"credit balance is too low",
            r"reached your specified (?:workspace )?api usage limits",
            r"(?:insufficient|not enough) (?:account )?(?:balance|credits?|funds|quota)",
            r"(?:not|n.t) have (?:any |enough )credits",
            r"(?:daily|monthly) quota (?:is |has been )?(?:reached|exceeded)",
            r"(?:used all available|run out of|out of|no remaining|requires more) credits",
            r"credits are depleted",
            r"balance is insufficient",
            r"daily free allocation",
            r"calls / month",  # Cohere, of keys for trials
            r"extra usage is required",  # Anthropic, of long contexts in a plan
            r"spend(?:ing)? limit",
            r"\bkey limit exceeded",  # OpenRouter, what a key may spend
            r"quota is not enough",
            r"(?:余额|额度)不足",
        ),
    ),
    _Rule(
        errors.ContentFilterError,
        frozenset({_UNKNOWN, 400, 403, 421, 424, 446}),  # Xiaomi MiMo, Cloudflare, Portkey
        _codes(
            "content_filter content_policy_violation moderation_blocked refusal"
            " ResponsibleAIPolicyViolation image_content_policy_violation data_inspection_failed"
            " SensitiveContentDetected InputTextSensitiveContentDetected"
            " OutputTextSensitiveContentDetected InputImageSensitiveContentDetected"
            " OutputImageSensitiveContentDetected"
            " bio_policy cyber_policy misalignment_policy_violation hooks_failed 1300 1301"
            " base_resp_1026 base_resp_1027"
        ),
        _words(
            r"content[ _-]?filter",
            r"content (?:management )?policy",
            r"usage (?:polic(?:y|ies)|guidelines)",
            r"\bguardrails?\b[^.]{0,60}\b(?:failed|triggered|intervened|blocked)",
            r"\b(?:prompt|response) blocked",
            r"safety (?:system|filter|reasons)",
            r"(?:input|request|prompt) was flagged",
            r"content exists risk|considered high risk",  # DeepSeek, Moonshot
            r"content ?policy ?violation",  # LiteLLM, with the name of its class
            r"inappropriate content",
        ),
    ),
    _Rule(
        errors.AuthenticationError,
        frozenset({_UNKNOWN, 400, 403}),
        _codes(
            "invalid_api_key API_KEY_INVALID UnrecognizedClientException ExpiredTokenException"
            " InvalidSignatureException IncompleteSignature MissingAuthenticationToken"
            " InvalidClientTokenId organization_on_hold"
            " no_db_connection"  # LiteLLM without a database has no key but its own
        ),
        _words(
            r"(?:incorrect|invalid|missing|expired) (?:api|access)[ _-]?(?:key|token)",
            r"api key (?:is )?(?:not valid|invalid|expired)",
            r"valid api key",
            r"authentication fail",
            r"security token included in the request is (?:invalid|expired)",
            r"key was reported as leaked",
            r"organization has been disabled",
        ),
    ),
    _Rule(
        errors.AccessDeniedError,
        frozenset({_UNKNOWN, 400}),
        _codes("unsupported_country_region_territory"),
        _words(
            r"(?:location|region|country)[\w, ]* (?:is )?not supported",
            r"\Aoperation not allowed\.?\Z",  # Bedrock: the account does not have the model
        ),
    ),
    _Rule(
        errors.NotFoundError,
        frozenset({_UNKNOWN, 400}),
        _codes(
            "model_not_found DeploymentNotFound invalid_model model_not_supported unknown_model"
            " model_decommissioned 1211"
        ),
        _words(
            r"\bmodel:? (?:[`'\"]?[\w./:@-]+[`'\"]? )?(?:is |was )?(?:not found|does not exist)",
            r"is not a valid model",
            r"model identifier is invalid",
            r"no such model",
            r"\bunknown model:? [`'\"]?[\w./:@-]+[`'\"]?\Z",
            r"\binvalid model name",
            r"model\b.{0,200} has been (?:decommissioned|deprecated|retired)",
            r"model id .{1,200} with on-demand throughput isn.t supported",
        ),
    ),
    _Rule(
        errors.RequestTimeoutError,
        frozenset({500}),
        frozenset(code for code, status in _STATUS_OF_CODE.items() if status == 408),
    ),
    _Rule(
        errors.RateLimitError,  # passed on by servers between with another status
        frozenset({500}),
        frozenset(code for code, status in _STATUS_OF_CODE.items() if status == 429)
        - _codes("slow_down RESOURCE_EXHAUSTED"),
        _words(r"\brate[ _-]?limit(?:ed|error)?\b", r"too many requests"),
    ),
    _Rule(
        errors.OverloadedError,
        frozenset({500}),
        frozenset(code for code, status in _STATUS_OF_CODE.items() if status == 529)
        | _codes("slow_down RESOURCE_EXHAUSTED"),
        _words(
            r"overload",
            r"(?:over|at|no) capacity",
            r"capacity (?:exceeded|available)",
            r"high demand",
            r"too busy",
            r"resource ?exhausted",
        ),
    ),
)
_TOO_LARGE = _words(r"request too large")

_BY_MESSAGE = (
    (errors.NotFoundError, _words(r"not found", r"does not exist")),
    (errors.AuthenticationError, _words(r"unauthorized", r"invalid (?:api )?key")),
    (errors.ContentFilterError, _words(r"\bsafety\b")),
    (errors.RateLimitError, _words(r"rate[ _-]?limit", r"too many (?:requests|tokens)")),
    (errors.OverloadedError, _words(r"overload", r"(?:over|at) capacity")),
    (errors.RequestTimeoutError, _words(r"timed? ?out")),
    (errors.AccessDeniedError, _words(r"forbidden", r"permission denied", r"access denied")),
    (errors.ServerError, _words(r"internal (?:server )?error")),
)
"""Where neither a status nor a code is known."""


def _kind(facts: ErrorFacts, status: int | None) -> type[LLMError]:
    at = _UNKNOWN if status is None else min(status, 500)
    if at in _OVERFLOW_AT and is_context_overflow(facts.wording, facts.codes):
        return errors.ContextLengthError
    for rule in _RULES:
        if rule.holds(facts, at):
            return rule.kind
    if status is not None and (status in _BY_STATUS or status >= 500):
        return _BY_STATUS.get(status, errors.ServerError)
    for kind, words in _BY_MESSAGE:
        if _has(words, facts.wording):
            return kind
    return errors.ProviderError


# -- the other fields of the error


def _wait_s(names: Mapping[str, str], body: JsonValue, facts: ErrorFacts) -> float | None:
    wait_s = retry_after(names, body, facts.message)
    return retry_after({}, facts.upstream) if wait_s is None else wait_s


REQUEST_ID_HEADERS: Final = (
    *("x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"),
    "mistral-correlation-id",
    "x-ds-trace-id",  # DeepSeek
    "msh-request-id",  # Moonshot
    *("minimax-request-id", "trace-id"),  # MiniMax
    "x-siliconcloud-trace-id",
    "nvcf-reqid",  # NVIDIA
)
"""Headers with the id by which a provider finds a request, in lower case; the first counts."""


def _request_id(names: Mapping[str, str], facts: ErrorFacts) -> str | None:
    ids = (names.get(name) for name in REQUEST_ID_HEADERS)
    # cf-ray is Cloudflare's id, which the provider can trace, but only just.
    return next(filter(None, ids), None) or facts.request_id or names.get("cf-ray") or None


_TITLE = re.compile(r"<(title|h1)[^>]*>(.{1,200}?)</\1>", re.IGNORECASE | re.DOTALL)


def _text_message(text: str, status: int | None) -> str:
    """Return the message of a body that is not JSON: its text, or the title of a web page."""
    text = text.strip()[:_SHOWN]
    title = _TITLE.search(text) if text.startswith("<") else None
    if title:
        from html import unescape  # has a large table

        words = " ".join(unescape(title[2]).split())
        return f"the server answered with a web page: {words}"
    if text:
        return text
    return "the provider gave no message" if status is None else f"HTTP {status} without a message"


# -- fields that a server rejects by name


def rejected_field(error: LLMError, body: JsonObject, optional: Iterable[str]) -> str | None:
    """Return which of the *optional* fields of *body* the server rejects; None for another error.

    The request can be sent again without that field. Example of such an error (vLLM, 400):
    `{"message": "Stream options can only be defined when stream=True", "param": "stream_options"}`.
    """
    if not isinstance(error, InvalidRequestError):
        return None
    text = f"{error.message} {error.error_code or ''} {text_or_json(error.raw)[:SEARCHED_CHARS]}"
    for name in optional:
        words = re.escape(name).replace("_", "[_ ]")
        if name in body and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            return name
    return None
