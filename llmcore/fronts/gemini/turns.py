"""Reads the turns of the model that a client sends back as the responses that they were.

A turn that holds sealed state (`carrier`) becomes the response that the state describes. Any other
began elsewhere: for a Gemini upstream it is read as the protocol reads a response, signatures
included; for others it loses what only Gemini can read.

    {"role": "model", "parts": [{"text": "Read", "thought": true},
                                {"functionCall": {"id": "c1", "name": "f", "args": {}},
                                 "thoughtSignature": "b2IxLkFCQ0Q="}]}
"""

from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import Final, TypeAlias

from attrs import evolve

from llmcore.folds.response import collect
from llmcore.folds.segments import complete_segments
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.gemini.carrier import is_signature
from llmcore.fronts.gemini.content import camel_keys, is_media, read_media, read_part
from llmcore.fronts.opaque_state import EchoReader, KeptState, call_key
from llmcore.fronts.places import Places, kept_at
from llmcore.fronts.reading import read_field
from llmcore.fronts.sealer import seal_in
from llmcore.protocols.gemini import protocol
from llmcore.protocols.gemini.names import PIECE_FIELDS, PROTOCOL_ID
from llmcore.protocols.tools import synthetic_call_id
from llmcore.schema.content import ContentPart, ReasoningPart, TextPart, ToolCallPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject, without
from llmcore.schema.messages import Message
from llmcore.schema.native_json import str_or_none
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Failure

PlacedPart: TypeAlias = tuple[NativeObject, str]
"""A native part, its fields in camelCase, and its path in the request."""


def read_turn(
    turn: Sequence[PlacedPart],
    upstream: Upstream,
    before: Sequence[Message],
    places: Places,
    diagnostics: Diagnostics,
) -> list[Message]:
    """Return *turn*, which follows the messages *before*, as responses.

    Each call has an id. FrontError for a part that cannot be understood.
    """
    sealed = any(seal_in(part.get("thoughtSignature")) is not None for part, _ in turn)
    kept = None
    if upstream.kept_state is not None and not sealed:
        kept = kept_at(upstream.kept_state, places, before)
        kept = kept if _is_kept(turn, kept) else None
    if not sealed and kept is None and upstream.protocol_id == PROTOCOL_ID:
        messages = _native_turn(turn, upstream, before)
    else:
        reader = _TurnReader(upstream, sealed=sealed, kept_state=kept, diagnostics=diagnostics)
        messages = reader.read(turn)
    return [_with_ids(message, len(before) + index) for index, message in enumerate(messages)]


def _is_kept(turn: Sequence[PlacedPart], kept_state: KeptState) -> bool:
    """Return whether a server kept the state of a response that came back without its own."""
    if any(is_signature(part.get("thoughtSignature")) for part, _ in turn):
        return False
    calls = (
        _call(camel_keys(part["functionCall"]), path)
        for part, path in turn
        if "functionCall" in part
    )
    return any(kept_state(call_key(call)) for call in calls)


def _with_ids(message: Message, turn: int) -> Message:
    """Return *message* with an id for each call that came without one."""
    parts = [
        evolve(part, id=synthetic_call_id(None, turn, index))
        if isinstance(part, ToolCallPart) and not part.id
        else part
        for index, part in enumerate(message.content)
    ]
    return evolve(message, content=tuple(parts))


# -- turns of Gemini's own


def _native_turn(
    turn: Sequence[PlacedPart], upstream: Upstream, before: Sequence[Message]
) -> list[Message]:
    """Return *turn* as the protocol reads a response of these parts."""
    parts = [(_native_part(part, path), path) for part, path in turn]
    candidate: NativeObject = {
        "content": {"parts": [part for part, _ in parts if part]},
        "finishReason": "STOP",
    }
    request = LLMRequest(model=upstream.model, provider=upstream.provider, messages=tuple(before))
    events = protocol.whole({"candidates": [candidate]}, request)
    match collect(complete_segments(events)):
        case Failure(error):
            raise invalid(f"{turn[0][1]}: {error.message}", turn[0][1])
        case collected:
            content = _unjoined(collected.unwrap().message.content, parts)
    return [Message.assistant(content)] if content else []


def _unjoined(parts: Sequence[ContentPart], turn: Sequence[PlacedPart]) -> list[ContentPart]:
    """Return *parts* with the plain texts of each content apart, as the client sends them.

    Texts in a row of several contents are one: the chunks of a stream that it was sent.
    """
    texts = _plain_texts(turn)
    unjoined: list[ContentPart] = []
    for part in parts:
        if not isinstance(part, TextPart) or part.provider_metadata:
            unjoined.append(part)
            continue
        length = 0
        while length < len(part.text) and texts:
            text = texts.popleft()
            length += len(text)
            unjoined.append(TextPart(text))
    return unjoined


def _plain_texts(turn: Sequence[PlacedPart]) -> deque[str]:
    texts: deque[str] = deque()
    content = ""
    for part, path in turn:
        before, content = content, path.partition(".")[0]
        text = part.get("text")
        if not text or not isinstance(text, str) or part.keys() != {"text"}:
            content = ""
        elif before and before != content:
            texts.append(texts.pop() + text)
        else:
            texts.append(text)
    return texts


_OBJECTS: Final = (
    "codeExecutionResult", "executableCode", "fileData", "functionCall", "inlineData", "toolCall",
    "toolResponse",
)  # fmt: skip


def _native_part(part: NativeObject, path: str) -> NativeObject:
    """Return *part* with the fields of its content in camelCase; media as requests have it.

    Fields without an effect are left out: a false `thought`, a signature that only skips the
    check, and the marks of a call that came in pieces, which is whole in a request.
    """
    if is_media(part):
        read_media(part, path, native=True)
    inner = {name: camel_keys(part[name]) for name in _OBJECTS if isinstance(part.get(name), dict)}
    if "functionCall" in inner:
        inner["functionCall"] = without(inner["functionCall"], *PIECE_FIELDS)
    whole = {**part, **inner}
    idle = [] if is_signature(part.get("thoughtSignature")) else ["thoughtSignature"]
    return without(whole, *idle, *([] if part.get("thought") else ["thought"]))


# -- turns of others, and for others


class _TurnReader:
    """Reads the parts of one turn: a sealed state describes those before it, a kept one all."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        sealed: bool,
        kept_state: KeptState | None,
        diagnostics: Diagnostics,
    ) -> None:
        self._sealed = sealed or kept_state is not None
        self._diagnostics = diagnostics
        self._echo_reader = EchoReader(upstream.sealer, diagnostics)
        self._kept_state = kept_state
        self._group: list[ContentPart] = []
        self._foreign = ""
        """The path of the first signature that only Gemini can read."""

    def read(self, turn: Sequence[PlacedPart]) -> list[Message]:
        """Return the responses of *turn*."""
        for part, path in turn:
            signature = part.get("thoughtSignature")
            state = seal_in(signature)
            if state is None and is_signature(signature):
                self._foreign = self._foreign or f"{path}.thoughtSignature"
            self._group += self._read(part, path)
            if state is not None:
                self._end_group(state, f"{path}.thoughtSignature")
        for joined_part in _joined(self._group, (TextPart, ReasoningPart)):
            self._echo_reader.add(joined_part)
        if self._foreign:
            why = "only the model that made it can read it, and the upstream is another"
            self._diagnostics.at(self._foreign).dropped("opaque-data-dropped", why)
        if self._kept_state is not None:
            self._echo_reader.add_state_of_calls(self._kept_state, turn[0][1])
        return [
            Message("assistant", tuple(parts), origin=origin)  # type: ignore[arg-type]
            for origin, parts in self._echo_reader.take()
        ]

    def _end_group(self, state: str, path: str) -> None:
        """Read *state*, which contains the parts of the group that clients do not send back."""
        group, self._group = self._group, []
        shown = [part for part in group if not isinstance(part, ReasoningPart)]
        for joined_part in _joined(shown, (TextPart,)):
            self._echo_reader.add(joined_part)
        self._echo_reader.add_state(state, path)

    def _read(self, part: NativeObject, path: str) -> list[ContentPart]:
        if isinstance(part.get("text"), str):
            text = part["text"]
            kind = ReasoningPart if part.get("thought") is True else TextPart
            return [kind(text)] if text else []
        if "functionCall" in part:
            return [_call(camel_keys(part["functionCall"]), path)]
        if is_media(part):
            if self._sealed and part.get("thought") is True:
                return []  # a draft; the state holds it
            return [read_media(part, path, native=False)]
        if "executableCode" in part or "codeExecutionResult" in part:
            return self._code(part, path)
        if self._sealed:
            return []  # a tool's part that an upstream of Gemini's made: the state holds it
        return read_part(part, self._diagnostics.at(path), native=False)

    def _code(self, part: NativeObject, path: str) -> list[ContentPart]:
        """Return code that the provider ran, or its output, as text; the state has the rest."""
        if self._sealed:
            return []
        why = "code that Gemini ran, and what it printed, are text to other models"
        self._diagnostics.at(path).changed("hosted-tool-as-text", why)
        code = camel_keys(part.get("executableCode")).get("code")
        printed = camel_keys(part.get("codeExecutionResult")).get("output")
        return [TextPart(f"```\n{text}\n```\n") for text in (code, printed) if str_or_none(text)]


def _call(call: NativeObject, path: str) -> ToolCallPart:
    name = str_or_none(call.get("name"))
    if name is None:
        raise invalid(f"{path}: a function call has a name.", f"{path}.functionCall.name")
    where = f"{path}.functionCall."
    call_id = read_field(call, "id", str, where) or ""
    return ToolCallPart(call_id, name, read_field(call, "args", dict, where) or {})


def _joined(parts: Sequence[ContentPart], kinds: tuple[type, ...]) -> list[ContentPart]:
    """Return *parts*, those in a row of one of *kinds* as one: streams cut them anywhere."""
    whole: list[ContentPart] = []
    for kind, run in groupby(parts, key=type):
        row = list(run)
        if kind in kinds:
            whole.append(kind("".join(part.text for part in row)))  # type: ignore[union-attr]
        else:
            whole += row
    return whole
