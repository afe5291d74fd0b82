"""Spreads the calls of one model over several keys or accounts."""

from collections.abc import Sequence
from typing import TypeAlias, Union

from attrs import define, evolve

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.fallback import FALLS_BACK_ON
from llmcore.client.middleware.outcome import failure_before_response
from llmcore.client.middleware.serial import SerialExecutor
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import (
    AuthenticationError,
    ConfigurationError,
    LLMError,
    QuotaExceededError,
)
from llmcore.schema.events import ErrorEvent
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest

Weighted: TypeAlias = Union[Model, tuple[Model, float]]
"""A configured model, and how many calls it gets in proportion to the others (1 by default)."""


@define(eq=False)
class _Configuration:
    model: Model
    weight: float
    credit: float = 0.0
    closed_until: float = 0.0


@with_checked_arguments()
@with_settings_in_repr
class Balance:
    """Sends each request for a model to one of several configurations of it, by their weights.

        keys = [OpenAI(api_key=key).chat("gpt-5.2") for key in (first, second)]
        client = Client(middleware=[Balance((keys[0], 3), (keys[1], 1))])

    A request is one for the model if it has the provider and model of the first configuration;
    others are passed on. Calls are spread evenly in the proportion of the weights. After an error
    of the classes *on*, before anything of the response was seen, the next configuration answers,
    and the one that failed gets no calls for `retry_after`, or else for *pause_s* seconds. If all
    fail, the error is that of the last one.
    """

    def __init__(
        self,
        *models: Weighted,
        on: Sequence[type[LLMError]] = (*FALLS_BACK_ON, AuthenticationError, QuotaExceededError),
        pause_s: float = 10.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        pairs = [item if isinstance(item, tuple) else (item, 1.0) for item in models]
        if not all(isinstance(model, Model) for model, _ in pairs):
            raise ConfigurationError("give the models one by one: Balance((MODEL, 3), (MODEL, 1))")
        if not pairs or any(not weight > 0 for _, weight in pairs):
            raise ConfigurationError("Balance needs configured models with weights above 0")
        self._models = models
        self._configurations = [_Configuration(model, weight) for model, weight in pairs]
        self._on = tuple(on)
        self._pause_s = pause_s
        self._clock = clock
        self._serial = SerialExecutor()

    async def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call with the configuration whose turn it is."""
        first = self._configurations[0].model
        if (request.provider_id, request.model_id) != (first.provider, first.id):
            return next(request)
        configurations = await self._serial.submit(self._in_turn)
        while True:
            configuration = configurations.pop(0)
            stream = next(evolve(request, model=configuration.model, provider=None))
            error = await failure_before_response(stream)
            if not isinstance(error, self._on):
                return stream
            await stream.aclose()
            configuration.closed_until = self._clock.monotonic() + (
                error.retry_after or self._pause_s
            )
            if not configurations:
                return EventStream.of([ErrorEvent(error)])

    def _in_turn(self) -> list[_Configuration]:
        """Return the configurations in the order in which they are asked.

        Each turn gives every open one its weight as credit; the one with the most credit pays for
        the turn, so that turns alternate as evenly as the weights allow.
        """
        now = self._clock.monotonic()
        usable = [target for target in self._configurations if target.closed_until <= now]
        for target in usable:
            target.credit += target.weight
        order = sorted(usable, key=lambda target: -target.credit)
        if order:
            order[0].credit -= sum(target.weight for target in usable)
        closed = [target for target in self._configurations if target.closed_until > now]
        return [*order, *sorted(closed, key=lambda target: target.closed_until)]
