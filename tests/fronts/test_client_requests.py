"""Requests that real clients sent, through their fronts: `tests/fronts/client_requests`.

`RECORD_CLIENTS=true make test-clients` records them anew.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from llmcore import Client, LLMRequest
from llmcore.bridge.apis.registry import api_of_request
from llmcore.fronts.front import ClientRequest, ReadRequest, Upstream, front_by_id
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema.content import TextPart, ToolResultPart
from llmcore.schema.result import Success
from scripts.fronts_table import MODELS
from tests.support.programs.client_programs import CLIENT_KEY
from tests.support.programs.request_recorder import FOLDER, RECORDED, load
from tests.support.servers.bridge_service import UPSTREAM_KEY
from tests.support.servers.client_gateway import SEAL_KEY
from tests.support.servers.client_upstream import CITIES
from tests.support.upstreams import upstream_of

CLIENT = Client(environ={})
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
AGENTS = {"claude_code", "gemini_cli", "opencode_chat", "opencode_gemini", "opencode_messages"}

each = pytest.mark.parametrize("name", NAMES)
upstreams = pytest.mark.parametrize("protocol_id", list(MODELS))


def upstream(protocol_id: str) -> Upstream:
    """Return an upstream of a protocol, for the gateway that the requests were sealed by."""
    return upstream_of(
        protocol_id,
        MODELS[protocol_id],
        policy=TranslationPolicy(),
        sealer=Sealer(SEAL_KEY.encode()),
    )


def asked(request: Mapping[str, Any]) -> ClientRequest:
    """Return a recorded request as the gateway hands it to a front."""
    path, _, query = request["path"].partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&") if pair)
    return ClientRequest(body=request["body"], path=path, query=pairs, headers=request["headers"])


def read(front_id: str, request: ClientRequest, protocol_id: str) -> ReadRequest:
    """Return what the front reads for an upstream."""
    result = front_by_id(front_id).read(request, upstream(protocol_id))
    assert isinstance(result, Success), result
    found: ReadRequest = result.unwrap()
    return found


def built(request: LLMRequest) -> Any:
    """Return the body that the upstream gets."""
    prepared = CLIENT.prepare(request, streaming=True)
    assert isinstance(prepared, Success), prepared
    return json.loads(json.dumps(prepared.unwrap().body, default=dict))


def texts(value: Any) -> Iterator[str]:
    """Yield every text of a body."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)


def results_of(request: LLMRequest) -> list[ToolResultPart]:
    """Return the results of tools in a request."""
    parts = (part for message in request.messages for part in message.content)
    return [part for part in parts if isinstance(part, ToolResultPart)]


def text_of(result: ToolResultPart) -> str:
    """Return the text of a result, also of one in parts."""
    if isinstance(result.content, tuple):
        return "".join(getattr(part, "text", "") for part in result.content)
    return result.content if isinstance(result.content, str) else ""


def test_every_client_is_there() -> None:
    """The file of each test that records one; Codex has whole conversations elsewhere."""
    assert sorted(name for name, _ in RECORDED.values()) == NAMES


@each
def test_a_recording_holds_no_secret(name: str) -> None:
    """No credential, in headers or elsewhere."""
    text = (FOLDER / f"{name}.json").read_text("utf-8")

    assert CLIENT_KEY not in text
    assert UPSTREAM_KEY not in text
    for request in load(name).requests:
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & request["headers"].keys()


@each
def test_the_gateway_finds_the_front_by_path_and_headers(name: str) -> None:
    """Also for the list of models, whose path two APIs share."""
    run = load(name)
    for request in run.requests:
        path = request["path"].partition("?")[0]
        assert api_of_request(path, request["headers"]) == run.front
        if run.front != "openai-chat":
            models = "/v1beta/models" if run.front == "gemini" else "/v1/models"
            assert api_of_request(models, request["headers"]) == run.front


@upstreams
@each
def test_every_upstream_is_sent_all_that_was_said(name: str, protocol_id: str) -> None:
    """Each text, tool and result of the client, and nothing that the gateway has sealed."""
    run = load(name)
    for request in run.requests:
        found = read(run.front, asked(request), protocol_id)
        body = built(found.request)
        sent = "\n".join(texts(body))

        assert "ob1." not in sent
        assert "b2IxL" not in sent
        for tool in found.request.tools:
            assert getattr(tool, "name", "") in sent
        for message in found.request.messages:
            for part in message.content:
                assert not isinstance(part, TextPart) or part.text in sent
        for result in results_of(found.request):
            assert text_of(result) in sent


@each
def test_nothing_is_reported_but_what_is_known(name: str) -> None:
    """Of agents, what an OpenAI upstream has no place for; of the others nothing at all."""
    run = load(name)
    for request in run.requests:
        found = read(run.front, asked(request), "openai-chat")
        codes = {f"{one.action} {one.path}" for one in found.diagnostics if one.action != "noted"}
        assert codes == KNOWN.get(name, set())


KNOWN = {
    "claude_code": {"dropped metadata.user_id", "dropped context_management"},
    "gemini_cli": {"changed reasoning.budget_tokens"},
    "langchain_google": {"dropped safetySettings"},
}


@each
def test_a_request_that_goes_back_to_its_own_api_reads_the_same(name: str) -> None:
    """Built in its own form, it reads as the same request."""
    run = load(name)
    for request in run.requests:
        once = read(run.front, asked(request), run.front).request
        again = replace(asked(request), body=built(once))
        assert built(read(run.front, again, run.front).request) == built(once)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_an_agents_three_steps_are_calls_with_their_results(name: str) -> None:
    """Read, write, run: in this order, each with its result."""
    run = load(name)
    request = read(run.front, asked(run.requests[-1]), "openai-chat").request
    calls = [call for message in request.messages for call in message.tool_calls]
    results = results_of(request)

    assert len(calls) == len(results) == 3
    assert [call.id for call in calls] == [one.tool_call_id for one in results]
    assert [call.name.lower().partition("_")[0] for call in calls[:2]] == ["read", "write"]
    assert calls[2].name in ("Bash", "bash", "run_shell_command")
    assert all(one.content for one in results)


@pytest.mark.parametrize("name", sorted(set(NAMES) - AGENTS - {"aider"}))
def test_thinking_comes_back_where_the_client_keeps_it(name: str) -> None:
    """Sealed in the carrier of the API; most clients of Chat drop what they do not know."""
    run = load(name)
    request = read(run.front, asked(run.requests[-1]), "openai-chat").request
    thoughts = [message.reasoning for message in request.messages if message.role == "assistant"]
    calls = [call.arguments for message in request.messages for call in message.tool_calls]

    assert calls == [{"city": city} for city in CITIES]
    if run.front != "openai-chat":
        assert thoughts == [f"{city} next." for city in CITIES]
