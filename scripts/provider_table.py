"""The table of providers in `docs/providers.md`, made from the code.

    python scripts/provider_table.py

writes it into the page; a test says when that is due.
"""

from pathlib import Path
from typing import Any, Final

from llmcore.routes.providers import PROVIDERS, RETRIEVAL_PROVIDERS, ProviderEntry
from scripts.made_sections import with_section

PAGE: Final = Path(__file__).parents[1] / "docs" / "providers.md"

EXAMPLE: Final = {
    "AWS_REGION": "us-east-1",
    "CLOUDFLARE_ACCOUNT_ID": "ACCOUNT",
    "GOOGLE_CLOUD_PROJECT": "my-project",
}
"""An environment for base URLs that are made of it."""
ARGUMENTS: Final[dict[str, dict[str, Any]]] = {"azure": {"resource_name": "RESOURCE"}}
"""What providers cannot do without."""


def table() -> str:
    """Return the whole table."""
    head = ["Provider, id", "Protocols", "Environment", "Base URL"]
    entries = (*PROVIDERS, *RETRIEVAL_PROVIDERS)
    rows = [head, ["---"] * len(head), *(row(entry) for entry in entries)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def row(entry: ProviderEntry) -> list[str]:
    """Return the cells of *entry*."""
    name = entry.home.partition(":")[2]
    variables = [f"`{name}`" for name in variables_of(entry)] or ["none"]
    login = [] if entry.login is None else [f"or `{entry.login}`"]
    note = [entry.note] if entry.note else []
    cells = [
        [f"[`{name}`]({entry.docs})", f"`{entry.id}`"],
        entry.protocols or ["embeddings and rankings"],
        [*variables, *login],
        [f"`{base_url(entry)}`", *note],
    ]
    return ["<br>".join(lines) for lines in cells]


def variables_of(entry: ProviderEntry) -> list[str]:
    """Return the variables that configure *entry*, keys first."""
    names = [*entry.key_variables, *entry.other_switches]
    names += [*entry.read_later, *(name for _, name in entry.settings)]
    return names if entry.base_url_variable is None else [*names, entry.base_url_variable]


def base_url(entry: ProviderEntry) -> str:
    """Return where *entry* is, with examples for what depends on an account."""
    model = entry.load()(**ARGUMENTS.get(entry.id, {})).model("m")
    route: Any = model.route
    where = route.endpoint.base_url
    return str(where(EXAMPLE) if callable(where) else where)


def page(text: str) -> str:
    """Return *text* with the current table in its place."""
    return with_section(text, table(), "provider_table")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
