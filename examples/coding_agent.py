"""A coding agent in the terminal, which asks before it writes or runs anything.

Each step is stored when it is complete: after Ctrl-C, or a crash, the next question goes on there.
"""

import subprocess
from pathlib import Path

from llmcore import LLMError, TextDelta, Tool, ToolCall, sync, tool


@tool
def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text()


@tool(needs_approval=True)
def write_file(path: str, content: str) -> str:
    """Write a text file."""
    Path(path).write_text(content)
    return f"{path} is written"


@tool(needs_approval=True)
def run(command: str) -> str:
    """Run a shell command."""
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}exit code {done.returncode}"


TOOLS: list[Tool] = [read_file, write_file, run]


def respond(prompt: str | None, decisions: dict[str, bool] | None = None) -> None:
    """Show the response as it arrives, and ask for the approvals that it needs."""
    events = chat.stream(
        "openai:gpt-5.2",
        prompt,
        system="You are a coding agent.",
        tools=TOOLS,
        max_tool_rounds=20,
        approvals=decisions,
    )
    with events:
        for event in events:
            if isinstance(event, TextDelta):
                print(event.text, end="", flush=True)
            elif isinstance(event, ToolCall):
                print(f"\n[{event.name} {event.arguments}]")
    if calls := chat.pending_calls:
        respond(None, {call.id: input(f"{call.name}? [y/n] ") == "y" for call in calls})


with sync.Conversation.open("agent.db", "main") as chat:
    while prompt := input("\n> "):
        try:
            respond(prompt)
        except (LLMError, KeyboardInterrupt) as stopped:
            print(f"\nstopped: {stopped!r}")
