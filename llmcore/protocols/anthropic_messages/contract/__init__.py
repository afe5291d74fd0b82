"""The contract of Anthropic's Messages API as strict values: requests, responses, stream events.

Modules in reading order: `sources`, `blocks`, `request` (with its tools), `response` (whole and
streamed, and the rules of a stream), `codec` (JSON in and out, and the strict and the tolerant mode
of reading).

    request = contract.read_request(body)                 # InvalidRequestError names each path
    response = contract.read_response(document)           # StreamError
    event = contract.read_event(data, tolerant=True)      # also what is newer than the contract
    contract.check_sequence(events)                       # StreamError: event 3 is out of place

The protocol itself builds and reads plain JSON and does not need these values.
"""

from llmcore.protocols.anthropic_messages.contract.codec import (
    read_event,
    read_request,
    read_response,
    write,
)
from llmcore.protocols.anthropic_messages.contract.request import InputMessage, MessagesRequest
from llmcore.protocols.anthropic_messages.contract.response import (
    MessagesResponse,
    MessagesUsage,
    SequenceChecker,
    StreamEvent,
    check_sequence,
)
from llmcore.protocols.anthropic_messages.contract.sources import CacheControl, Raw

__all__ = [
    "CacheControl",
    "InputMessage",
    "MessagesRequest",
    "MessagesResponse",
    "MessagesUsage",
    "Raw",
    "SequenceChecker",
    "StreamEvent",
    "check_sequence",
    "read_event",
    "read_request",
    "read_response",
    "write",
]
