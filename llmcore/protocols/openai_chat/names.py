"""OpenAI Chat Completions: its id, and the words that both directions of the protocol use."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict

from llmcore.schema.json import JsonObject, JsonValue

PROTOCOL_ID: Final = "openai-chat"
METADATA_KEY: Final = "openai"

NativeObject: TypeAlias = dict[str, Any]
"""A JSON object of the wire. Servers differ too much for a stricter type."""


class ChatBody(TypedDict, total=False):
    """A native request body, as JSON. Provider options can add fields that are not listed.

    Source: https://developers.openai.com/api/reference/resources/chat/subresources/completions/methods/create
    """

    model: Required[str]
    messages: Required[list[JsonObject]]
    stream: bool
    stream_options: JsonObject
    tools: list[JsonObject]
    tool_choice: str | JsonObject
    parallel_tool_calls: bool
    response_format: JsonObject
    max_tokens: int
    max_completion_tokens: int
    temperature: float
    top_p: float
    stop: str | list[str]
    seed: int
    presence_penalty: float
    frequency_penalty: float
    logprobs: bool
    top_logprobs: int
    reasoning_effort: str
    metadata: JsonObject
    store: bool
    user: str


# -- reasoning_details

_GROWING: Final = ("text", "summary", "data")


def merge_details(pieces: Iterable[Any], *, whole: bool = False) -> list[JsonValue]:
    """Join streamed pieces of `reasoning_details` into the blocks that must be sent back.

    Pieces of one block follow each other with the same type, index and id; their text,
    summary and data are joined, other fields set once. A *whole* list has no pieces.
    """
    blocks = [piece for piece in pieces if isinstance(piece, dict)]
    if whole:
        return list(blocks)
    groups: list[list[dict[str, Any]]] = []
    for piece in blocks:
        if groups and _continues(groups[-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [_joined(group) for group in groups]


def proof_in(details: Iterable[JsonValue], name: Literal["signature", "data"]) -> str | None:
    """Return the first signature, or the first data that only the provider can read."""
    found = (block.get(name) for block in details if isinstance(block, Mapping))
    return next((proof for proof in found if isinstance(proof, str) and proof), None)


def rejoin_details(runs: Iterable[Sequence[Any]]) -> list[JsonValue]:
    """Return the blocks of several segments in a row.

    A block that other content cut in two, as where its signature comes late, is whole again.
    """
    blocks: list[Any] = []
    for run in runs:
        first = run[0] if run else None
        if blocks and isinstance(first, dict) and isinstance(blocks[-1], dict):
            same = first.get("index") is not None and _continues(blocks[-1:], first)
            blocks[-1:] = [_joined([blocks[-1], first])] if same else [blocks[-1], first]
            blocks += run[1:]
        else:
            blocks += run
    return blocks


def _continues(group: Sequence[dict[str, Any]], piece: Mapping[str, Any]) -> bool:
    first = group[0]
    if first.get("type") != piece.get("type") or first.get("index") != piece.get("index"):
        return False
    ids = {one["id"] for one in (first, piece) if one.get("id") is not None}
    if len(ids) > 1:
        return False
    return piece.get("index") is not None or not group[-1].get("signature")


def _joined(group: Sequence[dict[str, Any]]) -> JsonValue:
    if len(group) == 1:
        return group[0]
    block: dict[str, Any] = {}
    for piece in group:
        for name, value in piece.items():
            if value is not None or name not in block:
                block[name] = value
    for name in _GROWING:
        texts = [piece[name] for piece in group if isinstance(piece.get(name), str)]
        if texts:
            block[name] = "".join(texts)
    return block
