"""What is kept of a conversation between requests.

The messages as the upstream sees them, with all opaque data, and the tools that their calls
mean. Instructions are no part of it: each request brings its own.
"""

from attrs import field, frozen

from llmcore.bridge.fronts.tool_registry import ToolEntry
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Message


@frozen(kw_only=True)
class Conversation:
    """All that was said up to a response, that response included."""

    model: str
    """The model's name as the client said it."""
    messages: tuple[Message, ...]
    tools: tuple[ToolEntry, ...] = field(default=())
    """What the functions mean that the messages call."""

    def to_json(self) -> JsonValue:
        """Return the conversation as JSON data, for a store."""
        return to_json(self)

    @classmethod
    def from_json(cls, data: JsonValue) -> "Conversation":
        """Return the conversation that *data* spells; InvalidRequestError if it spells none."""
        return from_json(cls, data)
