"""Decodes recorded responses from bytes to a response as the client does, without I/O."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from llmcore.folds.response import collect
from llmcore.protocols.protocol import FramingId, Protocol, protocol_by_id
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing, media_type_in
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.model import Model
from llmcore.schema.native_json import index_or_none, object_or_empty, objects
from llmcore.schema.options import HttpOverlay
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result


def decode_recorded(
    protocol_id: str,
    *,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    streaming: bool,
    chunk_size: int | None = None,
) -> Result[LLMResponse, LLMError]:
    """Return the response, or the error, that the bytes of a recorded response hold.

    The framing is the one its content type names, else the protocol's usual one; *chunk_size*
    feeds the body in pieces of so many bytes. Raises ConfigurationError for an unknown
    protocol, InvalidRequestError for a chunk size below 1.
    """
    return collect(
        recorded_events(
            protocol_id,
            status=status,
            headers=headers,
            body=body,
            streaming=streaming,
            chunk_size=chunk_size,
        )
    )


def recorded_events(
    protocol_id: str,
    *,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    streaming: bool,
    chunk_size: int | None = None,
) -> Sequence[LLMEvent]:
    """Return the events of the bytes of a recorded response, as the client delivers them.

    Its arguments and errors are those of `decode_recorded`.
    """
    protocol = protocol_by_id(protocol_id)
    framing = framing_of(protocol, headers)
    asked = {"n": _choices(framing, body)}
    return decode_response(
        protocol,
        framing,
        LLMRequest(model=Model("recorded", ""), messages=(), http=HttpOverlay(body=asked)),
        status=status,
        headers=headers,
        chunks=_pieces(body, chunk_size),
        streaming=streaming,
    )


def _choices(framing: Framing, body: bytes) -> int:
    """Return how many choices a recorded stream has, which its request would state.

    Some servers number the chunks of the only choice: then no number comes twice.
    """
    decoder = framing.new_decoder()
    numbers: list[int] = []
    texts: set[int] = set()
    with suppress(LLMError, RecursionError):  # decoding the response reports them
        for frame in (*decoder.feed(body), *decoder.close()):
            for choice in objects(object_or_empty(framing.native(frame)).get("choices")):
                numbers.append(index_or_none(choice.get("index")) or 0)
                if object_or_empty(choice.get("delta")).get("content"):
                    texts.add(numbers[-1])
    return len(texts) if len(numbers) > len(set(numbers)) else 1


def framing_of(protocol: Protocol[Any, Any, Any], headers: Mapping[str, str]) -> Framing:
    """Return the framing of the content type in *headers*, else the protocol's usual one."""
    known = [_FRAMINGS[id_]() for id_ in protocol.framings]
    media_type = media_type_in(headers)
    named = (framing for framing in known if media_type in framing.content_types)
    return next(named, known[0])


_FRAMINGS: Mapping[FramingId, Callable[[], Framing]] = {
    "sse": Framing.sse,
    "ndjson": Framing.ndjson,
    "json-array": Framing.json_array,
    "aws-event-stream": Framing.aws_event_stream,
}


def _pieces(body: bytes, size: int | None) -> list[bytes]:
    if size is None:
        return [body]
    if size < 1:
        raise InvalidRequestError(f"chunk_size is {size}; it counts bytes, from 1")
    return [body[start : start + size] for start in range(0, len(body), size)]
