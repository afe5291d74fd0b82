"""MCP servers in processes of their own and over HTTP: their tools in runs of `generate`."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from llmcore.generation.generate import generate
from llmcore.generation.tool import ToolFailure
from llmcore.mcp import HttpServer, McpServers, StdioServer
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart, TextPart, ToolResultPart
from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    LLMError,
    NetworkError,
    RequestTimeoutError,
)
from llmcore.testing.fake_model import FakeModel, call
from tests.support.servers.mcp_http import http_server, port_of_nobody, serving_app, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    # The SDK leaves streams of events to the collector, which trio warns of.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).parents[2]


def program() -> StdioServer:
    """Return a server whose start takes more than a second of a core, for imports."""
    return StdioServer(
        sys.executable,
        ("-m", "tests.support.servers.mcp_program"),
        env={"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        connect_seconds=300,  # on a machine that is busy, the default of 30 can be too few
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as (address, _):
        yield address


async def ran(servers: McpServers, *calls: Any, **settings: Any) -> list[ToolResultPart]:
    """Return the results of the calls of a model that makes them all in one step."""
    fake = FakeModel(list(calls), "Done.")
    given: dict[str, Any] = {"max_tool_rounds": 3, **settings}
    result = await generate(fake.model, "Go.", client=fake.client, tools=[servers], **given)
    return [part for step in result.steps for part in step.tool_results]


@pytest.mark.slow
async def test_tools_of_a_process_run_with_every_kind_of_result() -> None:
    """Structured content, images, sound, embedded resources, links and errors."""
    async with McpServers({"t": program()}) as servers:
        sums, picture, sound, report, failed = await ran(
            servers,
            call("t__add", {"a": 1, "b": 2}),
            call("t__picture", {}),
            call("t__sound", {}),
            call("t__report", {}),
            call("t__fail", {"reason": "no paper"}),
        )

        assert servers.instructions == {"t": "Use add for sums."}

    assert sums.content == {"result": 3}
    assert isinstance(picture.parts[0], ImagePart)
    assert (picture.parts[0].media_type, picture.parts[0].data[:4]) == ("image/png", b"\x89PNG")  # type: ignore[index]
    assert sound.parts == (TextPart("a beep"), AudioPart(data=b"RIFF", media_type="audio/wav"))
    link, text, pdf = report.parts
    assert isinstance(link, TextPart)
    assert '"uri":"note://one"' in link.text
    assert isinstance(text, TextPart)
    assert text.text == "inside"
    assert pdf == DocumentPart(data=b"%PDF-1", media_type="application/pdf", name="b.pdf")
    assert (failed.is_error, failed.content) == (
        True,
        "Error executing tool fail: no paper",
    )


async def test_resources_and_prompts_are_tools_and_can_be_read_directly(url: str) -> None:
    async with McpServers({"t": HttpServer(url)}) as servers:
        listed, read, prompts, prompt = await ran(
            servers,
            call("t__list_resources", {}),
            call("t__read_resource", {"uri": "note://one"}),
            call("t__list_prompts", {}),
            call("t__get_prompt", {"name": "review", "arguments": {"code": "x = 1"}}),
        )
        (part,) = await servers.read_resource("t", "note://one")
        (message,) = await servers.prompt("t", "review", {"code": "x = 1"})

    shown: Any = listed.content
    assert [item["uri"] for item in shown["resources"]] == ["note://one"]
    assert read.parts == (part,)
    assert isinstance(part, TextPart)
    assert part.text == "remember"
    described: Any = prompts.content
    assert described["prompts"][0]["arguments"] == [{"name": "code", "required": True}]
    assert [getattr(one, "text", None) for one in prompt.parts] == ["user:", "Review this: x = 1"]
    assert (message.role, message.text) == ("user", "Review this: x = 1")


@pytest.mark.parametrize("legacy", [False, True], ids=["discovery", "handshake"])
async def test_changed_list_is_offered_at_the_next_step(legacy: bool) -> None:
    """A tool that a call added is called in the next step of the same run."""
    with http_server(legacy=legacy) as (address, _):
        async with McpServers({"t": HttpServer(address)}) as servers:
            fake = FakeModel([call("t__grow", {})], [call("t__late", {})], "Done.")

            async def noticed(step: Any) -> Any:
                if step.number == 1:
                    await until(lambda: "t__late" in servers.fingerprints)
                return evolve(step, tools=[servers])

            result = await generate(
                fake.model,
                "Go.",
                client=fake.client,
                tools=[servers],
                max_tool_rounds=3,
                prepare_step=noticed,
            )

    offered = [{tool.name for tool in request.tools} for request in fake.requests]  # type: ignore[union-attr]
    assert ["t__late" in names for names in offered] == [False, True, True]
    results = [part.content for step in result.steps for part in step.tool_results]
    assert results == [{"result": "grown"}, {"result": "here"}]


async def test_two_servers_with_tools_of_one_name_are_told_apart(url: str) -> None:
    async with McpServers({"here": HttpServer(url), "there": HttpServer(url)}) as servers:
        results = await ran(
            servers, call("here__add", {"a": 1, "b": 1}), call("there__add", {"a": 2, "b": 2})
        )

    assert [result.content for result in results] == [{"result": 2}, {"result": 4}]


async def test_only_allowed_tools_are_offered(url: str) -> None:
    server = HttpServer(url, allowed=["add"], resources=False, prompts=False)
    async with McpServers({"t": server}) as servers:
        assert [tool.name for tool in servers.current_tools()] == ["t__add"]


async def test_result_over_the_limit_is_a_tool_error(url: str) -> None:
    async with McpServers({"t": HttpServer(url, max_result_bytes=1000)}) as servers:
        (result,) = await ran(servers, call("t__read.all.v2", {"size": 1500}))

    assert result.is_error
    assert "more than the limit of 1000" in str(result.content)


async def test_body_over_the_limit_is_not_read() -> None:
    with http_server(json_response=True) as (address, _):
        async with McpServers({"t": HttpServer(address, max_body_bytes=50_000)}) as servers:
            (result,) = await ran(servers, call("t__read.all.v2", {"size": 100_000}))

    assert result.is_error
    assert "the body is larger than the limit" in str(result.content)


async def test_more_tools_than_the_limit_are_an_error(url: str) -> None:
    with pytest.raises(ConfigurationError, match="more than 2 tools"):
        async with McpServers({"t": HttpServer(url, max_tools=2)}):
            pass


async def test_configured_headers_are_sent_to_the_server() -> None:
    with http_server() as (address, app):
        async with McpServers({"t": HttpServer(address, headers={"x-team": "blue"})}):
            pass

    assert all(headers["x-team"] == "blue" for _, _, headers in app.requests)


@pytest.mark.slow
async def test_process_ends_with_the_block() -> None:
    async with McpServers({"t": program()}) as servers:
        (result,) = await ran(servers, call("t__process", {}))
    process: Any = result.content

    with pytest.raises(ProcessLookupError):
        os.kill(process["result"], 0)


async def test_closed_servers_cannot_be_connected_again(url: str) -> None:
    servers = McpServers({"t": HttpServer(url)})
    async with servers:
        pass

    with pytest.raises(ConfigurationError, match="have been connected"):
        await servers.__aenter__()


async def test_exception_of_the_block_is_raised_as_it_is(url: str) -> None:
    """No group is put around it, and the server has been left."""
    servers = McpServers({"t": HttpServer(url)})
    with pytest.raises(ZeroDivisionError):
        async with servers:
            raise ZeroDivisionError

    with pytest.raises(ConfigurationError, match="not connected"):
        await servers.read_resource("t", "note://one")


@pytest.mark.slow
async def test_server_that_ends_during_a_run_is_a_network_error() -> None:
    async with McpServers({"t": program()}) as servers:
        (result,) = await ran(servers, call("t__process", {}))
        process: Any = result.content
        os.kill(process["result"], signal.SIGKILL)
        with pytest.raises(NetworkError, match=r"ended the connection; .* stderr"):
            await servers.read_resource("t", "note://one")


async def test_process_that_ends_at_once_is_a_network_error() -> None:
    failing = StdioServer(sys.executable, ("-c", "raise SystemExit('no database')"))
    with pytest.raises(NetworkError, match=r"'t' ended the connection; .* stderr"):
        async with McpServers({"t": failing}):
            pass


async def test_program_that_does_not_exist_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="cannot be started"):
        async with McpServers({"t": StdioServer("/no/such/program")}):
            pass


async def test_command_with_its_arguments_in_one_text_is_explained() -> None:
    with pytest.raises(ConfigurationError, match=r"StdioServer\(command, \[argument, ...\]\)"):
        async with McpServers({"t": StdioServer("npx -y a-server")}):
            pass


async def test_address_without_a_server_is_a_network_error() -> None:
    with port_of_nobody() as port, pytest.raises(NetworkError, match="cannot be reached"):
        async with McpServers({"t": HttpServer(f"http://127.0.0.1:{port}/mcp")}):
            pass


CARELESS = r"""
import json, sys

sys.stdout.buffer.write(b"starting \xff\n{\n[]\n")
for line in sys.stdin:
    asked = json.loads(line)
    known = {
        "initialize": {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"name": "buy", "inputSchema": {"type": "object"}}]},
    }
    answer = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] in known:
        result = known[asked["method"]]
        if asked["method"] == "initialize":
            result["protocolVersion"] = asked["params"]["protocolVersion"]
        answer["result"] = result
    else:
        answer["error"] = {"code": -32000, "message": "out of stock"}
    if "id" in asked:
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.flush()
"""
"""A server that prints other things; its errors have the code of the SDK for a lost connection."""


async def test_server_that_prints_bad_bytes_is_used_and_its_error_reaches_the_model() -> None:
    """A byte that is not UTF-8 does not end the reading; the error is none of the network."""
    careless = StdioServer(sys.executable, ("-c", CARELESS))
    async with McpServers({"t": careless}) as servers:
        (bought,) = await ran(servers, call("t__buy", {}))

    assert bought.is_error
    assert "out of stock" in str(bought.content)


async def test_server_that_does_not_answer_is_a_timeout() -> None:
    silent = StdioServer(
        sys.executable, ("-c", "import sys; sys.stdin.read()"), connect_seconds=0.3
    )
    with pytest.raises(RequestTimeoutError, match=r"not ready within 0\.3 s"):
        async with McpServers({"t": silent}):
            pass


async def test_rejected_key_is_an_authentication_error() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with serving_app(lambda _url: refuse) as address:
        servers = McpServers({"t": HttpServer(address, headers={"authorization": "k-77"})})
        with pytest.raises(AuthenticationError) as raised:
            await servers.__aenter__()

    assert raised.value.status_code == 401
    assert "k-77" not in repr(raised.value)


async def test_error_in_the_body_of_a_failed_response_is_in_the_message(url: str) -> None:
    async with McpServers({"t": HttpServer(url)}) as servers:
        with pytest.raises(LLMError, match=r"status 400: .*note://none") as raised:
            await servers.read_resource("t", "note://none")

    assert raised.value.status_code == 400


# -- sessions that the server forgets


async def test_lost_session_is_replaced_and_the_call_made_in_the_new_one() -> None:
    """Servers close sessions that were idle; a run does not notice."""
    with http_server(legacy=True) as (address, watched):
        async with McpServers({"t": HttpServer(address)}) as servers:
            first = await ran(servers, call("t__add", {"a": 1, "b": 2}))
            watched.forget()
            second = await ran(servers, call("t__add", {"a": 1, "b": 2}), call("t__process", {}))
            watched.forget()
            (part,) = await servers.read_resource("t", "note://one")

    assert [one.content for one in first] == [{"result": 3}]
    assert [one.is_error for one in second] == [False, False]
    assert isinstance(part, TextPart)


async def test_call_that_hears_of_the_lost_session_last_is_made_in_the_new_one() -> None:
    """Two calls run at once, and the first of them begins the new session."""
    with http_server(legacy=True) as (address, watched):
        async with McpServers({"t": HttpServer(address)}) as servers:
            watched.forget()
            watched.late = b"process"
            parts = await ran(servers, call("t__add", {"a": 1, "b": 2}), call("t__process", {}))

    assert [one.is_error for one in parts] == [False, False]


async def test_changed_tool_in_a_new_session_is_not_called() -> None:
    """The call is checked against the list of the new session."""
    with http_server(legacy=True) as (address, watched):
        async with McpServers({"t": HttpServer(address)}) as servers:
            tools = {tool.name: tool for tool in servers.current_tools()}
            async with McpServers({"u": HttpServer(address)}) as others:
                (changed,) = await ran(others, call("u__mutate", {}))
                assert not changed.is_error
            watched.forget()
            with pytest.raises(ToolFailure, match="changed after it was given to the model"):
                await tools["t__add"]({"a": 1, "b": 2})


async def test_server_that_is_gone_when_its_session_is_lost_fails_the_call() -> None:
    with http_server(legacy=True) as (address, watched):
        servers = McpServers({"t": HttpServer(address)})
        async with servers:
            tools = {tool.name: tool for tool in servers.current_tools()}
            watched.forget()
            watched.legacy = False
            watched.forgotten.add(None)  # type: ignore[arg-type]  # no session at all
            with pytest.raises(LLMError):
                await tools["t__add"]({"a": 1, "b": 2})
            with pytest.raises(LLMError):
                servers.current_tools()
