"""How requests are signed: `llmcore/routes/auth.py`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.routes.auth import Auth, AuthContext, choose_auth
from llmcore.routes.http_request import HttpRequest
from llmcore.schema.errors import AuthenticationError, ConfigurationError
from llmcore.schema.result import Success

PLAIN = HttpRequest(method="POST", url="https://h/v1/x")
SECRET = "sk-very-secret"


async def _token() -> str:
    return SECRET


def signed(auth: Auth, **environ: str) -> HttpRequest:
    """Return PLAIN, signed by *auth*."""
    return auth.sign(PLAIN, AuthContext(environ=environ, token=SECRET)).unwrap()


def refused(auth: Auth, **environ: str) -> str:
    """Return why *auth* does not sign."""
    error = auth.sign(PLAIN, AuthContext(environ=environ)).failure()
    assert isinstance(error, AuthenticationError)
    return error.message


@pytest.mark.parametrize(
    ("auth", "headers", "url"),
    [
        (Auth.none(), {}, PLAIN.url),
        (Auth.bearer(SECRET), {"authorization": f"Bearer {SECRET}"}, PLAIN.url),
        (Auth.header("X-Api-Key", SECRET), {"x-api-key": SECRET}, PLAIN.url),
        (Auth.header("X-Key", SECRET, prefix="Key "), {"x-key": f"Key {SECRET}"}, PLAIN.url),
        (Auth.query("key", SECRET), {}, f"{PLAIN.url}?key={SECRET}"),
        (Auth.env("A_KEY"), {"authorization": "Bearer of-a"}, PLAIN.url),
        (Auth.env("NO_KEY", "B_KEY"), {"authorization": "Bearer of-b"}, PLAIN.url),
        (Auth.env("A_KEY", header="x-key", prefix=""), {"x-key": "of-a"}, PLAIN.url),
        (Auth.token(_token), {"authorization": f"Bearer {SECRET}"}, PLAIN.url),
        (Auth.first_of(Auth.env("NO_KEY"), Auth.none()), {}, PLAIN.url),
        (
            Auth.first_of(Auth.env("NO_KEY"), Auth.env("A_KEY"), Auth.env("B_KEY")),
            {"authorization": "Bearer of-a"},
            PLAIN.url,
        ),
        (
            Auth.all_of(Auth.env("A_KEY"), Auth.header("x-gateway", SECRET)),
            {"authorization": "Bearer of-a", "x-gateway": SECRET},
            PLAIN.url,
        ),
        (Auth.all_of(), {}, PLAIN.url),
    ],
)
def test_each_auth_puts_the_key_in_its_place(auth: Auth, headers: dict[str, str], url: str) -> None:
    """Each puts the key where its server looks for it."""
    request = signed(auth, A_KEY="of-a", B_KEY="of-b", EMPTY_KEY="")

    assert request.headers == headers
    assert request.url == url


@pytest.mark.parametrize(
    "auth", [Auth.bearer(SECRET), Auth.header("x-key", SECRET), Auth.query("key", SECRET)]
)
def test_keys_are_marked_as_secrets(auth: Auth) -> None:
    """Neither the auth nor the request it signed shows them."""
    request = signed(auth)

    assert SECRET in request.secrets
    for shown in (repr(auth), str(auth), repr(request), str(request.safe_headers)):
        assert SECRET not in shown


def test_white_space_around_a_key_is_cut_off() -> None:
    """As a line break from a file would be."""
    assert signed(Auth.bearer(f" {SECRET}\n")).headers["authorization"] == f"Bearer {SECRET}"
    assert signed(Auth.env("KEY"), KEY="k\r\n").headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("auth", "named"),
    [
        (Auth.bearer(None), "api_key"),
        (Auth.bearer("  "), "api_key"),
        (Auth.header("x-key", ""), "x-key"),
        (Auth.query("key", None), "key"),
        (Auth.env("ONE_KEY", "TWO_KEY"), "ONE_KEY or TWO_KEY"),
        (Auth.env("EMPTY_KEY"), "EMPTY_KEY"),
        (Auth.env("BLANK_KEY"), "BLANK_KEY"),
        (Auth.bearer("päss"), "characters"),
        (Auth.bearer("a\nb: c"), "characters"),
        (Auth.token(_token), "token"),
        (Auth.first_of(Auth.env("ONE_KEY"), Auth.env("TWO_KEY")), "TWO_KEY"),
        (Auth.first_of(Auth.env("ONE_KEY"), Auth.env("TWO_KEY")), "ONE_KEY"),
        (Auth.first_of(), "no way"),
        (Auth.all_of(Auth.none(), Auth.env("ONE_KEY")), "ONE_KEY"),
    ],
)
def test_without_a_usable_key(auth: Auth, named: str) -> None:
    """It is an AuthenticationError when the request is prepared, and says what is missing."""
    message = refused(auth, EMPTY_KEY="", BLANK_KEY="  ")

    assert named in message
    assert "päss" not in message


def test_missing_keys_are_named_in_one_sentence() -> None:
    """However many variables may hold one."""
    auth = Auth.first_of(Auth.env("ONE_KEY"), Auth.env("TWO_KEY", "NEW_KEY"))

    assert refused(auth) == (
        "no API key: set ONE_KEY or TWO_KEY or NEW_KEY, or configure the provider with api_key=..."
    )


@pytest.mark.parametrize("quote", ["'", '"'])
def test_key_in_quotes_is_refused_before_it_is_sent(quote: str) -> None:
    """As an environment file of Docker has them, which are part of the value."""
    assert refused(Auth.env("MY_KEY"), MY_KEY=f"{quote}sk-1{quote}") == (
        "MY_KEY is in quotes, which would be sent with it: remove them"
    )


def test_key_with_the_word_of_the_header_is_refused_before_it_is_sent() -> None:
    """As it is copied from a curl command."""
    assert refused(Auth.env("MY_KEY"), MY_KEY="Bearer sk-1") == (
        "MY_KEY begins with 'Bearer', which is not part of a key: remove it"
    )


@pytest.mark.parametrize("other", [Auth.none(), Auth.env("OTHER_KEY")])
def test_key_that_cannot_be_sent_is_not_left_out(other: Auth) -> None:
    """The request would go out without it, or with another one."""
    auth = Auth.first_of(Auth.env("MY_KEY"), other)

    assert refused(auth, MY_KEY="k\u00e9y", OTHER_KEY="k") == (
        "MY_KEY holds characters that cannot be part of a key"
    )


def test_auth_ids_name_kind_and_variable_but_no_key() -> None:
    """By kind and variable, never by key."""
    both = Auth.all_of(Auth.bearer(SECRET), Auth.query("key", SECRET))
    either = Auth.first_of(Auth.env("A", "B"), Auth.none())

    assert both.id == "bearer and query key"
    assert either.id == "env A or B or none"


@pytest.mark.parametrize("combine", [Auth.first_of, Auth.all_of])
def test_a_combination_fetches_what_its_parts_fetch(combine: object) -> None:
    """So that the client gets the token before signing."""
    assert callable(combine)

    assert combine(Auth.none(), Auth.token(_token)).fetch is _token
    assert combine(Auth.none()).fetch is None


@pytest.mark.parametrize("combine", [Auth.first_of, Auth.all_of])
def test_a_combination_fetches_when_its_part_does(combine: object) -> None:
    """A part may need no token, given the environment; as a rule it is always fetched."""
    assert callable(combine)
    part = Auth(
        id="x", sign=Auth.none().sign, fetch=_token, fetch_when=lambda environ: "KEY" not in environ
    )
    whole = combine(Auth.none(), part)

    assert whole.fetch_when({})
    assert not whole.fetch_when({"KEY": "k"})
    assert Auth.token(_token).fetch_when({"KEY": "k"})


def test_choosing_between_key_and_auth() -> None:
    """A key is short for a bearer auth; without both, the fallback decides."""
    fallback, own = Auth.env("KEY"), Auth.none()

    assert choose_auth(fallback=fallback) is fallback
    assert choose_auth(auth=own, fallback=fallback) is own
    assert choose_auth(api_key="k", fallback=fallback).id == "bearer"
    header = choose_auth(api_key="k", of_key=lambda k: Auth.header("x", k), fallback=fallback)
    assert signed(header).headers == {"x": "k"}
    with pytest.raises(ConfigurationError, match="either api_key or auth"):
        choose_auth(api_key="k", auth=own, fallback=fallback)


@given(st.text(max_size=30))
def test_any_text_makes_a_header_or_a_typed_error(key: str) -> None:
    """No key can break out of its header."""
    result = Auth.bearer(key).sign(PLAIN, AuthContext())

    if isinstance(result, Success):
        value = result.unwrap().headers["authorization"]
        assert value.isascii()
        assert value.isprintable()
    else:
        assert isinstance(result.failure(), AuthenticationError)
