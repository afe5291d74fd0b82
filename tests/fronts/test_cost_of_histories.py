"""The cost of a call in an agent's history, which is sent again and again, in Python instructions.

Those of C, such as of reading and writing JSON, are not counted.
"""

from typing import Any

from llmcore.fronts.anthropic_messages import front
from llmcore.fronts.front import ClientRequest
from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat.names import PROTOCOL_ID
from tests.support.opcodes import opcodes
from tests.support.upstreams import upstream_of

LIMITS = {"read": 2_450, "lowered": 1_200}
"""A tenth more than a call with its result took when this was written."""


def history(calls: int) -> ClientRequest:
    """Return the request of an agent after so many calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number in range(calls):
        call_id = f"call_{number}"
        call = {"type": "tool_use", "id": call_id, "name": "read", "input": {"path": "a.py"}}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "import os"}
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": "I read it."}, call]},
            {"role": "user", "content": [result]},
        ]
    return ClientRequest(body={"model": "m", "max_tokens": 9, "messages": messages})


def cost(calls: int) -> dict[str, int]:
    """Return the instructions for reading the request of so many calls, and for lowering it."""
    given, upstream = history(calls), upstream_of(PROTOCOL_ID)
    read = front.read(given, upstream).unwrap()
    build = openai_chat.protocol.body.build
    build(read.request, False).unwrap()
    return {
        "read": opcodes(lambda: front.read(given, upstream).unwrap()),
        "lowered": opcodes(lambda: build(read.request, False).unwrap()),
    }


def test_a_call_of_a_history_costs_little_each_time() -> None:
    few, many = cost(10), cost(30)

    taken = {name: (many[name] - few[name]) / 20 for name in LIMITS}
    assert all(taken[name] <= limit for name, limit in LIMITS.items()), taken
