"""Responses written by the Chat front, with everything that must hold of all of them."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import httpx2
from openai import OpenAI
from openai.lib.streaming.chat._completions import ChatCompletionStreamState
from openai.types.chat import ChatCompletion

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, ResponseIdentity, Upstream
from llmcore.fronts.opaque_state import KeptState
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_chat.grammar import violations
from llmcore.fronts.openai_chat.request import ReadChatRequest
from llmcore.fronts.openai_chat.response import ChatWriter
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.testing import decode_recorded
from tests.support import upstreams

MODEL = Model("test-model", "acme")
SEALER = Sealer(b"a key of the tests")
PROMPT = {"role": "user", "content": "Hello"}


def upstream_of(
    protocol_id: str | None = "openai-chat",
    policy: TranslationPolicy | None = None,
    kept_state: KeptState | None = None,
) -> Upstream:
    """Return an upstream that speaks a protocol."""
    return upstreams.upstream_of(
        protocol_id,
        MODEL,
        policy=policy,
        sealer=SEALER,
        new_id=upstreams.numbered_ids(),
        kept_state=kept_state,
    )


# -- requests


def read(
    body: Mapping[str, Any],
    *,
    protocol_id: str | None = "anthropic-messages",
    policy: TranslationPolicy | None = None,
    kept_state: KeptState | None = None,
    headers: Mapping[str, str] | None = None,
) -> ReadChatRequest:
    """Return what *body* asks for; the test fails if it is refused."""
    whole = {"model": "client-model", "messages": [PROMPT], **body}
    request = ClientRequest(body=whole, headers=headers or {})
    result = front.read(request, upstream_of(protocol_id, policy, kept_state))
    assert isinstance(result, Success), result
    value: ReadChatRequest = result.unwrap()
    return value


def refused(
    body: Mapping[str, Any],
    *,
    protocol_id: str = "anthropic-messages",
    policy: TranslationPolicy | None = None,
) -> FrontError:
    """Return why *body* is refused."""
    whole = {"model": "client-model", "messages": [PROMPT], **body}
    result = front.read(ClientRequest(body=whole), upstream_of(protocol_id, policy))
    assert isinstance(result, Failure), result
    error: FrontError = result.failure()
    return error


def messages_of(*natives: Any, protocol_id: str = "anthropic-messages") -> tuple[Message, ...]:
    """Return the messages that native ones become."""
    return read({"messages": list(natives)}, protocol_id=protocol_id).request.messages


def codes(made: ReadChatRequest) -> list[tuple[str, str]]:
    """Return the codes and places of a request's diagnostics."""
    return [(one.code, one.path) for one in made.diagnostics]


# -- responses


class Written:
    """A response that was written to its end; its stream obeys the grammar."""

    def __init__(
        self,
        events: Iterable[LLMEvent],
        asked: Mapping[str, Any] | None = None,
        *,
        policy: TranslationPolicy | None = None,
        model: str = "client-model",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        upstream = upstream_of(policy=policy)
        context = (
            ReadChatRequest() if asked is None else read(asked, protocol_id=None, headers=headers)
        )
        info = ResponseIdentity(id="chatcmpl_1", created_at=1_700_000_000, model=model)
        self.writer = ChatWriter(info, context, upstream)
        self.chunks: list[dict[str, Any]] = [*self.writer.start()]
        for event in events:
            self.chunks += self.writer.feed(event)
        if not self.writer.ended:
            self.chunks += self.writer.close()
        assert violations(self.chunks) == []
        assert list(self.writer.close()) == []

    @property
    def failed(self) -> bool:
        """Whether the response ended with an error."""
        return self.writer.error is not None

    @property
    def body(self) -> bytes:
        """The bytes of the stream."""
        encoding = front.encoding(ClientRequest(body={}))
        tail = b"" if self.failed else encoding.tail
        return b"".join(map(encoding.encode, self.chunks)) + tail

    @property
    def whole(self) -> dict[str, Any]:
        """The completion, as JSON has it."""
        made: dict[str, Any] = json.loads(json.dumps(self.writer.whole()))
        return made

    @property
    def message(self) -> dict[str, Any]:
        """The message of the completion."""
        message: dict[str, Any] = self.whole["choices"][0]["message"]
        return message

    @property
    def deltas(self) -> list[dict[str, Any]]:
        """The deltas of all chunks."""
        return [choice["delta"] for chunk in self.chunks for choice in chunk.get("choices", ())]

    def values(self, field: str) -> list[Any]:
        """Return a field of all deltas that have it."""
        return [delta[field] for delta in self.deltas if field in delta]

    @property
    def codes(self) -> list[str]:
        """The codes of the diagnostics."""
        return [one.code for one in self.writer.diagnostics]

    def decoded(self, *, streaming: bool = True) -> Result[LLMResponse, LLMError]:
        """Return what our own protocol reads of the response."""
        kind = "text/event-stream" if streaming else "application/json"
        return decode_recorded(
            "openai-chat",
            status=200,
            headers={"content-type": kind},
            body=self.body if streaming else json.dumps(self.whole).encode(),
            streaming=streaming,
        )


# -- the vendor's SDK


_REPLY: dict[str, Any] = {"content": b"", "type": "", "status": 200}


def _serve(_request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(
        _REPLY["status"],
        headers={"content-type": _REPLY["type"]},
        content=_REPLY["content"],
    )


@cache
def _client() -> OpenAI:
    return OpenAI(
        api_key="k",
        base_url="http://front/v1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(_serve)),
        max_retries=0,
        _strict_response_validation=True,
    )


def strict_client(body: bytes, media_type: str, status: int = 200) -> OpenAI:
    """Return the vendor's client in its strict mode, whose next response is *body*."""
    _REPLY.update(content=body, type=media_type, status=status)
    return _client()


def sdk_streamed(made: Written) -> dict[str, Any]:
    """Return the completion that the SDK adds up from the stream."""
    client = strict_client(made.body, "text/event-stream")
    state = ChatCompletionStreamState()
    for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
        state.handle_chunk(chunk)
    whole: dict[str, Any] = state.current_completion_snapshot.model_dump(exclude_unset=True)
    return whole


def sdk_whole(made: Written) -> ChatCompletion:
    """Return the completion that the SDK reads of a body."""
    client = strict_client(json.dumps(made.whole).encode(), "application/json")
    return client.chat.completions.create(model="m", messages=[])


Change = Callable[[dict[str, Any]], dict[str, Any]]


def echoed(
    made: Written, change: Change = dict, *, protocol_id: str = "anthropic-messages"
) -> Message:
    """Return the response as it is read when a client sends its message back, *change*d."""
    (answer,) = messages_of(change(made.message), protocol_id=protocol_id)
    return answer
