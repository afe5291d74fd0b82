"""Bodies of uploads: whatever the names and the contents are, the form holds."""

from hypothesis import given
from hypothesis import strategies as st

from llmcore.protocols.unary import multipart
from llmcore.schema.files import FileUpload

TEXTS = st.text(max_size=30)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=3), st.binary(max_size=200), TEXTS)
def test_any_names_and_contents_keep_the_form_of_the_body(
    fields: list[tuple[str, str]], data: bytes, filename: str
) -> None:
    file = FileUpload(data=data, filename=filename, media_type="text/plain\r\nx: y")

    body, content_type = multipart(fields, [("file", file)])

    kind, _, boundary = content_type.partition("; boundary=")
    empty, *parts, end = body.split(b"--" + boundary.encode())
    contents = [part.partition(b"\r\n\r\n") for part in parts]
    assert (kind, empty, end) == ("multipart/form-data", b"", b"--\r\n")
    assert [head.count(b"\r\n") for head, _, _ in contents] == [1] * len(fields) + [2]
    assert [rest for _, _, rest in contents] == [
        *(value.encode("utf-8", "replace") + b"\r\n" for _, value in fields),
        data + b"\r\n",
    ]


def test_a_field_cannot_end_the_part_of_a_file_whose_content_is_known() -> None:
    """The boundary depends on the fields too, so that none can be written to include it."""
    file = FileUpload(data=b"x", filename="a", media_type="text/plain")
    _, seen = multipart([("prompt", "p")], [("file", file)])
    boundary = seen.partition("; boundary=")[2]

    body, content_type = multipart([("prompt", f"\r\n--{boundary}--\r\n")], [("file", file)])

    assert content_type != seen
    assert body.count(content_type.partition("; boundary=")[2].encode()) == 3


def test_the_same_content_gives_the_same_body() -> None:
    assert multipart([("a", "b")], []) == multipart([("a", "b")], [])
