"""The request for the rest of a response that was cut."""

from collections.abc import Callable
from typing import Final

from attrs import evolve

from llmcore.client.event_stream import EventStream
from llmcore.client.middleware.target import ModelChoice
from llmcore.protocols.forced_format import format_in_words
from llmcore.protocols.history.clean import same_family
from llmcore.schema.content import ContentPart, ReasoningPart, TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse

CONTINUE: Final = (
    "Your response above was cut off. Continue it exactly where it ends, beginning with its next "
    "character. Repeat nothing of it, and add no introduction."
)
"""The instruction for models that do not continue a beginning of their response by themselves."""

_SHORTEST_ECHO: Final = 20
"""The fewest characters of a repetition that is not read as more of the response."""


@frozen(kw_only=True)
class Attempt:
    """A request for the rest of a response."""

    stream: EventStream
    request: LLMRequest
    target: ModelChoice
    echo: str = ""
    """The response so far, with which the rest may begin once more: some models repeat it."""
    overlap: str = ""
    """The white space at its end, if it was not sent, or after an echo."""
    prefilled: bool = False
    """Whether the response so far was sent as the beginning of the model's own."""


def rest_of(
    request: LLMRequest, partial: LLMResponse, target: ModelChoice, send: Callable[..., EventStream]
) -> Attempt:
    """Return the attempt to have what follows *partial* by *request*, which *target* answers.

    Without any text so far, it is the request itself.
    """
    text = partial.text.rstrip()
    if not text:
        return Attempt(stream=send(request), request=request, target=target)
    request_of_rest, prefilled = _request_of_rest(request, partial, text, target)
    # what is short may be repeated with intent, unless it is the beginning of a document
    repeatable = (
        len(text) < _SHORTEST_ECHO and request_of_rest.response_format is request.response_format
    )
    return Attempt(
        stream=send(request_of_rest),
        request=request_of_rest,
        target=target,
        echo="" if repeatable else text,
        overlap=partial.text[len(text) :],
        prefilled=prefilled,
    )


def _request_of_rest(
    request: LLMRequest, partial: LLMResponse, text: str, target: ModelChoice
) -> tuple[LLMRequest, bool]:
    """Return the request for what follows *text*, and whether it ends with *text*."""
    formatted = request.response_format is not None and request.response_format.type != "text"
    route = target.route
    continues = route is not None and route.protocol.prefills(target.model)
    if continues and not formatted and request.reasoning is None:
        beginning = Message.assistant(text, origin=partial.message.origin)
        return evolve(request, messages=(*request.messages, beginning)), True
    beginning = Message.assistant(_beginning(partial, target), origin=partial.message.origin)
    words = CONTINUE
    if formatted and request.response_format is not None:
        # a format would be enforced on the rest alone
        whole = format_in_words(
            request.response_format, "only the rest is requested", Diagnostics()
        )
        words = f"{words} The complete response is to be as follows. {whole}"
    messages = (*request.messages, beginning, Message.user(words))
    return evolve(request, messages=messages, response_format=None), False


def _beginning(partial: LLMResponse, target: ModelChoice) -> list[ContentPart]:
    """Return the text of *partial*, after its signed reasoning if *target* is the same model."""
    origin = partial.message.origin
    same = origin is not None and origin.provider == target.provider
    signed = [
        part
        for part in partial.message.content
        if isinstance(part, ReasoningPart) and (part.signature or part.encrypted)
    ]
    keep = same and same_family(partial.model, target.model)
    return [*(signed if keep else ()), TextPart(partial.text)]
