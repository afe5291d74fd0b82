"""Bedrock Converse: `Converse` and `ConverseStream` of Amazon Bedrock Runtime.

Documents, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html; others are
linked where their rules stand.

In reading order: `names` (ids and shared words),
`models` (what each model takes), `paths` (the model and the choice of a
stream stand in the path); building the request: `body`, `reasoning`, `answer_format`,
`messages`, `parts`, `tools`, `hosted_tools`, `caching`, `citations`; reading the answer: `state`,
`content`, `closing`, `continuing`, `usage`, `stream`.
"""

from llmcore.protocols import tool_names
from llmcore.protocols.bedrock_converse import body, stream
from llmcore.protocols.bedrock_converse.continuing import continued
from llmcore.protocols.bedrock_converse.names import METADATA_KEY, PROTOCOL_ID, ConverseBody
from llmcore.protocols.bedrock_converse.paths import converse_path
from llmcore.protocols.bedrock_converse.state import Event, State
from llmcore.protocols.protocol import BodyBuilder, Protocol, StreamMachine

protocol: Protocol[ConverseBody, Event, State] = Protocol(
    id=PROTOCOL_ID,
    metadata_key=METADATA_KEY,
    tool_names=tool_names.BEDROCK,
    framings=("aws-event-stream", "sse", "ndjson"),
    body=BodyBuilder(build=body.from_request),
    stream=StreamMachine(
        decode=stream.decode,
        initial=stream.initial,
        step=stream.step,
        halt=stream.halt,
        terminal=stream.terminal,
        continued=continued,
    ),
    whole=stream.whole,
)

__all__ = [
    "METADATA_KEY",
    "PROTOCOL_ID",
    "ConverseBody",
    "Event",
    "State",
    "converse_path",
    "protocol",
]
