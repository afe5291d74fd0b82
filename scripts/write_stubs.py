"""Write the `__init__.pyi` of each package whose names are imported on first use.

Run by `make stubs`; a test checks that the files are as this script writes them.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("llmcore", "llmcore/mcp", "llmcore/testing")


def stub_of(package: Path) -> str:
    """Return the text of the stub for the package in the folder *package*."""
    tree = ast.parse((package / "__init__.py").read_text("utf-8"))
    names = sorted((module, name) for module, names in _tables(tree) for name in names.split())
    lines = [f"from {module} import {name} as {name}" for module, name in names]
    inside = [f"from {package.name} import {name} as {name}" for name in _packages(tree)]
    exported = [f'    "{name}",' for name in sorted(name for _, name in names)]
    head = "# Made by scripts/write_stubs.py from the table in __init__.py: run `make stubs`."
    version = ["", "__version__: str"] if _has_version(tree) else []
    return "\n".join([head, "", *inside, *lines, *version, "", "__all__ = [", *exported, "]", ""])


def _tables(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names":
            yield from ast.literal_eval(node.args[1]).items()


def _packages(tree: ast.Module) -> list[str]:
    """Return the packages that are attributes of the package."""
    return [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "packages"
        for name in ast.literal_eval(node.value)
    ]


def _has_version(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
        for node in tree.body
    )


if __name__ == "__main__":
    for folder in PACKAGES:
        (ROOT / folder / "__init__.pyi").write_text(stub_of(ROOT / folder), "utf-8")
