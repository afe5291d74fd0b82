"""OpenAI Responses: `POST /responses`, as OpenAI, Azure, xAI, OpenRouter and others speak it.

Documents, read November 2026: https://developers.openai.com/api/reference/resources/responses,
https://developers.openai.com/api/reference/resources/responses/streaming-events, and the guides
"Conversation state", "Reasoning models", "Background mode" and those of the built-in tools.

The history is the caller's: by default nothing is stored (`store: false`), and reasoning
comes encrypted, to be sent back. Options that use the provider's memory (`previous_response_id`,
`conversation`, `background`, `store`) turn that off; then messages are only what is new.

In reading order: `names` (ids and shared words),
`dialect` (where servers differ); building the request: `body`, `messages`,
`replay`, `results`, `parts`, `tools`; reading the answer: `state`, `items`, `content`,
`citations`, `reasoning`, `tool_calls`, `hosted_tools`, `inputs`, `envelope`, `usage`, `stream`,
`resume`; and `continuation` (what to send to a server that remembers the last answer).
"""

from functools import partial

from llmcore.protocols import tool_names
from llmcore.protocols.openai_responses import body, stream
from llmcore.protocols.openai_responses.continuing import continued
from llmcore.protocols.openai_responses.dialect import OPENAI, ResponsesDialect
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID, ResponsesBody
from llmcore.protocols.openai_responses.resume import cursor, resume
from llmcore.protocols.openai_responses.state import Chunk, State
from llmcore.protocols.protocol import BodyBuilder, Protocol, StreamMachine


def make(dialect: ResponsesDialect) -> Protocol[ResponsesBody, Chunk, State]:
    """Return the protocol as servers of *dialect* speak it."""
    return Protocol(
        id=PROTOCOL_ID,
        metadata_key=METADATA_KEY,
        tool_names=tool_names.OPENAI,
        body=BodyBuilder(build=partial(body.from_request, dialect=dialect)),
        stream=StreamMachine(
            decode=stream.decode,
            initial=stream.initial,
            step=stream.step,
            continued=continued,
            halt=stream.halt,
            terminal=stream.terminal,
            cursor=cursor,
            resume=resume,
        ),
        whole=stream.whole,
    )


protocol = make(OPENAI)

__all__ = [
    "METADATA_KEY",
    "OPENAI",
    "PROTOCOL_ID",
    "Chunk",
    "ResponsesBody",
    "ResponsesDialect",
    "State",
    "cursor",
    "make",
    "protocol",
    "resume",
]
