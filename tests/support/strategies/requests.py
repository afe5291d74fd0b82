"""Hypothesis strategies for JSON, parts, messages, tools and requests."""

from collections.abc import Mapping
from functools import cache
from string import ascii_letters, digits
from typing import Any, TypeVar

from hypothesis import strategies as st

from llmcore.protocols.tool_schema.normalise import without_null_keywords
from llmcore.schema import content, options, tools
from llmcore.schema.json import JsonObject, JsonValue, ProviderMetadata
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest

_T = TypeVar("_T")

# -- JSON and scalars


@cache
def texts(min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[str]:
    """Any text that can be encoded: no half of a surrogate pair."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=min_size, max_size=max_size)


@cache
def ids() -> st.SearchStrategy[str]:
    """Ids as providers make them, and some that they should not."""
    prefixes = ("call", "msg", "toolu", "fc", "id")
    usual = st.integers(0, 0xFFFF).map(lambda n: f"{prefixes[n % len(prefixes)]}_{n:04x}")
    return st.one_of(usual, texts(1, 6))  # st.from_regex takes four times as long


@cache
def finite_floats() -> st.SearchStrategy[float]:
    """Numbers that JSON can represent."""
    return st.floats(allow_nan=False, allow_infinity=False)


@cache
def counts() -> st.SearchStrategy[int]:
    """Numbers of tokens."""
    return st.integers(0, 10**7)


def maybe(strategy: st.SearchStrategy[_T]) -> st.SearchStrategy[_T | None]:
    """Either nothing or one of *strategy*."""
    return st.none() | strategy


@cache
def json_values() -> st.SearchStrategy[JsonValue]:
    """Any JSON value, as `plain` leaves it."""
    scalars = st.none() | st.booleans() | st.integers() | finite_floats() | texts()
    return st.recursive(scalars, _containers, max_leaves=6)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(texts(0, 6), inner, max_size=3)


@cache
def json_objects() -> st.SearchStrategy[JsonObject]:
    """Any JSON object."""
    return st.dictionaries(texts(0, 6), json_values(), max_size=3)


@cache
def provider_metadata() -> st.SearchStrategy[ProviderMetadata]:
    """Opaque provider data, mostly none."""
    some = st.dictionaries(st.sampled_from(["acme", "umbrella"]), json_objects(), max_size=2)
    return st.one_of(st.just({}), st.just({}), some)


def tuples_of(strategy: st.SearchStrategy[_T], max_size: int = 2) -> st.SearchStrategy[Any]:
    """Tuples of *strategy*."""
    return st.lists(strategy, max_size=max_size).map(tuple)


@cache
def string_maps() -> st.SearchStrategy[Mapping[str, str]]:
    """Headers, query fields, metadata."""
    return st.dictionaries(texts(1, 6), texts(), max_size=2)


# -- parts


@cache
def citations() -> st.SearchStrategy[content.Citation]:
    """Citations with any of their fields."""
    return st.builds(
        content.Citation,
        url=maybe(texts()),
        title=maybe(texts()),
        cited_text=maybe(texts()),
        document_id=maybe(ids()),
        start_index=maybe(counts()),
        end_index=maybe(counts()),
        provider_metadata=provider_metadata(),
    )


@cache
def logprobs() -> st.SearchStrategy[tuple[content.TokenLogprob, ...]]:
    """Log probabilities of a few tokens, mostly none."""
    scores = st.floats(-100, 0)
    known = maybe(st.binary(min_size=1, max_size=3))
    token = st.builds(content.TokenLogprob, token=texts(), logprob=scores, data=known)
    ranked = st.builds(
        content.TokenLogprob, token=texts(), logprob=scores, top=tuples_of(token), data=known
    )
    return st.just(()) | tuples_of(ranked)


@cache
def text_parts() -> st.SearchStrategy[content.TextPart]:
    """Text with citations and log probabilities."""
    return st.builds(
        content.TextPart,
        texts(),
        citations=tuples_of(citations(), 1),
        logprobs=logprobs(),
        provider_metadata=provider_metadata(),
    )


@cache
def reasoning_parts() -> st.SearchStrategy[content.ReasoningPart]:
    """Shown, signed and encrypted reasoning."""
    return st.builds(
        content.ReasoningPart,
        texts(),
        signature=maybe(texts()),
        encrypted=maybe(texts()),
        provider_metadata=provider_metadata(),
    )


@cache
def media_sources() -> st.SearchStrategy[dict[str, Any]]:
    """Exactly one of the places that media can come from."""
    return st.one_of(
        st.fixed_dictionaries({"url": texts(1, 8).map(lambda rest: f"https://{rest}")}),
        st.fixed_dictionaries({"url": st.just("data:image/png;base64,AAAA")}),
        st.fixed_dictionaries({"data": st.binary(max_size=8)}),
        st.fixed_dictionaries({"path": texts(1, 8)}),
        st.fixed_dictionaries({"file_id": ids()}),
    )


def _media(kind: type[_T], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[_T]:
    others = st.fixed_dictionaries(
        {"media_type": maybe(texts()), "provider_metadata": provider_metadata(), **fields}
    )
    both = st.tuples(media_sources(), others)
    return both.map(lambda pair: kind(**pair[0], **pair[1]))


@cache
def image_parts() -> st.SearchStrategy[content.ImagePart]:
    """Pictures from anywhere."""
    details = st.sampled_from([None, "auto", "low", "high", "original"])
    return _media(content.ImagePart, detail=details)


@cache
def audio_parts() -> st.SearchStrategy[content.AudioPart]:
    """Sound from anywhere."""
    return _media(content.AudioPart, transcript=maybe(texts()))


@cache
def document_parts() -> st.SearchStrategy[content.DocumentPart]:
    """Documents from anywhere."""
    return _media(
        content.DocumentPart,
        name=maybe(texts()),
        title=maybe(texts()),
        context=maybe(texts()),
        citations=st.booleans(),
    )


@cache
def call_kinds() -> st.SearchStrategy[content.ToolCallKind]:
    """Both kinds of tool call."""
    return st.sampled_from(["function", "custom"])


@cache
def tool_call_parts() -> st.SearchStrategy[content.ToolCallPart]:
    """Tool calls, with arguments of every kind."""
    return st.builds(
        content.ToolCallPart,
        ids(),
        tool_names(),
        json_values(),
        kind=call_kinds(),
        provider_executed=st.booleans(),
        provider_metadata=provider_metadata(),
    )


@cache
def provider_parts() -> st.SearchStrategy[content.ProviderPart]:
    """Native data."""
    return st.builds(
        content.ProviderPart, ids(), json_values(), provider_metadata=provider_metadata()
    )


@cache
def refusal_parts() -> st.SearchStrategy[content.RefusalPart]:
    """Parts with refusals."""
    return st.builds(content.RefusalPart, texts(), provider_metadata=provider_metadata())


@cache
def output_parts() -> st.SearchStrategy[content.ToolOutputPart]:
    """Parts that a tool result can hold."""
    return st.one_of(text_parts(), image_parts(), audio_parts(), document_parts(), provider_parts())


@cache
def tool_outputs() -> st.SearchStrategy[Any]:
    """Contents of tool results: text, JSON or parts."""
    return st.one_of(
        texts(),
        json_values(),
        tuples_of(output_parts()),
        st.sampled_from([{"parts": ["x"]}, {"json": 1}, {"parts": [], "json": 1}]),
    )


def tool_result_parts(
    executed: st.SearchStrategy[bool] | None = None,
) -> st.SearchStrategy[content.ToolResultPart]:
    """Tool results; *executed* says whether the provider ran the tool."""
    return st.builds(
        content.ToolResultPart,
        ids(),
        tool_outputs(),
        name=maybe(texts()),
        is_error=st.booleans(),
        kind=call_kinds(),
        provider_executed=st.booleans() if executed is None else executed,
        provider_metadata=provider_metadata(),
    )


@cache
def content_parts() -> st.SearchStrategy[content.ContentPart]:
    """Any part."""
    return st.one_of(
        output_parts(), reasoning_parts(), refusal_parts(), tool_call_parts(), tool_result_parts()
    )


# -- messages


@cache
def origins() -> st.SearchStrategy[Origin]:
    """Where messages come from."""
    return st.builds(Origin, provider=ids(), model=ids(), protocol=maybe(ids()))


@cache
def assistant_messages() -> st.SearchStrategy[Message]:
    """Responses of models, in any order of parts."""
    parts = st.one_of(
        output_parts(),
        reasoning_parts(),
        refusal_parts(),
        tool_call_parts(),
        tool_result_parts(st.just(True)),
    )
    return _messages_of("assistant", parts)


@cache
def messages() -> st.SearchStrategy[Message]:
    """Messages of every role."""
    return st.one_of(
        assistant_messages(),
        st.sampled_from(["system", "developer", "user"]).flatmap(
            lambda role: _messages_of(role, output_parts())
        ),
        _messages_of("tool", tool_result_parts() | text_parts()),
    )


def _messages_of(role: str, parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Message]:
    return st.builds(
        Message,
        st.just(role),
        tuples_of(parts, 3),
        name=maybe(texts()),
        origin=maybe(origins()),
        provider_metadata=provider_metadata(),
    )


# -- tools


@cache
def tool_names() -> st.SearchStrategy[str]:
    """Names that every provider takes: ten characters at most, of which the first is a letter."""
    characters = st.text(f"{ascii_letters}{digits}_", min_size=1, max_size=10)
    return characters.map(lambda name: name if name[0].isalpha() else f"t{name[:9]}")


@cache
def parameter_schemas() -> st.SearchStrategy[JsonObject]:
    """JSON Schemas of objects."""
    kinds: list[JsonValue] = [{"type": "string"}, {"type": "integer"}, {"enum": ["a", None]}, {}]
    properties = st.dictionaries(tool_names(), st.sampled_from(kinds), max_size=3)
    return properties.map(lambda found: {"type": "object", "properties": found})


@cache
def tool_definitions() -> st.SearchStrategy[tools.ToolDefinition]:
    """Definitions of functions."""
    return st.builds(
        tools.ToolDefinition,
        tool_names(),
        texts(),
        maybe(parameter_schemas()),
        strict=maybe(st.booleans()),
        cache=st.sampled_from([None, "5m", "1h"]),
    )


@cache
def custom_tools() -> st.SearchStrategy[tools.CustomTool]:
    """Freeform tools."""
    grammars = st.builds(
        tools.Grammar, syntax=st.sampled_from(["lark", "regex"]), definition=texts()
    )
    return st.builds(tools.CustomTool, tool_names(), texts(), grammar=maybe(grammars))


@cache
def hosted_tools() -> st.SearchStrategy[tools.HostedTool]:
    """Tools that the provider defines."""
    return st.one_of(
        st.builds(
            tools.HostedTool.web_search,
            max_uses=maybe(counts()),
            allowed_domains=tuples_of(texts()),
            user_location=maybe(json_objects()),
        ),
        st.builds(tools.HostedTool.file_search, vector_store_ids=tuples_of(ids())),
        st.builds(tools.HostedTool.code_execution, container=json_values()),
        st.builds(tools.HostedTool.mcp, server_label=ids(), server_url=maybe(texts())),
        st.builds(tools.HostedTool.raw, ids(), json_objects()),
    )


@cache
def tool_specs() -> st.SearchStrategy[tools.ToolSpec]:
    """Any tool."""
    return st.one_of(tool_definitions(), custom_tools(), hosted_tools())


@cache
def tool_choices() -> st.SearchStrategy[tools.ToolChoice]:
    """Every choice."""
    plain = [tools.ToolChoice.auto(), tools.ToolChoice.none(), tools.ToolChoice.required()]
    return st.sampled_from(plain) | tool_names().map(tools.ToolChoice.named)


# -- requests


@cache
def generation_options() -> st.SearchStrategy[options.GenerationOptions]:
    """Options of sampling, and limits."""
    return st.builds(
        options.GenerationOptions,
        temperature=maybe(finite_floats().map(abs) | st.integers(0, 2)),
        top_p=maybe(st.floats(0, 1)),
        top_k=maybe(counts()),
        max_tokens=maybe(st.integers(1, 10**7)),
        stop=tuples_of(texts()),
        seed=maybe(st.integers()),
        presence_penalty=maybe(finite_floats()),
        frequency_penalty=maybe(finite_floats()),
        logprobs=maybe(st.booleans()),
        top_logprobs=maybe(counts()),
    )


@cache
def response_formats() -> st.SearchStrategy[options.ResponseFormat]:
    """Every shape of response."""
    schemas = st.builds(
        options.ResponseFormat.json_schema,
        json_objects().map(without_null_keywords),
        name=tool_names(),
        description=maybe(texts()),
        strict=maybe(st.booleans()),
    )
    return st.sampled_from([options.ResponseFormat.text(), options.ResponseFormat.json()]) | schemas


@cache
def reasoning_options() -> st.SearchStrategy[options.ReasoningOptions]:
    """How much to think."""
    return st.builds(
        options.ReasoningOptions,
        effort=maybe(texts()),
        budget_tokens=maybe(counts()),
        summary=st.sampled_from([None, "auto", "concise", "detailed", "none"]),
    )


@cache
def cache_policies() -> st.SearchStrategy[options.CachePolicy]:
    """Prompt caching."""
    return st.builds(
        options.CachePolicy,
        mode=st.sampled_from(["auto", "manual", "off"]),
        ttl=st.sampled_from([None, "5m", "1h"]),
        key=maybe(texts()),
        retention=maybe(texts()),
    )


@cache
def http_overlays() -> st.SearchStrategy[options.HttpOverlay]:
    """Last words on the HTTP request."""
    return st.builds(
        options.HttpOverlay, headers=string_maps(), query=string_maps(), body=json_objects()
    )


@cache
def models() -> st.SearchStrategy[Model]:
    """Models without a route, as they are read from JSON."""
    return st.builds(Model, ids(), ids())


@cache
def requests() -> st.SearchStrategy[LLMRequest]:
    """Whole requests."""
    return st.builds(
        LLMRequest,
        model=models() | ids(),
        messages=tuples_of(messages()),
        provider=maybe(ids()),
        system=tuples_of(text_parts(), 1),
        tools=st.lists(
            tool_specs(), max_size=2, unique_by=lambda tool: getattr(tool, "name", id(tool))
        ),
        tool_choice=maybe(tool_choices()),
        parallel_tool_calls=maybe(st.booleans()),
        generation=generation_options(),
        response_format=maybe(response_formats()),
        reasoning=maybe(reasoning_options()),
        cache=cache_policies(),
        metadata=string_maps(),
        provider_options=provider_metadata(),
        http=http_overlays(),
        strict=st.booleans(),
    )
