"""Files stored by providers: uploads, lists, deletions, and the same file at another provider."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import anyio
from attrs import evolve

from llmcore.client.accounts import account_at, base_url_of, check_account
from llmcore.client.unary import UnaryCalls
from llmcore.protocols import files as protocols
from llmcore.protocols.files import FileProtocol
from llmcore.protocols.media import media_type_of
from llmcore.routes.endpoint import Endpoint
from llmcore.routes.route import Route
from llmcore.routes.unary import UnaryRoute, messages_path, rebased
from llmcore.schema.content import DocumentPart
from llmcore.schema.errors import (
    ConfigurationError,
    InvalidRequestError,
    StreamError,
    unreadable_file,
)
from llmcore.schema.files import FileUpload, StoredFile
from llmcore.schema.frozen import frozen


@frozen
class Files:
    """The files of the account that *route* signs for. Methods raise LLMError."""

    calls: UnaryCalls
    route: Route[Any]

    async def upload(self, upload: FileUpload) -> StoredFile:
        """Store *upload*, and return the file with its content, so that it can be stored again."""
        if self._is_gemini:
            stored = await self._upload_in_two(upload)
        else:
            over = UnaryRoute.beside(self.route, self._protocol().upload)
            stored = await self.calls.call(over, upload)
        return evolve(
            stored,
            account=self.account,
            filename=stored.filename or upload.filename,
            media_type=stored.media_type or upload.media_type,
            data=upload.data,
        )

    async def list(self) -> tuple[StoredFile, ...]:
        """Return the files of the account, page after page."""
        over = UnaryRoute.beside(self.route, self._protocol().listing)
        files = await self.calls.all_pages(over)
        account = self.account
        return tuple(evolve(file, account=account) for file in files)

    async def delete(self, file: StoredFile) -> None:
        """Delete *file*; InvalidRequestError if it is another provider's or account's."""
        self._check_owner(file)
        over = UnaryRoute.beside(self.route, self._protocol().deleting)
        await self.calls.call(over, file)

    async def here(self, file: StoredFile) -> StoredFile:
        """Return *file* if this account has it; else store its content here.

        InvalidRequestError if the content is not given.
        """
        try:
            self._check_owner(file)
        except InvalidRequestError:
            if file.data is None:
                raise
            name, kind = file.filename or "file", file.media_type or "application/octet-stream"
            return await self.upload(FileUpload(data=file.data, filename=name, media_type=kind))
        return file

    @property
    def account(self) -> str | None:
        """A digest of the address and the credentials; None where a token is fetched."""
        return account_at(self.route, self.calls.environ)

    def _check_owner(self, file: StoredFile) -> None:
        if file.provider != self.route.provider:
            raise InvalidRequestError(
                f"the file {file.id!r} is {file.provider}'s, which {self.route.provider} does not "
                "have: upload it there",
                provider=self.route.provider,
            )
        check_account(f"the file {file.id!r}", file.account, self.account, self.route)

    @property
    def _is_gemini(self) -> bool:
        return self.route.provider == "google"

    def _protocol(self) -> FileProtocol:
        provider = self.route.provider
        api, path = provider, "/files"
        if self.route.protocol.family == "anthropic" and provider != "vertex":
            api, path = protocols.MESSAGES, messages_path(self.route, "/files")
        protocol = protocols.file_protocol(api, provider, path)
        if protocol is None:
            message = f"the provider {provider!r} stores no files: send their data"
            raise ConfigurationError(message, provider=provider)
        return protocol

    async def _upload_in_two(self, upload: FileUpload) -> StoredFile:
        start = UnaryRoute.beside(
            self.route, protocols.GEMINI_START, rebased(self.route, _below_upload)
        )
        upload_url = await self.calls.call(start, upload)
        base_url = base_url_of(self.route, self.calls.environ).unwrap()
        if urlsplit(upload_url).netloc != urlsplit(base_url).netloc:
            message = "the response names a URL of another host to upload to"
            raise StreamError(message, provider=self.route.provider, retryable=False)
        finish = evolve(
            UnaryRoute.beside(self.route, protocols.GEMINI_FINISH),
            endpoint=Endpoint.path("", base_url=upload_url),
        )
        return await self.calls.call(finish, upload)


def _below_upload(base_url: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"/upload{parts.path}"))


async def upload_of(
    source: bytes | str | Path, filename: str | None, media_type: str | None, purpose: str | None
) -> FileUpload:
    """Return the upload of a path or of bytes; raises InvalidRequestError if it cannot be read."""
    if isinstance(source, bytes):
        data, name = source, filename or "file"
    else:
        name = filename or Path(source).name
        try:
            data = await anyio.Path(source).read_bytes()
        except (OSError, ValueError) as error:  # a zero byte in the path
            raise unreadable_file(source, error) from error
    known = media_type or media_type_of(DocumentPart(data=data)) or _by_name(name)
    return FileUpload(data=data, filename=name, media_type=known, purpose=purpose)


def _by_name(name: str) -> str:
    import mimetypes  # reads the machine's tables

    return mimetypes.guess_type(name)[0] or "application/octet-stream"
