"""JSON in and out."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema import content, errors, events, options, tools
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.usage import RateLimitInfo, Usage
from tests.support.strategies import values
from tests.support.strategies.examples import costly

STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "citation": values.citations(),
    "part": values.content_parts(),
    "origin": values.origins(),
    "message": values.messages(),
    "tool": values.tool_specs(),
    "tool choice": values.tool_choices(),
    "generation": values.generation_options(),
    "response format": values.response_formats(),
    "reasoning": values.reasoning_options(),
    "cache": values.cache_policies(),
    "http": values.http_overlays(),
    "model": values.models(),
    "request": values.requests(),
    "usage": values.usages(),
    "diagnostic": values.diagnostics(),
    "rate limit": values.rate_limits(),
    "finish reason": values.finish_reasons(),
    "response": values.responses(),
    "error": values.llm_errors(),
    "event": values.single_events(),
}


every_value = pytest.mark.parametrize("name", STRATEGIES)


def emptied(data: Any) -> None:
    """Empty every container in *data*."""
    children = list(data.values()) if isinstance(data, dict) else data
    if isinstance(data, dict | list):
        for child in children:
            emptied(child)
        data.clear()


# -- laws


@every_value
@costly
@given(st.data())
def test_every_value_round_trips(name: str, data: st.DataObject) -> None:
    """Written values read back equal, through real JSON text."""
    value = data.draw(STRATEGIES[name])

    written = to_json(value)
    read = from_json(type(value), json.loads(json.dumps(written)))

    assert read == value
    assert type(read) is type(value)
    assert to_json(read) == written  # also what equality leaves out


@costly
@given(values.single_events())
def test_events_round_trip_as_their_union(event: events.LLMEvent) -> None:
    """A reader that does not know which event comes finds it by its `type`."""
    data = json.loads(json.dumps(to_json(event)))

    read: events.LLMEvent = from_json(events.LLMEvent, data)  # type: ignore[arg-type]
    assert read == event
    assert data["type"] == event.type


@every_value
@costly
@given(st.data())
def test_every_value_pickles_and_copies(name: str, data: st.DataObject) -> None:
    """Values cross processes, by every pickle protocol, and `copy`."""
    value = data.draw(STRATEGIES[name])
    written = to_json(value)
    copies = [
        pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]

    for other in (*copies, copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert to_json(other) == written


@every_value
@costly
@given(st.data())
def test_values_share_nothing_with_their_json(name: str, data: st.DataObject) -> None:
    """Changing the JSON changes neither its source nor the value that was read from it."""
    value = data.draw(STRATEGIES[name])
    before = json.loads(json.dumps(to_json(value)))
    given_away = to_json(value)
    source = copy.deepcopy(before)

    read = from_json(type(value), source)
    emptied(source)
    emptied(given_away)

    assert to_json(value) == before
    assert to_json(read) == before


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in *data*."""
    if not isinstance(data, dict | list):
        return [path]
    keys = data.keys() if isinstance(data, dict) else range(len(data))
    return [path, *(found for key in keys for found in paths(data[key], (*path, key)))]


def damaged(data: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return *data* with *new* in the place of *path*; without it if *new* is `...`."""
    if not path:
        return None if new is ... else new
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    if new is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = new
    return data


@every_value
@costly
@given(st.data())
def test_damaged_json_is_a_value_or_an_error_with_a_path(name: str, data: st.DataObject) -> None:
    """However JSON is broken, the reader says where, and nothing but a typed error escapes."""
    value = data.draw(STRATEGIES[name])
    written = json.loads(json.dumps(to_json(value)))
    path = data.draw(st.sampled_from(paths(written)))
    broken = damaged(written, path, data.draw(st.just(...) | values.json_values()))

    try:
        read = from_json(type(value), broken)
    except errors.InvalidRequestError as error:
        assert " @ $" in error.message  # noqa: PT017  (both outcomes are fine)
    else:
        assert isinstance(read, type(value))


# -- the form


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (content.TextPart("hi"), {"type": "text", "text": "hi"}),
        (
            content.ImagePart(data=b"\x89PNG"),
            {"type": "image", "data": "iVBORw=="},
        ),
        (
            content.ToolCallPart("c1", "look_up", {"q": 1}),
            {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"q": 1}},
        ),
        (
            content.ToolResultPart("c1", {"parts": ["not a part"]}),
            {
                "type": "tool_result",
                "tool_call_id": "c1",
                "content": {"json": {"parts": ["not a part"]}},
            },
        ),
        (
            content.ToolResultPart("c1", [content.TextPart("x")]),
            {
                "type": "tool_result",
                "tool_call_id": "c1",
                "content": {"parts": [{"type": "text", "text": "x"}]},
            },
        ),
        (
            Message.user("hi"),
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        ),
        (
            tools.ToolDefinition("f"),
            {"type": "function", "name": "f"},
        ),
        (tools.HostedTool.web_search(), {"type": "hosted", "kind": "web_search"}),
        (Model("gpt", "acme", route=None), {"id": "gpt", "provider": "acme"}),
        (events.TextDelta("0", "hi"), {"type": "text-delta", "id": "0", "text": "hi"}),
        (
            events.ErrorEvent(errors.RateLimitError("slow down", retry_after=2)),
            {
                "type": "error",
                "error": {
                    "type": "RateLimitError",
                    "message": "slow down",
                    "retryable": True,
                    "retry_after": 2,
                },
            },
        ),
        (Usage(input_tokens=3), {"input_tokens": 3}),
    ],
)
def test_written_json_omits_defaults_and_tags_union_members(value: object, data: object) -> None:
    """Defaults are left out, members of unions carry their type, bytes are base64."""
    assert to_json(value) == data


def test_a_models_route_is_not_written() -> None:
    """A route holds credentials."""

    class Route:
        id = "acme-chat"
        provider = "acme"
        key = "secret"

    model = Model("m", "acme", route=Route())

    assert "secret" not in json.dumps(to_json(LLMRequest(model=model, messages=())))
    assert "secret" not in repr(model)


def test_a_cause_is_not_written() -> None:
    """A foreign exception has no JSON form; everything else of the error has."""
    error = errors.NetworkError("broke", cause=OSError("reset"), provider="acme")

    assert to_json(error) == {
        "type": "NetworkError",
        "message": "broke",
        "provider": "acme",
        "retryable": True,
    }


def test_integers_are_read_where_floats_are_meant() -> None:
    """JavaScript writes 1.0 as 1."""
    assert from_json(options.GenerationOptions, {"temperature": 1}).temperature == 1.0


def test_other_things_than_values_are_read_by_their_type() -> None:
    """Tuples of values and scalars read, too."""
    assert from_json(tuple[Diagnostic, ...], []) == ()
    with pytest.raises(errors.InvalidRequestError, match=r"not a valid int: expected int"):
        from_json(int, "5")


# -- what cannot be read

REQUEST: dict[str, Any] = {"model": "m", "messages": []}


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        # wrong types
        (content.TextPart, {"type": "text", "text": 5}, r"expected str, got int @ \$\.text"),
        (content.TextPart, [], r"expected an object, got list @ \$"),
        (content.TextPart, "x", r"expected an object, got str @ \$"),
        (content.TextPart, None, r"expected an object, got null @ \$"),
        (
            content.TextPart,
            {"type": "text", "text": "x", "citations": "abc"},
            r"expected a list, got str @ \$\.citations",
        ),
        (
            content.TextPart,
            {"type": "text", "text": "x", "provider_metadata": {"acme": 5}},
            r"must be an object, not an int @ \$\.provider_metadata",
        ),
        (options.GenerationOptions, {"stop": "abc"}, r"expected a list, got str @ \$\.stop"),
        (options.GenerationOptions, {"temperature": True}, r"got bool @ \$\.temperature"),
        (options.GenerationOptions, {"seed": 1.5}, r"expected int, got float @ \$\.seed"),
        (options.GenerationOptions, {"top_p": float("nan")}, r"nan is not a JSON number"),
        (content.ImagePart, {"type": "image", "data": 1234}, r"expected base64, got int"),
        (content.ImagePart, {"type": "image", "data": "%%"}, r"not base64.* @ \$\.data"),
        (RateLimitInfo, {"tokens_reset_at": 5}, r"expected an ISO 8601 .* @ \$\.tokens_reset_at"),
        (RateLimitInfo, {"tokens_reset_at": "soon"}, r"@ \$\.tokens_reset_at"),
        (
            Message,
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text"}]},
            r"required field missing @ \$\.content\[1\]\.text",
        ),
        (LLMRequest, {**REQUEST, "http": {"headers": {"a": 5}}}, r"@ \$\.http\.headers"),
        # missing fields
        (Origin, {"provider": "acme"}, r"required field missing @ \$\.model"),
        (errors.RateLimitError, {"type": "RateLimitError"}, r"missing @ \$\.message"),
        (
            events.ErrorEvent,
            {"type": "error", "error": {"type": "RateLimitError"}},
            r"missing @ \$\.error\.message",
        ),
        # unknown fields
        (Origin, {"provider": "a", "model": "m", "key": 1}, r"unknown fields: key @ \$"),
        (
            errors.RateLimitError,
            {"type": "RateLimitError", "message": "x", "cause": "y"},
            r"unknown fields: cause @ \$",
        ),
        (
            LLMRequest,
            {**REQUEST, "generation": {"temp": 1}},
            r"unknown fields: temp @ \$\.generation",
        ),
        # unknown tags
        (content.TextPart, {"type": "txt", "text": "x"}, r"type is 'txt', not one of text, "),
        (content.TextPart, {"text": "x"}, r"type is None, not one of"),
        (content.TextPart, {"type": ["text"], "text": "x"}, r"type is \['text'\], not one of"),
        (errors.LLMError, {"type": "Oops", "message": "x"}, r"not the name of an error class @ \$"),
        (Message, {"role": "robot", "content": []}, r"'robot' is not one of system, .* @ \$\.role"),
        (
            events.FinishReason,
            {"reason": "tired"},
            r"'tired' is not one of stop, .* @ \$\.reason",
        ),
        # another member of the union
        (content.ImagePart, {"type": "text", "text": "x"}, r"ImagePart: it is a TextPart @ \$"),
        (errors.RateLimitError, {"type": "AbortError", "message": "x"}, r"it is a AbortError"),
        # values that contradict themselves
        (content.ImagePart, {"type": "image"}, r"exactly one of url, data, path or file_id.* @ \$"),
        (
            LLMRequest,
            {**REQUEST, "tools": [{"type": "function", "name": " "}]},
            r"tool name ' ' .* @ \$\.tools\[0\]",
        ),
        (LLMRequest, {**REQUEST, "tool_choice": {"mode": "named"}}, r"@ \$\.tool_choice"),
        # models
        (LLMRequest, {"model": 5, "messages": []}, r"expected an object, got int @ \$\.model"),
        (
            LLMRequest,
            {"model": {"id": "m"}, "messages": []},
            r"expected a model id, .* @ \$\.model",
        ),
        (LLMRequest, {"model": {"id": "m", "provider": 5}, "messages": []}, r"@ \$\.model"),
        (Model, "m", r"expected an object, got str @ \$"),
    ],
)
def test_unreadable_json_is_an_error_that_names_the_path(
    kind: type, data: Any, message: str
) -> None:
    """The reader checks types, fields and tags, and says where each is wrong."""
    with pytest.raises(errors.InvalidRequestError, match=message):
        from_json(kind, data)


def test_all_faults_are_named() -> None:
    """One look is enough to mend a document."""
    data: Any = {"model": 5, "messages": [{"role": "user", "content": 5}], "strict": "yes"}

    with pytest.raises(errors.InvalidRequestError) as caught:
        from_json(LLMRequest, data)

    for path in ("$.model", "$.messages[0].content", "$.strict"):
        assert path in caught.value.message


def test_unions_are_named_in_errors() -> None:
    """The message says what was expected, also of a union."""
    with pytest.raises(errors.InvalidRequestError, match="not a valid LLMEvent"):
        from_json(events.LLMEvent, {})  # type: ignore[arg-type]


def test_json_beyond_reason_is_refused() -> None:
    """A document built to exhaust the stack is a typed error as well."""
    deep: Any = []
    for _ in range(500):
        deep = [deep]

    with pytest.raises(errors.InvalidRequestError, match=r"levels deep @ \$\.data"):
        from_json(content.ProviderPart, {"type": "provider", "provider": "acme", "data": deep})


@costly
@given(values.responses())
def test_a_response_keeps_the_native_document(response: LLMResponse) -> None:
    """`raw` does not count for equality, but it is written."""
    assert from_json(LLMResponse, to_json(response)).raw == response.raw
