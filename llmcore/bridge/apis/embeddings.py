"""Embeddings in OpenAI's and in Google's form, over every upstream that has them.

A request with more texts than the upstream takes at once is sent as several. It is charged like a
response: keys, budgets, rates and rows of spend hold for it too.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from attrs import evolve

from llmcore.bridge.api import OperationRequest
from llmcore.bridge.generation import ChosenModel, Generation
from llmcore.bridge.response_run import (
    CANCELLED,
    CallRecord,
    ErrorForm,
    RunLabels,
    SentResponse,
    WholeBody,
)
from llmcore.bridge.service import Service
from llmcore.bridge.upstream_call import CallLimits, RunContext, embedded
from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.front import FailureResponse, ReadEmbeddings
from llmcore.generation.retrieval import joined
from llmcore.routes.providers import ModelSource
from llmcore.routes.route import Route
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.embeddings import EmbeddingRequest, EmbeddingResponse
from llmcore.schema.errors import UNSUPPORTED_OPERATION, ConfigurationError, LLMError
from llmcore.schema.events import FinishReason
from llmcore.schema.frozen import frozen
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage

Reader: TypeAlias = Callable[[OperationRequest, Model], ReadEmbeddings]
"""Returns a client's request, for a model; raises FrontError."""


@frozen
class Embeddings:
    """The operation, for models as *calls* finds them, and requests as *read* reads them.

    Raises FrontError.
    """

    _calls: Generation[Any]
    _service: Service
    _read: Reader

    async def create(self, call: OperationRequest) -> SentResponse:
        """Return the vectors of a request, to be run."""
        return await self._calls.pooled(call, self._run)

    async def _run(self, call: OperationRequest, chosen: ChosenModel) -> "EmbeddingRun":
        read = self._read(call, chosen.model)
        read = evolve(read, diagnostics=(*call.diagnostics, *read.diagnostics))
        form = self._calls.front.error_form(call.request)
        info = self._calls.labels(chosen, streamed=False)
        return EmbeddingRun(self._service.context, info, chosen.limits, read, form)


class EmbeddingRun(CallRecord):
    """The vectors of one request, as a response that is never streamed, and the record of its call.

    Its tries are not limited: those that failed are free, and each part is charged once.
    """

    failed_calls: Sequence[CallRecord] = ()

    def __init__(
        self,
        context: RunContext,
        info: RunLabels,
        limits: CallLimits,
        read: ReadEmbeddings,
        form: ErrorForm,
    ) -> None:
        super().__init__(info, partial(_as_generation, read.request))
        self._context, self._limits, self._read, self._form = context, limits, read, form
        self.error: LLMError | None = None
        self._response: EmbeddingResponse | None = None
        self._arrived: dict[int, EmbeddingResponse] = {}
        """The responses of the requests that this one is sent as, as far as they came."""

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The run itself."""
        return (self,)

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything that was left out or changed."""
        later = () if self._response is None else self._response.diagnostics
        return (*self._read.diagnostics, *later)

    @property
    def response(self) -> LLMResponse:
        """The model that answered and the tokens, as charges read them: of failed ones, too.

        Those of a client that left are not known: more requests were under way than were answered.
        """
        response = self._response
        if response is None and self._arrived:
            response = joined(tuple(self._arrived.values()))
        usage = Usage() if response is None else response.usage
        return LLMResponse(
            message=Message.assistant(""),
            finish_reason=FinishReason("stop"),
            provider="" if response is None else response.provider,
            model=self.info.upstream.model if response is None else response.model,
            usage=Usage() if self.outcome == CANCELLED else usage,
        )

    async def whole(self) -> WholeBody:
        """Return the response's body; FrontError if the upstream fails."""
        self.is_sent = True
        begun = time.monotonic()
        try:
            response = await embedded(
                self._context, self.info.upstream, self._limits, self._read.request, self._arrived
            )
        except LLMError as error:
            self.error, self.outcome = error, "failed"
            failure = from_llm_error(error)
            if error.error_code == UNSUPPORTED_OPERATION:
                failure = evolve(failure, message=f"{failure.message}: {self._instead()}")
            raise failure from error
        self.first_event_s = time.monotonic() - begun
        self._response, self.outcome = response, "completed"
        return WholeBody(body=json.dumps(self._read.write(response, self.info.model)))

    def _instead(self) -> str:
        """Return which upstreams have embeddings."""
        providers = self._context.client.providers
        if names := [name for name in sorted(providers) if _embeds(providers[name])]:
            return f"of the upstreams here, {', '.join(names)} can embed"
        return "add an upstream that can embed, such as OpenAI, Google, Mistral, Cohere or Voyage"

    def error_response(self, error: FrontError) -> FailureResponse:
        """Return the response of an *error*."""
        return self._form(error)

    async def aclose(self) -> None:
        """Do nothing: the requests end with the task that sent them."""


def _as_generation(request: EmbeddingRequest) -> LLMRequest:
    """Return a request of as many tokens as the texts have, for limits and budgets."""
    return LLMRequest(
        model=request.model,
        messages=tuple(map(Message.user, request.inputs)),
        generation=GenerationOptions(max_tokens=1),
    )


def _embeds(source: ModelSource) -> bool:
    """Return whether the API of *source* has embeddings."""
    from llmcore.routes.retrieval import embedding_protocol

    route = source.model("any").route
    try:
        return isinstance(route, Route) and bool(embedding_protocol(route, "any"))
    except ConfigurationError:
        return False
