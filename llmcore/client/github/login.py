"""The stored login at GitHub Copilot, in a file that only its owner can read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from attrs import field

from llmcore.client.user_folders import config_dir, write_for_owner
from llmcore.routes.github_credentials import LOGIN_COMMAND, PROVIDER, CopilotAccess
from llmcore.schema import json
from llmcore.schema.errors import AuthenticationError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue


@frozen(kw_only=True)
class ExchangedToken:
    """A token for Copilot's API and its times, in seconds since the epoch."""

    access: CopilotAccess
    refresh_at: float
    """The time from which it should be refreshed."""
    expires_at: float

    def to_json(self) -> JsonObject:
        """Return the token as it is stored."""
        return {
            "token": self.access.token,
            "base_url": self.access.base_url,
            "refresh_at": self.refresh_at,
            "expires_at": self.expires_at,
        }

    @classmethod
    def from_json(cls, kept: JsonValue) -> Self | None:
        """Read the result of `to_json`; None for anything else, since another can be fetched."""
        match kept:
            case {
                "token": str(token),
                "base_url": None | str() as base_url,
                "refresh_at": int() | float() as refresh_at,
                "expires_at": int() | float() as expires_at,
            }:
                access = CopilotAccess(token=token, base_url=base_url)
                return cls(access=access, refresh_at=refresh_at, expires_at=expires_at)
            case _:
                return None


@frozen(kw_only=True)
class StoredLogin:
    """GitHub's token of the login, and the last Copilot token it was exchanged for."""

    github_token: str = field(repr=False)
    api_url: str
    """The base URL of the API that exchanges it."""
    exchanged: ExchangedToken | None = None


def login_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the stored login."""
    return config_dir(environ) / f"{PROVIDER}.json"


def read_login(environ: Mapping[str, str]) -> StoredLogin | None:
    """Return the stored login; None if there is none.

    Raises AuthenticationError for a file that cannot be read.
    """
    path = login_file(environ)
    try:
        kept = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    match kept:
        case {"github_token": str(token), "api_url": str(api_url), "exchanged": last} if token:
            exchanged = ExchangedToken.from_json(last)
            return StoredLogin(github_token=token, api_url=api_url, exchanged=exchanged)
        case _:
            raise _unreadable(path, None)


def _unreadable(path: Path, cause: Exception | None) -> AuthenticationError:
    detail = f": {cause}" if isinstance(cause, OSError) else ""
    message = f"the login in {path} cannot be read{detail}; run `{LOGIN_COMMAND}` again"
    return AuthenticationError(message, provider=PROVIDER, cause=cause)


def write_login(environ: Mapping[str, str], login: StoredLogin) -> Path:
    """Write *login* atomically to a file that only its owner can read. Raises OSError."""
    path = login_file(environ)
    exchanged = None if login.exchanged is None else login.exchanged.to_json()
    document: JsonObject = {
        "github_token": login.github_token,
        "api_url": login.api_url,
        "exchanged": exchanged,
    }
    write_for_owner(path, json.dumps(document))
    return path


def remove_login(environ: Mapping[str, str]) -> bool:
    """Remove the stored login; False if there was none. Raises OSError."""
    try:
        login_file(environ).unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
