"""The content of a message, block by block.

Texts and calls are blocks; what the client cannot see of them is sealed in the thinking that
follows, or in a block of its own. Tools that a provider ran are shown as the API's server tools.
"""

from collections.abc import Sequence
from typing import Any

from llmcore.fronts.anthropic_messages.blocks import (
    BlockWriter,
    OpenBlock,
    OpenText,
    OpenThinking,
    OpenToolUse,
)
from llmcore.fronts.anthropic_messages.carrier import StateCarrier
from llmcore.fronts.anthropic_messages.content import write_citations
from llmcore.fronts.anthropic_messages.finish import is_explanation
from llmcore.fronts.anthropic_messages.hosted import (
    FoundPages,
    hosted_call,
    hosted_result,
    read_hosted,
)
from llmcore.fronts.anthropic_messages.request import ReadMessagesRequest
from llmcore.fronts.front import Event, ResponseIdentity, Upstream
from llmcore.fronts.output import OutputWriter
from llmcore.protocols.anthropic_messages.names import CALL_IDS, METADATA_KEY, Block
from llmcore.schema import events
from llmcore.schema.changed import changed
from llmcore.schema.content import TextPart, ToolCallPart
from llmcore.schema.native_json import object_or_empty, str_or_none


class MessagesOutput(OutputWriter):
    """Writes the content of one message."""

    def __init__(
        self, info: ResponseIdentity, request: ReadMessagesRequest, upstream: Upstream
    ) -> None:
        super().__init__(info, upstream)
        self.blocks = BlockWriter(self.events)
        self.state = StateCarrier(self.record)
        self._response_id = info.id
        self._request = request
        self._block: OpenBlock | None = None
        self._text_start: events.TextStart | None = None
        self._ids: dict[str, str] = {}
        """Ids of calls by those of the upstream."""
        self._hosted: dict[str, Block] = {}
        self.pages = FoundPages()

    def delta_of_live(self, kind: str, event: Any) -> Sequence[Event] | None:
        """Return the event of more content of the open block."""
        if not event.text:
            return []
        block = self._block
        if block is None or self._text_start is not None or self.order.live != (kind, event.id):
            return None
        if block.kind != kind or block.held:
            return None
        return [block.delta(event.text)]

    def _open(self, block: OpenBlock) -> None:
        self._block = block
        self.blocks.write(block.start())

    # -- text

    def _on_text_start(self, event: events.TextStart) -> None:
        self._text_start = event  # a block is shown once it has text

    def _on_text_delta(self, event: events.TextDelta) -> None:
        if self._text_start is not None:
            if is_explanation(self._text_start):
                return
            self._text_start = None
            if self._request.takes_state and (self.state.hidden or self.state.text_says_more):
                self.blocks.redacted(self.state.seal())
            self._open(OpenText(self.blocks.index))
        if isinstance(self._block, OpenText) and event.text:
            self.blocks.write(self._block.delta(event.text))

    def _on_text_end(self, event: events.TextEnd) -> None:
        start, self._text_start = self._text_start, None
        if start is not None or not isinstance(self._block, OpenText):
            if event.provider_metadata and not is_explanation(event):
                self.state.add_with_text(self.record.part_of(event))
            return
        path = f"content[{self.blocks.index}]"
        citations = write_citations(event.citations, self.diagnostics.at(path))
        self.pages.add_citations(event.citations, citations)
        self.blocks.end_text(event.text, citations)
        self._block = None
        # a refusal comes back as text, and its citations as they are shown
        echoed = TextPart(event.text, citations=event.citations)
        native = event.provider_metadata
        self.state.show(changed(echoed, provider_metadata=native) if native else echoed, echoed)

    # -- thinking

    def _on_reasoning_delta(self, event: events.ReasoningDelta) -> None:
        if not self._request.shows_thinking or not event.text:
            return
        if not isinstance(self._block, OpenThinking):
            self._open(OpenThinking(self.blocks.index))
        if isinstance(self._block, OpenThinking):
            self.blocks.write(self._block.delta(event.text))

    def _on_reasoning_end(self, event: events.ReasoningEnd) -> None:
        empty = not (event.text or event.signature or event.encrypted)
        if empty and not event.provider_metadata:
            return  # an item's id alone is enough for the provider that keeps the item
        self.state.add_thinking(self.record.part_of(event))
        if not self._request.takes_state:
            self.state.hidden = True
            return
        if self._block is None and self.blocks.ends_with_text:
            self.state.text_says_more = self.state.text_is_signed = True
            return
        state = self.state.seal()
        shown = event.text if self._request.shows_thinking else ""
        if isinstance(self._block, OpenThinking):
            self.blocks.end_thinking(shown, state)
            self._block = None
        elif self._request.shows_thinking:
            self.blocks.redacted(state)
        else:
            self._open(OpenThinking(self.blocks.index))
            self.blocks.end_thinking("", state)
            self._block = None

    # -- calls of the client's tools

    def _on_tool_input_start(self, event: events.ToolInputStart) -> None:
        if event.provider_executed:
            return
        call_id = CALL_IDS.fit(event.id)
        if call_id in self._request.call_ids or call_id in self._ids.values():
            call_id = CALL_IDS.fit(f"{call_id}/{self._response_id}/{len(self._ids)}")
        self._ids[event.id] = call_id
        self.called = True
        freeform = event.kind == "custom"
        native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
        index = self.blocks.index
        self._open(OpenToolUse(index, call_id, event.name, freeform=freeform, native=native))

    def _on_tool_input_delta(self, event: events.ToolInputDelta) -> None:
        if isinstance(self._block, OpenToolUse) and event.text:
            made = self._block.more(event.text)
            if made is not None:
                self.blocks.write(made)

    def _on_tool_call(self, event: events.ToolCall) -> None:
        if event.provider_executed:
            self._hosted_call(event)
            return
        if not isinstance(self._block, OpenToolUse):
            return
        block, self._block = self._block, None
        read = ToolCallPart(block.id, event.name, self.blocks.end_tool_use(block, event))
        part = self.record.part_of(event)
        if isinstance(part, ToolCallPart):
            self.state.show(changed(part, id=block.id), read)

    # -- tools that the provider runs

    def _hosted_call(self, event: events.ToolCall) -> None:
        block = hosted_call(event)
        if block is None:
            self._not_shown(f"a call of {event.name}", event)
            return
        self._hosted[event.id] = block
        if block["name"] == "web_search":
            self.pages.add_search(event)
        self.blocks.server_call(block)
        self.state.show(self.record.part_of(event), read_hosted(block, {}))

    def _on_tool_result(self, event: events.ToolResult) -> None:
        if not event.provider_executed:
            return
        call = self._hosted.get(event.tool_call_id)
        block = hosted_result(event, call)
        if block is None:
            self._not_shown(f"what {event.name or 'a tool'} returned", event)
            return
        self.pages.add_result(event)
        self.blocks.whole(block)
        names = {} if call is None else {str(call["id"]): str(call["name"])}
        self.state.show(self.record.part_of(event), read_hosted(block, names))

    def _not_shown(self, what: str, event: events.LLMEvent) -> None:
        why = f"the API has no form for {what}; it stays in the conversation"
        self.diagnostics.at(f"content[{self.blocks.index}]").changed("content-not-shown", why)
        self.state.show(self.record.part_of(event), None)

    # -- events by themselves

    def _on_file(self, event: events.File) -> None:
        self._not_shown(f"a file of the type {event.media_type}", event)

    def _on_provider_event(self, event: events.ProviderEvent) -> None:
        part = self.record.part_of(event)
        if part is None:  # a notification
            return
        native = object_or_empty(event.data)
        if event.provider == METADATA_KEY and str_or_none(native.get("type")) is not None:
            self.blocks.whole(native)
            self.state.show(part, part)
        else:
            self.state.show(part, None)

    def _on_source(self, event: events.Source) -> None:
        if event.url is not None and event.kind == "url":
            self.pages.add(event.url, event.title)

    # -- the end

    def end(self, event: events.Finish) -> None:
        """Write the pages that no search has shown as results of one, and the last state."""
        if not (self._request.searches or self.pages.searches):
            for url in self.pages.uncited:
                why = f"no text cites the source {url}, and no search was asked for"
                self.diagnostics.at("content").dropped("source-dropped", why)
        elif shown := self.pages.search(f"{self._response_id}_sources", event):
            call, result = shown
            self.blocks.server_call(call)
            self.blocks.whole(result)
        self._carry_rest()

    def _carry_rest(self) -> None:
        """Write the state of the last parts.

        Claude Code takes the last block for its result, so that a text at the end stays the last
        one unless a file or a tool of the provider follows it. OpenAI and Google require state of
        the steps of a tool loop, not of texts that end one.
        """
        hidden, in_text = self.state.hidden, self.state.text_says_more
        if in_text and not (hidden or self.called):
            if not self.state.text_is_signed:
                return  # only the place of a text is lost, which the next request goes without
            why = "a block after the text would carry it, and clients take the last block's text"
            self.diagnostics.at("content").dropped("opaque-data-dropped", why)
        elif hidden or in_text:
            if self._request.takes_state or self.called:
                self.blocks.redacted(self.state.seal())
            else:
                why = "thinking is off: no block carries what the upstream would need of this"
                self.diagnostics.at("content").dropped("opaque-data-dropped", why)
