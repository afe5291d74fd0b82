"""`stream`: the events of a run, including tools."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, Self, Unpack

from llmcore.client.event_stream import TextStream
from llmcore.generation.loop import Run
from llmcore.generation.results import GenerateResult, StepResult
from llmcore.generation.settings import Settings, plan_of
from llmcore.generation.signatures import with_settings_listed
from llmcore.schema.events import LLMEvent
from llmcore.schema.hints import with_call_hints, with_names_of_others
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.response import LLMResponse

with_stream_hints: Final = with_names_of_others(
    """
    text content final_text output_text choices delta
        -> iterate over `.text_stream`, or take it from the result: `.result()`
    usage total_usage cost output diagnostics finish_reason tool_calls
        -> it is known at the end, from the result: `.result()`
    get_final_message final_message -> it is that of the last response: `.response()`
    collect read final_result get_final_result -> write `.result()`
    cancel stop abort -> leave its block, or close it
    events event_stream -> iterate over the stream itself
    text_deltas stream_text texts textStream -> write `.text_stream`
    """
)


@with_stream_hints
@with_names_of_others(__enter__="write `async with`, or use llmcore.sync.stream in blocking code")
class StreamResult:
    """The events of a run, over all of its steps. Iterate over it.

    The last event of a run that fails is an `ErrorEvent`, after which iteration raises the error.
    Inside `async with`, the results of a step's tools are yielded as each is ready, and leaving
    the block closes the connection and cancels the tools; without it, they are yielded together.
    Nothing is sent before the first event is read.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._batch: Sequence[LLMEvent] = ()
        self._next = 0

    async def __aenter__(self) -> Self:
        self._run.background = True
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._run.background = False
        await self.aclose()

    def __repr__(self) -> str:
        state = "ended" if self._run.ended else "running" if self._run.partial else "not started"
        text = "" if self._run.partial is None else self._run.partial.text
        return f"StreamResult({state}, steps={len(self._run.steps)}, text={text[-60:]!r})"

    def _repr_markdown_(self) -> str | None:
        """Return what a notebook renders: the response so far; None shows the repr."""
        partial = self._run.partial
        return None if partial is None else partial._repr_markdown_()

    if not TYPE_CHECKING:  # type checkers report these uses by themselves

        def __iter__(self) -> NoReturn:
            """Raise TypeError: the events are read with `async for`."""
            raise TypeError(
                "a StreamResult is read with `async for`; in blocking code use llmcore.sync.stream"
            )

        def __await__(self) -> NoReturn:
            """Raise TypeError: the events are read with `async for`."""
            raise TypeError(
                "a StreamResult is not awaited: read it with `async for`, or "
                "`await stream.result()`"
            )

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LLMEvent:
        if self._next >= len(self._batch):
            self._batch, self._next = await self._run.next_batch(), 0
            if not self._batch:
                if self._run.error is not None:
                    raise self._run.error
                raise StopAsyncIteration
        self._next += 1
        return self._batch[self._next - 1]

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text deltas alone, of all steps. Raises the run's error, as iterating does."""
        return TextStream(self)

    @property
    def partial_response(self) -> LLMResponse | None:
        """The current step's response made of the events so far; None before the first step."""
        return self._run.partial

    @property
    def buffered(self) -> int:
        """The number of events that have arrived and can be read without waiting."""
        return len(self._batch) - self._next

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """The completed steps, also of a run that failed later."""
        return tuple(self._run.steps)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, without an unfinished step."""
        return self._run.messages

    async def result(self) -> GenerateResult[None]:
        """Read the rest and return the result of the run; raises its error."""
        self._batch, self._next = (), 0
        while await self._run.next_batch():
            pass
        return self._run.result()

    async def response(self) -> LLMResponse:
        """Read the rest and return the last response; raises the run's error."""
        return (await self.result()).response

    async def aclose(self) -> None:
        """Close the connection and cancel running tools. Idempotent."""
        await self._run.aclose()


@with_call_hints("name the settings, such as system=...")
@with_settings_listed
def stream(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[Settings]
) -> StreamResult:
    """Return the events of what `generate` would do with the same arguments.

    Contradictory arguments raise InvalidRequestError here; all other errors are raised while
    reading.
    """
    return StreamResult(Run(plan_of("stream", model, prompt, settings), live=True))
