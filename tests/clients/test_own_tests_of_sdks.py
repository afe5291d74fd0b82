"""The tests that the official Python SDKs bring in their source distributions, against a gateway.

They are made for a mock server of the whole API, whose address `TEST_API_BASE_URL` names. Those of
creating responses, counting tokens and listing models hold for any server; others need ids that the
mock invents, or leave the model out. Those of Google's package replay recordings that are not in
it, and take no server's address.
"""

import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest
from attrs import frozen

from tests.support.servers.front_gateways import gateway
from tests.support.wire.matrix import ANTHROPIC, OPENAI, Column, Said, playing

_CONFTEST = """
import os
import {package}
import pytest


@pytest.fixture
def client(request):
    strict = getattr(request, "param", True)
    with {package}.{name}(
        base_url=os.environ["TEST_API_BASE_URL"],
        api_key="sk-any",
        max_retries=0,
        _strict_response_validation=strict,
    ) as made:
        yield made
"""
"""In place of the package's own, which needs plugins for its mocks."""


@frozen
class Package:
    """An SDK, and those of its tests that hold for any server."""

    name: str
    client: str
    file: str
    chosen: str
    base: str
    upstream: Column
    """One of another API, so that all is translated."""
    answered: int = 8
    """Requests that the upstream answers at least; the gateway itself lists models."""


PACKAGES = (
    Package(
        name="openai",
        client="OpenAI",
        file="tests/api_resources/chat/test_completions.py",
        chosen="TestCompletions and create",
        base="/v1",
        upstream=ANTHROPIC,
    ),
    Package(
        name="anthropic",
        client="Anthropic",
        file="tests/api_resources/test_messages.py",
        chosen="TestMessages and not deprecated",
        base="",
        upstream=OPENAI,
    ),
    Package(
        name="openai",
        client="OpenAI",
        file="tests/api_resources/test_models.py",
        chosen="TestModels and not delete",
        base="/v1",
        upstream=ANTHROPIC,
        answered=0,
    ),
    Package(
        name="anthropic",
        client="Anthropic",
        file="tests/api_resources/test_models.py",
        chosen="TestModels and not list_with_all_params",
        base="",
        upstream=OPENAI,
        answered=0,
    ),
)


def unpacked(package: Package, folder: Path) -> None:
    """Put the tests of the installed version of *package* into *folder*."""
    wanted = f"{package.name}=={version(package.name)}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--no-binary", ":all:", wanted], cwd=folder, check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    (source,) = [path for path in folder.iterdir() if path.is_dir()]
    for name in ("tests/utils.py", package.file):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((source / name).read_bytes())
        (target.parent / "__init__.py").touch()
    conftest = _CONFTEST.format(package=package.name, name=package.client)
    (folder / "tests/conftest.py").write_text(conftest)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: f"{one.name} {Path(one.file).stem}")
def test_the_packages_own_tests_pass(package: Package, tmp_path: Path) -> None:
    """With every parameter that the API has, in the strict mode of the client too."""
    unpacked(package, tmp_path)
    with (
        playing(package.upstream, Said(text="It rains.")) as scene,
        gateway(scene.model, relay=False) as url,
    ):
        chosen = ["-k", f"{package.chosen} and not Async"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", package.file, *chosen],
            cwd=tmp_path,
            env={
                **os.environ,
                "TEST_API_BASE_URL": url + package.base,
                "PYTHONPATH": str(tmp_path),
            },
            capture_output=True,
            check=False,
            text=True,
        )

    assert done.returncode == 0, done.stdout
    assert len(scene.server.received) >= package.answered
