"""`llmcore ask --session` and `llmcore sessions`, against a real server and a real file."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import pytest

from llmcore.cli import main
from llmcore.cli.conversation import open_store
from llmcore.client.user_folders import data_dir
from llmcore.schema.errors import ConfigurationError
from llmcore.sessions.contract.entries import EntryText
from llmcore.sessions.contract.json_schema import contract_schema
from llmcore.sessions.sqlite_store import SQLiteStore
from tests.support.servers.loopback import (
    Answer,
    Loopback,
    Received,
    chat_chunk,
    chat_handler,
    serve,
)
from tests.support.strategies.contract import NOON, entry

ASK = ["ask", "-q", "-m", "vllm:m-1", "--session", "trip"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep sessions in a file of the test's own."""
    path = tmp_path / "data" / "sessions.db"
    monkeypatch.setenv("LLMCORE_SESSIONS", str(path))
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, place: Path) -> Iterator[Loopback]:
    """Run a Chat server, configured in the environment as vLLM and as LM Studio."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with serve(chat_handler) as running:
        monkeypatch.setenv("VLLM_BASE_URL", running.url + "/v1")
        yield running


def sent(server: Loopback) -> list[dict[str, Any]]:
    """Return the messages of the last request."""
    body = server.received[-1].json
    assert isinstance(body, dict)
    messages: list[dict[str, Any]] = body["messages"]
    return messages


def kept(capsys: pytest.CaptureFixture[str], name: str = "trip") -> list[dict[str, Any]]:
    """Return what is stored, each entry checked against the schema."""
    capsys.readouterr()
    main(["sessions", "export", name])
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one in entries:
        jsonschema.validate(one, contract_schema())
    return entries


def test_session_continues_with_its_messages_and_instructions(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each question follows all earlier messages, under the first instructions."""
    assert main([*ASK, "--system", "Be brief.", "Where is Oslo?"]) == 0
    assert main([*ASK, "--no-stream", "And Rome?"]) == 0

    assert [(one["role"], one["content"]) for one in sent(server)] == [
        ("system", "Be brief."),
        ("user", "Where is Oslo?"),
        ("assistant", "Hello"),
        ("user", "And Rome?"),
    ]
    entries = kept(capsys)
    assert [one["role"] for one in entries] == ["system", "user", "assistant", "user", "assistant"]
    assert entries[2]["meta"]["usage"] == {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    assert entries[2]["meta"]["llmcore"]["message"]["origin"]["provider"] == "vllm"


def test_other_instructions_need_another_session(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same ones may be given again; others would change what was agreed."""
    assert main([*ASK, "--system", "Be brief.", "Hi"]) == 0
    assert main([*ASK, "--system", "Be brief.", "Hi"]) == 0
    assert main([*ASK, "--system", "Be verbose.", "Hi"]) == 5

    assert "already has other instructions" in capsys.readouterr().err
    assert len(server.received) == 2


def test_a_failed_response_is_not_kept(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither is its question: asking again asks the same."""
    server.handler = lambda _: Answer(
        [chat_chunk(delta={"content": "Hal"})],
        headers={"content-type": "text/event-stream"},
        cut=True,
    )
    assert main([*ASK, "Hi"]) == 7
    assert kept(capsys) == []
    server.handler = chat_handler
    assert main([*ASK, "Hi"]) == 0
    assert len(sent(server)) == 1


@pytest.mark.slow
def test_an_interrupted_response_is_not_kept(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C leaves the conversation as it was."""

    def endless() -> Iterator[bytes | float]:
        while True:
            yield chat_chunk(delta={"content": "x"})
            yield 0.05

    server.handler = lambda _: Answer(endless(), headers={"content-type": "text/event-stream"})
    command = [sys.executable, "-m", "llmcore", *ASK, "Hi"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(2) == b"xx"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)

    assert process.returncode == 130
    assert kept(capsys) == []


def test_the_slower_append_is_a_conflict(
    server: Loopback, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two at once do not weave their conversations together."""

    def meanwhile(received: Received) -> Answer:
        anyio.run(append_another)
        return chat_handler(received)

    async def append_another() -> None:
        async with SQLiteStore(place) as store:
            await store.append("trip", [entry("user", EntryText("Me first"), run_id="trip")])

    server.handler = meanwhile
    assert main([*ASK, "Hi"]) == 1

    out, err = capsys.readouterr()
    assert out == "Hello\n"
    assert "not be stored" in err
    assert len(kept(capsys)) == 1


def test_pictures_are_kept_whole(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The conversation goes on when the file is gone."""
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main([*ASK, "--image", str(picture), "What is it?"]) == 0
    picture.unlink()
    assert main([*ASK, "Are you sure?"]) == 0

    assert sent(server)[0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert [part["kind"] for part in kept(capsys)[0]["parts"]] == ["text", "image"]


def test_the_file_is_the_users_alone(server: Loopback, place: Path) -> None:
    """Conversations are private."""
    assert main([*ASK, "Hi"]) == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_sessions_are_listed_shown_and_deleted(
    server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a person."""
    assert main([*ASK, "Hi there"]) == 0
    capsys.readouterr()

    assert main(["sessions", "list"]) == 0
    assert "trip      2 entries" in capsys.readouterr().out
    assert main(["sessions", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["run_id"], listed["last_seq"]) == ("trip", 2)
    assert main(["sessions", "show", "trip"]) == 0
    assert capsys.readouterr().out == "user: Hi there\nassistant: Hello\n"
    assert main(["sessions", "delete", "trip"]) == 0
    for command in ("show", "delete", "export"):
        assert main(["sessions", command, "trip"]) == 1
        assert "trip" in capsys.readouterr().err
    assert main(["sessions", "list"]) == 0
    assert capsys.readouterr().out == ""


EVERYTHING = [
    {"kind": "thinking", "payload": {"text": "Hm."}},
    {"kind": "thinking", "payload": {"text": ""}},
    {
        "kind": "tool_call",
        "payload": {"toolCallId": "c", "toolName": "look", "arguments": {"at": 1}},
    },
    {
        "kind": "tool_call",
        "payload": {"toolCallId": "d", "toolName": "cut", "arguments": {}, "rawArgsText": "{"},
    },
]
IMAGE = {"kind": "image", "payload": {"mimeType": "image/png", "data": "AAAA"}}
FILE = {"kind": "file_ref", "payload": {"path": "a.txt"}}


def line(role: str, *parts: object, run_id: str = "trip") -> str:
    data = {
        "contractVersion": 1,
        "runId": run_id,
        "role": role,
        "parts": parts,
        "timestamp": "2026-11-22T12:00:00Z",
    }
    return json.dumps(data) + "\n"


def result(id_: str, content: object, *, is_error: bool = False) -> dict[str, object]:
    payload = {"toolCallId": id_, "isError": is_error, "content": content}
    return {"kind": "tool_result", "payload": payload}


@pytest.mark.slow
def test_sessions_are_imported_and_read(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of other programs, and of export; every kind of part is printed."""
    file = tmp_path / "trip.jsonl"
    file.write_text(
        line("user", IMAGE, FILE)
        + "\n"
        + line("assistant", *EVERYTHING)
        + line("tool", result("c", {"t": 3}, is_error=True))
        + line("tool", result("d", [IMAGE, {"kind": "text", "payload": {"text": "x"}}]))
    )
    assert main(["sessions", "import", str(file)]) == 0
    assert capsys.readouterr().out == "trip: 4 entries\n"
    assert main(["sessions", "show", "trip"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "user: [image/png: image] [file: a.txt]",
        'assistant: [thinking: Hm.] → look({"at": 1}) → cut({)',
        'tool: failed: {"t": 3}',
        "tool: [image/png: image] x",
    ]
    copy = tmp_path / "copy.jsonl"
    assert main(["sessions", "export", "-o", str(copy)]) == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert main(["sessions", "import", str(copy), "--as", "again"]) == 0
    capsys.readouterr()
    assert [{**one, "runId": "trip"} for one in kept(capsys, "again")] == kept(capsys)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (line("user") + "{\n", "line 2"),
        (line("developer"), "developer"),
        (line("tool", result("c", "x")), "stands before"),
        (line("user", *EVERYTHING[:1]), "line 1: a user entry cannot hold a thinking part"),
    ],
)
def test_a_bad_import_changes_nothing(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    told: str,
) -> None:
    """The line, and the rule."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert main(["sessions", "import", "-"]) == 5
    assert told in capsys.readouterr().err
    assert main(["sessions", "list"]) == 0
    assert capsys.readouterr().out == ""


def test_an_import_does_not_write_into_a_session(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes another name, or nothing happens."""
    for code in (0, 1):
        monkeypatch.setattr("sys.stdin", io.StringIO(line("user")))
        assert main(["sessions", "import", "-"]) == code
    assert "delete it first" in capsys.readouterr().err
    assert len(kept(capsys)) == 1


def test_several_sessions_are_imported_together_or_not_at_all(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is there already, or breaks a rule, keeps the others out too: trying again works."""
    untraced = line("tool", result("c", "x"), run_id="b")
    for text in (line("user", run_id="b"), line("user") + line("user", run_id="b")):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        main(["sessions", "import", "-"])
    assert kept(capsys) == []
    assert main(["sessions", "delete", "b"]) == 0
    unkept = line("user", run_id="b").replace(NOON, "\\ud800")
    for broken in (untraced, unkept):
        monkeypatch.setattr("sys.stdin", io.StringIO(line("user") + broken))
        assert main(["sessions", "import", "-"]) == 5
        assert kept(capsys) == []


def test_an_export_is_the_users_alone(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also over a file that others could read; an unknown session leaves the file as it was."""
    monkeypatch.setattr("sys.stdin", io.StringIO(line("user")))
    assert main(["sessions", "import", "-"]) == 0
    copy = tmp_path / "copy.jsonl"
    copy.write_text("older")
    copy.chmod(0o644)

    assert main(["sessions", "export", "trip", "nobody", "-o", str(copy)]) == 1
    assert copy.read_text() == "older"
    assert main(["sessions", "export", "trip", "-o", str(copy)]) == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert '"trip"' in copy.read_text("utf-8")


def test_files_that_cannot_be_used_are_reported(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing, no text, not to be written."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert main(["sessions", "import", str(tmp_path / "missing")]) == 5
    assert main(["sessions", "import", str(tmp_path / "binary")]) == 5
    assert main(["sessions", "export", "-o", str(tmp_path)]) == 5
    assert "missing" in (err := capsys.readouterr().err)
    assert "UTF-8" in err


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """It needs no session."""
    assert main(["sessions", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == contract_schema()


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"XDG_DATA_HOME": "/data", "HOME": "/h"}, "linux", "/data/llmcore"),
        ({"XDG_DATA_HOME": "data", "HOME": "/h"}, "linux", "/h/.local/share/llmcore"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/llmcore"),
        ({"LOCALAPPDATA": "/l", "HOME": "/h"}, "win32", "/l/llmcore/Data"),
        ({"USERPROFILE": "/u"}, "win32", "/u/AppData/Local/llmcore/Data"),
    ],
)
def test_data_has_its_place(environ: dict[str, str], platform: str, expected: str) -> None:
    """The platform's own, unless the user says otherwise."""
    assert data_dir(environ, platform) == Path(expected)


def test_without_a_home_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written into a place that was guessed."""

    def nowhere() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(ConfigurationError, match="LLMCORE_SESSIONS"):
        open_store({})


def test_the_variable_names_a_file_or_a_server() -> None:
    """Teams keep their conversations in Redis."""
    assert "RedisStore" in repr(open_store({"LLMCORE_SESSIONS": "redis://localhost:1/0"}))
    assert "x.db" in repr(open_store({"LLMCORE_SESSIONS": "x.db"}))
    assert "x.db" in repr(open_store({"LLMCORE_SESSIONS": " x.db\n"}))
    with pytest.raises(ConfigurationError, match="redis://"):  # and no folder REDIS:
        open_store({"LLMCORE_SESSIONS": "REDIS://localhost:1/0"})
    home = open_store({"HOME": "/h", "XDG_DATA_HOME": ""})
    assert os.path.join(".local", "share") in repr(home) or sys.platform != "linux"


@pytest.mark.parametrize("place", ["postgres://host/x", "file:///x.db", "~no-such-user/x.db"])
def test_other_places_are_refused(place: str) -> None:
    """A path that looks like a server is not made into a folder."""
    with pytest.raises(ConfigurationError, match="LLMCORE_SESSIONS"):
        open_store({"LLMCORE_SESSIONS": place})


@pytest.mark.slow
def test_lines_are_utf8_whatever_the_terminal_speaks(place: Path) -> None:
    """Export writes and import reads the same encoding."""
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}

    def run(*args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "llmcore", "sessions", *args]
        return subprocess.run(command, input=given, capture_output=True, check=False, env=environ)

    text = line("user", {"kind": "text", "payload": {"text": "über 😀"}})
    assert run("import", "-", given=text.encode()).returncode == 0
    assert json.loads(run("export", "trip").stdout) == json.loads(text)
    refused = run("import", "-", given=b"\xff\n")
    assert refused.returncode == 5
    assert b"UTF-8" in refused.stderr


@pytest.mark.slow
def test_any_text_can_be_shown_anywhere(place: Path, tmp_path: Path) -> None:
    """A terminal without the character gets its number; exported lines are UTF-8 there too."""
    file = tmp_path / "trip.jsonl"
    file.write_text(line("user", {"kind": "text", "payload": {"text": "→ \ud800 ü"}}))
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    def said(*args: str) -> bytes:
        command = [sys.executable, "-m", "llmcore", "sessions", *args]
        return subprocess.run(command, capture_output=True, check=True, env=environ).stdout

    said("import", str(file))
    assert said("show", "trip") == b"user: \\u2192 \\ud800 \\xfc\n"
    exported = json.loads(said("export", "trip").decode("utf-8"))
    assert exported["parts"][0]["payload"]["text"] == "→ \ud800 ü"
