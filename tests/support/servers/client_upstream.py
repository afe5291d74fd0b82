"""A Chat server for clients of the gateway: it answers by what the request asks and offers."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.servers.bridge_service import JSON, refused, streamed, tool_script
from tests.support.servers.loopback import DONE, Answer, Received, chat_chunk, chat_stream

SIGNATURES = ("sig-1", "sig-2")
"""Of the thinking before each call of the weather tool: it wants them back."""

CITIES = ("Oslo", "Rome")

PATCH = """\
*** Begin Patch
*** Add File: made.txt
+héllo from a patch
*** Update File: old.txt
@@
-before
+after
*** End Patch
"""

NEW_FILE = """\
*** Begin Patch
*** Add File: made.txt
+from an agent
*** End Patch
"""

COMMAND = "printf 'from a command' > made.txt && cat made.txt"

SCRIPT = f"""\
const done = await tools.exec_command({{cmd: {json.dumps(COMMAND)}}});
text(done.output);
"""


def answer(received: Received) -> Answer:
    """Answer any request of the tests' clients, streamed or whole as it asks."""
    if received.path.endswith("/models"):
        data = b'{"object": "list", "data": [{"id": "m-1", "object": "model"}]}'
        return Answer([data], headers=JSON, length=len(data))
    body: Any = received.json
    asked = last_question(body)
    if "fail with" in asked:
        return refused(int(asked.rsplit(" ", 1)[-1]), "as you wish", headers={"x-request-id": "up"})
    if "break off" in asked:
        return streamed([chat_chunk(delta={"content": "Hel"})], cut=True)
    script = [chat_chunk(delta={"role": "assistant", "content": ""}), *_script(body, asked)]
    if body.get("stream"):
        return streamed(script)
    data = _whole(script)
    return Answer([data], headers=JSON, length=len(data))


def _script(body: Any, asked: str) -> list[bytes | float]:
    """Return the chunks of the response."""
    if "stay silent" in asked:
        return [2.0, *chat_stream(pause=2)]
    if "Write a summary" in asked:
        return [*_thought(0), *chat_stream(["They said ", "hello."])]
    if "in one block" in asked:
        return chat_stream(["made.txt\n```\nfrom ", "text alone\n```\n"])
    if "response_format" in body:
        return chat_stream(['{"yes":', " true}"])
    results = results_since_question(body)
    if _task(body):
        results = [text_of(one) for one in body["messages"] if one["role"] == "tool"]
    if call := _call(body, asked, len(results)):
        return call
    return chat_stream(["That is: ", *results] if results else ["Hel", "lo"])


def _whole(script: Sequence[bytes | float]) -> bytes:
    """Return the body that the chunks of *script* add up to."""
    message: Any = {"role": "assistant", "content": None}
    reason, usage = None, None
    for chunk in _chunks(script):
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            reason = choice["finish_reason"] or reason
            for name, value in choice["delta"].items():
                if name == "role":
                    continue
                if name == "tool_calls":
                    _add_call(message.setdefault(name, []), value[0])
                elif isinstance(value, list):
                    message[name] = [*message.get(name, []), *value]
                else:
                    message[name] = (message.get(name) or "") + value
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1"}
    return json.dumps({**whole, "choices": [choice], "usage": usage}).encode()


def _chunks(script: Sequence[bytes | float]) -> Iterator[Any]:
    for item in script:
        if isinstance(item, bytes) and item != DONE:
            yield json.loads(item.removeprefix(b"data: "))


def _add_call(calls: list[Any], piece: Any) -> None:
    if piece["index"] == len(calls):
        calls.append({"id": piece["id"], "type": "function", "function": piece["function"]})
    else:
        made = calls[piece["index"]]["function"]
        made["arguments"] += piece["function"]["arguments"]


def last_question(body: Any) -> str:
    """Return what the user said last."""
    users = [text_of(one) for one in body["messages"] if one["role"] == "user"]
    return users[-1] if users else ""


def results_since_question(body: Any) -> Sequence[str]:
    """Return the results of tools that came after what the user said last."""
    found: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            found = []
        elif message["role"] == "tool":
            found.append(text_of(message))
    return found


def text_of(message: Any) -> str:
    """Return a message's text, however it is written."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def offered(body: Any, name: str) -> str | None:
    """Return the function that stands for a tool, None if it is not offered."""
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    return next((one for one in names if one == name or one.endswith(f"__{name}")), None)


def _call(body: Any, asked: str, results: int) -> list[bytes | float] | None:
    """Return the call that the question is for, None if it was made."""
    if "weather" in asked and offered(body, "get_weather") and results < len(CITIES):
        arguments = json.dumps({"city": CITIES[results]})
        return [*_thought(results), *tool_script((f"call_{results}", "get_weather", arguments))]
    if task := _task(body):
        return _next_step(body, task)
    if results:
        return None
    for word, tool, given in _CALLS:
        name = offered(body, tool)
        if word in asked and name:
            return tool_script(("call_0", name, json.dumps(given)))
    return tool_script(("call_0", "no_such_tool", "{}")) if "unknown" in asked else None


_CALLS: tuple[tuple[str, str, dict[str, str | bool]], ...] = (
    ("command", "exec_command", {"cmd": COMMAND}),
    ("command", "exec", {"input": SCRIPT}),
    ("patch", "apply_patch", {"input": PATCH}),
    ("wet", "json", {"yes": True}),
)
"""The subject of a question, the tool for it, and the arguments."""


# -- a task of several steps, for agents with tools of their own


def _task(body: Any) -> str | None:
    """Return the words `Read A, write B and run the command.` of the user, if there are any.

    Agents send reminders as words of the user too, so the last ones need not be these.
    """
    users = [text_of(one) for one in body["messages"] if one["role"] == "user"]
    tasks = (text for text in users if "write " in text and "run the command" in text)
    return next(tasks, None)


_STEPS: tuple[frozenset[str], ...] = (
    frozenset({"Read", "read_file", "read", "view"}),
    frozenset({"Write", "write_file", "write", "create", "apply_patch"}),
    frozenset({"Bash", "run_shell_command", "bash"}),
)
"""The tools of one step each, by the names that agents give them."""


def _next_step(body: Any, task: str) -> list[bytes | float] | None:
    """Return the call of the next step, with arguments by the names in the tool's schema."""
    results = sum(one["role"] == "tool" for one in body["messages"])
    if results >= len(_STEPS):
        return None
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", ())}
    name = next((name for name in tools if name in _STEPS[results]), None)
    if name is None:
        return None
    read, written = re.findall(r"/[^\s,]+\.txt", task)[:2]
    path = read if results == 0 else written
    values = {
        "file_path": path,
        "filePath": path,
        "absolute_path": path,
        "path": path,
        "content": "from an agent",
        "file_text": "from an agent",
        "input": NEW_FILE,
        "command": f"cat {written}",
        "description": "Show the file",
    }
    fields = tools[name]["parameters"].get("properties", {})
    given = {field: values[field] for field in fields if field in values}
    return tool_script((f"call_{results}", name, json.dumps(given)))


def _thought(turn: int) -> list[bytes | float]:
    """Return thinking as OpenRouter streams it, signed at its end."""
    form = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    words = {**form, "text": f"{CITIES[turn]} next."}
    signed = {**form, "text": "", "signature": SIGNATURES[turn]}
    return [
        chat_chunk(delta={"reasoning": words["text"], "reasoning_details": [words]}),
        chat_chunk(delta={"reasoning_details": [signed]}),
    ]
