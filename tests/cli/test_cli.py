"""The command line, against a real server on loopback."""

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from llmcore.cli import main, openbridge
from llmcore.cli.commands import COMMANDS, Commands, Program, parser_with_options
from llmcore.cli.failures import EXIT_CODES, exit_code, explain
from llmcore.cli.printing import TextPrinter, describe
from llmcore.client.client import Client
from llmcore.protocols.openai_chat.models import ChatDialect
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.errors import AbortError, AuthenticationError, RateLimitError, error_types
from llmcore.schema.events import ReasoningDelta
from llmcore.schema.usage import Usage
from llmcore.version import VERSION
from tests.support.programs.packages import without
from tests.support.servers.loopback import Answer, Loopback, chat_chunk, chat_stream
from tests.support.waiting import wait_until


def error_answer(status: int, message: str) -> Answer:
    data = json.dumps({"error": {"message": message}}).encode()
    return Answer([data], status, {"content-type": "application/json"}, length=len(data))


def test_ask_prints_the_response_and_what_it_cost(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """The response goes to stdout, everything else to stderr."""
    assert main(["ask", "-m", "vllm:m-1", "Hi", "there"]) == 0

    out, err = capsys.readouterr()
    assert out == "Hello\n"
    assert "3 tokens in, 2 out" in err
    body = server.received[0].json
    assert isinstance(body, dict)
    assert body["stream"] is True
    assert body["messages"] == [{"role": "user", "content": "Hi there"}]


def test_diagnostics_of_the_request_are_shown(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A picture is not dropped without a word."""
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    facade = OpenAICompatible.configure(
        name="blind", base_url=server.url + "/v1", dialect=ChatDialect(images=False)
    )
    monkeypatch.setattr("llmcore.cli.ask.make_client", lambda: Client(providers={"blind": facade}))

    assert main(["ask", "-m", "blind:m-1", "--image", str(picture), "Hi"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert "unsupported-content" in line
    assert main(["ask", "-q", "-m", "blind:m-1", "--image", str(picture), "Hi"]) == 0
    assert capsys.readouterr().err == ""


def test_the_cost_is_that_of_the_catalog(
    server: Loopback, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the provider states none."""
    script = (chunk for chunk in chat_stream() if isinstance(chunk, bytes))
    chunks = [chunk.replace(b'"m-1"', b'"gpt-5.2"') for chunk in script]
    server.handler = lambda _: Answer(chunks, headers={"content-type": "text/event-stream"})
    facade = OpenAICompatible.configure(name="openai", base_url=server.url + "/v1", api_key="k")
    monkeypatch.setattr("llmcore.cli.ask.make_client", lambda: Client(providers={"openai": facade}))

    assert main(["ask", "-m", "openai:gpt-5.2", "Hi"]) == 0
    assert re.search(r"\$0\.\d{6}, ", capsys.readouterr().err)


def test_a_response_in_one_piece_has_no_speed(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of its tokens came at once."""
    assert main(["ask", "--no-stream", "-m", "vllm:m-1", "Hi"]) == 0
    err = capsys.readouterr().err
    assert "s in all" in err
    assert "tokens/s" not in err
    assert "first after" not in err


@pytest.mark.parametrize(("seconds", "shown"), [(2.0, "50 tokens/s"), (0.01, "")])
def test_the_speed_is_that_of_a_response_that_arrives_over_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float, shown: str
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)

    text = describe(Usage(output_tokens=100), None, started=90.0, first=100.0 - seconds)

    assert ("tokens/s" in text) == bool(shown)
    assert shown in text


@pytest.mark.parametrize(("cost", "shown"), [(0.0, ", $0, "), (0.00042, ", $0.000420, ")])
def test_a_response_without_a_price_costs_zero_dollars(cost: float, shown: str) -> None:
    assert shown in describe(Usage(output_tokens=10), cost, started=0.0, first=None)


@pytest.mark.parametrize(
    ("variable", "dimmed"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_reasoning_is_dimmed_where_the_terminal_takes_colours(
    monkeypatch: pytest.MonkeyPatch, variable: dict[str, str], *, dimmed: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)

    printer = TextPrinter(terminal, quiet=False, streamed=True)
    printer.show(ReasoningDelta("r", "Hm."))

    assert ("\x1b[2mHm." in terminal.getvalue()) == dimmed


@pytest.mark.parametrize(("estimated", "shown"), [(True, "about 7 of"), (False, ", 7 of")])
def test_an_estimate_of_reasoning_tokens_is_shown_as_one(*, estimated: bool, shown: str) -> None:
    usage = Usage(output_tokens=10, reasoning_tokens=7, reasoning_estimated=estimated)

    assert f"{shown} them reasoning" in describe(usage, None, started=0.0, first=None)


@pytest.mark.parametrize(
    ("option", "shown"),
    [("--max-tokens", "'ten' is not a whole number"), ("--temperature", "'ten' is not a number")],
)
def test_an_option_that_is_not_a_number_is_explained(
    option: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["ask", option, "ten", "Hi"])
    assert f"argument {option}: {shown}, such as" in capsys.readouterr().err


def test_quiet_prints_the_response_alone(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script that wants the text gets nothing else."""
    assert main(["ask", "-q", "-m", "vllm:m-1", "Hi"]) == 0
    assert capsys.readouterr() == ("Hello\n", "")


def test_ask_takes_stdin_system_and_options(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Text on stdin follows the prompt; options land in the request."""
    monkeypatch.setattr("sys.stdin", io.StringIO("some text\n"))
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    options = ["--system", "Be brief.", "--max-tokens", "7", "--temperature", "0.5"]
    command = ["ask", "-m", "vllm:m-1", *options, "--image", str(picture), "--no-stream", "Read:"]

    assert main(command) == 0

    body = server.received[0].json
    assert isinstance(body, dict)
    assert "stream" not in body or body["stream"] is False
    assert (body["max_completion_tokens"], body["temperature"]) == (7, 0.5)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][1]["content"][0] == {"type": "text", "text": "Read:\n\nsome text"}
    assert body["messages"][1]["content"][1]["type"] == "image_url"


def test_ask_prints_events_as_json_lines(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line is an event that says its type."""
    assert main(["ask", "--json", "-m", "vllm:m-1", "Hi"]) == 0

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0]["type"] == "stream-start"
    assert events[-1]["type"] == "finish"
    assert "".join(e["text"] for e in events if e["type"] == "text-delta") == "Hello"


def test_reasoning_goes_to_stderr_when_piped(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thinking is shown, but it is not the response."""
    thought = chat_chunk(delta={"reasoning_content": "Hmm."})
    server.handler = lambda _: Answer(
        [thought, *chat_stream()], headers={"content-type": "text/event-stream"}
    )

    assert main(["ask", "-m", "vllm:m-1", "Hi"]) == 0

    out, err = capsys.readouterr()
    assert out == "Hello\n"
    assert "Hmm." in err


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "bad key", 3),
        (429, "slow down", 4),
        (404, "no such model", 5),
        (400, "this model's maximum context length is 8 tokens", 5),
        (500, "broken", 8),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"], ["--no-stream"]])
def test_exit_codes_differ_by_class_of_error(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    status: int,
    message: str,
    code: int,
    options: list[str],
) -> None:
    """A script can react to the class of the error."""
    server.handler = lambda _: error_answer(status, message)

    assert main(["ask", *options, "-m", "vllm:m-1", "Hi"]) == code

    out, err = capsys.readouterr()
    assert message in (out if "--json" in options else err)


def test_without_a_terminal_the_error_names_the_argument(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a provider, keys and the local model are offered."""
    monkeypatch.delenv("VLLM_BASE_URL")

    assert main(["ask", "Hi"]) == 9
    assert "OPENAI_API_KEY" in (message := capsys.readouterr().err)
    assert "--local" in message


def test_an_id_alone_without_any_provider_names_the_maker(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VLLM_BASE_URL")

    assert main(["ask", "-m", "claude-sonnet-4-5", "Hi"]) == 9
    assert "provider 'anthropic' is not configured: set ANTHROPIC" in capsys.readouterr().err
    assert main(["ask", "-m", "unheard-of", "Hi"]) == 9
    assert "no provider is configured" in capsys.readouterr().err


@pytest.mark.parametrize("configured", [{}, {"ANTHROPIC_API_KEY": "k"}])
def test_an_id_alone_is_prepared_for_its_maker_without_a_key(
    server: Loopback,
    configured: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("VLLM_BASE_URL")
    for name, value in configured.items():
        monkeypatch.setenv(name, value)

    assert main(["prepare", "-m", "gpt-5.2", "Hi"]) == 0
    assert "https://api.openai.com/v1/responses" in capsys.readouterr().out


def test_no_model_lists_who_is_configured(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is never guessed."""
    assert main(["ask", "Hi"]) == 9
    assert "vllm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("openai:gpt-5.2", "the provider 'openai' is not configured: set OPENAI_API_KEY"),
        ("gemini:g", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("opnai:gpt-5.2", "there is no provider 'opnai': did you mean 'openai'?"),
        ("zzzz:gpt-5.2", "there is no provider 'zzzz': there are openai, anthropic"),
    ],
)
def test_a_provider_that_is_not_configured_is_reported_with_its_variable(
    server: Loopback, capsys: pytest.CaptureFixture[str], model: str, hint: str
) -> None:
    """Whether or not another one is configured."""
    assert main(["ask", "-m", model, "Hi"]) == 9
    assert hint in capsys.readouterr().err


def test_a_missing_prompt_is_wrong_usage(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent, and the message has no name of a class."""
    assert main(["ask", "-m", "vllm:m-1"]) == 2
    assert server.received == []
    assert capsys.readouterr().err.startswith("llmcore: error: there is nothing to ask")


@pytest.mark.parametrize("name", ["ask", "chat", "prepare"])
def test_two_models_are_wrong_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([name, "--local", "--model", "vllm:m-1", "Hi"])

    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["--versoin"], "did you mean --version?"),
        (["help", "aks"], "there is no command 'aks': did you mean 'ask'?"),
        (["templates"], "there is no command 'templates': write `llmcore config`"),
        (["version"], "there is no command 'version': write `llmcore --version`"),
        (["help", "serve"], "there is no command 'serve': write `openbridge serve`"),
        (["Why is the sky blue?"], 'write `llmcore ask "PROMPT"`'),
        (["-m", "vllm:m-1", "Hi"], "unrecognized arguments: -m: write `llmcore ask -m ...`"),
        (["--port=80"], "unrecognized arguments: --port\n"),
        (["-V"], "did you mean --version?"),
        (["ask", "--file", "a.pdf", "Hi"], "did you mean --attach?"),
        (["ask", "--stream", "Hi"], "it is the default: leave it out"),
        (["ask", "--verbose", "Hi"], "set the variable LLMCORE_LOG=debug"),
        (["ask", "Hi", "--api-key=sk-1"], "arguments: --api-key: store it with `llmcore keys set"),
        (["doctor", "now", "--api-key", "sk-1"], "arguments: --api-key: store it with"),
        (["doctor", "now", "--ofline"], "did you mean --offline?"),
        (["image", "A fox", "--mdel", "openai:m"], "arguments: --mdel: did you mean --model?"),
        (["image", "A fox", "--siez=2K"], "arguments: --siez: did you mean --size?"),
        (["keys", "sett"], ": did you mean 'set'?"),
    ],
)
def test_misspelt_words_are_named(
    command: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(command)

    shown = capsys.readouterr().err
    assert told in shown
    assert "sk-1" not in shown
    assert "show this help" not in shown


def test_a_prompt_that_the_locale_cannot_decode_is_read_as_utf_8(server: Loopback) -> None:
    """Python passes such bytes as lone surrogates, which no server accepts."""
    assert main(["ask", "-m", "vllm:m-1", "-s", "br\udcc3\udcbcsk", "Gr\udcc3\udcbcn?"]) == 0
    body = server.received[0].json
    assert isinstance(body, dict)
    assert [message["content"] for message in body["messages"]] == ["brüsk", "Grün?"]


def test_a_prompt_that_is_not_text_is_wrong_usage(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "-m", "vllm:m-1", "caf\udce9"]) == 2
    assert "iconv" in capsys.readouterr().err
    assert server.received == []


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["ask", "Hi"], "or use the small local model with --local"),
        (["batch", "run", "requests.jsonl"], "or use the small local model with -m local:any"),
        (["image", "A fox"], "OPENAI_API_KEY, or store a key with `llmcore keys set openai`\n"),
    ],
)
def test_the_local_model_is_offered_where_it_serves(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("requests.jsonl").write_text('{"id": "a", "prompt": "Hi"}')

    assert main([*argv, "-m", "openai:m"]) == 9
    assert told in capsys.readouterr().err


def test_a_home_that_is_not_a_folder_has_no_configuration(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`/dev/null` is the home of many accounts of services."""
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)

    assert main(["ask", "-m", "vllm:m-1", "Hi"]) == 0
    assert main(["keys", "list"]) == 0
    assert "no keys are stored" in capsys.readouterr().err


def _help_pages(prog: str, commands: Commands) -> Iterator[str]:
    parsers: list[argparse.ArgumentParser] = [parser_with_options(Program(prog, "", commands))]
    while parsers:
        parser = parsers.pop()
        yield parser.format_help()
        choices = [action.choices for action in parser._actions]
        parsers += [one for each in choices if isinstance(each, dict) for one in each.values()]


@pytest.mark.parametrize("columns", ["60", "80"])
def test_lines_of_help_end_neither_in_an_option_nor_in_a_command(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """So that each can be copied."""
    monkeypatch.setenv("COLUMNS", columns)
    pages = [*_help_pages("llmcore", COMMANDS), *_help_pages("openbridge", openbridge.COMMANDS)]

    lines = [line for page in pages for line in page.splitlines()]
    assert len(pages) > 40
    assert [line for line in lines if line.count("`") % 2] == []
    assert [line for line in lines if re.search(r"[a-z]-$", line)] == []
    assert [line for line in lines if len(line) > int(columns) and "`" not in line] == []


def test_options_of_subcommands_cannot_be_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    """Or a new option could change what a script means."""
    with pytest.raises(SystemExit, match="2"):
        main(["batch", "run", "--conc", "3", "requests.jsonl"])

    assert "did you mean --concurrency?" in capsys.readouterr().err


def test_prepare_prints_and_sends_nothing(
    server: Loopback, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON by default, a shell command on demand; keys are redacted in both."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deepseek-secret")

    assert main(["prepare", "-m", "deepseek:deepseek-chat", "it's"]) == 0
    out, _ = capsys.readouterr()
    document = json.loads(out)
    assert document["method"] == "POST"
    assert document["url"].startswith("https://api.deepseek.com")
    assert document["headers"]["authorization"] == "[redacted]"
    assert main(["prepare", "--curl", "-m", "deepseek:deepseek-chat", "it's"]) == 0
    command = capsys.readouterr().out
    assert command.startswith("curl -X POST https://api.deepseek.com")
    assert "sk-deepseek-secret" not in out + command
    assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0
    assert server.received == []


@pytest.mark.parametrize("command", [["prepare"], ["prepare", "--curl"]])
@pytest.mark.parametrize(
    "model", ["openai:gpt-5.2", "anthropic:claude-opus-4-6", "gemini:gemini-3-pro-preview"]
)
def test_prepare_needs_no_key(
    server: Loopback, capsys: pytest.CaptureFixture[str], command: list[str], model: str
) -> None:
    """Nothing is sent."""
    assert main([*command, "-m", model, "Hi"]) == 0
    assert "Hi" in capsys.readouterr().out


def test_the_curl_command_can_be_run(
    server: Loopback, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell puts the key in; it is not in the command."""
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    prompt = 'it\'s $HOME `x` "q" \\ é \x9b'
    assert main(["prepare", "--curl", "-m", "vllm:m-1", prompt]) == 0
    command = capsys.readouterr().out
    assert "sk-secret" not in command
    assert '"$VLLM_API_KEY"' in command

    done = subprocess.run(["bash", "-c", f"curl -sS {command[5:]}"], capture_output=True)  # noqa: PLW1510
    assert done.returncode == 0, done.stderr
    received = server.received[0]
    assert received.headers["authorization"] == "Bearer sk-secret"
    body = received.json
    assert isinstance(body, dict)
    assert body["messages"] == [{"role": "user", "content": prompt}]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["ask", "--json"], ["prepare"], ["prepare", "--curl"]])
def test_json_is_utf8_whatever_the_terminal_speaks(server: Loopback, command: list[str]) -> None:
    """A terminal without the characters does not get escapes that JSON and shells have not."""
    headers = {"content-type": "text/event-stream"}
    server.handler = lambda _: Answer(chat_stream(["é 😀"]), headers=headers)
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    line = [sys.executable, "-m", "llmcore", *command, "-m", "vllm:m-1", "é 😀"]
    done = subprocess.run(
        line, capture_output=True, check=True, env=environ, stdin=subprocess.DEVNULL
    )

    assert '"é 😀"' in done.stdout.decode("utf-8")


@pytest.mark.parametrize("model", [":m-1", "vllm:", "vllm: ", ":"])
def test_half_a_model_is_refused(
    server: Loopback, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Neither the default provider nor an empty id stands in for what is missing."""
    assert main(["ask", "-m", model, "Hi"]) == 5
    assert "PROVIDER:ID" in capsys.readouterr().err
    assert server.received == []


@pytest.mark.parametrize("command", ["ask", "prepare", "image", "batch run"])
def test_an_empty_model_is_refused_whatever_the_default_is(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """A script's variable that is not set stands for no other model."""
    assert main(["config", "set", "model", "vllm:m-1"]) == 0
    with pytest.raises(SystemExit):
        main([*command.split(), "-m", "", "Hi"])

    assert "argument -m/--model: it is empty" in capsys.readouterr().err
    assert server.received == []


@pytest.mark.slow
def test_stdin_that_is_not_text_is_refused(server: Loopback) -> None:
    """It is not sent in pieces, nor does the program break."""
    for encoding in ("utf-8:strict", "utf-8:surrogateescape"):
        done = subprocess.run(
            [sys.executable, "-m", "llmcore", "ask", "-m", "vllm:m-1", "Read:"],
            input=b"caf\xe9",
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert done.returncode == 5
        assert b"iconv" in done.stderr
        assert b"with -a -" in done.stderr
        assert b"Traceback" not in done.stderr
    assert server.received == []


def test_providers_shows_who_is_configured(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each provider has a line that says what it needs."""
    assert main(["providers"]) == 0

    lines = {line[2:].split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["vllm"].startswith("✓")
    assert "VLLM_BASE_URL" in lines["vllm"]
    assert lines["openai"].startswith(" ")
    assert "OPENAI_API_KEY" in lines["openai"]
    assert lines["ollama"].split(maxsplit=1)[1] == "at its usual address, or set OLLAMA_BASE_URL"

    assert main(["providers", "--json"]) == 0
    facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [fact["id"] for fact in facts if fact["configured"]] == ["vllm"]
    assert facts[0]["variables"] == ["OPENAI_API_KEY"]


def test_local_status_and_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a model, status reports it and fails; removing nothing succeeds."""
    monkeypatch.setenv("LLMCORE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)

    assert main(["local", "status"]) == 1
    assert "llmcore local install" in capsys.readouterr().out
    assert main(["local", "status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"installed": False}
    assert main(["local", "remove"]) == 0


@pytest.mark.slow
def test_ctrl_c_stops_the_request(server: Loopback) -> None:
    """The connection is closed, the exit code is the shell's own, and no traceback is shown."""

    def endless() -> Iterator[bytes | float]:
        while True:
            yield chat_chunk(delta={"content": "x"})
            yield 0.05

    server.handler = lambda _: Answer(endless(), headers={"content-type": "text/event-stream"})
    command = [sys.executable, "-m", "llmcore", "ask", "-m", "vllm:m-1", "Hi"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(2) == b"xx"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert b"Traceback" not in err
    wait_until(lambda: bool(server.disconnects))


@pytest.mark.slow
def test_a_reader_that_leaves_is_not_an_error(server: Loopback) -> None:
    """`llmcore ask | head -c 1` ends quietly."""
    server.handler = lambda _: Answer(
        chat_stream(["x" * 1000] * 200), headers={"content-type": "text/event-stream"}
    )
    command = f"{sys.executable} -m llmcore ask -q -m vllm:m-1 Hi | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert done.stdout == b"x"
    assert b"Traceback" not in done.stderr


def test_every_error_class_has_an_exit_code() -> None:
    """Other classes give 1; a class in the table comes before its base classes."""
    assert exit_code(AbortError("x")) == 1
    for index, (kind, _) in enumerate(EXIT_CODES):
        hidden = [later for later, _ in EXIT_CODES[index + 1 :] if issubclass(later, kind)]
        assert not hidden
    assert set(EXIT_CODES) <= {
        (kind, code) for kind in error_types().values() for code in range(10)
    }


def test_explanation_of_an_error_has_waiting_time_and_request_id() -> None:
    """Waiting time and request id are in the line a person reads."""
    text = explain(RateLimitError("slow down", retry_after=2.5, request_id="r-1"))

    assert "2.5 s" in text
    assert "r-1" in text
    assert "try again" not in explain(RateLimitError("slow down", retry_after=0))


def test_a_refused_key_is_explained_with_its_variable_and_the_command_that_stores_one() -> None:
    refused = AuthenticationError("invalid x-api-key", provider="mistral", status_code=401)
    assert explain(refused).endswith(
        "check MISTRAL_API_KEY, or store a key with `llmcore keys set mistral`"
    )
    assert "keys set" not in explain(AuthenticationError("no", provider="mine", status_code=401))


def test_server_without_responses_is_explained_with_the_provider_for_it(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which asks the same server."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", os.environ["VLLM_BASE_URL"])
    assert main(["ask", "-m", "openai:m-1", "Hi"]) != 0
    assert "here: write -m openai-chat:MODEL" in capsys.readouterr().err
    assert main(["ask", "-m", "openai-chat:m-1", "Hi"]) == 0
    assert main(["ask", "-m", "vllm:m-1", "Hi"]) == 0


@pytest.mark.parametrize(
    ("program", "words", "told"),
    [
        (main, ["keys"], "store a key, typed or on stdin"),
        (main, ["sessions"], "export"),
        (main, ["local"], "download the model's file"),
        (main, ["inspect"], "the following arguments are required"),
        (openbridge.main, ["keys"], "create"),
    ],
)
def test_command_without_what_it_needs_prints_its_help(
    program: Callable[[list[str]], int],
    words: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        program(words)

    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert "show this help message" in shown.err
    assert told in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--temprature=3", ": did you mean --temperature?"),
        ("--temp=3", ": did you mean --temperature or --template?"),
        ("--verson", ": did you mean --version?"),
        ("--verbose", "arguments: --verbose: set the variable LLMCORE_LOG=debug"),
        ("--zzz", "arguments: --zzz"),
    ],
)
def test_misspelled_option_is_refused_with_the_nearest(
    option: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["ask", option, "Hi"])

    assert capsys.readouterr().err.endswith(f"{hint}\n")


@pytest.mark.parametrize(
    ("program", "words", "told"),
    [
        (main, ["help"], "list known models"),
        (main, ["help", "models"], "usage: llmcore models"),
        (main, ["help", "keys", "set"], "usage: llmcore keys set"),
        (main, ["help", "--help"], "list known models"),
        (main, ["--help", "help"], "list known models"),
        (openbridge.main, ["help", "serve"], "usage: openbridge serve"),
    ],
)
def test_help_is_a_command_too(
    program: Callable[[list[str]], int],
    words: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        program(words)

    assert ended.value.code == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("program", [main, openbridge.main])
def test_program_without_a_command_prints_its_commands(
    program: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        program([])

    assert ended.value.code == 2
    assert "positional arguments" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["aiohttp", "httpx"])
def test_version_names_program_version_and_http_engine(
    engine: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is the one that requests go over by default."""
    if engine == "httpx":
        without(monkeypatch, "aiohttp")
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    shown = f"llmcore {VERSION} (HTTP by {engine} {version(engine)})\n"
    assert capsys.readouterr().out == shown
