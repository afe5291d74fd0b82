"""Responses kept in Redis, which several gateways on several machines share.

Keys are `openbridge:response:<id>`, `openbridge:item:<id>` and `openbridge:value:<name>`, which
Redis forgets at the end of their time to live, and `openbridge:sealing-key`.
"""

import math
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from llmcore.bridge.state.store import (
    FULL_S,
    SEALING_KEY_BYTES,
    THREADS,
    StateUnavailableError,
    packed,
    packed_items,
    reason_of,
    unpacked,
    unpacked_items,
)
from llmcore.fronts.openai_responses.state import Record
from llmcore.schema.json import JsonObject
from llmcore.storage.hung_server import HungServer
from llmcore.storage.redis import connect

_T = TypeVar("_T")

PREFIX = "openbridge:"
_SEALING_KEY = f"{PREFIX}sealing-key"
_CONNECT_S = 2.0
_REPLY_S = 5.0

_COMMAND = re.compile(r"^Command # \d+ \(.*\) of pipeline caused error: ", re.DOTALL)
"""The text before an error of a pipeline: it quotes the beginning of what was to be stored."""

_SWAP = """
local value = redis.call('GET', KEYS[1])
if value == ARGV[3] then return 1 end
if (ARGV[1] == '0' and not value) or (ARGV[1] == '1' and value == ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  return 1
end
return 0
"""
"""A script of Redis runs at once, so nothing is written between its reading and its writing."""


class RedisConnections:
    """Connections that the threads of a gateway share.

    After Redis did not answer in time, further commands fail at once for a few seconds, so that
    requests do not wait for it one after another.
    """

    def __init__(self, url: str, *, stored: str, setting: str) -> None:
        """Connect to *url* at the first use; errors name what is *stored* there.

        Raises ConfigurationError, which names the *setting*, for a URL that cannot be used.
        """
        self._stored = stored
        self.client = connect(
            url,
            setting=setting,
            connect_s=_CONNECT_S,
            reply_s=_REPLY_S,
            retries=1,  # what is sent is idempotent
            max_connections=THREADS,
        )
        self._hung = HungServer()
        self._full_until = -math.inf

    def run(self, step: Callable[[Any], _T]) -> _T:
        """Return what *step* returns for the client; StateUnavailableError if Redis fails."""
        import redis

        if self._hung.is_avoided():  # also for those who waited for a thread
            message = f"{self._stored} (Redis) did not answer in time"
            raise StateUnavailableError(message, sent=False)
        try:
            with self._hung.watching(redis.TimeoutError):
                try:
                    return step(self.client)
                except redis.ReadOnlyError:
                    # After a failover these connections lead to the server that is a replica now.
                    self.client.connection_pool.disconnect(inuse_connections=False)
                    return step(self.client)
        except redis.RedisError as error:
            if isinstance(error, redis.OutOfMemoryError):
                self._full_until = time.monotonic() + FULL_S
            error.args = (_COMMAND.sub("", str(error)),)
            message = f"{self._stored} (Redis) does not answer as it should: {reason_of(error)}"
            raise StateUnavailableError(message) from error

    def check(self) -> None:
        """Raise StateUnavailableError unless Redis answers and can be written to.

        There may be room for a small value where there was none for a record.
        """
        if time.monotonic() < self._full_until:
            raise StateUnavailableError(f"the memory of {self._stored} (Redis) is full")
        self.run(lambda redis: redis.set(f"{PREFIX}check", b"", px=1000))

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


class RedisResponseStore:
    """A store in Redis. Each call runs in a thread, so any event loop may use it."""

    def __init__(self, url: str, *, ttl_s: float, setting: str = "OPENBRIDGE_REDIS_URL") -> None:
        self._ttl_ms = math.ceil(ttl_s * 1000)
        self._connections = RedisConnections(url, stored="the response store", setting=setting)
        self._threads = anyio.CapacityLimiter(THREADS)

    async def check(self) -> None:
        """Raise StateUnavailableError unless Redis answers and can be written to."""
        await anyio.to_thread.run_sync(self._connections.check, limiter=self._threads)

    async def put(self, record: Record) -> None:
        """Write *record* and its items in one transaction."""

        def write(redis: Any) -> None:
            data = packed(record)
            with redis.pipeline(transaction=True) as transaction:
                transaction.set(_response(record.id), data, px=self._ttl_ms)
                for name, item in packed_items(record).items():
                    transaction.set(_item(name), item, px=self._ttl_ms)
                transaction.execute()

        await self._run(write)

    async def get(self, response_id: str) -> Record | None:
        """Return the record; None if it does not exist or has expired."""

        def read(redis: Any) -> Record | None:
            data = redis.get(_response(response_id))
            return None if data is None else unpacked(data)

        return await self._run(read)

    async def delete(self, response_id: str) -> bool:
        """Delete the record and its items; return whether it existed."""
        record = await self.get(response_id)
        if record is None:
            return False
        keys = [_response(response_id), *map(_item, record.items)]

        def forget(redis: Any) -> None:
            with redis.pipeline(transaction=True) as transaction:
                transaction.delete(*keys)
                transaction.execute()

        await self._run(forget)
        return True

    async def items(self, names: Sequence[str], owner: str) -> Mapping[str, JsonObject]:
        """Return the stored output items among *names* that belong to *owner*, by id."""
        if not names:
            return {}

        def read(redis: Any) -> Mapping[str, JsonObject]:
            items = zip(names, redis.mget(list(map(_item, names))), strict=True)
            return unpacked_items([(name, data) for name, data in items if data], owner)

        return await self._run(read)

    async def value(self, name: str) -> bytes | None:
        """Return the named value; None if it does not exist or has expired."""
        return await self._run(lambda redis: redis.get(_value(name)))

    async def keep(self, name: str, value: bytes, ttl_s: float) -> None:
        """Write a named value for *ttl_s* seconds."""
        await self._run(lambda redis: redis.set(_value(name), value, px=_ms(ttl_s)))

    async def swap(self, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        """Write *new* if the value is *old*; return whether it is *new* afterwards."""
        given = (int(old is not None), old or b"", new, _ms(ttl_s))
        return await self._run(lambda redis: redis.eval(_SWAP, 1, _value(name), *given) == 1)

    async def forget(self, names: Sequence[str]) -> None:
        """Remove named values."""
        if names:
            await self._run(lambda redis: redis.delete(*map(_value, names)))

    async def sealing_key(self) -> bytes:
        """Return the key of all gateways of this Redis, which never expires."""

        def read(redis: Any) -> bytes:
            redis.set(_SEALING_KEY, secrets.token_bytes(SEALING_KEY_BYTES), nx=True)
            return bytes(redis.get(_SEALING_KEY))

        return await self._run(read)

    async def aclose(self) -> None:
        """Close the connections."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._connections.close)

    async def _run(self, step: Callable[[Any], _T]) -> _T:
        return await anyio.to_thread.run_sync(
            partial(self._connections.run, step), limiter=self._threads
        )


def _response(name: str) -> str:
    return f"{PREFIX}response:{name}"


def _value(name: str) -> str:
    return f"{PREFIX}value:{name}"


def _ms(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


def _item(name: str) -> str:
    return f"{PREFIX}item:{name}"
