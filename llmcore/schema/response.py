"""A whole answer."""

from attrs import field, frozen

from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason, Source
from llmcore.schema.json import JsonValue, ProviderMetadata, plain_metadata
from llmcore.schema.messages import Message
from llmcore.schema.usage import RateLimitInfo, Usage


@frozen(kw_only=True)
class LLMResponse:
    """What came back: the assistant's message, why it ended, and what it cost.

    In a partial response, whose end never came, the finish reason is `other` with no `raw`.
    """

    message: Message
    finish_reason: FinishReason
    provider: str
    model: str
    id: str | None = None
    usage: Usage | None = None
    cost: float | None = field(default=None, eq=False)
    """US dollars: what the provider states, or else the list price of the tokens; None if neither
    is known. A client puts it down; what is folded without one has none."""
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: tuple[Source, ...] = ()
    rate_limit: RateLimitInfo | None = None
    request_id: str | None = None
    provider_metadata: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native response document; None for streams that have none."""

    @property
    def text(self) -> str:
        """All text, joined with nothing between; empty if there is none."""
        return self.message.text

    @property
    def reasoning(self) -> str | None:
        """All reasoning text, joined; None if no reasoning came."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls the caller is to run, in order."""
        return self.message.tool_calls
