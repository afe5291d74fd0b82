"""OpenAI Responses: `POST /responses`, as OpenAI, Azure, xAI, OpenRouter and others speak it.

Documents, read November 2026: https://developers.openai.com/api/reference/resources/responses,
https://developers.openai.com/api/reference/resources/responses/streaming-events, and the guides
"Conversation state", "Reasoning models", "Background mode" and those of the built-in tools.

The history is the caller's: by default nothing is stored (`store: false`), and reasoning
comes encrypted, to be sent back. Options that use the provider's memory (`previous_response_id`,
`conversation`, `background`, `store`) turn that off; then messages are only what is new.

In reading order:

* what both directions need: `names` (ids, shared words), `models` (`ResponsesDialect`: where
  servers differ), `continuation` (responses that the server keeps, continued by their ids);
* building the request: `body`, `messages`, `replay_grouping` (which items of a response go back
  together), `parts`, `tools`;
* reading the response: `state` (and where to read on after a cut), `matching` (which item an event
  belongs to), `content` (text, reasoning, audio, citations), `calls`, `call_inputs`, `finish`
  (response info, usage, finish reason), `stream`.
"""

from functools import partial

from llmcore.protocols.openai_responses import body, finish, names, stream
from llmcore.protocols.openai_responses.continuation import without_lost_response
from llmcore.protocols.openai_responses.models import COMPATIBLE, OPENAI, ResponsesDialect
from llmcore.protocols.openai_responses.names import METADATA_KEY, PROTOCOL_ID, ResponsesBody
from llmcore.protocols.openai_responses.state import ResponsesState, cursor, resume
from llmcore.protocols.openai_responses.stream import fast_reader
from llmcore.protocols.protocol import (
    BodyBuilder,
    CacheMark,
    Protocol,
    StreamMachine,
    TokenCounting,
)
from llmcore.schema.json import NativeObject


def make(dialect: ResponsesDialect) -> Protocol[ResponsesBody, NativeObject, ResponsesState]:
    """Return the protocol as servers of *dialect* speak it."""
    digest = partial(body.input_digest, dialect=dialect)
    initial = partial(stream.initial, digest=digest, custom_tools=dialect.custom_tools)
    return Protocol(
        id=PROTOCOL_ID,
        api=names.API_NAME,
        path="/responses",
        prompt=("model", "tools", "instructions", "input"),
        is_own=stream.is_own,
        advice="use OpenAI(...).responses(model)",
        usual_api="openai-chat",
        family="openai",
        batch_path="/v1/responses",
        metadata_key=METADATA_KEY,
        tool_names=names.TOOL_NAMES,
        cache_mark=CacheMark("key", "prompt_cache_key"),
        reasoning_budgets="none",
        hides_reasoning=True,
        count_tokens=TokenCounting(
            endpoint="/responses", target="/responses/input_tokens", fields=body.COUNTED
        ),
        body=BodyBuilder(
            build=partial(body.from_request, dialect=dialect), instead=without_lost_response
        ),
        stream=StreamMachine(
            decode=stream.decode,
            initial=initial,
            step=stream.step,
            fast_reader=fast_reader,
            halt=stream.halt,
            terminal=stream.terminal,
            usage=finish.stated_usage,
            one_text=partial(finish.one_text, digest=digest, fast_reader=fast_reader),
            deltas=stream.DELTAS,
            cursor=cursor,
            resume=resume,
        ),
        whole=partial(stream.whole, initial=initial),
        skim=finish.skim,
        hosted_kinds=frozenset({"web_search", "code_execution", "mcp"}),
        native_tools=dialect.custom_tools,
    )


protocol = make(OPENAI)

__all__ = [
    "COMPATIBLE",
    "OPENAI",
    "ResponsesBody",
    "ResponsesDialect",
    "ResponsesState",
    "cursor",
    "make",
    "protocol",
    "resume",
]
