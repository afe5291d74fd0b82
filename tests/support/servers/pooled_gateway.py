"""A gateway of a configuration file in front of several scripted upstreams."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from attrs import frozen

from llmcore.bridge.configuration.document import parse_document
from llmcore.bridge.configuration.reading import settings_of
from tests.support.servers.bridge_service import listening, refused, streamed
from tests.support.servers.loopback import (
    Answer,
    Handler,
    Loopback,
    Received,
    chat_stream,
    chat_whole,
    serve,
)

BOTH = """
[models.m]
targets = ["a/up-a", "b/up-b"]
"""
"""Two ranks of one target each."""

SHARED = """
[models.m]
targets = [["a/up", "b/up"]]
"""
"""One rank of two targets."""


@frozen
class Scene:
    """A running gateway and its upstreams."""

    url: str
    """With `/v1`."""
    upstreams: Mapping[str, Loopback]

    def ask(self, text: str = "Hi", *, stream: bool = False, **fields: Any) -> httpx.Response:
        """Ask by Chat Completions for the model `m`."""
        headers = fields.pop("headers", None)
        messages = [{"role": "user", "content": text}]
        body = {"model": "m", "messages": messages, "stream": stream, **fields}
        url = f"{self.url}/chat/completions"
        return httpx.post(url, json=body, headers=headers, timeout=30)

    def asked(self, name: str) -> int:
        """Return how many requests an upstream received."""
        return len(self.upstreams[name].received)

    @property
    def counts(self) -> dict[str, int]:
        """How many requests each upstream received."""
        return {name: self.asked(name) for name in self.upstreams}

    def root(self, path: str) -> httpx.Response:
        """Get a path outside of `/v1`."""
        return httpx.get(self.url.removesuffix("/v1") + path)


def says(text: str) -> Handler:
    """Return an upstream that answers *text*, streamed or whole."""

    def handler(received: Received) -> Answer:
        if received.method == "GET":  # a list of models
            return Answer([b"{}"], headers={"content-type": "application/json"}, length=2)
        body: Any = received.json
        if body.get("stream"):
            return streamed(chat_stream([text]))
        data = chat_whole(text)
        return Answer([data], headers={"content-type": "application/json"}, length=len(data))

    return handler


def fails(status: int, message: str = "no", **fields: Any) -> Handler:
    """Return an upstream that refuses every request."""
    return lambda _received: refused(status, message, **fields)


def in_turn(*handlers: Handler) -> Handler:
    """Return an upstream that behaves as each of *handlers* once, and then as the last."""
    left = list(handlers)

    def handler(received: Received) -> Answer:
        one = left.pop(0) if len(left) > 1 else left[0]
        return one(received)

    return handler


@contextmanager
def pooled_gateway(
    config: str,
    folder: Path = Path(),
    settings: str = "",
    own: Any = None,
    **handlers: Handler,
) -> Iterator[Scene]:
    """Run a gateway of *config* for the block, with an upstream for each of *handlers*.

    *own* are further lines of an upstream's table; without any it has the key `sk-NAME`.
    """
    with ExitStack() as stack:
        upstreams = {name: stack.enter_context(serve(one)) for name, one in handlers.items()}
        tables = "".join(
            f'[[upstreams]]\nname = "{name}"\nprovider = "openai-compatible"\n'
            f'base_url = "{server.url}/v1"\n' + (own or {}).get(name, f'key = "sk-{name}"') + "\n"
            for name, server in upstreams.items()
        )
        whole = f'{settings}\n[state]\nbackend = "memory"\n{tables}{config}'
        document = parse_document(folder / "openbridge.toml", whole)
        url = stack.enter_context(listening(settings_of({}, document)))
        yield Scene(url, upstreams)
