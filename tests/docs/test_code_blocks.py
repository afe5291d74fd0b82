"""Every Python block of the documentation runs."""

import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

import pytest

from llmcore.client import client as client_module
from llmcore.client.timeouts import Timeouts
from llmcore.client.transports import Transports
from llmcore.generation import default_client
from llmcore.routes.http_request import HttpRequest
from tests.loopback import chat_handler, chat_stream, chat_whole, serve, sse

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[^>]+?) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL
)


def _blocks() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for number, match in enumerate(_BLOCK.finditer(page.read_text())):
            name = f"{page.relative_to(ROOT)}:{number}"
            found.append((name, match["code"], match["needs"] or ""))
    return found


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m-1",
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
}


class _Answer:
    """A Chat or Responses answer, streamed or whole as the body asks."""

    status = 200
    limits_reads = False

    def __init__(self, request: HttpRequest) -> None:
        self._streamed = bool(json.loads(request.body).get("stream"))
        self._responses = request.url.endswith("/responses")
        kind = "text/event-stream" if self._streamed else "application/json"
        self.headers: Mapping[str, str] = {"content-type": kind}

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._body():
            assert isinstance(chunk, bytes)
            yield chunk

    def _body(self) -> Iterable[object]:
        if self._responses:
            done = {"type": "response.completed", "response": RESPONSE}
            return [sse(done)] if self._streamed else [json.dumps(RESPONSE).encode()]
        return chat_stream() if self._streamed else [chat_whole()]

    async def aclose(self) -> None:
        """Hold nothing."""


class _Provider:
    """A transport that answers for every provider that is not on this machine."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> _Answer:
        assert timeouts
        return _Answer(request)

    async def aclose(self) -> None:
        """Hold nothing."""


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients without a transport of their own talk to the stand-in provider."""

    def transports(**given: object) -> Transports:
        if given.get("http") is None and given.get("transport") is None:
            given["transport"] = _Provider()
        return Transports(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(client_module, "Transports", transports)
    monkeypatch.setattr(default_client, "_client", None)


@pytest.mark.parametrize(
    ("code", "needs"), [pytest.param(code, needs, id=name) for name, code, needs in _blocks()]
)
def test_block_runs(
    code: str, needs: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """It runs as it stands; blocks marked so get a real server, or the real model."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    program = compile(code, "<docs>", "exec")
    if needs == "local model":
        exec(program, namespace)
    elif needs == "local server" or "BASE_URL" in code:
        with serve(chat_handler) as server:
            namespace["BASE_URL"] = server.url
            os.environ.setdefault("EXAMPLE_API_KEY", "example")
            exec(program, namespace)
    else:
        request.getfixturevalue("no_network")
        exec(program, namespace)
    capsys.readouterr()


def test_the_readme_is_checked_too() -> None:
    """The pages that matter have blocks to run."""
    names = {name.partition(":")[0] for name, _, _ in _blocks()}

    assert {"README.md", "docs/client.md", "docs/adding-a-provider.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A relative link names a file that is there."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
