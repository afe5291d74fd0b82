"""Identifies the conversation that a request belongs to by eight hex digits.

A client that continues a response by its id sends nothing else of the conversation. The ids of
responses therefore contain its digits: `resp_` `0f3a91c2` and 40 random ones.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.front import ClientRequest
from llmcore.schema import json
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import str_or_empty, str_or_none

DIGITS: Final = 8

_HEADERS: Final = (
    "x-claude-code-session-id", "session-id", "session_id", "conversation_id", "thread-id",
    "x-session-id", "x-session-affinity",
)  # fmt: skip
"""Headers by which Claude Code, Codex, opencode and other agents name their session."""
_OUR_ID: Final = re.compile(r"[a-z]+_([0-9a-f]{8})[0-9a-f]{40}")


def conversation_of(request: ClientRequest) -> str:
    """Return the digits of the conversation of *request*, the same for each of its turns."""
    body = request.body
    earlier = _OUR_ID.fullmatch(str_or_empty(body.get("previous_response_id")))
    if earlier is not None:
        return earlier[1]
    named = str_or_none(body.get("prompt_cache_key")) or next(
        (request.headers[name] for name in _HEADERS if request.headers.get(name)), ""
    )
    return _digits(named.encode("utf-8", "surrogatepass") if named else _beginning(body))


def _beginning(body: JsonObject) -> bytes:
    """Return the instructions and the first message of the user, which later turns repeat."""
    beginning: list[JsonValue] = [
        body[name]
        for name in ("instructions", "system", "systemInstruction", "system_instruction")
        if name in body
    ]
    for name in ("messages", "input", "contents"):
        turns = body.get(name)
        if isinstance(turns, str):
            beginning.append(turns)
        elif isinstance(turns, Sequence):
            beginning += _first_turns(turns)
    return json.dumps(_unmarked(beginning))


def _unmarked(value: Any) -> Any:
    """Return *value* without marks of the prompt cache, which move from turn to turn."""
    if isinstance(value, Mapping):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _first_turns(turns: Sequence[Any]) -> list[Any]:
    """Return the turns up to the first of the user."""
    first: list[Any] = []
    for turn in turns:
        first.append(turn)
        if isinstance(turn, Mapping) and turn.get("role", "user") == "user":
            break
    return first


def _digits(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=DIGITS // 2).hexdigest()
