"""`openbridge replay`: recorded requests, run again; and what `serve` prints in a terminal."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from llmcore.cli.openbridge import main
from llmcore.testing import cassette_file
from llmcore.testing.cassette import (
    Cassette,
    Interaction,
    Metadata,
    RecordedRequest,
    RecordedResponse,
)
from tests.support.programs.fresh_interpreter import run_fresh
from tests.support.servers.loopback import chat_handler, chat_stream, serve

BODY: Any = {"model": "m-1", "input": "Hi", "stream": True, "store": False}


def written(path: Path, url: str, request: bytes, response: bytes, kind: str) -> Path:
    """Write a cassette of one exchange."""
    interaction = Interaction(
        request=RecordedRequest(method="POST", url=url, body=request),
        response=RecordedResponse(headers={"content-type": kind}, body=response),
    )
    cassette = Cassette(metadata=Metadata(name="x"), interactions=(interaction,))
    path.write_text(cassette_file.dumps(cassette))
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start in an empty folder, without anybody's variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)


def test_a_body_against_recorded_responses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is configured, nothing is connected to."""
    (tmp_path / "body.json").write_text(json.dumps(BODY))
    script = b"".join(item for item in chat_stream() if isinstance(item, bytes))
    answers = written(
        tmp_path / "answers.json",
        "http://x/v1/chat/completions",
        b"{}",
        script,
        "text/event-stream",
    )

    assert main(["replay", "body.json", "--responses", str(answers)]) == 0
    events = printed(capsys)
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"


def test_a_cassette_of_requests_against_an_upstream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that a client once sent, replayed to the configured upstream."""
    requests = written(
        tmp_path / "requests.json",
        "http://gateway/v1/responses",
        json.dumps(BODY).encode(),
        b"{}",
        "application/json",
    )
    with serve(chat_handler) as upstream:
        monkeypatch.setenv("OPENROUTER_API_KEY", "k")
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{upstream.url}/v1")
        assert main(["replay", str(requests)]) == 0

    assert printed(capsys)[-1]["type"] == "response.completed"


def test_a_request_that_fails_is_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is printed as a client would read it."""
    body = {**BODY, "previous_response_id": "resp_1"}
    (tmp_path / "body.json").write_text(json.dumps(body))
    answers = written(tmp_path / "answers.json", "http://x", b"{}", b"", "text/event-stream")

    assert main(["replay", "body.json", "--responses", str(answers)]) == 1
    assert printed(capsys)[0]["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    ("text", "says"), [("[]", "not hold a JSON object"), ("{", "cannot be read")]
)
def test_files_that_hold_no_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    """They are named."""
    (tmp_path / "body.json").write_text(text)

    assert main(["replay", "body.json"]) == 5
    assert says in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["keys", "list"], ["usage"], ["serve"], ["run", "--", "true"], ["config", "show"]]
)
def test_command_without_the_extra_of_the_gateway_names_it(words: list[str]) -> None:
    """Before anything else that is missing; other commands run without it."""
    script = (
        "import sys; sys.modules.update(prometheus_client=None); "
        f"from llmcore.cli.openbridge import main; sys.exit(main({words}))"
    )
    keys = {"OPENAI_API_KEY": "k"} if "config" in words else {}
    done = run_fresh(script, check=False, **keys)

    told = "ConfigurationError: the gateway requires: pip install 'llmcore-routes[bridge]'"
    expected = (0, False) if "config" in words else (9, True)
    assert (done.returncode, told in done.stderr) == expected


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")
def test_serve_prints_for_people_in_a_terminal(tmp_path: Path) -> None:
    """Its addresses, its upstream, where its state is, a line to try, and requests as lines."""
    pexpect = pytest.importorskip("pexpect", reason="pexpect runs programs in a pseudo terminal")
    program = "from llmcore.cli.openbridge import main; raise SystemExit(main())"
    state = tmp_path / "state.sqlite3"
    environ = {
        **os.environ,
        "OPENAI_API_KEY": "sk-example",
        "OPENBRIDGE_STATE_PATH": str(state),
    }
    gateway = pexpect.spawn(
        sys.executable,
        ["-c", program, "serve", "--upstream", "openai", "--port", "0"],
        env=environ,
        encoding="utf-8",
        timeout=30,
        dimensions=(60, 300),
        use_poll=True,
    )
    gateway.expect(r"at (http://127\.0\.0\.1:\d+), in front of openai")
    url = gateway.match[1]
    for line in ("Responses +{}/v1/responses", "Messages +{}/v1/messages", f"State +{state}"):
        gateway.expect(line.format(url))
    gateway.expect(f"curl {url}/v1/models")
    gateway.expect("curl .*/v1/responses .*}'")
    httpx.post(f"{url}/v1/messages", json={"model": 5})
    gateway.expect(r"\d\d:\d\d:\d\d request .*path=/v1/messages status=4\d\d")
    assert "{" not in gateway.before.strip()  # no log in JSON
    gateway.sendintr()
    gateway.expect(pexpect.EOF)
    gateway.close()
    assert gateway.exitstatus in (0, 130)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--port", "80"], "write `openbridge serve --port ...`"),
        (["--config=x.toml", "--workers", "2"], "write `openbridge serve --config ...`"),
        (["config", "check", "my.toml"], "write `--config my.toml`"),
        (["serve", "my.toml"], "write `--config my.toml`"),
    ],
)
def test_option_or_file_in_the_wrong_place_is_refused_with_what_to_write(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)

    assert told in capsys.readouterr().err


def test_example_that_cannot_be_written_is_refused_with_its_path(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path("missing", "my.toml")

    assert main(["config", "init", str(file)]) == 1
    assert f"{file}: No such file or directory" in capsys.readouterr().err
