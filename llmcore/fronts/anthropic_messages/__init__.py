"""The front of Anthropic's Messages API: `POST /v1/messages` over any upstream.

Documents, read November 2026: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/streaming; others are linked where their rules
are.

In reading order. Requests: `request` (settings), `messages`, `content`, `hosted` (tools that a
provider ran, both ways), `compaction` (summaries, both ways), `tools`, `client_tools`,
`tool_changes`. Responses: `response` (the writer: begin and end), `output` (the content
between them), `blocks`, `carrier` (sealed state), `finish`. `errors`, `models` (lists and counts),
`grammar` (the rules of a stream).
"""

from typing import Final

from llmcore.fronts.anthropic_messages.errors import envelope, status_of
from llmcore.fronts.anthropic_messages.grammar import MessagesChecker
from llmcore.fronts.anthropic_messages.models import listed_model, model_list, renamed, token_count
from llmcore.fronts.anthropic_messages.request import ReadMessagesRequest, read_request, routing_of
from llmcore.fronts.anthropic_messages.response import MessagesWriter
from llmcore.fronts.encoding import EVENT_STREAM, named_event
from llmcore.fronts.front import Front, StreamEncoding
from llmcore.protocols.anthropic_messages.names import PROTOCOL_ID

_ENCODING: Final = StreamEncoding(
    content_type=EVENT_STREAM,
    encode=named_event,
    heartbeat=named_event({"type": "ping"}),
)


front: Final[Front[ReadMessagesRequest]] = Front(
    id=PROTOCOL_ID,
    id_prefix="msg",
    routing=routing_of,
    read=read_request,
    no_request=ReadMessagesRequest(searches=False),
    writer=MessagesWriter,
    encoding=lambda _asked: _ENCODING,
    envelope=envelope,
    status=status_of,
    checker=MessagesChecker,
    models=model_list,
    model=listed_model,
    token_count=token_count,
    renamed=renamed,
    shows_pauses=True,
    keep_alives=("comment", "blank", "none"),
    lists_claude_names=True,
)

__all__ = ["ReadMessagesRequest", "front"]
