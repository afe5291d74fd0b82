"""Reads a request of the Responses API as an `LLMRequest`.

    {"model": "gpt-5.2", "instructions": "Be brief.", "input": "Hi", "stream": true, "store": false,
     "reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}

Sources, read November 2026:
https://developers.openai.com/api/reference/resources/responses/methods/create, and, for the fields
that a response repeats of its request,
https://developers.openai.com/api/reference/resources/responses.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.fronts.billing_line import without_billing_line
from llmcore.fronts.checked_read import checked_read
from llmcore.fronts.errors import invalid
from llmcore.fronts.front import ClientRequest, ReadRequest, Routing, Upstream
from llmcore.fronts.openai_forms import read_cache
from llmcore.fronts.openai_responses import parameters
from llmcore.fronts.openai_responses.compaction import needs_summary
from llmcore.fronts.openai_responses.errors import previous_response_not_found
from llmcore.fronts.openai_responses.messages import InputReader, read_items
from llmcore.fronts.openai_responses.state import (
    NOTHING_STORED,
    StoredContext,
    StoredConversation,
    shown_items,
)
from llmcore.fronts.openai_responses.tools import (
    ToolCollector,
    ToolOffer,
    keeps_native,
    read_tool_choice,
)
from llmcore.fronts.reading import read_field
from llmcore.fronts.tool_registry import ToolRegistry
from llmcore.protocols.openai_responses.names import PROTOCOL_ID
from llmcore.schema.content import TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
from llmcore.schema.request import LLMRequest

_ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"
_ITEMS: Final = frozenset(
    {
        _ENCRYPTED_REASONING,
        "message.output_text.logprobs",
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
        "file_search_call.results",
        "message.input_image.image_url",
        "web_search_call.results",
        "computer_call_output.output.image_url",
    }
)


@frozen(kw_only=True)
class ReadResponsesRequest(ReadRequest):
    """A request, with what writing its response needs."""

    echo: JsonObject
    """The fields of the request that every form of the response repeats."""
    registry: ToolRegistry = ToolRegistry()
    """The client's tools by their functions, those of earlier turns included."""
    input_items: tuple[JsonObject, ...] = ()
    """The input as items with ids, for listings."""
    messages: tuple[Message, ...] = ()
    """The whole conversation, without instructions: what is kept if the response is."""
    before: tuple[Message, ...] = ()
    """Those of them that come from `previous_response_id`."""
    store: bool = True
    include: frozenset[str] = frozenset()
    """Further fields that the client asks for."""
    compacts: bool = False
    """Whether the response is a summary, to be sent as a `compaction` item."""

    @property
    def shows_state(self) -> bool:
        """Whether the client asks for encrypted reasoning."""
        return _ENCRYPTED_REASONING in self.include


def routing_of(request: ClientRequest) -> Routing:
    """Return the model that a request names, and whether its response is to be streamed."""
    name = request.body.get("model")
    if not isinstance(name, str) or not name:
        raise invalid("model must name a model", "model", "missing_required_parameter")
    return Routing(model=name, streaming=read_field(request.body, "stream", bool) or False)


@checked_read(PROTOCOL_ID)
def read_request(
    request: ClientRequest, upstream: Upstream, stored: StoredContext = NOTHING_STORED
) -> ReadResponsesRequest:
    """Return *request* as a request to the upstream.

    *stored* holds what `required_references` names: the conversation up to
    `previous_response_id`, and items. Without it, a request that refers to either is a Failure.
    """
    _check(request.body, stored.previous)
    given = request.body.get("input")
    items = read_items(given, stored.find_item, upstream.new_id, upstream.policy.max_items)
    previous = stored.previous or StoredConversation(model="", messages=())
    diagnostics = Diagnostics()
    body = _configured(request.body, items)
    native = keeps_native(body, upstream)
    offer = _offer(body, items, ToolCollector(upstream, diagnostics, native=native))
    registry = offer.registry.over(previous.tools)
    compacts = needs_summary(request.body, upstream)
    reader = InputReader(
        upstream,
        registry,
        diagnostics,
        compacts=compacts,
        before=previous.messages,
        sent_ids={str(item.get("id")) for item in objects(given)},
    )
    messages = (*previous.messages, *reader.read(items))
    include = _include(body, diagnostics)
    return ReadResponsesRequest(
        request=_request(body, offer, messages, upstream, diagnostics, compacts=compacts),
        streaming=read_field(request.body, "stream", bool) or False,
        registry=registry,
        input_items=shown_items(tuple(items)),
        echo=echoed(body),
        messages=messages,
        before=previous.messages,
        diagnostics=tuple(diagnostics.entries),
        store=read_field(body, "store", bool) is not False,
        include=include,
        compacts=compacts,
    )


def token_count(count: int) -> JsonObject:
    """Return the response to a request that counts tokens."""
    return {"object": "response.input_tokens", "input_tokens": count}


def _check(body: JsonObject, previous: StoredConversation | None) -> None:
    parameters.check_types(body)
    wanted_id = str_or_none(body.get("previous_response_id"))
    if wanted_id and previous is None:
        raise previous_response_not_found(wanted_id)
    parameters.refuse_unsupported(body)


def _request(
    body: Mapping[str, Any],
    offer: ToolOffer,
    messages: tuple[Message, ...],
    upstream: Upstream,
    diagnostics: Diagnostics,
    *,
    compacts: bool,
) -> LLMRequest:
    protocol_id = upstream.protocol_id
    wanted = "none" if compacts else body.get("tool_choice")
    choice, allowed = read_tool_choice(wanted, offer, upstream, diagnostics)
    instructions = read_field(body, "instructions", str)
    empty = len(messages) == compacts  # the wish for a summary does not count
    if empty and (compacts or not instructions):
        raise invalid("The request is empty: input has no items.", "input")
    if empty and protocol_id != PROTOCOL_ID:  # instructions alone are what to answer
        messages, instructions = (Message("system", (TextPart(str(instructions)),)),), None
    request = LLMRequest(
        model=upstream.model,
        provider=upstream.provider,
        messages=messages,
        system=instructions or None,
        tools=allowed.specs,
        tool_choice=choice,
        parallel_tool_calls=read_field(body, "parallel_tool_calls", bool)
        if allowed.tools
        else None,
        generation=parameters.read_generation(body, protocol_id, diagnostics),
        response_format=None if compacts else parameters.read_format(body, diagnostics),
        reasoning=parameters.read_reasoning(body),
        cache=read_cache(body, upstream, diagnostics),
        provider_options=parameters.provider_options(body, upstream, allowed.choice, diagnostics),
    )
    return without_billing_line(request, upstream, diagnostics)


def _offer(
    body: Mapping[str, Any], items: Sequence[dict[str, Any]], collector: ToolCollector
) -> ToolOffer:
    """Return all tools: the request's, and those that items of its input bring.

    The latter stay in their items where the upstream reads them there.
    """
    collector.add_all(body.get("tools"), "tools")
    if collector.native:
        return collector.offer()
    for index, item in enumerate(items):
        if item["type"] in ("additional_tools", "tool_search_output"):
            collector.add_all(item.get("tools"), f"input[{index}].tools", replace=True)
    return collector.offer()


def _include(body: Mapping[str, Any], diagnostics: Diagnostics) -> frozenset[str]:
    included = frozenset(map(str, read_field(body, "include", list) or ()))
    for name in sorted(included - _ITEMS):
        diagnostics.at("include").unsupported(f"there is no {name[:100]}")
    return included


def _configured(body: Mapping[str, Any], items: Sequence[dict[str, Any]]) -> Mapping[str, Any]:
    """Return *body* with the changes that later items of its input make."""
    for item in items:
        if item["type"] == "configuration_update":
            for name in ("reasoning", "text"):
                changed = {**object_or_empty(body.get(name)), **object_or_empty(item.get(name))}
                body = {**body, name: changed} if changed else body
    return body


# -- what a response repeats of its request


_DEFAULTS: Final[Mapping[str, Any]] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
_REPEATED: Final = frozenset({*_DEFAULTS, "prompt_cache_retention"})
_SECRETS: Final = frozenset({"authorization", "headers"})
"""Credentials for an MCP server, which clients send with every request."""
_FORMAT_DEFAULTS: Final = {"description": None, "strict": False}


def echoed(body: Mapping[str, Any]) -> JsonObject:
    """Return the fields of *body* that every form of its response repeats."""
    given = {name: value for name, value in body.items() if value is not None and name in _REPEATED}
    return {
        **_DEFAULTS,
        **given,
        "reasoning": _reasoning(object_or_empty(body.get("reasoning"))),
        "text": _text(object_or_empty(body.get("text"))),
        "tools": [_tool(tool) for tool in objects(body.get("tools"))],
    }


def _reasoning(reasoning: Mapping[str, Any]) -> JsonObject:
    summary = reasoning.get("summary") or reasoning.get("generate_summary")
    return {
        "effort": reasoning.get("effort"),
        "summary": None if summary == "none" else summary,
    }


def _text(text: Mapping[str, Any]) -> JsonObject:
    form = object_or_empty(text.get("format")) or {"type": "text"}
    if form.get("type") == "json_schema":
        form = {**_FORMAT_DEFAULTS, "name": "response", **form}
    verbosity = str_or_none(text.get("verbosity"))
    return {"format": form, **({"verbosity": verbosity} if verbosity else {})}


def _tool(tool: Mapping[str, Any]) -> JsonObject:
    if tool.get("type") != "function":
        return {name: value for name, value in tool.items() if name not in _SECRETS}
    function = {**object_or_empty(tool.get("function")), **tool}
    function.pop("function", None)
    return {"description": None, "parameters": {}, "strict": True, **function}


NO_REQUEST: Final = ReadResponsesRequest(
    echo=echoed({}), store=False, include=frozenset({_ENCRYPTED_REASONING})
)
"""The stand-in for the request of a response that has none: its reasoning is sealed."""
