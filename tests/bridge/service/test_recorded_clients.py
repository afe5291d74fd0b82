"""Conversations that real clients had, again: `cassettes/clients`, which `tests/clients` records.

Each request is sent as it was, but for the ids that the gateway makes anew.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from llmcore.bridge.configuration.reading import settings_from
from llmcore.fronts.openai_responses.grammar import violations
from llmcore.testing.cassette import Interaction, RecordedResponse
from llmcore.testing.cassette_file import load
from tests.fronts.openai_responses.openai_types import check_event, check_response
from tests.support.servers.bridge_service import asked, events_of
from tests.support.servers.client_gateway import SEAL_KEY
from tests.support.servers.client_upstream import (
    COMMAND,
    PATCH,
    SCRIPT,
    SIGNATURES,
    answer,
    text_of,
)
from tests.support.servers.loopback import serve

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent.parent.parent.parent / "cassettes" / "clients"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@frozen
class Exchange:
    """A request, its response of the time and now, and what the upstream was asked now."""

    request: Mapping[str, Any]
    before: Mapping[str, Any]
    now: Mapping[str, Any]
    upstream: Mapping[str, Any]
    notes: str

    @property
    def tools(self) -> list[str]:
        """The functions that the upstream was offered."""
        return [tool["function"]["name"] for tool in self.upstream.get("tools", ())]

    @property
    def roles(self) -> list[str]:
        """Return the roles of the messages that the upstream was sent."""
        return [one["role"] for one in self.upstream["messages"]]


def recorded(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return a cassette's requests and the final responses that they got."""
    pairs = []
    for one in load(FOLDER / f"{name}.json").interactions:
        assert isinstance(one, Interaction)
        assert isinstance(one.response, RecordedResponse)
        pairs.append((json.loads(one.request.body), final(one.response.body)))
    return pairs


def final(body: bytes) -> dict[str, Any]:
    """Return the response object of a whole or streamed response."""
    if body.startswith(b"event:"):
        response: dict[str, Any] = events_of(body)[-1]["response"]
        return response
    whole: dict[str, Any] = json.loads(body)
    return whole


def renamed(request: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Return *request* with the ids of now in place of the recorded ones."""
    text = json.dumps(request)
    for old, new in ids.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    changed: dict[str, Any] = json.loads(text)
    return changed


async def replayed(name: str) -> list[Exchange]:
    """Have a recorded conversation again, through a gateway in this process."""
    exchanges = []
    ids: dict[str, str] = {}
    with serve(answer) as upstream:
        settings = settings_from(
            {
                "OPENROUTER_API_KEY": "sk-x",
                "OPENROUTER_BASE_URL": f"{upstream.url}/v1",
                "OPENBRIDGE_STATE_BACKEND": "memory",
                "OPENBRIDGE_RETRIES": "0",
                "OPENBRIDGE_SEAL_KEY": SEAL_KEY,
            }
        )
        async with asked(settings) as client:
            for request, before in recorded(name):
                sent = renamed(request, ids)
                got = await client.post("/v1/responses", json=sent)
                assert got.status_code == 200, got.text
                check(got.content, streamed=bool(request.get("stream")))
                now = final(got.content)
                ids |= dict(zip(ids_of(before), ids_of(now), strict=True))
                last: Any = upstream.received[-1].json
                notes = got.headers.get("x-openbridge-diagnostics", "")
                exchanges.append(Exchange(request, before, now, last, notes))
    return exchanges


def check(body: bytes, *, streamed: bool) -> None:
    """Fail unless *body* is what the API's documents and the official package say."""
    if not streamed:
        check_response(json.loads(body))
        return
    events = events_of(body)
    assert violations(events) == []
    for event in events:
        check_event(event)


def ids_of(response: Mapping[str, Any]) -> list[str]:
    """Return the ids of a response and its items, and what these hold sealed."""
    items = response["output"]
    sealed = [item["encrypted_content"] for item in items if item.get("encrypted_content")]
    return [response["id"], *(item["id"] for item in items), *sealed]


def without_ids(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return items without what differs from run to run.

    Thoughts had no status when the conversations were recorded.
    """
    own = {"id", "encrypted_content"}
    left_out = [own | {"status"} if item["type"] == "reasoning" else own for item in items]
    return [
        {name: value for name, value in item.items() if name not in names}
        for item, names in zip(items, left_out, strict=True)
    ]


def test_every_client_was_recorded() -> None:
    """Codex in three ways, the SDKs with and without a store."""
    assert {"codex_m-1", "codex_gpt-5.5", "codex_gpt-6.1-sol", "codex_patch"} <= set(NAMES)
    assert {"codex_compaction", "codex_remote_compaction"} <= set(NAMES)
    assert {"ai_sdk_tools", "ai_sdk_tools_without_store"} <= set(NAMES)
    assert {"open_responses_tools", "openai_js_previous_response"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_the_conversation_goes_as_it_went(name: str) -> None:
    """The same items come of the same requests; nothing is refused, no rule is broken."""
    for exchange in await replayed(name):
        assert without_ids(exchange.now["output"]) == without_ids(exchange.before["output"])
        assert exchange.now["status"] == "completed"


# -- requests to the upstream

SHELL = ["exec_command", "write_stdin"]

CODEX: dict[str, Any] = {
    "codex_m-1": {
        "tools": [
            *SHELL,
            "request_user_input",
            "view_image",
            "multi_agent_v1__close_agent",
            "multi_agent_v1__resume_agent",
            "multi_agent_v1__send_input",
            "multi_agent_v1__spawn_agent",
            "multi_agent_v1__wait_agent",
            "get_goal",
            "create_goal",
            "update_goal",
        ],
        "call": ("function_call", {"name": "exec_command", "arguments": {"cmd": COMMAND}}),
        "notes": ["dropped hosted-tool-dropped tools[8]"],
    },
    "codex_gpt-5.5": {
        "tools": [
            *SHELL,
            "request_user_input",
            "apply_patch",
            "view_image",
            "get_goal",
            "create_goal",
            "update_goal",
            "tool_search",
        ],
        "call": ("function_call", {"name": "exec_command", "arguments": {"cmd": COMMAND}}),
        "notes": ["dropped hosted-tool-dropped tools[9]"],
    },
    "codex_gpt-6.1-sol": {
        "tools": [
            "functions__exec",
            "functions__wait",
            "functions__request_user_input",
            "functions__request_user_input_async",
            "clock__sleep",
            "collaboration__followup_task",
            "collaboration__interrupt_agent",
            "collaboration__list_agents",
            "collaboration__send_message",
            "collaboration__spawn_agent",
            "collaboration__wait_agent",
        ],
        "call": ("custom_tool_call", {"name": "exec", "namespace": "functions", "input": SCRIPT}),
        "notes": [
            *(
                f"dropped unsupported-schema-keyword input[0].tools[2].tools[{n}].parameters"
                for n in (0, 3, 4)
            ),
            "dropped unsupported-parameter reasoning.context",
        ],
    },
}


@pytest.mark.parametrize("name", CODEX)
async def test_what_becomes_of_codex(name: str) -> None:
    """All its tools are functions, its prompts lead, and losses are reported."""
    want = CODEX[name]
    first, second = await replayed(name)
    kind, fields = want["call"]
    call = next(item for item in first.now["output"] if item["type"] == kind)
    told = {**call, "arguments": json.loads(call["arguments"])} if "arguments" in call else call

    assert first.tools == want["tools"]
    assert first.notes.split("; ") == want["notes"]
    assert {name: told[name] for name in fields} == fields
    assert first.roles[-2:] == ["user", "user"]
    assert set(first.roles[:-2]) <= {"system", "developer"}
    assert second.roles == [*first.roles, "assistant", "tool"]
    assert "from a command" in text_of(second.upstream["messages"][-1])


async def test_a_freeform_tool_is_a_function_of_one_text() -> None:
    """The patch comes back raw, and its result is the function's."""
    first, second = await replayed("codex_patch")
    tool = next(t["function"] for t in first.upstream["tools"] if "patch" in t["function"]["name"])
    call = next(item for item in first.now["output"] if item["type"] == "custom_tool_call")
    assistant, result = second.upstream["messages"][-2:]

    assert list(tool["parameters"]["properties"]) == ["input"]
    assert call["input"] == PATCH
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"input": PATCH}
    assert "made.txt" in text_of(result)


async def test_a_compaction_has_no_tools() -> None:
    """`tools: []` with `tool_choice: auto` asks for text."""
    exchanges = await replayed("codex_compaction")
    bare = [one for one in exchanges if one.request.get("tools") == []]

    assert len(bare) == 1
    assert bare[0].request["tool_choice"] == "auto"
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & bare[0].upstream.keys()


async def test_a_compaction_by_the_server_is_one_item() -> None:
    """Its summary takes the place of the responses before."""
    _, compaction, after = await replayed("codex_remote_compaction")

    assert [item["type"] for item in compaction.now["output"]] == ["compaction"]
    assert compaction.request["input"][-1] == {"type": "compaction_trigger"}
    assert compaction.upstream["tool_choice"] == "none"
    assert any("They said hello." in text_of(one) for one in after.upstream["messages"])
    assert "assistant" not in after.roles


@pytest.mark.parametrize(
    "name",
    [
        "ai_sdk_tools",
        "ai_sdk_tools_without_store",
        "openai_js_previous_response",
        "openai_js_encrypted_reasoning",
    ],
)
async def test_thinking_comes_back_to_the_upstream(name: str) -> None:
    """By references, by sealed state, or by the response before: with its signatures."""
    *_, last = await replayed(name)
    details = [
        detail
        for message in last.upstream["messages"]
        for detail in message.get("reasoning_details", ())
    ]

    assert [one["signature"] for one in details if "signature" in one] == list(SIGNATURES)
    assert last.roles == ["user", "assistant", "tool", "assistant", "tool"]


async def test_every_option_of_the_ai_sdk_is_taken() -> None:
    """Options that the upstream has are sent; the others are reported as lost."""
    (only,) = await replayed("ai_sdk_options")

    assert only.request["max_tool_calls"] == 3
    assert only.upstream["parallel_tool_calls"] is False
    assert only.upstream["reasoning"]["effort"] == "low"
    assert only.now["metadata"] == {"a": "b"}
    assert "max_tool_calls" in only.notes


async def test_a_schema_of_zod_goes_up() -> None:
    """`$schema` and all."""
    (only,) = await replayed("openai_js_parse")

    assert only.upstream["response_format"]["json_schema"]["name"] == "answer"
    assert only.now["output"][-1]["content"][0]["text"] == '{"yes": true}'
