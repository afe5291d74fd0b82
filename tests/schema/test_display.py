"""Reprs, hashes and equality of values."""

import pickle
import re
from importlib import import_module

import pytest
from hypothesis import given

import llmcore
import llmcore.testing
from llmcore import (
    Anthropic,
    CallLog,
    Client,
    Fallback,
    ImagePart,
    LLMResponse,
    Message,
    OpenAI,
    RateLimiter,
    ResponseCache,
    SqliteCache,
    Usage,
    UsageHook,
    evolve,
    request,
    sync,
)
from llmcore.client.batches import Batches
from llmcore.client.cached_contents import CachedContents
from llmcore.client.middleware.circuit_breaker import CircuitBreaker
from llmcore.folds.response import Accumulator
from llmcore.generation.abort import AbortController
from llmcore.generation.results import GenerateResult
from llmcore.names_in_modules import names_in_modules
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.events import FinishReason
from llmcore.sessions.contract.assembly import Assembler
from llmcore.sessions.contract.delta_fold import DeltaFold
from llmcore.sessions.memory_store import MemoryStore
from llmcore.testing.cassette import Cassette, Metadata
from llmcore.testing.fake_model import FakeModel
from llmcore.testing.player import Player
from llmcore.testing.recorder import Recorder
from llmcore.testing.script import ScriptedTransport
from tests.support.strategies.requests import content_parts
from tests.support.strategies.responses import responses, usages
from tests.support.strategies.values import messages, requests

RESPONSE = LLMResponse(
    message=Message.assistant("Hi"), finish_reason=FinishReason("stop"), provider="p", model="m"
)

SHORT = {
    "message": (Message.user("Hi"), "Message(role='user', content=(TextPart(text='Hi'),))"),
    "usage": (Usage(input_tokens=1, raw={"a": 1}), "Usage(input_tokens=1)"),
    "request": (
        request(model="m", prompt="Hi"),
        "LLMRequest(model='m', messages=(Message(role='user', content=(TextPart(text='Hi'),)),))",
    ),
    "bytes": (ImagePart(data=b"12345"), "ImagePart(data=<5 bytes>)"),
    "call": (
        ToolCallPart("c1", "f", {"a": 1}),
        "ToolCallPart(id='c1', name='f', arguments={'a': 1})",
    ),
}


@pytest.mark.parametrize("name", SHORT)
def test_a_repr_shows_what_is_not_default(name: str) -> None:
    """Native documents and bytes are not in it."""
    value, shown = SHORT[name]
    assert repr(value) == shown


def test_rich_gets_the_same_fields() -> None:
    """Bytes stay elided."""
    shown = dict(ImagePart(data=b"12345", detail="low").__rich_repr__())  # type: ignore[attr-defined]
    assert {name: repr(value) for name, value in shown.items()} == {
        "data": "<5 bytes>",
        "detail": "'low'",
    }


@given(messages() | content_parts() | requests() | responses() | usages())
def test_equal_values_have_equal_hashes(value: object) -> None:
    """Every value hashes, whatever JSON is in it; a copy by JSON has the same hash."""
    copy = from_json(type(value), to_json(value))
    assert hash(copy) == hash(copy)
    if copy == value:
        assert hash(copy) == hash(value)
    assert value in {value}


def test_parts_with_nested_arguments_are_hashable() -> None:
    """Of sets and caches."""
    call = ToolCallPart("c1", "f", {"a": [1, {"b": 2}]})
    same = ToolCallPart("c1", "f", {"a": [1, {"b": 2}]})
    assert {call, same} == {call}
    assert len({call, evolve(call, arguments={"a": []})}) == 2


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls"])
def test_a_finish_reason_equals_its_word(reason: str) -> None:
    """And prints as it; those with different words of the provider differ."""
    value = FinishReason(reason, "native")  # type: ignore[arg-type]
    assert value == reason
    assert reason == value
    assert value != "other"
    assert value != FinishReason(reason)  # type: ignore[arg-type]
    assert value != 1
    assert f"{value}" == reason
    assert {reason: 1}[value] == 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (CallLog(level=10), "level=10)"),
        (Fallback("openai:gpt-5.2", continue_after_cut=1), "continue_after_cut=1)"),
        (RateLimiter(requests_per_minute=60), "RateLimiter(requests_per_minute=60)"),
        (ResponseCache(), "ResponseCache(store=MemoryCache())"),
        (SqliteCache("cache.db"), "cache.db'))"),
        (UsageHook(print), "UsageHook(print)"),
        (CircuitBreaker(failures=2), "CircuitBreaker(failures=2)"),
    ],
)
def test_middleware_is_shown_with_its_settings(made: object, shown: str) -> None:
    """Those at their default are left out."""
    assert repr(made).startswith(f"{type(made).__name__}(")
    assert repr(made).endswith(shown)
    assert " object at " not in repr(made)


def test_a_picture_in_a_prepared_request_is_shown_shortened() -> None:
    picture = ImagePart(data=bytes(3000), media_type="image/png")
    client = Client(providers={"anthropic": Anthropic(api_key="k")})
    wanted = request(model="anthropic:claude-sonnet-4-5", messages=[Message.user(picture)])
    prepared = client.prepare(wanted).unwrap()
    assert len(prepared.http.body) > 4000
    assert len(repr(prepared)) < 1500


def test_a_usage_is_a_table_in_notebooks() -> None:
    """Of what the provider has stated."""
    shown = Usage(input_tokens=1200, cost_usd=0.5, raw={"x": "<b>"})._repr_html_()
    assert shown == (
        "<table><tr><td>input tokens</td><td>1,200</td></tr>"
        "<tr><td>cost usd</td><td>0.5</td></tr></table>"
    )


@pytest.mark.parametrize(
    ("value", "name", "hint"),
    [
        (RESPONSE, "choices", "the text is `.text`"),
        (RESPONSE, "model_dump", "its JSON is `to_json(response)`"),
        (Usage(), "model_dump_json", "its JSON is `to_json(usage)`"),
        (RESPONSE, "finish_reasons", "did you mean 'finish_reason'?"),
        (GenerateResult(steps=(), messages=()), "output_text", "the text is `.text`"),
        (Client(), "chat", "call llmcore.generate(model, prompt, client=client)"),
        (sync.Client(), "messages", "call llmcore.sync.generate(model, prompt, client=client)"),
        (OpenAI(), "generate", "its models have it"),
    ],
)
def test_attribute_of_another_library_is_an_error_with_what_to_write(
    value: object, name: str, hint: str
) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(value, name)
    assert not hasattr(value, "_repr_html_of_nobody_")
    assert pickle.loads(pickle.dumps(RESPONSE)) == RESPONSE


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (sync.Client(providers={"openai": OpenAI()}), "sync.Client(openai)"),
        (AbortController(), "AbortController(signal=AbortSignal(aborted=False))"),
        (MemoryStore(), "MemoryStore(0 runs)"),
        (FakeModel("Hi"), "FakeModel(0 of 1 responses given)"),
        (ScriptedTransport([]), "ScriptedTransport(0 of 0 responses given)"),
    ],
)
def test_objects_with_state_have_a_short_repr(value: object, shown: str) -> None:
    assert repr(value) == shown


PUBLIC = [
    *((module, name) for module in (llmcore, llmcore.testing, sync) for name in dir(module)),
    *(
        (import_module(module), name)
        for module, names in names_in_modules().items()
        for name in names.split()
    ),
]


@pytest.mark.parametrize(
    "cls",
    [
        value
        for module, name in PUBLIC
        if isinstance(value := getattr(module, name), type)
        and not getattr(value, "_is_protocol", False)
        and value.__module__.startswith("llmcore.")
    ],
)
def test_a_public_class_has_a_repr_of_its_own(cls: type) -> None:
    assert any("__repr__" in vars(one) for one in cls.__mro__ if one is not object)


def test_reprs_of_what_plays_and_records_count_exchanges() -> None:
    cassette = Cassette(metadata=Metadata(name="x"))

    assert repr(Player(cassette)) == "Player(0 of 0 exchanges played)"
    recorder = Recorder(ScriptedTransport([]), cassette.metadata, path="x.json")
    assert repr(recorder) == "Recorder(0 exchanges recorded for 'x.json')"


def test_reprs_of_views_of_a_client_name_it() -> None:
    client = Client(environ={})

    assert repr(Batches(client)) == "Batches(Client(no providers))"
    assert repr(CachedContents(client)) == "CachedContents(Client(no providers))"
    blocking = sync.CachedContents(sync.Client.of(client))
    assert repr(blocking) == "sync.CachedContents(Client(no providers))"


def test_reprs_of_folds_state_how_far_they_are() -> None:
    fold, assembler = Accumulator(), Assembler()
    deltas = DeltaFold("run", str, str)

    assert repr(fold) == "Accumulator(0 parts, open)"
    assert repr(assembler) == "Assembler(0 parts)"
    assert repr(deltas) == "DeltaFold('run', 0 deltas)"
