"""Every option of a request is in the native body of each API, or reported."""

from typing import Any

import pytest
from attrs import evolve, fields_dict

from llmcore.protocols.protocol import Built
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.result import Failure
from llmcore.schema.tools import ToolDefinition
from tests.support.every_protocol import PROTOCOLS

GENERATION: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "max_tokens": 77,
    "stop": ("END",),
    "seed": 1,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "logprobs": True,
    "top_logprobs": 3,
    "service_tier": "flex",
}
REASONING: dict[str, Any] = {"effort": "high", "budget_tokens": 2048, "summary": "detailed"}
CACHE: dict[str, Any] = {"key": "k", "retention": "24h"}

TOOL = ToolDefinition("look_up", "Looks up a word.", {"type": "object", "properties": {}})
PLAIN: LLMRequest = request(model=Model("some-model", "p"), prompt="Hi", tools=[TOOL])

CHANGES: dict[str, dict[str, Any]] = {
    **{
        f"generation.{name}": {"generation": GenerationOptions(**{name: value})}
        for name, value in GENERATION.items()
    },
    **{
        f"reasoning.{name}": {"reasoning": ReasoningOptions(**{name: value})}
        for name, value in REASONING.items()
    },
    **{f"cache.{name}": {"cache": CachePolicy(**{name: value})} for name, value in CACHE.items()},
    "parallel_tool_calls": {"parallel_tool_calls": False},
    "metadata": {"metadata": {"user": "u-1"}},
}


def test_options_have_an_example_each() -> None:
    assert GENERATION.keys() == fields_dict(GenerationOptions).keys()
    assert REASONING.keys() == fields_dict(ReasoningOptions).keys()


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("id_", PROTOCOLS)
def test_an_option_changes_the_body_or_is_reported(id_: str, path: str) -> None:
    build = PROTOCOLS[id_].body.build
    before: Built[Any] = build(PLAIN, False).unwrap()
    built: Built[Any] = build(evolve(PLAIN, **CHANGES[path]), False).unwrap()

    paths = [note.path for note in built.diagnostics if note not in before.diagnostics]
    reported = any(place.startswith(path) or path.startswith(place) for place in paths)
    assert reported or built.body != before.body


LEAST: dict[str, dict[str, int]] = {
    "openai-chat": {"max_tokens": -1, "top_k": -1},
    "openai-responses": {"max_tokens": 1},
    "anthropic-messages": {"max_tokens": 0, "top_k": 0},
    "gemini": {"max_tokens": 1, "top_k": 0},
    "bedrock-converse": {"max_tokens": 1, "top_k": 0},
}


@pytest.mark.parametrize(
    ("id_", "name", "least"), [(id_, *one) for id_, row in LEAST.items() for one in row.items()]
)
def test_an_option_below_what_the_api_takes_is_an_error(id_: str, name: str, least: Any) -> None:
    build = PROTOCOLS[id_].body.build
    options: list[dict[str, Any]] = [{name: value} for value in (least - 1, least)]
    low, fits = (evolve(PLAIN, generation=GenerationOptions(**one)) for one in options)

    built = build(low, False)
    assert isinstance(built, Failure)
    error = built.failure()
    assert isinstance(error, InvalidRequestError)
    assert f"generation.{name} is {least - 1}, and the API takes {least} or more" in str(error)
    assert not isinstance(build(fits, False), Failure)
