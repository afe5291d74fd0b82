r"""Arguments of functions that are an object in a string, which most clients take for a text.

    {"name": "weather", "arguments": "\"{\\\"city\\\": \\\"Paris\\\"}\""}

Servers of several models send them so now and then. The arguments of a function are an object, so
that a first character that is a quotation mark tells: they are then held until they are complete.
Sources: https://github.com/livekit/agents/pull/5409 (Nova),
https://github.com/vllm-project/vllm/pull/54964 (Hermes), https://github.com/huggingface/smolagents/pull/1003.
"""

from collections.abc import Sequence

from llmcore.schema import json
from llmcore.schema.changed import changed
from llmcore.schema.events import LLMEvent, ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart

CALL_EVENTS = frozenset({ToolInputStart, ToolInputDelta, ToolInputEnd, ToolCall})
"""The types of the events that are read here."""


class QuotedArguments:
    """Replaces arguments that are an object in a string by the object, for one response."""

    def __init__(self) -> None:
        self.plain: set[str] = set()
        """The ids of calls whose further input passes as it comes."""
        self._held: dict[str, list[str]] = {}
        self._quoted: set[str] = set()
        """Those of the held calls whose input is a string."""
        self._inner: dict[str, str] = {}

    def read(self, event: LLMEvent) -> Sequence[LLMEvent]:
        """Return the events that are written for *event*, which is one of `CALL_EVENTS`."""
        match event:
            case ToolInputStart(id=id_, kind=kind, provider_executed=hosted):
                if kind == "function" and not hosted:
                    self._held[id_] = []
                else:
                    self.plain.add(id_)
            case ToolInputDelta(id=id_) if id_ in self._held:
                return self._more(event)
            case ToolInputEnd(id=id_, text=text) if id_ in self._held:
                text = text or "".join(self._held[id_])
                del self._held[id_]
                inner = _object_in_string(text)
                if inner is not None:
                    self._inner[id_] = text = inner
                rest = (ToolInputDelta(id_, text),) if text else ()
                return (*rest, changed(event, text=text))
            case ToolCall(id=id_) if id_ in self._inner:
                return (changed(event, raw_arguments=self._inner.pop(id_)),)
            case _:
                pass
        return (event,)

    def _more(self, event: ToolInputDelta) -> Sequence[LLMEvent]:
        held = self._held[event.id]
        held.append(event.text)
        if event.id in self._quoted:
            return ()
        begun = event.text.lstrip()[:1]  # what is held is blank
        if begun == '"':
            self._quoted.add(event.id)
        if begun in ("", '"'):
            return ()
        del self._held[event.id]
        self.plain.add(event.id)
        return (ToolInputDelta(event.id, "".join(held)),)


def _object_in_string(text: str) -> str | None:
    """Return the JSON of the object in the JSON string *text*; None for any other text."""
    if text.lstrip()[:1] != '"':
        return None
    try:
        inner = json.loads(text)
        while isinstance(inner, str):
            text, inner = inner, json.loads(inner)
    except ValueError:
        return None
    return text if isinstance(inner, dict) else None
