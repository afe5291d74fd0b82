"""How a response is to be generated."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from llmcore.schema.content import cached
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject
from llmcore.schema.options import (
    CachePolicy,
    GenerationOptions,
    HttpOverlay,
    ReasoningOptions,
    ResponseFormat,
    as_response_format,
    merge_json,
)
from llmcore.schema.request import request
from tests.support.strategies.values import http_overlays, json_objects


@pytest.mark.parametrize(
    ("stop", "kept"), [("END", ("END",)), (["a", "b"], ("a", "b")), ((), ()), ([], ())]
)
def test_one_stop_text_or_several(stop: Any, kept: tuple[str, ...]) -> None:
    """A single text is not taken for a list of its characters."""
    assert GenerationOptions(stop=stop).stop == kept


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"temperature": -0.1}, "temperature is -0.1; give 0 or more"),
        ({"top_p": -0.1}, "top_p is -0.1; give 0 to 1"),
        ({"top_p": 1.5}, "top_p is 1.5; give 0 to 1"),
        ({"top_logprobs": -1}, "top_logprobs is -1; give 0 or more"),
    ],
)
def test_an_option_that_no_provider_takes_is_an_error(given: Any, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(words)):
        GenerationOptions(**given)


def test_a_negative_budget_is_an_error_unless_it_leaves_the_decision_to_the_model() -> None:
    with pytest.raises(InvalidRequestError, match="budget_tokens is -2; give 0 or more"):
        ReasoningOptions(budget_tokens=-2)
    assert ReasoningOptions(budget_tokens=-1).budget_tokens == -1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["temperature", "top_p", "presence_penalty", "frequency_penalty"])
def test_nan_and_infinity_are_refused(name: str, number: float) -> None:
    """It would go out as null, which leaves the choice to the provider."""
    options: dict[str, Any] = {name: number}
    with pytest.raises(InvalidRequestError, match=name):
        GenerationOptions(**options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_tokens": "5"}, "max_tokens is '5', a str; give a whole number"),
        ({"max_tokens": 5.0}, "max_tokens is a float; give a whole number"),
        ({"max_tokens": True}, "max_tokens is a bool"),
        ({"temperature": "hot"}, "temperature is 'hot', a str; give a number"),
        ({"temperature": False}, "temperature is a bool"),
        ({"top_p": [1]}, "top_p is a list"),
        ({"top_k": "40"}, "top_k is '40'"),
        ({"seed": 1.5}, "seed is a float"),
        ({"presence_penalty": "1"}, "presence_penalty is '1'"),
        ({"frequency_penalty": b"1"}, "frequency_penalty is a bytes"),
        ({"logprobs": 1}, "logprobs is an int; give True or False"),
        ({"top_logprobs": "3"}, "top_logprobs is '3'"),
        ({"stop": [3]}, "stop is an int; give a text, or several"),
        ({"stop": 3}, "stop is an int"),
    ],
)
def test_option_of_another_type_is_refused_with_the_type_to_give(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        GenerationOptions(**options)


def test_whole_numbers_are_taken_for_numbers() -> None:
    assert GenerationOptions(temperature=0, top_p=1, seed=-1).temperature == 0


def test_numbers_of_numpy_become_pythons() -> None:
    given: dict[str, Any] = {"max_tokens": np.int64(5), "temperature": np.float32(0.5)}
    given |= {"seed": np.uint8(1), "top_p": np.float64(1)}
    budget: Any = np.int32(9)

    options = GenerationOptions(**given)

    assert options == GenerationOptions(max_tokens=5, seed=1, temperature=0.5, top_p=1.0)
    kinds = {name: type(getattr(options, name)) for name in given}
    assert kinds == {"max_tokens": int, "temperature": float, "seed": int, "top_p": float}
    assert type(ReasoningOptions(budget_tokens=budget).budget_tokens) is int


@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(1.5), np.float64(5), np.bool_(True), Decimal(5)]
)
def test_what_is_not_one_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"max_tokens is .*; give a whole number"):
        GenerationOptions(max_tokens=value)


@pytest.mark.parametrize("options", [{"effort": 3}, {"budget_tokens": "9"}])
def test_reasoning_option_of_another_type_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=r"effort is an int|budget_tokens is '9'"):
        ReasoningOptions(**options)


# -- response format


def test_each_response_format_has_a_constructor() -> None:
    """Each format has its constructor; a schema needs no name."""
    schema: JsonObject = {"type": "object"}

    assert ResponseFormat.text() == ResponseFormat()
    assert ResponseFormat.json() == ResponseFormat("json")
    assert ResponseFormat.json_schema(schema) == ResponseFormat("json_schema", schema)
    assert ResponseFormat.json_schema(schema).name == "response"


@pytest.mark.parametrize(
    ("value", "response_format"),
    [
        ({"type": "text"}, ResponseFormat.text()),
        ({"type": "json_object"}, ResponseFormat.json()),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
            ResponseFormat.json_schema({"type": "object"}, name="n"),
        ),
        (
            {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {}, "strict": True, "description": "d"},
            },
            ResponseFormat.json_schema({}, name="n", strict=True, description="d"),
        ),
    ],
)
def test_format_of_chat_completions_is_taken(
    value: JsonObject, response_format: ResponseFormat
) -> None:
    assert as_response_format(value) == response_format
    assert request(model="m", prompt="Hi", response_format=value).response_format == response_format


@pytest.mark.parametrize("value", [{}, {"type": "json"}, {"type": "json_schema"}, {"type": []}])
def test_mapping_that_is_not_a_format_is_refused(value: JsonObject) -> None:
    with pytest.raises(InvalidRequestError, match="response_format must be ResponseFormat"):
        as_response_format(value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ResponseFormat("json_schema"),
        lambda: ResponseFormat("json", {"type": "object"}),
        lambda: ResponseFormat("text", {}),
    ],
)
def test_a_schema_goes_with_the_schema_format(build: Any) -> None:
    """A format that contradicts itself is refused."""
    with pytest.raises(InvalidRequestError, match="schema must be set for the type 'json_schema'"):
        build()


def test_a_schema_is_copied() -> None:
    """Later changes of the schema do not change the format."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    kept = ResponseFormat.json_schema(schema)

    schema["properties"].clear()

    assert kept.schema == {"type": "object", "properties": {"a": {}}}


# -- overlays


@pytest.mark.parametrize(
    ("below", "above", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": None, "d": [3]}}, {"a": {"b": 1, "d": [3]}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
    ],
)
def test_overlays_merge_as_in_rfc_7396(
    below: JsonObject, above: JsonObject, merged: JsonObject
) -> None:
    """Objects merge, None removes, all else replaces; as RFC 7396 has it."""
    assert merge_json(below, above) == merged


@given(json_objects(), json_objects())
def test_merging_changes_neither_side(below: JsonObject, above: JsonObject) -> None:
    """Both arguments stay what they were."""
    before = merge_json({}, below, keep_none=True), merge_json({}, above, keep_none=True)

    merge_json(below, above)

    assert (below, above) == before


@given(json_objects(), json_objects())
def test_merging_twice_is_merging_once(below: JsonObject, above: JsonObject) -> None:
    """An overlay that has been laid on has nothing left to do."""
    once = merge_json(below, above)

    assert merge_json(once, above) == once


@given(http_overlays())
def test_an_empty_overlay_changes_nothing(overlay: HttpOverlay) -> None:
    """It is the neutral element from both sides."""
    assert overlay.over(HttpOverlay()) == HttpOverlay().over(overlay) == overlay


def test_the_upper_overlay_wins() -> None:
    """Fields of the lower one that the upper one does not name stay; removals are kept."""
    below = HttpOverlay(headers={"a": "1", "b": "1"}, query={"q": "1"}, body={"x": {"y": 1}})
    above = HttpOverlay(headers={"b": "2"}, body={"x": {"z": 2}, "gone": None})

    assert above.over(below) == HttpOverlay(
        headers={"a": "1", "b": "2"},
        query={"q": "1"},
        body={"x": {"y": 1, "z": 2}, "gone": None},
    )


def test_overlays_copy_and_hide_what_they_were_given() -> None:
    """Headers hold keys: they are not in the repr, and cannot be changed from outside."""
    headers, body = {"authorization": "secret"}, {"a": {"b": [1]}}
    overlay = HttpOverlay(headers=headers, body=body)

    headers.clear()
    body["a"]["b"].append(2)

    assert overlay.headers == {"authorization": "secret"}
    assert overlay.body == {"a": {"b": [1]}}
    assert "secret" not in repr(overlay)


def test_numbers_are_text_in_a_query() -> None:
    """A page number may be written as a number."""
    assert HttpOverlay(query={"page": 2}).query == {"page": "2"}  # type: ignore[dict-item]


@pytest.mark.parametrize("bad", [None, True, ["a"], {"a": "b"}, b"x"])
def test_values_other_than_text_are_refused_in_headers(bad: Any) -> None:
    """A header never says `None` or `True` by accident."""
    with pytest.raises(InvalidRequestError, match="header or query field 'x'"):
        HttpOverlay(headers={"x": bad})


@pytest.mark.parametrize("bad", ["\ud800", 10**5000], ids=["surrogate", "digits"])
def test_text_that_cannot_be_encoded_is_refused_in_headers_and_queries(bad: Any) -> None:
    """Building the URL would raise an error of Python's."""
    for field in ("headers", "query"):
        given: dict[str, Any] = {field: {"x": bad}}
        with pytest.raises(InvalidRequestError, match="is not text"):
            HttpOverlay(**given)


def test_header_names_are_text() -> None:
    """A name of another type is a mistake."""
    with pytest.raises(InvalidRequestError, match="field 5 must be text"):
        HttpOverlay(headers={5: "x"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"mode": "explicit"}, "mode must be one of 'auto', 'manual', 'off'"),
        ({"mode": True}, "mode is a bool; give 'auto', 'manual' or 'off'"),
        ({"ttl": "24h"}, "ttl must be '5m' or '1h', not '24h'; .* is retention="),
        ({"ttl": 3600}, "ttl is an int; give '5m' or '1h'"),
        ({"key": 5}, "key is an int; give a text"),
        ({"content": "caches/1"}, "content is a str; give what CachedContents has made"),
    ],
)
def test_cache_policy_of_other_words_is_an_error_rather_than_no_caching(
    fields: Any, told: str
) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        CachePolicy(**fields)


def test_lifetime_of_a_mark_that_no_provider_has_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="ttl must be '5m' or '1h', not '1d'"):
        cached("Hi", ttl="1d")  # type: ignore[call-overload]
