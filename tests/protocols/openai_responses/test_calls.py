"""Calls that the caller runs, and tools that the provider ran."""

import base64
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from llmcore.schema.content import ImagePart, ToolCallPart, ToolResultPart
from llmcore.schema.events import File, ToolCall, ToolInputDelta, ToolInputStart, ToolResult
from tests.support.wire.protocol import error, response
from tests.support.wire.responses import (
    ANSWERS,
    CLIENT_RUN,
    HOSTED,
    PIXEL,
    Native,
    custom_call,
    document,
    events_of,
    function_call,
    message,
    reasoning,
    said,
    streamed,
    whole,
)

# -- functions and freeform tools


def test_the_events_of_a_response(snapshot: SnapshotAssertion) -> None:
    """A whole event list: reasoning, a search, text, two kinds of calls."""
    output = [
        reasoning("Hm."),
        *HOSTED["web_search"],
        message("See.", phase="commentary"),
        function_call(),
        custom_call(),
    ]

    assert streamed(events_of(output, size=20)) == snapshot


ARGUMENTS: dict[str, tuple[Any, Any]] = {
    "object": ('{"a":1}', {"a": 1}),
    "empty object": ("{}", {}),
    "nothing": ("", {}),
    "blank": (" ", {}),
    "null": ("null", {}),
    "missing": (None, {}),
    "not text": ({"a": 1}, {"a": 1}),
    "twice encoded": ('"{\\"a\\":1}"', {"a": 1}),
    "cut": ('{"a":', '{"a":'),
    "list": ("[1]", "[1]"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_absent_arguments_are_an_empty_object(name: str) -> None:
    """Absent arguments are an empty object; other values stay as they are."""
    text, arguments = ARGUMENTS[name]

    (call,) = said({**function_call(), "arguments": text}).tool_calls

    assert call.arguments == arguments


def test_a_cut_call_is_kept_as_it_is() -> None:
    """Half an object is not run as a whole one."""
    native = function_call('{"city":"A', status="incomplete")
    details = {"reason": "max_output_tokens"}

    for events in (
        streamed(events_of([native], "incomplete", incomplete_details=details)),
        whole(document([native], "incomplete", incomplete_details=details)),
    ):
        answer = response(events)
        (call,) = answer.tool_calls
        assert (call.arguments, call.is_valid) == ('{"city":"A', False)
        assert answer.finish_reason.reason == "length"
        assert [note.code for note in answer.diagnostics] == ["invalid-tool-arguments"]


def test_freeform_input_is_not_read() -> None:
    """JSON in a freeform tool's input is text."""
    (call,) = said(custom_call('{"a":1}')).tool_calls

    assert (call.kind, call.arguments) == ("custom", '{"a":1}')


IDS: dict[str, list[Native]] = {
    "one id twice": [function_call(), function_call('{"city":"B"}', id="fc_2")],
    "no id at all": [
        {**function_call(), "call_id": None, "id": None},
        {**function_call('{"city":"B"}'), "call_id": "", "id": ""},
    ],
    "ids missing": [
        {"type": "function_call", "name": "weather", "arguments": '{"city":"A"}'},
        {"type": "function_call", "name": "weather", "arguments": '{"city":"B"}'},
    ],
}


@pytest.mark.parametrize("name", IDS)
def test_calls_have_ids_of_their_own(name: str) -> None:
    """Whatever the server sends, two calls are two, and always the same two."""
    first, second = (response(whole(document(IDS[name]))).tool_calls for _ in range(2))

    assert [call.arguments for call in first] == [{"city": "A"}, {"city": "B"}]
    assert len({call.id for call in first}) == 2
    assert all(call.id for call in first)
    assert first == second


def test_deltas_may_name_calls_by_their_call_id() -> None:
    """Where announcements have no id, deltas the call id, and nothing ends the arguments."""
    names = ("A", "B")
    added: list[Native] = [
        {
            "type": "response.output_item.added",
            "item": {
                "type": "function_call",
                "call_id": f"fc_{name}",
                "name": "weather",
                "arguments": "",
            },
        }
        for name in names
    ]
    deltas: list[Native] = [
        {
            "type": "response.function_call_arguments.delta",
            "item_id": f"fc_{name}",
            "delta": f'{{"city":"{name}"}}',
        }
        for name in names
    ]
    done: list[Native] = [
        {
            "type": "response.output_item.done",
            "item": {**event["item"], "arguments": delta["delta"]},
        }
        for event, delta in zip(added, deltas, strict=True)
    ]
    start = {"type": "response.created", "response": {"id": "resp_1"}}
    end = {"type": "response.completed", "response": document([d["item"] for d in done])}

    answer = response(streamed([start, *added, *deltas, *done, end]))

    assert [(c.id, c.arguments) for c in answer.tool_calls] == [
        ("fc_A", {"city": "A"}),
        ("fc_B", {"city": "B"}),
    ]


def test_a_name_may_come_with_the_end_of_the_arguments() -> None:
    """A call is announced once its name is known; its arguments are then whole."""
    events = events_of([function_call()])
    for event in events:
        if event["type"].endswith("item.added"):
            event["item"] = {**event["item"], "name": ""}
        if event["type"].endswith("arguments.done"):
            event["name"] = "weather"

    (call,) = response(streamed(events)).tool_calls

    assert (call.name, call.arguments) == ("weather", {"city": "A"})


def test_a_call_may_be_announced_late() -> None:
    """Its arguments so far then come with its end."""
    events = events_of([function_call()], size=4)
    late = [events.pop(2)]
    at = next(n for n, e in enumerate(events) if e["type"].endswith("arguments.done"))
    late_delta = events[2]["delta"]

    told = streamed([*events[:3], *late, *events[3:]])

    assert [call.arguments for call in response(told).tool_calls] == [{"city": "A"}]
    assert at > 3
    assert late_delta
    assert response(told).diagnostics[0].code == "segment-text-changed"


@pytest.mark.parametrize("name", [None, {}, ["weather"]])
def test_a_call_that_never_has_a_name_is_an_error(name: Any) -> None:
    """Nobody could run it."""
    native = {**function_call(), "name": name}

    assert "has no name" in str(error(whole(document([native]))))


def test_arguments_that_are_not_repeated_are_not_lost_silently() -> None:
    """Deltas before the name would be missing from the call."""
    events = events_of([function_call()])
    events = [e for e in events if not e["type"].endswith("arguments.done")]
    for event in events:
        if event["type"].endswith("item.added"):
            event["item"] = {**event["item"], "name": ""}
        if event["type"].endswith("item.done"):
            event["item"] = {**event["item"], "arguments": ""}

    assert "before its name" in str(error(streamed(events)))


# -- built-in tools that the caller runs

RUN: dict[str, Any] = {
    "computer": {
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
        "pending_safety_checks": [{"id": "sc_1", "code": "c", "message": "m"}],
    },
    "local_shell": {"type": "exec", "command": ["ls"], "env": {}},
    "shell": {"commands": ["ls"], "max_output_length": 100, "timeout_ms": None},
    "apply_patch": {"type": "create_file", "path": "a.md", "diff": '+# "A"\n+b\n'},
    "tool_search": {"goal": "weather"},
    "mcp_approval": {"server_label": "docs", "name": "find", "arguments": {"q": "otters"}},
}


@pytest.mark.parametrize("name", CLIENT_RUN)
def test_what_the_caller_runs_is_a_tool_call(name: str) -> None:
    """With the input in it, the item beside it, and a finish reason that shows it."""
    answer = response(streamed(events_of([CLIENT_RUN[name]])))
    (call,) = answer.message.content

    assert isinstance(call, ToolCallPart)
    assert (call.name, call.arguments, call.provider_executed) == (name, RUN[name], False)
    assert call.provider_metadata["openai"]["item"] == CLIENT_RUN[name]
    assert answer.finish_reason.reason == "tool_calls"
    assert answer.finish_reason.raw == "completed"


def test_several_actions_of_a_computer() -> None:
    """The newer tool batches them."""
    actions = [{"type": "screenshot"}, {"type": "wait"}]
    native = {**CLIENT_RUN["computer"], "actions": actions, "pending_safety_checks": []}
    del native["action"]

    (call,) = said(native).tool_calls

    assert call.arguments == {"actions": actions}


def test_a_patch_that_deletes_has_no_diff() -> None:
    """Its operation is all there is."""
    native = {**CLIENT_RUN["apply_patch"], "operation": {"type": "delete_file", "path": "a"}}

    (call,) = said(native).tool_calls

    assert call.arguments == {"type": "delete_file", "path": "a"}


# -- tools that the provider ran

RAN: dict[str, tuple[Any, Any]] = {
    "web_search": (
        {"type": "search", "query": "otters"},
        {"status": "completed", "sources": [{"type": "url", "url": "https://a.example"}]},
    ),
    "file_search": (
        {"queries": ["otters"]},
        {"status": "completed", "results": HOSTED["file_search"][0]["results"]},
    ),
    "code_interpreter": (
        {"code": 'print("é\n")'},
        {
            "status": "completed",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": "é\n"}],
        },
    ),
    "image_generation": ({}, {"status": "completed", "revised_prompt": "An otter."}),
    "mcp_call": ({"q": "otters"}, "Found."),
    "mcp_list_tools": (
        {"server_label": "docs"},
        {"server_label": "docs", "tools": HOSTED["mcp_list_tools"][0]["tools"]},
    ),
    "tool_search": ({"paths": ["weather"]}, {"tools": HOSTED["tool_search"][1]["tools"]}),
    "shell": (
        {"commands": ["ls", 'echo "é"'], "max_output_length": None, "timeout_ms": 5},
        {"output": HOSTED["shell"][1]["output"]},
    ),
    "program": ({"code": "text(1)"}, "1"),
}


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("name", HOSTED)
def test_what_the_provider_ran_is_a_call_and_a_result(name: str, form: str) -> None:
    """Both are the provider's, tied by an id, with their items beside them."""
    output = HOSTED[name]
    arguments, result = RAN[name]

    answer = response(streamed(events_of(output)) if form == "stream" else whole(document(output)))
    parts = [p for p in answer.message.content if isinstance(p, ToolCallPart | ToolResultPart)]

    call, returned = parts
    assert isinstance(call, ToolCallPart)
    assert isinstance(returned, ToolResultPart)
    assert call.provider_executed
    assert returned.provider_executed
    assert (call.arguments, returned.content) == (arguments, result)
    assert returned.tool_call_id == call.id
    assert call.name == returned.name == ("find" if name == "mcp_call" else name)
    assert answer.tool_calls == ()
    assert answer.finish_reason.reason == "stop"


def test_code_is_written_as_json_while_it_arrives() -> None:
    """Its pieces are those of the input's JSON text."""
    events = streamed(events_of(HOSTED["code_interpreter"], size=4))

    pieces = [event.text for event in events if isinstance(event, ToolInputDelta)]

    assert len(pieces) > 3
    assert "".join(pieces) == '{"code":"print(\\"é\\n\\")"}'


def test_a_call_is_announced_before_its_input() -> None:
    """A stream shows at once which tool runs."""
    events = streamed(events_of(HOSTED["web_search"]))
    kinds = [type(event) for event in events]

    assert kinds.index(ToolInputStart) < kinds.index(ToolCall) < kinds.index(ToolResult)


def test_a_picture_is_a_file() -> None:
    """A drawn picture comes as bytes, once, and is a part of the message."""
    answer = response(streamed(events_of(HOSTED["image_generation"])))
    pictures = [part for part in answer.message.content if isinstance(part, ImagePart)]
    (call,) = [part for part in answer.message.content if isinstance(part, ToolCallPart)]
    kept: Any = call.provider_metadata["openai"]["item"]

    assert [(p.data, p.media_type) for p in pictures] == [(base64.b64decode(PIXEL), "image/png")]
    assert "result" not in kept


@pytest.mark.parametrize(
    ("form", "media_type"),
    [("webp", "image/webp"), ("svg", "image/svg+xml"), (None, "image/png")],
)
def test_the_format_of_a_picture(form: str | None, media_type: str) -> None:
    """The item names it; PNG is the default."""
    native = {**HOSTED["image_generation"][0], "output_format": form}

    files = [event for event in whole(document([native])) if isinstance(event, File)]

    assert [file.media_type for file in files] == [media_type]


FAILED: dict[str, Native] = {
    "search": {**HOSTED["web_search"][0], "status": "failed"},
    "mcp": {
        **HOSTED["mcp_call"][0],
        "output": None,
        "error": {"type": "http_error", "code": 500, "message": "Broken."},
    },
    "mcp, empty": {
        **HOSTED["mcp_call"][0],
        "output": "",
        "error": {"type": "http_error", "code": 500, "message": "Broken."},
    },
    "listing": {**HOSTED["mcp_list_tools"][0], "tools": [], "error": "Broken."},
    "picture": {**HOSTED["image_generation"][0], "result": None, "status": "failed"},
}


@pytest.mark.parametrize("name", FAILED)
def test_result_of_a_failed_tool_is_an_error(name: str) -> None:
    """The result of a tool that failed is an error."""
    native = FAILED[name]
    (result,) = [e for e in whole(document([native])) if isinstance(e, ToolResult)]

    assert result.is_error
    if native["type"] == "mcp_call":
        assert result.content == native["error"]


@pytest.mark.parametrize("empty", [None, ""])
def test_a_picture_that_was_not_made_is_no_image(empty: str | None) -> None:
    """Servers write null, or no data, for the result of a picture that was refused."""
    native = {**HOSTED["image_generation"][0], "result": empty, "status": "failed"}

    parts = said(native).content

    assert [type(part) for part in parts] == [ToolCallPart, ToolResultPart]


@pytest.mark.parametrize("arguments", ["otters", '{"query":'])
def test_arguments_of_hosted_tools_that_are_not_json(arguments: str) -> None:
    """They are kept as they are."""
    (call, _) = said({"type": "x_search_call", "id": "x", "arguments": arguments}).content

    assert isinstance(call, ToolCallPart)
    assert call.arguments == {"arguments": arguments}


def test_tool_calls_of_xai_are_read() -> None:
    """xAI's items have a name and JSON arguments."""
    native = {
        "type": "x_search_call",
        "id": "fc_1",
        "call_id": "",
        "name": "x_semantic_search",
        "arguments": '{"query":"otters"}',
        "status": "completed",
    }

    call, result = said(native).content

    assert isinstance(call, ToolCallPart)
    assert (call.name, call.arguments) == ("x_search", {"query": "otters"})
    assert isinstance(result, ToolResultPart)


X_SEARCH: Native = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "xs_call-1",
    "name": "x_keyword_search",
    "input": '{"query":"otters","limit":"5"}',
    "status": "completed",
}


@pytest.mark.parametrize("form", ["streamed", "whole"])
def test_searches_of_x_are_run_by_the_provider(form: str) -> None:
    """xAI writes them as freeform calls, whose ids tell them from those of the client."""
    output = [X_SEARCH, message("Otters.")]
    events = streamed(events_of(output)) if form == "streamed" else whole(document(output))
    answer = response(events)
    call, result, _ = answer.message.content

    assert isinstance(call, ToolCallPart)
    assert (call.name, call.kind, call.provider_executed) == ("x_search", "function", True)
    assert call.arguments == {"query": "otters", "limit": "5"}
    assert isinstance(result, ToolResultPart)
    assert answer.finish_reason.reason == "stop"
    assert answer.tool_calls == ()


def test_a_freeform_call_of_the_same_name_is_the_clients() -> None:
    native = {**X_SEARCH, "call_id": "call_1"}

    (call,) = said(native).tool_calls
    assert (call.name, call.kind, call.provider_executed) == ("x_keyword_search", "custom", False)


def test_outputs_without_a_call_are_kept_as_they_are() -> None:
    """A result whose call is unknown still goes back."""
    native: Native = {"type": "tool_search_output", "id": "tso_1", "call_id": None, "tools": []}

    (part,) = said(native).content

    assert part.data == native  # type: ignore[union-attr]


def test_a_program_may_end_in_a_later_response() -> None:
    """Its output then names the call of a response before."""
    (result,) = said(HOSTED["program"][1]).content

    assert isinstance(result, ToolResultPart)
    assert (result.tool_call_id, result.content) == ("call_p1", "1")


@pytest.mark.parametrize("name", ["hosted code_interpreter", "hosted shell", "own apply_patch"])
def test_input_without_its_end_event_is_closed(name: str) -> None:
    """Where only the pieces came, the JSON around them ends with the response."""
    events = [e for e in events_of(ANSWERS[name]) if not e["type"].endswith(".done")]
    last = {**events[-1], "response": {**events[-1]["response"], "output": []}}

    answer = response(streamed([*events[:-1], last]))
    calls = [part for part in answer.message.content if isinstance(part, ToolCallPart)]
    whole_calls = [p for p in said(*ANSWERS[name]).content if isinstance(p, ToolCallPart)]
    field = {"code_interpreter": "code", "shell": "commands", "apply_patch": "diff"}

    (call,), (expected,) = calls, whole_calls
    assert call.arguments[field[call.name]] == expected.arguments[field[call.name]]  # type: ignore[index,call-overload]
