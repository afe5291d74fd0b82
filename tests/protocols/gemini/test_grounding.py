"""Sources, and which words of the response cite them."""

from typing import Any

import pytest

from llmcore.schema.content import Citation, TextPart
from llmcore.schema.events import Source
from tests.support.wire.gemini import chunk, streamed, whole
from tests.support.wire.protocol import response

TEXT = "Müller sagt: 🎉 ja. Rom ist schön."
WEB = {"web": {"uri": "https://a.b/1", "title": "a.b"}}
MORE = {"web": {"uri": "https://a.b/2", "title": "a.b"}}


def segment(words: str | None, start: int | None = None, end: int | None = None) -> dict[str, Any]:
    """Return a segment; its indexes count bytes."""
    fields = {"startIndex": start or None, "endIndex": end, "text": words}
    return {name: value for name, value in fields.items() if value is not None}


def span(words: str, text: str = TEXT) -> dict[str, Any]:
    """Return the segment of *words*, as the service counts."""
    start = len(text[: text.index(words)].encode())
    return segment(words, start, start + len(words.encode()))


def grounded(*supports: dict[str, Any], chunks: tuple[dict[str, Any], ...] = (WEB, MORE)) -> Any:
    """Return the fields of a candidate that is grounded."""
    return {"groundingMetadata": {"groundingChunks": [*chunks], "groundingSupports": [*supports]}}


def cited(part: Any) -> list[str]:
    """Return the words that the citations of *part* mark."""
    return [part.text[c.start_index : c.end_index] for c in part.citations]


@pytest.mark.parametrize("words", ["Müller", "🎉 ja.", "Rom ist schön.", TEXT])
def test_byte_indexes_become_character_indexes(words: str) -> None:
    """The service counts bytes of UTF-8; what comes out marks the same words."""
    support = {"segment": span(words), "groundingChunkIndices": [0]}
    (part,) = response(
        whole(chunk({"text": TEXT}, finish="STOP", candidate=grounded(support)))
    ).message.content

    assert cited(part) == [words]
    assert isinstance(part, TextPart)
    assert part.citations[0].url == "https://a.b/1"


@pytest.mark.parametrize("between", [[], [chunk({"text": ""})]])
def test_chunks_may_come_before_the_words_that_cite_them(between: list[Any]) -> None:
    """As fields of one object that a stream brings one after another."""
    support = {"segment": span("Rom"), "groundingChunkIndices": [1]}
    fields = grounded(support)["groundingMetadata"]
    first = {"groundingMetadata": {"groundingChunks": fields["groundingChunks"]}}
    last = {"groundingMetadata": {"groundingSupports": fields["groundingSupports"]}}
    chunks = [chunk({"text": TEXT}, candidate=first), *between]

    made = response(streamed([*chunks, chunk(finish="STOP", candidate=last)]))

    (part,) = made.message.content
    assert isinstance(part, TextPart)
    assert [(citation.url, *cited(part)) for citation in part.citations] == [
        ("https://a.b/2", "Rom")
    ]
    assert made.provider_metadata["google"]["groundingMetadata"] == fields


def test_a_segment_may_cite_several() -> None:
    """Each thing it cites is a citation, with its confidence; none stands twice."""
    support = {
        "segment": span("Rom"),
        "groundingChunkIndices": [0, 1, 9, "x"],
        "confidenceScores": [0.5],
    }
    document = chunk({"text": TEXT}, finish="STOP", candidate=grounded(support, support))
    (part,) = response(whole(document)).message.content

    assert isinstance(part, TextPart)
    assert [one.url for one in part.citations] == ["https://a.b/1", "https://a.b/2"]
    assert part.citations[0].provider_metadata == {"google": {"confidenceScore": 0.5}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (segment("Rom", 3, 6), ["Rom"]),
        (segment("Rom"), ["Rom"]),
        (segment(None, 0, 7), ["Müller"]),
        (segment("not there", 0, 5), None),
        (segment(None), None),
        (segment(None, 5, 9_999), None),
    ],
)
def test_segments_that_are_off(given: dict[str, Any], expected: list[str] | None) -> None:
    """The words themselves tell the place; where nothing does, there are no indexes."""
    support = {"segment": given, "groundingChunkIndices": [0]}
    (part,) = response(
        whole(chunk({"text": TEXT}, finish="STOP", candidate=grounded(support)))
    ).message.content

    assert isinstance(part, TextPart)
    if expected is None:
        assert part.citations == (Citation(url="https://a.b/1", title="a.b"),)
    else:
        assert cited(part) == expected


def test_citations_of_several_texts() -> None:
    """Indexes count through the response's text; each citation stands at its own part."""
    parts: list[dict[str, Any]] = [
        {"text": "A thought", "thought": True},
        {"text": "Erste Zeile ä. "},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"text": "Zweite Zeile ö."},
        {"text": "", "thoughtSignature": "s"},
    ]
    text = "Erste Zeile ä. Zweite Zeile ö."
    supports = [
        {"segment": span("Zeile ä.", text), "groundingChunkIndices": [0]},
        {"segment": span("Zeile ö.", text), "groundingChunkIndices": [1]},
        {"segment": span("ä. Zweite", text), "groundingChunkIndices": [1]},
    ]
    document = chunk(*parts, finish="STOP", candidate=grounded(*supports))
    last = chunk(finish="STOP", candidate=grounded(*supports))

    for events in (whole(document), streamed([*map(chunk, parts), last])):
        texts = [one for one in response(events).message.content if isinstance(one, TextPart)]
        assert [cited(one) for one in texts] == [["Zeile ä.", "ä. "], ["Zeile ö."], []]


def test_grounding_in_several_chunks() -> None:
    """Each chunk's indexes point into its own list; the native form is kept, merged."""
    first = grounded({"segment": span("Rom"), "groundingChunkIndices": [0]}, chunks=(WEB,))
    second = {
        "groundingMetadata": {
            **grounded(chunks=(MORE,))["groundingMetadata"],
            "webSearchQueries": ["q"],
        }
    }
    chunks = [
        chunk({"text": TEXT}, candidate=first),
        chunk(candidate=second, finish="STOP"),
    ]
    answer = response(streamed(chunks))

    assert [source.url for source in answer.sources] == ["https://a.b/1", "https://a.b/2"]
    assert cited(answer.message.content[0]) == ["Rom"]
    kept: Any = answer.provider_metadata["google"]["groundingMetadata"]
    assert kept["webSearchQueries"] == ["q"]


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        (WEB, Source(id="source_0", url="https://a.b/1", title="a.b")),
        (
            {"maps": {"uri": "https://maps/1", "title": "Pizza", "placeId": "places/1"}},
            Source(id="source_0", url="https://maps/1", title="Pizza"),
        ),
        (
            {"retrievedContext": {"title": "n.pdf", "text": "words", "fileSearchStore": "s/1"}},
            Source(id="source_0", title="n.pdf", kind="document"),
        ),
        (
            {"image": {"sourceUri": "https://i/1", "title": "Cat"}},
            Source(id="source_0", url="https://i/1", title="Cat"),
        ),
    ],
)
def test_sources_are_read_for_pages_places_images_and_documents(
    native: dict[str, Any], expected: Source
) -> None:
    """Pages, places, pictures and stored documents."""
    document = chunk({"text": TEXT}, finish="STOP", candidate=grounded(chunks=(native, native)))

    assert response(whole(document)).sources == (expected,)


def test_a_stored_document_is_quoted() -> None:
    """Its words and its name stand in the citation."""
    native = {"retrievedContext": {"title": "n.pdf", "text": "words", "fileSearchStore": "s/1"}}
    support = {"segment": span("Rom"), "groundingChunkIndices": [0]}
    document = chunk({"text": TEXT}, finish="STOP", candidate=grounded(support, chunks=(native,)))
    (part,) = response(whole(document)).message.content

    assert isinstance(part, TextPart)
    assert part.citations[0].cited_text == "words"
    assert part.citations[0].document_id == "s/1"


def test_pages_that_were_read_are_sources() -> None:
    """Those that could not be read are not; what came of each is kept."""
    pages = [
        {"retrievedUrl": "https://a", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
        {"retrievedUrl": "https://b", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_ERROR"},
    ]
    metadata = {"urlContextMetadata": {"urlMetadata": pages}}
    answer = response(whole(chunk({"text": "a"}, finish="STOP", candidate=metadata)))

    assert [source.url for source in answer.sources] == ["https://a"]
    assert answer.provider_metadata["google"]["urlContextMetadata"] == {"urlMetadata": pages}


@pytest.mark.parametrize("name", ["citations", "citationSources"])
def test_quoted_text_becomes_a_citation_of_its_source(name: str) -> None:
    """Text that the model quoted names its source, in the words of both of Google's APIs."""
    quoted = {name: [{"startIndex": 8, "endIndex": 12, "uri": "https://q", "license": "mit"}]}
    document = chunk({"text": TEXT}, finish="STOP", candidate={"citationMetadata": quoted})
    answer = response(whole(document))

    assert cited(answer.message.content[0]) == ["sagt"]
    assert [source.url for source in answer.sources] == ["https://q"]


def test_grounding_of_a_response_without_text() -> None:
    """There is nothing to cite in, but the sources are there."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    support = {"segment": span("Rom"), "groundingChunkIndices": [0]}
    document = chunk(picture, finish="STOP", candidate=grounded(support))

    assert len(response(whole(document)).sources) == 2
