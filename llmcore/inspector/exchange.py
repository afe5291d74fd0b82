"""One exchange as the JSON that the page shows.

    {"name": "...", "provider": "openai", "protocol": "openai-chat", "model": "gpt-5.2",
     "stages": [{"title": "Request", "line": "POST https://...", "headers": {}, "body": {}}, ...],
     "wire": [{"ms": 12.5, "bytes": 93, "frame": {...}, "events": [0, 1]}, ...],
     "events": [{"ms": 12.5, "type": "text-delta", "text": "Hi", "data": {...}}, ...],
     "lanes": [{"kind": "text", "label": "text", "ms": [12.5, 30.1], "end": 41.0, "cut": false}],
     "gaps": [[100.0, 2300.0]], "first_ms": 12.5, "total_ms": 41.0, "timed": true,
     "usage": {...}, "cost": 0.0003, "costs": {"input": 0.0001, "output": 0.0002},
     "finish": "stop", "diagnostics": ["..."], "text": "Hi",
     "error": null}

Times count from the request, in milliseconds. Without recorded times (`timed` false) they count
frames.
"""

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from attrs import define, evolve, field

from llmcore.catalog.cost import response_cost
from llmcore.folds.response import collect
from llmcore.inspector.redaction import safe_headers, safe_json, safe_object, safe_text, safe_url
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.failures.errors import error_from_response
from llmcore.protocols.protocol import Protocol, protocol_by_id
from llmcore.routes.decoding import ResponseDecoder
from llmcore.routes.framing import Framing, is_streamed
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.model import Model
from llmcore.schema.native_json import object_or_empty, str_or_empty
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success
from llmcore.testing.recorded import framing_of

Document = dict[str, Any]
"""JSON that the page shows."""

_GAP_MS: Final = 300.0
_GAP_FACTOR: Final = 6.0
"""A pause is a gap if it is longer than `_GAP_MS`, and than this many times the median pause."""

_STARTS: Final = {"text-start": "text", "reasoning-start": "reasoning", "tool-input-start": "tool"}
_DELTAS: Final = frozenset({"text-delta", "reasoning-delta", "tool-input-delta"})
_ENDS: Final = frozenset({"text-end", "reasoning-end", "tool-input-end"})


@frozen(kw_only=True)
class ReceivedResponse:
    """The response to a request, as it came."""

    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    pieces: Sequence[tuple[bytes, float]]
    """The body in the pieces it came in, each with its delay in milliseconds."""
    head_ms: float = 0.0
    """Milliseconds from the request to the headers."""
    timed: bool = True
    failure: LLMError | None = None
    """The error that ended the body early."""


def protocol_of_url(url: str) -> str:
    """Return the id of the protocol at *url* by its path; the first one's for any other path."""
    path = url.partition("?")[0].lower()
    known = (p.id for p in map(protocol_by_id, PROTOCOL_IDS) if p.path in path)
    return next(known, PROTOCOL_IDS[0])


def request_stage(title: str, line: str, headers: Mapping[str, str], body: bytes) -> Document:
    """Return the stage that shows a request: *line* is its method and URL."""
    method, _, url = line.partition(" ")
    return {
        "title": title,
        "line": f"{method} {safe_url(url)}".strip(),
        "headers": safe_headers(headers),
        "body": safe_json(_parsed(body)) if body else None,
    }


def exchange(
    name: str,
    provider: str,
    protocol_id: str,
    response: ReceivedResponse,
    *,
    streaming: bool,
    stages: Sequence[Document] = (),
) -> Document:
    """Return the document of an exchange, whose response is decoded as the client decodes it."""
    protocol = protocol_by_id(protocol_id)
    steps = _Reading(protocol, provider, response, streaming=streaming).read()
    events = [event for step in steps for event in step.events]
    head = {
        "title": "Response head",
        "line": f"HTTP {response.status}",
        "headers": safe_headers(response.headers),
    }
    document = {
        "name": safe_text(name),
        "provider": provider,
        "protocol": protocol_id,
        "stages": [*stages, head],
        "timed": response.timed,
        **_timeline(steps),
    }
    return {**document, **_outcome(events)}


# -- reading the wire


@define
class _Step:
    """One frame of the wire and the events that were made of it."""

    ms: float
    size: int
    frame: JsonValue
    events: list[LLMEvent] = field(factory=list)


class _Reading:
    """Decodes a response frame by frame."""

    def __init__(
        self,
        protocol: Protocol[Any, Any, Any],
        provider: str,
        response: ReceivedResponse,
        *,
        streaming: bool,
    ) -> None:
        self._framing: Framing = framing_of(protocol, response.headers)
        self._request = LLMRequest(model=Model("recorded", provider), messages=())
        self._decoder = ResponseDecoder(protocol, self._framing, self._request, raw=True)
        self._response = response
        self._streamed = is_streamed(self._framing, response.headers, requested=streaming)

    def read(self) -> list[_Step]:
        """Return the steps, the last of which has the terminal event."""
        response = self._response
        body = b"".join(data for data, _ in response.pieces)
        ended = response.head_ms + sum(delay for _, delay in response.pieces)
        if response.status >= 400:
            error = error_from_response(
                provider=self._request.provider_id,
                status=response.status,
                headers=response.headers,
                body=body,
            )
            return [_Step(ended, len(body), _parsed(body), [ErrorEvent(error)])]
        if not self._streamed:
            return [_Step(ended, len(body), _parsed(body), self._decoder.whole(body))]
        return self._read_stream()

    def _read_stream(self) -> list[_Step]:
        steps: list[_Step] = []
        frames = self._framing.new_decoder()
        ms = self._response.head_ms
        for data, delay in self._response.pieces:
            ms += delay
            try:
                new_frames = list(frames.feed(data))
            except LLMError:  # the decoder reports it
                new_frames = []
            now = [_Step(ms, len(frame[1]), self._framing.native(frame)) for frame in new_frames]
            _assign(now or [_Step(ms, len(data), None)], self._decoder.feed(data), steps)
        if not self._response.timed:
            for number, step in enumerate(steps):
                step.ms = float(number)
            ms = float(len(steps))
        failure = self._response.failure
        last = self._decoder.end() if failure is None else self._decoder.fail(failure)
        if last:
            steps.append(_Step(ms, 0, None, last))
        return steps


def _assign(now: list[_Step], events: list[LLMEvent], steps: list[_Step]) -> None:
    """Give each of *events* to the frame that it was read from, and add the frames to *steps*."""
    at = 0
    for event in events:
        native = event.native
        while at + 1 < len(now) and native is not None and now[at].frame != native:
            at += 1
        now[at].events.append(event)
    steps += [step for step in now if step.frame is not None or step.events]


def _parsed(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
    return value


# -- events over time


def _timeline(steps: Sequence[_Step]) -> Document:
    wire: list[Document] = []
    events: list[Document] = []
    for step in steps:
        indices = range(len(events), len(events) + len(step.events))
        events += [event_document(event, step.ms) for event in step.events]
        frame = safe_json(step.frame)
        wire.append({"ms": step.ms, "bytes": step.size, "frame": frame, "events": [*indices]})
    return {"wire": wire, "events": events, **timing(events)}


def event_document(event: LLMEvent, ms: float) -> Document:
    """Return *event* as the page shows it."""
    data = to_json(event)
    return raw_event({**object_or_empty(data), "type": event.type}, ms)


def raw_event(data: JsonObject, ms: float) -> Document:
    """Return an event given as its JSON, as the page shows it."""
    shown = safe_object(data)
    text = next((shown[key] for key in ("text", "input", "name", "message") if key in shown), None)
    return {
        "ms": ms,
        "type": shown.get("type"),
        "text": str_or_empty(text),
        "data": shown,
    }


def timing(events: Sequence[Document]) -> Document:
    """Return when each segment and call streamed, and the pauses, all in milliseconds.

    A lane is a text, a thinking or a call: when it started and ended, and the times of its deltas.
    `cut` is True if it was still open when the stream ended or failed.
    """
    times = [event["ms"] for event in events]
    total = max(times, default=0.0)
    lanes = _lanes(events)
    failed = any(event["type"] == "error" for event in events)
    for lane in lanes:
        lane["cut"] = lane["end"] is None or (failed and lane["end"] == total)
        lane["end"] = total if lane["end"] is None else lane["end"]
    return {
        "lanes": [lane for lane in lanes if not _is_empty(lane)],
        "gaps": _gaps(times),
        "first_ms": next((event["ms"] for event in events if event["type"] in _DELTAS), None),
        "total_ms": total,
    }


def _is_empty(lane: Document) -> bool:
    """Return whether *lane* is reasoning with no text and no duration, which only carries state."""
    took_time: bool = lane["end"] > lane["start"]
    return lane["kind"] == "reasoning" and not lane["ms"] and not took_time and not lane["cut"]


def _lanes(events: Sequence[Document]) -> list[Document]:
    """Return the lanes of *events* in the order of their starts; one that is open has no end."""
    lanes: dict[str, Document] = {}
    for event in events:
        kind, ms, data = event["type"], event["ms"], event["data"]
        name = str(data.get("id", kind))
        if kind in _STARTS:
            label = data.get("name") or _STARTS[kind]
            lanes[name] = {
                "kind": _STARTS[kind],
                "label": label,
                "ms": [],
                "start": ms,
                "end": None,
            }
        elif kind in _DELTAS and name in lanes:
            lanes[name]["ms"].append(ms)
        elif kind in _ENDS and name in lanes:
            lanes[name]["end"] = ms
    return list(lanes.values())


def _gaps(times: Sequence[float]) -> list[list[float]]:
    """Return the pauses between events that are far longer than usual."""
    moments = sorted(set(times))
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    if len(pauses) < 2:
        return []
    limit = max(_GAP_MS, _GAP_FACTOR * statistics.median(pauses))
    return [[earlier, later] for earlier, later in pairwise(moments) if later - earlier > limit]


# -- the outcome


def _outcome(events: Sequence[LLMEvent]) -> Document:
    result = collect(events)
    if isinstance(result, Success):
        return {"error": None, **_of_response(result.value)}
    error, partial = result.error, result.error.partial
    known = {} if partial is None else _of_response(partial)
    return {**known, "error": shown_error(type(error).__name__, object_or_empty(to_json(error)))}


def shown_error(kind: str, data: JsonObject) -> Document:
    """Return an error without its partial response, which the page shows in places of its own."""
    rest = {name: value for name, value in data.items() if name != "partial"}
    return {"kind": kind, "data": safe_object(rest)}


def _of_response(response: LLMResponse) -> Document:
    usage = to_json(response.usage)
    cost = response.cost if response.cost is not None else response_cost(response)
    return {
        "model": response.model,
        "text": safe_text(response.text),
        "usage": object_or_empty(usage),
        "cost": cost,
        "costs": {} if cost is None else _costs(response, cost),
        "finish": response.finish_reason.reason,
        "diagnostics": [safe_text(str(item)) for item in response.diagnostics],
        "message": safe_json(to_json(response.message)),
    }


def _costs(response: LLMResponse, cost: float) -> dict[str, float]:
    """Return the shares of input and output in *cost*, in the proportion of their list prices."""
    counted = evolve(response.usage, cost_usd=None)
    listed = response_cost(evolve(response, usage=counted))
    prompt_usage = evolve(counted, output_tokens=0, reasoning_tokens=None)
    of_input = response_cost(evolve(response, usage=prompt_usage))
    if not cost or not listed or of_input is None:
        return {}
    return {"input": cost * of_input / listed, "output": cost * (listed - of_input) / listed}
