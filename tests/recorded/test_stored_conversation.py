"""One conversation, kept in a store and carried from provider to provider."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from llmcore import Client, LLMRequest, LLMResponse, Local, Message, Model, OpenAI, request
from llmcore.protocols import anthropic_messages, openai_responses
from llmcore.protocols.protocol import Protocol
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.route import Route
from llmcore.schema.result import Success
from llmcore.sessions.contract.codec import entry_to_text, to_wire
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.json_schema import contract_schema
from llmcore.sessions.contract.run_rules import check_run
from llmcore.sessions.conversion import response_entries, to_entries, to_messages
from llmcore.sessions.sqlite_store import SQLiteStore
from llmcore.testing import CassetteFixture, scripted
from tests.support.servers.local_scenes import EXAMPLE, TIME, WEATHER

pytestmark = pytest.mark.anyio

RUN = "journey"
NOON = "2026-11-22T12:00:00Z"
SCHEMA = jsonschema.Draft202012Validator(contract_schema())


def speaking(path: str, protocol: Protocol[Any, Any, Any]) -> Model:
    """Return the local model, spoken to in another protocol."""
    model = Local.configure().model()
    assert isinstance(model.route, Route)
    endpoint = Endpoint.path(path, base_url="http://local/v1")
    return model.route.with_(protocol=protocol, endpoint=endpoint).model(model.id)


CHAT = Local.configure().model()
MESSAGES = speaking("/messages", anthropic_messages.protocol)
RESPONSES = speaking("/responses", openai_responses.protocol)
GPT = OpenAI.configure(api_key="sk-test").responses("gpt-5.2")


class Keeper:
    """A separate process that keeps the entries it is sent, until it is killed."""

    PROGRAM = """
import sys, anyio
from llmcore.sessions.jsonl import from_lines
from llmcore.sessions.sqlite_store import SQLiteStore

async def main():
    async with SQLiteStore(sys.argv[1]) as store:
        while count := sys.stdin.readline():
            entries = list(from_lines(sys.stdin.readline() for _ in range(int(count))))
            print(await store.append("journey", entries), flush=True)

anyio.run(main)
"""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def keep(self, entries: tuple[MessageEntry, ...]) -> int:
        """Return the seq that the process acknowledges."""
        self.tell(entries)
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def tell(self, entries: tuple[MessageEntry, ...]) -> None:
        """Hand *entries* over, and wait for nothing."""
        assert self._process.stdin is not None
        lines = [str(len(entries)), *map(entry_to_text, entries)]
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()

    def kill(self) -> None:
        """End the process as `kill -9` does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.stdin.close()


class Talk:
    """The conversation as its application holds it: entries, and nothing else."""

    def __init__(self, entries: tuple[MessageEntry, ...] = ()) -> None:
        self.entries = entries

    def say(self, *messages: Message) -> tuple[MessageEntry, ...]:
        """Add messages, and return their entries."""
        new = to_entries(messages, run_id=RUN, timestamp=NOON, after=self.entries)
        self.entries += new
        return new

    def hear(self, response: LLMResponse) -> tuple[MessageEntry, ...]:
        """Add a response, and return its entries."""
        new = response_entries(response, run_id=RUN, timestamp=NOON, after=self.entries)
        self.entries += new
        return new

    def asking(self, model: Model) -> LLMRequest:
        """Return the request for the next response."""
        return request(
            model=model,
            messages=to_messages(self.entries),
            tools=[WEATHER, TIME],
            max_tokens=80,
            temperature=0.0 if model is not GPT else None,
            provider_options={"local": {"cache_prompt": False}},
        )


async def turn(talk: Talk, client: Client, model: Model, question: str) -> tuple[MessageEntry, ...]:
    """Ask, run the tools that are called, and return the entries of it all."""
    new = talk.say(Message.user(question))
    response = (await client.stream(talk.asking(model)).result()).unwrap()
    new += talk.hear(response)
    while response.tool_calls:
        for call in response.tool_calls:
            said = "3 degrees, snow" if call.name == "get_weather" else "15:30"
            new += talk.say(Message.tool(call.id, said, name=call.name))
        response = (await client.stream(talk.asking(model)).result()).unwrap()
        new += talk.hear(response)
    return new


async def stored(path: Path) -> tuple[MessageEntry, ...]:
    async with SQLiteStore(path) as store:
        return tuple(one.entry for one in await store.read(RUN))


# What gpt-5.2 says in the end, after the reference of the Responses API.
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "c2VjcmV0"}
CALLED: dict[str, object] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-5.2",
    "output": [
        REASONING,
        *(
            {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"call_{n}",
                "name": name,
                "arguments": '{"city":"Rome"}',
                "status": "completed",
            }
            for n, name in enumerate(("get_weather", "get_time"), 1)
        ),
    ],
    "usage": {"input_tokens": 400, "output_tokens": 40, "total_tokens": 440},
}


def answered(text: str, number: int) -> dict[str, object]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    return {**CALLED, "id": f"resp_{number}", "output": [message]}


def whole(response: dict[str, object]) -> bytes:
    """Return the response as the one event of a stream."""
    event = {"type": "response.completed", "response": response}
    return f"event: response.completed\ndata: {json.dumps(event)}\n\n".encode()


@pytest.mark.cassette(
    "local/stored_conversation", provider="local", tags=["tools", "parallel", "sessions"]
)
async def test_a_conversation_is_stored_killed_and_resumed_elsewhere(
    cassette: CassetteFixture, tmp_path: Path
) -> None:
    """Five turns: local over Chat, Messages and Responses, then another provider's model.

    What was acknowledged survives the process that kept it; the call ids that the example and
    a provider both use stay apart; everything written fits the schema.
    """
    path = tmp_path / "sessions.db"
    keeper, talk = Keeper(path), Talk()
    keeper.keep(talk.say(*EXAMPLE))
    async with cassette.client() as client:
        for model, question in (
            (CHAT, "What are the weather and the time in Oslo?"),
            (MESSAGES, "What are the weather and the time in Paris?"),
        ):
            seq = keeper.keep(await turn(talk, client, model, question))
            assert seq == len(talk.entries)
        keeper.tell(talk.say(Message.user("x" * 100_000)) * 40)
        keeper.kill()

        kept = await stored(path)
        assert kept[:seq] == talk.entries[:seq]
        assert len(kept) in {seq, seq + 40}  # all of what was being kept, or none of it
        third = await turn(
            Talk(kept[:seq]), client, RESPONSES, "What are the weather and the time in Lima?"
        )

    async with SQLiteStore(tmp_path / "resumed.db") as store:
        await store.append(RUN, kept[:seq])
        await store.append(RUN, third, expected_seq=seq)
    talk = Talk(await stored(tmp_path / "resumed.db"))
    answers = (CALLED, answered("Mild in Rome.", 2), answered("Goodbye.", 3))
    transport = scripted(*[whole(one) for one in answers])
    async with Client(transport=transport) as client:
        fourth = await turn(talk, client, GPT, "What are the weather and the time in Rome?")
        async with SQLiteStore(tmp_path / "resumed.db") as store:
            await store.append(RUN, fourth)
        talk = Talk(await stored(tmp_path / "resumed.db"))
        await turn(talk, client, GPT, "Thanks, that is all.")

    check_whole(talk)
    check_requests([json.loads(sent.body) for sent in transport.requests])


def check_whole(talk: Talk) -> None:
    """Every turn called two tools at once, and nothing of it breaks a rule."""
    assert isinstance(check_run(talk.entries), Success)
    for entry in talk.entries:
        SCHEMA.validate(to_wire(entry))
    parallel = [entry for entry in talk.entries if len(entry.tool_calls) == 2]
    assert len(parallel) == 5  # the example's, and one of each turn but the last
    providers = {m.origin.provider for m in to_messages(talk.entries) if m.origin}
    assert providers == {"local", "openai"}
    assert talk.entries[-1].text == "Goodbye."


def check_requests(bodies: list[dict[str, list[dict[str, object]]]]) -> None:
    """Check that the other provider gets every call with its result, and its reasoning back."""
    for body in bodies:
        calls = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        results = [
            item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"
        ]
        assert sorted(map(str, calls)) == sorted(map(str, results))
        assert len(set(calls)) == len(calls)
    last = [item for item in bodies[-1]["input"] if item.get("type") == "reasoning"]
    assert [item["encrypted_content"] for item in last] == ["c2VjcmV0"]
