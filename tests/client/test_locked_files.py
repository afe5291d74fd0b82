"""Temporary folders outlive their process only until the next one creates another."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from llmcore.client import locked_files
from llmcore.client.locked_files import TemporaryFolder, locked_file

pytestmark = pytest.mark.skipif(not locked_files.HAS_LOCKS, reason="needs locks of processes")

HOLD = """
import sys
from llmcore.client.locked_files import TemporaryFolder
print(TemporaryFolder.create("kind-", sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


def holder(parent: Path) -> tuple["subprocess.Popen[str]", Path]:
    """Start a process that has a folder in *parent*, and return both."""
    command = [sys.executable, "-c", HOLD, str(parent)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_is_deleted_and_that_of_a_running_one_is_not(
    tmp_path: Path,
) -> None:
    process, held = holder(tmp_path)
    with process:
        (held / "content").touch()
        TemporaryFolder.create("kind-", str(tmp_path)).remove()
        while_running = (held / "content").exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        created = TemporaryFolder.create("kind-", str(tmp_path))

    assert while_running
    assert list(tmp_path.iterdir()) == [created.path]
    assert stat.S_IMODE(created.path.stat().st_mode) == 0o700
    created.remove()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_another_kind_and_without_a_lock_and_links_stay(tmp_path: Path) -> None:
    """A link could lead to a folder of another program that has a file of that name."""
    (tmp_path / "kind-unlocked").mkdir()
    for other in (tmp_path / "other-1", tmp_path / "program"):
        other.mkdir()
        (other / "lock").touch()
    (tmp_path / "kind-link").symlink_to(tmp_path / "program")

    TemporaryFolder.create("kind-", str(tmp_path)).remove()

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kind-link",
        "kind-unlocked",
        "other-1",
        "program",
    ]
    assert (tmp_path / "program" / "lock").exists()


def test_a_new_folder_that_another_process_deletes_before_its_lock_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def late(path: Path, flags: int) -> int | None:
        tries.append(path)
        return None if len(tries) == 1 else locked_file(path, flags)

    monkeypatch.setattr(locked_files, "locked_file", late)
    created = TemporaryFolder.create("kind-", str(tmp_path))

    assert len(tries) == 2
    assert created.path == tries[1].parent
    created.remove()


def test_a_file_that_is_locked_missing_or_deleted_meanwhile_is_not_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    owner = locked_file(path, os.O_RDWR | os.O_CREAT)
    assert owner is not None
    assert locked_file(path, os.O_RDWR) is None
    assert locked_file(tmp_path / "missing", os.O_RDWR) is None

    opened = os.open(path, os.O_RDWR)
    path.unlink()
    os.close(owner)
    monkeypatch.setattr(os, "open", lambda *_: opened)
    assert locked_file(path, os.O_RDWR) is None
