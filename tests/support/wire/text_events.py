"""Native events that only add to a text, with others that must not be taken for such ones."""

import json
from typing import Any

from attrs import frozen

from llmcore.protocols import anthropic_messages, gemini, openai_chat, openai_responses
from llmcore.protocols.protocol import Protocol

Event = dict[str, Any]


@frozen
class TextEvents:
    """A text that is open after *before*, and the event that adds to it."""

    protocol: Protocol[Any, Any, Any]
    before: tuple[Event, ...]
    more: Event
    path: tuple[str | int, ...]
    """Where its text stands."""
    others: tuple[Event, ...]

    def adding(self, text: str) -> Event:
        """Return the event that adds *text*."""
        event: Event = json.loads(json.dumps(self.more))
        holder: Any = event
        for name in self.path[:-1]:
            holder = holder[name]
        holder[self.path[-1]] = text
        return event


def _chat(delta: Event, **more: object) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return {"id": "c", "model": "m", "choices": [choice], "usage": None}


def _arguments(**call: object) -> Event:
    return _chat({"tool_calls": [{"index": 0, "function": {"arguments": "a"}, **call}]})


def _response(name: str, **fields: object) -> Event:
    return {"type": f"response.{name}", "output_index": 0, **fields}


def _text(kind: str = "output_text", **fields: object) -> Event:
    place = {"item_id": "i", "content_index": 0, "delta": "a", "logprobs": []}
    return _response(f"{kind}.delta", **{**place, **fields})


def _block(name: str, **fields: object) -> Event:
    return {"type": f"content_block_{name}", "index": 0, **fields}


def _more(kind: str, index: int = 0, **fields: object) -> Event:
    return {**_block("delta", delta={"type": kind, **fields}), "index": index}


def _parts(*parts: Event, usage: Event | None = None, **candidate: object) -> Event:
    one = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **candidate}
    return {"candidates": [one], "usageMetadata": usage or {"promptTokenCount": 3}}


_STARTED = {"type": "message_start", "message": {"id": "a", "usage": {"input_tokens": 1}}}
_ITEM = {"type": "message", "id": "i", "content": []}
_ERROR = {"error": {"message": "broke"}}

TEXT_EVENTS = {
    "chat text": TextEvents(
        openai_chat.protocol,
        (_chat({"role": "assistant", "content": "a"}),),
        _chat({"content": "a", "role": "assistant"}),
        ("choices", 0, "delta", "content"),
        (
            _chat({"content": "a"}, finish_reason="stop"),
            _chat({"content": "a"}, logprobs={"content": [{"token": "a", "logprob": -1.0}]}),
            _chat({"content": "a", "reasoning": "b"}),
            _chat({"content": ["a"]}),
            _chat({"reasoning": "a"}),
            _chat({"content": "a"}, index=1),
            {**_chat({"content": "a"}), "usage": {"prompt_tokens": 1}},
            {"choices": [], "usage": {"prompt_tokens": 1}},
            _ERROR,
        ),
    ),
    "chat arguments": TextEvents(
        openai_chat.protocol,
        (_arguments(id="call_1", function={"name": "look", "arguments": "{"}),),
        _arguments(),
        ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
        (
            _arguments(id="call_2"),
            _arguments(index=1),
            _arguments(function={"name": "look", "arguments": "a"}),
            _chat({"tool_calls": [{"index": 0}]}),
            _chat({"content": "a"}),
        ),
    ),
    "responses text": TextEvents(
        openai_responses.protocol,
        (
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            _response("output_item.added", item=_ITEM),
            _text(),
        ),
        {**_text(), "sequence_number": 7, "obfuscation": "Ab3"},
        ("delta",),
        (
            _text("refusal"),
            _text(content_index=1),
            _text(logprobs=[{"token": "a", "logprob": -1.0}]),
            _response("output_text.done", item_id="i", content_index=0, text="a"),
            _response("completed", response={"id": "r", "output": []}),
            {"type": "error", "message": "broke"},
        ),
    ),
    "messages text": TextEvents(
        anthropic_messages.protocol,
        (_STARTED, _block("start", content_block={"type": "text", "text": ""})),
        _more("text_delta", text="a"),
        ("delta", "text"),
        (
            _more("thinking_delta", thinking="a"),
            _more("text_delta", index=1, text="a"),
            _more("citations_delta", citation={}),
            _block("stop"),
            {"type": "message_stop"},
            {"type": "error", **_ERROR},
        ),
    ),
    "messages thinking": TextEvents(
        anthropic_messages.protocol,
        (_STARTED, _block("start", content_block={"type": "thinking", "thinking": ""})),
        _more("thinking_delta", thinking="a"),
        ("delta", "thinking"),
        (_more("signature_delta", signature="a"), _more("text_delta", text="a")),
    ),
    "gemini text": TextEvents(
        gemini.protocol,
        (_parts({"text": "a"}),),
        _parts({"text": "a"}),
        ("candidates", 0, "content", "parts", 0, "text"),
        (
            _parts({"text": "a", "thought": True}),
            _parts({"text": "a", "thoughtSignature": "c2ln"}),
            _parts({"functionCall": {"name": "look"}}),
            _parts({"text": "a"}, {"text": "b"}),
            _parts({"text": "a"}, finishReason="STOP"),
            _parts({"text": "a"}, groundingMetadata={}),
            {"usageMetadata": {"promptTokenCount": 3}},
            _ERROR,
        ),
    ),
}
