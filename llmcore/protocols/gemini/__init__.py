"""Gemini: `generateContent` and `streamGenerateContent`, of the Gemini API and of Vertex AI.

Documents, read November 2026: https://ai.google.dev/api/generate-content,
https://ai.google.dev/gemini-api/docs and, for what only Vertex AI has,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference.

In reading order:

* `names` (ids, types and tables of both directions), `models` (where the two services and the
  generations of models differ);
* building the request: `body`, `messages` (roles, signatures), `parts` (calls, results, media),
  `tools` (definitions, and how one is chosen);
* reading the response: `state`, `content` (text, thoughts, media, sources), `calls` (calls, and
  which of their native fields go back), `finish` (response info, usage, finish reason), `stream`.
"""

from functools import partial

from llmcore.protocols.gemini import body, finish, names, stream
from llmcore.protocols.gemini.models import GEMINI_API, VERTEX, GeminiDialect, rules_of
from llmcore.protocols.gemini.names import METADATA_KEY, PROTOCOL_ID, GeminiBody
from llmcore.protocols.gemini.state import GeminiState
from llmcore.protocols.gemini.stream import Event
from llmcore.protocols.protocol import BodyBuilder, Protocol, StreamMachine


def make(dialect: GeminiDialect) -> Protocol[GeminiBody, Event, GeminiState]:
    """Return the protocol as services of *dialect* speak it."""
    return Protocol(
        id=PROTOCOL_ID,
        api=names.API_NAME,
        path="generatecontent",
        prompt=("tools", "toolConfig", "systemInstruction", "system_instruction", "contents"),
        is_own=stream.is_own,
        advice="use Google(base_url=...)",
        family="google",
        metadata_key=METADATA_KEY,
        hides_reasoning=True,
        tool_names=names.TOOL_NAMES,
        framings=("sse", "ndjson", "aws-event-stream", "json-array"),
        operation="generate_content",
        count_tokens=body.COUNTING if dialect.counts_whole_requests else body.COUNTING_ON_VERTEX,
        hosted_kinds=frozenset({"web_search", "web_fetch", "code_execution"}),
        prefills=lambda model_id: rules_of(model_id).prefill,
        body=BodyBuilder(build=partial(body.from_request, dialect=dialect)),
        stream=StreamMachine(
            decode=stream.decode,
            initial=stream.initial,
            step=stream.step,
            halt=stream.halt,
            terminal=stream.terminal,
            usage=finish.stated_usage,
            fast_reader=stream.fast_reader,
            one_text=partial(finish.one_text, fast_reader=stream.fast_reader),
            deltas=stream.DELTAS,
        ),
        whole=stream.whole,
        skim=finish.skim,
        rest=finish.rest_request,
    )


protocol = make(GEMINI_API)

__all__ = [
    "GEMINI_API",
    "VERTEX",
    "GeminiBody",
    "make",
    "protocol",
]
