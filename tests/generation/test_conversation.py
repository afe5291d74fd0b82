"""`Conversation`: runs that continue a stored conversation."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from llmcore import Client, Conversation, ImagePart, Message, OpenAI, tool
from llmcore.client.environment import provider_over
from llmcore.generation.limits import RunLimitError, RunLimits
from llmcore.generation.settings import Settings
from llmcore.schema.content import ToolResultPart
from llmcore.schema.errors import InvalidRequestError, LLMError, ServerError
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.run_rules import check_run
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.sqlite_store import SQLiteStore
from llmcore.sessions.store import SeqConflictError
from llmcore.testing import scripted
from llmcore.testing.fake_model import Delay, FakeModel, call

CHAT_ANSWER = {
    "model": "gpt-5.2",
    "choices": [{"message": {"role": "assistant", "content": "There."}, "finish_reason": "stop"}],
}


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"sunny in {city}"


@pytest.mark.anyio
async def test_a_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    """The second run is sent what was stored, by the model of the first, under its instructions."""
    fake = FakeModel("In Norway.", "In Italy.")
    async with SQLiteStore(tmp_path / "a.db") as store:
        chat = await Conversation.open(store, "trip")
        first = await chat.generate(
            fake.model, "Where is Oslo?", system="Be brief.", client=fake.client
        )
    async with SQLiteStore(tmp_path / "a.db") as store:
        chat = await Conversation.open(store, "trip")
        assert (chat.model, chat.system[0].text) == ("fake:fake-model", "Be brief.")
        second = await chat.generate(fake.model, "And Rome?", client=fake.client)
        again = await Conversation.open(store, "trip")

    assert (first.text, second.text) == ("In Norway.", "In Italy.")
    sent = fake.requests[1]
    assert [part.text for part in sent.system] == ["Be brief."]
    assert [message.text for message in sent.messages] == [
        "Where is Oslo?",
        "In Norway.",
        "And Rome?",
    ]
    assert again.messages == chat.messages == second.messages
    assert again.entries[2].meta["modelId"] == "fake-model"


@pytest.mark.anyio
async def test_conversation_without_a_store_is_kept_in_memory() -> None:
    fake = FakeModel("In Norway.", "In Italy.")
    chat, other = Conversation(), Conversation()
    for question in ("Where is Oslo?", "And Rome?"):
        await chat.generate(fake.model, question, client=fake.client)

    assert [message.text for message in fake.requests[1].messages] == [
        "Where is Oslo?",
        "In Norway.",
        "And Rome?",
    ]
    assert (len(chat.entries), other.entries) == (4, ())


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [True, False])
async def test_calls_and_results_of_tools_are_stored(*, streamed: bool) -> None:
    """A run is stored whole, and obeys the rules of the contract."""
    fake = FakeModel(call("get_weather", {"city": "Oslo"}), "It is sunny.")
    store = MemoryStore()
    chat = await Conversation.open(store, "trip")
    if streamed:
        async with chat.stream(
            fake.model, "Weather?", tools=[get_weather], client=fake.client
        ) as stream:
            async for event in stream:
                if event.type == "finish":
                    assert len(chat.entries) == 4  # stored before the end is seen
            result = await stream.result()
    else:
        result = await chat.generate(
            fake.model, "Weather?", tools=[get_weather], client=fake.client
        )

    assert result.text == "It is sunny."
    entries = (await Conversation.open(store, "trip")).entries
    assert [entry.role for entry in entries] == ["user", "assistant", "tool", "assistant"]
    check_run(entries)
    (tool_result,) = chat.messages[2].content
    assert isinstance(tool_result, ToolResultPart)
    assert tool_result.content == "sunny in Oslo"


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [False, True])
async def test_calls_that_wait_for_approval_are_run_after_the_conversation_was_stored(
    tmp_path: Path, *, streamed: bool
) -> None:
    """The decisions are all there is to send; nothing of the user is added."""

    @tool(needs_approval=True)
    def delete(name: str) -> str:
        return f"{name} is gone"

    fake = FakeModel([call("delete", {"name": "a"})], "Done.", "Yes.")
    async with await Conversation.open(tmp_path / "chats.db", "tidy") as chat:
        result = await chat.generate(fake.model, "Delete a.", tools=[delete], client=fake.client)
        decisions = {pending.id: True for pending in result.pending_calls}
        assert len(decisions) == 1
    async with await Conversation.open(tmp_path / "chats.db", "tidy") as chat:
        if streamed:
            async with chat.stream(
                fake.model, approvals=decisions, tools=[delete], client=fake.client
            ) as stream:
                result = await stream.result()
        else:
            result = await chat.generate(
                fake.model, approvals=decisions, tools=[delete], client=fake.client
            )
        assert (result.text, result.pending_calls) == ("Done.", ())
        await chat.generate(fake.model, "Is it gone?", tools=[delete], client=fake.client)

    async with await Conversation.open(tmp_path / "chats.db", "tidy") as chat:
        roles = [message.role for message in chat.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [len(request.messages) for request in fake.requests] == [1, 3, 5]


@pytest.mark.anyio
async def test_run_without_a_model_is_sent_to_that_of_the_run_before() -> None:
    """Over the same API and to the same address, which a name would not contain."""
    network = scripted(CHAT_ANSWER, CHAT_ANSWER)
    client = Client(transport=network, environ={})
    server = OpenAI(api_key="sk-1", base_url="http://server/v1").chat("m")
    chat = Conversation()
    await chat.generate(server, "Where is Oslo?", client=client)
    await chat.generate(prompt="And Rome?", client=client)

    assert [request.url for request in network.requests] == [
        "http://server/v1/chat/completions",
        "http://server/v1/chat/completions",
    ]


@pytest.mark.anyio
async def test_stored_conversation_is_continued_over_the_api_of_its_last_response() -> None:
    network = scripted(CHAT_ANSWER, CHAT_ANSWER)
    client = Client.from_env(environ={"OPENAI_API_KEY": "sk-1"}, transport=network)
    store = MemoryStore()
    chat = await Conversation.open(store, "trip")
    await chat.generate("openai-chat:gpt-5.2", "Where is Oslo?", client=client)
    again = await Conversation.open(store, "trip")
    await again.generate(prompt="And Rome?", client=client)

    assert again.model == "openai-chat:gpt-5.2"
    assert network.requests[1].url == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("provider", "protocol", "name"),
    [
        ("openai", "openai-responses", "openai"),
        ("openai", "openai-chat", "openai-chat"),
        ("xai", "openai-responses", "xai-responses"),
        ("bedrock", "anthropic-messages", "bedrock-messages"),
        ("groq", "openai-chat", "groq"),
        ("vertex", "anthropic-messages", "vertex"),
        ("somebody", "openai-chat", "somebody"),
    ],
)
def test_name_of_a_provider_has_the_api_unless_it_is_the_usual_one(
    provider: str, protocol: str, name: str
) -> None:
    assert provider_over(provider, protocol) == name


@pytest.mark.anyio
async def test_run_that_fails_or_is_left_in_its_first_step_stores_nothing() -> None:
    """Asking again asks the same."""
    fake = FakeModel(ServerError("down"), ["Hel", Delay(60), "lo"])
    chat = await Conversation.open(MemoryStore(), "trip")
    with pytest.raises(LLMError, match="down"):
        await chat.generate(fake.model, "Hi", client=fake.client, max_retries=0)
    async with chat.stream(fake.model, "Hi", client=fake.client) as stream:
        await anext(stream)

    assert (chat.entries, chat.messages, chat.model) == ((), (), None)


@pytest.mark.anyio
@pytest.mark.parametrize("streamed", [False, True])
async def test_run_that_fails_after_tools_keeps_their_step_and_goes_on_without_a_prompt(
    *, streamed: bool
) -> None:
    """The results of tools are stored, and the tools do not run again."""
    fake = FakeModel([call("get_weather", {"city": "Oslo"})], ServerError("down"), "Sunny.")
    store = MemoryStore()
    chat = await Conversation.open(store, "trip")

    async def run(prompt: str | None) -> str:
        settings: Settings = {"tools": [get_weather], "client": fake.client, "max_retries": 0}
        if streamed:
            return (await chat.stream(fake.model, prompt, **settings).result()).text
        return (await chat.generate(fake.model, prompt, **settings)).text

    with pytest.raises(ServerError, match="down"):
        await run("Weather?")
    chat = await Conversation.open(store, "trip")
    assert [message.role for message in chat.messages] == ["user", "assistant", "tool"]
    assert await run(None) == "Sunny."
    assert [message.role for message in fake.requests[-1].messages] == ["user", "assistant", "tool"]

    with pytest.raises(InvalidRequestError, match="prompt"):
        await run(None)


@pytest.mark.anyio
async def test_approved_call_is_not_run_again_after_the_run_with_its_approval_failed() -> None:
    deleted: list[str] = []

    @tool(needs_approval=True)
    def delete(name: str) -> str:
        deleted.append(name)
        return f"{name} is gone"

    fake = FakeModel([call("delete", {"name": "a"})], ServerError("down"), "Done.")
    chat = await Conversation.open(MemoryStore(), "tidy")
    settings: Settings = {"tools": [delete], "client": fake.client, "max_retries": 0}
    await chat.generate(fake.model, "Delete a.", **settings)
    assert [pending.name for pending in chat.pending_calls] == ["delete"]

    decisions = {pending.id: True for pending in chat.pending_calls}
    approving: Settings = {**settings, "approvals": decisions}
    with pytest.raises(ServerError, match="down"):
        await chat.generate(fake.model, **approving)
    assert (chat.pending_calls, deleted) == ((), ["a"])
    assert (await chat.generate(fake.model, **settings)).text == "Done."
    assert deleted == ["a"]


@pytest.mark.anyio
async def test_stream_left_after_tools_keeps_their_step() -> None:
    fake = FakeModel([call("get_weather", {"city": "Oslo"})], ["Sun", Delay(60), "ny."])
    chat = await Conversation.open(MemoryStore(), "trip")
    async with chat.stream(
        fake.model, "Weather?", tools=[get_weather], client=fake.client
    ) as stream:
        async for _ in stream.text_stream:
            break

    assert [message.role for message in chat.messages] == ["user", "assistant", "tool"]


@pytest.mark.anyio
async def test_run_over_its_limit_keeps_what_its_error_has() -> None:
    fake = FakeModel([call("get_weather", {"city": "Oslo"})])
    chat = await Conversation.open(MemoryStore(), "trip")
    with pytest.raises(RunLimitError) as raised:
        await chat.generate(
            fake.model,
            "Weather?",
            tools=[get_weather],
            client=fake.client,
            limits=RunLimits(tool_calls=0),
        )

    assert raised.value.result is not None
    assert chat.messages == raised.value.result.messages
    assert [pending.name for pending in chat.pending_calls] == ["get_weather"]


@pytest.mark.anyio
async def test_files_are_stored_with_their_bytes(tmp_path: Path) -> None:
    """The file may be gone when the conversation is read again."""
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    fake = FakeModel("A dot.")
    chat = await Conversation.open(MemoryStore(), "trip")
    question = Message.user("What is it?", ImagePart(path=str(picture)))
    await chat.generate(fake.model, messages=[question], client=fake.client)

    part = chat.messages[0].content[1]
    assert isinstance(part, ImagePart)
    assert part.data == b"\x89PNG\r\n\x1a\n"


@pytest.mark.anyio
async def test_other_instructions_are_refused() -> None:
    """Those of the first run hold."""
    fake = FakeModel("Hello", "Hello")
    chat = await Conversation.open(MemoryStore(), "trip")
    await chat.generate(fake.model, "Hi", system="Be brief.", client=fake.client)
    with pytest.raises(InvalidRequestError, match="other instructions"):
        await chat.generate(fake.model, "Hi", system="Be long.", client=fake.client)
    with pytest.raises(InvalidRequestError, match="id"):
        await Conversation.open(MemoryStore(), "")


@pytest.mark.anyio
async def test_the_slower_writer_gets_its_response_with_the_error() -> None:
    """The response has been paid for."""
    fake = FakeModel("first", "second")
    store = MemoryStore()
    one, two = await Conversation.open(store, "trip"), await Conversation.open(store, "trip")
    await one.generate(fake.model, "Hi", client=fake.client)
    with pytest.raises(SeqConflictError, match=r"read it again with Conversation\.open") as raised:
        await two.generate(fake.model, "Hi", client=fake.client)

    assert raised.value.partial is not None
    assert raised.value.partial.text == "second"
    assert len((await Conversation.open(store, "trip")).entries) == 2
    assert repr(two) == "Conversation('trip', 0 entries)"


class SlowStore(MemoryStore):
    """Takes a while to confirm what it has stored at first."""

    def __init__(self) -> None:
        super().__init__()
        self.has_stored = asyncio.Event()

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        last = await super().append(run_id, entries, expected_seq=expected_seq)
        self.has_stored.set()
        await asyncio.sleep(0.1)
        return last


def test_conversation_whose_task_is_cancelled_while_a_step_is_stored_goes_on() -> None:
    """It knows what the store has, whether or not asyncio cancelled the wait for it."""
    fake = FakeModel("In Norway.", "In Italy.")
    store = SlowStore()
    chat = Conversation(store)

    async def main() -> None:
        asking = chat.generate(fake.model, "Where is Oslo?", client=fake.client)
        task = asyncio.ensure_future(asking)
        await store.has_stored.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await chat.generate(fake.model, "And Rome?", client=fake.client)

    asyncio.run(main())
    assert [message.text for message in chat.messages] == [
        "Where is Oslo?",
        "In Norway.",
        "And Rome?",
        "In Italy.",
    ]
