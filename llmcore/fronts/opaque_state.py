"""State of a response that a client cannot see, sealed and sent back by it.

A client sends back items: texts, calls, reasoning. The message that the upstream needs has
more: signatures, encrypted thinking, ids, tools that the provider ran, and an order. So each
reasoning item carries, sealed, the recipe of the message up to itself: whole parts where the
client sees none, and keys where it does. Reading a response back follows the recipes.

    message of the upstream            item that the client gets and sends back
    ReasoningPart("Let me see",        {"type": "reasoning", "id": "rs_1",
      signature="EqQB")                 "summary": [{"type": "summary_text", "text": "Let me see"}],
    TextPart("Paris")                   "encrypted_content": "ob1.5kx..."}
                                       {"type": "message", "content": [{"text": "Paris", ...}]}

    "ob1.5kx..." unsealed: {"v": 1, "response": "resp_1", "origin": {"provider": "anthropic", ...},
      "parts": [{"part": {"type": "reasoning", "text": "Let me see", "signature": "EqQB"}}]}
"""

import base64
import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from attrs import evolve

from llmcore.fronts.sealer import Sealer
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, without
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.messages import Origin
from llmcore.schema.native_json import (
    int_or_none,
    object_or_empty,
    objects,
    str_or_empty,
    str_or_none,
)

_VERSION = 1
_MAX_STATE_BYTES = 64 * 1024 * 1024
"""The most unpacked state of one request: a small compressed body could hold gigabytes."""

# -- writing


@frozen(kw_only=True)
class ShownPart:
    """Parts of the message, and how the client sees them."""

    parts: tuple[ContentPart, ...]
    """More than one for an item that represents several, such as a call with its result, and for
    texts that the client's echo joins."""
    as_read_by_client: ContentPart | None = None
    """The part that the client's echo will be read as; None if the client does not see it, or sees
    an item that is not read as a part."""
    item_type: str | None = None
    """The type of an item that is not read as a part."""


def sealed_state(
    shown: Iterable[ShownPart],
    *,
    origin: Origin,
    response_id: str,
    sealer: Sealer,
    after: int = 0,
    texts: bool = False,
) -> str:
    """Return the recipe of *shown* as `encrypted_content`.

    *after* is the number of parts of the response that recipes before this one hold. With *texts*,
    it has the texts that the client sees too, for clients that send back calls alone.
    """
    state: dict[str, Any] = {
        "v": _VERSION,
        "response": response_id,
        "origin": to_json(origin),
        "parts": [_with_text(part) if texts else _entry(part) for part in shown],
        **({"after": after} if after else {}),
    }
    return sealer.seal(state)


def _with_text(shown: ShownPart) -> JsonValue:
    entry, part = _entry(shown), shown.as_read_by_client
    if not isinstance(part, TextPart | RefusalPart):
        return entry
    return {**object_or_empty(entry), "text": part.text}


def needs_state(shown: ShownPart) -> bool:
    """Return whether reading the client's echo without state would lose something."""
    return shown.parts != (shown.as_read_by_client,)


def _entry(shown: ShownPart) -> JsonValue:
    if shown.item_type is not None:
        return {"item": shown.item_type, "parts": [_without_data(inner) for inner in shown.parts]}
    part = shown.parts[0]
    if shown.as_read_by_client is None:
        return {"part": to_json(part)}
    key = _key_of(shown.as_read_by_client)
    if len(shown.parts) > 1:
        return {**key, "parts": [to_json(inner) for inner in shown.parts]}
    if part == shown.as_read_by_client:
        return key
    if evolve(shown.as_read_by_client, provider_metadata=part.provider_metadata) == part:
        return {**key, "metadata": part.provider_metadata}
    return {**key, "part": to_json(part)}


def _key_of(part: ContentPart) -> JsonObject:
    """Return the key of a part, and how long a text is: some clients' echoes join texts."""
    key = part_key(part)
    text = part.text if isinstance(part, TextPart | RefusalPart) else None
    return {"key": key} if text is None else {"key": key, "chars": len(text)}


def _without_data(part: ContentPart) -> JsonValue:
    """Return *part* without an image that the item beside it shows."""
    data = dict(object_or_empty(to_json(part)))
    return {**data, "data": ""} if isinstance(part, ImagePart) and part.data else data


_INTEGRAL: Final = re.compile(rb"\.0\b")
_UNNAMED_CALL: Final = "call:"
"""The key of a call that has no id, with which the keys of all calls begin."""
_TEXTS: Final = ("TextPart:", "RefusalPart:")
"""How the keys of texts begin."""


def part_key(part: ContentPart) -> str:
    """Return the key by which a part is recognized when a client sends it back."""
    if isinstance(part, ToolCallPart):
        return f"{_UNNAMED_CALL}{part.id}"
    text = part.text if isinstance(part, TextPart | RefusalPart) else ""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).digest()
    return f"{type(part).__name__}:{base64.urlsafe_b64encode(digest).decode()}"


def call_key(call: ToolCallPart) -> str:
    """Return the key by which a server keeps the state of *call*.

    The id alone would not do: some servers use the same ids in every conversation. Numbers such as
    1.0 are written as 1, as clients in JavaScript send them back.
    """
    said = _INTEGRAL.sub(b"", json.dumps([call.name, call.arguments]))
    digest = hashlib.sha256(said).digest()[:9]  # arguments can be whole files: processors have it
    return f"{call.id}:{base64.urlsafe_b64encode(digest).decode()}"


# -- reading

_KEY: Final = frozenset({"key", "chars", "text"})


@frozen(kw_only=True)
class EchoedHostedItem:
    """An item of a tool that the provider may have run, as the client sends it back."""

    native: Mapping[str, Any]
    path: str
    call: ToolCallPart | None = None
    """The item as a call that the client ran."""


Echo: TypeAlias = ContentPart | EchoedHostedItem
"""A part of a response that a client sends back."""

KeptState: TypeAlias = Callable[[str], str | None]
"""Returns the sealed state that a server kept of a call, by its key in the writer's
`sealed_calls`."""


@frozen(kw_only=True)
class ResponseState:
    """An unsealed recipe."""

    response_id: str
    origin: Origin
    entries: tuple[Mapping[str, Any], ...]
    size: int
    """Its bytes, unpacked."""
    after: int = 0
    """The number of parts that the recipes before it hold; 0 also where it is not stated."""


def unsealed_state(text: str, sealer: Sealer, limit: int = _MAX_STATE_BYTES) -> ResponseState:
    """Return the recipe that *text* holds.

    ValueError if it is not ours, damaged, or larger than *limit* bytes.
    """
    data = sealer.unpack(text, limit)
    state = object_or_empty(json.loads(data))
    if state.get("v") != _VERSION:
        raise ValueError("another version of the gateway wrote it")
    try:
        origin = from_json(Origin, state.get("origin"))
        entries = [_read_entry(entry) for entry in objects(state.get("parts"))]
    except InvalidRequestError as error:
        raise ValueError(error.message) from error
    return ResponseState(
        response_id=str_or_empty(state.get("response")),
        origin=origin,
        entries=tuple(entries),
        size=len(data),
        after=int_or_none(state.get("after")) or 0,
    )


def _read_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *entry* with its parts as values."""
    read = dict(entry)
    if "part" in read:
        read["part"] = _read_part(read["part"])
    if "parts" in read:
        read["parts"] = [_read_part(part) for part in objects(read["parts"])]
    return read


def _read_part(data: JsonValue) -> ContentPart:
    """Return a part; InvalidRequestError for one that names a file of this machine."""
    part: ContentPart = from_json(ContentPart, data)  # type: ignore[arg-type]
    inner: tuple[object, ...] = part.parts if isinstance(part, ToolResultPart) else ()
    for media in (part, *inner):
        if isinstance(media, ImagePart | AudioPart | DocumentPart) and media.path is not None:
            raise InvalidRequestError("a sealed part names a local file")
    return part


def restore(
    state: ResponseState, echoes: Sequence[Echo], diagnostics: Diagnostics
) -> tuple[list[Echo], list[ContentPart]]:
    """Return the *echoes* that are not in the recipe, and the parts that the recipe makes."""
    waiting = _PendingEchoes(echoes)
    wordless = not any(isinstance(echo, TextPart | RefusalPart) for echo in echoes)
    keys = [_key_of_entry(entry) for entry in state.entries]
    found = [waiting.take(key) for key in keys]
    parts: list[ContentPart] = []
    for entry, key, named in zip(state.entries, keys, found, strict=True):
        is_call, is_text = key.startswith(_UNNAMED_CALL), key.startswith(_TEXTS)
        echo = waiting.take(_UNNAMED_CALL) if named is None and is_call else named
        edited = waiting.take_text() if echo is None and is_text else None
        if edited is not None and entry.keys() - _KEY:
            why = "the text is not the one that its data came with"
            diagnostics.dropped("opaque-data-dropped", why)
        if wordless and echo is None and (kept := _kept_text(entry)):
            why = "the client sent the calls of a response without its text, which was kept"
            diagnostics.added("text-restored", why)
            parts += _parts_of(entry, kept)
        else:
            parts += [edited] if edited is not None else _parts_of(entry, echo)
    return waiting.rest(), parts


class _PendingEchoes:
    """The echoes of a client by their keys; each is taken once."""

    def __init__(self, echoes: Sequence[Echo]) -> None:
        self._left: dict[int, Echo] = dict(enumerate(echoes))
        self._places: dict[str, deque[int]] = {}
        self._texts = deque(i for i, echo in self._left.items() if isinstance(echo, TextPart))
        for index, echo in self._left.items():
            for key in _echo_keys(echo):
                self._places.setdefault(key, deque()).append(index)

    def take(self, key: str) -> Echo | None:
        places = self._places.get(key, deque())
        while places:
            echo = self._left.pop(places.popleft(), None)
            if echo is not None:
                return echo
        return None

    def take_text(self) -> ContentPart | None:
        """Return the next text that no key named, and remove it."""
        while self._texts:
            echo = self._left.pop(self._texts.popleft(), None)
            if isinstance(echo, TextPart):
                return echo
        return None

    def rest(self) -> list[Echo]:
        return list(self._left.values())


def _echo_keys(echo: Echo) -> list[str]:
    if not isinstance(echo, EchoedHostedItem):
        return [part_key(echo)]
    called = [] if echo.call is None else [part_key(echo.call)]
    return [f"item:{echo.native.get('type')}", *called]


def _key_of_entry(entry: Mapping[str, Any]) -> str:
    """Return the key by which the client shows the part of *entry*; empty if it does not."""
    return f"item:{entry['item']}" if "item" in entry else str(entry.get("key", ""))


def _parts_of(entry: Mapping[str, Any], echo: Echo | None) -> list[ContentPart]:
    """Return the parts of *entry*; none for a part that the client no longer shows."""
    if "item" in entry:
        return [part for part_entry in entry["parts"] for part in _with_data(part_entry, echo)]
    if "key" not in entry:
        return [entry["part"]]
    shown = echo.call if isinstance(echo, EchoedHostedItem) else echo
    if shown is None:
        return []
    if "part" in entry:
        return [entry["part"]]
    if "parts" in entry:
        return list(entry["parts"])
    if isinstance(shown, ToolCallPart) and not shown.id:
        shown = evolve(shown, id=str(entry["key"]).removeprefix(_UNNAMED_CALL))
    metadata = entry.get("metadata")
    return [evolve(shown, provider_metadata=metadata) if metadata else shown]


def _kept_text(entry: Mapping[str, Any]) -> TextPart | RefusalPart | None:
    """Return the text of *entry* as the client saw it, where it was kept.

    Text that stands beside calls belongs to them: OpenAI takes all items after reasoning, or
    none of the reasoning.
    """
    text = str_or_none(entry.get("text"))
    if not text:
        return None
    return TextPart(text) if str(entry["key"]).startswith(_TEXTS[0]) else RefusalPart(text)


def _with_data(part: ContentPart, echo: Echo | None) -> list[ContentPart]:
    """Return *part*, an image with the data that the item shows; nothing if it shows none."""
    if not isinstance(part, ImagePart) or part.data != b"":
        return [part]
    shown = decode_base64(echo.native.get("result")) if isinstance(echo, EchoedHostedItem) else None
    return [evolve(part, data=shown)] if shown else []


# -- one run of responses


class Unsealer:
    """Unseals the states of one request, together up to a limit."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer
        self._left = _MAX_STATE_BYTES

    def unsealed(self, text: str, what: str, diagnostics: Diagnostics) -> ResponseState | None:
        """Return the recipe in *text*; None, with a Diagnostic, if *what* it is cannot be read."""
        try:
            state = unsealed_state(text, self._sealer, self._left)
        except ValueError as error:
            diagnostics.dropped("opaque-data-dropped", f"{what} was dropped: {error}")
            return None
        self._left -= state.size
        return state


class EchoReader:
    """Reads the items between two user messages as the messages that they were."""

    def __init__(self, sealer: Sealer, diagnostics: Diagnostics) -> None:
        self._unsealer = Unsealer(sealer)
        self._diagnostics = diagnostics
        self._waiting: list[Echo] = []
        self._early: list[tuple[ResponseState, Diagnostics]] = []
        """States that came before items that they name: some clients put reasoning first."""
        self._responses: list[tuple[ResponseState | None, list[Echo]]] = []
        self._entries: dict[str, tuple[Mapping[str, Any], ...]] = {}
        """The entries of the states that came, by the ids of their responses."""

    def add(self, echo: Echo) -> None:
        """Add one part or item of a response that the client sends back."""
        self._waiting.append(echo)

    def add_state(self, text: str, path: str) -> bool:
        """Add sealed state; return False, with a Diagnostic, if it cannot be read."""
        here = self._diagnostics.at(path)
        state = self._unsealer.unsealed(text, "the encrypted reasoning", here)
        if state is None:
            return False
        self._note(state)
        self._restore_early()
        if self._early or self._is_early(state):
            self._early.append((state, here))
            return True
        before, parts = restore(state, self._waiting, here)
        self._waiting = []
        if before:
            self._append(before)
        self._append_restored(state, parts)
        return True

    def _is_early(self, state: ResponseState) -> bool:
        """Return whether *state* came before all of the calls that it names.

        Without echoes before it, it is early if it names any part.
        """
        keys = set(map(_key_of_entry, state.entries)) - {""}
        if not self._waiting:
            return bool(keys)
        calls = {key for key in keys if key.startswith(_UNNAMED_CALL)}
        there = {key for echo in self._waiting for key in _echo_keys(echo)} if calls else set()
        return not calls <= there and _UNNAMED_CALL not in there

    def _restore_early(self, *, all_of_them: bool = False) -> None:
        while self._early and (all_of_them or not self._is_early(self._early[0][0])):
            state, here = self._early.pop(0)
            self._waiting, parts = restore(state, self._waiting, here)
            self._append_restored(state, parts)

    def _append_restored(self, state: ResponseState, parts: list[ContentPart]) -> None:
        last = self._responses[-1][0] if self._responses else None
        if last is not None and last.response_id == state.response_id:
            self._responses[-1][1].extend(parts)
        else:
            self._responses.append((state, list(parts)))

    def add_state_of_calls(self, kept_state: KeptState, path: str) -> None:
        """Add the state that a server has of whole responses, where it did not come with them.

        It has the reasoning that came back as text. Where the state of the reasoning came, and not
        that of the calls behind it, the rest is added: the AI SDK names stored reasoning by its id,
        and sends calls without one. Of calls whose results come one by one, only the first gets
        the state of the response.
        """
        came = frozenset(self._entries)
        for sealed in dict.fromkeys(filter(None, map(kept_state, self.calls_without_state))):
            here = self._diagnostics.at(path)
            state = self._unsealer.unsealed(sealed, "the kept state", here)
            if state is None or (came and state.response_id not in came):
                continue  # of another response: some servers repeat the ids of calls
            if (rest := self._rest(state)) is None:
                continue
            self._note(rest)
            told = [echo for echo in self._waiting if not isinstance(echo, ReasoningPart)]
            self._waiting, parts = restore(rest, told, here)
            self._append_restored(rest, parts)

    def _note(self, state: ResponseState) -> None:
        """Remember that *state* came."""
        before = self._entries.get(state.response_id, ())
        self._entries[state.response_id] = (*before, *state.entries)

    def _rest(self, whole: ResponseState) -> ResponseState | None:
        """Return what of the *whole* state of a response has not come; None if that is unclear."""
        came = self._entries.get(whole.response_id, ())
        first, rest = whole.entries[: len(came)], whole.entries[len(came) :]
        same = all(a == without(b, "text") for a, b in zip(came, first, strict=False))
        return evolve(whole, entries=rest) if rest and same else None

    @property
    def calls_without_state(self) -> list[str]:
        """The `call_key` of each call of the client that no state named so far."""
        self._restore_early(all_of_them=True)
        return [call_key(echo) for echo in self._waiting if isinstance(echo, ToolCallPart)]

    def _append(self, echoes: list[Echo]) -> None:
        """Add *echoes* to the response before them, or make them a response of unknown origin."""
        if self._responses:
            self._responses[-1][1].extend(echoes)
        else:
            self._responses.append((None, echoes))

    def take(self) -> list[tuple[Origin | None, list[Echo]]]:
        """Return the responses that were read, each with its origin, and forget them."""
        self._restore_early(all_of_them=True)
        if self._waiting:
            self._append(self._waiting)
        responses = [(state.origin if state else None, parts) for state, parts in self._responses]
        self._waiting, self._responses = [], []
        return responses
