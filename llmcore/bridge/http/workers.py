"""Several processes that serve one address, and the one that keeps them running.

The supervisor loads everything, and forks its workers. On Linux each worker listens on a socket of
its own with SO_REUSEPORT, over which the kernel spreads connections; elsewhere they accept from
one socket. A worker that dies is replaced: at once, or after a delay that grows while new workers
die soon. SIGTERM and SIGINT are passed on, and the supervisor ends once every worker has finished
its responses; SIGHUP is passed on too. Workers whose supervisor is gone stop by themselves.
"""

import logging
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

import uvicorn
from attrs import define, field

from llmcore.bridge.http.draining import DrainingServer
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import forget_process
from llmcore.schema.errors import ConfigurationError

if sys.platform == "win32":
    raise ImportError("Windows cannot fork processes")

_SOON_S: Final = 10.0
"""A worker that ended within this time is replaced after a delay."""
_FIRST_DELAY_S: Final = 0.5
_LONGEST_DELAY_S: Final = 30.0
_PATIENCE_S: Final = 10.0
"""Seconds that workers have to end after the time limits of their last responses."""
_FAILED: Final = 70
"""The exit status of a worker that failed with an exception; EX_SOFTWARE of sysexits.h."""
_PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT)

Serve = Callable[[Callable[[], None]], None]
"""Serves in a worker until a signal, and calls its argument once it accepts connections."""


@define
class _Worker:
    pid: int = 0
    """0 while it is not running."""
    started: float = 0.0
    due: float = 0.0
    """When its next process is started."""
    failures: int = 0
    """How many times in a row it ended within `_SOON_S`."""

    def ended(self, now: float) -> None:
        """Plan the start of the next process."""
        self.failures = self.failures + 1 if now - self.started < _SOON_S else 0
        delay = _FIRST_DELAY_S * 2 ** (self.failures - 1) if self.failures else 0.0
        self.due = now + min(delay, _LONGEST_DELAY_S)
        self.pid = 0


@define
class Supervisor:
    """Keeps *count* workers running that *serve*."""

    serve: Serve
    count: int
    shutdown_s: float
    """How long a worker that is stopped waits for responses, and then for background ones."""
    _workers: list[_Worker] = field(init=False, factory=list)
    _ready: tuple[int, int] = field(init=False, factory=os.pipe)
    """A pipe to which each worker writes a byte once it accepts connections."""
    _alive: tuple[int, int] = field(init=False, factory=os.pipe)
    """A pipe whose writing end only the supervisor holds, so that workers notice when it dies."""
    _stopping_since: float = field(init=False, default=math.inf)

    def run(self, announce: Callable[[], None]) -> signal.Signals:
        """Run until SIGTERM or SIGINT, which is returned.

        *announce* is called once all workers accept connections. Raises ConfigurationError if one
        ends before that.
        """
        with _signals_to_pipe() as received:
            self._workers = [_Worker() for _ in range(self.count)]
            self._start_due()
            return self._until_ready(received) or self._until_stopped(received, announce)

    def _until_ready(self, received: int) -> signal.Signals | None:
        """Wait for all workers; return the signal that ended them before that."""
        ready = 0
        while ready < self.count:
            readable, _, _ = select.select([received, self._ready[0]], [], [], 1.0)
            if self._ready[0] in readable:
                ready += len(os.read(self._ready[0], self.count))
            signals = _read_signals(received) if received in readable else []
            if self._reaped():
                self._stop(signal.SIGTERM)
                self._wait_for_all(received)
                raise ConfigurationError("a worker could not start; its log has the reason")
            if stop := self._passed_on(signals):
                self._wait_for_all(received)
                return stop
        return None

    def _until_stopped(self, received: int, announce: Callable[[], None]) -> signal.Signals:
        announce()
        while True:
            next_due = min((worker.due for worker in self._workers if not worker.pid), default=None)
            wait = None if next_due is None else max(0.0, next_due - time.monotonic())
            readable, _, _ = select.select([received], [], [], wait)
            signals = _read_signals(received) if readable else []
            for pid, status in self._reaped().items():
                log(logging.WARNING, "worker_died", pid=pid, status=status)
            if stop := self._passed_on(signals):
                self._wait_for_all(received)
                return stop
            self._start_due()

    def _passed_on(self, signals: list[signal.Signals]) -> signal.Signals | None:
        """Pass *signals* on to the workers; return one that stops them."""
        for signum in signals:
            if signum in _PASSED_ON:
                self._stop(signum)
                return signum
            if signum != signal.SIGCHLD:
                self._send(signum)
        return None

    def _stop(self, how: signal.Signals) -> None:
        self._stopping_since = min(self._stopping_since, time.monotonic())
        self._send(how)

    def _wait_for_all(self, received: int) -> None:
        """Wait until all workers have ended; those that do not are killed."""
        end = self._stopping_since + 2 * self.shutdown_s + _PATIENCE_S
        while any(worker.pid for worker in self._workers):
            readable, _, _ = select.select([received], [], [], 0.5)
            self._passed_on(_read_signals(received) if readable else [])
            self._reaped()
            if time.monotonic() > end:
                self._send(signal.SIGKILL)

    def _send(self, signum: signal.Signals) -> None:
        for worker in self._workers:
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signum)

    def _reaped(self) -> Mapping[int, int]:
        """Return the exit codes of the workers that have ended since, by their ids."""
        ended = {}
        for worker in self._workers:
            pid, status = os.waitpid(worker.pid, os.WNOHANG) if worker.pid else (0, 0)
            if pid:
                ended[pid] = os.waitstatus_to_exitcode(status)
                forget_process(pid)
                worker.ended(time.monotonic())
        return ended

    def _start_due(self) -> None:
        now = time.monotonic()
        for worker in self._workers:
            if not worker.pid and worker.due <= now:
                worker.started = now
                worker.pid = self._fork()

    def _fork(self) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        if pid := os.fork():
            return pid
        status = _FAILED
        try:
            self._work()
            status = 0
        except ConfigurationError as error:
            log(logging.ERROR, "worker_failed", error=str(error))
        except BaseException:  # noqa: BLE001  (nothing of the supervisor may run in a worker)
            LOGGER.exception("worker_failed")
        finally:
            os._exit(status)

    def _work(self) -> None:
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGCHLD, *_PASSED_ON):
            signal.signal(signum, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.setpgid(0, 0)  # a terminal sends its signals to the supervisor alone
        os.close(self._alive[1])
        threading.Thread(target=self._stop_when_alone, daemon=True).start()
        self.serve(lambda: _tell(self._ready[1]))

    def _stop_when_alone(self) -> None:
        os.read(self._alive[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)


def _tell(descriptor: int) -> None:
    os.write(descriptor, b"1")


def _read_signals(received: int) -> list[signal.Signals]:
    return [signal.Signals(number) for number in os.read(received, 64)]


@contextmanager
def _signals_to_pipe() -> Iterator[int]:
    """Write the signals that arrive during the block to a pipe, and yield its reading end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    handled = (signal.SIGCHLD, signal.SIGHUP, *_PASSED_ON)
    before = {signum: signal.signal(signum, lambda *_: None) for signum in handled}
    woken = signal.set_wakeup_fd(writing)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(woken)
        for signum, handler in before.items():
            signal.signal(signum, handler)
        os.close(reading)
        os.close(writing)


class AnnouncingServer(DrainingServer):
    """A server that calls *announce* once it accepts connections."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and announce it."""
        await super().startup(sockets)
        self._announce()
