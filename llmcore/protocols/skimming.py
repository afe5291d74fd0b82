"""Reading a whole answer without its content, for a gateway that passes the bytes on.

    {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4.1", "choices": [{"index": 0,
     "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
     "usage": {"prompt_tokens": 7, "completion_tokens": 1}}

`Protocol.skim` returns the beginning and the end of such an answer: the model, the id, the finish
reason and the usage. These are what `Protocol.whole` returns, at a third of the cost. A document
with anything that could be an error, or mean more, is not plain, and has to be read whole: an
unknown kind of content, a nested value, a count that is missing.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from llmcore.protocols.answering import finish_events
from llmcore.schema.events import FinishReason, LLMEvent, StreamStart
from llmcore.schema.json import (
    MAX_DEPTH,
    JsonObject,
    JsonValue,
    ProviderMetadata,
    objects,
    str_or_none,
)
from llmcore.schema.request import LLMRequest
from llmcore.schema.usage import Usage

_SCALARS: Final = frozenset({str, bool, type(None)})
"""Without numbers: there are some that our values cannot hold."""
_BRACKET: Final = re.compile(r"[\[{]")
_LARGE_NUMBER: Final = re.compile(r"[0-9]{16}|[0-9][eE]")


def skimmed(
    protocol_id: str,
    request: LLMRequest,
    document: JsonObject,
    *,
    model: object,
    response_id: object,
    reason: FinishReason,
    usage: Usage,
    metadata: ProviderMetadata,
    reasoned: bool,
    begun: Usage | None = None,
) -> tuple[LLMEvent, ...] | None:
    """Return the beginning and the end of the answer in *document*; None without its counts.

    One that has *reasoned* needs the count of that, too: it would be estimated from the text.
    *begun* is the usage that the beginning states.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if reasoned and usage.reasoning_tokens is None:
        return None
    start = StreamStart(
        provider=request.provider_id,
        model=str_or_none(model) or request.model_id,
        id=str_or_none(response_id),
        protocol=protocol_id,
        usage=begun,
    )
    return (start, *finish_events(reason, usage, metadata, document))


def all_objects(value: JsonValue) -> list[dict[str, Any]] | None:
    """Return a list whose values are all objects; None for anything else."""
    found = objects(value)
    return found if isinstance(value, list) and len(found) == len(value) else None


def has_only(native: Mapping[str, Any], others: Iterable[str] = ()) -> bool:
    """Return whether the fields of *native* are texts, flags or null, but for *others*."""
    return all(type(value) in _SCALARS or name in others for name, value in native.items())


def are_plain_arguments(arguments: JsonValue) -> bool:
    """Return whether a call's arguments are a text whose values every value of ours can hold."""
    if type(arguments) is not str:
        return False
    return len(_BRACKET.findall(arguments)) < MAX_DEPTH and _LARGE_NUMBER.search(arguments) is None
