"""Log lines that a machine reads."""

import json
import logging
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from llmcore.bridge.http import log_output
from llmcore.bridge.http.logs import (
    LOGGER,
    REQUEST_ID,
    JsonFormatter,
    LineFormatter,
    _record,
    is_unintended,
    log,
)
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.bridge_process import gateway


def test_a_line_is_one_json_object() -> None:
    """With the request's id, the facts, and what was raised."""
    token = REQUEST_ID.set("req_1")
    error = ValueError("a\nb")
    info = (ValueError, error, None)
    record = LOGGER.makeRecord(
        LOGGER.name, logging.ERROR, "x.py", 1, "broke", (), info, extra={"facts": {"status": 5}}
    )
    text = JsonFormatter().format(record)
    REQUEST_ID.reset(token)

    line = json.loads(text)
    assert "\n" not in text
    assert (line["event"], line["level"], line["request_id"], line["status"]) == (
        "broke",
        "error",
        "req_1",
        5,
    )
    assert "ValueError" in line["exception"]


def test_a_line_for_people_has_time_event_and_facts_and_nothing_that_moves_the_cursor() -> None:
    facts = {"method": "POST", "status": 200, "error": 'a\nb\x1b[2J "c"'}
    record = LOGGER.makeRecord(
        LOGGER.name, logging.INFO, "x.py", 1, "request", (), None, extra={"facts": facts}
    )
    text = LineFormatter().format(record)

    assert re.fullmatch(r"\d\d:\d\d:\d\d request method=POST status=200 error=.*", text)
    assert text.endswith('error=a\\nb\\u001b[2J "c"')


def test_other_formatters_find_the_usual_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The record is made without `logging`'s own constructor."""
    with caplog.at_level(logging.INFO, LOGGER.name):
        log(logging.WARNING, "upstream_retry", attempt=2, left_out=None, text="x" * 3000)
    (record,) = caplog.records
    fields = ("name", "levelname", "module", "filename", "lineno", "processName", "msecs")
    text = logging.Formatter(" ".join(f"%({name})s" for name in fields)).format(record)

    assert re.fullmatch(r"llmcore\.bridge WARNING logs logs\.py 0 MainProcess \d+\.0", text)
    assert (record.process, record.threadName) == (os.getpid(), threading.current_thread().name)
    assert abs(record.created - time.time()) < 60
    assert vars(record)["facts"] == {"attempt": 2, "text": "x" * 2000}


OTHERS = """
import asyncio, logging, warnings
from llmcore.bridge.http.logs import LOGGER, set_up

set_up("info")
logging.getLogger("asyncio").error("Exception in callback\\nat a place")
logging.getLogger("redis").info("of no interest")
logging.getLogger("uvicorn.error").info("started")
LOGGER.info("listening")
warnings.warn("soon gone")
"""


def test_what_others_log_is_json_too() -> None:
    """Of libraries, warnings and worse; each once, and in one line."""
    done = run_fresh(OTHERS)

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["logger"], line["level"]) for line in lines] == [
        ("asyncio", "error"),
        ("uvicorn.error", "info"),
        ("llmcore.bridge", "info"),
        ("py.warnings", "warning"),
    ]


def test_a_program_that_logs_its_own_way_keeps_it() -> None:
    """Records of other loggers go where the program sends them."""
    before = "import logging; logging.basicConfig(format='mine: %(message)s')\n"
    done = run_fresh(before + OTHERS)

    assert "mine: Exception in callback" in done.stderr
    assert "mine: listening" not in done.stderr


@pytest.mark.parametrize(
    "intended",
    [
        "ASGI callable returned without completing response.",
        "Invalid UTF-8 sequence received from client.",
        '%s - "WebSocket %s" [accepted]',
    ],
)
def test_a_clients_fault_is_no_error_of_the_server(
    intended: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """uvicorn reports it as one: a response that is not read, or a message that is not UTF-8.

    Faults of its own are still logged.
    """
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(logging.StreamHandler(sys.stderr))
    logger.addFilter(is_unintended)
    logger.error(intended, *(["an address", "a path"] if "%" in intended else []))
    logger.error("Exception in ASGI application")

    assert capfd.readouterr().err == "Exception in ASGI application\n"


@contextmanager
def written_to(writing: int) -> Iterator[logging.Logger]:
    """Return a logger whose lines go to a pipe or socket."""
    with os.fdopen(writing, "w", buffering=1) as stream:
        handler = log_output.LineHandler(_record, stream)
        logger = logging.Logger("lines")
        logger.addHandler(handler)
        yield logger
        handler.close()


def pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    return reading, writing


def sockets() -> tuple[int, int]:
    """Return the ends of what stderr is under systemd."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    return reading.detach(), writing.detach()


def all_of(reading: int) -> bytes:
    """Return what has arrived."""
    found = b""
    try:
        while data := os.read(reading, 1 << 16):
            found += data
    except BlockingIOError:
        pass
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are not polled there")
@pytest.mark.parametrize("size", [100, 5000, 90_000])
@pytest.mark.parametrize(
    ("ends", "system"), [(pipe, "linux"), (pipe, "darwin"), (sockets, "linux")]
)
def test_lines_that_nobody_reads_are_dropped_and_counted(
    ends: Callable[[], tuple[int, int]], system: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write to a full pipe would wait, and with it the event loop. No line is torn."""
    monkeypatch.setattr(sys, "platform", system)
    reading, writing = ends()
    with written_to(writing) as logger:
        for number in range(4000):
            logger.warning("%04d%s", number, "-" * (size - 5))
        found = all_of(reading)
        for _ in range(3):
            logger.warning("read again")
            found += all_of(reading)
    os.close(reading)

    *lines, dropped, one, two, three = found.splitlines()
    assert [int(line[:4]) for line in lines] == list(range(len(lines)))
    assert {len(line) for line in lines} == {size - 1}
    assert (dropped, {one, two, three}) == (b"log_lines_dropped", {b"read again"})


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_pipe_that_other_processes_write_to_goes_on_waiting_for_them() -> None:
    """A flag of the descriptor would be theirs, too: their writes would fail."""
    reading, writing = pipe()
    with written_to(writing) as logger:
        logger.warning("here")

        assert os.get_blocking(writing)
    assert all_of(reading) == b"here\n"
    os.close(reading)


def test_a_line_that_the_disk_has_half_the_room_for_is_completed_later(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Others are dropped until then, without a traceback on stderr, which is on that disk."""
    resource = pytest.importorskip("resource")
    file = tmp_path / "log"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with written_to(os.open(file, os.O_CREAT | os.O_WRONLY)) as logger:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (8, limit[1]))
            logger.warning("the first line")
            logger.warning("the second line")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        half = file.read_bytes()
        logger.warning("the third line")

    assert half == b"the firs"
    assert file.read_bytes() == b"the first line\nlog_lines_dropped\nthe third line\n"
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["info", "debug"])
def test_the_key_of_a_websocket_is_in_no_line(tmp_path: Path, level: str) -> None:
    """Neither that in its query, which is all that browsers can send, nor that of a header."""
    keyed = {"OPENBRIDGE_CLIENT_API_KEY": "the-key-of-a-client", "OPENBRIDGE_LOG_LEVEL": level}
    upstream = {"OPENBRIDGE_UPSTREAM_BASE_URL": "http://127.0.0.1:9/v1"}
    with gateway(tmp_path, **keyed, **upstream) as running:
        url = f"{running.url.replace('http', 'ws', 1)}/responses"
        headers = {"authorization": "Bearer the-key-of-a-client"}
        with connect(f"{url}?key=the-key-of-a-client", proxy=None):
            pass
        with connect(url, proxy=None, additional_headers=headers):
            pass
        with (
            pytest.raises(InvalidStatus),
            connect(f"{url}?key=the-key-of-another", proxy=None),
        ):
            pass

    assert "the-key-of" not in json.dumps(running.lines)
    assert not [line for line in running.lines if line["level"] == "error"]
    assert len([line for line in running.lines if line["event"] == "request"]) == 3
