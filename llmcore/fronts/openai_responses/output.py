"""The content of a response, item by item: the open one, and the events that change it.

The state is a private builder that lives as long as one response: texts are joined once, and an
event that continues a segment costs one dict.
"""

from collections.abc import Sequence
from typing import Any, Final

from llmcore.fronts.front import Event, ResponseIdentity, Upstream
from llmcore.fronts.hosted_calls import grounding_queries, hosted_call_kind
from llmcore.fronts.openai_responses import items
from llmcore.fronts.openai_responses.events import EventWriter, Sources
from llmcore.fronts.openai_responses.output_calls import CallItem, HostedItem
from llmcore.fronts.openai_responses.request import ReadResponsesRequest
from llmcore.fronts.output import OutputWriter
from llmcore.protocols.openai_responses.names import AGENT, METADATA_KEY, PROTOCOL_ID
from llmcore.schema import events
from llmcore.schema.native_json import object_or_empty, str_or_none


class ResponsesOutput(OutputWriter):
    """Writes the items of one response."""

    def __init__(
        self, info: ResponseIdentity, request: ReadResponsesRequest, upstream: Upstream
    ) -> None:
        sealing = request.shows_state or request.store
        super().__init__(info, upstream, sealing=sealing)
        self._registry = request.registry
        self._logprobs = bool(request.request.generation.logprobs)
        self._policy = upstream.policy
        self._in_summary = _shows_summary(request, upstream)
        self._show_state = request.shows_state
        self.writer = EventWriter(self.events, upstream.new_id, self.record, self.diagnostics)
        self.sources = Sources()
        self.item: items.OpenItem | None = None
        """The open item."""
        self._text_start: events.TextStart | None = None
        self._input_text = ""
        self._searched = False
        """Whether a call of the upstream's own search was shown."""

    @property
    def same_api(self) -> bool:
        """Whether the upstream has the same API."""
        return self.record.origin.protocol == PROTOCOL_ID

    def end(self, event: events.Finish) -> None:
        """Write what comes after all content: a search, and the state that is not sealed yet."""
        queries = [] if self._searched else grounding_queries(event)
        if queries:
            self.close_item()
            items.show_search(queries, self.sources.found_by_search(), self.writer)
        if not self.record.needs_opaque_item:
            return
        # some clients show each reasoning item, also one without text
        if self._show_state or not self.writer.store_state():
            self._reasoning()
            self.close_item()

    def delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        """Return the event of more content of the open item."""
        if not event.text:
            return []
        item = self.item
        if self.order.live != (kind, event.id) or item is None or self._text_start is not None:
            return None
        writer = self.writer
        made: Event | None
        if kind == "reasoning":
            if not isinstance(item, items.ReasoningItem) or not item.open:
                return None
            made = item.delta(event)
        else:
            made = item.delta(event) if isinstance(item, _TEXT_ITEMS) else None
        if made is None:
            return []
        made["sequence_number"] = writer.sequence
        writer.sequence += 1
        return [made]

    # -- items

    def close_item(self, status: str = "completed") -> None:
        """End the open item, if there is one."""
        item, self.item = self.item, None
        if item is not None:
            item.close(status)

    def _reasoning(self, agent: object = None) -> items.ReasoningItem:
        if isinstance(self.item, items.ReasoningItem):
            return self.item
        self.close_item()
        item = self.item = items.ReasoningItem(
            self.writer, agent, in_summary=self._in_summary, show_state=self._show_state
        )
        return item

    # -- text

    def _on_text_start(self, event: events.TextStart) -> None:
        self._text_start = event  # a part is shown once it has text

    def _on_text_delta(self, event: events.TextDelta) -> None:
        start, self._text_start = self._text_start, None
        if start is not None:
            native = object_or_empty(start.provider_metadata.get(METADATA_KEY))
            item = self.item
            if not isinstance(item, items.MessageItem) or not item.has(native):
                self.close_item()
                item = self.item = items.MessageItem(self.writer, native, logprobs=self._logprobs)
            item.start(start)
        if isinstance(self.item, items.MessageItem):
            self.writer.add(self.item.delta(event))

    def _on_text_end(self, event: events.TextEnd) -> None:
        if event.citations:
            self.sources.cite(event.citations)
        start, self._text_start = self._text_start, None
        if start is None and isinstance(self.item, items.MessageItem):
            self.item.end(event)
        elif event.provider_metadata:
            if isinstance(self.item, HostedItem):
                self.close_item()  # it waited for a result; its parts come first
            self.record.show(self.record.part_of(event))

    # -- reasoning

    def _on_reasoning_start(self, event: events.ReasoningStart) -> None:
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
        part_type, agent = str_or_none(native.get("part")), native.get(AGENT)
        if isinstance(self.item, items.ReasoningItem) and not self.item.is_of(agent):
            self.close_item()
        item = self._reasoning(agent)
        if self._policy.reasoning_text == "auto" and part_type is not None:
            item.place(in_summary=part_type == "summary_text")
        else:
            item.place(in_summary=self._in_summary)

    def _on_reasoning_delta(self, event: events.ReasoningDelta) -> None:
        item = self._reasoning()
        item.begin()
        self.writer.add(item.delta(event))

    def _on_reasoning_end(self, event: events.ReasoningEnd) -> None:
        self._reasoning().end(event)

    # -- calls

    def _on_tool_input_start(self, event: events.ToolInputStart) -> None:
        self.close_item()
        if event.provider_executed:
            self._searched = self._searched or hosted_call_kind(event.name) == "web_search"
            self.item = HostedItem(self.writer, self.record.origin.provider)
            return
        registered = self._policy.registered_tools
        self.item = CallItem(event, self._registry, registered, self.writer)

    def _on_tool_input_delta(self, event: events.ToolInputDelta) -> None:
        if isinstance(self.item, CallItem):
            made = self.item.delta(event)
            if made is not None:
                self.writer.add(made)

    def _on_tool_input_end(self, event: events.ToolInputEnd) -> None:
        self._input_text = event.text

    def _on_tool_call(self, event: events.ToolCall) -> None:
        if isinstance(self.item, CallItem):
            self.item.call(event, self._input_text)
            self.item = None
        elif isinstance(self.item, HostedItem):
            self.item.call(event)

    def _on_tool_result(self, event: events.ToolResult) -> None:
        if not event.provider_executed:
            return
        native = items.native_item(event)
        if native:  # a result that is an item of its own
            self.close_item()
            items.show_native(native, self.record.part_of(event), self.writer)
        elif isinstance(self.item, HostedItem) and self.item.is_result(event):
            self.item.result(event)
            self.close_item()
        else:
            self.close_item()
            self.record.show(self.record.part_of(event))

    # -- events by themselves

    def _on_file(self, event: events.File) -> None:
        if isinstance(self.item, HostedItem) and self.item.draws:
            self.item.file(event)
            return
        self.close_item()
        items.show_file(event, self.writer)

    def _on_provider_event(self, event: events.ProviderEvent) -> None:
        part = self.record.part_of(event)
        if part is not None:  # else it is a notification
            self.close_item()
            native = object_or_empty(event.data) if self.same_api else {}
            if str_or_none(native.get("type")):
                items.show_native(native, part, self.writer)
            else:
                self.record.show(part)  # made by another API: it is kept unseen

    def _on_source(self, event: events.Source) -> None:
        self.sources.add(event)


_TEXT_ITEMS: Final = (items.MessageItem, CallItem)


def _shows_summary(request: ReadResponsesRequest, upstream: Upstream) -> bool:
    """Return whether reasoning is shown in the summary of its items, and not in their content."""
    if upstream.policy.reasoning_text != "auto":
        return upstream.policy.reasoning_text == "summary"
    reasoning = request.request.reasoning
    return reasoning is not None and reasoning.summary not in (None, "none")
