"""From events to the chunks of a stream, and to the completion that they add up to.

Sources, read November 2026: https://developers.openai.com/api/reference/resources/chat, and how the
`openai` package adds chunks up (`lib.streaming._deltas`): strings are joined and entries of lists
are found by their `index`, so that names, ids and kinds must come once.
"""

from collections.abc import Mapping
from typing import Final

from llmcore.fronts.errors import from_llm_error
from llmcore.fronts.finishing import finish_kind
from llmcore.fronts.front import FrontWriter, ResponseIdentity, Upstream
from llmcore.fronts.openai_chat.chunks import usage_of
from llmcore.fronts.openai_chat.output import ChatOutput
from llmcore.fronts.openai_chat.request import ReadChatRequest
from llmcore.fronts.openai_clients import stream_error
from llmcore.fronts.openai_forms import CHAT_TIERS, envelope, service_tier, tier_of
from llmcore.fronts.places import with_place
from llmcore.protocols.openai_chat.names import FINISH_REASONS, METADATA_KEY, PROTOCOL_ID
from llmcore.schema.errors import LLMError
from llmcore.schema.events import Finish, FinishReason, StreamStart
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import object_or_empty, str_or_none

_WORDS: Final[Mapping[str, str]] = {
    **{kind: word for word, kind in reversed([*FINISH_REASONS.items()])},
    "other": "stop",
}
"""`finish_reason` by our kinds: of several words, OpenAI's own."""


class ChatWriter(FrontWriter):
    """Writes one completion."""

    _protocol_id = PROTOCOL_ID
    _facts = frozenset({"moderation"})
    _tiers = CHAT_TIERS

    def __init__(
        self, info: ResponseIdentity, request: ReadChatRequest, upstream: Upstream
    ) -> None:
        self._output = ChatOutput(info, request, upstream)
        super().__init__(request, self._output)
        self._chunks = self._output.chunks
        self._legacy = request.legacy
        self._messages = request.request.messages
        self._client = request.client
        self._reason = ""

    @property
    def sealed_calls(self) -> Mapping[str, str]:
        """The state of the whole response, also of one that failed."""
        states = self._output.sealed_calls()
        if not self._legacy:
            return states
        return with_place(states, self._output.record.shown, self._messages)

    def whole(self) -> JsonObject:
        """Return the completion, once the response has ended without an error."""
        usage = usage_of(self.usage, self._client)
        choice: JsonObject = {
            "index": 0,
            "message": self._output.message(),
            "logprobs": self._output.logprobs(),
            "finish_reason": self._reason,
        }
        return {
            **self._chunks.head("chat.completion"),
            "choices": [choice],
            **({} if usage is None else {"usage": usage}),
            **self._chunks.fields,
        }

    def _begin_response(self, event: StreamStart) -> None:
        self._chunks.model = self._chunks.model or event.model
        if tier := tier_of(event.usage, CHAT_TIERS):
            self._chunks.fields["service_tier"] = tier

    def _end_response(self, event: Finish) -> None:
        kind = finish_kind(event.finish_reason, called=self._output.called)
        if kind == "error":
            self._fail_by_reason(event)
            return
        self._reason = self._word(kind, event.finish_reason)
        self._output.end()
        self._chunks.fields |= {**_known_fields(event), **self._output.found_pages()}
        self._chunks.finish(self._reason, self.usage)
        self._cut = self._reason in ("length", "content_filter")
        self.ended = True

    def _word(self, kind: str, reason: FinishReason) -> str:
        """Return `finish_reason`."""
        if kind == "other":
            self._note_reason("choices[0].finish_reason", reason)
        if kind == "tool_calls" and self._legacy:
            return "function_call"
        return _WORDS[kind]

    def _write_failure(self, error: LLMError) -> None:
        failure = from_llm_error(error)
        if self._client.error == "status":
            self._chunks.fail(stream_error(failure, self._chunks.head("chat.completion.chunk")))
        else:
            self._chunks.fail(envelope(failure))


def _known_fields(event: Finish) -> dict[str, JsonValue]:
    """Return the fields of a completion that only OpenAI has, where the upstream sent them."""
    native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
    tier = service_tier(event, CHAT_TIERS)
    build = str_or_none(native.get("system_fingerprint"))
    moderation = _moderation(object_or_empty(native.get("moderation")))
    return {
        **({"service_tier": tier} if tier else {}),
        **({} if build is None else {"system_fingerprint": build}),
        **({"moderation": moderation} if moderation.keys() == {"input", "output"} else {}),
    }


def _moderation(native: JsonObject) -> dict[str, JsonValue]:
    """Return the moderation of input and output, whose results are a list here, unlike Responses.

    Responses: {"type": "moderation_result", "model": "omni-moderation", "flagged": false, ...}
    here: {"type": "moderation_results", "model": "omni-moderation", "results": [{...}]}
    """
    results = {name: object_or_empty(value) for name, value in native.items()}
    return {
        name: {"type": "moderation_results", "model": value.get("model"), "results": [value]}
        if value.get("type") == "moderation_result"
        else value
        for name, value in results.items()
    }
