"""What `generate` and `stream` are told."""

import inspect
from typing import Any

import pytest
from attrs import fields_dict

from llmcore.client.client import Client
from llmcore.client.timeouts import Timeouts
from llmcore.generation.generate import generate
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.settings import Plan, Settings
from llmcore.generation.stream import stream
from llmcore.generation.tool import Tool
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.generation_wire import any_model

MODEL = any_model()


def test_editors_see_what_a_plan_takes() -> None:
    """The two lists are one."""
    assert {"model", "prompt", *Settings.__annotations__} == set(fields_dict(Plan))


@pytest.mark.parametrize("function", [generate, stream])
def test_the_signature_spells_them_out(function: Any) -> None:
    """For `help()`, and for whoever asks at run time."""
    parameters = inspect.signature(function).parameters

    assert list(parameters)[:3] == ["model", "prompt", "messages"]
    assert parameters["max_tool_rounds"].default == 1
    assert parameters["model"].default is inspect.Parameter.empty
    assert parameters["tools"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    ("settings", "path", "value"),
    [
        ({"system": "S"}, "system", ("S",)),
        ({"temperature": 0.5}, "generation.temperature", 0.5),
        ({"top_p": 0.5}, "generation.top_p", 0.5),
        ({"max_tokens": 5}, "generation.max_tokens", 5),
        ({"stop_sequences": "x"}, "generation.stop", ("x",)),
        ({"generation": GenerationOptions(seed=1)}, "generation.seed", 1),
        ({"reasoning_effort": "low"}, "reasoning.effort", "low"),
        ({"reasoning": ReasoningOptions(budget_tokens=9)}, "reasoning.budget_tokens", 9),
        ({"response_format": ResponseFormat.json()}, "response_format.type", "json"),
        ({"tool_choice": ToolChoice.none()}, "tool_choice.mode", "none"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls", False),
        ({"cache": CachePolicy(mode="off")}, "cache.mode", "off"),
        ({"metadata": {"a": "b"}}, "metadata", {"a": "b"}),
        ({"provider_options": {"any": {"x": 1}}}, "provider_options", {"any": {"x": 1}}),
        ({"strict": True}, "strict", True),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_settings_reach_the_request(settings: Any, path: str, value: object) -> None:
    """Each where it belongs."""
    found: Any = Plan(model=MODEL, prompt="Hi", **settings).request()
    for name in path.split("."):
        found = getattr(found, name)
    if path == "system":
        found = tuple(part.text for part in found)

    assert found == value


def test_all_kinds_of_tools_reach_the_request() -> None:
    """Functions become tools, and tools definitions."""

    def look(city: str) -> str:
        """Look."""
        return city

    given: Any = [look, Tool("own"), ToolDefinition("passive"), HostedTool.web_search()]
    tools = Plan(model=MODEL, prompt="Hi", tools=given).request().tools

    assert [getattr(one, "name", "web") for one in tools] == ["look", "own", "passive", "web"]
    assert not any(isinstance(one, Tool) for one in tools)


def test_a_number_is_the_total() -> None:
    """The other limits stay the client's."""
    client = Client(timeouts=Timeouts(connect=3))

    assert Plan(model=MODEL).timeouts(client) == Timeouts(connect=3)
    assert Plan(model=MODEL, timeout=9).timeouts(client) == Timeouts(connect=3, total=9)
    assert Plan(model=MODEL, timeout=Timeouts(step=1)).timeouts(client) == Timeouts(step=1)


def test_two_retries_are_the_default() -> None:
    """One number is enough to change it."""
    assert Plan(model=MODEL).policy() == RetryPolicy(max_retries=2)
    assert Plan(model=MODEL, max_retries=0).policy().max_retries == 0
