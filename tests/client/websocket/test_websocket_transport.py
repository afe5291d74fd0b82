"""Responses over WebSockets, against a real server on loopback."""

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from llmcore import (
    Client,
    LLMResponse,
    Message,
    OpenAI,
    Timeouts,
    ToolChoice,
    ToolDefinition,
    evolve,
    request,
)
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.websocket.connection import WebSocketDialer
from llmcore.client.websocket.websocket_transport import WebSocketTransport
from llmcore.routes.auth import Auth
from llmcore.routes.transport_spec import WebSocket
from llmcore.schema.errors import (
    AbortError,
    InvalidRequestError,
    LLMError,
    NetworkError,
    RequestTimeoutError,
    StreamError,
)
from llmcore.schema.events import TextDelta
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from tests.support.servers.loopback import Answer, Received, serve, sse
from tests.support.servers.socket_server import (
    Action,
    Close,
    Cut,
    Native,
    Ping,
    SocketServer,
    answer,
    error,
    says,
    sockets,
)
from tests.support.waiting import PATIENCE_S, until
from tests.support.wire.responses import document, events_of, function_call, message, reasoning

pytestmark = pytest.mark.anyio

KEY = "sk-test-websocket-0123456789"
WEATHER = ToolDefinition(
    "weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}
)


def model(base_url: str, spec: WebSocket | None = None) -> Model:
    """Return a model behind a server."""
    made = OpenAI.configure(api_key=KEY, base_url=base_url).responses_websocket("gpt-5.2")
    if spec is None:
        return made
    return made.route.with_(transport=spec).model("gpt-5.2")  # type: ignore[no-any-return, union-attr]


def ask(server: SocketServer, text: str = "Hello", **fields: Any) -> LLMRequest:
    """Return a question to *server*."""
    return request(model=model(server.url), prompt=text, **fields)


def after(asked: LLMRequest, said: LLMResponse, *messages: Message) -> LLMRequest:
    """Return *asked*, its response, and what comes next."""
    return evolve(asked, messages=(*asked.messages, said.message, *messages))


async def answered(client: Client, asked: LLMRequest) -> LLMResponse:
    """Return the response to *asked*, streamed."""
    return (await client.stream(asked).result()).unwrap()


async def failure(client: Client, asked: LLMRequest, **options: Any) -> LLMError:
    """Return the error that *asked* ends in."""
    async with client.stream(asked, **options) as stream:
        return (await stream.result()).failure()


def inputs(server: SocketServer) -> list[list[str]]:
    """Return the kinds of the input items of each request that came."""
    return [[item["type"] for item in asked["input"]] for asked in server.requests]


# -- conversations


async def test_a_text_response_comes_over_a_socket() -> None:
    """The same events as over HTTP; the key goes with the handshake."""
    with sockets(says("Hello there.")) as server:
        async with Client() as client, client.stream(ask(server)) as stream:
            deltas = [event.text async for event in stream if isinstance(event, TextDelta)]
            response = (await stream.result()).unwrap()

    assert "".join(deltas) == response.text == "Hello there."
    assert response.diagnostics == ()
    assert response.usage is not None
    assert response.usage.total_tokens == 30
    assert server.handshakes[0]["authorization"] == f"Bearer {KEY}"
    assert "stream" not in server.requests[0]
    assert server.requests[0]["type"] == "response.create"


async def test_a_response_in_one_piece_is_read_from_the_same_events() -> None:
    """On a socket every response is streamed; who does not stream gets the fold of it."""
    with sockets(says("Hello there.")) as server:
        async with Client() as client:
            whole = (await client.generate(ask(server))).unwrap()
            streamed = await answered(client, ask(server))

    assert whole.message == streamed.message
    assert whole.usage == streamed.usage


def uses_tools(asked: Native, response_id: str) -> Iterable[Action]:
    """Call a tool twice in turn, then speak."""
    number = int(response_id.removeprefix("resp_"))
    if number < 3:
        call = function_call(f'{{"city": "{number}"}}', n=number)
        return answer(response_id, reasoning("Hm.", id=f"rs_{number}"), call)
    return answer(response_id, message("It is fine."))


async def test_turns_of_a_tool_loop_send_only_the_new_items() -> None:
    """Over one socket, each naming the response before it; parameters are said again."""
    with sockets(uses_tools) as server:
        asked = ask(server, tools=[WEATHER], system="Be brief.")
        async with Client() as client:
            while (said := await answered(client, asked)).tool_calls:
                results = [Message.tool(call.id, "Fine.") for call in said.tool_calls]
                asked = after(asked, said, *results)
            asked = evolve(after(asked, said, Message.user("Sure?")), tool_choice=ToolChoice.none())
            await answered(client, asked)

    first, *later = server.requests
    assert set(server.connections) == {0}
    assert inputs(server) == [
        ["message"],
        ["function_call_output"],
        ["function_call_output"],
        ["message"],
    ]
    assert "previous_response_id" not in first
    assert [one["previous_response_id"] for one in later] == ["resp_1", "resp_2", "resp_3"]
    assert [one.get("tool_choice") for one in later] == [None, None, "none"]
    assert all(one["tools"] == first["tools"] for one in later)
    assert all(one["instructions"] == "Be brief." for one in later)


async def test_an_edited_history_is_sent_in_full_over_the_same_socket() -> None:
    """The server remembers another history than the caller's; the socket still serves."""
    with sockets(says("Fine.")) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            edited = Message.assistant("Bad.")
            more = (*asked.messages, edited, Message.user("Why?"))
            await answered(client, evolve(asked, messages=more))
            await answered(client, after(asked, said, Message.user("Why?")))

    assert inputs(server) == [["message"], ["message"] * 3, ["message"] * 3]
    assert server.connections == [0, 0, 0]
    assert not any("previous_response_id" in one for one in server.requests)


async def test_each_conversation_keeps_its_socket() -> None:
    """Two that take turns do not push each other out of their servers' memories."""
    with sockets(says("Fine.")) as server:
        asked = {name: ask(server, name) for name in "AB"}
        async with Client() as client:
            for name in "ABABAB":
                said = await answered(client, asked[name])
                asked[name] = after(asked[name], said, Message.user("More"))

    assert server.connections == [0, 1, 0, 1, 0, 1]
    assert [len(kinds) for kinds in inputs(server)] == [1] * 6


@pytest.mark.parametrize(("most", "connections"), [(8, [0, 1, 0]), (1, [0, 1, 2])])
async def test_other_credentials_take_another_socket(most: int, connections: list[int]) -> None:
    """A socket belongs to the credentials that opened it; without room for both, it closes."""
    with sockets(says("Fine.")) as server:
        asked = ask(server)
        made = model(server.url, WebSocket(max_connections=most))
        theirs = evolve(made, route=made.route.with_(auth=Auth.bearer("sk-other")))  # type: ignore[union-attr]
        async with Client() as client:
            for whose in (made, theirs, made):
                await answered(client, evolve(asked, model=whose))
            assert len(server.handshakes) - len(server.closed) <= most
        server.wait_closed(len(server.handshakes))

    assert server.connections == connections
    keys = [one["authorization"] for one in server.handshakes[:2]]
    assert keys == [f"Bearer {KEY}", "Bearer sk-other"]


async def test_unrelated_requests_share_sockets_once_there_are_enough() -> None:
    """The one that was used least recently gives up what its server remembers."""
    with sockets(says("Fine.")) as server:
        made = model(server.url, WebSocket(max_connections=2))
        async with Client() as client:
            for text in "ABCD":
                await answered(client, request(model=made, prompt=text))

    assert server.connections == [0, 1, 0, 1]


async def test_a_warm_up_prepares_the_next_turn() -> None:
    """`generate: false` gives no response but an id to go on from."""

    def warm(asked: Native, response_id: str) -> Iterable[Action]:
        generates = asked.get("generate", True)
        return answer(response_id, *([message("Ready.")] if generates else []))

    with sockets(warm) as server:
        asked = ask(server)
        idle = evolve(asked, provider_options={"openai": {"generate": False}})
        async with Client() as client:
            said = await answered(client, idle)
            more = evolve(asked, messages=(*asked.messages, Message.user("Now.")))
            after_it = await answered(client, more)

    assert (said.text, after_it.text) == ("", "Ready.")
    assert server.requests[1]["previous_response_id"] == "resp_1"
    assert inputs(server) == [["message"], ["message"]]


# -- what the server refuses


async def test_a_forgotten_response_is_sent_in_full_on_the_same_socket() -> None:
    """The caller never hears of it."""

    def forgets(asked: Native, response_id: str) -> Iterable[Action]:
        if "previous_response_id" in asked:
            return [error("previous_response_not_found")]
        return answer(response_id, message("Fine."))

    with sockets(forgets) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            again = await answered(client, after(asked, said, Message.user("More")))

    assert again.text == "Fine."
    assert inputs(server) == [["message"], ["message"], ["message"] * 3]
    assert server.connections == [0, 0, 0]


async def test_a_forgotten_response_that_the_caller_named_is_an_error() -> None:
    """There is nothing else to send; no loop."""
    with sockets(says("Fine.")) as server:
        asked = ask(server, provider_options={"openai": {"previous_response_id": "resp_0"}})
        async with Client() as client:
            refused = await failure(client, asked)

    assert refused.error_code == "previous_response_not_found"
    assert isinstance(refused, LLMError)
    assert len(server.requests) == 1


def aged(rest: Iterable[Action] = ()) -> Any:
    """Return responses that refuse the second request, for the socket's age."""

    def answers(_asked: Native, response_id: str) -> Iterable[Action]:
        if response_id == "resp_2":
            return [*rest, error("websocket_connection_limit_reached")]
        return answer(response_id, message("Fine."))

    return answers


async def test_a_socket_that_is_too_old_for_the_server_is_replaced() -> None:
    """The request goes over a new one, in full."""
    with sockets(aged()) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            again = await answered(client, after(asked, said, Message.user("More")))

    assert again.text == "Fine."
    assert server.connections == [0, 0, 1]
    assert inputs(server) == [["message"], ["message"], ["message"] * 3]


async def test_a_socket_that_grows_too_old_in_a_response_breaks_it_off() -> None:
    """No request is sent twice once events arrived; the caller may try again."""
    begun = events_of([message("Fine.")])[:5]
    with sockets(aged(begun)) as server:
        async with Client() as client:
            await answered(client, ask(server))
            broken = await failure(client, ask(server))
            fine = await answered(client, ask(server))

    assert isinstance(broken, StreamError)
    assert broken.retryable
    assert fine.text == "Fine."
    assert server.connections == [0, 0, 1]


async def test_an_error_event_is_the_error_it_names() -> None:
    """Classified like the same error over HTTP; the socket stays good."""

    def refuses(_asked: Native, response_id: str) -> Iterable[Action]:
        if response_id == "resp_1":
            return [error("invalid_prompt", text=f"No, {KEY} may not.")]
        return answer(response_id, message("Fine."))

    with sockets(refuses) as server:
        async with Client() as client:
            refused = await failure(client, ask(server))
            fine = await answered(client, ask(server))

    assert isinstance(refused, InvalidRequestError)
    assert (refused.status_code, refused.error_code) == (400, "invalid_prompt")
    assert KEY not in str(refused)
    assert fine.text == "Fine."
    assert server.connections == [0, 0]


# -- age


async def test_old_sockets_are_replaced_before_the_server_closes_them() -> None:
    """The next turn opens a new one and says everything."""
    times = [0.0]
    with sockets(says("Fine.")) as server:
        transport = WebSocketTransport(
            WebSocket(), http=HttpTransport(), opener=WebSocketDialer(), clock=lambda: times[-1]
        )
        asked = ask(server)
        async with Client(transport=transport) as client:
            for now in (0.0, 3299.0, 3300.0, 3301.0):
                times.append(now)
                said = await answered(client, asked)
                asked = after(asked, said, Message.user("More"))
            await transport.aclose()
        server.wait_closed(2)

    assert server.connections == [0, 0, 1, 1]
    assert [len(kinds) for kinds in inputs(server)] == [1, 1, 5, 1]
    assert [code for _, code in server.closed] == [1000, 1000]


# -- by HTTP instead


@pytest.fixture
def http_only() -> Iterator[Any]:
    """Run a server that answers over HTTP and refuses sockets by a status of one's choice."""

    def handler(received: Received) -> Answer:
        if received.method == "GET":
            status = int(received.path.split("/")[1])
            return Answer([b"no"], status=status, length=2)
        events = [sse(event) for event in events_of([message("By HTTP.")])]
        return Answer(events, headers={"content-type": "text/event-stream"})

    with serve(handler) as server:
        yield server


@pytest.mark.parametrize("status", [200, 302, 401, 404, 426, 503])
async def test_a_refused_upgrade_sends_the_request_by_http(http_only: Any, status: int) -> None:
    """In full, once, and a Diagnostic reports it."""
    asked = request(model=model(f"{http_only.url}/{status}/v1"), prompt="Hello")
    async with Client() as client:
        streamed = await answered(client, asked)
        whole = (await client.generate(asked)).unwrap()

    assert streamed.text == whole.text == "By HTTP."
    (note,) = streamed.diagnostics
    assert (note.code, note.action) == ("websocket-fallback", "changed")
    assert f"HTTP {status}" in note.message
    assert [one.method for one in http_only.received] == ["GET", "POST"] * 2
    assert http_only.received[1].json["stream"] is True
    assert KEY not in str(streamed.diagnostics)


async def test_a_server_that_is_not_there_is_a_network_error() -> None:
    """HTTP is tried, and fails alike."""
    asked = request(model=model("http://127.0.0.1:9/v1"), prompt="Hello")
    async with Client() as client:
        assert isinstance(await failure(client, asked), NetworkError)


async def test_a_message_too_big_for_the_server_goes_by_http() -> None:
    """It was not read, so nothing was begun."""
    with sockets(says("Fine."), max_size=1000) as server:
        async with Client() as client:
            fine = await answered(client, ask(server))
            stream = client.stream(ask(server, "x" * 2000))
            async with stream:
                # This server speaks no HTTP: what matters is that it was asked.
                refused = (await stream.result()).failure()

    assert fine.text == "Fine."
    assert not isinstance(refused, StreamError)
    assert len(server.requests) == 1


async def test_background_responses_go_by_http(http_only: Any) -> None:
    """Sockets carry none."""
    asked = request(
        model=model(f"{http_only.url}/101/v1"),
        prompt="Hello",
        provider_options={"openai": {"background": True}},
    )
    async with Client() as client:
        response = await answered(client, asked)

    assert [note.code for note in response.diagnostics] == ["websocket-fallback"]
    assert [one.method for one in http_only.received] == ["POST"]


async def test_a_warm_up_is_not_sent_by_http(http_only: Any) -> None:
    """Over HTTP it would be answered, and paid."""
    asked = request(
        model=model(f"{http_only.url}/426/v1"),
        prompt="Hello",
        provider_options={"openai": {"generate": False}},
    )
    async with Client() as client:
        refused = await failure(client, asked)

    assert isinstance(refused, NetworkError)
    assert refused.status_code == 426
    assert [one.method for one in http_only.received] == ["GET"]


# -- responses that break off

WHOLE = answer("resp_1", reasoning("Hm."), message("Hello there."))


@pytest.mark.parametrize("end", [Cut(), Close(1011, "broken"), Close(1000)], ids=str)
@pytest.mark.parametrize("count", range(len(WHOLE)))
async def test_a_socket_that_closes_before_the_end_is_an_error(count: int, end: Action) -> None:
    """At whichever event; what had arrived is kept, and nothing is sent again."""
    with sockets(lambda _asked, _id: [*WHOLE[:count], end]) as server:
        async with Client() as client:
            broken = await failure(client, ask(server))

    assert isinstance(broken, StreamError if count else NetworkError)
    assert broken.retryable
    assert len(server.requests) == 1
    assert broken.partial is not None or not count
    if isinstance(end, Close):
        assert broken.error_code == str(end.code)


GARBAGE: dict[str, Action] = {
    "binary": b"\x00\x01",
    "no JSON": "{not json",
    "no object": "[1]",
    "an array of ends": '["response.completed"]',
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=list(GARBAGE))
@pytest.mark.parametrize("count", [0, 1, 6])
async def test_messages_that_are_not_events_break_the_response(garbage: Action, count: int) -> None:
    """With an error of ours, and the next call has a socket of its own."""

    def answers(_asked: Native, response_id: str) -> Iterable[Action]:
        if response_id == "resp_1":
            return [*WHOLE[:count], garbage, 0.05]
        return answer(response_id, message("Fine."))

    with sockets(answers) as server:
        async with Client() as client:
            broken = await failure(client, ask(server))
            fine = await answered(client, ask(server))

    assert isinstance(broken, LLMError)
    assert fine.text == "Fine."
    assert server.connections == [0, 1]


async def test_pretty_printed_events_are_read_too() -> None:
    """JSON may have line ends, which would end the data of a server-sent event."""
    texts = [json.dumps(event, indent=2).replace("\n", "\r\n") for event in WHOLE]
    with sockets(lambda _asked, _id: texts) as server:
        async with Client() as client:
            assert (await answered(client, ask(server))).text == "Hello there."


async def test_the_limit_of_a_response_counts_on_sockets() -> None:
    """More than the route allows is not read."""
    with sockets(says("x" * 5000)) as server:
        made = model(server.url)
        route = made.route
        small = route.with_(defaults=evolve(route.defaults, max_response_bytes=3000))  # type: ignore[union-attr]
        async with Client() as client:
            broken = await failure(client, request(model=small.model("gpt-5.2"), prompt="Hi"))
        server.wait_closed(1)

    assert isinstance(broken, StreamError)
    assert "3000 bytes" in broken.message


# -- leaving early


def slow(_asked: Native, response_id: str) -> Iterator[Action]:
    """Say something, and the rest late."""
    events = answer(response_id, message("One two three four"))
    for event in events:
        yield event
        yield 0.02


async def test_leaving_a_response_closes_its_socket() -> None:
    """Nothing of it reaches the next call."""
    with sockets(slow) as server:
        asked = ask(server)
        async with Client() as client:
            async with client.stream(asked) as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        break
            server.wait_closed(1)
            said = await answered(client, asked)
            result = await stream.result()

    assert isinstance(result.failure(), AbortError)
    assert said.text == "One two three four"
    assert said.message.content[0] == said.message.content[-1]
    assert server.connections == [0, 1]


async def test_cancelling_a_call_closes_its_socket() -> None:
    """At any time: while it connects, waits or reads."""
    with sockets(slow) as server:
        async with Client() as client:
            for delay in (0.0, 0.005, 0.03, 0.1):
                with anyio.move_on_after(delay):
                    await client.generate(ask(server))
            said = await answered(client, ask(server))
        server.wait_closed(len(server.handshakes))

    assert said.text == "One two three four"


async def test_another_task_may_close_a_stream_that_waits() -> None:
    """Its reader ends, and the socket is closed."""
    with sockets(lambda _asked, _id: [WHOLE[0], 0.5]) as server:
        async with Client() as client, anyio.create_task_group() as group:
            stream = client.stream(ask(server))

            async def close() -> None:
                await anyio.sleep(0.1)
                await stream.aclose()

            group.start_soon(close)
            assert isinstance((await stream.result()).failure(), AbortError)


@pytest.mark.parametrize("name", ["first_event", "idle", "step", "total"])
async def test_time_limits_count_on_sockets(name: str) -> None:
    """They are the call's, whatever carries it."""
    begun = [] if name == "first_event" else [*WHOLE[:4], *WHOLE[4:7]]
    with sockets(lambda _asked, _id: [*begun, 0.4]) as server:
        async with Client() as client:
            late = await failure(client, ask(server), timeouts=Timeouts(**{name: 0.1}))
        server.wait_closed(1)

    assert isinstance(late, RequestTimeoutError)
    assert late.error_code == name


@contextmanager
def silent() -> Iterator[int]:
    """Accept connections and send nothing; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def test_a_handshake_that_hangs_is_given_up() -> None:
    """Within the limit for connecting; the request then goes by HTTP, which waits on."""
    with anyio.fail_after(20), silent() as port:
        asked = request(model=model(f"http://127.0.0.1:{port}/v1"), prompt="Hello")
        async with Client(timeouts=Timeouts(connect=0.1, first_event=0.3)) as client:
            late = await failure(client, asked)

    assert isinstance(late, RequestTimeoutError)
    assert late.error_code == "first_event"


# -- many at once


async def test_parallel_calls_take_sockets_of_their_own() -> None:
    """One response at a time goes over each; there are no more than the route allows."""
    with sockets(slow) as server:
        asked = request(model=model(server.url, WebSocket(max_connections=3)), prompt="Hello")
        texts: list[str] = []

        async def run(client: Client) -> None:
            texts.append((await answered(client, asked)).text)

        async with Client() as client:
            async with anyio.create_task_group() as group:
                for _ in range(7):
                    group.start_soon(run, client)
            assert len(server.handshakes) == 3
        server.wait_closed(3)

    assert texts == ["One two three four"] * 7
    assert server.most <= 3


async def test_closing_the_client_closes_idle_sockets() -> None:
    """With a close frame; a client that is used again opens new ones."""
    with sockets(says("Fine.")) as server:
        client = Client()
        await answered(client, ask(server))
        await client.aclose()
        server.wait_closed(1)
        assert server.closed == [(0, 1000)]
        await answered(client, ask(server))
        await client.aclose()
        await client.aclose()
        server.wait_closed(2)

    assert server.connections == [0, 1]


@pytest.mark.parametrize("pause", [0.0, 0.05])
@pytest.mark.parametrize("end", [Cut(), Close(1001), error("going_away")], ids=str)
async def test_a_socket_that_the_server_closed_meanwhile_is_noticed(
    end: Action, pause: float
) -> None:
    """Before anything is sent over it."""

    def closes(_asked: Native, response_id: str) -> Iterable[Action]:
        last = [pause, end] if response_id == "resp_1" else []
        return [*answer(response_id, message("Fine.")), *last]

    with sockets(closes) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            assert await until(lambda: server.acted >= 1)
            await anyio.sleep(0.05)
            again = await answered(client, after(asked, said, Message.user("More")))

    assert again.text == "Fine."
    assert server.connections == [0, 1]
    assert [len(kinds) for kinds in inputs(server)] == [1, 3]


async def test_pings_are_answered_between_turns() -> None:
    """A tool that runs long does not cost the socket, nor what its server remembers."""

    def pings(_asked: Native, response_id: str) -> Iterable[Action]:
        return [*answer(response_id, message("Fine.")), 0.05, Ping()]

    with sockets(pings) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            assert await until(lambda: bool(server.pongs))
            assert await anyio.to_thread.run_sync(server.pongs[0].wait, PATIENCE_S)
            await answered(client, after(asked, said, Message.user("More")))

    assert server.connections == [0, 0]
    assert inputs(server) == [["message"], ["message"]]


async def test_messages_between_responses_are_discarded() -> None:
    """A notice, a ping: it is read and gone before the next request."""

    def chatty(_asked: Native, response_id: str) -> Iterable[Action]:
        notice = {"type": "response.output_text.delta", "delta": "stale"}
        return [*answer(response_id, message("Fine.")), 0.02, notice, Ping(), notice]

    with sockets(chatty) as server:
        asked = ask(server)
        async with Client() as client:
            said = await answered(client, asked)
            assert await until(lambda: server.acted >= 1)
            again = await answered(client, after(asked, said, Message.user("More")))

    assert again.text == "Fine."
    assert server.connections == [0, 0]


@pytest.fixture
def opened_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what the server sends at once arrive before the first request."""
    open_socket = WebSocketDialer.open_socket

    async def open_slowly(*arguments: Any) -> Any:
        socket = await open_socket(*arguments)
        await anyio.sleep(0.2)
        return socket

    monkeypatch.setattr(WebSocketDialer, "open_socket", open_slowly)


@pytest.mark.usefixtures("opened_slowly")
@pytest.mark.parametrize("greeting", [1, None], ids=["notice", "answer"])
async def test_messages_before_the_first_request_answer_no_request(greeting: int | None) -> None:
    """A notice is skipped. A whole response closes the socket; the request goes by HTTP."""
    stale = answer("resp_0", message("Stale."))[:greeting]
    with sockets(says("Fine.")) as server:
        server.greeting = stale
        async with Client() as client:
            result = await client.stream(ask(server)).result()

    if greeting is None:
        assert server.requests == []
        assert "Stale." not in repr(result)
    else:
        assert result.unwrap().text == "Fine."


@pytest.mark.usefixtures("opened_slowly")
async def test_a_socket_that_is_closed_before_the_first_request_is_reported_as_closed() -> None:
    """And not as one with an early response."""
    with sockets(says("Fine.")) as server:
        server.greeting = [Close(1013, "try again later")]
        asked = ask(server, provider_options={"openai": {"generate": False}})
        async with Client() as client:
            refused = await failure(client, asked)

    assert isinstance(refused, NetworkError)
    assert "closed " in refused.message  # by its next request, or by one that is under way
    assert "sent a response" not in refused.message


def test_each_event_loop_has_its_own_sockets() -> None:
    """One client serves several loops in turn; a loop that ends closes its sockets."""
    with sockets(says("Fine.")) as server:
        client = Client()
        for backend in ("asyncio", "trio", "asyncio"):
            anyio.run(answered, client, ask(server), backend=backend)
        server.wait_closed(3)

    assert server.connections == [0, 1, 2]


def test_a_document_is_what_the_builders_make() -> None:
    """The server's responses are those of the protocol's own tests."""
    last = WHOLE[-1]
    assert isinstance(last, dict)
    assert (
        last["response"]["output"]
        == document([reasoning("Hm."), message("Hello there.")])["output"]
    )
