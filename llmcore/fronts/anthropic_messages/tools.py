"""The tools that a request offers, and the choice among them.

    {"name": "read", "description": "...", "input_schema": {"type": "object", ...}}
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    {"type": "bash_20250124", "name": "bash"}

A Messages upstream gets what Anthropic defines as it is. For others, tools that the client runs
(bash, text editor, memory, computer) become functions, tools that the provider runs become its own
where it has them, and tools that are not loaded at first are offered once they were found.
Sources, read November 2026: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import field

from llmcore.fronts import reading
from llmcore.fronts.anthropic_messages.client_tools import client_tool
from llmcore.fronts.anthropic_messages.tool_changes import ToolChanges
from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_MESSAGES_TOOLS, OF_SERVERS, check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.reading import Fields, read_field
from llmcore.fronts.tools_as_functions import offered_hosted, refuse_or_report, report_repeated
from llmcore.protocols.anthropic_messages.names import METADATA_KEY, PROTOCOL_ID, TOOL_CHOICES
from llmcore.protocols.openai_responses.names import PROTOCOL_ID as RESPONSES
from llmcore.schema.changed import changed
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.native_json import object_or_empty, objects, str_or_empty, str_or_none
from llmcore.schema.tools import HostedTool, HostedToolKind, ToolChoice, ToolDefinition, ToolSpec

_KINDS: Final[Mapping[str, HostedToolKind]] = {
    "web_search_": "web_search",
    "web_fetch_": "web_fetch",
    "code_execution_": "code_execution",
    "mcp_toolset": "mcp",
}
"""Kinds of tools that the provider runs, by the beginning of their types."""
_SEARCH: Final = "tool_search_tool"
_EXTRAS: Final = ("defer_loading", "input_examples", "eager_input_streaming", "allowed_callers")
"""Fields of a client's tool that only Anthropic reads."""
_QUIET: Final = frozenset({"defer_loading", "eager_input_streaming"})
"""Those of them that concern how tools are sent, and that the model does not see."""
_CALLERS: Final = "allowed_callers"
_DIRECT: Final = ["direct"]
"""The default of `allowed_callers`: the model calls the tool, and code that it writes does not."""

_NAMED: Final = frozenset({"cache_control", "name", "type"})
_OF_TOOLS: Final = _NAMED | {"description", "input_schema", "strict", *_EXTRAS}
_OF_CLIENT_TOOLS: Final = _NAMED | {"display_height_px", "display_width_px", _CALLERS, *_QUIET}
_OF_SERVERS: Final = frozenset({"authorization_token", "name", "type", "url"})
_OF_CONFIGS: Final = frozenset({"defer_loading", "enabled"})
_OF_HOSTED: Final[Mapping[str, frozenset[str]]] = {
    "web_search": _NAMED
    | {"allowed_domains", "blocked_domains", "max_uses", "user_location", _CALLERS, *_QUIET},
    "web_fetch": _NAMED | {"max_uses", _CALLERS, *_QUIET},
    "mcp": _NAMED | {"configs", "default_config", "mcp_server_name"},
}
"""Fields of tools that are read; for tools that the provider runs, by kind."""


@frozen(kw_only=True)
class MessagesOffer:
    """The tools of a request, and the choice among them."""

    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice | None = None
    parallel: bool | None = None
    missing: tuple[str, ...] = ()
    """The names of hosted tools that the upstream lacks, if no other tools are offered."""
    searches: bool = False
    """Whether the client offers the web search of the provider."""
    native: Mapping[str, Any] = field(factory=dict)
    """Fields of the body that go with the tools."""


def read_offer(
    body: Fields, changes: ToolChanges, upstream: Upstream, diagnostics: Diagnostics
) -> MessagesOffer:
    """Return what *body* offers after the *changes* of its messages.

    FrontError for invalid definitions, and for a choice of what the upstream lacks.
    """
    natives = reading.read_objects(body, "tools")
    reading.check_tool_count(len(natives) + len(changes.definitions), upstream.policy)
    reader = _ToolReader(body, upstream, diagnostics)
    specs: list[ToolSpec] = []
    offered = _offered(natives, changes, native=reader.native)
    for native, path in offered:
        try:
            spec = reader.tool(native, path)
        except InvalidRequestError as error:
            raise invalid(f"{path}: {error.message}", path) from error
        if spec is not None and not report_repeated(spec, specs, diagnostics.at(path)):
            specs.append(spec)
    if not any(isinstance(spec, ToolDefinition) for spec in specs):
        _report_unreachable(natives, changes, {path for _, path in offered}, diagnostics)
    choice, parallel = _read_choice(body, specs, reader.missing, upstream, diagnostics)
    servers = body.get("mcp_servers") if reader.native else None
    if not reader.native:
        _report_servers(body, natives, diagnostics)
    return MessagesOffer(
        tools=tuple(specs),
        choice=choice,
        parallel=parallel,
        missing=() if specs else tuple(dict.fromkeys(reader.missing)),
        searches=any(str(native.get("type")).startswith("web_search_") for native in natives),
        native={"mcp_servers": servers} if servers else {},
    )


def _report_servers(body: Fields, tools: Iterable[Fields], diagnostics: Diagnostics) -> None:
    """Report the MCP servers that no `mcp_toolset` names."""
    offered = {str_or_none(tool.get("mcp_server_name")) for tool in tools}
    for index, server in enumerate(reading.read_objects(body, "mcp_servers")):
        reading.report_unknown(server, _OF_SERVERS, diagnostics, f"mcp_servers[{index}]")
        check_types(server, OF_SERVERS, f"mcp_servers[{index}]")
        if str_or_none(server.get("name")) not in offered:
            why = "no mcp_toolset among the tools names this server"
            diagnostics.at(f"mcp_servers[{index}]").dropped("hosted-tool-dropped", why)


def _offered(
    natives: Sequence[Fields], changes: ToolChanges, *, native: bool
) -> Sequence[tuple[Fields, str]]:
    """Return the offered tools and their places; tools that are found later are appended.

    Where Anthropic searches among the tools itself, another upstream gets them all at once; where
    the client searches, it gets those that were found.
    """
    placed = [(tool, f"tools[{index}]") for index, tool in enumerate(natives)]
    if native or not (placed or changes.definitions):
        return placed
    by_provider = any(str(tool.get("type")).startswith(_SEARCH) for tool in natives)
    first = [one for one in placed if by_provider or not one[0].get("defer_loading")]
    names = {str_or_none(tool.get("name")) for tool, _ in first}
    late = {str_or_none(one[0].get("name")): one for one in placed}
    late.update(changes.definitions)
    found = [late[name] for name in changes.available if name in late and name not in names]
    offered = (*first, *found)
    return [one for one in offered if str_or_none(one[0].get("name")) not in changes.withdrawn]


def _report_unreachable(
    natives: Sequence[Fields],
    changes: ToolChanges,
    offered: Collection[str],
    diagnostics: Diagnostics,
) -> None:
    """Report the deferred tools that no call can find, where the client runs no tool.

    Those at the paths *offered* are not deferred. Anthropic refuses a request in which all are.
    """
    for index, tool in enumerate(natives):
        name, path = str_or_none(tool.get("name")), f"tools[{index}]"
        if path not in offered and name not in changes.withdrawn | changes.definitions.keys():
            why = "it is loaded once it was found, and no tool is offered that could find it"
            diagnostics.at(path).dropped("tool-not-offered", why)


# -- one tool


class _ToolReader:
    """Reads the tools of one request."""

    def __init__(self, body: Fields, upstream: Upstream, diagnostics: Diagnostics) -> None:
        self.native = upstream.protocol_id == PROTOCOL_ID
        self.missing: list[str] = []
        """Names of hosted tools that were left out."""
        self._upstream = upstream
        self._servers = {
            str_or_none(server.get("name")): server for server in objects(body.get("mcp_servers"))
        }
        self._diagnostics = diagnostics

    def tool(self, native: Fields, path: str) -> ToolSpec | None:
        """Return a tool for the upstream; None if it is left out."""
        type_ = read_field(native, "type", str, f"{path}.") or "custom"
        kind = _hosted_kind(type_)
        check_types(native, OF_MESSAGES_TOOLS, path)
        if native.get(_CALLERS) not in (None, [], _DIRECT) and not self.native:
            why = "the upstream's tools are called by the model itself"
            self._diagnostics.at(f"{path}.{_CALLERS}").unsupported(why)
        if type_ == "custom":
            return self._custom(native, path)
        if type_ == "function":
            raise invalid(f"{path}: a tool of the API has a name and an input_schema.", path)
        if kind is not None:
            return self._hosted(native, type_, kind, path)
        if self.native:
            return HostedTool.raw(METADATA_KEY, native)
        if type_.startswith(_SEARCH):
            why = "the upstream has no search among tools: it is offered all of them"
            self._diagnostics.at(path).changed("tool-search-unrolled", why)
            return None
        if (function := client_tool(type_, native)) is not None:
            reading.report_unknown(native, _OF_CLIENT_TOOLS, self._diagnostics, path)
            return function
        policy = self._upstream.policy.hosted_tools
        refuse_or_report(f"{type_} tool", policy, self._diagnostics.at(path))
        self._miss(native, type_)
        return None

    def _custom(self, native: Fields, path: str) -> ToolSpec:
        name = reading.required(native, "name", str, f"{path}.")
        extras = [name for name in _EXTRAS if native.get(name) not in (None, False, [])]
        reading.report_unknown(native, _OF_TOOLS, self._diagnostics, path)
        for extra in extras:
            if extra not in (_CALLERS, *_QUIET) and not self.native:
                why = f"the upstream's tools have no {extra}"
                self._diagnostics.at(f"{path}.{extra}").unsupported(why)
        tool = reading.function_tool(
            name,
            str_or_empty(native.get("description")),
            read_field(native, "input_schema", dict, f"{path}.") or {},
            strict=read_field(native, "strict", bool, f"{path}."),
            cache=reading.cache_ttl_of(native, self._diagnostics.at(path)),
        )
        if not extras:
            return tool
        own = {METADATA_KEY: {name: native[name] for name in extras}}
        return changed(tool, provider_metadata=own)

    def _hosted(
        self, native: Fields, type_: str, kind: HostedToolKind, path: str
    ) -> ToolSpec | None:
        here = self._diagnostics.at(path)

        def lowered() -> HostedTool | None:
            made = self._lowered(kind, native, path)
            if made is not None:
                reading.report_unknown(native, _OF_HOSTED.get(made.kind, _NAMED), here)
            return made

        tool = offered_hosted(
            f"{type_} tool",
            kind,
            self._upstream,
            here,
            same_api=self.native,
            own=lambda: HostedTool.raw(METADATA_KEY, native),
            lowered=lowered,
            name=str_or_none(native.get("name")),
        )
        if tool is None:
            self._miss(native, type_)
        return tool

    def _miss(self, native: Fields, type_: str) -> None:
        self.missing.append(str_or_none(native.get("name")) or type_)

    def _lowered(self, kind: HostedToolKind | None, native: Fields, path: str) -> HostedTool | None:
        """Return *native* as one that the upstream's provider runs; None if it has no such tool."""
        match kind:
            case "web_search":
                return HostedTool.web_search(
                    max_uses=read_field(native, "max_uses", int, f"{path}."),
                    allowed_domains=reading.read_texts(native, "allowed_domains", f"{path}."),
                    blocked_domains=reading.read_texts(native, "blocked_domains", f"{path}."),
                    user_location=_location(native, path),
                )
            case "web_fetch":
                return HostedTool.web_fetch(
                    max_uses=read_field(native, "max_uses", int, f"{path}.")
                )
            case "code_execution":
                return HostedTool.code_execution()
            case "mcp":
                return self._mcp(native, path)
            case _:
                return None

    def _mcp(self, native: Fields, path: str) -> HostedTool | None:
        """Return the tools of a server, all or those turned on by name; None if there are none.

        Other providers have no list of tools that are turned off.
        """
        server = self._servers.get(str_or_none(native.get("mcp_server_name")))
        url = None if server is None else str_or_none(server.get("url"))
        if server is None or url is None:
            return None
        configs = object_or_empty(native.get("configs"))
        inside = {"default_config": native.get("default_config")}
        inside |= {f"configs.{name}": config for name, config in configs.items()}
        for name, config in inside.items():
            given = object_or_empty(config)
            reading.report_unknown(given, _OF_CONFIGS, self._diagnostics, f"{path}.{name}")
        enabled = {name: object_or_empty(config).get("enabled") for name, config in configs.items()}
        by_default = object_or_empty(native.get("default_config")).get("enabled") is not False
        all_on = by_default and False not in enabled.values()
        allowed = [] if all_on else [name for name, on in enabled.items() if on is True]
        if not allowed and not all_on:
            return None
        return HostedTool.mcp(
            server_label=str(server.get("name") or "mcp"),
            server_url=url,
            authorization=str_or_none(server.get("authorization_token")),
            allowed_tools=tuple(allowed),
        )


def _hosted_kind(type_: str) -> HostedToolKind | None:
    """Return the kind of a tool that the provider runs; None for another tool."""
    for start, kind in _KINDS.items():
        if type_.startswith(start):
            return kind
    return None


def _location(native: Fields, path: str) -> Mapping[str, Any] | None:
    given = read_field(native, "user_location", dict, f"{path}.") or {}
    return {name: value for name, value in given.items() if value and name != "type"} or None


# -- the choice

_OF_CHOICE: Final = frozenset({"disable_parallel_tool_use", "name", "type"})
_MODES: Final = {native: mode for mode, native in TOOL_CHOICES.items()}


def _read_choice(
    body: Fields,
    specs: Sequence[ToolSpec],
    missing: Sequence[str],
    upstream: Upstream,
    diagnostics: Diagnostics,
) -> tuple[ToolChoice | None, bool | None]:
    """Return the choice, and whether calls may come in parallel."""
    native = read_field(body, "tool_choice", dict)
    if native is None:
        return None, None
    reading.report_unknown(native, _OF_CHOICE, diagnostics, "tool_choice")
    given = reading.required(native, "type", str, "tool_choice.")
    if given not in _MODES:
        raise invalid(
            f"tool_choice.type is {given[:40]!r}, not {', '.join(_MODES)}.", "tool_choice.type"
        )
    serial = read_field(native, "disable_parallel_tool_use", bool, "tool_choice.")
    parallel = False if serial else None
    name = str_or_none(native.get("name")) if given == "tool" else None
    if given == "tool" and name is None:
        raise invalid("tool_choice.name: Field required", "tool_choice.name")
    if name in missing or (given == "any" and missing and not specs):
        raise invalid(
            f"tool_choice demands {name or missing[0]}, which the upstream does not have.",
            "tool_choice",
            "unsupported_tool",
        )
    if not specs:
        if given in ("any", "tool"):
            why = "tool_choice demands a call, but there are no tools to call."
            raise invalid(why, "tool_choice")
        return None, None
    return _choice(_MODES[given], name, specs, upstream, diagnostics), parallel


def _choice(
    mode: str,
    name: str | None,
    specs: Sequence[ToolSpec],
    upstream: Upstream,
    diagnostics: Diagnostics,
) -> ToolChoice | None:
    if name is None:
        return ToolChoice(mode)  # type: ignore[arg-type]
    names = {spec.name for spec in specs if isinstance(spec, ToolDefinition)}
    if name in names or any(isinstance(spec, HostedTool) and spec.kind == "raw" for spec in specs):
        return ToolChoice.named(name)
    if not any(isinstance(spec, HostedTool) for spec in specs):
        raise invalid(
            f"tool_choice names {name[:80]!r}, which is not among the tools.", "tool_choice"
        )
    if len(specs) == 1 and upstream.protocol_id == RESPONSES:
        return ToolChoice.required()  # as Claude Code demands a web search
    why = "a tool that the upstream's provider runs cannot be demanded by name"
    diagnostics.at("tool_choice").changed("tool-choice-changed", why)
    return None
