"""`LLMCORE_LOG` and the logger `llmcore.wire`: what is logged, and what never is."""

import logging
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import (
    CallLog,
    Client,
    ConfigurationError,
    LLMError,
    NetworkError,
    OpenAI,
    generate,
    request,
    stream,
)
from llmcore.client.wire_log import MAX_SHOWN, _Lines, switch_on
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.tools import HostedTool
from llmcore.testing import scripted
from tests.support.servers.loopback import chat_stream, chat_whole

pytestmark = pytest.mark.anyio

KEY = "sk-SENTINEL-0123456789abcdef"
MODEL = OpenAI.configure(api_key=KEY).chat("gpt-5.2")
LOGGER = logging.getLogger("llmcore.wire")


CALLS = logging.getLogger("llmcore.calls")


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    before = [(logger, logger.level, list(logger.handlers)) for logger in (LOGGER, CALLS)]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


async def test_debug_log_has_request_response_and_stream_without_the_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer = [chunk for chunk in chat_stream(["Hel", "lo"]) if isinstance(chunk, bytes)]
    network = scripted((200, {"set-cookie": "id=1", "x-request-id": "r-1"}, answer))
    client = Client(transport=network, environ={"LLMCORE_LOG": "debug"})

    async with stream(MODEL, "Hi", client=client) as events:
        assert [text async for text in events.text_stream] == ["Hel", "lo"]

    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "> POST https://api.openai.com/v1/chat/completions"
    assert "> authorization: [redacted]" in lines
    assert any('"content":"Hi"' in line for line in lines if line.startswith("> {"))
    assert any(line.startswith("< 200 after") for line in lines)
    assert {"< set-cookie: [redacted]", "< x-request-id: r-1", "< data: [DONE]"} <= set(lines)
    assert any('"Hel"' in line for line in lines)
    assert KEY not in caplog.text


async def test_debug_log_has_no_token_of_a_remote_tool(caplog: pytest.LogCaptureFixture) -> None:
    """Also where the server quotes it, and in the reprs of the tool and the request."""
    tool = HostedTool.mcp(
        server_label="docs", authorization=KEY, headers={"authorization": f"Bearer {KEY}"}
    )
    network = scripted((400, {}, {"error": {"message": f"refused {KEY}"}}))
    client = Client(transport=network, environ={"LLMCORE_LOG": "debug"})
    asking = request(model=OpenAI(api_key="sk-1").model("gpt-5.2"), prompt="Hi", tools=[tool])

    with pytest.raises(LLMError) as caught:
        await generate(request=asking, client=client, max_retries=0)

    for shown in (caplog.text, str(caught.value), repr(asking), repr(client.prepare(asking))):
        assert KEY[3:] not in shown


async def test_info_log_is_one_line_for_each_response(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(transport=scripted(chat_whole("Hi")), environ={"LLMCORE_LOG": "INFO"})

    await generate(MODEL, "Hello", client=client)

    (line,) = caplog.messages
    assert line.startswith("< 200 after")
    assert float(line.split()[3]) < 5


async def test_info_log_has_the_lines_of_call_log(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(
        transport=scripted(chat_whole("Hi")),
        middleware=[CallLog()],
        environ={"LLMCORE_LOG": "info"},
    )

    await generate(MODEL, "Hello", client=client)

    assert [record.name for record in caplog.records] == ["llmcore.wire", "llmcore.calls"]
    assert caplog.messages[1].startswith("openai/gpt-5.2: stop")


async def test_failure_to_send_is_logged_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    network = scripted(NetworkError(f"proxy refused {KEY}"))
    client = Client(transport=network, environ={"LLMCORE_LOG": "debug"})

    with pytest.raises(LLMError):
        await generate(MODEL, "Hello", client=client, max_retries=0)

    assert "< NetworkError: proxy refused [redacted]" in caplog.messages
    assert KEY not in caplog.text


async def test_without_the_variable_nothing_is_logged_even_at_the_root_level_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    await generate(MODEL, "Hello", client=Client(transport=scripted(chat_whole("Hi")), environ={}))

    assert [record for record in caplog.records if record.name == LOGGER.name] == []


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="LLMCORE_LOG must be 'debug', 'info' or 'off'"):
        Client(environ={"LLMCORE_LOG": "trace"})


def test_handler_is_added_once_and_only_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for logger in (LOGGER, CALLS):  # pytest has handlers of its own at the root
        monkeypatch.setattr(logger, "propagate", False)
    CALLS.addHandler(logging.NullHandler())

    switch_on({"LLMCORE_LOG": "debug"})
    switch_on({"LLMCORE_LOG": "debug"})

    assert (len(LOGGER.handlers), len(CALLS.handlers)) == (1, 1)


@given(
    before=st.text(max_size=50),
    after=st.text(max_size=50),
    cuts=st.lists(st.integers(0, 140), max_size=8),
    pad=st.sampled_from([0, MAX_SHOWN - 20, MAX_SHOWN, MAX_SHOWN * 2]),
)
def test_key_in_a_body_is_never_logged_however_the_body_is_cut(
    before: str, after: str, cuts: list[int], pad: int
) -> None:
    request = HttpRequest(
        method="POST", url="https://x", headers={"authorization": f"Bearer {KEY}"}
    )
    body = ("x" * pad + before + KEY + after).encode()
    edges = sorted({0, len(body), *(min(pad + cut, len(body)) for cut in cuts)})
    lines = _Lines(request.secrets)
    previous = LOGGER.level
    records = _Records()
    LOGGER.addHandler(records)
    LOGGER.setLevel(logging.DEBUG)
    try:
        for start, end in pairwise(edges):
            lines.feed(body[start:end])
        lines.end()
    finally:
        LOGGER.removeHandler(records)
        LOGGER.setLevel(previous)
    text = "".join(record.removeprefix("< ") for record in records.messages)
    assert KEY not in text
    assert "[redacted]" in text or pad >= MAX_SHOWN


class _Records(logging.Handler):
    """Keeps the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
