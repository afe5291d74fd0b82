"""Connections to Redis: what is refused before anything is sent."""

import sys

import pytest

from llmcore.schema.errors import ConfigurationError
from llmcore.storage.redis import connect


@pytest.mark.parametrize(
    "url", ["http://:s3cret@localhost", "redis://:s3cret@localhost/0?no_such=1", "s3cret", ""]
)
def test_a_bad_url_is_refused_without_being_quoted(url: str) -> None:
    """The error names the setting; the URL may hold a password."""
    with pytest.raises(ConfigurationError, match="MY_URL is not the URL") as caught:
        connect(url, setting="MY_URL", connect_s=1, reply_s=1)

    assert "s3cret" not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is an extra."""
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigurationError, match=r"llmcore-routes\[redis\]"):
        connect("redis://localhost", setting="url", connect_s=1, reply_s=1)


def test_options_of_a_url_do_not_change_how_texts_are_read() -> None:
    """Other programs may use the same URL with responses decoded."""
    url = "redis://localhost/0?decode_responses=yes"
    client = connect(url, setting="url", connect_s=1, reply_s=1)

    assert client.connection_pool.connection_kwargs["decode_responses"] is False
    client.close()
