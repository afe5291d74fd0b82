"""Reads the input: items with their references resolved, as messages.

    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather?"}]}
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ob1.5kx..."}
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"}
    {"type": "function_call_output", "call_id": "call_1", "output": "19 C"}

Successive items of the model are read together: they are one response, or several. What the
upstream cannot express is named in a Diagnostic, and refused where the conversation would lose its
meaning. Source, read November 2026 (`input`):
https://developers.openai.com/api/reference/resources/responses/methods/create.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.fronts import reading
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_ITEMS, check_types
from llmcore.fronts.front import NewId, Upstream
from llmcore.fronts.opaque_state import Echo, EchoedHostedItem, EchoReader, call_key
from llmcore.fronts.openai_responses import calls
from llmcore.fronts.openai_responses.compaction import ITEMS as COMPACTIONS
from llmcore.fronts.openai_responses.compaction import MARKER, TRIGGER, carried_summary
from llmcore.fronts.openai_responses.content import (
    own_fields,
    read_content,
    report_unread,
    with_fields,
)
from llmcore.fronts.openai_responses.errors import item_not_found
from llmcore.fronts.openai_responses.state import (
    SEALED,
    FindItem,
    calls_before_results,
    is_reference,
    repeated_items,
)
from llmcore.fronts.sealer import PREFIX
from llmcore.fronts.summaries import INSTRUCTION, summary_message
from llmcore.fronts.tool_registry import ToolRegistry, function_name
from llmcore.protocols.history import ITEM_FIELDS
from llmcore.protocols.openai_chat.names import PROTOCOL_ID as CHAT
from llmcore.protocols.openai_responses.names import MESSAGE_FIELDS, METADATA_KEY, PROTOCOL_ID
from llmcore.schema.content import (
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import json_or_text, without
from llmcore.schema.media_sources import decode_base64
from llmcore.schema.messages import Message, Origin, Role
from llmcore.schema.native_json import object_or_empty, str_or_none

# -- the list


def read_items(
    value: object, find_item: FindItem, new_id: NewId, limit: int
) -> tuple[dict[str, Any], ...]:
    """Return the input's items, each with its type and an id.

    FrontError for anything but a list of items, for references to unknown items, and for more
    than *limit*.
    """
    if isinstance(value, str):
        part = {"type": "input_text", "text": value}
        return ({"id": new_id("msg"), "type": "message", "role": "user", "content": [part]},)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise invalid("input must be a text or a list of items.", "input")
    if len(value) > limit:
        raise invalid(f"input has {len(value)} items; at most {limit} are taken.", "input")
    return tuple(
        _read_item(item, f"input[{index}]", find_item, new_id) for index, item in enumerate(value)
    )


def _read_item(item: object, path: str, find_item: FindItem, new_id: NewId) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise invalid(f"{path} must be an object.", path)
    if is_reference(item):
        name = str_or_none(item.get("id")) or ""
        stored = find_item(name)
        if stored is None:
            raise item_not_found(name)
        return dict(stored)
    kind = item.get("type") or ("message" if "role" in item else None)
    if not isinstance(kind, str):
        raise invalid(f"{path} has no type.", f"{path}.type")
    check_types(item, OF_ITEMS, path)
    if str_or_none(item.get("id")) is None:
        return {**item, "id": new_id(calls.id_prefix(kind)), "type": kind}
    whole = {**item, "type": kind}
    return whole if item.get(SEALED) else _with_state(whole, find_item)


def _with_state(item: dict[str, Any], find_item: FindItem) -> dict[str, Any]:
    """Return *item* with its stored state."""
    kept = object_or_empty(find_item(item["id"]))
    same = all(kept.get(name) == item.get(name) for name in ("type", "role"))
    return {**item, SEALED: kept[SEALED]} if same and kept.get(SEALED) else item


# -- messages


Item = Mapping[str, Any]

_ROLES: Final[Mapping[object, Role]] = {
    "user": "user",
    "system": "system",
    "developer": "developer",
}
_NO_WORDS: Final = frozenset({"additional_tools", "configuration_update"})
"""Items that configure the request and are not part of the conversation."""
_OF_NO_WORDS: Final = frozenset({"id", "reasoning", "role", "status", "text", "tools", "type"})
_NAMED: Final = frozenset({"function_call", "custom_tool_call"})
"""Calls that name their tool; for other calls, the type identifies it."""
_RESULT_FIELDS: Final[Mapping[str, str | None]] = {
    "code_interpreter_call": "outputs",
    "file_search_call": "results",
    "image_generation_call": None,
    "mcp_call": "output",
    "mcp_list_tools": None,
    "mcp_approval_request": None,
    "mcp_approval_response": None,
    "program": None,
    "program_output": "result",
    "shell_call": None,
    "shell_call_output": "output",
    "web_search_call": None,
}
"""Items of tools that a provider ran, and the field with the tool's result."""
_KNOWN_OF_HOSTED: Final = frozenset(
    {"arguments", "call_id", "code", "id", "name", "queries", "status", "type"}
)
"""Fields of those items that other upstreams get; only their API has others, as of an image."""
_OF_THINKING: Final = frozenset({"text", "type"})
_TOOL_SEARCH: Final = frozenset({"tool_search_call", "tool_search_output"})
_UNREADABLE: Final = COMPACTIONS | {TRIGGER}
"""Items that only the server that made them can read, or that are requests to OpenAI's server."""
_ID_NOT_NEEDED: Final = frozenset(
    {*COMPACTIONS, TRIGGER, "apply_patch_call", "mcp_approval_response", "reasoning", "shell_call"}
    | {"shell_call_output", "tool_search_call", "tool_search_output"}
)
"""Items that the API takes without an id; those of other hosted tools need one."""


class InputReader:
    """Reads the items of one request."""

    def __init__(
        self,
        upstream: Upstream,
        registry: ToolRegistry,
        diagnostics: Diagnostics,
        *,
        compacts: bool,
        before: tuple[Message, ...],
        sent_ids: Container[str],
    ) -> None:
        """Read items for *upstream*, of which *sent_ids* came with the request.

        Other ids were made for them. With *compacts* the last one, a `compaction_trigger`, is read
        as the wish for a summary.
        """
        self._upstream = upstream
        self._compacts = compacts
        self._registry = registry
        self._native = upstream.protocol_id == PROTOCOL_ID
        self._takes_files = upstream.protocol_id in (None, PROTOCOL_ID, CHAT)
        self._diagnostics = diagnostics
        self._run = EchoReader(upstream.sealer, diagnostics)
        self._path = "input"
        self._messages: list[Message] = []
        self._calls: dict[str, ToolCallPart] = {}
        self._answered = reading.AnsweredCalls()
        self._sent_ids = sent_ids
        self._remote: set[str] = set()
        """The ids of shell calls that the provider ran."""
        self._told: set[str] = set()
        """Fields of messages that were reported: clients such as Codex have them in each."""
        self._begun: set[int] = set()
        """The parts of the run with which a message began."""
        self._before = before
        self._read_items: dict[int, tuple[Item, ToolCallPart | None]] = {}
        """Items that were looked at as calls, by the identity of each."""
        for message in before:
            self._remember(message.content)

    def read(self, items: Sequence[Item]) -> tuple[Message, ...]:
        """Return *items* as messages. Raises FrontError for invalid items."""
        repeated = repeated_items(items, self._before, self._call)
        items = items[:-1] if self._compacts else items
        for index in calls_before_results(items, self._kept_state):
            item, path = items[index], f"input[{index}]"
            self._path = path
            if index in repeated:
                why = "the conversation that previous_response_id names has it already"
                self._diagnostics.at(path).dropped("repeated-item", why)
                continue
            try:
                self._read(item, path)
            except InvalidRequestError as error:
                raise invalid(f"{path}: {error.message}", path) from error
        self._end_run()
        return (*self._messages, *([Message.user(INSTRUCTION)] if self._compacts else []))

    def _read(self, item: Item, path: str) -> None:
        type_ = str(item.get("type"))
        if self._native and type_ in _ID_NOT_NEEDED and str(item.get("id")) not in self._sent_ids:
            item = without(item, "id")
        if calls.is_of_model(item) and str(item.get(SEALED)).startswith(PREFIX):
            self._read(without(item, SEALED), path)
            self._run.add_state(item[SEALED], f"{path}.{SEALED}")
        elif type_ == "message":
            self._read_message(item, path)
        elif type_ == "reasoning":
            self._read_reasoning(item, path)
        elif (call := self._call(item)) is not None:
            self._called(call, item, path)
        elif (result := self._result(item, path)) is not None:
            self._messages.append(reading.message_of("tool", (result,)))
        elif (message := self._of_compaction_or_tools(item, type_)) is not None:
            self._end_run()
            self._messages.append(message)
        elif type_ in _RESULT_FIELDS or (type_ in _UNREADABLE and self._native):
            self._run.add(EchoedHostedItem(native=item, path=path))
            if type_ == "shell_call":
                self._remote.add(str(item.get("call_id")))
        elif type_ in _TOOL_SEARCH:
            self._read_tool_search(item, path)
        elif type_ in _NO_WORDS:
            reading.report_unknown(item, _OF_NO_WORDS, self._diagnostics, path)
        else:
            self._read_other(item, type_, path)

    def _of_compaction_or_tools(self, item: Item, type_: str) -> Message | None:
        """Return the gateway's own summary as a message, or tools for a native upstream."""
        if type_ in COMPACTIONS and (summary := carried_summary(item, self._upstream.sealer)):
            return summary_message(summary)
        if type_ == "additional_tools" and self._registry.native:
            return Message("developer", (ProviderPart(METADATA_KEY, without(item, "id")),))
        return None

    def _kept_state(self, item: Item) -> str | None:
        """Return the kept state of the response that *item* is a call of."""
        if self._upstream.kept_state is None or not str(item.get("type")).endswith("_call"):
            return None
        try:
            call = self._call(item)
        except InvalidRequestError:  # raised again, with its path, where the item is read
            return None
        return None if call is None else self._upstream.kept_state(call_key(call))

    def _call(self, item: Item) -> ToolCallPart | None:
        """Return *item* as a call, which is read once; None for any other item."""
        if (known := self._read_items.get(id(item))) is not None:
            return known[1]
        call = calls.call_part(item, self._registry, self._upstream.policy.registered_tools)
        if call is None and self._native:
            call = calls.native_call(item)
        self._read_items[id(item)] = item, call
        return call

    def _result(self, item: Item, path: str) -> ToolResultPart | None:
        """Return the result of a call that the client ran, or its approval of a call."""
        if self._native and item.get("type") == "mcp_approval_response":
            self._end_run()
            report_unread(item, self._diagnostics.at(path))
            return calls.approval_result(item, self._calls)
        if not calls.is_output(item) or str(item.get("call_id")) in self._remote:
            return None
        self._end_run()
        if not self._registry.native:
            calls.report_own_fields(item, self._diagnostics.at(path), native=False)
        part = calls.result_part(
            item,
            self._calls,
            self._diagnostics.at(path),
            protocol_id=self._upstream.protocol_id,
            native=self._registry.native,
        )
        self._answered.add_result(part, path)
        for number, file in enumerate(part.parts):
            self._check_file(file, f"{path}.output[{number}]")
        return part

    def _read_tool_search(self, item: Item, path: str) -> None:
        """Read an item of a search among tools that the server ran."""
        if self._native:
            self._run.add(EchoedHostedItem(native=item, path=path))
        else:
            why = "the upstream has no search among tools: it is offered those that were found"
            self._diagnostics.at(path).dropped("hosted-tool-dropped", why)

    def _read_message(self, item: Item, path: str) -> None:
        role = item.get("role")
        here, protocol_id = self._diagnostics.at(path), self._upstream.protocol_id
        content = read_content(item.get("content"), here.at("content"), protocol_id=protocol_id)
        untold = without(item, *self._told) if self._told else item
        own = own_fields(untold, here, native=self._native)
        if not self._native:
            self._told |= {name for name in MESSAGE_FIELDS if item.get(name) is not None}
        for number, part in enumerate(content):
            self._check_file(part, f"{path}.content[{number}]")
        if role == "assistant":
            parts = [with_fields(part, own) for part in content]
            self._begun |= set(map(id, parts[:1]))
            for part in parts:
                self._run.add(part)
        elif isinstance(role, str) and role in _ROLES:
            self._end_run()
            message = reading.checked_message(_ROLES[role], content)
            if ITEM_FIELDS in own:
                kept = {METADATA_KEY: {ITEM_FIELDS: own[ITEM_FIELDS]}}
                message = evolve(message, provider_metadata=kept)
            self._messages.append(message)
        else:
            words = "user, assistant, system or developer"
            raise invalid(f"{path}: the role {role!r} is not {words}.", f"{path}.role")

    def _check_file(self, part: object, path: str) -> None:
        if isinstance(part, ImagePart | DocumentPart) and part.file_id is not None:
            reading.own_file(part.file_id, path, known=self._takes_files)

    def _read_reasoning(self, item: Item, path: str) -> None:
        sealed = str_or_none(item.get(SEALED))
        if sealed is not None and self._native and not sealed.startswith(PREFIX):
            self._run.add(EchoedHostedItem(native=item, path=path))  # the upstream's own
            return
        if sealed is not None and self._run.add_state(sealed, f"{path}.{SEALED}"):
            return
        report_unread(item, self._diagnostics.at(path))
        # what is shown of thinking goes back as thinking, never as text
        texts = []
        for name in ("content", "summary"):
            for number, part in enumerate(reading.read_objects(item, name, f"{path}.")):
                place = f"{path}.{name}[{number}]"
                reading.report_unknown(part, _OF_THINKING, self._diagnostics, place)
                texts.append(reading.read_field(part, "text", str, f"{place}.") or "")
        texts = [text for text in texts if text]
        for text in texts:
            self._run.add(ReasoningPart(text))
        if not texts and sealed is None:
            why = "the reasoning item has neither text nor encrypted content, and is not stored"
            self._diagnostics.at(path).dropped("opaque-data-dropped", why)

    def _called(self, call: ToolCallPart, item: Item, path: str) -> None:
        if not call.id:
            raise invalid(f"{path}: a call needs a call_id.", f"{path}.call_id")
        plain = item.get("type") in _NAMED
        reading.read_field(item, "namespace", str, f"{path}.")
        if not self._registry.native:
            report_unread(item, self._diagnostics.at(path))
        self._run.add(call if plain else EchoedHostedItem(native=item, path=path, call=call))
        self._calls[call.id] = call
        if "item" not in call.provider_metadata.get(METADATA_KEY, {}):
            calls.report_own_fields(item, self._diagnostics.at(path), native=self._registry.native)
        if (item_id := str_or_none(item.get("id"))) is not None:
            self._calls.setdefault(item_id, call)  # local shell outputs name the item

    def _read_other(self, item: Item, type_: str, path: str) -> None:
        if type_ == MARKER and not item.get(SEALED):
            self._diagnostics.at(path).left_out(f"a {type_} item", "it has no summary")
            return
        if type_ in _UNREADABLE:
            why = (
                f"a {TRIGGER} must be the last item."
                if type_ == TRIGGER
                else f"only the server that made a {type_} item can read it. Send the items that "
                "it stands for."
            )
            raise invalid(f"{path}: {why}", path, "unsupported_item")
        if type_ in _NAMED and str_or_none(item.get("name")):  # xAI's own search of X
            why = "only its own server can use it"
            self._diagnostics.at(path).dropped("hosted-tool-dropped", why)
            return
        if type_ in _NAMED:
            raise invalid(f"{path}: a call needs the name of its tool.", f"{path}.name")
        call_id = str_or_none(item.get("call_id"))
        if self._native or (type_.endswith("_call") and call_id is None):
            # an item of the future, which its own API knows, or a call that none can answer
            self._run.add(EchoedHostedItem(native=item, path=path))
            return
        if str(item.get("id")) in self._sent_ids and not type_.endswith("_call"):
            why = "only the server that made an item of this type can read it"
            self._diagnostics.at(path).dropped("provider-part-dropped", why)
            return
        if call_id is None or not type_.endswith("_call"):
            raise invalid(
                f"{path} has the unknown type {type_!r}.", f"{path}.type", "unsupported_item"
            )
        fields = without(item, "id", "type", "call_id", "status")
        name = function_name(type_.removesuffix("_call"))
        self._called(ToolCallPart(call_id, name, fields), item, path)

    # -- the end of a run

    def _end_run(self) -> None:
        if self._upstream.kept_state is not None:
            self._run.add_state_of_calls(self._upstream.kept_state, self._path)
        for origin, echoes in self._run.take():
            if origin is None and self._native:
                for group in self._by_message(echoes):
                    self._add_response(None, group)
            else:
                self._add_response(origin, echoes)
        self._begun.clear()

    def _by_message(self, echoes: Sequence[Echo]) -> Iterable[list[Echo]]:
        """Yield *echoes* that came back without state, split at the boundaries of messages."""
        group: list[Echo] = []
        for echo in echoes:
            if group and id(echo) in self._begun and isinstance(group[-1], TextPart):
                yield group
                group = []
            group.append(echo)
        yield group

    def _add_response(self, origin: Origin | None, echoes: Sequence[Echo]) -> None:
        """Add a response, split at tools that the provider ran, which become calls with results."""
        parts: list[ContentPart] = []
        for echo in self._without_last_reasoning(echoes):
            if not isinstance(echo, EchoedHostedItem):
                parts.append(echo)
                continue
            made = self._hosted(echo)
            parts += [part for part in made if not isinstance(part, ToolResultPart)]
            results = [part for part in made if isinstance(part, ToolResultPart)]
            if results:
                self._messages += [
                    Message("assistant", tuple(parts), origin=origin),
                    Message("tool", tuple(results)),
                ]
                parts = []
        if parts:
            self._messages.append(reading.message_of("assistant", parts, origin))
            self._remember(parts)

    def _without_last_reasoning(self, echoes: Sequence[Echo]) -> Sequence[Echo]:
        """Return *echoes* without native reasoning at their end, which the API refuses."""
        for end in range(len(echoes), 0, -1):
            last = echoes[end - 1]
            if not isinstance(last, EchoedHostedItem) or last.native.get("type") != "reasoning":
                return echoes[:end]
            why = "reasoning can only be replayed with the items after it"
            self._diagnostics.at(last.path).dropped("reasoning-dropped", why)
        return ()

    def _remember(self, parts: Iterable[ContentPart]) -> None:
        for part in parts:
            if isinstance(part, ToolCallPart) and not part.provider_executed:
                self._calls[part.id] = part
                self._answered.add_call(part.id)

    def _hosted(self, echo: EchoedHostedItem) -> list[ContentPart]:
        """Return the parts for an item that came back without state."""
        native, type_ = echo.native, str(echo.native.get("type"))
        if echo.call is not None:
            return [echo.call]
        if self._native:
            return [ProviderPart(METADATA_KEY, native)]
        if type_ == "image_generation_call" and (data := decode_base64(native.get("result"))):
            reading.report_unknown(
                native, _KNOWN_OF_HOSTED | {"result"}, self._diagnostics, echo.path
            )
            return [ImagePart(data=data)]
        field = _RESULT_FIELDS.get(type_) or ""
        returned = native.get(field)
        if returned in (None, "", []):
            why = f"a {type_} item without its result has no form at the upstream"
            self._diagnostics.at(echo.path).dropped("hosted-tool-dropped", why)
            return []
        reading.report_unknown(native, _KNOWN_OF_HOSTED | {field}, self._diagnostics, echo.path)
        tool = type_.removesuffix("_output").removesuffix("_call")
        name = str_or_none(native.get("name")) or tool
        call = ToolCallPart(str(native.get("id")), function_name(name), _input(native))
        result = ToolResultPart(call.id, returned, name=call.name)
        return [call, result]


def _input(native: Item) -> Any:
    """Return the input of a call of a hosted tool."""
    if isinstance(native.get("arguments"), str):
        return object_or_empty(json_or_text(native["arguments"]))
    return {name: native[name] for name in ("code", "queries") if native.get(name) is not None}
