"""The embedded model's server. One server serves most tests; responses are a few tokens long."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from llmcore.client.local import embedded, model_files
from llmcore.client.local.embedded import EmbeddedAddress, EmbeddedServer
from llmcore.routes.transport_spec import Embedded
from llmcore.schema.errors import ConfigurationError

HELLO = [{"role": "user", "content": "Say hello."}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


@contextmanager
def connected(address: EmbeddedAddress) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(uds=address.socket_path, verify=False)
    headers = {"connection": "close", "authorization": f"Bearer {address.api_key}"}
    with httpx.Client(
        transport=transport, base_url=address.base_url, headers=headers, timeout=120
    ) as client:
        yield client


def chat(client: httpx.Client, status: int = 200, **body: Any) -> Any:
    """Ask for a repeatable answer."""
    settings = {"messages": HELLO, "max_tokens": 8, "temperature": 0, "cache_prompt": False}
    reply = client.post("/v1/chat/completions", json=settings | body)
    assert status == reply.status_code, reply.text
    return reply.json()


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """Start the one server that the tests of responses share."""
    pytest.importorskip("xllamacpp")
    model_files.install(os.environ, lambda line: None)
    with EmbeddedServer.start(Embedded(context_tokens=1024), os.environ) as server:
        yield server


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[httpx.Client]:
    with connected(server.address) as client:
        yield client


# -- Options and addresses, without a model


def test_options_have_modest_defaults() -> None:
    """One thread and one request at a time; equal options are one key for sharing."""
    options = Embedded()

    assert (options.context_tokens, options.threads, options.parallel) == (4096, 1, 1)
    assert {options: "server"}[Embedded()] == "server"


def test_a_key_is_not_shown() -> None:
    """An address may be logged."""
    address = EmbeddedAddress(socket_path=None, base_url="http://127.0.0.1:1", api_key="secret")

    assert "secret" not in repr(address)


def test_a_missing_model_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the command that installs it."""
    monkeypatch.setattr(model_files, "find", lambda environ: None)

    with pytest.raises(ConfigurationError, match="llmcore local install"):
        EmbeddedServer.start(Embedded(), {})


def test_a_missing_library_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the extra, and the environment is as before."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)

    with pytest.raises(ConfigurationError, match=r"pip install 'llmcore-routes\[local\]'"):
        EmbeddedServer.start(Embedded(model_path=Path("model.gguf")), {})

    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.skipif(not embedded._UNIX_SOCKETS, reason="needs Unix sockets")
def test_a_long_temporary_path_does_not_end_up_in_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket's path has about 100 bytes; macOS spends half of them on the folder."""
    long = tmp_path / ("long" * 30)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))

    with ExitStack() as undo:
        path = embedded._choose_address(undo).socket_path

        assert path is not None
        assert len(path) < 100
        assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
        assert list(long.iterdir()) == []
    assert not Path(path).parent.exists()


def test_without_unix_sockets_there_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TCP port can be reached by every user of the machine."""
    monkeypatch.setattr(embedded, "_UNIX_SOCKETS", False)

    with ExitStack() as undo:
        first, second = embedded._choose_address(undo), embedded._choose_address(undo)

    assert (first.socket_path, first.base_url) == (None, "http://127.0.0.1")
    assert first.api_key != second.api_key


def test_only_smollm2_gets_our_template() -> None:
    """Another model's file knows its own."""
    assert "<tool_call>" in embedded._template(model_files.SMOLLM2.name)
    assert embedded._template("other") == ""
    assert embedded._model_name(Path("/models/other.gguf")) == "other"


class Native:
    """Stands in for a native server that never answers; `freed` when it is let go."""

    listening_address = "http://127.0.0.1:1"
    freed = False

    def __del__(self) -> None:
        type(self).freed = True


def test_a_server_that_will_not_rest_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freeing it would hang: it stays in memory, but its socket closes."""
    monkeypatch.setattr(embedded, "_STOP_S", 0.05)
    monkeypatch.setattr(embedded, "_GONE_S", 0.01)
    monkeypatch.setattr(Native, "freed", False)
    folder, removed = tmp_path / "private", ExitStack()
    folder.mkdir()
    removed.callback(folder.rmdir)
    address = EmbeddedAddress(socket_path=str(folder / "llama.sock"), base_url="http://localhost")
    held = [Native()]

    with pytest.warns(ResourceWarning, match="did not stop"):
        embedded._shut_down(list(held), address, removed, os.getpid())

    held.clear()
    assert not Native.freed
    assert not folder.exists()


def test_a_forked_child_leaves_the_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads and socket are the parent's: the child only forgets them."""
    monkeypatch.setattr(Native, "freed", False)
    address = EmbeddedAddress(socket_path=str(tmp_path / "llama.sock"), base_url="http://localhost")
    held = [Native()]

    folder = ExitStack()
    folder.callback(tmp_path.rmdir)
    embedded._shut_down(list(held), address, folder, os.getpid() + 1)

    held.clear()
    assert not Native.freed
    assert tmp_path.exists()


def test_a_server_that_never_answers_is_a_configuration_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Starting has a deadline."""
    monkeypatch.setattr(embedded, "_READY_S", 0.0)
    address = EmbeddedAddress(socket_path=None, base_url="http://127.0.0.1:1", api_key="key")

    with pytest.raises(ConfigurationError, match="did not start"):
        embedded._wait_until_ready(address)


# -- Responses


@pytest.mark.local_model
def test_the_server_is_healthy_and_private(server: EmbeddedServer, client: httpx.Client) -> None:
    """Its socket is in a folder of this user only; replies name the model, not its path."""
    path = server.address.socket_path

    assert client.get("/health").json() == {"status": "ok"}
    assert server.model_name == "SmolLM2-135M-Instruct"
    assert [server.model_name] == [m["id"] for m in client.get("/v1/models").json()["data"]]
    if path is not None:
        assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700


@pytest.mark.local_model
def test_completion_at_temperature_0_repeats_its_tokens(client: httpx.Client) -> None:
    """Temperature 0 without the prompt cache gives the same tokens every time."""
    first, second = chat(client), chat(client)

    assert first["choices"][0]["message"]["content"]
    assert first["choices"][0]["message"] == second["choices"][0]["message"]
    assert first["usage"]["completion_tokens"] <= 8


@pytest.mark.local_model
def test_a_stream_says_what_the_whole_response_says(client: httpx.Client) -> None:
    """Its deltas joined are the content of the response that came at once."""
    body = {"messages": HELLO, "max_tokens": 8, "temperature": 0, "cache_prompt": False}

    reply = client.post("/v1/chat/completions", json=body | {"stream": True})

    lines = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in lines[:-1]]
    text = "".join(delta.get("content") or "" for delta in deltas)
    assert lines[-1] == "data: [DONE]"
    assert text == chat(client)["choices"][0]["message"]["content"]


@pytest.mark.local_model
def test_a_json_schema_is_enforced(client: httpx.Client) -> None:
    """A model of this size would not keep to it by itself."""
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}, "wheels": {"type": "integer"}},
        "required": ["colour", "wheels"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "car", "schema": schema}}

    reply = chat(client, response_format=wanted, max_tokens=40)

    car = json.loads(reply["choices"][0]["message"]["content"])
    assert car["colour"] in {"red", "green"}
    assert isinstance(car["wheels"], int)


def example_call() -> list[dict[str, Any]]:
    call = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    calls = [{"id": "call_1", "type": "function", "function": call}]
    return [
        {"role": "user", "content": "What is the weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "Sunny, 25 degrees."},
    ]


@pytest.mark.local_model
def test_a_tool_is_called_after_an_example(client: httpx.Client) -> None:
    """With one call in the conversation the model makes the next by itself."""
    question = {"role": "user", "content": "What is the weather in Paris?"}

    reply = chat(client, messages=[*example_call(), question], tools=[WEATHER], max_tokens=32)

    (choice,) = reply["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


@pytest.mark.local_model
def test_a_tool_result_is_answered_in_prose(client: httpx.Client) -> None:
    """So that a loop over tools comes to its end."""
    reply = chat(client, messages=example_call(), tools=[WEATHER], max_tokens=12)

    assert reply["choices"][0]["message"]["content"]
    assert "tool_calls" not in reply["choices"][0]["message"]


# -- The template


def prompt(client: httpx.Client, **body: Any) -> str:
    return str(client.post("/apply-template", json=body).json()["prompt"])


@pytest.mark.local_model
def test_plain_conversations_read_as_the_model_was_trained(client: httpx.Client) -> None:
    """Word for word what the template inside the file makes of them."""
    turns = [*HELLO, {"role": "assistant", "content": "Hello!"}, *HELLO]
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    rest = (
        "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n"
        "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n"
    )

    for messages, expected in (
        (turns, system),
        ([{"role": "system", "content": "Be brief."}, *turns], "Be brief."),
        ([{"role": "developer", "content": "Be brief."}, *turns], "Be brief."),
    ):
        said = prompt(client, messages=messages)

        assert said == f"<|im_start|>system\n{expected}<|im_end|>\n{rest}"


@pytest.mark.local_model
def test_tools_calls_and_results_reach_the_model(client: httpx.Client) -> None:
    """The file's own template drops all three."""
    said = prompt(client, messages=example_call(), tools=[WEATHER])

    assert '<tools>\n{"type": "function", "function": {"name": "get_weather"' in said
    assert (
        '<|im_start|>assistant\n<tool_call>\n{"name": "get_weather", '
        '"arguments": {"city": "Rome"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>tool\nSunny, 25 degrees.<|im_end|>\n<|im_start|>assistant\n"
    ) in said


# -- Limits and signals


@pytest.mark.local_model
def test_a_prompt_that_does_not_fit_is_refused_with_its_numbers(client: httpx.Client) -> None:
    """The error says how many tokens there are and how many fit."""
    error = chat(client, 400, messages=[{"role": "user", "content": "word " * 1200}])["error"]

    assert error["type"] == "exceed_context_size_error"
    assert error["n_ctx"] == 1024
    assert error["n_prompt_tokens"] > 1024


@pytest.mark.local_model
@pytest.mark.usefixtures("server")
def test_control_c_stays_python_s() -> None:
    """llama.cpp's own program would end on it."""
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.local_model
def test_a_broken_file_is_a_configuration_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One exception that names the file, no log, nothing left behind."""
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    with pytest.raises(ConfigurationError, match=r"broken\.gguf"):
        EmbeddedServer.start(Embedded(model_path=broken), {})

    assert list(temporary.iterdir()) == []
    assert capfd.readouterr() == ("", "")


# -- Stopping


@pytest.mark.local_model
@pytest.mark.usefixtures("server")
def test_two_starts_are_two_servers(capfd: pytest.CaptureFixture[str]) -> None:
    """Sharing is the caller's business; each stop ends one server and does not raise."""
    options, started = Embedded(context_tokens=256), list[EmbeddedServer]()
    threads = [
        threading.Thread(target=lambda: started.append(EmbeddedServer.start(options, os.environ)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    first, second = started
    folders = [Path(str(server.address.socket_path)).parent for server in started]
    first.stop()
    first.stop()

    with connected(second.address) as client:
        assert client.get("/health").is_success
    second.stop()
    assert first.address != second.address
    assert not any(folder.exists() for folder in folders)
    assert capfd.readouterr() == ("", "")


@pytest.mark.local_model
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("unix", [True, False])
def test_stop_closes_connections_that_are_served(
    unix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp alone would wait for the response, without a limit, holding the GIL."""
    monkeypatch.setattr(embedded, "_UNIX_SOCKETS", unix and embedded._UNIX_SOCKETS)
    options = Embedded(context_tokens=2048)
    body = {"messages": HELLO, "max_tokens": 2000, "ignore_eos": True, "stream": True}

    with (
        EmbeddedServer.start(options, os.environ) as server,
        connected(server.address) as client,
        client.stream("POST", "/v1/chat/completions", json=body) as reply,
    ):
        pieces = reply.iter_raw()
        next(pieces)
        server.stop()

        with pytest.raises(httpx.TransportError):
            list(pieces)


@pytest.mark.local_model
@pytest.mark.usefixtures("server")
def test_the_interpreter_exits_under_a_request() -> None:
    """A child made by fork leaves the server alone; the exit ends it, quietly and in time."""
    script = """
import os, threading, http.client
from pathlib import Path
from llmcore.client.local import embedded
from llmcore.routes import transport_spec

server = embedded.EmbeddedServer.start(transport_spec.Embedded(), os.environ)
if hasattr(os, "fork"):
    if (child := os.fork()) == 0:
        server.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
connection = embedded._connection(server.address)
key = {"Authorization": f"Bearer {server.address.api_key}"}
body = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2000, "ignore_eos": true}'
connection.request("POST", "/v1/chat/completions", body, key)
while not embedded._busy(server.address):
    pass
print(server.address.socket_path)
"""

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[3],
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert not Path(done.stdout.strip()).parent.exists()
