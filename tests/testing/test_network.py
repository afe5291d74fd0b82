"""`forbid_network`: a connection to another machine fails the test."""

import socket

import anyio
import pytest

from llmcore import Client, OpenAICompatible, Success, request
from llmcore.testing import forbid_network
from llmcore.testing.network import NetworkForbiddenError
from tests.support.servers.loopback import chat_handler, serve

FAR = "192.0.2.1"
"""An address for documentation, which no machine has."""


@pytest.mark.parametrize("host", [FAR, "nowhere.invalid"])
def test_a_connection_to_another_machine_is_refused(host: str) -> None:
    """By address, and where a name is looked up."""
    with forbid_network(), pytest.raises(NetworkForbiddenError, match=host):
        socket.create_connection((host, 9), timeout=0.1)


@pytest.mark.anyio
async def test_a_look_up_in_a_thread_of_the_event_loop_is_refused_too() -> None:
    """Event loops resolve names in threads."""
    with forbid_network(), pytest.raises(NetworkForbiddenError):
        await anyio.getaddrinfo("nowhere.invalid", 9)


@pytest.mark.anyio
async def test_loopback_addresses_stay_allowed_without_network() -> None:
    """Servers of tests listen there."""
    with serve(chat_handler) as server, forbid_network():
        facade = OpenAICompatible.configure(name="x", base_url=f"{server.url}/v1", api_key="k")
        async with Client() as client:
            made = await client.generate(request(model=facade.model("m"), prompt="Hi"))

    assert isinstance(made, Success)


def test_after_the_block_connections_are_tried_again() -> None:
    """Nothing is left in place."""
    with forbid_network():
        pass
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(free.getsockname(), timeout=1)
