"""The event loop that blocking calls run on: one for the process, in a thread of its own.

It is made by the first call, and again by the first call after a fork or a `shutdown`. Work runs
in a copy of the context of the thread that waits for it. Closing the loop, at the latest when the
interpreter ends, closes every connection that was opened on it.

asyncio's own calls are used instead of a blocking portal: a portal waits for a call to have
begun, which costs two more thread switches each time and cannot be interrupted cleanly.
"""

import asyncio
import atexit
import functools
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast

from llmcore.schema.errors import AbortError, ConfigurationError
from llmcore.schema.hints import end_at_call

_P = ParamSpec("_P")
_T = TypeVar("_T")

_ENDED = "the event loop of llmcore.sync was shut down"

_LONGEST_WAIT_S: Final = 0.1 if sys.platform == "win32" else None
"""On Windows, Ctrl-C is noticed only after a wait, before Python 3.14
(https://github.com/python/cpython/issues/125541)."""


class _Job(Generic[_T]):
    """A call: a task on the loop's thread, and a future that the calling thread waits for."""

    def __init__(self, work: Callable[[], Awaitable[_T]]) -> None:
        self.outcome: Future[_T] = Future()
        self._work = work
        self._task: asyncio.Task[_T | None] | None = None

    def start(self) -> None:
        """Create the task. Runs on the loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        """Cancel the task. Runs on the loop."""
        if self._task is not None:
            self._task.cancel()

    def wait(self) -> None:
        """Return once there is an outcome. Runs in the calling thread, which Ctrl-C interrupts."""
        while not self.outcome.done():
            with suppress(TimeoutError):
                self.outcome.exception(_LONGEST_WAIT_S)

    async def _run(self) -> _T | None:
        try:
            return await self._work()
        except (SystemExit, KeyboardInterrupt) as error:
            self.fail(error)  # else it ends the loop, and with it the calls of other threads
            return None

    def _finish(self, task: "asyncio.Task[_T | None]") -> None:
        if task.cancelled():
            self.fail(AbortError(_ENDED))
        elif (error := task.exception()) is not None:
            self.fail(error)
        elif not self.outcome.done():
            self.outcome.set_result(cast("_T", task.result()))

    def fail(self, error: BaseException) -> None:
        """Set *error* as the outcome, unless there is one already."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


def _outcome(future: "Future[_T]") -> _T:
    """Return the result of *future*, which is done, or raise its error."""
    error = future.exception()
    if error is None:
        return future.result()
    end_at_call(error)
    try:
        raise error
    finally:
        del error  # or the traceback would hold this frame, and the frame the error


class Background:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._jobs: set[_Job[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self._stopped = asyncio.Event()
        started: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon, as are the threads that it starts: the interpreter joins all other threads
        # before it runs `atexit` handlers, so that `shutdown` would never be called.
        self._thread = threading.Thread(
            target=self._serve, args=(started,), name="llmcore.sync", daemon=True
        )
        self._thread.start()
        self._loop = started.result()

    @property
    def alive(self) -> bool:
        """Whether calls can be made."""
        return self._open and self._thread.is_alive()

    def run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Await *work* on the loop and return its result, or raise its error.

        An exception that interrupts the waiting, such as Ctrl-C, cancels the work and is raised
        once the work has ended.
        """
        if threading.get_ident() == self._thread.ident:
            raise ConfigurationError(
                "a blocking call from inside of llmcore's own event loop would wait for itself: "
                "use the asynchronous functions in asynchronous tools and in callbacks"
            )
        job = _Job(work)
        self._jobs.add(job)
        try:
            self._call_soon(job.start)
            job.wait()
            return _outcome(job.outcome)
        except BaseException:
            if not job.outcome.done():  # raised in this thread, not by the work
                self._call_soon(job.cancel)
                job.wait()
            raise
        finally:
            self._jobs.discard(job)

    def run_later(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start *work* on the loop without waiting for it. Can be called in any thread."""
        if self.alive:
            self._call_soon(lambda: self._spawn(work))

    def stop(self) -> None:
        """Cancel running calls, close all connections, and end the thread. Idempotent."""
        if self.alive:
            self._call_soon(self._stopped.set)
        self._thread.join()

    def _call_soon(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError as error:  # it has been closed in the meantime
            raise AbortError(_ENDED) from error

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run *work* as a task. A reference is kept, since the loop holds its tasks only weakly."""

        async def run() -> None:
            await work()

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _serve(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        # SystemExit of a callback or of another library's task ends the loop, as in asyncio.
        with suppress(SystemExit, KeyboardInterrupt):
            try:
                with asyncio.Runner() as runner:
                    self._run(runner, started)
            except RuntimeError:
                # Closing the loop's executor needs a new thread, which Python 3.12 refuses to
                # start while the interpreter is ending. Everything else is closed by then.
                if not self._stopped.is_set():
                    raise
            finally:
                if not started.done():
                    started.set_exception(AbortError(_ENDED))
                for job in tuple(self._jobs):
                    job.fail(AbortError(_ENDED))

    def _run(self, runner: asyncio.Runner, started: "Future[asyncio.AbstractEventLoop]") -> None:
        try:
            runner.run(self._main(started))
        finally:
            self._open = False

    async def _main(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        started.set_result(asyncio.get_running_loop())
        await self._stopped.wait()


# -- the loop of this process

_lock = threading.Lock()
_current: Background | None = None


def background() -> Background:
    """Return this process's event loop; start it if there is none."""
    global _current  # noqa: PLW0603  (one loop for each process)
    with _lock:
        if _current is None or not _current.alive:
            _current = Background()
        return _current


def shutdown() -> None:
    """End the event loop and close its connections; calls that run raise AbortError.

    The next call starts a new one. The interpreter does this when it ends.
    """
    global _current
    with _lock:
        ending, _current = _current, None
    if ending is not None:
        ending.stop()


def _forget() -> None:
    """Reset the state in a forked child, which has neither the thread nor the lock's holder."""
    global _current, _lock, _parents  # noqa: PLW0603
    _lock = threading.Lock()
    _parents, _current = (*_parents, _current), None


_parents: tuple[Background | None, ...] = ()
"""Loops of parent processes, referenced so that the child does not close their connections."""

if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)

# Runs after all non-daemon threads have ended: until then they may make calls.
atexit.register(shutdown)


# -- blocking twins of asynchronous functions


def blocking(function: Callable[_P, Awaitable[_T]], module: str) -> Callable[_P, _T]:
    """Return *function* as one of *module* that waits for the result and returns it."""

    @functools.wraps(function)
    def wait(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return background().run(lambda: function(*args, **kwargs))
        except Exception as error:
            end_at_call(error)
            raise

    wait.__module__ = module  # where `pickle` looks for it
    return wait


def blocking_method(
    method: Callable[Concatenate[Any, _P], Awaitable[_T]],
) -> Callable[Concatenate[Any, _P], _T]:
    """Return a method that waits for *method* of the object in `self.asynchronous`."""
    name = method.__name__

    @functools.wraps(method)
    def wait(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        twin: Callable[_P, Awaitable[_T]] = getattr(self.asynchronous, name)
        try:
            return background().run(lambda: twin(*args, **kwargs))
        except Exception as error:
            end_at_call(error)
            raise

    return wait


def with_parameters_of(
    twin: Callable[_P, object],
) -> Callable[[Callable[..., _T]], Callable[_P, _T]]:
    """Return a decorator of a function that passes its arguments to *twin*."""

    def decorate(function: Callable[..., _T]) -> Callable[_P, _T]:
        _set_parameters(function, inspect.signature(twin).parameters.values())
        return function

    return decorate


def method_with_parameters_of(
    twin: Callable[_P, object],
) -> Callable[[Callable[..., _T]], Callable[Concatenate[Any, _P], _T]]:
    """Return a decorator of a method that passes its arguments to *twin*."""

    def decorate(method: Callable[..., _T]) -> Callable[Concatenate[Any, _P], _T]:
        itself = next(iter(inspect.signature(method).parameters.values()))
        _set_parameters(method, (itself, *inspect.signature(twin).parameters.values()))
        return method

    return decorate


def _set_parameters(function: Any, parameters: Iterable[inspect.Parameter]) -> None:
    signature = inspect.signature(function)
    function.__signature__ = signature.replace(parameters=tuple(parameters))
