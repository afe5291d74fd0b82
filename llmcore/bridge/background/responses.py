"""The background responses that this process makes, within limits of their number."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

import anyio
from attrs import define, field

from llmcore.bridge.background.event_log import EventLog
from llmcore.bridge.background.lifecycle import BEAT_S, Lifecycle, cancelled, failed, is_finished
from llmcore.bridge.background.places import FairPlaces, may_have_another
from llmcore.bridge.http.logs import LOGGER, log
from llmcore.bridge.http.metrics import Metrics
from llmcore.bridge.response_run import ResponseRun, outcome_of, request_id_of
from llmcore.bridge.state.store import ResponseStore, StateUnavailableError
from llmcore.client.loop_task import LoopTask, SideTasks
from llmcore.fronts.errors import FrontError, overloaded
from llmcore.fronts.openai_responses.state import Record

_T = TypeVar("_T")

_FLUSH_S: Final = 0.5
"""How long events wait at most until processes that share the store can read them."""
_STORE_RETRIES: Final = 5
_STORE_RETRY_S: Final = 2.0
_BROKE: Final = "the gateway failed; its log has the reason"
_STOPPED: Final = "The gateway was stopped before the response was complete."


Group: TypeAlias = tuple[str, str]
"""The owner and the model of responses, none of which may keep others waiting."""


@define(eq=False)
class BackgroundResponse:
    """A response that this process makes."""

    record: Record
    """The record as it was when the response was requested."""
    run: ResponseRun
    """Writes events as lines of JSON."""
    final: Callable[[], Record | None]
    """Returns the record of the response, once it has ended."""
    refused: Callable[[FrontError], Awaitable[bytes]]
    """Ends a response that no upstream began; returns all its events."""
    done: Callable[[], None]
    """Called when it has ended in any way, before clients can read that."""
    log: EventLog
    task: LoopTask | None = field(default=None, init=False)
    reason: str = field(default=_BROKE, init=False)
    """Why it failed, if it does not come to its end."""

    @property
    def group(self) -> Group:
        """The owner and the model."""
        return self.record.owner, self.run.info.model


class BackgroundResponses:
    """Makes responses while no client waits for them."""

    def __init__(self, store: ResponseStore, metrics: Metrics, *, at_once: int) -> None:
        self.lifecycle = Lifecycle(store)
        self.store = store
        self._places = FairPlaces(at_once)
        self._local: dict[str, BackgroundResponse] = {}
        self._gauge = metrics.background_responses
        self._closing = False
        self._idle = anyio.Event()

    def check_room(self, group: Group) -> None:
        """Raise FrontError, 503, if no further response of *group* can be taken.

        As many may wait as run.
        """
        if self._closing:
            raise overloaded("the gateway is shutting down")
        most = 2 * self._places.most
        free = most - len(self._local)
        if free <= 0:
            raise overloaded(f"{len(self._local)} background responses are under way or wait")
        count = sum(response.group == group for response in self._local.values())
        if not may_have_another(count, free, most):
            message = f"{count} background responses of this key and model are under way or wait"
            raise overloaded(message)

    def local(self, response_id: str) -> BackgroundResponse | None:
        """Return a response that this process makes; None if it is not one."""
        return self._local.get(response_id)

    async def start(
        self,
        record: Record,
        run: ResponseRun,
        final: Callable[[], Record | None],
        refused: Callable[[FrontError], Awaitable[bytes]],
        done: Callable[[], None],
    ) -> None:
        """Begin the response of *run*, whose *record* is queued; *done* is called at its end.

        Raises StateUnavailableError if the store fails, or FrontError if there is no room; before
        that, *run* is closed and *done* is called.
        """
        log_ = EventLog(self.store, record.id)
        response = BackgroundResponse(record, run, final, refused, done, log_)
        try:
            self.check_room(response.group)
            self._local[record.id] = response
            self._gauge.set(len(self._local))
            await self.lifecycle.begin(record)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await run.aclose()  # it may have a place at its upstream
            self._drop(response)
            raise
        response.task = LoopTask(lambda: self._make(response))

    async def current(self, record: Record) -> Record:
        """Return *record*, which may be unfinished, as it is by now."""
        return await self.lifecycle.current(record, is_made_here=record.id in self._local)

    async def unstored(self, response_id: str) -> Record | None:
        """Return the record of a response that this process makes and its store has no room for.

        None if the response was deleted.
        """
        response = self._local.get(response_id)
        if response is None:
            return None
        record = await self.current(response.record)
        return await self.store.get(response_id) if is_finished(record) else record

    async def cancel(self, record: Record) -> Record:
        """Cancel a response, whichever process makes it; return how it ended."""
        record = await self.current(record)
        if is_finished(record):
            return record
        record = await self.lifecycle.end(cancelled(record))
        response = self._local.get(record.id)
        if response is not None and response.task is not None:
            await response.task.stop()
        return record

    async def delete(self, record: Record) -> None:
        """Cancel a response if it is under way, and remove its events."""
        await self.cancel(record)
        await self.lifecycle.forget(record)

    async def aclose(self, seconds: float) -> None:
        """Let the responses come to their end; those that need more than *seconds* fail."""
        self._closing = True
        with anyio.move_on_after(seconds):
            while self._local:
                self._idle = anyio.Event()
                await self._idle.wait()
        for response in list(self._local.values()):
            response.reason = _STOPPED
            if response.task is not None:
                await response.task.stop()

    # -- one response

    async def _make(self, response: BackgroundResponse) -> None:
        try:
            async with SideTasks() as tasks:
                tasks.start(lambda: self._give_signs_of_life(response, tasks.cancel_scope))
                async with self._places.place(response.group):
                    if await self._in_store(lambda: self.lifecycle.run(response.record.id)):
                        tasks.start(lambda: self._flush(response))
                        await self._run(response)
        except Exception:  # noqa: BLE001  a fault of the gateway; no client waits
            LOGGER.exception("background_response_broke")
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(response)

    async def _run(self, response: BackgroundResponse) -> None:
        """Write the events of the response; the last one only once its record is stored.

        So a client that reads the end can rely on it.
        """
        run, events = response.run, response.log
        # The events that open the stream, unless another target may still follow.
        data = b"" if run.info.pooled else await run.keep_alive()
        while True:
            lines = data.split(b"\n")[:-1]
            if (final := response.final()) is not None:
                break
            events.add(lines)
            if events.is_full:
                await events.flush()
            try:
                data = await run.next_bytes()
            except FrontError as error:
                data = await response.refused(error)
            if not data:
                return
        events.add(lines[:-1])
        await events.flush()
        response.done()  # who reads of the end finds the response charged
        if await self._in_store(lambda: self.lifecycle.end(final)) is final:
            events.add(lines[-1:])

    async def _end(self, response: BackgroundResponse) -> None:
        """Free everything, and note a failure if the response has not ended."""
        run = response.run
        try:
            await run.aclose()
            log(
                logging.INFO,
                "background_response",
                model=run.info.model,
                provider=run.info.upstream.provider,
                response_id=response.record.id,
                outcome=outcome_of(run.calls),
                upstream_request_id=request_id_of(run.calls),
                error=None if run.error is None else str(run.error),
            )
            await response.log.flush()
            await self.lifecycle.end(failed(response.record, response.reason))
            await self.lifecycle.keep_place(response.record.id, response.log)
        except StateUnavailableError as error:  # its signs of life end, so it fails
            log(logging.ERROR, "state_unavailable", error=str(error))
        except Exception:  # noqa: BLE001  a fault of the gateway; no client waits
            LOGGER.exception("background_response_broke")
        finally:
            self._drop(response)

    def _drop(self, response: BackgroundResponse) -> None:
        self._local.pop(response.record.id, None)
        response.done()
        self._gauge.set(len(self._local))
        response.log.wake()
        response.task = None  # it holds the response
        if not self._local:
            self._idle.set()

    async def _give_signs_of_life(
        self, response: BackgroundResponse, scope: anyio.CancelScope
    ) -> None:
        while True:
            await anyio.sleep(BEAT_S)
            try:
                wanted = await self.lifecycle.beat(response.record.id, response.log)
            except StateUnavailableError as error:
                log(logging.WARNING, "state_unavailable", error=str(error))
                continue
            if not wanted and response.final() is None:  # cancelled in another process
                scope.cancel()

    async def _flush(self, response: BackgroundResponse) -> None:
        while True:
            await anyio.sleep(_FLUSH_S)
            await response.log.flush()

    async def _in_store(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Return what *step* returns; a store that is away for a moment is waited for."""
        for _ in range(_STORE_RETRIES):
            try:
                return await step()
            except StateUnavailableError as error:
                log(logging.WARNING, "state_unavailable", error=str(error))
                await anyio.sleep(_STORE_RETRY_S)
        return await step()
