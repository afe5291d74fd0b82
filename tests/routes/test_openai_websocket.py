"""OpenAI's Responses on a WebSocket, as a route."""

from collections.abc import Callable

import pytest

from llmcore import OpenAI
from llmcore.routes.route import Route
from llmcore.routes.transport_spec import Http, WebSocket
from llmcore.schema.model import Model


def route_of(model: Model) -> Route:
    """Return the route of *model*."""
    assert isinstance(model.route, Route)
    return model.route


def test_only_the_transport_differs_from_responses() -> None:
    """Protocol, endpoint, auth, framing and defaults are the same values."""
    facade = OpenAI.configure(api_key="sk-x", organization="org-1", headers={"x-a": "b"})
    plain, socket = facade.responses("gpt-5.2"), facade.responses_websocket("gpt-5.2")
    changed = route_of(plain).with_(
        id="openai-responses-websocket", transport=route_of(socket).transport
    )

    assert route_of(plain).transport == Http()
    assert route_of(socket).transport == WebSocket()
    assert route_of(socket) == changed
    assert (socket.id, socket.provider) == ("gpt-5.2", "openai")


LIMITS: list[Callable[[], WebSocket]] = [
    lambda: WebSocket(max_connections=0),
    lambda: WebSocket(max_age_s=0),
    lambda: WebSocket(max_message_bytes=-1),
]


@pytest.mark.parametrize("make", LIMITS)
def test_socket_limits_of_zero_are_refused(make: Callable[[], WebSocket]) -> None:
    """A socket that may not be used is a mistake."""
    with pytest.raises(ValueError, match="must be > 0"):
        make()
