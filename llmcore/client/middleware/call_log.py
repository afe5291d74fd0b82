"""Logs one line for each call, without its content."""

import logging

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.client.middleware.clock import SYSTEM_CLOCK, Clock
from llmcore.client.middleware.continuation import FELL_BACK
from llmcore.client.middleware.outcome import CallOutcome
from llmcore.client.middleware.pricing import Price, listed_price
from llmcore.client.middleware.target import ModelChoice, target_of
from llmcore.client.middleware.usage_hook import CallUsage
from llmcore.schema.codec import to_json
from llmcore.schema.display import with_settings_in_repr
from llmcore.schema.errors import LLMError
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage


@with_checked_arguments()
@with_settings_in_repr
class CallLog:
    """Logs each call when it has ended, without its content.

    The record's fields, for structured logs: `llm_provider`, `llm_model`, `llm_streaming`,
    `llm_duration_s`, `llm_response_model`, `llm_request_id`, `llm_finish_reason`,
    `llm_input_tokens`, `llm_output_tokens`, `llm_estimated`, `llm_cost_usd`, `llm_from_cache`,
    and for failures `llm_error` (the class), `llm_status_code`, `llm_error_code`. What is not
    known is None. Failures are warnings. Messages of errors are left out, since servers quote
    prompts in them.

    - `content`: whether to add `llm_messages`, `llm_response` and `llm_error_message` after all.
      They hold all prompts and responses, including secrets that users typed.
    """

    def __init__(
        self,
        logger: logging.Logger | str = "llmcore.calls",
        *,
        level: int = logging.INFO,
        failure_level: int = logging.WARNING,
        content: bool = False,
        price: Price = listed_price,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._level = level
        self._failure_level = failure_level
        self._content = content
        self._price = price
        self._clock = clock

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Run the call, and log it at its end."""
        started = self._clock.monotonic()
        target = target_of(request, next)

        def end(outcome: CallOutcome) -> None:
            level = self._level if outcome.error is None else self._failure_level
            if self._logger.isEnabledFor(level):
                duration_s = self._clock.monotonic() - started
                fields = self._fields(request, target, outcome)
                fields |= {"llm_streaming": next.streaming, "llm_duration_s": duration_s}
                self._logger.log(level, _line(fields, outcome), extra=fields)

        return next(request).watch(end=lambda result: end(CallOutcome.of(result)))

    def _fields(
        self, request: LLMRequest, target: ModelChoice, outcome: CallOutcome
    ) -> dict[str, object]:
        response, error = outcome.response, outcome.error
        call = CallUsage.of(request, target, outcome, self._price)
        usage = call.usage or (response and response.usage) or Usage()
        fields: dict[str, object] = {
            "llm_provider": target.provider,
            "llm_model": target.model,
            "llm_response_model": response and response.model,
            "llm_request_id": (response and response.request_id) or (error and error.request_id),
            "llm_finish_reason": response and response.finish_reason.reason,
            "llm_input_tokens": usage.input_tokens,
            "llm_output_tokens": usage.output_tokens,
            "llm_estimated": usage.estimated,
            "llm_cost_usd": call.cost_usd,
            "llm_from_cache": outcome.from_cache,
            **_failure(error),
        }
        if self._content:
            fields |= _words(request, outcome)
        return fields


def _failure(error: LLMError | None) -> dict[str, object]:
    return {
        "llm_error": None if error is None else type(error).__name__,
        "llm_status_code": None if error is None else error.status_code,
        "llm_error_code": None if error is None else error.error_code,
    }


def _words(request: LLMRequest, outcome: CallOutcome) -> dict[str, object]:
    response, error = outcome.response, outcome.error
    return {
        "llm_messages": [to_json(message) for message in request.messages],
        "llm_response": None if response is None else to_json(response.message),
        "llm_error_message": None if error is None else error.message,
    }


def _line(fields: dict[str, object], outcome: CallOutcome) -> str:
    """Return the log line: the most important of *fields*, and which other model answered."""
    ended = fields["llm_error"] or fields["llm_finish_reason"]
    where = f"{fields['llm_provider']}/{fields['llm_model']}"
    response = outcome.response
    if response is not None and any(note.code == FELL_BACK for note in response.diagnostics):
        where = f"{where} -> {response.provider}/{response.model}"
    line = f"{where}: {ended}, {fields['llm_duration_s']:.3f} s"
    counts = fields["llm_input_tokens"], fields["llm_output_tokens"]
    if counts != (None, None):
        line += f", {'+'.join('?' if count is None else str(count) for count in counts)} tokens"
    cost = fields["llm_cost_usd"]
    return line if cost is None else f"{line}, ${cost:.6f}"
