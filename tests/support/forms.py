"""Reading bodies of `multipart/form-data`."""

from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, NamedTuple


class FormPart(NamedTuple):
    """A field of a form, or a file in it."""

    name: str
    filename: str | None
    media_type: str
    content: bytes


def form_parts(headers: Mapping[str, str], body: bytes) -> list[FormPart]:
    """Return the parts of *body*, as the standard library reads them."""
    head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
    parsed: Any = BytesParser(policy=HTTP).parsebytes(head + bytes(body))
    return [
        FormPart(
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in parsed.iter_parts()
    ]
