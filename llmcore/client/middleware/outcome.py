"""The outcome of a call: a response, or an error with the partial response before it."""

from collections.abc import Callable, Sequence
from typing import Self

from llmcore.client.cost import is_cached
from llmcore.client.event_stream import EventStream
from llmcore.folds.grammar import has_content
from llmcore.schema import codec, json
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ErrorEvent, LLMEvent, StepStart, StreamStart
from llmcore.schema.frozen import frozen
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result, Success
from llmcore.schema.usage import Usage, estimated_tokens, estimated_usage

_TOKENS_PER_MEDIA_PART = 1000
"""The approximate tokens of an image or a page."""


@frozen(kw_only=True)
class CallOutcome:
    """One of: a response; an error; an error and the part of a response."""

    response: LLMResponse | None = None
    error: LLMError | None = None

    @classmethod
    def of(cls, result: Result[LLMResponse, LLMError]) -> Self:
        """Build the outcome of *result*. A partial response counts if one had begun."""
        if isinstance(result, Success):
            return cls(response=result.unwrap())
        error = result.failure()
        began = error.partial is not None and bool(error.partial.provider)
        return cls(response=error.partial if began else None, error=error)

    @property
    def from_cache(self) -> bool:
        """Whether the response is from the cache."""
        return self.response is not None and is_cached(self.response)

    def usage_of(self, request: LLMRequest) -> Usage | None:
        """Return the call's usage, `estimated` if the provider did not report it.

        None if no response to *request* began, and for a response from the cache.
        """
        if self.response is None or self.from_cache:
            return None
        usage = self.response.usage
        if usage.input_tokens is not None and usage.output_tokens is not None:
            return usage
        return estimated_usage(
            usage,
            input_tokens=_first_known(usage.input_tokens, input_tokens_of(request)),
            output_tokens=_first_known(usage.output_tokens, output_tokens_of(self.response)),
        )


def _first_known(count: int | None, estimate: int) -> int:
    return estimate if count is None else count


def input_tokens_of(request: LLMRequest) -> int:
    """Return the approximate tokens of *request*, at four characters each."""
    parts = [part for message in request.messages for part in message.content]
    text = sum(map(_characters, parts)) + sum(len(part.text) for part in request.system)
    tools = sum(len(json.dumps(codec.to_json(tool))) for tool in request.tools)
    media = sum(1 for part in parts if isinstance(part, ImagePart | AudioPart | DocumentPart))
    return estimated_tokens(text + tools) + media * _TOKENS_PER_MEDIA_PART


def output_tokens_of(response: LLMResponse) -> int:
    """Return the approximate tokens of *response*, at four characters each."""
    return estimated_tokens(sum(map(_characters, response.message.content)))


def _characters(part: object) -> int:
    if isinstance(part, TextPart | ReasoningPart | RefusalPart):
        return len(part.text)
    if isinstance(part, ToolCallPart):
        return len(json.dumps(part.arguments))
    if isinstance(part, ToolResultPart):
        return sum(map(_characters, part.parts)) or len(json.dumps(codec.to_json(part)))
    return 0


async def events_ahead(
    stream: EventStream, is_enough: Callable[[Sequence[LLMEvent]], bool]
) -> Sequence[LLMEvent]:
    """Return the events of *stream* up to the batch that *is_enough*; they stay unread."""
    read: list[LLMEvent] = []
    while batch := await stream.next_batch():
        read.extend(batch)
        if is_enough(batch):
            break
    stream.push_back(read)
    return read


def _has_begun(batch: Sequence[LLMEvent]) -> bool:
    return has_content(batch) or not isinstance(batch[-1], StreamStart | StepStart)


async def failure_before_response(stream: EventStream) -> LLMError | None:
    """Return the error with which *stream* ends before any content. All events stay unread."""
    read = await events_ahead(stream, _has_begun)
    last = read[-1] if read else None
    silent = not has_content(read)
    return last.error if silent and isinstance(last, ErrorEvent) else None
