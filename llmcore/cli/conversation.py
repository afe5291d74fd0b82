"""Stored conversations: where they are kept, and how `ask --session` continues one."""

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
    """Return the store that `LLMCORE_SESSIONS` names, or the user's own file.

    The variable holds the path of an SQLite file, or the URL of a Redis server.
    ConfigurationError for what is neither.
    """
    place = environ.get(_VARIABLE, "").strip()
    scheme, is_url, _ = place.partition("://")
    if scheme.lower() in ("redis", "rediss", "unix") and is_url:
        from llmcore.sessions.redis_store import RedisStore

        return RedisStore(place)
    if is_url:
        message = f"{_VARIABLE} is no file and no URL of a Redis server, such as redis://localhost"
        raise ConfigurationError(message)
    from llmcore.sessions.sqlite_store import SQLiteStore

    if place:
        return SQLiteStore(named_path(place, _VARIABLE))
    return SQLiteStore(data_dir(environ, variable=_VARIABLE) / "sessions.db")


@frozen
class StoredConversation:
    """One run of a store, as it was when it was read."""

    store: SessionStore
    run_id: str
    entries: tuple[MessageEntry, ...]

    @classmethod
    async def read(cls, store: SessionStore, run_id: str) -> Self:
        """Read run *run_id*; a new conversation if there is none."""
        check_run_id(run_id)
        stored = await store.read(run_id)
        return cls(store, run_id, tuple(one.entry for one in stored))

    def asking(self, question: LLMRequest) -> LLMRequest:
        """Return *question* after all that was said before, under the same instructions.

        Raises InvalidRequestError if it brings other instructions than the conversation has.
        """
        before = to_messages(self.entries)
        system: tuple[TextPart, ...] = ()
        if before and before[0].role == "system":
            content, before = before[0].content, before[1:]
            system = tuple(part for part in content if isinstance(part, TextPart))
        if self.entries and question.system and question.system != system:
            raise InvalidRequestError(
                f"session {self.run_id!r} has its instructions already: leave --system out, "
                "or take another session"
            )
        return evolve(
            question,
            system=question.system if not self.entries else system,
            messages=(*before, *question.messages),
        )

    async def keep(self, question: LLMRequest, response: LLMResponse) -> None:
        """Append what *question* and *response* say, together or not at all.

        Raises SessionStoreError, also if somebody else went on with the conversation meanwhile.
        """
        now = utc_now()
        instructions = [Message.system(question.system)] if question.system else []
        said = [*([] if self.entries else instructions), *question.messages]
        asked = to_entries(said, run_id=self.run_id, timestamp=now, after=self.entries)
        before = (*self.entries, *asked)
        answer = answer_entries(response, run_id=self.run_id, timestamp=now, after=before)
        try:
            await self.store.append(self.run_id, (*asked, *answer), expected_seq=len(self.entries))
        except SessionStoreError as error:
            error.message = f"the answer was not kept: {error.message}"
            raise


def self_contained(question: LLMRequest) -> LLMRequest:
    """Return *question* with its files' bytes in it: a conversation outlives its files."""
    return load_files(question)
