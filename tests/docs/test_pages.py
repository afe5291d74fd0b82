"""The pages of the documentation: all found, all links whole, no public name left out."""

import ast
import importlib.util
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import llmcore
from scripts import names_table
from tests.support.public_names import public_names

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
GUIDES = [page for page in PAGES if page.parent.name != "reference"]

_FENCED = re.compile(r"^(```|~~~).*?^\1$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<page>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_NAV = re.compile(r"^ +- [^:\n]+: (\S+\.md)$", re.MULTILINE)


def prose(page: Path) -> str:
    """Return the text of *page* without its blocks of code."""
    return _FENCED.sub("", page.read_text())


def links(page: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the file that each link of *page* leads to, and the heading in it."""
    for match in _LINK.finditer(prose(page)):
        target = (page.parent / match["page"]).resolve() if match["page"] else page
        yield target, match["heading"]


@cache
def headings(page: Path) -> frozenset[str]:
    """Return the anchors of the headings of *page*, as the site and GitHub make them."""
    return frozenset(_slug(match[1]) for match in _HEADING.finditer(prose(page)))


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def navigation() -> list[Path]:
    """Return the pages of the site's navigation, in its order."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return [DOCS / name for name in _NAV.findall(nav)]


@pytest.mark.parametrize(
    "page", sorted((DOCS / "decisions").glob("*.md")), ids=lambda page: page.name
)
def test_a_record_of_a_decision_is_a_page(page: Path) -> None:
    """Measurements belong to the page on performance, and history to the version control."""
    assert len(page.read_text().splitlines()) <= 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each names a file that is there, and a heading that is in it."""
    for target, heading in links(page):
        assert target.exists(), f"{page.name} links to {target}"
        if heading is not None:
            assert heading in headings(target), f"{page.name} links to #{heading} of {target.name}"


@pytest.mark.parametrize("page", GUIDES[1:], ids=lambda page: page.name)
def test_links_stay_on_the_site(page: Path) -> None:
    """Files outside of docs/ are not on the site."""
    assert [target for target, _ in links(page) if not target.is_relative_to(DOCS)] == []


def test_the_navigation_has_every_page_once() -> None:
    """No page is lost, and none is named that is not there; codes of diagnostics have an index."""
    codes = {page for page in (DOCS / "diagnostics").glob("*.md") if page.stem != "index"}

    assert sorted(navigation()) == sorted(set(DOCS.rglob("*.md")) - codes)


def test_readers_of_the_index_reach_every_guide() -> None:
    """By links alone, also where there is no navigation, as on GitHub."""
    reached: set[Path] = set()
    queue = [DOCS / "index.md"]
    while queue:
        page = queue.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            queue.extend(target for target, _ in links(page))

    assert sorted(set(GUIDES[1:]) - reached) == []


def referenced() -> frozenset[str]:
    """Return what the API reference shows: classes and functions of its modules."""
    directives = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    modules = re.findall(r"^::: (\S+)$", directives, re.MULTILINE)
    return frozenset(name for module in modules for name in _names_of(module))


def _names_of(module: str) -> Iterator[str]:
    found = importlib.util.find_spec(module)
    assert found is not None, f"the reference names {module}"
    for node in ast.parse(Path(found.origin or "").read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def test_every_public_name_is_documented() -> None:
    """A guide speaks of it, or the reference shows it."""
    words = set(re.findall(r"\w+", "".join(page.read_text() for page in GUIDES)))
    public = {name for name, _ in public_names()}

    assert sorted(public - words - referenced()) == []


def test_page_of_errors_has_every_public_error() -> None:
    rows = (DOCS / "errors.md").read_text().partition("\n## ")[0]
    errors = [
        name
        for name, value in public_names()
        if isinstance(value, type) and issubclass(value, llmcore.LLMError)
    ]

    assert [name for name in errors if f"`{name}`" not in rows] == []


def test_page_of_names_has_the_front_door_and_the_modules_of_all_others() -> None:
    page = names_table.PAGE.read_text("utf-8")
    front = page.partition("## At the front door")[2].partition("\nThe blocking twins")[0]

    assert sorted(re.findall(r"`(\w+)`", front)) == llmcore.__all__
    assert page == names_table.with_table(page), "run `make docs-table`"


def test_headings_become_anchors() -> None:
    """As the site's generator makes them of words, signs and links."""
    assert _slug("What a call cost?") == "what-a-call-cost"
    assert _slug("`Client`, and [more](more.md)") == "client-and-more"
    assert _slug("Gemini's stored contexts") == "geminis-stored-contexts"
