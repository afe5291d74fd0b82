"""Finds credentials in a cassette before it is written."""

import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonValue
from llmcore.schema.secret_names import holds_credential
from llmcore.testing.cassette import CassetteError

# A key begins where nothing of its alphabet is before it, unless that belongs to an
# escape: so the inside of a long base64 blob (an encrypted thought, an image) never counts as one.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
_SHAPES = (
    ("a key that begins with sk-", r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}", ("sk-",)),
    (
        "a key that begins with sk_ or rk_",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
        ("k_live_", "k_test_"),
    ),
    ("an AWS access key id", r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])", ("AKIA", "ASIA")),
    ("a Google API key", r"AIza[A-Za-z0-9_-]{35}", ("AIza",)),
    ("a Google access token", r"ya29\.[A-Za-z0-9_-]{20,}", ("ya29.",)),
    (
        "a GitHub token",
        r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    ("a GitLab token", r"glpat-[A-Za-z0-9_-]{16,}", ("glpat-",)),
    ("a Groq key", r"gsk_[A-Za-z0-9]{20,}", ("gsk_",)),
    ("a Cerebras key", r"csk-[A-Za-z0-9]{20,}", ("csk-",)),
    ("an xAI key", r"xai-[A-Za-z0-9]{20,}", ("xai-",)),
    ("a Perplexity key", r"pplx-[A-Za-z0-9]{20,}", ("pplx-",)),
    ("a Fireworks key", r"fw_[A-Za-z0-9]{20,}", ("fw_",)),
    ("a Replicate token", r"r8_[A-Za-z0-9]{20,}", ("r8_",)),
    ("an NVIDIA key", r"nvapi-[A-Za-z0-9_-]{20,}", ("nvapi-",)),
    ("a Hugging Face token", r"hf_[A-Za-z0-9]{20,}", ("hf_",)),
    ("a Slack token", r"xox[abprs]-[A-Za-z0-9-]{10,}", ("xox",)),
    ("a JSON web token", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", ("eyJ",)),
    ("a bearer token", r"[Bb]earer\s+(?=[^\s\"']*[0-9])[A-Za-z0-9._~+/-]{16,}=*", ("earer",)),
    ("a private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----", ("PRIVATE KEY",)),
)
"""The name of each kind of key, its form, and texts of which it contains one."""

_COMPILED = [(what, re.compile(_START + shape), marks) for what, shape, marks in _SHAPES]


def shapes_in(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield name and pattern of the keys that *text* may contain.

    Looking for a mark takes a hundredth of the time of the pattern.
    """
    for what, pattern, marks in _COMPILED:
        if any(mark in text for mark in marks):
            yield what, pattern


_PLACES = frozenset({"PWD", "SSH_AUTH_SOCK"})
"""Variables that are named like credentials and hold paths."""

_PLAIN_WORDS = re.compile(r"[a-z]+(?:[-_ ][a-z]+)*")
_SHORTEST = 4
_UNMISTAKABLE = 8
"""Values of at least this length are also found inside words."""


def names_a_key(variable: str) -> bool:
    """Return whether an environment variable of this name usually holds a credential."""
    return holds_credential(variable) and variable not in _PLACES


@frozen
class Finding:
    """The place of a secret; the secret itself is not in it."""

    what: str
    where: str
    """The path in the file, such as `interactions[0].response.body[3]`."""

    def __str__(self) -> str:
        return f"{self.where} holds {self.what}"


class SecretFoundError(CassetteError):
    """A cassette was not written: it holds credentials."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        listed = "\n".join(f"  {finding}" for finding in findings)
        super().__init__(
            f"not written, because of what looks like credentials:\n{listed}\n"
            "Take them out of what is sent and received; if one only looks like a credential, "
            "list it as not secret."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.findings,)


def refuse_secrets(
    data: JsonValue,
    *,
    known: Collection[str] = (),
    environ: Mapping[str, str],
    not_secret: Collection[str] = (),
) -> None:
    """Raise SecretFoundError if *data*, that of a cassette's file, holds a credential."""
    findings = find_secrets(data, known=known, environ=environ, not_secret=not_secret)
    if findings:
        raise SecretFoundError(findings)


def find_secrets(
    data: JsonValue,
    *,
    known: Collection[str] = (),
    environ: Mapping[str, str],
    not_secret: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Return each place of *data* that holds a credential, once for each kind.

    It looks for the *known* ones, for the values of variables in *environ* that are named like
    keys, and for texts in the shape of well-known keys.
    """
    values = dict(_forbidden_values(known, environ, not_secret))
    secrets = (
        Finding(what, where)
        for where, text in _texts(data, "")
        for what in _found_in(text, values, not_secret)
    )
    return tuple(dict.fromkeys(secrets))


def _found_in(text: str, values: Mapping[str, str], not_secret: Collection[str]) -> Iterator[str]:
    for value, what in values.items():
        if value in text and (len(value) >= _UNMISTAKABLE or _stands_alone(value, text)):
            yield what
    for what, shape in shapes_in(text):
        if any(match[0] not in not_secret for match in shape.finditer(text)):
            yield what


def _stands_alone(value: str, text: str) -> bool:
    """Return whether *value* is in *text* as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text) is not None


def _forbidden_values(
    known: Collection[str], environ: Mapping[str, str], not_secret: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield each secret in each of its encodings, with a name for messages."""
    named = [
        (value, f"the value of the environment variable {name}")
        for name, value in sorted(environ.items())
        if names_a_key(name)
    ]
    sent = [(value, "a credential that was sent with a request") for value in known]
    for value, what in (*named, *sent):
        if value not in not_secret and _could_be_secret(value):
            for spelling in _spellings(value):
                yield spelling, what


def _could_be_secret(value: str) -> bool:
    """Return whether *value* is more than a placeholder such as `ollama` or `not-needed`."""
    plain = len(value) < 24 and _PLAIN_WORDS.fullmatch(value.lower())
    return len(value) >= _SHORTEST and not plain


def _spellings(value: str) -> set[str]:
    """Return *value* as it is encoded in URLs, in JSON and after `Basic`."""
    inside_json = json.dumps(value)[1:-1]
    encoded = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
    return {value, quote(value, safe=""), inside_json, inside_json.replace("/", r"\/"), encoded}


def _texts(data: JsonValue, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text in *data* with its path, base64 bodies decoded."""
    if isinstance(data, str):
        yield where, data
    elif isinstance(data, list | tuple):
        for index, item in enumerate(data):
            yield from _texts(item, f"{where}[{index}]")
    elif isinstance(data, dict):
        for key, item in data.items():
            path = f"{where}.{key}".removeprefix(".")
            yield f"{path} (the name)", key
            if key == "body" and data.get("body_encoding") == "base64":
                yield path, _decoded(item)
            else:
                yield from _texts(item, path)


def _decoded(body: JsonValue) -> str:
    lines = body if isinstance(body, list | tuple) else [body]
    return base64.b64decode("".join(map(str, lines))).decode("latin-1")
