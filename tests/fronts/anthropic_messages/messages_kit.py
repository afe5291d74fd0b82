"""Requests and responses through the Messages front, and everything that must hold of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anthropic
import httpx2

from llmcore.fronts.anthropic_messages import ReadMessagesRequest, front, grammar
from llmcore.fronts.errors import FrontError, from_llm_error
from llmcore.fronts.front import ClientRequest, ReadRequest, ResponseIdentity, Upstream
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.protocols.anthropic_messages import contract
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema import json
from llmcore.schema.errors import LLMError
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Success
from llmcore.testing import decode_recorded
from tests.support.upstreams import numbered_ids, upstream_of

SEALER = Sealer(b"a key of the tests")
HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
ASK: dict[str, Any] = {"model": "claude-client", "max_tokens": 1000}
MESSAGES = "anthropic-messages"
CHAT = "openai-chat"
RESPONSES = "openai-responses"
GEMINI = "gemini"
BEDROCK = "bedrock-converse"
PROVIDERS = {
    MESSAGES: ("claude-opus-4-6", "anthropic"),
    CHAT: ("test-model", "acme"),
    RESPONSES: ("gpt-5.2", "openai"),
    GEMINI: ("gemini-3-pro", "google"),
    BEDROCK: ("anthropic.claude-opus-4-6-v1:0", "bedrock"),
}


def upstream(protocol_id: str = CHAT, **policy: Any) -> Upstream:
    """Return an upstream that speaks *protocol_id*."""
    return upstream_of(
        protocol_id,
        Model(*PROVIDERS[protocol_id]),
        policy=TranslationPolicy(**policy),
        sealer=SEALER,
        new_id=numbered_ids(),
    )


# -- requests


def asked(body: Mapping[str, Any], path: str = "/v1/messages", **headers: str) -> ClientRequest:
    """Return a request as a server gets it; *body* needs only what it is about."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ClientRequest(body={**ASK, "messages": [HELLO], **body}, path=path, headers=named)


def read(
    body: Mapping[str, Any], protocol_id: str = CHAT, *, path: str = "/v1/messages", **policy: Any
) -> ReadMessagesRequest:
    """Return what *body* is read as; the test fails if it is refused."""
    return read_asked(asked(body, path), protocol_id, **policy)


def read_asked(
    request: ClientRequest, protocol_id: str = CHAT, **policy: Any
) -> ReadMessagesRequest:
    """Return what a request is read as; the test fails if it is refused."""
    result = front.read(request, upstream(protocol_id, **policy))
    assert isinstance(result, Success), result
    made: ReadMessagesRequest = result.unwrap()
    return made


def refused(body: Mapping[str, Any], protocol_id: str = CHAT, **policy: Any) -> FrontError:
    """Return why *body* is refused."""
    result = front.read(asked(body), upstream(protocol_id, **policy))
    assert isinstance(result, Failure), result
    error: FrontError = result.failure()
    return error


def messages_of(*natives: Any, protocol_id: str = CHAT) -> tuple[Message, ...]:
    """Return the messages that native ones are read as."""
    return read({"messages": list(natives)}, protocol_id).request.messages


def codes(made: ReadRequest) -> list[str]:
    """Return the codes of what reading reports."""
    return [diagnostic.code for diagnostic in made.diagnostics]


def built(request: LLMRequest, protocol_id: str) -> dict[str, Any]:
    """Return the body that the upstream gets."""
    made = protocol_by_id(protocol_id).body.build(request, False)
    assert isinstance(made, Success), made
    body: dict[str, Any] = json.loads(json.dumps(made.unwrap().body))  # type: ignore[assignment]
    return body


# -- responses


class Written:
    """A response that has ended, and all that was written of it."""

    def __init__(
        self, events: Iterable[LLMEvent], context: ReadMessagesRequest | None = None
    ) -> None:
        info = ResponseIdentity(id="msg_1", created_at=0, model="claude-client")
        self.writer = front.writer(info, context or ReadMessagesRequest(), upstream())
        self.events: list[dict[str, Any]] = list(self.writer.start())
        self.batches: list[Sequence[dict[str, Any]]] = []
        for event in events:
            self.batches.append(self.writer.feed(event))
            self.events += self.batches[-1]
        self.events += self.writer.close()

    @property
    def failed(self) -> bool:
        """Whether the response ended with an error."""
        return self.writer.error is not None

    @property
    def whole(self) -> dict[str, Any]:
        """The message as one object."""
        made: dict[str, Any] = json.loads(json.dumps(self.writer.whole()))  # type: ignore[assignment]
        return made

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of the message."""
        blocks: list[dict[str, Any]] = self.whole["content"]
        return blocks

    @property
    def types(self) -> list[str]:
        """The types of the blocks."""
        return [block["type"] for block in self.content]

    @property
    def body(self) -> bytes:
        """The stream as it is sent."""
        return b"".join(map(front.encoding(asked({})).encode, self.events))

    @property
    def end(self) -> dict[str, Any]:
        """The last `message_delta`."""
        return [event for event in self.events if event["type"] == "message_delta"][-1]

    def echo(self) -> dict[str, Any]:
        """Return the message as a client sends it back."""
        return {"role": "assistant", "content": self.content}


def written(
    events: Iterable[LLMEvent], context: ReadMessagesRequest | None = None, *, checked: bool = True
) -> Written:
    """Return the response of *events*, checked against the grammar and the contract."""
    made = Written(events, context)
    assert grammar.violations(made.events) == []
    if checked:
        read_events = [contract.read_event(event) for event in made.events]
        contract.check_sequence(read_events) if not made.failed else None
        if not made.failed:
            contract.read_response(made.whole)
    return made


def decoded(body: bytes, *, streaming: bool) -> LLMResponse | LLMError:
    """Return what our own protocol reads out of a response."""
    kind = "text/event-stream" if streaming else "application/json"
    result = decode_recorded(
        MESSAGES, status=200, headers={"content-type": kind}, body=body, streaming=streaming
    )
    return result.unwrap() if isinstance(result, Success) else result.failure()


def failure_body(error: LLMError) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Return status, body and headers of the response to a request that failed with *error*."""
    made = front.error(from_llm_error(error))
    return made.status, dict(made.body), made.headers


# -- Anthropic's own client


def sdk(status: int, headers: Mapping[str, str], body: bytes) -> anthropic.Anthropic:
    """Return the client of the vendor, whose server answers with *body*, strictly validated."""
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(status, headers=dict(headers), content=body)
    )
    return anthropic.Anthropic(
        api_key="k",
        base_url="http://front",
        http_client=httpx2.Client(transport=transport),
        max_retries=0,
        _strict_response_validation=True,
    )


SDK_ASK: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}


def sdk_stream(body: bytes) -> anthropic.types.Message:
    """Return the message that the vendor's client adds up from a stream."""
    client = sdk(200, {"content-type": "text/event-stream"}, body)
    with client.messages.stream(**SDK_ASK) as stream:
        for _ in stream:
            pass
        return stream.get_final_message()


def sdk_whole(message: Mapping[str, Any]) -> anthropic.types.Message:
    """Return the message that the vendor's client reads."""
    client = sdk(200, {"content-type": "application/json"}, json.dumps(message))
    made: anthropic.types.Message = client.messages.create(**SDK_ASK)
    return made
