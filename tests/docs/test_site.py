"""The built site in a browser, wide and narrow, light and dark: nothing is cut, broken or dead."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.docs import site_pages

ROOT = Path(__file__).parents[2]
FAULTS = r"""() => {
  const all = selector => [...document.querySelectorAll(selector)]
  const cut = element => element.scrollWidth > element.clientWidth + 1
  const longest = code => code.innerText.split('\n').sort((a, b) => b.length - a.length)[0]
  return [
    ...all('article pre > code').filter(cut).map(code => 'code: ' + longest(code)),
    ...all('article p').filter(p => /^\|.*\|/.test(p.innerText)).map(p => 'table: ' + p.innerText),
    ...all('article p').filter(p => /^(```|:::)/.test(p.innerText)).map(p => p.innerText),
    ...all('td code').filter(code => code.innerText.includes('\\|')).map(code => code.innerText),
    ...[...document.images].filter(one => !one.naturalWidth).map(one => 'image: ' + one.src),
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways'] : []),
  ].map(fault => fault.slice(0, 120))
}"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    """Return the site that `make docs` has built."""
    if built := os.environ.get("BUILT_SITE"):
        return ROOT / built
    pytest.skip("make docs builds the site, and runs these tests")


def test_links_and_anchors_of_the_built_site_lead_somewhere(site: Path) -> None:
    assert list(site_pages.dead_links(site)) == []


def test_built_site_loads_nothing_from_other_hosts(site: Path) -> None:
    assert list(site_pages.foreign_resources(site)) == []


def test_every_page_has_a_markdown_twin(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}

    assert [page for page in pages if not (site / page).is_file()] == []
    assert (site / "llms.txt").is_file()


VIEWS = {
    "wide-light": (1400, "light"),
    "laptop-light": (1280, "light"),
    "narrow-dark": (390, "dark"),
}
WITH_SCRIPTS = {".", "quickstart", "settings", "examples", "reference/sync"}
"""One page of each kind; the same script is on every page, and runs longer than all else there."""


@pytest.fixture(scope="module")
def faults(site: Path, browser: Any) -> dict[str, dict[str, list[str]]]:
    """Return the faults of the pages by view and page; each page is loaded once for all views."""
    found: dict[str, dict[str, list[str]]] = {view: {} for view in VIEWS}
    with site_pages.served(site) as url:
        still, live = browser.new_page(java_script_enabled=False), browser.new_page()
        for path in sorted(site.rglob("index.html")):
            name = path.parent.relative_to(site).as_posix()
            if name.startswith("diagnostics/") and len(name) % 8:
                continue  # made by one function: some of them are enough
            page = live if name in WITH_SCRIPTS else still
            page.goto(url if name == "." else f"{url}{name}/")
            for view, (width, scheme) in VIEWS.items():
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                found[view][name] = page.evaluate(FAULTS)
        still.close()
        live.close()
    assert found["wide-light"].keys() >= WITH_SCRIPTS
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_pages_in_a_browser_have_no_cut_code_and_no_broken_table(
    view: str, faults: dict[str, dict[str, list[str]]]
) -> None:
    """Code may scroll on a telephone, and nowhere else; the page itself never scrolls sideways."""
    allowed = "code:" if VIEWS[view][0] < 1000 else "none"
    wrong = {
        name: [one for one in found if not one.startswith(allowed)]
        for name, found in faults[view].items()
    }

    assert len(wrong) > 60
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "name", ["migration", "openbridge", "fronts", "providers", "performance", "requirements"]
)
def test_tables_of_calls_and_settings_fit_on_a_laptop(name: str, site: Path, browser: Any) -> None:
    scrolling = """() => [...document.querySelectorAll(".md-typeset__scrollwrap")].filter(
      element => element.scrollWidth > element.clientWidth + 1).map(element => element.innerText)"""
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    with site_pages.served(site) as url:
        view.goto(f"{url}{name}/")
        wide = view.evaluate(scrolling)
    view.close()

    assert wide == []


OUT_OF_REACH = """() => [...document.querySelectorAll("article *")].filter(element =>
  element.scrollWidth > element.clientWidth + 1
  && ["auto", "scroll"].includes(getComputedStyle(element).overflowX)
  && element.tabIndex < 0 && !element.querySelector("a, button")
).map(element => element.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("page", ["settings", "tour", "reference/names"])
def test_keyboard_reaches_what_scrolls_in_a_narrow_window(
    site: Path, browser: Any, page: str
) -> None:
    view = browser.new_page(viewport={"width": 390, "height": 900})
    with site_pages.served(site) as url:
        view.goto(f"{url}{page}/")
        view.wait_for_function(f"({OUT_OF_REACH})().length === 0", timeout=10_000)
        assert view.locator("article [tabindex='0']").count() > 0
    view.close()


UNNAMED = """() => [...document.querySelectorAll("nav, [role=navigation]")]
  .filter(each => each.checkVisibility())
  .filter(each => [null, "navigation"].includes(each.getAttribute("role")))
  .map(each => each.ariaLabel || each.getAttribute("aria-labelledby") || each.className)
  .filter((name, place, names) => names.indexOf(name) !== place)"""


@pytest.mark.parametrize("page", ["quickstart", "reference/sync"])
def test_navigation_landmarks_of_a_page_have_different_names(
    site: Path, browser: Any, page: str
) -> None:
    """A screen reader lists them; the buttons of code blocks are not among them."""
    view = browser.new_page()
    with site_pages.served(site) as url:
        view.goto(f"{url}{page}/")
        view.wait_for_selector("article [data-clipboard-target]", state="attached")
        view.wait_for_function(f"({UNNAMED})().length === 0", timeout=10_000)
        assert view.locator("nav:visible").count() > 1
    view.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_a_readable_contrast(site: Path, browser: Any, scheme: str) -> None:
    """At least 4.5 to 1 between texts, also of the navigation, and the page (WCAG 2, 1.4.3)."""
    with site_pages.served(site) as url:
        page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme=scheme)
        page.goto(f"{url}quickstart/")
        colours = page.evaluate(
            """() => {
              const of = (selector, name) =>
                getComputedStyle(document.querySelector(selector))[name].match(/[\\d.]+/g).map(Number)
              return [of('body', 'backgroundColor'), of('article p', 'color'),
                of('article a[href]:not(.headerlink)', 'color'), of('article pre code', 'color'),
                of('.md-nav__link--active[href]', 'color')]
            }"""
        )
        page.close()
    background, *texts = [tuple(colour[:3]) for colour in colours]
    page_is_dark = sum(background) < 3 * 128
    assert page_is_dark == (scheme == "dark")
    assert [text for text in texts if contrast(text, background) < 4.5] == []


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    def luminance(colour: tuple[float, ...]) -> float:
        parts = [channel / 255 for channel in colour]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


SEARCHES = {
    "approve tool": "tools/#approval",
    "audio": "images-and-audio/#speech",
    "chat history": "sessions/",
    "cli": "command-line/",
    "image": "images-and-audio/",
    "mock": "cassettes/",
    "pdf": "messages/#images-audio-and-documents-vision",
    "retry": "retries-and-timeouts/",
    "system prompt": "generating/#settings",
    "timeout": "retries-and-timeouts/",
    "MemoryCache": "reference/middleware/#llmcore.client.middleware.memory_cache.MemoryCache",
}
IS_TYPED = """() => {
  let at = document.activeElement
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at.matches('input')
}"""
FIRST_IS = r"""wanted => {
  const links = node => [
    ...node.querySelectorAll('a[href*="?h="]'),
    ...[...node.querySelectorAll('*')].flatMap(one => one.shadowRoot ? links(one.shadowRoot) : []),
  ]
  const [first] = links(document)
  return first && first.pathname.slice(1) + first.hash === wanted
}"""


@pytest.mark.parametrize("words", SEARCHES)
def test_search_for_words_of_a_newcomer_has_the_guide_first(
    site: Path, browser: Any, words: str
) -> None:
    page = browser.new_page()
    with site_pages.served(site) as url:
        page.goto(url)
        page.wait_for_load_state("networkidle")
        page.keyboard.press("/")
        page.wait_for_function(IS_TYPED)
        page.keyboard.type(words)
        page.wait_for_function(FIRST_IS, arg=SEARCHES[words], timeout=10_000)
    page.close()


def test_check_of_links_finds_a_dead_one(tmp_path: Path) -> None:
    """The check itself can fail."""
    (tmp_path / "index.html").write_text('<a href="gone/">x</a><a href="#no">y</a><p id="yes">')

    assert list(site_pages.dead_links(tmp_path)) == ["index.html: gone/", "index.html: #no"]
