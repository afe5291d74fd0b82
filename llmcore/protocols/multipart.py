"""Bodies of `multipart/form-data` (RFC 7578): fields and files of an upload.

--llmcore-5d8f
Content-Disposition: form-data; name="purpose"

user_data
--llmcore-5d8f
Content-Disposition: form-data; name="file"; filename="a.pdf"
Content-Type: application/pdf

%PDF-1.7 ...
--llmcore-5d8f--
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from llmcore.schema.files import FileUpload


def multipart(
    fields: Iterable[tuple[str, str]], files: Iterable[tuple[str, FileUpload]]
) -> tuple[bytes, str]:
    """Return a body with *fields* and *files*, both by their names, and its content type.

    A name may repeat. The boundary is a digest of everything in the body: the same content gives
    the same bytes, and no content can include the boundary. Half a surrogate pair, which UTF-8
    cannot express, becomes `?`.
    """
    parts = [(f'name="{_quoted(name)}"\r\n\r\n'.encode(), value.encode()) for name, value in fields]
    parts += [(_head_of(name, file), file.data) for name, file in files]
    digest = hashlib.blake2b(digest_size=20)
    for head, content in parts:
        digest.update(b"%d %d " % (len(head), len(content)))
        digest.update(head)
        digest.update(content)
    boundary = f"llmcore-{digest.hexdigest()}"
    begin = f"--{boundary}\r\nContent-Disposition: form-data; ".encode()
    pieces = [piece for head, content in parts for piece in (begin, head, content, b"\r\n")]
    body = b"".join([*pieces, f"--{boundary}--\r\n".encode()])
    return body, f"multipart/form-data; boundary={boundary}"


def _head_of(name: str, file: FileUpload) -> bytes:
    media_type = plain_media_type(file.media_type)
    head = f'name="{_quoted(name)}"; filename="{_quoted(file.filename)}"\r\n'
    return _bytes(f"{head}Content-Type: {media_type}\r\n\r\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


_ESCAPES: Final = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""As the HTML standard, 4.10.21.8, has names in such bodies."""


def _quoted(name: str) -> str:
    return name.translate(_ESCAPES)


def plain_media_type(media_type: str) -> str:
    """Return *media_type* on one line."""
    return media_type.replace("\r", "").replace("\n", "")
