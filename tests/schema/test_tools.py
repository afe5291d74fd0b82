"""Tools and the choice of them."""

from typing import Any

import pytest
from hypothesis import given

from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.tools import (
    MAX_TOOL_NAME_LENGTH,
    CustomTool,
    HostedTool,
    ToolChoice,
    ToolDefinition,
    check_tool_name,
)
from tests.support.strategies.values import parameter_schemas, tool_names

# -- names


@given(tool_names())
def test_good_names_are_kept(name: str) -> None:
    """A name that every provider takes comes back as it is."""
    assert check_tool_name(name) == name
    assert ToolDefinition(name).name == CustomTool(name).name == name


@pytest.mark.parametrize("name", ["9lives", "with-dash", "a/b.c", "a b", "ümlaut", "a" * 200])
@pytest.mark.parametrize("kind", [ToolDefinition, CustomTool])
def test_names_that_some_api_does_not_take_are_kept(kind: type[ToolDefinition], name: str) -> None:
    """Each protocol's request has a name that its API takes in their place."""
    assert kind(name).name == name


@pytest.mark.parametrize("name", ["", " \n", "a" * 513])
@pytest.mark.parametrize("kind", [ToolDefinition, CustomTool])
def test_names_that_are_empty_or_endless_are_refused(kind: type[ToolDefinition], name: str) -> None:
    """The error shows the name and the rule."""
    with pytest.raises(InvalidRequestError, match="must be text of 1 to 512 characters"):
        kind(name)


@pytest.mark.parametrize("name", [None, 5, b"f"])
def test_a_name_is_text(name: Any) -> None:
    """Anything else is refused the same way."""
    with pytest.raises(InvalidRequestError, match="tool name"):
        check_tool_name(name)


def test_the_longest_name_is_allowed() -> None:
    """The limit is inclusive."""
    assert check_tool_name("a" * MAX_TOOL_NAME_LENGTH)


# -- parameters


@pytest.mark.parametrize("parameters", [None, {}])
def test_no_parameters_are_an_empty_object(parameters: Any) -> None:
    """Every provider takes the schema of an object without properties."""
    assert ToolDefinition("f", "", parameters).parameters == {"type": "object", "properties": {}}


@given(parameter_schemas())
def test_parameters_of_a_tool_do_not_change_with_the_given_schema(schema: Any) -> None:
    """Later changes of the schema do not change the tool."""
    tool = ToolDefinition("f", "", schema)
    kept = ToolDefinition("f", "", schema)

    schema["properties"]["added"] = {"type": "string"}
    schema["required"] = ["added"]

    assert tool == kept


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Args", "$defs": {"Args": {"type": "object"}}},
        {
            "$ref": "#/$defs/A",
            "$defs": {"A": {"$ref": "#/$defs/B~1C"}, "B/C": {"type": "object"}},
        },
    ],
)
def test_a_root_may_be_a_reference_to_an_object(schema: Any) -> None:
    """Schema generators write recursive models like this."""
    assert ToolDefinition("f", "", schema).parameters == schema


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string"}, "of type 'object', not 'string'"),
        ({"type": "array", "items": {}}, "not 'array'"),
        ({"properties": {}}, "not None"),
        ({"type": ["object", "null"]}, "not"),
        ({"$ref": "#/$defs/Gone"}, "reference to '#/\\$defs/Gone'"),
        ({"$ref": "https://acme.test/schema.json"}, "which they do not define"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}}, "not 'string'"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "not None"),
        ({"$ref": "#/$defs/A/type", "$defs": {"A": {"type": "object"}}}, "they do not define"),
        ([], "parameters must be a JSON object, not a list"),
        ("object", "parameters must be a JSON object, not a str"),
        (True, "parameters must be a JSON object, not a bool"),
        ({"type": "object", "default": float("nan")}, "default is nan"),
        ({"type": "object", 5: {}}, "the key 5"),
    ],
)
def test_parameters_are_the_schema_of_an_object(schema: Any, message: str) -> None:
    """Models pass arguments by name, so the root must be an object."""
    with pytest.raises(InvalidRequestError, match=message):
        ToolDefinition("f", "", schema)


def test_an_error_shows_the_beginning_of_an_endless_reference() -> None:
    """Messages stay short, whatever a schema holds."""
    with pytest.raises(InvalidRequestError) as refused:
        ToolDefinition("f", "", {"$ref": "#/" + "x" * 10_000})

    assert len(str(refused.value)) < 200


# -- hosted tools


@pytest.mark.parametrize(
    ("tool", "kind", "options"),
    [
        (HostedTool.web_search(), "web_search", {}),
        (
            HostedTool.web_search(max_uses=2, allowed_domains=("acme.test",), size="high"),
            "web_search",
            {"max_uses": 2, "allowed_domains": ["acme.test"], "size": "high"},
        ),
        (HostedTool.web_fetch(max_uses=1), "web_fetch", {"max_uses": 1}),
        (
            HostedTool.file_search(vector_store_ids=("vs_1",), max_results=5),
            "file_search",
            {"vector_store_ids": ["vs_1"], "max_results": 5},
        ),
        (HostedTool.code_execution(container="c"), "code_execution", {"container": "c"}),
        (
            HostedTool.computer_use(display_width=800, display_height=600),
            "computer_use",
            {"display_width": 800, "display_height": 600},
        ),
        (
            HostedTool.mcp(server_label="s", server_url="https://acme.test"),
            "mcp",
            {"server_label": "s", "server_url": "https://acme.test"},
        ),
        (HostedTool.shell(), "shell", {}),
        (HostedTool.text_editor(max_characters=9), "text_editor", {"max_characters": 9}),
        (HostedTool.image_generation(quality="low"), "image_generation", {"quality": "low"}),
        (HostedTool.tool_search(), "tool_search", {}),
        (HostedTool.memory(), "memory", {}),
        (
            HostedTool.maps(user_location={"latitude": 1, "longitude": 2}),
            "maps",
            {"user_location": {"latitude": 1, "longitude": 2}},
        ),
    ],
)
def test_hosted_tools_hold_what_was_given(tool: HostedTool, kind: str, options: object) -> None:
    """Options that were not given are not there."""
    assert (tool.kind, tool.options, tool.provider) == (kind, options, None)


def test_a_raw_tool_belongs_to_its_provider() -> None:
    """Its definition goes through as it is, and is not shared with the caller."""
    definition: dict[str, Any] = {"type": "novel_tool", "deep": {"x": [1]}}
    tool = HostedTool.raw("acme", definition)

    definition["deep"]["x"].append(2)

    assert (tool.kind, tool.provider) == ("raw", "acme")
    assert tool.options == {"type": "novel_tool", "deep": {"x": [1]}}


# -- choice


def test_each_tool_choice_has_a_constructor() -> None:
    """Each mode has its constructor."""
    assert ToolChoice.auto() == ToolChoice("auto")
    assert ToolChoice.none() == ToolChoice("none")
    assert ToolChoice.required() == ToolChoice("required")
    assert ToolChoice.named("f") == ToolChoice("named", "f")


@pytest.mark.parametrize(
    "build",
    [
        lambda: ToolChoice("named"),
        lambda: ToolChoice("auto", "f"),
        lambda: ToolChoice("none", "f"),
        lambda: ToolChoice("required", "f"),
    ],
)
def test_a_name_goes_with_the_named_choice(build: Any) -> None:
    """A choice that contradicts itself is refused."""
    with pytest.raises(InvalidRequestError, match="tool_name must be set for the mode 'named'"):
        build()


def test_a_choice_has_one_of_four_modes() -> None:
    """A word of some provider's own would go out as it is."""
    with pytest.raises(InvalidRequestError, match="not 'any'"):
        ToolChoice("any")  # type: ignore[arg-type]
