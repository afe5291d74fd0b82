"""Requests of real clients, and every field of them."""

from typing import Any

import pytest
from attrs import evolve

from llmcore.client.client import Client
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.openai_responses.request import read_request
from llmcore.fronts.openai_responses.state import StoredConversation, required_references
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.tool_registry import ToolEntry
from llmcore.routes.anthropic import Anthropic
from llmcore.routes.google import Google
from llmcore.routes.openai import OpenAI
from llmcore.schema.content import (
    ImagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.result import Success
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.fronts.openai_responses.client_requests import (
    AI_SDK,
    CODEX,
    CODEX_LITE,
    COMPACTION,
    PYTHON,
)
from tests.fronts.openai_responses.responses_kit import (
    asked,
    codes,
    messages_of,
    refused,
    translated,
    upstream_of,
)

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}


def names(translation: Any) -> list[str]:
    """Return the names of the functions that the upstream is offered."""
    return [tool.name for tool in translation.request.tools if isinstance(tool, ToolDefinition)]


# -- clients


def test_codexs_items_and_tools_are_read_and_losses_reported() -> None:
    """Every item and tool of it, and losses are reported."""
    made = translated(CODEX)

    assert names(made) == [
        "exec_command",
        "apply_patch",
        "multi_agent__spawn_agent",
        "tool_search",
    ]
    assert [message.role for message in made.messages] == [
        "developer",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
    ]
    answer = made.messages[2].content
    assert [type(part) for part in answer] == [
        ReasoningPart,
        TextPart,
        ToolCallPart,
        ToolCallPart,
        ToolCallPart,
    ]
    assert answer[4] == ToolCallPart("call_c", "apply_patch", {"input": "*** Begin Patch"})
    assert sorted(set(codes(made))) == [
        "hosted-tool-dropped",
        "opaque-data-dropped",
        "unsupported-schema-keyword",
    ]


def test_settings_of_codex_are_read() -> None:
    """Reasoning, caching, verbosity; its grammar stands in the description."""
    made = translated(CODEX)
    request = made.request

    assert request.reasoning is not None
    assert (request.reasoning.effort, request.reasoning.summary) == ("medium", "auto")
    assert request.cache.key == "thread-1"
    assert request.provider_options == {"openai": {"verbosity": "low"}}
    assert request.parallel_tool_calls is True
    assert "start: begin_patch" in request.tools[1].description  # type: ignore[union-attr]
    assert made.store is False


def test_pictures_in_outputs_stay_pictures() -> None:
    """Never base64 in a text."""
    part = translated(CODEX).messages[4].content[0]

    assert isinstance(part, ToolResultPart)
    assert [type(one) for one in part.parts] == [TextPart, ImagePart]
    assert part.parts[1].detail == "original"  # type: ignore[union-attr]


TABLE = {"type": "input_file", "filename": "t.csv", "file_data": "data:text/csv;base64,YSxi"}


@pytest.mark.parametrize("detail", [{}, {"detail": "low"}])
def test_a_text_file_stays_a_file_for_the_same_api_and_is_text_for_others(
    detail: dict[str, str],
) -> None:
    """OpenAI reads tables in a way of its own."""
    provider = OpenAI.configure(api_key="k")
    models: tuple[Any, ...] = (provider.responses("gpt-5.2"), provider.chat("gpt-5.2"))
    sent = []
    for model in models:
        protocol = model.route.protocol
        item = {"role": "user", "content": [{**TABLE, **detail}]}
        made = translated({"input": [item]}, protocol_id=protocol.id)
        sent.append(protocol.body.build(evolve(made.request, model=model), True).unwrap().body)

    assert sent[0]["input"][0]["content"] == [{**TABLE, **detail}]
    assert "a,b" in sent[1]["messages"][0]["content"]


def test_tools_may_come_as_an_item() -> None:
    """A namespace of the reserved name is flattened like others."""
    made = translated(CODEX_LITE)

    assert names(made) == ["functions__exec", "functions__wait"]
    assert made.echo["tools"] == []
    assert "unsupported-parameter" in codes(made)  # reasoning.context


def test_a_compaction_request_has_no_tools_and_chooses_among_them() -> None:
    """A choice without tools has no effect."""
    request = translated(COMPACTION).request

    assert (request.tools, request.tool_choice, request.parallel_tool_calls) == ((), None, None)


def test_ai_sdk_refers_to_items() -> None:
    """Those that the store knows; others are a 404 at once."""
    kept: dict[str, Any] = {
        "rs_1": {"id": "rs_1", "type": "reasoning", "summary": []},
        "msg_1": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me see."}],
        },
    }
    made = translated(AI_SDK, items=kept)
    missing = refused(AI_SDK)

    assert required_references(AI_SDK).items == ("rs_1", "msg_1")
    assert made.messages[1].text == "Let me see."
    assert (missing.status, "rs_1" in missing.message) == (404, True)


def test_parameters_of_the_ai_sdk_are_sent_or_reported_by_upstream() -> None:
    """Chat takes some by name, the Responses API all; the others are reported."""
    kept: dict[str, Any] = {
        name: {"id": name, "type": "reasoning", "summary": []} for name in ("rs_1", "msg_1")
    }
    chat = translated(AI_SDK, items=kept)
    native = translated(AI_SDK, items=kept, protocol_id="openai-responses")
    other = translated(AI_SDK, items=kept, protocol_id="gemini")

    assert chat.request.provider_options["openai"] == {
        "safety_identifier": "s1",
        "user": "u1",
        "verbosity": "high",
    }
    assert set(native.request.provider_options["openai"]) == {
        "max_tool_calls",
        "safety_identifier",
        "text",
        "truncation",
        "user",
    }
    assert other.request.provider_options == {}
    assert codes(other).count("unsupported-parameter") == 5
    assert {one.request.generation.service_tier for one in (chat, native, other)} == {"flex"}
    assert chat.echo["metadata"] == {"a": "b"}


@pytest.mark.parametrize(
    ("name", "value", "usual"),
    [
        ("access_programs", {"cyber": "daybreak_blue"}, {}),
        ("context_management", [{"type": "compaction", "compact_threshold": 9000}], []),
        ("image", {"context_compression": "disabled"}, {"context_compression": "auto"}),
        ("multi_agent", {"enabled": True, "max_concurrent_subagents": 2}, {"enabled": False}),
    ],
)
def test_what_only_the_api_has_is_sent_to_an_upstream_of_it_or_reported(
    name: str, value: Any, usual: Any
) -> None:
    own = translated({"input": "x", name: value}, protocol_id="openai-responses")
    other = translated({"input": "x", name: value}, protocol_id="anthropic-messages")
    none = translated({"input": "x", name: usual}, protocol_id="anthropic-messages")

    assert own.request.provider_options == {"openai": {name: value}}
    assert (own.diagnostics, none.diagnostics) == ((), ())
    assert other.request.provider_options == {}
    assert [(note.code, note.path) for note in other.diagnostics] == [
        ("unsupported-parameter", name)
    ]


def test_what_is_to_be_included_is_asked_of_an_upstream_of_the_api() -> None:
    wanted = ["web_search_call.action.sources", "reasoning.encrypted_content"]
    body = {"input": "x", "include": wanted}

    own = translated(body, protocol_id="openai-responses").request.provider_options
    assert own == {"openai": {"include": ["web_search_call.action.sources"]}}
    assert translated(body).request.provider_options == {}


@pytest.mark.parametrize(
    ("options", "sent", "lost"),
    [
        ({"prewarm": True}, {"prewarm": True}, ["prompt_cache_options.prewarm"]),
        ({"prewarm": False, "comparison_response_id": None}, None, []),
        (
            {"comparison_response_id": "resp_1"},
            {"comparison_response_id": "resp_1"},
            ["prompt_cache_options.comparison_response_id"],
        ),
    ],
)
def test_options_of_the_cache_are_sent_to_an_upstream_of_the_api_or_reported(
    options: dict[str, Any], sent: dict[str, Any] | None, lost: list[str]
) -> None:
    body = {"input": "x", "prompt_cache_options": options}
    own = translated(body, protocol_id="openai-responses")
    other = translated(body, protocol_id="gemini")

    assert own.request.provider_options == (
        {"openai": {"prompt_cache_options": sent}} if sent else {}
    )
    assert own.diagnostics == ()
    assert other.request.provider_options == {}
    assert [one.path for one in other.diagnostics] == lost


@pytest.mark.parametrize(
    ("container", "lost"),
    [
        ({"type": "auto"}, []),
        ({"type": "auto", "memory_limit": None, "network_policy": None, "file_ids": []}, []),
        ({"type": "auto", "memory_limit": "4g"}, ["tools[0].container"]),
        ("cntr_1", ["tools[0].container"]),
    ],
)
def test_a_container_with_wishes_is_reported_where_the_upstream_has_its_own(
    container: Any, lost: list[str]
) -> None:
    tool = {"type": "code_interpreter", "container": container}
    made = translated({"input": "x", "tools": [tool]}, protocol_id="anthropic-messages")

    assert [one.path for one in made.diagnostics] == lost


@pytest.mark.parametrize(
    ("protocol_id", "lost"),
    [("openai-responses", []), ("anthropic-messages", ["tool_choice.name"])],
)
def test_one_tool_of_a_server_may_be_chosen(protocol_id: str, lost: list[str]) -> None:
    server = {"type": "mcp", "server_label": "s", "server_url": "https://mcp.example/"}
    choice = {"type": "mcp", "server_label": "s", "name": "look"}
    tools = [{**server, "require_approval": "never"}]
    body = {"input": "x", "tools": tools, "tool_choice": choice}
    made = translated(body, protocol_id=protocol_id)

    assert [one.path for one in made.diagnostics] == lost
    options = made.request.provider_options
    assert options == ({} if lost else {"openai": {"tool_choice": choice}})


def test_skills_are_described_to_the_model() -> None:
    skill = {"name": "sum", "description": "Adds numbers.", "path": "/skills/sum"}
    shell = {"type": "shell", "environment": {"type": "local", "skills": [skill]}}
    (tool,) = translated({"input": "x", "tools": [shell]}).request.tools

    assert isinstance(tool, ToolDefinition)
    assert tool.description.endswith("\n- sum (/skills/sum): Adds numbers.")


@pytest.mark.parametrize("execution", [{"execution": "server"}, {}])
def test_a_search_among_tools_without_a_call_id_is_the_servers(execution: dict[str, str]) -> None:
    items = [
        {"type": "tool_search_call", "id": "tsc_1", "arguments": {}, **execution},
        {"type": "tool_search_output", "id": "tso_1", "tools": [], **execution},
    ]
    made = translated({"input": [{"role": "user", "content": "x"}, *items]})

    assert [one.path for one in made.diagnostics] == ["input[1]", "input[2]"]


def test_what_cannot_be_included_is_reported() -> None:
    """Each name that there is not, once."""
    made = asked("Hi", include=["reasoning.encrypted_content", "nothing.such"])

    assert [(note.action, note.path) for note in made.diagnostics] == [("dropped", "include")]
    assert "nothing.such" in made.diagnostics[0].message


def test_a_parsed_format_is_read_with_its_schema() -> None:
    """The SDK's parse."""
    form = translated(PYTHON).request.response_format

    assert form is not None
    assert (form.type, form.name, form.strict) == ("json_schema", "Point", True)


# -- upstream bodies


@pytest.mark.parametrize(
    "model",
    [
        OpenAI.configure(api_key="k").chat("gpt-5.2"),
        OpenAI.configure(api_key="k").responses("gpt-5.2"),
        Anthropic.configure(api_key="k").model("claude-sonnet-4-5"),
        Google.configure(api_key="k").model("gemini-3-pro-preview"),
    ],
    ids=lambda model: model.route.id,
)
@pytest.mark.parametrize("body", [CODEX, CODEX_LITE, COMPACTION, PYTHON])
def test_every_upstream_takes_what_clients_send(model: Any, body: dict[str, Any]) -> None:
    """The request builds, and no hosted tool is offered that the protocol then drops."""
    protocol = model.route.protocol
    made = translated(body, protocol_id=protocol.id)
    built = protocol.body.build(evolve(made.request, model=model), True)

    assert isinstance(built, Success), built
    notes = built.unwrap().diagnostics
    assert "unsupported-tool" not in [note.code for note in notes]


# -- conversation


def test_instructions_are_of_one_request_only() -> None:
    """They lead, and no conversation keeps them."""
    made = asked("Hi", instructions="Be brief.")
    before = StoredConversation(model="m", messages=(Message.user("A"), Message.assistant("B")))
    again = translated({"input": "C", "previous_response_id": "r"}, previous=before)

    assert [part.text for part in made.request.system] == ["Be brief."]
    assert [message.role for message in made.messages] == ["user"]
    assert again.request.system == ()
    assert [message.text for message in again.messages] == ["A", "B", "C"]


def test_earlier_calls_keep_their_tools() -> None:
    """Outputs find calls of earlier turns, and calls mean what they meant."""
    entry = ToolEntry(upstream="n__go", kind="function", name="go", namespace="n")
    said = Message.assistant(ToolCallPart("c1", "n__go", {}))
    before = StoredConversation(model="m", messages=(Message.user("A"), said), tools=(entry,))
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    made = translated({"input": [output], "previous_response_id": "r"}, previous=before)

    assert made.messages[-1].content[0].name == "n__go"  # type: ignore[union-attr]
    assert made.registry.of_upstream("n__go") == entry


def _repeated(arguments: str) -> list[dict[str, Any]]:
    """Return what CrewAI and CAMEL send with `previous_response_id`: all again, and results."""
    call = {"type": "function_call", "call_id": "c1", "name": "go", "arguments": arguments}
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    said = {"role": "assistant", "content": "Let me see."}
    return [
        {"role": "user", "content": "A"},
        {"type": "reasoning", "summary": []},
        said,
        call,
        output,
    ]


@pytest.mark.parametrize("answered", [False, True], ids=["open", "answered"])
def test_a_stored_response_that_is_sent_again_is_left_out(answered: bool) -> None:
    """OpenAI's server refuses items that it has: `Duplicate item found with id fc_1`."""
    result = [Message.tool("c1", "ok")] if answered else []
    call = Message.assistant("Let me see.", ToolCallPart("c1", "go", {"to": "B"}))
    before = StoredConversation(model="m", messages=(Message.user("A"), call, *result))
    body = {"input": _repeated('{"to": "B"}'), "previous_response_id": "r"}
    made = translated(body, previous=before)

    assert made.messages == (*before.messages, Message.tool("c1", "ok", name="go"))
    notes = [(note.code, note.path) for note in made.diagnostics]
    assert notes == [("repeated-item", f"input[{index}]") for index in range(4)]


def test_results_and_instructions_before_a_repeated_call_are_kept() -> None:
    """Results of parallel calls may stand behind their calls, one by one."""
    calls = [ToolCallPart("c0", "go", {"to": "A"}), ToolCallPart("c1", "go", {"to": "B"})]
    before = StoredConversation(model="m", messages=(Message.assistant(*calls),))
    first = {**_repeated('{"to": "A"}')[-2], "call_id": "c0"}
    done = {"type": "function_call_output", "call_id": "c0", "output": "done"}
    items = [{"role": "developer", "content": "B"}, first, done, *_repeated('{"to": "B"}')[-2:]]
    made = translated({"input": items, "previous_response_id": "r"}, previous=before)

    results = [Message.tool("c0", "done", name="go"), Message.tool("c1", "ok", name="go")]
    assert made.messages == (*before.messages, Message.developer("B"), *results)


def test_a_call_with_a_stored_id_and_other_arguments_is_another_call() -> None:
    """Some clients number the calls of each response from 0."""
    call = Message.assistant("Let me see.", ToolCallPart("c1", "go", {"to": "B"}))
    before = StoredConversation(model="m", messages=(Message.user("A"), call))
    made = translated(
        {"input": _repeated('{"to": "C"}'), "previous_response_id": "r"}, previous=before
    )

    calls = [part for message in made.messages for part in message.tool_calls]
    assert [part.arguments for part in calls] == [{"to": "B"}, {"to": "C"}]
    assert [one.path for one in made.diagnostics] == ["input[1]"], "reasoning without content"


def test_a_response_that_is_not_kept_cannot_be_continued() -> None:
    """At once, with OpenAI's code; never a response without its context."""
    error = refused({"input": "x", "previous_response_id": "resp_0"})

    assert (error.status, error.code) == (400, "previous_response_not_found")


# -- refusals


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": 5}, "input"),
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{}]}, "input[0].type"),
        ({"input": [{"type": "mystery"}]}, "input[0].type"),
        ({"input": [{"type": "compaction", "encrypted_content": "x"}]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"type": "odd"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "function_call", "name": "f"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
        (
            {"input": [{"type": "function_call", "call_id": "c", "arguments": "{}"}]},
            "input[0].name",
        ),
        ({"input": [{"type": "custom_tool_call", "call_id": "c", "input": ""}]}, "input[0].name"),
        ({"input": "x", "temperature": "hot"}, "temperature"),
        ({"input": "x", "max_output_tokens": 1.5}, "max_output_tokens"),
        ({"input": "x", "stream": "yes"}, "stream"),
        ({"input": "x", "conversation": "conv_1"}, "conversation"),
        ({"input": "x", "prompt": {"id": "p"}}, "prompt"),
        ({"input": "x", "text": {"format": {"type": "odd"}}}, "text.format.type"),
        ({"input": "x", "text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
        ({"input": "x", "reasoning": {"summary": "odd"}}, "reasoning.summary"),
        ({"input": "x", "tools": {}}, "tools"),
        ({"input": "x", "tools": [5]}, "tools[0]"),
        ({"input": "x", "tools": [{"type": "odd"}]}, "tools[0].type"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
        ({"input": "x", "tools": [{**FUNCTION, "parameters": {"type": "array"}}]}, "tools[0]"),
        ({"input": "x", "tools": [FUNCTION, FUNCTION]}, "tools[1]"),
        ({"input": "x", "tools": [{"type": "namespace", "name": "n"}]}, "tools[0]"),
        ({"input": "x", "tool_choice": "required"}, "tool_choice"),
        ({"input": "x", "tool_choice": "odd", "tools": [FUNCTION]}, "tool_choice"),
        ({"input": "x", "tool_choice": 5}, "tool_choice"),
        (
            {
                "input": "x",
                "tools": [FUNCTION],
                "tool_choice": {"type": "allowed_tools", "tools": [FUNCTION] * 1001},
            },
            "tool_choice",
        ),
        ({"input": "x", "tool_choice": {"type": "function", "name": "g"}}, "tool_choice"),
    ],
)
def test_invalid_values_are_a_400_that_names_the_place(body: dict[str, Any], param: str) -> None:
    """Before anything is sent."""
    error = refused(body)

    assert error.status == 400
    assert error.param == param


@pytest.mark.parametrize(
    "content",
    [
        {"type": "input_image", "image_url": "/etc/passwd"},
        {"type": "input_image", "image_url": "~/.ssh/id_rsa"},
        {"type": "input_image", "image_url": "file:///etc/passwd"},
        {"type": "input_file", "file_url": "../secret"},
        {"type": "input_image", "image_url": "//host/share"},
    ],
)
def test_files_of_the_bridge_are_never_read(content: dict[str, Any]) -> None:
    """A client of the network names no paths."""
    error = refused({"input": [{"role": "user", "content": [content]}]})
    output = {"type": "function_call_output", "call_id": "c", "output": [content]}

    assert error.code == "invalid_url"
    assert refused({"input": [output]}).code == "invalid_url"


# -- tools


def test_one_tool_of_two_types_is_a_conflict() -> None:
    """The hosted apply_patch and a freeform one would be the same function."""
    tools = [{"type": "apply_patch"}, {"type": "custom", "name": "apply_patch"}]
    error = refused({"input": "x", "tools": tools})

    assert (error.status, error.code) == (400, "tool_name_conflict")


def test_names_that_become_the_same_are_distinguished() -> None:
    """Both stay callable, and each call finds its tool."""
    tools = [{**FUNCTION, "name": name} for name in ("a-b", "a_b", "a.b", "functions", "x" * 70)]
    made = asked("x", tools=tools)

    assert len(set(names(made))) == 5
    assert all(len(name) <= 64 for name in names(made))
    for name in names(made):
        entry = made.registry.of_upstream(name)
        assert entry is not None
        assert made.registry.of_client(entry.name) == entry


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ToolChoice.auto()),
        ("none", ToolChoice.none()),
        ("required", ToolChoice.required()),
        (None, None),
        ({"type": "function", "name": "a-b"}, ToolChoice.named("a_b")),
        ({"type": "function", "function": {"name": "a-b"}}, ToolChoice.named("a_b")),
        ({"type": "custom", "name": "patch"}, ToolChoice.named("patch")),
        ({"type": "function", "name": "go", "namespace": "n"}, ToolChoice.named("n__go")),
        ({"type": "shell"}, ToolChoice.named("shell")),
    ],
)
def test_a_tool_choice_names_the_upstreams_functions(
    choice: Any, expected: ToolChoice | None
) -> None:
    """Names are those of the upstream's functions."""
    tools = [
        {**FUNCTION, "name": "a-b"},
        {"type": "custom", "name": "patch"},
        {"type": "namespace", "name": "n", "tools": [{**FUNCTION, "name": "go"}]},
        {"type": "shell"},
    ]

    assert asked("x", tools=tools, tool_choice=choice).request.tool_choice == expected


def test_allowed_tools_are_a_filter_and_a_mode() -> None:
    """The others are not offered; their calls keep their meaning."""
    tools = [FUNCTION, {**FUNCTION, "name": "g"}]
    allowed = [{"type": "function", "name": "g"}]
    choice = {"type": "allowed_tools", "mode": "required", "tools": allowed}
    made = asked("x", tools=tools, tool_choice=choice)

    assert names(made) == ["g"]
    assert made.request.tool_choice == ToolChoice.required()
    assert made.registry.of_client("f") is not None
    assert [(one.code, one.path) for one in made.diagnostics] == [("tools-narrowed", "tool_choice")]


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        ([FUNCTION], [{"type": "function", "name": "f"}]),
        ([{"type": "function", "name": "a-b"}], [{"type": "function", "name": "a_b"}]),
        ([{"type": "custom", "name": "patch"}], [{"type": "function", "name": "patch"}]),
        ([{"type": "web_search"}], [{"type": "web_search"}]),
        (
            [{"type": "mcp", "server_label": "docs"}, FUNCTION],
            [{"type": "function", "name": "f"}, {"type": "mcp", "server_label": "docs"}],
        ),
    ],
    ids=["function", "renamed", "freeform", "hosted", "mcp"],
)
def test_allowed_tools_go_with_the_choice_to_an_upstream_that_has_it(
    wanted: Any, sent: Any
) -> None:
    """All tools stay, so that a cached prefix stays, and the allowed ones are named as sent."""
    tools = [
        FUNCTION,
        {**FUNCTION, "name": "a-b"},
        {"type": "custom", "name": "patch"},
        {"type": "web_search"},
        {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/mcp"},
    ]
    choice = {"type": "allowed_tools", "mode": "required", "tools": wanted}
    policy = TranslationPolicy(hosted_tools="native")
    body = {"input": "x", "tools": tools, "tool_choice": choice}
    made = translated(body, protocol_id="openai-responses", policy=policy)

    assert len(made.request.tools) == len(tools)
    assert made.request.tool_choice == ToolChoice.required()
    assert made.request.provider_options["openai"]["tool_choice"] == {**choice, "tools": sent}
    assert made.diagnostics == ()


def test_allowed_tools_are_a_filter_where_the_upstream_only_imitates_the_api() -> None:
    tools = [FUNCTION, {**FUNCTION, "name": "g"}]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [FUNCTION]}
    body: Any = {"model": "client-model", "input": "x", "tools": tools, "tool_choice": choice}
    upstream = evolve(upstream_of("openai-responses"), native_tools=False)
    made = read_request(ClientRequest(body=body), upstream).unwrap()

    assert names(made) == ["f"]
    assert codes(made) == ["tools-narrowed"]


@pytest.mark.parametrize(
    ("policy", "protocol", "offered"),
    [
        ("native", "openai-responses", HostedTool.raw("openai", {"type": "web_search"})),
        ("native", "anthropic-messages", HostedTool.web_search()),
        ("native", "gemini", HostedTool.web_search()),
        ("native", "openai-chat", None),
        ("drop", "openai-responses", None),
        ("error", "anthropic-messages", HostedTool.web_search()),
    ],
)
def test_hosted_tools_by_policy(policy: Any, protocol: str, offered: Any) -> None:
    """Native where the upstream has them; others are left out and reported."""
    made = asked_with(policy, protocol)

    assert made.request.tools == ((offered,) if offered else ())
    assert ("hosted-tool-dropped" in codes(made)) == (offered is None)


def asked_with(policy: Any, protocol: str) -> Any:
    """Return a request for a web search under a policy."""
    return translated(
        {"input": "x", "tools": [{"type": "web_search"}]},
        policy=TranslationPolicy(hosted_tools=policy),
        protocol_id=protocol,
    )


@pytest.mark.parametrize("protocol", ["anthropic-messages", "gemini"])
def test_of_two_types_of_a_search_another_provider_offers_one(protocol: str) -> None:
    tools = [{"type": "web_search"}, {"type": "web_search_preview"}]
    made = translated({"input": "Hi", "tools": tools}, protocol_id=protocol)

    (tool,) = made.request.tools
    assert isinstance(tool, HostedTool)
    assert tool.kind == "web_search"
    assert [(n.code, n.path) for n in made.diagnostics] == [("hosted-tool-dropped", "tools[1]")]


def test_hosted_tools_may_be_refused() -> None:
    """By configuration."""
    policy = TranslationPolicy(hosted_tools="error")
    error = refused({"input": "x", "tools": [{"type": "web_search"}]}, policy=policy)

    assert (error.status, error.code) == (400, "unsupported_tool")


@pytest.mark.parametrize("type_", ["x_search", "openrouter:web_search"])
def test_tools_of_a_server_that_imitates_the_api_go_to_it(type_: str) -> None:
    """An upstream with another API has no such tool."""
    tool = {"type": type_, "from_date": "2026-01-01"}
    body = {"input": "x", "tools": [tool], "tool_choice": {"type": type_}}
    made = translated(body, protocol_id="openai-responses")

    assert made.request.tools == (HostedTool.raw("openai", tool),)
    assert made.request.tool_choice == ToolChoice.named(type_)
    assert refused(body, protocol_id="openai-chat").code == "unsupported_tool"


# -- items


def test_a_part_that_openai_does_not_have_goes_to_a_server_that_imitates_the_api() -> None:
    """As with the Chat Completions API; an upstream with another API cannot be told."""
    video = {"type": "input_video", "video_url": "https://a.example/b.mp4"}
    body: Any = {"input": [{"role": "user", "content": [video]}]}
    made = translated(body, protocol_id="openai-responses")
    model = OpenAI.configure(api_key="k").responses("m")
    prepared = Client().prepare(evolve(made.request, model=model, provider=None)).unwrap()

    assert made.diagnostics == ()
    assert prepared.body["input"][0]["content"] == [video]
    assert refused(body, protocol_id="gemini").param == "input[0].content[0].type"


def test_hosted_calls_of_another_server() -> None:
    """With what they returned they are a call and its result; without, nothing is lost but it."""
    mcp = {"type": "mcp_call", "id": "m1", "name": "read", "server_label": "s"}
    made = messages_of(
        {"role": "user", "content": "x"},
        {**mcp, "arguments": '{"a":1}', "output": "text"},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {}},
    )

    assert [message.role for message in made] == ["user", "assistant", "tool"]
    assert made[1].tool_calls == (ToolCallPart("m1", "read", {"a": 1}),)


def test_unknown_calls_with_an_id_are_calls() -> None:
    """And their outputs are results, a screenshot as a picture."""
    made = messages_of(
        {"type": "computer_call", "id": "cc", "call_id": "c", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,cG5n"},
        },
    )

    assert made[0].tool_calls[0].name == "computer"
    assert made[1].content == (
        ToolResultPart("c", (ImagePart(url="data:image/png;base64,cG5n"),), name="computer"),
    )


def test_hosted_calls_without_an_id_are_left_out_and_said() -> None:
    """Such as a search for tools by the server, or a tool of one provider only."""
    item = {"type": "tool_search_call", "id": "t", "execution": "server", "arguments": {}}
    made = asked([{"role": "user", "content": "x"}, item, {"type": "x_search_call", "id": "s"}])

    assert [message.role for message in made.messages] == ["user"]
    assert codes(made) == ["hosted-tool-dropped"] * 2


def test_found_tools_can_be_called() -> None:
    """Tools that the client's search found are offered from then on."""
    output = {
        "type": "tool_search_output",
        "call_id": "t1",
        "tools": [{"type": "namespace", "name": "cal", "tools": [{**FUNCTION, "name": "add"}]}],
    }
    call = {
        "type": "tool_search_call",
        "call_id": "t1",
        "execution": "client",
        "arguments": {"query": "calendar"},
    }
    made = asked([{"role": "user", "content": "x"}, call, output])

    assert names(made) == ["cal__add"]
    assert made.messages[1].tool_calls[0].name == "tool_search"


def test_thinking_of_another_server_stays_thinking() -> None:
    """Its words go back as reasoning, never as text."""
    item = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
    made = messages_of({"role": "user", "content": "x"}, {**item, "encrypted_content": None})

    assert made[1].content == (ReasoningPart("hm"),)


def test_input_items_have_types_and_ids() -> None:
    """As listings show them."""
    (item,) = asked("Hi").input_items

    assert item == {
        "id": "msg_1",
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hi"}],
    }


def test_unknown_fields_are_tolerated_and_said() -> None:
    """New clients keep working."""
    made = asked("x", brand_new=1)

    assert codes(made) == ["unknown-parameter"]


def test_too_many_items_are_refused() -> None:
    """The limit is the policy's."""
    policy = TranslationPolicy(max_items=1)
    item = {"role": "user", "content": "x"}

    assert refused({"input": [item] * 2}, policy=policy).param == "input"
    assert translated({"input": [item]}, policy=policy).request.messages


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("previous_response_id", 5),
        ("metadata", "x"),
        ("metadata", {"a": 5}),
        ("user", 5),
        ("safety_identifier", [1]),
        ("max_tool_calls", "x"),
        ("service_tier", 1),
        ("truncation", {}),
        ("background", 0),
        ("access_programs", "daybreak"),
        ("context_management", {}),
        ("image", "auto"),
        ("multi_agent", True),
    ],
)
def test_a_field_of_another_type_is_refused(field: str, value: Any) -> None:
    """The response would repeat it, and a conversation would be lost without a word."""
    error = refused({"input": "x", field: value})

    assert (error.status, error.code) == (400, "invalid_type")
    assert (error.param or "").startswith(field)


@pytest.mark.parametrize("approval", [None, "always", {"never": {"tool_names": ["roll"]}}])
def test_an_mcp_tool_that_is_to_ask_is_refused_where_it_would_run_unasked(approval: Any) -> None:
    """Without `require_approval`, OpenAI's servers ask before each call."""
    tool = {"type": "mcp", "server_label": "a", "server_url": "https://a.example"}
    if approval is not None:
        tool["require_approval"] = approval
    request = {"input": "x", "tools": [tool]}

    assert refused(request, protocol_id="anthropic-messages").param == "tools[0].require_approval"
    assert translated(request, protocol_id="openai-responses").request.tools
    never = {"input": "x", "tools": [{**tool, "require_approval": "never"}]}
    assert translated(never, protocol_id="anthropic-messages").request.tools


def test_what_opens_an_mcp_server_is_not_repeated() -> None:
    """Responses are kept, and shown again."""
    tool = {
        "type": "mcp",
        "server_label": "a",
        "server_url": "https://a.example",
        "authorization": "SECRET",
        "headers": {"x-key": "SECRET"},
    }
    made = translated({"input": "x", "tools": [tool]}, protocol_id="openai-responses")

    assert "SECRET" not in str(made.echo)
    assert "SECRET" in str(made.request.tools[0].options)  # type: ignore[union-attr]


def test_a_call_within_a_namespace_of_its_own_name_is_one_of_the_function() -> None:
    """So servers call a function that was loaded on its own, and clients send that back."""
    call = {"type": "function_call", "call_id": "c1", "name": "f", "namespace": "f"}
    made = asked([{**call, "arguments": "{}"}], tools=[{**FUNCTION, "name": "f"}])

    assert made.messages[0].tool_calls[0].name == "f"


@pytest.mark.parametrize("call_id", [None, "c1"])
def test_a_search_among_tools_that_the_server_ran_is_left_out_with_a_diagnostic(
    call_id: str | None,
) -> None:
    """The tools that it found are offered; servers give its items no `call_id`."""
    search = {"execution": "server", "call_id": call_id, "status": "completed"}
    made = asked(
        [
            {"role": "user", "content": "x"},
            {**search, "type": "tool_search_call", "arguments": {"queries": ["f"]}},
            {**search, "type": "tool_search_output", "tools": [{**FUNCTION, "name": "f"}]},
            {"role": "user", "content": "y"},
        ]
    )

    assert [message.role for message in made.messages] == ["user", "user"]
    assert names(made) == ["f"]
    assert codes(made) == ["hosted-tool-dropped"] * 2


def test_more_tools_than_allowed_are_refused() -> None:
    tools = [{"type": "function", "name": name, "parameters": {}} for name in "fgh"]
    policy = TranslationPolicy(max_tools=2)
    error = refused({"input": "x", "tools": tools}, policy=policy)

    assert (error.param, "At most 2" in error.message) == ("tools", True)
    assert len(translated({"input": "x", "tools": tools[:2]}, policy=policy).request.tools) == 2


def test_an_item_of_a_later_version_does_not_stop_a_conversation_that_moves_elsewhere() -> None:
    """The server that made it gave it an id; without one it may be a mistake of the client's."""
    item = {"type": "dream", "id": "dr_1", "of": ["sheep"]}
    hello = {"role": "user", "content": "x"}
    made = asked([hello, item, hello])
    own = translated({"input": [hello, item, hello]}, protocol_id="openai-responses")

    assert [message.role for message in made.messages] == ["user", "user"]
    assert [(note.code, note.path) for note in made.diagnostics] == [
        ("provider-part-dropped", "input[1]")
    ]
    assert own.messages[1].content == (ProviderPart("openai", item),)
    assert refused({"input": [hello, {"type": "dream"}]}).param == "input[1].type"
