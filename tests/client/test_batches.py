"""Batches of OpenAI, Anthropic, Gemini and Mistral, in the shapes of their documents."""

import json
from typing import Any

import pytest
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from attrs import frozen
from openai.types import Batch

from llmcore import Anthropic, Client, Google, OpenAI, request
from llmcore.client.batches import Batches, BatchHandle
from llmcore.routes.mistral import Mistral
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import (
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from llmcore.schema.result import Failure
from llmcore.testing import scripted

pytestmark = pytest.mark.anyio

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 1},
}
CONTENT = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4},
}
BAD = {"error": {"message": "too hot", "type": "invalid_request_error"}}


def lines(*documents: Any) -> tuple[int, dict[str, str], str]:
    return 200, {}, "".join(json.dumps(one) + "\n" for one in documents)


def http_lines() -> tuple[int, dict[str, str], str]:
    good = {"id": "r1", "custom_id": "a", "response": {"status_code": 200, "body": CHAT}}
    bad = {"id": "r2", "custom_id": "b", "response": {"status_code": 400, "body": BAD}}
    return lines({**good, "error": None}, {**bad, "error": None})


OPENAI_BATCH: Any = {
    "id": "batch_1",
    "object": "batch",
    "endpoint": "/v1/chat/completions",
    "input_file_id": "file-1",
    "completion_window": "24h",
    "status": "in_progress",
    "created_at": 1,
    "request_counts": {"total": 2, "completed": 0, "failed": 0},
}
ANTHROPIC_BATCH: Any = {
    "id": "msgbatch_1",
    "type": "message_batch",
    "processing_status": "in_progress",
    "request_counts": {"processing": 2, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
    "created_at": "2026-11-02T10:00:00Z",
    "expires_at": "2026-11-03T10:00:00Z",
}
ENDED_COUNTS = {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}
ANTHROPIC_LINES: Any = (
    {"custom_id": "a", "result": {"type": "succeeded", "message": MESSAGE}},
    {"custom_id": "b", "result": {"type": "errored", "error": {"type": "error", **BAD}}},
)
MISTRAL_BATCH: Any = {
    "id": "b1",
    "object": "batch",
    "status": "RUNNING",
    "total_requests": 2,
    "succeeded_requests": 0,
    "failed_requests": 0,
}
GEMINI_BATCH: Any = {
    "name": "batches/1",
    "metadata": {"state": "BATCH_STATE_RUNNING", "batchStats": {"requestCount": "2"}},
}
GEMINI_LINES: Any = [
    {"metadata": {"key": "a"}, "response": CONTENT},
    {"metadata": {"key": "b"}, "error": {"code": 3, "message": "too hot"}},
]


@frozen(kw_only=True)
class Api:
    """A provider's batches, as a script: created, running, ended, and the results."""

    model: Any
    created: tuple[Any, ...]
    running: Any
    ended: Any
    results: tuple[Any, ...]
    paths: tuple[str, ...]
    """Of the requests: to create, to read the status, to read the results, to cancel."""


APIS = {
    "openai": Api(
        model=OpenAI.configure(api_key="k").chat("m"),
        created=({"id": "file-1", "object": "file"}, OPENAI_BATCH),
        running=OPENAI_BATCH,
        ended={
            **OPENAI_BATCH,
            "status": "completed",
            "output_file_id": "f2",
            "request_counts": {"total": 2, "completed": 1, "failed": 1},
        },
        results=(http_lines(),),
        paths=(
            *("/v1/files", "/v1/batches", "/v1/batches/batch_1"),
            *("/v1/files/f2/content", "/v1/batches/batch_1/cancel"),
        ),
    ),
    "anthropic": Api(
        model=Anthropic.configure(api_key="k").model("m"),
        created=(ANTHROPIC_BATCH,),
        running=ANTHROPIC_BATCH,
        ended={
            **ANTHROPIC_BATCH,
            "processing_status": "ended",
            "request_counts": ENDED_COUNTS,
        },
        results=(lines(*ANTHROPIC_LINES),),
        paths=(
            *("/v1/messages/batches", "/v1/messages/batches/msgbatch_1"),
            *("/v1/messages/batches/msgbatch_1/results", "/v1/messages/batches/msgbatch_1/cancel"),
        ),
    ),
    "mistral": Api(
        model=Mistral.configure(api_key="k").model("m"),
        created=(MISTRAL_BATCH,),
        running=MISTRAL_BATCH,
        ended={
            **MISTRAL_BATCH,
            "status": "SUCCESS",
            "output_file": "f2",
            "succeeded_requests": 1,
            "failed_requests": 1,
        },
        results=(http_lines(),),
        paths=(
            *("/v1/batch/jobs", "/v1/batch/jobs/b1"),
            *("/v1/files/f2/content", "/v1/batch/jobs/b1/cancel"),
        ),
    ),
    "gemini": Api(
        model=Google.configure(api_key="k").model("m"),
        created=(GEMINI_BATCH,),
        running=GEMINI_BATCH,
        ended={
            "name": "batches/1",
            "done": True,
            "metadata": {
                "state": "BATCH_STATE_SUCCEEDED",
                "batchStats": {
                    "requestCount": "2",
                    "successfulRequestCount": "1",
                    "failedRequestCount": "1",
                },
            },
            "response": {"inlinedResponses": {"inlinedResponses": GEMINI_LINES}},
        },
        results=(),
        paths=(
            *("/v1beta/models/m:batchGenerateContent", "/v1beta/batches/1"),
            "/v1beta/batches/1:cancel",
        ),
    ),
}
each = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


def test_shapes_are_those_of_the_official_types() -> None:
    for document in (OPENAI_BATCH, APIS["openai"].ended):
        Batch.model_validate(document, strict=True)
    for document in (ANTHROPIC_BATCH, APIS["anthropic"].ended):
        MessageBatch.model_validate({**document, "results_url": None})
    for line in ANTHROPIC_LINES:
        MessageBatchIndividualResponse.model_validate(line)


def batches_of(api: Api, *script: Any) -> tuple[Batches, Any]:
    transport = scripted(*script)
    return Batches(Client(transport=transport), model=api.model), transport


@each
async def test_batch_is_submitted_watched_read_and_cancelled(api: Api) -> None:
    batches, transport = batches_of(
        api, *api.created, api.running, api.ended, api.ended, *api.results, api.ended
    )
    asked = {
        "a": request(model=api.model, prompt="Hi", max_tokens=9),
        "b": request(model=api.model, prompt="Ho"),
    }

    handle = (await batches.submit(asked)).unwrap()
    handle = from_json(BatchHandle, to_json(handle))
    first = (await batches.status(handle)).unwrap()
    second = (await batches.status(handle)).unwrap()
    results = {id_: result async for id_, result in batches.results(handle)}
    assert (await batches.cancel(handle)).unwrap() is None

    assert (first.state, first.done, first.total) == ("running", False, 2)
    assert (second.state, second.succeeded, second.failed) == ("ended", 1, 1)
    response = results["a"].unwrap()
    assert (response.text, response.usage.input_tokens) == ("Hi", 3)
    assert (response.provider, response.finish_reason.reason) == (handle.provider, "stop")
    assert response.message.origin is not None
    assert response.message.origin.provider == handle.provider
    failure = results["b"].failure()
    assert "too hot" in failure.message
    assert failure.provider == handle.provider
    sent = [one.url.removeprefix("https://").partition("/")[2] for one in transport.requests]
    assert tuple(dict.fromkeys(f"/{path}".partition("?")[0] for path in sent)) == api.paths


@each
async def test_bodies_are_those_that_a_call_would_send(api: Api) -> None:
    batches, transport = batches_of(api, *api.created)
    asked = request(model=api.model, prompt="Hi", max_tokens=9)
    expected = Client().prepare(asked).unwrap().body

    (await batches.submit({"a": asked})).unwrap()

    sent = transport.requests[0].body.decode()
    document = sent.split("\r\n\r\n")[-1].split("\r\n")[0] if sent.startswith("--") else sent
    assert json.dumps(dict(expected), separators=(",", ":")) in document
    assert '"a"' in document


@each
async def test_results_of_a_running_batch_are_an_error(api: Api) -> None:
    batches, _ = batches_of(api, *api.created, api.running)
    handle = (await batches.submit({"a": request(model=api.model, prompt="Hi")})).unwrap()

    with pytest.raises(InvalidRequestError, match="is running"):
        _ = [result async for result in batches.results(handle)]


@each
async def test_errors_of_the_provider_are_failures(api: Api) -> None:
    refused: Any = (401, {}, {"error": {"message": "no such key"}})
    batches, _ = batches_of(api, refused, refused, refused)
    handle = BatchHandle(
        id="1", provider=api.model.provider, model="m", protocol=api.model.route.protocol.id
    )

    submitted = await batches.submit({"a": request(model=api.model, prompt="Hi")})
    asked = await batches.status(handle)
    cancelled = await batches.cancel(handle)

    assert isinstance(cancelled.failure(), AuthenticationError)
    assert isinstance(submitted.failure(), AuthenticationError)
    assert isinstance(asked.failure(), AuthenticationError)


CHAT_MODEL = APIS["openai"].model


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ({}, "there are no requests"),
        ({"a b": request(model=CHAT_MODEL, prompt="Hi")}, "the id 'a b' has to be"),
        (
            {
                "a": request(model=CHAT_MODEL, prompt="Hi"),
                "b": request(model=OpenAI.configure(api_key="k").chat("n"), prompt="Hi"),
            },
            "not of openai:m, openai:n",
        ),
    ],
    ids=["none", "id", "two models"],
)
async def test_requests_that_make_no_batch_are_refused_before_sending(
    requests: Any, message: str
) -> None:
    batches, transport = batches_of(APIS["openai"])

    failure: LLMError = (await batches.submit(requests)).failure()

    assert message in failure.message
    assert transport.requests == []


async def test_handle_of_another_api_is_refused() -> None:
    batches, _ = batches_of(APIS["openai"])
    handle = BatchHandle(id="1", provider="openai", model="m", protocol="openai-responses")

    result = await batches.status(handle)

    assert isinstance(result, Failure)
    assert isinstance(result.failure(), ConfigurationError)
    assert "give Batches the model" in result.failure().message


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (3, InvalidRequestError),
        (4, RequestTimeoutError),
        (7, AccessDeniedError),
        (8, RateLimitError),
        (13, ServerError),
        (14, ServerError),
        (99, ProviderError),
    ],
)
async def test_errors_of_geminis_results_are_of_the_class_of_their_code(
    code: int, kind: type[LLMError]
) -> None:
    error = {"metadata": {"key": "a"}, "error": {"code": code, "message": "no"}}
    output = {"inlinedResponses": {"inlinedResponses": [error]}}
    batches, _ = batches_of(APIS["gemini"], {**APIS["gemini"].ended, "response": output})
    handle = BatchHandle(id="batches/1", provider="google", model="m", protocol="gemini")

    ((_, result),) = [one async for one in batches.results(handle)]

    assert type(result.failure()) is kind


EXPIRED = {"code": "batch_expired", "message": "not executed in time"}
GEMINI_FAILED = {"name": "batches/1", "metadata": {"state": "BATCH_STATE_FAILED"}, "done": True}
OTHER_ENDS: Any = {
    "openai, requests refused": (
        "openai",
        {**OPENAI_BATCH, "status": "failed", "errors": {"data": [{"message": "line 1 is bad"}]}},
        ("failed", ("line 1 is bad",)),
        (),
    ),
    "openai, expired": (
        "openai",
        {**OPENAI_BATCH, "status": "expired", "output_file_id": "f2", "error_file_id": "f3"},
        ("expired", ()),
        (
            lines({"custom_id": "a", "response": {"status_code": 200, "body": CHAT}}),
            lines({"custom_id": "b", "response": None, "error": EXPIRED}),
        ),
    ),
    "anthropic, cancelled": (
        "anthropic",
        APIS["anthropic"].ended,
        ("ended", ()),
        (lines(ANTHROPIC_LINES[0], {"custom_id": "b", "result": {"type": "expired"}}),),
    ),
    "mistral, failed": (
        "mistral",
        {**MISTRAL_BATCH, "status": "FAILED", "errors": [{"message": "no such model", "count": 2}]},
        ("failed", ("no such model",)),
        (),
    ),
    "mistral, out of time": (
        "mistral",
        {**MISTRAL_BATCH, "status": "TIMEOUT_EXCEEDED", "output_file": "f2", "error_file": "f3"},
        ("expired", ()),
        (
            lines({"custom_id": "a", "response": {"status_code": 200, "body": CHAT}}),
            lines({"custom_id": "b", "response": None, "error": {"message": "expired"}}),
        ),
    ),
    "mistral, cancelled": (
        "mistral",
        {**MISTRAL_BATCH, "status": "CANCELLED", "output_file": "f2"},
        ("cancelled", ()),
        (http_lines(),),
    ),
    "gemini, failed": (
        "gemini",
        {**GEMINI_FAILED, "error": {"code": 9, "message": "too many tokens"}},
        ("failed", ("too many tokens",)),
        (),
    ),
    "gemini, a file of results": (
        "gemini",
        {
            "name": "batches/1",
            "done": True,
            "metadata": {"state": "BATCH_STATE_SUCCEEDED"},
            "response": {"responsesFile": "files/r1"},
        },
        ("ended", ()),
        (
            lines(
                {"key": "a", "response": CONTENT},
                {"key": "b", "error": {"code": 3, "message": "too hot"}},
            ),
        ),
    ),
}


@pytest.mark.parametrize(
    ("name", "ended", "expected", "files"), OTHER_ENDS.values(), ids=OTHER_ENDS
)
async def test_batch_that_ends_otherwise_has_its_results_or_its_errors(
    name: str, ended: Any, expected: Any, files: Any
) -> None:
    api = APIS[name]
    batches, transport = batches_of(api, ended, ended, *files)
    handle = BatchHandle(
        id="batches/1" if name == "gemini" else "1",
        provider=api.model.provider,
        model="m",
        protocol=api.model.route.protocol.id,
    )

    status = (await batches.status(handle)).unwrap()
    results: Any = {}
    failed = ""
    try:
        results = {id_: result async for id_, result in batches.results(handle)}
    except LLMError as error:
        failed = error.message

    assert (status.state, status.errors) == expected
    assert status.done
    assert all(message in failed for message in status.errors)
    assert bool(failed) == (not files)
    if files:
        assert results["a"].unwrap().text == "Hi"
        assert results["b"].failure().provider == api.model.provider
    if name == "gemini" and files:
        assert transport.requests[-1].url.endswith("/v1beta/files/r1:download?alt=media")
