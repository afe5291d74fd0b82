"""A model that gives the responses of a test, event by event, without a network."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, Union, cast, get_args

import anyio
from attrs import evolve

from llmcore.client.client import Client
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.chain import Next
from llmcore.folds.grammar import has_content
from llmcore.folds.response import Accumulator
from llmcore.folds.segments import complete_segments
from llmcore.schema import events, json
from llmcore.schema.content import ReasoningPart, RefusalPart, TextPart, ToolCallPart
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import shown_kind, with_call_hints, with_names_of_others
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import Usage
from llmcore.testing.script import ScriptEndedError
from llmcore.tracebacks import wrong_call

PROVIDER = "fake"


@frozen
class Delay:
    """A pause before what follows it in a response, in seconds."""

    seconds: float
    """The length of the pause."""


@with_call_hints()
def call(
    name: str, arguments: Mapping[str, JsonValue] | None = None, *, call_id: str = ""
) -> ToolCallPart:
    """Return a tool call as a part of a response; without a *call_id*, the response numbers it."""
    return ToolCallPart(call_id, name, dict(arguments or {}))


Piece: TypeAlias = Union[
    str, TextPart, ReasoningPart, RefusalPart, ToolCallPart, Delay, LLMError, events.LLMEvent
]
"""Text, another part, a pause, the error that ends the response, or an event of your own."""

FakeResponse: TypeAlias = Union[Piece, Sequence[Piece]]


@with_names_of_others(
    **dict.fromkeys(
        ("generate", "stream", "invoke"),
        "write llmcore.generate(fake.model, prompt, client=fake.client)",
    ),
    **dict.fromkeys(("calls", "call_args_list", "history"), "write `.requests`"),
    call_count="write len(fake.requests)",
)
@with_call_hints(responses="write FakeModel('first', 'second')")
class FakeModel:
    """A middleware that answers every request in place of a provider.

        fake = FakeModel([call("get_weather", {"city": "Oslo"})], "It is sunny.")
        result = await generate(fake.model, "Weather?", tools=[get_weather], client=fake.client)

    Each request takes the next response: a text, a part (`ReasoningPart`, `ToolCallPart`, ...), a
    `Delay`, an LLMError, an event, or a list of these. Texts are streamed word by word. A response
    that has a call finishes with `tool_calls`, any other with `stop`. Raises ScriptEndedError, a
    failure of the test, for a request without a response.

    Raises TypeError for a response that is made of something else.
    """

    def __init__(self, *responses: FakeResponse) -> None:
        self._responses = [_pieces_of(response) for response in responses]
        self.requests: list[LLMRequest] = []
        """The requests that were made, in order."""
        self.model = Model("fake-model", PROVIDER)
        self.client = Client(middleware=[self])
        """A client whose every call is answered here."""

    def __repr__(self) -> str:
        return f"FakeModel({len(self.requests)} of {len(self._responses)} responses given)"

    @property
    def prompts(self) -> list[str]:
        """The text of the last message of each request."""
        return [request.messages[-1].text for request in self.requests]

    def __call__(self, request: LLMRequest, next: Next) -> EventStream:
        """Return the next response."""
        self.requests.append(request)
        if len(self.requests) > len(self._responses):
            raise ScriptEndedError(
                f"request {len(self.requests)} has no response: the fake model has "
                f"{len(self._responses)}"
            )
        pieces = self._responses[len(self.requests) - 1]
        return EventStream(_Playing(list(_events(pieces, request))))

    def assert_all_given(self) -> None:
        """Raise ScriptEndedError if a response was not used."""
        unused = len(self._responses) - len(self.requests)
        if unused > 0:
            raise ScriptEndedError(f"{unused} responses of the fake model were not used")


def _pieces_of(response: FakeResponse) -> Sequence[Piece]:
    several = isinstance(response, Sequence) and not isinstance(response, str | bytes)
    pieces = cast("Sequence[Piece]", response if several else [response])
    for piece in pieces:
        if not isinstance(piece, _PIECES):
            raise wrong_call(f"{_RULE}, not {shown_kind(piece)}{_instead_of(piece)}")
    return pieces


_PIECES: Final = get_args(Piece)
_RULE: Final = "a response is made of texts, parts, a Delay, an LLMError and events"


def _instead_of(piece: object) -> str:
    """Return what to write for *piece*, as the end of an error."""
    if isinstance(piece, int | float):
        return f": write Delay({piece}) for a pause"
    if isinstance(piece, BaseException):
        return ': write LLMError("..."), or one of its subclasses'
    if isinstance(piece, Message | LLMResponse):
        name = "message" if isinstance(piece, Message) else "response.message"
        return f": give its parts, `[*{name}.content]`"
    return ""


class _Playing:
    """Events of a response, with pauses between them."""

    def __init__(self, items: list[events.LLMEvent | Delay]) -> None:
        self._items = items

    async def next_batch(self) -> Sequence[events.LLMEvent]:
        """Return the events up to the next pause; empty at the end."""
        while self._items and isinstance(self._items[0], Delay):
            await anyio.sleep(self._items[0].seconds)
            del self._items[0]
        until = next(
            (place for place, item in enumerate(self._items) if isinstance(item, Delay)),
            len(self._items),
        )
        batch = [item for item in self._items[:until] if not isinstance(item, Delay)]
        del self._items[:until]
        return batch

    async def aclose(self) -> None:
        """Discard the events that are left."""
        self._items = []


def _events(pieces: Sequence[Piece], request: LLMRequest) -> Iterator[events.LLMEvent | Delay]:
    """Yield a whole response, with pauses at their places among its pieces."""
    model = request.model_id
    bare: list[events.LLMEvent] = [
        events.StreamStart(provider=PROVIDER, model=model),
        events.StepStart(),
    ]
    pauses: list[tuple[int, Delay]] = []
    ended = False
    for number, piece in enumerate(pieces):
        if isinstance(piece, Delay):
            pauses.append((len(complete_segments(bare)), piece))
            continue
        bare += (
            [events.ErrorEvent(_with_partial(piece, bare))]
            if isinstance(piece, LLMError)
            else _piece_events(piece, str(number))
        )
        ended = isinstance(bare[-1], events.Finish | events.ErrorEvent)
        if ended:
            break
    if not ended:
        calls = any(isinstance(piece, ToolCallPart) for piece in pieces)
        reason = events.FinishReason("tool_calls" if calls else "stop")
        usage = Usage()
        bare += [
            events.StepFinish(finish_reason=reason, usage=usage),
            events.Finish(finish_reason=reason, usage=usage),
        ]
    whole: list[events.LLMEvent | Delay] = [*complete_segments(bare)]
    for place, pause in reversed(pauses):
        whole.insert(place, pause)
    yield from whole


def _with_partial(error: LLMError, before: Sequence[events.LLMEvent]) -> LLMError:
    """Return *error* with the response that the events before it make."""
    if not has_content(before):
        return error
    accumulator = Accumulator()
    for event in complete_segments(before):
        accumulator.feed(event)
    return evolve(error, partial=accumulator.partial)


def _piece_events(piece: Piece, key: str) -> list[events.LLMEvent]:
    """Return the events of one piece, as a protocol emits them; none of a pause or an error."""
    match piece:
        case str():
            return _piece_events(TextPart(piece), key)
        case TextPart():
            end = events.TextEnd(
                key, citations=piece.citations, provider_metadata=piece.provider_metadata
            )
            return [events.TextStart(key), *_text_deltas(piece.text, key), end]
        case RefusalPart():
            start, end = events.TextStart(key, refusal=True), events.TextEnd(key, refusal=True)
            return [start, *_text_deltas(piece.text, key), end]
        case ReasoningPart():
            ended = events.ReasoningEnd(
                key,
                signature=piece.signature,
                encrypted=piece.encrypted,
                provider_metadata=piece.provider_metadata,
            )
            words = [events.ReasoningDelta(key, word) for word in _words(piece.text)]
            return [events.ReasoningStart(key), *words, ended]
        case ToolCallPart():
            call_id = piece.id or f"call_{key}"
            return [
                events.ToolInputStart(call_id, piece.name, kind=piece.kind),
                events.ToolInputDelta(call_id, _input(piece)),
                events.ToolInputEnd(call_id),
            ]
        case Delay() | LLMError():
            return []
        case _:
            return [piece]


def _text_deltas(text: str, key: str) -> list[events.TextDelta]:
    return [events.TextDelta(key, word) for word in _words(text)]


def _input(part: ToolCallPart) -> str:
    if isinstance(part.arguments, str):
        return part.arguments
    return json.dumps(part.arguments).decode()


def _words(text: str) -> list[str]:
    """Return *text* in pieces as models stream it: each word with the space before it."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])] if text else []
