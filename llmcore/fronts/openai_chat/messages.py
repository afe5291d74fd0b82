r"""Reads the messages of a request as `Message` values.

    {"role": "assistant", "content": "Reading.", "reasoning_content": "Need two files.",
     "tool_calls": [{"id": "call_1", "type": "function",
                     "function": {"name": "read_file", "arguments": "{\"path\": \"a.py\"}"}}]}
    {"role": "tool", "tool_call_id": "call_1", "content": "import os"}

The order and the completeness that strict upstreams require are the work of the protocols
(`llmcore.protocols.history`). Sources, read November 2026:
https://developers.openai.com/api/reference/resources/chat (`messages`), and for what clients send
of thinking https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens,
https://docs.litellm.ai/docs/reasoning_content.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.fronts import field_types, reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.openai_chat.carrier import StateReader, is_sealed, seals_in, thought_signature
from llmcore.fronts.openai_chat.content import (
    read_annotations,
    read_content,
    read_images,
    read_result,
)
from llmcore.fronts.reading import Fields
from llmcore.protocols.openai_chat.names import (
    METADATA_KEY,
    PROTOCOL_ID,
    REASONING_FIELDS,
    proof_in,
)
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.protocols.tools import synthetic_call_id
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import ProviderMetadata, text_or_json, without
from llmcore.schema.messages import Message, Role
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

_ROLES: Final[Mapping[str, Role]] = {
    "developer": "developer",
    "system": "system",
    "user": "user",
}
_THINKING: Final = frozenset({*REASONING_FIELDS, "reasoning_details", "thinking_blocks"})
_GATHERED: Final = "provider_specific_fields"
_OPAQUE: Final = ("extra_content", _GATHERED)
"""Signatures of thoughts, as Google's own API of this form has them, and LiteLLM."""
_PLAIN: Final = frozenset({"content", "role", "tool_calls"})
"""All fields of nearly every message, of hundreds in a request."""
_INPUT_FIELDS: Final = frozenset({"cache_control", "content", "name", "role", "tool_call_id"})
_FIELDS: Final = _THINKING | _INPUT_FIELDS | {
    "annotations", "audio", "function_call", "images", "parsed", "refusal", "search_results",
    "tool_calls", *_OPAQUE,
}  # fmt: skip
"""Fields of messages, those that the gateway's own responses have among them. `parsed` is what
OpenAI's SDKs read of the content: clients send a response back as it is."""


@frozen
class ReadMessages:
    """The first instructions of a request, and the messages that follow them."""

    system: tuple[TextPart, ...]
    messages: tuple[Message, ...]
    unnamed: Collection[str] = frozenset()
    """The ids that were made for calls in the form before tools, which has none."""


class MessageReader:
    """Reads the messages of one request."""

    def __init__(self, upstream: Upstream, diagnostics: Diagnostics) -> None:
        self._protocol_id = upstream.protocol_id
        self._same_api = upstream.protocol_id in (None, PROTOCOL_ID)
        self._takes_files = self._same_api or upstream.protocol_id == RESPONSES
        self._limit = upstream.policy.max_items
        self._states = StateReader(upstream.sealer)
        self._diagnostics = diagnostics
        self._calls: dict[str, ToolCallPart] = {}
        self._answered = reading.AnsweredCalls()
        self._last_function: dict[str, str] = {}
        """Ids of calls in the form before tools, by their functions' names."""
        self._unnamed: set[str] = set()

    def read(self, value: object) -> ReadMessages:
        """Return the messages. Raises FrontError for invalid content."""
        if not isinstance(value, list) or not value:
            raise invalid("messages must be a list of at least one message.", "messages")
        if len(value) > self._limit:
            raise invalid(f"messages has {len(value)} entries; at most {self._limit} are taken.")
        messages = [
            _only_text(message) or self._read(message, f"messages[{index}]", index)
            for index, message in enumerate(value)
        ]
        first, rest = messages[0], tuple(messages[1:])
        if not rest:
            return ReadMessages((), (first,))  # instructions alone are what to answer
        texts = tuple(part for part in first.content if isinstance(part, TextPart))
        if first.role == "system" and first.name is None and texts == first.content:
            return ReadMessages(texts, rest, self._unnamed)
        return ReadMessages((), (first, *rest), self._unnamed)

    def _read(self, value: object, path: str, index: int) -> Message:
        if not isinstance(value, dict):
            raise invalid(f"{path} must be an object.", path)
        value = _with_gathered_fields(value)
        reading.report_unknown(value, _known_fields(value), self._diagnostics, path)
        if not _PLAIN.issuperset(value):
            check_types(value, field_types.OF_CHAT_MESSAGES, path)
        try:
            match value.get("role"):
                case "assistant":
                    return self._assistant(value, path, index)
                case "tool" | "function":
                    return self._result(value, path, index)
                case str(role) if role in _ROLES:
                    return self._input_message(_ROLES[role], value, path)
                case role:
                    words = "developer, system, user, assistant or tool"
                    place = f"{path}.role"
                    raise invalid(f"{place} {str(role)[:40]!r} is not {words}.", place)
        except InvalidRequestError as error:
            raise invalid(f"{path}: {error.message}", path) from error

    def _input_message(self, role: Role, native: Fields, path: str) -> Message:
        content = self._content(native, path)
        for number, part in enumerate(content):
            if type(part) is not TextPart:
                self._check_file(part, f"{path}.content[{number}]")
        name = reading.read_field(native, "name", str, f"{path}.") or None
        return (
            reading.checked_message(role, content)
            if name is None
            else Message(role, content, name=name)
        )

    def _content(self, native: Fields, path: str) -> tuple[ContentPart, ...]:
        here = self._diagnostics.at(f"{path}.content")
        parts = read_content(native.get("content"), here, protocol_id=self._protocol_id)
        ttl = reading.cache_ttl_of(native, self._diagnostics.at(path))
        if ttl is None or not parts:
            return parts
        return (*parts[:-1], cached(parts[-1], ttl=ttl))

    def _check_file(self, part: ContentPart, path: str) -> None:
        media = part if isinstance(part, ImagePart | AudioPart | DocumentPart) else None
        if media is not None and media.file_id is not None:
            reading.own_file(media.file_id, path, known=self._takes_files)

    # -- responses

    def _assistant(self, native: Fields, path: str, index: int) -> Message:
        is_plain = _PLAIN.issuperset(native)
        calls = self._calls_of(native, path, index)
        content = self._content(native, path) if is_plain else self._response_content(native, path)
        if is_plain and not calls:
            return reading.message_of("assistant", content)
        shown = (*content, *calls)
        if seals := seals_in(native):
            unnamed = calls[0].id if calls and calls[0].id in self._unnamed else None
            sent = shown if unnamed is None else tuple(with_id("", part) for part in shown)
            state = self._states.restored(seals, sent, self._diagnostics.at(path))
            if state is not None:
                message = Message.assistant(state[1], origin=state[0])
                if unnamed is not None:
                    message = _named(message, unnamed)
                    calls = message.tool_calls
                self._add_calls(calls)
                return message
        self._add_calls(calls)
        if is_plain:
            return reading.message_of("assistant", shown)
        parts = (*self._thinking(native, path), *shown, *self._fields(native, path))
        return Message("assistant", parts, name=str_or_none(native.get("name")))

    def _add_calls(self, calls: Iterable[ToolCallPart]) -> None:
        for call in calls:
            self._calls[call.id] = call
            self._answered.add_call(call.id)
            if self._unnamed:
                self._last_function[call.name] = call.id

    def _response_content(self, native: Fields, path: str) -> Sequence[ContentPart]:
        """Return the parts of a response that the client sent back, apart from its calls."""
        parts: list[ContentPart] = list(self._content(native, path))
        citations = read_annotations(native.get("annotations"))
        if citations and len(parts) == 1 and isinstance(parts[0], TextPart):
            parts = [evolve(parts[0], citations=citations)]
        if (refusal := str_or_none(native.get("refusal"))) is not None:
            parts.append(RefusalPart(refusal))
        parts += read_images(native.get("images"), f"{path}.images")
        return (*parts, *self._audio(native, path))

    def _audio(self, native: Fields, path: str) -> Sequence[ContentPart]:
        audio_id = str_or_none(object_or_empty(native.get("audio")).get("id"))
        if audio_id is None:
            return ()
        if self._same_api:
            return (AudioPart(file_id=audio_id),)
        why = "the upstream does not have the audio that the id names"
        self._diagnostics.at(f"{path}.audio").left_out("audio", why)
        return ()

    # -- thinking

    def _thinking(self, native: Fields, path: str) -> Sequence[ReasoningPart]:
        """Return the thinking of a response whose state is foreign or missing."""
        if native.keys().isdisjoint(_THINKING):  # nearly every one, of hundreds in a request
            return ()
        details = [
            detail for detail in objects(native.get("reasoning_details")) if not is_sealed(detail)
        ]
        blocks = [
            detail for detail in objects(native.get("thinking_blocks")) if not is_sealed(detail)
        ]
        text = _thinking_text(native)
        if details and self._same_api:
            return (
                ReasoningPart(
                    text,
                    signature=proof_in(details, "signature"),
                    encrypted=proof_in(details, "data"),
                    provider_metadata={METADATA_KEY: {"reasoning_details": details}},
                ),
            )
        foreign = (*details, *blocks)
        if proof_in(foreign, "signature") or proof_in(foreign, "data"):
            why = "only the provider that signed this thinking can read its proof"
            self._diagnostics.at(f"{path}.reasoning_details").dropped("opaque-data-dropped", why)
        return (ReasoningPart(text),) if text else ()

    def _fields(self, native: Fields, path: str) -> Sequence[ContentPart]:
        """Return fields of a response that go back to a server of the same API unread."""
        own = self._opaque(native, path)
        place: ProviderMetadata = {METADATA_KEY: {"place": "message"}}
        return (ProviderPart(METADATA_KEY, own, provider_metadata=place),) if own else ()

    def _opaque(self, native: Fields, path: str) -> dict[str, Any]:
        """Return the fields that only the provider that sent them reads; report them for others."""
        own = {name: given for name in _OPAQUE if (given := object_or_empty(native.get(name)))}
        if self._same_api:
            return own
        for name in own:
            why = "only the provider that sent this can read it"
            self._diagnostics.at(f"{path}.{name}").dropped("opaque-data-dropped", why)
        return {}

    # -- calls and results

    def _calls_of(self, native: Fields, path: str, index: int) -> Sequence[ToolCallPart]:
        legacy, name = native.get("function_call"), "tool_calls"
        given = reading.read_objects(native, name, f"{path}.") if native.get(name) else []
        if isinstance(legacy, dict) and not native.get("tool_calls"):
            place = f"{path}.function_call"
            reading.report_unknown(legacy, _FUNCTION_FIELDS, self._diagnostics, place)
            known = {name: legacy.get(name) for name in _FUNCTION_FIELDS}
            call = self._call({"function": known}, place, index, 0)
            self._unnamed.add(call.id)
            return (call,)
        return [
            _usual_call(native_call)
            or self._call(native_call, f"{path}.tool_calls[{number}]", index, number)
            for number, native_call in enumerate(given)
        ]

    def _call(self, native: Fields, path: str, index: int, number: int) -> ToolCallPart:
        custom = object_or_empty(native.get("custom"))
        function = object_or_empty(native.get("function"))
        kind = "custom" if custom else "function"
        reading.report_unknown(native, _CALL_FIELDS, self._diagnostics, path)
        reading.report_unknown(custom, _CUSTOM_FIELDS, self._diagnostics, f"{path}.custom")
        reading.report_unknown(function, _FUNCTION_FIELDS, self._diagnostics, f"{path}.function")
        name = reading.required(custom or function, "name", str, f"{path}.{kind}.")
        check_types(native, field_types.OF_CHAT_CALLS, path)
        given = native.get("id")  # some clients send the number that a server gave
        is_number = type(given) is int
        known_id = str(given) if is_number else reading.read_field(native, "id", str, f"{path}.")
        call_id = known_id or synthetic_call_id(None, index, number)
        if custom:
            return ToolCallPart(call_id, name, text_or_json(custom.get("input")), kind="custom")
        call = reading.written_call(call_id, name, text_or_json(function.get("arguments") or ""))
        kept = self._kept_with(native, path)
        return evolve(call, provider_metadata=kept) if kept else call

    def _kept_with(self, native: Fields, path: str) -> ProviderMetadata:
        if is_sealed({"signature": thought_signature(native)}):
            return {}
        own = self._opaque(native, path)
        return {METADATA_KEY: own} if own else {}

    def _result(self, native: Fields, path: str, index: int) -> Message:
        call_id = str_or_none(native.get("tool_call_id"))
        name = reading.read_field(native, "name", str, f"{path}.") or None
        if native.get("role") == "function":
            call_id = self._last_function.get(name or "") or synthetic_call_id(None, index, 0)
        if call_id is None:
            call_id = reading.required(native, "tool_call_id", str, f"{path}.")
        call, here = self._calls.get(call_id), self._diagnostics.at(f"{path}.content")
        output = read_result(native.get("content"), here, protocol_id=self._protocol_id)
        name = call.name if call else name
        if isinstance(output, str) and (call is None or call.kind == "function"):
            part = reading.text_result(call_id, output, name)
        else:
            kind = call.kind if call else "function"
            part = ToolResultPart(call_id, output, name=name, kind=kind)
        self._answered.add_result(part, path)
        ttl = reading.cache_ttl_of(native, self._diagnostics.at(path))
        return reading.message_of(
            "tool", (reading.marked_at_end(part) if ttl is None else cached(part, ttl=ttl),)
        )


def _known_fields(native: Fields) -> frozenset[str]:
    """Return the fields that a message of its role may have; empty ones of a response state none.

    Some clients have one form for the messages of all roles.
    """
    if native.get("role") == "assistant" or _INPUT_FIELDS.issuperset(native):
        return _FIELDS
    return _INPUT_FIELDS.union(name for name in _FIELDS & native.keys() if not native[name])


_OF_TEXT: Final[Mapping[str, Role]] = {**_ROLES, "assistant": "assistant"}


def _only_text(native: object) -> Message | None:
    """Return a message that has a text and nothing else, as most of a long chat; None for another.

    It is read as any other would be, without a look at each field that it does not have.
    """
    if type(native) is not dict or len(native) != 2:
        return None
    role, text = native.get("role"), native.get("content")
    if type(text) is not str or type(role) is not str or not text or role not in _OF_TEXT:
        return None
    return reading.text_message(_OF_TEXT[role], text)


def _usual_call(native: Fields) -> ToolCallPart | None:
    """Return a call of a function with an id and nothing more, as nearly all; None for another."""
    call_id, function = native.get("id"), native.get("function")
    if type(call_id) is not str or type(function) is not dict or not call_id:
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if type(name) is not str or type(arguments) is not str or len(function) > 2:
        return None
    return reading.written_call(call_id, name, arguments) if _USUAL.issuperset(native) else None


_USUAL: Final = frozenset({"function", "id", "index", "type"})
"""Fields of nearly all calls; streams number them, and clients send that back."""
_CALL_FIELDS: Final = _USUAL | {"custom", *_OPAQUE}
_CUSTOM_FIELDS: Final = frozenset({"input", "name"})
_FUNCTION_FIELDS: Final = frozenset({"arguments", "name", "parsed_arguments"})
"""The last one is what OpenAI's SDKs read of the first: clients send a response back as it is."""


def _with_gathered_fields(native: Fields) -> Fields:
    """Return *native* with its reasoning in its own fields, if `provider_specific_fields` has it.

    LiteLLM gathers there what it read in fields that OpenAI does not have, and sends it back so.
    Source: https://docs.litellm.ai/docs/reasoning_content, read November 2026.
    """
    gathered = object_or_empty(native.get(_GATHERED))
    own = {name: given for name, given in gathered.items() if name in _FIELDS}
    return {**own, **native, _GATHERED: without(gathered, *own)} if own else native


def _thinking_text(native: Fields) -> str:
    """Return the text of thinking, from the first field that has it."""
    for name in REASONING_FIELDS:
        if (text := str_or_none(native.get(name))) is not None:
            return text
    details = objects(native.get("reasoning_details"))
    words = [detail.get("text") or detail.get("summary") for detail in details]
    words = words or [detail.get("thinking") for detail in objects(native.get("thinking_blocks"))]
    return "".join(word for word in words if isinstance(word, str))


# -- calls in the form before tools


def with_id(call_id: str, part: ContentPart) -> ContentPart:
    """Return *part*, with another id if it is a call."""
    return evolve(part, id=call_id) if isinstance(part, ToolCallPart) else part


def _named(message: Message, call_id: str) -> Message:
    """Return *message* with *call_id* for a call that has no id."""
    if all(call.id for call in message.tool_calls):
        return message
    parts = (
        part if isinstance(part, ToolCallPart) and part.id else with_id(call_id, part)
        for part in message.content
    )
    return evolve(message, content=tuple(parts))
