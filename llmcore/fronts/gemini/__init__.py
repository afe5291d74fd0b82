"""Gemini's `generateContent`, as a server speaks it: `front`.

- the request: `content` (parts), `turns` (messages of the model), `messages`, `tools`; all of it,
  and its settings, in `request`
- the response: `carrier` (sealed state as a signature), `finish`, `output` (its content),
  `response` (its begin and end)
- `embeddings`: requests for embeddings, and their responses
- `errors`: their form; `models`: lists, counts, and how streams are sent; `grammar`: what every
  stream must obey
"""

from typing import Final

from llmcore.fronts.front import Front
from llmcore.fronts.gemini import models
from llmcore.fronts.gemini.errors import envelope, status_of
from llmcore.fronts.gemini.grammar import GeminiChecker
from llmcore.fronts.gemini.request import ReadGeminiRequest, read_request, routing_of
from llmcore.fronts.gemini.response import GeminiWriter
from llmcore.protocols.gemini.names import PROTOCOL_ID

front: Final[Front[ReadGeminiRequest]] = Front(
    id=PROTOCOL_ID,
    id_prefix="gen",
    routing=routing_of,
    read=read_request,
    no_request=ReadGeminiRequest(),
    writer=GeminiWriter,
    encoding=models.encoding,
    envelope=envelope,
    status=status_of,
    checker=GeminiChecker,
    models=models.models,
    model=models.model,
    token_count=models.token_count,
    can_relay=models.can_relay,
    error_change=models.error_change,
)
"""The front of the Gemini API."""
