"""MCP servers as values: how each is reached, and what of it a run may use."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, Union

from attrs import field

from llmcore.mcp.oauth import ClientCredentials, OAuthLogin
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import with_checked_arguments
from llmcore.schema.json import JsonValue


def _names(given: Iterable[str] | None) -> frozenset[str] | None:
    if isinstance(given, str):
        raise ConfigurationError(f"give a list of tool names, not the text {given!r}")
    return None if given is None else frozenset(given)


def _names_or_all(given: bool | Iterable[str]) -> bool | frozenset[str]:
    return given if isinstance(given, bool) else _names(given) or False


def _texts_of(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConfigurationError(f"give the arguments as a list, not as the text {given!r}")
    return tuple(given)


def _more_than_0(_server: object, attribute: Any, value: float) -> None:
    if not value > 0:
        raise ConfigurationError(f"{attribute.name} must be greater than 0, not {value}")


@frozen(kw_only=True)
class _Server:
    """The settings of every server."""

    allowed: frozenset[str] | None = field(default=None, converter=_names)
    """The tools that are offered, by the server's own names; None offers all."""
    needs_approval: bool | frozenset[str] = field(default=False, converter=_names_or_all)
    """Whether calls must be approved: all, none, or those of the named tools."""
    resources: bool = True
    """Whether its resources can be listed and read by tools."""
    prompts: bool = True
    """Whether its prompts can be listed and read by tools."""
    connect_seconds: float = field(default=30.0, validator=_more_than_0)
    """The time limit of connecting and listing; a login of a person comes on top."""
    call_seconds: float = field(default=60.0, validator=_more_than_0)
    """The time limit of one call."""
    max_tools: int = field(default=500, validator=_more_than_0)
    """A server that lists more tools, resources or prompts is an error."""
    max_result_bytes: int = field(default=8 << 20, validator=_more_than_0)
    """The largest result; a larger one is a tool error."""
    max_body_bytes: int = field(default=16 << 20, validator=_more_than_0)
    """The largest response over HTTP, event of a stream, or message of a process.

    A larger one is not kept, and fails the call.
    """


@with_checked_arguments()
@frozen
class StdioServer(_Server):
    """A server that is started as a process and spoken to over its stdin and stdout.

    The process gets a few variables of the environment (such as PATH and HOME) and *env*. It is
    ended with the connection: stdin is closed, and what still runs two seconds later is killed.
    """

    command: str
    """The program."""
    args: tuple[str, ...] = field(default=(), converter=_texts_of)
    """Its arguments."""
    env: Mapping[str, str] = field(factory=dict, kw_only=True, repr=False)
    """Further variables of its environment."""
    cwd: str | Path | None = field(default=None, kw_only=True)
    """Its working directory."""


@with_checked_arguments()
@frozen
class HttpServer(_Server):
    """A server at a URL, over streamable HTTP."""

    url: str
    """The URL of its endpoint, such as `https://example.com/mcp`."""
    headers: Mapping[str, str] = field(factory=dict, kw_only=True, repr=False)
    """Headers of every request, such as `Authorization`."""
    auth: OAuthLogin | ClientCredentials | None = field(default=None, kw_only=True)
    """How tokens are obtained, if the server asks for one by OAuth."""

    def __attrs_post_init__(self) -> None:
        if not self.url.startswith(("https://", "http://")):
            raise ConfigurationError(f"the URL of an MCP server begins with https://: {self.url!r}")


@frozen
class SdkServer(_Server):
    """A server that the SDK's `mcp.Client` takes: a server of this process, or any transport."""

    server: Any = field(repr=False)
    """An `MCPServer`, a `Server` or a `Transport` of the SDK."""


McpServer: TypeAlias = Union[StdioServer, HttpServer, SdkServer]


def servers_of(document: JsonValue, environment: Mapping[str, str]) -> dict[str, McpServer]:
    """Return the servers of *document*, in the form in which desktop clients keep them.

        {"mcpServers": {"files": {"command": "npx", "args": ["..."], "env": {}, "cwd": "..."},
                        "web": {"type": "http", "url": "https://...",
                                "headers": {"Authorization": "Bearer ${TOKEN}"}},
                        "old": {"command": "...", "disabled": true}}}

    `${TOKEN}`, `${env:TOKEN}` and `${TOKEN:-default}` are replaced by variables of *environment*,
    as in https://code.claude.com/docs/en/mcp; disabled servers are left out. Some editors name the
    object `servers`. Raises ConfigurationError for another form, and for a missing variable.
    """
    given = document if isinstance(document, Mapping) else {}
    servers = given.get("mcpServers", given.get("servers"))
    if not isinstance(servers, Mapping):
        raise ConfigurationError('the servers are an object, under the key "mcpServers"')
    return {
        str(name): _server_of(str(name), _expanded(str(name), entry, environment))
        for name, entry in servers.items()
        if not (isinstance(entry, Mapping) and entry.get("disabled") is True)
    }


_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expanded(server: str, value: JsonValue, environment: Mapping[str, str]) -> JsonValue:
    """Return *value* with variables of *environment* in place of their names in all its texts."""

    def found(match: re.Match[str]) -> str:
        name, default = match.groups()
        text = environment.get(name, default)
        if text is None:
            raise ConfigurationError(
                f"the server {server!r} needs the environment variable {name}: set it, or write "
                f"${{{name}:-default}}"
            )
        return text

    if isinstance(value, str):
        return _VARIABLE.sub(found, value)
    if isinstance(value, Mapping):
        return {key: _expanded(server, item, environment) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(server, item, environment) for item in value]
    return value


def _server_of(name: str, entry: JsonValue) -> McpServer:
    options = {**entry} if isinstance(entry, Mapping) else {}
    options.pop("disabled", None)
    command, url, args = options.get("command"), options.get("url"), options.get("args")
    if isinstance(command, str) and options.keys() <= {"type", "command", "args", "env", "cwd"}:
        cwd = options.get("cwd")
        return StdioServer(
            command,
            [str(arg) for arg in args] if isinstance(args, list | tuple) else (),
            env=_texts(options.get("env")),
            cwd=cwd if isinstance(cwd, str) else None,
        )
    if options.get("type") == "sse":
        raise ConfigurationError(
            f"the server {name!r} has the older transport sse: use its URL for streamable HTTP "
            '(type "http"), or in code SdkServer(mcp.client.sse.sse_client(url))'
        )
    if isinstance(url, str) and options.keys() <= {"type", "url", "headers"}:
        return HttpServer(url, headers=_texts(options.get("headers")))
    raise ConfigurationError(
        f"the server {name!r} needs either command (with args, env, cwd) or url (with "
        "headers), and nothing else"
    )


def _texts(given: JsonValue) -> dict[str, str]:
    return {k: str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}
