"""Every Python block of the documentation runs, and prints what the page says it prints."""

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.servers.loopback import chat_handler, serve

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[^>]+?) -->\n)?```python\n(?P<code>.*?)```"
    r"(?:\n+```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)


def blocks_of(text: str) -> Iterator[tuple[Sequence[str], str, str | None]]:
    """Yield each block: the code to run in one namespace, what it needs, what it prints.

    One that needs "the blocks before" goes on after those that it directly follows.
    """
    chain: list[str] = []
    for match in _BLOCK.finditer(text):
        needs = match["needs"] or ""
        chain = [*chain, match["code"]] if needs == "the blocks before" else [match["code"]]
        yield chain, needs, match["output"]


BLOCKS = [
    pytest.param(
        *block,
        id=f"{page.relative_to(ROOT)}:{number}",
        marks=[pytest.mark.local_model] if block[1] == "local model" else [],
    )
    for page in PAGES
    for number, block in enumerate(blocks_of(page.read_text()))
]


@pytest.mark.parametrize(("code", "needs", "output"), BLOCKS)
def test_every_block_of_code_runs(
    code: Sequence[str],
    needs: str,
    output: str | None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It runs as it stands; blocks marked so get a real server, or the real model."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    asks_a_server = needs == "local server" or any("BASE_URL" in one for one in code)
    with serve(chat_handler) if asks_a_server else nullcontext() as server:
        if server is not None:
            namespace["BASE_URL"] = server.url
            monkeypatch.setenv("EXAMPLE_API_KEY", "example")
        elif needs != "local model":
            request.getfixturevalue("no_network")
        for one in code:
            capsys.readouterr()
            exec(compile(one, "<docs>", "exec"), namespace)
    printed = capsys.readouterr().out
    assert output is None or printed == output


def test_blocks_that_follow_each_other() -> None:
    """Code that goes on has what was before it; the text below a block is what it prints."""
    page = "```python\na = 1\n```\n<!-- needs: the blocks before -->\n```python\nprint(a)\n```\n\n"

    assert list(blocks_of(page + "```text\n1\n```\n```python\nb\n```")) == [
        (["a = 1\n"], "", None),
        (["a = 1\n", "print(a)\n"], "the blocks before", "1\n"),
        (["b\n"], "", None),
    ]


def test_the_readme_is_checked_too() -> None:
    """The pages that matter have blocks to run."""
    with_blocks = {page.name for page in PAGES if any(blocks_of(page.read_text()))}

    assert {"README.md", "index.md", "tour.md", "client.md", "recipes.md"} <= with_blocks
