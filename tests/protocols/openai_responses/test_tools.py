"""Tools and the choice among them."""

from typing import Any

import pytest

from llmcore.schema.errors import InvalidRequestError, UnsupportedToolChoiceError
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.tools import (
    CustomTool,
    Grammar,
    HostedTool,
    ToolChoice,
    ToolDefinition,
    ToolSpec,
)
from tests.support.wire.responses import body, codes, refused

SCHEMA: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}}
STRICT = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"]}},
    "required": ["a"],
    "additionalProperties": False,
}
EMPTY = {"type": "object", "properties": {}}


def asked_with(*tools: ToolSpec, model: str = "gpt-5.4", **fields: Any) -> LLMRequest:
    """Return a request with *tools*."""
    return request(model=Model(model, "openai"), prompt="Hi", tools=tools, **fields)


FUNCTIONS: dict[str, tuple[ToolSpec, dict[str, Any]]] = {
    "function": (
        ToolDefinition("f", "Does.", SCHEMA),
        {"name": "f", "description": "Does.", "parameters": SCHEMA, "strict": None},
    ),
    "function without parameters": (
        ToolDefinition("f"),
        {"name": "f", "parameters": EMPTY, "strict": None},
    ),
    "strict function": (
        ToolDefinition("f", "", SCHEMA, strict=True),
        {"name": "f", "parameters": STRICT, "strict": True},
    ),
    "loose function": (
        ToolDefinition("f", "", SCHEMA, strict=False),
        {"name": "f", "parameters": SCHEMA, "strict": False},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_lowered_to_one_flat_object(name: str) -> None:
    """A function is one object; null leaves strictness to the provider."""
    tool, native = FUNCTIONS[name]

    assert body(asked_with(tool))["tools"] == [{"type": "function", **native}]


def test_a_function_that_cannot_be_strict_is_not() -> None:
    """Free-form objects have no strict form; a diagnostic reports it."""
    tool = ToolDefinition("f", "", {"type": "object", "additionalProperties": True}, strict=True)
    asked = asked_with(tool)

    assert body(asked)["tools"][0]["strict"] is False
    assert codes(asked) == [("schema-not-strict", "tools[0].parameters")]


CUSTOM: dict[str, tuple[CustomTool, dict[str, Any]]] = {
    "free": (CustomTool("run", "Runs."), {"name": "run", "description": "Runs."}),
    "with fields of the API's own": (
        CustomTool("run", provider_metadata={"openai": {"async": True, "defer_loading": True}}),
        {"name": "run", "async": True, "defer_loading": True},
    ),
    "grammar": (
        CustomTool("run", grammar=Grammar(syntax="regex", definition="a+")),
        {"name": "run", "format": {"type": "grammar", "syntax": "regex", "definition": "a+"}},
    ),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_a_freeform_tool_is_sent_with_its_grammar(name: str) -> None:
    """A freeform tool's grammar stands in it."""
    tool, native = CUSTOM[name]

    assert body(asked_with(tool))["tools"] == [{"type": "custom", **native}]


HOSTED: dict[str, tuple[HostedTool, dict[str, Any]]] = {
    "web search": (
        HostedTool.web_search(
            allowed_domains=("a.example",),
            user_location={"city": "Riga"},
            search_context_size="low",
        ),
        {
            "type": "web_search",
            "search_context_size": "low",
            "filters": {"allowed_domains": ["a.example"]},
            "user_location": {"type": "approximate", "city": "Riga"},
        },
    ),
    "plain web search": (HostedTool.web_search(), {"type": "web_search"}),
    "file search": (
        HostedTool.file_search(vector_store_ids=("vs_1",), max_results=3),
        {"type": "file_search", "max_num_results": 3, "vector_store_ids": ["vs_1"]},
    ),
    "code": (
        HostedTool.code_execution(),
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ),
    "code in a container": (
        HostedTool.code_execution(container="cntr_1"),
        {"type": "code_interpreter", "container": "cntr_1"},
    ),
    "mcp": (
        HostedTool.mcp(
            server_label="docs",
            server_url="https://mcp.example",
            authorization="t",
            allowed_tools=("find",),
            require_approval="never",
        ),
        {
            "type": "mcp",
            "server_label": "docs",
            "server_url": "https://mcp.example",
            "authorization": "t",
            "allowed_tools": ["find"],
            "require_approval": "never",
        },
    ),
    "shell": (
        HostedTool.shell(environment={"type": "container_auto"}),
        {"type": "shell", "environment": {"type": "container_auto"}},
    ),
    "pictures": (
        HostedTool.image_generation(quality="low", partial_images=2),
        {"type": "image_generation", "quality": "low", "partial_images": 2},
    ),
    "tool search": (
        HostedTool.tool_search(execution="client"),
        {"type": "tool_search", "execution": "client"},
    ),
    "raw": (HostedTool.raw("openai", {"type": "apply_patch"}), {"type": "apply_patch"}),
    "computer": (
        HostedTool.computer_use(display_width=800, display_height=600),
        {"type": "computer"},
    ),
}


@pytest.mark.parametrize("name", HOSTED)
def test_tools_that_the_provider_defines(name: str) -> None:
    """Each hosted tool in the API's words."""
    tool, native = HOSTED[name]

    assert body(asked_with(tool))["tools"] == [native]


def test_older_models_have_older_tools() -> None:
    """The preview's computer has the size of its display; Codex mini has a shell of its own."""
    computer = HostedTool.computer_use(display_width=8, display_height=6, environment="linux")

    preview = body(asked_with(computer, model="computer-use-preview"))["tools"]
    mini = body(asked_with(HostedTool.shell(), model="codex-mini-latest"))["tools"]

    assert preview == [
        {
            "type": "computer_use_preview",
            "environment": "linux",
            "display_width": 8,
            "display_height": 6,
        }
    ]
    assert mini == [{"type": "local_shell"}]


LOST: dict[str, tuple[HostedTool, list[tuple[str, str]]]] = {
    "fetch": (HostedTool.web_fetch(), [("unsupported-tool", "tools[0]")]),
    "editor": (HostedTool.text_editor(), [("unsupported-tool", "tools[0]")]),
    "memory": (HostedTool.memory(), [("unsupported-tool", "tools[0]")]),
    "raw of another": (
        HostedTool.raw("anthropic", {"type": "bash_20250124"}),
        [("unsupported-tool", "tools[0]")],
    ),
    "limits of a search": (
        HostedTool.web_search(max_uses=2, blocked_domains=("b.example",)),
        [
            ("unsupported-parameter", "tools[0].max_uses"),
            ("unsupported-parameter", "tools[0].blocked_domains"),
        ],
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_what_the_api_lacks_is_reported(name: str) -> None:
    """A tool or an option that does not exist here is left out, and said to be."""
    tool, lost = LOST[name]
    asked = asked_with(tool)

    assert codes(asked) == lost
    assert body(asked).get("tools", []) in ([], [{"type": "web_search"}])


def test_a_file_search_needs_stores() -> None:
    """The API refuses one without; so do we, and say where."""
    error = refused(asked_with(HostedTool.file_search()))

    assert isinstance(error, InvalidRequestError)
    assert "tools[0]" in str(error)


F = ToolDefinition("f")
CHOICES: dict[str, tuple[tuple[ToolSpec, ...], ToolChoice, Any]] = {
    "auto": ((F,), ToolChoice.auto(), "auto"),
    "none": ((F,), ToolChoice.none(), "none"),
    "required": ((F,), ToolChoice.required(), "required"),
    "function": ((F,), ToolChoice.named("f"), {"type": "function", "name": "f"}),
    "freeform": (
        (F, CustomTool("run")),
        ToolChoice.named("run"),
        {"type": "custom", "name": "run"},
    ),
    "hosted": (
        (F, HostedTool.image_generation()),
        ToolChoice.named("image_generation"),
        {"type": "image_generation"},
    ),
    "mcp server": (
        (HostedTool.mcp(server_label="docs", server_url="https://mcp.example"),),
        ToolChoice.named("docs"),
        {"type": "mcp", "server_label": "docs"},
    ),
    "mcp by its kind": (
        (HostedTool.mcp(server_label="docs", server_url="https://mcp.example"),),
        ToolChoice.named("mcp"),
        {"type": "mcp", "server_label": "docs"},
    ),
    "hosted by its kind": (
        (HostedTool.code_execution(),),
        ToolChoice.named("code_execution"),
        {"type": "code_interpreter"},
    ),
    "function before hosted": (
        (HostedTool.shell(), ToolDefinition("shell")),
        ToolChoice.named("shell"),
        {"type": "function", "name": "shell"},
    ),
    "none without tools": ((), ToolChoice.none(), None),
    "auto without tools": ((), ToolChoice.auto(), None),
}


@pytest.mark.parametrize("name", CHOICES)
def test_each_tool_choice_is_sent_in_its_form(name: str) -> None:
    """Each choice in the API's words; forbidding calls leaves the tools in sight."""
    tools, choice, native = CHOICES[name]

    built = body(asked_with(*tools, tool_choice=choice))

    assert built.get("tool_choice") == native
    assert len(built.get("tools", ())) == len(tools)


IMPOSSIBLE: dict[str, tuple[tuple[ToolSpec, ...], ToolChoice, type]] = {
    "required of none": ((), ToolChoice.required(), InvalidRequestError),
    "unknown name": ((F,), ToolChoice.named("g"), InvalidRequestError),
    "required of unsupported": (
        (HostedTool.memory(),),
        ToolChoice.required(),
        UnsupportedToolChoiceError,
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_choices_that_cannot_be(name: str) -> None:
    """A choice that nothing can fulfil is an error before anything is sent."""
    tools, choice, kind = IMPOSSIBLE[name]

    assert type(refused(asked_with(*tools, tool_choice=choice))) is kind


@pytest.mark.parametrize("parallel", [True, False])
def test_parallel_calls_are_sent_only_beside_tools(parallel: bool) -> None:
    """The field is sent if there are tools."""
    assert body(asked_with(F, parallel_tool_calls=parallel))["parallel_tool_calls"] is parallel
    assert "parallel_tool_calls" not in body(asked_with(parallel_tool_calls=parallel))


def test_the_order_of_tools_is_the_callers() -> None:
    """Prompt caches begin with the tools."""
    tools = (HostedTool.web_search(), ToolDefinition("b"), CustomTool("a"))

    kinds = [tool["type"] for tool in body(asked_with(*tools))["tools"]]

    assert kinds == ["web_search", "function", "custom"]
