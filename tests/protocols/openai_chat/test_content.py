"""Media, citations, sources and server-run tools in a response."""

import base64
from typing import Any

import pytest
from attrs import evolve

from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
)
from llmcore.schema.events import File, ProviderEvent, Source
from tests.support.wire.chat import ASKED, chunk, completion, streamed, whole
from tests.support.wire.protocol import response


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# -- sound


def test_spoken_responses_are_put_together() -> None:
    """Sound and words come in pieces, each in base64 by itself; one part comes out."""
    chunks = [
        chunk({"audio": {"id": "audio_1", "transcript": "Hel"}}),
        chunk({"audio": {"data": _b64(b"\x01")}}),
        chunk({"audio": {"data": _b64(b"\x02\x03"), "transcript": "lo"}}),
        chunk({"audio": {"expires_at": 99}}),
        chunk({}, "stop"),
    ]
    message = {
        "content": None,
        "audio": {
            "id": "audio_1",
            "data": _b64(b"\x01\x02\x03"),
            "transcript": "Hello",
            "expires_at": 99,
        },
    }

    (part,) = response(streamed(chunks)).message.content

    assert part == AudioPart(
        data=b"\x01\x02\x03",
        media_type="audio/wav",
        transcript="Hello",
        provider_metadata={"openai": {"audio_id": "audio_1", "expires_at": 99}},
    )
    assert response(whole(completion(message))).message.content == (part,)


def test_sound_has_the_format_that_was_asked_for() -> None:
    """The response does not name its format; the request did."""
    asked = evolve(ASKED, provider_options={"openai": {"audio": {"format": "pcm16"}}})

    events = streamed([chunk({"audio": {"data": _b64(b"a")}}, "stop")], asked=asked)

    (file,) = [event for event in events if isinstance(event, File)]
    assert file.media_type == "audio/pcm"


def test_audio_without_content_is_ignored() -> None:
    """Snowflake fills in all fields of every message."""
    empty = {"id": "", "data": "", "transcript": "", "expires_at": 0}

    answer = response(whole(completion({"content": "Hello", "audio": empty})))

    assert answer.message.content == (TextPart("Hello"),)
    assert not answer.diagnostics


@pytest.mark.parametrize("data", ["!", "a", 7])
def test_broken_base64_is_not_sound(data: object) -> None:
    """Bytes that cannot be read do not break the response."""
    chunks = [chunk({"audio": {"id": "a", "data": data}}), chunk({"content": "Hi"}, "stop")]

    answer = response(streamed(chunks))

    assert answer.text == "Hi"
    assert answer.message.content[-1] == AudioPart(
        file_id="a", media_type="audio/wav", provider_metadata={"openai": {"audio_id": "a"}}
    )


# -- pictures


def test_generated_pictures_are_parts() -> None:
    """OpenRouter puts pictures beside the text."""
    url = "data:image/webp;base64,AAAA"
    images = [{"type": "image_url", "image_url": {"url": url}}]

    content = response(
        streamed([chunk({"content": "Here.", "images": images}), chunk({}, "stop")])
    ).message.content

    assert content == (TextPart("Here."), ImagePart(url=url, media_type="image/webp"))


def test_a_picture_of_another_kind_is_passed_on() -> None:
    """A form that is not known yet is an event, not a loss."""
    events = streamed([chunk({"images": [{"type": "later"}]}, "stop")])

    assert ProviderEvent("openai", {"image": {"type": "later"}}) in events


# -- citations and sources

CITED: dict[str, Any] = {
    "type": "url_citation",
    "url_citation": {
        "url": "https://a.example",
        "title": "A",
        "content": "words",
        "start_index": 0,
        "end_index": 5,
    },
}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_citations_stand_on_the_text() -> None:
    """Annotations that come after the text belong to it, and are sources once."""
    chunks = [
        chunk({"content": "Hello"}),
        chunk({"annotations": [CITED]}),
        chunk({"annotations": [CITED]}, "stop"),
    ]
    expected = Citation(
        url="https://a.example", title="A", cited_text="words", start_index=0, end_index=5
    )

    events = streamed(chunks)
    answer = response(events)

    assert answer.message.content == (TextPart("Hello", citations=(expected, expected)),)
    assert answer.sources == (Source(id="source_0", url="https://a.example", title="A"),)
    document = completion({"content": "Hello", "annotations": [CITED, CITED]})
    assert response(whole(document)).message == answer.message


@pytest.mark.parametrize("after", [{"reasoning_content": "Hm"}, {"tool_calls": [CALL]}])
def test_citations_after_the_end_of_their_text_are_on_a_text_without_words(after: Any) -> None:
    """Their positions count in a text that has ended."""
    chunks = [
        chunk({"content": "Hello"}),
        chunk(after),
        chunk({"annotations": [CITED]}),
        chunk({}, "tool_calls"),
    ]

    answer = response(streamed(chunks))

    late = Citation(url="https://a.example", title="A", cited_text="words")
    texts = [part for part in answer.message.content if isinstance(part, TextPart)]
    assert texts == [TextPart("Hello"), TextPart("", citations=(late,))]


@pytest.mark.parametrize("between", [{"reasoning_content": "Hm"}, {"tool_calls": [CALL]}])
def test_positions_in_texts_before_are_left_out_of_citations_of_a_later_text(between: Any) -> None:
    """They count in the whole content, and a citation's in its own text."""
    chunks = [
        chunk({"content": "Hello"}),
        chunk(between),
        chunk({"content": " World"}),
        chunk({"annotations": [CITED]}),
        chunk({}, "stop"),
    ]

    answer = response(streamed(chunks))

    cited = Citation(url="https://a.example", title="A", cited_text="words")
    texts = [part for part in answer.message.content if isinstance(part, TextPart)]
    assert texts == [TextPart("Hello"), TextPart(" World", citations=(cited,))]
    assert [one.code for one in answer.diagnostics] == ["citation-place-dropped"]


def test_a_citation_may_stand_without_an_object_around_it() -> None:
    """As in the Responses API, whose form some proxies pass on."""
    flat = {"type": "url_citation", "url": "https://a.example", "title": "A", "end_index": 5}

    (part,) = response(
        whole(completion({"content": "Hello", "annotations": [flat]}))
    ).message.content

    cited = Citation(url="https://a.example", title="A", end_index=5)
    assert part == TextPart("Hello", citations=(cited,))


def test_an_annotation_of_another_kind_is_passed_on() -> None:
    """File citations have no neutral form here."""
    note = {"type": "file_citation", "file": 1}

    assert ProviderEvent("openai", {"annotation": note}) in streamed(
        [chunk({"content": "a", "annotations": [note]}, "stop")]
    )


@pytest.mark.parametrize(
    ("kind", "cited", "citation"),
    [
        (
            "document_citation",
            {"document_id": "1", "start_index": 0, "end_index": 4},
            Citation(document_id="1", start_index=0, end_index=4),
        ),
        (
            "file_annotation",
            {"file_id": "f_1", "quote": "It is Oslo."},
            Citation(document_id="f_1", cited_text="It is Oslo."),
        ),
    ],
)
def test_a_cited_document_is_a_citation_without_a_page(
    kind: str, cited: dict[str, Any], citation: Citation
) -> None:
    """Groq's documents are those of the request, OpenRouter's are its files."""
    note = {"type": kind, kind: cited}

    answer = response(whole(completion({"content": "Oslo", "annotations": [note]})))

    assert answer.message.content == (TextPart("Oslo", citations=(citation,)),)
    assert answer.sources == ()


PAGE = {"url": "https://a.example", "title": "A"}


@pytest.mark.parametrize(
    "beside",
    [
        {"citations": [PAGE]},
        {"search_info": {"search_results": [PAGE]}},
        {"venice_parameters": {"web_search_citations": [PAGE]}},
        {"web_search": {"link": "https://a.example", "title": "A", "media": "a"}},
    ],
    ids=["objects", "Hunyuan", "Venice", "Zhipu, one page"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_lists_of_pages_of_other_servers_are_sources(beside: dict[str, Any], stream: bool) -> None:
    """Also in a chunk that has only text beside them."""
    chunks = [chunk({"content": "a"}), chunk({"content": "b"}, **beside), chunk({}, "stop")]
    events = streamed(chunks) if stream else whole(completion({"content": "ab"}, **beside))

    answer = response(events)

    assert [(source.url, source.title) for source in answer.sources] == [("https://a.example", "A")]
    assert answer.text == "ab"


@pytest.mark.parametrize(
    "found",
    [
        {"web_search_data": {"sources": [PAGE]}},
        {"graph_data": {"references": {"web": [PAGE], "files": None}}},
        {"context": {"citations": [PAGE, {"url": None, "filepath": "a.pdf"}], "intent": "[]"}},
    ],
    ids=["Writer", "Writer, graph", "Azure"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_lists_of_pages_in_a_message_are_sources(found: dict[str, Any], stream: bool) -> None:
    """Their other fields are passed on."""
    message = {"content": "a", **found}
    events = streamed([chunk(message, "stop")]) if stream else whole(completion(message))

    answer = response(events)

    assert [(source.url, source.title) for source in answer.sources] == [("https://a.example", "A")]
    assert ProviderEvent("openai", {"delta": found}) in events


def test_pages_beside_the_choices_are_sources() -> None:
    """Perplexity lists them on every chunk; each is announced once, with its title."""
    listed: dict[str, Any] = {
        "search_results": [{"url": "https://a.example", "title": "A"}],
        "citations": ["https://a.example", "https://b.example", 7],
    }
    chunks = [chunk({"content": "a"}, **listed), chunk({"content": "b"}, "stop", **listed)]

    answer = response(streamed(chunks))

    assert [(source.url, source.title) for source in answer.sources] == [
        ("https://a.example", "A"),
        ("https://b.example", None),
    ]
    assert answer.text == "ab"


IMAGE = "data:image/png;base64,aGk="


@pytest.mark.parametrize(
    "content",
    [
        ["a", "b"],
        ["a", {"type": "text", "text": "b"}],
        {"type": "text", "text": "ab"},
        [{"text": "a"}, {"text": "b"}],
        [None, "ab", 3],
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_content_of_any_shape_has_its_texts(content: Any, stream: bool) -> None:
    """A list of texts, and a part without a list around it."""
    body = completion({"content": content})
    events = streamed([chunk({"content": content}, "stop")]) if stream else whole(body)

    assert response(events).message.content == (TextPart("ab"),)


def test_what_a_part_of_text_has_beside_it_is_passed_on() -> None:
    """Such as citations, in the form of the model behind the server."""
    part = {"type": "text", "text": "a", "citations": [{"url": "https://a.example"}], "b": None}

    events = streamed([chunk({"content": [part, {"type": "text", "text": "b"}]}, "stop")])

    assert response(events).text == "ab"
    assert ProviderEvent("openai", {"content": part}) in events


def test_results_of_a_search_beside_the_choices_are_sources() -> None:
    """Z.ai's, which stay in the metadata."""
    found = [{"title": "A", "link": "https://a.example", "refer": "ref_1"}, {"title": "B"}]

    made = response(streamed([chunk({"content": "a"}), chunk({}, "stop", web_search=found)]))

    assert [(source.url, source.title) for source in made.sources] == [("https://a.example", "A")]
    assert made.provider_metadata["openai"]["web_search"] == found


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"type": "output_text", "text": "b"}, TextPart("b")),
        ({"type": "refusal", "refusal": "No."}, RefusalPart("No.")),
        (
            {"type": "image_url", "image_url": {"url": IMAGE}},
            ImagePart(url=IMAGE, media_type="image/png"),
        ),
        ({"type": "image_url", "image_url": IMAGE}, ImagePart(url=IMAGE, media_type="image/png")),
    ],
    ids=["text of the other API", "refusal", "image", "image by its URL alone"],
)
def test_a_content_part_has_its_place_and_kind(part: dict[str, Any], read: ContentPart) -> None:
    """Of a list of parts, each is what its type says, streamed or not."""
    content = [{"type": "thinking", "thinking": "Hm."}, part]

    streams = response(streamed([chunk({"content": content}, "stop")])).message.content
    answers = response(whole(completion({"content": content}))).message.content

    assert streams == answers == (ReasoningPart("Hm."), read)


def test_an_image_among_texts_stays_between_them() -> None:
    """The text before it is a part of its own."""
    image = {"type": "image_url", "image_url": {"url": IMAGE}}
    content = [{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]

    parts = response(whole(completion({"content": content}))).message.content

    assert parts == (TextPart("a"), ImagePart(url=IMAGE, media_type="image/png"), TextPart("b"))


REFERENCES: list[dict[str, Any]] = [
    {"type": "reference", "reference_ids": [1, "b"]},
    {"type": "tool_reference", "tool": "web_search", "title": "A", "url": "https://a.example"},
    {"type": "document_url", "document_url": "https://a.example/b.pdf"},
]
"""Mistral's, from the `mistralai` package, 3.7.0 (`client/models`)."""


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: one["type"])
@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_reference_among_the_words_is_passed_on(
    reference: dict[str, Any], thinking: bool, stream: bool
) -> None:
    """The words before and after it are one text, and a page that it names is a source."""
    words = [{"type": "text", "text": "a"}, reference, {"type": "text", "text": "b"}]
    content = [{"type": "thinking", "thinking": words}] if thinking else words
    whole_message = [completion({"content": content})]
    events = streamed([chunk({"content": content}, "stop")]) if stream else whole(*whole_message)

    made = response(events)

    assert (made.reasoning if thinking else made.text) == "ab"
    assert len(made.message.content) == 1
    assert ProviderEvent("openai", {"content": reference}) in events
    pages = [(source.url, source.title) for source in made.sources]
    assert pages == ([("https://a.example", "A")] if "url" in reference else [])


# -- what must go back with the message


def test_signatures_that_litellm_gathers_in_a_message_are_kept_for_replay() -> None:
    """Other fields that it gathers there are in the message, too, and passed on."""
    chunks = [
        chunk({"content": "a", "provider_specific_fields": {"thought_signatures": ["s"]}}),
        chunk({"provider_specific_fields": {"thought_signatures": ["t"], "x": 1}}, "stop"),
    ]
    events = streamed(chunks)

    assert response(events).message.content[1:] == (
        ProviderPart(
            "openai",
            {"provider_specific_fields": {"thought_signatures": ["s", "t"]}},
            provider_metadata={"openai": {"place": "message"}},
        ),
    )
    assert ProviderEvent("openai", {"delta": {"provider_specific_fields": {"x": 1}}}) in events


def test_extra_content_of_a_message_is_kept_for_replay() -> None:
    """Gemini's signature on a message comes back as a part that is sent again."""
    chunks = [
        chunk({"content": "a", "extra_content": {"google": {"thought_signature": "s"}}}),
        chunk({"extra_content": {"google": {"more": 1}}}, "stop"),
    ]

    parts = response(streamed(chunks)).message.content

    assert parts == (
        TextPart("a"),
        ProviderPart(
            "openai",
            {"extra_content": {"google": {"thought_signature": "s", "more": 1}}},
            provider_metadata={"openai": {"place": "message"}},
        ),
    )
