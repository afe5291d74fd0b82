"""The search for credentials."""

import base64
import pickle
from typing import Any

import pytest

from llmcore.testing.secret_scan import Finding, SecretFoundError, find_secrets, refuse_secrets

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----"

SECRETS = {
    "openai": "sk-abcDEF0123456789abcDEF01",
    "openai project": "sk-proj-Ab12_cd-34EF56gh78IJ90kl",
    "anthropic": "sk-ant-api03-Ab12cd34EF56gh78-IJ90kl_mn",
    "openrouter": "sk-or-v1-0123456789abcdef0123456789abcdef",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws session": "ASIAIOSFODNN7EXAMPLE",
    "google": "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"[:35],
    "google token": "ya29.a0AfH6SMBx0123456789",
    "github": "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "github fine": "github_pat_11ABCDEFG0123456789abcd",
    "gitlab": "glpat-0123456789abcdefghij",
    "groq": "gsk_0123456789abcdefghijABCDEF",
    "cerebras": "csk-0123456789abcdefghijABCDEF",
    "xai": "xai-0123456789abcdefghijABCDEF",
    "perplexity": "pplx-0123456789abcdefghijABCDEF",
    "fireworks": "fw_0123456789abcdefghijABCDEF",
    "replicate": "r8_0123456789abcdefghijABCDEF",
    "nvidia": "nvapi-0123456789abcdefghij-ABCDEF",
    "hugging face": "hf_abcdefghijABCDEF0123456789",
    "slack": "xoxb-0123456789-abcdef",
    "stripe": "sk_live_0123456789abcdefABCDEF",
    "jwt": JWT,
    "bearer": "Bearer abcdef0123456789.abcdef",
    "pem": PEM,
}

HARMLESS = [
    "task-0123456789abcdef0123456789",
    "sk-no-key-required",
    "sk-your-openai-api-key-goes-here",
    "Incorrect API key provided: sk-abc***************************xyz.",
    "the Bearer authentication scheme of RFC 6750",
    "call_0123456789abcdefABCDEF01",
    "chatcmpl-0123456789abcdefABCDEF01",
    "eyJhbGciOiJIUzI1NiJ9",
    "AKIA is a prefix",
    "-----BEGIN PUBLIC KEY-----",
    "gAAAAABsk-0123456789abcdefghij_AIza" + "x" * 40,
    "msg_01-sk-0123456789abcdefABCDEF01",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize(
    "around", ["{}", "key={}&x=1", 'data: {{"a":"\\n{}"}}', "\\u0022{}", "({})"]
)
def test_keys_of_known_shapes_are_found_anywhere_in_a_text(secret: str, around: str) -> None:
    """Every well-known kind of key is found, wherever it stands in a text."""
    text = around.format(secret)

    findings = find_secrets({"a": [text]}, environ={})

    assert [finding.where for finding in findings] == ["a[0]"]
    assert secret not in str(findings)


@pytest.mark.parametrize("text", HARMLESS)
def test_texts_that_only_resemble_keys_are_not_found(text: str) -> None:
    """Prose, ids, masked keys and the inside of encrypted blobs are let through."""
    assert find_secrets({"a": text}, environ={}) == ()


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"metadata": {"name": "SECRET"}}, "metadata.name"),
        ({"interactions": [{}, {"request": {"url": "u?SECRET"}}]}, "interactions[1].request.url"),
        ({"response": {"body": ["", "data: SECRET"]}}, "response.body[1]"),
        ({"body": {"deep": [{"er": "SECRET"}]}}, "body.deep[0].er"),
        ({"headers": {"SECRET": ""}}, "headers.SECRET (the name)"),
    ],
)
def test_a_finding_names_the_place(data: Any, where: str) -> None:
    """The place is the path in the file."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {filled(key): filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item) for item in value]
        return value.replace("SECRET", "a-known-secret-9")

    found = find_secrets(filled(data), known=["a-known-secret-9"], environ={})

    assert found == (
        Finding(
            "a credential that was sent with a request", where.replace("SECRET", "a-known-secret-9")
        ),
    )


def test_base64_bodies_are_searched_decoded() -> None:
    """A binary body hides nothing, in one line or in several."""
    encoded = base64.b64encode(b"\xff\x00 AKIAIOSFODNN7EXAMPLE \xff").decode()

    for body in (encoded, [encoded[:8], encoded[8:]]):
        found = find_secrets({"body": body, "body_encoding": "base64"}, environ={})

        assert found == (Finding("an AWS access key id", "body"),)


@pytest.mark.parametrize(
    "text",
    [
        "p4ss/w+rd==x",
        "a%3Fq=p4ss%2Fw%2Brd%3D%3Dx",
        '"p4ss\\/w+rd==x"',
        base64.b64encode(b"p4ss/w+rd==x").decode(),
    ],
)
def test_a_known_secret_is_found_in_every_spelling(text: str) -> None:
    """Escaped in a URL or in JSON, or encoded, it is still the secret."""
    assert find_secrets(text, known=["p4ss/w+rd==x"], environ={})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the key k3y! is not valid", True),
        ('{"code": "k3y!"}', True),
        ("https://x/y?code=k3y%21", True),
        ("monk3y!", False),
        ("k3y!s", False),
    ],
)
def test_short_keys_are_found_where_they_stand_alone(text: str, found: bool) -> None:
    """Inside of words, a few characters would be found everywhere."""
    assert bool(find_secrets(text, known=["k3y!"], environ={})) is found


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("OPENAI_API_KEY", "whatever-1234", True),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG", True),
        ("HF_TOKEN", "correct-horse-battery-staple", True),
        ("DB_PASSWORD", "hunter2hunter2", True),
        ("my_secret", "whatever-1234", True),
        ("GITHUB_PAT", "whatever-1234", True),
        ("SERVICE_AUTH", "whatever-1234", True),
        ("PWD", "/home/me/work-1234", False),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1234/agent", False),
        ("OLLAMA_API_KEY", "ollama", False),
        ("LMSTUDIO_API_KEY", "lm-studio", False),
        ("SOME_API_KEY", "not-needed", False),
        ("EMPTY_KEY", "", False),
        ("KEYBOARD_LAYOUT", "dvorak-12345", False),
        ("TOKENIZERS_PARALLELISM", "false-12345", False),
        ("AWS_SECRET_ACCESS_KEY", "/JalrXUtnFEMI/K7MDENG", True),
        ("HOSTNAME", "whatever-1234", False),
    ],
)
def test_values_of_variables_named_like_keys_are_found(
    variable: str, value: str, found: bool
) -> None:
    """Values count if their names mark them as keys, and if they are more than placeholders."""
    findings = find_secrets(f"they said {value}!", environ={variable: value})

    assert bool(findings) is found
    if found:
        assert findings[0].what == f"the value of the environment variable {variable}"


def test_texts_listed_as_not_secret_are_ignored() -> None:
    """The example key of a document may stand in a cassette."""
    data = {"a": "AKIAIOSFODNN7EXAMPLE", "b": "x-value-1234"}

    refuse_secrets(
        data,
        known=["x-value-1234"],
        environ={"A_KEY": "x-value-1234"},
        not_secret=["AKIAIOSFODNN7EXAMPLE", "x-value-1234"],
    )
    with pytest.raises(SecretFoundError):
        refuse_secrets({**data, "c": "AKIA" + "2" * 16}, environ={}, not_secret=[data["a"]])


def test_the_error_names_kind_and_place_but_not_the_secret() -> None:
    """Its text can be shown to anybody."""
    with pytest.raises(SecretFoundError) as caught:
        refuse_secrets({"a": SECRETS["openai"], "b": JWT}, environ={})

    text = str(caught.value)
    assert "  a holds a key that begins with sk-\n  b holds a JSON web token\n" in text
    assert SECRETS["openai"] not in text
    assert JWT not in text
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings
