"""Media: what a part holds, and the forms in which providers take it."""

import base64
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.media import (
    MediaPart,
    audio_format,
    base64_data,
    data_url,
    document_format,
    document_name,
    image_format,
    is_data_url,
    media_type_of,
    pdf_of,
    raw_bytes,
    raw_data,
    remote_url,
    text_data,
    video_format,
)
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.schema.request import LLMRequest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PNG_64 = base64.b64encode(PNG).decode()
PDF = b"%PDF-1.7\n"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (ImagePart(data=PNG), "image/png"),
        (ImagePart(data=b"?", media_type="Image/JPEG; q=1"), "image/jpeg"),
        (ImagePart(data=b"?", media_type="image/jpg"), "image/jpeg"),
        (ImagePart(data=PNG, media_type="image/jpeg"), "image/png"),
        (ImagePart(data=b"\x00\x00\x00\x18ftyphevc", media_type="image/heic"), "image/heic"),
        (ImagePart(url=f"data:image/jpg;base64,{PNG_64}"), "image/png"),
        (ImagePart(url=f"data:image/jpg;base64,{PNG_64[:9]}\n{PNG_64[9:]}"), "image/png"),
        (ImagePart(url="data:image/jpg;base64,?"), "image/jpeg"),
        (ImagePart(url="data:image/jpg"), "image/jpeg"),
        (DocumentPart(data=PNG, media_type="application/pdf"), "application/pdf"),
        (ImagePart(url="data:image/webp;base64,AAAA", media_type=None), "image/webp"),
        (ImagePart(url=f"data:;base64,{PNG_64}"), "image/png"),
        (ImagePart(url="https://x.test/pic.JPG?size=2#top"), "image/jpeg"),
        (ImagePart(url="https://x.test/pic"), None),
        (ImagePart(url="https://x.png"), None),
        (ImagePart(file_id="file_1"), None),
        (DocumentPart(data=PDF), "application/pdf"),
        (DocumentPart(data=b"a,b", name="table.CSV"), "text/csv"),
        (DocumentPart(data=PDF, name="table.csv"), "application/pdf"),
        (DocumentPart(data=b"BMW report"), None),
        (DocumentPart(data=b"PK\x03\x04", name="a.docx"),
         "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (AudioPart(data=b"RIFF\x00\x00\x00\x00WAVEfmt "), "audio/wav"),
        (AudioPart(data=b"RIFF\x00\x00\x00\x00????"), None),
        (ImagePart(data=b"RIFF\x00\x00\x00\x00WEBPVP8 "), "image/webp"),
        (AudioPart(data=b"ID3\x04"), "audio/mpeg"),
        (AudioPart(data=b"\xff\xfb\x90"), "audio/mpeg"),
        (AudioPart(data=b"\x00\x00\x00\x20ftypM4A "), "audio/mp4"),
        (DocumentPart(data=b"\x00\x00\x00\x20ftypisom"), "video/mp4"),
        (DocumentPart(data=b"\x00\x00\x00\x14ftypqt  "), "video/quicktime"),
        (ImagePart(data=b"\x00\x00\x00\x18ftypheic"), "image/heic"),
        (ImagePart(data=b""), None),
    ],
)  # fmt: skip
def test_the_media_type_is_found(part: MediaPart, expected: str | None) -> None:
    """A declared type wins, then the data: URL, the first bytes, and the name.

    The bytes of an image win over what is declared.
    """
    assert media_type_of(part) == expected


@pytest.mark.parametrize("protocol_id", PROTOCOL_IDS)
def test_a_pdf_given_as_an_image_is_sent_as_a_document(protocol_id: str) -> None:
    """Clients of Chat Completions put PDFs into `image_url`."""
    body: Any = protocol_by_id(protocol_id).body
    pdf = {"data": PDF, "media_type": "application/pdf"}
    parts = (ImagePart(**pdf), DocumentPart(**pdf))  # type: ignore[arg-type]
    requests = [LLMRequest(model="m", messages=(Message.user(part),)) for part in parts]

    as_image, as_document = (body.build(request, stream=False).unwrap() for request in requests)

    assert as_image.body == as_document.body


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (ImagePart(data=PDF), "data"),
        (ImagePart(url=f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"), "url"),
        (ImagePart(url="https://x.test/report.pdf"), "url"),
        (ImagePart(data=PNG, media_type="application/pdf"), None),
        (ImagePart(url="https://x.test/picture"), None),
        (ImagePart(file_id="f"), None),
    ],
)
def test_a_pdf_is_recognized_among_images(part: ImagePart, expected: str | None) -> None:
    pdf = pdf_of(part, Diagnostics())

    assert (pdf and getattr(pdf, expected or "")) == (expected and getattr(part, expected))


def test_the_detail_of_a_pdf_given_as_an_image_is_reported() -> None:
    diagnostics = Diagnostics()

    pdf_of(ImagePart(data=PDF, detail="low"), diagnostics)

    assert [(entry.code, entry.path) for entry in diagnostics.entries] == [
        ("unsupported-parameter", "detail")
    ]


def test_bytes_come_in_every_form() -> None:
    """The same bytes as they are, as base64, and as a URL."""
    part = ImagePart(data=PNG)
    encoded = base64.b64encode(PNG).decode()

    assert raw_data(part) == ("image/png", PNG)
    assert base64_data(part) == ("image/png", encoded)
    assert data_url(part) == f"data:image/png;base64,{encoded}"
    assert remote_url(part) is None


@pytest.mark.parametrize(
    ("url", "media_type", "data"),
    [
        ("data:image/png;base64,aGk=", "image/png", b"hi"),
        ("DATA:image/png;BASE64,aGk=", "image/png", b"hi"),
        ("data:image/png;base64,aGk", "image/png", b"hi"),
        ("data:image/png;base64,aG%6B%3D", "image/png", b"hi"),
        ("data:image/png;base64,a\nG k=", "image/png", b"hi"),
        ("data:image/png;base64,-_8=", "image/png", b"\xfb\xff"),
        ("data:text/plain;charset=utf-8,hi%20%C3%A4", "text/plain", "hi ä".encode()),
        ("data:text/plain;charset=utf-8;base64,aGk=", "text/plain", b"hi"),
        ("data:text/plain,", "text/plain", b""),
    ],
)
def test_data_urls_are_read(url: str, media_type: str, data: bytes) -> None:
    """Base64 or percent-encoded; padding and line breaks are forgiven."""
    part = DocumentPart(url=url)

    assert is_data_url(url)
    assert raw_data(part) == (media_type, data)
    assert base64_data(part) == (media_type, base64.b64encode(data).decode())
    assert remote_url(part) is None


@pytest.mark.parametrize(
    "url", ["data:image/png;base64,a*b", "data:image/png;base64", "data:x;base64,a"]
)
def test_a_broken_data_url_is_an_error(url: str) -> None:
    """Half a picture is not sent."""
    with pytest.raises(InvalidRequestError, match="data: URL"):
        raw_bytes(ImagePart(url=url, media_type="image/png"))


def test_a_media_type_with_a_comma_is_in_no_data_url() -> None:
    """A reader of the URL would take what follows the comma for the data."""
    with pytest.raises(InvalidRequestError, match="comma"):
        data_url(ImagePart(data=b"x", media_type="image/png,"))


@pytest.mark.parametrize("part", [ImagePart(url="https://x.test/a.png"), ImagePart(file_id="f")])
def test_media_by_url_or_file_id_has_no_bytes(part: MediaPart) -> None:
    """Nothing is downloaded here, and a provider's file stays with it."""
    assert raw_bytes(part) is None
    assert base64_data(part) is None
    assert data_url(part) is None
    assert remote_url(part) == part.url
    assert not is_data_url(part.url)


def test_bytes_of_no_known_type_are_an_error() -> None:
    """A provider needs the type, so the error demands it of the caller."""
    with pytest.raises(InvalidRequestError, match="an image holds: give its media type"):
        base64_data(ImagePart(data=b"???"))


@pytest.mark.parametrize(
    "read", [media_type_of, raw_bytes, raw_data, base64_data, data_url, remote_url, text_data]
)
def test_a_path_is_the_clients_business(read: object) -> None:
    """By the time a protocol sees a part, its file has been read."""
    with pytest.raises(InvalidRequestError, match="the client reads files"):
        read(ImagePart(path="/tmp/a.png"))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (DocumentPart(data="ä".encode(), media_type="text/plain"), "ä"),
        (DocumentPart(data=b"\xef\xbb\xbfhi", name="a.md"), "hi"),
        (DocumentPart(data=b"{}", name="a.json"), "{}"),
        (DocumentPart(data=b"\xff", media_type="text/plain"), None),
        (DocumentPart(data=PDF), None),
        (DocumentPart(url="https://x.test/a.txt"), None),
        (DocumentPart(data=b"?"), None),
    ],
)
def test_text_is_read_where_it_is_text(part: MediaPart, expected: str | None) -> None:
    """Only bytes at hand, of a text type, that are UTF-8."""
    assert text_data(part) == expected


@pytest.mark.parametrize(
    ("name", "media_type", "expected"),
    [
        ("image", "image/png", "png"),
        ("image", "image/tiff", None),
        ("document", "application/pdf", "pdf"),
        ("document", "text/markdown", "md"),
        ("document", "text/x-python", "txt"),
        ("document", "application/json", "txt"),
        ("document", "application/zip", None),
        ("document", "video/mp4", None),
        ("video", "video/3gpp", "three_gp"),
        ("video", "video/quicktime", "mov"),
        ("video", "audio/wav", None),
        ("audio", "audio/mpeg", "mp3"),
        ("audio", "audio/x-wav", "wav"),
        ("audio", "video/mp4", None),
    ],
)
def test_formats_have_the_providers_names(name: str, media_type: str, expected: str | None) -> None:
    """Each is a value of its enum in the API reference, or nothing."""
    formats = {
        "image": image_format,
        "document": document_format,
        "video": video_format,
        "audio": audio_format,
    }

    assert formats[name](media_type) == expected


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("report.pdf", (), "report pdf"),
        ("a  b\t[1] (final)-2", (), "a b [1] (final)-2"),
        ("отчёт", (), "document"),
        (None, (), "document"),
        (None, ("document", "document 2"), "document 3"),
        ("report", ("report",), "report 2"),
        ("x" * 300, (), "x" * 200),
        ("x" * 300, ("x" * 200,), "x" * 198 + " 2"),
    ],
)
def test_document_names_are_made_fit(
    name: str | None, taken: tuple[str, ...], expected: str
) -> None:
    """Bedrock names each document of a request, and takes few characters."""
    assert document_name(name, taken) == expected


@given(st.lists(st.text(max_size=230), max_size=5))
def test_any_document_name_becomes_legal_and_unique(names: list[str]) -> None:
    """The API reference's rule, and no two alike."""
    made: list[str] = []
    for name in names:
        made.append(document_name(name, made))

    assert len(set(made)) == len(made)
    for name in made:
        assert re.fullmatch(r"[a-zA-Z0-9()\[\]-]+(?: [a-zA-Z0-9()\[\]-]+)*", name)
        assert len(name) <= 200


@given(st.binary(max_size=60))
def test_bytes_survive_the_round_trip(data: bytes) -> None:
    """A data: URL of a part is a part of the same bytes; their beginning may say another type."""
    url = data_url(ImagePart(data=data, media_type="image/png"))

    found = raw_data(ImagePart(url=url))
    assert found is not None
    assert found[0].startswith("image/")
    assert found[1] == data


@given(st.text(max_size=40))
def test_any_data_url_is_read_or_refused(rest: str) -> None:
    """Nothing but the one error comes out."""
    part = DocumentPart(url=f"data:{rest}")

    try:
        found = raw_bytes(part)
    except InvalidRequestError:
        return
    assert isinstance(found, bytes)
