"""Responses that a server gives in parts, each to a request of its own, as one response.

    first request    StreamStart StepStart TextStart TextDelta("The sum") TextEnd StepFinish Finish
    second request   StreamStart StepStart TextStart TextDelta(" is 4.") TextEnd StepFinish Finish

    delivered        StreamStart StepStart TextStart TextDelta("The sum") TextEnd
                     StepStart(continues) TextStart TextDelta(" is 4.") TextEnd StepFinish Finish

Usage and cost are those of all requests. If a request for the rest fails before it brings anything,
the response ends with the parts that have come, and a Diagnostic. Time limits are those of each
request.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from llmcore.client.call import Call
from llmcore.client.cost import total_cost
from llmcore.folds.grammar import has_content
from llmcore.protocols.protocol import RestOfResponse
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.event_base import with_fields
from llmcore.schema.events import (
    TERMINAL_EVENTS,
    ErrorEvent,
    Finish,
    LLMEvent,
    StepFinish,
    StepStart,
    StreamStart,
)
from llmcore.schema.json import ProviderMetadata, without
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.usage import Usage

CUT_SHORT: Final = "turn-cut-short"
"""The code of the Diagnostic of a response whose rest could not be had."""


class LongResponse:
    """The events of a response and of those that continue it, and the response that they make."""

    def __init__(
        self,
        request: LLMRequest,
        ask: Callable[[LLMRequest], Call],
        rest: RestOfResponse,
        price: Callable[[LLMResponse], LLMResponse],
    ) -> None:
        """Read the response to *request* that *ask* returns, and the *rest* of it.

        *price* sets the cost of each part.
        """
        self._request = request
        self._ask = ask
        self._rest = rest
        self._price = price
        self._call = ask(request)
        self._parts: list[LLMResponse] = []
        """The responses that are continued."""
        self._ends: Sequence[LLMEvent] = ()
        """The end of the last of them, until its continuation has content."""
        self._so_far: LLMResponse
        """All of them as one response, with the mark of the place where it ends."""
        self._result: Result[LLMResponse, LLMError] | None = None
        """The response if its last part failed."""
        self._closed = False

    @property
    def partial(self) -> LLMResponse:
        """The response so far."""
        return self._joined(self._call.accumulator.partial)

    def response(self) -> Result[LLMResponse, LLMError]:
        """Return the response once the stream has finished, or the error."""
        return self._result or self._result_of_part().map(self._joined)

    def _result_of_part(self) -> Result[LLMResponse, LLMError]:
        return self._call.accumulator.response().map(self._price)

    async def next_batch(self) -> Sequence[LLMEvent]:
        """Return the next events, at least one; empty after the end."""
        while batch := await self._call.next_batch():
            if not (self._parts or isinstance(batch[-1], TERMINAL_EVENTS)):  # as nearly always
                return batch
            if events := await self._of_whole(batch):
                return events
        return ()

    async def aclose(self) -> None:
        """Free the connection. Idempotent."""
        self._closed = True
        await self._call.aclose()

    async def _of_whole(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        """Return the events of *batch* that belong to the whole response."""
        last = batch[-1]
        if self._ends and has_content(batch):
            self._ends = ()
        if isinstance(last, ErrorEvent):
            return self._failed(batch, last.error)
        events = self._continuing(batch) if self._parts else batch
        if not isinstance(last, Finish):
            return events
        request = None if self._closed else self._rest(self._request, last)
        if request is None:
            return events
        result = self._result_of_part()
        if isinstance(result, Failure):
            return events
        await self._call.aclose()
        response = result.value
        self._request, self._call = request, self._ask(request)
        self._so_far = self._joined(response)
        self._parts.append(_without_sent(response, request))
        self._ends = [event for event in events if isinstance(event, StepFinish | Finish)]
        return [event for event in events if not isinstance(event, StepFinish | Finish)]

    def _continuing(self, batch: Sequence[LLMEvent]) -> Sequence[LLMEvent]:
        """Return the events of a response that continues another one."""
        events: list[LLMEvent] = []
        for event in batch:
            if isinstance(event, StepStart):
                events.append(with_fields(event, continues=True))
            elif isinstance(event, StepFinish):
                events.append(with_fields(event, usage=self._with_earlier(event.usage)))
            elif isinstance(event, Finish):
                usage, parts = self._with_earlier(event.usage), self._parts
                metadata = [*(part.provider_metadata for part in parts), event.provider_metadata]
                merged = reduce(_merged, metadata)
                events.append(with_fields(event, usage=usage, provider_metadata=merged))
            elif not isinstance(event, StreamStart):
                events.append(event)
        return events

    def _failed(self, batch: Sequence[LLMEvent], error: LLMError) -> Sequence[LLMEvent]:
        if not self._ends:
            self._result = self._result_of_part()
            error.partial = None if error.partial is None else self._joined(error.partial)
            return self._continuing(batch) if self._parts else batch
        message = f"the rest of the response could not be had: {error.message}"
        note = Diagnostic(CUT_SHORT, "finish_reason", action="noted", message=message)
        diagnostics = (*self._so_far.diagnostics, note)
        self._result = Success(changed(self._so_far, diagnostics=diagnostics))
        *before, last = self._ends
        notes = (*last.diagnostics, note) if isinstance(last, Finish) else (note,)
        return [*before, with_fields(last, diagnostics=notes)]

    def _joined(self, last: LLMResponse) -> LLMResponse:
        """Return the whole response, of which *last* is the last part."""
        return reduce(_join, [*self._parts, last])

    def _with_earlier(self, usage: Usage | None) -> Usage | None:
        """Return *usage* with that of the parts before."""
        return None if usage is None else sum((part.usage for part in self._parts), usage)


def _join(first: LLMResponse, second: LLMResponse) -> LLMResponse:
    """Return the response that begins with *first* and ends with *second*."""
    content = (*first.message.content, *second.message.content)
    return changed(
        second,
        message=changed(second.message, content=content),
        usage=first.usage + second.usage,
        cost=total_cost((first.cost, second.cost)),
        diagnostics=tuple(dict.fromkeys((*first.diagnostics, *second.diagnostics))),
        sources=(*first.sources, *second.sources),
        provider_metadata=_merged(first.provider_metadata, second.provider_metadata),
    )


def _merged(first: ProviderMetadata, second: ProviderMetadata) -> ProviderMetadata:
    """Return the fields of both by provider, those of the *second* before those of the *first*."""
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in {**first, **second}}


def _without_sent(response: LLMResponse, request: LLMRequest) -> LLMResponse:
    """Return *response* without the metadata that *request* has, which is used up."""
    metadata = response.provider_metadata
    kept = {name: without(fields, *request.http.body) for name, fields in metadata.items()}
    return changed(response, provider_metadata=kept)
