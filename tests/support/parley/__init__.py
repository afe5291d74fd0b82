"""Parley, an invented API: the example of `docs/adding-a-protocol.md`.

    POST /talk
    {"model": "parley-2", "turns": [{"by": "person", "say": [{"text": "2 + 2?"}]}], "live": true}

    data: {"open": {"id": "t1", "model": "parley-2"}}
    data: {"thought": "Easy."}
    data: {"text": "Four."}
    data: {"close": {"why": "done", "tokens": {"in": 3, "out": 5, "saved": 1}}}

In reading order: `names`; building the request: `body`; reading the response: `content`, `stream`.
What other packages have in modules of their own is short here: `models` is in `names`, `messages`,
`parts` and `tools` are in `body`, `state`, `calls` and `finish` in `content`.
"""

from llmcore.protocols.protocol import BodyBuilder, Protocol, StreamMachine
from llmcore.schema.json import NativeObject
from tests.support.parley import body, stream
from tests.support.parley.content import ParleyState
from tests.support.parley.names import API_NAME, METADATA_KEY, PROTOCOL_ID, TOOL_NAMES, ParleyBody

protocol: Protocol[ParleyBody, NativeObject, ParleyState] = Protocol(
    id=PROTOCOL_ID,
    api=API_NAME,
    path="/talk",
    prompt=("model", "tools", "rules", "turns"),
    metadata_key=METADATA_KEY,
    tool_names=TOOL_NAMES,
    framings=("sse",),
    body=BodyBuilder(build=body.from_request),
    stream=StreamMachine(
        decode=stream.decode,
        initial=stream.initial,
        step=stream.step,
        halt=stream.halt,
        terminal=stream.terminal,
    ),
    whole=stream.whole,
)
