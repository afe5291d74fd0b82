"""The page at `/ui`, and the JSON that it reads.

    GET /ui                             the page, without any data: it asks for the key
    GET /ui/api/requests?after=a1:17    {"process": "a1", "seq": 21, "requests": [...]}
    GET /ui/api/requests/{id}           one exchange in full, as the inspector shows it
    GET /ui/api/status                  version, limits, health of the store and the upstreams

`after` names, for each process that has answered, the last number of its list; only what changed
since then comes again. Workers have a list each, which the page puts together.

Each key sees its own requests alone. The admin key sees all, below `/admin/ui` in place of
`/ui/api`.
"""

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Final, cast

from llmcore.bridge.api import Operation, OperationRequest
from llmcore.bridge.build import version_for
from llmcore.bridge.http.asgi import ASGIApp, Receive, Scope, Send
from llmcore.bridge.http.observability import name_operation
from llmcore.bridge.http.responses import BytesResponse
from llmcore.bridge.service import Service
from llmcore.bridge.ui.feed import Feed, FeedEntry, FeedRecording
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.routes.route import PreparedRequest
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.errors import LLMError
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.request import LLMRequest

if TYPE_CHECKING:
    from llmcore.inspector.exchange import Document

PAGE: Final = "/ui"


def page_route() -> ASGIApp:
    """Return the application that serves the page, which is made when it is first asked for."""

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        name_operation(scope, "ui")
        await _page()(scope, receive, send)

    return page


@cache
def _page() -> BytesResponse:
    from llmcore.inspector.page import html_page, package_text

    script = package_text("llmcore.inspector", "viewer.js") + "".join(
        package_text("llmcore.bridge.ui", name) for name in ("playground.js", "ui.js")
    )
    made = html_page("OpenBridge", script, {}, connects=True)
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", f"{made.policy}; frame-ancestors 'none'".encode()),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
    ]
    return BytesResponse(200, made.html.encode(), headers)


def operations(service: Service, feed: Feed) -> list[Operation]:
    """Return the operations that the page reads."""

    async def requests(call: OperationRequest) -> JsonObject:
        after = _after(call.request.query.get("after", ""), feed.process)
        shown = cast("JsonValue", [entry.as_json() for entry in feed.since(after, _owner(call))])
        return {"process": feed.process, "seq": feed.seq, "requests": shown}

    async def one(call: OperationRequest) -> JsonObject:
        entry = feed.find(call.path["id"], _owner(call))
        if entry is None or entry.state == "running":
            raise _not_found(f"there is no request {call.path['id'][:80]!r} that has ended")
        if entry.recording is None:
            place = service.settings.place_of("UI_RECORD")
            raise _not_found(f"the exchange was not recorded ({place}), or was deleted since")
        return cast("JsonObject", await _document(service, entry, entry.recording))

    async def status(call: OperationRequest) -> JsonObject:
        return {
            "version": version_for(call.caller, service),
            "health": await service.deep_health(),
            "recording": service.settings.ui_record,
        }

    return [
        Operation(
            name=f"ui_{name}",
            method="GET",
            path=prefix + path,
            handle=handle,
            for_admin=for_admin,
        )
        for prefix, for_admin in (("/ui/api", False), ("/admin/ui", True))
        for name, path, handle in (
            ("requests", "/requests", requests),
            ("request", "/requests/{id}", one),
            ("status", "/status", status),
        )
    ]


def _after(text: str, process: str) -> int:
    """Return the number that *text* has for *process*, 0 if none; FrontError for other text."""
    if re.fullmatch(r"(?:[0-9a-f]{1,32}:[0-9]{1,15}(?:,|$))*", text) is None:
        message = "after is a list of process:number"
        raise FrontError(status=400, message=message, code="invalid_value")
    numbers = dict(item.split(":") for item in text.split(",") if item)
    return int(numbers.get(process, "0"))


def _owner(call: OperationRequest) -> str | None:
    """Return whose requests the caller may see; None means all."""
    return None if call.caller.is_admin else call.caller.owner


def _not_found(message: str) -> FrontError:
    return FrontError(status=404, message=message, code="not_found")


async def _document(service: Service, entry: FeedEntry, recording: FeedRecording) -> "Document":
    """Return the exchange through all its stages.

    It may have megabytes, so it is made in a thread.
    """
    request = recording.request
    prepared = None if request is None else await _prepared(service, request)
    step = partial(_exchange, entry, recording, prepared)
    return await service.run_in_thread_if(step, large=True)


def _exchange(
    entry: FeedEntry, recording: FeedRecording, prepared: PreparedRequest | Exception | None
) -> "Document":
    from llmcore.inspector.exchange import ReceivedResponse, exchange, protocol_of_url
    from llmcore.inspector.redaction import safe_json

    asked, request, response = recording.asked, recording.request, recording.response
    stages: list[Document] = []
    if asked is not None:
        stages.append(_client_stage(entry, asked))
    if request is not None and prepared is not None:
        stages.append({"title": "2. Read as a value", "body": safe_json(to_json(request))})
        stages.append(_upstream_stage(prepared))
    if response is not None:
        stages.append({"title": "4. The upstream's response", "body": safe_json(to_json(response))})
    failure = LLMError("the rest of the response was not kept") if recording.cut else None
    received = ReceivedResponse(
        status=recording.status,
        headers=recording.headers,
        pieces=recording.pieces,
        failure=failure,
    )
    protocol = protocol_of_url(entry.path)
    streaming = "json" not in recording.headers.get("content-type", "")
    made = exchange(
        entry.id, entry.provider, protocol, received, streaming=streaming, stages=stages
    )
    made["stages"][-1]["title"] = "5. The client's response"
    return {**made, **_counted(entry, made)}


def _counted(entry: FeedEntry, made: "Document") -> "Document":
    """Return tokens and cost, which the client's response need not contain, as in the list."""
    if entry.response is None:
        return {}
    costs = made.get("costs") if made.get("cost") == entry.cost else {}
    return {"usage": to_json(entry.response.usage), "cost": entry.cost, "costs": costs}


def _client_stage(entry: FeedEntry, client_request: ClientRequest) -> "Document":
    from llmcore.inspector.exchange import request_stage

    line, body = f"{entry.method} {entry.path}", json.dumps(client_request.body)
    return request_stage("1. The client's request", line, client_request.headers, body)


async def _prepared(service: Service, request: LLMRequest) -> PreparedRequest | Exception:
    """Return the request as it would be sent now, or why it cannot be."""
    try:
        return await service.prepared(request)
    except (FrontError, LLMError) as error:
        return error


def _upstream_stage(sent: PreparedRequest | Exception) -> "Document":
    from llmcore.inspector.exchange import request_stage

    title = "3. The upstream's request"
    if isinstance(sent, Exception):
        return {"title": title, "body": str(sent)}
    data = json.dumps(cast("Mapping[str, JsonValue]", sent.body))
    return request_stage(title, f"{sent.method} {sent.url}", sent.headers, data)
