"""Several processes that serve one address, and the one that keeps them running.

The supervisor loads everything, and forks its workers. On Linux each worker listens on a socket of
its own with SO_REUSEPORT, over which the kernel spreads connections; elsewhere they accept from
one socket. A worker that dies is replaced: at once, or after a delay that grows while new workers
die soon. One whose event loop hangs is killed, since the kernel would keep giving it connections:
each worker reports every second that it runs. SIGTERM and SIGINT are passed on, and the supervisor
ends once every worker has finished its responses; SIGHUP is passed on too. Workers whose supervisor
is gone stop by themselves.
"""

import asyncio
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
_REPORT_S: Final = 1.0
_CHECK_S: Final = 5.0
_SILENT_CHECKS: Final = 12
"""A worker hangs if it has reported nothing for so many checks in a row. Checks are counted and not
seconds, because those also pass while the whole container is paused."""

Serve = Callable[[Callable[[], None]], None]
"""Serves in a worker until a signal; calls its argument once it accepts connections, and then
every second."""


@define
class _Worker:
    pid: int = 0
    """0 while it is not running."""
    started: float = 0.0
    due: float = 0.0
    """When its next process is started."""
    failures: int = 0
    """How many times in a row it ended within `_SOON_S`."""
    reports: int = -1
    """The reading end of the pipe to which it writes a byte whenever it reports."""
    is_ready: bool = False
    """Whether it has reported since it was started."""
    silent: int = 0
    """For how many checks in a row it has reported nothing."""

    def check(self) -> None:
        """Read its reports since the last check."""
        try:
            reported = bool(os.read(self.reports, 4096))
        except BlockingIOError:
            reported = False
        self.is_ready = self.is_ready or reported
        self.silent = 0 if reported or not self.is_ready else self.silent + 1

    def ended(self, now: float) -> None:
        """Plan the start of the next process."""
        if self.reports >= 0:
            os.close(self.reports)
        self.reports, self.is_ready, self.silent = -1, False, 0
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
        while waiting := [worker for worker in self._workers if not worker.is_ready]:
            pipes = [worker.reports for worker in waiting]
            readable, _, _ = select.select([received, *pipes], [], [], 1.0)
            for worker in waiting:
                worker.check()
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
        next_check = time.monotonic() + _CHECK_S
        while True:
            due = (worker.due for worker in self._workers if not worker.pid)
            wait = max(0.0, min((next_check, *due)) - time.monotonic())
            readable, _, _ = select.select([received], [], [], wait)
            if time.monotonic() >= next_check:
                self._kill_hung()
                next_check = time.monotonic() + _CHECK_S
            signals = _read_signals(received) if readable else []
            for pid, status in self._reaped().items():
                log(logging.WARNING, "worker_died", pid=pid, status=status)
            if stop := self._passed_on(signals):
                self._wait_for_all(received)
                return stop
            self._start_due()

    def _kill_hung(self) -> None:
        for worker in self._workers:
            if worker.pid:
                worker.check()
                if worker.silent == _SILENT_CHECKS:  # once, however long it takes to end
                    log(logging.ERROR, "worker_hangs", pid=worker.pid)
                    with suppress(ProcessLookupError):
                        os.kill(worker.pid, signal.SIGKILL)

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
                self._fork(worker)

    def _fork(self, worker: _Worker) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        worker.reports, reporting = os.pipe()
        os.set_blocking(worker.reports, False)
        os.set_blocking(reporting, False)
        if pid := os.fork():
            worker.pid = pid
            os.close(reporting)
            return
        status = _FAILED
        try:
            self._work(reporting)
            status = 0
        except ConfigurationError as error:
            log(logging.ERROR, "worker_failed", error=str(error))
        except BaseException:  # noqa: BLE001  (nothing of the supervisor may run in a worker)
            LOGGER.exception("worker_failed")
        finally:
            os._exit(status)

    def _work(self, reporting: int) -> None:
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGCHLD, *_PASSED_ON):
            signal.signal(signum, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.setpgid(0, 0)  # a terminal sends its signals to the supervisor alone
        os.close(self._alive[1])
        threading.Thread(target=self._stop_when_alone, daemon=True).start()
        self.serve(lambda: _report(reporting))

    def _stop_when_alone(self) -> None:
        os.read(self._alive[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)


def _report(descriptor: int) -> None:
    with suppress(BlockingIOError, BrokenPipeError):  # a supervisor that is stopped, or gone
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


class ReportingServer(DrainingServer):
    """A server that calls *report* once it accepts connections, and then while its loop runs."""

    def __init__(self, config: uvicorn.Config, report: Callable[[], None]) -> None:
        super().__init__(config)
        self._report = report
        self._reporting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it."""
        await super().startup(sockets)
        self._reporting = asyncio.create_task(self._keep_reporting())

    async def _keep_reporting(self) -> None:
        while True:  # until the event loop ends, also while responses are finished
            self._report()
            await asyncio.sleep(_REPORT_S)
