"""Reads a Messages request: its settings, and the context of its response.

    {"model": "claude-opus-5", "max_tokens": 32000, "stream": true,
     "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}, "system": [...],
     "tools": [...], "messages": [...]}

Fields that `LLMRequest` has go there. The rest goes by its native name to a Messages upstream, and
is reported for others; no field that is not understood is refused. Sources, read November 2026:
https://platform.claude.com/docs/en/api/messages/create,
https://platform.claude.com/docs/en/build-with-claude/thinking,
https://platform.claude.com/docs/en/build-with-claude/effort,
https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from llmcore.fronts import reading
from llmcore.fronts.anthropic_messages.compaction import loses_thread, summary_instruction
from llmcore.fronts.anthropic_messages.messages import TurnReader
from llmcore.fronts.anthropic_messages.tool_changes import tool_changes
from llmcore.fronts.anthropic_messages.tools import MessagesOffer, read_offer
from llmcore.fronts.billing_line import without_billing_line
from llmcore.fronts.checked_read import checked_read
from llmcore.fronts.errors import FrontError, invalid
from llmcore.fronts.front import ClientRequest, ReadRequest, Routing, Upstream
from llmcore.fronts.reading import Fields, read_field
from llmcore.protocols.anthropic_messages.names import (
    COMPACTION,
    METADATA_KEY,
    PROTOCOL_ID,
    SERVICE_TIERS,
    THREAD_NOT_FOUND,
)
from llmcore.protocols.openai_chat.names import PROTOCOL_ID as CHAT
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.protocols.tool_schema.normalise import without_null_keywords
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import json_or_text, present
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, str_or_none
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.token_estimate import estimated_own_tokens

_LONG_CONTEXT: Final = "[1m]"
"""The suffix with which Claude Code asks for the long context of a model."""

_IN_PATH: Final = re.compile(
    r"/models?/(?P<model>[^/]+?)"
    r"(?:/(?:invoke|invoke-with-response-stream)|:(?:rawPredict|streamRawPredict))/*$"
)
"""Bedrock's and Vertex AI's paths of the API, whose bodies name no model."""
_STREAMS: Final = re.compile(r"(?:-with-response-stream|:streamRawPredict)/*$")


def routing_of(request: ClientRequest) -> Routing:
    """Return the model and whether to stream. Raises FrontError without a model."""
    named = _IN_PATH.search(request.path)
    model = read_field(request.body, "model", str) or (named["model"] if named else "")
    if not model.strip():
        raise invalid("model: Field required", "model", "missing_field")
    return Routing(model=model.removesuffix(_LONG_CONTEXT), streaming=_streams(request))


def _streams(request: ClientRequest) -> bool:
    stated = read_field(request.body, "stream", bool)
    return stated is True or _STREAMS.search(request.path) is not None


# -- what the response is written with


@frozen(kw_only=True)
class ReadMessagesRequest(ReadRequest):
    """A request, with what writing its response needs."""

    shows_thinking: bool = True
    """False where the client asks for no thinking, or for none of its text (`display: omitted`)."""
    takes_state: bool = True
    """Whether state may be carried in a block of its own. Clients that turn thinking off get it
    only where a tool's result continues the response."""
    searches: bool = True
    """Whether the pages that the response is based on are shown as results of a search."""
    call_ids: frozenset[str] = frozenset()
    """The ids of calls in the conversation, which new ones must differ from."""
    compacts: bool = False
    """Whether the response is a summary, to be sent as a `compaction` block."""
    estimated_input: int = 0
    """About how many tokens the request of a stream has: a stream begins with this count, and ends
    with the upstream's."""


# -- the body


@checked_read(PROTOCOL_ID)
def read_request(client_request: ClientRequest, upstream: Upstream) -> ReadMessagesRequest:
    """Return *client_request* as a request to *upstream*."""
    body, diagnostics = client_request.body, Diagnostics()
    natives = reading.read_objects(body, "messages")
    if not natives:
        raise invalid("messages: at least one message is required", "messages")
    if len(natives) > _MAX_MESSAGES:
        raise invalid(f"messages: at most {_MAX_MESSAGES} are taken", "messages")
    reader = TurnReader(upstream, diagnostics)
    system = reader.read_system(body)
    messages = reader.read(natives)
    if not messages:
        lost = ", ".join(sorted({note.message for note in diagnostics.entries}))
        why = f" ({lost})" if lost else ": none of them has any content"
        raise invalid(f"messages: nothing is left to answer{why}", "messages")
    _check_thread(body, upstream)
    wish = None if upstream.protocol_id == PROTOCOL_ID else summary_instruction(body)
    if wish is not None:
        messages = (*messages, Message.user(wish))
        body = {**body, "tool_choice": {"type": "none"}}
    offer = read_offer(body, tool_changes(natives), upstream, diagnostics)
    request = LLMRequest(
        model=upstream.model,
        provider=upstream.provider,
        messages=messages,
        system=(*system, *_about_missing(offer, diagnostics)),
        tools=offer.tools,
        tool_choice=offer.choice,
        parallel_tool_calls=offer.parallel,
        generation=_generation(body, upstream, diagnostics),
        response_format=None if wish is not None else _format(body, diagnostics),
        reasoning=reading.with_effort(
            _reasoning(body, upstream), upstream.protocol_id, diagnostics
        ),
        cache=_cache(client_request, upstream, diagnostics),
        metadata=_metadata(body, upstream, diagnostics),
        provider_options=_native_fields(client_request, upstream, offer, diagnostics),
    )
    request = without_billing_line(request, upstream, diagnostics)
    thinking = object_or_empty(body.get("thinking"))
    thinks = thinking.get("type") != "disabled"
    streaming = _streams(client_request)
    return ReadMessagesRequest(
        request=request,
        streaming=streaming,
        diagnostics=tuple(diagnostics.entries),
        shows_thinking=thinks and thinking.get("display") != "omitted",
        takes_state=thinks,
        searches=offer.searches,
        call_ids=reader.call_ids,
        compacts=wish is not None,
        estimated_input=estimated_own_tokens(request) if streaming else 0,
    )


def _check_thread(body: Fields, upstream: Upstream) -> None:
    """Raise FrontError, 404, for a request that continues a thread, which only Anthropic keeps."""
    read_field(body, "thread", dict)
    if loses_thread(body, upstream):
        raise FrontError(
            status=404,
            message="The upstream keeps no threads: send the whole conversation.",
            code=THREAD_NOT_FOUND,
            param="thread",
        )


_MAX_MESSAGES: Final = 100_000
"""The API's own limit."""


def _about_missing(offer: MessagesOffer, diagnostics: Diagnostics) -> tuple[TextPart, ...]:
    """Return an instruction for a model that does not have the request's only tools.

    Without them it would invent what the tools would have found.
    """
    if not offer.missing:
        return ()
    names = ", ".join(offer.missing)
    diagnostics.at("system").added(
        "instructions-added", f"a line of instructions names the missing tools: {names}"
    )
    text = f"These tools are not available: {names}. Say so where a response would need them."
    return (TextPart(text),)


# -- settings


def _generation(body: Fields, upstream: Upstream, diagnostics: Diagnostics) -> GenerationOptions:
    limit = read_field(body, "max_tokens", int)
    if limit == 0 and upstream.protocol_id != PROTOCOL_ID:
        limit = 1
        diagnostics.at("max_tokens").changed(
            "parameter-out-of-range", "the upstream answers at least one"
        )
    tier = read_field(body, "service_tier", str)
    return GenerationOptions(
        temperature=read_field(body, "temperature", float),
        top_p=read_field(body, "top_p", float),
        top_k=read_field(body, "top_k", int),
        max_tokens=limit,
        stop=reading.read_texts(body, "stop_sequences"),
        service_tier=_TIERS.get(tier, tier) if tier else None,
    )


def _format(body: Fields, diagnostics: Diagnostics) -> ResponseFormat | None:
    """Return the response format: `output_config.format`, or the older `output_format`."""
    config = read_field(body, "output_config", dict) or {}
    path = "output_config.format"
    form = read_field(config, "format", dict, "output_config.")
    if form is None:
        path, form = "output_format", read_field(body, "output_format", dict)
    if form is None:
        return None
    if form.get("type") != "json_schema":
        raise invalid(f"{path}.type must be json_schema.", f"{path}.type")
    reading.report_unknown(form, frozenset({"schema", "type"}), diagnostics, path)
    schema = reading.required(form, "schema", dict, f"{path}.")
    return ResponseFormat.json_schema(without_null_keywords(schema))


_TIERS: Final = {native: name for name, native in SERVICE_TIERS.items()}

_DISPLAYS: Final[Mapping[object, Literal["auto", "none"]]] = {
    "summarized": "auto",
    "omitted": "none",
}


def _reasoning(body: Fields, upstream: Upstream) -> ReasoningOptions | None:
    """Return the reasoning options; None if the request sets none.

    Models that take a budget, those before Claude Opus 4.7, show their thinking unless `display` is
    `omitted`: https://platform.claude.com/docs/en/build-with-claude/thinking, read November 2026.
    """
    thinking = read_field(body, "thinking", dict)
    effort = read_field(
        read_field(body, "output_config", dict) or {}, "effort", str, "output_config."
    )
    if thinking is None:
        return None if effort is None else ReasoningOptions(effort=effort)
    summary = _DISPLAYS.get(read_field(thinking, "display", str, "thinking."))
    match reading.required(thinking, "type", str, "thinking."):
        case "disabled":
            return ReasoningOptions(effort="none")
        case "enabled":
            if summary is None and reading.hides_reasoning(upstream.protocol_id):
                summary = "auto"
            return ReasoningOptions(
                effort=effort,
                budget_tokens=read_field(thinking, "budget_tokens", int, "thinking."),
                summary=summary,
            )
        case _:  # adaptive, or newer than this
            return ReasoningOptions(effort=effort, summary=summary)


def _cache(request: ClientRequest, upstream: Upstream, diagnostics: Diagnostics) -> CachePolicy:
    """Return the cache policy: the client's own marks only, unless it asks for automatic ones."""
    own = upstream.protocol_id == PROTOCOL_ID
    whole = read_field(request.body, "cache_control", dict)
    ttl = None if own else reading.cache_ttl_of(request.body, diagnostics)
    if upstream.protocol_id in (CHAT, RESPONSES):
        return CachePolicy(key=_session(request))
    if whole is None or own:
        return CachePolicy(mode="manual")
    return CachePolicy(mode="auto", ttl="1h" if ttl == "1h" else None)


_MAX_KEY: Final = 64
"""Characters of `prompt_cache_key`."""


def _session(request: ClientRequest) -> str | None:
    """Return Claude Code's id of the session, which serves as a cache key."""
    named = str_or_none(request.headers.get("x-claude-code-session-id"))
    if named is None:
        user = str_or_none(object_or_empty(request.body.get("metadata")).get("user_id"))
        facts = json_or_text(user) if user is not None else None
        named = str_or_none(object_or_empty(facts).get("session_id"))
    return named[:_MAX_KEY] if named else None


def _metadata(body: Fields, upstream: Upstream, diagnostics: Diagnostics) -> Mapping[str, str]:
    given = read_field(body, "metadata", dict) or {}
    reading.report_unknown(given, frozenset({"user_id"}), diagnostics, "metadata")
    user = read_field(given, "user_id", str, "metadata.")
    if user is None:
        return {}
    if upstream.protocol_id == PROTOCOL_ID:
        return {"user_id": user}
    diagnostics.at("metadata.user_id").unsupported("it is meant for Anthropic")
    return {}


# -- native fields

_READ_FIELDS: Final = frozenset(
    {
        "anthropic_version", "cache_control", "max_tokens", "mcp_servers", "messages", "metadata",
        "model", "output_config", "output_format", "service_tier", "stop_sequences", "stream",
        "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
    }
)  # fmt: skip
"""Fields that are read elsewhere."""
_DEFAULTS: Final[Mapping[str, tuple[object, ...]]] = {"speed": ("standard",)}
"""Values equal to the default: omitting them loses nothing."""
_OF_THINKING: Final = frozenset({"budget_tokens", "display", "type"})
_THINKING: Final = ("adaptive", "disabled", "enabled")
_OF_OUTPUT_CONFIG: Final = frozenset({"effort", "format"})
_BETAS: Final = "anthropic-beta"
_BETA_FIELDS: Final = ("anthropic_beta", "betas")


def _native_fields(
    request: ClientRequest, upstream: Upstream, offer: MessagesOffer, diagnostics: Diagnostics
) -> dict[str, dict[str, Any]]:
    """Return the fields that only the Messages API has; for another upstream, report them."""
    native = present(request.body, but=_READ_FIELDS)
    output_config = object_or_empty(request.body.get("output_config"))
    config = present(output_config, but=_OF_OUTPUT_CONFIG)
    if upstream.protocol_id != PROTOCOL_ID:
        native.pop(COMPACTION, None)  # which the upstream was asked for
        lost = {f"output_config.{name}": value for name, value in config.items()}
        lost |= _own_thinking(object_or_empty(request.body.get("thinking")))
        lost = {**native, **lost}
        names = [name for name, value in lost.items() if value not in _DEFAULTS.get(name, ())]
        reading.report_lost(names, "the upstream's API has no such field", diagnostics)
        return {}
    whole = request.body.get("cache_control")
    native, betas = present(native, but=frozenset(_BETA_FIELDS)), _betas(request)
    thinking = object_or_empty(request.body.get("thinking"))
    own = bool(_own_thinking(thinking))
    fields: dict[str, Any] = {
        **native,
        **({"thinking": thinking} if own else {}),
        **offer.native,
        **({"cache_control": whole} if whole else {}),
        **({"output_config": config} if config else {}),
        **({"betas": betas} if betas else {}),
    }
    if not thinking and output_config.get("effort") is not None:
        fields["thinking"] = None  # effort alone does not turn thinking on
    return {METADATA_KEY: fields} if fields else {}


def _betas(request: ClientRequest) -> list[str]:
    """Return the betas that a request turns on, in its header or in its body.

    Clients of Bedrock and Vertex AI have a field for them; the SDKs' word is `betas`.
    """
    header = str_or_none(request.headers.get(_BETAS)) or ""
    named = [name for field in _BETA_FIELDS for name in reading.read_texts(request.body, field)]
    stripped = (name.strip() for name in (*header.split(","), *named))
    return list(dict.fromkeys(filter(None, stripped)))


def _own_thinking(thinking: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that `ReasoningOptions` has no field for, by their paths."""
    own = present(thinking, but=_OF_THINKING)
    if thinking.get("type") not in (None, *_THINKING):
        own["type"] = thinking["type"]
    if thinking.get("display") not in (None, *_DISPLAYS):
        own["display"] = thinking["display"]
    return {f"thinking.{name}": value for name, value in own.items()}
