"""Google Cloud's credentials, as data: the client gets tokens for them from google-auth.

Source: https://docs.cloud.google.com/docs/authentication/application-default-credentials, read
November 2026.
"""

from typing import Final

from attrs import frozen

from llmcore.routes.auth import CredentialSource

SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


@frozen(kw_only=True)
class GoogleCredentials(CredentialSource):
    """What google-auth finds, or the service account whose key is in a file."""

    service_account_file: str | None = None
    scopes: tuple[str, ...] = SCOPES
