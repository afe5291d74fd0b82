"""Other libraries beside llmcore: what is installed, what an import costs, what a chunk costs.

    python -m benchmarks.peers FOLDER

makes a virtual environment for each library in FOLDER, and prints a table. The CPU time of a chunk
is that of this process while it streams 2,000 chunks of a Chat Completions server on this machine,
the least of eight runs.
"""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

CHUNKS: Final = 2_000
ROOT: Final = Path(__file__).parents[1]
ASYNC: Final = "loop = asyncio.new_event_loop()\ngo = lambda: loop.run_until_complete(one())\n"
MESSAGES: Final = '[{"role": "user", "content": "hi"}]'

OURS: Final = """
import asyncio
model = OpenAI(base_url=URL, api_key="x").chat("m")
async def one():
    async with stream(model, "hi") as events:
        return [text async for text in events.text_stream]
"""
OPENAI: Final = f"""
client = OpenAI(base_url=URL, api_key="x")
def go():
    chunks = client.chat.completions.create(model="m", messages={MESSAGES}, stream=True)
    return [chunk.choices[0].delta.content for chunk in chunks]
"""
LANGCHAIN: Final = """
model = ChatOpenAI(model="m", base_url=URL, api_key="x")
def go():
    return [chunk.content for chunk in model.stream("hi")]
"""
PYDANTIC_AI: Final = """
import asyncio
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=URL, api_key="x")))
async def one():
    async with agent.run_stream("hi") as run:
        return [text async for text in run.stream_text(delta=True, debounce_by=None)]
"""
LITELLM: Final = f"""
def go():
    to = dict(model="openai/m", api_base=URL, api_key="x")
    chunks = litellm.completion(messages={MESSAGES}, stream=True, **to)
    return [chunk.choices[0].delta.content for chunk in chunks]
"""
OFFLINE: Final = "import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'; import litellm"

PEERS: Final = {
    str(ROOT): ("from llmcore import OpenAI, stream", OURS + ASYNC),
    "openai": ("from openai import OpenAI", OPENAI),
    "langchain-openai": ("from langchain_openai import ChatOpenAI", LANGCHAIN),
    "pydantic-ai-slim[openai]": ("from pydantic_ai import Agent", PYDANTIC_AI + ASYNC),
    "litellm": (OFFLINE, LITELLM),
}
"""What is installed, its import, and a program that defines `go`, which reads one stream."""

MEASURE: Final = """
import time
started = time.process_time()
{imported}
importing = time.process_time() - started
URL = {url!r}
{program}
assert len(go()) >= {chunks}
spent = []
for _ in range(8):
    started = time.process_time()
    go()
    spent.append(time.process_time() - started)
print(importing, min(spent) / {chunks} * 1e6)
"""


class _Server(BaseHTTPRequestHandler):
    """Streams a response of many chunks, as fast as it is read."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = b"".join(_chunk({"content": f" word{n}"}) for n in range(CHUNKS))
        body += _chunk({}, "stop") + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), 4_096):
            self.wfile.write(body[start : start + 4_096])

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


@contextmanager
def _running() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def _installed(folder: Path, requirement: str) -> tuple[Path, int, int]:
    """Return the Python that has *requirement*, the number of packages, and their megabytes."""
    name = "llmcore" if requirement == str(ROOT) else requirement.partition("[")[0]
    home = folder / name
    if not home.exists():
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "pip"), "--quiet"]
        subprocess.run([*pip, "uninstall", "--yes", "setuptools"], check=True)  # of Python 3.11
        subprocess.run([*pip, "install", requirement], check=True)
    site = next(home.glob("lib/python3*/site-packages"))
    packages = [one for one in site.glob("*.dist-info") if not one.name.startswith("pip-")]
    files = (one for one in site.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
    size = sum(one.stat().st_size for one in files if one.relative_to(site).parts[0] != "pip")
    return home / "bin" / "python", len(packages), size // 1_000_000


def main() -> None:
    """Print a line for each library."""
    folder = Path(sys.argv[1])
    print(f"{'library':26} packages   MB  import s  us/chunk")
    with _running() as url:
        for requirement, (imported, program) in PEERS.items():
            python, packages, size = _installed(folder, requirement)
            code = MEASURE.format(imported=imported, url=url, program=program, chunks=CHUNKS)
            ran = subprocess.run(
                [str(python), "-c", code], check=True, capture_output=True, text=True, cwd=folder
            )
            importing, chunk = map(float, ran.stdout.split()[-2:])
            name = "llmcore-routes" if requirement == str(ROOT) else requirement
            print(f"{name:26} {packages:8} {size:4} {importing:9.2f} {chunk:9.0f}")


if __name__ == "__main__":
    main()
