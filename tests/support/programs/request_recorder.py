"""Requests of real clients, kept as small files for the fast tests: `tests/fronts/client_requests`.

A file has the last request of a run, which holds the whole conversation, and one of each other
form that the client sent, such as a side call for a title. Long texts are the client's prose, and
not ours to keep: their length stands in their place. Credentials, ids and folders are taken out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from llmcore.bridge.apis.registry import api_of_request
from tests.support.programs.client_programs import pinned
from tests.support.programs.client_recorder import relayed
from tests.support.servers.loopback import Received

FOLDER: Final = Path(__file__).parents[2] / "fronts" / "client_requests"
PINNED: Final = Path(__file__).parents[2] / "clients" / "py"

RECORDED: Final[Mapping[str, tuple[str, str]]] = {
    "runs_a_command[claude-code]": ("claude_code", "@anthropic-ai/claude-code"),
    "runs_a_command[gemini-cli]": ("gemini_cli", "@google/gemini-cli"),
    "runs_a_command[opencode-chat]": ("opencode_chat", "opencode-ai"),
    "runs_a_command[opencode-messages]": ("opencode_messages", "opencode-ai"),
    "runs_a_command[opencode-gemini]": ("opencode_gemini", "opencode-ai"),
    "test_aider_writes_a_file_from_text_alone": ("aider", "aider-chat"),
    "test_tools_in_several_turns[openai]": ("langchain_openai", "langchain-openai"),
    "test_tools_in_several_turns[anthropic]": ("langchain_anthropic", "langchain-anthropic"),
    "test_tools_in_several_turns[google]": ("langchain_google", "langchain-google-genai"),
    "test_tools_of_other_apis[tools_streamed-openai-chat]": ("ai_sdk_openai", "@ai-sdk/openai"),
    "test_tools_of_other_apis[tools_streamed-openai-compatible]": (
        "ai_sdk_compatible",
        "@ai-sdk/openai-compatible",
    ),
    "test_tools_of_other_apis[tools_streamed-anthropic]": (
        "ai_sdk_anthropic",
        "@ai-sdk/anthropic",
    ),
    "test_tools_of_other_apis[tools_streamed-google]": ("ai_sdk_google", "@ai-sdk/google"),
    "test_tools_in_several_turns[tools_streamed-openai_chat]": ("openai_js", "openai"),
    "test_tools_in_several_turns[tools_streamed-anthropic]": (
        "anthropic_js",
        "@anthropic-ai/sdk",
    ),
    "test_tools_in_several_turns[tools_streamed-google]": ("google_js", "@google/genai"),
}
"""By the end of a test's name: the file that it writes, and the package that sends the requests."""

_CREDENTIALS: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie"})
_HOP: Final = frozenset({"host", "content-length", "connection", "accept-encoding"})
_LONG: Final = 60
_LONG_PROSE: Final = 20
_OURS: Final = re.compile("weather|sunny|an agent|the agent|made.txt|command|https?://")
"""Words of the tests' own prompts and results."""
_PROSE: Final = frozenset({"content", "description", "system", "text"})
_SEALED: Final = ("ob1.", "b2IxL")
"""How sealed state of ours begins, plain and in base64."""
_UNIQUE: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{32,}")
_FOLDERS: Final = re.compile(r"/[^\s\"'<>,]*pytest-of-[^\s\"'<>,/]*(/[^\s\"'<>,/]*){2}")


@frozen
class ClientRun:
    """The requests of one client."""

    client: str
    """Package and version."""
    front: str
    requests: list[dict[str, Any]]
    """Each with path, headers and body."""


def load(name: str) -> ClientRun:
    """Return the requests of a file."""
    return ClientRun(**json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


@contextmanager
def recording(url: str, test: str) -> Iterator[str]:
    """Write what the *test* of this name sends, if its requests are kept; the URL to use."""
    found = next((RECORDED[end] for end in RECORDED if test.endswith(end)), None)
    if found is None:
        yield url
        return
    with relayed(url) as (own, exchanges):
        yield own
        _write(*found, [received for received, *_ in exchanges])


def _write(name: str, package: str, received: list[Received]) -> None:
    requests = [_request(one) for one in received if not one.path.endswith(":countTokens")]
    last = {json.dumps(_form(one)): one for one in requests}  # of each form, the last
    front = api_of_request(received[0].path.partition("?")[0], received[0].headers)
    document = {"client": f"{package}@{_version(package)}", "front": front}
    kept = json.dumps({**document, "requests": list(last.values())}, ensure_ascii=False, indent=1)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(kept + "\n", "utf-8")


def _version(package: str) -> str:
    lines = [line for path in PINNED.glob("*.txt") for line in path.read_text().split()]
    versions = dict(line.split("==") for line in lines)
    return versions.get(package) or pinned()[package]


def _form(request: Mapping[str, Any]) -> list[Any]:
    """Return what tells requests of one kind from those of another."""
    body = request["body"]
    return [request["path"], sorted(name for name in body), str(body.get("model"))]


def _request(received: Received) -> dict[str, Any]:
    headers = {
        name: scrubbed(value)
        for name, value in sorted(received.headers.items())
        if name not in _CREDENTIALS | _HOP
    }
    path = re.sub(r"([?&]key=)[^&]*", r"\1removed", received.path)
    return {"path": path, "headers": headers, "body": shortened(json.loads(received.body))}


def shortened(value: Any, key: str = "") -> Any:
    """Return a body without long texts, ids and folders of the run."""
    if isinstance(value, dict):
        return {name: shortened(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [shortened(item, key) for item in value]
    if not isinstance(value, str) or value.startswith(_SEALED):
        return value
    text = scrubbed(value)
    is_ours = _OURS.search(text) and key not in ("description", "system")
    most = _LONG if is_ours or key not in _PROSE else _LONG_PROSE
    return f"({len(text)} characters)" if len(text) > most and not _is_json(text) else text


def _is_json(text: str) -> bool:
    """Whether *text* holds arguments of a call, or a result, which the tests made."""
    return len(text) < 600 and text.startswith("{") and text.endswith("}")


def scrubbed(text: str) -> str:
    """Return *text* without ids and folders of the run."""
    return _UNIQUE.sub("00000000", _FOLDERS.sub("/tmp/test", text))
