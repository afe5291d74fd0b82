"""One call of the model: attempts, until one of them gets somewhere."""

import math
from collections.abc import Callable, Sequence

import anyio

from llmcore.client.event_stream import EventStream
from llmcore.folds.beginnings import says_something
from llmcore.generation.rejected_reasoning import is_rejected_reasoning
from llmcore.generation.retry import RetryPolicy, next_delay
from llmcore.schema.errors import LLMError, StreamError
from llmcore.schema.events import ErrorEvent, Finish, LLMEvent
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result, Success


class ModelCall:
    """The events of one call. An attempt that failed is repeated as long as nobody saw it.

    With `live`, events are handed out as they come; the first of them that says more than
    that there is an answer makes the attempt the last one. Otherwise only the terminal
    event is, and an attempt may fail at any point.
    """

    def __init__(
        self,
        attempt: Callable[[], EventStream],
        policy: RetryPolicy,
        *,
        live: bool,
        deadline: float = math.inf,
        without_proofs: Callable[[], EventStream] | None = None,
    ) -> None:
        self.requests = 0
        """How many attempts were made."""
        self._attempt = attempt
        self._policy = policy
        self._live = live
        self._deadline = deadline
        self._without_proofs = without_proofs if policy.drop_rejected_reasoning else None
        """The attempt that says the same without encrypted reasoning, until it is made."""
        self._stream: EventStream | None = None
        self._held: list[LLMEvent] = []
        self._shown = False
        self._closed = False

    @property
    def partial(self) -> LLMResponse | None:
        """What has arrived so far; None before the first attempt."""
        return None if self._stream is None else self._stream.partial_response

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; the last batch ends with a terminal event."""
        while True:
            batch = await self._read()
            last = batch[-1]
            self._shown = self._shown or (self._live and says_something(batch))
            if isinstance(last, ErrorEvent) and await self._repeats(last.error):
                continue
            if self._shown or isinstance(last, Finish | ErrorEvent):
                return self._released(batch)
            if self._live:
                self._held.extend(batch)

    async def result(self) -> Result[LLMResponse, LLMError]:
        """Return the outcome, once the terminal event was there."""
        assert self._stream is not None  # noqa: S101  (there were events)
        return await self._stream.result()

    async def aclose(self) -> None:
        """Close the connection, and make no other attempt."""
        self._closed = True
        if self._stream is not None:
            await self._stream.aclose()

    async def _read(self) -> Sequence[LLMEvent]:
        if self._stream is None:
            self._stream = self._attempt()
            self.requests += 1
        try:
            batch = await self._stream.next_batch()
        except LLMError as error:  # raised by middleware
            await self._stream.aclose()
            return (ErrorEvent(error),)
        if batch:
            return batch
        message = "the stream ended without its end event"  # middleware dropped it
        outcome = await self._stream.result()
        failed = not isinstance(outcome, Success)
        return (ErrorEvent(outcome.failure() if failed else StreamError(message)),)

    async def _repeats(self, error: LLMError) -> bool:
        """Wait and make way for another attempt, if there is to be one."""
        if self._shown:
            return False
        if not self._says_less(error):
            left = self._deadline - anyio.current_time()
            delay = await next_delay(self._policy, error, self.requests - 1, within=left)
            if delay is None:
                return False
        if self._closed:
            return False
        if self._stream is not None:
            await self._stream.aclose()
        self._stream = None
        self._held.clear()
        return True

    def _says_less(self, error: LLMError) -> bool:
        """Let the next attempt be without encrypted reasoning, if that is what was rejected."""
        attempt = self.requests - 1
        if self._without_proofs is None or attempt >= self._policy.max_retries:
            return False
        if not is_rejected_reasoning(error):
            return False
        self._attempt, self._without_proofs = self._without_proofs, None
        if self._policy.on_retry is not None:
            self._policy.on_retry(error, attempt, 0.0)
        return True

    def _released(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        if not self._held:
            return batch
        held, self._held = self._held, []
        return [*held, *batch]
