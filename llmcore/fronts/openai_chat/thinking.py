"""Thinking as clients of Chat Completions read it: fields that OpenAI's own API does not have.

    {"reasoning_content": "Need two files.", "reasoning_details": [{"type": "reasoning.text",
     "text": "Need two files.", "index": 0, "format": "openbridge-v1"}]}
    {"reasoning_details": [{"type": "reasoning.text", "signature": "ob1.AbCd", "index": 0}]}

`reasoning_content` is what most clients show (DeepSeek's name); `reasoning_details` is what some
send back unread, with the sealed state. Sources, read November 2026:
https://api-docs.deepseek.com/guides/thinking_mode,
https://openrouter.ai/docs/use-cases/reasoning-tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.openai_chat.carrier import FORMAT, ResponseParts
from llmcore.fronts.openai_chat.chunks import ChunkWriter
from llmcore.fronts.policy import ChatReasoning
from llmcore.schema.events import ReasoningDelta, ReasoningEnd

_FIELDS: Final[Mapping[ChatReasoning, Sequence[str]]] = {
    "reasoning_content": ("reasoning_content",),
    "reasoning": ("reasoning",),
    "both": ("reasoning_content", "reasoning"),
    "none": (),
}


class ThinkingWriter:
    """Writes the thinking of one response, and the state that goes with it."""

    def __init__(
        self, chunks: ChunkWriter, parts: ResponseParts, fields: ChatReasoning, *, shown: bool
    ) -> None:
        self._chunks = chunks
        self._parts = parts
        self._fields = _FIELDS[fields] if shown else ()
        self._texts: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._index: dict[str, int] = {}
        """The index of a segment in `reasoning_details`, by its id."""

    def more(self, event: ReasoningDelta) -> None:
        """Write more of a segment."""
        if not event.text or not self._fields:
            return
        index = self._index.get(event.id)
        entry = {"type": "reasoning.text", "text": event.text, "index": index}
        if index is None:
            index = self._index[event.id] = len(self._details)
            # clients join the strings of an entry's pieces, so this one comes once
            entry |= {"index": index, "format": FORMAT}
            self._details.append({})
        delta: dict[str, Any] = dict.fromkeys(self._fields, event.text)
        delta["reasoning_details"] = [entry]
        self._chunks.write(delta)

    def end(self, event: ReasoningEnd) -> None:
        """Write the state of a segment, and the unwritten state of all before it."""
        index = self._index.get(event.id)
        if index is not None:
            self._texts.append(event.text)
            self._details[index] |= {
                "type": "reasoning.text", "text": event.text, "index": index, "format": FORMAT,
            }  # fmt: skip
        sealed = self._parts.seal()
        if sealed is None:
            return
        if index is None:
            self._write_state(sealed)
            return
        self._details[index]["signature"] = sealed
        entry = {"type": "reasoning.text", "signature": sealed, "index": index}
        self._chunks.write({"reasoning_details": [entry]})

    def finish(self) -> None:
        """Write all unwritten state."""
        sealed = self._parts.seal()
        if sealed is not None:
            self._write_state(sealed)

    def _write_state(self, sealed: str) -> None:
        index = len(self._details)
        entry = {"type": "reasoning.encrypted", "data": sealed, "index": index, "format": FORMAT}
        self._details.append(entry)
        self._chunks.write({"reasoning_details": [entry]})

    def fields(self) -> dict[str, Any]:
        """Return the fields of the whole message."""
        whole: dict[str, Any] = {}
        if self._texts:
            whole |= dict.fromkeys(self._fields, "".join(self._texts))
        return {**whole, "reasoning_details": self._details} if self._details else whole
