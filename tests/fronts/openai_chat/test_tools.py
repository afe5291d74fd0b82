"""Tools of Chat's clients, and the choice among them: what is read, refused and left out."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_chat import front
from llmcore.fronts.policy import TranslationPolicy
from llmcore.schema.tools import CustomTool, Grammar, HostedTool, ToolChoice, ToolDefinition
from tests.fronts.openai_chat.chat_kit import PROMPT, read, refused, upstream_of

MOST = TranslationPolicy().max_tools
F: dict[str, Any] = {"type": "function", "function": {"name": "f"}}
G: dict[str, Any] = {"type": "function", "function": {"name": "g"}}


def lark(**grammar: Any) -> dict[str, Any]:
    """Return a freeform tool with a grammar."""
    return {"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", **grammar}}}


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ({"type": "function", "name": "f", "parameters": {}}, ToolDefinition("f", parameters={})),
        ({"function": {"name": "f", "strict": True}}, ToolDefinition("f", strict=True)),
        (
            {"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}},
            ToolDefinition("f", parameters={"type": "object", "properties": {}}),
        ),
        (
            lark(grammar={"syntax": "lark", "definition": "start: /a/"}),
            CustomTool("c", grammar=Grammar(syntax="lark", definition="start: /a/")),
        ),
        (
            lark(syntax="regex", definition="a+"),
            CustomTool("c", grammar=Grammar(syntax="regex", definition="a+")),
        ),
    ],
)
def test_a_tool_is_read_in_every_spelling(native: Any, expected: Any) -> None:
    assert read({"tools": [native]}).request.tools == (expected,)


def test_a_tool_of_an_imitating_server_goes_up_as_it_is() -> None:
    native: dict[str, Any] = {"type": "openrouter:datetime", "parameters": {"timezone": "UTC"}}

    tools = read({"tools": [native]}, protocol_id="openai-chat").request.tools

    assert tools == (HostedTool.raw("openai", native),)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"tools": [{"type": "teleport"}]}, "tools[0].type", "'teleport'"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name", "required"),
        ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools[0]", "name"),
        ({"tools": [lark(syntax="peg")]}, "tools[0].custom.format", "lark or regex"),
        ({"tools": [F, F]}, "tools", "Two tools are called 'f'"),
        ({"tools": [F], "tool_choice": "sometimes"}, "tool_choice", "'sometimes'"),
        ({"tools": [F], "tool_choice": 3}, "tool_choice", "a string or an object"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice", "no tools"),
        ({"tools": [F], "tool_choice": G}, "tool_choice", "'g', which is not in tools"),
        ({"functions": [{"name": "f"}], "function_call": {"name": "g"}}, "tool_choice", "'g'"),
    ],
)
def test_an_invalid_tool_or_choice_is_refused_by_its_place(
    body: dict[str, Any], param: str, message: str
) -> None:
    error = refused(body)

    assert (error.status, error.param) == (400, param)
    assert message in error.message


def test_more_tools_than_allowed_are_refused() -> None:
    many = [{"type": "function", "function": {"name": f"f{n}"}} for n in range(MOST + 1)]
    error = refused({"tools": many})

    assert (error.param, f"At most {MOST}" in error.message) == ("tools", True)


@pytest.mark.parametrize(
    ("choice", "names", "expected"),
    [
        (None, ["f", "g"], None),
        ("any", ["f", "g"], ToolChoice.required()),
        (G, ["f", "g"], ToolChoice.named("g")),
        ({"type": "allowed_tools", "tools": [G]}, ["g"], ToolChoice.auto()),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [F]}},
            ["f"],
            ToolChoice.required(),
        ),
    ],
)
def test_a_choice_leaves_the_tools_that_it_allows(
    choice: Any, names: list[str], expected: Any
) -> None:
    made = read({"tools": [F, G], "tool_choice": choice}).request

    assert [tool.name for tool in made.tools] == names  # type: ignore[union-attr]
    assert made.tool_choice == expected


@pytest.mark.parametrize(
    ("protocol_id", "native_tools", "other", "narrowed"),
    [
        ("openai-chat", True, "g", False),
        ("openai-chat", True, "g.h", False),
        ("openai-chat", False, "g", True),
        ("openai-responses", True, "g", True),
        ("gemini", True, "g", True),
        (None, True, "g", True),
    ],
)
def test_allowed_tools_go_with_the_choice_to_an_upstream_that_has_it(
    protocol_id: str | None, native_tools: bool, other: str, narrowed: bool
) -> None:
    """All tools stay there, so that a cached prefix stays; elsewhere the others are left out."""
    tools = [F, {"type": "function", "function": {"name": other}}]
    allowed = {"mode": "auto", "tools": [F]}
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    body: Any = {"model": "m", "messages": [PROMPT], "tools": tools, "tool_choice": choice}
    upstream = evolve(upstream_of(protocol_id), native_tools=native_tools)
    made = front.read(ClientRequest(body=body), upstream).unwrap()

    assert made.request.tool_choice == ToolChoice.auto()
    offered = [tool.name for tool in made.request.tools if isinstance(tool, ToolDefinition)]
    assert offered == (["f"] if narrowed else ["f", other])
    assert [one.code for one in made.diagnostics] == (["tools-narrowed"] if narrowed else [])
    sent = made.request.provider_options.get("openai", {}).get("tool_choice")
    assert sent == (None if narrowed else choice)


def test_an_allowed_tool_whose_name_the_upstream_does_not_take_is_offered_alone() -> None:
    """Its name is replaced where the body is built, which the choice does not know."""
    tool = {"type": "function", "function": {"name": "a.b"}}
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [tool]}}
    made = read({"tools": [tool, F], "tool_choice": choice}, protocol_id="openai-chat")

    assert [one.name for one in made.request.tools] == ["a.b"]  # type: ignore[union-attr]
    assert "openai" not in made.request.provider_options


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_without_tools_is_left_out(choice: str) -> None:
    assert read({"tool_choice": choice}).request.tool_choice is None


def test_a_search_beside_a_function_of_its_name_is_left_out() -> None:
    """The client runs its own search."""
    own = {"type": "function", "function": {"name": "web_search"}}
    policy = TranslationPolicy(hosted_tools="function")

    made = read({"tools": [own], "web_search_options": {}}, policy=policy).request

    assert made.tools == (ToolDefinition("web_search"),)


@pytest.mark.parametrize(
    ("policy", "code", "offered"),
    [
        ("drop", "hosted-tool-dropped", ()),
        ("function", "hosted-tool-as-function", ("web_search",)),
        ("native", None, ()),
        ("error", None, ()),
    ],
)
def test_the_policy_on_hosted_tools_holds_for_an_upstream_of_the_same_api(
    policy: Any, code: str | None, offered: tuple[str, ...]
) -> None:
    """The parameter that asks for a search goes up only where the policy lets it."""
    made = read(
        {"web_search_options": {}},
        protocol_id="openai-chat",
        policy=TranslationPolicy(hosted_tools=policy),
    )

    assert [note.code for note in made.diagnostics] == ([] if code is None else [code])
    assert tuple(getattr(tool, "name", "") for tool in made.request.tools) == offered
    assert ("web_search_options" in str(made.request.provider_options)) == (code is None)


@pytest.mark.parametrize(
    ("protocol_id", "options"),
    [
        ("openai-chat", {"openai": {"tools": [{"function": {"name": "f"}}], "tool_choice": "any"}}),
        ("anthropic-messages", {}),
    ],
)
def test_forms_of_servers_that_imitate_the_api_reach_those_servers(
    protocol_id: str, options: Any
) -> None:
    """Such as Mistral's, whose functions need no type; others get the tools as they are read."""
    body = {"tools": [{"function": {"name": "f"}}], "tool_choice": "any"}
    made = read(body, protocol_id=protocol_id).request

    assert [tool.name for tool in made.tools if isinstance(tool, ToolDefinition)] == ["f"]
    assert made.tool_choice == ToolChoice.required()
    assert made.provider_options == options
