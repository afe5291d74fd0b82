"""OpenAI Chat Completions: `POST /chat/completions`, as OpenAI and its many imitators speak it.

Documents, read November 2026: https://platform.openai.com/docs/api-reference/chat and
https://platform.openai.com/docs/api-reference/chat-streaming. Where other servers differ, the
difference is a `ChatDialect` value or a rule that holds for all; their documents are
linked beside it.

In reading order:

* what both directions need: `names` (ids, shared words), `models` (`ChatDialect`: where servers
  differ);
* building the request: `body`, `messages`, `parts`, `tools`;
* reading the response: `state` (and arguments that servers repeat), `content` (text, thinking),
  `calls`, `executed` (calls that the provider ran, citations, pages, media), `finish` (response
  info, usage, finish reason), `stream`.
"""

from functools import partial

from llmcore.protocols.openai_chat import body, finish, names, stream
from llmcore.protocols.openai_chat.models import COMPATIBLE, OPENAI, ChatDialect
from llmcore.protocols.openai_chat.names import METADATA_KEY, PROTOCOL_ID, ChatBody
from llmcore.protocols.openai_chat.state import ChatState
from llmcore.protocols.openai_chat.stream import fast_reader
from llmcore.protocols.protocol import (
    BodyBuilder,
    CacheMark,
    Protocol,
    StreamMachine,
    TokenCounting,
)
from llmcore.schema.json import NativeObject

_COUNTING = TokenCounting(endpoint="/chat/completions", target="/chat/completions/input_tokens")
_READ_TEXTS = stream.plain_texts_reader()


def make(dialect: ChatDialect) -> Protocol[ChatBody, NativeObject, ChatState]:
    """Return the protocol as servers of *dialect* speak it."""
    return Protocol(
        id=PROTOCOL_ID,
        api=names.API_NAME,
        path="/chat/completions",
        prompt=("model", "tools", "messages"),
        is_own=stream.is_own,
        advice="use OpenAI(...).chat(model) or 'openai-chat:MODEL', or OpenAICompatible",
        family="openai",
        batch_path="/v1/chat/completions",
        reranks=True,
        metadata_key=METADATA_KEY,
        tool_names=names.TOOL_NAMES,
        cache_mark=CacheMark("key", "prompt_cache_key"),
        reasoning_budgets="some",
        count_tokens=_COUNTING if dialect.counts_tokens else None,
        body=BodyBuilder(
            build=partial(body.from_request, dialect=dialect), optional=names.OPTIONAL_PARAMETERS
        ),
        stream=StreamMachine(
            decode=stream.decode,
            initial=partial(stream.initial, dialect=dialect),
            step=stream.step,
            fast_reader=fast_reader,
            halt=stream.halt,
            terminal=stream.terminal,
            usage=finish.stated_usage,
            one_text=partial(finish.one_text, dialect=dialect, read=_READ_TEXTS),
            deltas=stream.DELTAS,
        ),
        whole=partial(stream.whole, dialect=dialect),
        skim=finish.skim,
        unwrap=finish.unwrapped,
        native_tools=dialect.custom_tools,
        prefills=lambda _model_id: bool(dialect.prefill_field),
    )


protocol = make(OPENAI)

__all__ = [
    "COMPATIBLE",
    "OPENAI",
    "ChatBody",
    "ChatDialect",
    "make",
    "protocol",
]
