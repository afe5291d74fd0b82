"""Base URLs as people give them: `llmcore/routes/base_url.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.routes.base_url import OPERATIONS, checked_base_url
from llmcore.schema.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given_url", "kept"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("https://api.example.com/v1///", "https://api.example.com/v1"),
        ("  https://api.example.com/v1\n", "https://api.example.com/v1"),
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1"),
        ("https://h/v1/?api-version=2&a=b", "https://h/v1?api-version=2&a=b"),
        ("https://h/models", "https://h/models"),
        ("https://h/@team/v1", "https://h/@team/v1"),
        ("https://h/v1?mail=a@b", "https://h/v1?mail=a@b"),
        ("https://h/my-completions-proxy", "https://h/my-completions-proxy"),
    ],
)
def test_base_url_loses_outer_white_space_and_final_slashes(given_url: str, kept: str) -> None:
    """White space and slashes at the end go; path, port and query stay."""
    assert checked_base_url(given_url) == kept


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("https://h/v1/chat/completions", "base_url='https://h/v1'"),
        ("https://h/v1/chat/completions/", "base_url='https://h/v1'"),
        ("https://h/v1/chat/completions?key=secret", "base_url='https://h/v1'"),
        ("https://h/v1/responses", "base_url='https://h/v1'"),
        ("https://h/chat/completions", "base_url='https://h'"),
        ("localhost:11434/v1", "https://host/v1"),
        ("api.example.com/v1", "https://host/v1"),
        ("ftp://h/v1", "https://host/v1"),
        ("https:///v1", "https://host/v1"),
        ("https://my host/v1", "https://host/v1"),
        ("https://h:port/v1", "https://host/v1"),
        ("http://[::1/v1", "https://host/v1"),
        ("", "https://host/v1"),
        ("https://user:hunter2@h/v1", "auth=..."),
    ],
)
def test_invalid_base_urls_raise_errors_that_name_the_argument(wrong: str, advice: str) -> None:
    """The error names the argument and what belongs there."""
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        checked_base_url(wrong)

    assert advice in caught.value.message
    assert "hunter2" not in caught.value.message
    assert "secret" not in caught.value.message


@given(st.text(max_size=40))
def test_any_text_is_checked(text: str) -> None:
    """It is a URL with no operation at its end, the same when checked again, or an error."""
    try:
        checked = checked_base_url(text)
    except ConfigurationError:
        return

    assert checked_base_url(checked) == checked
    assert not checked.partition("?")[0].endswith(OPERATIONS)


@given(
    st.from_regex(r"[a-z0-9.-]*[a-z0-9]", fullmatch=True),
    st.lists(st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True), max_size=3),
    st.integers(0, 3),
)
def test_slashes_at_the_end_do_not_matter(host: str, steps: list[str], slashes: int) -> None:
    """However many stand there, it is the same base URL."""
    plain = "/".join([f"https://{host}", *steps])
    if plain.endswith(OPERATIONS):
        return

    assert checked_base_url(plain + "/" * slashes) == plain
