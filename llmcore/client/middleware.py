"""Middleware: functions round a call, for whole and streamed calls alike.

    async def timed(request, next):
        started = time.monotonic()
        stream = next(request)
        return stream.tap(lambda event: print(time.monotonic() - started, event.type))

They run in the order they were given on the way in, and reversed on the way out. A
middleware may change the request, change or watch the events (`stream.map`, `.tap`,
`.then`), call `next` again, or answer itself (`EventStream.of`).
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, Union

from llmcore.client.event_stream import Deferred, EventStream
from llmcore.schema.request import LLMRequest

Next: TypeAlias = Callable[[LLMRequest], EventStream]
Middleware: TypeAlias = Callable[[LLMRequest, Next], Union[EventStream, Awaitable[EventStream]]]


def compose(middleware: Sequence[Middleware], call: Next) -> Next:
    """Return *call* with *middleware* round it, the first outermost."""
    for one in reversed(middleware):
        call = functools.partial(_through, one, call)
    return call


def _through(middleware: Middleware, call: Next, request: LLMRequest) -> EventStream:
    async def make() -> EventStream:
        made = middleware(request, call)
        return await made if inspect.isawaitable(made) else made

    return EventStream(Deferred(make))
