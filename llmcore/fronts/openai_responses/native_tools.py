"""Tools that the provider runs, as the upstream has them. The calls' items are in `calls`.

    {"type": "web_search", "search_context_size": "low"}
    {"type": "code_interpreter", "container": {"type": "auto"}}

Source: https://developers.openai.com/api/docs/guides/tools, read November 2026.
"""

from collections.abc import Mapping
from typing import Any, Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.front import Upstream
from llmcore.fronts.reading import report_unknown
from llmcore.fronts.tools_as_functions import offered_hosted
from llmcore.protocols.openai_responses.names import HOSTED_KINDS, METADATA_KEY, PROTOCOL_ID
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.native_json import object_or_empty, str_or_none
from llmcore.schema.tools import HostedTool, HostedToolKind, ToolSpec

# -- hosted tools


def kind_of(type_: str) -> HostedToolKind:
    """Return the kind of a hosted tool; `raw` for one that other providers do not have."""
    return HOSTED_KINDS.get(type_, "raw")


def offer_hosted(
    native: Mapping[str, Any], upstream: Upstream, diagnostics: Diagnostics
) -> ToolSpec | None:
    """Return a hosted tool in the upstream's form; None, with a Diagnostic, if it is left out.

    FrontError if the policy is to refuse it.
    """
    type_ = str(native.get("type"))
    kind = kind_of(type_)
    return offered_hosted(
        f"{type_} tool",
        kind,
        upstream,
        diagnostics,
        same_api=upstream.protocol_id == PROTOCOL_ID,
        own=lambda: HostedTool.raw(METADATA_KEY, native),
        lowered=lambda: _LOWER[kind](native, diagnostics) if kind in _LOWER else None,
    )


def _rest(native: Mapping[str, Any], known: set[str], diagnostics: Diagnostics) -> None:
    """Report the options that other providers do not have."""
    for name, value in native.items():
        if name not in known | {"type"} and value is not None:
            diagnostics.at(name).unsupported(f"the upstream's tool has no {name}")


def _web_search(native: Mapping[str, Any], diagnostics: Diagnostics) -> HostedTool:
    _rest(native, {"filters", "user_location"}, diagnostics)
    filters = object_or_empty(native.get("filters"))
    report_unknown(filters, frozenset({"allowed_domains"}), diagnostics, "filters")
    domains = filters.get("allowed_domains")
    place = {
        k: v for k, v in object_or_empty(native.get("user_location")).items() if v and k != "type"
    }
    return HostedTool.web_search(
        allowed_domains=tuple(map(str, domains)) if isinstance(domains, list) else (),
        user_location=place or None,
    )


def _code_execution(native: Mapping[str, Any], diagnostics: Diagnostics) -> HostedTool:
    direct = native.get("allowed_callers") in ([], ["direct"])
    _rest(native, {"container", "allowed_callers"} if direct else {"container"}, diagnostics)
    container = native.get("container")
    wishes = (value for name, value in object_or_empty(container).items() if name != "type")
    if isinstance(container, str) or any(value not in (None, []) for value in wishes):
        diagnostics.at("container").unsupported("the upstream runs code in a container of its own")
    return HostedTool.code_execution()


def _mcp(native: Mapping[str, Any], diagnostics: Diagnostics) -> HostedTool:
    known = {"server_label", "server_url", "authorization", "allowed_tools", "require_approval"}
    _rest(native, known, diagnostics)
    if native.get("require_approval") != "never":  # left out, it is "always"
        raise invalid(
            "The upstream calls MCP tools without asking for approval: set require_approval to "
            '"never", or leave the tool out.',
            f"{diagnostics.path}.require_approval",
        )
    allowed = native.get("allowed_tools")
    names = object_or_empty(allowed).get("tool_names") if isinstance(allowed, dict) else allowed
    return HostedTool.mcp(
        server_label=str_or_none(native.get("server_label")) or "mcp",
        server_url=str_or_none(native.get("server_url")),
        authorization=str_or_none(native.get("authorization")),
        allowed_tools=tuple(map(str, names)) if isinstance(names, list) else (),
    )


_LOWER: Final = {"web_search": _web_search, "code_execution": _code_execution, "mcp": _mcp}
