"""GitHub Copilot's credentials, as data: the client exchanges GitHub's tokens for Copilot's.

Source, read November 2026: https://github.com/microsoft/vscode-copilot-chat (the exchange has no
public document).
"""

import re
from typing import Final, Self

from attrs import field

from llmcore.routes.auth import CredentialSource
from llmcore.schema import json
from llmcore.schema.frozen import frozen
from llmcore.version import VERSION

PROVIDER: Final = "github-copilot"
GITHUB_API_URL: Final = "https://api.github.com"
TOKEN_VARIABLE: Final = "GITHUB_COPILOT_TOKEN"  # noqa: S105  (a name)
LOGIN_COMMAND: Final = "llmcore login github-copilot"
EDITOR_HEADERS: Final = {
    "editor-version": f"llmcore/{VERSION}",
    "editor-plugin-version": f"llmcore/{VERSION}",
}
"""Identify this client. The API and the exchange of tokens require an editor."""

_GITHUB_TOKEN: Final = re.compile(r"gh[a-z]_|github_pat_")
"""The prefixes of GitHub's own tokens. Source: https://docs.github.com/en/authentication/
keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats."""


@frozen(kw_only=True)
class CopilotLogin(CredentialSource):
    """A login at GitHub: the stored one, or that of a token which is given."""

    token: str | None = field(default=None, repr=False)
    """A token of GitHub's; without it, that of the environment or of the stored login."""
    api_url: str = GITHUB_API_URL
    """The API that exchanges a token given here or by the environment."""


@frozen(kw_only=True)
class CopilotAccess:
    """The result of an exchange: a token for Copilot's API, and its base URL."""

    token: str = field(repr=False)
    base_url: str | None = None

    def to_token(self) -> str:
        """Return it as the text that a fetched token is."""
        return json.dumps({"token": self.token, "base_url": self.base_url}).decode()

    @classmethod
    def from_token(cls, text: str) -> Self:
        """Read what `to_token` wrote; any other text is a token alone."""
        if not text.startswith("{"):
            return cls(token=text)
        match json.loads(text):
            case {"token": str(token), "base_url": None | str() as base_url}:
                return cls(token=token, base_url=base_url)
            case _:
                return cls(token=text)


def is_github_token(token: str) -> bool:
    """Return whether *token* is GitHub's, to be exchanged, and not Copilot's own."""
    return _GITHUB_TOKEN.match(token) is not None
