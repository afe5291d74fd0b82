"""The values of the fixtures `cassette` and `cassette_transport`."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from attrs import define

from llmcore.client.client import Client
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.local.embedded import LocalServers
from llmcore.client.transport import Exchange, Transport
from llmcore.client.transport_selection import addressed
from llmcore.routes.http_request import HttpRequest
from llmcore.routes.local import PROFILE
from llmcore.routes.transport_spec import Embedded, Timeouts
from llmcore.testing.secret_scan import names_a_key

_LOCAL: Final = urlsplit(PROFILE.base_url).netloc


@define(kw_only=True, eq=False, repr=False)
class CassetteFixture:
    """A test's cassette: give its `transport` to a client, or take its `client()`."""

    name: str
    """The cassette's name: its path in the directory, without `.json`."""
    path: Path
    """The cassette's file."""
    transport: Transport
    """A Player, or a Recorder."""
    record_mode: Literal["replay", "record"]
    """Whether requests are sent and recorded, or answered from the file."""

    def client(self, **options: Any) -> Client:
        """Return a client over this cassette; *options* are those of `Client`.

        Without `providers` it is `Client.from_env`, which finds names such as `openai:gpt-5.2`.
        When replaying, it finds a placeholder for every key that it looks up in the
        environment: no test needs a real one, nor can use it.
        """
        if self.record_mode == "replay":
            options.setdefault("environ", PlaceholderKeys(os.environ))
        make_client = Client if "providers" in options else Client.from_env
        return make_client(transport=self.transport, **options)

    def __repr__(self) -> str:
        return f"CassetteFixture({self.name!r}, {self.record_mode})"


class PlaceholderKeys(Mapping[str, str]):
    """An environment in which every variable that is named like a key holds a placeholder.

    Iterating gives only the variables that are really there.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        return "placeholder" if names_a_key(name) else self._environ[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


class LiveTransport:
    """Sends the requests of a recording: over HTTP, or to the embedded model.

    The requests of `local:smollm2` name a host that does not exist; as in a client, a server in
    this process answers them. It is started by the first of them.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._http = HttpTransport()
        self._local = LocalServers(environ)

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        """Send *request* and wait for the response's headers."""
        if urlsplit(request.url).netloc != _LOCAL:
            return await self._http.send(request, timeouts)
        http, base_url, key = await self._local.running(Embedded())
        return await http.send(addressed(request, base_url, key), timeouts)

    async def aclose(self) -> None:
        """Close all connections, and stop the embedded model."""
        await self._http.aclose()
        await self._local.aclose()
