"""Cassettes as JSON files: pretty-printed, keys in a fixed order, made to be reviewed."""

import json
import os
import secrets
import textwrap
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from attrs import asdict, field

from llmcore.schema import codec
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_call_hints
from llmcore.schema.json import JsonValue
from llmcore.testing.bodies import pack, unpack
from llmcore.testing.cassette import (
    AnyInteraction,
    Authored,
    Cassette,
    CassetteError,
    Chunk,
    Interaction,
    Metadata,
    NoResponse,
    Origin,
    Recorded,
    RecordedRequest,
    RecordedResponse,
    SocketMessage,
    WebSocketInteraction,
)
from llmcore.testing.secret_scan import refuse_secrets

FORMAT_VERSION = 1


@with_call_hints()
def load(path: str | Path) -> Cassette:
    """Return the cassette in the file *path*; CassetteError, naming it, if it holds none."""
    try:
        return loads(Path(path).read_text("utf-8-sig"))  # editors of Windows write a BOM
    except OSError as error:
        raise CassetteError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CassetteError(f"{path} holds no cassette: it is not UTF-8 text") from error
    except (CassetteError, ValueError) as error:  # a zero byte in the path
        raise CassetteError(f"{path} holds no cassette: {error}") from error


def save(
    cassette: Cassette,
    path: str | Path,
    *,
    environ: Mapping[str, str] | None = None,
    known_secrets: Collection[str] = (),
    not_secret: Collection[str] = (),
) -> None:
    """Write *cassette* to *path*, at once or not at all; folders are made.

    Raises SecretFoundError, and writes nothing, if it holds what looks like a credential,
    one of *known_secrets*, or a key from *environ* (the process's, if None). *not_secret*
    lists what only looks like one.
    """
    data = to_data(cassette)
    refuse_secrets(
        data,
        known=known_secrets,
        environ=os.environ if environ is None else environ,
        not_secret=not_secret,
    )
    _write(Path(path), f"{pretty(data)}\n".encode())


def dumps(cassette: Cassette) -> str:
    """Return the text of *cassette*'s file. It is not searched for secrets; `save` does that."""
    return f"{pretty(to_data(cassette))}\n"


@with_call_hints()
def loads(text: str) -> Cassette:
    """Return the cassette in *text*; CassetteError with the position if it is invalid."""
    try:
        data: JsonValue = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CassetteError(f"it is not JSON: {error}") from error
    return from_data(data)


def _write(path: Path, data: bytes) -> None:
    """Replace the file in one step, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        new.write_bytes(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


# -- the file's shape
# Fields without a default are always written; others if they differ from it.


@frozen(kw_only=True)
class _Origin:
    kind: Literal["recorded", "authored"]
    server: str | None = None
    version: str | None = None
    model: str | None = None
    source: str | None = None


@frozen(kw_only=True)
class _Metadata:
    name: str
    provider: str | None = None
    protocol: str | None = None
    tags: tuple[str, ...] = ()
    origin: _Origin


@frozen(kw_only=True)
class _Request:
    method: str
    url: str
    headers: dict[str, str]
    body: JsonValue = None
    body_encoding: str | None = None
    body_layout: str | None = None


@frozen(kw_only=True)
class _Response:
    status: int | None
    """None if no response came."""
    headers: dict[str, str] = field(factory=dict)
    body: JsonValue = None
    body_encoding: str | None = None
    body_layout: str | None = None
    delay_ms: float = 0.0
    chunks: tuple[tuple[int, float], ...] = ()
    """The size in bytes and the delay in milliseconds of each chunk."""
    failure: LLMError | None = None
    abandoned: bool = False


@frozen(kw_only=True)
class _Message:
    direction: Literal["client", "server"]
    text: JsonValue
    text_layout: str | None = None
    delay_ms: float = 0.0


@frozen(kw_only=True)
class _Interaction:
    kind: Literal["http", "websocket"]
    request: _Request
    response: _Response | None = None
    """The response, for the kind `http`; the other fields are for `websocket`."""
    messages: tuple[_Message, ...] = ()
    failure: LLMError | None = None


@frozen(kw_only=True)
class _File:
    version: int
    metadata: _Metadata
    interactions: tuple[_Interaction, ...]


# -- writing


def to_data(cassette: Cassette) -> JsonValue:
    """Return *cassette* as the JSON data of its file."""
    metadata = asdict(cassette.metadata, recurse=False)
    metadata["origin"] = _stored_origin(cassette.metadata.origin)
    interactions = tuple(map(_stored_interaction, cassette.interactions))
    return codec.to_json(
        _File(version=FORMAT_VERSION, metadata=_Metadata(**metadata), interactions=interactions)
    )


def _stored_origin(origin: Origin) -> _Origin:
    kind: Literal["recorded", "authored"] = (
        "authored" if isinstance(origin, Authored) else "recorded"
    )
    return _Origin(kind=kind, **asdict(origin))


def _stored_interaction(interaction: AnyInteraction) -> _Interaction:
    request = _stored_request(interaction.request)
    if isinstance(interaction, WebSocketInteraction):
        messages = tuple(map(_stored_message, interaction.messages))
        return _Interaction(
            kind=interaction.kind, request=request, messages=messages, failure=interaction.failure
        )
    return _Interaction(
        kind=interaction.kind, request=request, response=_stored_response(interaction.response)
    )


def _stored_request(request: RecordedRequest) -> _Request:
    headers = dict(request.headers)
    body = pack(request.body, headers.get("content-type", ""))
    return _Request(method=request.method, url=request.url, headers=headers, **body)


def _stored_message(message: SocketMessage) -> _Message:
    packed = pack(message.text.encode("utf-8"))
    return _Message(
        direction=message.direction,
        text=packed.get("body", ""),
        text_layout=packed.get("body_layout"),
        delay_ms=message.delay_ms,
    )


def _stored_response(response: RecordedResponse | NoResponse) -> _Response:
    if isinstance(response, NoResponse):
        return _Response(status=None, delay_ms=response.delay_ms, failure=response.failure)
    headers = dict(response.headers)
    return _Response(
        status=response.status,
        headers=headers,
        delay_ms=response.delay_ms,
        chunks=tuple((chunk.size, chunk.delay_ms) for chunk in response.chunks),
        failure=response.failure,
        abandoned=response.abandoned,
        **pack(response.body, headers.get("content-type", "")),
    )


def pretty(value: JsonValue, indent: str = "") -> str:
    """Return *value* as indented JSON; numbers and pairs of them share lines."""
    below = indent + "  "
    if isinstance(value, dict) and value:
        items = [f"{_scalar(key)}: {pretty(item, below)}" for key, item in value.items()]
        return _block("{}", items, indent)
    if not isinstance(value, list | tuple) or not value:
        return _scalar(value)
    if all(map(_is_numeric, value)):
        text = _scalar(value)
        lines = textwrap.wrap(text[1:-1], 88, break_long_words=False)
        # Between numbers there are only commas and blanks: a line may end at any blank.
        joined = f"\n{below}".join(lines)
        return text if len(lines) == 1 else f"[\n{below}{joined}\n{indent}]"
    return _block("[]", [pretty(item, below) for item in value], indent)


def _is_numeric(item: JsonValue) -> bool:
    parts = item if isinstance(item, list | tuple) else (item,)
    return all(isinstance(part, int | float) for part in parts)


def _block(brackets: str, items: list[str], indent: str) -> str:
    inside = ",\n".join(f"{indent}  {item}" for item in items)
    return f"{brackets[0]}\n{inside}\n{indent}{brackets[1]}"


def _scalar(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        return json.dumps(value)
    return text


# -- reading


def from_data(data: JsonValue) -> Cassette:
    """Return the cassette in a file's JSON data; CassetteError if it is invalid."""
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise CassetteError(f"it has format version {version}; this llmcore reads {FORMAT_VERSION}")
    try:
        return _cassette(codec.from_json(_File, data))
    except (InvalidRequestError, ValueError) as error:
        raise CassetteError(str(error).replace("_File", "cassette")) from error


def _cassette(file: _File) -> Cassette:
    metadata = asdict(file.metadata, recurse=False)
    metadata["origin"] = _origin(file.metadata.origin)
    interactions = map(_interaction, file.interactions)
    return Cassette(metadata=Metadata(**metadata), interactions=interactions)


def _origin(stored: _Origin) -> Origin:
    if stored.kind == "authored":
        return Authored(source=stored.source or "")
    return Recorded(server=stored.server, version=stored.version, model=stored.model)


def _interaction(stored: _Interaction) -> AnyInteraction:
    request = RecordedRequest(
        method=stored.request.method,
        url=stored.request.url,
        headers=stored.request.headers,
        body=unpack(stored.request.body, stored.request.body_encoding, stored.request.body_layout),
    )
    if stored.kind == "websocket":
        messages = map(_message, stored.messages)
        return WebSocketInteraction(request=request, messages=messages, failure=stored.failure)
    if stored.response is None:
        raise CassetteError(f"the interaction {request.method} {request.url} has no response")
    return Interaction(request=request, response=_response(stored.response))


def _message(stored: _Message) -> SocketMessage:
    text = unpack(stored.text, None, stored.text_layout).decode("utf-8")
    return SocketMessage(direction=stored.direction, text=text, delay_ms=stored.delay_ms)


def _response(stored: _Response) -> RecordedResponse | NoResponse:
    if stored.status is None:
        return NoResponse(failure=stored.failure, delay_ms=stored.delay_ms)
    return RecordedResponse(
        status=stored.status,
        headers=stored.headers,
        body=unpack(stored.body, stored.body_encoding, stored.body_layout),
        delay_ms=stored.delay_ms,
        chunks=tuple(Chunk(size, delay_ms) for size, delay_ms in stored.chunks),
        failure=stored.failure,
        abandoned=stored.abandoned,
    )
