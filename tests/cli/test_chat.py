"""`llmcore chat`, in a pseudo terminal and with plain input."""

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.cli import main
from llmcore.cli.chat import _files
from llmcore.cli.chat_input import PlainReader
from llmcore.cli.markdown_printer import Blocks
from tests.support.programs.packages import without
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    serve,
)

pexpect = pytest.importorskip("pexpect", reason="pexpect runs programs in a pseudo terminal")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo terminals")


EDITING = re.escape("\x1b[?2004h")
"""The terminal receives this when a line can be typed."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Run a Chat server, configured in the environment as vLLM."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    with serve(chat_handler) as running:
        monkeypatch.setenv("VLLM_BASE_URL", running.url + "/v1")
        yield running


def sent(server: Loopback) -> list[str]:
    """Return the texts of the last request."""
    body = server.received[-1].json
    assert isinstance(body, dict)
    return [one["content"] for one in body["messages"]]


def spawn(*options: str, **variables: str) -> Any:
    """Start a chat in a pseudo terminal."""
    environ = {
        **os.environ,
        "TERM": "xterm",
        "COLUMNS": "80",
        **variables,
    }
    command = ["-m", "llmcore", "chat", "-m", "vllm:m-1", *options]
    return pexpect.spawn(
        sys.executable,
        command,
        env=environ,
        encoding="utf-8",
        timeout=20,
        dimensions=(40, 100),
        use_poll=True,
    )


@pytest.mark.slow
def test_a_chat_in_a_terminal(server: Loopback) -> None:
    """Responses are formatted; several lines are one question; Ctrl-C stops a response alone."""
    text = "A **bold** word."
    script = [chat_chunk(delta={"content": text}), chat_chunk(delta={}, finish_reason="stop")]
    stream = {"content-type": "text/event-stream"}
    server.handler = lambda _: Answer([*script, b"data: [DONE]\n\n"], headers=stream)
    chat = spawn()
    chat.logfile_read = shown = io.StringIO()
    chat.expect(EDITING)
    chat.send("First line")
    chat.send("\x1b\r")  # Alt-Enter
    chat.send("second\r")
    chat.expect("\x1b\\[1mbold\x1b\\[0m")
    chat.expect(EDITING)
    assert sent(server) == ["First line\nsecond"]

    def endless() -> Iterator[bytes | float]:
        while True:
            yield chat_chunk(delta={"content": "again "})
            yield 0.02

    server.handler = lambda _: Answer(endless(), headers=stream)
    chat.send("Go on\r")
    chat.expect("again again")
    chat.sendintr()
    chat.expect("stopped")
    assert "^C" not in chat.before  # it would be within the response
    server.handler = chat_handler
    chat.expect(EDITING)
    chat.send("Hi\r")
    chat.expect("Hello")
    chat.expect("\x1b\\[2m\\[.*s in all\\]\x1b\\[0m")  # dimmed
    assert sent(server) == ["First line\nsecond", text, "Hi"]
    assert "\x1b[6n" not in shown.getvalue()  # the request of the cursor's position
    chat.expect(EDITING)
    chat.sendeof()
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 0


@pytest.mark.slow
def test_a_line_that_is_typed_early_is_sent(server: Loopback) -> None:
    """Before the chat reads keys, the terminal turns a return into a line feed."""
    chat = spawn()
    chat.send("Typed before the start\r")
    chat.expect("Hello")
    chat.expect("s in all")
    assert sent(server)[-1] == "Typed before the start"

    def slow() -> Iterator[bytes | float]:
        yield chat_chunk(delta={"content": "Begun."})
        yield 1.0
        yield chat_chunk(delta={}, finish_reason="stop")
        yield b"data: [DONE]\n\n"

    server.handler = lambda _: Answer(slow(), headers={"content-type": "text/event-stream"})
    chat.expect(EDITING)
    chat.send("Slowly\r")
    chat.expect("Begun")
    server.handler = chat_handler
    chat.send("Typed meanwhile\r")
    chat.expect("Hello")
    assert sent(server)[-1] == "Typed meanwhile"
    chat.close()


@pytest.mark.slow
def test_ask_without_a_prompt_in_a_terminal_is_a_chat(server: Loopback) -> None:
    """Input comes from a terminal."""
    environ = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    command = ["-m", "llmcore", "ask", "-m", "vllm:m-1"]
    chat = pexpect.spawn(
        sys.executable, command, env=environ, encoding="utf-8", timeout=20, use_poll=True
    )
    chat.expect("/help")
    chat.expect("> ")
    chat.send("/exit\r")
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 0


# -- with plain input


def chat(lines: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """Run a chat that reads *lines*."""
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return main(["chat", "-m", "vllm:m-1", *options])


def test_commands_change_what_is_asked(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model, the instructions, and what is attached to one question."""
    (folder := Path(os.environ["XDG_DATA_HOME"])).mkdir()
    (folder / "a.txt").write_text("Some text.")
    lines = [
        "/model vllm:m-2",
        "/system Be brief.",
        f"/attach {folder / 'a.txt'}",
        "Read \\",
        "this.",
        "And now?",
        "/cost",
    ]
    assert chat("\n".join(lines), monkeypatch) == 0

    first, second = (one.json for one in server.received)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["model"], first["messages"][0]["content"]) == ("m-2", "Be brief.")
    assert first["messages"][1]["content"].startswith("Read \nthis.")
    assert "Some text." in first["messages"][1]["content"]
    assert second["messages"][-1]["content"] == "And now?"
    assert "6 tokens in, 4 out, unknown cost of 2 responses" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("separator", "text", "files"),
    [
        ("/", "a.txt 'b c.txt' d\\ e.txt", ["a.txt", "b c.txt", "d e.txt"]),
        ("\\", r"C:\my files\a.txt", [r"C:\my files\a.txt"]),
        ("\\", r'"C:\my files\a.txt" "b.txt"', [r"C:\my files\a.txt", "b.txt"]),
    ],
)
def test_attached_paths_may_have_spaces_and_quotes_as_the_system_writes_them(
    monkeypatch: pytest.MonkeyPatch, separator: str, text: str, files: list[str]
) -> None:
    monkeypatch.setattr("os.sep", separator)
    assert _files(text) == files


def test_name_of_a_model_has_the_api_that_was_chosen(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name is one that `--model` takes."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", os.environ["VLLM_BASE_URL"])
    assert chat("/model openai-chat:m-2\n/model openai:m-2\n", monkeypatch) == 0

    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["openai-chat:m-2", "openai:m-2"]
    assert shown.err.startswith("vllm:m-1 in ")


def test_a_chat_is_saved_under_a_name_and_goes_on(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`/save` keeps what was said; `/new` begins anew."""
    assert chat("One\n/save trip\nTwo\n/new\nThree\n", monkeypatch) == 0
    assert sent(server) == ["Three"]
    assert chat("Four\n", monkeypatch, "--session", "trip") == 0
    assert sent(server) == ["One", "Hello", "Two", "Hello", "Four"]
    capsys.readouterr()
    assert chat("Five\n/save trip\n/save other\n/save other\n", monkeypatch) == 0
    told = capsys.readouterr().err
    assert "there is a conversation 'trip' already: choose another name" in told
    assert "this conversation is stored as 'other' already" in told


def test_a_chat_that_is_not_logged_is_stored_when_it_is_saved(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier and the later messages are stored."""
    assert chat("One\n/save trip\nTwo\n", monkeypatch, "--no-log") == 0
    assert chat("Three\n", monkeypatch, "--session", "trip") == 0
    assert sent(server) == ["One", "Hello", "Two", "Hello", "Three"]


def test_a_line_with_a_space_before_its_slash_is_a_question(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chat(" /etc/hosts is what?\n", monkeypatch) == 0
    assert sent(server) == ["/etc/hosts is what?"]


def call_then_text(received: Received) -> Answer:
    """Return a call of the first tool, or the text of its result."""
    body: Any = received.json
    stream = {"content-type": "text/event-stream"}
    if body["messages"][-1]["role"] == "tool":
        script = [chat_chunk(delta={"content": body["messages"][-1]["content"]})]
        script += [chat_chunk(delta={}, finish_reason="stop"), b"data: [DONE]\n\n"]
        return Answer(script, headers=stream)
    name = body["tools"][0]["function"]["name"]
    call = {"index": 0, "id": "c1", "function": {"name": name, "arguments": '{"path": "a"}'}}
    script = [chat_chunk(delta={"tool_calls": [call]})]
    script += [chat_chunk(delta={}, finish_reason="tool_calls"), b"data: [DONE]\n\n"]
    return Answer(script, headers=stream)


NEEDS_APPROVAL = """\
from llmcore import tool

@tool(needs_approval=True)
def delete(path: str) -> str:
    'Delete a file.'
    return f"{path} is deleted"
"""


@pytest.mark.parametrize("command", ["ask", "chat"])
@pytest.mark.parametrize(
    ("typed", "told"),
    [("y\n", "a is deleted\n"), ("\n", "did not approve"), ("", "did not approve")],
)
def test_the_user_is_asked_about_calls_that_need_approval(
    command: str,
    typed: str,
    told: str,
    server: Loopback,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The run continues with the decision, and is stored as one conversation."""
    server.handler = call_then_text
    (tmp_path / "files.py").write_text(NEEDS_APPROVAL)
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    options = ["-m", "vllm:m-1", "--tool", f"{tmp_path / 'files.py'}:delete", "Delete a."]
    monkeypatch.setattr("llmcore.cli.chat.line_reader", lambda *_: PlainReader())
    monkeypatch.setattr("llmcore.cli.chat.echo_off", nullcontext)
    assert main([command, *options]) == 0

    shown = capsys.readouterr()
    assert 'run delete({"path": "a"})? [y/N]' in shown.err
    assert told in shown.out
    assert main(["logs", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    roles = [one["role"] for one in json.loads(line)["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_calls_are_refused_where_nobody_can_be_asked(
    server: Loopback,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The model receives an error result, and the user reads the reason."""
    server.handler = call_then_text
    (tmp_path / "files.py").write_text(NEEDS_APPROVAL)
    assert chat("Delete a.\ny\n", monkeypatch, "--tool", f"{tmp_path / 'files.py'}:delete") == 0

    shown = capsys.readouterr()
    assert "it needs approval, and standard input is not a terminal" in shown.err
    assert "did not approve" in shown.out


def test_tools_are_added_and_listed(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By module and function."""
    assert chat("/tools\n/tools shlex:quote\n/tools\nHi\n", monkeypatch) == 0
    shown = capsys.readouterr().out
    assert shown.index("(none)") < shown.index("quote")
    body = server.received[0].json
    assert isinstance(body, dict)
    assert body["tools"][0]["function"]["name"] == "quote"


def test_mistakes_and_failures_do_not_end_the_chat(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are printed, and the next line is read."""
    lines = "/nothing\n/modl x\n/model nobody:x\n/attach no-such-file\n/save\n/help\nHi\n"
    lines = f"/attach it's.png\n{lines}"
    answers = iter([Answer([b"{}"], 400, {"content-type": "application/json"}, length=2)])
    server.handler = lambda received: next(answers, None) or chat_handler(received)
    assert chat(lines + "Again\n/quit\nNever\n", monkeypatch) == 0

    shown = capsys.readouterr()
    for told in (
        "no command /nothing; /help lists them",
        "no command /modl: did you mean /model?",
        "no provider 'nobody'",
        "no-such-file",
        "a quote of it's.png has no end",
        "/save NAME",
        "400",
    ):
        assert told in shown.err
    assert "/attach" in shown.out
    assert shown.out.endswith("Hello\n")
    assert sent(server) == ["Again"]


def test_a_chat_works_without_the_packages_of_the_extra(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text is then printed as it comes."""
    without(monkeypatch, "rich", "rich.console", "prompt_toolkit")
    assert chat("Hi\n", monkeypatch) == 0
    assert capsys.readouterr().out == "Hello\n"


def test_a_schema_is_for_ask(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chat answers in text."""
    with pytest.raises(SystemExit, match="2"):
        chat("Hi\n", monkeypatch, "--schema", "name")


@pytest.mark.parametrize("options", [["--schema", "name"], ["--json"]])
def test_a_form_of_output_begins_no_chat(
    server: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
) -> None:
    terminal = io.StringIO("")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)

    assert main(["ask", "-m", "vllm:m-1", *options]) == 2
    assert "nothing to ask" in capsys.readouterr().err


# -- Markdown


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("", ""),
        ("One line", ""),
        ("A paragraph.\n\n", ""),
        ("A paragraph.\n\nN", "A paragraph.\n\n"),
        ("- item\n\n  of the same item\n", ""),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n\nmore\n```\n\nText", "```\ncode\n\nmore\n```\n\n"),
        ("~~~~\n~~~\n\na\n", ""),
        ("a\n\nb\n\nc", "a\n\nb\n\n"),
    ],
)
def test_blocks_are_complete_when_the_next_begins(text: str, done: str) -> None:
    """A fence holds empty lines, and an indented paragraph may belong to a list."""
    blocks = Blocks()
    assert blocks.feed(text) == done
    assert done + blocks.open == text


@given(
    st.lists(st.sampled_from(["a", "- b", "  c", "```", "~~~", "", " ", "# d"])),
    st.integers(1, 5),
)
def test_blocks_do_not_depend_on_the_pieces_of_the_text(lines: list[str], size: int) -> None:
    """Nothing is lost between the pieces."""
    text = "\n".join(lines)
    whole, pieces = Blocks(), Blocks()
    done = "".join([pieces.feed(text[at : at + size]) for at in range(0, len(text), size)])
    assert done == whole.feed(text)
    assert done + pieces.open == text


def test_a_chat_without_the_local_model_ends_before_a_question_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("llmcore.client.local.model_files.find", lambda _environ: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("Why?\n"))

    assert main(["chat", "--local"]) == 9
    shown = capsys.readouterr()
    assert "the embedded model is not installed: run `" in shown.err
    assert ">" not in shown.out + shown.err
