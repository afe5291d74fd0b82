"""The codes of diagnostics: what each reports, why it happens, and what can be done about it.

A `Diagnostic` has one of these codes. `diagnostic_pages.py` makes a page of the documentation for
each; a test compares the table with the codes that the library uses.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen


@frozen
class DiagnosticCode:
    """The explanation of one code, in plain sentences."""

    meaning: str
    """The loss, change, addition or note that is reported."""
    cause: str
    """When that happens."""
    remedy: str
    """How to avoid it, or why that is not necessary."""


_Code = DiagnosticCode
_SAME_PROVIDER = "Continue the conversation with the provider that answered, or accept the loss."
_NOTHING = "Nothing needs to be done."

_CODES: Final = {
    "asked-again": _Code(
        "The model was asked again after a response, or arguments of a tool, that were invalid.",
        "The run has `validation_retries`, and the object or the arguments failed validation.",
        "Nothing needs to be done. Each request is billed; simplify the schema if it is frequent.",
    ),
    "cache-breakpoint-dropped": _Code(
        "A cache mark was left out of the request.",
        "The provider accepts no mark at this position, or fewer marks than the request has.",
        "Mark fewer parts, or let `cache` place the marks automatically.",
    ),
    "cache-breakpoint-moved": _Code(
        "A cache mark was moved to an earlier part.",
        "The part that carries it cannot be marked, such as thinking or a document.",
        "Mark the part before it, or the end of the message.",
    ),
    "cache-ttl-shortened": _Code(
        "A cache mark was sent with a shorter lifetime than requested.",
        "The model offers only the shorter one, or a longer one may not follow a shorter one.",
        "Put the marks with the longer lifetime first, or ask for the shorter one.",
    ),
    "cached-content": _Code(
        "Instructions, tools or tool choice were left out.",
        "The request uses cached content, which has its own.",
        "Put them into the cached content when it is created.",
    ),
    "citation-dropped": _Code(
        "The gateway left a citation out of its response.",
        "The client's API has no form for citations of this kind.",
        "Use a client of another API if the citations matter.",
    ),
    "citation-place-dropped": _Code(
        "A citation was kept, but not its position in the source.",
        "The client's API describes positions differently from the provider that answered.",
        _NOTHING,
    ),
    "citations-enabled": _Code(
        "Citations of a document are enabled that the request does not ask for.",
        "Claude accepts them for all documents of a request or for none, and another one has them.",
        "Enable them for all documents, or for none.",
    ),
    "content-not-shown": _Code(
        "A part of the response is not visible to the gateway's client.",
        "The client's API has no form for it. The gateway keeps it in the conversation.",
        "Nothing needs to be done: later requests of the conversation still include it.",
    ),
    "context-edited": _Code(
        "Messages were left out or changed before the request was sent.",
        "The client has the middleware `EditContext`.",
        "Nothing needs to be done; raise the limits of its functions to keep more.",
    ),
    "context-summarized": _Code(
        "The oldest messages were replaced by a summary that a model wrote.",
        "The request was near the context window, and the client has `SummarizeContext`; or the "
        "gateway's client sent a summary of Anthropic's, and the upstream has another API.",
        "Nothing needs to be done; raise `max_tokens` of the middleware to keep more.",
    ),
    "context-window-exceeded": _Code(
        "The request is estimated to be larger than the model's context window.",
        "The window is known, from the catalog or the route's limits, and the text is too long.",
        "Count the tokens exactly with `client.count_tokens`; shorten the conversation, or choose "
        "a model with a larger window.",
    ),
    "custom-tool-as-function": _Code(
        "A freeform tool was sent as a function with one string parameter.",
        "The API has no freeform tools. The tool's grammar is not enforced.",
        "Check the string in the tool, or use a model of the Responses API.",
    ),
    "developer-as-system": _Code(
        "A developer message was sent as a system message.",
        "The API has no role `developer`.",
        _NOTHING,
    ),
    "document-text-added": _Code(
        "A short text was added beside a document.",
        "The API requires text in each message that has a document.",
        "Add a text of your own to the message.",
    ),
    "empty-message": _Code(
        "A message without content was left out, or a placeholder was sent in its place.",
        "APIs reject empty messages.",
        "Leave empty messages out of the conversation.",
    ),
    "empty-response": _Code(
        "The model ended its response normally, but without text and without a tool call.",
        "Some models do this occasionally, often after tool results.",
        "Send the request again, or ask the model to answer in words.",
    ),
    "empty-text": _Code(
        "An empty text was left out of a message, or a placeholder was sent as an empty result.",
        "APIs reject empty texts.",
        "Leave empty parts out of the conversation.",
    ),
    "estimated-count": _Code(
        "The number of tokens is an estimate, which is usually too high.",
        "The provider has no service that counts tokens, or not for this API.",
        "Do not use the number for billing.",
    ),
    "file-dropped": _Code(
        "A generated file was left out of the gateway's response, or of a later request.",
        "The client's API has no form for files of this type; or the file is stored by the "
        "provider that created it, and the later request goes to another one.",
        "Use a client of an API that has such files, or continue with the same provider.",
    ),
    "file-without-content": _Code(
        "A generated file has no data, no absolute URL and no file id.",
        "The provider announced a file but did not deliver it.",
        "Send the request again; report it to the provider if it persists.",
    ),
    "final-response-differs": _Code(
        "The response at the end of a stream differs from the events before it.",
        "The server sent events that do not add up to its final response.",
        "Compare `raw` with the events; servers that imitate the Responses API do this.",
    ),
    "finish-reason": _Code(
        "The gateway reported a different finish reason from the model's.",
        "The client's API has no word for the reason.",
        _NOTHING,
    ),
    "first-message-added": _Code(
        "A short user message was added at the beginning.",
        "The API requires a conversation to begin with a user message, or to have one.",
        "Begin the conversation with a user message.",
    ),
    "hosted-tool-as-function": _Code(
        "A hosted tool was offered as a function.",
        "The gateway's setting `OPENBRIDGE_HOSTED_TOOLS` is `function`: its client runs the tool.",
        "If the client cannot run such tools, use another value of the setting.",
    ),
    "hosted-tool-as-text": _Code(
        "An earlier call of a hosted tool was sent as text.",
        "The upstream cannot read calls of tools that another provider ran.",
        _SAME_PROVIDER,
    ),
    "hosted-tool-dropped": _Code(
        "A tool run by the provider, or an earlier call of one, was left out.",
        "The provider has no such tool, another provider ran it, its result never came, or the "
        "gateway's settings exclude it.",
        "Give the model a function that does the same, or use a provider that has the tool.",
    ),
    "http-engine": _Code(
        "Reports which HTTP library sent the request, and whether a proxy was used.",
        "The client has `HttpOptions(debug=True)`.",
        _NOTHING,
    ),
    "incomplete-tool-call": _Code(
        "The stream ended in the middle of a tool call.",
        "The connection broke, or the token limit was reached within the arguments.",
        "Raise `max_tokens`, or send the request again. The call is not run.",
    ),
    "input-truncated": _Code(
        "A text was truncated before it was embedded.",
        "It was longer than the model accepts, and the provider truncates such texts.",
        "Split the text, or set the provider's own option to refuse such texts.",
    ),
    "instructions-added": _Code(
        "An instruction that names missing tools, or the JSON format, was added.",
        "The gateway's client relies on its provider's tools, which the upstream does not have; or "
        "JSON mode was asked for in a conversation without the word JSON, which the API refuses.",
        _NOTHING,
    ),
    "invalid-tool-arguments": _Code(
        "The arguments of a tool call are not a JSON object, or do not fit the tool.",
        "The model wrote invalid JSON, or an object that the tool does not accept. The text is "
        "kept as it was received; APIs that accept only objects get an object that contains it.",
        "Give `repair_tool_call` to `generate`, or let the model see the error and try again.",
    ),
    "invalid-utf8-replaced": _Code(
        "Bytes of the response that are not UTF-8 were read as U+FFFD, the replacement character.",
        "A server cut a character in two, as local servers do between two tokens, or a proxy "
        "changed the encoding.",
        "Nothing needs to be done, unless the character matters: update the server.",
    ),
    "item-ids-dropped": _Code(
        "The ids of stored items were left out.",
        "They belong to reasoning that was left out, without which the server rejects them.",
        _NOTHING,
    ),
    "last-message-added": _Code(
        "A short user message was added at the end.",
        "The conversation ends with the model's response, which this model does not continue.",
        "End the conversation with a user message.",
    ),
    "lone-surrogates-replaced": _Code(
        "Halves of surrogate pairs in texts of the request or the response were replaced by "
        "U+FFFD, the replacement character.",
        "A text of the request was cut within an emoji, or decoded wrongly, often in the result "
        "of a tool, and servers reject it otherwise. Or the server cut an emoji in two, and sent "
        "only a half of it.",
        "Nothing needs to be done, unless the text matters: cut and decode it elsewhere.",
    ),
    "max-tokens-lowered": _Code(
        "`max_tokens` was lowered to the limit of the route.",
        "The route has a limit, and the request asked for more.",
        "Ask for fewer tokens, or configure the route's `ModelLimits`.",
    ),
    "media-type-changed": _Code(
        "A document was sent with another media type.",
        "The model reads documents of this type as plain text only.",
        _NOTHING,
    ),
    "missing-api-key": _Code(
        "A request was prepared without credentials.",
        "`Client.prepare` does not need a key, and none is configured.",
        "Set the variable that the message names before the request is sent.",
    ),
    "model-fallback": _Code(
        "A different model from the requested one responded.",
        "The first model failed, and the call has `fallbacks`, or the client `Fallback`.",
        "The message has the first model's error.",
    ),
    "moved-tool-result-media": _Code(
        "Images or files of a tool's result follow in a user message.",
        "The API's tool results, or its results of failed tools, hold only text.",
        _NOTHING,
    ),
    "null-as-absent": _Code(
        "A null in a generated object was read as an absent field.",
        "In strict mode every field is required, so the model writes null for optional ones.",
        _NOTHING,
    ),
    "opaque-data-dropped": _Code(
        "A signature, encrypted reasoning or other opaque data was left out.",
        "It is valid only for the model, account or deployment that created it, or the gateway's "
        "seal of it is damaged or was made with another key.",
        _SAME_PROVIDER,
    ),
    "parameter-out-of-range": _Code(
        "A parameter was changed to the nearest value that the model accepts.",
        "The API's range is smaller than the one requested.",
        "Ask for a value within the range that the message names.",
    ),
    "parameter-removed": _Code(
        "The gateway sent the request again without a parameter.",
        "The upstream rejected the parameter by name.",
        "Leave the parameter out of requests to this model.",
    ),
    "prompt-cache-mark": _Code(
        "The gateway added a mark for the upstream's prompt cache.",
        "`OPENBRIDGE_CACHE_PROMPT_MARKS` is set, and the request had none.",
        "Send marks of your own, or unset the variable.",
    ),
    "property-name-changed": _Code(
        "A property of a tool was sent under another name.",
        "The API does not allow its characters or its length.",
        "Nothing needs to be done: calls come back with the property's own name.",
    ),
    "provider-part-dropped": _Code(
        "A part native to one provider was left out.",
        "Only that provider can read it.",
        _SAME_PROVIDER,
    ),
    "reasoning-budget-changed": _Code(
        "The token budget for reasoning was changed.",
        "It is below the model's minimum, not below `max_tokens`, or the upstream of the gateway "
        "has efforts instead of budgets.",
        "Raise `max_tokens`, or choose a budget in the range that the message names.",
    ),
    "reasoning-dropped": _Code(
        "Reasoning of an earlier response was left out.",
        "The target cannot read it, or accepts it only with a valid signature.",
        _SAME_PROVIDER,
    ),
    "reasoning-effort-changed": _Code(
        "The reasoning effort was changed to the nearest one that the model has.",
        "Models accept different efforts, or only a number of tokens.",
        "Use an effort that the message names, or, for a model that counts tokens, "
        "`ReasoningOptions(budget_tokens=...)`.",
    ),
    "reasoning-not-off": _Code(
        "Reasoning was requested to be off, and the lowest effort was sent.",
        "The model always reasons.",
        "Use a model whose reasoning can be turned off.",
    ),
    "reasoning-summary-changed": _Code(
        "A summary of reasoning of another length was requested.",
        "The model does not offer concise ones.",
        "Ask for the summary `auto` or `detailed`.",
    ),
    "reasoning-turned-off": _Code(
        "The request was sent without reasoning.",
        "The model does not combine reasoning with the tools or tool choice of the request.",
        "Use the provider's other API (`responses`), or drop the forced tool choice.",
    ),
    "rejected-field": _Code(
        "An optional field was left out because the server rejected it earlier.",
        "Some servers of a compatible API reject fields that others ignore.",
        _NOTHING,
    ),
    "reordered-content": _Code(
        "Text was sent at another place: before a tool call, or in a later message of the user.",
        "Chat Completions has no position for text after a call, Messages none beside results that "
        "code waits for.",
        _NOTHING,
    ),
    "repeated-item": _Code(
        "An item of the input was left out.",
        "The stored conversation that the request continues has the same call already.",
        "Send only new items with `previous_response_id`.",
    ),
    "repeated-tool-arguments": _Code(
        "Arguments of a tool call that the server sent several times were read once.",
        "Each piece should contain only new text; the server sent all of the text so far in each,"
        " or all of it again at the end.",
        "Nothing needs to be done; the arguments are those of the last piece.",
    ),
    "response-chain": _Code(
        "The whole conversation was sent, not only the messages after a stored response.",
        "`previous_response_id` is `auto`, but messages before the last response were changed, "
        "or that response is from another provider or no longer stored by the server.",
        "Nothing needs to be done: the response is the same, and later requests continue it.",
    ),
    "response-continued": _Code(
        "A response broke off; another model continued it, or it ends with its complete calls.",
        "The connection or the server failed, and `Fallback` has `continue_after_cut`.",
        "The message has the error; the path is the place where the model changed.",
    ),
    "response-field-dropped": _Code(
        "The gateway left a fact about a response out of it.",
        "The upstream states the fact, and the client's API has no field for it.",
        "Use a client of the upstream's API if the fact matters.",
    ),
    "response-format-by-tool": _Code(
        "The response's format is enforced by a tool that the model must call.",
        "The API has no other way to enforce a schema.",
        "Nothing needs to be done: the arguments are returned as the response's text.",
    ),
    "response-format-in-words": _Code(
        "The response's format is only requested, in the instructions.",
        "The API or the model cannot enforce it together with the rest of the request.",
        "Check the response, as `generate_object` does.",
    ),
    "response-from-cache": _Code(
        "The response came from the response cache; nothing was sent.",
        "An equal request was answered before. Its cost is 0; `usage` is the first response's.",
        _NOTHING,
    ),
    "response-unfinished": _Code(
        "The response is incomplete, because it continues in the background.",
        "The request asked for a background response, and it was read before it was complete.",
        "Read the response again until its status is another; `resume` in the metadata has its id.",
    ),
    "roles-merged": _Code(
        "A message was joined with the one before it.",
        "The API requires the roles to alternate.",
        _NOTHING,
    ),
    "schema-any-type": _Code(
        "A schema without a type became a union of all types.",
        "The target requires a type at this place.",
        "Give the property a type.",
    ),
    "schema-keyword-described": _Code(
        "A keyword of a schema was written into its description.",
        "The target does not support the keyword. The model reads it, but it is not enforced.",
        "Check the value in your code.",
    ),
    "schema-keyword-dropped": _Code(
        "A keyword of a schema was left out.",
        "The target does not support it, or it contradicts the rest.",
        "Nothing needs to be done if the message says that the keyword constrains nothing; else "
        "check the value in your code, or write the schema without the keyword.",
    ),
    "schema-not-strict": _Code(
        "A schema was sent without strict mode.",
        "It uses something that strict mode excludes, which the message names.",
        "Change the schema, or check the value in your code.",
    ),
    "schema-one-of-loosened": _Code(
        "`oneOf` became `anyOf`, which also accepts values of several branches.",
        "The target has no `oneOf`.",
        "Name the property that tells the branches apart in `discriminator`.",
    ),
    "schema-optional-as-null": _Code(
        "A property of a schema that was optional was sent as a required one that may be null.",
        "Strict mode requires every property: null stands for an absent one.",
        "Nothing needs to be done with `generate_object`, which reads null as an absent property. "
        "In other responses, read it so, or require the property.",
    ),
    "schema-recursion-cut": _Code(
        "A recursive schema was cut to an object of any shape.",
        "The target accepts no references, and the schema refers to itself.",
        "Limit the depth in the schema, or use a model that accepts references.",
    ),
    "schema-reference-unresolved": _Code(
        "A `$ref` of a schema was left out.",
        "It points to a place that does not exist in the schema.",
        "Correct the reference; only references within the schema are followed.",
    ),
    "schema-root-not-object": _Code(
        "A tool's schema became that of an object.",
        "The target requires an object at the root.",
        "Put the value into a property of an object.",
    ),
    "schema-root-union-merged": _Code(
        "A union at the root of a schema was merged into one object.",
        "The target requires an object at the root.",
        "Put the union into a property.",
    ),
    "schema-too-deep": _Code(
        "A schema was cut at a depth, and accepts anything below it.",
        "It is nested more deeply than targets accept.",
        "Flatten the schema.",
    ),
    "schema-too-large": _Code(
        "A part of a schema was cut to an object of any shape.",
        "The target accepts no references, and the schema is too large with all of them inlined.",
        "Make the schema smaller, or use a model that accepts references.",
    ),
    "segment-text-changed": _Code(
        "The final text of a segment differs from the deltas that were streamed.",
        "The server corrected its text at the end. The final text is kept.",
        "Show the final text of the end event in place of the deltas.",
    ),
    "source-dropped": _Code(
        "The gateway left a source out of its response.",
        "The client's API has no place for sources that no text cites, or only for web pages.",
        "Use a client of another API if the sources matter.",
    ),
    "speaker-names-dropped": _Code(
        "The names of speakers were left out.",
        "Messages of several speakers had to become one.",
        "Put the names into the texts.",
    ),
    "system-message-demoted": _Code(
        "Instructions within the conversation were sent as user text in a tag.",
        "The target accepts no instructions at this position, or only text.",
        "Put the instructions into `system`.",
    ),
    "system-message-moved": _Code(
        "Instructions were moved to the beginning.",
        "The target accepts instructions only before the conversation.",
        "Put the instructions into `system`.",
    ),
    "text-around-object": _Code(
        "Text before or after a generated object was left out.",
        "The model wrote prose around the JSON.",
        "Use a model that enforces schemas, or ask for JSON alone.",
    ),
    "text-restored": _Code(
        "A text of the model was sent again that the gateway's client left out.",
        "The client sent calls of a response without the text beside them. Its reasoning is valid "
        "with all of the response, which the gateway keeps by its calls.",
        _NOTHING,
    ),
    "thought-signature-skipped": _Code(
        "A function call was sent with the value that skips the signature check.",
        "The call was made by another model, so it has no signature of this one.",
        _NOTHING,
    ),
    "tool-call-id-changed": _Code(
        "The id of a tool call was replaced in the request.",
        "It is not unique, too long, or has characters that the API rejects.",
        "Nothing needs to be done: calls and results still match.",
    ),
    "tool-call-missing": _Code(
        "A tool call was required, but the response is text.",
        "The server does not enforce `tool_choice`.",
        "Use a server or model that does, or send the request again.",
    ),
    "tool-choice-changed": _Code(
        "The tool choice was left to the model.",
        "A hosted tool of the upstream cannot be required by name.",
        "Offer only that tool.",
    ),
    "tool-choice-emulated": _Code(
        "The tool choice was enforced in another way.",
        "The server has no such choice. Only the required tool is offered, a response schema "
        "enforces the call, or a tool that must not be called is left out.",
        _NOTHING,
    ),
    "tool-choice-weakened": _Code(
        "The format of the response is requested but not enforced.",
        "The model does not reason while a tool call is required.",
        "Turn reasoning off if the format matters more.",
    ),
    "tool-message-split": _Code(
        "A tool message was split; the rest became a user message.",
        "The target's tool messages hold results only.",
        _NOTHING,
    ),
    "tool-name-changed": _Code(
        "A tool was sent under another name.",
        "The API does not allow its characters or its length.",
        "Nothing needs to be done: calls come back under the tool's own name.",
    ),
    "tool-name-cleaned": _Code(
        "Marks around the name of a called tool were left out.",
        "The server sent parts of the model's template with the name, such as "
        "`look<|channel|>commentary`.",
        "Nothing needs to be done: the call is that of the tool.",
    ),
    "tool-not-offered": _Code(
        "A tool was not offered to the model.",
        "An MCP server runs it only as a task (`execution.taskSupport` is `required`), which the "
        "SDK of the protocol does not do; or a client of the gateway has deferred it "
        "(`defer_loading`), with no tool that could find it.",
        "Let the server allow calls without a task, or leave the tool out with `allowed`. Offer a "
        "tool search, or leave `defer_loading` out.",
    ),
    "tool-result-missing": _Code(
        "A placeholder was sent as the result of a tool call.",
        "The conversation has a call without a result, which APIs reject.",
        "Append `Message.tool(call.id, ...)` for each pending call.",
    ),
    "tool-result-moved": _Code(
        "A tool's result was moved behind its call.",
        "APIs require the results to follow the message with their calls directly.",
        "Append results before the next message.",
    ),
    "tool-result-renamed": _Code(
        "A tool's result was sent under the name of its call.",
        "Its own name differs from the name of the call.",
        "Leave `name` out of the result.",
    ),
    "tool-result-stray": _Code(
        "A tool's result was left out.",
        "No call before it has its id, or the same result came before it.",
        "Keep the message with the call when a conversation is shortened.",
    ),
    "tool-rounds-used-up": _Code(
        "The model called tools again after the last round; the calls were not run.",
        "`max_tool_rounds` rounds have been run. A `tool_choice` that requires calls does so in "
        "every step.",
        "Raise `max_tool_rounds`, or run `pending_calls` and continue the conversation. To require "
        "a call in the first step only, change `tool_choice` in `prepare_step`.",
    ),
    "tool-search-unrolled": _Code(
        "All tools are offered to the model instead of a tool search.",
        "The upstream has no tool search.",
        _NOTHING,
    ),
    "tool-stub-added": _Code(
        "A tool was defined without parameters.",
        "The conversation has calls of it but no definition, which the API rejects.",
        "Define the tool in the request.",
    ),
    "tools-narrowed": _Code(
        "Only the allowed tools were offered.",
        "The upstream's API cannot restrict a choice to some of the tools.",
        _NOTHING,
    ),
    "turn-cut-short": _Code(
        "The response is incomplete: the rest of a turn that the server paused is missing.",
        "The continuation failed or did not fit in a budget, or the turn paused too often.",
        "Continue the conversation with another message, which may ask for the rest.",
    ),
    "unknown-parameter": _Code(
        "A field of the gateway's request was left out.",
        "The API has no field of this name.",
        "Check its spelling. `body` of an upstream in `openbridge.toml` adds fields to requests.",
    ),
    "unknown-provider": _Code(
        "Options of `provider_options` were left out.",
        "They are for a provider that is neither the one of the request nor one of llmcore's.",
        "Check the spelling of the id. Options of your own providers are left out for others.",
    ),
    "unsupported-content": _Code(
        "A part of a message was left out.",
        "The model or API does not accept content of this kind at this place.",
        "Use a model that does, or convert the content, such as a document to text.",
    ),
    "unsupported-parameter": _Code(
        "A setting was left out or replaced.",
        "The model or API does not support it.",
        "Leave the setting out, or use a model that has it. `strict=True` makes it an error.",
    ),
    "unsupported-schema-keyword": _Code(
        "A field of a tool's schema was left out.",
        "It is a mark for OpenAI's own server, which other servers do not know.",
        _NOTHING,
    ),
    "unsupported-tool": _Code(
        "A tool was left out.",
        "The API or the model does not support tools of this kind.",
        "Give the model a function that does the same, or use a provider that has the tool.",
    ),
    "unsupported-tool-choice": _Code(
        "The tool choice was left out.",
        "The choice is `none`; the API cannot forbid calls, and requires tools that were called.",
        "Do not run the calls, and ask again.",
    ),
    "usage-missing": _Code(
        "The response is complete, but its tokens are unknown.",
        "The stream ended before the event that counts them.",
        "Treat the counts as unknown, not as zero.",
    ),
    "volatile-text-dropped": _Code(
        "A line that changes with each request was left out of the instructions.",
        "A client adds it for its own provider; for others it would defeat prompt caching.",
        _NOTHING,
    ),
    "websocket-fallback": _Code(
        "The request was sent over HTTP instead of a WebSocket.",
        "The socket could not be opened, or cannot carry this request.",
        "Nothing needs to be done, unless it happens with each request.",
    ),
}

CODES: Final[Mapping[str, DiagnosticCode]] = MappingProxyType(_CODES)
"""The explanation of each code."""
