"""`llmcore batch`: files of requests run here, and batches of a provider, against loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

from llmcore.cli import main
from tests.support.servers.loopback import Answer, Loopback, Received

JSON = {"content-type": "application/json"}
DONE = {"id": "batch_1", "status": "completed", "output_file_id": "file-2"}


def answer_of(words: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": words.upper()}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def provider(received: Received) -> Answer:
    """Answer chats, and keep a batch that is done at once."""
    if received.path.endswith("/chat/completions"):
        body: Any = received.json
        words = body["messages"][-1]["content"]
        if words == "refuse":
            return Answer([b'{"error": {"message": "no"}}'], 400, JSON)
        return Answer([json.dumps(answer_of(words)).encode()], headers=JSON)
    if received.path.endswith("/files"):
        return Answer([b'{"id": "file-1"}'], headers=JSON)
    if received.path.endswith("/content"):
        line = {"custom_id": "a", "response": {"status_code": 200, "body": answer_of("hi")}}
        return Answer([json.dumps(line).encode()], headers=JSON)
    return Answer([json.dumps(DONE).encode()], headers=JSON)


def requests_in(folder: Path, *words: str) -> str:
    file = folder / "requests.jsonl"
    lines = (
        json.dumps({"id": name, "prompt": text}) for name, text in zip("abc", words, strict=False)
    )
    file.write_text("\n".join(lines))
    return str(file)


def printed(text: str) -> dict[str, Any]:
    lines = [json.loads(line) for line in text.splitlines()]
    return {line["id"]: line.get("text") or line["error"]["message"] for line in lines}


def test_run_prints_answers_and_does_not_ask_for_them_again(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = requests_in(tmp_path, "hi", "yes")
    command = ["batch", "run", file, "-m", "vllm:m", "-c", str(tmp_path / "answers.db")]

    assert main(command) == 0
    assert main(command) == 0

    out, err = capsys.readouterr()
    assert printed(out) == {"a": "HI", "b": "YES"}
    assert len(out.splitlines()) == 4
    assert len(server.received) == 2
    assert "2 answered" in err
    assert "2 from the file" in err


def test_run_without_a_file_prints_failures_and_exits_with_1(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["batch", "run", requests_in(tmp_path, "hi", "refuse"), "-m", "vllm:m"]) == 1

    assert printed(capsys.readouterr().out) == {"a": "HI", "b": "no"}


def test_batch_is_submitted_watched_and_read(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The handle is a file between the commands."""
    file, handle = requests_in(tmp_path, "hi"), tmp_path / "handle.json"

    assert main(["batch", "submit", file, "-m", "vllm:m"]) == 0
    handle.write_text(capsys.readouterr().out)
    assert main(["batch", "status", str(handle)]) == 0
    status = json.loads(capsys.readouterr().out)

    assert json.loads(handle.read_text())["id"] == "batch_1"
    assert status["state"] == "ended"
    assert main(["batch", "results", str(handle)]) == 0
    assert printed(capsys.readouterr().out) == {"a": "HI"}


@pytest.mark.parametrize("command", [["run"], ["submit"], ["status"], ["results"]])
def test_a_file_that_is_not_there_is_named_with_the_reason(
    server: Loopback, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert main(["batch", *command, "nofile.jsonl"]) != 0
    assert "cannot read nofile.jsonl: No such file or directory" in capsys.readouterr().err


def test_ids_that_are_there_twice_are_not_submitted(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of the two requests would have no response."""
    file = tmp_path / "requests.jsonl"
    file.write_text('{"id": "a", "prompt": "one"}\n{"id": "a", "prompt": "two"}')

    assert main(["batch", "submit", str(file), "-m", "vllm:m"]) == 5

    assert "two requests have the id 'a'" in capsys.readouterr().err
    assert server.received == []


@pytest.mark.parametrize("command", ["run", "submit"])
def test_requests_without_a_model_are_not_sent_to_any(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """As `ask` has it, and unlike the library, which chooses one."""
    assert main(["batch", command, requests_in(tmp_path, "hi")]) == 9

    assert "no model given: use --model" in capsys.readouterr().err
    assert server.received == []


def test_file_that_is_no_handle_is_an_error(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "handle.json"
    file.write_text("{}")

    assert main(["batch", "results", str(file)]) != 0
    assert "give the file with the output of `llmcore batch submit`" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["-m", "quick"], []], ids=["alias", "default"])
def test_models_are_named_as_for_ask(
    server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """By an alias, or not at all if there is a default."""
    assert main(["config", "set", "alias.quick", "vllm:m-quick"]) == 0
    assert main(["config", "set", "model", "quick"]) == 0

    assert main(["batch", "submit", requests_in(tmp_path, "hi"), *options]) == 0

    assert json.loads(capsys.readouterr().out)["model"] == "m-quick"
