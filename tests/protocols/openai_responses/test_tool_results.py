"""Results of the built-in tools that the caller runs."""

from typing import Any

import pytest

from llmcore.schema.content import ImagePart, TextPart, ToolResultPart
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from tests.support.wire.responses import CLIENT_RUN, Native, body, codes, items, refused, said


def _exit(code: int) -> Native:
    return {"type": "exit", "exit_code": code}


OUTPUTS: dict[str, tuple[str, Any, bool, Native]] = {
    "local shell": (
        "local_shell",
        "a\nb",
        False,
        {
            "type": "local_shell_call_output",
            "id": "call_l1",
            "call_id": "call_l1",
            "output": "a\nb",
        },
    ),
    "local shell, json": (
        "local_shell",
        {"stdout": "a"},
        False,
        {
            "type": "local_shell_call_output",
            "id": "call_l1",
            "call_id": "call_l1",
            "output": '{"stdout":"a"}',
        },
    ),
    "shell, text": (
        "shell",
        "a\n",
        False,
        {
            "type": "shell_call_output",
            "call_id": "call_s2",
            "max_output_length": 100,
            "output": [{"stdout": "a\n", "stderr": "", "outcome": _exit(0)}],
        },
    ),
    "shell, failed": (
        "shell",
        "no",
        True,
        {
            "type": "shell_call_output",
            "call_id": "call_s2",
            "max_output_length": 100,
            "output": [{"stdout": "", "stderr": "no", "outcome": _exit(1)}],
        },
    ),
    "shell, exit code": (
        "shell",
        {"stdout": "a", "exit_code": 3},
        False,
        {
            "type": "shell_call_output",
            "call_id": "call_s2",
            "max_output_length": 100,
            "output": [{"stdout": "a", "stderr": "", "outcome": _exit(3)}],
        },
    ),
    "shell, native": (
        "shell",
        {"output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "timeout"}}]},
        False,
        {
            "type": "shell_call_output",
            "call_id": "call_s2",
            "max_output_length": 100,
            "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "timeout"}}],
        },
    ),
    "shell, per command": (
        "shell",
        [{"stdout": "a"}, {"stderr": "b", "outcome": _exit(2)}],
        False,
        {
            "type": "shell_call_output",
            "call_id": "call_s2",
            "max_output_length": 100,
            "output": [
                {"stdout": "a", "stderr": "", "outcome": _exit(0)},
                {"stdout": "", "stderr": "b", "outcome": _exit(2)},
            ],
        },
    ),
    "patch": (
        "apply_patch",
        "Created a.md",
        False,
        {
            "type": "apply_patch_call_output",
            "call_id": "call_a1",
            "status": "completed",
            "output": "Created a.md",
        },
    ),
    "patch, failed": (
        "apply_patch",
        "No such file",
        True,
        {
            "type": "apply_patch_call_output",
            "call_id": "call_a1",
            "status": "failed",
            "output": "No such file",
        },
    ),
    "patch, native": (
        "apply_patch",
        {"status": "failed", "output": "Exists"},
        False,
        {
            "type": "apply_patch_call_output",
            "call_id": "call_a1",
            "status": "failed",
            "output": "Exists",
        },
    ),
    "patch, silent": (
        "apply_patch",
        "",
        False,
        {"type": "apply_patch_call_output", "call_id": "call_a1", "status": "completed"},
    ),
    "screenshot": (
        "computer",
        [ImagePart(url="https://a.example/s.png")],
        False,
        {
            "type": "computer_call_output",
            "call_id": "call_u1",
            "output": {"type": "computer_screenshot", "image_url": "https://a.example/s.png"},
        },
    ),
    "stored screenshot": (
        "computer",
        [TextPart("Here:"), ImagePart(file_id="file-1")],
        False,
        {
            "type": "computer_call_output",
            "call_id": "call_u1",
            "output": {"type": "computer_screenshot", "file_id": "file-1"},
        },
    ),
    "tools": (
        "tool_search",
        {"tools": [{"type": "function", "name": "f"}]},
        False,
        {
            "type": "tool_search_output",
            "call_id": "call_t1",
            "execution": "client",
            "status": "completed",
            "tools": [{"type": "function", "name": "f"}],
        },
    ),
    "tools, listed": (
        "tool_search",
        [{"type": "function", "name": "f"}],
        False,
        {
            "type": "tool_search_output",
            "call_id": "call_t1",
            "execution": "client",
            "status": "completed",
            "tools": [{"type": "function", "name": "f"}],
        },
    ),
    "yes": (
        "mcp_approval",
        True,
        False,
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
    "no": (
        "mcp_approval",
        {"approve": False, "reason": "Too risky."},
        False,
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": False,
            "reason": "Too risky.",
        },
    ),
    "no clear yes": (
        "mcp_approval",
        "yes",
        False,
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False},
    ),
    "a yes that failed": (
        "mcp_approval",
        True,
        True,
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False},
    ),
}


def _asked(name: str, content: Any, is_error: bool = False) -> LLMRequest:
    answer = said(CLIENT_RUN[name])
    (call,) = answer.tool_calls
    result = Message.tool(call.id, content, name=call.name, is_error=is_error)
    return request(model=Model("gpt-5.2", "openai"), messages=[answer, result])


@pytest.mark.parametrize("name", OUTPUTS)
def test_each_built_in_tool_has_a_result_of_its_type(name: str) -> None:
    """Each built-in tool's result in the API's words."""
    tool, content, is_error, native = OUTPUTS[name]
    asked = _asked(tool, content, is_error)

    assert body(asked)["input"][1] == native
    assert codes(asked) == []


@pytest.mark.parametrize("name", CLIENT_RUN)
def test_a_missing_output_is_made_up(name: str) -> None:
    """An unanswered call gets an output of its kind that reports it; never an approval."""
    call, output = items(said(CLIENT_RUN[name]))

    assert call == CLIENT_RUN[name]
    assert output["type"].removesuffix("_output").removesuffix("_response") in (
        call["type"],
        "tool_search",
        "mcp_approval",
    )
    assert output.get("approve") is not True


def test_safety_checks_are_acknowledged_in_the_metadata() -> None:
    """Only the caller can say that it saw them."""
    checks = [{"id": "sc_1", "code": "c", "message": "m"}]
    own: Any = {"openai": {"acknowledged_safety_checks": checks}}
    shot = (ImagePart(file_id="f"),)
    result = ToolResultPart("call_u1", shot, provider_metadata=own)

    output = items(said(CLIENT_RUN["computer"]), Message("tool", (result,)))[1]

    assert output["acknowledged_safety_checks"] == checks


def test_a_computer_returns_a_screenshot() -> None:
    """Any other result is an error that names the fault; a failure is a blank screen and a note."""
    assert "screenshot: give an image" in str(refused(_asked("computer", "clicked")))

    failed = _asked("computer", "no display", is_error=True)

    assert body(failed)["input"][1]["output"]["image_url"].startswith("data:image/png;base64,")
    assert codes(failed) == [("unsupported-content", "messages[1].content[0].content")]


def test_parts_that_an_output_cannot_hold_are_reported() -> None:
    """A shell returns text."""
    asked = _asked("local_shell", [TextPart("a"), ImagePart(file_id="f")])

    assert body(asked)["input"][1]["output"] == "a"
    assert codes(asked) == [("unsupported-content", "messages[1].content[0].content")]


def test_a_search_that_found_no_tools_is_reported() -> None:
    """Text does not define tools."""
    asked = _asked("tool_search", "nothing")

    assert body(asked)["input"][1]["tools"] == []
    assert codes(asked) == [("unsupported-content", "messages[1].content[0].content")]
