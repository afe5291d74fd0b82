"""Writing log lines to stderr without waiting for the program that reads them.

A write to a full pipe, socket or terminal waits until its reader has taken something, and with it
the event loop and all responses. The flag by which a write fails instead is shared by all processes
that have the file open. So a pipe or a terminal is opened once more, and a write to a socket has
the flag of its own. Where the system offers neither, only as much is written as there is room for.
"""

import logging
import os
import select
import socket
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final, TextIO, TypeAlias

Send: TypeAlias = Callable[[bytes], int]
"""Writes the beginning of some bytes at once, and returns how many; OSError if none are taken."""

DROPPED: Final = "log_lines_dropped"
"""The event of the line that states how many lines were dropped before it."""


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines to stderr. Lines that the system has no room for are dropped and counted.

    A line is written to its end before the next one begins. *made* returns the record of an event.
    """

    def __init__(
        self,
        made: Callable[[int, str, Mapping[str, object]], logging.LogRecord],
        stream: TextIO | None = None,
    ) -> None:
        super().__init__(stream)
        self._made = made
        self._opened = ExitStack()
        self._send = _sender_for(self.stream, self._opened)
        self._rest = b""
        """The end of the line that was begun last."""
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write *record*, after the number of those that were dropped before it."""
        try:
            text = self.format(record) + self.terminator
            if self._dropped:
                count = self._made(logging.WARNING, DROPPED, {"lines": self._dropped})
                text = self.format(count) + self.terminator + text
            self._dropped = 0 if self._takes(text) else self._dropped + 1
        except Exception:  # noqa: BLE001  (whatever a value's own text raises, or a closed stream)
            self.handleError(record)

    def _takes(self, text: str) -> bool:
        """Write *text*; return False if the system has no room for it."""
        if self._send is not None:
            return self._begins(text.encode(), self._send)
        self.stream.write(text)
        return True

    def _begins(self, line: bytes, send: Send) -> bool:
        """Write as much of *line* as there is room for, and keep the rest of it.

        Return False if the line was not begun.
        """
        try:
            self._finish(send)
            self._rest = line[send(line) :]
        except OSError:
            return False
        if self._rest:
            with suppress(OSError):
                self._finish(send)
        return True

    def _finish(self, send: Send) -> None:
        while self._rest:
            self._rest = self._rest[send(self._rest) :]

    def flush(self) -> None:
        """Do nothing: stderr writes each line at once."""

    def close(self) -> None:
        """Close what was opened beside the stream; what comes later goes to the stream itself."""
        self._send = None
        self._opened.close()
        super().close()


def _sender_for(stream: TextIO, opened: ExitStack) -> Send | None:
    """Return a function that writes to *stream* without waiting; None where that is impossible.

    It is on Windows, and for a stream without a descriptor.

    What is opened for it is closed with *opened*.
    """
    if sys.platform == "win32":
        return None
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return None
    if stat.S_ISSOCK(mode):
        own = opened.enter_context(socket.socket(fileno=os.dup(descriptor)))
        return lambda data: own.send(data, socket.MSG_DONTWAIT)
    if not stat.S_ISFIFO(mode) and not stat.S_ISCHR(mode):
        return partial(os.write, descriptor)  # a file, whose writes fail if the disk is full
    if sys.platform == "linux":
        again = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with suppress(OSError):  # /proc does not exist, or the pipe is another user's
            second = os.open(f"/proc/self/fd/{descriptor}", again)
            opened.callback(os.close, second)
            return partial(os.write, second)
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)

    def write_if_ready(data: bytes) -> int:
        if not poll.poll(0):
            raise BlockingIOError
        return os.write(descriptor, data[: select.PIPE_BUF])

    return write_if_ready
