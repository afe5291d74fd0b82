"""Policies for requests that ask for features which an upstream does not have."""

from typing import Literal

from attrs import field

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, plain_object

HostedToolPolicy = Literal["native", "drop", "error", "function"]
ChatReasoning = Literal["reasoning_content", "reasoning", "both", "none"]


@frozen(kw_only=True)
class RegisteredTool:
    """A tool type of the application's own: what the model sees of it, and how calls come back.

    A request that lists `{"type": type}` offers the model a function of this definition. Its
    calls are items `{"type": "<type>_call", "id", "call_id", "arguments", "status"}`, and
    `<type>_call_output` items with `call_id` and `output` are their results.
    """

    type: str
    description: str
    parameters: JsonObject = field(factory=dict, converter=plain_object)


@frozen(kw_only=True)
class TranslationPolicy:
    """Decisions where the two sides differ. The defaults lose nothing without a Diagnostic."""

    hosted_tools: HostedToolPolicy = "native"
    """Of tools that the provider runs: `native` offers them where the upstream's API has them and
    else leaves them out with a Diagnostic; `drop` always leaves them out; `error` refuses the
    request where the upstream's API has no such tool; `function` offers a function instead, whose
    calls are `function_call` items for the client to run."""
    custom_tools: Literal["function", "native"] = "function"
    """Of freeform tools: a function with one string, which every upstream can call; or `native`,
    for upstreams that hold the model to the tool's grammar."""
    reasoning_text: Literal["auto", "summary", "content"] = "auto"
    """Where thinking is shown: in the `summary` of reasoning items, which most clients display,
    or in their `content`. `auto` is the summary if the request asks for one, else the content."""
    chat_reasoning: ChatReasoning = "reasoning_content"
    """In which field thinking is shown to clients of Chat Completions, whose API has none:
    DeepSeek's `reasoning_content`, which most clients read, OpenRouter's `reasoning`, or both."""
    retry_without: tuple[str, ...] = ()
    """Parameters, by their names in the request to the gateway, that are left out in one more try
    if the upstream refuses the request and names them. See `drop_rejected_parameters`."""
    registered_tools: tuple[RegisteredTool, ...] = ()
    max_choices: int = 1
    """Of requests that ask for several responses: `n` of Chat Completions at most. The application
    makes the call of each; the front writes one response."""
    max_tools: int = 1000
    """Tools of a request at most; a request that is relayed is not read, and has no limit."""
    max_items: int = 20_000
    """Input items at most, those of a stored conversation not counted."""
