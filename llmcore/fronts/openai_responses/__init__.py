"""OpenAI's Responses API, as a server speaks it: `front`.

- the request: `parameters`; its tools in `native_tools`, `tools`; its input in `content`, `calls`,
  `compaction`, `messages`; all of it in `request`
- the response: `events`, `items`, `output_calls`, `state` (what is kept of it), `output` (its
  content), `response` (its begin and end)
- `errors`: of references, and of responses; `grammar`: what every stream must obey

A server that keeps responses reads with `request.read_request` and a `StoredContext`, and stores
the `record` of each `ResponsesWriter`.
"""

from typing import Final

from llmcore.fronts.encoding import COMMENT, EVENT_STREAM, named_event
from llmcore.fronts.front import Front, StreamEncoding
from llmcore.fronts.openai_clients import can_relay_items, error_change
from llmcore.fronts.openai_forms import envelope, listed_model, model_list
from llmcore.fronts.openai_responses.grammar import ResponsesChecker
from llmcore.fronts.openai_responses.request import (
    NO_REQUEST,
    ReadResponsesRequest,
    read_request,
    routing_of,
    token_count,
)
from llmcore.fronts.openai_responses.response import ResponsesWriter
from llmcore.fronts.openai_responses.tools import has_native_tools
from llmcore.protocols.openai_responses.names import PROTOCOL_ID

_ENCODING: Final = StreamEncoding(content_type=EVENT_STREAM, encode=named_event, heartbeat=COMMENT)

front: Final[Front[ReadResponsesRequest]] = Front(
    id=PROTOCOL_ID,
    id_prefix="resp",
    routing=routing_of,
    read=read_request,
    no_request=NO_REQUEST,
    writer=ResponsesWriter,
    encoding=lambda _asked: _ENCODING,
    envelope=envelope,
    checker=ResponsesChecker,
    models=model_list,
    model=listed_model,
    token_count=token_count,
    has_native_tools=has_native_tools,
    can_relay=can_relay_items,
    error_change=error_change,
)
"""The front of the Responses API."""
