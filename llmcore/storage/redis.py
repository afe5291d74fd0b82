"""Connections to a Redis server, or one that speaks its protocol."""

from typing import Any, Final

from llmcore.schema.errors import ConfigurationError, missing_extra

_TEXT: Final = {"decode_responses": False, "encoding": "utf-8", "encoding_errors": "strict"}
"""The options of stores, which override those of the URL."""


def connect(
    url: str,
    *,
    setting: str,
    connect_s: float,
    reply_s: float,
    retries: int = 0,
    max_connections: int | None = None,
) -> Any:
    """Return a client for *url*, which connects when it is first used.

    A command is sent again *retries* times if its connection turns out to be broken, and never
    because a response is late. Raises ConfigurationError, which names *setting* and does not quote
    the URL, for a bad one, and where the package `redis` is not installed.
    """
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise missing_extra("Redis", "redis", error) from error
    try:
        client = redis.Redis.from_url(
            url,
            socket_connect_timeout=connect_s,
            socket_timeout=reply_s,
            health_check_interval=30,
            retry=Retry(NoBackoff(), retries, supported_errors=(redis.ConnectionError,)),
            max_connections=max_connections,
        )
        pool: Any = client.connection_pool
        pool.connection_kwargs.update(_TEXT)
        pool.connection_class(**pool.connection_kwargs)  # it connects only when it is used
    except (ValueError, TypeError):
        # Their texts may quote the URL, password and all.
        raise ConfigurationError(
            f"{setting} is not the URL of a Redis server, or has options that its client does not "
            "know: redis://[user:password@]host:port/database"
        ) from None
    return client
