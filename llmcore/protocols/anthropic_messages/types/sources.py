"""Where the content of images and documents comes from.

Sources, read November 2026: https://platform.claude.com/docs/en/build-with-claude/vision,
https://platform.claude.com/docs/en/build-with-claude/pdf-support,
https://platform.claude.com/docs/en/build-with-claude/files.
"""

from typing import ClassVar, TypeAlias, Union

from attrs import frozen


@frozen
class Base64Source:
    """The bytes themselves, in base64."""

    type: ClassVar[str] = "base64"
    media_type: str
    data: str


@frozen
class UrlSource:
    """An address that the provider fetches."""

    type: ClassVar[str] = "url"
    url: str


@frozen
class FileSource:
    """A file that was uploaded before."""

    type: ClassVar[str] = "file"
    file_id: str


@frozen
class PlainTextSource:
    """A document of plain text."""

    type: ClassVar[str] = "text"
    media_type: str
    data: str


ImageSource: TypeAlias = Union[Base64Source, UrlSource, FileSource]
"""Exactly one of the three."""
