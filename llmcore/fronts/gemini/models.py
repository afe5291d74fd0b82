"""Lists of models and counts of tokens, in Google's form; and how streams are sent.

Sources, read November 2026: https://ai.google.dev/api/models, https://ai.google.dev/api/tokens;
for streams, which are a JSON array unless `alt=sse` asks for events, the transports of the SDKs,
`google-genai` (`_api_client`) and `@google/genai`.

    {"models": [{"name": "models/m", "displayName": "m", "inputTokenLimit": 1048576,
                 "outputTokenLimit": 65536,
                 "supportedGenerationMethods": ["generateContent", "countTokens"]}],
     "nextPageToken": "50"}

Vertex AI's list, by https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/publishers.models:

    {"publisherModels": [{"name": "publishers/google/models/m", "versionId": "m"}]}
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import evolve

from llmcore.fronts.encoding import EVENT_STREAM, data_event, json_line
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import ClientRequest, Event, FailureResponse, ListedModel, StreamEncoding
from llmcore.schema.json import JsonObject, present

# -- models

_PAGE: Final = 50
_MAX_PAGE: Final = 1000
_METHODS: Final = ("generateContent", "streamGenerateContent", "countTokens")


def models(listed: Sequence[ListedModel], query: Mapping[str, str]) -> JsonObject:
    """Return the page of the list that `pageSize` and `pageToken` ask for.

    Raises FrontError for invalid values.
    """
    page, more = _page(listed, query)
    return {"models": [model(entry) for entry in page], **more}


def publisher_models(listed: Sequence[ListedModel], query: Mapping[str, str]) -> JsonObject:
    """Return the page of the list as Vertex AI states it.

    Raises FrontError for invalid values.
    """
    page, more = _page(listed, query)
    return {"publisherModels": [publisher_model(entry) for entry in page], **more}


def _page(
    listed: Sequence[ListedModel], query: Mapping[str, str]
) -> tuple[Sequence[ListedModel], JsonObject]:
    """Return the entries of one page, and the token of the next."""
    size = _number(query, "pageSize", "page_size") or _PAGE
    start = _number(query, "pageToken", "page_token")
    end = start + min(size, _MAX_PAGE)
    return listed[start:end], ({"nextPageToken": str(end)} if end < len(listed) else {})


def _number(query: Mapping[str, str], *names: str) -> int:
    text = next((query[name] for name in names if query.get(name)), "0")
    if not text.isdecimal() or len(text) > len(str(_MAX_PAGE)) * 2:
        raise invalid(
            f"{names[0]} is {text[:40]!r}, which is not a number that this list takes.", names[0]
        )
    return int(text)


def model(listed: ListedModel) -> JsonObject:
    """Return one model."""
    limits = {
        "inputTokenLimit": listed.max_input_tokens,
        "outputTokenLimit": listed.max_output_tokens,
    }
    return {
        "name": f"models/{listed.id}",
        "baseModelId": listed.id,
        "version": listed.id,
        "displayName": listed.id,
        "description": f"{listed.id} of {listed.owner}",
        **present(limits),
        "supportedGenerationMethods": list(_METHODS),
    }


def publisher_model(listed: ListedModel) -> JsonObject:
    """Return one model as Vertex AI states it."""
    return {"name": f"publishers/google/models/{listed.id}", "versionId": listed.id}


def token_count(count: int) -> JsonObject:
    """Return the response to `countTokens`."""
    return {"totalTokens": count}


# -- streams


def encoding(request: ClientRequest) -> StreamEncoding:
    """Return how a stream is sent: as events for `alt=sse`, else as one JSON array."""
    if _takes_events(request):
        client = request.headers.get("x-goog-api-client", "")
        is_older = client != "" and _NEWEST_CLIENT not in client
        bare = is_older or _READS_BARE_ERRORS.search(client) is not None
        return StreamEncoding(
            content_type=EVENT_STREAM,
            encode=_with_bare_errors if bare else data_event,
            heartbeat=b"" if is_older else _BLANK,
            error_alone=bare,
        )
    return StreamEncoding(
        content_type="application/json; charset=utf-8",
        encode=_array_encoder(),
        heartbeat=_BLANK,
        tail=b"]",
    )


def error_change(request: ClientRequest) -> Callable[[FailureResponse], FailureResponse] | None:
    """Return a function that puts an error into a list, for a stream that is one JSON array.

    Google's servers send it so, and clients that read the array's elements look for it there.
    """
    return _in_list if _takes_array(request) else None


def _in_list(failure: FailureResponse) -> FailureResponse:
    return evolve(failure, in_list=True)


def can_relay(request: ClientRequest, _provider: str) -> bool:
    """Return whether the client reads a stream as events, which upstreams are asked for."""
    return not _takes_array(request)


def _takes_array(request: ClientRequest) -> bool:
    is_stream = request.path.rstrip("/").endswith(":streamGenerateContent")
    return is_stream and not _takes_events(request)


def _takes_events(request: ClientRequest) -> bool:
    return request.query.get("alt", "").lower() == "sse"


_BLANK: Final = b"\n"
"""The only bytes that may come between events: `google-genai` rejects comments."""


_NEWEST_CLIENT: Final = "google-genai-sdk/"
"""How all versions of the Gen AI SDKs name themselves.

Google's other clients for JavaScript are older, or copies of the older one: `genai-js/0.24.1`
(`@google/generative-ai`, which LangChain and n8n contain), `genkit-node/1.42.0 gl-node/20.20.2`,
`gl-js/2.3.0 fire/2.3.0` (Firebase). They read no event after anything else than an event, so that
nothing may come between events, and raise the end of a stream that they cannot read as an event.
"""
_READS_BARE_ERRORS: Final = re.compile(rf"{_NEWEST_CLIENT}[12]\..* gl-node")
"""Of the Gen AI SDKs, those that raise a stream's error only where it comes without `data:`.

`@google/genai` before its version 3, of which Gemini CLI contains a copy. It states its version as
`google-genai-sdk/1.30.0 gl-node/v20.20.2`. It looks for an error in what it reads from the network
at once: one that arrives together with an event is an "Incomplete JSON segment" for it.
"""


def _with_bare_errors(event: Event) -> bytes:
    """Return a chunk as an event, and an error as a bare line."""
    return json_line(event) + b"\n" if "error" in event else data_event(event)


def _array_encoder() -> Callable[[Event], bytes]:
    """Return the encoder of one array's elements; an error closes the array, as no tail follows."""
    before = b"["

    def encode(event: Event) -> bytes:
        nonlocal before
        written = before + json_line(event) + (b"]" if "error" in event else b"")
        before = b",\n"
        return written

    return encode
