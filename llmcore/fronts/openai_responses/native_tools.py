"""Tools that the provider runs, as the upstream has them, and where the client's own ones run.

The items of their calls are in `calls`.

    {"type": "web_search", "search_context_size": "low"}
    {"type": "code_interpreter", "container": {"type": "auto"}}

Source: https://developers.openai.com/api/docs/guides/tools, read November 2026.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from llmcore.fronts.errors import invalid
from llmcore.fronts.field_types import OF_ENVIRONMENTS, check_types
from llmcore.fronts.front import Upstream
from llmcore.fronts.reading import read_field, read_texts, report_unknown
from llmcore.fronts.tools_as_functions import offered_hosted
from llmcore.protocols.openai_responses.names import HOSTED_KINDS, METADATA_KEY, PROTOCOL_ID
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.native_json import object_or_empty, objects, str_or_none
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
    where = f"{diagnostics.path}.filters."
    place = {
        k: v for k, v in object_or_empty(native.get("user_location")).items() if v and k != "type"
    }
    return HostedTool.web_search(
        allowed_domains=read_texts(filters, "allowed_domains", where),
        user_location=place or None,
    )


def _code_execution(native: Mapping[str, Any], diagnostics: Diagnostics) -> HostedTool:
    direct = native.get("allowed_callers") in ([], ["direct"])
    _rest(native, {"container", "allowed_callers"} if direct else {"container"}, diagnostics)
    container, path = native.get("container"), f"{diagnostics.path}."
    if not isinstance(container, str):
        read_field(native, "container", dict, path)
    given = object_or_empty(container)
    wishes = (given[name] for name in given if (name, given[name]) != ("type", "auto"))
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
    path = f"{diagnostics.path}."
    if isinstance(allowed, dict):
        names = read_texts(allowed, "tool_names", f"{path}allowed_tools.")
    else:
        names = read_texts(native, "allowed_tools", path)
    return HostedTool.mcp(
        server_label=str_or_none(native.get("server_label")) or "mcp",
        server_url=str_or_none(native.get("server_url")),
        authorization=str_or_none(native.get("authorization")),
        allowed_tools=names,
    )


_LOWER: Final = {"web_search": _web_search, "code_execution": _code_execution, "mcp": _mcp}


# -- where a tool runs


def is_remote(native: Mapping[str, Any]) -> bool:
    """Return whether a tool that could be the client's own is to be run by the provider."""
    if native.get("type") == "tool_search":
        return native.get("execution") != "client"
    where = str_or_none(object_or_empty(native.get("environment")).get("type")) or "local"
    return where.startswith("container")


def report_environment(native: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    """Report what the environment of a tool that the client runs states, and a function cannot."""
    here = diagnostics.at("environment")
    environment = read_field(native, "environment", dict, f"{diagnostics.path}.") or {}
    report_unknown(environment, frozenset(OF_ENVIRONMENTS), here)
    check_types(environment, OF_ENVIRONMENTS, here.path)
    if environment.get("type") not in (None, "local"):
        here.at("type").unsupported("the client runs the tool")
    for number, skill in enumerate(objects(environment.get("skills"))):
        report_unknown(skill, _OF_SKILLS, here.at(f"skills[{number}]"))


_OF_SKILLS: Final = frozenset({"description", "name", "path"})


def skill_lines(native: Mapping[str, Any]) -> Iterable[str]:
    """Yield lines that describe the skills in a shell's environment to the model.

    Source: https://developers.openai.com/api/docs/guides/tools-skills, read November 2026.
    """
    skills = objects(object_or_empty(native.get("environment")).get("skills"))
    if skills:
        yield "\nSkills, each a folder with its instructions in SKILL.md:"
    for skill in skills:
        yield f"- {skill.get('name')} ({skill.get('path')}): {skill.get('description')}"
