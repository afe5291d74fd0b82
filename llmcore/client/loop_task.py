"""Background tasks and cancel scopes of the running event loop, asyncio's or trio's.

Background tasks outlive the task that starts them. Structured concurrency has none, on purpose.
They are for work that belongs to a connection and not to a call, such as answering pings. The code
that starts one must stop it.
"""

import math
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from functools import cache
from types import TracebackType
from typing import Any, Self

import anyio
import sniffio


class LoopTask:
    """Runs a function until it returns or is stopped. The function must not raise.

    It has the context variables of who starts it.
    """

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self._run = run
        self._scope = new_scope()
        self._over = anyio.Event()
        loop = running_on_asyncio()
        if loop is None:
            import trio

            trio.lowlevel.spawn_system_task(self._body, context=copy_context())
        else:
            self._task = loop.create_task(self._body())
            self._task.add_done_callback(self._ended)  # also called if the task never ran

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended."""
        self._scope.cancel()
        await self.ended()

    async def ended(self) -> None:
        """Wait until the task has ended."""
        with anyio.CancelScope(shield=True):
            await self._over.wait()

    async def _body(self) -> None:
        try:
            with self._scope:
                await self._run()
        finally:
            self._over.set()

    def _ended(self, _task: object) -> None:
        self._over.set()


class ContextTask:
    """Enters and leaves a context in a task of its own, as anyio's task groups require.

    The caller's block can then be left in any task, as that of an async generator is which was
    dropped.
    """

    def __init__(self, context: AbstractAsyncContextManager[object]) -> None:
        self._context = context
        self._inside = anyio.Event()
        self._leave = anyio.Event()
        self._error: BaseException | None = None
        self._task: LoopTask | None = None

    async def enter(self) -> None:
        """Enter the context, and return once it is entered. Raises its error."""
        self._task = LoopTask(self._hold)
        try:
            await self._inside.wait()
        except BaseException:  # cancelled: `leave` will not be called
            await self._task.stop()
            raise
        self._raise_error()

    async def leave(self) -> None:
        """Leave the context. Raises its error."""
        self._leave.set()
        if self._task is not None:
            await self._task.ended()
        self._raise_error()

    async def _hold(self) -> None:
        try:
            async with self._context:
                self._inside.set()
                await self._leave.wait()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001  (raised where the context is entered or left)
            self._error = error
        finally:
            self._inside.set()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


async def uncancelled(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run *work* to its end, also where the caller is cancelled meanwhile: that is raised then.

    A shielded scope does not keep the cancellations of asyncio away (`asyncio.timeout`,
    `task.cancel()`), so that on asyncio *work* runs in a task of its own.
    """
    if sniffio.current_async_library() == "trio":
        with anyio.CancelScope(shield=True):
            return await work()
    import asyncio

    task = asyncio.get_running_loop().create_task(work())
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # else asyncio logs it
    raise cancelled


class SideTasks:
    """Tasks that run beside a block, whose end stops them; if one raises, the block is cancelled.

    AnyIO keeps a task that its group cancels, with all that the task refers to, until a garbage
    collection, since the exception is in a reference cycle. These are stopped by scopes of their
    own.
    """

    def __init__(self) -> None:
        self._group = anyio.create_task_group()
        self._scopes: set[anyio.CancelScope] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self.stop()
        try:
            return await self._group.__aexit__(kind, error, traceback)
        finally:
            del error, traceback  # which refer to this frame if the error goes on

    @property
    def cancel_scope(self) -> anyio.CancelScope:
        """The scope that cancels the block."""
        return self._group.cancel_scope

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run *work* until it returns or the block ends."""
        scope = new_scope(shield=True)
        self._scopes.add(scope)
        self._group.start_soon(self._run, work, scope)

    async def _run(self, work: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await work()
        finally:
            self._scopes.discard(scope)

    def stop(self) -> None:
        """Stop all of them."""
        for scope in tuple(self._scopes):
            scope.cancel()


class TaskAfter:
    """Runs a function beside a block that takes longer than some seconds; the block's end stops it.

    If it raises, the scope around the block is cancelled, and the block raises that. A shorter
    block costs a timer and no task, which makes it cheaper than `SideTasks`.
    """

    def __init__(
        self, seconds: float, work: Callable[[], Awaitable[None]], around: anyio.CancelScope
    ) -> None:
        self._seconds = seconds
        self._work = work
        self._around = around
        self._timer: Any = None
        """The timer of asyncio, which trio does not have."""
        self._task: LoopTask | None = None
        self._error: Exception | None = None

    async def __aenter__(self) -> None:
        loop = running_on_asyncio()
        if loop is None:
            self._task = LoopTask(self._run_after_sleep)
        else:
            self._timer = loop.call_later(self._seconds, self._start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None  # which refers to this object
        try:
            if task is not None:
                await task.stop()
            is_over = error is None or isinstance(error, anyio.get_cancelled_exc_class())
            if is_over and self._error is not None:
                raise self._error
        finally:
            self._error = None
            del error, traceback  # which refer to this frame if the error goes on

    def _start(self) -> None:
        self._task = LoopTask(self._run)

    async def _run_after_sleep(self) -> None:
        await anyio.sleep(self._seconds)
        await self._run()

    async def _run(self) -> None:
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001  raised in the block
            self._error = error
            self._around.cancel()


def running_on_asyncio() -> Any:
    """Return asyncio's running event loop; None on trio, also where that is a guest of asyncio.

    It takes a quarter of the time of `sniffio.current_async_library`.
    """
    asyncio = sys.modules.get("asyncio")  # which trio does not need
    named = sniffio.thread_local.name or sniffio.current_async_library_cvar.get()
    if asyncio is None or named not in (None, "asyncio"):
        return None
    return asyncio._get_running_loop()  # noqa: SLF001  (public, and does not raise)


def running_loop() -> Any:
    """Return the running event loop, or trio's token for it."""
    if (loop := running_on_asyncio()) is not None:
        return loop
    import trio

    return trio.lowlevel.current_trio_token()


def current_time() -> float:
    """Return `anyio.current_time()`, on asyncio in a third of the time."""
    loop = running_on_asyncio()
    return anyio.current_time() if loop is None else loop.time()


def loop_caller() -> Callable[[Callable[[], object]], object]:
    """Return a function that schedules a call on the running event loop, asyncio's or trio's.

    It can be called from any thread and in signal handlers; it raises RuntimeError after the loop
    has ended.
    """
    loop = running_loop()
    call: Any = getattr(loop, "run_sync_soon", None) or loop.call_soon_threadsafe
    return call  # type: ignore[no-any-return]


def new_scope(deadline: float = math.inf, *, shield: bool = False) -> anyio.CancelScope:
    """Return `anyio.CancelScope(deadline=deadline, shield=shield)`, in a third of the time.

    AnyIO looks its backend up for each scope, and runs the constructor of the scope twice.
    """
    return scope_class(running_on_asyncio() is not None)(deadline=deadline, shield=shield)


@cache
def scope_class(_on_asyncio: bool) -> type[anyio.CancelScope]:
    """Return the class of the scopes of the running event loop."""
    return type(anyio.CancelScope())
