"""The documents that the inspector shows, and their pages."""

import json
import re
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from llmcore.cli import main
from llmcore.inspector.exchange import ReceivedResponse, exchange, protocol_of_url, timing
from llmcore.inspector.files import difference, document_of, of_cassette, read_document
from llmcore.inspector.page import page, script_json
from llmcore.inspector.redaction import safe_json, safe_text, safe_url
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import InvalidRequestError, NetworkError
from llmcore.schema.json import JsonValue
from llmcore.schema.messages import Message
from llmcore.sessions.contract.codec import to_wire
from llmcore.sessions.conversion import to_entries
from llmcore.testing.cassette import (
    Cassette,
    Interaction,
    Metadata,
    NoResponse,
    RecordedRequest,
    RecordedResponse,
)
from llmcore.testing.cassette_file import load

ROOT = Path(__file__).parents[2]
CASSETTES = sorted((ROOT / "cassettes").rglob("*.json"))
TOOLS = ROOT / "cassettes/local/tools.json"
SSE = {"content-type": "text/event-stream"}


def frame(**delta: object) -> bytes:
    """Return a frame of Chat Completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def end(reason: str = "stop") -> bytes:
    """Return the last frames."""
    choice = {"index": 0, "delta": {}, "finish_reason": reason}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    last = {"id": "c", "model": "m", "choices": [choice], "usage": usage}
    return b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("https://a.test/v1/chat/completions", "openai-chat"),
        ("https://a.test/v1/responses?stream=true", "openai-responses"),
        ("https://a.test/v1/messages", "anthropic-messages"),
        ("https://a.test/v1beta/models/m:streamGenerateContent?alt=sse", "gemini"),
        ("https://a.test/v1beta/models/m:generateContent", "gemini"),
        ("https://a.test/model/m/converse-stream", "bedrock-converse"),
        ("https://a.test/v1/embeddings?next=/responses", "openai-chat"),
    ],
)
def test_a_protocol_is_recognised_by_the_path_of_the_url(url: str, protocol: str) -> None:
    assert protocol_of_url(url) == protocol


def answered(*pieces: tuple[bytes, float], **changes: Any) -> dict[str, Any]:
    """Return the document of a streamed response."""
    answer = evolve(ReceivedResponse(headers=SSE, pieces=pieces, head_ms=100.0), **changes)
    return exchange("1", "openai", "openai-chat", answer, streaming=True)


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_every_cassette_has_a_page(path: Path) -> None:
    """Events belong to frames, and every exchange has an outcome."""
    document = read_document(path)
    text = page(document)

    assert len(document["exchanges"]) == len(load(path).interactions)
    for one in document["exchanges"]:
        of_frames = [index for row in one["wire"] for index in row["events"]]
        assert of_frames == list(range(len(one["events"])))
        assert one["error"] is not None or one["finish"]
        times = [event["ms"] for event in one["events"]]
        assert times == sorted(times)
    assert "https://cdn" not in text
    assert re.search(r"<(?:script|link|img)[^>]*\ssrc=", text) is None


def test_the_timeline_shows_first_token_gap_and_end() -> None:
    """Times count from the request; a pause far above the usual is a gap."""
    one = answered(
        (frame(content="a"), 50.0),
        (frame(content="b"), 20.0),
        (frame(content="c"), 20.0),
        (frame(content="d"), 3000.0),
        (end(), 10.0),
    )
    (lane,) = one["lanes"]
    assert (lane["kind"], lane["start"], lane["cut"]) == ("text", 150.0, False)
    assert lane["ms"] == [150.0, 170.0, 190.0, 3190.0]
    assert one["gaps"] == [[190.0, 3190.0]]
    assert (one["first_ms"], one["total_ms"]) == (150.0, 3200.0)
    assert (one["text"], one["finish"], one["model"]) == ("abcd", "stop", "m")
    assert one["usage"]["input_tokens"] == 3


@pytest.mark.parametrize(
    ("model", "stated", "costs"),
    [
        ("gpt-4.1", None, {"input": 6e-06, "output": 1.6e-05}),
        ("openai/gpt-4.1", 0.022, {"input": 0.006, "output": 0.016}),
        ("openai/gpt-4.1", 0, {}),
        ("m", None, {}),
    ],
)
def test_input_and_output_have_their_shares_of_the_cost(
    model: str, stated: float | None, costs: dict[str, float]
) -> None:
    said = b"" if stated is None else f', "cost": {stated}'.encode()
    counted = end().replace(b'"completion_tokens": 2', b'"completion_tokens": 2' + said)
    provider = "openai" if stated is None else "openrouter"

    answer = ReceivedResponse(
        headers=SSE,
        pieces=[(counted.replace(b'"model": "m"', f'"model": "{model}"'.encode()), 1.0)],
    )
    one = exchange("1", provider, "openai-chat", answer, streaming=True)

    assert one["costs"] == pytest.approx(costs)
    assert sum(one["costs"].values()) == pytest.approx(one["cost"] or 0)


def test_frames_stand_beside_their_events() -> None:
    """Also where the network cut them, and where several came at once."""
    whole = frame(content="a") + frame(content="b") + end()
    one = answered((whole[:20], 1.0), (whole[20:], 1.0))
    rows = [
        (row["frame"], [one["events"][i]["type"] for i in row["events"]]) for row in one["wire"]
    ]
    texts = [row for row in rows if "text-delta" in row[1]]
    assert [row[0]["choices"][0]["delta"]["content"] for row in texts] == ["a", "b"]
    assert rows[-1][1][-1] == "finish" or rows[-2][1][-1] == "finish"


def test_a_cut_stream_shows_where_it_was_cut() -> None:
    """The lane is marked, and what came before is there."""
    one = answered((frame(content="Hal"), 5.0), failure=NetworkError("reset"))
    assert one["error"]["kind"] == "NetworkError"
    assert "partial" not in one["error"]["data"]
    assert (one["lanes"][0]["cut"], one["text"]) == (True, "Hal")


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (NoResponse(failure=NetworkError("reset")), "NetworkError"),
        (NoResponse(), "LLMError"),
        (RecordedResponse(status=200, headers=SSE, abandoned=True), "LLMError"),
    ],
    ids=["failed", "not waited for", "not read to its end"],
)
def test_an_exchange_without_a_whole_response_shows_why(response: Any, kind: str) -> None:
    asked = RecordedRequest(method="POST", url="https://a.test/v1/chat/completions")
    cassette = Cassette(
        metadata=Metadata(name="c"),
        interactions=(Interaction(request=asked, response=response),),
    )

    (one,) = of_cassette(cassette, "c")["exchanges"]

    assert one["error"]["kind"] == kind


def test_a_stream_without_times_counts_frames() -> None:
    """Such as one that curl printed."""
    document = document_of("a.txt", frame(content="a") + frame(content="b") + end())
    (one,) = document["exchanges"]
    assert (document["kind"], one["protocol"], one["timed"]) == ("stream", "openai-chat", False)
    assert one["lanes"][0]["ms"] == [0.0, 1.0]


@pytest.mark.parametrize("name", ["messages_tools", "responses_tools", "tools"])
def test_the_api_of_a_stream_is_found(name: str) -> None:
    """By reading it."""
    cassette = load(ROOT / f"cassettes/local/{name}.json")
    streamed = [item for item in cassette.interactions if isinstance(item, Interaction)]
    response = streamed[0].response
    assert isinstance(response, RecordedResponse)
    (one,) = document_of("stream", response.body)["exchanges"]
    assert one["protocol"] == cassette.metadata.protocol
    (same,) = of_cassette(evolve(cassette, interactions=streamed[:1]), "c")["exchanges"]
    assert one["text"] == same["text"]
    assert one["usage"] == same["usage"]


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"{}", b"[1]", b"\xff\xfe", b'{"interactions": 1}', b"data: {}\n\n"]
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    """The error names the file."""
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(InvalidRequestError, match=re.escape("a.bin")):
        read_document(tmp_path / "a.bin")


@given(st.binary(max_size=300))
def test_no_file_breaks_the_reader(data: bytes) -> None:
    """It has a page, or a typed error."""
    try:
        page(document_of("x", data))
    except InvalidRequestError:
        pass
    except Exception as error:
        raise AssertionError(data) from error


def session_of(text: str) -> bytes:
    """Return an exported session of one message."""
    entry = {
        "contractVersion": 1,
        "runId": "trip",
        "role": "user",
        "parts": [{"kind": "text", "payload": {"text": text}}],
        "timestamp": "2026-11-22T12:00:00.000Z",
    }
    return json.dumps(entry).encode()


def test_printed_events_and_sessions_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Output of `ask --json` and of `sessions export`."""
    lines = [
        {"type": "stream-start", "provider": "openai", "model": "m", "protocol": "openai-chat"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "text": "Hi"},
        {"type": "text-end", "id": "t"},
        {
            "type": "finish",
            "finish_reason": {"reason": "stop"},
            "usage": {"input_tokens": 3},
            "response": {"cost": 0.5},
        },
    ]
    events = "\n".join(json.dumps(line) for line in lines).encode()
    (one,) = document_of("e", events)["exchanges"]
    assert (one["text"], one["finish"], one["usage"]) == ("Hi", "stop", {"input_tokens": 3})
    of_whom = ("openai", "m", "openai-chat", 0.5)
    assert (one["provider"], one["model"], one["protocol"], one["cost"]) == of_whom

    document = document_of("s", session_of("Hello"))
    assert [(one["role"], one["text"]) for one in document["messages"]] == [("user", "Hello")]


def test_calls_and_results_of_a_session_have_a_line_that_can_be_read() -> None:
    call = ToolCallPart("c1", "look", {"city": "Oslo"})
    messages = [Message.user("Hi"), Message.assistant(call), Message.tool("c1", "sunny")]
    entries = to_entries(messages, run_id="trip", timestamp="2026-11-22T12:00:00.000Z")
    lines = "\n".join(json.dumps(to_wire(entry)) for entry in entries)

    shown = [one["text"] for one in document_of("s", lines.encode())["messages"]]

    assert shown == ["Hi", '→ look({"city": "Oslo"})', "sunny"]


def step(tokens: int, *, model: str | None = None) -> list[dict[str, Any]]:
    """Return the events of a step that used *tokens* of input."""
    usage = {"input_tokens": tokens, "output_tokens": 0}
    start = {"start": {"provider": "openai", "model": model}} if model else {}
    return [{"type": "step-start", **start}, {"type": "step-finish", "usage": usage}]


@pytest.mark.parametrize(
    ("steps", "response", "cost"),
    [
        (step(1_000_000), {}, 1.75),
        (step(1_000_000), {"cost": 0.5}, 0.5),
        ([*step(1_000_000), *step(2_000_000, model="gpt-5-mini")], {"cost": 0.5}, 2.25),
        ([*step(1_000_000), *step(1, model="unknown")], {"cost": 0.5}, None),
        ([{"type": "step-finish", "usage": {"input_tokens": "many"}}], {}, None),
        ([], {}, None),
    ],
    ids=["list price", "stated", "of all steps", "of one unknown", "invalid usage", "no step"],
)
def test_printed_events_have_the_cost_of_all_steps(
    steps: list[dict[str, Any]], response: dict[str, float], cost: float | None
) -> None:
    lines = [
        {"type": "stream-start", "provider": "openai", "model": "gpt-5.2"},
        *steps,
        {"type": "finish", "finish_reason": {"reason": "stop"}, "response": response},
    ]
    (one,) = document_of("e", "\n".join(map(json.dumps, lines)).encode())["exchanges"]

    assert one["cost"] == cost


def test_a_failed_stream_of_printed_events_has_the_error_apart_from_the_response() -> None:
    partial = {"message": {"role": "assistant"}, "usage": {"output_tokens": 2}}
    error = {"type": "NetworkError", "message": "reset", "partial": partial}
    lines = [
        {"type": "stream-start", "provider": "openai", "model": "gpt-5.2"},
        {"type": "text-delta", "id": "t", "text": "Once"},
        {"type": "error", "error": error},
    ]
    (one,) = document_of("e", "\n".join(map(json.dumps, lines)).encode())["exchanges"]

    assert one["error"]["kind"] == "NetworkError"
    assert one["error"]["data"] == {"type": "NetworkError", "message": "reset"}
    assert (one["text"], one["usage"], one["cost"]) == ("Once", {"output_tokens": 2}, None)


def test_two_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Request and response, line by line."""
    one, other = read_document(TOOLS), read_document(ROOT / "cassettes/local/text.json")
    found = difference(one, other)
    assert {part["title"] for part in found} >= {"Request 1", "Response 1"}
    assert {mark for part in found for mark, _ in part["lines"]} >= {"+", "-"}
    assert difference(one, one) == []

    said = [document_of("s", session_of(text)) for text in ("Hello", "Hallo")]
    (changed,) = difference(*said)
    assert changed["title"] == "Messages"
    assert {mark for mark, _ in changed["lines"]} >= {"+", "-"}

    out = tmp_path / "page.html"
    assert main(["inspect", str(TOOLS), "--diff", str(TOOLS), "-o", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert '"differences": []' in out.read_text()
    assert main(["inspect", "no-such-file"]) == 5


def test_a_dash_reads_the_document_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def inspect(data: bytes, *words: str) -> int:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))
        return main(["inspect", *words])

    assert inspect(TOOLS.read_bytes(), "-", "-o", str(tmp_path / "page.html")) == 0
    assert inspect(TOOLS.read_bytes(), str(TOOLS), "--diff", "-", "-o", "-") == 0
    assert '"differences": []' in capsys.readouterr().out
    assert inspect(TOOLS.read_bytes(), "-") == 0
    assert capsys.readouterr().out.strip().endswith("stdin.html")
    for data, words, status, told in (
        (b"", ["-"], 5, "stdin: it is empty"),
        (b"Hello", ["-"], 5, "stdin: it is not a cassette"),
        (b"", ["-", "--diff", "-"], 2, "name one of them"),
    ):
        assert inspect(data, *words) == status
        assert told in capsys.readouterr().err


# -- hostile content, and secrets


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\u2028\u2029 & <img src=x onerror=alert(1)>",
    "\ud800",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_cannot_leave_its_place(text: str) -> None:
    """It is neither the end of the script element nor a new one; it is read back as it is."""
    written = script_json({"title": text})
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == {"title": text}
    html = page({"title": text.encode("utf-8", "replace").decode(), "exchanges": []})
    assert html.count("<script") == 2
    assert "<img src=x" not in html


@given(st.recursive(st.text() | st.floats(allow_nan=False), st.lists))
def test_documents_are_read_back(value: object) -> None:
    """Whatever text they hold."""
    assert json.loads(script_json({"title": "x", "value": value}))["value"] == value


KEY = "sk-" + "proj-1234567890abcdefghij"


def test_secrets_are_not_in_the_page(tmp_path: Path) -> None:
    """Neither in headers, URLs and bodies nor in what the model wrote."""
    cassette = load(TOOLS)
    first = cassette.interactions[0]
    assert isinstance(first, Interaction)
    request = evolve(
        first.request,
        url=f"https://user:pw-word@host/v1/chat/completions?key={KEY}",
        headers={"authorization": f"Bearer {KEY}", "cookie": "c-value"},
        body=json.dumps({"api_key": "short", "messages": [f"my key is {KEY}"]}).encode(),
    )
    response = RecordedResponse(headers=SSE, body=frame(content=KEY) + end())
    hostile = evolve(cassette, interactions=(Interaction(request=request, response=response),))
    text = page(of_cassette(hostile, "a"))
    found = [one for one in (KEY, "pw-word", "c-value", '"short"') if one in text]
    assert found == []


def test_what_is_not_a_secret_stays() -> None:
    """Tokens of text, counts, names."""
    body: JsonValue = {"token": "Hi", "max_tokens": 5, "key": "value", "signature": "abc"}
    assert safe_json(body) == body
    assert safe_text("asking for a key") == "asking for a key"
    assert safe_url("https://h/v1/x?alt=sse") == "https://h/v1/x?alt=sse"


def test_exchange_without_events_has_no_timing_lanes() -> None:
    """There are no lanes."""
    assert timing([]) == {"lanes": [], "gaps": [], "first_ms": None, "total_ms": 0.0}


def test_reasoning_that_only_carries_state_has_no_lane() -> None:
    """Reasoning that took time has one, also without a text."""

    def reasoning(id: str, end: float) -> list[dict[str, Any]]:
        return [
            {"ms": 1.0, "type": "reasoning-start", "data": {"id": id}},
            {"ms": end, "type": "reasoning-end", "data": {"id": id}},
        ]

    lanes = timing([*reasoning("a", 1.0), *reasoning("b", 3.0)])["lanes"]

    assert [(lane["start"], lane["end"]) for lane in lanes] == [(1.0, 3.0)]
