"""The stored conversations of `ask --session`: which store, reading and appending."""

from collections.abc import Mapping
from typing import Self

from attrs import evolve, frozen

from llmcore.client.media_files import load_files
from llmcore.client.user_folders import data_dir, named_path
from llmcore.schema.content import TextPart
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.conversion import answer_entries, to_entries, to_messages
from llmcore.sessions.store import SessionStore, SessionStoreError, check_run_id, utc_now

_VARIABLE = "LLMCORE_SESSIONS"


def open_store(environ: Mapping[str, str]) -> SessionStore:
    """Return the store that `LLMCORE_SESSIONS` names, or the file in the user's data directory.

    The variable holds the path of an SQLite file, or the URL of a Redis server.
    Raises ConfigurationError for anything else.
    """
    place = environ.get(_VARIABLE, "").strip()
    scheme, is_url, _ = place.partition("://")
    if scheme.lower() in ("redis", "rediss", "unix") and is_url:
        from llmcore.sessions.redis_store import RedisStore

        return RedisStore(place)
    if is_url:
        message = f"{_VARIABLE} must be a file path or the URL of a Redis server, such as redis://localhost"
        raise ConfigurationError(message)
    from llmcore.sessions.sqlite_store import SQLiteStore

    if place:
        return SQLiteStore(named_path(place, _VARIABLE))
    return SQLiteStore(data_dir(environ, variable=_VARIABLE) / "sessions.db")


@frozen
class StoredConversation:
    """A stored run, as it was when it was read."""

    store: SessionStore
    run_id: str
    entries: tuple[MessageEntry, ...]

    @classmethod
    async def read(cls, store: SessionStore, run_id: str) -> Self:
        """Read run *run_id*; without stored entries, it is a new conversation."""
        check_run_id(run_id)
        stored = await store.read(run_id)
        return cls(store, run_id, tuple(item.entry for item in stored))

    def asking(self, question: LLMRequest) -> LLMRequest:
        """Return *question* with the conversation's messages before it and its instructions.

        Raises InvalidRequestError if its instructions differ from the conversation's.
        """
        before = to_messages(self.entries)
        system: tuple[TextPart, ...] = ()
        if before and before[0].role == "system":
            content, before = before[0].content, before[1:]
            system = tuple(part for part in content if isinstance(part, TextPart))
        if self.entries and question.system and question.system != system:
            raise InvalidRequestError(
                f"session {self.run_id!r} already has other instructions: omit --system, "
                "or choose another session"
            )
        return evolve(
            question,
            system=question.system if not self.entries else system,
            messages=(*before, *question.messages),
        )

    async def keep(self, question: LLMRequest, response: LLMResponse) -> None:
        """Append the messages of *question* and *response*, in one transaction.

                Raises SessionStoreError, also if another process has appended to the conversation
        meanwhile.
        """
        now = utc_now()
        instructions = [Message.system(question.system)] if question.system else []
        messages = [*([] if self.entries else instructions), *question.messages]
        asked = to_entries(messages, run_id=self.run_id, timestamp=now, after=self.entries)
        before = (*self.entries, *asked)
        answer = answer_entries(response, run_id=self.run_id, timestamp=now, after=before)
        try:
            await self.store.append(self.run_id, (*asked, *answer), expected_seq=len(self.entries))
        except SessionStoreError as error:
            error.message = f"the answer could not be stored: {error.message}"
            raise


def self_contained(question: LLMRequest) -> LLMRequest:
    """Return *question* with the bytes of its files, which may be gone when it is read again."""
    return load_files(question)
