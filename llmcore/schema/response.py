"""The neutral response."""

from attrs import field

from llmcore.schema.content import ToolCallPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import FinishReason, Source
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import json_hints, with_hints
from llmcore.schema.json import JsonValue, ProviderMetadata, dumps, plain_metadata
from llmcore.schema.messages import Message
from llmcore.schema.pydantic_hooks import for_pydantic
from llmcore.schema.usage import RateLimitInfo, Usage


def _usage(given: Usage | None) -> Usage:
    """Return *given*, or an empty usage in place of None, which events have for an unknown one."""
    return Usage() if given is None else given


@with_hints(
    choices="the text is `.text`, the message `.message`",
    content="the text is `.text`, the parts are `.message.content`",
    output_text="the text is `.text`",
    candidates="the text is `.text`",
    usage_metadata="write `.usage`",
    logprobs="they are of each part: `.message.content[0].logprobs`",
    **json_hints("response"),
)
@for_pydantic
@frozen(kw_only=True)
class LLMResponse:
    """The assistant's message, with its finish reason, usage and cost.

    In a partial response, which has no end, the finish reason is `other` without `raw`.
    """

    message: Message
    """The response."""
    finish_reason: FinishReason
    """Why the model stopped."""
    provider: str
    """The id of the provider that answered."""
    model: str
    """The model that answered, as the provider names it."""
    id: str | None = None
    """The provider's id of the response."""
    usage: Usage = field(default=Usage(), converter=_usage)
    """Fields that the provider did not report are None: all of them, if it reported nothing."""
    cost: float | None = field(default=None, eq=False)
    """US dollars, as the provider states them or from the list price of the tokens; None if neither
    is known. Set by clients; responses folded without a client have None."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Everything that was left out, changed or added."""
    sources: tuple[Source, ...] = ()
    """The sources that the response is based on."""
    rate_limit: RateLimitInfo | None = None
    """The remaining rate limits, if the provider states them."""
    request_id: str | None = None
    """The provider's id of the request, for its support."""
    provider_metadata: ProviderMetadata = field(factory=dict, converter=plain_metadata)
    """Native data of the provider that is kept for later requests, by provider."""
    raw: JsonValue = field(default=None, eq=False, repr=False)
    """The native response if it was not streamed; for streams see `Finish.raw`."""

    def _repr_markdown_(self) -> str | None:
        """Return what a notebook renders: the text, or the calls; None shows the repr."""
        from llmcore.schema.notebooks import as_markdown, code  # only notebooks need it

        calls = (code(f"{call.name}({dumps(call.arguments).decode()})") for call in self.tool_calls)
        return as_markdown(self.text) or "\n\n".join(calls) or None

    @property
    def text(self) -> str:
        """The texts of the message, joined without a separator; empty if it has none."""
        return self.message.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning texts, joined; None without reasoning."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls that the caller must run, in order."""
        return self.message.tool_calls
