"""OpenAI's Chat Completions API, as a server speaks it: `front`.

- the request: `content`, `messages`, `tools`; all of it in `request`, what other APIs' clients
  send in `foreign_forms`, and what a server kept of it in `kept_state`
- the response: `chunks` (the frame), `calls`, `output` (its content), `response` (its begin and
  end)
- `carrier`: thinking, and state that clients cannot see, on its way out and back; a server keeps
  the `sealed_calls` of a writer for clients that drop it, and `Upstream.kept_state` returns them
- `grammar`: the rules of every stream

Errors and lists of models have the form of `llmcore.fronts.openai_forms`; what SDKs of single
servers of the API need besides is in `llmcore.fronts.openai_clients`.
"""

from typing import Final

from llmcore.fronts.front import Front
from llmcore.fronts.openai_chat.chunks import encoding
from llmcore.fronts.openai_chat.grammar import ChunkChecker
from llmcore.fronts.openai_chat.request import ReadChatRequest, read_request, routing_of
from llmcore.fronts.openai_chat.response import ChatWriter
from llmcore.fronts.openai_chat.tools import has_native_tools
from llmcore.fronts.openai_clients import can_relay, error_change
from llmcore.fronts.openai_forms import envelope, listed_model, model_list
from llmcore.protocols.openai_chat.names import PROTOCOL_ID

front: Final[Front[ReadChatRequest]] = Front(
    id=PROTOCOL_ID,
    id_prefix="chatcmpl",
    routing=routing_of,
    read=read_request,
    no_request=ReadChatRequest(),
    writer=ChatWriter,
    encoding=encoding,
    envelope=envelope,
    checker=ChunkChecker,
    models=model_list,
    model=listed_model,
    keep_alives=("blank", "none"),
    has_native_tools=has_native_tools,
    can_relay=can_relay,
    error_change=error_change,
)
"""The front of Chat Completions."""
