"""Tracebacks of failed calls, which show the program's code and not the library's."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from traceback import FrameSummary, extract_tb, format_exception
from typing import Any

import pytest

import llmcore
from llmcore import (
    Client,
    ConfigurationError,
    InvalidRequestError,
    LLMError,
    Local,
    Model,
    NetworkError,
    OpenAI,
    generate,
    generate_object,
    request,
    stream,
    sync,
    tool,
)
from llmcore.generation.batch import run_batch
from llmcore.testing import scripted
from llmcore.tracebacks import remove_own_frames
from tests.support.servers.loopback import Answer, chat_chunk, serve

pytestmark = pytest.mark.anyio

PACKAGE = str(Path(llmcore.__file__).parent)


def own_frames(error: BaseException) -> list[FrameSummary]:
    """Return the frames of the package in the traceback of *error*."""
    return [frame for frame in extract_tb(error.__traceback__) if PACKAGE in frame.filename]


@pytest.fixture
def model() -> Iterator[Model]:
    """Return a model of a server that refuses its key."""
    body = b'{"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}'
    headers = {"content-type": "application/json"}
    with serve(lambda _: Answer([body], 401, headers, length=len(body))) as server:
        yield OpenAI(api_key="k", base_url=f"{server.url}/v1").chat("m")


@pytest.fixture
def unreachable() -> Model:
    return OpenAI(api_key="k", base_url="http://127.0.0.1:1/v1").chat("m")


async def failed(call: Callable[[], Any]) -> LLMError:
    """Return the error that *call* raises."""
    with pytest.raises(LLMError) as caught:
        await call()
    return caught.value


async def test_a_refused_key_is_raised_at_the_call(model: Model) -> None:
    assert own_frames(await failed(lambda: generate(model, "Hi"))) == []


async def test_a_wrong_value_is_raised_at_the_call(model: Model) -> None:
    settings: Any = {"temperature": "hot"}
    assert own_frames(await failed(lambda: generate(model, "Hi", **settings))) == []


async def test_a_checkpoint_that_cannot_be_used_is_refused_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n" * 100)
    model = OpenAI(api_key="k").chat("m")
    requests = {"a": request(model=model, prompt="Hi")}
    error = await failed(lambda: run_batch(requests, checkpoint=tmp_path / "notes.txt"))
    assert own_frames(error) == []


async def test_an_error_of_an_object_has_a_cause_without_frames() -> None:
    answer = chat_chunk(delta={"content": "no"}, finish_reason="stop") + b"data: [DONE]\n\n"
    client = Client(transport=scripted(answer))
    model = OpenAI(api_key="k").chat("m")
    error = await failed(lambda: generate_object(model, "Hi", schema=int, client=client))
    assert own_frames(error) == []
    assert error.__cause__ is not None
    assert own_frames(error.__cause__) == []


async def test_a_network_error_has_causes_without_frames(unreachable: Model) -> None:
    """Their messages are kept, the inside of the HTTP library is not shown."""
    error = await failed(lambda: generate(unreachable, "Hi", max_retries=0))
    assert isinstance(error, NetworkError)
    assert error.__cause__ is not None
    error.__traceback__ = None
    assert "direct cause" in (shown := "".join(format_exception(error)))
    assert "File" not in shown


async def test_streams_and_results_raise_where_they_are_read(model: Model) -> None:
    """The traceback has the frames of the iterator alone, and a result has none."""

    async def read() -> None:
        async with stream(model, "Hi") as events:
            async for _ in events.text_stream:
                pass

    assert len(own_frames(await failed(read))) <= 2
    async with Client() as client:
        result = await client.stream(request(model=model, prompt="Hi")).result()
    assert extract_tb(result.failure().__traceback__) == []


def test_error_raised_in_a_thread_of_the_library_shows_no_frames_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The local model is loaded in a thread, where its package may be missing."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[local\]") as caught:
        sync.generate(Local(model_path=Path("model.gguf")).model(), "Hi")

    assert [frame.filename for frame in extract_tb(caught.value.__traceback__)] == [__file__]
    assert caught.value.__cause__ is not None
    assert extract_tb(caught.value.__cause__.__traceback__) == []


def test_blocking_calls_raise_at_the_call(model: Model) -> None:
    with pytest.raises(LLMError) as caught:
        sync.generate(model, "Hi")
    assert own_frames(caught.value) == []
    with pytest.raises(LLMError) as caught, sync.Client() as client:
        client.complete(request(model=model, prompt="Hi"))
    assert own_frames(caught.value) == []


WRONG: Any = {"temp": 0}


@pytest.mark.parametrize(
    "call",
    [
        lambda: sync.generate("openai:m", "Hi", **WRONG),
        lambda: sync.generate_object("openai:m", "Hi", schema=int, **WRONG),
        lambda: sync.stream("openai:m", "Hi", **WRONG),
        lambda: sync.embed("openai:m", "Hi", **WRONG),
        lambda: stream("openai:m", "Hi", **WRONG),
    ],
)
def test_an_unknown_setting_is_raised_at_the_call(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'temp'") as caught:
        call()
    assert len(own_frames(caught.value)) <= 1


async def test_an_unknown_setting_of_a_coroutine_is_raised_at_the_call() -> None:
    with pytest.raises(TypeError, match="did you mean 'temperature'") as caught:
        await generate("openai:m", "Hi", **WRONG)
    assert own_frames(caught.value) == []


def test_a_type_error_of_a_bug_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TypeError("a bug")

    monkeypatch.setattr("llmcore.generation.generate.plan_of", broken)
    with pytest.raises(TypeError, match="a bug") as caught:
        sync.generate("openai:m", "Hi")
    assert "generate" in [frame.name for frame in own_frames(caught.value)]


async def test_frames_of_a_program_are_kept_with_what_they_called() -> None:
    """A tool, a middleware or a transport that calls the library shows where it did so."""

    class Broken:
        async def send(self, *_: object) -> AsyncIterator[bytes]:
            settings: Any = {"temperature": "hot"}
            request(model=OpenAI(api_key="k").chat("m"), prompt="Hi", **settings)
            raise AssertionError

        async def aclose(self) -> None: ...

    transport: Any = Broken()
    model = OpenAI(api_key="k").chat("m")
    error = await failed(lambda: generate(model, "Hi", client=Client(transport=transport)))
    assert "send" in [frame.name for frame in extract_tb(error.__traceback__)]


async def test_the_cause_of_a_failed_tool_keeps_its_frames() -> None:
    @tool
    def broken(city: str) -> str:
        """Raise an error with the city."""
        raise ValueError(city)

    call = {"index": 0, "id": "c", "function": {"name": "broken", "arguments": '{"city": "Oslo"}'}}
    answer = chat_chunk(delta={"tool_calls": [call]}, finish_reason="tool_calls")
    client = Client(transport=scripted(answer + b"data: [DONE]\n\n"))
    model = OpenAI(api_key="k").chat("m")
    with pytest.raises(Exception) as caught:  # noqa: PT011  (an error of the tool, wrapped or not)
        await generate(model, "Hi", tools=[broken], tool_errors="raise", client=client)
    cause: BaseException = caught.value.__cause__ or caught.value
    assert "broken" in [frame.name for frame in extract_tb(cause.__traceback__)]


def test_all_frames_are_kept_in_the_development_mode() -> None:
    program = (
        "from llmcore import InvalidRequestError, OpenAI, request\n"
        "try:\n    request(model=OpenAI(api_key='k').chat('m'), prompt='Hi', temperature='hot')\n"
        "except InvalidRequestError as error:\n"
        "    depth, traceback = 0, error.__traceback__\n"
        "    while traceback:\n        depth, traceback = depth + 1, traceback.tb_next\n"
        "    print(depth)\n"
    )
    depths: list[int] = []
    for flags in ([], ["-X", "dev"]):
        command = [sys.executable, *flags, "-c", program]
        depths.append(int(subprocess.run(command, check=True, capture_output=True).stdout))
    assert depths[0] <= 2 < depths[1]


def test_causes_in_a_circle_end() -> None:
    first, second = InvalidRequestError("a"), InvalidRequestError("b")
    first.__cause__, second.__cause__ = second, first
    remove_own_frames(first)
    assert first.__cause__ is second
