"""Items of the output: messages, reasoning, hosted tools, and items that arrive complete.

    {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
     {"type": "output_text", "text": "Paris", "annotations": [], "logprobs": []}]}
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Easy."}],
     "encrypted_content": "ob1.5kx..."}

Source: https://developers.openai.com/api/reference/resources/responses, read November 2026.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from llmcore.fronts.hosted_calls import (
    HostedCallKind,
    executed_code,
    found_pages,
    hosted_call_kind,
    result_as_text,
    search_queries,
)
from llmcore.fronts.opaque_state import ShownPart
from llmcore.fronts.openai_responses.calls import id_prefix
from llmcore.fronts.openai_responses.content import (
    annotations_of,
    delta_logprobs,
    logprobs_of,
    output_text,
    read_part,
    refusal_part,
)
from llmcore.fronts.openai_responses.events import EventWriter
from llmcore.protocols.history import ITEM_FIELDS, PART_FIELDS
from llmcore.protocols.openai_responses.names import AGENT, MESSAGE_FIELDS, METADATA_KEY
from llmcore.schema.content import ContentPart
from llmcore.schema.events import (
    File,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolResult,
)
from llmcore.schema.frozen import frozen
from llmcore.schema.json import text_or_json
from llmcore.schema.native_json import object_or_empty, str_or_none

# -- messages and reasoning

Item = dict[str, Any]


def shown_fields(metadata: Mapping[str, Any], names: Iterable[str]) -> Item:
    """Return the fields of an upstream's item that its client sees besides its content.

    They are *names*, and those that the protocol does not read. *metadata* is the upstream's.
    """
    shown = {name: metadata[name] for name in names if metadata.get(name) is not None}
    return {**shown, **object_or_empty(metadata[ITEM_FIELDS])} if ITEM_FIELDS in metadata else shown


class OpenItem(Protocol):
    """The interface of all items."""

    def close(self, status: str) -> None:
        """End the item."""


class MessageItem:
    """A message: consecutive texts and refusals."""

    def __init__(self, writer: EventWriter, metadata: Mapping[str, Any], *, logprobs: bool) -> None:
        """Begin a message; *metadata* is that of an upstream of the same API."""
        self._id = writer.new_id("msg")
        self._writer = writer
        self._logprobs = logprobs
        self._content: list[Item] = []
        self._refusal: bool | None = None
        self._index = metadata.get("index")
        self._own = shown_fields(metadata, MESSAGE_FIELDS)
        writer.item_added(self._item("in_progress"))

    def _item(self, status: str) -> Item:
        item: Item = {"id": self._id, "type": "message", "status": status, "role": "assistant"}
        item["content"] = list(self._content)
        return {**item, **self._own} if self._own else item

    def _place(self) -> dict[str, Any]:
        return {
            "item_id": self._id,
            "output_index": self._writer.index,
            "content_index": len(self._content),
        }

    def has(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a text is a part of this message, by *metadata*, the upstream's data."""
        return metadata.get("index") == self._index

    def start(self, start: TextStart) -> None:
        """Begin a part."""
        self._refusal = start.refusal
        part = refusal_part("") if start.refusal else output_text("")
        self._writer.write("response.content_part.added", **self._place(), part=part)

    def delta(self, event: TextDelta) -> dict[str, Any]:
        """Return the event of more text, but for its number: the per-token path."""
        place = {
            "item_id": self._id,
            "output_index": self._writer.index,
            "content_index": len(self._content),
            "delta": event.text,
        }
        if self._refusal:
            return {"type": "response.refusal.delta", "sequence_number": 0, **place}
        place["logprobs"] = delta_logprobs(event.logprobs) if self._logprobs else []
        return {"type": "response.output_text.delta", "sequence_number": 0, **place}

    def end(self, event: TextEnd) -> None:
        """End the open part."""
        metadata = object_or_empty(event.provider_metadata.get(METADATA_KEY))
        if self._refusal:
            self._writer.write("response.refusal.done", **self._place(), refusal=event.text)
            part = refusal_part(event.text)
        else:
            part = self._output_text(event)
        part |= object_or_empty(metadata.get(PART_FIELDS))
        self._writer.write("response.content_part.done", **self._place(), part=part)
        self._content.append(part)
        self._refusal = None
        self._own |= shown_fields(metadata, MESSAGE_FIELDS)
        record = self._writer.record
        seen = read_part(part, self._writer.diagnostics) if record.compares else None
        record.show(record.part_of(event), seen)

    def _output_text(self, event: TextEnd) -> Item:
        place = self._place()
        annotations = []
        if event.citations:
            path = f"output[{self._writer.index}].content[{len(self._content)}]"
            here = self._writer.diagnostics.at(path)
            annotations = annotations_of(event.citations, event.text, here)
        for number, annotation in enumerate(annotations):
            self._writer.write(
                "response.output_text.annotation.added",
                **place,
                annotation_index=number,
                annotation=annotation,
            )
        tokens = event.logprobs if self._logprobs else ()
        self._writer.write(
            "response.output_text.done", **place, text=event.text, logprobs=delta_logprobs(tokens)
        )
        return output_text(event.text, annotations, logprobs_of(tokens))

    def close(self, status: str) -> None:
        """End the message."""
        self._writer.item_done(self._item(status))


@frozen
class _ReasoningForm:
    """The types of the parts of one list of a reasoning item, and of their events."""

    list: str
    part: str
    """The type of a part."""
    text: str
    """The prefix of the events of its text."""
    around: str
    """The prefix of the events before and after its text."""


_IN_SUMMARY: Final = _ReasoningForm(
    "summary", "summary_text", "reasoning_summary_text", "reasoning_summary_part"
)
_IN_CONTENT: Final = _ReasoningForm("content", "reasoning_text", "reasoning_text", "content_part")


class ReasoningItem:
    """A reasoning item: consecutive segments of thinking, with the sealed state."""

    def __init__(
        self, writer: EventWriter, agent: object, *, in_summary: bool, show_state: bool
    ) -> None:
        """Begin an item; *agent* is the one that reasons, where there are several."""
        self._id = writer.new_id("rs")
        self._writer = writer
        self._show_state = show_state
        self._done_parts: Final[Mapping[str, list[Item]]] = {"summary": [], "content": []}
        self.open = False
        """Whether a segment has text and is still open."""
        self._own: Item = {} if agent is None else {AGENT: agent}
        self._form = _IN_SUMMARY if in_summary else _IN_CONTENT
        writer.item_added(self._item("in_progress"))

    def _item(self, status: str, state: Mapping[str, Any] | None = None) -> Item:
        shown: dict[str, Any] = {
            name: list(parts) for name, parts in self._done_parts.items() if parts
        }
        shown.setdefault("summary", [])
        item = {"id": self._id, "type": "reasoning", "status": status, **self._own}
        return {**item, **shown, **(state or {})}

    def _place(self) -> dict[str, Any]:
        return {
            "item_id": self._id,
            "output_index": self._writer.index,
            f"{self._form.list}_index": len(self._done_parts[self._form.list]),
        }

    def _part(self, which: str, text: str) -> Item:
        """Mark where a part begins or ends, for clients that add up deltas."""
        part = {"type": self._form.part, "text": text}
        self._writer.write(f"response.{self._form.around}.{which}", **self._place(), part=part)
        return part

    def place(self, *, in_summary: bool) -> None:
        """Select the list that the following segments are shown in: the summary, or the content."""
        self._form = _IN_SUMMARY if in_summary else _IN_CONTENT

    def is_of(self, agent: object) -> bool:
        """Return whether *agent* reasons in it; None where there is one agent."""
        return self._own.get(AGENT) == agent

    def begin(self) -> None:
        """Begin a part, unless one is open."""
        if not self.open:
            self.open = True
            self._part("added", "")

    def delta(self, event: ReasoningDelta) -> dict[str, Any]:
        """Return the event of more thinking, but for its number: the per-token path."""
        return {
            "type": f"response.{self._form.text}.delta",
            "sequence_number": 0,
            **self._place(),
            "delta": event.text,
        }

    def end(self, event: ReasoningEnd) -> None:
        """End a segment; one without text is not shown."""
        if self.open:
            self._writer.write(f"response.{self._form.text}.done", **self._place(), text=event.text)
            self._done_parts[self._form.list].append(self._part("done", event.text))
        self.open = False
        metadata = object_or_empty(event.provider_metadata.get(METADATA_KEY))
        self._own |= shown_fields(metadata, ())
        self._writer.record.show(self._writer.record.part_of(event))

    def close(self, status: str) -> None:
        """End the item, and seal the state so far."""
        stored = self._item(status, self._writer.record.seal())
        self._writer.item_done(stored if self._show_state else self._item(status), stored)


# -- hosted tools


LIFECYCLE: Final[Mapping[str, tuple[str, ...]]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed"),
}
"""Events of their own that items have between their beginning and their end; the last one
belongs to the end."""

_TYPES: Final[Mapping[HostedCallKind, str]] = {
    "web_search": "web_search_call",
    "code_execution": "code_interpreter_call",
    "other": "mcp_call",
}


def hosted_type(call: ToolCall) -> str:
    """Return the type of the item that *call* becomes."""
    native = str_or_none(native_item(call).get("type"))
    if native is not None:
        return native
    return _TYPES[hosted_call_kind(call.name)]


def hosted_item(
    call: ToolCall,
    result: ToolResult | None,
    files: list[File],
    *,
    item_id: str,
    provider: str,
    status: str,
) -> dict[str, Any]:
    """Return the item of a call in its current state."""
    native = native_item(call)
    if native:
        return _hosted_native_item(native, files, item_id, status)
    ended = "failed" if result is not None and result.is_error else status
    item = {"id": item_id, "type": hosted_type(call), "status": ended}
    match item["type"]:
        case "web_search_call":
            return {**item, "action": _search(call, result)}
        case "code_interpreter_call":
            text = result_as_text(result)
            logs = [{"type": "logs", "logs": text}] if text else None
            return {**item, "code": executed_code(call), "container_id": "", "outputs": logs}
        case _:
            arguments = text_or_json(call.arguments)
            named = {"server_label": provider or "upstream", "name": call.name}
            output = None if result is None else result_as_text(result)
            return {**item, **named, "arguments": arguments, "output": output, "error": None}


def native_item(event: ToolCall | ToolResult) -> Mapping[str, Any]:
    """Return the item of an upstream of the same API that *event* represents, or an empty one.

    A search of X that xAI ran has the type of a call that clients would run.
    """
    metadata = object_or_empty(event.provider_metadata.get(METADATA_KEY))
    item = object_or_empty(metadata.get("item"))
    return {} if item.get("type") == "custom_tool_call" else item


def _hosted_native_item(
    native: Mapping[str, Any], files: list[File], item_id: str, status: str
) -> dict[str, Any]:
    item = {**native, "id": item_id}
    if status == "in_progress" or _is_under_way(item):
        item = dict(with_status(item, status))
    if item["type"] == "image_generation_call":
        item["result"] = image_result(files[0]) if files else None
    return item


def image_result(file: File) -> str | None:
    """Return a file as the base64 of `image_generation_call`; None if it has no bytes."""
    return base64.b64encode(file.data).decode() if file.data else None


def _search(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    """Return the queries of a search, and its results."""
    queries = search_queries(call)
    several = bool(object_or_empty(call.arguments).get("queries"))
    return _action(queries, (page["url"] for page in found_pages(result)), several=several)


def _action(queries: Sequence[str], urls: Iterable[str], *, several: bool) -> dict[str, Any]:
    action: dict[str, Any] = {"type": "search", "query": queries[0] if queries else ""}
    if several:
        action["queries"] = list(queries)
    sources = [{"type": "url", "url": url} for url in urls]
    return {**action, "sources": sources} if sources else action


def show_search(queries: Sequence[str], urls: Sequence[str], writer: EventWriter) -> None:
    """Show a search of the upstream that is in none of its calls, and so in no message."""
    item = {"id": writer.new_id("ws"), "type": "web_search_call", "status": "completed"}
    show_item({**item, "action": _action(queries, urls, several=True)}, writer)
    writer.record.add(ShownPart(parts=(), item_type="web_search_call"))


# -- items that come whole


def show_file(event: File, writer: EventWriter) -> None:
    """Show an image; any other file is kept, and named in a Diagnostic."""
    record = writer.record
    part, result = record.part_of(event), image_result(event)
    if result is None or not str(event.media_type).startswith("image/"):
        why = "the API has no form for files other than images; it stays in the conversation"
        writer.diagnostics.at(f"output[{writer.index}]").dropped("file-dropped", why)
        record.show(part)
        return
    show_item(_image_item(writer.new_id("ig"), result, event.media_type), writer)
    if part is not None:
        record.add(ShownPart(parts=(part,), item_type="image_generation_call"))


def show_native(item: Mapping[str, Any], part: ContentPart | None, writer: EventWriter) -> None:
    """Show an item of an upstream of the same API as it came; it is *part* of the message."""
    id_ = str_or_none(item.get("id")) or writer.new_id(id_prefix(str(item["type"])))
    show_item({**item, "id": id_}, writer)
    if part is not None:
        writer.record.add(ShownPart(parts=(part,), item_type=str(item["type"])))


def show_item(item: Item, writer: EventWriter) -> None:
    """Write all events of an item."""
    type_ = str(item["type"])
    item = with_status(item, "completed") if _is_under_way(item) else item
    begun = item if type_ in WHOLE_TYPES else with_status(item, "in_progress")
    drawn = type_ == "image_generation_call" and "result" in item
    writer.item_added({**begun, "result": None} if drawn else begun)
    for name in LIFECYCLE.get(type_, ()):
        writer.write(f"response.{type_}.{name}", item_id=item["id"], output_index=writer.index)
    writer.item_done(item)


WHOLE_TYPES: Final = frozenset({"apply_patch_call_output", "program_output"})
"""Items that the API has only complete: their `status` is a final one."""
_UNDER_WAY: Final = frozenset({"calling", "generating", "in_progress", "interpreting", "searching"})
"""Statuses of incomplete items. Some servers leave them so in a complete response."""


def _is_under_way(item: Item) -> bool:
    return str_or_none(item.get("status")) in _UNDER_WAY


def with_status(item: Item, status: str) -> Item:
    """Return *item* with another status; one of a type without a status as it is."""
    return {**item, "status": status} if "status" in item else item


def _image_item(item_id: str, result: str, media_type: str | None) -> Item:
    form = (media_type or "image/png").partition("/")[2].partition("+")[0]
    return {
        "id": item_id,
        "type": "image_generation_call",
        "status": "completed",
        "result": result,
        **({"output_format": form} if form in ("png", "webp", "jpeg", "gif", "svg") else {}),
    }
