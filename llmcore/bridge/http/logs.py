"""Structured logs: a line of JSON each, with the ids of the request it belongs to.

In a terminal they are lines for people.
"""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from llmcore.bridge.http.log_output import LineHandler
from llmcore.fronts.errors import FrontError
from llmcore.schema.errors import LLMError

LOGGER = logging.getLogger("llmcore.bridge")

_MAX_FACT_CHARS = 2000
_ENCODER = json.JSONEncoder(default=str)
"""Its text is ASCII: no line ends, no terminal codes."""

REQUEST_ID: ContextVar[str | None] = ContextVar("openbridge_request_id", default=None)
"""Our id of the request that is being answered."""

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def error_text(error: FrontError) -> str:
    """Return *error* for a log line: in full, where clients get less than the upstream's error."""
    cause = error.__cause__
    if isinstance(cause, LLMError) and (cause.hint or cause.message not in error.message):
        return str(cause)
    return str(error)


def log(level: int, event: str, **facts: object) -> None:
    """Log that *event* happened, with what is known of it; facts that are None are left out."""
    if LOGGER.isEnabledFor(level):
        known = {
            name: value[:_MAX_FACT_CHARS] if type(value) is str else value
            for name, value in facts.items()
            if value is not None
        }
        LOGGER.handle(_record(level, event, known))


class FailureLog:
    """Logs the first of several failures in a row, and goes on after each.

    Use it as a context manager around what may fail, or call `failed` and `worked`.
    """

    def __init__(self, kind: type[Exception], level: int, event: str) -> None:
        """Log failures of *kind* as *event*."""
        self._kind, self._level, self._event = kind, level, event
        self.is_failing = False
        """Whether the last attempt failed."""

    def failed(self, error: BaseException) -> None:
        """Log *error*, unless the attempt before failed too."""
        if not self.is_failing:
            log(self._level, self._event, error=str(error))
        self.is_failing = True

    def worked(self) -> None:
        """Note an attempt that did not fail: the next failure is logged."""
        self.is_failing = False

    def __enter__(self) -> None:
        """Begin an attempt."""

    def __exit__(self, _: object, error: BaseException | None, _traceback: object) -> bool:
        """End the attempt; only exceptions of the kind are suppressed."""
        if error is None:
            self.worked()
        elif isinstance(error, self._kind):
            self.failed(error)
            return True
        return False


_ANY_RECORD: Final = vars(LOGGER.makeRecord(LOGGER.name, 0, __file__, 0, "", (), None))


def _record(level: int, event: str, facts: Mapping[str, object]) -> logging.LogRecord:
    """Return the record of *event*.

    `logging` would look for the caller's line and take the names of its file, thread and process
    apart, which costs more than all the rest.
    """
    record = logging.LogRecord.__new__(logging.LogRecord)
    now = time.time()
    vars(record).update(
        _ANY_RECORD,
        msg=event,
        levelno=level,
        levelname=logging.getLevelName(level),
        created=now,
        msecs=now % 1 * 1000 // 1,
        relativeCreated=_ANY_RECORD["relativeCreated"] + (now - _ANY_RECORD["created"]) * 1000,
        thread=threading.get_ident(),
        threadName=threading.current_thread().name,
        process=os.getpid(),
        facts=facts,
    )
    return record


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, logger, event, request id, facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.created % 1 * 1000):03}+00:00",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        facts = getattr(record, "facts", None)
        if isinstance(facts, dict):
            line.update(facts)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        try:
            text = orjson.dumps(line, default=str)
        except TypeError:  # such as integers of more than 64 bits
            return _ENCODER.encode(line)
        return text.decode() if text.isascii() else _ENCODER.encode(line)


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    """Return a time in UTC, such as `2026-11-27T06:38:03`; lines of one second share it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


class LineFormatter(logging.Formatter):
    """Writes a record as a line for people: `06:38:03 request method=POST status=200`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, in ASCII."""
        facts = getattr(record, "facts", None)
        known = facts.items() if isinstance(facts, dict) else ()
        level = record.levelname.lower()
        words = [
            datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S"),
            *([] if level == "info" else [level]),
            _plain(record.getMessage()),
            *(f"{name}={_plain(value)}" for name, value in known),
        ]
        if record.exc_info:
            words.append(_plain(self.formatException(record.exc_info)))
        return " ".join(words)


def _plain(value: object) -> str:
    """Return *value* as text without line ends and terminal codes."""
    text = value if isinstance(value, str) else _ENCODER.encode(value)
    return _ENCODER.encode(text)[1:-1].replace('\\"', '"')


def _is_for_people(record: logging.LogRecord) -> bool:
    """Return whether a record adds something to what the program prints when it starts."""
    of_server = record.name.startswith("uvicorn") and record.levelno < logging.WARNING
    return not of_server and record.getMessage() != "listening"


def _handler() -> logging.Handler:
    handler = LineHandler(_record)
    if sys.stderr.isatty():
        handler.setFormatter(LineFormatter())
        handler.addFilter(_is_for_people)
    else:
        handler.setFormatter(JsonFormatter())
    return handler


def set_up(level: str) -> None:
    """Let the gateway's and the HTTP server's logs go to stderr, from *level* on.

    They are JSON, or lines for people if stderr is a terminal.

    What other libraries warn of goes there too, unless the program has a place for it.
    """
    handler = _handler()
    others = logging.getLogger()
    if not others.handlers:
        others.addHandler(handler)
        others.setLevel(max(logging.WARNING, _LEVELS[level]))
        logging.captureWarnings(True)
    for name in ("llmcore", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        # What uvicorn writes to debug WebSockets has keys and prompts.
        least = logging.DEBUG if name == "llmcore" else logging.INFO
        logger.setLevel(max(least, _LEVELS[level]))
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").addFilter(is_unintended)


def set_level(level: str) -> None:
    """Log the gateway's own events from *level* on."""
    LOGGER.setLevel(_LEVELS[level])


def is_unintended(record: logging.LogRecord) -> bool:
    """Return whether a record of uvicorn is logged.

    Refused WebSockets, those that are closed for a message that is not UTF-8, and responses cut
    because their client does not read them, are intended. What it notes of each WebSocket has the
    query, and so the key in it; the gateway's own line of the request does not.
    """
    return not str(record.msg).startswith(_INTENDED)


_INTENDED: Final = (
    '%s - "WebSocket %s"',
    "connection rejected",
    "Unsupported upgrade",
    "No supported WebSocket",
    "Invalid UTF-8 sequence received",
    "ASGI callable returned without completing response",
)
