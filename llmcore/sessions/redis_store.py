"""Runs in Redis, or a server that speaks its protocol: `pip install 'llmcore-routes[redis]'`.

The client works in worker threads, so that a store serves asyncio and trio alike. A run is a
list of entries and a hash of its calls, in one slot of a cluster; an append watches both and
writes them in one transaction. How durable an acknowledged append is, is the server's
setting (`appendfsync`).
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import anyio.to_thread

from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments
from llmcore.sessions import store
from llmcore.sessions.contract.codec import entry_from_text
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.run_rules import call_ids, check_next
from llmcore.storage.redis import connect

_T = TypeVar("_T")

_PAGE = 500
"""The number of entries or runs that one command reads."""

_PATIENCE_S = 30.0
"""How long an append is retried when other writers were faster."""


@frozen
class _Keys:
    """The keys of a run. The braces put both into one slot of a cluster."""

    entries: str
    calls: str


@with_checked_arguments()
class RedisStore(store.SessionStore):
    """A SessionStore in the Redis server at *url* (`redis://`, `rediss://`, `unix://`).

    A run is forgotten *ttl_s* seconds after it was last appended to. Keys begin with *prefix*;
    no response of the server is waited for longer than *timeout_s*. Raises ConfigurationError
    for a bad URL, and where the client is not installed.
    """

    def __init__(
        self,
        url: str = "redis://localhost:6379/0",
        *,
        prefix: str = "llmcore:sessions",
        ttl_s: float | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self._prefix = prefix
        self._ttl_s = store.check_ttl(ttl_s)
        # No retries: an append that is sent twice would be stored twice.
        self._client = connect(url, setting="url", connect_s=timeout_s, reply_s=timeout_s)
        self._closing = Lock()

    def __repr__(self) -> str:
        return f"RedisStore(prefix={self._prefix!r})"

    async def append(
        self, run_id: str, entries: Sequence[MessageEntry], *, expected_seq: int | None = None
    ) -> int:
        """Append *entries*, all or none; see `SessionStore.append`.

        If the connection breaks before the server has confirmed, the entries may be there or not,
        as the SessionStoreError states. With *expected_seq* trying again is safe even then.
        """
        return await self._run(partial(self._append, run_id, tuple(entries), expected_seq))

    async def read(
        self, run_id: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[store.StoredEntry, ...]:
        """Return the entries behind *after*; see `SessionStore.read`."""
        store.check_range(run_id, after, limit)
        return await self._run(partial(self._read, run_id, after, limit))

    async def runs(self) -> tuple[store.RunInfo, ...]:
        """Return all runs, by their ids. Walks through all keys of the database."""
        return await self._run(self._runs)

    async def delete(self, run_id: str) -> bool:
        """Forget run *run_id*; False if there was none."""
        keys = self._keys(run_id)
        removed = await self._run(lambda: self._client.delete(keys.entries, keys.calls))
        return bool(removed)

    async def aclose(self) -> None:
        """Close the connections. Idempotent; a later call opens new ones."""
        await anyio.to_thread.run_sync(self._close)

    # -- in worker threads

    async def _run(self, work: Callable[[], _T]) -> _T:
        def guarded() -> _T:
            with _translated():
                return work()

        return await anyio.to_thread.run_sync(guarded)

    def _close(self) -> None:
        with self._closing:
            self._client.close()

    def _append(
        self, run_id: str, entries: Sequence[MessageEntry], expected_seq: int | None
    ) -> int:
        import redis

        texts = store.texts_of(run_id, entries)
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            with self._client.pipeline() as pipe:
                try:
                    return self._try_append(pipe, run_id, entries, texts, expected_seq)
                except redis.WatchError as error:
                    if time.monotonic() > deadline:
                        message = f"session {run_id!r} is busy: others kept appending to it"
                        raise store.SessionStoreError(
                            message, retryable=True, cause=error
                        ) from error
            time.sleep(random.uniform(0, 0.005))  # noqa: S311 -- so that writers do not collide again

    def _try_append(
        self,
        pipe: Any,
        run_id: str,
        entries: Sequence[MessageEntry],
        texts: Sequence[str],
        expected_seq: int | None,
    ) -> int:
        keys = self._keys(run_id)
        pipe.watch(keys.entries, keys.calls)
        last: int = pipe.llen(keys.entries)
        store.check_seq(run_id, expected_seq, last)
        ids = call_ids(entries)
        states = pipe.hmget(keys.calls, ids) if ids else ()
        answered = {
            id_: state == b"1" for id_, state in zip(ids, states, strict=True) if state is not None
        }
        changes = check_next(run_id, entries, answered).unwrap()
        if not entries:
            return last
        self._queue(pipe, keys, texts, changes)
        _execute(pipe)
        return last + len(texts)

    def _queue(
        self, pipe: Any, keys: _Keys, texts: Sequence[str], answered: Mapping[str, bool]
    ) -> None:
        pipe.multi()
        pipe.rpush(keys.entries, *texts)
        calls = {id_: int(done) for id_, done in answered.items()}
        if calls:
            pipe.hset(keys.calls, mapping=calls)
        for key in (keys.entries, keys.calls):
            if self._ttl_s is None:
                pipe.persist(key)
            else:
                pipe.pexpire(key, max(1, round(self._ttl_s * 1000)))

    def _read(self, run_id: str, after: int, limit: int | None) -> tuple[store.StoredEntry, ...]:
        key = self._keys(run_id).entries
        entries: list[store.StoredEntry] = []
        while limit is None or len(entries) < limit:
            start = after + len(entries)
            wanted = _PAGE if limit is None else min(_PAGE, limit - len(entries))
            texts = self._client.lrange(key, start, start + wanted - 1)
            entries.extend(
                store.stored_entry(run_id, seq, text) for seq, text in enumerate(texts, start + 1)
            )
            if len(texts) < wanted:
                break
        return tuple(entries)

    def _runs(self) -> tuple[store.RunInfo, ...]:
        pattern = f"{_escaped(self._prefix)}:{{*}}:entries"
        names = sorted({key.decode() for key in self._client.scan_iter(pattern, count=_PAGE)})
        runs: list[store.RunInfo] = []
        for start in range(0, len(names), _PAGE):
            some = names[start : start + _PAGE]
            with self._client.pipeline(transaction=False) as pipe:
                for name in some:
                    pipe.llen(name)
                    pipe.lindex(name, 0)
                    pipe.lindex(name, -1)
                replies = iter(pipe.execute())
            for name, length, first, last in zip(some, replies, replies, replies, strict=True):
                if first is not None and last is not None:  # it may have expired since the scan
                    runs.append(self._info(name, length, first, last))
        return tuple(runs)

    def _info(self, key: str, length: int, first: bytes, last: bytes) -> store.RunInfo:
        return store.RunInfo(
            run_id=key[len(self._prefix) + 2 : -len("}:entries")],
            last_seq=length,
            started_at=entry_from_text(first).timestamp,
            updated_at=entry_from_text(last).timestamp,
        )

    def _keys(self, run_id: str) -> _Keys:
        store.check_run_id(run_id)
        base = f"{self._prefix}:{{{run_id}}}"
        return _Keys(f"{base}:entries", f"{base}:calls")


def _execute(pipe: Any) -> None:
    """Commit the transaction of *pipe*; SessionStoreError if the outcome cannot be known."""
    import redis

    try:
        pipe.execute()
    except (redis.ConnectionError, redis.TimeoutError) as error:
        message = "the connection broke before Redis confirmed: the entries may be there or not"
        raise store.SessionStoreError(message, retryable=False, cause=error) from error


@contextmanager
def _translated() -> Iterator[None]:
    import redis

    try:
        yield
    except redis.RedisError as error:
        passing = isinstance(error, redis.ConnectionError | redis.TimeoutError)
        denied = isinstance(error, redis.AuthenticationError)
        message = f"the sessions in Redis cannot be used: {error}"
        raise store.SessionStoreError(
            message, retryable=passing and not denied, cause=error
        ) from error


def _escaped(text: str) -> str:
    """Return *text* so that it matches itself in a pattern of Redis."""
    return "".join(f"\\{char}" if char in "*?[]^\\" else char for char in text)
