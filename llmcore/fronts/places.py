"""The place of a response in its conversation, by which a client's calls without ids are found.

A server keeps the state of a response by the ids of its calls. Clients of Gemini's API may send
calls back without ids and signatures, as its older SDKs do (`google-generativeai`): then a call is
found by its name, its arguments, and what is before it in the conversation. Of that, only what
each client sends back counts: the user's content, results of tools, and the calls of the model.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from attrs import evolve

from llmcore.fronts.opaque_state import KeptState, ShownPart, call_key
from llmcore.schema import json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Message

_OF_CLIENT: Final = frozenset({"tool", "user"})


class Places:
    """The places of the responses of one conversation, in order: each message is read once."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=15)
        self._count = 0

    def after(self, before: Sequence[Message]) -> str:
        """Return the place of the response after *before*, which begins with what came last."""
        for message in before[self._count :]:
            parts = message.content if message.role in _OF_CLIENT else message.tool_calls
            for sent in _sent_back(parts):
                self._digest.update(b"%d:" % len(sent))
                self._digest.update(sent)
        self._count = len(before)
        return self._digest.hexdigest()


def _sent_back(parts: Iterable[ContentPart]) -> Iterator[bytes]:
    for part in parts:
        match part:
            case ToolCallPart():
                yield _key_without_id(part).encode()
            case ToolResultPart() if part.parts:
                yield from _sent_back(part.parts)
            case ToolResultPart(content=content):
                yield json.dumps(cast("JsonValue", content))
            case TextPart(text=text):
                yield text.encode("utf-8", "surrogatepass")
            case ImagePart() | AudioPart() | DocumentPart():
                yield part.data or str(part.url or part.file_id).encode("utf-8", "surrogatepass")
            case _:
                pass


def _key_without_id(call: ToolCallPart) -> str:
    return call_key(evolve(call, id=""))


def with_place(
    states: Mapping[str, str], shown: Iterable[ShownPart], before: Sequence[Message]
) -> Mapping[str, str]:
    """Return *states*, by the keys of calls, also by the key of the first call without its id.

    The response is *shown* to the client, and follows the messages *before*.
    """
    seen = (part.as_read_by_client for part in shown)
    first = next((part for part in seen if isinstance(part, ToolCallPart)), None)
    state = next(iter(states.values()), "")
    if not state or first is None:
        return states
    return {**states, Places().after(before) + _key_without_id(first): state}


def kept_at(kept_state: KeptState, places: Places, before: Sequence[Message]) -> KeptState:
    """Return *kept_state* for the calls of the response after *before*, which may have no ids."""
    return lambda key: kept_state(places.after(before) + key if key.startswith(_NO_ID) else key)


_NO_ID: Final = ":"
"""How the `call_key` of a call begins that has no id."""
