"""`sync.Conversation`: a stored conversation without async."""

import inspect
from pathlib import Path

import pytest

from llmcore import Conversation, SQLiteStore, sync
from llmcore.schema.errors import InvalidRequestError
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.store import SessionStoreError
from llmcore.testing.fake_model import FakeModel


def test_conversation_in_a_file_is_resumed_with_its_messages(tmp_path: Path) -> None:
    fake = FakeModel("In Norway.", "In Italy.")
    client = sync.Client.of(fake.client)
    with sync.Conversation.open(tmp_path / "a.db", "trip") as chat:
        first = chat.generate(fake.model, "Where is Oslo?", system="Be brief.", client=client)
    with sync.Conversation.open(tmp_path / "a.db", "trip") as chat:
        assert (chat.model, chat.run_id) == ("fake:fake-model", "trip")
        with chat.stream(fake.model, "And Rome?", client=client) as stream:
            second = "".join(stream.text_stream)

        assert (first.text, second) == ("In Norway.", "In Italy.")
        assert [message.text for message in chat.messages] == [
            "Where is Oslo?",
            "In Norway.",
            "And Rome?",
            "In Italy.",
        ]
        assert [part.text for part in chat.system] == ["Be brief."]
        assert len(chat.entries) == 5
        assert repr(chat) == "Conversation('trip', 5 entries)"
    assert len(fake.requests[1].messages) == 3
    assert stream._repr_markdown_() == "In Italy."
    assert (chat._repr_markdown_() or "").endswith(
        "**user**: And Rome?\n\n**assistant**: In Italy."
    )


def test_conversation_without_a_store_streams_and_goes_on() -> None:
    fake = FakeModel("In Norway.", "In Italy.")
    chat = sync.Conversation()
    client = sync.Client.of(fake.client)
    first = list(chat.stream(fake.model, "Where is Oslo?", client=client).text_stream)
    second = chat.generate(fake.model, "And Rome?", client=client)

    assert ("".join(first), second.text) == ("In Norway.", "In Italy.")
    assert len(fake.requests[1].messages) == 3


def test_store_that_is_given_stays_open_after_the_conversation(tmp_path: Path) -> None:
    store = MemoryStore()
    with sync.Conversation.open(store, "a"):
        pass
    fake = FakeModel("Hello")
    with sync.Conversation.open(store, "a") as chat:
        chat.generate(fake.model, "Hi", client=fake.client)

    assert len(chat.entries) == 2


def test_errors_are_those_of_the_asynchronous_conversation(tmp_path: Path) -> None:
    (tmp_path / "not.db").write_text("something else " * 100)

    with pytest.raises(InvalidRequestError, match="id"):
        sync.Conversation.open(tmp_path / "a.db", "")
    with pytest.raises(SessionStoreError):
        sync.Conversation.open(tmp_path / "not.db", "a")


def test_everything_public_is_there_under_the_same_name() -> None:
    """But for what the functions are made of, and the store."""
    theirs = {name for name, _ in inspect.getmembers(Conversation) if name[0] != "_"}
    ours = {name for name, _ in inspect.getmembers(sync.Conversation) if name[0] != "_"}

    assert theirs - ours == {"aclose", "asking", "keep"}
    assert ours - theirs == {"close", "run_id"}


@pytest.mark.anyio
async def test_file_opened_by_its_path_is_closed_with_the_conversation(tmp_path: Path) -> None:
    fake = FakeModel("Hello")
    async with await Conversation.open(str(tmp_path / "a.db"), "a") as chat:
        await chat.generate(fake.model, "Hi", client=fake.client)
    async with SQLiteStore(tmp_path / "a.db") as store:
        assert (await Conversation.open(store, "a")).entries == chat.entries
