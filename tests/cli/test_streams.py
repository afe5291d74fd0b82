"""Standard streams of the command lines: what reaches a terminal, and what happens without one."""

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmcore.cli import main, openbridge, program
from llmcore.cli.program import escaped, printable
from tests.support.servers.bridge_process import environ
from tests.support.servers.loopback import Answer, Loopback, chat_stream

pytestmark = pytest.mark.slow

SSE = {"content-type": "text/event-stream"}
LLMCORE = [sys.executable, "-m", "llmcore"]
OPENBRIDGE = [sys.executable, "-c", "from llmcore.cli.openbridge import main; exit(main())"]
EVIL = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2J\rc\x9b31m\x7f\nd\te"
HARMLESS = "a]52;c;ZXZpbA==b[2Jc31m\nd\te"


def answer_with(server: Loopback, *texts: str) -> None:
    server.handler = lambda _: Answer(chat_stream(list(texts)), headers=SSE)


def shell(command: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    script = command.replace("llmcore", " ".join(LLMCORE))
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, check=False, timeout=60, **more
    )


# -- control characters


def test_control_characters_are_removed_from_text() -> None:
    """All but line ends and tabs; what they began is harmless without them."""
    assert printable(EVIL) == HARMLESS
    assert printable("é 😀\u200f\n\tb") == "é 😀\u200f\n\tb"


def test_a_response_has_no_control_characters(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever deltas they are cut into, and whether or not a terminal reads them."""
    answer_with(server, *EVIL)

    assert main(["ask", "-m", "vllm:m-1", "Hi"]) == 0
    assert capsys.readouterr().out == HARMLESS + "\n"


@pytest.mark.parametrize("options", [[], ["--no-stream"]])
def test_an_error_has_no_control_characters(
    server: Loopback, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """Its message is the server's."""
    data = json.dumps({"error": {"message": f"bad {EVIL}"}}).encode()
    server.handler = lambda _: Answer([data], 400, {"content-type": "application/json"})

    assert main(["ask", *options, "-m", "vllm:m-1", "Hi"]) == 5
    err = capsys.readouterr().err
    assert f"bad {HARMLESS}" in err
    assert "\x1b" not in err


def test_json_escapes_control_characters(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is lost, and nothing reaches a terminal."""
    answer_with(server, EVIL)

    assert main(["ask", "--json", "-m", "vllm:m-1", "Hi"]) == 0
    out = capsys.readouterr().out
    assert printable(out) == out
    events = [json.loads(line) for line in out.splitlines()]
    assert "".join(e["text"] for e in events if e["type"] == "text-delta") == EVIL
    assert json.loads(escaped(json.dumps(EVIL, ensure_ascii=False))) == EVIL


def test_a_stored_conversation_is_shown_without_control_characters(
    server: Loopback, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    """It holds what the model wrote; its export has it as escapes."""
    monkeypatch.setenv("LLMCORE_SESSIONS", str(tmp_path / "s.db"))
    answer_with(server, EVIL)
    assert main(["ask", "-q", "--session", "s", "-m", "vllm:m-1", "Hi"]) == 0
    capsys.readouterr()

    assert main(["sessions", "show", "s"]) == 0
    shown = capsys.readouterr().out
    assert HARMLESS in shown
    assert printable(shown) == shown
    assert main(["sessions", "export", "s"]) == 0
    exported = capsys.readouterr().out
    assert printable(exported) == exported
    assert any(EVIL in str(json.loads(line)) or EVIL in line for line in exported.splitlines()) or (
        json.dumps(EVIL)[1:-1] in exported
    )


# -- streams that are closed or full


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_empty_streams(server: Loopback, closed: str) -> None:
    """As cron and some supervisors start programs."""
    done = shell(f"llmcore ask -m vllm:m-1 Hi {closed}")

    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    if ">&-" not in closed.replace("2>&-", ""):
        assert done.stdout == b"Hello\n"


def test_on_windows_a_reader_that_has_left_is_reported_as_an_invalid_argument(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 0, as where the system reports a broken pipe."""
    for platform, code in (("linux", 1), ("win32", 0)):
        monkeypatch.setattr("llmcore.cli.program.sys.platform", platform)
        with monkeypatch.context() as patch:
            patch.setattr(program, "_discard_output", lambda: None)
            patch.setattr(program, "_dispatch", _fail_as_windows_does)
            assert program.run(program.Parser(prog="llmcore"), []) == code
    assert capfd.readouterr().err == "llmcore: Invalid argument\n"


def _fail_as_windows_does(*_: object) -> int:
    raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "llmcore ask -m vllm:m-1 Hi </dev/null >/dev/full",
        "llmcore ask --json -m vllm:m-1 Hi </dev/null >/dev/full",
        "llmcore prepare -m vllm:m-1 Hi </dev/null >/dev/full",
        "llmcore models >/dev/full",
    ],
)
def test_output_that_cannot_be_written_is_an_error_in_a_line(
    server: Loopback, command: str
) -> None:
    """No traceback, neither in the program nor when the interpreter ends."""
    done = shell(command)

    assert done.returncode == 1
    assert done.stderr.decode().strip().endswith("llmcore: No space left on device")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_errors_that_cannot_be_written_leave_the_exit_code(server: Loopback) -> None:
    """The code is all that is left to tell."""
    assert shell("llmcore ask -m vllm: Hi </dev/null 2>/dev/full").returncode == 5


INTERRUPT = """
import atexit, signal, sys, weakref

way, module, program = sys.argv[1:4]
del sys.argv[1:4]

class Interrupts:
    def __set_name__(self, *_):
        signal.raise_signal(signal.SIGINT)

def in_a_callback():  # whose exceptions are printed
    kept = weakref.ref(Interrupts(), lambda _: signal.raise_signal(signal.SIGINT))

def in_a_class():  # whose exceptions become a RuntimeError
    type("Made", (), {"name": Interrupts()})

class Finder:
    def find_spec(self, name, *_):
        if name == module:
            sys.meta_path.remove(self)
            globals()[way]()

sys.meta_path.insert(0, Finder())
if module == "atexit":
    atexit.register(globals()[way])
if program == "llmcore":
    from llmcore.cli import main
else:
    from llmcore.cli.openbridge import main
sys.exit(main())
"""
"""Interrupts itself in the way, and when the module is imported, that its arguments name."""


@pytest.mark.parametrize("way", ["in_a_callback", "in_a_class"])
@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("argparse", "llmcore models"),
        ("llmcore.generation.stream", "llmcore ask -m vllm:m-1 Hi"),
        ("llmcore.cli.gateway", "openbridge serve"),
        ("llmcore.bridge.http.app", "openbridge serve"),
        ("llmcore.bridge.service", "openbridge run -- true"),
        ("atexit", "llmcore models"),
    ],
)
def test_ctrl_c_while_the_program_starts_or_ends_shows_no_traceback(
    module: str, command: str, way: str, tmp_path: Path
) -> None:
    """Wherever it is at that moment, and nothing goes on after it."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT, way, module, *command.split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=environ(tmp_path, OPENBRIDGE_UPSTREAM="openrouter", OPENROUTER_API_KEY="k"),
        timeout=60,
    )

    assert (done.returncode, done.stderr) == (130, b"")


def test_an_env_file_that_is_not_text_is_an_error_in_a_line(tmp_path: Path) -> None:
    """One Latin-1 byte is enough."""
    (tmp_path / ".env").write_bytes(b"OPENBRIDGE_UPSTREAM=caf\xe9\n")
    done = subprocess.run(
        [*OPENBRIDGE, "serve"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 9
    assert b"Traceback" not in done.stderr
    assert b".env" in done.stderr
    assert b"UTF-8" in done.stderr


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_picture_without_an_end_is_refused(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device has no size to look at; a pipe is read like a file."""
    monkeypatch.setattr("llmcore.client.media_files.MAX_FILE_BYTES", 1000)

    assert main(["ask", "-m", "vllm:m-1", "--image", "/dev/zero", "Hi"]) == 5
    assert "/dev/zero has more than 1000 bytes" in capsys.readouterr().err
    assert server.received == []
    done = shell(
        "llmcore ask -q -m vllm:m-1 --image <(printf '\\x89PNG\\r\\n\\x1a\\n') Hi </dev/null"
    )
    assert done.stdout == b"Hello\n", done.stderr


@pytest.mark.parametrize(("program", "command"), [(main, "models"), (openbridge.main, "serve")])
def test_a_usage_error_repeats_no_control_characters(
    program: Callable[[list[str]], int], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An argument may have been pasted from anywhere."""
    with pytest.raises(SystemExit, match="2"):
        program([command, "--\x1b]52;c;evil\x07"])

    assert "\x1b" not in (shown := capsys.readouterr().err)
    assert "evil" in shown
