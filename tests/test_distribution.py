"""The wheel and the source distribution: their files, their size and their dependencies."""

import re
import subprocess
import sys
import tarfile
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from llmcore.cli import doctor

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

CORE = {
    "anyio",
    "attrs",
    "cattrs",
    "certifi",
    "httpcore",
    "httpx",
    "jiter",
    "jsonschema-rs",
    "msgspec",
    "orjson",
    "sniffio",
}
"""The library's dependencies: none of a provider's, no web framework."""

SUFFIXES = {".py", ".pyi", ".json", ".jinja", ".typed", ".js", ".css", ".toml"}

IN_SOURCES = ("llmcore", "tests", "cassettes", "deploy", "docs", "scripts", "benchmarks")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> ZipFile:
    """Return the wheel, opened."""
    (path,) = built.glob("*.whl")
    return ZipFile(path)


@pytest.fixture(scope="module")
def sources(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the source distribution unpacks to."""
    (path,) = built.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def files_below(root: Path, *folders: str) -> set[str]:
    """Return the files of *folders*, without what tools leave behind."""
    left_behind = {"__pycache__", "node_modules"}
    return {
        path.relative_to(root).as_posix()
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and not left_behind & set(path.parts)
    }


def metadata(wheel: ZipFile) -> Message:
    """Return the wheel's METADATA."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_package_and_nothing_else(wheel: ZipFile) -> None:
    """Each file of `llmcore/` is in it; there are no tests, `.pth` files or programs."""
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert names == files_below(ROOT, "llmcore")
    assert {Path(name).suffix or Path(name).name for name in names} <= SUFFIXES | {"py.typed"}
    assert [info.filename for info in wheel.infolist() if info.external_attr >> 16 & 0o111] == []


def test_the_wheel_is_smaller_than_1770_kilobytes(built: Path) -> None:
    """It is downloaded into every container and function."""
    (path,) = built.glob("*.whl")

    assert path.stat().st_size < 1_770_000


def test_the_wheel_needs_few_packages_and_no_upper_bounds(wheel: ZipFile) -> None:
    """An application can take any newer version of what it shares with the library."""
    needed = [Requirement(line) for line in metadata(wheel).get_all("Requires-Dist") or []]
    core = {one.name for one in needed if one.marker is None or "extra" not in str(one.marker)}
    bounds = {spec.operator for one in needed for spec in one.specifier}

    assert core <= CORE
    assert bounds == {">="}


def test_everything_is_under_one_free_licence(wheel: ZipFile) -> None:
    """No part of it has another one, and nothing in it asks for a key of one."""
    facts = metadata(wheel)
    (name,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))

    assert facts.get_all("License-Expression") == ["MIT"]
    assert facts.get_all("License-File") == ["LICENSE"]
    assert wheel.read(name) == (ROOT / "LICENSE").read_bytes()
    assert not [
        name
        for name in wheel.namelist()
        if name.endswith(".py") and re.search(rb"(?i)licen[cs]e.?key", wheel.read(name))
    ]


def test_the_wheel_states_its_programs_and_extras(wheel: ZipFile) -> None:
    """The declarations of pyproject.toml arrive in the metadata."""
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    entry_points = wheel.read(name).decode()

    assert all(f"{key} = {value}" in entry_points for key, value in PROJECT["scripts"].items())
    assert "llmcore = llmcore.testing.pytest_plugin" in entry_points
    assert set(metadata(wheel).get_all("Provides-Extra") or []) == set(
        PROJECT["optional-dependencies"]
    )


def test_groups_of_development_are_not_published(wheel: ZipFile) -> None:
    """Extras are for users; developers of the project install groups."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]

    assert {"dev", "docs"} == set(groups)
    assert set(groups) & set(PROJECT["optional-dependencies"]) == set()
    assert all(Requirement(line).name for lines in groups.values() for line in lines)


def test_description_of_the_index_has_no_links_to_files(wheel: ZipFile) -> None:
    """They would be dead there; their words stay."""
    description = str(metadata(wheel).get_payload())

    assert re.findall(r"\]\((?!https?:)", description) == []
    assert "![" not in description
    assert "blocking versions" in description
    assert "](docs/sync.md)" in (ROOT / "README.md").read_text("utf-8")


def test_commands_that_install_extras_have_one_spelling_and_messages_one_maker() -> None:
    """A command in single quotes can be pasted into every shell; the extra exists."""
    extras = PROJECT["optional-dependencies"]
    wrong: list[str] = []
    made: set[str] = set()
    for path in (*(ROOT / "llmcore").rglob("*.py"), *(ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for one in re.findall(r"pip install '?\"?llmcore-routes\[[^\n ]*", text):
            extra = re.match(r"pip install 'llmcore-routes\[([\w,]+)\]'", one)
            if extra is None or not set(extra[1].split(",")) <= set(extras):
                wrong.append(f"{path.name}: {one}")
        made.update(re.findall(r"(?:install_extra\(|missing_extra\([^)]*?, )['\"](\w+)", text))
    assert wrong == ["errors.py: pip install 'llmcore-routes[{extra}]'\""]
    assert made == {*extras} == {*doctor.EXTRAS}


def test_the_source_distribution_holds_all_that_tests_read(sources: Path) -> None:
    """Packagers of Linux distributions run the tests from it; each file is what it is here."""
    names = files_below(ROOT, *IN_SOURCES)

    assert files_below(sources, *IN_SOURCES) == names
    assert [
        name for name in names if (sources / name).read_bytes() != (ROOT / name).read_bytes()
    ] == []
    assert {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "mkdocs.yml"} <= {
        path.name for path in sources.iterdir()
    }


def test_the_source_distribution_runs_its_tests(sources: Path) -> None:
    """Those that read files beside the code, from the unpacked folder.

    One test of the architecture is enough to see that the code is found: it is the same code.
    """
    tests = [
        "tests/test_architecture.py::test_there_are_modules_to_check",
        "tests/docs/test_pages.py",
        "tests/recorded/test_authored.py",
    ]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    run = subprocess.run(
        command,
        cwd=sources,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout
