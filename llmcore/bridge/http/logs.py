"""Structured logs: a line of JSON each, with the ids of the request it belongs to."""

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

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


def log(level: int, event: str, **facts: object) -> None:
    """Log that *event* happened, with what is known of it; facts that are None are left out."""
    if LOGGER.isEnabledFor(level):
        known = {name: _cut(value) for name, value in facts.items() if value is not None}
        # The record is made here, as looking for the caller's line costs more than all the rest.
        extra = {"facts": known}
        record = LOGGER.makeRecord(LOGGER.name, level, __file__, 0, event, (), None, extra=extra)
        LOGGER.handle(record)


def _cut(value: object) -> object:
    return value[:_MAX_FACT_CHARS] if isinstance(value, str) else value


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, logger, event, request id, facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        facts = getattr(record, "facts", None)
        if isinstance(facts, Mapping):
            line.update(facts)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _ENCODER.encode(line)


def set_up(level: str) -> None:
    """Let the gateway's and the HTTP server's logs go to stderr as JSON, from *level* on.

    What other libraries warn of goes there too, unless the program has a place for it.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    others = logging.getLogger()
    if not others.handlers:
        others.addHandler(handler)
        others.setLevel(max(logging.WARNING, _LEVELS[level]))
        logging.captureWarnings(True)
    for name in ("llmcore", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(_LEVELS[level])
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").addFilter(_is_error_or_warning)


def set_level(level: str) -> None:
    """Log the gateway's own events from *level* on."""
    LOGGER.setLevel(_LEVELS[level])


def _is_error_or_warning(record: logging.LogRecord) -> bool:
    """Return whether a record of uvicorn is news; that WebSockets are refused is on purpose."""
    message = record.getMessage()
    return not message.startswith(("Unsupported upgrade", "No supported WebSocket"))
