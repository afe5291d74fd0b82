"""OpenAI Responses: sending a response back as the items that it was read from.

The parts of a message carry the `index` of their item in the response. Reasoning and the items
after it, up to the next reasoning, are one group: the provider takes all of a group, or none of its
reasoning and ids ("was provided without its required following item", "... its required reasoning
item"). Where the items after encrypted reasoning have lost their ids, all go without: the data is
enough, and nothing is looked up then. A group of which a part was removed goes back as plain text
and calls:

    parts of the message             intact                        ids lost                broken
    ReasoningPart {index 0, rs_1}    {reasoning, rs_1, encrypted}  {reasoning, encrypted}  -
    TextPart      {index 1, msg_1}   {message, msg_1, [text]}      {message, "text"}       the same
    ToolCallPart  {index 2, fc_1}    {function_call, fc_1, ...}    {function_call, ...}    the same

Sources, read November 2026: https://developers.openai.com/api/docs/guides/reasoning (keeping
reasoning items in context), https://developers.openai.com/api/docs/guides/conversation-state;
without ids: https://github.com/vercel/ai/pull/12869,
https://github.com/NousResearch/hermes-agent/pull/102282.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from attrs import define, field

from llmcore.protocols import media
from llmcore.protocols.history import ITEM_FIELDS, PART_FIELDS
from llmcore.protocols.lowering import native_citations
from llmcore.protocols.openai_responses import names
from llmcore.schema.content import (
    ContentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import NativeObject, text_or_json, without
from llmcore.schema.messages import Message
from llmcore.schema.native_json import int_or_none, object_or_empty, str_or_none

_MAX_ID: Final = 64
"""The most characters of an item's id that the API accepts; some servers make longer ones."""
_NEEDS_ID: Final = frozenset({"computer_call", "local_shell_call", "mcp_approval_request"})
"""Calls that have no form without their id."""


@frozen(kw_only=True)
class ReplayRules:
    """The rules for sending a response back."""

    trusts: bool
    """Whether ids of items are sent."""
    readable: bool
    """Whether the target can read the encrypted data of the response."""
    stored: bool
    """Whether the provider may know an item by its id alone."""
    ids: Literal["all", "reasoning"]
    """The items whose ids are sent."""
    data_without_id: bool
    """Whether encrypted reasoning may be sent without its id."""
    agents: bool
    """Whether the request lets the model have several agents."""
    keys: frozenset[str]
    """Under which ids native parts are this server's own."""
    sent_ids: set[str]
    """The ids of the items of earlier messages: the server refuses an id that comes twice."""


_Kind: TypeAlias = Literal["reasoning", "message", "call", "hosted", "native"]


@define(kw_only=True)
class _Item:
    """An item to be sent."""

    kind: _Kind
    diagnostics: Diagnostics
    """Those of the first part of it."""
    position: int | None
    """Its index in the response."""
    id: str | None
    native: NativeObject
    """The item; one that was not native has no id yet."""
    content: list[NativeObject] = field(factory=list)
    """The content of a message."""
    unread: NativeObject = field(factory=dict)
    """Fields of the item that the protocol does not read."""

    @property
    def key(self) -> tuple[str, int | None, str | None]:
        """The value that parts of one item have in common."""
        return self.kind, self.position, self.id if self.position is None else None


def lower_response(
    message: Message, rules: ReplayRules, diagnostics: Diagnostics
) -> list[NativeObject]:
    """Return an assistant message as the items it was made of."""
    items: list[_Item] = []
    for index, part in enumerate(message.content):
        _add(items, part, rules, diagnostics.part(index, part))
    if all(item.position is not None for item in items):
        items.sort(key=lambda item: item.position or 0)
    natives: list[NativeObject] = []
    for group in _groups(items):
        if any(item.id in rules.sent_ids for item in group):
            for item in group:
                item.id = None
        intact = _is_intact(group, rules)
        if not intact and _is_readable_without_ids(group, rules):
            for item in group:
                item.id = None
            intact = True
        for item in group:
            omitted = set(names.OUTPUT_ONLY_FIELDS)
            if not rules.readable:
                omitted |= names.OPAQUE_CALL_FIELDS
            if _is_of_several(item, rules):
                omitted.add(names.AGENT)
            unread = item.unread if rules.readable else {}
            natives += [
                without({**native, **unread} if unread else native, *omitted)
                for native in _lowered(item, intact, rules)
            ]
    rules.sent_ids.update(id_ for native in natives if (id_ := str_or_none(native.get("id"))))
    return natives


# -- from parts to items


def _add(
    items: list[_Item], part: ContentPart, rules: ReplayRules, diagnostics: Diagnostics
) -> None:
    """Add *part* to the item it belongs to."""
    metadata = object_or_empty(part.provider_metadata.get(names.METADATA_KEY))
    match part:
        case ReasoningPart():
            _add_reasoning(_joined(items, "reasoning", diagnostics, metadata), part, metadata)
        case TextPart() | RefusalPart():
            item = _joined(items, "message", diagnostics, metadata)
            item.content.append({**_text(part, diagnostics), **_unread(metadata, PART_FIELDS)})
            item.native |= _fields(metadata, names.MESSAGE_FIELDS)
        case ProviderPart(data=dict() as data) if metadata.get("part") == "content":
            _joined(items, "message", diagnostics, metadata).content.append(dict(data))
        case ToolCallPart() | ToolResultPart():
            _add_tool(items, part, metadata, diagnostics)
        case ProviderPart(provider=provider, data=dict() as data) if provider in rules.keys:
            items.append(_item("native", diagnostics, metadata, dict(data)))
        case ImagePart() if _completes_image(items, part, metadata):
            pass
        case _:
            diagnostics.left_out(media.noun_of(part), "an assistant message cannot contain it")


def _item(
    kind: _Kind, diagnostics: Diagnostics, metadata: NativeObject, native: NativeObject
) -> _Item:
    return _Item(
        kind=kind,
        diagnostics=diagnostics,
        position=int_or_none(metadata.get("index")),
        id=str_or_none(native.get("id")) or str_or_none(metadata.get("id")),
        native=native,
        unread=_unread(metadata, ITEM_FIELDS),
    )


def _unread(metadata: NativeObject, name: str) -> NativeObject:
    return object_or_empty(metadata[name]) if name in metadata else {}


def _fields(metadata: NativeObject, names: Iterable[str]) -> NativeObject:
    """Return those of the fields *names* that the item had, as *metadata* has them."""
    return {name: metadata[name] for name in names if name in metadata}


def _joined(
    items: list[_Item], kind: _Kind, diagnostics: Diagnostics, metadata: NativeObject
) -> _Item:
    """Return the last item if a part with *metadata* continues it, else a new one."""
    new = _item(kind, diagnostics, metadata, {"type": kind})
    if items and items[-1].key == new.key:
        before = _fields(items[-1].native, names.MESSAGE_FIELDS), items[-1].unread
        now = _fields(metadata, names.MESSAGE_FIELDS), new.unread
        if new.position is not None or before == now:
            items[-1].unread = {**items[-1].unread, **new.unread}
            return items[-1]
    items.append(new)
    return new


def _add_reasoning(item: _Item, part: ReasoningPart, metadata: NativeObject) -> None:
    kind = metadata.get("part")
    if kind == "reasoning_text":
        item.native.setdefault("content", []).append({"type": kind, "text": part.text})
    elif kind == "summary_text" or part.text:
        summary = item.native.setdefault("summary", [])
        summary.append({"type": "summary_text", "text": part.text})
    if part.encrypted is not None:
        item.native["encrypted_content"] = part.encrypted
        item.id = str_or_none(metadata.get("id"))  # the id that the data is bound to
    if part.signature is not None:
        item.native["signature"] = part.signature
    item.native |= _fields(metadata, names.REASONING_FIELDS)


def _text(part: TextPart | RefusalPart, diagnostics: Diagnostics) -> NativeObject:
    if isinstance(part, RefusalPart):
        return {"type": "refusal", "refusal": part.text}
    native = native_citations(part.citations, names.METADATA_KEY, diagnostics)
    annotations = [dict(annotation) for annotation in native]
    return {"type": "output_text", "text": part.text, "annotations": annotations}


def _add_tool(
    items: list[_Item],
    part: ToolCallPart | ToolResultPart,
    metadata: NativeObject,
    diagnostics: Diagnostics,
) -> None:
    native = metadata.get("item")
    if isinstance(part, ToolCallPart) and not part.provider_executed:
        lowered = dict(native) if isinstance(native, dict) else _call(part, metadata)
        if "call_id" in lowered:  # of a built-in tool, under the id that its result will name
            lowered["call_id"] = part.id
        items.append(_item("call", diagnostics, metadata, lowered))
    elif isinstance(native, dict):
        items.append(_item("hosted", diagnostics, metadata, dict(native)))
    elif isinstance(part, ToolCallPart):
        why = "the call of a hosted tool can only be replayed as its native item"
        diagnostics.dropped("hosted-tool-dropped", why)


def _call(part: ToolCallPart, metadata: NativeObject) -> NativeObject:
    extra = _fields(metadata, names.CALL_FIELDS)
    if part.kind == "custom":
        words = {"type": "custom_tool_call", "call_id": part.id, "name": part.name}
        return {**words, "input": text_or_json(part.arguments), **extra}
    words = {"type": "function_call", "call_id": part.id, "name": part.name}
    return {**words, "arguments": part.arguments_text, **extra}


def _completes_image(items: list[_Item], part: ImagePart, metadata: NativeObject) -> bool:
    """Put an image back into the item that drew it; return whether there is one."""
    for item in reversed(items):
        drawn = item.native.get("type") == "image_generation_call"
        if drawn and item.position == int_or_none(metadata.get("index")) and part.data is not None:
            item.native["result"] = base64.b64encode(part.data).decode()
            return True
    return False


# -- groups


def _groups(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Yield reasoning with the items that follow it, up to the next reasoning.

    A message without a position, which the client wrote, ends the group that it stands behind.
    """
    group: list[_Item] = []
    for item in items:
        behind = bool(group) and group[-1].kind != "reasoning"
        added = item.kind == "message" and item.position is None
        if behind and (item.kind == "reasoning" or (added and group[-1].position is not None)):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _is_intact(group: list[_Item], rules: ReplayRules) -> bool:
    """Return whether *group* is as it came, so that its reasoning and ids can be sent."""
    first, last = group[0], group[-1]
    if not rules.trusts or last.kind == "reasoning":
        return False
    if first.kind != "reasoning" and first.position:
        return False  # the item before it may have been its reasoning
    if not all(_follows(item, following) for item, following in pairwise(group)):
        return False
    thoughts = [item for item in group if item.kind == "reasoning"]
    bound = rules.ids == "all" and not (thoughts and all(map(_is_plain_thought, thoughts)))
    if bound and any(item.id is None for item in group if item.kind != "native"):
        return False
    return all(_is_readable(item, rules) for item in thoughts)


def _is_readable_without_ids(group: list[_Item], rules: ReplayRules) -> bool:
    """Return whether the reasoning of *group* can go with its encrypted data alone.

    So it is where a client sent back the items after it, without their ids and places.
    """
    if not (rules.trusts and rules.data_without_id) or group[-1].kind == "reasoning":
        return False
    placed = [item.position for item in group if item.position is not None]
    # another item than reasoning, behind others, may have lost its reasoning
    start = placed[0] if placed and group[0].kind == "reasoning" else 0
    if not placed or placed != [*range(start, start + len(placed))]:
        return False
    thoughts = [item for item in group if item.kind == "reasoning"]
    return all("encrypted_content" in item.native for item in thoughts)


def _is_plain_thought(item: _Item) -> bool:
    """Return whether reasoning is plain text, which is bound to no ids.

    vLLM and llama.cpp send such, beside calls without an id.
    """
    return "content" in item.native and _PROOFS.isdisjoint(item.native)


_PROOFS: Final = frozenset({"encrypted_content", "signature"})


def _follows(item: _Item, following: _Item) -> bool:
    if item.position is None or following.position is None:
        return item.position is following.position  # without positions, the items are all there is
    return following.position == item.position + 1


def _is_readable(item: _Item, rules: ReplayRules) -> bool:
    """Return whether the provider can read a reasoning item, by its data or by its id."""
    if not item.native.keys().isdisjoint({"encrypted_content", "content"}):
        return True
    return rules.stored and item.id is not None


# -- from items to JSON


def _is_of_several(item: _Item, rules: ReplayRules) -> bool:
    """Return whether *item* is of a response of several agents, and the request for one.

    An item that the client itself wrote, as Codex does for agents of its own, has no position.
    """
    return item.position is not None and not rules.agents


def _lowered(item: _Item, intact: bool, rules: ReplayRules) -> list[NativeObject]:
    """Return *item*, with its id where its group is *intact*; nothing if it cannot go alone."""
    with_id = intact and item.id is not None
    match item.kind:
        case "reasoning":
            return _lowered_reasoning(item, intact)
        case "hosted":
            return _lowered_hosted(item, intact)
        case "message":
            return [_lowered_message(item, with_id=with_id and _may_carry(item, rules))]
        case "call":
            needed = item.native.get("type") in _NEEDS_ID and item.id is not None
            return [_with_id(item, needed or (with_id and _may_carry(item, rules)))]
        case _:
            return _lowered_native(item, rules)


def _may_carry(item: _Item, rules: ReplayRules) -> bool:
    return rules.ids == "all" and len(item.id or "") <= _MAX_ID


def _with_id(item: _Item, with_id: bool) -> NativeObject:
    """Return the native item with its id, or without; what came from the server keeps its order."""
    if not with_id:
        return without(item.native, "id")
    if "id" in item.native:
        return item.native
    return {"type": item.native.get("type"), "id": item.id, **item.native}


def _lowered_reasoning(item: _Item, intact: bool) -> list[NativeObject]:
    if not intact:
        why = "reasoning can only be replayed complete and with the items after it"
        item.diagnostics.dropped("reasoning-dropped", why)
        return []
    native: NativeObject = {"type": "reasoning"}
    if item.id is not None:
        native["id"] = item.id
    native["summary"] = item.native.get("summary", [])
    for name in ("content", "encrypted_content", "signature", *names.REASONING_FIELDS):
        if name in item.native:
            native[name] = item.native[name]
    return [native]


def _lowered_hosted(item: _Item, intact: bool) -> list[NativeObject]:
    type_ = item.native.get("type")
    if not intact or item.id is None:
        why = "the call of a hosted tool can only be replayed with its reasoning"
    elif type_ == "custom_tool_call":
        why = "the server does not accept its own searches of X in the input"
    elif type_ == "image_generation_call" and "result" not in item.native:
        why = "the image that the call generated is not in the message any more"
    else:
        return [_with_id(item, with_id=True)]
    item.diagnostics.dropped("hosted-tool-dropped", why)
    return []


def _lowered_native(item: _Item, rules: ReplayRules) -> list[NativeObject]:
    """Return an item of a kind we do not read, such as a compaction, as it came.

    Codex writes reasoning with `content: null`, which xAI refuses:
    https://github.com/Wei-Shaw/sub2api/issues/4237.
    """
    if "encrypted_content" in item.native and not rules.readable:
        why = "encrypted data is valid only for the model that made it"
        item.diagnostics.dropped("opaque-data-dropped", why)
        return []
    if item.native.get("type") in names.MULTI_AGENT_ITEMS and _is_of_several(item, rules):
        why = "only a request for several agents (multi_agent) takes it"
        item.diagnostics.dropped("hosted-tool-dropped", why)
        return []
    if item.native.get("type") == "reasoning" and item.native.get("content") is None:
        item.native = without(item.native, "content")
    return [_with_id(item, rules.trusts and item.id is not None)]


def _lowered_message(item: _Item, *, with_id: bool) -> NativeObject:
    """Return a message: with its id as it came, without one as plain text.

    Parts with fields that are not read are sent as parts, as the AI SDK sends all of them.
    """
    native: NativeObject = {"type": "message"}
    if with_id:
        native |= {"id": item.id, "role": "assistant", "status": "completed"}
        native["content"] = item.content
    else:
        if any(part.get("type") not in ("output_text", "refusal") for part in item.content):
            item.diagnostics.left_out("a native part", "its message has no id any more")
        native["role"] = "assistant"
        if any(map(names.unread_fields, item.content)):
            native["content"] = item.content
        else:
            texts = (part.get("text") or part.get("refusal") or "" for part in item.content)
            native["content"] = "".join(map(str, texts))
    return native | _fields(item.native, names.MESSAGE_FIELDS)
