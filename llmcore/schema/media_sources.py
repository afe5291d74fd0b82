"""The sources of media parts: paths, URLs, bytes, and images of other libraries."""

from pathlib import PurePath
from typing import Any

from llmcore.schema.errors import InvalidRequestError


def source_fields(source: object) -> dict[str, Any] | None:
    """Return a path, a URL or bytes as the fields of a part; None for anything else."""
    if isinstance(source, str):
        remote = source.startswith(("http://", "https://", "data:"))
        return {"url": source} if remote else {"path": source}
    if isinstance(source, bytes | bytearray | memoryview):
        return {"data": bytes(source)}
    return {"path": str(source)} if isinstance(source, PurePath) else None


class _PngSink:
    """A file in memory for libraries that write images."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def png_of(image: Any) -> bytes:
    """Return the PNG of *image*. Raises InvalidRequestError for a value that cannot write one."""
    sink = _PngSink()
    if callable(getattr(image, "savefig", None)):
        image.savefig(sink, format="png")
    elif callable(getattr(image, "_repr_png_", None)):
        png = image._repr_png_()  # the protocol of IPython, which PIL has too
        sink.write(png[0] if isinstance(png, tuple) else png or b"")
    elif callable(getattr(image, "save", None)):
        image.save(sink, format="PNG")
    else:
        raise InvalidRequestError(
            "ImagePart.of takes a path, a URL, bytes, a PIL image or a matplotlib figure; "
            f"got a {type(image).__name__}"
        )
    return b"".join(sink.pieces)
