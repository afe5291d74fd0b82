"""Several choices of one response, each of them an upstream call of its own.

Most APIs have no `n`: a client of Chat Completions that asks for three choices gets the responses
of three calls, as one completion or as one stream in which the choices take turns.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
from attrs import evolve

from llmcore.bridge.response_run import CallRecord, ResponseRun, RunLabels, WholeBody
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import Event, FailureResponse, StreamEncoding
from llmcore.fronts.openai_chat.chunks import as_choice, joined
from llmcore.schema import json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen

_T = TypeVar("_T")


@frozen
class _Choice:
    """Encodes the chunks of one choice; its usage is withheld for the last chunk of all choices."""

    index: int
    encoding: StreamEncoding
    usages: list[Event]

    def encode(self, chunk: Event) -> bytes:
        if "error" in chunk:
            return self.encoding.encode(chunk)
        if chunk["choices"]:
            return self.encoding.encode(as_choice(self.index, chunk))
        self.usages.append(chunk)
        return b""


class ChoicesRun:
    """A response of several choices. Its facts are those of the first, where they differ."""

    failed_calls: Sequence[CallRecord] = ()

    def __init__(
        self,
        count: int,
        encoding: StreamEncoding,
        run: Callable[[int, StreamEncoding], ResponseRun],
    ) -> None:
        """Make *count* responses; *run* returns the one of an index, with the encoding to use."""
        self._encoding = encoding
        self._usages: list[Event] = []
        encodings = (
            evolve(encoding, encode=_Choice(index, encoding, self._usages).encode, tail=b"")
            for index in range(count)
        )
        self._runs = [
            run(index, evolve(each, heartbeat=b"")) for index, each in enumerate(encodings)
        ]
        self._live = list(self._runs)
        self._ended = False

    @property
    def info(self) -> RunLabels:
        """The facts of the response that headers and logs name."""
        return self._runs[0].info

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The call of each choice."""
        return [call for run in self._runs for call in run.calls]

    @property
    def error(self) -> LLMError | None:
        """Why the response failed, if it did: one failed choice fails all."""
        return next((run.error for run in self._runs if run.error is not None), None)

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Everything dropped, changed or added so far, in all choices."""
        return [note for run in self._runs for note in run.diagnostics]

    @property
    def content_type(self) -> str:
        """The content type of the stream."""
        return self._encoding.content_type

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the upstream that clients of a stream can use."""
        return self._runs[0].headers

    def error_response(self, error: FrontError) -> FailureResponse | WholeBody:
        """Return the response of an *error* that comes before anything was sent."""
        return self._runs[0].error_response(error)

    async def next_bytes(self) -> bytes:
        """Return what comes next of each choice; empty after the last of all.

        Raises FrontError for a failure before anything was handed out.
        """
        while self._live and not self._ended:
            pieces = await _all([run.next_bytes for run in self._live])
            pairs = list(zip(self._live, pieces, strict=True))
            failed = next((piece for run, piece in pairs if run.error is not None), b"")
            self._ended = bool(failed)
            succeeded = b"".join(piece for run, piece in pairs if run.error is None)
            self._live = [run for run, piece in pairs if piece]
            if succeeded or failed:
                return succeeded + failed
        if self._ended:
            return b""
        self._ended = True
        usage = self._encoding.encode(joined(self._usages)) if self._usages else b""
        return usage + self._encoding.tail

    async def keep_alive(self) -> bytes:
        """Return the chunks that open the stream, or else a heartbeat."""
        opened = [await run.keep_alive() for run in self._live]
        return b"".join(opened) or self._encoding.heartbeat

    async def failed_bytes(self, error: LLMError) -> bytes:
        """Return the bytes that end a stream with *error*; none if it has ended."""
        if self._ended:
            return b""
        self._ended = True
        for run in self._live:
            if data := await run.failed_bytes(error):
                return data
        return b""

    async def whole(self) -> WholeBody:
        """Return the response in one piece; FrontError if a choice has none."""
        responses = await _all([run.whole for run in self._runs])
        bodies: list[Any] = [json.loads(response.body) for response in responses]
        numbered = [as_choice(index, body) for index, body in enumerate(bodies)]
        return WholeBody(body=json.dumps(joined(numbered)))

    async def aclose(self) -> None:
        """Close the calls that are still running."""
        for run in self._runs:
            await run.aclose()


async def _all(steps: Sequence[Callable[[], Awaitable[_T]]]) -> list[_T]:
    """Return what all *steps* return, taken at once; the first FrontError ends the others."""
    results: dict[int, _T] = {}
    errors: list[FrontError] = []

    async def take(index: int, step: Callable[[], Awaitable[_T]]) -> None:
        try:
            results[index] = await step()
        except FrontError as error:
            errors.append(error)
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for index, step in enumerate(steps):
            tasks.start_soon(partial(take, index, step))
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(steps))]
