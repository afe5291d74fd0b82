"""Batches: many requests that a provider answers later, at a lower price.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/batch,
https://platform.claude.com/docs/en/api/creating-message-batches,
https://docs.mistral.ai/studio-api/batch-processing, https://ai.google.dev/api/batch-api. A batch of
each:

    {"id": "batch_1", "object": "batch", "status": "in_progress", "output_file_id": null,
     "request_counts": {"total": 2, "completed": 1, "failed": 0}}
    {"id": "msgbatch_1", "type": "message_batch", "processing_status": "ended",
     "request_counts": {"processing": 0, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 0}}
    {"id": "b1", "object": "batch", "status": "SUCCESS", "output_file": "f1",
     "total_requests": 2, "succeeded_requests": 2, "failed_requests": 0}
    {"name": "batches/1", "metadata": {"state": "BATCH_STATE_RUNNING",
     "batchStats": {"requestCount": "2", "successfulRequestCount": "1"}}}

and a line of the results of each: `{"custom_id": "a", "response": {"status_code": 200, "body":
{...}}, "error": null}` (OpenAI, Mistral), `{"custom_id": "a", "result": {"type": "succeeded",
"message": {...}}}`, `{"metadata": {"key": "a"}, "response": {...}}`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from attrs import field

from llmcore.protocols.protocol import NativeRequest
from llmcore.schema import json
from llmcore.schema.errors import StreamError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

BatchState: TypeAlias = Literal["running", "ended", "failed", "cancelled", "expired"]
"""`running` until the provider has finished; all others may have results."""


@frozen(kw_only=True)
class BatchStatus:
    """The state of a batch, and how many of its requests are done."""

    state: BatchState
    total: int | None = None
    """The requests of the batch; None while the provider does not state them."""
    succeeded: int = 0
    failed: int = 0
    """Requests that failed, expired or were cancelled."""
    errors: tuple[str, ...] = ()
    """The reasons why the batch failed as a whole, where the provider states them."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The batch as the provider describes it."""

    @property
    def done(self) -> bool:
        """Whether the results can be read."""
        return self.state != "running"


@frozen(kw_only=True)
class BatchItem:
    """The native result of one request: a response, or an error."""

    id: str
    body: JsonValue = None
    """The body of a response, as a call would have returned it; None for an error."""
    error: JsonValue = None
    status: int | None = None
    """The HTTP status of an error, if the provider states it."""


@frozen(kw_only=True)
class BatchProtocol:
    """The batches of one API."""

    id: str
    create: Callable[[Mapping[str, JsonObject], str, str], NativeRequest]
    """From the bodies by id (or, where there is `upload`, the id of the file), the model and the
    path of the API."""
    get: Callable[[str], str]
    """Returns the path of a batch."""
    cancel: Callable[[str], NativeRequest]
    read: Callable[[JsonObject], BatchStatus]
    results: Callable[[str, JsonObject], tuple[str, ...]]
    """Returns the paths of the files of results; empty if the batch itself has them."""
    item: Callable[[JsonObject], BatchItem]
    """Reads one result."""
    upload: str | None = None
    """The path that the file of requests is uploaded to first."""
    inline: Callable[[JsonObject], Iterator[JsonObject]] = lambda _: iter(())
    """Returns the results that the batch itself has."""


def batch_id(document: JsonValue) -> str:
    """Return the id of a new batch or file; StreamError for another document."""
    native = object_or_empty(document)
    id_ = str_or_none(native.get("id")) or str_or_none(native.get("name"))
    if id_ is None:
        raise StreamError("the response names no batch", retryable=False, raw=document)
    return id_


def request_lines(bodies: Mapping[str, JsonObject], path: str) -> bytes:
    """Return the JSON lines of requests that OpenAI reads from a file."""
    lines: Iterator[JsonValue] = (
        {"custom_id": id_, "method": "POST", "url": path, "body": dict(body)}
        for id_, body in bodies.items()
    )
    return b"".join(json.dumps(line) + b"\n" for line in lines)


def _count(value: JsonValue) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


_OVER: Final[Mapping[str, BatchState]] = {
    **dict.fromkeys(("completed", "ended", "success", "succeeded"), "ended"),
    "failed": "failed",
    **dict.fromkeys(("cancelled", "canceled"), "cancelled"),
    **dict.fromkeys(("expired", "timeout_exceeded"), "expired"),
}


def _state(name: JsonValue) -> BatchState:
    return _OVER.get(str(name).lower().removeprefix("batch_state_"), "running")


def _cancel_at(path: str) -> Callable[[str], NativeRequest]:
    return lambda id_: NativeRequest(path=path.format(id_))


# -- OpenAI and Mistral: a line is a whole HTTP response


def _read_openai(native: JsonObject) -> BatchStatus:
    counts = object_or_empty(native.get("request_counts"))
    total = counts.get("total", native.get("total_requests"))
    return BatchStatus(
        state=_state(native.get("status")),
        total=None if total is None else _count(total),
        succeeded=_count(counts.get("completed", native.get("succeeded_requests"))),
        failed=_count(counts.get("failed", native.get("failed_requests"))),
        errors=_messages(native.get("errors")),
        raw=dict(native),
    )


def _messages(errors: JsonValue) -> tuple[str, ...]:
    """Return the messages of a list of errors: Mistral's, or OpenAI's below `data`."""
    entries = objects(object_or_empty(errors).get("data", errors))
    return tuple(str(entry["message"]) for entry in entries if entry.get("message"))


def _files(*names: str) -> Callable[[str, JsonObject], tuple[str, ...]]:
    def paths(_id: str, native: JsonObject) -> tuple[str, ...]:
        file_ids = (str_or_none(native.get(name)) for name in names)
        return tuple(f"/files/{file}/content" for file in file_ids if file)

    return paths


def _http_item(line: JsonObject) -> BatchItem:
    response = object_or_empty(line.get("response"))
    status = response.get("status_code")
    code = status if isinstance(status, int) else None
    failed = bool(line.get("error")) or code is None or not 200 <= code < 300
    body = response.get("body")
    return BatchItem(
        id=str(line.get("custom_id")),
        body=None if failed else body,
        error=(line.get("error") or body or "the request has no response") if failed else None,
        status=code,
    )


OPENAI: Final = BatchProtocol(
    id="openai-batches",
    create=lambda file, _model, path: NativeRequest(
        path="/batches",
        body={"input_file_id": next(iter(file)), "endpoint": path, "completion_window": "24h"},
    ),
    get="/batches/{}".format,
    cancel=_cancel_at("/batches/{}/cancel"),
    read=_read_openai,
    results=_files("output_file_id", "error_file_id"),
    item=_http_item,
    upload="/files",
)

MISTRAL: Final = BatchProtocol(
    id="mistral-batches",
    create=lambda bodies, model, path: NativeRequest(
        path="/batch/jobs",
        body={
            "endpoint": path,
            "model": model,
            "requests": [{"custom_id": id_, "body": dict(body)} for id_, body in bodies.items()],
        },
    ),
    get="/batch/jobs/{}".format,
    cancel=_cancel_at("/batch/jobs/{}/cancel"),
    read=_read_openai,
    results=_files("output_file", "error_file"),
    item=_http_item,
)


# -- Anthropic


def _read_anthropic(native: JsonObject) -> BatchStatus:
    counts = {k: _count(v) for k, v in object_or_empty(native.get("request_counts")).items()}
    failed = sum(counts.get(name, 0) for name in ("errored", "canceled", "expired"))
    return BatchStatus(
        state=_state(native.get("processing_status")),
        total=sum(counts.values()) if counts else None,
        succeeded=counts.get("succeeded", 0),
        failed=failed,
        raw=dict(native),
    )


def _anthropic_item(line: JsonObject) -> BatchItem:
    result = object_or_empty(line.get("result"))
    id_ = str(line.get("custom_id"))
    if result.get("type") == "succeeded":
        return BatchItem(id=id_, body=result.get("message"))
    return BatchItem(id=id_, error=result.get("error") or f"the request was {result.get('type')}")


def anthropic_batches(batches: str) -> BatchProtocol:
    """Return the batches of the Messages API at the path *batches*: `/v1/messages/batches`."""
    return BatchProtocol(
        id="anthropic-batches",
        create=lambda bodies, _model, _path: NativeRequest(
            path=batches,
            body={
                "requests": [
                    {"custom_id": id_, "params": dict(body)} for id_, body in bodies.items()
                ]
            },
        ),
        get=(batches + "/{}").format,
        cancel=_cancel_at(batches + "/{}/cancel"),
        read=_read_anthropic,
        results=lambda id_, _native: (f"{batches}/{id_}/results",),
        item=_anthropic_item,
    )


# -- Gemini


def _read_gemini(native: JsonObject) -> BatchStatus:
    metadata = object_or_empty(native.get("metadata"))
    stats = object_or_empty(metadata.get("batchStats"))
    total = stats.get("requestCount")
    return BatchStatus(
        state=_state(metadata.get("state")),
        total=None if total is None else _count(total),
        succeeded=_count(stats.get("successfulRequestCount")),
        failed=_count(stats.get("failedRequestCount")),
        errors=_messages([native.get("error")]),
        raw=dict(native),
    )


def _gemini_output(native: JsonObject) -> JsonObject:
    metadata = object_or_empty(native.get("metadata"))
    return object_or_empty(native.get("response")) or object_or_empty(metadata.get("output"))


def _gemini_results(native: JsonObject) -> Iterator[JsonObject]:
    inlined = object_or_empty(_gemini_output(native).get("inlinedResponses"))
    yield from objects(inlined.get("inlinedResponses", []))


def _gemini_files(_id: str, native: JsonObject) -> tuple[str, ...]:
    """Return the path of a file of results: of batches whose requests were a file as well."""
    file = str_or_none(_gemini_output(native).get("responsesFile"))
    return () if file is None else (f"/{quote(file, safe='/')}:download?alt=media",)


def _gemini_item(line: JsonObject) -> BatchItem:
    id_ = str(object_or_empty(line.get("metadata")).get("key", line.get("key")))
    if line.get("response") is not None:
        return BatchItem(id=id_, body=line["response"])
    error = line.get("error") or "the request has no response"
    if isinstance(error, Mapping):
        error = {"status": _RPC_CODES.get(str(error.get("code"))), **error}
    return BatchItem(id=id_, error={"error": error})


_RPC_CODES: Final = {
    "1": "CANCELLED",
    "3": "INVALID_ARGUMENT",
    "4": "DEADLINE_EXCEEDED",
    "5": "NOT_FOUND",
    "7": "PERMISSION_DENIED",
    "8": "RESOURCE_EXHAUSTED",
    "9": "FAILED_PRECONDITION",
    "13": "INTERNAL",
    "14": "UNAVAILABLE",
    "16": "UNAUTHENTICATED",
}
"""The names of codes of https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto.

Results have the numbers alone; errors of calls have an HTTP status as `code`, and the name.
"""


GEMINI: Final = BatchProtocol(
    id="gemini-batches",
    create=lambda bodies, model, _path: NativeRequest(
        path=f"/models/{model}:batchGenerateContent",
        body={
            "batch": {
                "displayName": "llmcore",
                "inputConfig": {
                    "requests": {
                        "requests": [
                            {"request": dict(body), "metadata": {"key": id_}}
                            for id_, body in bodies.items()
                        ]
                    }
                },
            }
        },
    ),
    get="/{}".format,
    cancel=_cancel_at("/{}:cancel"),
    read=_read_gemini,
    results=_gemini_files,
    item=_gemini_item,
    inline=_gemini_results,
)
