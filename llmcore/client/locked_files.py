"""Files that a process keeps locked, and temporary folders that contain one.

The system releases a lock when its process ends, however it ends, `kill -9` included: a file that
can be locked has lost its owner. Children made by `os.fork` share the locks of their parent.
"""

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from llmcore.schema.frozen import frozen

_LOCK_NAME: Final = "lock"


HAS_LOCKS: Final = sys.platform != "win32"


def locked_file(path: Path, flags: int) -> int | None:
    """Open and lock a file; None if another process has locked it, or it does not exist.

    The lock is held until the descriptor is closed. Raises OSError.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # the last owner of the lock has not deleted it
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


@frozen
class TemporaryFolder:
    """A folder of the system's temporary files, which only this user can read."""

    path: Path
    _lock: int | None

    @classmethod
    def create(cls, prefix: str, parent: str | None = None) -> Self:
        """Create a folder, and delete those of the same *prefix* whose processes were killed.

        Folders of processes that have ended are recognised by their locks. Raises OSError.
        """
        parent = tempfile.gettempdir() if parent is None else parent
        for lock in Path(parent).glob(f"{prefix}*/{_LOCK_NAME}"):
            _delete_unlocked(lock)
        while True:
            path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))  # mode 0700
            created = locked_file(path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            if created is not None or not HAS_LOCKS:
                return cls(path, created)

    def remove(self) -> None:
        """Delete the folder with its files."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def _delete_unlocked(lock: Path) -> None:
    """Delete the folder of the file *lock*, unless a process has locked it."""
    with suppress(OSError):  # another process deletes it, or it belongs to another user
        if (descriptor := locked_file(lock, os.O_RDWR)) is not None:
            TemporaryFolder(lock.parent, descriptor).remove()
