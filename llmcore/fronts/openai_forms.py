"""The errors, models, settings and tools that Chat Completions and Responses share.

    {"error": {"message": "...", "type": "rate_limit_error", "param": null,
               "code": "rate_limit_exceeded"}}
    {"object": "list", "data": [{"id": "gpt-4.1", "object": "model", "created": 0,
                                 "owned_by": "openai"}]}

All fields of an error are always there; clients match `code`. Sources, read November 2026:
https://developers.openai.com/api/docs/guides/error-codes,
https://developers.openai.com/api/reference/resources/models.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from llmcore.fronts.errors import CONTEXT_LENGTH, FrontError, invalid
from llmcore.fronts.front import ListedModel, Upstream
from llmcore.fronts.reading import Fields, read_field, report_unknown
from llmcore.protocols.caching import OPENAI_BREAKPOINT_MODELS
from llmcore.protocols.lowering import matches_model
from llmcore.protocols.openai_responses.names import METADATA_KEY
from llmcore.protocols.protocol import protocol_by_id
from llmcore.protocols.tool_schema.normalise import without_null_keywords
from llmcore.schema.content import CacheTtl, TokenLogprob
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.events import Finish
from llmcore.schema.json import JsonObject, NativeObject
from llmcore.schema.native_json import object_or_empty, str_or_none
from llmcore.schema.options import CachePolicy, ResponseFormat, ServiceTier
from llmcore.schema.tools import Grammar, ToolChoice
from llmcore.schema.usage import Usage

_TOO_LONG: Final = "Your input exceeds the context window of this model."
"""OpenAI's own message for a prompt that is too long: clients such as Copilot CLI look for these
words, and then shorten the conversation."""
_KNOWN_WORDS: Final = ("context window", "maximum context length")


def message_of(error: FrontError) -> str:
    """Return the message, with OpenAI's words for a prompt that is too long before it."""
    if error.code != CONTEXT_LENGTH or any(words in error.message for words in _KNOWN_WORDS):
        return error.message
    return f"{_TOO_LONG} {error.message}"


def envelope(error: FrontError) -> JsonObject:
    """Return the body of an error response."""
    return {
        "error": {
            "message": message_of(error),
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    }


def token_bytes(token: TokenLogprob) -> bytes | None:
    """Return a token's bytes: the upstream's, else those of its text.

    None where the text is only a part of a character, which is not the token's own text.
    """
    if token.data is not None or "\N{REPLACEMENT CHARACTER}" in token.token:
        return token.data
    return token.token.encode("utf-8", "replace")


def logprob_list(
    tokens: Iterable[TokenLogprob], form: Callable[[TokenLogprob], NativeObject]
) -> list[NativeObject]:
    """Return log probabilities with their alternatives, each in the *form* of one token."""
    return [
        {**form(token), "top_logprobs": [form(other) for other in token.top]} for token in tokens
    ]


def model_list(models: Sequence[ListedModel], query: Mapping[str, str]) -> JsonObject:
    """Return a list of models; the API has no pages of it, and no other *query*."""
    return {"object": "list", "data": [listed_model(model) for model in models]}


def listed_model(model: ListedModel) -> JsonObject:
    """Return one model. OpenAI names no limits; vLLM calls the input's `max_model_len`.

    Source of that field: the `vllm` package, `entrypoints/openai/protocol` (`ModelCard`).
    """
    window = {} if model.max_input_tokens is None else {"max_model_len": model.max_input_tokens}
    return {
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": model.owner,
        **window,
    }


# -- the form of the response


_FORMAT_FIELDS: Final = frozenset({"description", "name", "schema", "strict", "type"})


def read_format(
    form: Fields | None, path: str, diagnostics: Diagnostics, *, inner: str = ""
) -> ResponseFormat | None:
    """Return the response format; None for free text.

    *inner* is the field of *form*, which is at *path*, that a schema is in, with its name:
    in Chat Completions. There a form without a schema is any JSON, else a FrontError. Clients of
    Together, Fireworks and llama.cpp's server write the schema beside the type, also of
    `json_object` (https://docs.together.ai/docs/json-mode), and Hugging Face's client as `value`
    (https://huggingface.co/docs/text-generation-inference/basic_tutorials/using_guidance).
    """
    if form is None:
        return None
    report_unknown(form, _FORMAT_FIELDS | {inner, "value"}, diagnostics, path)
    if form.get("type") == "text":
        return None
    if inner and form.get("schema") is None and isinstance(form.get("value"), dict):
        form = {**form, "schema": form["value"]}
    beside = bool(inner) and not form.get(inner) and form.get("schema") is not None
    if form.get("type") == "json_object" and not beside:
        return ResponseFormat.json()
    if form.get("type") not in ("json_object", "json_schema"):
        raise invalid(f"{path}.type must be text, json_object or json_schema.", f"{path}.type")
    where = f"{path}."
    if inner and not beside:
        form, where = read_field(form, inner, dict, where) or {}, f"{where}{inner}."
        report_unknown(form, _FORMAT_FIELDS, diagnostics, f"{path}.{inner}")
    schema = read_field(form, "schema", dict, where)
    if schema is None:
        if inner:
            return ResponseFormat.json()
        raise invalid(f"{path} needs a schema.", f"{where}schema")
    return ResponseFormat.json_schema(
        without_null_keywords(schema),
        name=read_field(form, "name", str, where) or "response",
        description=read_field(form, "description", str, where),
        strict=read_field(form, "strict", bool, where),
    )


# -- reasoning and caching

_SUMMARIES: Final = ("auto", "concise", "detailed", "none")


def checked_summary(summary: Any) -> Any:
    """Return the summary of `reasoning`; FrontError for a word that the APIs do not have."""
    if summary not in (None, *_SUMMARIES):
        words = ", ".join(_SUMMARIES)
        raise invalid(f"reasoning.summary must be one of {words}.", "reasoning.summary")
    return summary


_OPTIONS: Final = "prompt_cache_options"
_OPENAI: Final = frozenset({"azure", "openai"})


def read_cache(
    body: Fields,
    upstream: Upstream,
    diagnostics: Diagnostics,
    *,
    ttl: CacheTtl | None = None,
    is_marked: bool = False,
) -> CachePolicy:
    """Return the cache policy, which is manual where the client has marked a prefix itself."""
    options = read_field(body, _OPTIONS, dict) or {}
    lifetime = read_field(options, "ttl", str, f"{_OPTIONS}.")
    retention = read_field(body, "prompt_cache_retention", str)
    explicit = read_field(options, "mode", str, f"{_OPTIONS}.") == "explicit"
    if explicit and _always_caches(upstream):
        why = "the provider caches prompts by itself, and the model takes no breakpoints"
        diagnostics.at(f"{_OPTIONS}.mode").unsupported(why)
    return CachePolicy(
        mode="manual" if is_marked or explicit else "auto",
        ttl=ttl,
        key=read_field(body, "prompt_cache_key", str),
        retention=lifetime if retention is None else retention,
    )


def second_lifetime(
    body: Fields, upstream: Upstream, lifetimes: Collection[str], diagnostics: Diagnostics
) -> JsonObject:
    """Return the native field of a lifetime that is beside a retention; none if there is one alone.

    OpenAI takes both, which do not interact: the retention is the most, the other, one of the
    *lifetimes* of the upstream's API, the least. For other upstreams the second one is reported.
    Source: `types/responses/response_create_params` of the `openai` package, 3.57.0.
    """
    retention = read_field(body, "prompt_cache_retention", str)
    options = object_or_empty(body.get(_OPTIONS))
    lifetime = read_field(options, "ttl", str, f"{_OPTIONS}.")
    if retention is None or lifetime in (None, retention):
        return {}
    if lifetime in lifetimes and upstream.provider in _OPENAI and not _always_caches(upstream):
        return {_OPTIONS: {"ttl": lifetime}}
    why = "prompt_cache_retention is set too, and the upstream does not take both"
    diagnostics.at(f"{_OPTIONS}.ttl").unsupported(why)
    return {}


def _always_caches(upstream: Upstream) -> bool:
    """Return whether a request cannot switch off the breakpoints that the provider places."""
    protocol_id = upstream.protocol_id
    if protocol_id is not None and protocol_by_id(protocol_id).cache_mark is None:
        return True
    model, provider = upstream.model, upstream.provider
    model_id = model if isinstance(model, str) else model.id
    return provider in _OPENAI and not matches_model(OPENAI_BREAKPOINT_MODELS, model_id)


# -- padding of streams


def read_padding(body: Fields, upstream: Upstream, diagnostics: Diagnostics) -> JsonObject:
    """Return the native field that asks OpenAI not to pad its events, if the client does so.

    The gateway pads no event: a request for padding is reported.
    """
    options = read_field(body, _STREAM_OPTIONS, dict) or {}
    padded = read_field(options, _PADDING, bool, f"{_STREAM_OPTIONS}.")
    if padded:
        diagnostics.at(f"{_STREAM_OPTIONS}.{_PADDING}").unsupported("no event is padded here")
    if padded is not False or upstream.provider not in _OPENAI:
        return {}
    return {_STREAM_OPTIONS: {_PADDING: False}}


_STREAM_OPTIONS: Final = "stream_options"
_PADDING: Final = "include_obfuscation"


# -- tools

TOOL_CHOICE: Final = "tool_choice"
_MODES: Final = {
    "auto": ToolChoice.auto,
    "none": ToolChoice.none,
    "required": ToolChoice.required,
    "any": ToolChoice.required,  # Mistral's word
}


NARROWED: Final = "only the allowed tools are offered: the upstream cannot allow some of them"
"""Why a choice of allowed tools leaves out the others."""


def choice_of_mode(mode: object, tools: Sequence[object]) -> ToolChoice | None:
    """Return the tool choice of a mode; None for `auto` and `none` if there are no *tools*.

    FrontError for an unknown mode, and for one that demands a call where there are no *tools*.
    """
    if mode is None:
        return None
    if not isinstance(mode, str) or mode not in _MODES:
        raise invalid(f"tool_choice {str(mode)[:40]!r} is not auto, none or required.", TOOL_CHOICE)
    if tools:
        return _MODES[mode]()
    if _MODES[mode] == ToolChoice.required:
        raise invalid("tool_choice is required, but there are no tools to call.", TOOL_CHOICE)
    return None


def read_grammar(form: Mapping[str, Any], path: str) -> Grammar | None:
    """Return the grammar that *form*, a tool's `format`, has; None for free text.

    Chat Completions nests it. FrontError for one without its syntax or its definition.
    """
    kind = read_field(form, "type", str, f"{path}.")
    if kind in (None, "", "text"):
        return None
    if kind != "grammar":
        raise invalid(f"{path}.type must be text or grammar.", f"{path}.type")
    form = {**form, **object_or_empty(form.get("grammar"))}
    syntax, definition = form.get("syntax"), form.get("definition")
    if syntax not in ("lark", "regex") or not isinstance(definition, str):
        raise invalid(f"{path}: a grammar has a syntax (lark or regex) and a definition.", path)
    return Grammar(syntax=syntax, definition=definition)


# -- the end user

END_USER: Final = frozenset({"safety_identifier", "user"})
"""Fields of a request that name its end user, for whom Anthropic's API has one field.

`user` is the older name: https://developers.openai.com/api/docs/guides/safety-best-practices.
"""

# -- the service tier


def read_tier(
    body: Fields,
    protocol_id: str | None,
    diagnostics: Diagnostics,
    missing: Collection[str] = (),
) -> str | None:
    """Return the tier for an upstream, where other vendors have only those of `ServiceTier`.

    Those *missing* are tiers that OpenAI has in another API than the upstream's. `fast` is another
    word for `priority`, by `types/responses/response_create_params` of the `openai` package,
    3.57.0.
    """
    tier = read_field(body, "service_tier", str)
    if tier is None or tier in get_args(ServiceTier) or protocol_id is None:
        return tier
    if protocol_by_id(protocol_id).family == "openai" and tier not in missing:
        return tier
    if tier == "fast":
        return "priority"
    why = f"the upstream's API does not have the tier {tier[:40]!r}"
    diagnostics.at("service_tier").unsupported(why)
    return None


CHAT_TIERS: Final = frozenset({"auto", "default", "fast", "flex", "scale", "priority"})
RESPONSES_TIERS: Final = CHAT_TIERS | {"ultrafast"}


def service_tier(event: Finish, tiers: frozenset[str]) -> str | None:
    """Return the tier that served a response; None if it was not stated, or is none of *tiers*."""
    if event.usage is not None and event.usage.service_tier is not None:
        return tier_of(event.usage, tiers)
    native = object_or_empty(event.provider_metadata.get(METADATA_KEY))
    tier = str_or_none(native.get("service_tier"))
    return tier if tier in tiers else None


def tier_of(usage: Usage | None, tiers: frozenset[str]) -> str | None:
    """Return the tier in *usage*; None if it was not stated, or is none of *tiers*."""
    tier = None if usage is None else usage.service_tier
    return tier if tier in tiers else None
