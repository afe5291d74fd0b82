"""Keys of upstreams and clients that change while the gateway runs: from files and commands."""

import logging
import math
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from llmcore.bridge.configuration.tables import KeySource, may_be_key
from llmcore.bridge.http.logs import log
from llmcore.schema.errors import AuthenticationError, ConfigurationError

MAX_KEY_BYTES: Final = 64 * 1024
_COMMAND_S: Final = 30.0
"""How long a command may run."""
_PAUSE_S: Final = 5.0
"""The shortest time between two runs of a command because of refused keys."""


async def check_key_source(source: KeySource, *, owner: str, folder: Path) -> None:
    """Raise ConfigurationError if the file of *source* has no key, or its program prints none."""
    fault = ""
    if source.key_file is not None:
        fault = _file_fault(_path(source.key_file, folder))
    elif source.key_command:
        fault = (await _printed(source.key_command, folder))[1]
    if fault:
        raise ConfigurationError(f"{source.place and source.place + ': '}the {owner}: {fault}")


async def _printed(command: Sequence[str], folder: Path) -> tuple[bytes, str]:
    """Run the program of a `key_command`; return its output, and the fault if that has no key."""
    program = command[0]
    named = f"the program {program} of key_command"
    if shutil.which(folder / program if os.sep in program else program) is None:
        return b"", f"{named} is not found, or not executable"
    try:
        with anyio.fail_after(_COMMAND_S):
            done = await anyio.run_process(
                command, check=False, cwd=folder, stdin=subprocess.DEVNULL
            )
    except TimeoutError:
        return b"", f"{named} has not ended after {_COMMAND_S:g} seconds"
    except OSError as error:
        return b"", f"{named} cannot be run: {error.strerror or error}"
    if done.returncode:
        return b"", f"{named} failed with exit code {done.returncode}"
    data = done.stdout[:MAX_KEY_BYTES]
    fault = _key_fault(data, "prints")
    return data, fault and f"{named} {fault}"


def _key_fault(data: bytes, verb: str) -> str:
    """Return why *data*, of which a file or a program gives the first line, cannot be a key."""
    key = _first_line(data)
    if not key:
        return f"{verb} nothing" if verb == "prints" else "is empty"
    return "" if may_be_key(key) else f"{verb} characters that no HTTP header can have"


def _file_fault(path: Path) -> str:
    try:
        with path.open("rb") as file:
            why = _key_fault(file.read(MAX_KEY_BYTES), "has")
    except OSError as error:
        why = f"cannot be read: {error.strerror or error}"
    return why and f"the key_file {path} {why}"


class RotatingKey:
    """The key of one source, read again when it has changed or was refused.

    Called, it returns the key as `Auth.fetch` does. A file is read again when its time, size or
    inode changes; a command runs again after `key_seconds`. While a new key cannot be read, the
    last one is used. Raises AuthenticationError where there is none.
    """

    def __init__(
        self,
        source: KeySource,
        *,
        owner: str,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.current: str | None = None if source.key is None else source.key.strip()
        """The key as it was read last; None before the first time."""
        self._source = source
        self._owner = owner
        self._path = None if source.key_file is None else _path(source.key_file, folder)
        self._folder = folder
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._ran_at = -math.inf
        self._expired = False
        self._running: anyio.Lock | None = None
        self.fault = ""
        """Why the key could not be read the last time, which is logged once."""
        self.refresh()
        self._noticed = self.current

    def refresh(self) -> None:
        """Read the file again if it has changed."""
        if self._path is not None:
            self._read_file(self._path)

    def is_renewed(self) -> bool:
        """Read the file again if it has changed; return whether the key is not that of last time.

        Last time is the last call of this function.
        """
        self.refresh()
        before, self._noticed = self._noticed, self.current
        return before != self.current

    @property
    def has_to_run(self) -> bool:
        """Whether there is a command that has not run yet."""
        return bool(self._source.key_command) and self._ran_at == -math.inf

    async def begin(self) -> None:
        """Read the key now, so that a fault is logged before a request needs it."""
        with suppress(AuthenticationError):
            await self()

    async def __call__(self) -> str:
        """Return the key."""
        if self._path is not None:
            self._read_file(self._path)
        elif self._source.key_command and (self.current is None or self._is_due()):
            self._running = self._running or anyio.Lock()
            async with self._running:
                if self._is_due():
                    await self._run()
        if self.current is None:
            raise AuthenticationError(f"no key of {self._owner} could be read; see the log")
        return self.current

    def refused(self, token: str) -> bool:
        """Stop using *token*, which a server rejected; return whether there may be another."""
        if token != self.current:
            return True
        if self._path is not None:
            self._stamp = None
            self._read_file(self._path)
            return self.current != token
        if not self._source.key_command or self._clock() - self._ran_at < _PAUSE_S:
            return False
        self._expired = True
        return True

    def _is_due(self) -> bool:
        kept_s = min(_PAUSE_S, self._source.key_seconds) if self.fault else self._source.key_seconds
        return self._expired or self._clock() - self._ran_at >= kept_s

    def _read_file(self, path: Path) -> None:
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp == self._stamp:
                return
            with path.open("rb") as file:
                data = file.read(MAX_KEY_BYTES)
            fault = _key_fault(data, "has")
            self._use(data, fault and f"{path} {fault}")
            self._stamp = stamp
        except OSError as error:
            self._use(b"", f"{path}: {error.strerror or error}")

    async def _run(self) -> None:
        self._ran_at, self._expired = self._clock(), False
        self._use(*await _printed(self._source.key_command, self._folder))

    def _use(self, data: bytes, fault: str) -> None:
        """Use the key that *data* has, or else keep the last one and log the *fault* once."""
        if fault:
            if fault != self.fault:
                place = self._source.place or None
                log(logging.ERROR, "key_not_read", owner=self._owner, error=fault, place=place)
        else:
            key = _first_line(data)
            if self.current not in (None, key):
                log(logging.INFO, "key_rotated", owner=self._owner)
            self.current = key
        self.fault = fault


def _path(key_file: str, folder: Path) -> Path:
    return folder / Path(key_file).expanduser()


def _first_line(data: bytes) -> str:
    """Return the first line that is not empty; "" if there is none."""
    return data.decode("utf-8", "replace").strip().partition("\n")[0].strip()
