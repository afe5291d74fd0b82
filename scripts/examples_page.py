"""The page `docs/examples.md`, made from the programs in `examples/`.

    python scripts/examples_page.py

writes it; a test reports when that is due. The programs themselves are run by
`tests/docs/test_examples.py`.
"""

import ast
import json
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "examples.md"
TITLES: Final = {
    "Basics": {
        "stream.py": "Stream to the terminal",
        "chat_loop.py": "Chat loop",
        "session.py": "Stored conversation",
        "tools.py": "Tools",
        "mcp_servers.py": "Tools of MCP servers",
        "coding_agent.py": "Coding agent",
        "objects.py": "Structured output",
        "media.py": "Images, documents, audio",
        "images.py": "Generating and editing images",
        "speech.py": "Speech and transcription",
        "many_calls.py": "200 calls at once",
        "batch_file.py": "A file of requests",
        "fallback.py": "Retries, fallback, logging",
        "budget.py": "Cost and budget",
        "cache.py": "Response cache",
        "new_provider.py": "Another provider",
    },
    "Frameworks": {
        "fastapi_stream.py": "FastAPI",
        "fastapi_app.py": "FastAPI with events and a page",
        "django_app.py": "Django",
        "notebook.ipynb": "Jupyter",
        "streamlit_app.py": "Streamlit",
        "celery_tasks.py": "Celery",
        "test_headline.py": "pytest",
    },
}
"""The programs in the order of the page, by group, with their headings."""

HEAD: Final = """# Examples

Complete programs, which are also in the folder `examples/` of the repository. Each runs as it is
with a key in the environment (`OPENAI_API_KEY`), and with any other [provider](providers.md) if you
change the model. A client is safe for concurrent use: create one when an application starts, and
close it when it ends.
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for group, titles in TITLES.items():
        parts.append(f"## {group}\n")
        parts += [_section(name, title) for name, title in titles.items()]
    return "\n".join(parts)


def _section(name: str, title: str) -> str:
    text = (ROOT / "examples" / name).read_text("utf-8")
    if name.endswith(".ipynb"):
        return f"### {title}\n\n{_notebook(text)}"
    docstring = ast.get_docstring(ast.parse(text)) or ""
    code = text.partition('"""\n\n')[2] if "\n" in docstring else text.split("\n", 2)[2]
    return f'### {title}\n\n{docstring}\n\n```py title="examples/{name}"\n{code.strip()}\n```\n'


def _notebook(text: str) -> str:
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            parts.append(f"```py\n{source}\n```\n")
        elif not source.startswith("#"):
            parts.append(f"{source}\n")
        elif "\n\n" in source:
            parts.append(source.partition("\n\n")[2] + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
