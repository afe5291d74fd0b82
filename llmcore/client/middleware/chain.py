"""Middleware: functions around a call, the same for streamed and other calls.

    async def timed(request, next):
        started = time.monotonic()
        stream = next(request)
        return stream.tap(lambda event: print(time.monotonic() - started, event.type))

They run in the order they were given on the way in, and reversed on the way out. A
middleware may change the request, change or watch the events (`stream.map`, `.tap`,
`.watch`, `.on_result`), call `next` again, or return events of its own (`EventStream.of`). An
LLMError that it raises is the call's outcome; any other exception is a bug, and raised.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, Union, runtime_checkable

from attrs import evolve, field

from llmcore.client.event_stream import EventStream
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.events import ErrorEvent, LLMEvent, StreamStart
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result

if TYPE_CHECKING:  # a data file is behind it
    from llmcore.catalog.model_info import ModelInfo


def _unresolved(request: LLMRequest) -> Result[Model, LLMError]:
    message = f"the model {request.model_id!r} cannot be resolved without a client"
    return Failure(ConfigurationError(message))


@frozen(kw_only=True)
class Next:
    """The rest of a call. A middleware calls it with the request, any number of times."""

    run: Callable[[LLMRequest], EventStream]
    """The rest of the chain."""
    streaming: bool = False
    """Whether the call is streamed."""
    resolve: Callable[[LLMRequest], Result[Model, LLMError]] = field(
        default=_unresolved, repr=False
    )
    """Returns the configured model of a request."""
    environ: Mapping[str, str] = field(factory=dict, repr=False)
    """The environment from which the client reads keys and base URLs."""
    models: "Sequence[ModelInfo]" = field(default=(), repr=False)
    """The client's own models and prices, before those of the catalog."""

    def __call__(self, request: LLMRequest) -> EventStream:
        """Return the response's events; nothing is sent before the first one is requested."""
        return self.run(request)


Middleware: TypeAlias = Callable[[LLMRequest, Next], Union[EventStream, Awaitable[EventStream]]]


@runtime_checkable
class ClientCheck(Protocol):
    """A middleware that checks the client that uses it."""

    def check(self, providers: Collection[str]) -> None:
        """Raise ConfigurationError if it needs what a client with these *providers* lacks."""
        ...


def checked_middleware(given: object, providers: Collection[str]) -> tuple[Middleware, ...]:
    """Return the middleware in the list *given*, for a client with these *providers*.

    Raises ConfigurationError for anything else, and for one that needs another provider.
    """
    if not isinstance(given, Iterable):
        kind = (given if isinstance(given, type) else type(given)).__name__
        raise ConfigurationError(f"middleware must be a list, such as [{kind}(...)]")
    listed = tuple(given)
    for item in listed:
        if isinstance(item, type):
            raise ConfigurationError(f"middleware must be a value: write {item.__name__}(...)")
        if not callable(item):
            rule = "a middleware is a function or a value such as CallLog()"
            is_store = hasattr(item, "get") and hasattr(item, "put")
            instead = f": write ResponseCache({type(item).__name__}(...))" if is_store else ""
            raise ConfigurationError(f"{rule}, not {shown_kind(item)}{instead}")
        if isinstance(item, ClientCheck):
            item.check(providers)
    return listed


def compose(middleware: Sequence[Middleware], call: Next) -> Next:
    """Return *call* wrapped in *middleware*, the first outermost."""
    for outer in reversed(middleware):
        call = evolve(call, run=functools.partial(_through, outer, call))
    return call


def _through(middleware: Middleware, call: Next, request: LLMRequest) -> EventStream:
    async def make() -> EventStream:
        try:
            made = middleware(request, call)
            return _checked(await made if inspect.isawaitable(made) else made, middleware)
        except LLMError as error:
            return EventStream.of([ErrorEvent(error)])

    return EventStream.deferred(make)


def _checked(made: object, middleware: Middleware) -> EventStream:
    """Return what *middleware* returned; ConfigurationError unless it is a stream."""
    if isinstance(made, EventStream):
        return made
    name = getattr(middleware, "__qualname__", type(middleware).__name__)
    raise ConfigurationError(
        f"the middleware {name} must return a stream, such as next(request), not {shown_kind(made)}"
    )


def noted(stream: EventStream, *diagnostics: Diagnostic) -> EventStream:
    """Return *stream* with *diagnostics* before those of its `StreamStart`."""
    if not diagnostics:
        return stream

    def change(event: LLMEvent) -> Sequence[LLMEvent]:
        if isinstance(event, StreamStart):
            return (evolve(event, diagnostics=(*diagnostics, *event.diagnostics)),)
        return (event,)

    return stream.map(change)
