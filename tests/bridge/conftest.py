"""Servers of databases that several folders of tests use."""

from collections.abc import Iterator

import pytest

from tests.support.servers.postgres_servers import PostgresServer, running_postgres
from tests.support.servers.redis_servers import RedisServer, running_redis


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running_redis() as running:
        yield running


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        yield running
