"""Reads native requests and writes native responses by a front, without a gateway."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final

from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.front import (
    ClientRequest,
    Event,
    Front,
    ReadRequest,
    ResponseIdentity,
    Upstream,
    front_by_id,
)
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema import json
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.json import JsonObject
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure, Result, Success

SEALER: Final = Sealer(b"llmcore.testing")
"""Seals what `write_as_front` writes, so that `read_as_front` can read it."""


def read_as_front(
    front_id: str, body: JsonObject, *, path: str = "", headers: Mapping[str, str] | None = None
) -> Result[LLMRequest, LLMError]:
    """Return the native *body* of an API as a request.

    *path* is the URL's, which names the model in Gemini's API. The request is read as for an
    upstream of the same API. A reference to state that a server stores,
    such as `previous_response_id`, is a Failure. Raises ConfigurationError for an unknown front.
    """
    front = front_by_id(front_id)
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    client_request = ClientRequest(body=body, path=path, headers=lower)
    try:
        model = front.routing(client_request).model
    except FrontError as error:
        return Failure(_as_llm_error(error))
    match front.read(client_request, _upstream(front_id, model)):
        case Success(read):
            return Success(read.request)
        case Failure(refusal):
            return Failure(_as_llm_error(refusal))


def write_as_front(
    front_id: str,
    events: Iterable[LLMEvent],
    *,
    streaming: bool,
    request: JsonObject | None = None,
    path: str = "",
) -> bytes:
    """Return *events* as the bytes of an API's response.

    *request* is the client's native body; without one, all that is optional is written, and the
    model's name is that of the events. A response that failed is an error inside the stream, or
    the body of an error. Raises ConfigurationError for an unknown front, InvalidRequestError for
    a request that cannot be read.
    """
    front = front_by_id(front_id)
    client_request = ClientRequest(body=request or {}, path=path, query={"alt": "sse"})
    model = "" if request is None else _wanted_model(front, client_request)
    upstream = _upstream(front_id, model)
    read = front.no_request if request is None else _read(front, client_request, upstream)
    info = ResponseIdentity(id=upstream.new_id(front.id_prefix), created_at=0, model=model)
    writer = front.writer(info, read, upstream)
    written: list[Event] = [*writer.start()]
    for event in events:
        written += writer.feed(event)
    if not writer.ended:
        written += writer.close()
    if streaming:
        encoding = front.encoding(client_request)
        tail = encoding.tail if writer.error is None else b""
        return b"".join(map(encoding.encode, written)) + tail
    if writer.error is not None:
        return json.dumps(front.error(from_llm_error(writer.error)).body)
    return json.dumps(writer.whole())


def _upstream(front_id: str, model: str) -> Upstream:
    return Upstream(
        model=model,
        protocol_id=front_id,
        policy=TranslationPolicy(custom_tools="native"),
        sealer=SEALER,
        new_id=_numbered(),
    )


def _numbered() -> Callable[[str], str]:
    """Return a function that makes ids of a prefix and a number."""
    numbers = count(1)
    return lambda prefix: f"{prefix}_{next(numbers):024d}"


def _wanted_model(front: Front[Any], request: ClientRequest) -> str:
    try:
        return front.routing(request).model
    except FrontError as error:
        raise _as_llm_error(error) from error


def _read(front: Front[Any], request: ClientRequest, upstream: Upstream) -> ReadRequest:
    match front.read(request, upstream):
        case Success(read):
            found: ReadRequest = read
            return found
        case Failure(error):
            raise _as_llm_error(error)


def _as_llm_error(error: FrontError) -> InvalidRequestError:
    return InvalidRequestError(error.message, error_code=error.code)
