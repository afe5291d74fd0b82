"""Reads a request of Chat Completions as an `LLMRequest`.

    {"model": "gpt-5.2", "messages": [{"role": "user", "content": "Hi"}], "stream": true,
     "stream_options": {"include_usage": true}, "reasoning_effort": "low", "tools": [...]}

Sources, read November 2026: https://developers.openai.com/api/reference/resources/chat (create);
what clients send besides: https://openrouter.ai/docs/use-cases/reasoning-tokens (`reasoning`,
`include_reasoning`), https://docs.z.ai/guides/capabilities/thinking-mode (`thinking`),
https://www.alibabacloud.com/help/en/model-studio/deep-thinking (`enable_thinking`).
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from llmcore.fronts import openai_forms, reading
from llmcore.fronts.billing_line import without_billing_line
from llmcore.fronts.checked_read import checked_read
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import ClientRequest, ReadRequest, Routing, Upstream, front_by_id
from llmcore.fronts.openai_chat.foreign_forms import (
    in_own_forms,
    is_responses_request,
    listed_contents,
)
from llmcore.fronts.openai_chat.kept_state import with_kept_state
from llmcore.fronts.openai_chat.messages import MessageReader
from llmcore.fronts.openai_chat.tools import own_forms, read_offer
from llmcore.fronts.openai_clients import ChatClient, UsagePlace, client_of
from llmcore.fronts.reading import Fields, read_field
from llmcore.protocols.anthropic_messages.names import PROTOCOL_ID as MESSAGES
from llmcore.protocols.caching import OPENAI_LIFETIMES
from llmcore.protocols.openai_chat.names import LIFETIMES, PARAMETERS, PROTOCOL_ID
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.native_json import int_or_none, object_or_empty, objects, str_or_none
from llmcore.schema.options import GenerationOptions, ReasoningOptions
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import CustomTool


@frozen(kw_only=True)
class ReadChatRequest(ReadRequest):
    """A request, with what writing its response needs."""

    usage_place: UsagePlace = "chunk"
    shows_logprobs: bool = True
    shows_thinking: bool = True
    custom_tools: frozenset[str] = frozenset()
    """Names of the freeform tools that the client listed: their calls are of the type `custom`."""
    legacy: bool = False
    """Whether calls are written as `function_call`, as the API had them before tools."""
    client: ChatClient = ChatClient()
    """The forms that the client reads."""
    choices: int = 1
    """The number of responses that the client asks for, at most `TranslationPolicy.max_choices`."""


# -- before the request is read

_DEPLOYMENT: Final = re.compile(r"/deployments/(.+)/(?:chat/completions|embeddings)/?$")


def routing_of(request: ClientRequest) -> Routing:
    """Return the model and whether to stream. In Azure's paths, the path names the model.

    Azure ignores a model in the body of such a request: its client states the deployment's there.
    """
    match = _DEPLOYMENT.search(request.path)
    model = match.group(1) if match else str_or_none(request.body.get("model"))
    if not model:
        raise invalid("model must name a model.", "model", "missing_required_parameter")
    return Routing(model=model, streaming=read_field(request.body, "stream", bool) or False)


# -- the request


@checked_read(PROTOCOL_ID)
def read_request(client_request: ClientRequest, upstream: Upstream) -> ReadChatRequest:
    """Return *client_request* as a request to the upstream."""
    if is_responses_request(client_request.body):
        return _read_responses(client_request, upstream)
    body, diagnostics = in_own_forms(client_request.body), Diagnostics()
    _refuse(body, upstream)
    offer = read_offer(body, upstream, diagnostics)
    conversation = MessageReader(upstream, diagnostics).read(body.get("messages"))
    request = LLMRequest(
        model=upstream.model,
        provider=upstream.provider,
        system=conversation.system,
        messages=conversation.messages,
        tools=offer.tools,
        tool_choice=offer.choice,
        parallel_tool_calls=offer.parallel,
        generation=_generation(body, upstream.protocol_id, diagnostics),
        response_format=openai_forms.read_format(
            read_field(body, "response_format", dict),
            "response_format",
            diagnostics,
            inner="json_schema",
        ),
        reasoning=_reasoning(body, upstream),
        cache=openai_forms.read_cache(
            body,
            upstream,
            diagnostics,
            ttl=reading.cache_ttl_of(body, diagnostics),
            is_marked=_has_anthropic_marks(body),
        ),
        metadata=_metadata(body, diagnostics),
        provider_options=_provider_options(body, upstream, offer.native_choice, diagnostics),
    )
    request = without_billing_line(request, upstream, diagnostics)
    hidden = object_or_empty(body.get("reasoning")).get("exclude") is True
    return _as_read(
        client_request,
        body,
        request,
        upstream,
        diagnostics,
        shows_thinking=not hidden and body.get("include_reasoning") is not False,
        unnamed=conversation.unnamed,
        legacy=offer.legacy,
        choices=_choices(body),
    )


def _read_responses(client_request: ClientRequest, upstream: Upstream) -> ReadChatRequest:
    """Return a request of the Responses API, whose client reads responses of this one."""
    made = front_by_id(RESPONSES).read(client_request, upstream).unwrap()
    diagnostics = Diagnostics()
    diagnostics.entries += made.diagnostics
    return _as_read(client_request, client_request.body, made.request, upstream, diagnostics)


def asks_openrouter_for_usage(body: Mapping[str, object]) -> bool:
    """Return whether *body* asks for the token counts of a stream as OpenRouter's clients do.

    Source: https://openrouter.ai/docs/guides/guides/usage-accounting, read November 2026.
    """
    return object_or_empty(body.get("usage")).get("include") is True


def _as_read(
    client_request: ClientRequest,
    body: Fields,
    request: LLMRequest,
    upstream: Upstream,
    diagnostics: Diagnostics,
    unnamed: Collection[str] = frozenset(),
    **more: Any,
) -> ReadChatRequest:
    client = client_of(client_request)
    options = read_field(body, "stream_options", dict) or {}
    included = read_field(options, "include_usage", bool, "stream_options.") or False
    asked: UsagePlace = "chunk" if included or asks_openrouter_for_usage(body) else ""
    messages = with_kept_state(request.messages, upstream, diagnostics, unnamed)
    if messages is not request.messages:
        request = changed(request, messages=messages)
    return ReadChatRequest(
        request=request,
        streaming=read_field(body, "stream", bool) or False,
        diagnostics=tuple(diagnostics.entries),
        usage_place=client.usage_place or asked,
        shows_logprobs=bool(request.generation.logprobs),
        custom_tools=frozenset(tool.name for tool in request.tools if isinstance(tool, CustomTool)),
        client=client,
        **more,
    )


def _refuse(body: Fields, upstream: Upstream) -> None:
    """Raise FrontError for what would change the meaning of the response if it were left out."""
    most = upstream.policy.max_choices
    if not 1 <= _choices(body) <= most:
        several = f"n must be from 1 to {most}."
        only_one = (
            "n must be 1: one response is given for each request. Send the request several times."
        )
        raise invalid(only_one if most == 1 else several, "n", "unsupported_value")
    modalities = read_field(body, "modalities", list) or ["text"]
    if upstream.protocol_id not in (None, PROTOCOL_ID) and modalities != ["text"]:
        raise invalid(
            "The upstream answers with text alone: leave modalities and audio out.",
            "modalities",
            "unsupported_value",
        )


def _choices(body: Fields) -> int:
    choices = read_field(body, "n", int)
    return 1 if choices is None else choices


# -- what our own request has fields for


def _generation(
    body: Fields, protocol_id: str | None, diagnostics: Diagnostics
) -> GenerationOptions:
    stop = body.get("stop")
    options = reading.read_options(body, PARAMETERS)
    if options.get("max_tokens") is None:
        options["max_tokens"] = read_field(body, "max_tokens", int)
    elif body.get("max_tokens") not in (None, options["max_tokens"]):
        why = "max_completion_tokens is set too, and has another value"
        diagnostics.at("max_tokens").unsupported(why)
    return GenerationOptions(
        **options,
        stop=(stop,) if isinstance(stop, str) else reading.read_texts(body, "stop"),
        service_tier=None
        if protocol_id == PROTOCOL_ID
        else openai_forms.read_tier(body, protocol_id, diagnostics),
    )


_SWITCHES: Final = frozenset(
    {"chat_template_kwargs", "enable_thinking", "thinking", "thinking_budget"}
)
"""Fields that are read as reasoning options, and have further meanings at some servers."""


def _reasoning(body: Fields, upstream: Upstream) -> ReasoningOptions | None:
    """Return the reasoning options, from any of the fields that clients use for them.

    A request only to hide thinking does not turn it on for models of other APIs. OpenRouter shows
    the thinking that its own object asks for:
    https://openrouter.ai/docs/use-cases/reasoning-tokens, read November 2026.
    """
    if _OF_REASONING.isdisjoint(body):
        return None
    reasoning = read_field(body, "reasoning", dict) or {}
    effort = read_field(body, "reasoning_effort", str)
    effort = read_field(reasoning, "effort", str, "reasoning.") if effort is None else effort
    budget = _thinking_budget(body, reasoning)
    summary: Any = reasoning.get("summary")
    if reasoning.get("exclude") is True or body.get("include_reasoning") is False:
        summary = "none"
    switch = _thinking_switch(body, reasoning)
    if effort is None and switch is False:
        effort, budget = "none", None
    same_api = upstream.protocol_id in (None, PROTOCOL_ID)
    states_none = summary is None if same_api else summary in (None, "none")
    if effort is None and budget is None and states_none and switch is None:
        return None
    summary = openai_forms.checked_summary(summary)
    on_request = reading.hides_reasoning(upstream.protocol_id) and effort != "none"
    if summary is None and reasoning and on_request:
        summary = "auto"
    return ReasoningOptions(effort=effort, budget_tokens=budget, summary=summary)


def _thinking_budget(body: Fields, reasoning: Fields) -> int | None:
    """Return the tokens of thinking: OpenRouter's field, else Anthropic's, else Qwen's."""
    budget = read_field(reasoning, "max_tokens", int, "reasoning.")
    if budget is not None:
        return budget
    stated = int_or_none(object_or_empty(body.get("thinking")).get("budget_tokens"))
    return stated or int_or_none(body.get("thinking_budget"))


def _thinking_switch(body: Fields, reasoning: Fields) -> bool | None:
    """Return whether thinking is turned on or off; None if *body* does neither."""
    template = object_or_empty(body.get("chat_template_kwargs"))
    states = (
        reasoning.get("enabled"),
        _STATES.get(str(object_or_empty(body.get("thinking")).get("type"))),
        body.get("enable_thinking"),
        template.get("enable_thinking", template.get("thinking")),
    )
    return next((value for value in states if isinstance(value, bool)), None)


_STATES: Final[Mapping[str, bool]] = {"enabled": True, "adaptive": True, "disabled": False}
"""`thinking.type`."""
_OF_REASONING: Final = frozenset({"include_reasoning", "reasoning", "reasoning_effort", *_SWITCHES})


def _has_anthropic_marks(body: Fields) -> bool:
    """Return whether prefixes are marked as Anthropic's are; OpenAI's marks are additional."""
    parts = (part for content in listed_contents(body) for part in objects(content))
    return any("cache_control" in holder for holder in (*parts, *objects(body.get("tools"))))


def _metadata(body: Fields, diagnostics: Diagnostics) -> Mapping[str, str]:
    given = read_field(body, "metadata", dict)
    if not given:
        return {}
    lost = [name for name, value in given.items() if not isinstance(value, str)]
    reading.report_lost(lost, "values of metadata are texts", diagnostics.at("metadata"))
    return {name: value for name, value in given.items() if isinstance(value, str)}


# -- native fields

_DEFAULTS: Final[Mapping[str, tuple[object, ...]]] = {
    "logit_bias": ({},),
    "modalities": (["text"],),
    "service_tier": ("auto",),  # "default" is a tier, and the project may have set another one
    "store": (False,),
    "verbosity": ("medium",),
}
"""Values equal to the default: omitting them loses nothing."""
_READ_FIELDS: Final = frozenset(
    {
        *PARAMETERS.values(), "cache_control", "function_call", "functions", "include_reasoning",
        "max_tokens", "messages", "metadata", "model", "n", "parallel_tool_calls",
        "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
        "reasoning_effort", "response_format", "stream", "stream_options", "tool_choice", "tools",
        "usage",
    }
)  # fmt: skip
"""Fields that `LLMRequest` has, and `usage`, in which OpenRouter's clients ask for token counts."""
_RESPONSES_TAKES: Final = frozenset({"moderation", "safety_identifier", "user"})


_INSIDE: Final[Mapping[str, frozenset[str]]] = {
    "prompt_cache_options": frozenset({"mode", "ttl"}),
    "reasoning": frozenset({"effort", "enabled", "exclude", "max_tokens", "summary"}),
    "stream_options": frozenset({"include_obfuscation", "include_usage"}),
}
"""Fields of the objects of a request that are read."""


def _provider_options(
    body: Fields,
    upstream: Upstream,
    native_choice: JsonObject | None,
    diagnostics: Diagnostics,
) -> Mapping[str, Mapping[str, Any]]:
    """Return the native fields for the upstream, and report those that it does not have.

    A server of the same API gets every field: what the client and its vendor agree on is theirs.
    *native_choice* is the choice of tools where it is sent as it is.
    """
    protocol_id = upstream.protocol_id
    given = {name: value for name, value in body.items() if _is_left(name, value)}
    reading.report_unknown_inside(body, _INSIDE, diagnostics)
    if protocol_id != PROTOCOL_ID:
        given.pop("service_tier", None)  # a generation option
    if protocol_id in (None, PROTOCOL_ID):
        choice = {} if native_choice is None else {openai_forms.TOOL_CHOICE: native_choice}
        options = given | own_forms(body) | choice
        if upstream.policy.hosted_tools in ("drop", "function"):
            options.pop("web_search_options", None)
    else:
        given = {name: value for name, value in given.items() if name not in _SWITCHES}
        has_user = "user_id" in (read_field(body, "metadata", dict) or {})
        options = _translated(given, protocol_id, diagnostics, has_user=has_user)
    lifetimes = LIFETIMES if protocol_id == PROTOCOL_ID else OPENAI_LIFETIMES
    options |= openai_forms.second_lifetime(body, upstream, lifetimes, diagnostics)
    options |= openai_forms.read_padding(body, upstream, diagnostics)
    if not options:
        return {}
    return {protocol_by_id(protocol_id or PROTOCOL_ID).metadata_key: options}


def _is_left(name: str, value: object) -> bool:
    """Return whether a field with a value is not read, and does not state its default."""
    return name not in _READ_FIELDS and value is not None and value not in _DEFAULTS.get(name, ())


def _translated(
    given: Mapping[str, Any], protocol_id: str, diagnostics: Diagnostics, *, has_user: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    lost: list[str] = []
    for name, value in given.items():
        if name == "web_search_options":
            continue  # a tool
        if protocol_id == RESPONSES and name == "verbosity":
            options["text"] = {"verbosity": value}
        elif protocol_id == RESPONSES and name in _RESPONSES_TAKES:
            options[name] = value
        elif name in openai_forms.END_USER and protocol_id == MESSAGES and not has_user:
            options["metadata"] = {"user_id": str(value)}
            has_user = True
        else:
            lost.append(name)
    reading.report_lost(lost, "the upstream takes no such field", diagnostics)
    return options
