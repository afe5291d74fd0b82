"""A headless Chromium, where one is installed (`apt-get install chromium`)."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_SCROLLED_SIDEWAYS = """[...document.querySelectorAll(".scroll, .wide, pre")]
    .filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.ariaLabel)"""
SIZES = ((1300, 900, "light"), (390, 800, "dark"))


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser with an empty profile; skip the test where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Any, url: str, size: tuple[int, int, str] = SIZES[0], *, expected: str = "\0"
) -> Iterator[Any]:
    """Open *url*, and check at the end that the page fits its width and reported no errors.

    Nor may a part of it be wider than its place and have to be scrolled sideways.

    Reports that contain *expected* do not count.
    """
    width, height, scheme = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.goto(url)
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_SCROLLED_SIDEWAYS) == []
    assert [fault for fault in faults if expected not in fault] == []
    context.close()
