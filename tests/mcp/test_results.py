"""Results of MCP as content, and configurations as values."""

import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.mcp import HttpServer, McpServers, StdioServer
from llmcore.mcp.results import messages_of, part_of, result_of, size_of_parts
from llmcore.mcp.servers import servers_of
from llmcore.schema.content import ImagePart, TextPart
from llmcore.schema.errors import ConfigurationError, StreamError


def text(words: str) -> Any:
    return types.TextContent(type="text", text=words)


IMAGE = types.ImageContent(type="image", data="aGk=", mime_type="image/png")
IMAGE_AGAIN = {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": None}
PART = ImagePart(data=b"hi", media_type="image/png")


@pytest.mark.parametrize(
    ("content", "structured", "expected"),
    [
        ([], None, ()),
        ([text("a")], None, "a"),
        ([text("a"), text("b")], None, (TextPart("a"), TextPart("b"))),
        ([text('{"n": 1}')], {"n": 1}, {"n": 1}),
        ([text("1"), text("2")], {"result": [1, 2]}, {"result": [1, 2]}),
        ([text("Sunny.")], {"c": 20}, (TextPart("Sunny."), TextPart('{"c":20}'))),
        ([], {"c": 20}, {"c": 20}),
        ([IMAGE], {"c": 1}, (PART, TextPart('{"c":1}'))),
        ([IMAGE], {"result": [IMAGE_AGAIN]}, (PART,)),
        ([IMAGE], {"result": IMAGE_AGAIN}, (PART,)),
        (
            [text("a"), IMAGE],
            {"result": [{"type": "text", "text": "a", "_meta": None}, IMAGE_AGAIN]},
            (TextPart("a"), PART),
        ),
        (
            [IMAGE],
            {"result": [IMAGE_AGAIN, IMAGE_AGAIN]},
            (PART, TextPart(json.dumps({"result": [IMAGE_AGAIN] * 2}, separators=(",", ":")))),
        ),
    ],
)
def test_result_has_structured_content_once(content: Any, structured: Any, expected: Any) -> None:
    assert result_of(content, structured) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.lists(st.text(max_size=5), max_size=3), JSON)
def test_every_text_and_structured_content_is_in_the_result(texts: list[str], value: Any) -> None:
    """Nothing is lost: a text stands there, or repeats what does."""
    result = result_of([text(words) for words in texts], value)

    if isinstance(result, tuple):
        shown = [part.text for part in result if isinstance(part, TextPart)]
        assert shown[: len(texts)] == texts
        assert value is None or json.loads(shown[-1]) == value
    elif value is None:
        assert [result] == texts
    else:
        assert result == value
        assert all(_parses(words, value) for words in texts)


def _parses(words: str, value: Any) -> bool:
    members = list(value.values()) if isinstance(value, dict) else [value]
    items = [item for one in members if isinstance(one, list) for item in one]
    every = [value, *members, *items]
    try:
        return words in every or json.loads(words) in every
    except ValueError:
        return False


def test_media_that_is_not_base64_is_a_stream_error() -> None:
    broken = types.ImageContent(type="image", data="?!", mime_type="image/png")

    with pytest.raises(StreamError, match="not base64"):
        part_of(broken)


def test_messages_of_one_role_in_a_prompt_are_joined() -> None:
    prompt = [
        types.PromptMessage(role="user", content=text("Look:")),
        types.PromptMessage(role="user", content=IMAGE),
        types.PromptMessage(role="assistant", content=text("I see.")),
    ]

    first, second = messages_of(prompt)

    assert (first.role, len(first.content), second.text) == ("user", 2, "I see.")


def test_size_counts_media_and_text() -> None:
    assert size_of_parts((TextPart("abc"), ImagePart(data=b"12345"))) == 8


def test_servers_are_read_in_the_form_of_desktop_clients(tmp_path: Any) -> None:
    document: Any = {
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "s"], "env": {"K": "v"}, "cwd": "/tmp"},
            "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"A": "b"}},
        }
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(document))

    assert servers_of(document, {}) == {
        "files": StdioServer("npx", ("-y", "s"), env={"K": "v"}, cwd="/tmp"),
        "web": HttpServer("https://example.com/mcp", headers={"A": "b"}),
    }
    assert isinstance(McpServers.from_file(file), McpServers)


def test_variables_of_the_environment_are_filled_in_a_configuration() -> None:
    document: Any = {
        "servers": {
            "web": {
                "url": "https://${HOST:-example.com}/mcp",
                "headers": {"Authorization": "Bearer ${env:TOKEN}"},
            },
            "files": {"command": "npx", "args": ["${HOME}/x", "$HOME"], "disabled": False},
            "off": {"command": "${MISSING}", "disabled": True},
        }
    }

    assert servers_of(document, {"TOKEN": "t-1", "HOME": "/home/a"}) == {
        "web": HttpServer("https://example.com/mcp", headers={"Authorization": "Bearer t-1"}),
        "files": StdioServer("npx", ("/home/a/x", "$HOME")),
    }
    with pytest.raises(ConfigurationError, match="'web' needs the environment variable TOKEN"):
        servers_of(document, {})


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        ("mcp.json", r"McpServers.from_file\('mcp.json'\)"),
        ([StdioServer("x")], "a dict by name.*not a list"),
        ({"a": "npx x"}, "'a' must be a StdioServer.*not a str"),
    ],
)
def test_servers_of_another_form_are_refused(servers: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        McpServers(servers)


def test_arguments_of_a_server_as_one_text_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="arguments as a list"):
        StdioServer("npx", "-y a-server")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "under the key"),
        ({"mcpServers": {"a": {}}}, "needs either command"),
        ({"mcpServers": {"a": {"type": "sse", "url": "https://x"}}}, "SdkServer"),
        ({"servers": {"a": {"url": "https://x", "timeout": 3}}}, "nothing else"),
        ({"mcpServers": {"a": {"command": "x", "url": "https://x"}}}, "needs either command"),
        ({"mcpServers": {"a": {"url": "ftp://x"}}}, "begins with https"),
    ],
)
def test_other_configurations_are_refused(document: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        servers_of(document, {})


@pytest.mark.parametrize("name", ["", "a b", "a__b", "_a", "a_", "x" * 33])
def test_names_that_cannot_begin_a_tool_name_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="the name of an MCP server"):
        McpServers({name: HttpServer("https://x")})


@pytest.mark.parametrize("options", [{"call_seconds": 0}, {"max_tools": 0}, {"allowed": "add"}])
def test_settings_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ConfigurationError):
        HttpServer("https://x", **options)


def test_secrets_are_not_shown() -> None:
    shown = repr(
        [HttpServer("https://x", headers={"k": "s-1"}), StdioServer("x", env={"k": "s-2"})]
    )

    assert "s-1" not in shown
    assert "s-2" not in shown
