"""Gemini: lowering the tools that the service runs itself.

Sources, read November 2026: https://ai.google.dev/gemini-api/docs/tools and its pages on Google
Search, Google Maps, URL context, file search, code execution and computer use. What else there is
comes as `HostedTool.raw("google", {"googleSearchRetrieval": {}})`.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from llmcore.protocols.diagnostics import Notes
from llmcore.protocols.gemini.dialect import GeminiDialect
from llmcore.protocols.native_json import object_or_empty
from llmcore.schema.json import JsonValue
from llmcore.schema.tools import HostedTool

Native: TypeAlias = dict[str, Any]


@frozen(kw_only=True)
class Hosted:
    """A hosted tool as the body says it."""

    tool: Native
    config: Native = field(factory=dict[str, Any])
    """Fields of `toolConfig` that go with it."""
    runs_at_server: bool = True


def lower_hosted(
    tool: HostedTool, path: str, dialect: GeminiDialect, keys: frozenset[str], notes: Notes
) -> Hosted | None:
    """Return *tool* in native form; None where the service has none like it."""
    if tool.kind == "raw" and tool.provider in keys:
        native = dict(tool.options)
        return Hosted(tool=native, runs_at_server=native.keys().isdisjoint(_CLIENT_SIDE))
    lower = _KINDS.get(tool.kind)
    if lower is None or (tool.kind == "mcp" and not dialect.mcp_servers):
        notes.dropped("unsupported-tool", path, _missing(tool))
        return None
    options = _Options(dict(tool.options), path, notes)
    return lower(options, dialect)


_CLIENT_SIDE: Final = frozenset({"functionDeclarations", "computerUse"})


def _missing(tool: HostedTool) -> str:
    if tool.kind == "raw":
        return f"the raw tool is {tool.provider}'s"
    if tool.kind == "image_generation":
        return "models draw without a tool: ask for the IMAGE modality in provider_options"
    return f"Gemini has no {tool.kind} tool"


class _Options:
    """The options of one tool, of which each is taken once."""

    def __init__(self, options: Native, path: str, notes: Notes) -> None:
        self._options, self._path, self._notes = options, path, notes

    def get(self, name: str) -> Any:
        return self._options.get(name)

    def take(self, name: str) -> Any:
        return self._options.pop(name, None)

    def drop(self, *names: str, why: str) -> None:
        for name in names:
            if name in self._options:
                del self._options[name]
                self._notes.dropped("unsupported-parameter", f"{self._path}.{name}", why)

    def rest(self) -> Native:
        """Return what is left, which is native."""
        return dict(self._options)


def _web_search(options: _Options, dialect: GeminiDialect) -> Hosted:
    options.drop("max_uses", "allowed_domains", why="Google Search cannot be held to it")
    if not dialect.exclude_domains:
        options.drop("blocked_domains", why="the service searches all domains")
    native: Native = {}
    if blocked := options.take("blocked_domains"):
        native["excludeDomains"] = blocked
    config = _near(options)
    return Hosted(tool={"googleSearch": native | options.rest()}, config=config)


def _maps(options: _Options, _dialect: GeminiDialect) -> Hosted:
    config = _near(options)
    return Hosted(tool={"googleMaps": options.rest()}, config=config)


def _near(options: _Options) -> Native:
    """Take the user's place, and return the fields of `toolConfig` that tell it."""
    config: Native = {}
    place = object_or_empty(options.get("user_location"))
    if place.keys() >= set(_COORDINATES):
        config["retrievalConfig"] = {"latLng": {name: place[name] for name in _COORDINATES}}
        options.take("user_location")
    options.drop("user_location", why="a place is told by latitude and longitude")
    return config


_COORDINATES: Final = ("latitude", "longitude")


def _web_fetch(options: _Options, _dialect: GeminiDialect) -> Hosted:
    options.drop("max_uses", why="URL context cannot be held to it")
    return Hosted(tool={"urlContext": options.rest()})


def _file_search(options: _Options, _dialect: GeminiDialect) -> Hosted:
    native = {
        "fileSearchStoreNames": options.take("vector_store_ids"),
        "topK": options.take("max_results"),
    }
    given = {name: value for name, value in native.items() if value is not None}
    return Hosted(tool={"fileSearch": given | options.rest()})


def _code_execution(options: _Options, _dialect: GeminiDialect) -> Hosted:
    options.drop("container", why="the sandbox is the service's own")
    return Hosted(tool={"codeExecution": options.rest()})


_ENVIRONMENTS: Final = {"browser": "BROWSER", "mobile": "MOBILE", "android": "MOBILE"}


def _computer_use(options: _Options, _dialect: GeminiDialect) -> Hosted:
    options.drop("display_width", "display_height", why="the model works in relative coordinates")
    place: JsonValue = options.take("environment") or "browser"
    if isinstance(place, str) and not place.startswith("ENVIRONMENT_"):
        place = f"ENVIRONMENT_{_ENVIRONMENTS.get(place.lower(), 'DESKTOP')}"
    native = {"environment": place} | options.rest()
    return Hosted(tool={"computerUse": native}, runs_at_server=False)


def _mcp(options: _Options, _dialect: GeminiDialect) -> Hosted:
    options.drop("allowed_tools", why="all tools of the server are offered")
    transport: Native = {"url": options.take("server_url")}
    token = options.take("authorization")
    if token is not None:
        transport["headers"] = {"Authorization": f"Bearer {token}"}
    server = {"name": options.take("server_label"), "streamableHttpTransport": transport}
    return Hosted(tool={"mcpServers": [server | options.rest()]})


_KINDS: Final[dict[str, Callable[[_Options, GeminiDialect], Hosted]]] = {
    "web_search": _web_search,
    "maps": _maps,
    "web_fetch": _web_fetch,
    "file_search": _file_search,
    "code_execution": _code_execution,
    "computer_use": _computer_use,
    "mcp": _mcp,
}
