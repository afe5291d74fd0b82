"""`generate_object` and `stream_object`: structured output of a given schema."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar, Unpack, overload

from attrs import evolve

from llmcore.client.call_hints import with_awaited_hints
from llmcore.generation.generate import completed
from llmcore.generation.loop import ResponseCheck, Run
from llmcore.generation.object_schema import Accepted, ObjectSchema
from llmcore.generation.partial_objects import (
    Document,
    ElementScanner,
    PartialValue,
    contains,
    document_in,
)
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.generation.signatures import with_settings_listed
from llmcore.generation.stream import StreamResult
from llmcore.protocols.response_parts import CommentaryAsReasoning, is_commentary
from llmcore.schema import json
from llmcore.schema.content import RefusalPart, text_of
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import InvalidRequestError, NoObjectGeneratedError
from llmcore.schema.events import LLMEvent, StepStart, TextDelta
from llmcore.schema.hints import with_names_of_others
from llmcore.schema.json import JsonValue
from llmcore.schema.model import Model
from llmcore.schema.options import ResponseFormat
from llmcore.schema.response import LLMResponse

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_Element = TypeVar("_Element")
_Partial = TypeVar("_Partial")

_STOPPED = {
    "length": "the response was cut off at the limit of output tokens; increase max_tokens",
    "content_filter": "the response was withheld by a content filter",
    "tool_calls": "the run ended with tool calls that have no result",
    "error": "the response ended with an error",
}
"""Messages for finish reasons that leave the object incomplete."""


_with_hints = with_awaited_hints(
    **dict.fromkeys(
        ("response_model", "output_type", "response_format", "type", "output"), "schema"
    )
)
_with_settings = partial(with_settings_listed, without=frozenset({"response_format"}))


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


@_with_hints
@_with_settings
async def generate_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> GenerateResult[Any]:
    """Do what `generate` does, and return the response parsed and validated in `output`.

    *schema* is a JSON Schema, for which the object is plain JSON, or a type: an attrs class,
    dataclass, TypedDict, msgspec struct, pydantic model, or a list of them. Raises
    NoObjectGeneratedError, with the response as `partial`, if the response does not match it. With
    `validation_retries`, the model is first asked again, with the reason.
    """
    object_schema = ObjectSchema.of(schema)
    plan = plan_of("generate_object", model, prompt, settings)
    plan = _with_format(plan, object_schema.response_format(schema_name, schema_description))
    return _with_output(await completed(plan, _check_of(object_schema)), object_schema)


def _with_format(plan: RunPlan, made: ResponseFormat) -> RunPlan:
    """Return *plan* with *made* as its response format."""
    request = plan.request
    if plan.response_format is not None or (request and request.response_format is not None):
        raise InvalidRequestError("give schema without response_format, which is made from it")
    if request is not None:
        return evolve(plan, request=evolve(request, response_format=made))
    return evolve(plan, response_format=made)


# -- from a response to an object


def _check_of(schema: ObjectSchema) -> ResponseCheck:
    """Return the check for responses that have no such object, but could have."""

    def check(response: LLMResponse) -> str | None:
        try:
            _object_in(response, schema)
        except NoObjectGeneratedError as error:
            return error.message if error.error_code in ("not_json", "invalid") else None
        return None

    return check


def _with_output(result: GenerateResult, schema: ObjectSchema) -> GenerateResult:
    """Return *result* with the object in its response; NoObjectGeneratedError if there is none."""
    document, accepted = _object_in(result.response, schema)
    diagnostics = (*_text_around(document), *_absences(accepted))
    if not diagnostics:
        return evolve(result, output=accepted.value)
    last = result.last
    response = evolve(last.response, diagnostics=(*last.response.diagnostics, *diagnostics))
    steps = (*result.steps[:-1], evolve(last, response=response))
    return evolve(result, steps=steps, output=accepted.value)


def _object_in(response: LLMResponse, schema: ObjectSchema) -> tuple[Document, Accepted]:
    refusals = [part.text for part in response.message.content if isinstance(part, RefusalPart)]
    if refusals:
        raise _no_object(response, "refusal", f"the model refused: {''.join(refusals)}")
    reason = response.finish_reason.reason
    if reason in _STOPPED:
        raise _no_object(response, reason, _STOPPED[reason], _best_effort(response, schema))
    try:
        document = document_in(_text_of(response), schema.opening)
    except ValueError as error:
        so_far = _best_effort(response, schema)
        message = f"the response is not JSON: {error}"
        raise _no_object(response, "not_json", message, so_far) from error
    value = schema.unwrapped(document.value)
    try:
        return document, schema.accept(value)
    except ValueError as error:
        message = f"the response does not match the schema: {error}"
        raise _no_object(response, "invalid", message, value) from error


def _best_effort(response: LLMResponse, schema: ObjectSchema) -> JsonValue:
    """Return the partial value of an incomplete document."""
    return _Partials(schema, _text_of(response)).read()


def _text_of(response: LLMResponse) -> str:
    """Return the text of *response* that has the object."""
    return text_of(part for part in response.message.content if not is_commentary(part))


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
    message = "the response has other text around its JSON document"
    return (Diagnostic("text-around-object", "text", action="dropped", message=message),)


def _absences(accepted: Accepted) -> tuple[Diagnostic, ...]:
    message = "null stands for an optional property that is absent"
    return tuple(
        Diagnostic("null-as-absent", f"output{path[1:]}", action="dropped", message=message)
        for path in accepted.absent
    )


# -- streaming


class _Partials:
    """Partial values of a response's growing text."""

    def __init__(self, schema: ObjectSchema, text: str = "") -> None:
        self._wanted = schema
        self._value = PartialValue(schema.opening)
        self.feed(text)

    def feed(self, text: str) -> JsonValue:
        """Add text; return the value so far, or None."""
        return self._inner(self._value.feed(text))

    def read(self) -> JsonValue:
        """Return the value of the whole text, or None."""
        return self._inner(self._value.read())

    def _inner(self, document: JsonValue) -> JsonValue:
        if document == {} and self._wanted.wrapped:
            return None
        return self._wanted.unwrapped(document)


class _ObservedStream(StreamResult):
    """A stream that calls *observe* with each event before returning it."""

    def __init__(self, run: Run, observe: Callable[[LLMEvent], None]) -> None:
        super().__init__(run)
        self._observe = observe

    async def __anext__(self) -> LLMEvent:
        event = await super().__anext__()
        self._observe(event)
        return event


with_object_stream_hints: Final = with_names_of_others(
    **dict.fromkeys(("output", "parsed", "value"), "write `.object()`"),
    **dict.fromkeys(("text_stream", "text", "usage"), "it is of `.stream`, or of `.result()`"),
    **dict.fromkeys(("partial_stream", "partials"), "iterate over it, or `.typed_partials(type)`"),
)


@with_object_stream_hints
@with_names_of_others(
    __enter__="write `async with`, or use llmcore.sync.stream_object in blocking code"
)
class StreamObjectResult(Generic[_T_co]):
    """An object while it is streamed. Iterating yields partial objects as plain JSON.

    Each contains the one before. They are not validated, and in long responses not every delta
    yields one. After the last, iteration raises what `object` raises.
    """

    def __init__(self, run: Run, schema: ObjectSchema) -> None:
        self.stream: StreamResult = _ObservedStream(run, self._observe)
        """The events. Reading them here takes nothing from the other views."""
        self._wanted = schema
        self._partials = _Partials(schema)
        self._scanner = ElementScanner()
        self._latest: JsonValue = None
        self._has_new = False
        self._restarted = False
        self._commentary = CommentaryAsReasoning()
        self._read_to_end = False
        self._elements: _Elements[Any] | None = None
        self._result: GenerateResult[_T_co] | None = None

    def __repr__(self) -> str:
        return f"StreamObjectResult({self.stream!r})"

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stream.__aexit__(*exc)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        """Return the next partial object, as plain JSON."""
        while not self._has_new and await self._advance():
            pass
        if not self._has_new and not self._read_to_end:
            self._read_to_end = True
            self._publish(self._partials.read())
        if self._has_new:
            self._has_new = False
            return self._latest
        await self.result()
        raise StopAsyncIteration

    @property
    def element_stream(self: "StreamObjectResult[Collection[_Element]]") -> AsyncIterator[_Element]:
        """The elements of an array, each yielded once it is complete and validated.

        Raises InvalidRequestError if the schema's root is not an array. After an invalid element
        the rest is read, and NoObjectGeneratedError raised.
        """
        if self._elements is None:
            self._elements = _Elements(self, self._wanted.elements())
        return self._elements

    def typed_partials(self, kind: type[_Partial]) -> AsyncIterator[_Partial]:
        """Return the partial objects as values of *kind*, where iterating yields plain JSON.

        *kind* is the type of what may be there so far, which no type checker can derive from the
        type of the whole: a TypedDict with `total=False`, or a class whose fields have defaults.
        Partial objects that are not of *kind*, such as one with half the name of an enumeration's
        member, are left out. Raises InvalidRequestError if an object without any field is not of
        *kind*.
        """
        accepted = ObjectSchema.of_type(kind)
        try:
            accepted.accept([] if accepted.is_array else {})
        except ValueError as error:
            message = f"{accepted.name} is not a type of partial objects: {error}; give each field"
            raise InvalidRequestError(f"{message} a default, or use total=False") from error
        return _TypedPartials(self, accepted)

    async def object(self) -> _T_co:
        """Read the rest and return the validated object; raises what `generate_object` raises."""
        return (await self.result()).output

    async def result(self) -> GenerateResult[_T_co]:
        """Read the rest and return what `generate_object` would return."""
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
        event = self._commentary.read(event)
        if isinstance(event, TextDelta):
            if self._wanted.is_array:
                self._scanner.feed(event.text)
            self._publish(self._partials.feed(event.text))
        elif isinstance(event, StepStart) and event.step and not event.continues:
            self._restarted = True  # text before a tool call is not the object
            self._partials, self._scanner = _Partials(self._wanted), ElementScanner()

    def _publish(self, value: JsonValue) -> None:
        """Make a newer partial value available to iterators, unless it equals the last one."""
        if value is None or value == self._latest:
            return
        if self._restarted and self._latest is not None and not contains(value, self._latest):
            return
        self._latest, self._has_new = value, True


class _TypedPartials(Generic[_Partial]):
    """Iterates over the partial objects that are of a type."""

    def __init__(self, source: StreamObjectResult[Any], kind: ObjectSchema) -> None:
        self._source = source
        self._kind = kind

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Partial:
        while True:
            partial = await anext(self._source)
            with suppress(ValueError):
                value: _Partial = self._kind.accept(partial).value
                return value


class _Elements(Generic[_Element]):
    """Iterates over an array's elements.

    A class and not an async generator: a generator that a caller leaves early is not closed.
    """

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
            found = self._source._scanner.found  # noqa: SLF001  (one unit in two classes)
            if found and not self._misread:
                try:
                    return self._delivered_element(json.loads_exact(found.popleft()))
                except ValueError:
                    self._misread = True
            elif not await self._source._advance():  # noqa: SLF001
                self._rest = await self._left()
        if not self._rest:
            raise StopAsyncIteration
        return self._convert(self._rest.popleft())

    def _delivered_element(self, element: JsonValue) -> _Element:
        value = self._convert(element)
        self._delivered.append(element)
        return value

    async def _left(self) -> deque[JsonValue]:
        """Return the elements not delivered yet, after validating the whole array."""
        response = (await self._source.result()).response
        wanted = self._source._wanted  # noqa: SLF001
        array = wanted.unwrapped(document_in(_text_of(response), wanted.opening).value)
        elements = list(array) if isinstance(array, list) else []
        count = len(self._delivered)
        if elements[:count] != self._delivered:
            message = "the streamed elements differ from those of the final response"
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


@_with_hints
@_with_settings
def stream_object(
    model: Model | str | None = None,
    prompt: str | None = None,
    *,
    schema: object,
    schema_name: str | None = None,
    schema_description: str | None = None,
    **settings: Unpack[Settings],
) -> StreamObjectResult[Any]:
    """Stream the object that `generate_object` would return.

    Invalid arguments raise here; all other errors are raised while reading.
    """
    object_schema = ObjectSchema.of(schema)
    plan = plan_of("stream_object", model, prompt, settings)
    plan = _with_format(plan, object_schema.response_format(schema_name, schema_description))
    return StreamObjectResult(Run(plan, live=True, check=_check_of(object_schema)), object_schema)
