"""Responses kept in Redis, which several gateways on several machines share.

Keys are `openbridge:response:<id>`, `openbridge:item:<id>` and `openbridge:value:<name>`, which
Redis forgets at the end of their time to live, and `openbridge:sealing-key`.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from llmcore.bridge.state.store import (
    FULL_S,
    THREADS,
    ResponseStore,
    StateUnavailableError,
    reason_of,
    unpacked,
)
from llmcore.fronts.openai_responses.state import Record
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


class RedisResponseStore(ResponseStore):
    """A store in Redis."""

    def __init__(self, url: str, *, ttl_s: float, setting: str = "OPENBRIDGE_REDIS_URL") -> None:
        self._ttl_s = ttl_s
        self._connections = RedisConnections(url, stored="the response store", setting=setting)

    def _transact(self, step: Callable[[Any], _T]) -> _T:
        return self._connections.run(step)

    def _check(self) -> None:
        self._connections.check()

    def _put(
        self, db: Any, record: Record, data: bytes, items: Mapping[str, bytes], ttl_s: float
    ) -> None:
        ttl_ms = _ms(ttl_s)
        with db.pipeline(transaction=True) as transaction:
            transaction.set(_response(record.id), data, px=ttl_ms)
            for name, item in items.items():
                transaction.set(_item(name), item, px=ttl_ms)
            transaction.execute()

    def _get(self, db: Any, response_id: str) -> bytes | None:
        data: bytes | None = db.get(_response(response_id))
        return data

    def _delete(self, db: Any, response_id: str) -> bool:
        data = self._get(db, response_id)
        if data is None:
            return False
        keys = [_response(response_id), *map(_item, unpacked(data).items)]
        with db.pipeline(transaction=True) as transaction:
            transaction.delete(*keys)
            transaction.execute()
        return True

    def _items(self, db: Any, names: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        items = zip(names, db.mget(list(map(_item, names))), strict=True)
        return ((name, data) for name, data in items if data)

    def _value(self, db: Any, name: str) -> bytes | None:
        value: bytes | None = db.get(_value(name))
        return value

    def _keep(self, db: Any, name: str, value: bytes, ttl_s: float) -> None:
        db.set(_value(name), value, px=_ms(ttl_s))

    def _swap(self, db: Any, name: str, old: bytes | None, new: bytes, ttl_s: float) -> bool:
        given = (int(old is not None), old or b"", new, _ms(ttl_s))
        return bool(db.eval(_SWAP, 1, _value(name), *given) == 1)

    def _forget(self, db: Any, names: Sequence[str]) -> None:
        db.delete(*map(_value, names))

    def _sealing_key(self, db: Any, made: bytes) -> bytes:
        db.set(_SEALING_KEY, made, nx=True)  # it never expires
        return bytes(db.get(_SEALING_KEY))

    def _close(self) -> None:
        self._connections.close()


def _response(name: str) -> str:
    return f"{PREFIX}response:{name}"


def _value(name: str) -> str:
    return f"{PREFIX}value:{name}"


def _ms(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


def _item(name: str) -> str:
    return f"{PREFIX}item:{name}"
