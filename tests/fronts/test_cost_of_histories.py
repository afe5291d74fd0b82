"""The cost of what is sent again with each request, in Python instructions: calls and messages.

Those of C, such as of reading and writing JSON, are not counted.
"""

from typing import Any

from llmcore.fronts import anthropic_messages
from llmcore.fronts import openai_chat as chat_front
from llmcore.fronts.front import ClientRequest, Front
from llmcore.protocols import openai_chat
from llmcore.protocols.openai_chat.names import PROTOCOL_ID
from tests.support.opcodes import opcodes
from tests.support.upstreams import upstream_of

LIMITS = {"read": 2_370, "lowered": 1_020}
"""A tenth more than a call with its result took when this was written."""
LIMITS_OF_MESSAGE = {"read": 200, "lowered": 205}
"""The same of a message of text."""


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


def chat(messages: int) -> ClientRequest:
    """Return the request of a chat of so many messages."""
    turns = [{"role": ("user", "assistant")[n % 2], "content": "words"} for n in range(messages)]
    return ClientRequest(body={"model": "m", "messages": turns})


def cost(front: Front[Any], given: ClientRequest) -> dict[str, int]:
    """Return the instructions for reading the request, and for lowering it."""
    upstream = upstream_of(PROTOCOL_ID)
    read = front.read(given, upstream).unwrap()
    build = openai_chat.protocol.body.build
    build(read.request, False).unwrap()
    return {
        "read": opcodes(lambda: front.read(given, upstream).unwrap()),
        "lowered": opcodes(lambda: build(read.request, False).unwrap()),
    }


def test_a_call_of_a_history_costs_little_each_time() -> None:
    few, many = (cost(anthropic_messages.front, history(calls)) for calls in (10, 30))

    taken = {name: (many[name] - few[name]) / 20 for name in LIMITS}
    assert all(taken[name] <= limit for name, limit in LIMITS.items()), taken


def test_a_message_of_a_long_chat_costs_little_each_time() -> None:
    few, many = (cost(chat_front.front, chat(messages)) for messages in (10, 30))

    taken = {name: (many[name] - few[name]) / 20 for name in LIMITS_OF_MESSAGE}
    assert all(taken[name] <= limit for name, limit in LIMITS_OF_MESSAGE.items()), taken
