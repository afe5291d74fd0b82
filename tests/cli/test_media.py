"""`llmcore image`, `speak` and `transcribe`, against a server on loopback."""

import io
import json
import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmcore.cli import main
from tests.support.servers.loopback import Answer, Loopback, Received, serve

PNG = b"\x89PNG\r\n\x1a\n0"
WAV = b"RIFF\x04\x00\x00\x00WAVE"
HEARD = {
    "text": "Hello there.",
    "segments": [{"start": 0.0, "end": 1.5, "text": " Hello there.", "speaker": "A"}],
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


def answer(received: Received) -> Answer:
    if received.path.endswith("/speech"):
        return Answer([b"ID3..."], headers={"content-type": "audio/mpeg"})
    drawn = {"data": [{"b64_json": b64encode(PNG).decode()}] * images_of(received)}
    document = HEARD if received.path.endswith("/transcriptions") else drawn
    return Answer([json.dumps(document).encode()], headers={"content-type": "application/json"})


def images_of(received: Received) -> int:
    is_json = "json" in received.headers["content-type"]
    return int(json.loads(received.body).get("n", 1)) if is_json else 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    """Run a server with all three, configured in the environment as vLLM."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.chdir(tmp_path)
    with serve(answer) as running:
        monkeypatch.setenv("VLLM_BASE_URL", running.url + "/v1")
        yield running


def test_images_are_written_to_files_of_their_own(
    server: Loopback, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is overwritten; the names are printed, and what it took goes to stderr."""
    (tmp_path / "fox.png").write_bytes(b"mine")

    asked = ["A", "fox", "-m", "vllm:m-1", "-n", "2", "--size", "64x64", "-o", "fox.png"]
    assert main(["image", *asked]) == 0

    out, err = capsys.readouterr()
    assert out == "fox-2.png\nfox-3.png\n"
    assert "tokens unknown" in err
    assert (tmp_path / "fox.png").read_bytes() == b"mine"
    assert (tmp_path / "fox-3.png").read_bytes() == PNG
    body = json.loads(server.received[0].body)
    assert (body["model"], body["prompt"], body["size"], body["n"]) == ("m-1", "A fox", "64x64", 2)


def test_an_image_is_edited(
    server: Loopback, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a name, the image is called after its kind."""
    (tmp_path / "a.png").write_bytes(PNG)

    assert main(["image", "In summer", "-m", "vllm:m-1", "-i", "a.png"]) == 0

    assert capsys.readouterr().out == "image.png\n"
    assert server.received[0].path.endswith("/images/edits")
    assert PNG in server.received[0].body


def test_speech_is_written_to_a_file(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Text on stdin is read out, too."""
    monkeypatch.setattr("sys.stdin", io.StringIO("and goodbye\n"))

    assert main(["speak", "Hello", "-m", "vllm:m-1", "--voice", "alloy", "--speed", "1.5"]) == 0

    out, err = capsys.readouterr()
    assert out == "speech.mp3\n"
    assert "tokens unknown" in err  # the API states none, which is not 0
    assert (tmp_path / "speech.mp3").read_bytes() == b"ID3..."
    body = json.loads(server.received[0].body)
    assert (body["input"], body["voice"], body["speed"]) == ("Hello\n\nand goodbye", "alloy", 1.5)


def test_speech_goes_to_a_pipe(server: Loopback, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["speak", "Hello", "-m", "vllm:m-1", "--voice", "a", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out == b"ID3..."
    assert server.received


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ([], "[0.00 - 1.50] A: Hello there.\n"),
        (["--json"], None),
    ],
)
def test_a_recording_is_written_down(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    options: list[str],
    printed: str | None,
) -> None:
    (tmp_path / "a.wav").write_bytes(WAV)

    assert main(["transcribe", "a.wav", "-m", "vllm:m-1", "--language", "en", *options]) == 0

    out = capsys.readouterr().out
    if printed is None:
        heard = json.loads(out)
        assert heard["text"] == "Hello there."
        assert heard["segments"][0]["end"] == 1.5
    else:
        assert out == printed
    assert b'name="language"' in server.received[0].body


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["image", "-m", "vllm:m-1"], 2, "describe the image"),
        (["speak", "-m", "vllm:m-1"], 2, "give the text"),
        (["transcribe", "-m", "vllm:m-1", "missing.wav"], 5, "cannot read missing.wav"),
        (["transcribe", "-m", "vllm:m-1", "text.txt"], 5, "text.txt is not a recording: give an"),
        (["transcribe", "-m", "vllm:m-1", "latin.txt"], 5, "latin.txt is not a recording"),
        (["image", "A fox", "-m", "vllm:m-1", "-o", "none/fox.png"], 5, "cannot write"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    server: Loopback,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    argv: list[str],
    code: int,
    told: str,
) -> None:
    """Before anything is sent."""
    (tmp_path / "text.txt").write_text("Hello")
    (tmp_path / "latin.txt").write_text("café", encoding="latin-1")

    assert main(argv) == code
    assert told in capsys.readouterr().err
    assert not server.received
