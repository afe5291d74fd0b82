"""One call of the model, with retries."""

import math
from collections.abc import Awaitable, Callable, Sequence

import anyio

from llmcore.client.event_stream import EventStream
from llmcore.folds.grammar import has_content
from llmcore.generation.rejected_reasoning import is_rejected_reasoning
from llmcore.generation.retry import OnRetry, RetryPolicy, next_delay
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result


class ModelCall:
    """The events of one call. A failed attempt is repeated if none of its content was delivered.

    With `live`, events are delivered as they arrive; after the first event with content there is
    no other attempt. Otherwise only the terminal event is delivered, and an attempt can be repeated
    after a failure at any point. *on_retry* takes the place of the policy's own. *may_repeat* is
    asked before each repetition, and forbids it by returning False.
    """

    def __init__(
        self,
        attempt: Callable[[], EventStream],
        policy: RetryPolicy,
        *,
        live: bool,
        deadline: float = math.inf,
        on_retry: OnRetry | None = None,
        without_opaque: Callable[[], EventStream] | None = None,
        may_repeat: Callable[[LLMError], Awaitable[bool]] | None = None,
    ) -> None:
        self.requests = 1
        """The number of attempts."""
        self._attempt: Callable[[], EventStream] | None = attempt
        """Makes another attempt; None after the last one."""
        self._policy = policy
        self._on_retry = on_retry or policy.on_retry
        self._may_repeat = may_repeat
        self._live = live
        self._deadline = deadline
        self._without_opaque = without_opaque if policy.drop_rejected_reasoning else None
        """Makes the same attempt without encrypted reasoning; None after it was used."""
        self._stream = attempt()  # nothing is sent before the first read
        self._buffered: list[LLMEvent] = []
        self._delivered = False
        self._closing: anyio.Event | None = None
        """Set by `aclose`, while another attempt is waited for."""

    @property
    def partial(self) -> LLMResponse:
        """The response made of the events so far."""
        return self._stream.partial_response

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; the last batch ends with a terminal event."""
        while True:
            batch = await self._read()
            last = batch[-1]
            self._delivered = self._delivered or (self._live and has_content(batch))
            if isinstance(last, ErrorEvent) and await self._repeats(last.error):
                continue
            if self._delivered or isinstance(last, Finish | ErrorEvent):
                self._end_attempts()
                return self._with_buffered(batch)
            if self._live:
                self._buffered.extend(batch)

    async def result(self) -> Result[LLMResponse, LLMError]:
        """Return the response or the error, after the terminal event."""
        return await self._stream.result()

    async def aclose(self) -> None:
        """Close the connection; no other attempt is made, or waited for."""
        self._end_attempts()
        if self._closing is not None:
            self._closing.set()
        await self._stream.aclose()

    def _end_attempts(self) -> None:
        """Drop what attempts are made by: it usually holds the owner of this call.

        Their reference cycle would keep the whole response until a garbage collection.
        """
        self._attempt = self._without_opaque = self._on_retry = self._may_repeat = None

    async def _read(self) -> Sequence[LLMEvent]:
        try:
            batch = await self._stream.next_batch()
        except LLMError as error:  # raised by middleware
            await self._stream.aclose()
            return (ErrorEvent(error),)
        if batch:
            return batch
        match await self._stream.result():  # middleware dropped the terminal event
            case Failure(fault):
                return (ErrorEvent(fault),)
            case _:
                return (ErrorEvent(StreamError("the stream ended without its end event")),)

    async def _repeats(self, error: LLMError) -> bool:
        """Wait and start another attempt if the policy has one; return whether it did."""
        if self._delivered:
            return False
        may_drop = self._without_opaque is not None and self.requests <= self._policy.max_retries
        rejects_reasoning = may_drop and is_rejected_reasoning(error)
        if self._may_repeat is not None:  # asked only before a try that the policy allows
            allowed = rejects_reasoning or self._policy.delay(error, self.requests - 1) is not None
            if not allowed or not await self._may_repeat(error):
                return False
        if rejects_reasoning:
            self._drop_reasoning(error)
        elif not await self._waited(error):
            return False
        if self._attempt is None:  # closed meanwhile
            return False
        await self._stream.aclose()
        self._stream = self._attempt()
        self.requests += 1
        self._buffered.clear()
        return True

    async def _waited(self, error: LLMError) -> bool:
        """Wait for the policy's delay after *error*; return False if it is final, or too late."""
        delay = await next_delay(
            self._policy,
            error,
            self.requests - 1,
            within=self._deadline - anyio.current_time(),
            on_retry=self._on_retry,
            sleep=self._sleep,
        )
        return delay is not None

    async def _sleep(self, seconds: float) -> None:
        """Wait for *seconds*, or until this call is closed."""
        self._closing = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._closing.wait()
        self._closing = None

    def _drop_reasoning(self, error: LLMError) -> None:
        """Make the next attempt without encrypted reasoning, which *error* rejects."""
        self._attempt, self._without_opaque = self._without_opaque, None
        if self._on_retry is not None:
            self._on_retry(error, self.requests - 1, 0.0)

    def _with_buffered(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        if not self._buffered:
            return batch
        buffered, self._buffered = self._buffered, []
        return [*buffered, *batch]
