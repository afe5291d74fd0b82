"""Anthropic Messages: `POST /v1/messages`, as Anthropic and those who serve Claude speak it.

Documents, read November 2026: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/streaming; others are linked where their rules
stand.

In reading order: `names` (ids and shared words),
`types` (the API's JSON as values), `models` (what each model takes);
building the request: `body`, `thinking`, `answer_format`, `messages`, `seating`, `parts`,
`citations`, `tools`, `hosted_tools`, `caching`, `betas`; reading the answer: `state`,
`content`, `native_blocks`, `usage`, `stream`.
"""

from functools import partial

from llmcore.protocols import tool_names
from llmcore.protocols.anthropic_messages import body, stream
from llmcore.protocols.anthropic_messages.continuing import continued
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID, MessagesBody
from llmcore.protocols.anthropic_messages.state import Event, State
from llmcore.protocols.protocol import BodyBuilder, Protocol, StreamMachine, TokenCounting


def make(*, system_messages: bool = True) -> Protocol[MessagesBody, Event, State]:
    """Return the protocol for a platform; not all take instructions among the messages."""
    return Protocol(
        id=PROTOCOL_ID,
        metadata_key=METADATA_KEY,
        tool_names=tool_names.ANTHROPIC,
        count_tokens=TokenCounting(
            endpoint="/messages", target="/messages/count_tokens", fields=body.COUNTED
        ),
        hosted_kinds=frozenset({"web_search", "code_execution", "mcp"}),
        body=BodyBuilder(build=partial(body.from_request, system_messages=system_messages)),
        stream=StreamMachine(
            decode=stream.decode,
            initial=stream.initial,
            step=stream.step,
            continued=continued,
            halt=stream.halt,
            terminal=stream.terminal,
        ),
        whole=stream.whole,
    )


protocol: Protocol[MessagesBody, Event, State] = make()

__all__ = ["METADATA_KEY", "PROTOCOL_ID", "Event", "MessagesBody", "State", "make", "protocol"]
