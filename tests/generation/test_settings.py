"""Arguments of `generate` and `stream`."""

import inspect
import pydoc
import re
from typing import Any

import pytest
from attrs import evolve, fields_dict

from llmcore import sync
from llmcore.client.client import Client
from llmcore.generation.abort import AbortController
from llmcore.generation.conversation import Conversation
from llmcore.generation.generate import generate
from llmcore.generation.many import generate_many
from llmcore.generation.objects import generate_object, stream_object
from llmcore.generation.retry import RetryPolicy
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.generation.signatures import setting_meanings
from llmcore.generation.stream import stream
from llmcore.generation.tool import Tool
from llmcore.routes.openai import OpenAI
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.request import request
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from llmcore.testing.script import scripted
from tests.support.wire.generation import any_model

MODEL = any_model()


def test_editors_see_what_a_plan_takes() -> None:
    """The two lists are one."""
    assert {"model", "prompt", *Settings.__annotations__} == set(fields_dict(RunPlan))


def test_every_generation_option_is_a_setting_of_generate_and_a_parameter_of_request() -> None:
    options = set(fields_dict(GenerationOptions))

    assert options <= set(Settings.__annotations__)
    assert options <= set(inspect.signature(request).parameters)


@pytest.mark.parametrize("settings", [{"seed": 1}, {"top_k": 2, "temperature": 0.5}])
def test_options_given_twice_are_refused_with_their_names(settings: Any) -> None:
    plan = RunPlan(model=MODEL, prompt="Hi", generation=GenerationOptions(), **settings)

    with pytest.raises(InvalidRequestError, match=", ".join(reversed(list(settings)))):
        plan.first_request()


@pytest.mark.parametrize("function", [generate, stream])
def test_the_signature_spells_them_out(function: Any) -> None:
    """For `help()`, and for tools that read it at run time."""
    parameters = inspect.signature(function).parameters

    assert list(parameters)[:3] == ["model", "prompt", "messages"]
    assert parameters["max_tool_rounds"].default == 1
    assert parameters["model"].default is None
    assert parameters["tools"].kind is inspect.Parameter.KEYWORD_ONLY


def test_every_setting_has_a_meaning() -> None:
    assert list(setting_meanings()) == list(Settings.__annotations__)
    assert all(setting_meanings().values())


@pytest.mark.parametrize("function", [generate, sync.generate, sync.stream, Conversation.generate])
def test_help_shows_settings_as_they_are_written_in_the_source(function: Any) -> None:
    shown = str(inspect.signature(function)).rpartition(" -> ")[0]

    assert "model: Model | str | None = None, prompt: str | None = None, *, messages: S" in shown
    assert "tools: Sequence[ToolInput] | None = (), " in shown
    assert "timeout: float | Timeouts | None = None" in shown
    assert "llmcore." not in shown
    assert "typing" not in shown


@pytest.mark.parametrize(
    "function",
    [
        generate,
        stream,
        generate_object,
        stream_object,
        generate_many,
        Conversation.generate,
        Conversation.stream,
        sync.generate,
        sync.stream,
        sync.generate_object,
        sync.stream_object,
        sync.generate_many,
    ],
)
def test_help_shows_each_setting_of_a_function_with_its_meaning(function: Any) -> None:
    shown = pydoc.plain(pydoc.render_doc(function))
    taken = inspect.signature(function).parameters

    for name, meaning in setting_meanings().items():
        assert (f"{name}: {meaning}" in shown) == (name in taken), name
    assert "temperature" in taken
    assert "settings" not in taken


@pytest.mark.parametrize(
    ("settings", "path", "value"),
    [
        ({"system": "S"}, "system", ("S",)),
        ({"temperature": 0.5}, "generation.temperature", 0.5),
        ({"top_p": 0.5}, "generation.top_p", 0.5),
        ({"max_tokens": 5}, "generation.max_tokens", 5),
        ({"stop": "x"}, "generation.stop", ("x",)),
        ({"top_k": 5}, "generation.top_k", 5),
        ({"seed": 0}, "generation.seed", 0),
        ({"presence_penalty": 0.5}, "generation.presence_penalty", 0.5),
        ({"frequency_penalty": 0.5}, "generation.frequency_penalty", 0.5),
        ({"logprobs": True}, "generation.logprobs", True),
        ({"top_logprobs": 3}, "generation.top_logprobs", 3),
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
    found: Any = RunPlan(model=MODEL, prompt="Hi", **settings).first_request()
    for name in path.split("."):
        found = getattr(found, name)
    if path == "system":
        found = tuple(part.text for part in found)

    assert found == value


def test_all_kinds_of_tools_reach_the_request() -> None:
    """Functions become tools, and tools definitions."""

    def look(city: str) -> str:
        """Return a page."""
        return city

    given: Any = [look, Tool("own"), ToolDefinition("passive"), HostedTool.web_search()]
    tools = RunPlan(model=MODEL, prompt="Hi", tools=given).first_request().tools

    assert [getattr(one, "name", "web") for one in tools] == ["look", "own", "passive", "web"]
    assert not any(isinstance(one, Tool) for one in tools)


def test_a_number_is_the_total() -> None:
    """The other limits stay the client's."""
    client = Client(timeouts=Timeouts(connect=3))

    def limits(timeout: float | Timeouts | None) -> Timeouts:
        plan = RunPlan(model=MODEL, prompt="Hi", timeout=timeout)
        return client.timeouts_for(plan.first_request(), plan.timeout)

    assert limits(None) == Timeouts(connect=3)
    assert limits(9) == Timeouts(connect=3, total=9)
    assert limits(Timeouts(step=1)) == Timeouts(step=1)


def test_two_retries_are_the_default() -> None:
    """One number is enough to change it."""
    assert RunPlan(model=MODEL).policy() == RetryPolicy(max_retries=2)
    assert RunPlan(model=MODEL, max_retries=0).policy().max_retries == 0


def test_a_blocking_client_stands_for_the_one_behind_it() -> None:
    client = Client()

    assert RunPlan(client=sync.Client.of(client)).client is client


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ({"model": 3}, "model must be a Model or a model's id, not an int"),
        (
            {"model": OpenAI},
            "model is the provider OpenAI: give one of its models, such as OpenAI(",
        ),
        ({"model": OpenAI()}, "model is the provider OpenAI: give one of its models"),
        ({"prompt": None}, "there is no input: give either prompt or messages"),
        ({"request": {}}, "request must be an LLMRequest, not a dict"),
        ({"tools": "look"}, "tools must be a list, not a str"),
        ({"tools": Tool("look")}, "tools must be a list"),
        ({"tool_choice": 7}, "tool_choice must be a ToolChoice, such as ToolChoice.auto()"),
        ({"max_tool_rounds": "3"}, "max_tool_rounds must be an integer of at least 0, not '3'"),
        ({"max_tool_rounds": -1}, "max_tool_rounds must be an integer of at least 0, not -1"),
        ({"max_tool_rounds": None}, "max_tool_rounds must be an integer of at least 0, not None"),
        ({"stop_when": 3}, "stop_when must be a list, not an int"),
        ({"stop_when": [3]}, "stop_when must be a function, not an int"),
        ({"prepare_step": Timeouts}, "prepare_step must be a function, not the class Timeouts"),
        ({"prepare_step": 3}, "prepare_step must be a function, not an int"),
        ({"repair_tool_call": 3}, "repair_tool_call must be a function, not an int"),
        ({"response_format": 1}, "response_format must be a ResponseFormat, such as"),
        ({"retry_policy": 3}, "retry_policy must be a RetryPolicy, not an int"),
        ({"timeout": "5"}, "timeout must be seconds or Timeouts(total=...), not a str"),
        (
            {"abort_signal": AbortController()},
            "abort_signal must be the signal of an AbortController",
        ),
        (
            {"client": Timeouts()},
            "client must be an llmcore.Client, not a Timeouts",
        ),
    ],
)
def test_settings_of_the_wrong_kind_are_refused(given: Any, instead: str) -> None:
    """Before anything is sent, and with what to give instead."""
    settings = {"model": MODEL, "prompt": "Hi", **given}
    with pytest.raises(InvalidRequestError, match=re.escape(instead)):
        stream(**settings)


def test_none_is_read_as_no_tools() -> None:
    """The same holds for stop conditions and all other settings."""
    assert RunPlan(model=MODEL, prompt="Hi", tools=None).tools == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "function", [generate, stream, generate_object, stream_object, sync.generate, sync.stream]
)
async def test_an_unknown_setting_is_named_with_the_function_and_the_nearest_one(
    function: Any,
) -> None:
    """As Python does for its own functions."""
    more = {"schema": int} if "object" in function.__name__ else {}
    expected = rf"{function.__name__}\(\) .* 'max_token': did you mean 'max_tokens'\?"

    async def call(**unknown: Any) -> None:
        await function(MODEL, "Hi", **unknown, **more)

    with pytest.raises(TypeError, match=expected):
        await call(max_token=3)
    with pytest.raises(TypeError, match=r"'zzz': write provider_options=\{PROVIDER"):
        await call(zzz=3)
    with pytest.raises(TypeError, match=r"'stop_sequences': did you mean 'stop'\?"):
        await call(stop_sequences="x")
    with pytest.raises(TypeError, match="did you mean 'max_tokens'"):
        await call(max_output_tokens=3)


@pytest.mark.anyio
async def test_setting_of_another_type_is_refused_before_anything_is_sent() -> None:
    transport = scripted()

    with pytest.raises(InvalidRequestError, match="max_tokens is '5', a str"):
        await generate(MODEL, "Hi", max_tokens="5", client=Client(transport=transport))  # type: ignore[arg-type]

    assert transport.requests == []


# -- requests that are built already


def test_tools_go_into_a_prebuilt_request() -> None:
    """One that has a function replaces the definition of its name; the others stay."""
    weather, own = Tool("weather", "Tell.", execute=len), Tool("own", execute=len)
    definitions = (ToolDefinition("weather"), HostedTool.web_search(), ToolDefinition("passive"))
    built = request(
        model=MODEL, prompt="Hi", tools=definitions, tool_choice=ToolChoice.required(), top_p=0.5
    )
    plan = RunPlan(request=built, tools=[weather, own])

    assert plan.first_request() == evolve(
        built, tools=(weather.definition, *definitions[1:], own.definition)
    )
    assert plan.offered_tools() == (weather, *definitions[1:], own)
    assert RunPlan(request=built).first_request() == built


@pytest.mark.parametrize(
    "settings",
    [
        {"model": MODEL},
        {"prompt": "Hi"},
        {"messages": [Message.user("Hi")]},
        {"temperature": 0.0},
        {"system": "S"},
        {"strict": True},
        {"max_tokens": 5, "provider": "openai"},
    ],
)
def test_settings_that_a_prebuilt_request_has_itself_are_refused(settings: Any) -> None:
    """They would be left out in silence, or contradict it."""
    built = request(model=MODEL, prompt="Hi")
    names = ", ".join(name for name in settings if name != "provider")
    with pytest.raises(InvalidRequestError, match=names) as caught:
        stream(request=built, **settings)
    assert "evolve(request, ...)" in caught.value.message


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("max_token", "did you mean 'max_tokens'?"),
        ("stop_sequences", "did you mean 'stop'?"),
        ("stream", "call llmcore.stream"),
        ("api_key", "configure the provider, such as OpenAI(api_key=..."),
    ],
)
def test_setting_of_another_name_is_refused_with_what_to_write(name: str, hint: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"keyword argument {name!r}: {hint}")):
        plan_of("generate", MODEL, "Hi", {name: 1})  # type: ignore[misc]
