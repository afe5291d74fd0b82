"""Tools, the service's own among them, and the choice among them."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from llmcore.protocols.gemini import VERTEX
from llmcore.protocols.tools import freeform_text
from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.model import Model
from llmcore.schema.tools import (
    CustomTool,
    Grammar,
    HostedTool,
    ToolChoice,
    ToolDefinition,
    ToolSpec,
)
from tests.support.wire.gemini import ASKED, body, built, codes, refused

SCHEMA = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "$defs": {"A": {"type": "string"}},
}
RESOLVED = {"type": "object", "properties": {"a": {"type": "string"}}}
TOOL = ToolDefinition("look", "Looks", SCHEMA)


def with_tools(*tools: ToolSpec, choice: ToolChoice | None = None) -> Any:
    """Return the body of a request with *tools*."""
    return body(evolve(ASKED, tools=tools, tool_choice=choice))


# -- functions


def test_a_function_keeps_its_json_schema() -> None:
    """It goes where the API takes JSON Schema, its references resolved."""
    assert with_tools(TOOL)["tools"] == [
        {
            "functionDeclarations": [
                {"name": "look", "description": "Looks", "parametersJsonSchema": RESOLVED}
            ]
        }
    ]


def test_a_function_without_parameters_has_no_schema() -> None:
    """The document leaves it unset."""
    declared = with_tools(ToolDefinition("now"))["tools"][0]["functionDeclarations"]

    assert declared == [{"name": "now"}]


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_a_function_has_the_fields_that_only_this_api_has(schema: Any) -> None:
    """Such as the schema of what it returns."""
    own = {"responseJsonSchema": {"type": "string"}}
    tool = ToolDefinition("now", "", schema, provider_metadata={"google": own})
    declared = with_tools(tool)["tools"][0]["functionDeclarations"][0]

    assert declared["responseJsonSchema"] == {"type": "string"}


@pytest.mark.parametrize("keyword", ["$id", "not", "if", "propertyNames", "uniqueItems"])
def test_no_keyword_that_is_refused_is_sent(keyword: str) -> None:
    """One keyword that the service does not know fails the whole request."""
    value: Any = True if keyword == "uniqueItems" else {"type": "string"}
    schema = {"type": "object", "properties": {keyword: {"type": "array", keyword: value}}}
    declared = with_tools(ToolDefinition("t", "", schema))["tools"][0]["functionDeclarations"][0]
    properties = declared["parametersJsonSchema"]["properties"]

    assert keyword in properties
    assert keyword not in properties[keyword]


def test_a_recursive_schema_is_bounded() -> None:
    """A schema that contains itself neither hangs nor grows without end."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}

    assert len(str(with_tools(ToolDefinition("t", "", schema))["tools"])) < 2_000


def test_a_freeform_tool_is_a_function_of_one_string() -> None:
    """The description contains its grammar, and a diagnostic reports the change."""
    tool = CustomTool("sql", "Runs SQL", grammar=Grammar(syntax="lark", definition="start: X"))
    (declared,) = with_tools(tool)["tools"][0]["functionDeclarations"]

    assert declared["parametersJsonSchema"]["required"] == ["input"]
    assert "start: X" in declared["description"]
    assert codes(evolve(ASKED, tools=(tool,))) == [("custom-tool-as-function", "tools[0]")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"input": "x"}, "x"),
        ({"query": "x"}, "x"),
        ("x", "x"),
        ({"input": 1}, '{"input":1}'),
        ({"a": "x", "b": "y"}, '{"a":"x","b":"y"}'),
    ],
)
def test_the_input_of_a_freeform_tool(arguments: Any, expected: str) -> None:
    """It is unwrapped; input that is not wrapped is kept as it is."""
    assert freeform_text(arguments) == expected


# -- the service's own tools


@pytest.mark.parametrize(
    ("tool", "expected", "dropped"),
    [
        (HostedTool.web_search(), {"googleSearch": {}}, []),
        (HostedTool.web_search(max_uses=2), {"googleSearch": {}}, ["max_uses"]),
        (
            HostedTool.web_search(blocked_domains=("a.b",)),
            {"googleSearch": {}},
            ["blocked_domains"],
        ),
        (
            HostedTool.web_search(timeRangeFilter={"startTime": "x"}),
            {"googleSearch": {"timeRangeFilter": {"startTime": "x"}}},
            [],
        ),
        (
            HostedTool.web_search(user_location={"country": "DE"}),
            {"googleSearch": {}},
            ["user_location"],
        ),
        (HostedTool.maps(), {"googleMaps": {}}, []),
        (HostedTool.maps(enableWidget=True), {"googleMaps": {"enableWidget": True}}, []),
        (
            HostedTool.maps(user_location={"city": "Oslo"}),
            {"googleMaps": {}},
            ["user_location"],
        ),
        (HostedTool.web_fetch(max_uses=1), {"urlContext": {}}, ["max_uses"]),
        (
            HostedTool.file_search(vector_store_ids=("fileSearchStores/a",), max_results=3),
            {"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"], "topK": 3}},
            [],
        ),
        (HostedTool.code_execution(container="c"), {"codeExecution": {}}, ["container"]),
        (
            HostedTool.computer_use(display_width=1, display_height=1),
            {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
            ["display_width", "display_height"],
        ),
        (
            HostedTool.computer_use(
                display_width=1,
                display_height=1,
                environment="mac",
                excludedPredefinedFunctions=["a"],
            ),
            {
                "computerUse": {
                    "environment": "ENVIRONMENT_DESKTOP",
                    "excludedPredefinedFunctions": ["a"],
                }
            },
            ["display_width", "display_height"],
        ),
        (
            HostedTool.mcp(server_label="s", server_url="https://m", authorization="t"),
            {
                "mcpServers": [
                    {
                        "name": "s",
                        "streamableHttpTransport": {
                            "url": "https://m",
                            "headers": {"Authorization": "Bearer t"},
                        },
                    }
                ]
            },
            [],
        ),
        (HostedTool.raw("google", {"googleMaps": {}}), {"googleMaps": {}}, []),
    ],
)
def test_each_hosted_tool_has_its_native_name(
    tool: HostedTool, expected: Any, dropped: list[str]
) -> None:
    """Each kind by its native name, and a note of each option that it does not take."""
    asked = evolve(ASKED, tools=(tool,))

    assert body(asked)["tools"] == [expected]
    assert codes(asked) == [("unsupported-parameter", f"tools[0].{name}") for name in dropped]


@pytest.mark.parametrize(
    "tool",
    [
        HostedTool.raw("openai", {"type": "x"}),
        HostedTool.image_generation(),
        HostedTool.memory(),
        HostedTool.shell(),
    ],
)
def test_a_tool_that_there_is_not(tool: HostedTool) -> None:
    """It is left out, and a diagnostic reports it."""
    asked = evolve(ASKED, tools=(tool,))

    assert "tools" not in body(asked)
    assert codes(asked) == [("unsupported-tool", "tools[0]")]


@pytest.mark.parametrize("make", [HostedTool.web_search, HostedTool.maps])
def test_a_search_near_a_place(make: Callable[..., HostedTool]) -> None:
    """Where the user is stands beside the tools."""
    place = {"latitude": 1.5, "longitude": 2.5}

    assert with_tools(make(user_location=place))["toolConfig"] == {
        "retrievalConfig": {"latLng": place}
    }


def test_all_tools_share_one_place() -> None:
    """The first counts; another one is left out, and a diagnostic reports it."""
    here, there = ({"latitude": 1.5, "longitude": at} for at in (2.5, 3.5))
    search = HostedTool.web_search(user_location=here)
    asked = evolve(ASKED, tools=(search, HostedTool.maps(user_location=there)))
    same = evolve(ASKED, tools=(search, HostedTool.maps(user_location=here)))

    assert body(asked)["toolConfig"] == {"retrievalConfig": {"latLng": here}}
    assert codes(asked) == [("unsupported-parameter", "tools[1].user_location")]
    assert codes(same) == []


def test_what_vertex_takes_else() -> None:
    """Vertex AI excludes domains, and calls no MCP servers."""
    search = evolve(ASKED, tools=(HostedTool.web_search(blocked_domains=("a.b",)),))
    mcp = evolve(ASKED, tools=(HostedTool.mcp(server_label="s"),))

    assert body(search, VERTEX)["tools"] == [{"googleSearch": {"excludeDomains": ["a.b"]}}]
    assert [note.code for note in built(mcp, VERTEX).diagnostics] == ["unsupported-tool"]


@pytest.mark.parametrize("dialect", [None, VERTEX], ids=["gemini api", "vertex"])
def test_models_before_gemini_3_have_functions_or_the_services_own_tools(dialect: Any) -> None:
    """Functions stay, for the caller's program counts on them; the other tool is reported."""
    old = Model("gemini-2.5-flash", "google")
    both = evolve(ASKED, model=old, tools=(HostedTool.web_search(), TOOL))
    alone = evolve(ASKED, model=old, tools=(HostedTool.web_search(), HostedTool.web_fetch()))
    options = () if dialect is None else (dialect,)

    assert [*map(list, body(both, *options)["tools"])] == [["functionDeclarations"]]
    (note,) = built(both, *options).diagnostics
    assert (note.code, note.path, note.action) == ("unsupported-tool", "tools[0]", "dropped")
    assert len(body(alone, *options)["tools"]) == 2
    assert built(alone, *options).diagnostics == ()


def test_functions_beside_the_services_own_tools() -> None:
    """The Gemini API wants to show its own calls then; Vertex AI does not know the field."""
    asked = evolve(ASKED, tools=(HostedTool.web_search(), TOOL))

    assert [*map(list, body(asked)["tools"])] == [["functionDeclarations"], ["googleSearch"]]
    assert body(asked)["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in body(asked, VERTEX)
    assert "toolConfig" not in with_tools(HostedTool.web_search())


# -- the choice


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None),
        (ToolChoice.auto(), {"mode": "AUTO"}),
        (ToolChoice.none(), {"mode": "NONE"}),
        (ToolChoice.required(), {"mode": "ANY"}),
        (ToolChoice.named("look"), {"mode": "ANY", "allowedFunctionNames": ["look"]}),
    ],
)
def test_each_tool_choice_has_its_native_name(choice: ToolChoice | None, expected: Any) -> None:
    """Each mode by its native name."""
    config = with_tools(TOOL, choice=choice).get("toolConfig", {})

    assert config.get("functionCallingConfig") == expected


def test_tools_of_the_service_are_not_offered_where_no_tool_may_be_called() -> None:
    """The mode NONE is for functions alone: the service would search all the same."""
    asked = evolve(ASKED, tools=(TOOL, HostedTool.web_search()), tool_choice=ToolChoice.none())
    sent = body(asked)

    assert [*map(list, sent["tools"])] == [["functionDeclarations"]]
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert codes(asked) == [("tool-choice-emulated", "tools[1]")]


def test_a_strict_tool_is_validated() -> None:
    """The automatic mode that holds calls to their schemas."""
    strict = ToolDefinition("look", "", SCHEMA, strict=True)

    assert with_tools(strict)["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_choices_that_the_api_lacks_are_refused() -> None:
    """A function that is not there, and a demand where there is none."""
    named = evolve(ASKED, tools=(TOOL,), tool_choice=ToolChoice.named("other"))
    none = evolve(ASKED, tool_choice=ToolChoice.required())
    hosted = evolve(ASKED, tools=(HostedTool.web_search(),), tool_choice=ToolChoice.required())

    assert isinstance(refused(named), InvalidRequestError)
    assert isinstance(refused(none), InvalidRequestError)
    assert isinstance(refused(hosted), UnsupportedToolChoiceError)


def test_calls_one_at_a_time_cannot_be_asked() -> None:
    """The model decides by itself."""
    asked = evolve(ASKED, tools=(TOOL,), parallel_tool_calls=False)

    assert codes(asked) == [("unsupported-parameter", "parallel_tool_calls")]
