"""Calls as output items, written event by event: those the client runs, those the provider ran.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events, read
November 2026.
"""

from collections.abc import Mapping
from typing import Any

from llmcore.fronts.freeform_input import FreeformInput
from llmcore.fronts.opaque_state import ShownPart
from llmcore.fronts.openai_responses import items
from llmcore.fronts.openai_responses.calls import call_item, call_part, call_type, id_prefix
from llmcore.fronts.openai_responses.events import EventWriter
from llmcore.fronts.policy import RegisteredTool
from llmcore.fronts.tool_registry import ToolEntry, ToolRegistry
from llmcore.protocols.openai_responses.names import CALL_FIELDS, CALL_IDS, METADATA_KEY
from llmcore.schema import json
from llmcore.schema.events import File, ToolCall, ToolInputDelta, ToolInputStart, ToolResult
from llmcore.schema.native_json import object_or_empty, str_or_none

Item = dict[str, Any]


class CallItem:
    """A call that the client runs."""

    def __init__(
        self,
        start: ToolInputStart,
        registry: ToolRegistry,
        registered: tuple[RegisteredTool, ...],
        writer: EventWriter,
    ) -> None:
        self._start = start
        self._entry = registry.of_upstream(start.name)
        self._registry = registry
        self._registered = registered
        self._call_id = CALL_IDS.fit(start.id)
        self._writer = writer
        self._sent: list[str] = []
        self._freeform: FreeformInput | None = None
        self._event = ""
        self._id = ""
        native = object_or_empty(start.provider_metadata.get(METADATA_KEY))
        self._own = self._fields_of(native)
        if "type" not in native:
            self._begin()

    def _fields_of(self, metadata: Mapping[str, Any]) -> Item:
        """Return the fields of the upstream's call besides its name and input."""
        fields = items.shown_fields(metadata, CALL_FIELDS)
        if not self._registry.native:
            fields.pop("namespace", None)
        return fields

    def _begin(self) -> None:
        kind = self._entry.kind if self._entry else "function"
        if self._start.kind == "custom" and self._entry is None:
            name = self._start.name
            self._entry = ToolEntry(upstream=name, kind="custom", name=name, native=True)
            kind = "custom"
        self._id = self._writer.new_id(id_prefix(call_type(kind)))
        if kind == "function":
            self._event = "response.function_call_arguments"
        elif kind == "custom":
            self._event = "response.custom_tool_call_input"
            self._freeform = None if self._start.kind == "custom" else FreeformInput()
        if self._event:
            self._writer.item_added(self._item("", "in_progress") or {})

    def _item(self, text: str, status: str) -> Item | None:
        item = call_item(
            self._entry,
            item_id=self._id,
            call_id=self._call_id,
            name=self._start.name,
            text=text,
            status=status,
        )
        return {**item, **self._own} if item and self._event else item

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._id, "output_index": self._writer.index}

    def delta(self, event: ToolInputDelta) -> dict[str, Any] | None:
        """Return the event of further input without its sequence number; None if none is due."""
        if not self._event:
            return None
        text = event.text if self._freeform is None else self._freeform.feed(event.text)
        if not text:
            return None
        self._sent.append(text)
        type_ = f"{self._event}.delta"
        return {"type": type_, "sequence_number": 0, **self._place(), "delta": text}

    def call(self, event: ToolCall, text: str) -> None:
        """Emit the whole call, whose input was *text*."""
        native = items.native_item(event)
        if native:
            items.show_native(native, self._writer.record.part_of(event), self._writer)
            return
        self._own |= self._fields_of(object_or_empty(event.provider_metadata.get(METADATA_KEY)))
        if not self._id:  # it began as an item of the upstream's, which did not come
            self._begin()
            made = self.delta(ToolInputDelta(event.id, text))
            if made is not None:
                self._writer.add(made)
        if not self._event:
            self._end_held(event, text)
            return
        self._write_rest(text)
        whole = text if self._freeform is None and text.strip() else "".join(self._sent)
        name = "input" if self._event.endswith("input") else "arguments"
        self._writer.write(f"{self._event}.done", **self._place(), **{name: whole})
        status = "incomplete" if self._is_cut(event, whole) else "completed"
        self._done(event, self._item(whole, status) or {})

    def _is_cut(self, event: ToolCall, whole: str) -> bool:
        """Return whether the input ends early: such a call must not be run."""
        if self._freeform is not None:
            return self._freeform.is_cut
        return event.kind == "function" and not _is_json(whole)

    def _write_rest(self, text: str) -> None:
        """Emit the rest of the input, which was in no delta: that of a function must be JSON."""
        if self._freeform is not None:
            rest = self._freeform.close()
        else:
            rest = "{}" if self._start.kind == "function" and not text.strip() else ""
        if rest:
            self._sent.append(rest)
            self._writer.write(f"{self._event}.delta", **self._place(), delta=rest)

    def _end_held(self, event: ToolCall, text: str) -> None:
        """Write an item of its own form, which is shown once it is complete."""
        item = self._item(text, "completed")
        if item is None:
            self._writer.diagnostics.at(f"output[{self._writer.index}]").noted(
                "invalid-tool-arguments",
                f"the arguments of {self._start.name} do not fit the tool: a plain function call",
            )
            self._entry = None
            self._id = self._writer.new_id(id_prefix("function_call"))
            item = self._item(text or "{}", "completed") or {}
            self._write_plain(event, item)
            return
        begun = {**item, "status": "in_progress"}
        self._writer.item_added(begun)
        self._done(event, item)

    def _write_plain(self, event: ToolCall, item: Item) -> None:
        self._writer.item_added({**item, "arguments": "", "status": "in_progress"})
        name, text = "response.function_call_arguments", item["arguments"]
        self._writer.write(f"{name}.delta", **self._place(), delta=text)
        self._writer.write(f"{name}.done", **self._place(), arguments=text)
        self._done(event, item)

    def _done(self, event: ToolCall, item: Item) -> None:
        as_read_by_client = call_part(item, self._registry, self._registered)
        record = self._writer.record
        record.show(record.part_of(event), as_read_by_client)
        self._writer.item_done(item)

    def close(self, status: str) -> None:
        """Do nothing: a call ends with its whole input."""


class HostedItem:
    """A tool that the provider ran: added when it is called, done when it has returned."""

    def __init__(self, writer: EventWriter, provider: str) -> None:
        self._writer = writer
        self._provider = provider
        self._files: list[File] = []
        self._result: ToolResult | None = None
        self._call: ToolCall | None = None
        self._id = ""

    @property
    def draws(self) -> bool:
        """Whether the call's files are generated images."""
        return self._call is not None and items.hosted_type(self._call) == "image_generation_call"

    def is_result(self, event: ToolResult) -> bool:
        """Return whether *event* is the call's result."""
        return self._call is not None and self._call.id == event.tool_call_id

    def call(self, event: ToolCall) -> None:
        """Show the call."""
        self._call = event
        self._id = str_or_none(items.native_item(event).get("id")) or self._writer.new_id(
            id_prefix(items.hosted_type(event))
        )
        self._writer.item_added(self._item(event, "in_progress"))
        for name in items.LIFECYCLE.get(items.hosted_type(event), ())[:-1]:
            self._lifecycle(event, name)

    def _item(self, call: ToolCall, status: str) -> Item:
        return items.hosted_item(
            call,
            self._result,
            self._files,
            item_id=self._id,
            provider=self._provider,
            status=status,
        )

    def _lifecycle(self, call: ToolCall, name: str) -> None:
        type_ = f"response.{items.hosted_type(call)}.{name}"
        self._writer.write(type_, item_id=self._id, output_index=self._writer.index)

    def result(self, event: ToolResult) -> None:
        """Emit the result of the tool."""
        self._result = event

    def file(self, event: File) -> None:
        """Emit a file that the tool made."""
        self._files.append(event)

    def close(self, status: str) -> None:
        """End the item."""
        call = self._call
        if call is None:
            return
        item = self._item(call, "completed")
        failed = item.get("status") == "failed" and items.hosted_type(call) == "mcp_call"
        for name in items.LIFECYCLE.get(items.hosted_type(call), ())[-1:]:
            self._lifecycle(call, "failed" if failed else name)
        made = (call, *self._files, self._result)
        record = self._writer.record
        parts = [record.part_of(event) for event in made if event is not None]
        record.add(ShownPart(parts=tuple(filter(None, parts)), item_type=str(item["type"])))
        self._writer.item_done(item)


def _is_json(text: str) -> bool:
    """Return whether a function's input is complete JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
