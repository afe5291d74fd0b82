"""The Redis store, against real servers, and without one."""

import subprocess
import sys

import anyio
import pytest
import redis

from llmcore.schema.errors import ConfigurationError
from llmcore.sessions.contract.entries import EntryText, EntryToolCall, EntryToolResult
from llmcore.sessions.contract.errors import SecondToolResultError
from llmcore.sessions.redis_store import RedisStore
from llmcore.sessions.store import SessionStoreError
from tests.support.strategies.contract import RUN, entry

pytestmark = pytest.mark.anyio

HELLO = entry("user", EntryText("Hello"))


WRITER = """
import sys, anyio
from llmcore.sessions.contract.entries import EntryText, MessageEntry
from llmcore.sessions.redis_store import RedisStore

url, prefix, name = sys.argv[1:]

def said(text):
    return MessageEntry(run_id="run-1", role="user", parts=[EntryText(text)], timestamp="t")

async def main():
    async with RedisStore(url, prefix=prefix) as store:
        for number in range(15):
            await store.append("run-1", [said(f"{name}{number}{half}") for half in "ab"])

anyio.run(main)
"""
"""Appends pairs of entries."""


async def texts_and_delete(url: str, prefix: str) -> list[str]:
    async with RedisStore(url, prefix=prefix) as store:
        found = [one.entry.text for one in await store.read(RUN)]
        await store.delete(RUN)
    return found


@pytest.mark.slow
def test_processes_that_append_at_once_lose_nothing(redis_url: str) -> None:
    """No append is lost, and none is torn."""
    names = ["x", "y", "z"]
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, redis_url, "many", name]) for name in names
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = anyio.run(texts_and_delete, redis_url, "many")

    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert all(first[:-1] == second[:-1] for first, second in pairs)
    assert sorted(first[:-1] for first, _ in pairs) == sorted(
        f"{name}{number}" for name in names for number in range(15)
    )


async def test_ttl_is_set_as_expiry_on_the_server(redis_url: str) -> None:
    """Both keys of a run end together; a store without one keeps what it appends to."""
    call = entry("assistant", EntryToolCall("c", "look", {}))
    async with RedisStore(redis_url, prefix="ttl", ttl_s=500) as store:
        await store.append(RUN, [call])
    with redis.Redis.from_url(redis_url) as client:
        keys = sorted(client.keys("ttl:*"))
        assert keys == [b"ttl:{run-1}:calls", b"ttl:{run-1}:entries"]
        assert all(490 < client.ttl(key) <= 500 for key in keys)
        async with RedisStore(redis_url, prefix="ttl") as store:
            await store.append(RUN, [entry("tool", EntryToolResult("c", "x"))])
        assert all(client.ttl(key) == -1 for key in keys)
        async with RedisStore(redis_url, prefix="ttl") as store:
            await store.delete(RUN)
        assert client.keys("ttl:*") == []


async def test_stores_with_different_prefixes_share_nothing(redis_url: str) -> None:
    """Two applications on one server."""
    async with RedisStore(redis_url, prefix="one") as one, RedisStore(redis_url, prefix="tw*") as b:
        await one.append(RUN, [HELLO])
        assert await b.runs() == ()
        await one.delete(RUN)


async def test_a_server_that_is_not_running_is_a_retryable_error(tmp_path: object) -> None:
    """A server that is down may come back; the URL's password is nowhere."""
    async with RedisStore("redis://:hunter2@127.0.0.1:1/0", timeout_s=1) as store:
        with pytest.raises(SessionStoreError, match="cannot be used") as told:
            await store.read(RUN)
    assert told.value.retryable
    assert "hunter2" not in f"{store!r} {told.value!r} {told.value}"


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (redis.TimeoutError("late"), True),
        (redis.AuthenticationError("WRONGPASS"), False),
        (redis.ResponseError("WRONGTYPE"), False),
    ],
)
async def test_only_an_error_that_may_pass_is_retryable(
    error: redis.RedisError, retryable: bool, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    async with RedisStore(redis_url, prefix="err") as store:
        monkeypatch.setattr("redis.client.Redis.execute_command", failing)
        with pytest.raises(SessionStoreError, match="cannot be used") as told:
            await store.read(RUN)
    assert told.value.retryable is retryable


async def test_an_append_without_confirmation_is_an_error_that_is_not_retryable(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have happened: trying it again would repeat it, so it is not called retryable."""

    def broken(*_: object, **__: object) -> None:
        raise redis.ConnectionError("cut")

    async with RedisStore(redis_url, prefix="cut") as store:
        monkeypatch.setattr("redis.client.Pipeline.execute", broken)
        with pytest.raises(SessionStoreError, match="may be there or not") as told:
            await store.append(RUN, [HELLO])
    assert not told.value.retryable


async def test_an_append_that_always_collides_ends_as_busy(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever always loses the race gives up after a while; nothing was appended."""

    def lost(*_: object, **__: object) -> None:
        raise redis.WatchError("changed")

    async with RedisStore(redis_url, prefix="busy") as store:
        monkeypatch.setattr("redis.client.Pipeline.execute", lost)
        monkeypatch.setattr("llmcore.sessions.redis_store._PATIENCE_S", 0.05)
        with pytest.raises(SessionStoreError, match="busy") as told:
            await store.append(RUN, [HELLO])
    assert told.value.retryable


@pytest.mark.parametrize("option", ["decode_responses=True", "encoding=latin-1", "protocol=3"])
async def test_options_in_the_url_do_not_change_the_stored_text(
    redis_url: str, option: str
) -> None:
    """An option that other programs share does not change what the store reads and writes."""
    call = entry("assistant", EntryToolCall("é 😀", "look", {}))
    result = entry("tool", EntryToolResult("é 😀", "é 😀"))
    async with RedisStore(f"{redis_url}&{option}", prefix=option) as store:
        await store.delete(RUN)
        await store.append(RUN, [call, result])
        with pytest.raises(SecondToolResultError):
            await store.append(RUN, [result])
        assert [stored.entry for stored in await store.read(RUN)] == [call, result]
        assert [run.last_seq for run in await store.runs()] == [2]


@pytest.mark.parametrize(
    "url", ["http://x", "redis://:pa/ss@host:6379", "nonsense", "redis://:pa@host/0?novel=1"]
)
def test_a_bad_url_is_refused_without_quoting_it(url: str) -> None:
    """Even where the password is what makes it bad."""
    with pytest.raises(ConfigurationError, match="URL") as told:
        RedisStore(url)
    assert "pa" not in str(told.value).split(": ", 1)[0]
    assert told.value.__cause__ is None


def test_a_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is optional."""
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[redis\]"):
        RedisStore()
