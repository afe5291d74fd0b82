"""Shared by the stream machines of Messages and Converse: numbered content blocks.

Both stream the same way under other names: a block starts, deltas continue it, it stops, and each
event names it by its index. What differs (names of events and fields, how text and reasoning start)
is in their packages; what a call of a tool becomes is here:

    starts as                         while open                    becomes
    a call of the caller's function   passes each delta on          ToolInputStart Delta* End
    a call of a freeform tool         buffers, unwraps the text     the same, of kind `custom`
    a call of a tool that stands      passes on, or buffers where   TextStart Delta* End
      for the response                  the response is wrapped
    a call of a tool with renamed     buffers, puts the names back      the same
      properties
    a call with its input             holds the input, which the    the same
                                        first delta replaces
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from llmcore.protocols.claude_tools import Names, with_own_names
from llmcore.protocols.forced_format import unwrapped
from llmcore.protocols.response_parts import Events, StreamContext
from llmcore.protocols.tools import freeform_text, synthetic_call_id
from llmcore.schema.changed import changed
from llmcore.schema.content import ToolCallKind
from llmcore.schema.events import (
    ReasoningDelta,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from llmcore.schema.json import (
    JsonObject,
    JsonValue,
    ProviderMetadata,
    json_or_text,
    present,
    text_or_json,
    without,
)
from llmcore.schema.native_json import str_or_empty, str_or_none
from llmcore.schema.persistent import PersistentList, to_list, with_entry, without_entry

Kind: TypeAlias = Literal[
    "text", "reasoning", "tool", "freeform", "format", "result", "media", "opaque"
]
"""The kind of a block: `format` is text in the form of a tool's input, `result` the result of a
hosted tool, `opaque` anything kept in its native form."""

FastPath: TypeAlias = tuple[str, str]
"""Two names by which a protocol finds the text of a delta that only continues a block."""
SLOW: Final[FastPath] = ("", "")
"""No delta only continues the block."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """An open content block."""

    kind: Kind
    segment: str = ""
    """The id of its segment; empty while it has none."""
    fast_path: FastPath = SLOW
    emits: type[TextDelta | ReasoningDelta | ToolInputDelta] = TextDelta
    """The event of a delta that only continues the block."""
    native: JsonObject = {}
    """The block as it started."""
    input: JsonValue = None
    """A tool's input that came with the start, while no delta has replaced it."""
    held: bool = False
    """Whether a tool's input is buffered until it is complete, because it must be changed."""
    properties: Names = {}
    """The tool's own names of properties, for those that were sent in their place."""
    signature: PersistentList | None = None
    """The pieces or versions of its signature."""
    encrypted: PersistentList | None = None
    """Pieces of encrypted reasoning, each base64."""
    citations: PersistentList | None = None
    """Native citations of text."""
    pieces: PersistentList | None = None
    """The deltas or pieces of input that are buffered until the block stops."""


class BlockState(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a response's state that both protocols have. Changes on transitions only."""

    context: StreamContext
    open: Mapping[object, Block] = {}
    """Open blocks, by the provider's index."""
    started: bool = False
    blocks: int = 0
    """How many blocks have started; makes the ids of segments."""
    names: Mapping[str, str] = {}
    """The tools of all calls so far, by the calls' ids."""
    called: bool = False
    """Whether the caller has to run a tool."""
    format_called: bool = False
    """Whether a call represented the response."""


_State = TypeVar("_State", bound=BlockState)


# -- open blocks


def open_block(state: _State, index: object, block: Block) -> _State:
    """Return *state* with one more block."""
    return replace(state, open=with_entry(state.open, index, block), blocks=state.blocks + 1)


def replace_block(state: _State, index: object, block: Block) -> _State:
    """Return *state* with *block* in place of the one at *index*."""
    return replace(state, open=with_entry(state.open, index, block))


def close_block(state: _State, index: object) -> tuple[_State, Block]:
    """Return *state* without the block at *index*, and the block."""
    return replace(state, open=without_entry(state.open, index)), state.open[index]


_NO_BLOCK: Final[tuple[object, Block]] = None, Block(kind="opaque")


def last_opened(state: BlockState) -> tuple[object, Block]:
    """Return the index and the open block that was opened last; a slow one if there is none.

    Among dozens that are open at once, which no API sends, it is not looked for.
    """
    blocks = state.open
    return next(reversed(blocks.items()), _NO_BLOCK) if isinstance(blocks, dict) else _NO_BLOCK


# -- calls of tools


def start_call(
    state: _State,
    index: object,
    call: Mapping[str, Any],
    events: Events,
    *,
    id_: object,
    given: JsonValue,
    executed: bool,
    fast_path: FastPath,
    response_id: str | None = None,
    metadata: ProviderMetadata | None = None,
) -> _State:
    """Open a call of a tool.

    *given* is the input that came with the start; *executed* is True if the provider runs the tool;
    *metadata* is that of the start.
    Emits the start of the call, or of a text where the call represents the response. A missing or
    repeated *id_* is replaced by a generated one.
    """
    name, context = str_or_empty(call.get("name")), state.context
    kind: Kind = "tool" if executed else _kind_of_call(name, context)
    if kind == "format" and given is None:
        given = {}  # the response, unless deltas bring another
    properties = {} if executed else context.properties.get(name, {})
    wrapped = kind == "freeform" or (kind == "format" and context.wrapped)
    held = wrapped or bool(properties)
    block = Block(
        kind=kind,
        fast_path=SLOW if held or given is not None else fast_path,
        emits=TextDelta if kind == "format" else ToolInputDelta,
        native=call,
        input=given,
        held=held,
        properties=properties,
    )
    if kind == "format":
        segment = f"text_{state.blocks}"
        events.append(TextStart(segment))
        return open_block(
            replace(state, format_called=True), index, replace(block, segment=segment)
        )
    call_id = str_or_none(id_)
    if call_id is None or call_id in state.names:
        call_id = synthetic_call_id(response_id, context.turn, state.blocks)
    call_kind: ToolCallKind = "custom" if kind == "freeform" else "function"
    start = ToolInputStart(call_id, name, kind=call_kind, provider_executed=executed)
    events.append(changed(start, provider_metadata=metadata) if metadata else start)
    called = state.called or not executed
    state = replace(state, names=with_entry(state.names, call_id, name), called=called)
    return open_block(state, index, replace(block, segment=call_id))


def _kind_of_call(name: str, context: StreamContext) -> Kind:
    """Return the kind of a call that the caller is to run, by the *name* of its tool."""
    if name == context.format_tool:
        return "format"
    return "freeform" if name in context.freeform else "tool"


def continue_call(block: Block, text: str, events: Events, fast_path: FastPath) -> Block:
    """Return *block* after more of its input; emits it unless it is buffered."""
    if not text:
        return block
    if block.held:
        return replace(block, input=None, pieces=PersistentList(text, block.pieces))
    events.append(block.emits(block.segment, text))
    return (
        block if block.fast_path == fast_path else replace(block, input=None, fast_path=fast_path)
    )


def end_call(block: Block, events: Events, metadata_key: str, known: frozenset[str]) -> None:
    """Emit the end of a call; fields beside those in *known* are its metadata."""
    text = _buffered_input(block)
    if block.kind == "freeform":
        text = freeform_text(json_or_text(text))
    elif text and block.properties:
        text = with_own_names(text, block.properties)
    if text:
        events.append(ToolInputDelta(block.segment, text))
    native: JsonObject = present(block.native, but=known)
    if native.get("type") == "tool_use":
        native = without(native, "type")
    metadata: ProviderMetadata = {metadata_key: native} if native else {}
    events.append(ToolInputEnd(block.segment, provider_metadata=metadata))


def end_format_call(block: Block, events: Events) -> None:
    """Emit the end of a call that represented the response, as the end of a text."""
    text = _buffered_input(block)
    if block.properties:
        text = with_own_names(text, block.properties)
    elif block.held:
        text = unwrapped(json_or_text(text))
    if text:
        events.append(TextDelta(block.segment, text))
    events.append(TextEnd(block.segment))


def _buffered_input(block: Block) -> str:
    """Return the input that was not passed on as it came."""
    return "".join(to_list(block.pieces)) if block.input is None else text_or_json(block.input)
