"""The Messages API as values: request, response and stream events, with their JSON codec.

Modules in reading order: `shapes` (what all share), `citations`, `sources`, `blocks`, `tools`,
`request`, `codec` (JSON in and out), `strict` (what it reads unless told to be tolerant); and
for answers `response`, `events`, `answer_codec`, `sequence` (the rules of a stream). The protocol
itself reads answers without building these values, so what belongs to answers is imported when
it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmcore.protocols.anthropic_messages.types.codec import (
    read_citation,
    read_field,
    read_request,
    read_tool,
    write,
    write_field,
)
from llmcore.protocols.anthropic_messages.types.request import Message, Request
from llmcore.protocols.anthropic_messages.types.shapes import CacheControl, Raw

if TYPE_CHECKING:
    from llmcore.protocols.anthropic_messages.types.answer_codec import read_event, read_response
    from llmcore.protocols.anthropic_messages.types.response import Response, Usage
    from llmcore.protocols.anthropic_messages.types.sequence import (
        SequenceChecker,
        check_sequence,
    )

_OF_ANSWERS = {
    "Response": "response",
    "SequenceChecker": "sequence",
    "Usage": "response",
    "check_sequence": "sequence",
    "read_event": "answer_codec",
    "read_response": "answer_codec",
}


def __getattr__(name: str) -> Any:
    """Return what belongs to answers from the module that holds it."""
    module = _OF_ANSWERS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


__all__ = [
    "CacheControl",
    "Message",
    "Raw",
    "Request",
    "Response",
    "SequenceChecker",
    "Usage",
    "check_sequence",
    "read_citation",
    "read_event",
    "read_field",
    "read_request",
    "read_response",
    "read_tool",
    "write",
    "write_field",
]
