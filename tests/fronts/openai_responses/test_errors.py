"""Errors in OpenAI's form, and the second try."""

import pickle
from typing import Any

import pytest
from attrs import evolve

from llmcore.bridge.drop_rejected_parameters import without_rejected
from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.openai_forms import envelope, message_of
from llmcore.fronts.openai_responses.errors import response_error
from llmcore.fronts.policy import TranslationPolicy
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    NetworkError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
    error_types,
)
from llmcore.schema.options import GenerationOptions, ReasoningOptions
from llmcore.schema.request import LLMRequest
from tests.fronts.openai_responses.responses_kit import asked, translated
from tests.support.error_kinds import ERROR_KINDS

TOO_LONG = "Your input exceeds the context window of this model."


@pytest.mark.parametrize("kind", ERROR_KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_form(kind: type) -> None:
    """A status that says whose fault it is, and a message: that of the error, if clients get it."""
    told = from_llm_error(kind("words"))
    shown = f"{TOO_LONG} words" if kind is ContextLengthError else told.message

    assert 400 <= told.status < 600
    assert (told.message == "words") == (kind not in (AuthenticationError, NetworkError))
    assert envelope(told) == {
        "error": {"message": shown, "type": told.type, "param": None, "code": told.code}
    }
    assert response_error(kind("words"))["message"] == shown


@pytest.mark.parametrize(
    ("raw", "param"),
    [
        ({"error": {"message": "no", "param": "temperature"}}, "temperature"),
        ({"message": "no", "param": "messages[1].content"}, "messages[1].content"),
        ({"error": {"message": "no", "param": None}}, None),
        ({"error": {"message": "no", "param": {"a": 1}}}, None),
        ({"error": "no"}, None),
        ("no", None),
        (None, None),
    ],
)
def test_the_parameter_that_an_upstream_refuses_is_passed_on(raw: Any, param: str | None) -> None:
    """OpenAI's SDKs have it as `error.param`."""
    told = from_llm_error(InvalidRequestError("no", raw=raw))

    written: Any = envelope(told)
    assert (told.param, written["error"]["param"]) == (param, param)
    assert from_llm_error(AuthenticationError("no", raw=raw)).param is None


def test_names_of_the_gateways_account_at_amazon_are_not_passed_on() -> None:
    """Those of models, which clients need, are."""
    model = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-x"
    user = "arn:aws:sts::123456789012:assumed-role/gateway/i-0abc"
    told = from_llm_error(AccessDeniedError(f"User: {user} may not use {model}."))

    assert told.message == f"User: arn:[of the gateway] may not use {model}."


def test_an_overload_within_a_response_is_an_error_that_codex_tries_again() -> None:
    assert response_error(OverloadedError("busy", status_code=529))["code"] == "server_error"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("prompt is too long: 9 tokens > 8 maximum", f"{TOO_LONG} prompt is too long: 9 tokens > "),
        ("The input token count (9) exceeds the maximum", f"{TOO_LONG} The input token count (9) "),
        (f"{TOO_LONG} Please adjust your input.", f"{TOO_LONG} Please adjust your input."),
        ("This model's maximum context length is 8 tokens.", "This model's maximum context leng"),
    ],
)
def test_a_prompt_that_is_too_long_is_reported_in_openais_words(words: str, shown: str) -> None:
    """Copilot CLI shortens a conversation by them, not by the code."""
    error = ContextLengthError(words)

    for message in (message_of(from_llm_error(error)), response_error(error)["message"]):
        assert str(message).startswith(shown)
        assert str(message).endswith(words)


@pytest.mark.parametrize(
    "error",
    [
        NetworkError("the connection to http://10.0.0.7:8000 failed: [Errno 111]"),
        RequestTimeoutError("http://10.0.0.7:8000 did not answer in time", error_code="connect"),
        RequestTimeoutError("http://10.0.0.7:8000 did not answer in time", error_code="read"),
        StreamError("not JSON: '<html>http://10.0.0.7:8000'", cause=ValueError("x")),
        AuthenticationError("wrong key sk-a***z for http://10.0.0.7:8000"),
    ],
    ids=lambda error: f"{type(error).__name__} {error.error_code}",
)
def test_words_about_the_gateways_own_connection_are_not_for_clients(error: LLMError) -> None:
    """In each front, and in a response that failed after it began."""
    told = from_llm_error(error)

    assert told.message.startswith("the ")
    for text in (told.message, response_error(error)["message"]):
        assert "10.0.0.7" not in str(text)


def test_words_of_a_provider_and_of_a_configured_limit_are_for_clients() -> None:
    """Also where the provider reports a timeout."""
    server = RequestTimeoutError("we took too long", status_code=408, error_code="read")

    assert from_llm_error(server).message == "we took too long"
    assert "'idle' of 300 seconds" in from_llm_error(Timeouts().expired("idle")).message


def test_what_helps_the_client_is_kept() -> None:
    """How long to wait, and the upstream's id."""
    told = from_llm_error(RateLimitError("slow", retry_after=3.0, request_id="req_1"))

    assert (told.status, told.retry_after, told.upstream_request_id) == (429, 3.0, "req_1")


def test_a_refused_key_of_ours_is_no_401() -> None:
    """Clients would ask their user to log in again."""
    kinds = error_types()

    assert from_llm_error(kinds["AuthenticationError"]("bad key")).status == 502


def test_errors_can_be_raised_and_pickled() -> None:
    """They are values and exceptions."""
    error = FrontError(status=400, message="x")

    with pytest.raises(FrontError) as caught:
        raise error
    assert pickle.loads(pickle.dumps(caught.value)).message == "x"


# -- one more try

POLICY = TranslationPolicy(
    retry_without=("text.verbosity", "temperature", "reasoning.summary", "reasoning")
)


def refused(
    request: LLMRequest, message: str, policy: TranslationPolicy = POLICY
) -> tuple[str, LLMRequest, Diagnostic]:
    """Return what is left out after a refusal, and the request without it."""
    found = without_rejected(request, InvalidRequestError(message), policy)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Unknown parameter: 'verbosity'", "text.verbosity"),
        ("`temperature` is not supported with this model", "temperature"),
        ("Unrecognized request argument supplied: reasoning_effort", "reasoning"),
        ("Unsupported value: 'reasoning.summary' needs a verified account", "reasoning.summary"),
        ("top_p is not supported", None),
        ("temperatures vary", None),
    ],
)
def test_a_parameter_that_is_refused_by_name(message: str, name: str | None) -> None:
    """Only of those that the policy lists."""
    made = asked(
        "x",
        temperature=0.5,
        text={"verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"},
    )
    found = without_rejected(made.request, InvalidRequestError(message), POLICY)

    assert (found and found[0]) == name


@pytest.mark.parametrize(
    ("name", "native", "options"),
    [
        ("stop", "stop_sequences", GenerationOptions(stop=("x",))),
        ("seed", "seed", GenerationOptions(seed=1)),
        ("top_k", "topK", GenerationOptions(top_k=1)),
    ],
)
def test_options_of_other_apis_are_removed_by_the_names_of_upstreams(
    name: str, native: str, options: GenerationOptions
) -> None:
    """Clients of Chat Completions, Messages and Gemini set them."""
    request = evolve(asked("x").request, generation=options)
    policy = TranslationPolicy(retry_without=(name,))
    found, again, _ = refused(request, f"{native}: no", policy)

    assert found == name
    assert again.generation == GenerationOptions()


def test_reasoning_that_may_not_be_shown_keeps_its_effort() -> None:
    """OpenAI shows summaries to verified organizations alone."""
    made = asked("x", reasoning={"effort": "low", "summary": "auto"})
    _, again, _ = refused(made.request, "reasoning.summary is not supported")

    assert again.reasoning == ReasoningOptions(effort="low")


def test_the_request_without_it() -> None:
    """The field is removed, once, and a Diagnostic reports it."""
    made = asked("x", text={"verbosity": "low"}, temperature=0.5)
    error = InvalidRequestError("Unknown parameter: 'verbosity'")
    _, again, told = refused(made.request, error.message)

    assert again.provider_options == {"openai": {}}
    assert (told.path, told.action) == ("text.verbosity", "dropped")
    assert without_rejected(again, error, POLICY) is None


def test_a_nested_native_field() -> None:
    """The Responses API has it inside `text`."""
    made = translated({"input": "x", "text": {"verbosity": "low"}}, protocol_id="openai-responses")
    _, again, _ = refused(made.request, "Unknown parameter: 'text.verbosity'")

    assert again.provider_options == {"openai": {"text": {}}}


def test_other_errors_are_not_tried_again() -> None:
    """The server's own failures name parameters too."""
    made = asked("x", temperature=0.5)

    assert without_rejected(made.request, ServerError("temperature too high"), POLICY) is None
