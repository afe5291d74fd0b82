"""Compaction: a summary in place of a conversation, for upstreams of other APIs; and threads.

    {"compaction": {"type": "summarize"}, "messages": [...]}           a request for one, and
    {"role": "assistant", "stop_reason": "compaction",                 its response,
     "content": [{"type": "compaction", "content": "The user wants ..."}]}
    {"messages": [{"role": "assistant", "content": [                   which goes on in its place
        {"type": "compaction", "content": "The user wants ..."}]}, ...]}

What is before such a block is ignored by the API, so that clients may still send it. A block
without content is a compaction that failed, and represents nothing. Sources, read November 2026:
https://platform.claude.com/docs/en/build-with-claude/compaction and its pages, and the `anthropic`
package, 2.14.0 (`types/beta/beta_compaction_config_param`, `beta_compaction_block_param`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from llmcore.fronts.anthropic_messages.tool_changes import changed_tool
from llmcore.fronts.front import Upstream
from llmcore.fronts.reading import Fields, cache_ttl_of, read_field, read_objects, report_unknown
from llmcore.fronts.summaries import INSTRUCTION, summary_message
from llmcore.protocols.anthropic_messages.names import COMPACTION, PROTOCOL_ID, Block
from llmcore.schema.content import cached
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.messages import Message
from llmcore.schema.native_json import objects, str_or_none

# -- requests for a summary


def summary_instruction(body: Fields) -> str | None:
    """Return the words that ask for the summary which *body* is for; None for other requests."""
    wanted = read_field(body, COMPACTION, dict)
    if wanted is None:
        return None
    own = read_field(wanted, "instructions", str, f"{COMPACTION}.") or ""
    return own if own.strip() else INSTRUCTION


# -- threads, whose earlier messages a server keeps

_KEEPING_HOSTS: Final[Mapping[str, str]] = {"anthropic": "api.anthropic.com"}
"""The hosts that keep threads, by the id of their provider."""


def loses_thread(body: Mapping[str, Any], upstream: Upstream) -> bool:
    """Return whether *body* continues a thread that its upstream does not keep.

    Servers of the Messages API that do not know `thread` ignore it, and the model would see only
    the last messages. So may a server to which the address of Anthropic was set. An upstream
    without a provider's id or a host counts as Anthropic's.
    """
    thread = body.get("thread")
    if not isinstance(thread, dict) or thread.get("type") != "continue":
        return False
    if upstream.protocol_id != PROTOCOL_ID:
        return True
    if upstream.provider is None:
        return False
    own = _KEEPING_HOSTS.get(upstream.provider)
    return own is None or upstream.host not in (None, own)


# -- conversations that continue after one


@frozen
class Start:
    """Where a conversation continues after a summary, or begins."""

    messages: tuple[Message, ...] = ()
    """The summary."""
    index: int = 0
    """The first message that is read."""
    place: int = 0
    """The first block of it that is read."""


def start_of(natives: Sequence[Fields], diagnostics: Diagnostics) -> Start:
    """Return where the conversation continues: after its last summary."""
    for index in reversed(range(len(natives))):
        if natives[index].get("role") != "assistant":
            continue
        for place, block in reversed([*enumerate(objects(natives[index].get("content")))]):
            summary = block.get("type") == COMPACTION and str_or_none(block.get("content"))
            if summary:
                why = "its summary is sent as text, and what stands before it is left out"
                here = diagnostics.at(f"messages[{index}].content[{place}]")
                here.changed("context-summarized", why)
                check_compaction(block, here)
                message = _marked(summary_message(summary), block, here)
                return Start((message,), index, place + 1)
    return Start()


_CHANGES: Final = "tool_changes"
_FIELDS: Final = frozenset({"cache_control", "content", "encrypted_content", "type", _CHANGES})
_OF_CHANGES: Final = frozenset({"tool", "type"})


def check_compaction(block: Block, diagnostics: Diagnostics) -> None:
    """Report the fields of *block* that are not read, and its changes of an MCP server's tools."""
    path = f"{diagnostics.path}."
    read_field(block, "content", str, path)
    report_unknown(block, _FIELDS, diagnostics)
    for index, change in enumerate(read_objects(block, _CHANGES, path)):
        here = diagnostics.at(f"{_CHANGES}[{index}]")
        report_unknown(change, _OF_CHANGES, here)
        if changed_tool(change) is None:
            here.unsupported("it changes no tool that the upstream is offered")


def _marked(message: Message, block: Block, diagnostics: Diagnostics) -> Message:
    """Return *message* with the block's cache mark."""
    ttl = cache_ttl_of(block, diagnostics)
    if ttl is None:
        return message
    return evolve(message, content=tuple(cached(part, ttl=ttl) for part in message.content))


# -- responses

STOP_REASON: Final = "compaction"
"""The `stop_reason` of a response that is a summary."""


def compaction_block(summary: str) -> dict[str, Any]:
    """Return the block that carries *summary*; an empty one is that of a compaction that failed."""
    return {"type": COMPACTION, "content": summary or None}


def streamed_compaction(block: Mapping[str, Any]) -> tuple[Block, Block]:
    """Return *block* as it begins, and the delta that completes it, as the API sends them."""
    delta = {name: block[name] for name in _IN_DELTA if name in block}
    return {**block, "content": None}, {"type": "compaction_delta", "content": None, **delta}


_IN_DELTA: Final = ("content", "encrypted_content")
