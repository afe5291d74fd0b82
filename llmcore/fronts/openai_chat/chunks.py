"""The envelope of a completion: chunks of one id, model and time, and usage.

    {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
     {"index": 0, "delta": {"content": "Hel"}, "logprobs": null, "finish_reason": null}]}
    {"id": "chatcmpl-1", ..., "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5,
     "total_tokens": 12}}

Source: https://developers.openai.com/api/reference/resources/chat (streaming events), read November
2026.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

from llmcore.fronts.encoding import COMMENT_FRAME, EVENT_STREAM, data_event
from llmcore.fronts.finishing import token_counts
from llmcore.fronts.front import ClientRequest, Event, ResponseIdentity, StreamEncoding
from llmcore.fronts.openai_clients import ChatClient, UsagePlace
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.native_json import count_or_none, object_or_empty
from llmcore.schema.usage import Usage

_ENCODING: Final = StreamEncoding(
    content_type=EVENT_STREAM,
    encode=data_event,
    heartbeat=COMMENT_FRAME,
    tail=b"data: [DONE]\n\n",
)


def encoding(_asked: ClientRequest) -> StreamEncoding:
    """Return the encoding of chunks, which is the same for all requests."""
    return _ENCODING


_REPEATED: Final = ("service_tier", "system_fingerprint")
"""Fields that OpenAI repeats in every chunk. Its SDK for Python keeps the first tier, and the last
fingerprint (`openai.lib.streaming.chat`)."""


_FIELDS_OF_OPENAI: Final = frozenset({"content", "refusal", "tool_calls", "function_call"})
"""The fields of a delta that OpenAI has."""


class ChunkWriter:
    """Adds chunks to the events of one stream."""

    def __init__(
        self,
        info: ResponseIdentity,
        events: list[Event],
        client: ChatClient,
        *,
        usage_place: UsagePlace,
    ) -> None:
        self._info = info
        self._events = events
        self._client = client
        self._usage_place = usage_place
        self._frame: dict[str, Any] = {}
        self.model = info.model
        """The model's name in the completion."""
        self.fields: dict[str, JsonValue] = {}
        """Further fields of the completion, as far as they are known."""

    def head(self, kind: str) -> dict[str, Any]:
        """Return the fields with which a completion or a chunk begins.

        The SDKs of OpenRouter and Cerebras refuse one without a fingerprint.
        """
        return {
            "id": self._info.id,
            "object": kind,
            "created": self._info.created_at,
            "model": self.model,
            "system_fingerprint": "",
        }

    def write(self, delta: dict[str, Any], logprobs: JsonObject | None = None) -> None:
        """Add the chunk of *delta*, after one with the role if it is the first."""
        if not self._frame:
            self._open(delta)
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None}
        self._events.append({**self._frame, "choices": [choice]})

    def _open(self, first: Mapping[str, Any]) -> None:
        """Begin the message; its content is null where no text comes first.

        Before thinking, which OpenAI's chunks do not have, it is left out: clients that add up the
        texts of deltas take a missing one for an empty one, and fail at null (lagent).
        """
        head = self.head("chat.completion.chunk")
        usage = {"usage": None} if self._usage_place == "chunk" else {}
        self._frame = {**head, "choices": [], **usage, **self._repeated()}
        if first and first.keys().isdisjoint(_FIELDS_OF_OPENAI):
            self.write({"role": "assistant", "refusal": None})
        else:
            content = "" if "content" in first else None
            self.write({"role": "assistant", "content": content, "refusal": None})

    def finish(self, reason: str, usage: Usage | None) -> None:
        """Add the chunk that ends the choice, and the tokens where the client reads them."""
        if not self._frame:
            self._open({})
        self._frame |= self._repeated()
        choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": reason}
        last = {**self._frame, "choices": [choice], **self.fields}
        self._events.append(last)
        counted = usage_of(usage, self._client) if self._usage_place else None
        if counted is None:
            return
        if self._usage_place == "chunk":
            self._events.append({**self._frame, "choices": [], "usage": counted})
        elif self._usage_place == "finish":
            last["usage"] = counted
        else:
            last["x_groq"] = {"id": self._info.id, "usage": counted}

    def _repeated(self) -> dict[str, JsonValue]:
        return {name: self.fields[name] for name in _REPEATED if name in self.fields}

    def fail(self, error: JsonObject) -> None:
        """Add the body of an error, which ends a stream."""
        self._events.append(dict(error))


def usage_of(usage: Usage | None, client: ChatClient) -> JsonObject | None:
    """Return `usage` for *client*; None if the upstream counted nothing.

    Input includes what was cached, output includes thinking, except for clients that add it.
    `cost` is OpenRouter's field (https://openrouter.ai/docs/use-cases/usage-accounting), and
    `prompt_cache_hit_tokens` is the one field in which DeepSeek's clients read what was cached
    (https://api-docs.deepseek.com/guides/kv_cache).
    """
    counts = token_counts(usage)
    if usage is None or counts is None:
        return None
    cost = {} if usage.cost_usd is None else {"cost": usage.cost_usd}
    cached = {"prompt_cache_hit_tokens": counts.cache_read} if counts.cache_read else {}
    apart = counts.reasoning if client.adds_thinking else 0
    return {
        "prompt_tokens": counts.input,
        "completion_tokens": counts.output - apart,
        "total_tokens": counts.input + counts.output,
        "prompt_tokens_details": {
            **_details(usage, "prompt_tokens_details"),
            "cached_tokens": counts.cache_read,
            "cache_write_tokens": counts.cache_write,
        },
        "completion_tokens_details": {
            **_details(usage, "completion_tokens_details"),
            "reasoning_tokens": counts.reasoning,
        },
        **cached,
        **cost,
    }


_DETAILS: Final = frozenset(
    {"accepted_prediction_tokens", "audio_tokens", "image_tokens"}
    | {"rejected_prediction_tokens", "text_tokens"}
)
"""Counts of the API that have no neutral name."""


def _details(usage: Usage, name: str) -> dict[str, Any]:
    """Return the counts that an upstream of the same API states in its object *name*."""
    stated = object_or_empty(object_or_empty(usage.raw).get(name))
    counts = {key: count_or_none(stated[key]) for key in sorted(_DETAILS & stated.keys())}
    return {key: count for key, count in counts.items() if count}


# -- several choices, each of which was written as the response of its own


def as_choice(index: int, chunk: Event) -> Event:
    """Return a chunk, or a completion, as that of the choice *index*."""
    return {**chunk, "choices": [{**choice, "index": index} for choice in chunk["choices"]]}


def joined(responses: Sequence[Event]) -> Event:
    """Return one completion, or one chunk of usage, with the choices and tokens of *responses*.

    Tokens are added up, input included: each choice was a call of its own.
    """
    choices = [choice for response in responses for choice in response["choices"]]
    counts = [response["usage"] for response in responses if response.get("usage")]
    usage = {"usage": reduce(_added, counts)} if counts else {}
    return {**responses[0], "choices": choices, **usage}


def _added(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sums of the numbers that two objects of the same form have."""
    total = dict(first)
    for name, value in other.items():
        if isinstance(value, Mapping):
            total[name] = _added(total.get(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
    return total
