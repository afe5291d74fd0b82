"""The pictures of the documentation are current, well-formed, and load nothing."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.pictures import FOLDER, PALE, PICTURES, WIDTH, files

DOCS = FOLDER.parent


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return files()


def test_pictures_are_those_of_the_code(drawn: dict[str, str]) -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.svg")}
    own = {name: text for name, text in written.items() if name in drawn}

    assert own == drawn, "run `make docs-table`"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_stays_within_its_frame_and_loads_nothing(name: str, drawn: dict[str, str]) -> None:
    svg = drawn[f"{name}.svg"]
    root = ElementTree.fromstring(svg)
    height = int(root.attrib["viewBox"].split()[3])

    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg|api\.anthropic)", svg)
    assert root[0].text, "a title for those who cannot see it"
    for node in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(node.get("x", 0)), float(node.get("y", 0))
        assert 0 <= x <= x + float(node.attrib["width"]) <= WIDTH
        assert 0 <= y <= y + float(node.attrib["height"]) <= height
    for node in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(node.attrib["y"]) < height


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))

    for path in FOLDER.iterdir():
        assert f"(pictures/{path.name})" in pages


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.stem)
def test_every_colour_of_a_picture_has_one_for_dark_themes(path: Path) -> None:
    svg = path.read_text("utf-8")
    dark = dict(re.findall(r'\[fill="(#\w+)"\]{fill:(#\w+)}', svg))

    assert set(re.findall(r'(?:fill|stroke)="(#\w+)"', svg)) <= dark.keys()
    for shown in set(re.findall(r'<text[^>]* fill="(#\w+)"', svg)):
        assert min(_contrast(dark[shown], dark[under]) for under in ("#ffffff", PALE)) > 4.5
        assert _contrast(shown, PALE) > 4.5
