"""Responses as bytes, and what our code makes of them."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from llmcore.protocols import openai_responses
from llmcore.protocols.openai_responses import OPENAI, ResponsesDialect
from llmcore.routes.framing import Framing
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.protocol import DialectWire, pieces, response

ASKED = request(model=Model("gpt-5.2", "openai"), prompt="Hello")
ORIGIN = Origin(provider="openai", model="gpt-5.2", protocol="openai-responses")

Native = dict[str, Any]

# -- native items

USAGE: Native = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 30,
}


def text_part(text: str, *annotations: Native, **fields: Any) -> Native:
    """Return the text of a message."""
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {**part, "logprobs": [], **fields}


def refusal_part(text: str) -> Native:
    """Return a refusal."""
    return {"type": "refusal", "refusal": text}


def message(*content: str | Native, id: str = "msg_1", **fields: Any) -> Native:
    """Return a message of the model."""
    parts = [text_part(part) if isinstance(part, str) else part for part in content]
    native = {"type": "message", "id": id, "status": "completed", "role": "assistant"}
    return {**native, "content": parts, **fields}


def reasoning(
    *summary: str, encrypted: str | None = "enc==", content: Sequence[str] = (), id: str = "rs_1"
) -> Native:
    """Return reasoning: the texts of its summary, its own texts."""
    native: Native = {"type": "reasoning", "id": id}
    native["summary"] = [{"type": "summary_text", "text": text} for text in summary]
    if content:
        native["content"] = [{"type": "reasoning_text", "text": text} for text in content]
    return native if encrypted is None else {**native, "encrypted_content": encrypted}


def function_call(
    arguments: str = '{"city":"A"}', *, n: int = 1, name: str = "weather", **fields: Any
) -> Native:
    """Return the call of a function."""
    ids = {"id": f"fc_{n}", "call_id": f"call_{n}"}
    native = {"type": "function_call", **ids, "name": name, "arguments": arguments}
    return {**native, "status": "completed", **fields}


def custom_call(input_: str = "ls -l", *, n: int = 1) -> Native:
    """Return the call of a freeform tool."""
    ids = {"id": f"ctc_{n}", "call_id": f"call_c{n}"}
    native = {"type": "custom_tool_call", **ids, "name": "run", "input": input_}
    return {**native, "status": "completed"}


def url_citation(url: str, start: int = 0, end: int = 2, title: str = "T") -> Native:
    """Return an annotation that names a page."""
    places = {"start_index": start, "end_index": end}
    return {"type": "url_citation", "url": url, "title": title, **places}


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
    "rkJggg=="
)

HOSTED: dict[str, list[Native]] = {
    "web_search": [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {
                "type": "search",
                "query": "otters",
                "sources": [{"type": "url", "url": "https://a.example"}],
            },
        }
    ],
    "file_search": [
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["otters"],
            "results": [
                {"file_id": "file-1", "filename": "o.pdf", "score": 0.5, "text": "Otters."}
            ],
        }
    ],
    "code_interpreter": [
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": 'print("é\n")',
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": "é\n"}],
        }
    ],
    "image_generation": [
        {
            "type": "image_generation_call",
            "id": "ig_1",
            "status": "completed",
            "output_format": "png",
            "revised_prompt": "An otter.",
            "result": PIXEL,
        }
    ],
    "mcp_call": [
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "status": "completed",
            "server_label": "docs",
            "name": "find",
            "arguments": '{"q":"otters"}',
            "output": "Found.",
            "error": None,
            "approval_request_id": None,
        }
    ],
    "mcp_list_tools": [
        {
            "type": "mcp_list_tools",
            "id": "mcpl_1",
            "server_label": "docs",
            "tools": [{"name": "find", "input_schema": {"type": "object"}}],
        }
    ],
    "tool_search": [
        {
            "type": "tool_search_call",
            "id": "tsc_1",
            "status": "completed",
            "call_id": None,
            "execution": "server",
            "arguments": {"paths": ["weather"]},
        },
        {
            "type": "tool_search_output",
            "id": "tso_1",
            "status": "completed",
            "call_id": None,
            "execution": "server",
            "tools": [{"type": "function", "name": "weather", "parameters": {}, "strict": True}],
        },
    ],
    "shell": [
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "call_s1",
            "status": "completed",
            "action": {
                "commands": ["ls", 'echo "é"'],
                "max_output_length": None,
                "timeout_ms": 5,
            },
            "environment": {"type": "container_reference", "container_id": "cntr_1"},
        },
        {
            "type": "shell_call_output",
            "id": "sho_1",
            "call_id": "call_s1",
            "status": "completed",
            "max_output_length": None,
            "output": [
                {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
            ],
        },
    ],
    "program": [
        {
            "type": "program",
            "id": "cm_1",
            "call_id": "call_p1",
            "code": "text(1)",
            "fingerprint": "fp==",
        },
        {
            "type": "program_output",
            "id": "cmo_1",
            "call_id": "call_p1",
            "status": "completed",
            "result": "1",
        },
    ],
}
"""Calls that the provider runs by itself, by the tool's name."""

CLIENT_RUN: dict[str, Native] = {
    "computer": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_u1",
        "status": "completed",
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
        "pending_safety_checks": [{"id": "sc_1", "code": "c", "message": "m"}],
    },
    "local_shell": {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_l1",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    "shell": {
        "type": "shell_call",
        "id": "sh_2",
        "call_id": "call_s2",
        "status": "completed",
        "action": {"commands": ["ls"], "max_output_length": 100, "timeout_ms": None},
        "environment": {"type": "local"},
    },
    "apply_patch": {
        "type": "apply_patch_call",
        "id": "apc_1",
        "call_id": "call_a1",
        "status": "completed",
        "operation": {"type": "create_file", "path": "a.md", "diff": '+# "A"\n+b\n'},
    },
    "tool_search": {
        "type": "tool_search_call",
        "id": "tsc_2",
        "call_id": "call_t1",
        "status": "completed",
        "execution": "client",
        "arguments": {"goal": "weather"},
    },
    "mcp_approval": {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "docs",
        "name": "find",
        "arguments": '{"q":"otters"}',
    },
}
"""Built-in calls that the caller runs, by the tool's name."""

ANSWERS: dict[str, list[Native]] = {
    "text": [message("Hello, wörld!")],
    "two texts": [message("One.", "Two.")],
    "cited text": [message(text_part("See A.", url_citation("https://a.example")))],
    "refusal": [message(refusal_part("No."))],
    "phases": [
        message("Let me see.", id="msg_1", phase="commentary"),
        message("There.", id="msg_2", phase="final_answer"),
    ],
    "encrypted reasoning": [reasoning(), message("Hi.")],
    "summaries": [reasoning("**A**\n\nOne.", "**B**\n\nTwo."), message("Hi.")],
    "open reasoning": [reasoning(content=["Hm, ", "so."], encrypted=None), message("Hi.")],
    "both reasonings": [reasoning("Sum.", content=["Raw."]), message("Hi.")],
    "two reasonings": [
        reasoning("A."),
        function_call(),
        reasoning("B.", id="rs_2"),
        message("Hi."),
    ],
    "call": [function_call()],
    "call without arguments": [function_call("{}")],
    "parallel calls": [function_call(n=1), function_call('{"city":"B"}', n=2)],
    "calls of one tool twice": [function_call(n=1), function_call(n=2)],
    "namespaced call": [function_call(namespace="crm", caller={"type": "direct"})],
    "custom call": [custom_call()],
    "compaction": [
        message("Hi."),
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "squeezed=="},
    ],
    "unknown item": [{"type": "dream", "id": "dr_1", "of": ["sheep"]}, message("Hi.")],
    **{f"hosted {name}": [*items, message("Hi.")] for name, items in HOSTED.items()},
    **{f"own {name}": [reasoning(), item] for name, item in CLIENT_RUN.items()},
    "everything": [
        reasoning("A."),
        message("Let me see.", id="msg_0", phase="commentary"),
        *HOSTED["web_search"],
        reasoning("B.", id="rs_2"),
        function_call(n=1),
        function_call('{"city":"B"}', n=2),
        custom_call(),
        message(text_part("Hi.", url_citation("https://b.example"))),
    ],
}

# -- documents and streams


def document(output: Sequence[Native], status: str = "completed", **fields: Any) -> Native:
    """Return a response."""
    native = {"id": "resp_1", "object": "response", "created_at": 1, "status": status}
    native |= {"error": None, "incomplete_details": None, "model": "gpt-5.2-2026-01-01"}
    return {**native, "output": list(output), "usage": USAGE, "service_tier": "default", **fields}


def events_of(
    output: Sequence[Native], status: str = "completed", size: int = 3, **fields: Any
) -> list[Native]:
    """Return the events of a response as OpenAI streams it, texts in pieces of *size*."""
    started = document([], "in_progress", usage=None, **{"background": False, **fields})
    kind = {"queued": "in_progress", "requires_action": "completed"}.get(status, status)
    events = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
        *(event for at, item in enumerate(output) for event in item_events(item, at, size)),
        {"type": f"response.{kind}", "response": document(output, status, **fields)},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def item_events(item: Native, at: int, size: int = 3) -> Iterator[Native]:
    """Yield the events of one item, at its place in the output."""
    yield {"type": "response.output_item.added", "output_index": at, "item": _announced(item)}
    for event in _inside(item, size):
        yield {**event, "output_index": at, **_item_id(event, item)}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


_EMPTY: Native = {"content": [], "summary": [], "arguments": "", "input": "", "code": ""}
_EMPTY |= {"tools": [], "result": None, "encrypted_content": "enc-of-nothing=="}


def _announced(item: Native) -> Native:
    """Return an item as it is when it begins."""
    empty = {name: value for name, value in _EMPTY.items() if name in item}
    begun = {**item, **empty}
    if isinstance(item.get("arguments"), dict):
        begun["arguments"] = {}
    if item["type"] == "mcp_approval_request":
        begun["arguments"] = item["arguments"]
    if item["type"] == "shell_call":
        begun["action"] = {**item["action"], "commands": []}
    if item["type"] == "apply_patch_call":
        begun["operation"] = {**item["operation"], "diff": ""}
    return {**begun, "status": "in_progress"} if "status" in item else begun


def _item_id(event: Native, item: Native) -> Native:
    return {} if "shell_call_command" in event["type"] else {"item_id": item["id"]}


def _inside(item: Native, size: int) -> Iterator[Native]:
    match item["type"]:
        case "message":
            yield from _numbered(item["content"], "content_index", _part_events, size)
        case "reasoning":
            yield from _numbered(item["summary"], "summary_index", _summary_events, size)
            content = item.get("content", [])
            yield from _numbered(content, "content_index", _reasoning_events, size)
        case "mcp_call":
            yield {"type": "response.mcp_call.in_progress"}
            yield from _input("response.mcp_call_arguments", "arguments", item, size)
            yield {"type": "response.mcp_call.completed"}
        case "shell_call":
            yield from _commands(item, size)
        case "apply_patch_call":
            name = "response.apply_patch_call_operation_diff"
            yield from _input(name, "diff", item["operation"], size)
        case "web_search_call":
            yield {"type": "response.web_search_call.searching"}
        case kind if kind in _INPUTS:
            name, field = _INPUTS[kind]
            yield from _input(f"response.{name}", field, item, size)
        case _:
            pass


_INPUTS = {
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
    "code_interpreter_call": ("code_interpreter_call_code", "code"),
}


def _numbered(
    parts: Sequence[Native], field: str, events: Callable[..., Iterator[Native]], size: int
) -> Iterator[Native]:
    for number, part in enumerate(parts):
        for event in events(part, size):
            yield {**event, field: number}


def _part_events(part: Native, size: int) -> Iterator[Native]:
    field = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if field == "refusal" else "response.output_text"
    empty = {**part, field: ""}
    if "annotations" in part:
        empty["annotations"] = []
    yield {"type": "response.content_part.added", "part": empty}
    for piece in pieces(part[field], size):
        yield {"type": f"{name}.delta", "delta": piece, "logprobs": [], "obfuscation": "xyz"}
    for number, annotation in enumerate(part.get("annotations", [])):
        place = {"annotation_index": number, "annotation": annotation}
        yield {"type": "response.output_text.annotation.added", **place}
    yield {"type": f"{name}.done", field: part[field], "logprobs": []}
    yield {"type": "response.content_part.done", "part": part}


def _summary_events(part: Native, size: int) -> Iterator[Native]:
    name = "response.reasoning_summary"
    yield {"type": f"{name}_part.added", "part": {**part, "text": ""}}
    for piece in pieces(part["text"], size):
        yield {"type": f"{name}_text.delta", "delta": piece}
    yield {"type": f"{name}_text.done", "text": part["text"]}
    yield {"type": f"{name}_part.done", "part": part}


def _reasoning_events(part: Native, size: int) -> Iterator[Native]:
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}}
    for piece in pieces(part["text"], size):
        yield {"type": "response.reasoning_text.delta", "delta": piece}
    yield {"type": "response.reasoning_text.done", "text": part["text"]}
    yield {"type": "response.content_part.done", "part": part}


def _input(name: str, field: str, item: Native, size: int) -> Iterator[Native]:
    whole = item.get(field)
    if whole is None:  # code that is not shown
        return
    for piece in pieces(whole, size):
        yield {"type": f"{name}.delta", "delta": piece, "obfuscation": "xyz"}
    yield {"type": f"{name}.done", field: whole}


def _commands(item: Native, size: int) -> Iterator[Native]:
    name = "response.shell_call_command"
    for number, command in enumerate(item["action"]["commands"]):
        yield {"type": f"{name}.added", "command": "", "command_index": number}
        for piece in pieces(command, size):
            yield {"type": f"{name}.delta", "delta": piece, "command_index": number}
        yield {"type": f"{name}.done", "command": command, "command_index": number}


# -- reading


def sse(events: Iterable[Any], *, named: bool = True) -> bytes:
    """Return *events* as server-sent events."""
    return b"".join(_frame(event, named) for event in events)


def _frame(event: Any, named: bool) -> bytes:
    kind = event.get("type")
    name = b"event: " + kind.encode() + b"\n" if named and isinstance(kind, str) else b""
    return name + b"data: " + json.dumps(event).encode() + b"\n\n"


_WIRE = DialectWire(openai_responses.make, OPENAI, Framing.sse(), "text/event-stream")
built, body, codes, refused = _WIRE.built, _WIRE.body, _WIRE.codes, _WIRE.refused


def streamed(
    events: Iterable[Any] | bytes,
    *,
    asked: LLMRequest = ASKED,
    pieces: Sequence[bytes] | None = None,
) -> list[LLMEvent]:
    """Return the events of a stream; they always obey the grammar."""
    body = events if isinstance(events, bytes) else sse(events)
    return _WIRE.of().streamed([body] if pieces is None else pieces, asked)


def whole(native: Any, *, asked: LLMRequest = ASKED) -> list[LLMEvent]:
    """Return the events of a body that was not streamed; they always obey the grammar."""
    return _WIRE.of().whole(native, asked)


def said(*output: Native) -> Message:
    """Return the message that a response of *output* is."""
    return response(whole(document(output))).message


# -- asking


def items(*messages: Message, dialect: ResponsesDialect = OPENAI, **fields: Any) -> list[Native]:
    """Return the input items that *messages* become."""
    asked = request(model=Model("gpt-5.2", "openai"), messages=messages, **fields)
    lowered: list[Native] = body(asked, dialect)["input"]
    return lowered
