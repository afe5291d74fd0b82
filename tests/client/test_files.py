"""Files stored by providers: uploads, lists, deletions, owners; held against the official SDKs."""

import email.parser
import email.policy
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from attrs import evolve
from google import genai
from google.genai import types as google_types
from hypothesis import given

from llmcore import Anthropic, Client, Google, OpenAI, OpenAICompatible, request
from llmcore.protocols.files import read_file
from llmcore.routes.mistral import Mistral
from llmcore.routes.providers import ModelSource
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import AudioPart, DocumentPart, ImagePart
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    NotFoundError,
    StreamError,
)
from llmcore.schema.files import StoredFile
from llmcore.schema.messages import Message
from llmcore.schema.result import Failure, Success
from llmcore.testing import scripted
from tests.support.strategies.requests import json_values

pytestmark = pytest.mark.anyio

PDF = b"%PDF-1.4 \r\n--a\r\n \x00\xff"
OPENAI_FILE: Any = {
    "id": "file-1",
    "object": "file",
    "bytes": len(PDF),
    "created_at": 1765313051,
    "filename": "a.pdf",
    "purpose": "user_data",
    "status": "processed",
}
ANTHROPIC_FILE: Any = {
    "id": "file_1",
    "type": "file",
    "filename": "a.pdf",
    "mime_type": "application/pdf",
    "size_bytes": len(PDF),
    "created_at": "2025-12-09T20:44:11Z",
    "downloadable": False,
}
GEMINI = "https://generativelanguage.googleapis.com"
GEMINI_FILE: Any = {
    "name": "files/abc",
    "uri": f"{GEMINI}/v1beta/files/abc",
    "displayName": "a.pdf",
    "mimeType": "application/pdf",
    "sizeBytes": str(len(PDF)),
    "createTime": "2025-12-09T20:44:11Z",
}
UPLOAD_URL = f"{GEMINI}/upload/v1beta/files?upload_id=u1&upload_protocol=resumable"
STARTED = (200, {"x-goog-upload-url": UPLOAD_URL}, b"")


def source(provider: str, api_key: str = "sk-secret") -> ModelSource:
    made: dict[str, Callable[..., ModelSource]] = {
        "openai": OpenAI.configure,
        "anthropic": Anthropic.configure,
        "google": Google.configure,
        "mistral": Mistral.configure,
    }
    return made[provider](api_key=api_key)


def client_of(*answers: Any, **keys: str) -> tuple[Client, Any]:
    transport = scripted(*answers)
    providers = {name: source(name, key) for name, key in keys.items()}
    return Client(providers=providers, transport=transport), transport


def fields_of(body: bytes, content_type: str) -> dict[str, tuple[str | None, str, bytes]]:
    """Return the fields of a `multipart/form-data` body: file name, type and content."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    parts: Any = parser.parsebytes(head + body).iter_parts()
    return {
        part.get_param("name", header="content-disposition"): (
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in parts
    }


UPLOADS: dict[str, tuple[str, Any, dict[str, str], str]] = {
    "openai": ("https://api.openai.com/v1/files", OPENAI_FILE, {"purpose": "user_data"}, "file-1"),
    "anthropic": ("https://api.anthropic.com/v1/files", ANTHROPIC_FILE, {}, "file_1"),
    "mistral": ("https://api.mistral.ai/v1/files", OPENAI_FILE, {"purpose": "ocr"}, "file-1"),
}


@pytest.mark.parametrize("provider", UPLOADS)
async def test_a_file_is_stored_as_the_provider_documents(provider: str, tmp_path: Path) -> None:
    url, answer, fields, file_id = UPLOADS[provider]
    client, transport = client_of(answer, **{provider: "sk-secret"})
    path = tmp_path / "a.pdf"
    path.write_bytes(PDF)

    stored = (await client.upload_file(path, provider=provider)).unwrap()

    sent = transport.requests[0]
    found = fields_of(sent.body, sent.headers["content-type"])
    assert (sent.method, sent.url) == ("POST", url)
    assert found.pop("file") == ("a.pdf", "application/pdf", PDF)
    assert {name: value.decode() for name, (_, _, value) in found.items()} == fields
    assert (stored.id, stored.provider, stored.size) == (file_id, provider, len(PDF))
    assert stored.created_at == datetime(2025, 12, 9, 20, 44, 11, tzinfo=UTC)
    assert stored.part() == DocumentPart(
        file_id=file_id,
        file_owner=provider,
        file_account=stored.account,
        media_type="application/pdf",
    )
    assert "sk-secret" not in f"{stored!r}{to_json(stored)}"
    assert from_json(StoredFile, to_json(stored)) == stored


async def test_a_file_goes_to_gemini_in_two_requests() -> None:
    client, transport = client_of(STARTED, {"file": GEMINI_FILE}, google="sk-secret")

    stored = (await client.upload_file(PDF, provider="google", filename="a.pdf")).unwrap()

    start, finish = transport.requests
    assert start.url == f"{GEMINI}/upload/v1beta/files"
    assert start.headers["x-goog-upload-header-content-length"] == str(len(PDF))
    assert json.loads(start.body)["file"]["displayName"] == "a.pdf"
    assert (finish.url, finish.body) == (UPLOAD_URL, PDF)
    assert finish.headers["x-goog-upload-command"] == "upload, finalize"
    assert (stored.id, stored.name) == (GEMINI_FILE["uri"], "files/abc")


async def test_the_key_goes_to_no_other_host() -> None:
    elsewhere = (200, {"x-goog-upload-url": "https://evil.example/upload"}, b"")
    client, transport = client_of(elsewhere, google="sk-secret")

    found = await client.upload_file(PDF, provider="google")

    assert isinstance(found.failure(), StreamError)
    assert len(transport.requests) == 1


LISTS: dict[str, tuple[list[Any], list[str]]] = {
    "openai": (
        [
            {"data": [OPENAI_FILE], "has_more": True, "last_id": "file-1"},
            {"data": [{**OPENAI_FILE, "id": "file-2"}], "has_more": False},
        ],
        ["/v1/files?limit=100", "/v1/files?limit=100&after=file-1"],
    ),
    "anthropic": (
        [
            {"data": [ANTHROPIC_FILE], "has_more": True, "last_id": "file_1"},
            {"data": [ANTHROPIC_FILE], "has_more": False},
        ],
        ["/v1/files?limit=100", "/v1/files?limit=100&after_id=file_1"],
    ),
    "google": (
        [{"files": [GEMINI_FILE], "nextPageToken": "t"}, {"files": [GEMINI_FILE]}],
        ["/v1beta/files?pageSize=100", "/v1beta/files?pageSize=100&pageToken=t"],
    ),
    "mistral": (
        [
            {"object": "list", "data": [OPENAI_FILE], "total": 101},
            {"object": "list", "data": [OPENAI_FILE], "total": 101},
        ],
        ["/v1/files?page_size=100", "/v1/files?page_size=100&page=1"],
    ),
}


@pytest.mark.parametrize("provider", LISTS)
async def test_files_are_listed_page_by_page(provider: str) -> None:
    answers, paths = LISTS[provider]
    client, transport = client_of(*answers, **{provider: "k"})

    files = (await client.list_files(provider)).unwrap()

    assert len(files) == 2
    assert [one.url.partition("//")[2].partition("/")[2] for one in transport.requests] == [
        path.removeprefix("/") for path in paths
    ]
    transport.finish()


@pytest.mark.parametrize(
    ("provider", "native", "path"),
    [
        ("openai", OPENAI_FILE, "/v1/files/file-1"),
        ("anthropic", ANTHROPIC_FILE, "/v1/files/file_1"),
        ("google", GEMINI_FILE, "/v1beta/files/abc"),
        ("mistral", {**OPENAI_FILE, "id": "../x"}, "/v1/files/..%2Fx"),
    ],
)
async def test_a_file_is_deleted_by_its_name(provider: str, native: Any, path: str) -> None:
    client, transport = client_of({}, **{provider: "k"})

    (await client.delete_file(read_file(native, provider))).unwrap()

    assert transport.requests[0].method == "DELETE"
    assert transport.requests[0].url.endswith(path)


async def test_an_error_of_the_provider_is_a_failure() -> None:
    client, _ = client_of((404, {}, {"error": {"message": "No such File"}}), openai="k")

    found = await client.delete_file(read_file(OPENAI_FILE, "openai"))

    assert isinstance(found.failure(), NotFoundError)


async def test_a_provider_without_files_is_an_error_before_sending() -> None:
    acme = OpenAICompatible.configure(name="acme", base_url="https://acme/v1")
    client = Client(providers={"acme": acme}, transport=scripted())

    for found in (await client.upload_file(b"x", provider="acme"), await client.list_files("acme")):
        assert isinstance(found.failure(), ConfigurationError)


async def test_a_path_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    client, _ = client_of(openai="k")

    found = await client.upload_file(tmp_path / "none.pdf", provider="openai")

    assert isinstance(found.failure(), InvalidRequestError)


# -- owners


async def test_a_request_with_another_providers_file_is_refused_before_it_is_sent() -> None:
    client, transport = client_of(openai="k", anthropic="k")
    part = read_file(OPENAI_FILE, "openai").part()
    asked = request(
        model="claude-sonnet-4-5", provider="anthropic", messages=[Message.user([part])]
    )

    found = await client.generate(asked)

    assert isinstance(found.failure(), InvalidRequestError)
    assert transport.requests == []


async def test_a_request_with_another_accounts_file_is_refused_before_it_is_sent() -> None:
    mine, _ = client_of(OPENAI_FILE, openai="sk-mine")
    part = (await mine.upload_file(PDF, provider="openai")).unwrap().part()
    theirs, transport = client_of(openai="sk-theirs")
    asked = request(model="gpt-5.2", provider="openai", messages=[Message.user([part])])

    refused = await theirs.generate(asked)

    assert isinstance(refused.failure(), InvalidRequestError)
    assert "another account of openai" in str(refused.failure())
    assert transport.requests == []
    assert isinstance(theirs.prepare(asked), Failure)
    assert isinstance(mine.prepare(asked), Success)


async def test_another_accounts_file_is_refused_and_one_of_the_same_is_not() -> None:
    mine, _ = client_of(OPENAI_FILE, openai="sk-mine")
    stored = (await mine.upload_file(PDF, provider="openai")).unwrap()
    listed = read_file(OPENAI_FILE, "openai")
    theirs, sent = client_of(openai="sk-theirs")
    account = StoredFile(id="file-1", provider="openai", account=stored.account)

    assert isinstance((await theirs.delete_file(account)).failure(), InvalidRequestError)
    assert isinstance((await theirs.file_at(account, "openai")).failure(), InvalidRequestError)
    assert (await mine.file_at(stored, "openai")).unwrap() is stored
    assert (await theirs.file_at(listed, "openai")).unwrap() is listed  # it names no account
    assert sent.requests == []


async def test_a_file_whose_content_is_at_hand_is_stored_again_elsewhere() -> None:
    client, transport = client_of(OPENAI_FILE, ANTHROPIC_FILE, openai="k", anthropic="k")
    stored = (await client.upload_file(PDF, provider="openai", filename="a.pdf")).unwrap()

    copy = (await client.file_at(stored, "anthropic")).unwrap()

    assert (copy.id, copy.provider) == ("file_1", "anthropic")
    sent = transport.requests[1]
    assert fields_of(sent.body, sent.headers["content-type"])["file"][2] == PDF
    without = evolve(stored, data=None)
    assert isinstance((await client.file_at(without, "anthropic")).failure(), InvalidRequestError)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("image/png", ImagePart), ("audio/wav", AudioPart), ("text/plain", DocumentPart)],
)
def test_the_part_of_a_file_is_of_its_kind(media_type: str, kind: type[Any]) -> None:
    file = StoredFile(id="f", provider="p", account="a", media_type=media_type)

    assert file.part() == kind(file_id="f", file_owner="p", file_account="a", media_type=media_type)


# -- reading and writing


@given(json_values())
def test_any_description_is_a_file_or_a_stream_error(value: Any) -> None:
    for native in ({"id": "x", "created_at": value}, {"name": value, "sizeBytes": value}):
        try:
            file = read_file(native, "p")
        except StreamError:
            continue
        assert file.id


# -- held against the official SDKs


def recorded(library: Any, sent: list[Any], *answers: Any) -> Any:
    """Return a client of *library*, httpx or httpx2, that gives *responses* in turn."""
    waiting = list(answers)

    def answer(asked: Any) -> Any:
        asked.read()
        sent.append(asked)
        found = waiting.pop(0)
        if isinstance(found, tuple):
            return library.Response(found[0], headers=found[1], content=found[2])
        return library.Response(200, json=found)

    return library.Client(transport=library.MockTransport(answer))


async def test_the_openai_package_sends_and_reads_the_same() -> None:
    sent: list[Any] = []
    theirs = openai.OpenAI(api_key="k", http_client=recorded(httpx2, sent, OPENAI_FILE))
    read = theirs.files.create(file=("a.pdf", PDF, "application/pdf"), purpose="user_data")
    client, transport = client_of(OPENAI_FILE, openai="k")
    ours = (await client.upload_file(PDF, provider="openai", filename="a.pdf")).unwrap()

    same_upload(sent[0], transport.requests[0])
    assert (read.id, read.bytes, read.filename) == (ours.id, ours.size, ours.filename)


async def test_the_anthropic_package_sends_and_reads_the_same() -> None:
    sent: list[Any] = []
    theirs = anthropic.Anthropic(api_key="k", http_client=recorded(httpx2, sent, ANTHROPIC_FILE))
    read = theirs.files.upload(file=("a.pdf", PDF, "application/pdf"))
    client, transport = client_of(ANTHROPIC_FILE, anthropic="k")
    ours = (await client.upload_file(PDF, provider="anthropic", filename="a.pdf")).unwrap()

    same_upload(sent[0], transport.requests[0])
    assert (read.id, read.size_bytes, read.created_at) == (ours.id, ours.size, ours.created_at)


def same_upload(theirs: Any, ours: Any) -> None:
    """Both send the same fields to the same address."""
    assert (theirs.method, str(theirs.url)) == (ours.method, ours.url)
    assert fields_of(theirs.content, theirs.headers["content-type"]) == fields_of(
        ours.body, ours.headers["content-type"]
    )


async def test_the_google_package_sends_and_reads_the_same() -> None:
    sent: list[Any] = []
    final = (200, {"x-goog-upload-status": "final"}, json.dumps({"file": GEMINI_FILE}).encode())
    http = recorded(httpx, sent, STARTED, final)
    options = google_types.HttpOptions(api_version="v1beta", httpx_client=http)
    theirs = genai.Client(api_key="k", http_options=options)
    config = google_types.UploadFileConfig(mime_type="application/pdf", display_name="a.pdf")
    read = theirs.files.upload(file=io.BytesIO(PDF), config=config)
    client, transport = client_of(STARTED, {"file": GEMINI_FILE}, google="k")
    ours = (await client.upload_file(PDF, provider="google", filename="a.pdf")).unwrap()

    start, finish = transport.requests
    assert [str(one.url) for one in sent] == [start.url, finish.url]
    for name in [name for name in start.headers if name.startswith("x-goog-upload")]:
        assert sent[0].headers[name] == start.headers[name]
    assert sent[1].content == finish.body
    assert sent[1].headers["x-goog-upload-command"] == finish.headers["x-goog-upload-command"]
    assert (read.uri, read.name, read.size_bytes) == (ours.id, ours.name, ours.size)
