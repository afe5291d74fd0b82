"""Messages: text, refusals, citations, token probabilities, audio."""

import base64
from typing import Any

import pytest

from llmcore.schema.content import (
    AudioPart,
    Citation,
    ProviderPart,
    RefusalPart,
    TextPart,
    TokenLogprob,
)
from llmcore.schema.events import File, ProviderEvent, Source, TextDelta
from tests.support.wire.protocol import response
from tests.support.wire.responses import (
    HOSTED,
    Native,
    document,
    events_of,
    message,
    refusal_part,
    said,
    streamed,
    text_part,
    url_citation,
    whole,
)

ANNOTATIONS: dict[str, tuple[Native, dict[str, Any]]] = {
    "page": (
        url_citation("https://a.example", 1, 3),
        {"url": "https://a.example", "title": "T", "start_index": 1, "end_index": 3},
    ),
    "bare page": (
        {"type": "url_citation", "url": "https://a.example"},
        {"url": "https://a.example"},
    ),
    "file": (
        {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 4},
        {"document_id": "file-1", "title": "a.pdf", "start_index": 4, "end_index": 4},
    ),
    "container file": (
        {
            "type": "container_file_citation",
            "container_id": "cntr_1",
            "file_id": "cfile_1",
            "filename": "a.csv",
            "start_index": 0,
            "end_index": 2,
        },
        {"document_id": "cfile_1", "title": "a.csv", "start_index": 0, "end_index": 2},
    ),
    "path": (
        {"type": "file_path", "file_id": "file-1", "index": 7},
        {"document_id": "file-1"},
    ),
    "unknown": ({"type": "dream", "of": "sheep"}, {}),
}


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_of_each_kind_become_citations(name: str) -> None:
    """Each kind says what it can; the native one stays with it."""
    annotation, fields = ANNOTATIONS[name]

    (part,) = said(message(text_part("See.", annotation))).content

    assert isinstance(part, TextPart)
    assert part.citations == (Citation(**fields, provider_metadata={"openai": annotation}),)


def test_sources_are_announced_once_and_early() -> None:
    """A page or file that several annotations name is one source, told as soon as it is known."""
    page = url_citation("https://a.example")
    file = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 4}
    native = message(text_part("A", page, file), text_part("B", page))

    events = streamed(events_of([*HOSTED["web_search"], *HOSTED["file_search"], native]))
    answer = response(events)

    assert [(s.kind, s.url, s.title) for s in answer.sources] == [
        ("url", "https://a.example", None),
        ("document", None, "o.pdf"),
    ]
    assert (
        answer.sources
        == response(
            whole(document([*HOSTED["web_search"], *HOSTED["file_search"], native]))
        ).sources
    )
    assert len({source.id for source in answer.sources}) == 2
    assert events.index(answer.sources[0]) < next(
        n for n, event in enumerate(events) if isinstance(event, TextDelta)
    )


def test_an_annotation_alone_announces_its_source() -> None:
    """Servers that give no searches give annotations."""
    native = message(text_part("A", url_citation("https://a.example")))

    events = streamed(events_of([native]))

    assert [e.url for e in events if isinstance(e, Source)] == ["https://a.example"]


def test_refusal_parts_are_read_as_refusals() -> None:
    """The model's explanation of a refusal is not text."""
    answer = response(streamed(events_of([message(refusal_part("I cannot."))])))

    assert answer.text == ""
    assert [p.text for p in answer.message.content if isinstance(p, RefusalPart)] == ["I cannot."]
    assert answer.finish_reason.reason == "stop"
    assert answer.finish_reason.raw == "completed"


LOGPROB = {
    "token": "Hi",
    "logprob": -0.5,
    "bytes": [72, 105],
    "top_logprobs": [{"token": "Hi", "logprob": -0.5, "bytes": []}, {"token": "Ho"}],
}
READ = TokenLogprob(
    token="Hi", logprob=-0.5, top=(TokenLogprob(token="Hi", logprob=-0.5),), data=b"Hi"
)


@pytest.mark.parametrize("with_deltas", [True, False])
def test_log_probabilities_count_once_wherever_they_come(with_deltas: bool) -> None:
    """They come with the deltas, with the end, or with both, and count once."""
    native = message(text_part("Hi you", logprobs=[LOGPROB, {"token": "?"}]))
    events = events_of([native], size=2)
    deltas = [e for e in events if e["type"] == "response.output_text.delta"]
    if with_deltas:
        deltas[1]["logprobs"] = [LOGPROB]
        told = [e for e in streamed(events) if isinstance(e, TextDelta)]
        assert [delta.logprobs for delta in told] == [(), (READ,), ()]

    for answer in (response(streamed(events)), response(whole(document([native])))):
        (part,) = answer.message.content
        assert isinstance(part, TextPart)
        assert part.logprobs == (READ,)


def test_unknown_parts_of_a_message_are_kept() -> None:
    """A part that is new here goes back where it came."""
    native = message("A", {"type": "output_smell", "of": "roses"})

    parts = said(native).content

    assert [type(part) for part in parts] == [TextPart, ProviderPart]


def test_a_message_may_say_its_content_only_in_the_final_response() -> None:
    """The end of an item without content does not count as final."""
    events = events_of([message("Hi.")])
    events = [
        e for e in events if not e["type"].startswith(("response.output_text", "response.content"))
    ]
    for event in events:
        if event["type"].endswith("item.done"):
            event["item"] = {**event["item"], "content": []}

    assert response(streamed(events)).text == "Hi."


SOUND = base64.b64encode(b"RIFF").decode()


def test_audio_pieces_and_transcript_become_one_file() -> None:
    """Spoken sound and its words become one file."""
    pieces = [
        {"type": "response.audio.delta", "delta": SOUND},
        {"type": "response.audio.transcript.delta", "delta": "Hel"},
        {"type": "response.audio.delta", "delta": SOUND},
        {"type": "response.audio.transcript.delta", "delta": "lo."},
        {"type": "response.audio.done"},
        {"type": "response.audio.transcript.done"},
    ]
    events = events_of([])

    (part,) = response(streamed([*events[:-1], *pieces, events[-1]])).message.content

    assert isinstance(part, AudioPart)
    assert (part.data, part.transcript) == (b"RIFFRIFF", "Hello.")


def test_sound_in_a_whole_body() -> None:
    """A part of the message holds it."""
    native = message({"type": "output_audio", "data": SOUND, "transcript": "Hello."})

    (part,) = said(native).content

    assert isinstance(part, AudioPart)
    assert (part.data, part.transcript) == (b"RIFF", "Hello.")


@pytest.mark.parametrize("data", ["A", None, 7])
def test_broken_sound_is_not_sound(data: Any) -> None:
    """Its words are still a file, without content."""
    native = message({"type": "output_audio", "data": data, "transcript": "Hello."})

    assert said(native).content == ()
    assert [e.transcript for e in whole(document([native])) if isinstance(e, File)] == ["Hello."]


PART_EVENTS: list[Native] = [
    {"type": "response.content_part.added", "part": {"type": "new"}, "output_index": 0},
    {"type": "response.content_part.done", "part": {"type": "new"}, "output_index": 0},
    {"type": "response.output_text.annotation.added", "annotation": None, "output_index": 0},
    {"type": "response.output_text.done", "text": "", "output_index": 0, "content_index": 0},
    {"type": "response.reasoning_summary_text.delta", "delta": "", "output_index": 9},
    {"type": "response.reasoning_summary_part.added", "part": {"type": "new"}, "output_index": 9},
    {"type": "response.function_call_arguments.delta", "delta": None, "output_index": 9},
    {"type": "response.code_interpreter_call_code.delta", "delta": "x", "output_index": 9},
    {"type": "response.shell_call_command.added", "command_index": 1, "output_index": 9},
    {"type": "response.output_item.added", "item": {"id": "x"}, "output_index": 9},
    {"type": "response.output_item.done", "item": {"id": "x"}, "output_index": 9},
    {"type": "response.audio.delta", "delta": 7},
]


@pytest.mark.parametrize("event", PART_EVENTS, ids=lambda event: event["type"])
def test_events_without_content_are_ignored(event: Native) -> None:
    """Parts that are new, and fields that are empty or missing, add no words."""
    events = events_of([message("Hi.")])

    assert response(streamed([*events[:4], event, *events[4:]])).text == "Hi."


def test_broken_deltas_are_ignored() -> None:
    """Null, numbers and empty text are ignored."""
    events = events_of([message("Hi.")])
    noise: list[Native] = [
        {**events[4], "delta": None},
        {**events[4], "delta": 7},
        {**events[4], "delta": ""},
    ]

    assert response(streamed([*events[:4], *noise, *events[4:]])).text == "Hi."


NOTIFICATIONS = [
    {"type": "response.web_search_call.in_progress", "item_id": "ws_1", "output_index": 0},
    {"type": "response.image_generation_call.partial_image", "partial_image_b64": "AA=="},
    {"type": "response.shell_call_output_content.delta", "delta": {"stdout": "a"}},
    {"type": "response.compaction.compacting", "item_id": "cmp_1"},
    {"type": "response.steer.accepted", "steer": {"id": "s"}},
    {"type": "codex.rate_limits", "limits": {}},
]


@pytest.mark.parametrize("event", NOTIFICATIONS, ids=lambda event: event["type"])
def test_what_only_notifies_is_passed_on(event: Native) -> None:
    """Progress and events that are new here are told as they are, and not replayed."""
    events = events_of([message("Hi.")])

    told = streamed([*events[:3], event, *events[3:]])

    assert ProviderEvent("openai", event) in told
    assert response(told).message == response(streamed(events)).message


def test_notifications_may_come_first() -> None:
    """They are told once the response has begun, which keeps its id."""
    events = events_of([message("Hi.")])

    told = streamed([NOTIFICATIONS[-1], *events])

    assert told[1] == ProviderEvent("openai", NOTIFICATIONS[-1])
    assert response(told) == response(streamed(events))


@pytest.mark.parametrize("kind", ["keepalive", None])
def test_pings_give_no_events(kind: str | None) -> None:
    """Pings make no events."""
    events = events_of([message("Hi.")])
    ping: Native = {} if kind is None else {"type": kind, "sequence_number": 3}

    assert streamed([*events[:3], ping, *events[3:]]) == streamed(events)
