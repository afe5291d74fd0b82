"""The end of the server: what came before it stopped listening is answered.

A connection is complete before the program accepts it: the kernel answers the client, which sends
its request. Until then it is in the queue of the listening socket, and when that is closed the
kernel resets it, so that its client gets no response. uvicorn closes the socket
at once, and then the connections without a request, also those whose request is on its way.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any, Final

import uvicorn

_ARRIVAL_S: Final = 0.1
"""The time in which a request arrives whose client has connected."""


class DrainingServer(uvicorn.Server):
    """A server that accepts what is queued before it stops listening, and waits for its requests.

    A connection that completes between the last look at the queue and the close of the socket is
    still reset: TCP has no way to refuse new connections and keep the queued ones.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and end once the requests under way are answered."""
        listeners = sockets or []
        for listener in listeners:
            await self._accept_queued(listener)
        for server in self.servers:
            server.close()
        for listener in listeners:
            listener.close()
        await asyncio.sleep(_ARRIVAL_S)
        await super().shutdown(sockets)

    async def _accept_queued(self, listener: socket.socket) -> None:
        """Serve the connections in the queue of *listener*, until it is empty or none can be."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        with suppress(OSError):  # BlockingIOError: the queue is empty; others: no file is left
            while True:
                connection, _ = listener.accept()
                await loop.connect_accepted_socket(self._new_protocol, connection)

    def _new_protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol
