"""Stores for the tests of this folder: one of each kind, Redis on every server there is."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.redis_store import RedisStore
from llmcore.sessions.sqlite_store import SQLiteStore
from llmcore.sessions.store import SessionStore
from tests.support.servers.redis_servers import running_redis, server_programs

MakeStore: TypeAlias = Callable[..., SessionStore]

_PROGRAMS = server_programs()
_prefixes = count()


@pytest.fixture(params=_PROGRAMS)
def redis_url(request: pytest.FixtureRequest, started: Callable[[str], str]) -> str:
    """Give the URL of a running server."""
    return started(request.param)


@pytest.fixture(params=["memory", "sqlite", *_PROGRAMS])
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, started: Callable[[str], str]
) -> MakeStore:
    """Give what makes stores; those in a file or on a server share their data."""
    if request.param == "memory":
        return MemoryStore
    if request.param == "sqlite":
        return partial(SQLiteStore, tmp_path / "sessions.db")
    prefix = f"test-{next(_prefixes)}[*]"  # with what is special in patterns
    return partial(RedisStore, started(request.param), prefix=prefix)


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[str], str]]:
    """Give what starts a server when it is first wanted, and tells its URL."""
    urls: dict[str, str] = {}
    with ExitStack() as servers:

        def url_of(name: str) -> str:
            if name not in urls:
                urls[name] = servers.enter_context(running_redis(_PROGRAMS[name])).url
            return urls[name]

        yield url_of
