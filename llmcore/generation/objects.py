"""`generate_object` and `stream_object`: answers that are objects of a wanted shape."""

import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from attrs import evolve

from llmcore.generation.generate import completed
from llmcore.generation.loop import Run
from llmcore.generation.object_schema import Accepted, ObjectSchema
from llmcore.generation.object_text import Document, document_in
from llmcore.generation.partial_objects import (
    ElementScanner,
    PartialValue,
    contains,
)
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of, signed
from llmcore.generation.stream import StreamResult
from llmcore.schema import json
from llmcore.schema.content import RefusalPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, NoObjectGeneratedError
from llmcore.schema.events import LLMEvent, StepStart, TextDelta
from llmcore.schema.json import JsonValue
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.response import LLMResponse

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_Element = TypeVar("_Element")
_F = TypeVar("_F", bound=Callable[..., object])

_STOPPED = {
    "length": "the answer was cut off at the limit of output tokens; raise max_tokens",
    "content_filter": "the answer was withheld by a content filter",
    "tool_calls": "the run ended with calls of tools that have no answer",
    "error": "the answer ended with an error",
}
"""Finish reasons after which there is no whole object."""


def _with_schema(function: _F) -> _F:
    """Return *function* with its settings spelled out in its signature."""
    own = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.name.startswith("schema")
    ]
    spelled = inspect.signature(signed(function))
    parameters = [one for name, one in spelled.parameters.items() if name != "response_format"]
    whole = spelled.replace(parameters=[*parameters[:2], *own, *parameters[2:]])
    function.__signature__ = whole  # type: ignore[attr-defined]
    return function


@overload
async def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[_T]: ...


@overload
async def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[Any]: ...


@_with_schema
async def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[Any]:
    """Do what `generate` does, and return the answer as an object, in `output`.

    *schema* is a JSON Schema, which gives plain JSON, or a type: an attrs class, dataclass,
    TypedDict, msgspec struct, pydantic model, or a list of them. Raises
    NoObjectGeneratedError, with the whole response as `partial`, if the answer is no such
    object; it is not asked for again.
    """
    wanted = ObjectSchema.of(schema)
    plan = plan_of("generate_object", model, prompt, settings)
    plan = _with_format(plan, wanted.response_format(schema_name, schema_description))
    return _with_output(await completed(plan), wanted)


def _with_format(plan: RunPlan, made: ResponseFormat) -> RunPlan:
    """Return *plan* with the response format that its schema makes."""
    request = plan.request
    if plan.response_format is not None or (request and request.response_format is not None):
        raise InvalidRequestError("give schema alone: response_format is made from it")
    if request is not None:
        return evolve(plan, request=evolve(request, response_format=made))
    return evolve(plan, response_format=made)


# -- from an answer to an object


def _with_output(result: GenerateResult, wanted: ObjectSchema) -> GenerateResult:
    """Return *result* with the object that its answer spells; NoObjectGeneratedError if none."""
    document, accepted = _object_in(result.response, wanted)
    notes = (*_text_around(document), *_absences(accepted))
    if not notes:
        return evolve(result, output=accepted.value)
    last = result.last
    response = evolve(last.response, diagnostics=(*last.response.diagnostics, *notes))
    steps = (*result.steps[:-1], evolve(last, response=response))
    return evolve(result, steps=steps, output=accepted.value)


def _object_in(response: LLMResponse, wanted: ObjectSchema) -> tuple[Document, Accepted]:
    refusals = [part.text for part in response.message.content if isinstance(part, RefusalPart)]
    if refusals:
        raise _no_object(response, "refusal", f"the model refused: {''.join(refusals)}")
    reason = response.finish_reason.reason
    if reason in _STOPPED:
        raise _no_object(response, reason, _STOPPED[reason], _best_effort(response, wanted))
    try:
        document = document_in(response.text)
    except ValueError as error:
        so_far = _best_effort(response, wanted)
        message = f"the answer is no JSON: {error}"
        raise _no_object(response, "not_json", message, so_far) from error
    value = wanted.unwrapped(document.value)
    try:
        return document, wanted.accept(value)
    except ValueError as error:
        message = f"the answer does not fit the schema: {error}"
        raise _no_object(response, "invalid", message, value) from error


def _best_effort(response: LLMResponse, wanted: ObjectSchema) -> JsonValue:
    """Return what an answer that is no whole document says."""
    return _Partials(wanted, response.text).read()


def _no_object(
    response: LLMResponse, code: str, message: str, value: JsonValue = None
) -> NoObjectGeneratedError:
    return NoObjectGeneratedError(
        message,
        provider=response.provider,
        error_code=code,
        request_id=response.request_id,
        partial=response,
        raw=value,
    )


def _text_around(document: Document) -> tuple[Diagnostic, ...]:
    if document.bare:
        return ()
    message = "the answer has other text around its JSON document"
    return (Diagnostic("text-around-object", "text", action="dropped", message=message),)


def _absences(accepted: Accepted) -> tuple[Diagnostic, ...]:
    message = "null stands for an optional property that is absent"
    return tuple(
        Diagnostic("null-as-absent", f"output{path[1:]}", action="dropped", message=message)
        for path in accepted.absent
    )


# -- while it arrives


class _Partials:
    """The values of an answer's text as it grows."""

    def __init__(self, wanted: ObjectSchema, text: str = "") -> None:
        self._wanted = wanted
        self._value = PartialValue("{[" if wanted.wrapped else "{")
        self.feed(text)

    def feed(self, text: str) -> JsonValue:
        """Take in more text; return the value so far, or None."""
        return self._inner(self._value.feed(text))

    def read(self) -> JsonValue:
        """Return what all of the text says, or None."""
        return self._inner(self._value.read())

    def _inner(self, document: JsonValue) -> JsonValue:
        if document == {} and self._wanted.wrapped:
            return None
        return self._wanted.unwrapped(document)


class _ObservedStream(StreamResult):
    """A stream that shows each event to somebody before whoever reads it."""

    def __init__(self, run: Run, observe: Callable[[LLMEvent], None]) -> None:
        super().__init__(run)
        self._observe = observe

    async def __anext__(self) -> LLMEvent:
        event = await super().__anext__()
        self._observe(event)
        return event


class StreamObjectResult(Generic[_T_co]):
    """An object that arrives: iterate over it for partial objects, as plain JSON.

    Each of them contains the one before. They are not validated, and in long answers not
    every delta makes one. After the last of them, iteration raises what `object` raises.
    """

    def __init__(self, run: Run, wanted: ObjectSchema) -> None:
        self.stream: StreamResult = _ObservedStream(run, self._observe)
        """The events. What is read here is not missed by the other views."""
        self._wanted = wanted
        self._partials = _Partials(wanted)
        self._scanner = ElementScanner()
        self._latest: JsonValue = None
        self._fresh = False
        self._restarted = False
        self._flushed = False
        self._elements: _Elements[Any] | None = None
        self._result: GenerateResult[_T_co] | None = None

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stream.__aexit__(*exc)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> JsonValue:
        while not self._fresh and await self._advance():
            pass
        if not self._fresh and not self._flushed:
            self._flushed = True
            self._offer(self._partials.read())
        if self._fresh:
            self._fresh = False
            return self._latest
        await self.result()
        raise StopAsyncIteration

    @property
    def element_stream(
        self: "StreamObjectResult[Collection[_Element]]",
    ) -> AsyncIterator[_Element]:
        """The elements of an array, each once, when it is complete and validated.

        InvalidRequestError if the schema's root is no array. An element that is not valid
        ends it; what is left is read, and NoObjectGeneratedError raised.
        """
        if self._elements is None:
            self._elements = _Elements(self, self._wanted.elements())
        return self._elements

    async def object(self) -> _T_co:
        """Read what is left and return the validated object; raises as `generate_object`."""
        return (await self.result()).output

    async def result(self) -> GenerateResult[_T_co]:
        """Read what is left and return what `generate_object` would."""
        if self._result is None:
            self._result = _with_output(await self.stream.result(), self._wanted)
        return self._result

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        await self.stream.aclose()

    async def _advance(self) -> bool:
        """Read an event; return whether there was one."""
        try:
            await anext(self.stream)
        except StopAsyncIteration:
            return False
        return True

    def _observe(self, event: LLMEvent) -> None:
        if isinstance(event, TextDelta):
            if self._wanted.is_array:
                self._scanner.feed(event.text)
            self._offer(self._partials.feed(event.text))
        elif isinstance(event, StepStart) and event.step:  # what was said before a tool's call
            self._restarted = True
            self._partials, self._scanner = _Partials(self._wanted), ElementScanner()

    def _offer(self, value: JsonValue) -> None:
        """Keep *value* for whoever iterates, if it is more than they have."""
        if value is None or value == self._latest:
            return
        if self._restarted and self._latest is not None and not contains(value, self._latest):
            return
        self._latest, self._fresh = value, True


class _Elements(Generic[_Element]):
    """An array's elements. An object, since a generator left in the middle is nobody's to close."""

    def __init__(
        self, source: "StreamObjectResult[Any]", convert: Callable[[JsonValue], _Element]
    ) -> None:
        self._source = source
        self._convert = convert
        self._delivered: list[JsonValue] = []
        self._misread = False
        self._rest: deque[JsonValue] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Element:
        while self._rest is None:
            found = self._source._scanner.found  # noqa: SLF001  (the two are one)
            if found and not self._misread:
                try:
                    return self._taken(json.loads_exact(found.popleft()))
                except ValueError:
                    self._misread = True
            elif not await self._source._advance():  # noqa: SLF001
                self._rest = await self._left()
        if not self._rest:
            raise StopAsyncIteration
        return self._convert(self._rest.popleft())

    def _taken(self, element: JsonValue) -> _Element:
        value = self._convert(element)
        self._delivered.append(element)
        return value

    async def _left(self) -> deque[JsonValue]:
        """Return the elements that were not delivered, of an array that is valid as a whole."""
        response = (await self._source.result()).response
        document = document_in(response.text).value
        whole = self._source._wanted.unwrapped(document)  # noqa: SLF001
        elements = list(whole) if isinstance(whole, list) else []
        count = len(self._delivered)
        if elements[:count] != self._delivered:
            message = "the elements that came first are not those of the final answer"
            raise _no_object(response, "invalid", message, elements)
        return deque(elements[count:])


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: type[_T],
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[_T]: ...


@overload
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[Any]: ...


@_with_schema
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[Any]:
    """Return the object that `generate_object` would, while it arrives.

    What is wrong with the arguments is raised here; everything else while reading.
    """
    wanted = ObjectSchema.of(schema)
    plan = plan_of("stream_object", model, prompt, settings)
    plan = _with_format(plan, wanted.response_format(schema_name, schema_description))
    return StreamObjectResult(Run(plan, live=True), wanted)
