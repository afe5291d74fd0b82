"""Falls back to another model when one fails."""

import builtins
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias, Union

from attrs import evolve

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next, noted
from llmcore.client.middleware.continuation import ContinuedResponse, failed_attempt, shown_failure
from llmcore.client.middleware.outcome import events_ahead, failure_before_response
from llmcore.client.middleware.rest_request import Attempt, rest_of
from llmcore.client.middleware.target import ModelChoice, target_of
from llmcore.routes.providers import split_api
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import (
    AbortError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    LLMError,
    NetworkError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
)
from llmcore.schema.events import ErrorEvent, Finish
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure

Alternative: TypeAlias = Union[str, Model, tuple[str, str]]
"""A model id of the same provider, `provider:model`, a configured model, or a pair of both ids."""

FALLS_BACK_ON: tuple[type[LLMError], ...] = (
    ServerError,  # overloaded ones, too
    RateLimitError,
    NetworkError,
    RequestTimeoutError,
    NotFoundError,
)
"""The errors after which another model is called."""


class RejectedResponseError(LLMError):
    """A response that the function `reject` of a `Fallback` did not accept."""


@with_checked_arguments(
    models="write Fallback('openai:gpt-5.2', ...)",
    fallbacks="write Fallback('openai:gpt-5.2', ...)",
)
@with_settings_in_repr
class Fallback:
    """Sends the request to one model after another until one begins to answer.

    The first is the request's own. The next one follows after an error of the classes *on*, and
    only until a part of a response was delivered: text or a tool call. Each failed attempt is a
    Diagnostic (`model-fallback`) of the response; if all fail, the error is that of the request's
    own model, with notes about the others. Without the provider of an alternative, creating
    the client, or its first call, raises ConfigurationError.

    - `for_long_requests`: the models after a ContextLengthError, such as one of a larger window.
    - `for_filtered_requests`: the models after a ContentFilterError.
    - `reject`: a function of a response; where it returns True, the next model answers. Streams
      are then delivered when they are complete. The last response is delivered in any case.
    - `continue_after_cut`: how many times a response that is cut after its beginning, by one of
      these errors or a StreamError, is continued by the next model; 0, the default, leaves it an
      error. Each is a Diagnostic (`response-continued`); usage and cost are those of all models.
    """

    def __init__(
        self,
        *models: Alternative,
        on: Sequence[type[LLMError]] = FALLS_BACK_ON,
        for_long_requests: Sequence[Alternative] = (),
        for_filtered_requests: Sequence[Alternative] = (),
        reject: Callable[[LLMResponse], bool] | None = None,
        continue_after_cut: int = 0,
    ) -> None:
        if not (models or for_long_requests or for_filtered_requests):
            raise ConfigurationError("name at least one model to fall back to")
        for model in (*models, *for_long_requests, *for_filtered_requests):
            if isinstance(model, list):
                message = "give the models one by one"
                raise ConfigurationError(f"{message}: Fallback('openai:gpt-5.2', ...)")
        if any(issubclass(AbortError, kind) for kind in on):
            raise ConfigurationError("an aborted call must not continue with another model")
        self._lists: dict[type[LLMError], Sequence[Alternative]] = dict.fromkeys(on, models)
        if for_long_requests:
            self._lists[ContextLengthError] = for_long_requests
        if for_filtered_requests:
            self._lists[ContentFilterError] = for_filtered_requests
        self._models = models
        self._reject = reject
        self._continue_after_cut = continue_after_cut
        self._checked: set[str] = set()

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call with the first model that begins to answer."""
        if (fault := self._fault(request, next)) is not None:
            return EventStream.of([ErrorEvent(fault)])
        failures: list[tuple[ModelChoice, LLMError]] = []
        queues: _Queues = {}
        attempt: LLMRequest | None = request
        while attempt is not None:
            stream = self._stream(attempt, request, next, queues)
            error = await failure_before_response(stream)
            if error is None and self._reject is not None:
                error = await _rejection(stream, self._reject)
            listed = () if error is None else self._after(error)
            model = builtins.next(_queue(queues, listed), None)
            rejected = isinstance(error, RejectedResponseError)
            if error is None or (rejected and model is None):
                return noted(stream, *(failed_attempt(*failure) for failure in failures))
            await stream.aclose()
            failures.append((target_of(attempt, next), error))
            attempt = None if model is None else _asking(model, request, next)
        _, first = failures[0]
        for target, error in failures[1:]:
            first.add_note(shown_failure(target, error))
        return EventStream.of([ErrorEvent(first)])

    def _stream(
        self, attempt: LLMRequest, request: LLMRequest, next: Next, queues: "_Queues"
    ) -> EventStream:
        """Return the response to *attempt*, which the models that are left continue if cut."""
        stream = next(attempt)
        if not self._continue_after_cut:
            return stream

        def attempts(partial: LLMResponse, error: LLMError) -> Iterator[Attempt] | None:
            cut = isinstance(error, StreamError) and error.retryable
            listed = self._models if cut else self._after(error)
            if not listed:
                return None
            requests = (_asking(model, request, next) for model in _queue(queues, listed))
            return (rest_of(each, partial, target_of(each, next), next) for each in requests)

        first = Attempt(stream=stream, request=attempt, target=target_of(attempt, next))
        source = ContinuedResponse(first, attempts, self._continue_after_cut)
        return EventStream(source, source.accumulator, source.priced)

    def _after(self, error: LLMError) -> Sequence[Alternative]:
        """Return the models that follow *error*, by the nearest of its classes."""
        if isinstance(error, RejectedResponseError):
            return self._models
        kinds = (kind for kind in type(error).__mro__ if kind in self._lists)
        kind = builtins.next(kinds, None)
        return () if kind is None else self._lists[kind]

    def check(self, providers: Collection[str]) -> None:
        """Raise ConfigurationError if the provider of an alternative is not in *providers*."""
        for model in self._alternatives():
            provider, model_id = _named(model, providers)
            if provider is not None and provider not in providers:
                from llmcore.client.environment import unconfigured  # loads the catalog's modules

                fault = unconfigured(provider, model_id, providers).message
                raise ConfigurationError(f"Fallback to {model_id!r}: {fault}")

    def _fault(self, request: LLMRequest, next: Next) -> LLMError | None:
        """Return the error of an alternative whose provider the client lacks.

        `check` leaves `mistral:7b` to a server of the user's, if the client can reach one. In a
        request to a vendor it names a provider, and the error must not wait for a failure.
        """
        vendor = target_of(request, next).provider
        if vendor in self._checked:
            return None
        for model in self._alternatives():
            if _named(model, (vendor,))[0] is not None:
                found = next.resolve(_asking(model, evolve(request, provider=None), next))
                if isinstance(found, Failure):
                    return found.failure()
        self._checked.add(vendor)
        return None

    def _alternatives(self) -> Iterator[Alternative]:
        listed = {id(models): models for models in (self._models, *self._lists.values())}
        return (model for models in listed.values() for model in models)


_Queues: TypeAlias = dict[int, Iterator[Alternative]]
"""The models of each list that were not asked yet."""


def _queue(queues: _Queues, listed: Sequence[Alternative]) -> Iterator[Alternative]:
    return queues.setdefault(id(listed), iter(listed))


def _named(model: Alternative, providers: Collection[str]) -> tuple[str | None, str]:
    """Return the provider and the id that *model* names.

    No provider for an id that may be one of a configured server, as `mistral:7b` may be.
    """
    if isinstance(model, tuple):
        return model
    before, colon, after = ("", "", "") if isinstance(model, Model) else model.partition(":")
    before = before if before in providers else split_api(before)[0]
    if not colon or before in providers:
        return None, after
    from llmcore.catalog.model_names import PROVIDER_ALIASES  # loads the catalog's modules
    from llmcore.catalog.records import catalog
    from llmcore.client.environment import nearest_provider

    servers = set(providers) - {*catalog().by_provider, *PROVIDER_ALIASES}
    meant = None if servers else nearest_provider(before, cutoff=0.8)
    return (before if meant else None), after


def _asking(model: Alternative, request: LLMRequest, next: Next) -> LLMRequest:
    """Return *request* for another *model*."""
    if isinstance(model, tuple):
        provider, model_id = model
        return evolve(request, model=model_id, provider=provider)
    if isinstance(model, str) and ":" in model:
        named = evolve(request, model=model, provider=None)
        resolved = next.resolve(named).value_or(None)
        if resolved is not None and resolved.id != model:  # its prefix is a provider
            return named
    if isinstance(model, Model) or isinstance(request.model, str):
        return evolve(request, model=model)
    route = target_of(request, next).route
    if route is not None:
        return evolve(request, model=route.model(model))
    return evolve(request, model=model, provider=request.provider_id)


async def _rejection(stream: EventStream, reject: Callable[[LLMResponse], bool]) -> LLMError | None:
    """Return the error of a response that *reject* rejects. All events stay unread."""
    read = await events_ahead(stream, lambda _batch: False)
    if read and isinstance(read[-1], Finish) and reject(stream.partial_response):
        return RejectedResponseError("the response was rejected by the function reject")
    return None
