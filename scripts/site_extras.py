"""Adds to the built site what language models read: `llms.txt`, and a markdown twin of each page.

    python scripts/site_extras.py

writes into `site/`: `PAGE.md` beside `PAGE/`, `llms.txt` (a list of all pages by the sections of
the navigation, see https://llmstxt.org) and `llms-full.txt` (all guides in one file). Pages of the
API reference are written out from the source, since their markdown only names modules.

It also rewrites `search.json`, so that the search finds guides before members of classes.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
_ENTRY: Final = re.compile(r"^( +)- ([^:\n]+):(?: (\S+\.md))?$", re.MULTILINE)
_SNIPPET: Final = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^::: (\S+)\n(?: +.*\n)*", re.MULTILINE)
_HEAD: Final = """# llmcore

> A Python library that calls any LLM provider with the same code, and a gateway (OpenBridge).
> Install it with `pip install llmcore-routes`; the package to import is `llmcore`. Python 3.11 or
> newer.

Lead with `generate`, `stream` and `generate_object`, or their twins in `llmcore.sync`. They
raise `LLMError`s. What a provider does not support is listed in `diagnostics`.
"""

_WORD_JOINER: Final = "\N{WORD JOINER}"
"""Between the letters of a title, it is not seen, and keeps the search from finding their word."""
_OTHER_WORDS: Final = {
    "cassettes/": "mock, record, replay",
    "generating/": "system prompt, temperature",
    "generating/#settings": "system prompt, temperature, reasoning, stop",
    "images-and-audio/#transcription": "transcribe audio, speech to text",
    "images-and-audio/#speech": "audio, text to speech",
    "messages/#images-audio-and-documents-vision": "PDF, files",
    "objects/": "JSON schema, Pydantic",
    "retries-and-timeouts/": "retry, timeout",
    "retries-and-timeouts/#stopping": "cancel, abort",
    "sessions/": "chat history, memory",
    "tools/#approval": "approve a tool",
    "usage-and-cost/": "price, token count",
}
"""Words that people search for, and that the title of a section does not have."""


def navigation() -> Iterator[tuple[str, str, str]]:
    """Yield section, title and file of each page of the navigation, in its order."""
    section = ""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    for _, title, page in _ENTRY.findall(nav):
        if page:
            yield section, title, page
        else:
            section = title


def twins() -> dict[str, str]:
    """Return the markdown of each page, by its path in the site."""
    pages = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    return {name: _written_out(path.read_text("utf-8")) for name, path in pages.items()}


def _written_out(text: str) -> str:
    text = _SNIPPET.sub(lambda match: (ROOT / match[1]).read_text("utf-8").rstrip("\n"), text)
    return _DIRECTIVE.sub(lambda match: module(match[1]), text)


def llms_txt() -> str:
    """Return the list of pages, each with its first sentence."""
    lines, current = [_HEAD], ""
    pages = twins()
    for section, title, page in navigation():
        if section != current:
            lines.append(f"\n## {section}\n")
            current = section
        lines.append(f"- [{title}]({page}): {first_sentence(pages[page])}")
    return "\n".join([*lines, ""])


def first_sentence(markdown: str) -> str:
    """Return the first sentence below the title, without links."""
    text = re.sub(r"^```.*?^```$", "", markdown.partition("\n")[2], flags=re.DOTALL | re.MULTILINE)
    prose = (one for one in re.split(r"\n\s*\n", text.strip("\n")) if re.match(r"[\w`\[*]", one))
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(next(prose, "").split()))
    return re.split(r"(?<=[.]) ", text)[0].rstrip(":")


def llms_full() -> str:
    """Return all guides in one file; the reference has its own pages."""
    pages = twins()
    apart = ("reference/", "decisions/")
    guides = [pages[page] for _, _, page in navigation() if not page.startswith(apart)]
    return "\n\n".join([_HEAD, *guides])


# -- the reference


def module(name: str) -> str:
    """Return the public classes and functions of a module as markdown."""
    path = ROOT / Path(*name.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    tree = ast.parse(path.read_text("utf-8"))
    parts = [f"### {name}\n"]
    if docstring := ast.get_docstring(tree):
        parts.append(docstring + "\n")
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            parts += _definition(node, name)
        elif isinstance(node, ast.Assign) and isinstance(after, ast.Expr):
            parts += _value(node, after, name)
    return "\n".join(parts) + "\n"


def _definition(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, owner: str
) -> Iterator[str]:
    if node.name.startswith("_"):
        return
    yield f"#### {owner.rpartition('.')[2]}.{node.name}\n"
    yield f"```text\n{_signature(node)}\n```\n"
    if docstring := ast.get_docstring(node):
        yield docstring + "\n"
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _definition(inner, node.name)


def _value(node: ast.Assign, docstring: ast.Expr, owner: str) -> Iterator[str]:
    """Return a value with a docstring, such as a blocking function made of another."""
    target, text = node.targets[0], docstring.value
    is_docstring = isinstance(text, ast.Constant) and isinstance(text.value, str)
    if is_docstring and isinstance(target, ast.Name) and not target.id.startswith("_"):
        yield f"#### {owner.rpartition('.')[2]}.{target.id}\n"
        yield f"```text\n{ast.unparse(node)}\n```\n"
        yield f"{ast.literal_eval(text)}\n"


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        fields = [
            f"    {ast.unparse(field)}"
            for field in node.body
            if isinstance(field, ast.AnnAssign) and not ast.unparse(field).startswith("_")
        ]
        return "\n".join([f"class {node.name}({bases}):", *fields])
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{kind} {node.name}({ast.unparse(node.args)}){returns}"


def guides_first(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the *sections* of the search's index with those of guides before the reference.

    The search ranks titles first, and titles of the reference are the words that people type. They
    are therefore found as text, like members of classes, which become text of the class, except
    settings of `generate`; codes of diagnostics are found on their list.
    """
    kept: list[dict[str, Any]] = []
    for section in sections:
        place, title, text = section["location"], section["title"], section["text"]
        if place.startswith("requirements/") or re.match(r"diagnostics/[a-z]", place):
            continue
        if not place.startswith("reference/") or section["level"] == 1:
            words = _OTHER_WORDS.get(place)
            kept.append(section | {"title": f"{title} ({words})" if words else title})
        elif section["level"] > 3 and ".Settings." not in place:
            kept[-1]["text"] += f"<p>{title}</p> {text}"
        else:
            apart = _WORD_JOINER.join(title)
            kept.append(section | {"title": apart, "text": f"<p>{title}</p> {text}"})
    return sorted(kept, key=lambda section: section["location"].startswith("reference/"))


def write(site: Path) -> None:
    """Write all files into the built site."""
    for name, text in twins().items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    search = site / "search.json"
    index = json.loads(search.read_text("utf-8"))
    index["items"] = guides_first(index["items"])
    search.write_text(json.dumps(index), "utf-8")
    (site / "llms.txt").write_text(llms_txt(), "utf-8")
    (site / "llms-full.txt").write_text(llms_full(), "utf-8")


if __name__ == "__main__":
    write(ROOT / "site")
