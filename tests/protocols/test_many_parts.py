"""Responses of very many parts: what reading them costs, and where they end."""

import gc
import sys
from collections.abc import Callable, Sequence
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from llmcore.folds import segments
from llmcore.protocols.openai_responses import matching
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.errors import StreamError
from llmcore.schema.json import dumps
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Result
from llmcore.testing import decode_recorded
from tests.support.opcodes import uncollected
from tests.support.wire import bedrock

pytestmark = pytest.mark.slow

Frames = Callable[[int], Sequence[dict[str, Any]]]


def decoded(protocol: str, frames: Sequence[dict[str, Any]]) -> Result[LLMResponse, Any]:
    """Return what *frames* amount to, as server-sent events or AWS events."""
    if protocol == "bedrock-converse":
        body = bedrock.frames(next(iter(frame.items())) for frame in frames)
        headers = {"content-type": "application/vnd.amazon.eventstream"}
        return decode_recorded(protocol, status=200, headers=headers, body=body, streaming=True)
    named = (f"event: {frame.get('type', '')}\n" if "type" in frame else "" for frame in frames)
    text = "".join(
        f"{name}data: {dumps(frame).decode()}\n\n"
        for name, frame in zip(named, frames, strict=True)
    )
    headers, body = {"content-type": "text/event-stream"}, text.encode()
    return decode_recorded(protocol, status=200, headers=headers, body=body, streaming=True)


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "model": "m", "choices": [choice]}


def chat_calls(count: int) -> list[dict[str, Any]]:
    calls = [
        {"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}}
        for n in range(count)
    ]
    return [*(chunk({"tool_calls": [call]}) for call in calls), chunk({}, "tool_calls")]


def responses(events: Sequence[dict[str, Any]], output: Sequence[Any]) -> list[dict[str, Any]]:
    whole = {"id": "r", "status": "completed", "model": "m", "output": [*output]}
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        *events,
        {"type": "response.completed", "response": whole},
    ]


def responses_calls(count: int) -> list[dict[str, Any]]:
    base = {"type": "function_call", "name": "f"}
    calls = [{**base, "id": f"fc{n}", "call_id": f"c{n}", "arguments": "{}"} for n in range(count)]
    events = [
        {"type": f"response.output_item.{state}", "output_index": n, "item": call}
        for n, call in enumerate(calls)
        for state in ("added", "done")
    ]
    return responses(events, calls)


def responses_open_items(count: int) -> list[dict[str, Any]]:
    """Messages that are announced first and filled afterwards, by their ids alone."""
    base: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
    added = [
        {"type": "response.output_item.added", "item": {**base, "id": f"m{n}"}}
        for n in range(count)
    ]
    delta = {"type": "response.output_text.delta", "content_index": 0, "delta": "a"}
    deltas = [{**delta, "item_id": f"m{n}"} for n in range(count)]
    return responses([*added, *deltas], [])


def grounding(count: int) -> list[dict[str, Any]]:
    chunks = [{"web": {"uri": f"https://h/{n}", "title": "t"}} for n in range(count)]
    supports = [
        {"segment": {"startIndex": 0, "endIndex": 3}, "groundingChunkIndices": [n]}
        for n in range(count)
    ]
    candidate = {
        "content": {"role": "model", "parts": [{"text": "abc"}]},
        "finishReason": "STOP",
        "groundingMetadata": {"groundingChunks": chunks, "groundingSupports": supports},
    }
    return [{"candidates": [candidate]}]


def responses_item(item: dict[str, Any], events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One item that is not repeated when it is done, and *events* about it."""
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    inside = [{"output_index": 0, "item_id": item["id"], **event} for event in events]
    return responses([added, *inside], [])


_MESSAGE = {"type": "message", "id": "m", "role": "assistant", "content": []}
_THOUGHT = {"type": "reasoning", "id": "rs", "summary": []}


def responses_parts(count: int) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "", "annotations": []}
    added = {"type": "response.content_part.added", "part": part}
    delta = {"type": "response.output_text.delta", "delta": "a"}
    events = [{**event, "content_index": n} for n in range(count) for event in (added, delta)]
    return responses_item(_MESSAGE, events)


def responses_summaries(count: int) -> list[dict[str, Any]]:
    """Parts of reasoning, of which each is whole when the next begins."""
    name = "response.reasoning_summary_text"
    pairs = ({"type": f"{name}.delta", "delta": "a"}, {"type": f"{name}.done", "text": "a"})
    events = [{**event, "summary_index": n} for n in range(count) for event in pairs]
    return responses_item(_THOUGHT, events)


def responses_open_summaries(count: int) -> list[dict[str, Any]]:
    delta = {"type": "response.reasoning_summary_text.delta", "delta": "a"}
    return responses_item(_THOUGHT, [{**delta, "summary_index": n} for n in range(count)])


def responses_unnumbered_parts(count: int) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "", "annotations": []}
    return responses_item(
        _MESSAGE, [{"type": "response.content_part.added", "part": part} for _ in range(count)]
    )


def responses_annotations(count: int) -> list[dict[str, Any]]:
    base = {"type": "response.output_text.annotation.added", "content_index": 0}
    pages = [{"type": "url_citation", "url": f"https://h/{n}"} for n in range(count)]
    return responses_item(_MESSAGE, [{**base, "annotation": page} for page in pages])


def responses_unknown_parts(count: int) -> list[dict[str, Any]]:
    parts = [{"type": "new", "number": n} for n in range(count)]
    done = "response.content_part.done"
    return responses_item(_MESSAGE, [{"type": done, "part": part} for part in parts])


def responses_changed_ids(count: int) -> list[dict[str, Any]]:
    """Items that have another id when they are done, and deltas that name them by the first."""
    base: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
    announced = [
        {
            "type": f"response.output_item.{state}",
            "output_index": n,
            "item": {**base, "id": f"{state}{n}"},
        }
        for n in range(count)
        for state in ("added", "done")
    ]
    delta = {"type": "response.output_text.delta", "content_index": 0, "delta": "a"}
    return responses([*announced, *({**delta, "item_id": f"added{n}"} for n in range(count))], [])


def responses_commands(count: int) -> list[dict[str, Any]]:
    call = {"type": "shell_call", "id": "sh", "call_id": "c", "action": {"commands": []}}
    done = {"type": "response.shell_call_command.done", "command": "ls"}
    return responses_item(call, [{**done, "command_index": n} for n in range(count)])


def responses_outputs(count: int) -> list[dict[str, Any]]:
    output = {"type": "shell_call_output", "id": "so", "call_id": "c", "output": []}
    done = {"type": "response.shell_call_output_content.done", "output": [{"stdout": "a"}]}
    return responses_item(output, [{**done, "command_index": n} for n in range(count)])


def responses_whole_items(count: int) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "a", "annotations": []}
    return responses([], [{**_MESSAGE, "id": f"m{n}", "content": [part]} for n in range(count)])


def chat_stream(deltas: Sequence[dict[str, Any]], reason: str = "stop") -> list[dict[str, Any]]:
    return [*map(chunk, deltas), chunk({}, reason)]


def chat_calls_at_once(count: int) -> list[dict[str, Any]]:
    calls = [
        {"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}}
        for n in range(count)
    ]
    return chat_stream([{"tool_calls": calls}], "tool_calls")


def chat_repeated_calls(count: int) -> list[dict[str, Any]]:
    """Return calls in deltas, and again in a whole message in the other order."""
    calls = chat_calls(count)
    whole = [call for frame in calls[:-1] for call in frame["choices"][0]["delta"]["tool_calls"]]
    message = {"role": "assistant", "content": None, "tool_calls": whole[::-1]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return [*calls[:-1], {"id": "c", "model": "m", "choices": [choice]}]


def chat_results(count: int) -> list[dict[str, Any]]:
    """Return calls in one message, and the result of each in a message of its own."""
    calls = [{"id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(count)]
    results = [
        {"index": n + 1, "role": "tool", "tool_call_id": f"c{n}", "content": "a"}
        for n in range(count)
    ]
    return chat_stream([{"index": 0, "role": "assistant", "tool_calls": calls}, *results])


def chat_arguments(*texts: str) -> Frames:
    """Return calls of one tool, whose arguments begin with *texts* and continue with the last."""

    def frames(count: int) -> list[dict[str, Any]]:
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
        pieces = [*texts, *texts[-1:] * count]
        calls = [call, *({"index": 0, "function": {"arguments": text}} for text in pieces)]
        return chat_stream([{"tool_calls": [one]} for one in calls], "tool_calls")

    return frames


def chat_annotations(count: int) -> list[dict[str, Any]]:
    cited = [{"type": "url_citation", "url_citation": {"url": f"h://{n}"}} for n in range(count)]
    return chat_stream([{"content": "a"}, *({"annotations": [one]} for one in cited)])


def chat_unknown_fields(count: int) -> list[dict[str, Any]]:
    return chat_stream([{f"x{n}": n, "content": "a"} for n in range(count)])


def chat_signatures(count: int) -> list[dict[str, Any]]:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "signature": "s" * 50}
    return chat_stream([{"content": [part]}] * count)


def messages(
    events: Sequence[dict[str, Any]], content: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    base = {"id": "m", "type": "message", "role": "assistant", "model": "c"}
    message = {**base, "content": [*content], "stop_reason": None, "usage": usage}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    start = {"type": "message_start", "message": message}
    return [start, *events, delta, {"type": "message_stop"}]


def messages_open_texts(count: int) -> list[dict[str, Any]]:
    block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}
    starts = [
        {"type": "content_block_start", "index": n, "content_block": block} for n in range(count)
    ]
    deltas = [{"type": "content_block_delta", "index": n, "delta": delta} for n in range(count)]
    return messages([*starts, *deltas])


def messages_calls(count: int) -> list[dict[str, Any]]:
    base = {"type": "tool_use", "name": "f", "input": {}}
    blocks = [{**base, "id": f"c{n}"} for n in range(count)]
    return messages(
        [
            event
            for n, block in enumerate(blocks)
            for event in (
                {"type": "content_block_start", "index": n, "content_block": block},
                {"type": "content_block_stop", "index": n},
            )
        ]
    )


def messages_whole(count: int) -> list[dict[str, Any]]:
    return messages([], [{"type": "text", "text": "a"}] * count)


def messages_deltas(block: dict[str, Any], delta: dict[str, Any]) -> Frames:
    def frames(count: int) -> list[dict[str, Any]]:
        start = {"type": "content_block_start", "index": 0, "content_block": block}
        added = {"type": "content_block_delta", "index": 0, "delta": delta}
        return messages([start, *([added] * count), {"type": "content_block_stop", "index": 0}])

    return frames


def messages_facts(count: int) -> list[dict[str, Any]]:
    return messages([{"type": "message_delta", "delta": {f"x{n}": n}} for n in range(count)])


def gemini(parts: Sequence[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    return [*chunks, {"candidates": [{"finishReason": "STOP", **more}]}]


def gemini_calls(count: int) -> list[dict[str, Any]]:
    return gemini([{"functionCall": {"name": "f", "args": {}}}] * count)


def gemini_segments(count: int) -> list[dict[str, Any]]:
    return gemini([{"text": "a", "thought": bool(n % 2)} for n in range(count)])


def gemini_cited_segments(count: int) -> list[dict[str, Any]]:
    """Return many texts, and citations of each."""
    quoted = [{"startIndex": n, "endIndex": n + 1, "uri": f"h://{n}"} for n in range(count)]
    parts = gemini_segments(2 * count)[:-1]
    return [*parts, *gemini([], citationMetadata={"citations": quoted})]


def gemini_groundings(count: int) -> list[dict[str, Any]]:
    grounding = [
        {"candidates": [{"groundingMetadata": {"groundingChunks": [{"web": {"uri": f"h://{n}"}}]}}]}
        for n in range(count)
    ]
    return [*grounding, *gemini([{"text": "a"}])]


def converse(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    end: list[dict[str, Any]] = [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}]
    return [{"messageStart": {"role": "assistant"}}, *events, *end]


def converse_deltas(delta: dict[str, Any]) -> Frames:
    def frames(count: int) -> list[dict[str, Any]]:
        added = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}
        return converse([*([added] * count), {"contentBlockStop": {"contentBlockIndex": 0}}])

    return frames


def converse_open_texts(count: int) -> list[dict[str, Any]]:
    delta = {"text": "a"}
    return converse(
        [{"contentBlockDelta": {"contentBlockIndex": n, "delta": delta}} for n in range(count)]
    )


def converse_calls(count: int) -> list[dict[str, Any]]:
    return converse(
        [
            event
            for n in range(count)
            for event in (
                {
                    "contentBlockStart": {
                        "contentBlockIndex": n,
                        "start": {"toolUse": {"toolUseId": f"c{n}", "name": "f"}},
                    }
                },
                {"contentBlockStop": {"contentBlockIndex": n}},
            )
        ]
    )


def converse_pages(count: int) -> list[dict[str, Any]]:
    location = [{"web": {"url": f"https://h/{n}"}} for n in range(count)]
    deltas = [{"citation": {"location": one}} for one in location]
    return converse(
        [
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}
            for delta in ({"text": "a"}, *deltas)
        ]
    )


_THINKING = {"type": "thinking", "thinking": "", "signature": ""}
_CITATION = {"type": "char_location", "cited_text": "a", "document_index": 0}

ANSWERS: dict[str, tuple[str, Frames]] = {
    "chat calls": ("openai-chat", chat_calls),
    "chat calls in one chunk": ("openai-chat", chat_calls_at_once),
    "chat calls, repeated": ("openai-chat", chat_repeated_calls),
    "chat results of the provider": ("openai-chat", chat_results),
    "chat arguments": ("openai-chat", chat_arguments('{"a": "', "b" * 50)),
    "chat arguments after snapshots": (
        "openai-chat",
        chat_arguments('{"a":"b', '{"a":"bc', "d" * 50),
    ),
    "chat arguments that may be snapshots": ("openai-chat", chat_arguments('{"a":')),
    "chat annotations": ("openai-chat", chat_annotations),
    "chat unknown fields": ("openai-chat", chat_unknown_fields),
    "chat signatures": ("openai-chat", chat_signatures),
    "responses calls": ("openai-responses", responses_calls),
    "responses open items": ("openai-responses", responses_open_items),
    "responses parts": ("openai-responses", responses_parts),
    "responses parts without numbers": ("openai-responses", responses_unnumbered_parts),
    "responses summaries": ("openai-responses", responses_summaries),
    "responses open summaries": ("openai-responses", responses_open_summaries),
    "responses annotations": ("openai-responses", responses_annotations),
    "responses unknown parts": ("openai-responses", responses_unknown_parts),
    "responses items of other ids": ("openai-responses", responses_changed_ids),
    "responses commands": ("openai-responses", responses_commands),
    "responses outputs": ("openai-responses", responses_outputs),
    "responses whole items": ("openai-responses", responses_whole_items),
    "messages open texts": ("anthropic-messages", messages_open_texts),
    "messages calls": ("anthropic-messages", messages_calls),
    "messages whole content": ("anthropic-messages", messages_whole),
    "messages citations": (
        "anthropic-messages",
        messages_deltas(
            {"type": "text", "text": "a"}, {"type": "citations_delta", "citation": _CITATION}
        ),
    ),
    "messages signatures": (
        "anthropic-messages",
        messages_deltas(_THINKING, {"type": "signature_delta", "signature": "s" * 50}),
    ),
    "messages facts": ("anthropic-messages", messages_facts),
    "gemini citations": ("gemini", grounding),
    "gemini calls": ("gemini", gemini_calls),
    "gemini segments": ("gemini", gemini_segments),
    "gemini cited segments": ("gemini", gemini_cited_segments),
    "gemini groundings": ("gemini", gemini_groundings),
    "converse open texts": ("bedrock-converse", converse_open_texts),
    "converse calls": ("bedrock-converse", converse_calls),
    "converse pages": ("bedrock-converse", converse_pages),
    "converse signatures": (
        "bedrock-converse",
        converse_deltas({"reasoningContent": {"signature": "s" * 50}}),
    ),
    "converse encrypted thinking": (
        "bedrock-converse",
        converse_deltas({"reasoningContent": {"redactedContent": "QUJD"}}),
    ),
}


def lines_run(protocol: str, frames: Sequence[dict[str, Any]]) -> int:
    """Return how many lines of Python are run in reading *frames*."""
    lines = 0

    def count(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    with uncollected():
        sys.settrace(count)
        try:
            decoded(protocol, frames).unwrap()
        finally:
            sys.settrace(before)
    return lines


def values_made(protocol: str, frames: Sequence[dict[str, Any]]) -> int:
    """Return how many values and characters the states hold that the states before did not hold.

    A container that is copied counts with all that it refers to, so that copies show, which run no
    line of Python.
    """
    machine = protocol_by_id(protocol).stream
    state = machine.initial(LLMRequest(model=Model("p", "m"), messages=()))
    seen: dict[int, object] = {}
    made = 0
    for name, payload in map(framed, frames):
        event = machine.decode((name, payload))
        if event is None:
            continue
        state, _ = machine.step(state, event)
        stack: list[object] = [state]
        while stack:
            value = stack.pop()
            if id(value) in seen or isinstance(value, type | FunctionType | ModuleType):
                continue
            seen[id(value)] = value
            below = gc.get_referents(value)
            made += len(below) + (len(value) if isinstance(value, str) else 0)
            stack += below
    return made


def framed(frame: dict[str, Any]) -> tuple[str, bytes]:
    """Return *frame* as the framing of its protocol delivers it."""
    if frame.keys() <= _CONVERSE_EVENTS:
        ((name, payload),) = frame.items()
        return name, dumps(payload)
    return str(frame.get("type", "")), dumps(frame)


_CONVERSE_EVENTS = {
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_part_costs_the_same_however_many_came_before(answer: str) -> None:
    """Nothing is searched for part by part; four times the parts run about four times the lines.

    Trees of keys are a level deeper, by the hashes of the process. The depth of JSON is looked for
    where it has more than 128 objects and lists, which both numbers of parts give.
    """
    protocol, frames = ANSWERS[answer]
    lines_run(protocol, frames(2))  # what the first call alone does
    some, many = (lines_run(protocol, frames(count)) for count in (150, 600))

    assert many < 4.5 * some


@pytest.mark.parametrize("answer", ANSWERS)
def test_state_of_many_parts_is_not_copied_for_each(answer: str) -> None:
    """Twice the parts make about twice the values; copies of all parts would make four times."""
    protocol, frames = ANSWERS[answer]
    some, twice = (values_made(protocol, frames(count)) for count in (300, 600))

    assert twice < 2.5 * some


@pytest.mark.parametrize("answer", ["chat calls", "responses calls"])
def test_answer_of_too_many_parts_is_an_error(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of parts is bounded, and with it what a response costs to read."""
    for module in (segments, matching):
        monkeypatch.setattr(module, "MAX_PARTS", 50)
    protocol, frames = ANSWERS[answer]
    error = decoded(protocol, frames(51)).failure()

    assert len(decoded(protocol, frames(50)).unwrap().tool_calls) == 50
    assert isinstance(error, StreamError)
    assert "more than 50" in error.message
