"""The inspector's page in a headless Chromium: it shows everything, and runs nothing of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from llmcore.inspector.exchange import ReceivedResponse, exchange
from llmcore.inspector.files import difference, document_of, read_document
from llmcore.inspector.page import page
from tests.support.programs.browser import SIZES, opened

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("size", SIZES)
def test_a_cassette_is_shown(size: tuple[int, int, str], browser: Any, tmp_path: Path) -> None:
    """Lanes, tokens, stages and the wire; it fits its window."""
    document = read_document(ROOT / "cassettes/local/tools.json")
    document["differences"] = difference(document, document)
    path = tmp_path / "page.html"
    path.write_text(page(document))
    with opened(browser, path.as_uri(), size) as shown:
        assert shown.locator("section.exchange").count() == len(document["exchanges"])
        timeline = shown.locator("svg.lanes").first
        assert timeline.get_attribute("aria-label")
        assert timeline.bounding_box()["width"] < size[0]  # nothing of it is outside the window
        assert shown.locator("svg.bars").count() == 2  # tokens and times of all exchanges
        assert shown.get_by_text("The files do not differ.").is_visible()
        wire = shown.locator("summary", has_text="Wire and events").first
        wire.focus()
        shown.keyboard.press("Enter")  # folds open without a mouse
        assert shown.locator("table.wire").first.is_visible()
        rows = shown.locator("table.wire").first.locator("tbody tr").count()
        assert rows == len(document["exchanges"][0]["wire"])


def test_ticks_of_a_short_answer_without_times_differ(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(read_document(ROOT / "cassettes/clients/ai_sdk_options.json")))
    with opened(browser, path.as_uri()) as shown:
        ticks = shown.locator("svg.lanes text[text-anchor]").all_text_contents()
        total = shown.locator("dt", has_text="Total").locator("+ dd").text_content()

    assert (ticks, total) == (["frame 0", "frame 1"], "1 frame")


def test_sessions_of_one_file_are_shown_apart(browser: Any, tmp_path: Path) -> None:
    """Each under its name, also where their messages alternate."""
    entries = [
        {
            "contractVersion": 1,
            "runId": name,
            "role": "user",
            "parts": [{"kind": "text", "payload": {"text": name}}],
            "timestamp": "2026-11-22T12:00:00.000Z",
        }
        for name in ("rome", "oslo", "rome")
    ]
    path = tmp_path / "page.html"
    lines = "\n".join(map(json.dumps, entries)).encode()
    path.write_text(page(document_of("s.jsonl", lines)))
    with opened(browser, path.as_uri()) as shown:
        panels = shown.locator("section.panel")
        assert panels.locator("h2").all_text_contents() == ["rome", "oslo"]
        assert panels.first.locator("summary").count() == 2


def test_ticks_of_a_response_below_a_millisecond_differ(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(read_document(ROOT / "cassettes/deepseek/thinking_tools.json")))
    with opened(browser, path.as_uri()) as shown:
        lanes = shown.locator("svg.lanes").first
        ticks = lanes.locator("text[text-anchor]").all_text_contents()
        bar = lanes.locator("rect.reasoning").bounding_box()
        axis = lanes.bounding_box()

    assert len(set(ticks)) == 5
    assert bar["x"] > axis["x"] + axis["width"] / 2  # it ends with the response


def test_costs_are_shown_as_bars(browser: Any, tmp_path: Path) -> None:
    """Of each exchange by input and output, and of all beside each other."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 500}
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}
    body = json.dumps({"model": "gpt-4.1", "choices": [choice], "usage": usage}).encode()
    answer = ReceivedResponse(headers={"content-type": "application/json"}, pieces=[(body, 0)])
    found = exchange("1", "openai", "openai-chat", answer, streaming=False)
    path = tmp_path / "page.html"
    path.write_text(page({"title": "Costs", "exchanges": [found, {**found, "name": "2"}]}))
    with opened(browser, path.as_uri()) as shown:
        words = "input $0.0020, output $0.0040"
        assert shown.locator(f'.bar[aria-label="{words}"]').count() == 2
        assert shown.locator('svg.bars[aria-label^="Cost: 1 · gpt-4.1 $0.0060"]').count() == 1


def test_hostile_content_is_text(browser: Any, tmp_path: Path) -> None:
    """Neither markup nor script of a response takes effect."""
    hostile = "</script><img src=x onerror=\"alert('run')\"><b id=made>bold</b>"
    choice = {"index": 0, "delta": {"content": hostile}, "finish_reason": "stop"}
    body = b"data: " + json.dumps({"model": hostile, "choices": [choice]}).encode() + b"\n\n"
    answer = ReceivedResponse(
        headers={"content-type": "text/event-stream", "x-a": hostile}, pieces=[(body, 0)]
    )
    found = exchange(hostile, "openai", "openai-chat", answer, streaming=True)
    path = tmp_path / "page.html"
    path.write_text(page({"title": hostile, "exchanges": [found]}))
    with opened(browser, path.as_uri()) as shown:
        assert shown.locator("#made").count() == 0
        assert shown.locator("img").count() == 0
        assert hostile in shown.locator("h1").inner_text()
        assert hostile in shown.locator("main").inner_text()
