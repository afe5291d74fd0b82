"""A gateway for tests: in this process, or on loopback, in front of a scripted upstream."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from attrs import evolve

from llmcore.bridge.configuration.settings import GatewaySettings, StateSettings
from llmcore.bridge.http import server
from llmcore.bridge.http.app import make_app
from llmcore.bridge.service import Service
from llmcore.client.transport import Transport
from tests.support.servers.asgi import serving
from tests.support.servers.loopback import DONE, Answer, chat_chunk, sse

UPSTREAM_KEY = "sk-upstream-very-secret"
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def settings_for(url: str, **changes: Any) -> GatewaySettings:
    """Return settings with the Chat server at *url* as the upstream."""
    base = GatewaySettings(
        upstream="openai-compatible",
        upstream_base_url=f"{url}/v1",
        upstream_api_key=UPSTREAM_KEY,
        state=StateSettings(backend="memory"),
        retries=0,
        relay=False,
        check_stream=True,
    )
    return evolve(base, **changes)


@asynccontextmanager
async def asked(
    settings: GatewaySettings, upstream: Transport | None = None, /, **headers: str
) -> AsyncIterator[httpx.AsyncClient]:
    """Ask a gateway in this process; *upstream* takes the place of the network to its upstream."""
    service = Service.from_settings(settings, transport=upstream)
    transport = httpx.ASGITransport(app=make_app(service), client=("127.0.0.1", 1))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:
        try:
            yield client
        finally:
            await service.aclose()


@contextmanager
def listening(settings: GatewaySettings) -> Iterator[str]:
    """Run a gateway on loopback for the block; its base URL, `/v1` included."""
    service = Service.from_settings(settings)
    listener = server.listening("127.0.0.1", 0, settings.limits.send_s)
    with serving(server.uvicorn_config(make_app(service), settings), [listener]):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def events_of(body: str | bytes) -> list[dict[str, Any]]:
    """Return the events of a stream, each checked against its own name."""
    text = body.decode() if isinstance(body, bytes) else body
    events = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        assert lines[0].startswith("event: "), block
        assert len(lines) == 2, block
        event = json.loads(lines[1].removeprefix("data: "))
        assert event["type"] == lines[0].removeprefix("event: ")
        events.append(event)
    return events


def text_of(response: Any) -> str:
    """Return the text of a response object."""
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )


def tool_script(*calls: tuple[str, str, str]) -> list[bytes | float]:
    """Return the script of a response that calls functions: id, name, arguments of each."""
    fragments = []
    for index, (id_, name, arguments) in enumerate(calls):
        head = {"index": index, "id": id_, "type": "function"}
        begin = {**head, "function": {"name": name, "arguments": ""}}
        fragments.append(chat_chunk(delta={"tool_calls": [begin]}))
        for piece in (arguments[:3], arguments[3:]):
            rest = {"index": index, "function": {"arguments": piece}}
            fragments.append(chat_chunk(delta={"tool_calls": [rest]}))
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    last = {"id": "chatcmpl-1", "model": "m-1", "choices": [], "usage": usage}
    return [*fragments, chat_chunk(finish_reason="tool_calls"), sse(last), DONE]


def streamed(script: Any, **options: Any) -> Answer:
    """Return a streamed response."""
    headers = {**SSE, **options.pop("headers", {})}
    return Answer(script, headers=headers, **options)


def refused(status: int, message: str, **fields: Any) -> Answer:
    """Return an error of the upstream, in OpenAI's form."""
    headers = {**JSON, **fields.pop("headers", {})}
    data = json.dumps({"error": {"message": message, **fields}}).encode()
    return Answer([data], status, headers, length=len(data))


def sqlite_state(folder: Path) -> StateSettings:
    """Return the settings of a store in *folder*."""
    return StateSettings(backend="sqlite", path=folder / "state.db")
