"""The pictures of the documentation are current, well-formed, and load nothing."""

import re
from xml.etree import ElementTree

import pytest

from scripts.pictures import FOLDER, PICTURES, WIDTH, files

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
