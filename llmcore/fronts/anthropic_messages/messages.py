"""The conversation: native messages read as messages, and sealed state put back in its place.

    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Two files.", "signature": "b2IxL..."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}]}
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "import os"}]}

Sources, read November 2026: https://platform.claude.com/docs/en/api/messages/create (`messages`),
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.

The reader is lenient: results after text, empty texts and repeated ids are repaired for the
upstreams that refuse them by `llmcore.protocols.history`. Thinking without sealed state goes to
a Messages upstream as it came; another one gets its text, without the signature.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from llmcore.fronts import reading
from llmcore.fronts.anthropic_messages.compaction import Start, check_compaction, start_of
from llmcore.fronts.anthropic_messages.content import ContentReader, content_blocks, text_block
from llmcore.fronts.anthropic_messages.hosted import (
    hosted_as_text,
    is_hosted_call,
    is_hosted_result,
    read_hosted,
)
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_HOSTED_BLOCKS, check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.opaque_state import Echo, EchoedHostedItem, EchoReader
from llmcore.fronts.reading import Fields, read_field
from llmcore.fronts.sealer import seal_in
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID, Block
from llmcore.schema.content import (
    ContentPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message, Origin
from llmcore.schema.native_json import str_or_empty

_Part = TypeVar("_Part", TextPart, ToolCallPart, ToolResultPart)

_MAY_BE_EXECUTED: Final = (ToolCallPart, ToolResultPart)
_OF_CALLS: Final = ("caller", "toolset_name")
"""Fields of calls that only Anthropic reads; results have the second one too."""
_SYSTEM_EXTRAS: Final = ("clear_at", "output_config")
"""Fields of system messages that only Anthropic reads."""
_FIELDS: Final = frozenset(
    {"content", "id", "model", "role", "stop_reason", "stop_sequence", "type", "usage"}
)
"""Fields of messages, including fields of responses that clients send back."""


class TurnReader:
    """Reads the messages of one request."""

    def __init__(self, upstream: Upstream, diagnostics: Diagnostics) -> None:
        self._native = upstream.protocol_id == PROTOCOL_ID
        self._diagnostics = diagnostics
        self._run = EchoReader(upstream.sealer, diagnostics)
        self._content = ContentReader(native=self._native, diagnostics=diagnostics)
        self._messages: list[Message] = []
        self._names: dict[str, str] = {}
        self._answered = reading.AnsweredCalls()
        self._kept_state = upstream.kept_state
        self._is_partial = False
        """Whether thinking of the turn came back without its state: from clients that read a stream
        with an SDK from before it had thinking, whose blocks of unknown types stay empty."""
        self._partial: list[tuple[str, str]] = []
        """The states that came after it, each with its path."""

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of all calls that were read."""
        return frozenset(self._names)

    def read(self, natives: Sequence[Fields]) -> tuple[Message, ...]:
        """Return the messages. Raises FrontError, naming the place, for invalid content.

        An upstream of another API gets the last summary in place of what it was made of.
        """
        start = Start() if self._native else start_of(natives, self._diagnostics)
        self._messages += start.messages
        for index in range(start.index, len(natives)):
            path = f"messages[{index}]"
            skipped = start.place if index == start.index else 0
            try:
                self._read(natives[index], path, skipped)
            except InvalidRequestError as error:
                raise invalid(f"{path}: {error.message}", path) from error
        return tuple(self._messages)

    def read_system(self, native: Fields) -> tuple[TextPart, ...]:
        """Return the parts of the request's `system`."""
        parts = self._content.read_content(native, "", "system")
        texts = tuple(part for part in parts if isinstance(part, TextPart))
        if len(texts) < len(parts):
            raise invalid("system: a text, or a list of blocks of text.", "system")
        return texts

    def _read(self, native: Fields, path: str, skipped: int) -> None:
        known = _FIELDS.union(_SYSTEM_EXTRAS) if native.get("role") == "system" else _FIELDS
        reading.report_unknown(native, known, self._diagnostics, path)
        match reading.required(native, "role", str, f"{path}."):
            case "assistant":
                self._assistant(native, path, skipped)
            case "user":
                self._user(native, path)
            case "system":
                self._system(native, path)
            case role:
                raise invalid(
                    f"{path}.role is {role[:40]!r}, not user, assistant or system.", f"{path}.role"
                )

    def _system(self, native: Fields, path: str) -> None:
        for name in _SYSTEM_EXTRAS:
            if native.get(name) is not None:
                self._diagnostics.at(f"{path}.{name}").left_out(name, "it goes to Anthropic only")
        parts = self._content.read_content(native, path)
        if parts:
            self._messages.append(Message("system", parts))

    # -- the user's side

    def _user(self, native: Fields, path: str) -> None:
        """Add a user's turn: tool results and other content, as separate messages in order."""
        content = native.get("content")
        if content and isinstance(content, str):
            self._messages.append(reading.text_message("user", content))
            return
        parts: list[ContentPart] = []
        results: list[ToolResultPart] = []
        for block, place in content_blocks(native, path):
            if block.get("type") == "tool_result":
                self._flush("user", parts)
                results.append(self._result(block, place))
            else:
                self._flush("tool", results)
                parts += self._content.read_block(block, place)
        self._flush("tool", results)
        if parts or not content:
            self._messages.append(reading.message_of("user", parts))

    def _flush(self, role: Any, parts: list[Any]) -> None:
        if parts:
            self._messages.append(reading.message_of(role, parts))
            parts.clear()

    def _result(self, block: Block, path: str) -> ToolResultPart:
        self._content.check_fields(block, path)
        if not self._native:
            reading.report_call_fields(block, ("toolset_name",), self._diagnostics.at(path))
        call_id = reading.required(block, "tool_use_id", str, f"{path}.")
        output, name = self._content.read_output(block, path), self._names.get(call_id)
        failed = read_field(block, "is_error", bool, f"{path}.") is True
        part = (
            reading.text_result(call_id, output, name)
            if isinstance(output, str) and not failed
            else ToolResultPart(call_id, output, name=name, is_error=failed)
        )
        self._answered.add_result(part, path)
        return self._marked(part if self._native else reading.marked_at_end(part), block, path)

    # -- the assistant's side

    def _assistant(self, native: Fields, path: str, skipped: int) -> None:
        """Add an assistant's turn: one response, or several whose state is sealed in the blocks."""
        for block, place in content_blocks(native, path)[skipped:]:
            self._block(block, place)
        unnamed = bool(self._partial) and bool(self._run.calls_without_state)
        if self._kept_state is not None:
            self._run.add_state_of_calls(self._kept_state, path)
        if not unnamed or self._run.calls_without_state:  # else there is state of the whole
            for sealed, place in self._partial:
                self._run.add_state(sealed, place)
        self._is_partial, self._partial = False, []
        for origin, echoes in self._run.take():
            parts = tuple(self._restored(origin, echoes, path))
            if parts:
                self._messages.append(reading.message_of("assistant", parts, origin))

    def _block(self, block: Block, path: str) -> None:
        match block.get("type"):
            case "thinking" | "redacted_thinking":
                self._thinking(block, path)
            case "text":
                self._content.check_fields(block, path)
                self._run.add(self._marked(text_block(block, path), block, path))
            case "tool_use":
                self._run.add(self._call(block, path))
            case "compaction" if not self._native:
                check_compaction(block, self._diagnostics.at(path))
                if block.get("encrypted_content") is not None:  # else one that failed
                    why = "only Anthropic can read a summary without text"
                    self._diagnostics.at(path).dropped("opaque-data-dropped", why)
            case str() if is_hosted_call(block) or is_hosted_result(block):
                check_types(block, OF_HOSTED_BLOCKS, path)
                hosted = read_hosted(block, self._names)
                if isinstance(hosted, ToolCallPart):
                    self._names[hosted.id] = hosted.name
                self._run.add(hosted)
            case _:
                for part in self._content.read_block(block, path):
                    self._run.add(part)

    def _thinking(self, block: Block, path: str) -> None:
        self._content.check_fields(block, path)
        name = "signature" if block["type"] == "thinking" else "data"
        carried = read_field(block, name, str, f"{path}.")
        if (sealed := seal_in(carried)) is not None:
            if self._is_partial:
                self._partial.append((sealed, f"{path}.{name}"))
            else:
                self._run.add_state(sealed, f"{path}.{name}")
            return
        text = str_or_empty(block.get("thinking"))
        if name == "signature" and not carried and not text:
            self._is_partial = True
            return
        if self._native:
            kept: dict[str, Any] = {"signature": carried or None}
            if name == "data":
                kept = {"encrypted": carried or ""}
            self._run.add(ReasoningPart(text, **kept))
            return
        if carried is not None:
            why = "only the API that made it can read it"
            self._diagnostics.at(f"{path}.{name}").dropped("opaque-data-dropped", why)
        if text:
            self._run.add(ReasoningPart(text))

    def _call(self, block: Block, path: str) -> ToolCallPart:
        self._content.check_fields(block, path)
        if not self._native:
            reading.report_call_fields(block, _OF_CALLS, self._diagnostics.at(path))
        call_id = reading.required(block, "id", str, f"{path}.")
        name = reading.required(block, "name", str, f"{path}.")
        self._names[call_id] = name
        self._answered.add_call(call_id)
        read_field(block, "caller", dict, f"{path}.")
        read_field(block, "toolset_name", str, f"{path}.")
        kept = {key: block[key] for key in _OF_CALLS if block.get(key) is not None}
        arguments = read_field(block, "input", dict, f"{path}.") or {}
        part = (
            ToolCallPart(call_id, name, arguments, provider_metadata={METADATA_KEY: kept})
            if kept
            else reading.function_call(call_id, name, arguments)
        )
        return self._marked(part, block, path)

    def _restored(
        self, origin: Origin | None, echoes: Iterable[Echo], path: str
    ) -> Iterable[ContentPart]:
        """Yield the parts of a response; hosted tools of unknown origin become text."""
        echoes = list(echoes)
        ended = {part.tool_call_id for part in echoes if isinstance(part, ToolResultPart)}
        for part in echoes:
            if isinstance(part, EchoedHostedItem):
                continue
            executed = isinstance(part, _MAY_BE_EXECUTED) and part.provider_executed
            if executed and origin is None and not self._native:
                if isinstance(part, ToolCallPart) and part.id not in ended:
                    why = "the upstream did not run this tool, and there is nothing it returned"
                    self._diagnostics.at(path).dropped("hosted-tool-dropped", why)
                yield from self._as_text(part, path)
            else:
                yield part

    def _as_text(self, part: ContentPart, path: str) -> Iterable[TextPart]:
        text = hosted_as_text(part) if isinstance(part, ToolResultPart) else None
        if text is not None:
            why = "the upstream did not run this tool: what it returned is sent as text"
            self._diagnostics.at(path).changed("hosted-tool-as-text", why)
            yield text
        elif isinstance(part, ToolResultPart):
            why = "the upstream cannot represent the result of a tool that another provider ran"
            self._diagnostics.at(path).dropped("hosted-tool-dropped", why)

    def _marked(self, part: _Part, block: Block, path: str) -> _Part:
        """Return *part* with the block's cache mark."""
        ttl = reading.cache_ttl_of(block, self._diagnostics.at(path))
        return part if ttl is None else cached(part, ttl=ttl)
