"""Readers of requests that return a `Result`; the error of a body of another API names that API.

    {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "19 C"}]}

is one of Chat Completions, and what a Messages reader finds wrong with it would lead its sender
astray: the base URL of a client is wrong, not the message.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from attrs import evolve

from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.front import ClientRequest, ReadRequest
from llmcore.fronts.reading import Fields
from llmcore.protocols.anthropic_messages.names import PROTOCOL_ID as MESSAGES
from llmcore.protocols.gemini.names import PROTOCOL_ID as GEMINI
from llmcore.protocols.openai_chat.names import PROTOCOL_ID as CHAT
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.native_json import objects
from llmcore.schema.result import Failure, Result, Success

Read = TypeVar("Read", bound=ReadRequest)
_More = ParamSpec("_More")


def checked_read(
    front_id: str,
) -> Callable[
    [Callable[Concatenate[ClientRequest, _More], Read]],
    Callable[Concatenate[ClientRequest, _More], Result[Read, FrontError]],
]:
    """Return a decorator of a front's reader: an invalid request is a Failure."""

    def decorated(
        read: Callable[Concatenate[ClientRequest, _More], Read],
    ) -> Callable[Concatenate[ClientRequest, _More], Result[Read, FrontError]]:
        @wraps(read)
        def checked(
            request: ClientRequest, /, *args: _More.args, **kwargs: _More.kwargs
        ) -> Result[Read, FrontError]:
            try:
                return Success(read(request, *args, **kwargs))
            except FrontError as error:
                fault = error
            except InvalidRequestError as error:
                fault = invalid(error.message)
            except RecursionError:
                return Failure(invalid("The request is nested too deeply."))
            return Failure(_with_api(fault, request.body, front_id))

        return checked

    return decorated


def _with_api(error: FrontError, body: Fields, front_id: str) -> FrontError:
    """Return *error*, with the API that *body* is of if that is another than the front's."""
    other = api_of(body)
    if error.status != 400 or other in (None, front_id):
        return error
    words = f"The body is one for {_PATHS[other]}, another API: send it there."
    return evolve(error, message=f"{error.message.rstrip('.')}. {words}")


_PATHS: Final[Mapping[str | None, str]] = {
    CHAT: "/v1/chat/completions",
    RESPONSES: "/v1/responses",
    MESSAGES: "/v1/messages",
    GEMINI: "/v1beta/models/{model}:generateContent",
}


def api_of(body: Fields) -> str | None:
    """Return the id of the API whose requests alone are like *body*; None if there is not one."""
    if "contents" in body:
        return GEMINI
    if not body.get("messages"):
        return RESPONSES if "input" in body else None
    found = {api for name, api in _signs(body) if name in body}
    found |= {_WORDS[word] for word in _words(body) if word in _WORDS}
    return found.pop() if len(found) == 1 else None


def _signs(body: Fields) -> Iterator[tuple[str, str]]:
    """Yield fields of one API alone, with the API."""
    yield from ((name, CHAT) for name in ("max_completion_tokens", "response_format"))
    yield from ((name, MESSAGES) for name in ("stop_sequences", "system"))
    if isinstance(body.get("tool_choice"), str):
        yield "tool_choice", CHAT


def _words(body: Fields) -> Iterator[str]:
    """Yield the roles, the types of parts, and the fields of messages and tools of *body*."""
    for message in objects(body.get("messages")):
        yield str(message.get("role"))
        yield from message
        yield from (str(part.get("type")) for part in objects(message.get("content")))
    for tool in objects(body.get("tools")):
        yield from tool


_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("developer", "function", "image_url", "input_audio", "tool_calls", "tool"), CHAT
    ),
    **dict.fromkeys(("image", "input_schema", "tool_result", "tool_use"), MESSAGES),
}
