"""Log lines that a machine reads."""

import json
import logging

from llmcore.bridge.logs import LOGGER, REQUEST_ID, JsonFormatter


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
