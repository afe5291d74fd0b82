"""The embedded servers of one client: each started once, shared, and stopped with the client."""

import threading
from collections.abc import Mapping

import anyio.to_thread

from llmcore.client.http.transport import HttpTransport
from llmcore.client.local.embedded import EmbeddedOptions, EmbeddedServer
from llmcore.routes import transport


class LocalServers:
    """Starts a server for each spec on first use, in a thread, since loading takes a second."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._running: dict[transport.Embedded, tuple[EmbeddedServer, HttpTransport]] = {}
        self._lock = threading.Lock()

    async def running(self, spec: transport.Embedded) -> tuple[HttpTransport, str, str | None]:
        """Return the transport to the server of *spec*, its base URL and its key.

        Raises ConfigurationError where the server or its model is not installed.
        """
        server, http = await anyio.to_thread.run_sync(self._start, spec)
        return http, server.address.base_url, server.address.api_key

    def _start(self, spec: transport.Embedded) -> tuple[EmbeddedServer, HttpTransport]:
        with self._lock:
            if spec not in self._running:
                options = EmbeddedOptions(
                    model_path=spec.model_path,
                    context_tokens=spec.context_tokens,
                    threads=spec.threads,
                    parallel=spec.parallel,
                    embeddings=spec.embeddings,
                )
                server = EmbeddedServer.start(options, self._environ)
                http = HttpTransport(socket=server.address.socket_path)
                self._running[spec] = server, http
            return self._running[spec]

    async def aclose(self) -> None:
        """Stop every server."""
        with self._lock:
            running, self._running = list(self._running.values()), {}
        for server, http in running:
            await http.aclose()
            await anyio.to_thread.run_sync(server.stop)
