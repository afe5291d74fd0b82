"""Requests through the gateway's pure half, with everything that must hold of what it writes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llmcore.fronts.encoding import named_event
from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest, ResponseIdentity, Upstream
from llmcore.fronts.openai_responses import grammar
from llmcore.fronts.openai_responses.request import ReadResponsesRequest, read_request
from llmcore.fronts.openai_responses.response import ResponsesWriter
from llmcore.fronts.openai_responses.state import StoredContext, StoredConversation
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema.content import ReasoningPart
from llmcore.schema.events import LLMEvent
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.result import Failure, Success
from tests.fronts.openai_responses.openai_types import check_event, check_response
from tests.support import upstreams

MODEL = Model("test-model", "acme")
SEALER = Sealer(b"a key of the tests")
ASK: dict[str, Any] = {"model": "client-model", "input": "Hello"}
ENCRYPTED = {"include": ["reasoning.encrypted_content"], "store": False}


def translated(
    body: Mapping[str, Any],
    *,
    previous: StoredConversation | None = None,
    items: Mapping[str, Any] | None = None,
    policy: TranslationPolicy | None = None,
    protocol_id: str | None = "openai-chat",
    sealer: Sealer = SEALER,
) -> ReadResponsesRequest:
    """Return what *body* asks for; the test fails if it is refused."""
    result = read_request(
        ClientRequest(body={"model": "client-model", **body}),
        upstream_of(protocol_id, policy, sealer),
        StoredContext(previous=previous, find_item=(items or {}).get),
    )
    assert isinstance(result, Success), result
    return result.unwrap()


def upstream_of(
    protocol_id: str | None = "openai-chat",
    policy: TranslationPolicy | None = None,
    sealer: Sealer = SEALER,
) -> Upstream:
    """Return an upstream that speaks a protocol."""
    return upstreams.upstream_of(
        protocol_id, MODEL, policy=policy, sealer=sealer, new_id=upstreams.numbered_ids()
    )


def refused(body: Mapping[str, Any], **options: Any) -> FrontError:
    """Return why *body* is refused."""
    result = read_request(
        ClientRequest(body={"model": "client-model", **body}),
        upstream_of(options.pop("protocol_id", "openai-chat"), options.pop("policy", None)),
        StoredContext(previous=options.pop("previous", None)),
    )
    assert isinstance(result, Failure), result
    error: FrontError = result.failure()
    return error


def asked(input_: Any, **fields: Any) -> ReadResponsesRequest:
    """Return the translation of a request with this input."""
    return translated({"input": input_, **fields})


def messages_of(*items: Any, **options: Any) -> tuple[Message, ...]:
    """Return the messages that input items become."""
    return translated({"input": list(items)}, **options).messages


def codes(translation: ReadResponsesRequest) -> list[str]:
    """Return the codes of a translation's diagnostics."""
    return [diagnostic.code for diagnostic in translation.diagnostics]


# -- folding


class Folded:
    """A fold that has ended, and all it wrote."""

    def __init__(
        self,
        translation: ReadResponsesRequest,
        events: Iterable[LLMEvent],
        policy: TranslationPolicy | None = None,
    ) -> None:
        info = ResponseIdentity(id="resp_1", created_at=1_700_000_000, model="client-model")
        self.fold = ResponsesWriter(info, translation, upstream_of(policy=policy))
        self.events: list[dict[str, Any]] = list(self.fold.start())
        for event in events:
            self.events += self.fold.feed(event)
        self.events += self.fold.close()
        self.response: Any = self.fold.response
        self.output: list[dict[str, Any]] = list(self.fold.response["output"])  # type: ignore[arg-type]
        self.conversation = self.fold.conversation()

    @property
    def types(self) -> list[str]:
        """The events' types, without what they share."""
        return [event["type"].removeprefix("response.") for event in self.events]

    def of(self, type_: str) -> list[dict[str, Any]]:
        """Return the events of a type."""
        return [event for event in self.events if event["type"] == f"response.{type_}"]

    @property
    def body(self) -> bytes:
        """The stream as it is sent."""
        return b"".join(map(named_event, self.events))


def folded(
    events: Iterable[LLMEvent],
    translation: ReadResponsesRequest | None = None,
    *,
    strict: bool = True,
    policy: TranslationPolicy | None = None,
) -> Folded:
    """Return the Responses stream of *events*, checked against grammar and official types."""
    made = Folded(translation or translated(ASK), list(events), policy)
    assert grammar.violations(made.events) == []
    if strict:
        for event in made.events:
            check_event(event)
        check_response(made.response)
    return made


# -- the next request


def echo(items: Iterable[Mapping[str, Any]], client: str) -> list[dict[str, Any]]:
    """Return output items as *client* sends them back."""
    forms: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "codex": _codex,
        "ai-sdk": _ai_sdk,
        "openai-python": dict,
    }
    return [forms[client](dict(item)) for item in items]


def _codex(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "reasoning":
        return {**item, "content": None}
    if item["type"] in ("function_call", "custom_tool_call"):
        return {name: value for name, value in item.items() if name not in ("id", "status")}
    return item


def _ai_sdk(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] == "message":
        content = [
            {"type": "output_text", "text": part.get("text", part.get("refusal"))}
            for part in item["content"]
        ]
        return {"role": "assistant", "content": content}
    return {name: value for name, value in item.items() if name not in ("id", "status")}


def continued(
    first: Folded, client: str, *more: Any, translation: ReadResponsesRequest, **fields: Any
) -> ReadResponsesRequest:
    """Return the next request of *client*, which sends all items back."""
    items = [*map(dict, translation.input_items), *echo(first.output, client), *more]
    return translated({"input": items, **fields})


def opaque(message: Message) -> list[ReasoningPart]:
    """Return the thinking in a message."""
    return [part for part in message.content if isinstance(part, ReasoningPart)]
