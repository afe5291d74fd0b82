"""The ledger in Redis. Each change is one script, which Redis runs without interruption.

    openbridge:key:<name>        an issued key; their names are the set openbridge:keys
    openbridge:meter:<name>      a hash: level, at (when it was that), drains (a second)
    openbridge:meters            a sorted set: the names of meters, by when they can be deleted
    openbridge:holds:<worker>    a hash of the worker's reservations: "<id> <meter>" -> amount
    openbridge:workers           a sorted set: each worker, by the end of its lease
    openbridge:spend             a sorted set: "<id> <row>", by the time of the row

No key has a time to live: a Redis that is full would delete meters, and so forget what was used.

A meter that was changed more than a minute from now was changed before the server's clock was set
back; what drains has drained since. So was a lease that lasts too long: it ends as a new one does.

Numbers of scripts are doubles, which hold every integer up to 2**53: nine million dollars in
nano-dollars.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from llmcore.bridge.state.ledger import ExceededMeter, Increment, Meter, Settlement, StoredRow
from llmcore.bridge.state.redis import PREFIX, RedisConnections

_PAGE: Final = 2000
_FORGOTTEN: Final = 500

_KEYS: Final = f"{PREFIX}keys"
_KEY: Final = f"{PREFIX}key:"
_SPEND: Final = f"{PREFIX}spend"

_COMMON: Final = """
local P = '%s'
local now = tonumber(ARGV[1])
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local function level_of(name)
  local found = redis.call('HMGET', P .. 'meter:' .. name, 'level', 'at', 'drains')
  if not found[1] then return 0 end
  local elapsed = now - found[2]
  if elapsed < -60 then elapsed = -elapsed end
  local drained = found[1] - (found[3] or 0) * math.max(0, elapsed)
  return math.max(0, drained)
end
local function text(number) return string.format('%%.17g', number) end
local function add(name, amount, drains, keep)
  local key = P .. 'meter:' .. name
  local level = math.max(0, level_of(name) + amount)
  local at = tonumber(redis.call('HGET', key, 'at') or 0)
  if at > now + 60 then at = 0 end
  at = math.max(now, at)
  redis.call('HSET', key, 'level', text(level), 'at', text(at))
  if drains then redis.call('HSET', key, 'drains', drains) end
  if keep then redis.call('ZADD', P .. 'meters', now + keep, name) end
end
local function give_back(name, amount)
  if redis.call('EXISTS', P .. 'meter:' .. name) == 1 then add(name, -amount) end
end
"""
_RESERVE: Final = """
local id, worker = ARGV[2], ARGV[3]
local holds = P .. 'holds:' .. worker
local more = {}
for i = 4, #ARGV, 5 do
  local name, amount, limit = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local held = id ~= '' and redis.call('HGET', holds, id .. ' ' .. name)
  if not held or tonumber(held) < amount then
    more[i] = amount - (held or 0)
    local level = level_of(name)
    if level + more[i] > limit then return {name, text(level)} end
  end
end
if id ~= '' then redis.call('ZADD', P .. 'workers', 'NX', now + 60, worker) end
for i = 4, #ARGV, 5 do
  if more[i] then
    add(ARGV[i], more[i], ARGV[i + 3], ARGV[i + 4])
    if id ~= '' then redis.call('HSET', holds, id .. ' ' .. ARGV[i], ARGV[i + 1]) end
  end
end
return {}
"""
_SETTLE: Final = """
local id, worker, at, row = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('ZADD', P .. 'spend', 'NX', at, id .. ' ' .. row) == 0 then return 0 end
local holds = P .. 'holds:' .. worker
for i = 6, #ARGV, 4 do
  local field = id .. ' ' .. ARGV[i]
  local held = tonumber(redis.call('HGET', holds, field) or 0)
  redis.call('HDEL', holds, field)
  add(ARGV[i], tonumber(ARGV[i + 1]) - held, ARGV[i + 2], ARGV[i + 3])
end
return 1
"""
_RELEASE: Final = """
local holds = P .. 'holds:' .. ARGV[3]
for i = 4, #ARGV do
  local field = ARGV[2] .. ' ' .. ARGV[i]
  local held = tonumber(redis.call('HGET', holds, field) or 0)
  if redis.call('HDEL', holds, field) == 1 then give_back(ARGV[i], held) end
end
return 1
"""
_RENEW: Final = """
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', P .. 'workers', now + ARGV[3] + 60, '+inf')) do
  redis.call('ZADD', P .. 'workers', now + ARGV[3], worker)
end
redis.call('ZADD', P .. 'workers', now + ARGV[3], ARGV[2])
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', P .. 'workers', '-inf', now)) do
  local holds = P .. 'holds:' .. worker
  local all = redis.call('HGETALL', holds)
  for i = 1, #all, 2 do
    give_back(string.match(all[i], '^%S+ (.*)$'), tonumber(all[i + 1]))
  end
  redis.call('DEL', holds)
  redis.call('ZREM', P .. 'workers', worker)
end
local old = redis.call('ZRANGEBYSCORE', P .. 'meters', '-inf', now, 'LIMIT', 0, 500)
local held = {}
for _, worker in ipairs(#old > 0 and redis.call('ZRANGE', P .. 'workers', 0, -1) or {}) do
  for _, field in ipairs(redis.call('HKEYS', P .. 'holds:' .. worker)) do
    held[string.match(field, '^%S+ (.*)$')] = true
  end
end
for _, name in ipairs(old) do
  if not held[name] then
    redis.call('DEL', P .. 'meter:' .. name)
    redis.call('ZREM', P .. 'meters', name)
  end
end
return 1
"""
_LEVELS: Final = """
local levels = {}
for i = 2, #ARGV do levels[i - 1] = text(level_of(ARGV[i])) end
return levels
"""
_SWAP: Final = f"""
local value = redis.call('GET', KEYS[1])
if (ARGV[1] == '0' and not value) or (ARGV[1] == '1' and value == ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[3])
  redis.call('SADD', '{_KEYS}', ARGV[4])
  return 1
end
return 0
"""


class RedisLedger:
    """A ledger in Redis, which any number of machines share."""

    def __init__(
        self,
        url: str,
        *,
        setting: str = "OPENBRIDGE_REDIS_URL",
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self._connections = RedisConnections(url, stored="the store of accounts", setting=setting)
        client = self._connections.client
        self._scripts: Mapping[str, Any] = {
            script: client.register_script(_COMMON % PREFIX + script)
            for script in (_RESERVE, _SETTLE, _RELEASE, _RENEW, _LEVELS)
        }

    def check(self) -> None:
        """Raise StateUnavailableError unless Redis answers and can be written to."""
        self._connections.check()

    def key(self, name: str) -> bytes | None:
        """Return an issued key; None if there is none."""
        value: bytes | None = self._connections.run(lambda redis: redis.get(_KEY + name))
        return value

    def keys(self) -> Mapping[str, bytes]:
        """Return all issued keys by their names."""

        def read(redis: Any) -> Mapping[str, bytes]:
            names = sorted(name.decode() for name in redis.smembers(_KEYS))
            values = redis.mget([_KEY + name for name in names]) if names else []
            return {name: value for name, value in zip(names, values, strict=True) if value}

        return self._connections.run(read)

    def swap_key(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Write an issued key if it is *old*, None for a missing one; return whether it was."""
        given = (int(old is not None), old or b"", new, name)
        swapped: int = self._connections.run(
            lambda redis: redis.eval(_SWAP, 1, _KEY + name, *given)
        )
        return swapped == 1

    def reserve(
        self, reservation: str, worker: str, increments: Sequence[Increment]
    ) -> ExceededMeter | None:
        """Add every amount to its level, or none of them; return the one that does not fit."""
        given: list[object] = [reservation, worker]
        for increment in increments:
            meter = increment.meter
            given += [meter.name, increment.amount, meter.limit, *_rest(meter)]
        exceeded = self._run(_RESERVE, given)
        if not exceeded:
            return None
        name = exceeded[0].decode()
        over = next(each for each in increments if each.meter.name == name)
        return ExceededMeter(meter=over.meter, level=float(exceeded[1]), amount=over.amount)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        """Write the rows of responses, with the use of each in place of its reservation.

        Each one is a script of its own; after a failure, all can be settled again.
        """
        script = self._scripts[_SETTLE]

        def write(redis: Any) -> None:
            with redis.pipeline(transaction=False) as pipeline:
                for settlement in settlements:
                    given: list[object] = [
                        self._now,
                        settlement.id,
                        settlement.worker,
                        repr(settlement.at),
                        settlement.row,
                    ]
                    for use in settlement.uses:
                        given += [use.meter.name, use.amount, *_rest(use.meter)]
                    script(args=given, client=pipeline)
                pipeline.execute()

        self._connections.run(write)

    def release(self, reservation: str, worker: str, meters: Sequence[Meter]) -> None:
        """Give back what *reservation* still holds of *meters*; nothing the second time."""
        self._run(_RELEASE, [reservation, worker, *(meter.name for meter in meters)])

    def renew(self, worker: str, lease_s: float) -> None:
        """Extend the lease of *worker*; give back the reservations of those whose lease ended."""
        self._run(_RENEW, [worker, lease_s])

    def levels(self, meters: Sequence[Meter]) -> Sequence[float]:
        """Return the level of each meter, used and reserved, as of now."""
        return [float(level) for level in self._run(_LEVELS, [meter.name for meter in meters])]

    def rows(self, since: float, until: float, after: tuple[float, str]) -> Sequence[StoredRow]:
        """Return a page of rows from *since* on and before *until*, by time and id."""
        start = max(since, after[0])

        def read(redis: Any) -> Sequence[StoredRow]:
            offset = 0
            while True:
                members = redis.zrangebyscore(
                    _SPEND, repr(start), f"({until!r}", offset, _PAGE, withscores=True
                )
                rows = [row for row in map(_row, members) if (row.at, row.id) > after]
                if rows or not members:
                    return rows
                offset += _PAGE

        return self._connections.run(read)

    def forget(self, before: float) -> int:
        """Delete rows that are older than *before*, some at a time; return how many."""

        def remove(redis: Any) -> int:
            old = redis.zrangebyscore(_SPEND, "-inf", f"({before!r}", 0, _FORGOTTEN)
            return redis.zrem(_SPEND, *old) if old else 0

        return self._connections.run(remove)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    @property
    def _now(self) -> str:
        """Return the time for scripts; below 0 means the clock of the server."""
        return "-1" if self._clock is None else repr(self._clock())

    def _run(self, script: str, given: Sequence[object]) -> Any:
        args = [self._now, *given]
        return self._connections.run(lambda redis: self._scripts[script](args=args, client=redis))


def _rest(meter: Meter) -> tuple[str, str]:
    """Return how fast a meter drains a second, and the seconds that it is kept."""
    return repr(meter.drains_per_s), repr(meter.keep_s)


def _row(member: tuple[bytes, float]) -> StoredRow:
    id_, _, data = member[0].partition(b" ")
    return StoredRow(id=id_.decode(), at=member[1], data=data)
