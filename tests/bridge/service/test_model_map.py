"""The model map: names that clients use, and the upstream models behind them."""

import json
from pathlib import Path

import pytest

from llmcore.bridge.accounts.issued_key import IssuedKey, KeyLimits
from llmcore.bridge.api import Caller
from llmcore.bridge.model_map import (
    ModelMap,
    ModelPool,
    UpstreamModel,
    model_map_from,
    read_model_map,
)
from llmcore.bridge.model_names import ModelNames
from llmcore.bridge.upstream import Upstreams
from llmcore.client.client import Client
from llmcore.fronts.errors import FrontError
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonValue

MAP: JsonValue = {
    "models": {
        "gpt-5.5": "openrouter/openai/gpt-5.5",
        "fast": {"provider": "groq", "model": "llama"},
    },
    "prefixes": {
        "claude-": {"provider": "anthropic"},
        "claude-old-": {"provider": "bedrock", "model": "claude-v2"},
        "gpt-": {"provider": "openrouter", "add": "openai/"},
        "local/": {"provider": "local", "strip": True},
    },
}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("gpt-5.5", UpstreamModel("openrouter", "openai/gpt-5.5")),
        ("fast", UpstreamModel("groq", "llama")),
        ("claude-opus-5", UpstreamModel("anthropic", "claude-opus-5")),
        ("claude-old-x", UpstreamModel("bedrock", "claude-v2")),
        ("gpt-4", UpstreamModel("openrouter", "openai/gpt-4")),
        ("local/tiny", UpstreamModel("local", "tiny")),
        ("other", UpstreamModel("openai", "other")),
    ],
)
def test_a_name_resolves_to_its_target_or_the_longest_prefix(
    name: str, target: UpstreamModel
) -> None:
    """A name of its own wins, then the longest prefix, then the upstream."""
    assert model_map_from(MAP, "openai").pool(name) == ModelPool(((target,),))


def test_other_names_can_be_refused_or_taken() -> None:
    """`otherwise` says what becomes of them."""
    refusing = model_map_from({"otherwise": "refuse"}, "openai")
    taking = model_map_from({"otherwise": "groq/llama"}, "openai")

    assert refusing.pool("x") is None
    assert taking.pool("x") == ModelPool(((UpstreamModel("groq", "llama"),),))
    assert (refusing.providers, taking.providers) == (frozenset(), frozenset({"groq"}))


@pytest.mark.parametrize(
    ("asked", "allowed", "hint"),
    [
        ("claude-sonet-5", (), "; did you mean 'claude-sonnet-5'?"),
        ("claude-sonet-5", ("claude-sonet-5", "gpt"), ""),
        ("gpt", ("claude-sonnet-5",), ""),
        ("zzz", (), ""),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_that_its_caller_may_use(
    asked: str, allowed: tuple[str, ...], hint: str
) -> None:
    """The names of other callers' models are nothing that an error may tell."""
    known: JsonValue = {"claude-sonnet-5": "a/x", "gpt": "a/y"}
    refusing = model_map_from({"models": known, "otherwise": "refuse"}, "openai")
    names = ModelNames(refusing, Upstreams(Client()))
    key = IssuedKey(id="k", limits=KeyLimits(models=allowed), created_at=0, digest="d")

    with pytest.raises(FrontError) as caught:
        names.pool_for(Caller(owner="o", counted_as="o", key=key), asked)

    assert (caught.value.status, caught.value.param) == (404, "model")
    assert (
        caught.value.message == f"The model '{asked}' does not exist here: see GET /v1/models{hint}"
    )


def test_without_a_file_everything_passes() -> None:
    """The upstream gets the names as they are."""
    assert read_model_map(None, "openai") == ModelMap(upstream="openai")
    assert model_map_from(MAP, "openai").providers == {
        "openrouter",
        "groq",
        "anthropic",
        "bedrock",
        "local",
        "openai",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "not a JSON object"),
        ("{", "map.json"),
        ('{"model": {}}', "unknown model"),
        ('{"models": {"a": "b"}}', "models.a is 'b', not provider/model"),
        ('{"models": {"a": {"provider": "x"}}}', "models.a.model must be a text"),
        ('{"prefixes": {"a": {"provider": "x", "strip": 1}}}', "neither true nor false"),
        ('{"prefixes": {"a": {"provider": "x", "to": 1}}}', "unknown to"),
        ('{"otherwise": 3}', "otherwise"),
    ],
)
def test_invalid_values_are_refused(tmp_path: Path, text: str, says: str) -> None:
    """The error names the file and the place in it."""
    path = tmp_path / "map.json"
    path.write_text(text)

    with pytest.raises(ConfigurationError, match=says):
        read_model_map(path, "openai")


def test_a_map_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A gateway without its map would send unknown names."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_model_map(tmp_path / "none.json", "openai")


def test_a_file_is_read(tmp_path: Path) -> None:
    """It holds what `model_map_from` takes."""
    path = tmp_path / "map.json"
    path.write_text(json.dumps(MAP))

    assert read_model_map(path, "openai") == model_map_from(MAP, "openai")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-opus-5", "one"),
        ("claude-opus-5[1m]", "one"),
        ("claude-opus-5-20260801", "one"),
        ("claude-opus-5-20260801[1m]", "one"),
        ("claude-other-20260801[1m]", "claude-other-20260801"),
    ],
)
def test_a_name_with_a_date_or_a_long_context_is_known(name: str, model: str) -> None:
    """The date goes only where the map has the name without it."""
    pool = model_map_from({"models": {"claude-opus-5": "up/one"}}, "up").pool(name)

    assert pool is not None
    assert pool.first.model == model
