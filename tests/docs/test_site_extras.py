"""`llms.txt` and the markdown twins: every page is there, and readable without the site."""

import re

from scripts.site_extras import (
    DOCS,
    first_sentence,
    guides_first,
    llms_full,
    llms_txt,
    module,
    navigation,
    twins,
)
from tests.support.public_names import home_of, public_names


def test_list_has_every_page_of_the_navigation_with_a_sentence() -> None:
    lines = [line for line in llms_txt().splitlines() if line.startswith("- [")]

    assert len(lines) == len(list(navigation())) > 50
    for line in lines:
        assert re.fullmatch(r"- \[[^]]+\]\(\S+\.md\): \S.+", line), line


def test_every_page_has_a_twin_without_directives() -> None:
    pages = twins()

    assert set(pages) == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert [name for name, text in pages.items() if re.search(r"^:::", text, re.MULTILINE)] == []


def test_changelog_is_written_out_and_has_no_links_that_the_site_lacks() -> None:
    page = twins()["changelog.md"]

    assert page.startswith("# Changelog\n")
    assert re.findall(r"\]\((?!https:)", page) == []


def test_reference_twins_have_every_exported_class_and_function() -> None:
    text = "".join(text for name, text in twins().items() if name.startswith("reference/"))
    names = {
        name
        for name, value in public_names()
        if home_of(value).startswith("llmcore") and hasattr(value, "__name__")
    }

    assert sorted(name for name in names if f".{name}\n" not in text) == []


def test_module_is_written_out_with_fields_and_methods() -> None:
    text = module("llmcore.schema.messages")

    assert "class Message():" in text
    assert "    role: Role" in text
    assert "#### Message.user" in text
    assert "_" not in re.findall(r"#### \w+\.(.)", text)


def test_first_sentence_is_prose_without_links() -> None:
    page = "# T\n\n```python\nx\n```\n\nSee [the client](client.md). More.\n"

    assert first_sentence(page) == "See the client."


def test_full_text_has_all_guides() -> None:
    text = llms_full()

    assert "# Quickstart" in text
    assert "# Tools" in text
    assert len(text) > 200_000


def test_search_has_guides_first_and_members_within_their_classes() -> None:
    def section(location: str, level: int) -> dict[str, object]:
        title = location.rpartition(".")[2]
        return {"location": location, "level": level, "title": title, "text": f"Of {title}."}

    index = guides_first(
        [
            section("diagnostics/", 1),
            section("diagnostics/empty-text/", 1),
            section("reference/client/#llmcore.Client", 3),
            section("reference/client/#llmcore.Client.timeouts", 4),
            section("reference/generation/#llmcore.generation.settings.Settings.seed", 4),
            section("tools/#approval", 2),
        ]
    )

    assert [one["location"] for one in index] == [
        "diagnostics/",
        "tools/#approval",
        "reference/client/#llmcore.Client",
        "reference/generation/#llmcore.generation.settings.Settings.seed",
    ]
    assert index[2]["text"] == "<p>Client</p> Of Client.<p>timeouts</p> Of timeouts."
    assert index[2]["title"].replace("\N{WORD JOINER}", "") == "Client"
