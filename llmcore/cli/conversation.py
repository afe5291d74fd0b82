"""The stored conversations of the command line: where they are, and which one is continued."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from llmcore.cli.program import note
from llmcore.client.user_folders import data_dir, named_path
from llmcore.generation.conversation import Conversation
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.store import SessionStore, utc_now

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


def new_name() -> str:
    """Return a name for a conversation without one, such as `2026-11-23-4f9a1c`."""
    return f"{utc_now()[:10]}-{secrets.token_hex(3)}"


@asynccontextmanager
async def open_conversation(
    environ: Mapping[str, str], name: str | None, *, last: bool, log: bool
) -> AsyncIterator[Conversation]:
    """Open the conversation *name*, the last one, or else a new one.

    A new one without a name is kept in memory alone if *log* is false; if the store cannot be
    opened, that is reported and the conversation is kept in memory too.
    """
    if name is None and not last:
        async with AsyncExitStack() as opened:
            store = await _log_store(environ, opened) if log else MemoryStore()
            yield Conversation(store, new_name())
        return
    async with open_store(environ) as store:
        yield await Conversation.open(store, name or await latest(store))


async def latest(store: SessionStore) -> str:
    """Return the name of the conversation that was continued last.

    Raises InvalidRequestError if the store is empty.
    """
    newest = max(await store.runs(), key=lambda run: run.updated_at, default=None)
    if newest is None:
        raise InvalidRequestError("there is no conversation to continue: ask without -c first")
    return newest.run_id


async def _log_store(environ: Mapping[str, str], opened: AsyncExitStack) -> SessionStore:
    """Return the store of conversations without a name, or one in memory if it cannot be used.

    It is read once: only then is its file opened, whose folder may be missing or read-only.
    """
    try:
        store = await opened.enter_async_context(open_store(environ))
        await store.read(new_name())
    except LLMError as error:
        note(f"note: this conversation will not be stored: {error}")
        return MemoryStore()
    return store
