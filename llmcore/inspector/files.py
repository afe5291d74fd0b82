"""The documents of files: cassettes, exported sessions, recorded streams, printed events."""

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from llmcore.catalog.cost import cost_of_usage
from llmcore.inspector.exchange import (
    Document,
    ReceivedResponse,
    exchange,
    protocol_of_url,
    raw_event,
    request_stage,
    shown_error,
    timing,
)
from llmcore.inspector.redaction import safe_json, safe_text
from llmcore.protocols import PROTOCOL_IDS
from llmcore.schema.codec import from_json
from llmcore.schema.errors import InvalidRequestError, LLMError, unreadable_file
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import object_or_empty
from llmcore.schema.usage import Usage
from llmcore.sessions.contract.codec import to_wire
from llmcore.sessions.contract.entries import MessageEntry, readable
from llmcore.sessions.jsonl import from_lines
from llmcore.testing.cassette import (
    AnyInteraction,
    Cassette,
    CassetteError,
    Interaction,
    NoResponse,
    WebSocketInteraction,
)
from llmcore.testing.cassette_file import loads

MAX_BYTES: Final = 64 * 1024 * 1024


def read_document(path: str | Path, protocol: str | None = None) -> Document:
    """Return the document of the file *path*.

    *protocol* is that of a recorded stream; without it, the one that can read the stream is taken.
    Raises InvalidRequestError, naming the file, if it is of none of the kinds.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a zero byte in the path
        raise unreadable_file(path, error) from error
    return _named_document(str(path), path.name, data, protocol)


def read_stdin_document(stdin: BinaryIO, protocol: str | None = None) -> Document:
    """Return the document of what *stdin* has; its errors are those of `read_document`."""
    return _named_document("stdin", "stdin", stdin.read(MAX_BYTES + 1), protocol)


def _named_document(source: str, name: str, data: bytes, protocol: str | None) -> Document:
    if len(data) > MAX_BYTES:
        raise InvalidRequestError(f"{source} has more than {MAX_BYTES} bytes")
    try:
        return document_of(name, data, protocol)
    except LLMError as error:
        raise InvalidRequestError(f"{source}: {error.message}", cause=error) from error


def document_of(name: str, data: bytes, protocol: str | None = None) -> Document:
    """Return the document of a file's *data*; its errors are those of `read_document`."""
    if not data.strip():
        raise InvalidRequestError("it is empty")
    first = _json_lines(data[: data.find(b"\n") + 1] or data)
    whole = _json(data)
    if isinstance(whole, Mapping) and "interactions" in whole:
        try:
            return of_cassette(loads(data.decode()), name)
        except CassetteError as error:
            raise InvalidRequestError(f"it is not a cassette: {error}", cause=error) from error
    if first and isinstance(first[0], Mapping):
        if "contractVersion" in first[0]:
            return of_session(name, list(from_lines(data.decode().split("\n"))))
        if first[0].get("type") in {"stream-start", "step-start", "error"}:
            return of_events(name, _json_lines(data))
    return of_stream(name, data, protocol)


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _json_lines(data: bytes) -> list[Any]:
    values = [_json(line) for line in data.split(b"\n") if line.strip()]
    return [] if None in values else values


# -- kinds of files


def of_cassette(cassette: Cassette, name: str) -> Document:
    """Return the document of a cassette: an exchange for each interaction."""
    provider = cassette.metadata.provider or ""
    exchanges = [
        _interaction(item, f"{number}", provider, cassette.metadata.protocol)
        for number, item in enumerate(cassette.interactions, 1)
    ]
    return {"title": name, "kind": "cassette", "exchanges": exchanges}


def _interaction(item: AnyInteraction, name: str, provider: str, protocol: str | None) -> Document:
    request = item.request
    line = f"{request.method} {request.url}"
    stage = request_stage("Request", line, request.headers, request.body)
    protocol = protocol or protocol_of_url(request.url)
    if isinstance(item, WebSocketInteraction):
        return {
            **exchange(name, provider, protocol, _of_socket(item), streaming=True, stages=[stage]),
            "messages": [
                {
                    "role": message.direction,
                    "text": safe_text(message.text),
                    "data": safe_json(_value(message.text)),
                }
                for message in item.messages
            ],
        }
    response = _response_of(item)
    streaming = response.status < 400
    return exchange(name, provider, protocol, response, streaming=streaming, stages=[stage])


def _response_of(item: Interaction) -> ReceivedResponse:
    response = item.response
    if isinstance(response, NoResponse):
        unanswered = LLMError("the caller left before a response came")
        return ReceivedResponse(
            headers={"content-type": "text/event-stream"},
            pieces=(),
            head_ms=response.delay_ms,
            failure=response.failure or unanswered,
        )
    failure = response.failure
    if response.abandoned:
        failure = LLMError("the caller stopped reading here")
    return ReceivedResponse(
        status=response.status,
        headers=response.headers,
        pieces=response.pieces(),
        head_ms=response.delay_ms,
        timed=bool(response.delay_ms or any(chunk.delay_ms for chunk in response.chunks)),
        failure=failure,
    )


def _of_socket(item: WebSocketInteraction) -> ReceivedResponse:
    """Return the first response over a socket, its messages as the frames of a stream."""
    pieces: list[tuple[bytes, float]] = []
    waited = 0.0
    for message in item.messages:
        waited += message.delay_ms
        if message.direction == "server":
            pieces.append((b"data: " + message.text.encode() + b"\n\n", waited))
            waited = 0.0
    return ReceivedResponse(
        headers={"content-type": "text/event-stream"}, pieces=pieces, failure=item.failure
    )


def of_stream(name: str, data: bytes, protocol: str | None) -> Document:
    """Return the document of a recorded body, such as the SSE that curl printed."""
    streaming = not isinstance(_json(data), Mapping)
    media = "text/event-stream" if streaming else "application/json"
    response = ReceivedResponse(headers={"content-type": media}, pieces=[(data, 0.0)], timed=False)
    candidates = PROTOCOL_IDS if protocol is None else (protocol,)
    read = [
        exchange(name, "", candidate, response, streaming=streaming) for candidate in candidates
    ]
    best = next((candidate for candidate in read if candidate["error"] is None), None)
    if best is None and protocol is None:
        raise InvalidRequestError(
            "it is not a cassette, an exported session, printed events or a complete response of "
            "a known API: name the API of a stream with --protocol"
        )
    return {"title": name, "kind": "stream", "exchanges": [best or read[0]]}


def of_events(name: str, lines: Sequence[Any]) -> Document:
    """Return the document of events that `llmcore ask --json` printed, in their order."""
    events = [
        raw_event(value, float(number))
        for number, value in enumerate(lines)
        if isinstance(value, dict)
    ]
    last = events[-1]["data"] if events else {}
    error = object_or_empty(last.get("error"))
    partial = object_or_empty(error.get("partial"))
    start: JsonObject = next((one["data"] for one in events if one["type"] == "stream-start"), {})
    exchange = {
        "name": name,
        "provider": start.get("provider", ""),
        "protocol": start.get("protocol", ""),
        "model": start.get("model"),
        "stages": [],
        "wire": [],
        "events": events,
        "timed": False,
        **timing(events),
        "usage": object_or_empty(last.get("usage") or partial.get("usage")),
        "cost": _cost_of_run([event["data"] for event in events]),
        "finish": (last.get("finish_reason") or {}).get("reason"),
        "text": "".join(event["text"] for event in events if event["type"] == "text-delta"),
        "error": shown_error(str(error.get("type", "error")), error) if error else None,
    }
    return {"title": name, "kind": "events", "exchanges": [exchange]}


def _cost_of_run(events: Sequence[JsonObject]) -> float | None:
    """Return the cost of all steps together; None if that of one is unknown.

    The tokens of each have the list price, which a long prompt may raise, except where the last
    event has the response of a single step with its cost.
    """
    place: JsonObject = {}
    costs: list[float | None] = []
    stated = object_or_empty(events[-1].get("provider_metadata")).values() if events else ()
    for event in events:
        start = event if event.get("type") == "stream-start" else event.get("start")
        place = {**place, **object_or_empty(start)}
        if event.get("type") == "step-finish":
            try:
                usage = from_json(Usage, event.get("usage") or {})
            except LLMError:
                return None
            provider, model = (str(place.get(name) or "") for name in ("provider", "model"))
            costs.append(cost_of_usage(provider, (model,), usage, map(object_or_empty, stated)))
    if len(costs) < 2:
        response = object_or_empty(events[-1].get("response")) if events else {}
        costs = [response.get("cost", *costs)]
    return None if None in costs else sum(filter(None, costs))


def of_session(name: str, entries: Sequence[MessageEntry]) -> Document:
    """Return the document of exported sessions: their messages in order."""
    messages = [
        {
            "role": entry.role,
            "name": entry.run_id,
            "time": entry.timestamp,
            "text": safe_text(entry.text or " ".join(map(readable, entry.parts))),
            "data": safe_json(_value(json.dumps(to_wire(entry)))),
            "usage": entry.meta.get("usage"),
        }
        for entry in entries
    ]
    return {"title": name, "kind": "session", "exchanges": [], "messages": messages}


def _value(text: str) -> Any:
    parsed = _json(text.encode())
    return text if parsed is None else parsed


# -- differences


def difference(first: Document, second: Document) -> list[Document]:
    """Return the difference of two documents: for each part, lines with ` `, `-` or `+`."""
    parts: list[Document] = []
    count = max(len(first["exchanges"]), len(second["exchanges"]))
    for number in range(count):
        first_parts, other = (_parts(document, number) for document in (first, second))
        parts += [
            {"title": f"{title} {number + 1}", "lines": lines}
            for title in first_parts
            if (lines := _lines(first_parts[title], other[title]))
        ]
    if not count:
        lines = _lines(_pretty(first.get("messages")), _pretty(second.get("messages")))
        parts += [{"title": "Messages", "lines": lines}] if lines else []
    return parts


def _parts(document: Document, number: int) -> dict[str, str]:
    exchanges = document["exchanges"]
    exchange = exchanges[number] if number < len(exchanges) else {"stages": []}
    stages = {stage["title"]: stage for stage in exchange["stages"]}
    return {
        "Request": _pretty(stages.get("Request")),
        "Response": _pretty(exchange.get("message")),
        "Usage": _pretty(exchange.get("usage")),
        "Diagnostics": _pretty(exchange.get("diagnostics")),
        "Error": _pretty(exchange.get("error")),
    }


def _pretty(value: object) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _lines(first: str, other: str) -> list[list[str]]:
    """Return the lines that differ, with three lines around them."""
    diff = difflib.unified_diff(first.split("\n"), other.split("\n"), lineterm="", n=3)
    return [[line[:1], line[1:]] for line in list(diff)[2:]]
