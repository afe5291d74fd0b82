"""The facts of a response that are not in its body, added to its events and errors."""

from collections.abc import Mapping
from typing import Final

import msgspec

from llmcore.protocols.response_parts import served_tier
from llmcore.schema.changed import changed, copying
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.events import (
    Finish,
    LLMEvent,
    StepFinish,
    StreamStart,
    ToolCall,
    ToolInputStart,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import RateLimitInfo

FILLED: Final = frozenset({StreamStart, ToolInputStart, ToolCall, StepFinish, Finish})
"""The types of the events that `ResponseFacts` fills."""
_REPLACED: Final = Diagnostic(
    "invalid-utf8-replaced",
    "",
    action="changed",
    message="bytes of the response that are not UTF-8 were read as U+FFFD",
)
_with_facts: Final = copying(StreamStart, "diagnostics", "rate_limit", "request_id")


class ResponseContext(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a response that are not in its body."""

    diagnostics: tuple[Diagnostic, ...] = ()
    rate_limit: RateLimitInfo | None = None
    request_id: str | None = None
    service_tier: str | None = None
    """The tier that served the response, where only a header states it."""


class ResponseFacts:
    """Fills the events and errors of one response, from its head and from its request."""

    def __init__(
        self,
        request: LLMRequest,
        tool_names: Mapping[str, str],
        context: ResponseContext,
        frames: list[JsonValue] | None,
    ) -> None:
        """*tool_names* has the caller's name of each tool that was renamed in the request.

        *frames* are the native frames, which its reader adds to; None if they are not wanted.
        """
        self._provider = request.provider_id or None
        self._tool_names = tool_names
        self._context = context
        self._frames = frames
        self.was_replaced = False
        """Whether bytes that are not UTF-8 were replaced."""

    @property
    def concern_end(self) -> bool:
        """Whether the end of a response without calls is to be filled, too."""
        return bool(self._context.service_tier or self.was_replaced or self._frames)

    def filled(self, event: LLMEvent) -> LLMEvent:
        """Return *event*, which is of a type in `FILLED`, with the facts that belong to it."""
        if isinstance(event, StreamStart):
            return self._filled_start(event)
        if isinstance(event, (ToolInputStart, ToolCall)):
            name = None if event.provider_executed else self._tool_names.get(event.name)
            return event if name is None else changed(event, name=name)
        if self._context.service_tier and isinstance(event, StepFinish | Finish):
            event = _with_tier(event, self._context.service_tier)
        if self.was_replaced and isinstance(event, Finish):
            event = changed(event, diagnostics=(*event.diagnostics, _REPLACED))
        if self._frames and isinstance(event, Finish) and event.raw is None:
            event = changed(event, raw=self._frames)
        return event

    def _filled_start(self, start: StreamStart) -> StreamStart:
        context = self._context
        if not (context.diagnostics or context.rate_limit or context.request_id):
            return start
        return _with_facts(
            start,
            (*context.diagnostics, *start.diagnostics),
            start.rate_limit or context.rate_limit,
            start.request_id or context.request_id,
        )

    def fill_error(self, error: LLMError) -> None:
        """Set the provider, the request's id and the rate limits of *error* where it lacks them."""
        if error.provider is None:
            error.provider = self._provider
        if error.request_id is None:
            error.request_id = self._context.request_id
        if error.rate_limit is None:
            error.rate_limit = self._context.rate_limit


def _with_tier(event: StepFinish | Finish, tier: str) -> StepFinish | Finish:
    if event.usage is None or event.usage.service_tier is not None:
        return event
    return changed(event, usage=changed(event.usage, service_tier=served_tier(tier)))
