"""Files of a confused operator: each is refused before anything is served, with its line."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from llmcore.cli.openbridge import main

UPSTREAM = """[[upstreams]]
name = "a"
provider = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
key = "k"
"""
MODEL = '[models.m]\ntargets = ["a/x"]\n'
GOOD = UPSTREAM + MODEL
UNKEYED = UPSTREAM.replace('key = "k"\n', "")


def keyed(provider: str, variables: str = "") -> str:
    """Return a file with an upstream of *provider* that has a key."""
    table = f'[[upstreams]]\nname = "a"\nprovider = "{provider}"\nkey = "k"\n'
    return f"{table}variables = {{ {variables} }}\n{MODEL}"


def check(folder: Path, text: str | bytes, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit code of `openbridge config check`, and what it prints."""
    path = folder / "openbridge.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = main(["config", "check", "--config", str(path)])
    printed = capsys.readouterr()
    return code, printed.err + printed.out


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD + "# für alle\n",
        GOOD + '[policies]\nretry_without = ["seed", "text.verbosity", "top_a", "min_p"]\n',
    ],
    ids=["plain", "byte order mark", "line ends of Windows", "unicode", "servers' own fields"],
)
def test_a_good_file_is_valid(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, text, capsys)[0] == 0


WRONG: Sequence[tuple[str | bytes, int, str]] = [
    (UPSTREAM + 'headers = { "x-a" = "b\\r\\nx-b: c" }\n' + MODEL, 6, "headers.x-a has characters"),
    (UPSTREAM + 'headers = { "x a" = "b" }\n' + MODEL, 6, "is not the name of a header"),
    (UPSTREAM + 'headers = { "Host" = "b" }\n' + MODEL, 6, "set by the HTTP client"),
    (UPSTREAM + 'body = { model = "y" }\n' + MODEL, 6, "body.model is set by the gateway"),
    (UPSTREAM + "body = { stream = true }\n" + MODEL, 6, "body.stream is set by the gateway"),
    (UPSTREAM.replace('"k"', '"${KEY}"') + MODEL, 5, "upstreams[1].key looks like the name"),
    (UPSTREAM.replace('"k"', '"os.environ/KEY"') + MODEL, 5, "upstreams[1].key looks like"),
    (GOOD + '[[clients]]\nname = "c"\nkey = "$KEY"\n', 10, "clients[1].key looks like"),
    (GOOD + '[keys]\nadmin_key = "${GATEWAY_ADMIN_KEY}"\n', 9, "keys.admin_key looks like"),
    (GOOD + '[server]\nclient_api_key = "{{ key }}"\n', 9, "server.client_api_key looks like"),
    (GOOD + '[state]\nredis_url = "redis://h"\n', 9, "set it to redis"),
    (GOOD + '[state]\npostgres_url = "postgres://h/d"\n', 9, "set it to postgres"),
    (GOOD + '[state]\nbackend = "redis"\nredis_url = "h:6379"\n', 10, "begin with redis://"),
    (
        GOOD + '[state]\nbackend = "postgres"\npostgres_url = "mysql://h"\n',
        10,
        "begin with postgresql://",
    ),
    (UNKEYED + 'key_command = ["false"]\n' + MODEL, 1, "failed with exit code 1"),
    (UNKEYED + 'key_command = ["true"]\n' + MODEL, 1, "prints nothing"),
    (UNKEYED + 'key_command = ["echo", "schlüssel"]\n' + MODEL, 1, "no HTTP header can have"),
    (UNKEYED + 'key_file = "/dev/null"\n' + MODEL, 1, "is empty"),
    (GOOD.replace('"m"', "“m”").replace('"a/x"', "“a/x”"), 7, "Invalid value"),
    (GOOD.encode("utf-16"), 1, "is not UTF-8"),
    (GOOD + "\0", 8, "Invalid statement"),
    ("upstreams:\n  - name: a\n", 1, "Expected '='"),
    (UPSTREAM.replace("[[upstreams]]", "[upstreams]") + MODEL, 1, "write [[upstreams]]"),
    (GOOD + "[serverr]\nport = 1\n", 8, "did you mean server?"),
    (GOOD + '[server]\nport = "80"\n', 9, "write it without quotes"),
    (
        GOOD + '[policies]\nretry_without = ["seed", "paralel_tool_calls"]\n',
        9,
        (
            "policies.retry_without: 'paralel_tool_calls' is not a parameter (did you mean "
            "'parallel_tool_calls'?)"
        ),
    ),
    (
        GOOD + '[policies]\nretry_without = ["reasoning_effort"]\n',
        9,
        "'reasoning_effort' is a name of upstreams: it is 'reasoning' here",
    ),
    (GOOD + '[policies]\nretry_without = ["top p"]\n', 9, "is not the name of a parameter"),
    (GOOD + 'on_context_overflow = "m"\n', 8, "not another model"),
    (UPSTREAM + UPSTREAM + MODEL, 7, "is used twice"),
    (keyed("azure"), 1, "no Azure resource"),
    (keyed("azure", 'AZURE_OPENAI_RESOURCE_NAME = "a b"'), 1, "is not the name of a resource"),
    (keyed("cloudflare-workers-ai"), 1, "no account: set CLOUDFLARE_ACCOUNT_ID"),
    (keyed("cloudflare-ai-gateway"), 1, "no account: set CLOUDFLARE_ACCOUNT_ID"),
    (keyed("bedrock"), 1, "no AWS region"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG, ids=[w[2] for w in WRONG])
def test_a_wrong_file_is_refused_with_its_line(
    tmp_path: Path,
    text: str | bytes,
    line: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, printed = check(tmp_path, text, capsys)

    assert code != 0
    assert f"line {line}: " in printed
    assert message in printed


def test_a_command_that_hangs_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmcore.bridge.pools.keys._COMMAND_S", 0.2)
    text = UNKEYED + 'key_command = ["sleep", "60"]\n' + MODEL
    code, printed = check(tmp_path, text, capsys)

    assert code != 0
    assert "the program sleep of key_command has not ended after 0.2 seconds" in printed


def test_a_command_may_print_more_than_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line is the key."""
    text = UNKEYED + 'key_command = ["printf", "one\\\\ntwo"]\n' + MODEL
    assert check(tmp_path, text, capsys)[0] == 0
