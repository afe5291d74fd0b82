"""Lists of models, counts of tokens, and the model of a response, in Anthropic's form.

    {"data": [{"type": "model", "id": "claude-opus-5", "display_name": "claude-opus-5",
               "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}],
     "has_more": false, "first_id": "claude-opus-5", "last_id": "claude-opus-5"}
    {"input_tokens": 2095}

Sources, read November 2026: https://platform.claude.com/docs/en/api/models/list,
https://platform.claude.com/docs/en/api/messages/count_tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Event, ListedModel
from llmcore.protocols.anthropic_messages.names import FALLBACK
from llmcore.schema.json import JsonObject, JsonValue, present
from llmcore.schema.native_json import object_or_empty, objects, str_or_none

_UNKNOWN: Final = "1970-01-01T00:00:00Z"
"""The release date of a model where none is known: the value that the API itself uses."""
_PAGE: Final = 20
_MAX_PAGE: Final = 1000


def listed_model(model: ListedModel) -> JsonObject:
    """Return one model."""
    limits = {
        "max_input_tokens": model.max_input_tokens,
        "max_tokens": model.max_output_tokens,
    }
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": _UNKNOWN,
        "lifecycle": "active",
        **present(limits),
    }


def model_list(models: Sequence[ListedModel], query: Mapping[str, str]) -> JsonObject:
    """Return the page of *models* that *query* asks for: `limit`, `after_id`, `before_id`.

    FrontError for invalid values.
    """
    limit = _limit(query.get("limit"))
    first, last = 0, len(models)
    if (after := query.get("after_id")) is not None:
        first = _place(models, after, "after_id") + 1
        more = first + limit < last
    elif (before := query.get("before_id")) is not None:
        last = _place(models, before, "before_id")
        first = max(0, last - limit)
        more = first > 0
    else:
        more = limit < last
    page = models[first : min(last, first + limit)]
    return {
        "data": [listed_model(model) for model in page],
        "has_more": more,
        "first_id": page[0].id if page else None,
        "last_id": page[-1].id if page else None,
    }


def _limit(text: str | None) -> int:
    if text is None:
        return _PAGE
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= _MAX_PAGE:
        raise invalid(f"limit: {text[:40]!r} is not a number from 1 to {_MAX_PAGE}", "limit")
    return int(text)


def _place(models: Sequence[ListedModel], name: str, param: str) -> int:
    for index, model in enumerate(models):
        if model.id == name:
            return index
    raise invalid(f"{param}: there is no model {name[:80]!r} in the list", param)


def token_count(tokens: int) -> JsonObject:
    """Return the response to a request that counts tokens."""
    return {"input_tokens": tokens}


def renamed(event: Event, name: str) -> Event | None:
    """Return a whole message, or the event that begins one, with *name* as its model; else None.

    Claude Code sends the thinking of a message back only if its model is the one that it asks for
    (seen in 2.1.332; `[1m]` at the end does not count). A whole message that another model
    completed has that one's name, which the SDKs take from the `fallback` block of a stream.
    """
    match event:
        case {"type": "message"}:
            return {**event, "model": completed_by(event.get("content")) or name}
        case {"type": "message_start", "message": dict(message)}:
            return {**event, "message": {**message, "model": name}}
    return None


def completed_by(content: JsonValue) -> str | None:
    """Return the model that the last `fallback` block in *content* names; None without one.

    Source: the `anthropic` package, 2.14.0 (`lib/streaming/_beta_messages.accumulate_event`).
    """
    fallbacks = (block for block in objects(content) if block.get("type") == FALLBACK)
    models = [str_or_none(object_or_empty(block.get("to")).get("model")) for block in fallbacks]
    return models[-1] if models else None
