"""Bedrock Converse: `Converse` and `ConverseStream` of Amazon Bedrock Runtime.

Documents, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html and
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html; others are
linked where their rules are.

In reading order: `names` (ids, words and tables of both directions), `models` (what each accepts,
and the path of a call, which names the model); building the request: `body`, `messages`, `parts`,
`tools`, `caching`; reading the response: `state`, `content`, `calls`, `finish`, `stream`.
"""

from llmcore.protocols.bedrock_converse import body, finish, names, stream
from llmcore.protocols.bedrock_converse.models import converse_path, rules_of
from llmcore.protocols.bedrock_converse.names import (
    METADATA_KEY,
    PROTOCOL_ID,
    SERVICE_TIERS,
    ConverseBody,
)
from llmcore.protocols.bedrock_converse.state import ConverseState, Event
from llmcore.protocols.protocol import (
    BodyBuilder,
    CacheMark,
    Protocol,
    StreamMachine,
    TokenCounting,
)

protocol: Protocol[ConverseBody, Event, ConverseState] = Protocol(
    id=PROTOCOL_ID,
    api=names.API_NAME,
    path="/converse",
    prompt=("toolConfig", "system", "messages"),
    family="bedrock",
    metadata_key=METADATA_KEY,
    tool_names=names.TOOL_NAMES,
    framings=("aws-event-stream", "sse", "ndjson"),
    cache_mark=CacheMark("breakpoint", "cachePoint"),
    count_tokens=TokenCounting(
        endpoint="/converse",
        target="/count-tokens",
        fields=body.COUNTED,
        wrap=lambda fields, _model_id: {"input": {"converse": fields}},
        count="inputTokens",
    ),
    prefills=lambda model_id: (
        "claude" in model_id.lower() and rules_of(model_id).claude_rules.prefill
    ),
    body=BodyBuilder(build=body.from_request),
    stream=StreamMachine(
        decode=stream.decode,
        initial=stream.initial,
        step=stream.step,
        halt=stream.halt,
        terminal=stream.terminal,
        usage=finish.stated_usage,
        fast_reader=stream.fast_reader,
    ),
    whole=stream.whole,
)

__all__ = [
    "SERVICE_TIERS",
    "ConverseBody",
    "converse_path",
    "protocol",
]
