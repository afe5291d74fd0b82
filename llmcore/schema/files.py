"""Files that providers store, so that requests name them instead of carrying their bytes."""

from datetime import datetime

from attrs import field

from llmcore.schema.content import AudioPart, DocumentPart, ImagePart, size_of
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject
from llmcore.schema.pydantic_hooks import for_pydantic


@frozen(kw_only=True)
class FileUpload:
    """A file to be stored by a provider."""

    data: bytes = field(repr=size_of)
    """The content."""
    filename: str
    """The name that the provider shows."""
    media_type: str
    """The MIME type, such as `application/pdf`."""
    purpose: str | None = None
    """The use of the file, for providers that ask for one; None is use in requests."""


@for_pydantic
@frozen(kw_only=True)
class StoredFile:
    """A file that a provider stores, and its owner."""

    id: str
    """The id that requests name it by; at Gemini its URI."""
    provider: str
    """The provider that stores it."""
    account: str | None = None
    """A digest of the address and the credentials that it was stored with; None for credentials
    that are fetched. Not secret: it only distinguishes accounts."""
    name: str | None = None
    """The id that lists and deletions name it by, where that is another."""
    filename: str | None = None
    """The name that it was stored under."""
    media_type: str | None = None
    """The MIME type."""
    size: int | None = None
    """The number of bytes."""
    created_at: datetime | None = None
    """When it was stored, in UTC."""
    expires_at: datetime | None = None
    """When the provider deletes it, in UTC; None if that is unknown or never."""
    data: bytes | None = field(default=None, eq=False, repr=size_of)
    """The content, for a file that was stored by this program: it can be stored elsewhere too."""
    raw: JsonObject = field(factory=dict, eq=False, repr=False)
    """The provider's own description."""

    def part(self) -> ImagePart | AudioPart | DocumentPart:
        """Return the part of a message that names the file.

        Requests with it to another provider or account are an InvalidRequestError before they
        are sent.
        """
        kind = (self.media_type or "").partition("/")[0]
        kinds: dict[str, type[ImagePart | AudioPart]] = {"image": ImagePart, "audio": AudioPart}
        part: type[ImagePart | AudioPart | DocumentPart] = kinds.get(kind, DocumentPart)
        return part(
            file_id=self.id,
            file_owner=self.provider,
            file_account=self.account,
            media_type=self.media_type,
        )
